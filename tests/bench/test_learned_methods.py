"""The methods of the comparison: what each learns, from what, and what its time counts."""

import math
from typing import Any

import numpy as np
import pytest
from learned_cases import LINE, MIXTURE, TINY, Model, case_of, draws_as, fresh, with_score

from mafla.bench import learned_methods
from mafla.bench.learned_methods import METHODS, make_case
from mafla.bench.learned_targets import Problem


def test_the_default_learns_and_samples_in_robust_units(monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[Model] = []

    def fit(key: Any, rows: Any, **_: Any) -> Model:
        del key
        models.append(Model(rows))
        return models[-1]

    monkeypatch.setattr(learned_methods, "fit_energy", fit)
    case = case_of(MIXTURE)
    far = case._replace(rows=1e4 * case.rows + 7e4, start=1e4 * case.start + 7e4)
    near, moved = METHODS["default"](case), METHODS["default"](far)
    np.testing.assert_allclose(np.median(models[0].rows, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.ptp(np.quantile(models[0].rows, [0.16, 0.84], axis=0), axis=0), 2)
    np.testing.assert_allclose(models[1].rows, models[0].rows, atol=1e-9)
    np.testing.assert_allclose(moved.draws, 1e4 * near.draws + 7e4, rtol=1e-3, atol=1e3)
    assert near.logdensity is not None
    assert moved.logdensity is not None
    np.testing.assert_allclose(
        moved.logdensity(far.start), near.logdensity(case.start) - 2 * math.log(1e4), rtol=1e-4, atol=1e-4
    )
    assert near.start is not None
    assert near.end is not None
    assert near.draws.shape == near.end.shape == case.start.shape
    assert np.mean(near.end != near.start) > 0.5
    np.testing.assert_allclose(near.start, case.start, rtol=1e-5, atol=1e-5)
    assert 0 < near.facts["acceptance_rate"] < 1
    assert near.facts["step_size"] != pytest.approx(0.1)  # tuned


def test_fula_moves_every_chain_and_its_time_is_that_of_the_score_too() -> None:
    case = with_score(case_of(MIXTURE))
    found = METHODS["FULA"](case)
    assert found.start is not None
    assert np.all(np.any(found.draws != found.start, axis=1))
    assert found.facts == {"acceptance_rate": 1, "step_size": pytest.approx(0.1)}
    assert found.seconds_fit == 1
    assert found.logdensity is None
    assert np.array_equal(found.draws, found.end)  # type: ignore[arg-type]
    assert np.array_equal(METHODS["FULA"](case).draws, found.draws)


def test_methods_differ_in_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, float]] = []

    def fit(key: Any, score: Any, rows: Any, alpha: float, step_size: float, proposal: str, **rest: Any) -> Any:
        del key, score, rows, alpha
        asked.append((rest["form"], proposal, step_size))
        return lambda new, old: -abs(new - old).sum()

    monkeypatch.setattr(learned_methods, "fit_acceptance", fit)
    case = with_score(case_of(LINE))
    monkeypatch.setattr(learned_methods, "mafla", lambda *_: None)
    monkeypatch.setattr(learned_methods, "run_chains", lambda at, *_: draws_as(fresh)(at))
    for name in METHODS:
        if name.startswith("learned"):
            METHODS[name](case)
    assert asked == [
        ("structured", "exact", 0.1),
        ("antisymmetric", "exact", 0.1),
        ("sigmoid", "exact", 0.1),
        ("sigmoid", "proxy", 0.1),
    ]


def test_the_score_is_learned_once_in_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def fit(*_: Any, **rest: Any) -> str:
        calls.append(rest["alpha"])
        return "score"

    monkeypatch.setattr(learned_methods, "fit_score", fit)
    case = case_of(LINE)
    assert [at.score()[0] for at in (case, case._replace(seconds=1.0))] == ["score"] * 2
    make_case(Problem("unknown", 1), 0, case.rows, TINY).score()
    assert calls == [1.5, "auto"]
