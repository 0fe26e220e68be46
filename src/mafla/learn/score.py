"""A score from data: the score of a heavy-tailed base plus a network, by score matching in any of its forms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.learn import files, score_matching
from mafla.learn.networks import FieldNetwork, Frame, Point, Scalar
from mafla.learn.prepare import Prepared, prepare
from mafla.learn.training import History, Schedule, train

__all__ = ["Score", "fit_score"]

LOSSES = ("sliced", "exact", "denoising", "fractional")
# Rows tremble a little while a score is matched at them, by this share of a blur that would show: the loss has no lower
# bound, and a field that has learned a few hundred rows by heart, with a spike at each, would win.
TREMOR = 0.4
DEFAULT = Schedule(steps=3000, check_every=100, patience=6)

Loss = Literal["sliced", "exact", "denoising", "fractional"]


class Score(eqx.Module):
    """A vector field that was learned from data: call it at a single point.

    Attributes:
        frame: units and base of the data.
        network: what is added to the score of the base; all of the field where ``loss`` is "fractional".
        loss: by which the field was learned; "fractional" learns the fractional score ``D^(α-2)∇p / p``.
        alpha: stability index for proposals, and that of the fractional score.
        noise_level: the noise by which "denoising" and "fractional" blur the data, for each column; else None.
        history: the training.
    """

    frame: Frame
    network: FieldNetwork
    loss: Loss = eqx.field(static=True)
    alpha: float = eqx.field(static=True)
    noise_level: tuple[float, ...] | None = eqx.field(static=True)
    history: History = eqx.field(static=True)

    def __call__(self, point: Point) -> Point:
        """Return the field at a point."""
        field = unit_field(self.frame, self.network, self.loss)(self.frame.units(point))
        # A fractional score is of order α - 1 in the unit of length.
        return field / self.frame.scale ** (self.alpha - 1 if self.loss == "fractional" else 1)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `mafla.load` reads."""
        files.write(path, "score", self.config(), files.arrays_of(self))

    def config(self) -> dict[str, Any]:
        """Return the settings from which `skeleton` makes an empty model."""
        settings = {name: getattr(self, name) for name in ("loss", "alpha", "noise_level")}
        return {**settings, **self.frame.sizes(self.network), "history": self.history.to_json()}

    @staticmethod
    def skeleton(config: dict[str, Any]) -> "Score":
        """Return the model that was saved with these settings, its arrays empty."""
        frame = Frame.empty(config["dim"], config["components"])
        growth = 1 if config["loss"] == "fractional" else -1
        network = FieldNetwork(jax.random.key(0), frame, config["width"], config["depth"], growth)
        level = None if config["noise_level"] is None else tuple(config["noise_level"])
        return Score(frame, network, config["loss"], config["alpha"], level, History.from_json(config["history"]))


def fit_score(
    key: Key[Array, ""],
    data: Any,
    *,
    loss: Loss = "sliced",
    alpha: float | Literal["auto"] = "auto",
    noise: float | None = None,
    width: int = 64,
    depth: int = 2,
    schedule: Schedule = DEFAULT,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> Score:
    """Learn a score from rows of data.

    Args:
        key: random key; the same key gives the same model.
        data: array of shape (rows, columns) or data frame, at least 50 rows.
        loss: "sliced" (the paper's), "exact", "denoising", or "fractional" for the fractional score of the data blurred
            by stable noise, which serves as the drift of `mafla.fula`.
        alpha: stability index, in (1, 2]; estimated from the tail of the data by "auto".
        noise: noise level of the last two in units of each column's quantile scale, of "fractional" of their geometric
            mean; chosen from the data where it is not given, and kept in the model's ``noise_level``.
        width: width of the network's layers.
        depth: number of its hidden layers.
        schedule: how to train.
        progress: show a bar on a terminal.
        checkpoint: file from which an interrupted training goes on.

    Example:
        >>> import jax, numpy as np
        >>> rows = np.random.default_rng(0).standard_t(2, size=(400, 1))
        >>> score = fit_score(jax.random.key(0), rows, schedule=Schedule(steps=100), progress=False)
        >>> bool(score(np.full(1, 2.0)) < 0 < score(np.full(1, -2.0)))
        True
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    size = _check.whole("width", width, 1), _check.whole("depth", depth, 0)
    noise = None if noise is None else _check.positive("noise", noise)
    found = prepare(key, data, alpha, isotropic=loss == "fractional")
    level = _noise_level(loss, noise, found)
    network = FieldNetwork(found.keys[0], found.frame, *size, growth=1 if loss == "fractional" else -1)
    network, history = train(
        found.keys[1],
        network,
        _loss(found, loss, level),
        found.train,
        found.held_out,
        schedule,
        progress=progress,
        label="score",
        checkpoint=checkpoint,
        settings=(loss, None if level is None else np.asarray(level).tolist()),
    )
    reported = None if level is None else tuple(np.asarray(level * found.frame.scale, np.float64).tolist())
    return Score(found.frame, network, loss, found.alpha, reported, history)


def unit_field(frame: Frame, network: FieldNetwork, loss: Loss) -> Callable[[Point], Point]:
    """Return the field in the units of the frame."""
    if loss == "fractional":
        return lambda point: network(frame, point)
    return lambda point: jax.grad(frame.base.logdensity)(point) + network(frame, point)


def _noise_level(loss: Loss, noise: float | None, found: Prepared) -> Float[Array, " dim"] | None:
    """Return the noise in units of the frame: one number for each column, all equal for the isotropic stable law."""
    if loss not in ("denoising", "fractional"):
        return None
    if noise is not None:
        return jnp.full_like(found.frame.scale, noise)
    level = _blur(found).astype(found.frame.scale.dtype)
    # Stable noise of scale σ is at α=2 normal of variance 2σ².
    return level if loss == "denoising" else jnp.full_like(level, jnp.median(level) / jnp.sqrt(2.0))


def _blur(found: Prepared, dim: int | None = None) -> Float[Array, " dim"]:
    try:
        return score_matching.noise_level(found.train, dim)
    except ValueError as error:
        raise ValueError(str(error).replace("points", "data", 1)) from None


def _loss(found: Prepared, loss: Loss, level: Float[Array, " dim"] | None) -> Any:
    # The other losses blur by a level of their own.
    trembling = TREMOR * _blur(found, dim=1) if level is None else None

    def value(network: FieldNetwork, rows: Float[Array, "n dim"], key: Key[Array, ""], progress: Scalar) -> Scalar:
        del progress
        field = unit_field(found.frame, network, loss)
        if trembling is not None:
            key_directions, key_near = jax.random.split(key)
            near = rows + trembling.astype(rows.dtype) * jax.random.normal(key_near, rows.shape, rows.dtype)
            if loss == "exact":
                return score_matching.exact(field, near) / rows.shape[1]
            return score_matching.sliced(field, near, key_directions) / rows.shape[1]
        assert level is not None  # the others blur
        if loss == "denoising":
            return score_matching.denoising(field, rows, key, level)
        return score_matching.fractional_denoising(field, rows[:512], key, found.alpha, level[0])

    return value
