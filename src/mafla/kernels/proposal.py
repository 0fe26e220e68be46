"""The fractional Langevin proposal ``x' = x + τ b(x) + τ^(1/α) ξ`` (Eq. frac-proposal), and where it starts from."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import _check, stable
from mafla.drift import local_drift
from mafla.kernels.base import LangevinState, Noise, call_logdensity, call_score

__all__ = [
    "Field",
    "drift_share",
    "propose",
    "stable_step",
    "start_from_logdensity",
    "start_from_score",
]

Field = Callable[[Float[Array, " dim"]], Float[Array, " dim"]]


def start_from_score(
    score: Field, alpha: float, drift: Field | None
) -> Callable[[Float[Array, " dim"]], LangevinState]:
    """Return the ``init`` of kernels that know a score: the drift is ``c_α s(x)`` unless another one is given."""
    field, name = (local_drift(score, alpha), "score") if drift is None else (drift, "drift")
    _check.function(name, field)
    return lambda position: LangevinState(position, None, call_score(field, position, name))


def start_from_logdensity(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]],
) -> Callable[[Float[Array, " dim"]], LangevinState]:
    """Return the ``init`` of kernels that know a log density and whose drift begins with its gradient."""
    value_and_grad = jax.value_and_grad(lambda x: call_logdensity(logdensity, x))
    return lambda position: LangevinState(position, *value_and_grad(position))


def propose(state: LangevinState, noise: Noise, step_size: Any, alpha: float) -> Float[Array, " dim"]:
    """Return ``x + τ b(x) + τ^(1/α) ξ``."""
    return state.position + step_size * state.drift + stable_step(noise, step_size, alpha)


def stable_step(noise: Noise, step_size: Any, alpha: Any) -> Float[Array, " dim"]:
    """Return ``τ^(1/α) ξ`` with ``ξ = sqrt(2A) z``."""
    return jnp.power(step_size, 1 / alpha) * stable.draws.amplitude(noise.log_scale) * noise.normal


def drift_share(noise: Noise, step_size: Any, alpha: Any) -> Float[Array, ""]:
    """Return by what to multiply a gradient so that ``τ`` times it is the drift of a Langevin step of the noise's size.

    Given A, the noise has the variance ``2 A τ^(2/α)``, and the drift is ``min(A, 1) τ^(2/α) ∇log p``.
    """
    return jnp.exp(jnp.minimum(noise.log_scale, 0)) * step_size ** (2 / alpha - 1)
