"""The samplers of every experiment on distributions: the paper's, and ours beside them.

All start at the same rows of the data, make the same number of steps of the same size, and are judged by their last
states against the same independent draws.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mafla import targets
from mafla.bench.learned import Yardstick, cell, make_yardstick
from mafla.bench.learned_methods import Case, Outcome, Settings, make_case, run_chains
from mafla.bench.learned_targets import Problem, train_and_held_out
from mafla.drift import local_drift
from mafla.kernels.base import Kernel
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.fractional_langevin import fula
from mafla.kernels.learned_fractional import mafla
from mafla.learn.acceptance import fit_acceptance
from mafla.learn.balance import Proposal, oracle_log_ratio
from mafla.learn.energy import DEFAULT as ENERGY_SCHEDULE
from mafla.learn.energy import Energy, fit_energy
from mafla.learn.score import DEFAULT as SCORE_SCHEDULE
from mafla.learn.training import Schedule
from mafla.reproduce.experiment import Row
from mafla.targets.base import Target

__all__ = [
    "CLOSED",
    "ENERGY",
    "EXACT",
    "FULA",
    "FULL",
    "IDEAL",
    "IID",
    "MAFLA",
    "MEASURES",
    "QUICK",
    "Ground",
    "Sampler",
    "chains",
    "ground",
    "independent",
    "learned_fula",
    "learned_mafla",
    "measure_all",
    "measured",
    "ours",
]

FULA, MAFLA, IDEAL = "FULA", "MAFLA", "MAFLA, ideal acceptance"
EXACT, ENERGY, CLOSED, IID = "exact MAFLA", "learned energy", "FULA, closed-form drift", "independent draws"
MEASURES = ("w1", "asinh_w1", "q95_error", "q99_error")
KEPT = ("weights_error", "acceptance_rate", "remembered", "step_size", "seconds")

FULL = Settings(floors=9, energy=ENERGY_SCHEDULE._replace(steps=1500))
QUICK = Settings(
    rows=4000,
    chains=2000,
    steps=300,
    reference_draws=10_000,
    floors=5,
    density_draws=100,
    bisections=3,
    energy=ENERGY_SCHEDULE._replace(steps=100),
    score=SCORE_SCHEDULE._replace(steps=300),
    acceptance=Schedule(steps=300, check_every=100, patience=None),
)

Sampler = Callable[[Case], Outcome]


class Ground(NamedTuple):
    """A target with the rows of a seed, what is learned from them, and what draws are judged by.

    Attributes:
        target: the truth.
        case: rows, starts, keys, and the score that is learned once.
        judge: independent draws and what as many others reach.
        energy: returns the log density that is learned from the rows; the work is done once.
    """

    target: Target
    case: Case
    judge: Yardstick
    energy: Callable[[], Energy]


@lru_cache(maxsize=8)  # cells of a process share what is learned
def ground(
    alpha: float, locations: tuple[tuple[float, ...], ...], weights: tuple[float, ...], seed: int, quick: bool
) -> Ground:
    """Return a mixture of stable laws with rows to learn from.

    Example:
        >>> ground(1.5, ((0.0,),), (1.0,), seed=0, quick=True).case.rows.shape
        (4000, 1)
    """
    target, sizes = targets.stable_mixture(alpha, locations, weights), QUICK if quick else FULL
    problem = Problem("", target.dim, alpha, target.sample, target.logdensity, np.array(locations), np.array(weights))
    case = make_case(problem, seed, train_and_held_out(problem, seed, sizes.rows)[0], sizes)

    @cache
    def energy() -> Energy:
        return fit_energy(case.keys["energy"], case.rows, alpha=alpha, schedule=sizes.energy, progress=False)

    return Ground(target, case, make_yardstick(case), energy)


def learned_fula(alpha: float, step_size: float, case: Case) -> Outcome:
    """Run FULA with the learned score and the local drift, as the paper does."""
    score, seconds = case.score()
    return run_chains(case, fula(score, alpha, step_size), seconds)


def learned_mafla(
    alpha: float, step_size: float, case: Case, *, drift: Any = None, lambda_alpha: float = 0.1
) -> Outcome:
    """Run MAFLA as the paper has it: learned score, the proxy of the proposal score, a sigmoid for the acceptance.

    Args:
        alpha: of the proposal.
        step_size: τ.
        case: rows and starts.
        drift: a function of the learned score that returns another drift than the local one.
        lambda_alpha: weight of the loss in the α-norm.
    """
    score, seconds = case.score()
    pull = drift and drift(score)
    acceptance = fit_acceptance(
        case.keys["acceptance"],
        score,
        case.rows,
        alpha,
        step_size,
        "proxy",
        form="sigmoid",
        drift=pull,
        lambda_alpha=lambda_alpha,
        schedule=case.settings.acceptance,
        progress=False,
    )
    return run_chains(case, mafla(score, acceptance, alpha, step_size, pull), seconds)


def ours(on: Ground, alpha: float, step_size: float) -> dict[str, Sampler]:
    """Return what stands beside the paper's samplers.

    The ideal acceptance is the one that Score Balance Matching with the paper's proxy would learn from endless data
    with endless capacity: what it leaves of the error is the proxy's. The closed-form drift is known where the
    proposal has the target's α.
    """
    target = on.target
    proposal = Proposal(local_drift(target.score, alpha), alpha, step_size, "proxy")
    ideal = oracle_log_ratio(target.logdensity, proposal)
    samplers: dict[str, Sampler] = {
        IDEAL: chains(mafla(target.score, lambda new, old: jnp.minimum(ideal(new, old), 0), alpha, step_size)),
        EXACT: chains(exact_mafla(target.logdensity, alpha, step_size)),
        ENERGY: lambda case: run_chains(case, exact_mafla(on.energy(), alpha, step_size), 0.0),  # learned at its turn
    }
    if alpha == on.case.problem.alpha:
        samplers[CLOSED] = chains(fula(target.score, alpha, step_size, target.fractional_drift))
    return samplers


def chains(kernel: Kernel) -> Sampler:
    """Return the sampler that runs a kernel for which nothing has to be learned first."""
    return lambda case: run_chains(case, kernel, 0.0)


def measure_all(on: Ground, samplers: Mapping[str, Sampler]) -> list[Row]:
    """Return a row for each sampler, and that of independent draws."""
    return [*(measured(on, name, sampler) for name, sampler in samplers.items()), independent(on)]


def measured(on: Ground, name: str, sampler: Sampler) -> Row:
    """Return what is measured of a sampler; what goes wrong is raised."""
    row = cell(on.case, on.judge, name, sampler)
    if row["error"]:
        raise RuntimeError(f"{name}: {row['error']}")
    floors = {f"{each}_floor": row[f"{each}_floor"] for each in MEASURES}
    return {"sampler": name} | {each: row[each] for each in (*MEASURES, *KEPT)} | floors


def independent(on: Ground) -> Row:
    """Return the row of independent draws: the floor.

    Example:
        >>> on = ground(1.5, ((0.0,),), (1.0,), seed=0, quick=True)
        >>> independent(on)["w1"] == independent(on)["w1_floor"]
        True
    """
    values = {each: on.judge.floor[each] for each in MEASURES}
    return {"sampler": IID} | values | dict.fromkeys(KEPT) | {f"{each}_floor": values[each] for each in MEASURES}
