"""What the exact kernels are accepted with: ratios of the fractional proposal's densities, and how often to accept.

The density is not intractable. Given the scale A of ``ξ = sqrt(2A) z``, drawn before and independently of the state,
the proposal is Gaussian; with A integrated out it is the stable density, a function of one radius. Acceptances that are
learned are in ``learn/acceptance.py``.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import stable
from mafla.kernels.base import LangevinState, Noise

__all__ = ["MOST_ACCEPTANCE", "auxiliary_log_ratio", "default_acceptance", "marginal_log_ratio"]

MOST_ACCEPTANCE = 0.5  # that warm-up aims for


def default_acceptance(alpha: float) -> float:
    """Return the acceptance rate that warm-up aims for.

    The pull of the drift in units of the noise falls like ``τ^(1 - 1/α)``, so near α=1 the acceptance rate hardly rises
    as τ falls, or even falls: a rate that high would be reached at useless step sizes only, or never.
    """
    return min(MOST_ACCEPTANCE, alpha - 1)


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
