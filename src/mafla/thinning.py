"""Few draws in the place of many: chosen evenly over space, they represent them better than as many taken at random."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from mafla import _check

__all__ = ["thin_evenly"]

CODE_BITS = 62


def thin_evenly(points: ArrayLike, count: int, seed: int = 0) -> Float[np.ndarray, "count dim"]:
    """Return ``count`` of the points, in random order, so that every region keeps its share of them.

    Points are lined up along a curve that fills space (Morton's, through their ranks in each coordinate) and taken at
    equal distances from a random start. Each has the same chance to be taken, so that averages stay unbiased, but the
    number taken from a region hardly varies. In many dimensions the curve does not help, and does no harm.

    Args:
        points: of shape (n, dim), in float32 or float64.
        count: from 1 to n.
        seed: of the start and of the order.

    Example:
        >>> points = np.concatenate([np.full(800, -1.0), np.full(200, 1.0)])[:, None]
        >>> int((thin_evenly(points, 10) > 0).sum())  # a fifth, whatever the seed
        2
    """
    values = _check.finite_array("points", points, ndim=2)
    n = len(values)
    if not 1 <= _check.whole("count", count, 1) <= n:
        raise ValueError(f"count must be at most the number of points, {n}, got {count}")
    random = np.random.default_rng(seed)
    along = np.argsort(_morton_codes(values), kind="stable")
    taken = np.floor((np.arange(count) + random.random()) * (n / count)).astype(np.int64)
    return values[random.permutation(along[np.minimum(taken, n - 1)])]


def _morton_codes(values: np.ndarray) -> np.ndarray:
    """Return the place of each point on the curve: the bits of its ranks, coordinates in turn, leading bits first."""
    n, dim = values.shape
    bits = max(1, min(CODE_BITS // dim, int(n - 1).bit_length()))
    ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable")
    cells = (ranks * 2**bits // n).astype(np.int64)
    codes = np.zeros(n, np.int64)
    for bit in reversed(range(bits)):
        for column in range(min(dim, CODE_BITS)):
            codes = 2 * codes + (cells[:, column] >> bit & 1)
    return codes
