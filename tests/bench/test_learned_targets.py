"""The problems hold what they say: their modes, weights and tails, and returns that agree with the prices."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy.spatial.distance import pdist

from mafla.bench import learned_targets
from mafla.bench.learned_targets import Problem, daily_returns, synthetic, train_and_held_out
from mafla.diagnostics import hill
from mafla.metrics import mixture_weights


@pytest.mark.parametrize("problem", synthetic(), ids=lambda problem: problem.name)
def test_rows_have_the_shape_the_weights_and_the_tail_of_the_problem(problem: Problem) -> None:
    train, held_out = train_and_held_out(problem, 1, 20_000)
    assert train.shape == held_out.shape == (20_000, problem.dim)
    assert problem.locations is not None
    assert problem.weights is not None
    assert problem.logdensity is not None
    assert problem.locations.shape == (len(problem.weights), problem.dim)
    # Modes overlap: the tail of one falls among the rows of another.
    np.testing.assert_allclose(mixture_weights(train, problem.locations), problem.weights, atol=0.05)
    assert f"α={problem.alpha}" in problem.name
    at_modes = jnp.asarray(problem.locations, jnp.float32)
    assert bool(jnp.all(problem.logdensity(at_modes) > problem.logdensity(at_modes + 100)))


def test_modes_are_as_far_apart_as_intended() -> None:
    distances = [pdist(problem.locations).tolist() for problem in synthetic()]
    assert distances == [[10], [10], [], pytest.approx([2 * 8**0.5]), pytest.approx([6 * 3**0.5] * 3)]


def test_heaviest_problem_has_its_tail() -> None:
    problem = synthetic()[2]
    found = hill(train_and_held_out(problem, 0, 50_000)[0])
    assert found.lower < 1.2 < found.upper


def test_rows_differ_between_seeds_and_from_those_held_out() -> None:
    problem = synthetic()[0]
    train, held_out = train_and_held_out(problem, 3, 100)
    assert np.array_equal(train, train_and_held_out(problem, 3, 100)[0])
    assert not np.array_equal(train, train_and_held_out(problem, 4, 100)[0])
    assert len(np.unique(np.concatenate([train, held_out]), axis=0)) == 200


def test_returns_are_halved_at_random_without_loss() -> None:
    problem = daily_returns()
    train, held_out = train_and_held_out(problem, 0, 10)
    assert len(train) == len(held_out) == 626
    assert problem.rows is not None
    assert sorted(map(tuple, np.concatenate([train, held_out]))) == sorted(map(tuple, problem.rows))
    assert not np.array_equal(train, train_and_held_out(problem, 1, 10)[0])


def test_returns_agree_with_the_prices() -> None:
    rows = daily_returns().rows
    assert rows is not None
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) == len(rows) == 1252
    from arch.data import sp500

    prices = sp500.load()["Adj Close"]
    first = 100 * np.log(prices["2014-01-06"] / prices["2014-01-03"])
    assert rows[0, 0] == pytest.approx(first)
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] > 0.9  # two markets of one country
    assert np.corrcoef(rows[:, 0], rows[:, 3])[0, 1] < -0.7  # fear rises as prices fall


def test_days_without_a_price_or_with_a_negative_one_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    days = pd.date_range("2020-01-01", periods=5)
    prices = {"a": [1.0, np.nan, 2.0, 4.0, 8.0], "b": [1.0, 1.0, 1.0, -37.0, np.e]}

    class Market:
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> Any:
            return pd.DataFrame({"price": prices[self.name], "other": 0.0}, index=days)

    monkeypatch.setattr(learned_targets, "MARKETS", {"A": ("a", "price"), "B": ("b", "price")})
    monkeypatch.setattr(learned_targets, "_load", lambda module: Market(module[-1]))
    rows = daily_returns().rows
    assert rows is not None
    np.testing.assert_allclose(rows, [[100 * np.log(2), 0], [100 * np.log(4), 100]], atol=1e-12)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arch.data.sp500", None)
    with pytest.raises(ModuleNotFoundError, match=r"which is not installed: pip install arch$"):
        daily_returns()


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
        train_and_held_out(synthetic()[0], -1, 10)
    with pytest.raises(ValueError, match="count must be a whole number of at least 1, got 0"):
        train_and_held_out(synthetic()[0], 0, 0)
    with pytest.raises(ValueError, match="problem must have rows or a way to draw them, got 'empty' with neither"):
        train_and_held_out(Problem("empty", 1), 0, 10)


def test_draws_need_a_key() -> None:
    draw = synthetic()[1].draw
    assert draw is not None
    assert np.array_equal(draw(jax.random.key(0), 3), draw(jax.random.key(0), 3))
