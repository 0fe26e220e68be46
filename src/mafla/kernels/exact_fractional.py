"""Exact Metropolis-adjusted fractional Langevin algorithm, for a known log density.

The proposal is FULA's. Accepting with the ratio of its Gaussian densities given the scale A balances every A and hence
their mixture (auxiliary form); accepting with the ratio of stable densities balances the mixture directly (marginal
form). Both leave the target invariant, whatever the drift.
"""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float

from mafla import _check
from mafla.drift import local_constant
from mafla.kernels.acceptance import auxiliary_log_ratio, default_acceptance, marginal_log_ratio
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    StepSize,
    assemble,
    call_logdensity,
    call_score,
    draw_noise,
    metropolis,
    tune_step_size,
)
from mafla.kernels.proposal import Field, propose

__all__ = ["exact_mafla"]


def exact_mafla(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]],
    alpha: float,
    step_size: float,
    drift: Field | None = None,
    marginal: bool = False,
    target_acceptance: float | None = None,
) -> Kernel:
    """Return the exact Metropolis-adjusted fractional Langevin kernel.

    Args:
        logdensity: log density at a single point, up to a constant; differentiated unless ``drift`` is given.
        alpha: stability index in (1, 2]; at 2 this is MALA.
        step_size: τ, positive.
        drift: replaces ``c_α ∇log p``; any drift leaves the target exact.
        marginal: correct with the stable density instead of the Gaussian given the scale; accepts a little more.
        target_acceptance: what warm-up aims for; ``min(0.5, α - 1)`` where it is not given.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = exact_mafla(lambda x: -jnp.log1p(x @ x), 1.5, 0.5)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> bool(0 <= info.acceptance_rate <= 1)
        True
    """
    _check.function("logdensity", logdensity)
    if drift is not None:
        _check.function("drift", drift)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    aim = default_acceptance(alpha) if target_acceptance is None else target_acceptance
    constant = local_constant(alpha)
    value_and_grad = jax.value_and_grad(lambda x: call_logdensity(logdensity, x))
    log_proposal_ratio = marginal_log_ratio if marginal else auxiliary_log_ratio

    def init(position: Float[Array, " dim"]) -> LangevinState:
        if drift is not None:
            return LangevinState(position, call_logdensity(logdensity, position), call_score(drift, position, "drift"))
        value, gradient = value_and_grad(position)
        return LangevinState(position, value, constant * gradient)

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        proposed = init(propose(state, noise, params.step_size, alpha))
        log_ratio = proposed.logdensity - state.logdensity
        log_ratio += log_proposal_ratio(state, proposed, noise, params.step_size, alpha)
        return metropolis(noise.log_uniform, log_ratio, proposed, state)

    return assemble(init, draw_noise(alpha, accept=True), move, StepSize(step_size), tune_step_size(aim))
