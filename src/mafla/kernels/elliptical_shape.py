"""The centre and the shape of a target, learned step by step from all chains in a way that heavy tails cannot break.

Only directions count: those of the chains as seen from the centre, and those of the gradients there. Every chain has a
bounded influence, however far out it is, and no moment needs to exist.

- Centre: the spatial median of the chains (Hettmansperger and Randles 2002), but for most of what lies along their
  gradients. The gradient of an elliptical law points at its centre, in coordinates in which the law is round. What is
  left of the position across the gradient is therefore the error of the centre, without the noise of the position.
- Shape: that in which positions and gradients are spread over directions alike. If the law is round, gradients point
  back along positions, and both are spread alike to the last bit: an elliptical law that is known stays known, however
  few the chains. In a small cloud anywhere on a slope, of whatever shape, gradients differ by the Hessian times what
  positions do, and the coordinates in which both have one shape are those that make the Hessian round.
- Size: the median radius.
- Middle of a coordinate, for laws without elliptical contours: where its gradient changes sign.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

__all__ = ["LARGEST_GAIN", "Shape", "follow", "follow_middle", "unit_shape"]

LARGEST_GAIN = 0.5
CHANCE, SURE = 2.0, 5.0  # standard deviations that chance explains, and that it does not
SMALLEST = 1e-30  # what is shorter has no direction

Vectors = Float[Array, "dim chains"]


class Shape(NamedTuple):
    """An ellipsoid: half of the chains are in ``center + factor @ (ball of radius sqrt(dim))``."""

    center: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]  # lower triangular


def unit_shape(dim: int) -> Shape:
    """Return the shape to start from: the origin, and the same scale in all directions; see `follow`."""
    return Shape(jnp.zeros(dim), jnp.eye(dim))


def follow(shape: Shape, positions: Vectors, gradients: Vectors, gain: Any, haste: Any = 0.0) -> tuple[Shape, Any]:
    """Return the shape, moved towards that of the target by a step of stochastic approximation, and its misfit.

    The misfit is the mean square of the sine between gradients and the way to the centre. Less than one over the
    dimension means that what is known of the centre is good enough to move towards it and away from it.

    Args:
        shape: what is known so far.
        positions: one column for each chain.
        gradients: of the log density there, or in proportion to it.
        gain: how far to go; at most 0.5 is used, and less where there are fewer chains than dimensions.
        haste: the least gain of the centre, at most 0.5. What lies across the gradients has so little noise that the
            centre can follow chains which come from far away, when the gain has long fallen.

    Example:
        >>> import numpy as np
        >>> rng, shape = np.random.default_rng(0), unit_shape(2)
        >>> middle, width = jnp.array([[5.0], [0.0]]), jnp.array([[3.0], [1.0]])
        >>> for step in range(200):
        ...     round_cloud = rng.normal(size=(2, 64)) / rng.normal(size=64)  # Cauchy
        ...     gradients = -3 * round_cloud / width / (1 + (round_cloud**2).sum(0))
        ...     shape, misfit = follow(shape, middle + width * round_cloud, gradients, (step + 1) ** -0.7)
        >>> abs(shape.center).round(1), (shape.factor[0, 0] / shape.factor[1, 1]).round(1)
        (Array([5., 0.], dtype=float32), Array(3., dtype=float32))
        >>> bool(misfit < 0.1)
        True
    """
    dim, chains = positions.shape
    gain = jnp.minimum(gain, LARGEST_GAIN)
    away = solve_triangular(shape.factor, positions - shape.center[:, None], lower=True)
    radius = _lengths(away)
    outwards, slope = away / radius, shape.factor.T @ gradients
    # Across the gradient; on the line there is nothing across, and of few dimensions little.
    downhill = _directions(slope)
    cosine = jnp.sum(downhill * outwards, axis=0)
    across = outwards - (1 - 1 / dim) * downhill * cosine
    center = shape.center + jnp.maximum(gain, haste) / jnp.mean(1 / radius) * (shape.factor @ across.mean(1))
    beyond = jnp.mean(jnp.sign(radius - math.sqrt(dim)))
    # Where chance cannot be why most chains are on one side, there is no need to be careful.
    size = jnp.exp(jnp.where(jnp.abs(beyond) > SURE / math.sqrt(chains), LARGEST_GAIN, gain) * beyond)
    misfit = jnp.mean(1 - cosine**2)
    # Where all chains are on one slope, what their gradients have in common says nothing about the shape. What they
    # have in common by chance is left in: it is the same chance for positions.
    is_one_sided = jnp.linalg.norm(downhill.mean(1)) > CHANCE / math.sqrt(chains)
    centered = slope - jnp.where(is_one_sided, _middle(slope), 0)
    stretch = _quotient(outwards, _directions(centered), gain * min(1, chains / dim))
    return Shape(center, size * shape.factor @ stretch), misfit


def follow_middle(
    middle: Float[Array, " dim"], positions: Vectors, gradients: Vectors, gain: Any, haste: Any = 0.0
) -> Float[Array, " dim"]:
    """Return the middle of each coordinate, moved towards where its gradient changes sign.

    A chain speaks only if it is pushed away from the middle: then the middle should be on its other side.

    Args:
        middle: what is known so far.
        positions: one column for each chain.
        gradients: of the log density there, or in proportion to it.
        gain: how far to go; at most 0.5 is used.
        haste: the least gain.

    Example:
        >>> positions = jnp.array([[-1.0, 4.0, 5.0, 9.0]])
        >>> follow_middle(jnp.zeros(1), positions, 5 - positions, 0.5) > 0
        Array([ True], dtype=bool)
        >>> follow_middle(jnp.array([5.0]), positions, 5 - positions, 0.5)
        Array([5.], dtype=float32)
    """
    away = positions - middle[:, None]
    wrong = jnp.where(away * gradients > 0, jnp.sign(away), 0)
    distance = 1 / jnp.mean(1 / jnp.maximum(jnp.abs(away), SMALLEST), axis=1)
    return middle + jnp.clip(gain, haste, LARGEST_GAIN) * wrong.mean(1) * distance


def _directions(vectors: Vectors) -> Vectors:
    return vectors / _lengths(vectors)


def _middle(vectors: Vectors) -> Float[Array, "dim 1"]:
    """Return where vectors lie together: their mean direction, as far as half of them are long.

    A long vector counts no more than others; nor does a short one, as a gradient far out is.

    >>> _middle(jnp.array([[3.0, 3.0, 1e9, 3e-9]])).tolist()
    [[3.0]]
    """
    lengths = _lengths(vectors)
    return jnp.mean(vectors / lengths, axis=1, keepdims=True) * jnp.median(lengths)


def _lengths(vectors: Vectors) -> Float[Array, " chains"]:
    """Return the lengths of vectors, also of those whose squares are beyond the range of numbers."""
    largest = jnp.maximum(jnp.abs(vectors).max(0), SMALLEST)
    return largest * jnp.maximum(jnp.linalg.norm(vectors / largest, axis=0), 1)


def _quotient(wide: Vectors, narrow: Vectors, gain: Any) -> Float[Array, "dim dim"]:
    """Return a matrix that stretches a little to where wide directions point, and less to where narrow ones do.

    It is lower triangular and of volume one; where both are the same, it is the unit matrix.

    >>> _quotient(jnp.eye(2)[:, :1], jnp.eye(2)[:, :1], 0.1).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    upper, lower = (jnp.linalg.cholesky(_spread(directions, gain)) for directions in (wide, narrow))
    half = solve_triangular(lower, upper, lower=True)
    factor = jnp.linalg.cholesky(half.T @ half)
    return factor / jnp.exp(jnp.mean(jnp.log(jnp.diagonal(factor))))


def _spread(directions: Vectors, gain: Any) -> Float[Array, "dim dim"]:
    """Return a ball, stretched a little to where directions point; a ball if that is everywhere.

    >>> _spread(jnp.eye(2), 0.1).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dim, chains = directions.shape
    ball = jnp.eye(dim, dtype=directions.dtype)
    return (1 - gain) * ball + gain * dim / chains * directions @ directions.T
