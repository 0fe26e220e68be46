"""Timing that other load disturbs little: sides are run in turn, and compared turn by turn."""

import time
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["seconds", "speed_ratio"]


def seconds(sides: Sequence[Callable[[], object]], repeats: int = 5) -> np.ndarray:
    """Return the times of all sides, of shape (repeats, sides); a first, untimed round compiles.

    Example:
        >>> seconds([lambda: 1, lambda: 2], repeats=3).shape
        (3, 2)
    """
    for side in sides:
        side()
    times = np.empty((repeats, len(sides)))
    for turn in times:
        for index, side in enumerate(sides):
            began = time.perf_counter()
            side()
            turn[index] = time.perf_counter() - began
    return times


def speed_ratio(times: np.ndarray, ours: int = 0, peer: int = 1) -> float:
    """Return how many times faster one side is than another: the median of the ratios of each turn.

    Example:
        >>> speed_ratio(np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 9.0]]))
        2.0
    """
    return float(np.median(times[:, peer] / times[:, ours]))
