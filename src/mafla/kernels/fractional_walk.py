"""Fractional random walk (FRW): symmetric stable steps with a Metropolis correction (appendix, symmetric proposals)."""

from collections.abc import Callable

from jaxtyping import Array, Float

from mafla import _check
from mafla.kernels.base import (
    Info,
    Kernel,
    Noise,
    StepSize,
    WalkState,
    assemble,
    call_logdensity,
    draw_noise,
    metropolis,
    tune_step_size,
)
from mafla.kernels.proposal import stable_step

__all__ = ["frw"]


def frw(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]],
    alpha: float,
    step_size: float,
    target_acceptance: float = 0.3,
) -> Kernel:
    """Return the fractional random-walk Metropolis kernel ``x' = x + τ^(1/α) ξ``.

    Args:
        logdensity: log density at a single point, up to a constant.
        alpha: stability index in (0, 2]; at 2 this is random-walk Metropolis with variance 2τ.
        step_size: τ, positive.
        target_acceptance: what warm-up aims for.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = frw(lambda x: -0.5 * x @ x, 1.2, 0.5)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape
        (2,)
    """
    _check.function("logdensity", logdensity)
    alpha, step_size = _check.stability_index(alpha), _check.positive("step_size", step_size)

    def init(position: Float[Array, " dim"]) -> WalkState:
        return WalkState(position, call_logdensity(logdensity, position))

    def move(params: StepSize, state: WalkState, noise: Noise) -> tuple[WalkState, Info]:
        proposed = init(state.position + stable_step(noise, params.step_size, alpha))
        return metropolis(noise.log_uniform, proposed.logdensity - state.logdensity, proposed, state)

    return assemble(init, draw_noise(alpha, accept=True), move, StepSize(step_size), tune_step_size(target_acceptance))
