"""Which index α: in warm-up, scouts look for valleys of the density that long jumps get over.

Within a mode short steps do the work. There α should be near 2, since jumps that are turned down are lost; but below
2, for the sake of what no chain has seen yet. Between modes long jumps do the work, and α should be small.

A jump from one mode to another passes a valley: halfway the density is lower than at both ends. Where level sets are
convex, as those of elliptical laws are, no jump does. So every few steps of warm-up are made with a small α and a step
size of its own, and if some of them get over valleys, both are kept. They wait until the target has been found, since
short steps find it sooner, and since chains on their way there may pass valleys that are not the target's.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["EVERY", "FAR_ALPHA", "NEAR_ALPHA", "Scout", "chosen", "is_scouting", "is_valley", "report"]

NEAR_ALPHA, FAR_ALPHA = 1.9, 1.2
EVERY = 4  # steps, of which one scouts
DEPTH = 1.0  # of a valley, in units of the log density
ROUNDING = 1e-5  # of a log density, in units of itself, that is no valley
ENOUGH = 0.5  # jumps over valleys, to be expected of all scouts together


class Scout(NamedTuple):
    """What scouts know.

    Attributes:
        step_size: τ of their steps.
        crossed: how many jumps over valleys were to be expected so far: the sum of their acceptance rates.
        turn: counts steps, and the step at 0 scouts.
    """

    step_size: Any
    crossed: Any = 0.0
    turn: Any = 1.0


def is_scouting(scout: Scout) -> Any:
    """Return whether the next step scouts.

    Example:
        >>> is_scouting(Scout(0.5)), is_scouting(Scout(0.5, turn=0.0))
        (False, True)
    """
    return scout.turn == 0


def is_valley(logdensity: Float[Array, ""], one_end: Float[Array, ""], other_end: Float[Array, ""]) -> Any:
    """Return whether a log density halfway is well below those at both ends; rounding alone is not.

    Example:
        >>> bool(is_valley(-5.0, -3.0, -1.0)), bool(is_valley(-2.0, -3.0, -1.0)), bool(is_valley(-1e9 - 2, -1e9, -1e9))
        (True, False, False)
    """
    lower = jnp.minimum(one_end, other_end)
    return lower - logdensity > DEPTH + ROUNDING * jnp.abs(lower)


def report(scout: Scout, step_size: Any, crossed: Any, is_time: Any = True) -> Scout:
    """Return what is known after a step.

    Args:
        scout: what was known before.
        step_size: τ of scouts, tuned by the step.
        crossed: the jumps over valleys that were to be expected in it, of all chains.
        is_time: whether scouts are sent out: no scout follows where it is not.

    Example:
        >>> scout = report(Scout(0.5, turn=3.0), 0.6, 2.0)  # the step was not a scout's, and the next one is
        >>> [float(number) for number in scout]
        [0.5, 0.0, 0.0]
    """
    scouted = is_scouting(scout)
    return Scout(
        jnp.where(scouted, step_size, scout.step_size),
        scout.crossed + jnp.where(scouted, crossed, 0),
        jnp.where(is_time, (scout.turn + 1) % EVERY, 1),
    )


def chosen(alpha: Any, step_size: Any, scout: Scout) -> tuple[Any, Any]:
    """Return the α and τ to go on with: those of the scouts if they got over valleys.

    Example:
        >>> [float(number) for number in chosen(1.75, 0.5, Scout(4.0, crossed=3.0))]
        [1.2000000476837158, 4.0]
    """
    is_far = scout.crossed >= ENOUGH
    return jnp.where(is_far, FAR_ALPHA, alpha), jnp.where(is_far, scout.step_size, step_size)
