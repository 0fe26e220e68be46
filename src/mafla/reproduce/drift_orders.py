"""What the two experiments on the order of the Riesz drift share: targets, references, and nine heat maps."""

from functools import partial
from typing import Any

import numpy as np

from mafla.drift import riesz_drift
from mafla.reproduce.charts import heat_maps
from mafla.reproduce.chosen import STEP_SIZE
from mafla.reproduce.experiment import Row, pick, several
from mafla.reproduce.lineup import FULA, MAFLA, ground, learned_fula, learned_mafla, measure_all, measured, ours

__all__ = ["ALPHAS", "LOCATION", "mafla_with_order", "map_of", "nine_maps", "references"]

ALPHAS, LOCATION = (1.2, 1.5, 1.8), ((5.0,),)
TITLES = {"w1": "W1", "q95_error": "q0.95 error", "q99_error": "q0.99 error"}


def mafla_with_order(
    alpha: float, order: int, spacing: float, seed: int, quick: bool, lambda_alpha: float = 0.1
) -> Row:
    """Measure MAFLA whose drift is the Riesz sum of this order and spacing, of the learned score."""
    on = ground(alpha, LOCATION, (1.0,), seed, quick)
    drift = partial(riesz_drift, alpha=alpha, order=order, spacing=spacing)
    sampler = partial(learned_mafla, alpha, STEP_SIZE, drift=drift, lambda_alpha=lambda_alpha)
    return measured(on, MAFLA, sampler)


def references(alpha: float, seed: int, quick: bool) -> list[Row]:
    """Measure what does not depend on the order: FULA with the local drift, ours, and the floor."""
    on = ground(alpha, LOCATION, (1.0,), seed, quick)
    return measure_all(on, {FULA: partial(learned_fula, alpha, STEP_SIZE)} | ours(on, alpha, STEP_SIZE))


def map_of(rows: list[Row], measure: str, alpha: float, x: str, y: str) -> np.ndarray:
    """Return the median of MAFLA's measure over the seeds, by the values of y, down, and of x, across."""
    own = pick(rows, sampler=MAFLA)
    found = [
        [_median(pick(own, alpha=alpha, **{x: across, y: down}), measure) for across in several(own, x)]
        for down in several(own, y)
    ]
    return np.asarray(found)


def nine_maps(rows: list[Row], x: str, y: str, labels: tuple[str, str]) -> Any:
    """Draw the three errors, across, for each α, down."""
    own = pick(rows, sampler=MAFLA)
    maps = [
        [(f"{title}, α = {alpha:g}", map_of(rows, measure, alpha, x, y)) for measure, title in TITLES.items()]
        for alpha in several(own, "alpha")
    ]
    x_names, y_names = ([f"{value:g}" for value in several(own, each)] for each in (x, y))
    return heat_maps(maps, x_names, y_names, labels)


def _median(rows: list[Row], measure: str) -> float:
    return float(np.median([row[measure] for row in rows])) if rows else np.nan
