"""Fractional underdamped Langevin dynamics (FULD, Şimşekli et al. 2020), unadjusted.

``dX = ∇G(V) dt``, ``dV = -(γV - ∇log p(X)) dt + γ^(1/α) dL`` with the kinetic energy ``G = -log`` of the stable law of
scale ``α^(-1/α)``, the stationary law of the velocity. In continuous time ``p(x) e^(-G(v))`` is invariant. A step is
half a kick, a drift, half a kick and the exact solution of the linear part of the velocity.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla import _check, stable
from mafla.kernels.base import Info, Kernel, Noise, StepSize, assemble, call_score, draw_noise, keep, unadjusted

__all__ = ["fuld"]


class UnderdampedState(NamedTuple):
    """Position, velocity and the score at the position."""

    position: Float[Array, " dim"]
    velocity: Float[Array, " dim"]
    score: Float[Array, " dim"]


def fuld(
    score: Callable[[Float[Array, " dim"]], Float[Array, " dim"]], alpha: float, step_size: float, friction: float = 1.0
) -> Kernel:
    """Return the unadjusted fractional underdamped Langevin kernel; chains start at rest.

    Args:
        score: gradient of the log density at a single point.
        alpha: stability index in (1, 2]; at 2 this is underdamped Langevin with unit mass.
        step_size: time step, positive.
        friction: γ, positive.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = fuld(lambda x: -x, 1.7, 0.1)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.ones(2)))
        >>> state.velocity.shape
        (2,)
    """
    _check.function("score", score)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    friction = _check.positive("friction", friction)
    velocity_scale = alpha ** (-1 / alpha)

    def init(position: Float[Array, " dim"]) -> UnderdampedState:
        return UnderdampedState(position, jnp.zeros_like(position), call_score(score, position))

    def move(params: StepSize, state: UnderdampedState, noise: Noise) -> tuple[UnderdampedState, Info]:
        tau = params.step_size
        velocity = state.velocity + 0.5 * tau * state.score
        # ∇G(v) = -score of the velocity's law
        position = state.position - tau * stable.score(velocity / velocity_scale, alpha) / velocity_scale
        kick = call_score(score, position)
        decay = jnp.exp(-friction * tau)
        spread = velocity_scale * jnp.power(-jnp.expm1(-alpha * friction * tau), 1 / alpha)
        refreshed = spread * stable.draws.amplitude(noise.log_scale) * noise.normal
        velocity = decay * (velocity + 0.5 * tau * kick) + refreshed
        return unadjusted(UnderdampedState(position, velocity, kick), state)

    return assemble(init, draw_noise(alpha, accept=False), move, StepSize(step_size), keep)
