"""How close a heavy-tailed sample is to its target.

When the tail is heavy, plain Wasserstein distance is mostly the few largest draws. It stands beside metrics of the body
(scale; Wasserstein after asinh, linear there and logarithmic further out) and of the tail (quantiles, exceedances), all
with their floor, what an i.i.d. sample reaches. Arrays are (n,), (n, d) or, as in a run, (chain, draw, d).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, spatial

__all__ = [
    "asinh_wasserstein",
    "evaluate",
    "exact_wasserstein",
    "exceedances",
    "mixture_weights",
    "quantile_error",
    "scale_error",
    "sliced_wasserstein",
    "tail_msle",
    "wasserstein",
    "weight_error",
]

Array = NDArray[np.float64]


def wasserstein(samples: ArrayLike, reference: ArrayLike) -> float:
    """W1 distance of each coordinate, averaged over coordinates; exact, sizes may differ.

    >>> wasserstein([0.0, 1.0, 2.0], [3.0, 4.0, 5.0])
    3.0
    """
    x, y = _pair(samples, reference)
    return float(np.mean([_w1(a, b) for a, b in zip(x.T, y.T, strict=True)]))


def sliced_wasserstein(samples: ArrayLike, reference: ArrayLike, num_directions: int = 64, seed: int = 0) -> float:
    """W1 distance averaged over random directions, the same for the same seed; in one dimension it is `wasserstein`.

    >>> sliced_wasserstein([[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]])
    0.0
    """
    x, y = _pair(samples, reference)
    return float(np.mean([_w1(x @ u, y @ u) for u in _directions(x.shape[1], num_directions, seed)]))


def asinh_wasserstein(samples: ArrayLike, reference: ArrayLike, num_directions: int = 64, seed: int = 0) -> float:
    """W1 distance after asinh((x - median) / IQR), median and IQR of the reference; sliced in more than one dimension.

    >>> round(asinh_wasserstein([0.0], [-1.0, 0.0, 0.0, 1.0]), 4)  # half of asinh(1 / 0.5)
    0.7218
    """
    x, y = _pair(samples, reference)
    distances = []
    for u in _directions(x.shape[1], num_directions, seed):
        a, b = x @ u, y @ u
        centre, scale = np.median(b), _iqr(b, positive=True)
        distances.append(_w1(np.arcsinh((a - centre) / scale), np.arcsinh((b - centre) / scale)))
    return float(np.mean(distances))


def exact_wasserstein(samples: ArrayLike, reference: ArrayLike) -> float:
    """W1 distance in R^d by optimal assignment, for two samples of one size up to 2000.

    >>> exact_wasserstein([[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]])
    1.0
    """
    x, y = _pair(samples, reference)
    if not len(x) == len(y) <= 2000:  # the work grows like n^3
        raise ValueError(f"samples and reference must be of one size up to 2000, got {len(x)} and {len(y)}")
    cost = spatial.distance.cdist(x, y)
    return float(cost[optimize.linear_sum_assignment(cost)].mean())


def scale_error(samples: ArrayLike, reference: ArrayLike) -> float:
    """Absolute log ratio of interquartile ranges, averaged over coordinates: 0.05 is a scale about 5 % off.

    >>> round(scale_error([0.0, 2.0, 4.0], [0.0, 1.0, 2.0]), 4)  # log(2)
    0.6931
    """
    x, y = _pair(samples, reference)
    with np.errstate(divide="ignore"):  # a stuck chain has no spread: infinitely wrong, not an error
        return float(np.abs(np.log(_iqr(x) / _iqr(y, positive=True))).mean())


def quantile_error(samples: ArrayLike, reference: ArrayLike, level: float) -> float:
    """Absolute difference of the level-quantiles of the Euclidean norm.

    >>> quantile_error([[3.0, 4.0]], [[6.0, 8.0]], 0.99)
    5.0
    """
    x, y = _norms(samples, reference, level)
    return float(np.abs(np.quantile(x, level) - np.quantile(y, level)))


def tail_msle(samples: ArrayLike, reference: ArrayLike, level: float = 0.95) -> float:
    """Mean squared log error of the quantiles of the Euclidean norm above a level.

    Its 32 tail probabilities run evenly in the logarithm from `1 - level` to 10/n, n the smaller size: each decade of
    the tail counts the same, and ten draws lie beyond the last. Below `10 / (1 - level)` draws only `level` is used.

    >>> round(tail_msle(2 * np.arange(1.0, 1000.0), np.arange(1.0, 1000.0)), 4)  # log(2)^2
    0.4805
    """
    x, y = _norms(samples, reference, level)
    if np.quantile(y, level) <= 0:
        raise ValueError(f"reference must have a positive {level}-quantile of its norm, got 0")
    levels = 1 - np.geomspace(1 - level, min(1 - level, 10 / min(len(x), len(y))), 32)
    with np.errstate(divide="ignore"):  # samples at the origin: infinitely wrong, not an error
        return float(np.mean(np.log(np.quantile(x, levels) / np.quantile(y, levels)) ** 2))


def exceedances(samples: ArrayLike, reference: ArrayLike, level: float) -> float:
    """Number of samples with a norm above the reference's level-quantile, over the expected number: 1 is right.

    >>> round(exceedances(np.arange(200.0), np.arange(100.0), 0.9), 6)
    5.5
    """
    x, y = _norms(samples, reference, level)
    return float(np.mean(x > np.quantile(y, level)) / (1 - level))


def mixture_weights(samples: ArrayLike, locations: ArrayLike) -> Array:
    """Fraction of samples nearest each location, in the order of the locations.

    >>> mixture_weights([-9.0, 8.0, 9.0, 11.0], [-10.0, 10.0]).tolist()
    [0.25, 0.75]
    """
    x, centres = _pair(samples, locations, "locations")
    _, nearest = spatial.cKDTree(centres).query(x)
    return np.asarray(np.bincount(nearest, minlength=len(centres)) / len(x))


def weight_error(samples: ArrayLike, locations: ArrayLike, weights: ArrayLike) -> float:
    """Largest absolute error of the mixture weights.

    >>> weight_error([-9.0, 8.0, 9.0, 11.0], [-10.0, 10.0], [0.5, 0.5])
    0.25
    """
    found, expected = mixture_weights(samples, locations), _matrix(weights, "weights").ravel()
    if len(expected) != len(found) or np.any(expected < 0) or abs(expected.sum() - 1) > 1e-6:
        raise ValueError(f"weights must be {len(found)} non-negative numbers that sum to one, got {expected.tolist()}")
    return float(np.abs(found - expected).max())


def evaluate(
    samples: ArrayLike,
    reference: ArrayLike,
    floor: ArrayLike | None = None,
    locations: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> dict[str, float]:
    """All metrics of a sample and, where a floor is given, their ratios to it.

    Args:
        samples: draws to judge.
        reference: draws of the target, best as many as `samples` or more.
        floor: as many i.i.d. draws as `samples`, independent of `reference`; of a list of such arrays, the median.
        locations: modes of a mixture; with `weights`, adds `weight_error`.
        weights: of the modes.

    Returns:
        `w1`, `sliced_w1`, `asinh_w1`, `scale_error`, `q95_error`, `q99_error`, `tail_msle`, and how far the exceedances
        of the 99 % and 99.9 % quantiles are from one, `exceedance_error` and `extreme_error`. With a floor, each metric
        `m` has `m_floor` and `m_ratio` too: 1 where both are zero, infinite where only the floor is.

    >>> evaluate([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0], floor=[0.0, 1.0, 2.0, 5.0])["w1_ratio"]
    2.0
    """
    x, y = _pair(samples, reference)
    at_floor = [] if floor is None else [evaluate(f, y, None, locations, weights) for f in _floors(floor, x)]
    metrics = {
        "w1": wasserstein(x, y),
        "sliced_w1": sliced_wasserstein(x, y),
        "asinh_w1": asinh_wasserstein(x, y),
        "scale_error": scale_error(x, y),
        "q95_error": quantile_error(x, y, 0.95),
        "q99_error": quantile_error(x, y, 0.99),
        "tail_msle": tail_msle(x, y),
        "exceedance_error": abs(exceedances(x, y, 0.99) - 1),
        "extreme_error": abs(exceedances(x, y, 0.999) - 1),
    }
    if locations is not None and weights is not None:
        metrics["weight_error"] = weight_error(x, locations, weights)
    elif locations is not None or weights is not None:
        given = "locations" if weights is None else "weights"
        raise ValueError(f"locations and weights must be given together, got only {given}")
    for name, value in list(metrics.items()) if at_floor else []:
        metrics[f"{name}_floor"] = reached = float(np.median([found[name] for found in at_floor]))
        metrics[f"{name}_ratio"] = value / reached if reached else float("inf" if value else 1)
    return metrics


def _w1(a: Array, b: Array) -> float:
    """Integral of the difference of two quantile functions, which are constant between the levels i/n and j/m."""
    a, b, n, m = np.sort(a), np.sort(b), len(a), len(b)
    if n == m:
        return float(np.abs(a - b).mean())
    levels = np.sort(np.concatenate([np.arange(n) * m, np.arange(m) * n]), kind="stable")  # times n m, hence exact
    return float(np.average(np.abs(a[levels // m] - b[levels // n]), weights=np.diff(levels, append=n * m)))


def _directions(dim: int, count: int, seed: int) -> Array:
    if count < 1:
        raise ValueError(f"num_directions must be at least 1, got {count}")
    directions = np.random.default_rng(seed).standard_normal((count, dim)) if dim > 1 else np.ones((1, 1))
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def _iqr(x: Array, *, positive: bool = False) -> Array:
    scale = np.asarray(np.subtract(*np.quantile(x, [0.75, 0.25], axis=0)))
    if positive and np.any(scale <= 0):
        raise ValueError("reference must have a positive interquartile range in every direction, got 0")
    return scale


def _norms(samples: ArrayLike, reference: ArrayLike, level: float) -> list[Array]:
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return [np.hypot.reduce(x, axis=1, initial=0.0) for x in _pair(samples, reference)]  # squares could overflow


def _matrix(values: ArrayLike, name: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__} ({error})") from None
    if array.ndim not in (1, 2, 3) or array.size == 0:
        raise ValueError(
            f"{name} must be non-empty, of shape (n,), (n, d) or (chain, draw, d), got shape {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)


def _pair(samples: ArrayLike, other: ArrayLike, name: str = "reference") -> tuple[Array, Array]:
    x, y = _matrix(samples, "samples"), _matrix(other, name)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{name} must have the dimension of samples, {x.shape[1]}, got {y.shape[1]}")
    return x, y


def _floors(floor: ArrayLike, samples: Array) -> list[Array]:
    """One array or a list of them, told apart by whether the items of a list are arrays themselves."""
    many = list(floor) if isinstance(floor, list | tuple) and any(getattr(f, "ndim", 0) for f in floor) else [floor]
    floors = [_pair(samples, draws, "floor")[1] for draws in many]
    if any(len(draws) != len(samples) for draws in floors):
        raise ValueError(f"floor must have {len(samples)} draws, as samples has, got {[len(f) for f in floors]}")
    return floors
