"""What to read off a run: convergence, quantiles with their Monte-Carlo errors, and how heavy the tails are.

Under heavy tails a mean or a standard deviation may not exist, and no number of draws reveals it by itself. `summary`
therefore leads with ranks and quantiles, which always exist, and gives moments only where the variance looks finite.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["InfiniteVarianceWarning", "NotMixedWarning", "TailIndex", "hill", "summary"]

MIN_DRAWS = 4  # per chain: a chain is split in two, and a variance takes two draws
MIN_TAIL_DRAWS = 100  # over all chains: leaves five draws in the tail
QUANTILES = {"q5": 0.05, "median": 0.5, "q95": 0.95}
NAMES_SHOWN = 10
MIXED = 1.05  # R-hat above which chains still tell different stories


class InfiniteVarianceWarning(UserWarning):
    """The draws look as if they had no variance: use quantiles instead of moments."""


class NotMixedWarning(UserWarning):
    """The chains disagree, or some coordinate never moved: no number of the summary can be trusted yet."""


class TailIndex(NamedTuple):
    """Hill estimate of the tail index a, where P(|x| > r) decays like r^-a: the moments below a are finite.

    Attributes:
        index: the estimate; infinite where the largest draws are all equal, NaN where there is no tail to look at.
        lower: lower end of its 95 % interval.
        upper: upper end of its 95 % interval.
        k: number of draws in the tail it was estimated from.
    """

    index: float  # type: ignore[assignment]  # hides the method of tuples, of no use here
    lower: float
    upper: float
    k: int


def hill(x: ArrayLike, k: int | None = None, ess: float | None = None) -> TailIndex:
    """Tail index of draws, by the Hill estimator on their distance from the median.

    The interval is exact for independent draws with a Pareto tail, where `k / index` is a gamma variable. It leaves out
    the bias of tails that only approach a power: on stable laws the estimate is a little high (1.6 for 1.5, from 10^4
    draws), on Student-t a little low (2.8 for 3), and beyond a far mode of small weight it is much too high.

    Args:
        x: at least 100 draws of any shape, all finite.
        k: number of largest distances to use; by default 3 sqrt(n), at most 5 % of the n draws.
        ess: effective number of draws, which widens the interval; by default n.

    Returns:
        The estimate with its 95 % interval.

    >>> cauchy = np.tan(np.pi * (np.arange(1, 2000) / 2000 - 0.5))
    >>> round(hill(cauchy).index, 1)
    1.0
    """
    draws = np.asarray(x, dtype=np.float64).ravel()
    n = draws.size
    if n < MIN_TAIL_DRAWS or not np.all(np.isfinite(draws)):
        bad = np.count_nonzero(~np.isfinite(draws))
        raise ValueError(f"x must hold at least {MIN_TAIL_DRAWS} draws, all finite, got {n} with {bad} not finite")
    k = _tail_count(n) if k is None else k
    if not 1 <= k < n:
        raise ValueError(f"k must lie between 1 and {n - 1}, one less than the number of draws, got {k}")
    if ess is not None and not ess > 0:
        raise ValueError(f"ess must be positive, got {ess}")
    threshold, *_ = tail = np.sort(np.abs(draws - np.median(draws)))[-k - 1 :]
    if threshold == 0:
        return TailIndex(math.nan, math.nan, math.nan, k)
    mean_log_excess = float(np.mean(np.log(tail[1:]) - np.log(threshold)))
    index = 1 / mean_log_excess if mean_log_excess > 0 else math.inf
    effective_k = k * min(1.0, (n if ess is None else ess) / n)
    lower, upper = index * special.gammaincinv(effective_k, [0.025, 0.975]) / effective_k
    return TailIndex(index, float(lower), float(upper), k)


def summary(tree: xarray.DataTree) -> xarray.Dataset:
    """Convergence, quantiles and tail of each coordinate of the draws.

    A variance looks infinite where the whole 95 % interval of the tail index lies below 2; an `InfiniteVarianceWarning`
    then names the coordinate. That takes enough effective draws: some hundreds for Cauchy, 10^4 for a stable law with
    index 1.5. Student-t with 2 degrees of freedom, the boundary, is flagged in a few runs of a hundred; with 3 degrees
    of freedom, where the variance is finite, and for lighter tails practically never. A `NotMixedWarning` names the
    coordinates whose chains disagree, by R-hat above 1.05, or never moved.

    Args:
        tree: a run, with the variable `x` of dimensions (chain, draw, dim) in the group `posterior`.

    Returns:
        For each `dim`: `r_hat` (rank-normalised, split; NaN for a single chain), `ess_bulk`, `ess_tail`; the quantiles
        `q5`, `median`, `q95` and their Monte-Carlo standard errors `mcse_q5`, `mcse_median`, `mcse_q95`; `tail_index`,
        `tail_index_lower`, `tail_index_upper` as in `hill`, NaN below 100 draws; `mean`, `sd`, `mcse_mean`, NaN where
        the variance looks infinite or the tail cannot be judged. R-hat and ESS of a coordinate that never moves are
        NaN. Labels of `dim` are kept.

    >>> import xarray
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 2))
    >>> run = xarray.Dataset({"x": (("chain", "draw", "dim"), draws)})
    >>> result = summary(xarray.DataTree.from_dict({"posterior": run}))
    >>> bool((result.r_hat < 1.01).all())
    True
    """
    import xarray

    draws = _draws(tree)
    x = np.asarray(draws.values, dtype=np.float64)
    # chains that never move have no within-chain variance, and the squares of a heavy tail may overflow
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        columns, tail, moments = _convergence(x) | _quantiles(x), _tail(x), _moments(x)
    finite, infinite = tail["tail_index_upper"] >= 2, tail["tail_index_upper"] < 2  # NaN is neither
    columns |= tail | {name: np.where(finite, value, np.nan) for name, value in moments.items()}
    labels_of = draws["dim"].values
    stuck = np.isnan(columns["r_hat" if draws.sizes["chain"] > 1 else "ess_bulk"])  # R-hat of one chain is unknown
    _warn(
        "the chains have not mixed (R-hat) in",
        labels_of[(columns["r_hat"] > MIXED) | stuck],
        NotMixedWarning,
        "run longer or rescale the coordinates",
    )
    _warn(
        "the variance looks infinite in", labels_of[infinite], InfiniteVarianceWarning, "use quantiles, not mean or sd"
    )
    labels = {"dim": draws["dim"]} if "dim" in draws.coords else None
    return xarray.Dataset({name: ("dim", value) for name, value in columns.items()}, coords=labels)


def _draws(tree: xarray.DataTree) -> xarray.DataArray:
    """The draws as (dim, chain, draw), checked."""
    if not hasattr(tree, "children"):
        raise ValueError(f"tree must be an xarray.DataTree, such as mafla.sample returns, got {type(tree).__name__}")
    group = tree.children.get("posterior")
    if group is None or "x" not in group.data_vars:
        raise ValueError(f"tree must have a variable x in its group posterior, got the groups {list(tree.children)}")
    draws = group.to_dataset()["x"]
    if set(draws.dims) != {"chain", "draw", "dim"}:
        raise ValueError(f"x must have the dimensions chain, draw and dim, got {draws.dims}")
    if draws.size == 0 or draws.sizes["draw"] < MIN_DRAWS:
        raise ValueError(f"x must have at least {MIN_DRAWS} draws per chain, got the sizes {dict(draws.sizes)}")
    bad = np.count_nonzero(~np.isfinite(draws.values))
    if bad:
        raise ValueError(f"x must be finite, got {bad} non-finite values of {draws.size}")
    return draws.transpose("dim", "chain", "draw")


def _array_stats() -> Any:
    # the NumPy interface of arviz-stats, the same in 0.x and 1.x; imported late because it takes a second
    from arviz_stats.base.array import array_stats

    return array_stats


def _convergence(x: Array) -> dict[str, Array]:
    stats, moves = _array_stats(), np.ptp(x, axis=(1, 2)) > 0
    # a quantile tied with the largest draw, as after many rejections, has no draws above it; mirrored, it has its ties
    ess_tail = np.minimum(*(stats.ess(sign * x, method="tail", prob=(0.05, 0.95)) for sign in (1, -1)))
    columns = {"r_hat": stats.rhat(x, method="rank"), "ess_bulk": stats.ess(x, method="bulk"), "ess_tail": ess_tail}
    return {name: np.where(moves, value, np.nan) for name, value in columns.items()}


def _quantiles(x: Array) -> dict[str, Array]:
    stats = _array_stats()
    columns = {name: np.quantile(x, level, axis=(1, 2)) for name, level in QUANTILES.items()}
    for name, level in QUANTILES.items():
        mirrored = stats.mcse(-x, method="quantile", prob=1 - level)
        columns[f"mcse_{name}"] = np.maximum(stats.mcse(x, method="quantile", prob=level), mirrored)
    return columns


def _tail(x: Array) -> dict[str, Array]:
    """Hill index of each coordinate, its interval widened by the effective number of draws that reach the tail."""
    names, n = ("tail_index", "tail_index_lower", "tail_index_upper"), x[0].size
    if n < MIN_TAIL_DRAWS:
        return {name: np.full(len(x), np.nan) for name in names}
    distance = np.abs(x - np.median(x, axis=(1, 2), keepdims=True))
    ess = _array_stats().ess(-distance, method="quantile", prob=_tail_count(n) / n)
    estimates = np.array([hill(draws, ess=size)[:3] for draws, size in zip(x, ess, strict=True)])
    return dict(zip(names, estimates.T, strict=True))


def _tail_count(n: int) -> int:
    # far enough out for the power law to hold, with enough draws to see it
    return min(n // 20, round(3 * math.sqrt(n)))


def _moments(x: Array) -> dict[str, Array]:
    mcse = _array_stats().mcse(x, method="mean")
    return {"mean": np.mean(x, axis=(1, 2)), "sd": np.std(x, axis=(1, 2), ddof=1), "mcse_mean": mcse}


def _warn(what: str, names: Array, category: type[Warning], advice: str) -> None:
    if len(names):
        shown = ", ".join(map(str, names[:NAMES_SHOWN].tolist())) + (", ..." if len(names) > NAMES_SHOWN else "")
        warnings.warn(f"{what} dim {shown}: {advice}", category, stacklevel=3)
