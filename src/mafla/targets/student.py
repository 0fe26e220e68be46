"""Multivariate Student-t laws, the Cauchy law among them: polynomial tails in closed form."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.targets.base import Target, from_logdensity

__all__ = ["cauchy", "student_t"]


def student_t(df: float, dim: int) -> Target:
    """Return the standard isotropic Student-t law with ``df`` degrees of freedom in R^``dim``.

    Example:
        >>> import jax.numpy as jnp
        >>> round(float(student_t(1, 1).logdensity(jnp.zeros(1))), 4)  # log(1/π)
        -1.1447
    """
    df, dim = _check.positive("df", df), _check.whole("dim", dim, 1)
    log_constant = math.lgamma((df + dim) / 2) - math.lgamma(df / 2) - dim / 2 * math.log(df * math.pi)

    def logdensity(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
        # The scaled length keeps |x|² from overflowing float32 at 1e19, where heavy tails do go.
        unit = jnp.maximum(1, jax.lax.stop_gradient(jnp.max(jnp.abs(x), -1)))
        ratio = x / unit[..., None]
        log_length = jnp.log(unit**-2 + jnp.sum(ratio * ratio, -1) / df) + 2 * jnp.log(unit)
        return log_constant - (df + dim) / 2 * log_length

    def sample(key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        key_normal, key_gamma = jax.random.split(key)
        # The logarithm, because a chi-square variable with few degrees of freedom underflows.
        log_chi2 = math.log(2) + jax.random.loggamma(key_gamma, df / 2, (n, 1))
        return jax.random.normal(key_normal, (n, dim)) * jnp.exp(0.5 * (math.log(df) - log_chi2))

    return from_logdensity(logdensity, sample, dim)


def cauchy(dim: int) -> Target:
    """Return the isotropic Cauchy law in R^``dim``: Student-t with one degree of freedom, stable with α=1.

    Example:
        >>> cauchy(3).dim
        3
    """
    return student_t(1.0, dim)
