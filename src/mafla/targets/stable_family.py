"""Isotropic stable laws with a location, and their mixtures: the paper's own targets."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check
from mafla import stable as law
from mafla.targets.base import Target, from_logdensity, locations_and_weights, mixture_logdensity

__all__ = ["stable", "stable_mixture"]


def stable(alpha: float, location: ArrayLike, scale: float = 1.0) -> Target:
    """Return the isotropic α-stable law with the given location: characteristic function ``exp(iu·μ - |σu|^α)``.

    Args:
        alpha: stability index in (0.5, 2].
        location: the centre, of shape (dim,).
        scale: σ, positive.

    Example:
        >>> import jax.numpy as jnp
        >>> target = stable(1.5, [1.0, 2.0])
        >>> float(target.logdensity(jnp.array([1.0, 2.0]))) < 0
        True
    """
    centre = _check.finite_array("location", location, ndim=1)
    if not len(centre):
        raise ValueError("location must have at least one coordinate, got none")
    return stable_mixture(alpha, centre[None], [1.0], scale)


def stable_mixture(alpha: float, locations: ArrayLike, weights: ArrayLike, scale: ArrayLike = 1.0) -> Target:
    """Return a mixture of isotropic α-stable laws.

    Its fractional drift for proposals with the same α is the posterior mean of ``-(x - μ_k) / (α σ_k^α)``.

    Args:
        alpha: stability index in (0.5, 2].
        locations: the modes, of shape (modes, dim).
        weights: as many positive numbers that sum to one.
        scale: σ, positive: one number, or one for each mode.

    Example:
        >>> import jax
        >>> target = stable_mixture(1.95, [[-5.0, 0.0], [5.0, 0.0]], [0.2, 0.8])
        >>> target.sample(jax.random.key(0), 100).shape
        (100, 2)
    """
    alpha = _check.stability_index(alpha, above=0.5)
    centres, shares = locations_and_weights(locations, weights)
    modes, dim = centres.shape
    scales = _check.finite_array("scale", scale)
    if scales.shape not in ((), (modes,)) or (scales <= 0).any():
        raise ValueError(f"scale must be one positive number or {modes} of them, got {scales.tolist()}")
    scales = np.broadcast_to(scales, (modes,))
    joint = mixture_logdensity(lambda z: law.logpdf(z, alpha), centres, shares, scales)

    def sample(key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        key_mode, key_noise = jax.random.split(key)
        mode = jax.random.choice(key_mode, modes, (n,), p=jnp.asarray(shares, float))
        noise = law.sample(key_noise, alpha, (n,), dim)
        return jnp.asarray(centres, noise.dtype)[mode] + jnp.asarray(scales, noise.dtype)[mode, None] * noise

    def fractional_drift(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
        x = jnp.asarray(x, jnp.result_type(x, jnp.float32))
        posterior = jax.nn.softmax(joint(x), axis=-1)
        pull = (jnp.asarray(centres, x.dtype) - x[..., None, :]) / jnp.asarray(alpha * scales**alpha, x.dtype)[:, None]
        return jnp.sum(posterior[..., None] * pull, axis=-2)

    known = fractional_drift if alpha > 1 else None
    return from_logdensity(lambda x: logsumexp(joint(x), axis=-1), sample, dim, known, alpha)
