"""Errors against the step size over three decades, on the paper's mixture in four dimensions."""

from typing import Any

import numpy as np
from scipy import stats

from mafla.reproduce.comparisons import by_seed, curves_against, lower_everywhere, whole_lineup
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, several
from mafla.reproduce.lineup import CLOSED, EXACT, FULA, IDEAL, IID, MAFLA, ground

__all__ = ["EXPERIMENT"]

ALPHA, LOCATIONS, WEIGHTS = 1.5, ((-2.5,) * 4, (2.5,) * 4), (0.3, 0.7)
STEP_SIZES, QUICK_STEP_SIZES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), (0.001, 0.1, 1.0)
RISES = 0.8  # rank correlation above which errors count as increasing


def _cells(quick: bool, seeds: int) -> list[Cell]:
    sizes = QUICK_STEP_SIZES if quick else STEP_SIZES
    return [{"tau": tau, "seed": seed} for seed in range(1 if quick else seeds) for tau in sizes]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    return whole_lineup(ground(ALPHA, LOCATIONS, WEIGHTS, cell["seed"], quick), ALPHA, cell["tau"])


def _rise(rows: list[Row], sampler: str) -> float:
    """Return the rank correlation of the step size and the median W1."""
    sizes = several(rows, "tau")
    medians = [np.median(by_seed(rows, "w1", sampler=sampler, tau=tau)) for tau in sizes]
    return float(stats.spearmanr(sizes, medians).statistic)


def _judge(rows: list[Row]) -> Verdict:
    rises = {name: _rise(rows, name) for name in (FULA, MAFLA)}
    claims = (
        Claim(
            "errors increase with the step size for both",
            "–",
            f"rank correlation with W1: FULA {rises[FULA]:.2f}, MAFLA {rises[MAFLA]:.2f}",
            min(rises.values()) >= RISES,
        ),
        lower_everywhere(rows, "MAFLA has lower W1 and tail errors at every step size", "–", "tau"),
    )
    middle = 0.1
    medians = {
        name: np.median(by_seed(rows, "w1", sampler=name, tau=middle))
        for name in (FULA, MAFLA, IDEAL, CLOSED, EXACT, IID)
    }
    listed = ", ".join(f"{name} {value:.3g}" for name, value in medians.items())
    small = min(several(rows, "tau"))
    kept = np.median(by_seed(rows, "remembered", sampler=EXACT, tau=small))
    reason = (
        f"W1 at τ={middle:g}: {listed}. At small steps chains stay near the rows at which they start (rank correlation"
        f" of start and end at τ={small:g}: {kept:.2f}), so small errors there are the start's."
    )
    return Verdict(claims, reason)


def _draw(rows: list[Row]) -> Any:
    return curves_against(rows, "tau", "step size τ", log_x=True)


EXPERIMENT = Experiment(
    "step-size",
    "Figure: sensitivity to the step size, 4-D mixture of α=1.5",
    "Modes at ±2.5 in each coordinate with weights 0.3 and 0.7: the paper states neither.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
