"""MAFLA with a given acceptance function (Algorithms parallel_smafla and smafla of the paper).

One chain is the sequential algorithm, many chains are the parallel one: the kernel is the same.
"""

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
    keep,
    metropolis,
)
from mafla.kernels.proposal import Field, propose, start_from_score

__all__ = ["mafla"]


def mafla(
    score: Field,
    log_acceptance: Callable[[Float[Array, " dim"], Float[Array, " dim"]], Float[Array, ""]],
    alpha: float,
    step_size: float,
    drift: Field | None = None,
) -> Kernel:
    """Return the fractional Langevin kernel that accepts by a supplied function.

    The chain is as exact as the acceptance function is. Warm-up leaves the step size alone, because a learned
    acceptance belongs to one step size.

    Args:
        score: gradient of the log density at a single point.
        log_acceptance: ``log a(x_new, x)``, the log probability of moving from ``x`` to ``x_new``.
        alpha: stability index in (1, 2].
        step_size: τ, positive.
        drift: replaces ``c_α s(x)``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> barker = lambda new, old: -jnp.log1p(jnp.exp(0.5 * (new @ new - old @ old)))
        >>> kernel = mafla(lambda x: -x, barker, 1.5, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape
        (2,)
    """
    _check.function("score", score)
    _check.function("log_acceptance", log_acceptance)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    init = start_from_score(score, alpha, drift)

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        proposed = init(propose(state, noise, params.step_size, alpha))
        log_ratio = jnp.asarray(log_acceptance(proposed.position, state.position))
        if log_ratio.shape != ():
            raise ValueError(f"log_acceptance must return a scalar for a single pair, got shape {log_ratio.shape}")
        return metropolis(noise.log_uniform, log_ratio.astype(state.position.dtype), proposed, state)

    return assemble(init, draw_noise(alpha, accept=True), move, StepSize(step_size), keep)
