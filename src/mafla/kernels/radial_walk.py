"""Radial moves: every chain is brought nearer to a centre or farther from it, by a factor that may be any size.

A step of fixed length returns from the tail slowly, whatever its noise. In the logarithm of the radius the tail of a
heavy-tailed law is short, and a random walk there crosses it in a few steps.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from mafla import _check
from mafla.kernels.base import (
    Info,
    Kernel,
    ScalarNoise,
    StepSize,
    WalkState,
    assemble,
    call_logdensity,
    draw_scalar,
    metropolis,
    tune_step_size,
)

__all__ = ["radial", "radial_move"]

LARGEST_STEP = 80.0  # of the logarithm of the radius: e^80 is about the largest float32 has room for
Position = Float[Array, " dim"]


def radial(
    logdensity: Callable[[Position], Float[Array, ""]],
    alpha: float = 1.2,
    scale: float | None = None,
    center: ArrayLike | None = None,
    target_acceptance: float = 0.4,
) -> Kernel:
    """Return the kernel ``x' = m + (x - m) e^z`` with symmetric stable z, accepted with ``p(x') e^(dz) / p(x)``.

    It moves along rays only, so it belongs in a `cycle` with another kernel. The centre m stays where it is for good: a
    chain at the very centre does not move.

    Args:
        logdensity: log density at a single point, up to a constant.
        alpha: stability index of z, in (0, 2]: small steps for the body of the law, and a few long ones for its tail.
        scale: of z, positive; ``1 / sqrt(2 d)``, about the width of the radius of a body, where it is not given.
        center: m, one number for each dimension; the origin where it is not given.
        target_acceptance: what warm-up aims for.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = radial(lambda x: -1.5 * jnp.log1p(x @ x))
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([3.0, 4.0])))
        >>> round(float(state.position[1] / state.position[0]), 5)
        1.33333
    """
    _check.function("logdensity", logdensity)
    alpha = _check.stability_index(alpha)
    middle = None if center is None else _check.finite_array("center", center, ndim=1)
    known = 1.0 if scale is None else _check.positive("scale", scale)

    def init(position: Position) -> WalkState:
        if middle is not None and middle.shape != position.shape:
            raise ValueError(f"center must have the shape of a position, {position.shape}, got {middle.shape}")
        return WalkState(position, call_logdensity(logdensity, position))

    def move(params: StepSize, state: WalkState, noise: ScalarNoise) -> tuple[WalkState, Info]:
        unit = 1.0 if scale is not None else 1 / math.sqrt(2 * state.position.shape[0])
        about = jnp.zeros_like(state.position) if middle is None else jnp.asarray(middle, state.position.dtype)
        return radial_move(init, state, about, unit * params.step_size, noise)

    return assemble(init, draw_scalar(alpha), move, StepSize(known), tune_step_size(target_acceptance))


def radial_move(
    init: Callable[[Position], Any], state: Any, center: Position, scale: Any, noise: ScalarNoise, along: Any = True
) -> tuple[Any, Info]:
    """Propose a point on the ray through the position, and accept it or not.

    Args:
        init: from a position to a state with its log density.
        state: where the chain is.
        center: from where the ray starts.
        scale: of the logarithm of the factor.
        noise: its number is the logarithm of the factor over the scale.
        along: which coordinates are moved, in the space of which the ray is; all of them unless given.
    """
    step, moving = scale * noise.number, jnp.broadcast_to(along, state.position.shape)
    position = jnp.where(moving, center + jnp.exp(step) * (state.position - center), state.position)
    # What leaves the range of numbers, there or on the way back, is turned down without being evaluated.
    is_inside = (jnp.abs(step) <= LARGEST_STEP) & jnp.all(jnp.isfinite(position))
    proposed = init(jnp.where(is_inside, position, state.position))
    log_ratio = proposed.logdensity - state.logdensity + jnp.sum(moving) * step
    return metropolis(noise.log_uniform, jnp.where(is_inside, log_ratio, -jnp.inf), proposed, state)
