"""Fractional unadjusted Langevin algorithm (FULA): every proposal of Eq. frac-proposal is taken."""

from mafla import _check
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    StepSize,
    assemble,
    draw_noise,
    keep,
    unadjusted,
)
from mafla.kernels.proposal import Field, propose, start_from_score

__all__ = ["fula"]


def fula(score: Field, alpha: float, step_size: float, drift: Field | None = None) -> Kernel:
    """Return the unadjusted fractional Langevin kernel.

    Args:
        score: gradient of the log density at a single point.
        alpha: stability index in (1, 2]; at 2 this is ULA.
        step_size: τ, positive.
        drift: replaces ``c_α s(x)``; for instance ``riesz_drift(...)`` or a target's ``fractional_drift``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = fula(lambda x: -x, 1.5, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape
        (2,)
    """
    _check.function("score", score)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    init = start_from_score(score, alpha, drift)

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        return unadjusted(init(propose(state, noise, params.step_size, alpha)), state)

    return assemble(init, draw_noise(alpha, accept=False), move, StepSize(step_size), keep)
