"""Networks for heavy tails, on a single point: bounded inputs, and an explicit law for what happens far out.

Every network sees the data through a `Frame`: robust units, and a heavy-tailed base law fitted to the rows. Inputs are
bounded, so that nothing learned on the body grows without limit in the tail; there a field decays like ``1/|x|`` and an
energy falls like a power of ``|x|`` whose exponent is learned.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla.learn.mixture import StudentMixture

__all__ = ["EnergyNetwork", "FieldNetwork", "Frame", "PairNetwork"]

REACH = 3.0  # root-mean-square units up to which coordinates enter almost as they are
SHARPNESS = 4.0  # of an energy's first layer at the start: wide features alone take thousands of steps to see an edge
LEAST_TAIL = 0.1  # an energy's tail exponent stays above this share of its base's, so that it can be normalised

Point = Float[Array, " dim"]
Scalar = Float[Array, ""]


class Frame(eqx.Module):
    """What is known of data before any training.

    Attributes:
        center: medians of the columns.
        scale: their quantile scales.
        base: a mixture fitted to the rows in these units.

    Example:
        >>> base = StudentMixture(jnp.zeros(1), jnp.zeros((1, 2)), jnp.eye(2)[None], jnp.ones(1))
        >>> frame = Frame(jnp.zeros(2), jnp.full(2, 2.0), base)
        >>> print(frame.units(jnp.ones(2)), frame.features(jnp.full(2, 1e9)).max() <= 5)
        [0.5 0.5] True
    """

    center: Point
    scale: Point
    base: StudentMixture

    def units(self, point: Point) -> Point:
        """Return a point in the units of the frame."""
        return (point - self.center) / self.scale

    def features(self, unit_point: Point) -> Float[Array, " features"]:
        """Return bounded numbers that tell where a point lies: place, distance, and which component it belongs to."""
        squared_radii = self.base.squared_radii(unit_point)
        belongs = 2 * jax.nn.softmax(self.base.log_joint(squared_radii)) - 1
        distances = jnp.log1p(jnp.append(squared_radii / self.base.df, mean_square(unit_point)))
        return jnp.concatenate([bounded(unit_point), belongs, jnp.tanh(distances / 3)])

    @staticmethod
    def empty(dim: int, components: int) -> "Frame":
        """Return a frame of this size, to be filled from a file."""
        factors = jnp.tile(jnp.eye(dim), (components, 1, 1))
        base = StudentMixture(jnp.zeros(components), jnp.zeros((components, dim)), factors, jnp.ones(components))
        return Frame(jnp.zeros(dim), jnp.ones(dim), base)

    def sizes(self, network: Any) -> dict[str, int]:
        """Return what a file must say of this frame and the layers of a network for it, besides their arrays."""
        layers = network.layers
        counts = {"dim": len(self.center), "components": len(self.base.df)}
        return {**counts, "width": layers.width_size, "depth": layers.depth}

    @property
    def feature_count(self) -> int:
        """The length of `features`."""
        return len(self.center) + 2 * len(self.base.df) + 1


class FieldNetwork(eqx.Module):
    """A vector field in the units of a frame.

    Attributes:
        layers: from the features of a point to as many numbers as it has coordinates.
        growth: power of the distance with which the field may grow: -1 for a score, 1 for a fractional score.
    """

    layers: eqx.nn.MLP
    growth: int = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], frame: Frame, width: int, depth: int, growth: int) -> None:
        self.layers = _layers(key, frame.feature_count, len(frame.center), width, depth)
        self.growth = growth

    def __call__(self, frame: Frame, unit_point: Point) -> Point:
        """Return the field at a point."""
        return self.layers(frame.features(unit_point)) * (1 + mean_square(unit_point)) ** (self.growth / 2)


class EnergyNetwork(eqx.Module):
    """What must be added to the log density of a frame's base.

    Attributes:
        layers: from the features of a point to a number.
        tail: how much faster than the base's the density falls, as a power of the distance.
        constant: makes the sum a normalised log density.
    """

    layers: eqx.nn.MLP
    tail: Scalar
    constant: Scalar

    def __init__(self, key: Key[Array, ""], frame: Frame, width: int, depth: int) -> None:
        self.layers = _sharper(_layers(key, frame.feature_count, "scalar", width, depth))
        self.tail = self.constant = jnp.zeros((), frame.center.dtype)

    def __call__(self, frame: Frame, unit_point: Point) -> Scalar:
        """Return the correction at a point."""
        tail = jnp.maximum(self.tail, (LEAST_TAIL - 1) * jnp.min(frame.base.df))
        far = jnp.log1p(mean_square(unit_point))
        return self.layers(frame.features(unit_point)) - 0.5 * tail * far + self.constant


class PairNetwork(eqx.Module):
    """A number for an ordered pair of points.

    Attributes:
        layers: from the features of both points and of their difference to a number.
    """

    layers: eqx.nn.MLP

    def __init__(self, key: Key[Array, ""], frame: Frame, width: int, depth: int) -> None:
        size = 2 * frame.feature_count + len(frame.center) + 1
        self.layers = _layers(key, size, "scalar", width, depth)

    def __call__(self, frame: Frame, new: Point, old: Point) -> Scalar:
        """Return the number for a move from ``old`` to ``new``, both in the units of the frame."""
        jump = new - old
        length = jnp.tanh(jnp.log1p(mean_square(jump)) / 3)
        features = [frame.features(new), frame.features(old), bounded(jump), length[None]]
        return self.layers(jnp.concatenate(features))


def mean_square(point: Point) -> Scalar:
    """Return ``|x|² / d``, of the same size in any dimension."""
    return jnp.sum(jnp.square(point)) / len(point)


def bounded(point: Point) -> Point:
    """Return a point drawn in: almost itself in the body, at most ``REACH sqrt(d)`` from the centre far out."""
    return point / jnp.sqrt(1 + mean_square(point) / REACH**2)


def _layers(key: Key[Array, ""], size: int, out: int | Literal["scalar"], width: int, depth: int) -> eqx.nn.MLP:
    """Return layers that start near zero, so that training starts from the base.

    Not at zero: XLA folds a matrix of zeros into the operations around it, and on a CPU NaN may result (jaxlib 0.10).
    """
    layers = eqx.nn.MLP(size, out, width, depth, activation=jnp.tanh, key=key)
    return eqx.tree_at(lambda found: found.layers[-1], layers, replace_fn=lambda last: jax.tree.map(_small, last))


def _sharper(layers: eqx.nn.MLP) -> eqx.nn.MLP:
    """Return layers whose first sees details, too."""
    return eqx.tree_at(lambda found: found.layers[0].weight, layers, replace_fn=lambda weight: SHARPNESS * weight)


def _small(leaf: Array) -> Array:
    return 1e-3 * leaf
