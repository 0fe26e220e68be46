"""Metropolis-adjusted Langevin algorithm (MALA): the ULA proposal with an exact accept/reject step."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import _check
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    StepSize,
    assemble,
    draw_noise,
    metropolis,
    tune_step_size,
)
from mafla.kernels.proposal import start_from_logdensity

__all__ = ["mala"]


def mala(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]], step_size: float, target_acceptance: float = 0.574
) -> Kernel:
    """Return the Metropolis-adjusted Langevin kernel.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        step_size: τ, positive.
        target_acceptance: what warm-up aims for.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = mala(lambda x: -0.5 * x @ x, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> bool(info.acceptance_rate > 0.8)
        True
    """
    _check.function("logdensity", logdensity)
    step_size = _check.positive("step_size", step_size)
    init = start_from_logdensity(logdensity)

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        tau = params.step_size
        proposed = init(state.position + tau * state.drift + jnp.sqrt(2 * tau) * noise.normal)
        # (|r|² - |r_rev|²) / 4τ, multiplied out: antisymmetric to the last bit and free of cancellation
        change = 2 * (proposed.position - state.position) + tau * (proposed.drift - state.drift)
        log_proposal_ratio = -0.25 * jnp.sum((state.drift + proposed.drift) * change)
        log_ratio = proposed.logdensity - state.logdensity + log_proposal_ratio
        return metropolis(noise.log_uniform, log_ratio, proposed, state)

    return assemble(init, draw_noise(None, accept=True), move, StepSize(step_size), tune_step_size(target_acceptance))
