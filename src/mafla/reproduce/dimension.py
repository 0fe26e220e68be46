"""Errors against the dimension, on the paper's two modes at opposite corners of the unit cube."""

from typing import Any

import numpy as np
from scipy import stats

from mafla.reproduce.chosen import STEP_SIZE
from mafla.reproduce.comparisons import by_seed, curves_against, lower_everywhere, whole_lineup
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, interval, several
from mafla.reproduce.lineup import ENERGY, EXACT, FULA, IDEAL, IID, MAFLA, ground

__all__ = ["EXPERIMENT"]

ALPHA, WEIGHTS = 1.9, (0.6, 0.4)
DIMENSIONS, QUICK_DIMENSIONS = (8, 12, 16, 20, 24, 28, 32), (8, 16)
PAPER_REDUCTION = 0.2  # of W1, at least


def _cells(quick: bool, seeds: int) -> list[Cell]:
    return [
        {"dim": dim, "seed": seed}
        for seed in range(1 if quick else seeds)
        for dim in (QUICK_DIMENSIONS if quick else DIMENSIONS)
    ]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    modes = ((1.0,) * cell["dim"], (-1.0,) * cell["dim"])
    return whole_lineup(ground(ALPHA, modes, WEIGHTS, cell["seed"], quick), ALPHA, STEP_SIZE)


def _medians(rows: list[Row], sampler: str) -> list[float]:
    return [float(np.median(by_seed(rows, "w1", sampler=sampler, dim=dim))) for dim in several(rows, "dim")]


def _judge(rows: list[Row]) -> Verdict:
    dims, medians = several(rows, "dim"), {name: _medians(rows, name) for name in several(rows, "sampler")}
    rises = {name: float(stats.spearmanr(dims, medians[name]).statistic) for name in (FULA, MAFLA)}
    saved = [1 - after / before for before, after in zip(medians[FULA], medians[MAFLA], strict=True)]
    claims = (
        Claim(
            "both degrade with the dimension",
            "–",
            f"rank correlation of d and W1: FULA {rises[FULA]:.2f}, MAFLA {rises[MAFLA]:.2f}",
            min(rises.values()) > 0.5,
        ),
        lower_everywhere(rows, "MAFLA is better in every dimension", "–", "dim"),
        Claim(
            "MAFLA reduces W1",
            "20 to 35 %",
            f"{interval([100 * each for each in saved])} %",
            min(saved) >= PAPER_REDUCTION,
        ),
    )
    listed = ", ".join(f"{name} {medians[name][-1]:.3g}" for name in (FULA, MAFLA, IDEAL, ENERGY, EXACT, IID))
    return Verdict(claims, f"W1 at d={dims[-1]}: {listed}.")


def _draw(rows: list[Row]) -> Any:
    return curves_against(rows, "dim", "dimension", log_x=False)


EXPERIMENT = Experiment(
    "dimension",
    "Figure: scaling with the dimension, modes ±1 with weights 0.6 and 0.4, α=1.9",
    f"Step size {STEP_SIZE:g}, chosen by `mafla reproduce settings`. W1 is the mean over coordinates.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
