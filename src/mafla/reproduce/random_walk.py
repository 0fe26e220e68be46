"""Symmetric proposals: an energy model against a score with an acceptance function, which the paper finds equal."""

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from mafla.bench.learned_methods import Case, Outcome, run_chains
from mafla.kernels.fractional_walk import frw
from mafla.kernels.learned_fractional import mafla
from mafla.learn.acceptance import fit_acceptance
from mafla.plots import COLOURS, INK
from mafla.reproduce import mixture, step_size
from mafla.reproduce.charts import MARKERS, legend_below, panels
from mafla.reproduce.chosen import STEP_SIZE
from mafla.reproduce.comparisons import by_seed
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, interval, several
from mafla.reproduce.lineup import IID, Sampler, chains, ground, measure_all

__all__ = ["EXPERIMENT"]

TARGETS: dict[str, tuple[float, Any, tuple[float, ...]]] = {
    "1-D, α=1.5": (1.5, ((0.0,),), (1.0,)),
    "2-D mixture, α=1.95": (mixture.ALPHA, mixture.LOCATIONS, mixture.WEIGHTS),
    "4-D mixture, α=1.5": (step_size.ALPHA, step_size.LOCATIONS, step_size.WEIGHTS),
}
WALK, BY_ENERGY, BY_FACTORS = "exact walk", "walk, learned energy", "walk, score and f·g·r acceptance"
MEASURES = {"asinh_w1": "W1 of asinh", "q95_error": "q0.95 error", "q99_error": "q0.99 error"}


def _cells(quick: bool, seeds: int) -> list[Cell]:
    names = list(TARGETS)[: 2 if quick else None]
    return [{"target": name, "seed": seed} for seed in range(1 if quick else seeds) for name in names]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    alpha, locations, weights = TARGETS[cell["target"]]
    on = ground(alpha, locations, weights, cell["seed"], quick)
    samplers: dict[str, Sampler] = {
        WALK: chains(frw(on.target.logdensity, alpha, STEP_SIZE)),
        BY_ENERGY: chains(frw(on.energy(), alpha, STEP_SIZE)),
        BY_FACTORS: partial(_by_factors, alpha),
    }
    return measure_all(on, samplers)


def _by_factors(alpha: float, case: Case) -> Outcome:
    """Learn f(x) g(x') r(x', x) from the score; the kernel of a walk is MAFLA's without a drift."""
    score, seconds = case.score()
    key, schedule = case.keys["acceptance"], case.settings.acceptance
    acceptance = fit_acceptance(
        key, score, case.rows, alpha, STEP_SIZE, form="factors", walk=True, schedule=schedule, progress=False
    )
    return run_chains(case, mafla(jnp.zeros_like, acceptance, alpha, STEP_SIZE), seconds)


def _draw(rows: list[Row]) -> Any:
    figure, axes = panels(1, len(MEASURES))
    names, samplers = several(rows, "target"), several(rows, "sampler")
    for axis, (measure, title) in zip(axes[0], MEASURES.items(), strict=True):
        for index, sampler in enumerate(samplers):
            found = [by_seed(rows, measure, target=name, sampler=sampler) for name in names]
            at = np.arange(len(names)) + 0.18 * (index - 1.5)
            style = {"color": COLOURS[index], "marker": MARKERS[index]}
            axis.plot(at, [np.median(values) for values in found], linestyle="", label=sampler, **style)
            for x, values in zip(at, found, strict=True):
                axis.plot([x] * len(values), values, "_", color=style["color"], markersize=10)
        axis.set_xticks(range(len(names)), [name.replace(", ", "\n") for name in names])
        axis.set_xlim(-0.5, len(names) - 0.5)
        axis.set_yscale("log")
        axis.set_title(f"{title}, median and seeds", color=INK, fontsize=11)
    legend_below(figure, axes, len(samplers))
    return figure


def _judge(rows: list[Row]) -> Verdict:
    claims = []
    for target in several(rows, "target"):
        for measure in ("asinh_w1", "q95_error"):
            found = {name: by_seed(rows, measure, target=target, sampler=name) for name in several(rows, "sampler")}
            apart = abs(float(np.median(found[BY_ENERGY]) - np.median(found[BY_FACTORS])))
            text = (
                f"energy {interval(found[BY_ENERGY])}, score and acceptance {interval(found[BY_FACTORS])},"
                f" independent draws {interval(found[IID])}"
            )
            # Two samplers of the same law differ by about as much as two sets of independent draws.
            claim = f"{target}, {MEASURES[measure]}: both perform alike, closer than the floor"
            claims.append(Claim(claim, "–", text, apart < float(np.median(found[IID]))))
    return Verdict(tuple(claims), _reason(rows))


def _reason(rows: list[Row]) -> str:
    rates = {
        name: interval([row["acceptance_rate"] for row in rows if row["sampler"] == name])
        for name in (WALK, BY_ENERGY, BY_FACTORS)
    }
    listed = ", ".join(f"{name} {rate}" for name, rate in rates.items())
    return (
        f"Acceptance: {listed}. Detailed balance leaves the symmetric factor r free, and so the rate of acceptance:"
        " equal laws in the limit, not equal speed."
    )


EXPERIMENT = Experiment(
    "random-walk",
    "Appendix: symmetric proposals, energy model against score and acceptance",
    f"Step size {STEP_SIZE:g}, chosen by `mafla reproduce settings`; the targets are ours, since the paper shows none.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
