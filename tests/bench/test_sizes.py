"""Tables of all sizes: each is learned by the defaults, judged by the truth, and a failure is seen."""

import itertools
from typing import Any

import jax
import pytest
from learned_cases import TINY, case_of, draws_as, fresh, with_score

from mafla import targets
from mafla.bench import sizes
from mafla.bench.learned import make_yardstick
from mafla.bench.learned_methods import make_case
from mafla.bench.learned_table import DEFAULT
from mafla.bench.learned_targets import mixture


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "COLUMNS", (2,))
    monkeypatch.setattr(sizes, "ROWS", (60, 200))
    monkeypatch.setattr(sizes, "QUICK_ROWS", (60,))
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # other tests use them


@pytest.fixture
def unlearned(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stand-ins draw and have a score, without learning."""
    del small
    monkeypatch.setattr(sizes, "METHODS", {DEFAULT: draws_as(fresh)})
    monkeypatch.setattr(sizes, "make_case", lambda *parts: with_score(make_case(*parts)))


@pytest.mark.usefixtures("unlearned")
def test_every_size_is_measured_with_every_seed() -> None:
    lines: list[str] = []
    rows = sizes.run(1, 2, report=lambda line, _: lines.append(line), settings=TINY)
    made = [(row["law"], row["columns"], row["rows"], row["seed"]) for row in rows]
    assert made == list(itertools.product(("two modes", "independent"), (2,), (60, 200), (1, 2)))
    assert len(lines) == len(rows)
    assert sizes.describe(rows).row_count == 6
    assert sizes.summary(rows).startswith("0 of 8 failed")


@pytest.mark.usefixtures("unlearned")
def test_quick_is_one_seed_of_the_smaller_tables() -> None:
    rows = sizes.run(quick=True, settings=TINY)
    assert [(row["columns"], row["rows"], row["seed"]) for row in rows] == [(2, 60, 0)] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("law", ["two modes", "independent"])
def test_a_table_is_learned_by_the_defaults(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "LAWS", {law: sizes.LAWS[law]})
    (row,) = sizes.run(quick=True, settings=TINY)
    assert row["error"] is None
    assert row["seconds_fit"] > 0
    assert row["seconds_score"] > 0
    assert row["score_error"] > 0
    assert 1 < row["alpha"] <= 2
    assert 0 < row["asinh_w1_ratio"] < 5
    assert (row["weights_error"] is None) == (law == "independent")


@pytest.mark.parametrize("factor", [0.0, 1.0, 1.5])
def test_the_error_of_the_score_is_relative_to_the_truth(factor: float) -> None:
    problem = mixture("one", 1.5, [[0.0, 0.0]], [1.0])
    case = case_of(problem)
    judge = make_yardstick(case)

    def score(x: Any) -> Any:
        return factor * targets.stable_mixture(1.5, [[0.0, 0.0]], [1.0]).score(x)

    model: Any = score
    found = sizes.score_error(case._replace(score=lambda: (model, 1.0)), judge)
    assert found == pytest.approx(abs(factor - 1), abs=1e-5)
    with pytest.raises(ValueError, match="known density"):
        sizes.score_error(case, judge._replace(points=None))


@pytest.mark.usefixtures("unlearned")
def test_a_failure_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_case: Any) -> Any:
        raise RuntimeError("as it was told")

    monkeypatch.setattr(sizes, "METHODS", {DEFAULT: fail})
    lines: list[str] = []
    rows = sizes.run(quick=True, report=lambda line, _: lines.append(line), settings=TINY)
    assert [row["error"] for row in rows] == ["RuntimeError: as it was told"] * 2
    assert all("failed, RuntimeError: as it was told" in line for line in lines)
    assert "2 of 2 failed" in sizes.summary(rows)
    assert sizes.describe(rows).row_count == 4


def test_medians_are_those_of_the_seeds() -> None:
    common = {"law": "one", "columns": 1, "rows": 500, "error": None}
    rows = [
        {**common, "seed": seed, **dict.fromkeys(sizes.HEADINGS, value)} for seed, value in enumerate([1.0, 7.0, 3.0])
    ]
    assert "at most 3 times the floor by asinh W1 and 3 by the 0.99-quantile, 3 s to fit" in sizes.summary(rows)
    assert "medians of 3 seeds" in str(sizes.describe(rows).caption)
