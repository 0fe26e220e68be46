"""From everywhere to the modes: chains that begin on a wide law and, as warm-up goes on, end on the target.

What they follow on the way is ``p^β q^(1-β)`` with a Student-t law q, which is proper for every β. A power of a
heavy-tailed density alone would not be.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import _check
from mafla.kernels.acceptance import auxiliary_log_ratio, default_acceptance
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    Pace,
    assemble,
    draw_noise,
    metropolis,
)
from mafla.kernels.proposal import drift_share, propose, start_from_logdensity

__all__ = ["FIRST_BETA", "AnnealedParams", "annealed", "move_between", "wide_logdensity"]

FIRST_BETA = 1e-4
DONE = 0.45  # of warm-up: what it leaves is the mean over its second half, in which nothing but the target is followed
GAIN = 0.1  # with which the step size follows: it does not fall, since the law that it follows narrows until the end

Position = Float[Array, " dim"]


class AnnealedParams(NamedTuple):
    """What a step depends on.

    Attributes:
        step_size: τ, which warm-up tunes.
        center: of the wide law.
        reach: its scale.
        beta: the power of the target: small at the start of warm-up, 1 at its end and ever after.
    """

    step_size: Any
    center: Any
    reach: Any
    beta: Any = 1.0


def annealed(logdensity: Callable[[Position], Float[Array, ""]], reach: float, alpha: float = 1.7) -> Kernel:
    """Return the kernel of exact fractional Langevin steps whose target narrows in warm-up.

    The wide law is centred at the origin; another centre can be put into the parameters.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        reach: scale of the wide law: modes that are not much farther from its centre will be found.
        alpha: stability index of the steps, in (1, 2].

    Example:
        >>> import mafla
        >>> kernel = annealed(lambda x: -0.5 * jnp.sum((jnp.abs(x) - 20) ** 2), 100.0)
        >>> tree = mafla.sample(kernel, jax.random.key(0), jnp.zeros((64, 1)), 1, warmup=500, progress=False)
        >>> bool(0.2 < (tree["posterior"]["x"] > 0).mean() < 0.8)  # both modes, though chains began at one point
        True
    """
    _check.function("logdensity", logdensity)
    alpha, reach = _check.stability_index(alpha, above=1), _check.positive("reach", reach)
    init, rate_wished = start_from_logdensity(logdensity), default_acceptance(alpha)
    move = move_between(init, alpha)

    def tune(params: AnnealedParams, states: LangevinState, infos: Info, pace: Pace) -> AnnealedParams:
        del states
        excess = jnp.mean(infos.acceptance_rate) - rate_wished
        cold = jnp.minimum(pace.progress / DONE, 1)
        return params._replace(step_size=params.step_size * jnp.exp(GAIN * excess), beta=FIRST_BETA ** (1 - cold))

    def params(dim: int) -> AnnealedParams:
        return AnnealedParams(reach, jnp.zeros(dim), reach)

    def freeze(params: AnnealedParams) -> AnnealedParams:
        return params._replace(beta=jnp.ones_like(params.beta))

    return assemble(init, draw_noise(alpha, accept=True), move, params, tune, freeze)


def wide_logdensity(position: Position, center: Any, reach: Any) -> Float[Array, ""]:
    """Return the log density of the wide law, up to a constant: Student-t with one degree of freedom.

    Example:
        >>> float(wide_logdensity(jnp.array([3.0]), 0.0, 3.0) / jnp.log(2))
        -1.0
    """
    away = (position - center) / reach
    unit = jnp.maximum(1, jax.lax.stop_gradient(jnp.max(jnp.abs(away))))  # squares would overflow
    return -(1 + len(position)) / 2 * (jnp.log(unit**-2 + jnp.sum((away / unit) ** 2)) + 2 * jnp.log(unit))


def move_between(
    init: Callable[[Position], LangevinState], alpha: float
) -> Callable[[AnnealedParams, LangevinState, Noise], tuple[LangevinState, Info]]:
    """Return the exact fractional Langevin move on ``p^β q^(1-β)``, with states that are those of the target p."""

    def tempered(state: LangevinState, params: AnnealedParams, share: Any) -> LangevinState:
        """Return the state as it looks to the law between, with such a share of the gradient there as its drift."""
        value, gradient = jax.value_and_grad(wide_logdensity)(state.position, params.center, params.reach)
        beta = params.beta
        drift = share * (beta * state.drift + (1 - beta) * gradient)
        return LangevinState(state.position, beta * state.logdensity + (1 - beta) * value, drift)

    def move(params: AnnealedParams, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        share = drift_share(noise, params.step_size, alpha)
        here = tempered(state, params, share)
        proposed = init(propose(here, noise, params.step_size, alpha))
        there = tempered(proposed, params, share)
        log_ratio = there.logdensity - here.logdensity
        log_ratio += auxiliary_log_ratio(here, there, noise, params.step_size, alpha)
        return metropolis(noise.log_uniform, log_ratio, proposed, state)

    return move
