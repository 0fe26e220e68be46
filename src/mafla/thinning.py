"""Few draws in the place of many: chosen evenly over space, they represent them better than as many taken at random."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from mafla import _check

__all__ = ["thin_evenly"]

CODE_BITS = 62
SHELLS_PER_HALVING = 2  # of the share of points that are farther out


def thin_evenly(points: ArrayLike, count: int, seed: int = 0) -> Float[np.ndarray, "count dim"]:
    """Return ``count`` of the points, in random order, so that every region keeps its share of them.

    Points are lined up shell by shell, each shell farther from the median with fewer of them, and in a shell along a
    curve that fills space (Morton's, through their ranks in each coordinate). They are taken at equal distances from a
    random start: each has the same chance, so that averages stay unbiased, but the number taken from a region hardly
    varies. In many dimensions the curve does not help, and does no harm; the shells keep the tail its share.

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
    if not values.shape[1]:
        raise ValueError(f"points must have at least one column, got shape {values.shape}")
    random = np.random.default_rng(_check.whole("seed", seed, 0))
    shells = _shells(values) if values.shape[1] > 1 else np.zeros(n)  # on a line, the curve does it all
    along = np.lexsort((_morton_codes(values), shells))
    taken = np.floor((np.arange(count) + random.random()) * (n / count)).astype(np.int64)
    return values[random.permutation(along[np.minimum(taken, n - 1)])]


def _shells(values: np.ndarray) -> np.ndarray:
    """Return the number of each point's shell: the innermost is 0, and the share beyond falls like a power."""
    low, center, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    units = (values.astype(np.float64) - center) / np.where(high > low, high - low, 1)
    largest = np.maximum(np.abs(units).max(axis=1), 1e-300)  # before squares, which may overflow
    radii = np.log(largest) + 0.5 * np.log(np.sum(np.square(units / largest[:, None]), axis=1) + 1e-300)
    share_beyond = 1 - _ranks(radii) / len(values)
    return np.floor(-SHELLS_PER_HALVING * np.log2(share_beyond)).astype(np.int64)


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable")


def _morton_codes(values: np.ndarray) -> np.ndarray:
    """Return the place of each point on the curve: the bits of its ranks, coordinates in turn, leading bits first."""
    n, dim = values.shape
    bits = max(1, min(CODE_BITS // dim, int(n - 1).bit_length()))
    cells = (_ranks(values) * 2**bits // n).astype(np.int64)
    codes = np.zeros(n, np.int64)
    for bit in reversed(range(bits)):
        for column in range(min(dim, CODE_BITS)):
            codes = 2 * codes + (cells[:, column] >> bit & 1)
    return codes
