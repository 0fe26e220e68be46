"""The table of learned samplers shows medians, goals that can be missed, and what failed."""

import io
from typing import Any

from rich.console import Console

from mafla.bench import learned_table
from mafla.bench.learned import NUMBERS
from mafla.bench.learned_table import describe, summary
from mafla.bench.learned_targets import synthetic


def text_of(rows: list[dict[str, Any]], width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(describe(rows))
    return console.file.getvalue()  # type: ignore[attr-defined]


def measured(problem: str, method: str, seed: int = 0, **numbers: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"problem": problem, "seed": seed, "method": method, "error": None, "warnings": []}
    return row | dict.fromkeys(NUMBERS) | numbers


def line_of(rows: list[dict[str, Any]], method: str) -> str:
    return next(line for line in text_of(rows).splitlines() if line.strip().startswith(method))


def test_the_table_shows_medians_and_marks_the_goals_of_the_default() -> None:
    goals = {"q99_error_ratio": 2.5, "weights_error": 0.01, "logdensity_mean": -0.06, "logdensity_sd": 0.1}
    rows = [
        measured("P", "default", seed, asinh_w1_ratio=ratio, **goals) for seed, ratio in enumerate([9.0, 1.25, 1.0])
    ]
    rows += [measured("P", "FULA", asinh_w1_ratio=50.0)]
    line = line_of(rows, "default")
    assert all(shown in line for shown in ("1.25✓", "2.50✗", "0.010✓", "-0.060✗", "0.100✓"))
    assert "50.0" in line_of(rows, "FULA")
    assert not {"✓", "✗"} & set(line_of(rows, "FULA"))
    assert describe(rows).row_count == 3  # with the name of the problem
    text = text_of(rows)
    assert "medians over the seeds 0 to 2" in text
    assert "…" not in text


def test_times_have_goals_on_the_mixture_in_the_plane_only() -> None:
    times: dict[str, Any] = {"seconds_fit": 61.0, "seconds_sample": 12.0}
    assert "61.0✗" in line_of([measured(learned_table.PAPER_PROBLEM, "default", **times)], "default")
    assert "12.0✓" in line_of([measured(learned_table.PAPER_PROBLEM, "default", **times)], "default")
    assert "✗" not in line_of([measured("P", "default", **times)], "default")


def test_the_best_learned_acceptance_has_goals() -> None:
    rows = [
        measured("P", "learned, structured", asinh_w1_ratio=1.9, q99_error_ratio=3.5),
        measured("Q", "learned, structured", asinh_w1_ratio=1.5, q99_error_ratio=1.0),
        measured("P", "learned, paper", asinh_w1_ratio=1.1, q99_error_ratio=1.0),
        measured("Q", "learned, paper", asinh_w1_ratio=7.0, q99_error_ratio=1.0),
        measured("P", "learned, antisymmetric", asinh_w1_ratio=1.0),
        measured("Q", "learned, antisymmetric") | {"error": "RuntimeError"},
        measured("paper's step size", "learned, paper", asinh_w1_ratio=99.0),
    ]
    line = line_of(rows, "learned, structured")
    assert "1.90✓" in line
    assert "3.50✗" in line
    assert not {"✓", "✗"} & set(line_of(rows, "learned, paper"))
    assert learned_table._best_learned([]) is None


def test_a_cell_that_failed_for_some_seeds_shows_the_median_of_the_others() -> None:
    rows = [measured("P", "flow", 0, asinh_w1_ratio=4.0), measured("P", "flow", 1) | {"error": "ValueError: no"}]
    assert line_of(rows, "flow").split()[:6] == ["flow:", "1", "of", "2", "failed", "4.00"]


def test_words_are_medians_of_gains_and_absent_without_them() -> None:
    gains = [(9.0, 90.0), (12.0, 150.0), (10.0, 110.0)]
    rows = [measured("paper's step size", "FULA", seed, step_size=0.5, w1=4.9, q99_error=80.0) for seed in range(3)]
    rows += [
        measured("paper's step size", "learned, paper", seed, w1_gain=w1, q99_error_gain=q99)
        for seed, (w1, q99) in enumerate(gains)
    ]
    assert "10.0 times (goal: 9) and 110 times (goal: 100) smaller" in summary(rows)
    assert summary(rows[:3]) == summary([measured("P", "default")]) == ""


def test_the_table_fits_a_terminal_with_all_methods_and_large_errors() -> None:
    numbers: dict[str, Any] = dict.fromkeys(NUMBERS, 123.0) | {
        "logdensity_mean": -3e6,
        "remembered": -0.123,
        "asinh_w1_ratio": 4e6,
    }
    names = ("default", "FULA", "learned, sigmoid exact", "learned, antisymmetric", "Gaussian mixture")
    text = text_of([measured(learned_table.PAPER_PROBLEM, name, **numbers) for name in names])
    assert "…" not in text
    assert all(name in text for name in names)


def test_the_problem_with_goals_of_time_is_the_first() -> None:
    assert synthetic()[0].name == learned_table.PAPER_PROBLEM
