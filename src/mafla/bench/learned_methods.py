"""The ways to learn a distribution from rows and draw from it that ``mafla bench learned`` compares.

A method is a function of a case: rows to learn from, where chains start, and the settings. All methods of a case start
their chains at the same rows and, but for the default, propose with the same learned score.
"""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from xarray import DataTree

from mafla.bench import peers
from mafla.bench.learned_table import DEFAULT, PAPER, UNADJUSTED
from mafla.bench.learned_targets import Problem
from mafla.kernels.base import Kernel
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.fractional_langevin import fula
from mafla.kernels.learned_fractional import mafla
from mafla.learn.acceptance import Form, fit_acceptance
from mafla.learn.energy import DEFAULT as ENERGY
from mafla.learn.energy import fit_energy
from mafla.learn.score import DEFAULT as SCORE
from mafla.learn.score import Score, fit_score
from mafla.learn.table import robust_scaling
from mafla.learn.training import Schedule
from mafla.run import sample
from mafla.thinning import thin_evenly

__all__ = ["METHODS", "Case", "Outcome", "Settings", "make_case", "run_chains"]

STATES = 10  # that a chain of the default offers; draws are chosen from the later half of them
FIRST_KEY = 2  # 0 and 1 are those of the rows

Rows = Float[np.ndarray, "n dim"]


class Settings(NamedTuple):
    """The sizes of everything.

    Attributes:
        rows: to learn from.
        chains: and draws of the peers; at most as many as there are rows.
        steps: of each chain, of which the last state counts; the default chooses from several.
        warmup: steps in which the default sampler tunes its step size.
        step_size: τ of all other chains, and where the tuning starts.
        reference_draws: independent draws to judge by.
        floors: independent samples whose median measure is the floor.
        density_draws: at which log densities are judged.
        bisections: of the search for the paper's step size.
        flow_share: time to train each of the flow's two bases, over that of the default sampler in all.
        energy: training of the default sampler's energy.
        score: training of the score.
        acceptance: training of acceptance functions; None for the default of each form.
        methods: the names of those to compare; all where it is empty.
    """

    rows: int = 20_000
    chains: int = 5000
    steps: int = 1000
    warmup: int = 100
    step_size: float = 0.1
    reference_draws: int = 50_000
    floors: int = 19
    density_draws: int = 5000
    bisections: int = 5
    flow_share: float = 1.0
    energy: Schedule = ENERGY
    score: Schedule = SCORE
    acceptance: Schedule | None = None
    methods: tuple[str, ...] = ()


class Case(NamedTuple):
    """A problem with the rows of a seed.

    Attributes:
        problem: where the rows come from.
        seed: what they depend on, and all else that is random.
        settings: the sizes.
        rows: to learn from.
        start: those at which chains start, as many as there will be draws.
        keys: random keys by what they are for.
        score: returns the score that is learned from the rows, and the seconds it took; the work is done once.
        seconds: that the default sampler took; peers may take as many. None before it is known.
    """

    problem: Problem
    seed: int
    settings: Settings
    rows: Rows
    start: Rows
    keys: dict[str, Key[Array, ""]]
    score: Callable[[], tuple[Score, float]]
    seconds: float | None = None


class Outcome(NamedTuple):
    """What a method made of a case.

    Attributes:
        draws: in the units of the rows.
        start: of the chains that made the draws; None for a method without chains.
        end: of the same chains, in the same order.
        seconds_fit: to learn, with compilation.
        seconds_sample: to draw, with compilation; None where it is part of `seconds_fit`.
        logdensity: of points (n, dim), normalised; None where the method has none.
        facts: what else there is to know, such as the acceptance rate.
    """

    draws: Rows
    start: Rows | None
    end: Rows | None
    seconds_fit: float
    seconds_sample: float | None
    logdensity: peers.LogDensity | None
    facts: dict[str, float]


def make_case(problem: Problem, seed: int, rows: Rows, settings: Settings) -> Case:
    """Return a case, its chains to start at rows drawn without replacement.

    Example:
        >>> from mafla.bench.learned_targets import synthetic
        >>> case = make_case(synthetic()[2], 0, np.arange(10.0)[:, None], Settings(chains=3))
        >>> case.start.shape
        (3, 1)
    """
    names = ("start", "score", "energy", "acceptance", "chains")
    root = jax.random.fold_in(jax.random.key(seed), FIRST_KEY)
    keys = dict(zip(names, jax.random.split(root, len(names)), strict=True))
    chosen = np.asarray(jax.random.permutation(keys["start"], len(rows)))[: settings.chains]

    @cache
    def score() -> tuple[Score, float]:
        began = time.perf_counter()
        alpha: float | Literal["auto"] = problem.alpha or "auto"
        found = fit_score(keys["score"], rows, alpha=alpha, schedule=settings.score, progress=False)
        return found, time.perf_counter() - began

    return Case(problem, seed, settings, rows, rows[chosen], keys, score)


def run_chains(case: Case, kernel: Kernel, seconds_fit: float) -> Outcome:
    """Return the last states of chains that start at rows."""
    began, steps = time.perf_counter(), case.settings.steps
    start = case.start.astype(jnp.result_type(float))  # as the chains will have it
    tree = sample(kernel, case.keys["chains"], start, steps, thin=steps, progress=False)
    last, seconds = tree["posterior"]["x"].to_numpy()[:, -1], time.perf_counter() - began
    return Outcome(last, start, last, seconds_fit, seconds, None, _facts(tree))


def _facts(tree: DataTree) -> dict[str, float]:
    rate = float(tree["sample_stats"]["acceptance_rate"].mean())
    return {"acceptance_rate": rate, "step_size": float(tree.attrs["step_size"])}


def _default(case: Case) -> Outcome:
    """Learn an energy and sample it exactly, both in robust units; draws are chosen from the later states of chains."""
    at, (began, scaling) = case.settings, (time.perf_counter(), robust_scaling(case.rows))
    energy = fit_energy(case.keys["energy"], scaling.apply(case.rows), schedule=at.energy, progress=False)
    fitted, start = time.perf_counter(), scaling.apply(case.start).astype(jnp.result_type(float))
    kernel, thin = exact_mafla(energy, energy.alpha, at.step_size), max(1, at.steps // STATES)
    tree = sample(kernel, case.keys["chains"], start, at.steps, warmup=at.warmup, thin=thin, progress=False)
    states = scaling.undo(tree["posterior"]["x"].to_numpy().astype(np.float64))
    later = states[:, states.shape[1] // 2 :].reshape(-1, start.shape[1])
    draws, ended = thin_evenly(later, len(start), case.seed), time.perf_counter()
    volume, evaluate = float(np.log(scaling.scale).sum()), jax.jit(jax.vmap(energy))

    def logdensity(points: Rows) -> Float[np.ndarray, " n"]:
        unit_points = scaling.apply(points).astype(jnp.result_type(float))
        return np.asarray(evaluate(unit_points), np.float64) - volume

    first, facts = scaling.undo(start.astype(np.float64)), _facts(tree) | {"alpha": energy.alpha}
    return Outcome(draws, first, states[:, -1], fitted - began, ended - fitted, logdensity, facts)


def _unadjusted(case: Case) -> Outcome:
    score, seconds_fit = case.score()
    return run_chains(case, fula(score, score.alpha, case.settings.step_size), seconds_fit)


def _learned(form: Form, proposal_score: Literal["exact", "proxy"], case: Case) -> Outcome:
    """Learn an acceptance function for the proposals of FULA."""
    (score, seconds_fit), began = case.score(), time.perf_counter()
    step_size, schedule = case.settings.step_size, case.settings.acceptance
    acceptance = fit_acceptance(
        case.keys["acceptance"],
        score,
        case.rows,
        score.alpha,
        step_size,
        proposal_score,
        form=form,
        schedule=schedule,
        progress=False,
    )
    seconds_fit += time.perf_counter() - began
    return run_chains(case, mafla(score, acceptance, score.alpha, step_size), seconds_fit)


def _peer(name: str, case: Case) -> Outcome:
    """Let a peer have as many draws, and its time."""
    seconds = None if case.seconds is None else case.settings.flow_share * case.seconds
    found = peers.PEERS[name](case.rows, len(case.start), case.seed, seconds)
    return Outcome(found.draws, None, None, found.seconds, None, found.logdensity, {})


METHODS: dict[str, Callable[[Case], Outcome]] = {
    DEFAULT: _default,  # first: the peers get its time
    UNADJUSTED: _unadjusted,
    "learned, structured": partial(_learned, "structured", "exact"),
    "learned, antisymmetric": partial(_learned, "antisymmetric", "exact"),
    "learned, sigmoid exact": partial(_learned, "sigmoid", "exact"),
    PAPER: partial(_learned, "sigmoid", "proxy"),
    **{name: partial(_peer, name) for name in peers.PEERS},
}
