"""The fractional Langevin proposal ``x' = x + τ b(x) + τ^(1/α) ξ`` (Eq. frac-proposal) and the ratio of its densities.

The density is not intractable. Given the scale A of ``ξ = sqrt(2A) z``, drawn before and independently of the state,
the proposal is Gaussian; with A integrated out it is the stable density, a function of one radius.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import _check, stable
from mafla.drift import local_drift
from mafla.kernels.base import LangevinState, Noise, call_logdensity, call_score

__all__ = [
    "MOST_ACCEPTANCE",
    "Field",
    "auxiliary_log_ratio",
    "default_acceptance",
    "drift_share",
    "marginal_log_ratio",
    "propose",
    "stable_step",
    "start_from_logdensity",
    "start_from_score",
]

MOST_ACCEPTANCE = 0.5  # that warm-up aims for

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


def default_acceptance(alpha: float) -> float:
    """Return the acceptance rate that warm-up aims for.

    The pull of the drift in units of the noise falls like ``τ^(1 - 1/α)``, so near α=1 the acceptance rate hardly rises
    as τ falls, or even falls: a rate that high would be reached at useless step sizes only, or never.
    """
    return min(MOST_ACCEPTANCE, alpha - 1)


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


def auxiliary_log_ratio(
    state: LangevinState, proposed: LangevinState, noise: Noise, step_size: Any, alpha: Any
) -> Float[Array, ""]:
    """Return ``log q(x|x', A) - log q(x'|x, A) = (|r|² - |r_rev|²) / (4 A τ^(2/α))``.

    Multiplied out, it is antisymmetric to the last bit and does not subtract the squares of long jumps.
    """
    deviation = jnp.power(step_size, 1 / alpha) * stable.draws.amplitude(noise.log_scale)
    change = 2 * (proposed.position - state.position) + step_size * (proposed.drift - state.drift)
    pull = step_size * (state.drift + proposed.drift)
    return -0.5 * jnp.sum(pull / deviation * (change / deviation))


def marginal_log_ratio(
    state: LangevinState, proposed: LangevinState, noise: Noise, step_size: Any, alpha: float
) -> Float[Array, ""]:
    """Return ``log q(x|x') - log q(x'|x)`` with the stable density (Eq. q-density-formal)."""
    del noise
    gamma = jnp.power(step_size, 1 / alpha)
    jump = proposed.position - state.position
    forward = stable.logpdf((jump - step_size * state.drift) / gamma, alpha)
    backward = stable.logpdf((-jump - step_size * proposed.drift) / gamma, alpha)
    return backward - forward
