"""Watching a search: it keeps the best, shows progress, and ends at a limit or at Ctrl-C without losing anything."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mafla import _check
from mafla._interrupt import interrupts
from mafla.graphs.solution import Solution

__all__ = ["Watch"]


class Watch:
    """Watch a search that runs in slices, of which each is a fraction of a second.

    Ctrl-C is held back while the body runs. The search ends at the next question `go_on`, with what it has; if it has
    nothing yet, the KeyboardInterrupt goes through. One that is raised in the body in spite of that is treated alike.

    Args:
        name: what the progress line calls the search.
        time_limit: seconds after which `go_on` says no, or None.
        rounds: number of rounds after which it does, or None; one of the two limits must be given.
        progress: whether to show a line on standard error, if that is a terminal.
        sign: +1 if larger values are better, -1 if smaller ones are.
        clock: returns the seconds that count; `time.process_time` counts those of the CPU.

    Raises:
        ValueError: for limits that are not positive, or if there is none.

    Example:
        >>> with Watch("maxcut", None, rounds=3) as watch:
        ...     value, searching = 0.0, True
        ...     while searching:
        ...         value += 1.0
        ...         better = watch.offer(value, np.array([1, -1], np.int8))
        ...         searching = watch.go_on(mean=value, temperature=1.0)
        >>> watch.solution(bound=3.0).optimal
        True
    """

    def __init__(
        self,
        name: str,
        time_limit: float | None,
        rounds: int | None,
        *,
        progress: bool = False,
        sign: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if time_limit is None and rounds is None:
            raise ValueError("time_limit or rounds must be given, got None for both")
        if sign not in (1, -1):
            raise ValueError(f"sign must be +1 or -1, got {sign}")
        self.name, self.progress, self.sign, self.clock = name, progress, sign, clock
        self.time_limit = math.inf if time_limit is None else _check.positive("time_limit", time_limit)
        self.rounds = math.inf if rounds is None else _check.whole("rounds", rounds, 1)
        self.value = math.nan
        self.assignment: NDArray[Any] | None = None
        self.history: list[tuple[float, float]] = []
        self.rounds_done, self.interrupted, self.stopped = 0, False, False
        self._began, self._ended = clock(), math.nan
        self._stack = ExitStack()
        self._is_interrupted: Callable[[], bool] = lambda: False
        self._show: Callable[[float, str], None] = _silent

    def __enter__(self) -> Self:
        self._began = self.clock()
        self._is_interrupted = self._stack.enter_context(interrupts())
        self._show = self._stack.enter_context(_line(self.name, shown=self.progress))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._ended = self.clock()
        self._stack.close()
        if kind is None and self._is_interrupted():
            self._interrupt()
        if kind is not None and issubclass(kind, KeyboardInterrupt) and self.assignment is not None:
            self.interrupted = True
            return True
        return False

    def offer(self, value: float, assignment: NDArray[Any]) -> bool:
        """Keep a copy of the assignment if it is better than all before, and say whether it is."""
        if self.assignment is not None and not self.sign * value > self.sign * self.value:
            return False
        if math.isnan(value):
            return False
        self.value, self.assignment = float(value), np.array(assignment)
        self.history.append((self.seconds, self.value))
        return True

    def go_on(self, mean: float, temperature: float, round_done: bool = True) -> bool:
        """Say whether to run another slice; to be asked after each.

        Args:
            mean: value of a typical member of the population, for the progress line.
            temperature: of the search, for the progress line.
            round_done: whether the slice that was run ended a round.

        Raises:
            KeyboardInterrupt: after Ctrl-C, if nothing was offered yet.
        """
        self.rounds_done += round_done
        if self._is_interrupted():
            self._interrupt()
        best = "–" if self.assignment is None else f"{self.value:.15g}"
        left = _clock(self._expected_seconds_left())
        self._show(self._share_done(), f"best {best}  mean {mean:.6g}  temperature {temperature:.3g}  {left} left")
        return not (self.interrupted or self.stopped or self._share_done() >= 1)

    def stop(self) -> None:
        """Make `go_on` say no from now on, for instance because the best is known to be optimal."""
        self.stopped = True

    @property
    def seconds(self) -> float:
        """Seconds since the body began, or that it took."""
        return (self.clock() if math.isnan(self._ended) else self._ended) - self._began

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit, 0 after it, infinite without one."""
        return max(0.0, self.time_limit - self.seconds)

    def solution(self, bound: float | None = None, notes: tuple[str, ...] = ()) -> Solution:
        """Return the best that was offered, with what is known about the optimum and remarks in words.

        Raises:
            ValueError: if nothing was offered.
        """
        if self.assignment is None:
            raise ValueError("the watch must be offered at least one assignment, got none")
        history = np.array(self.history, np.float64).reshape(-1, 2)
        return Solution(self.value, self.assignment, bound, history, self.seconds, self.interrupted, tuple(notes))

    def _interrupt(self) -> None:
        if self.assignment is None:
            raise KeyboardInterrupt("stopped before there was any solution")
        self.interrupted = True

    def _share_done(self) -> float:
        return max(self.rounds_done / self.rounds, self.seconds / self.time_limit)

    def _expected_seconds_left(self) -> float:
        by_rounds = self.seconds * (self.rounds - self.rounds_done) / max(self.rounds_done, 1e-9)
        return min(self.seconds_left, by_rounds if self.rounds_done else math.inf)


@contextmanager
def _line(name: str, *, shown: bool) -> Iterator[Callable[[float, str], None]]:
    """Show a bar and a text on standard error while the body runs; the body reports the share that is done."""
    if not shown:
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=1.0, text="")
        yield lambda share, text: bar.update(task, completed=min(share, 1.0), text=text)


def _silent(share: float, text: str) -> None:
    """Report to no one."""


def _clock(seconds: float) -> str:
    """Minutes and seconds, or a dash where no one knows.

    >>> _clock(75.2), _clock(math.inf)
    ('1:16', '–')
    """
    return "–" if math.isinf(seconds) else f"{math.ceil(seconds) // 60}:{math.ceil(seconds) % 60:02d}"
