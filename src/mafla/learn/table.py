"""What a model must know of its data before any network: that they can be learned from, their scale, their tail.

Everything here works on ranks and quantiles, because heavy-tailed data may have neither a mean nor a variance.
"""

import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import NDArray

from mafla import _check, stable
from mafla.diagnostics import TailIndex, hill

__all__ = [
    "DuplicateRowsWarning",
    "Scaling",
    "Table",
    "proposal_alpha",
    "read_table",
    "robust_scaling",
    "split",
    "tail_index",
]

MIDDLE = (0.16, 0.84)  # levels whose distance is two standard deviations under a normal law
WIDER = ((0.05, 0.95), (0.01, 0.99), (0.0, 1.0))  # tried in turn where the middle of a column is one value
FARTHEST = 1e15  # in robust units: its square, summed over columns, still fits into float32
MOST_HELD_OUT = 5000
# The stable laws that data are compared with: closer where the tail index changes faster with α.
ALPHAS = (1.1, 1.2, 1.35, 1.5, 1.6, 1.7, 1.8, 1.87, 1.92, 1.95, 1.98, 2.0)
SIMULATED = (50_000, 8)  # draws of each, and columns at most: with more the tail of the radius hardly changes

Values = NDArray[np.float64]
Points = TypeVar("Points", Array, Values)


class DuplicateRowsWarning(UserWarning):
    """Many rows occur more than once: a density that is learned from them grows spikes there."""


class Table(NamedTuple):
    """Checked data.

    Attributes:
        values: finite rows of shape (n, dim), float64.
        columns: the names of the columns; "0", "1", ... where the data had none.
    """

    values: Float[np.ndarray, "n dim"]
    columns: tuple[str, ...]


class Scaling(NamedTuple):
    """Robust units: median zero, and half the distance between the 16 % and the 84 % quantile one.

    Attributes:
        center: the median of each column, float64.
        scale: positive, float64.
    """

    center: Float[np.ndarray, " dim"]
    scale: Float[np.ndarray, " dim"]

    def apply(self, values: Points) -> Points:
        """Return values in robust units; of a JAX array the dtype is kept."""
        center, scale = self._constants(values)
        return (values - center) / scale

    def undo(self, values: Points) -> Points:
        """Return values in their own units; of a JAX array the dtype is kept."""
        center, scale = self._constants(values)
        return values * scale + center

    def _constants(self, values: Array | Values) -> tuple[Any, Any]:
        dtype = values.dtype if isinstance(values, jax.Array) else np.float64
        return self.center.astype(dtype), self.scale.astype(dtype)


def read_table(data: Any, *, name: str = "data", least: int = 50) -> Table:
    """Check that data can be learned from and return them as float64.

    Columns may be of any magnitude. Repeated rows are kept; above 5 % of all, a `DuplicateRowsWarning` counts them.

    Args:
        data: an array of shape (n, dim), a list of rows or a data frame, all of real numbers.
        name: what messages call the data.
        least: number of rows below which data are refused.

    Raises:
        ValueError: in one line, the first thing that makes the data unfit: entries that are missing, infinite or no
            real numbers, too few rows, a column with (almost) one value, or a value beyond all scale.

    Example:
        >>> table = read_table(np.random.default_rng(0).normal(size=(100, 2)))
        >>> table.values.shape, table.columns
        ((100, 2), ('0', '1'))
        >>> read_table([[1.0, 2.0], [3.0, float("nan")]], least=2)
        Traceback (most recent call last):
        ValueError: data must be finite, got nan in column '1', row 1 counting from 0 (1 not finite in all)
    """
    values = _real_numbers(name, data)
    if values.ndim != 2:
        hint = f"; use {name}[:, None] for one column" if values.ndim == 1 else ""
        raise ValueError(f"{name} must have the shape (rows, columns), got {values.shape}{hint}")
    if values.shape[1] == 0 or len(values) < least:
        raise ValueError(f"{name} must have at least {least} rows and one column, got shape {values.shape}")
    columns = tuple(map(str, getattr(data, "columns", range(values.shape[1]))))
    _refuse_nonfinite(name, data, values, columns)
    _refuse_single_values(name, values, columns)
    _refuse_far_out(name, data, values, columns)
    _warn_of_duplicates(name, values)
    return Table(values, columns)


def robust_scaling(values: Float[np.ndarray, "n dim"]) -> Scaling:
    """Return the median and the quantile scale of each column.

    Where the quantiles at 16 % and 84 % coincide, those at 5 % and 95 %, at 1 % and 99 %, or the extremes stand in.

    Args:
        values: finite rows; no column may be constant.

    Example:
        >>> robust_scaling(np.arange(101.0)[:, None])
        Scaling(center=array([50.]), scale=array([34.]))
    """
    scale = _half_range(values, MIDDLE)
    for levels in WIDER if (scale <= 0).any() else ():
        scale = np.where(scale > 0, scale, _half_range(values, levels))
    if not (scale > 0).all():
        raise ValueError(f"values must vary in every column, got a constant column {np.argmin(scale)}")
    return Scaling(np.median(values, axis=0), scale)


def tail_index(values: Float[np.ndarray, "n dim"]) -> TailIndex:
    """Return the Hill estimate of the tail index of the distance from the median, in robust units.

    Its bias is that of `mafla.diagnostics.hill`: from 5000 rows 1.5-1.6 for an index of 1.5, 2.7-2.9 for Student-t with
    3 degrees of freedom, 6-13 for normal rows, and 4.5 for the stable law of α=1.95, whose power law begins far out.

    Args:
        values: at least 50 finite rows.

    Example:
        >>> levels = np.arange(1, 2000) / 2000
        >>> round(tail_index(np.tan(np.pi * (levels - 0.5))[:, None]).index, 1)  # quantiles of the Cauchy law
        1.0
    """
    radius = np.linalg.norm(robust_scaling(values).apply(values), axis=1)
    n = len(radius)
    return _hill_of_distance(radius, max(10, min(n // 20, round(3 * math.sqrt(n)))))


def proposal_alpha(values: Float[np.ndarray, "n dim"]) -> float:
    """Return the stability index, from 1.1 to 2, of the isotropic stable law whose tail looks most like that of rows.

    The Hill estimate from the outermost 5 % is far too high for stable laws near α=2, where it sees the Gaussian body.
    So the same estimate is made of simulated stable laws, and the index returned is that at which the two agree.
    Distances are taken from the box between the 16 % and the 84 % quantiles: from the median, two far modes look like
    a light tail.

    Measured in 1, 2 and 8 columns: for stable laws the error is about 0.2 below α=1.7, 0.06 at 1.9 and 0.01 at 2 from
    500 rows, a quarter of it from 20 000. Student-t rows with 1.5, 3 and 10 degrees of freedom give 1.5, 1.8-1.9 and
    1.95-1.97. Two modes ten scales apart shift α=1.5 to 1.5-1.7 and 1.95 to 1.98 on the line, 1.95 to 1.92 in the
    plane. Normal columns with a correlation of 0.95 give 1.96, and with 64 columns α=1.9 gives 1.85.

    Args:
        values: at least 50 finite rows.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(5000, 1))
        >>> proposal_alpha(rows) > 1.95, proposal_alpha(rows / rows[::-1]) < 1.2  # normal and Cauchy
        (True, True)
    """
    rows, dim = values.shape
    count = max(rows // 20, 10)
    found = _hill_of_distance(_distance_from_box(values), count).index
    if math.isnan(found):  # the rows end at the box: no tail at all
        return ALPHAS[-1]
    size = SIMULATED[0] * count // rows
    known = [_hill_of_distance(_distance_from_box(law), size).index for law in _stable_laws(dim)]
    return round(float(np.interp(found, known, ALPHAS)), 2)


def split(
    values: Float[np.ndarray, "n dim"], key: Key[Array, ""], fraction: float = 0.1
) -> tuple[Float[np.ndarray, "train dim"], Float[np.ndarray, "held_out dim"]]:
    """Return shuffled rows in two parts, to train on and to hold out: at least one row each, at most 5000 held out.

    Args:
        values: at least two rows.
        key: random key.
        fraction: share of the rows to hold out, between 0 and 1.

    Example:
        >>> train, held_out = split(np.arange(20.0)[:, None], jax.random.key(0))
        >>> len(train), len(held_out)
        (18, 2)
    """
    if not 0 < _check.number("fraction", fraction) < 1:
        raise ValueError(f"fraction must be a number in (0, 1), got {fraction}")
    if len(values) < 2:
        raise ValueError(f"values must have at least two rows, got {len(values)}")
    count = min(max(round(fraction * len(values)), 1), len(values) - 1, MOST_HELD_OUT)
    order = np.asarray(jax.random.permutation(key, len(values)))
    return values[order[count:]], values[order[:count]]


def _real_numbers(name: str, data: Any) -> Values:
    """Return data as float64, whatever holds them; missing entries become NaN."""
    if _is_frame(data):
        for label, dtype in data.dtypes.items():
            if dtype.kind not in "iuf":
                raise ValueError(f"{name} must hold real numbers, got column {str(label)!r} of type {dtype}")
        return np.array(data.to_numpy(dtype="float64", na_value=np.nan))
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):  # rows of different lengths, or a traced array
        raise ValueError(f"{name} must be an array of real numbers, got {type(data).__name__}") from None
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers, got {type(data).__name__} of type {array.dtype}")
    array = array.astype(np.float64)
    return np.where(np.ma.getmaskarray(data), np.nan, array) if np.ma.isMaskedArray(data) else array


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _place(data: Any, columns: tuple[str, ...], row: int, column: int) -> str:
    """Name an entry by its column and by its position, with the row's label if that says more."""
    label = str(data.index[row]) if _is_frame(data) else str(row)
    known = f" (labelled {label})" if label != str(row) and len(label) <= 40 else ""
    return f"column {columns[column]!r}, row {row} counting from 0{known}"


def _refuse_nonfinite(name: str, data: Any, values: Values, columns: tuple[str, ...]) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = f"{_place(data, columns, *bad[0])} ({len(bad)} not finite in all)"
        raise ValueError(f"{name} must be finite, got {values[tuple(bad[0])]} in {where}")


def _refuse_single_values(name: str, values: Values, columns: tuple[str, ...]) -> None:
    """Refuse columns without a quantile scale: a value that holds most of the rows has no density."""
    for column in np.flatnonzero(_half_range(values, MIDDLE) <= 0):
        middle = np.median(values[:, column])
        same = int(np.count_nonzero(values[:, column] == middle))
        share = "every row" if same == len(values) else f"{same} of {len(values)} rows"
        raise ValueError(f"{name} must vary in every column, got {middle:g} in {share} of column {columns[column]!r}")


def _refuse_far_out(name: str, data: Any, values: Values, columns: tuple[str, ...]) -> None:
    with np.errstate(over="ignore"):
        distance = np.abs(robust_scaling(values).apply(values))
    far = np.argwhere(distance > FARTHEST)
    if len(far):
        what = f"{values[tuple(far[0])]:g} in {_place(data, columns, *far[0])}"
        raise ValueError(f"{name} must lie within {FARTHEST:g} quantile scales of the median, got {what}")


def _warn_of_duplicates(name: str, values: Values) -> None:
    count = len(values) - len(np.unique(values, axis=0))
    if count > 0.05 * len(values):
        what = f"{count} of {len(values)} rows of {name} repeat an earlier row: a learned density grows spikes there"
        warnings.warn(what, DuplicateRowsWarning, stacklevel=3)


def _half_range(values: Values, levels: tuple[float, float]) -> Values:
    low, high = np.quantile(values, levels, axis=0)
    return np.asarray(high / 2 - low / 2)  # the difference of two large quantiles might overflow


def _distance_from_box(values: Values) -> Values:
    """Return how far rows lie outside the middle of each column, in robust units."""
    low, high = np.quantile(values, MIDDLE, axis=0)
    outside = np.maximum(np.maximum(low - values, values - high), 0)
    return np.asarray(np.linalg.norm(outside / robust_scaling(values).scale, axis=1))


def _hill_of_distance(distance: Values, count: int) -> TailIndex:
    if len(distance) < 50:
        raise ValueError(f"values must have at least 50 rows, got {len(distance)}")
    # Mirrored, distances have the median zero, from which the estimator measures them.
    return hill(np.concatenate([distance, -distance]), k=2 * count, ess=len(distance))._replace(k=count)


def _stable_laws(dim: int) -> Iterator[Values]:
    """Draw from the stable laws, from each with the same random numbers, so that their tails come in order."""
    key_normal, key_scale = jax.random.split(jax.random.key(0))
    count, columns = SIMULATED[0], min(dim, SIMULATED[1])
    normal = np.asarray(jax.random.normal(key_normal, (count, columns), jnp.float32), np.float64)
    for alpha in ALPHAS:
        log_a = np.asarray(stable.log_scale(key_scale, alpha, (count,), jnp.dtype("float32")), np.float64)
        yield np.exp(log_a / 2)[:, None] * normal
