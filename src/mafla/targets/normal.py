"""Isotropic Gaussians and their mixtures."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check
from mafla.targets.base import Target, from_logdensity, locations_and_weights, mixture_logdensity

__all__ = ["gaussian", "gaussian_mixture"]


def gaussian(dim: int) -> Target:
    """Return the standard normal law N(0, I) in R^``dim``.

    Example:
        >>> import jax.numpy as jnp
        >>> print(gaussian(2).score(jnp.array([1.0, -2.0])))
        [-1.  2.]
    """
    dim = _check.whole("dim", dim, 1)
    return gaussian_mixture(np.zeros((1, dim)), [1.0])


def gaussian_mixture(locations: ArrayLike, weights: ArrayLike, scale: float = 1.0) -> Target:
    """Return a mixture of isotropic Gaussians with common standard deviation ``scale``.

    At α=2 the fractional drift is the score.

    Args:
        locations: the modes, of shape (modes, dim).
        weights: as many positive numbers that sum to one.
        scale: standard deviation, positive.

    Example:
        >>> gaussian_mixture([[-3.0], [3.0]], [0.5, 0.5]).dim
        1
    """
    centres, shares = locations_and_weights(locations, weights)
    modes, dim = centres.shape
    scale = _check.positive("scale", scale)

    def unit(z: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
        return -0.5 * jnp.sum(z * z, -1) - dim / 2 * math.log(2 * math.pi)

    joint = mixture_logdensity(unit, centres, shares, np.full(modes, scale))

    def sample(key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        key_mode, key_noise = jax.random.split(key)
        mode = jax.random.choice(key_mode, modes, (n,), p=jnp.asarray(shares, float))
        noise = jax.random.normal(key_noise, (n, dim))
        return jnp.asarray(centres, noise.dtype)[mode] + scale * noise

    target = from_logdensity(lambda x: logsumexp(joint(x), axis=-1), sample, dim)
    return target._replace(fractional_drift=target.score, alpha=2.0)
