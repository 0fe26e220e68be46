"""The ways to learn a distribution from rows and draw from it that ``mafla bench learned`` compares.

A method is a function of a case: rows to learn from, where chains start, and the settings. All methods of a case start
their chains at the same rows and, but for those of the default, propose with the same learned score.
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
from mafla.bench.learned_table import DEFAULT, LAST_STATES, PAPER, UNADJUSTED
from mafla.bench.learned_targets import Problem
from mafla.estimator import HeavyTailSampler
from mafla.kernels.base import Kernel
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.fractional_langevin import fula
from mafla.kernels.learned_fractional import mafla
from mafla.learn.acceptance import Form, fit_acceptance
from mafla.learn.energy import DEFAULT as ENERGY
from mafla.learn.score import DEFAULT as SCORE
from mafla.learn.score import Score, fit_score
from mafla.learn.training import Schedule
from mafla.run import sample

__all__ = ["METHODS", "Case", "Outcome", "Settings", "make_case", "run_chains"]

FIRST_KEY = 2  # 0 and 1 are those of the rows

Rows = Float[np.ndarray, "n dim"]


class Settings(NamedTuple):
    """The sizes of everything.

    Attributes:
        rows: to learn from.
        chains: and draws of the peers; at most as many as there are rows.
        steps: of each chain, of which the last state counts; the default knows for itself.
        step_size: τ of all chains but those of the default.
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
        sampler: returns the default sampler, fitted to the rows, and the seconds it took; the work is done once.
        seconds: that the default sampler took; peers may take as many. None before it is known.
    """

    problem: Problem
    seed: int
    settings: Settings
    rows: Rows
    start: Rows
    keys: dict[str, Key[Array, ""]]
    score: Callable[[], tuple[Score, float]]
    sampler: Callable[[], tuple[HeavyTailSampler, float]]
    seconds: float | None = None


class Outcome(NamedTuple):
    """What a method made of a case.

    Attributes:
        draws: in the units of the rows.
        start: rows at which chains start, as exactly as the chains have them; None for a method without chains.
        end: of the same chains, in the same order; None where that is not known.
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

    @cache
    def sampler() -> tuple[HeavyTailSampler, float]:
        began = time.perf_counter()
        random_state = int(jax.random.randint(keys["energy"], (), 0, 2**31 - 1))
        found = HeavyTailSampler(schedule=settings.energy, random_state=random_state).fit(rows)
        return found, time.perf_counter() - began

    return Case(problem, seed, settings, rows, rows[chosen], keys, score, sampler)


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
    """Let the estimator do what it does for everyone."""
    (sampler, seconds_fit), began = case.sampler(), time.perf_counter()
    draws = sampler.sample(len(case.start))
    facts = {"step_size": sampler.step_size_, "alpha": sampler.alpha_}
    start = sampler.scaling_.undo(sampler.start_.astype(np.float64))
    return Outcome(draws, start, None, seconds_fit, time.perf_counter() - began, sampler.score_samples, facts)


def _last_states(case: Case) -> Outcome:
    """Run the chains of the estimator, but for as many steps as all others, and take their last states as they are."""
    sampler, seconds_fit = case.sampler()
    scaling, kernel = sampler.scaling_, exact_mafla(sampler.energy_, sampler.alpha_, sampler.step_size_)
    found = run_chains(case._replace(start=scaling.apply(case.start)), kernel, seconds_fit)
    end = scaling.undo(found.draws.astype(np.float64))
    start = None if found.start is None else scaling.undo(found.start.astype(np.float64))
    return found._replace(draws=end, start=start, end=end)


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
    LAST_STATES: _last_states,
    UNADJUSTED: _unadjusted,
    "learned, structured": partial(_learned, "structured", "exact"),
    "learned, antisymmetric": partial(_learned, "antisymmetric", "exact"),
    "learned, sigmoid exact": partial(_learned, "sigmoid", "exact"),
    PAPER: partial(_learned, "sigmoid", "proxy"),
    **{name: partial(_peer, name) for name in peers.PEERS},
}
