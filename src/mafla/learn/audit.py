"""Can a learned acceptance be trusted? It is held against the exact one, in the body and in the tails.

A learned acceptance makes a chain as exact as its training was, and nothing in a run shows how exact that is. Here the
exact log ratio is known pair by pair: the stable density gives that of the proposal, the log density or a line integral
of the score that of the target. What is judged is the kernel as it runs, which takes a log acceptance above 0 as 0.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike, NDArray

from mafla import _check
from mafla.drift import local_drift
from mafla.learn.audit_pairs import JUMPS, STRATA, WIDE, Design, Pairs, draw_pairs, measure
from mafla.learn.balance import Field, PairFunction, Point, Proposal, log_proposal_ratio

__all__ = ["Audit", "Row", "audit"]

VERDICTS = ("trust", "caution", "do not trust")


class Limits(NamedTuple):
    """The largest values that a verdict allows."""

    residual: float
    residual_90: float
    flux: float  # or its inverse
    jumps: float  # median residual of long jumps


TRUST = Limits(residual=0.1, residual_90=0.5, flux=1.1, jumps=0.5)
CAUTION = Limits(residual=0.5, residual_90=1.5, flux=1.5, jumps=1.5)
SLOW = 0.1  # of the acceptance that Metropolis has, below which a chain is called slow
MANY_FAULTS = 0.01  # of all pairs


class Row(NamedTuple):
    """The proposals from one stratum; in the last row, long jumps: pairs of data points from the body to a tail.

    Attributes:
        stratum: its name; the radius is that of ``(x - median) / interquartile range``.
        pairs: number of pairs.
        residual: median of ``|log a(x',x) - log a(x,x') - exact|``.
        residual_90: its 90 % quantile.
        acceptance: mean of ``a``.
        barker: mean of the exact Barker acceptance.
        metropolis: mean of the exact Metropolis acceptance, the largest that there is.
        error: mean of ``|a - exact|`` for the nearer of the two.
        flux: probability of leaving the stratum in a step over that of entering it; 1 if the target is invariant, below
            1 if the stratum fills, above 1 if it empties. NaN for long jumps, and where no move crosses the edge.
        flux_error: its standard error.
    """

    stratum: str
    pairs: int
    residual: float
    residual_90: float
    acceptance: float
    barker: float
    metropolis: float
    error: float
    flux: float
    flux_error: float


class Audit(NamedTuple):
    """What `audit` found; printed, it is a table with the message.

    Attributes:
        rows: one for the body, for each tail and, below α=2, for long jumps.
        fit: median residual against the ideal solution of the objective that the acceptance was trained on.
        excess: the largest log acceptance if it is above 0, which no probability has; else 0.
        antisymmetry: largest ``|logit(x',x) + logit(x,x')|`` where the acceptance has a ``logit``, else None.
        quadrature: 90 % quantile of the change of the line integral when its nodes are halved; 0 with a log density.
        faults: number of pairs where the acceptance or the exact ratio is not a number; they are left out.
        verdict: "trust", "caution" or "do not trust".
        message: why, and what to use instead.
    """

    rows: tuple[Row, ...]
    fit: float
    excess: float
    antisymmetry: float | None
    quadrature: float
    faults: int
    verdict: str
    message: str

    def __str__(self) -> str:
        lines = ["stratum      pairs  residual    90 %  accept  barker  metropolis   error  out/in"]
        for row in self.rows:
            numbers = f"{row.residual:10.3f}{row.residual_90:8.3f}{row.acceptance:8.3f}{row.barker:8.3f}"
            flux = "" if math.isnan(row.flux) else f"  {row.flux:.2f} ± {row.flux_error:.2f}"
            lines.append(f"{row.stratum:11}{row.pairs:7d}{numbers}{row.metropolis:12.3f}{row.error:8.3f}{flux}")
        return "\n".join([*lines, f"{self.verdict}: {self.message}"])


def audit(  # noqa: PLR0913 - what the kernel is given, what is known of the target, how hard to look
    log_acceptance: PairFunction,
    score: Field,
    data: ArrayLike,
    alpha: float,
    step_size: float,
    *,
    key: Key[Array, ""],
    logdensity: Callable[[Point], Float[Array, ""]] | None = None,
    drift: Field | None = None,
    proposal_score: Literal["exact", "proxy"] = "exact",
    nodes: int = 32,
    pairs: int = 40_000,
) -> Audit:
    """Hold an acceptance function against the exact one, on data and on what is proposed from them.

    The verdict is "trust" if in every stratum the median residual is at most 0.1, its 90 % quantile at most 0.5 and
    outflow over inflow between 1/1.1 and 1.1, and if the median residual of long jumps is at most 0.5. It is "do not
    trust" beyond 0.5, 1.5, 1.5 (by more than two standard errors) and 1.5, or if one pair in a hundred has no finite
    ratio; else "caution", also for an acceptance below a tenth of the exact one. All of it is relative to the given
    score or log density: an audit does not see what is wrong with those.

    Args:
        log_acceptance: ``log a(x_new, x)``, the log probability of moving from a single point x to x_new.
        score: gradient of the log density at a single point.
        data: draws of the target, (n, dim), at least 200.
        alpha: stability index in (1, 2].
        step_size: τ, positive, as in the kernel that uses the acceptance.
        key: random key.
        logdensity: of a single point, up to a constant; a line integral of the score where it is not given.
        drift: replaces ``c_α s(x)``.
        proposal_score: what the acceptance was trained with; it changes the message, never the truth.
        nodes: Gauss-Legendre nodes of the line integral, at least 2.
        pairs: number of pairs: a seventh for each row of the table, the rest long moves that sharpen the flux.

    Example:
        >>> import jax
        >>> data = jax.random.normal(jax.random.key(0), (1000, 1))
        >>> always = lambda new, old: 0.0 * new[0]
        >>> audit(always, lambda x: -x, data, 1.5, 0.5, key=jax.random.key(1), pairs=2000).verdict
        'do not trust'
    """
    _check.function("log_acceptance", log_acceptance)
    _check.function("score", score)
    _check.random_key(key)
    if logdensity is not None:
        _check.function("logdensity", logdensity)
    nodes, count = _check.whole("nodes", nodes, 2), _check.whole("pairs", pairs, 7) // 7
    proposal = Proposal(local_drift(score, alpha) if drift is None else drift, alpha, step_size, proposal_score)
    log_proposal_ratio(proposal)  # refuses a bad one before it is used
    design = draw_pairs(key, _check.finite_array("data", data, ndim=2), proposal, count)
    found = measure(design, log_acceptance, score, logdensity, proposal, nodes)
    fluxes = _fluxes(found, design)
    rows = [_row(name, found, design.kind == k, *fluxes[k]) for k, name in enumerate(STRATA)]
    if (design.kind == JUMPS).any():
        rows.append(_row("long jumps", found, design.kind == JUMPS, math.nan, math.nan))
    instead = "mafla.score_mafla" if logdensity is None else "mafla.exact_mafla"
    return _conclude(tuple(rows), found, design.kind != WIDE, proposal.kind, instead)


def _row(name: str, found: Pairs, chosen: NDArray[np.bool_], flux: float, flux_error: float) -> Row:
    chosen = chosen & found.is_used
    if not chosen.any():
        raise ValueError(f"log_acceptance and the exact ratio must be finite, got no such pair in the row {name}")
    forward, backward, exact = found.forward[chosen], found.backward[chosen], found.exact[chosen]
    median, high = np.quantile(np.abs(forward - backward - exact), [0.5, 0.9])
    a, barker, metropolis = np.exp(forward), np.exp(-np.logaddexp(0, -exact)), np.exp(np.minimum(exact, 0))
    error = min(np.abs(a - barker).mean(), np.abs(a - metropolis).mean())
    numbers = median, high, a.mean(), barker.mean(), metropolis.mean(), error, flux, flux_error
    return Row(name, int(chosen.sum()), *map(float, numbers))


def _fluxes(found: Pairs, design: Design) -> list[tuple[float, float]]:
    """Return outflow over inflow of each stratum with its standard error.

    A pair that is proposed one way at the rate f is proposed the other way at the rate ``f e^L``, with L the exact log
    ratio, so that each pair tells of both directions. Weighted by the rate at which the design has it in either, the
    two agree pair by pair where there is detailed balance.
    """
    used = found.is_used & (design.kind != JUMPS)
    source, sink, starts, exact = design.source[used], design.sink[used], design.starts[used], found.exact[used]
    ahead = found.crowding[used] + np.log(design.density[source])
    behind = found.crowding_back[used] + np.log(design.density[sink])
    forward = np.exp(found.forward[used] - np.logaddexp(ahead, behind + exact))
    backward = np.exp(found.backward[used] - np.logaddexp(ahead - exact, behind))
    fluxes = []
    for k in range(len(STRATA)):
        leaves, enters = (source == k) & (sink != k), (source != k) & (sink == k)
        # Summed over the pairs of each data point, which are not independent of each other.
        outflow = np.bincount(starts, leaves * forward + enters * backward)
        inflow = np.bincount(starts, enters * forward + leaves * backward)
        if outflow.sum() > 0 and inflow.sum() > 0:
            ratio = float(outflow.sum() / inflow.sum())
            fluxes.append((ratio, ratio * float(np.linalg.norm(outflow / outflow.sum() - inflow / inflow.sum()))))
        else:
            fluxes.append((math.nan, math.nan))
    return fluxes


def _conclude(rows: tuple[Row, ...], found: Pairs, shown: NDArray[np.bool_], kind: str, instead: str) -> Audit:
    faults, used = int((~found.is_used).sum()), found.is_used & shown
    fit = float(np.median(np.abs(found.forward - found.backward - found.ideal)[used]))
    quadrature = float(np.quantile(found.quadrature[used], 0.9))
    judged = [_judge(row) for row in rows[::-1]]  # the tails first
    if faults:
        level = 2 if faults > MANY_FAULTS * len(used) else 1
        judged.append((level, f"{faults} of {len(used)} pairs have no finite ratio"))
    if quadrature > TRUST.residual:
        judged.append((1, f"the line integral is known to ±{quadrature:.2g} only (more nodes, or a logdensity)"))
    level = max(level for level, _ in judged)
    reasons = [reason for severity, reason in judged if severity] or ["balanced in the body and in the tails"]
    if level and kind == "proxy" and fit <= TRUST.residual:
        reasons.append("it balances the proxy, which is not the proposal: train it with the exact proposal score")
    if level:
        reasons.append(f"use {instead}, which needs no learned acceptance, or the structured acceptance")
    excess = float(np.max(found.raw[used], initial=0.0))
    skew = None if np.isnan(found.skew).all() else float(np.nanmax(found.skew))
    return Audit(rows, fit, excess, skew, quadrature, faults, VERDICTS[level], "; ".join(reasons))


def _judge(row: Row) -> tuple[int, str]:
    """Return how bad a row is, 0 to 2, and why."""
    reason = f"{row.stratum}: log ratio off by {row.residual:.2g}"
    if row.stratum not in STRATA:
        return int(row.residual > TRUST.jumps) + int(row.residual > CAUTION.jumps), reason
    off = abs(math.log(row.flux))  # NaN where no move crosses the edge: nothing is certain then
    certain = off - 2 * row.flux_error / row.flux
    fate = "fills" if row.flux < 1 else "empties"
    reason += ", no move crosses its edge" if math.isnan(off) else f", outflow {row.flux:.2g} of inflow, so it {fate}"
    if row.residual > CAUTION.residual or row.residual_90 > CAUTION.residual_90 or certain > math.log(CAUTION.flux):
        return 2, reason
    if not (row.residual <= TRUST.residual and row.residual_90 <= TRUST.residual_90 and off <= math.log(TRUST.flux)):
        return 1, reason
    slow = f"{row.stratum}: accepts {row.acceptance:.2g} where {row.metropolis:.2g} is possible, so it is slow"
    return int(row.acceptance < SLOW * row.metropolis), slow
