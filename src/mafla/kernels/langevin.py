"""Unadjusted Langevin algorithm (ULA): ``x' = x + τ s(x) + sqrt(2τ) z``."""

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
    call_score,
    draw_noise,
    keep,
    unadjusted,
)

__all__ = ["ula"]


def ula(score: Callable[[Float[Array, " dim"]], Float[Array, " dim"]], step_size: float) -> Kernel:
    """Return the unadjusted Langevin kernel.

    Args:
        score: gradient of the log density at a single point.
        step_size: τ, positive.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = ula(lambda x: -x, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape
        (2,)
    """
    _check.function("score", score)
    step_size = _check.positive("step_size", step_size)

    def init(position: Float[Array, " dim"]) -> LangevinState:
        return LangevinState(position, None, call_score(score, position))

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        tau = params.step_size
        return unadjusted(init(state.position + tau * state.drift + jnp.sqrt(2 * tau) * noise.normal), state)

    return assemble(init, draw_noise(None, accept=False), move, StepSize(step_size), keep)
