"""Jumps on the line: the proposal is a draw of the Cauchy law with the centre and the width of the target.

It forgets where the chain is. The Cauchy law covers a body and tails that fall like ``x^-2`` or faster; modes or tails
that it covers badly are left to moves that start where the chain is.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import stable
from mafla.kernels.base import Info, metropolis

__all__ = ["JumpNoise", "jump_noise", "line_jump"]

Position = Float[Array, " 1"]


class JumpNoise(NamedTuple):
    """The randomness of a jump."""

    cauchy: Float[Array, ""]  # of unit scale
    log_uniform: Float[Array, ""]


def jump_noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> JumpNoise:
    """Return the noise of a jump for each chain; see `line_jump`."""
    chains = shape[1:]
    normal, log_scale, log_uniform = stable.draws.draw_parts(rng_key, chains, chains, 1.0, accept=True, dtype=dtype)
    return JumpNoise(stable.draws.amplitude(log_scale) * normal, log_uniform)


def line_jump(
    init: Callable[[Position], Any], state: Any, center: Position, scale: Any, noise: JumpNoise
) -> tuple[Any, Info]:
    """Propose a draw of the Cauchy law, q, and accept it with ``p(x') q(x) / (p(x) q(x'))``.

    Args:
        init: from a position to a state with its log density.
        state: where the chain is.
        center: of the law.
        scale: of the law, half of which is as near to the centre as that.
        noise: see `jump_noise`.
    """

    def log_law(position: Position) -> Any:
        return -jnp.logaddexp(0.0, 2 * jnp.log(jnp.abs(position - center)[0] / scale))

    position = center + scale * noise.cauchy
    # What leaves the range of numbers is turned down without being evaluated.
    is_inside = jnp.isfinite(position[0])
    proposed = init(jnp.where(is_inside, position, state.position))
    log_ratio = proposed.logdensity - state.logdensity + log_law(state.position) - log_law(position)
    return metropolis(noise.log_uniform, jnp.where(is_inside, log_ratio, -jnp.inf), proposed, state)
