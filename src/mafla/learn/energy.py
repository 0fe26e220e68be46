"""A normalised log density from data: a heavy-tailed base, and a network for what the base does not see.

The network learns the log ratio of the data's density to the base's by noise-contrastive estimation, which gets the
weights of separated modes right and normalises. Sliced score matching, which is blind to both but sharp on shapes, can
be added. Where the base fits already there is nothing to learn, and early stopping keeps it so.
"""

from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.learn import files, score_matching
from mafla.learn.networks import EnergyNetwork, Frame, Point, Scalar
from mafla.learn.prepare import LEAST_ROWS, Prepared, prepare
from mafla.learn.table import FARTHEST
from mafla.learn.training import History, Schedule, train

__all__ = ["Energy", "contrastive_loss", "fit_energy"]

NOISE_PER_ROW = 4  # more noise makes the estimate sharper and a step dearer
NORMALISING_DRAWS, BLOCK = 2**17, 2**11  # in blocks, since draws in many columns take much memory
# The loss hardly falls for some hundred steps before it does, and differs little where the base is nearly right.
DEFAULT = Schedule(steps=3000, batch_size=1024, learning_rate=5e-3, check_every=100, patience=12)


class Energy(eqx.Module):
    """A log density that was learned from data: call it at a single point.

    Beyond 1e15 quantile scales of the data, where squares would overflow, there is no density.

    Attributes:
        frame: units and base of the data.
        network: what is added to the base.
        alpha: stability index for proposals.
        history: the training.
    """

    frame: Frame
    network: EnergyNetwork
    alpha: float = eqx.field(static=True)
    history: History = eqx.field(static=True)

    def __call__(self, point: Point) -> Scalar:
        """Return the normalised log density at a point."""
        unit_point = self.frame.units(point)
        volume = jnp.sum(jnp.log(self.frame.scale))
        value = self.frame.base.logdensity(unit_point) + self.network(self.frame, unit_point) - volume
        return jnp.where(jnp.max(jnp.abs(unit_point)) <= FARTHEST, value, -jnp.inf)

    def score(self, point: Point) -> Point:
        """Return the gradient of the log density at a point."""
        return jax.grad(self)(point)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `mafla.load` reads."""
        files.write(path, "energy", self.config(), files.arrays_of(self))

    def config(self) -> dict[str, Any]:
        """Return the settings from which `skeleton` makes an empty model."""
        return {"alpha": self.alpha, **self.frame.sizes(self.network), "history": self.history.to_json()}

    @staticmethod
    def skeleton(config: dict[str, Any]) -> "Energy":
        """Return the model that was saved with these settings, its arrays empty."""
        frame = Frame.empty(config["dim"], config["components"])
        network = EnergyNetwork(jax.random.key(0), frame, config["width"], config["depth"])
        return Energy(frame, network, config["alpha"], History.from_json(config["history"]))


def fit_energy(
    key: Key[Array, ""],
    data: Any,
    *,
    alpha: float | Literal["auto"] = "auto",
    score_weight: float = 0.0,
    width: int = 64,
    depth: int = 2,
    schedule: Schedule = DEFAULT,
    progress: bool = True,
    checkpoint: str | Path | None = None,
    least: int = LEAST_ROWS,
) -> Energy:
    """Learn a normalised log density from rows of data.

    Args:
        key: random key; the same key gives the same model.
        data: array of shape (rows, columns) or data frame.
        alpha: stability index kept for proposals, in (1, 2]; estimated from the tail of the data by "auto".
        score_weight: weight of the sliced score-matching loss beside the contrastive one.
        width: width of the network's layers.
        depth: number of its hidden layers.
        schedule: how to train.
        progress: show a bar on a terminal.
        checkpoint: file from which an interrupted training goes on.
        least: number of rows below which data are refused, at least 2; fewer than 50 hardly tell a density.

    Example:
        >>> import jax, numpy as np
        >>> rows = np.random.default_rng(0).standard_t(2, size=(400, 1))
        >>> logdensity = fit_energy(jax.random.key(0), rows, schedule=Schedule(steps=100), progress=False)
        >>> bool(logdensity(np.zeros(1)) > logdensity(np.full(1, 5.0)))
        True

        A model can be kept in a file:

        >>> import mafla, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     logdensity.save(f"{folder}/energy.mafla")
        ...     again = mafla.load(f"{folder}/energy.mafla")
        >>> bool(again(np.zeros(1)) == logdensity(np.zeros(1)))
        True
    """
    weight = _check.number("score_weight", score_weight)
    size = _check.whole("width", width, 1), _check.whole("depth", depth, 0)
    found = prepare(key, data, alpha, least=least)
    network = EnergyNetwork(found.keys[0], found.frame, *size)
    loss = _loss(found.frame, weight)
    network, history = train(
        found.keys[1],
        network,
        loss,
        found.train,
        found.held_out,
        schedule,
        progress=progress,
        label="energy",
        checkpoint=checkpoint,
        settings=(weight,),
    )
    return Energy(found.frame, _normalised(found, network), found.alpha, history)


def contrastive_loss(
    log_ratio_rows: Float[Array, " rows"], log_ratio_noise: Float[Array, " noise"]
) -> Float[Array, ""]:
    """Return the logistic loss of telling rows from noise by the log ratio of their densities.

    It is least where the ratio is right, constant included (Gutmann and Hyvärinen 2010).

    Args:
        log_ratio_rows: the model's log density minus the noise's, at rows of the data.
        log_ratio_noise: the same at draws of the noise.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{contrastive_loss(jnp.zeros(3), jnp.zeros(3)):.4f}")  # 2 log 2: no telling apart
        1.3863
    """
    per_row = len(log_ratio_noise) / len(log_ratio_rows)
    shift = jnp.log(per_row)
    missed = jnp.mean(jax.nn.softplus(shift - log_ratio_rows))
    return missed + per_row * jnp.mean(jax.nn.softplus(log_ratio_noise - shift))


def _loss(frame: Frame, score_weight: float) -> Any:
    def loss(network: EnergyNetwork, rows: Float[Array, "n dim"], key: Key[Array, ""], progress: Scalar) -> Scalar:
        del progress
        key_noise, key_directions = jax.random.split(key)
        noise = frame.base.sample(key_noise, NOISE_PER_ROW * len(rows))
        result = contrastive_loss(*(jax.vmap(lambda u: network(frame, u))(points) for points in (rows, noise)))
        if score_weight:
            score = jax.grad(lambda u: frame.base.logdensity(u) + network(frame, u))
            result += score_weight / rows.shape[1] * score_matching.sliced(score, rows, key_directions)
        return result

    return loss


def _normalised(found: Prepared, network: EnergyNetwork) -> EnergyNetwork:
    """Return the network with the constant that makes its density integrate to one, by draws of the base."""

    def block(key: Key[Array, ""]) -> Scalar:
        draws = found.frame.base.sample(key, BLOCK)
        return jax.nn.logsumexp(jax.vmap(lambda u: network(found.frame, u))(draws))

    keys = jax.random.split(found.keys[0], NORMALISING_DRAWS // BLOCK)
    excess = jax.nn.logsumexp(jax.lax.map(block, keys)) - jnp.log(NORMALISING_DRAWS)
    return eqx.tree_at(lambda net: net.constant, network, network.constant - excess)
