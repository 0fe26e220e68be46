"""Learned samplers against the truth and against others: the same rows, and measures over what i.i.d. draws reach.

A row is a cell: a problem, a seed and a method. Chains start at rows of the data, where a sampler that does nothing
would look perfect; so each cell also says how much of its start a chain still knows. Daily returns are measured in
units of each column's quantile scale.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy import stats

from mafla import _check, metrics
from mafla.bench.gathering import Report, Row
from mafla.bench.learned_methods import METHODS, Case, Outcome, Settings, make_case, run_chains
from mafla.bench.learned_table import (
    DEFAULT,
    LAST_STATES,
    PAPER,
    PAPER_STEP_SIZE,
    PAPER_W1,
    UNADJUSTED,
    describe,
    summary,
)
from mafla.bench.learned_targets import Problem, daily_returns, synthetic, train_and_held_out
from mafla.bench.peers import PEERS
from mafla.bench.selection import is_chosen
from mafla.kernels.base import StepSize
from mafla.kernels.fractional_langevin import fula
from mafla.learn.table import robust_scaling
from mafla.learn.training import Schedule

__all__ = [
    "QUICK",
    "Yardstick",
    "cell",
    "describe",
    "line",
    "make_yardstick",
    "nearest_to_w1",
    "paper_gain",
    "run",
    "summary",
]

# For one seed in less than 20 minutes on two cores. Rows, chains and steps are those of the whole table; the paper's
# acceptance is learned at the paper's step size only.
QUICK = Settings(
    floors=9,
    flow_share=0.5,
    acceptance=Schedule(steps=600, check_every=100),
    methods=(DEFAULT, LAST_STATES, UNADJUSTED, "learned, structured", *PEERS),
)
MEASURES: dict[str, Callable[[Any, Any], float]] = {
    "w1": metrics.wasserstein,
    "asinh_w1": metrics.asinh_wasserstein,
    "q95_error": partial(metrics.quantile_error, level=0.95),
    "q99_error": partial(metrics.quantile_error, level=0.99),
    "tail_msle": metrics.tail_msle,
}
# A cell that failed has them too, empty.
NUMBERS = (
    *(f"{name}{kind}" for name in MEASURES for kind in ("", "_floor", "_ratio")),
    *("weights_error", "logdensity_mean", "logdensity_sd", "seconds_fit", "seconds_sample", "seconds"),
    *("remembered", "duplicates", "acceptance_rate", "step_size", "alpha", "w1_gain", "q99_error_gain"),
)
LARGEST_STEP_SIZE = 10.0
YARDSTICK_KEY = 3  # 0 and 1 are those of the rows, 2 that of the methods

Rows = Float[np.ndarray, "n dim"]


class Yardstick(NamedTuple):
    """What draws are judged by.

    Attributes:
        reference: independent draws, or rows that were held out.
        floor: for each measure, what as many independent draws reach.
        points: at which log densities are compared, with the truth; None where it is not known.
    """

    reference: Rows
    floor: dict[str, float]
    points: tuple[Rows, Float[np.ndarray, " n"]] | None = None


def run(
    seed: int = 0,
    seeds: int = 5,
    quick: bool = False,
    only: str = "",
    methods: str = "",
    report: Report = lambda _line, _rows: None,
    settings: Settings | None = None,
) -> list[Row]:
    """Measure every method on every problem.

    Args:
        seed: the first.
        seeds: how many; one if quick.
        quick: one seed, and of the learned acceptance functions the structured one only, trained for less long.
        only: parts of the names of the problems to run, separated by ``|``; all by default.
        methods: parts of the names of the methods to compare, separated by ``|``; all by default.
        report: called after each cell, with a line about it and all rows so far.
        settings: other sizes.

    Example:
        >>> run(only="5-D")
        Traceback (most recent call last):
        ...
        ValueError: only must be parts of the names of problems, ..., got '5-D'
    """
    first, count = _check.whole("seed", seed, 0), 1 if quick else _check.whole("seeds", seeds, 1)
    sizes = settings or (QUICK if quick else Settings())
    chosen = _chosen(only)
    if methods:
        sizes = sizes._replace(methods=_named(methods))
        chosen = [each for each in chosen if each.name != PAPER_STEP_SIZE or PAPER in sizes.methods]
    if not chosen:
        raise ValueError(f"methods must contain {PAPER!r} for the problem {PAPER_STEP_SIZE!r}, got {methods!r}")
    rows: list[Row] = []
    for problem in chosen:
        for each in range(first, first + count):
            for row in _cells(problem, each, sizes):
                rows.append(row)
                report(line(row), rows)
        jax.clear_caches()  # hundreds of compiled trainings, none of which is used again
    return rows


def cell(case: Case, judge: Yardstick, name: str, method: Callable[[Case], Outcome]) -> Row:
    """Let a method have a case and return all that is measured, or what went wrong.

    Example:
        >>> settings = Settings(rows=200, chains=50, reference_draws=1000, floors=3, density_draws=10)
        >>> rows, _ = train_and_held_out(synthetic()[2], 0, 200)
        >>> case = make_case(synthetic()[2], 0, rows, settings)
        >>> row = cell(
        ...     case, make_yardstick(case), "copies", lambda at: Outcome(at.start, at.start, at.start, 0, 0, None, {})
        ... )
        >>> round(row["remembered"], 6), row["duplicates"], row["error"]
        (1.0, 1.0, None)
    """
    row: Row = {"problem": case.problem.name, "seed": case.seed, "method": name, "error": None}
    row |= dict.fromkeys(NUMBERS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            row |= _judged(method(case), case.problem, judge)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other cells go on
            row["error"] = " ".join(f"{type(error).__name__}: {error}".split())
    return row | {"warnings": sorted({str(warning.message) for warning in caught})}


def make_yardstick(case: Case) -> Yardstick:
    """Return independent draws and what they reach; for data that cannot be drawn, the other half; see `cell`."""
    problem, sizes, count = case.problem, case.settings, len(case.start)
    if problem.draw is None or problem.logdensity is None:
        halves = [train_and_held_out(problem, case.seed + index, count) for index in range(sizes.floors)]
        return Yardstick(halves[0][1], _floor([(train[:count], held_out) for train, held_out in halves]))
    root = jax.random.fold_in(jax.random.key(case.seed), YARDSTICK_KEY)
    sizes_of_parts = [sizes.reference_draws, sizes.density_draws, *[count] * sizes.floors]
    keys = jax.random.split(root, len(sizes_of_parts))
    parts = [problem.draw(key, size) for key, size in zip(keys, sizes_of_parts, strict=True)]
    truth = np.asarray(problem.logdensity(parts[1]), np.float64)
    reference, points, *iid = (np.asarray(part, np.float64) for part in parts)
    return Yardstick(reference, _floor([(draws, reference) for draws in iid]), (points, truth))


def line(row: Row) -> str:
    """Return what is said about a cell when it is done.

    Example:
        >>> line({"problem": "1-D", "seed": 0, "method": "flow", "error": "ValueError: no"})
        '1-D, seed 0, flow: failed, ValueError: no'
    """
    cell_name = f"{row['problem']}, seed {row['seed']}, {row['method']}"
    if row["error"]:
        return f"{cell_name}: failed, {row['error']}"
    asinh_w1, q99 = row["asinh_w1_ratio"], row["q99_error_ratio"]
    return f"{cell_name}: asinh W1 {asinh_w1:.3g} and q0.99 {q99:.3g} times the floor, {row['seconds']:.0f} s"


def paper_gain(case: Case, judge: Yardstick) -> list[Row]:
    """Return FULA's row at the step size where its W1 is nearest the paper's, and the paper's acceptance there.

    The second row has the gains over the first, ``w1_gain`` and ``q99_error_gain``; see `run`.

    Args:
        case: the 2-D mixture.
        judge: what draws are judged by.
    """
    unadjusted = cell(case, judge, UNADJUSTED, partial(nearest_to_w1, PAPER_W1, judge.reference))
    if unadjusted["error"]:
        return [unadjusted]
    same = case._replace(settings=case.settings._replace(step_size=unadjusted["step_size"]))
    learned = cell(same, judge, PAPER, METHODS[PAPER])
    if not learned["error"]:
        learned |= {f"{name}_gain": unadjusted[name] / learned[name] for name in ("w1", "q99_error")}
    return [unadjusted, learned]


def nearest_to_w1(wanted: float, reference: Rows, case: Case) -> Outcome:
    """Run FULA at doubled step sizes until its W1 exceeds the one wanted, then bisect; return the nearest of all.

    Args:
        wanted: such as the paper's.
        reference: draws to measure W1 by.
        case: rows and starts.
    """
    score, seconds_fit = case.score()
    kernel = fula(score, score.alpha, case.settings.step_size)  # compiled once: step sizes are arguments
    tried: list[tuple[float, Outcome]] = []

    def is_below(step_size: float) -> bool:
        outcome = run_chains(case, kernel._replace(params=StepSize(step_size)), seconds_fit)
        w1 = metrics.wasserstein(outcome.draws, reference)
        tried.append((abs(w1 - wanted), outcome))
        return w1 < wanted

    low = high = case.settings.step_size
    while is_below(high) and high < LARGEST_STEP_SIZE:
        low, high = high, 2 * high
    for _ in range(case.settings.bisections):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return min(tried, key=lambda pair: pair[0])[1]


def _chosen(only: str) -> list[Problem]:
    """Return the problems whose names contain the text; returns are loaded only where they are wanted."""
    first, *others = synthetic()
    known = [first, first._replace(name=PAPER_STEP_SIZE), *others]
    names = [*(problem.name for problem in known), "daily returns"]
    if not any(is_chosen(name, only) for name in names):
        raise ValueError(f"only must be parts of the names of problems, {'; '.join(names)}, got {only!r}")
    chosen = [problem for problem in known if is_chosen(problem.name, only)]
    if not is_chosen(names[-1], only):
        return chosen
    returns = daily_returns()
    rows = np.asarray(returns.rows)
    return [*chosen, returns._replace(rows=robust_scaling(rows).apply(rows))]


def _named(methods: str) -> tuple[str, ...]:
    named = tuple(name for name in METHODS if is_chosen(name, methods))
    if not named:
        raise ValueError(f"methods must be parts of the names of methods, {'; '.join(METHODS)}, got {methods!r}")
    return named


def _cells(problem: Problem, seed: int, sizes: Settings) -> Iterator[Row]:
    case = make_case(problem, seed, train_and_held_out(problem, seed, sizes.rows)[0], sizes)
    judge = make_yardstick(case)
    if problem.name == PAPER_STEP_SIZE:
        yield from paper_gain(case, judge)
        return
    for name, method in METHODS.items():
        if not sizes.methods or name in sizes.methods:
            row = cell(case, judge, name, method)
            case = case._replace(seconds=row["seconds"]) if name == DEFAULT else case
            yield row


def _floor(pairs: list[tuple[Rows, Rows]]) -> dict[str, float]:
    return {name: float(np.median([measure(*pair) for pair in pairs])) for name, measure in MEASURES.items()}


def _judged(found: Outcome, problem: Problem, judge: Yardstick) -> Row:
    """Return the measures of draws, all as plain numbers; what is not finite is None."""
    row: Row = {**found.facts, "seconds_fit": found.seconds_fit, "seconds_sample": found.seconds_sample}
    row["seconds"] = found.seconds_fit + (found.seconds_sample or 0)
    for name, measure in MEASURES.items():
        value, floor = measure(found.draws, judge.reference), judge.floor[name]
        row |= {name: value, f"{name}_floor": floor, f"{name}_ratio": value / floor}
    if problem.locations is not None and len(problem.locations) > 1:
        # Modes overlap, so that their weights are not the shares of what is nearest to them.
        shares = [metrics.mixture_weights(draws, problem.locations) for draws in (found.draws, judge.reference)]
        row["weights_error"] = np.abs(shares[0] - shares[1]).max()
    if found.logdensity is not None and judge.points is not None:
        points, truth = judge.points
        with np.errstate(invalid="ignore"):  # where a peer has no density at all
            errors = found.logdensity(points) - truth
            row |= {"logdensity_mean": errors.mean(), "logdensity_sd": errors.std()}
    start = found.draws[:0] if found.start is None else found.start
    both, before = (len(np.unique(part, axis=0)) for part in (np.concatenate([start, found.draws]), start))
    row["duplicates"] = 1 - (both - before) / len(found.draws)
    if found.start is not None and found.end is not None:
        pairs = zip(found.start.T, found.end.T, strict=True)
        row["remembered"] = np.mean([stats.spearmanr(*pair).statistic for pair in pairs])
    return {name: float(value) if value is not None and math.isfinite(value) else None for name, value in row.items()}
