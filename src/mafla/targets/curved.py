"""Targets whose scale or shape changes from place to place."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.targets.base import Target, from_logdensity

__all__ = ["banana", "funnel"]


def funnel(dim: int, spread: float = 3.0) -> Target:
    """Return Neal's funnel: ``v ~ N(0, spread²)`` first, then ``dim - 1`` coordinates ``N(0, e^v)``.

    Example:
        >>> import jax
        >>> funnel(10).sample(jax.random.key(0), 5).shape
        (5, 10)
    """
    dim, spread = _check.whole("dim", dim, 2), _check.positive("spread", spread)

    def logdensity(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
        v, rest = x[..., 0], x[..., 1:]
        outer = _log_normal(v / spread) - math.log(spread)
        return outer + jnp.sum(_log_normal(rest * jnp.exp(-v / 2)[..., None]), -1) - (dim - 1) / 2 * v

    def sample(key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        z = jax.random.normal(key, (n, dim))
        v = spread * z[:, :1]
        return jnp.concatenate([v, jnp.exp(v / 2) * z[:, 1:]], axis=1)

    return from_logdensity(logdensity, sample, dim)


def banana(dim: int = 2, bend: float = 0.03, spread: float = 10.0) -> Target:
    """Return the banana: a normal whose second coordinate is bent by the square of the first (Haario et al. 1999).

    ``x_1 ~ N(0, spread²)``, ``x_2 ~ N(bend (x_1² - spread²), 1)``, the rest standard normal.

    Example:
        >>> import jax.numpy as jnp
        >>> banana().logdensity(jnp.zeros(2)).shape
        ()
    """
    dim, spread = _check.whole("dim", dim, 2), _check.positive("spread", spread)
    bend = _check.number("bend", bend)

    def curve(first: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return bend * (first**2 - spread**2)

    def logdensity(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
        first = x[..., 0]
        straight = jnp.concatenate([(first / spread)[..., None], (x[..., 1] - curve(first))[..., None], x[..., 2:]], -1)
        return jnp.sum(_log_normal(straight), -1) - math.log(spread)

    def sample(key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        z = jax.random.normal(key, (n, dim))
        first = spread * z[:, 0]
        return z.at[:, 0].set(first).at[:, 1].add(curve(first))

    return from_logdensity(logdensity, sample, dim)


def _log_normal(z: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    return -0.5 * z * z - 0.5 * math.log(2 * math.pi)
