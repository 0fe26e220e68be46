"""Verdicts on made-up rows: they follow the rows, whichever way those point, and figures can be drawn of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mafla.plots import to_bytes
from mafla.reproduce.catalogue import EXPERIMENTS
from mafla.reproduce.experiment import Row
from mafla.reproduce.graph_tables import CUTS, EXACT, LEARNED, PAPERS, REFERENCES
from mafla.reproduce.lineup import CLOSED, ENERGY, FULA, IDEAL, IID, MAFLA, MEASURES
from mafla.reproduce.lineup import EXACT as EXACT_CHAIN
from mafla.reproduce.mixture import LEVELS
from mafla.reproduce.random_walk import BY_ENERGY, BY_FACTORS, WALK
from mafla.reproduce.settings import FORGOTTEN

SAMPLERS = (FULA, MAFLA, IDEAL, EXACT_CHAIN, ENERGY, CLOSED, IID)
Factor = Callable[[dict[str, Any]], float]


def chain_rows(name: str, factor: Factor, seeds: int = 2, base: Factor = lambda _cell: 8.0) -> list[Row]:
    """Return rows in which MAFLA's errors are so many times FULA's, which are the base's; all others have 1."""
    rows = []
    for cell in EXPERIMENTS[name].cells(False, seeds):
        for sampler in SAMPLERS:
            value = {FULA: base(cell), MAFLA: base(cell) * factor(cell)}.get(sampler, 1.0)
            errors = dict.fromkeys(MEASURES, value) | {f"{measure}_floor": 1.0 for measure in MEASURES}
            rows.append({**cell, "sampler": sampler, **errors, "acceptance_rate": 0.5, "remembered": 0.1})
    return rows


def map_rows(name: str, factor: Factor) -> list[Row]:
    """The same for the maps, in which MAFLA has cells of its own."""
    rows = chain_rows(name, factor)
    return [row for row in rows if (row["order"] is None) == (row["sampler"] != MAFLA)]


def held(name: str, rows: list[Row]) -> list[bool]:
    return [claim.holds for claim in EXPERIMENTS[name].judge(rows).claims]


@pytest.mark.parametrize(("ratio", "expected"), [(0.1, [True, True]), (2.0, [False, False]), (0.5, [True, False])])
def test_the_grid_needs_smaller_errors_everywhere_and_a_third_in_the_tail(ratio: float, expected: list[bool]) -> None:
    assert held("alpha-grid", chain_rows("alpha-grid", lambda _cell: ratio))[:2] == expected


def test_the_grid_tells_which_sampler_is_more_sensitive() -> None:
    def steep(cell: dict[str, Any]) -> float:
        return float(cell["alpha_proposal"] ** 4)

    assert held("alpha-grid", chain_rows("alpha-grid", lambda cell: 1 / steep(cell), base=steep))[2]
    assert not held("alpha-grid", chain_rows("alpha-grid", steep))[2]


def test_errors_must_rise_with_the_step_size() -> None:
    rising = chain_rows("step-size", lambda _cell: 0.5, base=lambda cell: float(cell["tau"]))
    assert held("step-size", rising) == [True, True]
    falling = chain_rows("step-size", lambda _cell: 2.0, base=lambda cell: float(1 / cell["tau"]))
    assert held("step-size", falling) == [False, False]


def test_one_step_size_at_which_mafla_is_worse_is_enough() -> None:
    rows = chain_rows(
        "step-size", lambda cell: 1.1 if cell["tau"] == 0.01 else 0.5, base=lambda cell: float(cell["tau"])
    )
    assert held("step-size", rows) == [True, False]


@pytest.mark.parametrize(("ratio", "expected"), [(0.7, [True, True, True]), (0.9, [True, True, False])])
def test_dimensions_need_a_fifth_less(ratio: float, expected: list[bool]) -> None:
    rows = chain_rows("dimension", lambda _cell: ratio, base=lambda cell: float(cell["dim"]))
    assert held("dimension", rows) == expected


def test_orders_are_compared_at_their_best_spacing() -> None:
    def factor(cell: dict[str, Any]) -> float:
        return 0.5 if cell["order"] == 0 else 0.3 if cell["spacing"] == 0.01 else 0.9

    assert held("riesz-order", map_rows("riesz-order", factor)) == [True, True, True]
    assert held("riesz-order", map_rows("riesz-order", lambda cell: 2.0 if cell["order"] else 1.5)) == [False] * 3


def test_a_weight_must_help_by_more_than_noise() -> None:
    assert held("alpha-loss", map_rows("alpha-loss", lambda cell: 0.5 if cell["lambda"] else 1.0)) == [True] * 3
    assert held("alpha-loss", map_rows("alpha-loss", lambda cell: 0.95 if cell["lambda"] else 1.0)) == [
        False,
        True,
        True,
    ]
    assert held("alpha-loss", map_rows("alpha-loss", lambda cell: 1.5 if cell["lambda"] else 1.0)) == [False] * 3
    worse_at_one = map_rows(
        "alpha-loss", lambda cell: {0: 1.0, 2: 1.1 if cell["order"] == 0 else 0.5}.get(cell["lambda"], 0.5)
    )
    assert held("alpha-loss", worse_at_one) == [True, False, True]


def walk_rows(energy: float, factors: float) -> list[Row]:
    values = {WALK: 1.0, BY_ENERGY: energy, BY_FACTORS: factors, IID: 1.0}
    return [
        {
            **cell,
            "sampler": name,
            "acceptance_rate": 0.5,
            **dict.fromkeys(("asinh_w1", "q95_error", "q99_error"), value),
        }
        for cell in EXPERIMENTS["random-walk"].cells(False, 2)
        for name, value in values.items()
    ]


def test_walks_are_alike_if_they_differ_by_less_than_the_floor() -> None:
    assert all(held("random-walk", walk_rows(1.0, 1.9)))
    assert not any(held("random-walk", walk_rows(1.0, 2.1)))


def graph_rows(name: str, learned: float, exact: float) -> list[Row]:
    problem = "maxcut" if name == "maxcut" else "vertex cover"
    values = dict.fromkeys((*PAPERS, "FLD"), 100.0) | {LEARNED: learned, EXACT: exact, REFERENCES[problem]: 120.0}
    common = {"value_std": 5.0, "energy_mean": 1.0, "energy_std": 1.0, "acceptance": 0.5}
    return [
        {**cell, **common, "sampler": sampler, "value_mean": value, "best": value, "uncovered_mean": value}
        for cell in EXPERIMENTS[name].cells(False, 2)
        for sampler, value in values.items()
    ]


def test_larger_cuts_and_smaller_covers_are_better() -> None:
    assert held("maxcut", graph_rows("maxcut", 110.0, 90.0)) == [True, True, False, False]
    assert held("vertex-cover", graph_rows("vertex-cover", 110.0, 90.0)) == [False, False, True, True, False]
    assert all(len(means) == 4 for means in CUTS.paper.values())


def mixture_rows(w1: float, q99: float, weight: float) -> list[Row]:
    rows = []
    for seed in range(2):
        for sampler in SAMPLERS:
            paper = sampler == MAFLA
            row: Row = {"seed": seed, "sampler": sampler, "w1": w1 if paper else 4.87, "step_size": 2.0}
            row |= {"q99_error": q99 if paper else 80.0, "weights": [weight if paper else 0.3, 0.7]}
            if sampler == IID:
                row["weights"] = [0.2, 0.8]
            row |= {"quantile_errors": [q99 if paper else 80.0] * len(LEVELS)}
            row["points"] = np.random.default_rng(0).normal(size=(50, 2)).tolist()
            rows.append(row)
    return rows


def test_the_mixture_needs_the_papers_gains() -> None:
    assert held("mixture", mixture_rows(0.5, 0.7, 0.21)) == [True] * 4
    assert held("mixture", mixture_rows(0.6, 1.0, 0.05)) == [False, False, False, True]
    assert held("mixture", mixture_rows(5.0, 90.0, 0.5)) == [False] * 4


def settings_rows(forgotten_at: float, best_steps: int) -> list[Row]:
    cells = EXPERIMENTS["settings"].cells(False, 1)
    return [{**cell, "misfit": _misfit(cell, forgotten_at, best_steps), "acceptance_rate": 0.5} for cell in cells]


def _misfit(cell: dict[str, Any], forgotten_at: float, best_steps: int) -> float:
    if cell["kind"] == "graphs":
        return float(abs(cell["tried"] - best_steps))
    return 2 * FORGOTTEN if cell["tried"] < forgotten_at else 0.5 * FORGOTTEN


def test_settings_in_use_are_those_that_the_sweep_chooses() -> None:
    assert held("settings", settings_rows(0.03, 100)) == [True, True]
    assert held("settings", settings_rows(0.3, 30)) == [False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("alpha-grid", chain_rows("alpha-grid", lambda _cell: 0.5)),
        ("step-size", chain_rows("step-size", lambda _cell: 0.5)),
        ("dimension", chain_rows("dimension", lambda _cell: 0.5)),
        ("riesz-order", map_rows("riesz-order", lambda _cell: 0.5)),
        ("alpha-loss", map_rows("alpha-loss", lambda _cell: 0.5)),
        ("random-walk", walk_rows(1.0, 1.5)),
        ("maxcut", graph_rows("maxcut", 110.0, 90.0)),
        ("vertex-cover", graph_rows("vertex-cover", 110.0, 90.0)),
        ("mixture", mixture_rows(0.5, 0.7, 0.21)),
        ("settings", settings_rows(0.03, 100)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_figures_are_drawn_of_rows_alone(name: str, rows: list[Row]) -> None:
    for draw in EXPERIMENTS[name].figures.values():
        assert to_bytes(draw(rows), "png")[1:4] == b"PNG"
