"""From a table of data to what every fit starts from: a frame, and rows to learn from and to judge by."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.learn import table
from mafla.learn.mixture import fit_mixture
from mafla.learn.networks import Frame

__all__ = ["Prepared", "prepare"]

LEAST_ROWS = 50
FINEST = 1e-3  # of a column's scale: steps between numbers that do no harm
ALPHA_OF_FEW = 1.5  # where the rows are too few to show a tail: neither mostly far moves nor hardly any


class Prepared(NamedTuple):
    """What a fit starts from.

    Attributes:
        frame: robust units and the base law.
        train: rows to learn from, in the units of the frame.
        held_out: other rows, in the same units.
        alpha: stability index for proposals, given or estimated.
        keys: fresh random keys for the network's start and its training.
    """

    frame: Frame
    train: Float[Array, "train dim"]
    held_out: Float[Array, "held_out dim"]
    alpha: float
    keys: tuple[Key[Array, ""], Key[Array, ""]]


def prepare(
    key: Key[Array, ""],
    data: Any,
    alpha: float | Literal["auto"],
    *,
    isotropic: bool = False,
    least: int = LEAST_ROWS,
    frame: Frame | None = None,
) -> Prepared:
    """Check the data, measure their scale and tail, fit the base and set a tenth of the rows aside.

    The base is fitted to all rows: it has so few parameters that judging a network on rows it has seen favours the base
    a little, never the network. The units of an isotropic frame are the same in all directions. Fewer than ``least``
    rows are refused; below 50 there is no tail to measure, and "auto" is 1.5. A ``frame`` from before is used as it is.

    Example:
        >>> found = prepare(jax.random.key(0), np.random.default_rng(0).normal(size=(100, 2)), "auto")
        >>> found.train.shape, found.held_out.shape, 1 < found.alpha <= 2
        ((90, 2), (10, 2), True)
    """
    _check.random_key(key)
    key_base, key_split, *keys = jax.random.split(key, 4)
    rows = table.read_table(data, least=least).values
    if alpha == "auto":
        index = table.proposal_alpha(rows) if len(rows) >= LEAST_ROWS else ALPHA_OF_FEW
    else:
        index = _check.stability_index(alpha, above=1)
    if frame is None:
        frame = _fit_frame(key_base, rows, isotropic)
    elif len(frame.center) != rows.shape[1]:
        raise ValueError(f"data must have the {len(frame.center)} columns of the score, got {rows.shape[1]}")
    unit_rows = table.Scaling(*(np.asarray(part, np.float64) for part in (frame.center, frame.scale))).apply(rows)
    dtype = frame.center.dtype
    train, held_out = (jnp.asarray(part, dtype) for part in table.split(unit_rows, key_split))
    return Prepared(frame, train, held_out, index, (keys[0], keys[1]))


def _fit_frame(key: Key[Array, ""], rows: Float[np.ndarray, "n dim"], isotropic: bool) -> Frame:
    scaling = table.robust_scaling(rows)
    if isotropic:
        scaling = scaling._replace(scale=np.full_like(scaling.scale, np.exp(np.mean(np.log(scaling.scale)))))
    _refuse_unfit(scaling, jnp.result_type(float))
    center, scale, unit_rows = (jnp.asarray(part, float) for part in (*scaling, scaling.apply(rows)))
    return Frame(center, scale, fit_mixture(key, unit_rows))


def _refuse_unfit(scaling: table.Scaling, dtype: Any) -> None:
    """Refuse columns so far from zero, so wide or so narrow that numbers of this precision cannot hold their rows."""
    (center, scale), numbers = scaling, np.finfo(dtype)
    is_fit = (numbers.eps * np.abs(center) <= FINEST * scale) & (scale >= numbers.tiny) & (scale <= numbers.max)
    if not is_fit.all():
        column = int(np.argmin(is_fit))
        where = f"column {column} with the median {center[column]:g} and the scale {scale[column]:g}"
        help_ = "subtract the median and divide by the scale, or use HeavyTailSampler, which does"
        raise ValueError(f"data must lie near zero for {numbers.dtype}, got {where}; {help_}")
