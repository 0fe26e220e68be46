"""Timing that other load disturbs least: the best of several runs, sides taken in turn."""

import time
from collections.abc import Callable, Sequence

__all__ = ["best_seconds"]


def best_seconds(sides: Sequence[Callable[[], object]], repeats: int = 5) -> list[float]:
    """Return the shortest time of each side; the first, untimed round compiles.

    Example:
        >>> len(best_seconds([lambda: 1, lambda: 2], repeats=2))
        2
    """
    for side in sides:
        side()
    best = [float("inf")] * len(sides)
    for _ in range(repeats):
        for index, side in enumerate(sides):
            began = time.perf_counter()
            side()
            best[index] = min(best[index], time.perf_counter() - began)
    return best
