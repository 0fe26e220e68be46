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
    # Other threads get no signals, and who was told to ignore Ctrl-C, such as a job in the background, is to ignore it.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield lambda: False
        return
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
