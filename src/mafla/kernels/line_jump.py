"""Jumps on the line: the proposal is a draw of the Cauchy law with the centre and the width of the target.

It forgets where the chain is. The Cauchy law covers a body and tails that fall like ``x^-2`` or faster; modes or tails
that it covers badly are left to moves that start where the chain is.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from mafla.kernels.base import Info, ScalarNoise, metropolis

__all__ = ["JUMP_ALPHA", "line_jump"]

JUMP_ALPHA = 1.0

Position = Float[Array, " 1"]


def line_jump(
    init: Callable[[Position], Any], state: Any, center: Position, scale: Any, noise: ScalarNoise
) -> tuple[Any, Info]:
    """Propose a draw of the Cauchy law, q, and accept it with ``p(x') q(x) / (p(x) q(x'))``.

    Args:
        init: from a position to a state with its log density.
        state: where the chain is.
        center: of the law.
        scale: of the law, half of which is as near to the centre as that.
        noise: its number is a draw of the Cauchy law, which is stable with the index `JUMP_ALPHA`.
    """

    def log_law(position: Position) -> Any:
        return -jnp.logaddexp(0.0, 2 * jnp.log(jnp.abs(position - center)[0] / scale))

    position = center + scale * noise.number
    # What leaves the range of numbers is turned down without being evaluated.
    is_inside = jnp.isfinite(position[0])
    proposed = init(jnp.where(is_inside, position, state.position))
    log_ratio = proposed.logdensity - state.logdensity + log_law(state.position) - log_law(position)
    return metropolis(noise.log_uniform, jnp.where(is_inside, log_ratio, -jnp.inf), proposed, state)
