"""What a search on a graph returns."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Solution"]

EXACT = 2.0**53  # whole numbers below this are what they are


@dataclass(frozen=True, eq=False)
class Solution:
    """The best that a search found, what is known about the optimum, and how the search went.

    Attributes:
        value: weight of the cut, or weight of the cover.
        assignment: one entry for each vertex: the side -1 or +1 (int8) of a cut, or whether it is chosen (bool).
        bound: proved limit that no solution can pass, or None where none was computed.
        history: (seconds, best value) each time that the best got better, of shape (k, 2).
        seconds: how long the search took.
        interrupted: whether Ctrl-C ended it.
        notes: remarks in words, such as what was dropped from the input.

    Example:
        >>> found = Solution(3.0, np.array([1, -1], np.int8), bound=3.0)
        >>> found.optimal
        True
    """

    value: float
    assignment: NDArray[Any] = field(repr=False)
    bound: float | None = None
    history: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    seconds: float = 0.0
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether the bound proves that nothing better exists."""
        if self.bound is None:
            return False
        if float(self.value).is_integer() and float(self.bound).is_integer() and abs(self.bound) < EXACT:
            return self.value == self.bound
        # Sums of the same weights in another order differ in their last digits.
        return math.isclose(self.value, self.bound, rel_tol=1e-12)
