"""Stable random numbers for compiled code, one at a time."""

import math

import numpy as np

from mafla.graphs.compiled import compiled

__all__ = ["positive_stable", "symmetric_stable"]


@compiled
def positive_stable(index: float, rng: np.random.Generator) -> float:
    """Draw from the law on the positive numbers with Laplace transform exp(-s^index), by Kanter's formula.

    Example:
        >>> positive_stable(1.0, np.random.default_rng(0))
        1.0
    """
    if index == 1.0:
        return 1.0
    angle = math.pi * (1.0 - rng.random())
    power = (1.0 - index) / index
    ratio = math.sin(index * angle) / math.sin(angle) ** (1.0 / index)
    return ratio * (math.sin((1.0 - index) * angle) / rng.standard_exponential()) ** power


@compiled
def symmetric_stable(alpha: float, rng: np.random.Generator) -> float:
    """Draw from the law with characteristic function exp(-|t|^alpha), by the formula of Chambers, Mallows and Stuck.

    Example:
        >>> bool(np.isfinite(symmetric_stable(1.5, np.random.default_rng(0))))
        True
    """
    if alpha == 2.0:
        return math.sqrt(2.0) * rng.standard_normal()
    angle = math.pi * (rng.random() - 0.5)
    power = (1.0 - alpha) / alpha
    ratio = math.sin(alpha * angle) / math.cos(angle) ** (1.0 / alpha)
    return ratio * (math.cos((1.0 - alpha) * angle) / rng.standard_exponential()) ** power
