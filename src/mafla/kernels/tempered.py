"""Parallel tempering: replicas between the target and a wide law, which change places.

Replica ``l`` follows ``p^β q^(1-β)`` with its own β, from the target (β=1) to a Student-t law q (β=0), which is proper
for every β; a power of a heavy-tailed density alone would not be. At β=0 every step draws anew, so that what comes down
the ladder can come from anywhere. All steps are exact, and so is the chain of the replica at the target.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key
from numpy.typing import ArrayLike

from mafla import _check
from mafla.kernels.acceptance import default_acceptance
from mafla.kernels.annealed import FIRST_BETA, AnnealedParams, move_between, wide_logdensity
from mafla.kernels.base import Kernel, LangevinState, Noise, Pace, assemble, draw_noise
from mafla.kernels.proposal import start_from_logdensity

__all__ = ["tempered"]

LADDER_GAIN = 0.5  # of the gain with which step sizes are tuned
LEAST_REJECTION = 1e-3  # so that rungs that always change places keep a distance

Position = Float[Array, " dim"]


class TemperedNoise(NamedTuple):
    """The randomness of a step: of the replicas' own moves, of the draw from the wide law, and of the exchanges."""

    local: Noise
    wide: Position
    log_uniform: Float[Array, " rungs"]


class TemperedState(NamedTuple):
    """The replicas, (rungs, …), the last of which is at the target, and what is known of that one."""

    position: Position
    logdensity: Float[Array, ""]
    drift: Position
    replicas: LangevinState


class TemperedInfo(NamedTuple):
    """What happened in a step: to all replicas, whether that at the target moved, at every rung, and between rungs."""

    acceptance_rate: Float[Array, ""]
    is_accepted: Bool[Array, ""]
    is_nonfinite: Bool[Array, ""]
    rates: Float[Array, " rungs"]
    exchanges: Float[Array, " rungs"]


def tempered(
    logdensity: Callable[[Position], Float[Array, ""]],
    reach: float = 100.0,
    center: ArrayLike = 0.0,
    rungs: int = 16,
    alpha: float = 1.7,
) -> Kernel:
    """Return the kernel of parallel tempering, for targets whose modes are far apart.

    A step moves every replica by an exact fractional Langevin step, then offers all neighbours to change places. In
    warm-up step sizes are tuned, and powers until all neighbours change places equally often. A step costs as much as
    one of `exact_mafla` for each rung; `find_modes` with `mode_jumps` is cheaper where the modes can be found at all.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        reach: scale of the wide law: modes that are not much farther from its centre will be found.
        center: of the wide law, a number or a point.
        rungs: replicas of each chain; more where many dimensions make neighbours differ.
        alpha: stability index of the steps, in (1, 2].

    Example:
        >>> kernel = tempered(lambda x: -0.5 * jnp.sum((jnp.abs(x) - 20) ** 2), rungs=8)
        >>> state, info = jax.jit(kernel.step)(jax.random.key(0), kernel.init(jnp.full(2, 20.0)))
        >>> state.position.shape, state.replicas.position.shape  # use it with `mafla.sample`, and with warm-up
        ((2,), (8, 2))
    """
    _check.function("logdensity", logdensity)
    alpha, reach = _check.stability_index(alpha, above=1), _check.positive("reach", reach)
    middle, rungs = _check.finite_array("center", center), _check.whole("rungs", rungs, 1)
    init_one, rate_wished = start_from_logdensity(logdensity), default_acceptance(alpha)
    ladder = AnnealedParams(step_size=0, center=None, reach=None, beta=0)  # which of them differ by rung
    explore = jax.vmap(move_between(init_one, alpha), in_axes=(ladder, 0, -1))
    draw_local = draw_noise(alpha, accept=True)

    def init(position: Position) -> TemperedState:
        here = init_one(position)
        return _at_target(jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (rungs, *leaf.shape)), here))

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> TemperedNoise:
        local, normal, radius, exchange = jax.random.split(rng_key, 4)
        dim, chains = shape[0], shape[1:]
        wide = jax.random.normal(normal, shape, dtype) / jnp.abs(jax.random.normal(radius, chains, dtype))
        log_uniform = -jax.random.exponential(exchange, (rungs, *chains), dtype)
        return TemperedNoise(draw_local(local, (dim, rungs, *chains), dtype), wide, log_uniform)

    def move(params: AnnealedParams, state: TemperedState, noise: TemperedNoise) -> tuple[TemperedState, TemperedInfo]:
        explored, infos = explore(params, state.replicas, noise.local)
        wide = init_one(params.center + params.reach * noise.wide)
        everyone = jax.tree.map(lambda one, others: jnp.concatenate([one[None], others]), wide, explored)
        everyone, exchanges = _exchange(params, everyone, noise.log_uniform)
        moved = _at_target(jax.tree.map(lambda leaf: leaf[1:], everyone))
        has_moved, rates = jnp.any(moved.position != state.position), infos.acceptance_rate
        return moved, TemperedInfo(rates.mean(), has_moved, infos.is_nonfinite.any(), rates, exchanges)

    def tune(params: AnnealedParams, states: TemperedState, infos: TemperedInfo, pace: Pace) -> AnnealedParams:
        del states
        excess = jnp.mean(infos.rates, axis=-1) - rate_wished
        beta = _even_out(params.beta, 1 - jnp.mean(infos.exchanges, axis=-1), LADDER_GAIN * pace.gain)
        return params._replace(step_size=params.step_size * jnp.exp(pace.gain * excess), beta=beta)

    def params(dim: int) -> AnnealedParams:
        """Return what a step depends on; step size and power are those of every rung."""
        if middle.shape not in ((), (dim,)):
            raise ValueError(f"center must be a number or of the dimension of positions, {dim}, got {middle.shape}")
        cold = jnp.arange(1, rungs + 1) / rungs
        return AnnealedParams(reach ** (1 - cold), jnp.broadcast_to(middle, dim), reach, FIRST_BETA ** (1 - cold))

    return assemble(init, noise, move, params, tune)


def _at_target(replicas: LangevinState) -> TemperedState:
    return TemperedState(replicas.position[-1], replicas.logdensity[-1], replicas.drift[-1], replicas)


def _exchange(
    params: AnnealedParams, everyone: LangevinState, log_uniform: Float[Array, " rungs"]
) -> tuple[LangevinState, Float[Array, " rungs"]]:
    """Offer all neighbours to change places, every other pair first and then the rest.

    A replica that goes down goes on going down until it is refused: pairs alternate in a fixed order, without which
    replicas would wander at random.
    """
    beta = jnp.pad(params.beta, (1, 0))
    is_sound = jnp.stack([jnp.isfinite(leaf).reshape(len(beta), -1).all(1) for leaf in everyone]).all(0)
    reference = jax.vmap(wide_logdensity, in_axes=(0, None, None))(everyone.position, params.center, params.reach)
    gain = jnp.where(is_sound, everyone.logdensity - reference, -jnp.inf)  # what is not sound stays in the wide law
    order, rates = jnp.arange(len(beta)), jnp.zeros_like(log_uniform)
    for first in (0, 1):
        here = gain[order]
        log_ratio = (beta[1:] - beta[:-1]) * (here[:-1] - here[1:])
        is_turn = jnp.arange(len(log_uniform)) % 2 == first
        swaps = (is_turn & (log_uniform <= log_ratio)).astype(order.dtype)
        rates = jnp.where(is_turn, jnp.exp(jnp.minimum(log_ratio, 0)), rates)
        order = order[jnp.arange(len(beta)) + jnp.pad(swaps, (0, 1)) - jnp.pad(swaps, (1, 0))]
    return jax.tree.map(lambda leaf: leaf[order], everyone), rates


def _even_out(beta: Float[Array, " rungs"], refused: Float[Array, " rungs"], gain: Any) -> Float[Array, " rungs"]:
    """Move powers towards those at which all neighbours would be refused equally often.

    The refusals between 0 and a power add up to a function of the power that hardly depends on the ladder: where it
    has grown by equal parts, the rungs belong.
    """
    so_far = jnp.cumsum(refused + LEAST_REJECTION)
    parts = so_far[-1] * jnp.arange(1, len(beta) + 1) / len(beta)
    wished = jnp.interp(parts, jnp.pad(so_far, (1, 0)), jnp.pad(beta, (1, 0)))
    return (beta * (wished / beta) ** jnp.minimum(gain, 1)).at[-1].set(1)
