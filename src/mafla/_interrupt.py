"""Ctrl-C as a question that a loop asks where nothing is half done."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["interrupts"]


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C back while the body runs; the body asks between its chunks whether there was one.

    Example:
        >>> with interrupts() as is_interrupted:
        ...     is_interrupted()
        False
    """
    if threading.current_thread() is not threading.main_thread():  # other threads get no signals
        yield lambda: False
        return
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
