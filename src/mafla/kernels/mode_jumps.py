"""Jumps to anywhere: every proposal is drawn from one fixed law, which should be near the target.

Between modes that are far apart no local step leads, but such a jump does. It is exact whatever the law; the nearer the
law is to the target, the more jumps are accepted.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.kernels.base import Info, Kernel, WalkState, assemble, call_logdensity, keep, metropolis
from mafla.learn.mixture import StudentMixture

__all__ = ["mode_jumps"]

Position = Float[Array, " dim"]


class JumpNoise(NamedTuple):
    """The randomness of a jump."""

    key: Key[Array, ""]  # from which the law draws
    log_uniform: Float[Array, ""]


def mode_jumps(logdensity: Callable[[Position], Float[Array, ""]], law: StudentMixture) -> Kernel:
    """Return the kernel that proposes draws of ``law`` q, accepted with ``p(x') q(x) / (p(x) q(x'))``.

    It belongs in a `cycle` with a kernel that moves locally.

    Args:
        logdensity: log density at a single point, up to a constant.
        law: what `find_modes` returns. Its tails should be as heavy as the target's, or chains stay far out for long.

    Example:
        >>> import jax.numpy as jnp
        >>> law = StudentMixture(jnp.zeros(1), jnp.zeros((1, 3)), jnp.eye(3)[None], jnp.ones(1))
        >>> kernel = mode_jumps(law.logdensity, law)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(3)))
        >>> float(info.acceptance_rate)  # the law is the target itself
        1.0
    """
    _check.function("logdensity", logdensity)
    if not isinstance(law, StudentMixture):
        raise ValueError(f"law must be a mixture such as find_modes returns, got {type(law).__name__}")

    def init(position: Position) -> WalkState:
        if position.shape != law.centers.shape[1:]:
            raise ValueError(f"law must be of the dimension of positions, {len(position)}, got {law.centers.shape[1]}")
        return WalkState(position, call_logdensity(logdensity, position))

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> JumpNoise:
        key_jump, key_accept = jax.random.split(rng_key)
        return JumpNoise(jax.random.split(key_jump, shape[1:]), -jax.random.exponential(key_accept, shape[1:], dtype))

    def move(params: StudentMixture, state: WalkState, noise: JumpNoise) -> tuple[WalkState, Info]:
        proposed = init(params.sample(noise.key, 1)[0].astype(state.position.dtype))
        log_ratio = proposed.logdensity - state.logdensity
        log_ratio += params.logdensity(state.position) - params.logdensity(proposed.position)
        return metropolis(noise.log_uniform, log_ratio, proposed, state)

    return assemble(init, noise, move, law, keep)
