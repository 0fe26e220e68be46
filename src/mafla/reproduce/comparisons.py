"""What experiments on distributions have in common: the whole line-up in a cell, curves and claims over the seeds."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mafla.reproduce.charts import Curve, curves
from mafla.reproduce.experiment import Claim, Row, interval, pick, several
from mafla.reproduce.lineup import FULA, MAFLA, Ground, learned_fula, learned_mafla, measure_all, ours

__all__ = ["by_seed", "curves_against", "deviation", "is_lower", "lower_everywhere", "whole_lineup"]

TITLES = {"w1": "W1", "q95_error": "error of the 0.95-quantile", "q99_error": "error of the 0.99-quantile"}


def whole_lineup(on: Ground, alpha: float, step_size: float) -> list[Row]:
    """Measure the paper's samplers and ours, and the floor."""
    samplers = {FULA: partial(learned_fula, alpha, step_size), MAFLA: partial(learned_mafla, alpha, step_size)}
    return measure_all(on, samplers | ours(on, alpha, step_size))


def by_seed(rows: list[Row], measure: str, **settings: Any) -> list[float]:
    """Return a measure of the rows with these settings, one value for each seed.

    Example:
        >>> by_seed([{"seed": 0, "sampler": "FULA", "w1": 2.0}], "w1", sampler="FULA")
        [2.0]
    """
    return [row[measure] for row in pick(rows, **settings)]


def curves_against(rows: list[Row], setting: str, x_label: str, *, log_x: bool) -> Any:
    """Draw the three errors of all samplers against a setting: means over the seeds and their standard errors."""
    panels: dict[str, dict[str, Curve]] = {}
    for measure, title in TITLES.items():
        panels[title] = {}
        for sampler in several(rows, "sampler"):
            x = several(pick(rows, sampler=sampler), setting)
            found = [by_seed(rows, measure, sampler=sampler, **{setting: value}) for value in x]
            spread = [deviation(values) / len(values) ** 0.5 for values in found]
            panels[title][sampler] = (x, [float(np.mean(values)) for values in found], spread)
    return curves(panels, x_label, log_x=log_x)


def deviation(values: list[float]) -> float:
    """Return the standard deviation over the seeds; zero of a single one.

    Example:
        >>> deviation([1.0, 3.0]) == 2**0.5
        True
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def is_lower(rows: list[Row], measure: str, settings: Sequence[dict[str, Any]]) -> list[bool]:
    """Return for each setting whether MAFLA's median over the seeds is below FULA's."""
    medians = [[np.median(by_seed(rows, measure, sampler=name, **each)) for name in (FULA, MAFLA)] for each in settings]
    return [bool(after < before) for before, after in medians]


def lower_everywhere(rows: list[Row], text: str, paper: str, setting: str) -> Claim:
    """Return the claim that MAFLA has the smaller error at every value of a setting, in all three measures."""
    values = [{setting: value} for value in several(rows, setting)]
    held = {measure: is_lower(rows, measure, values) for measure in TITLES}
    parts = [f"{TITLES[measure]} at {sum(each)} of {len(each)}" for measure, each in held.items()]
    gains = [
        np.median(by_seed(rows, "w1", sampler=FULA, **each)) / np.median(by_seed(rows, "w1", sampler=MAFLA, **each))
        for each in values
    ]
    ours_text = f"lower {', '.join(parts)}; W1 lower by a factor of {interval([float(gain) for gain in gains])}"
    return Claim(text, paper, ours_text, all(all(each) for each in held.values()))
