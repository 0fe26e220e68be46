"""The pairs on which an acceptance is audited, and what is measured on each of them.

Proposals from the body and from the tails in equal number, since few data points lie in a tail. As many moves with
noise of a heavier tail: the long moves that fill a tail are rare, and would be seen by luck only. And long jumps from
data point to data point. Each pair comes with the rate at which the design has it, so that all tell of the flux.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from numpy.typing import NDArray

from mafla import stable
from mafla.kernels.base import call_score
from mafla.kernels.score_fractional import line_integral
from mafla.learn.balance import Field, PairFunction, Point, Proposal, log_proposal_ratio

__all__ = ["JUMPS", "STRATA", "WIDE", "Design", "Pairs", "draw_pairs", "measure"]

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVELS = (0.95, 0.99)
STRATA = ("body", "95 % tail", "99 % tail")
WIDE, JUMPS = -1, len(STRATA)  # kinds of pairs beside the proposals, which have the number of their stratum
WIDE_ALPHA = 1.0  # the Cauchy law, whose density has a closed form
LEAST_ROWS = 200  # leaves two of them in the last tail
RANGE = 80.0  # of log probabilities: beyond it they are as good as zero


class Design(NamedTuple):
    """The pairs to look at."""

    x_new: Array
    x: Array
    kind: Indices  # the stratum of x for proposals, or WIDE, or JUMPS (below α=2)
    starts: Indices  # which data point x is
    source: Indices  # the stratum of x
    sink: Indices  # the stratum of x_new
    density: Vector  # of each stratum: proposals from it per unit of probability


class Pairs(NamedTuple):
    """What is known of each pair."""

    forward: Vector  # log a(x', x), cut to [-80, 0]
    backward: Vector  # log a(x, x'), cut to [-80, 0]
    exact: Vector  # the exact log ratio, cut to ±80
    ideal: Vector  # the log ratio that training aims for, cut to ±80
    raw: Vector  # log a(x', x) as it was returned
    skew: Vector  # |logit(x', x) + logit(x, x')|, NaN without a logit
    quadrature: Vector  # by how much the line integral changes when its nodes are halved
    crowding: Vector  # log of how much more often the design moves from x to x' than the proposal alone
    crowding_back: Vector  # the same from x' to x
    is_used: NDArray[np.bool_]  # false where the acceptance or the exact ratio is not a number


def draw_pairs(key: Key[Array, ""], data: NDArray[np.floating[Any]], proposal: Proposal, count: int) -> Design:
    """Draw the pairs of an audit, ``count`` of each kind.

    The strata are those of the radius of ``(x - median) / interquartile range``.
    """
    radius = _radius(data)
    edges = np.quantile(radius(data), LEVELS)
    stratum = np.searchsorted(edges, radius(data))
    masses = np.bincount(stratum, minlength=len(STRATA)) / len(stratum)
    if not masses.all():
        raise ValueError(f"data must have points in the body and in both tails, got shares of {masses.tolist()}")

    def draw(key: Key[Array, ""], chosen: NDArray[np.bool_]) -> Indices:
        # None a second time before all have had their turn.
        return np.resize(np.asarray(jax.random.permutation(key, np.flatnonzero(chosen))), count)

    key_starts, key_noise, key_wide, key_jumps = jax.random.split(key, 4)
    points = jnp.asarray(data)
    starts = np.concatenate([draw(key_starts, stratum == k) for k in range(len(STRATA))])
    kind = np.append(stratum[starts], np.full(len(starts), WIDE))
    means, gamma = jax.vmap(partial(_mean, proposal))(points[starts]), proposal.step_size ** (1 / proposal.alpha)
    noise = stable.sample(key_noise, proposal.alpha, len(starts), data.shape[1], points.dtype)
    wide_noise = stable.sample(key_wide, WIDE_ALPHA, len(starts), data.shape[1], points.dtype)
    x_new, starts = jnp.concatenate([means + gamma * noise, means + gamma * wide_noise]), np.tile(starts, 2)
    if proposal.alpha < 2:  # Gaussian noise makes no long jumps
        x_new = jnp.concatenate([x_new, points[draw(key_jumps, stratum > 0)]])
        starts = np.append(starts, starts[:count])  # from the body
        kind = np.append(kind, np.full(count, JUMPS))
    sink = np.searchsorted(edges, radius(x_new))
    return Design(x_new, points[starts], kind, starts, stratum[starts], sink, count / masses)


def measure(
    design: Design, log_acceptance: PairFunction, score: Field, logdensity: Any, proposal: Proposal, nodes: int
) -> Pairs:
    """Evaluate the acceptance and the exact ratio on all pairs."""
    exact_ratio, ideal_ratio = log_proposal_ratio(proposal._replace(kind="exact")), log_proposal_ratio(proposal)
    logit = getattr(log_acceptance, "logit", None)

    def crowding(x_new: Point, x: Point) -> Array:
        noise = (x_new - _mean(proposal, x)) / proposal.step_size ** (1 / proposal.alpha)
        return jnp.logaddexp(0, stable.logpdf(noise, WIDE_ALPHA) - stable.logpdf(noise, proposal.alpha))

    def one(pair: tuple[Point, Point]) -> tuple[Array, ...]:
        x_new, x = pair
        if logdensity is None:
            change, coarse = (line_integral(score, x, x_new, number) for number in (nodes, nodes // 2))
        else:
            change = coarse = logdensity(x_new) - logdensity(x)
        forward, backward = jnp.asarray(log_acceptance(x_new, x)), jnp.asarray(log_acceptance(x, x_new))
        if forward.shape != ():
            raise ValueError(f"log_acceptance must return a scalar for a single pair, got shape {forward.shape}")
        skew = jnp.full((), jnp.nan) if logit is None else jnp.abs(logit(x_new, x) + logit(x, x_new))
        ratios = change + exact_ratio(x_new, x), change + ideal_ratio(x_new, x)
        return forward, backward, *ratios, skew, jnp.abs(change - coarse), crowding(x_new, x), crowding(x, x_new)

    # In parts, since a network on all nodes of all segments at once takes much memory.
    batch = int(np.count_nonzero(design.kind == 0))
    parts = jax.jit(lambda *pairs: jax.lax.map(one, pairs, batch_size=batch))(design.x_new, design.x)
    raw, back, exact, ideal, skew, quadrature, crowd, crowd_back = (np.asarray(part, np.float64) for part in parts)
    is_used = np.all([part < np.inf for part in (raw, back, exact, ideal)], axis=0)  # false for NaN, too
    forward, backward = np.clip(raw, -RANGE, 0), np.clip(back, -RANGE, 0)
    exact, ideal = np.clip(exact, -RANGE, RANGE), np.clip(ideal, -RANGE, RANGE)
    return Pairs(forward, backward, exact, ideal, raw, skew, quadrature, crowd, crowd_back, is_used)


def _radius(data: NDArray[np.floating[Any]]) -> Callable[[Any], Vector]:
    if data.shape[0] < LEAST_ROWS or data.shape[1] < 1:
        raise ValueError(f"data must have shape (n, dim) with at least {LEAST_ROWS} rows, got {data.shape}")
    centre, scale = np.median(data, axis=0), np.subtract(*np.quantile(data, [0.75, 0.25], axis=0))
    if not (scale > 0).all():
        raise ValueError(f"data must vary in every coordinate, got interquartile ranges of {scale.tolist()}")
    return lambda x: np.hypot.reduce((np.asarray(x, np.float64) - centre) / scale, axis=1, initial=0.0)


def _mean(proposal: Proposal, x: Point) -> Point:
    """Return ``x + τ b(x)``, to which the proposal adds noise."""
    return x if proposal.drift is None else x + proposal.step_size * call_score(proposal.drift, x, "drift")
