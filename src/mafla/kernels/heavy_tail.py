"""The kernel for heavy-tailed targets: fractional Langevin steps for the body, multiplicative moves for the tails.

All parts are exact, and what one knows about the target at a point the others use. In warm-up all chains together
learn where the target is, how it is stretched, how far to step, and whether to jump; what they learned is then frozen.

The noise of a Langevin step is stable, ``sqrt(2A) z``, and the proposal is corrected given its scale A. Hence the drift
may depend on A. It is that of a Langevin step with noise of this size, so that short steps of any A follow the gradient
as they should, and the many dimensions of a target do not add up to a rejection; but not beyond ``A = 1``, since a long
jump must not be led by the gradient where it starts.

Radial moves multiply all coordinates, axial moves one that is chosen at random. The first are for tails that the
coordinates share, as in an elliptical law; the second for tails that each has of its own, and for scales that differ
from place to place. On the line, where both would be the same, the second are jumps to a draw of a Cauchy law.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from mafla import _check, stable
from mafla.kernels.acceptance import MOST_ACCEPTANCE, auxiliary_log_ratio, default_acceptance
from mafla.kernels.base import (
    Kernel,
    LangevinState,
    Noise,
    Pace,
    ScalarNoise,
    assemble,
    draw_scalar,
    metropolis,
    retuned,
)
from mafla.kernels.compose import CycleInfo, summarise
from mafla.kernels.elliptical_shape import LARGEST_GAIN, Shape, follow, follow_middle, unit_shape
from mafla.kernels.line_jump import JUMP_ALPHA, line_jump
from mafla.kernels.proposal import drift_share, stable_step, start_from_logdensity
from mafla.kernels.radial_walk import radial_move
from mafla.kernels.scouting import EVERY, FAR_ALPHA, NEAR_ALPHA, Scout, chosen, is_scouting, is_valley, report

__all__ = ["AxialNoise", "HeavyTailNoise", "HeavyTailParams", "heavy_tail"]

RADIAL_ALPHA, RADIAL_ACCEPTANCE = 1.2, 0.4
SHAPE_GAIN = 0.25  # of the gain with which step sizes are tuned
# Radial moves about a point that is not the centre drive chains away from the centre, in many dimensions far away, and
# what they learn about it then is wrong. Therefore they wait until gradients point at the centre, though only for the
# first part of warm-up; after that the centre changes little.
SETTLING = 0.4  # of warm-up


class HeavyTailParams(NamedTuple):
    """What warm-up learns.

    Attributes:
        alpha: stability index of the Langevin steps.
        step_size: their τ, in coordinates in which the target is round.
        radial_scale: of the radial moves, in units of ``1 / sqrt(2 d)``.
        axial_scale: of the axial moves, in units of ``1 / sqrt(2)``.
        middle: of each coordinate; the centre of the axial moves.
        center: of the radial moves.
        factor: lower triangular; multiplied by it, what is round becomes what the target is.
        settled: 1, but 0 in the first part of warm-up as long as the centre is not known: then nothing moves radially.
        scout: of steps with another α; scouting is part of warm-up.
    """

    alpha: Any
    step_size: Any
    radial_scale: Any
    axial_scale: Any
    middle: Any
    center: Any
    factor: Any
    settled: Any = 1.0
    scout: Scout = Scout(1.0)


class LangevinInfo(NamedTuple):
    """What happened in a Langevin step, and how likely it was to get over a valley."""

    acceptance_rate: Float[Array, ""]
    is_accepted: Bool[Array, ""]
    is_nonfinite: Bool[Array, ""]
    crossing_rate: Float[Array, ""]


class AxialNoise(NamedTuple):
    """The randomness of an axial move: that of a radial one, and the coordinate that it moves."""

    along: ScalarNoise
    axis: Int[Array, ""]


class HeavyTailNoise(NamedTuple):
    """The randomness of the three moves of a step; the third is axial, on the line a jump.

    The scale of the first is in parts, since warm-up learns the α of which it is made.
    """

    langevin: Noise
    scale: stable.draws.ScaleParts
    radial: ScalarNoise
    third: AxialNoise | ScalarNoise


def heavy_tail(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]], alpha: float | None = None, step_size: float = 0.5
) -> Kernel:
    """Return the kernel to try first where tails are heavy, or where nothing is known about the target.

    A step is one of `exact_mafla`, in coordinates in which the target is round, followed by one of `radial` and by one
    of `radial` in a single coordinate, on the line by a jump instead of that. Give it warm-up, in which it learns
    centre, shape, step sizes and α from all chains together by estimators that tails cannot break, and many chains,
    such as 64. Few chains need a longer warm-up: in 50 dimensions 4 need some 1600 steps, where 64 need 400.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        alpha: stability index of the Langevin steps, in (1, 2]; unless it is given, warm-up chooses between 1.9 and, if
            jumps get from mode to mode, 1.2.
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
    index = NEAR_ALPHA if alpha is None else _check.stability_index(alpha, above=1)
    step_size = _check.positive("step_size", step_size)
    init = start_from_logdensity(logdensity)
    noise_along_rays, jump_noise = draw_scalar(RADIAL_ALPHA), draw_scalar(JUMP_ALPHA)

    def params(dim: int) -> HeavyTailParams:
        shape = unit_shape(dim)
        return HeavyTailParams(index, step_size, 1.0, 1.0, jnp.zeros(dim), *shape, scout=Scout(step_size))

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> HeavyTailNoise:
        langevin, radial, third, axis = jax.random.split(rng_key, 4)
        dim, *chains = shape

        def axial() -> AxialNoise:
            return AxialNoise(noise_along_rays(third, shape, dtype), jax.random.randint(axis, chains, 0, dim))

        normal, scale, log_uniform = stable.draws.draw_whatever_alpha(
            langevin, shape, shape[1:], accept=True, dtype=dtype
        )
        return HeavyTailNoise(
            Noise(normal, log_uniform=log_uniform),
            scale,
            noise_along_rays(radial, shape, dtype),
            jump_noise(third, shape, dtype) if dim == 1 else axial(),
        )

    def move(params: HeavyTailParams, state: LangevinState, noise: HeavyTailNoise) -> tuple[LangevinState, CycleInfo]:
        dim = state.position.shape[0]
        state, langevin = _langevin_move(init, params, state, noise.langevin, noise.scale)
        scale = params.settled * params.radial_scale / math.sqrt(2 * dim)
        state, radial = radial_move(init, state, params.center, scale, noise.radial)
        if isinstance(noise.third, AxialNoise):
            scale, along = params.axial_scale / math.sqrt(2), jnp.arange(dim) == noise.third.axis
            state, third = radial_move(init, state, params.middle, scale, noise.third.along, along)
        else:  # the only axis is the only ray
            state, third = line_jump(init, state, params.center, params.factor[0, 0], noise.third)
        return state, summarise((langevin, radial, third))

    def freeze(params: HeavyTailParams) -> HeavyTailParams:
        alpha, step_size = chosen(params.alpha, params.step_size, params.scout)
        at_rest = params.scout._replace(turn=jnp.ones_like(params.scout.turn))
        return params._replace(alpha=alpha, step_size=step_size, settled=jnp.ones_like(params.settled), scout=at_rest)

    return assemble(init, noise, move, params, _tuned(alpha is None), freeze)


def _langevin_move(
    init: Callable[[Any], LangevinState],
    params: HeavyTailParams,
    state: LangevinState,
    noise: Noise,
    scale: stable.draws.ScaleParts,
) -> tuple[LangevinState, LangevinInfo]:
    """Step in round coordinates, with the origin at the state; only the drift has to be brought there."""
    scouting = is_scouting(params.scout)
    alpha = jnp.where(scouting, FAR_ALPHA, params.alpha)
    step_size = jnp.where(scouting, params.scout.step_size, params.step_size)
    noise = noise._replace(log_scale=jnp.where(alpha < 2, stable.draws.log_scale_at(scale, alpha), 0))
    share = drift_share(noise, step_size, alpha)
    here = LangevinState(jnp.zeros_like(state.position), None, share * (params.factor.T @ state.drift))
    jump = step_size * here.drift + stable_step(noise, step_size, alpha)
    proposed = init(state.position + params.factor @ jump)
    there = LangevinState(jump, None, share * (params.factor.T @ proposed.drift))
    log_ratio = proposed.logdensity - state.logdensity
    log_ratio += auxiliary_log_ratio(here, there, noise, step_size, alpha)
    moved, info = metropolis(noise.log_uniform, log_ratio, proposed, state)

    def crossing_rate() -> Any:
        halfway = init(state.position + params.factor @ (jump / 2)).logdensity
        crosses = is_valley(halfway, state.logdensity, proposed.logdensity)
        return jnp.where(crosses, info.acceptance_rate, 0)

    return moved, LangevinInfo(*info, jax.lax.cond(scouting, crossing_rate, lambda: jnp.zeros_like(log_ratio)))


def _tuned(scouts: bool) -> Callable[[HeavyTailParams, LangevinState, CycleInfo, Pace], HeavyTailParams]:
    """Return the rule by which warm-up changes the parameters after a step of all chains."""

    def tune(params: HeavyTailParams, states: LangevinState, infos: CycleInfo, pace: Pace) -> HeavyTailParams:
        langevin, radial, third = infos.parts
        step_size = retuned(params.step_size, langevin, jnp.minimum(MOST_ACCEPTANCE, params.alpha - 1), pace)
        scout = _scouted(params.scout, langevin, pace) if scouts else params.scout
        gain, haste = SHAPE_GAIN * pace.gain, LARGEST_GAIN * jnp.maximum(1 - pace.progress / SETTLING, 0)
        shape, misfit = follow(Shape(params.center, params.factor), states.position, states.drift, gain, haste)
        is_radial = (pace.progress >= SETTLING) | (misfit * len(states.position) < 1)
        radial_scale = retuned(params.radial_scale, radial, RADIAL_ACCEPTANCE, pace)
        axial_scale = retuned(params.axial_scale, third, RADIAL_ACCEPTANCE, pace)
        return HeavyTailParams(
            params.alpha,
            jnp.where(is_scouting(params.scout), params.step_size, step_size),
            jnp.where(params.settled > 0, radial_scale, params.radial_scale),
            axial_scale if len(shape.center) > 1 else params.axial_scale,  # jumps on the line have no scale to tune
            follow_middle(params.middle, states.position, states.drift, gain, haste),
            *shape,
            is_radial.astype(shape.factor.dtype),
            scout,
        )

    return tune


def _scouted(scout: Scout, langevin: LangevinInfo, pace: Pace) -> Scout:
    rare = pace._replace(gain=EVERY * pace.gain)
    step_size = retuned(scout.step_size, langevin, default_acceptance(FAR_ALPHA), rare)
    return report(scout, step_size, jnp.sum(langevin.crossing_rate), pace.progress >= SETTLING)
