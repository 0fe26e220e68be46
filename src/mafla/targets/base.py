"""What a target offers, and the pieces that several targets share."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check

__all__ = ["LogDensity", "Score", "Target", "from_logdensity", "locations_and_weights", "mixture_logdensity"]

LogDensity = Callable[[Float[Array, "*batch dim"]], Float[Array, "*batch"]]
Score = Callable[[Float[Array, "*batch dim"]], Float[Array, "*batch dim"]]


class Target(NamedTuple):
    """A distribution with everything known about it. All functions take single points or batches.

    Attributes:
        logdensity: normalised log density.
        score: its gradient.
        sample: ``sample(key, n)`` draws n independent points.
        dim: the dimension.
        fractional_drift: ``D^(α-2)∇p / p`` (the paper's drift b before its approximation), or None where unknown.
        alpha: the stability index for which ``fractional_drift`` holds.
    """

    logdensity: LogDensity
    score: Score
    sample: Callable[[Key[Array, ""], int], Float[Array, "n dim"]]
    dim: int
    fractional_drift: Score | None = None
    alpha: float | None = None


def from_logdensity(
    logdensity: LogDensity,
    sample: Callable[[Key[Array, ""], int], Float[Array, "n dim"]],
    dim: int,
    fractional_drift: Score | None = None,
    alpha: float | None = None,
) -> Target:
    """Make a target whose score is the gradient of its log density."""

    def score(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
        return jax.grad(lambda points: jnp.sum(logdensity(points)))(x)

    return Target(logdensity, score, sample, dim, fractional_drift, alpha)


def locations_and_weights(locations: ArrayLike, weights: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Check the modes of a mixture: locations (modes, dim) and as many positive weights that sum to one."""
    checked = _check.finite_array("locations", locations, ndim=2)
    if 0 in checked.shape:
        raise ValueError(f"locations must have shape (modes, dim) with at least one of each, got {checked.shape}")
    return checked, _check.weights_sum_to_one("weights", weights, len(checked))


def mixture_logdensity(
    component: LogDensity, locations: np.ndarray, weights: np.ndarray, scale: np.ndarray
) -> Callable[[Float[Array, "*batch dim"]], Float[Array, "*batch modes"]]:
    """Return the log density of each weighted component, ``log w_k + log f((x - μ_k)/σ_k) - d log σ_k``."""

    def joint(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch modes"]:
        x = jnp.asarray(x, jnp.result_type(x, jnp.float32))  # not integers, to which locations would be rounded
        centre, sigma = jnp.asarray(locations, x.dtype), jnp.asarray(scale, x.dtype)
        inner = component((x[..., None, :] - centre) / sigma[:, None])
        return inner + jnp.asarray(np.log(weights) - locations.shape[1] * np.log(scale), x.dtype)

    return joint
