"""Fractional Langevin dynamics with independent noise in each coordinate (FLD): the baseline of the case study."""

from typing import Any

from jaxtyping import Array, Key

from mafla import _check, stable
from mafla.kernels.base import Info, Kernel, LangevinState, Noise, StepSize, assemble, keep, unadjusted
from mafla.kernels.proposal import Field, propose, start_from_score

__all__ = ["fld"]


def fld(score: Field, alpha: float, step_size: float, drift: Field | None = None) -> Kernel:
    """Return the unadjusted kernel whose noise is a stable number for each coordinate, independent of the others.

    One coordinate jumps at a time, where FULA's isotropic noise throws all of them at once. In one dimension the two
    are the same.

    Args:
        score: gradient of the log density at a single point.
        alpha: stability index in (1, 2]; at 2 this is ULA.
        step_size: τ, positive.
        drift: replaces ``c_α s(x)``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = fld(lambda x: -x, 1.5, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(3)))
        >>> state.position.shape
        (3,)
    """
    _check.function("score", score)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    init = start_from_score(score, alpha, drift)

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> Noise:
        return Noise(*stable.draws.draw_parts(rng_key, shape, shape, alpha, accept=False, dtype=dtype))

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        return unadjusted(init(propose(state, noise, params.step_size, alpha)), state)

    return assemble(init, noise, move, StepSize(step_size), keep)
