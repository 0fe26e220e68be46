"""The kernel for heavy-tailed targets: fractional Langevin steps for the body, radial moves for the tail.

Both parts are exact, and what one knows about the target at a point the other uses. In warm-up all chains together
learn where the target is, how it is stretched, and how far to step; what they learned is then frozen.

The noise of a Langevin step is stable, ``sqrt(2A) z``, and the proposal is corrected given its scale A. Hence the drift
may depend on A. It is that of a Langevin step with noise of this size, so that short steps of any A follow the gradient
as they should, and the many dimensions of a target do not add up to a rejection; but not beyond ``A = 1``, since a long
jump must not be led by the gradient where it starts.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    Pace,
    StepSize,
    assemble,
    draw_noise,
    metropolis,
    tune_step_size,
)
from mafla.kernels.compose import CycleInfo, summarise
from mafla.kernels.elliptical_shape import LARGEST_GAIN, Shape, follow, unit_shape
from mafla.kernels.proposal import (
    auxiliary_log_ratio,
    default_acceptance,
    drift_share,
    stable_step,
    start_from_logdensity,
)
from mafla.kernels.radial_walk import RadialNoise, radial_move, radial_noise

__all__ = ["HeavyTailParams", "heavy_tail"]

RADIAL_ALPHA, RADIAL_ACCEPTANCE = 1.2, 0.4
SHAPE_GAIN = 0.25  # of the gain with which step sizes are tuned
# Radial moves about a point that is not the centre drive chains away from the centre, in many dimensions far away, and
# what they learn about it then is wrong. Therefore they wait until gradients point at the centre, though only for the
# first part of warm-up; after that the centre stays as it is.
SETTLING = 0.4  # of warm-up


class HeavyTailParams(NamedTuple):
    """What warm-up learns.

    Attributes:
        step_size: τ of the Langevin steps, in coordinates in which the target is round.
        radial_scale: of the radial moves, in units of ``1 / sqrt(2 d)``.
        center: of the radial moves.
        factor: lower triangular; multiplied by it, what is round becomes what the target is.
        settled: 1, but 0 in the first part of warm-up as long as the centre is not known: then nothing moves radially.
    """

    step_size: Any
    radial_scale: Any
    center: Any
    factor: Any
    settled: Any = 1.0


def heavy_tail(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]], alpha: float = 1.7, step_size: float = 0.5
) -> Kernel:
    """Return the kernel to try first where tails are heavy, or where nothing is known about the target.

    A step is one of `exact_mafla`, in coordinates in which the target is round, followed by one of `radial`. Give it
    warm-up, in which it learns centre, shape and step sizes from all chains together by estimators that tails cannot
    break, and many chains, such as 64.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        alpha: stability index of the Langevin steps, in (1, 2].
        step_size: τ where warm-up starts.

    Example:
        >>> import jax, mafla
        >>> target = mafla.targets.student_t(1, dim=5)
        >>> start = jax.random.normal(jax.random.key(0), (64, 5))
        >>> kernel = heavy_tail(lambda x: target.logdensity(x - 20))
        >>> tree = mafla.sample(kernel, jax.random.key(1), start, 100, warmup=300, progress=False)
        >>> bool(abs(tree["posterior"]["x"].median() - 20) < 0.5)
        True
    """
    _check.function("logdensity", logdensity)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    init = start_from_logdensity(logdensity)
    tune_langevin, tune_radial = tune_step_size(default_acceptance(alpha)), tune_step_size(RADIAL_ACCEPTANCE)
    langevin_noise, noise_along_rays = draw_noise(alpha, accept=True), radial_noise(RADIAL_ALPHA)

    def params(dim: int) -> HeavyTailParams:
        return HeavyTailParams(step_size, 1.0, *unit_shape(dim))

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> tuple[Noise, RadialNoise]:
        first, second = jax.random.split(rng_key)
        return langevin_noise(first, shape, dtype), noise_along_rays(second, shape, dtype)

    def move(
        params: HeavyTailParams, state: LangevinState, noise: tuple[Noise, RadialNoise]
    ) -> tuple[LangevinState, CycleInfo]:
        stepped, first = _langevin_move(init, params, state, noise[0], alpha)
        scale = params.settled * params.radial_scale / math.sqrt(2 * state.position.shape[0])
        moved, second = radial_move(init, stepped, params.center, scale, noise[1])
        return moved, summarise((first, second))

    def tune(params: HeavyTailParams, states: LangevinState, infos: CycleInfo, pace: Pace) -> HeavyTailParams:
        first, second = infos.parts
        step_size = tune_langevin(StepSize(params.step_size), states, first, pace).step_size
        radial_scale = tune_radial(StepSize(params.radial_scale), states, second, pace).step_size
        known, gain = Shape(params.center, params.factor), SHAPE_GAIN * pace.gain
        haste = LARGEST_GAIN * jnp.maximum(1 - pace.progress / SETTLING, 0)
        shape, misfit = follow(known, states.position, states.drift, gain, haste)
        settled = pace.progress >= SETTLING
        is_radial = settled | (misfit * len(states.position) < 1)
        return HeavyTailParams(
            step_size,
            jnp.where(params.settled > 0, radial_scale, params.radial_scale),
            jnp.where(settled, params.center, shape.center),
            shape.factor,
            is_radial.astype(shape.factor.dtype),
        )

    return assemble(init, noise, move, params, tune)


def _langevin_move(
    init: Callable[[Any], LangevinState], params: HeavyTailParams, state: LangevinState, noise: Noise, alpha: float
) -> tuple[LangevinState, Info]:
    """Step in round coordinates, with the origin at the state; only the drift has to be brought there."""
    share = drift_share(noise, params.step_size, alpha)
    here = LangevinState(jnp.zeros_like(state.position), None, share * (params.factor.T @ state.drift))
    jump = params.step_size * here.drift + stable_step(noise, params.step_size, alpha)
    proposed = init(state.position + params.factor @ jump)
    there = LangevinState(jump, None, share * (params.factor.T @ proposed.drift))
    log_ratio = proposed.logdensity - state.logdensity
    log_ratio += auxiliary_log_ratio(here, there, noise, params.step_size, alpha)
    return metropolis(noise.log_uniform, log_ratio, proposed, state)
