"""The methods of the comparison: what each learns, from what, and what its time counts."""

from typing import Any

import numpy as np
import pytest
from learned_cases import BRIEF, LINE, MIXTURE, TINY, EnergyModel, case_of, draws_as, fresh, with_score

from mafla.bench import learned_methods
from mafla.bench.learned_methods import METHODS, make_case
from mafla.bench.learned_targets import Problem
from mafla.estimator import HeavyTailSampler


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mafla.estimator.energy.fit_energy", lambda *_, **__: EnergyModel())


@pytest.mark.usefixtures("no_training")
def test_the_default_is_the_estimator_as_everyone_gets_it() -> None:
    case = case_of(MIXTURE)
    sampler, seconds_fit = case.sampler()
    assert sampler.get_params() == HeavyTailSampler(schedule=BRIEF, random_state=sampler.random_state).get_params()
    found = METHODS["default"](case)
    assert found.seconds_fit == seconds_fit  # learned once
    assert np.array_equal(found.draws, sampler.sample(100))
    assert found.logdensity is not None
    assert np.array_equal(found.logdensity(case.start), sampler.score_samples(case.start))
    assert found.start is not None
    assert len(found.start) == len(case.rows)
    np.testing.assert_allclose(found.start, case.rows, rtol=1e-5, atol=1e-5)
    assert found.facts == {"step_size": sampler.step_size_, "alpha": sampler.alpha_}
    assert make_case(MIXTURE, 1, case.rows, TINY).sampler()[0].random_state != sampler.random_state


@pytest.mark.usefixtures("no_training")
def test_the_last_states_are_those_of_its_chains_in_the_units_of_the_rows() -> None:
    case = case_of(MIXTURE)
    far = case._replace(rows=1e4 * case.rows + 7e4, start=1e4 * case.start + 7e4)
    far = far._replace(sampler=make_case(MIXTURE, 0, far.rows, TINY).sampler)
    near, moved = METHODS["default's last states"](case), METHODS["default's last states"](far)
    np.testing.assert_allclose(moved.draws, 1e4 * near.draws + 7e4, rtol=1e-3, atol=1e3)
    assert near.start is not None
    assert np.array_equal(near.draws, near.end)  # type: ignore[arg-type]
    assert np.mean(near.draws != near.start) > 0.5
    np.testing.assert_allclose(near.start, case.start, rtol=1e-5, atol=1e-5)
    assert 0 < near.facts["acceptance_rate"] < 1
    assert near.facts["step_size"] == pytest.approx(case.sampler()[0].step_size_)


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
