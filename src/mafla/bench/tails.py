"""Our sampler for heavy tails against those that people would use: the same targets, starts, chains and seconds.

A row is a problem, a start, a sampler and a seed. Errors are relative errors of tail probabilities, ``p̂/p - 1``, of
all draws of all chains after warm-up. The efficiency against a peer is its mean squared error times its seconds over
ours: how many times longer it must run for the same error, if it is done with warm-up.
"""

import time
from collections.abc import Iterable
from functools import cache

import jax
import numpy as np

from mafla import _check, metrics
from mafla.bench.gathering import Report, Row, gather
from mafla.bench.selection import is_chosen
from mafla.bench.tail_problems import Problem, problems, start
from mafla.bench.tail_samplers import NUTS, OURS, SAMPLERS, VARIANTS, Drawn, suits
from mafla.bench.tail_table import describe, picture, summary
from mafla.executing import Cell

__all__ = ["describe", "picture", "run", "summary"]

CHAINS = 64
# Of each group one of every kind, and the largest.
QUICK = (
    *("round Student-t ν=1, d=10", "round Student-t ν=2, d=50", "round Student-t ν=1, d=200"),
    *("stretched Student-t ν=1, d=10", "stretched Student-t ν=2, d=50", "stretched Student-t ν=1, d=200"),
    *("stretched Student-t ν=5, d=10", "5 modes at 10, d=2", "2 modes at 30, d=10"),
    *("funnel, d=10", "horseshoe, d=21", "stretched Gaussian, d=50", "logistic, d=10"),
)
MODES = 3  # times as many seconds for everyone where there are modes: ours needs one or two to find them
W1_DRAWS, REFERENCE, FLOORS, SHARE_DRAWS = 5000, 20_000, 5, 200_000
BLOCK = 256  # draws of all chains whose distances are found at once
TRACE = 8  # points in time at which the error is kept, each twice as late as the one before


def run(
    seed: int = 0,
    seeds: int = 20,
    quick: bool = False,
    only: str = "",
    samplers: str = "",
    seconds: float = 1.0,
    chains: int = CHAINS,
    workers: int = 1,
    known: Iterable[Row] = (),
    report: Report = lambda _line, _rows: None,
) -> list[Row]:
    """Let samplers have problems for the same seconds.

    Args:
        seed: the first.
        seeds: how many; one if quick.
        quick: a third of the problems, near starts and, if none are named, ours and BlackJAX's NUTS only.
        only: parts of the names of problems, separated by ``|``; all by default.
        samplers: parts of the names of samplers, separated by ``|``; all by default. Variants of ours are run where
            their whole names are given, such as ``mafla α=1.5`` and ``mafla alone``, which makes no jumps to modes.
        seconds: for warm-up and draws of each; three times as many where there are modes.
        chains: of each sampler; emcee takes more where it needs them.
        workers: how many samplers run at the same time, each on processors of its own.
        known: rows of earlier runs with the same seconds and chains; they are not measured again.
        report: called after each problem and sampler, with a line about it and all rows so far.

    Returns:
        all rows, the known ones too.

    Example:
        >>> run(only="nothing")
        Traceback (most recent call last):
        ...
        ValueError: only must be parts of the names of problems, such as Student-t|funnel, got 'nothing'
    """
    first, count = _check.whole("seed", seed, 0), 1 if quick else _check.whole("seeds", seeds, 1)
    chosen = [each for each in problems() if is_chosen(each.name, only)]
    if quick:
        chosen = [each._replace(starts=each.starts[:1]) for each in chosen if each.name in QUICK]
    if not chosen:
        raise ValueError(f"only must be parts of the names of problems, such as Student-t|funnel, got {only!r}")
    names = [OURS, NUTS] if quick and not samplers else _named(samplers)
    limit, chains = _check.positive("seconds", seconds), _check.whole("chains", chains, 1)
    workers, rows = _check.whole("workers", workers, 1), list(known)
    parts = [
        {
            "problem": each.name,
            "sampler": name,
            "seconds": limit * (1 if each.locations is None else MODES),
            "chains": chains,
            "runs": runs,
        }
        for each in chosen
        for name in names
        if suits(name, each) and (runs := _missing(each, name, range(first, first + count), rows))
    ]
    return gather(measure, parts, rows, workers, _place, _line, report)


def measure(part: Cell) -> list[Row]:
    """Return the rows of one sampler on one problem: those of ``runs``, which are pairs of a start and a seed."""
    (problem, judge), chains = _judge(part["problem"]), part["chains"]
    began = time.perf_counter()
    sampler = (SAMPLERS | VARIANTS)[part["sampler"]](problem, chains)
    about = {"problem": problem.name, "group": problem.group, "dim": problem.dim, "sampler": part["sampler"]}
    about["compile_seconds"] = time.perf_counter() - began
    rows: list[Row] = []
    for begin, seed in part["runs"]:
        key_start, key_run = jax.random.split(jax.random.key(seed))
        found = sampler(key_run, start(problem, begin, key_start, chains), part["seconds"])
        rows.append(about | {"start": begin, "seed": seed} | judge(found, seed))
    return rows


def _missing(problem: Problem, sampler: str, seeds: range, rows: list[Row]) -> list[tuple[str, int]]:
    """Return the starts and seeds that a sampler still has to run on a problem."""
    own = [row for row in rows if (row["problem"], row["sampler"]) == (problem.name, sampler)]
    done = {(row["start"], row["seed"]) for row in own}
    return [(begin, seed) for begin in problem.starts for seed in seeds if (begin, seed) not in done]


def _place(row: Row) -> tuple[int, int, int, int]:
    """Return where a row belongs: in the order of problems, samplers, starts and seeds."""
    names = [each.name for each in problems()], [*SAMPLERS, *VARIANTS], ["near", "far"]
    found = (order.index(row[what]) for order, what in zip(names, ("problem", "sampler", "start"), strict=True))
    return *found, row["seed"]


def _named(samplers: str) -> list[str]:
    """Return the samplers that have any of the parts in their names; a part that is a whole name chooses only that."""
    known = [*SAMPLERS, *VARIANTS]
    chosen = {
        name
        for part in samplers.split("|")
        for name in ([part] if part in known else [each for each in SAMPLERS if part in each])
    }
    if not chosen:
        raise ValueError(f"samplers must be parts of the names {', '.join(SAMPLERS)}, got {samplers!r}")
    return [name for name in known if name in chosen]


@cache
def _judge(name: str) -> tuple[Problem, "_Judge"]:
    """Return a problem and what is known of it, once in a process."""
    problem = next(each for each in problems() if each.name == name)
    return problem, _Judge(problem)


class _Judge:
    """What is known of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.thresholds, self.shares_beyond = problem, problem.thresholds(), problem.beyond()
        keys = jax.random.split(jax.random.key(17), 1 + FLOORS)
        self.reference, *iid = (
            problem.draws(key, n) for key, n in zip(keys, [REFERENCE] + [W1_DRAWS] * FLOORS, strict=True)
        )
        if problem.locations is not None:  # heavy tails overlap, so that these shares are not quite the weights
            self.shares = metrics.mixture_weights(problem.draws(jax.random.key(18), SHARE_DRAWS), problem.locations)
        self.floor = float(np.median([metrics.asinh_wasserstein(draws, self.reference) for draws in iid]))

    def __call__(self, found: Drawn, seed: int) -> Row:
        problem, distances = self.problem, self._distances(found.draws)
        chosen = np.random.default_rng(seed).choice(distances.size, min(W1_DRAWS, distances.size), replace=False)
        some = found.draws[np.unravel_index(chosen, found.draws.shape[:2])]
        row: Row = {name: getattr(found, name) for name in ("seconds", "warmup_seconds", "is_warm")}
        row |= {"draws": found.draws.shape[1]}
        row |= {"errors": self._errors(distances), "trace": self._trace(distances, found)}
        row["asinh_w1_ratio"] = metrics.asinh_wasserstein(some, self.reference) / self.floor
        if problem.locations is not None:
            pool = found.draws.reshape(-1, problem.dim)
            row["weights_error"] = metrics.weight_error(pool, problem.locations, self.shares)
        return row

    def _distances(self, draws: np.ndarray) -> np.ndarray:
        """Return the distances of all draws, (draw, chain); by blocks of draws, since chains lie side by side."""
        chains, count, dim = draws.shape
        blocks = (draws[:, at : at + BLOCK].astype(np.float64).reshape(-1, dim) for at in range(0, count, BLOCK))
        return np.concatenate([self.problem.distance(block).reshape(chains, -1).T for block in blocks])

    def _errors(self, distances: np.ndarray) -> list[float]:
        pairs = zip(self.thresholds, self.shares_beyond, strict=True)
        return [float(np.mean(distances > threshold) / share - 1) for threshold, share in pairs]

    def _trace(self, distances: np.ndarray, found: Drawn) -> list[list[float]]:
        """Return pairs of seconds and the error at the 0.99-quantile of what was drawn until then."""
        draws, drawing = len(distances), found.seconds - found.warmup_seconds
        counts = sorted({max(1, draws >> halvings) for halvings in range(TRACE)})
        return [[found.warmup_seconds + drawing * n / draws, self._errors(distances[:n])[1]] for n in counts]


def _line(rows: list[Row]) -> str:
    errors = np.array([row["errors"] for row in rows])
    shown = ", ".join(f"{value:.3g}" for value in np.sqrt(np.mean(errors**2, axis=0)))
    seconds = np.median([row["seconds"] for row in rows])
    name = f"{rows[0]['problem']}, {rows[0]['sampler']}"
    return (
        f"{name}: errors at 0.95, 0.99, 0.999: {shown}; {seconds:.1f} s, compiled in {rows[0]['compile_seconds']:.0f} s"
    )
