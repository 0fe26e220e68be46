"""Funnel and banana: the documented law, its integral by plain quadrature, and draws that follow it."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from mafla import targets

FALSE_ALARM = 1e-6  # of a whole test, shared among its comparisons
NUM_DRAWS = 20_000  # a distribution function that is off by 0.025 anywhere fails


def test_funnel_density_is_its_definition() -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(scale=3, size=(30, 4))
        found = jax.jit(targets.funnel(4, spread=2.0).logdensity)(x)
    rest = stats.norm(0, np.exp(x[:, :1] / 2)).logpdf(x[:, 1:]).sum(1)
    np.testing.assert_allclose(found, stats.norm(0, 2).logpdf(x[:, 0]) + rest, rtol=1e-12)


def test_banana_density_is_its_definition() -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(scale=5, size=(30, 3))
        found = jax.jit(targets.banana(3, bend=0.1, spread=2.0).logdensity)(x)
    second = stats.norm(0.1 * (x[:, 0] ** 2 - 4), 1).logpdf(x[:, 1])
    np.testing.assert_allclose(
        found, stats.norm(0, 2).logpdf(x[:, 0]) + second + stats.norm.logpdf(x[:, 2]), rtol=1e-12
    )


def test_funnel_integrates_to_one() -> None:
    with jax.enable_x64(True):
        # At each v the grid follows the width e^(v/2) of the funnel there.
        v, u = np.meshgrid(np.arange(-30.0, 30.0, 0.5), np.arange(-10.0, 10.0, 0.25), indexing="ij")
        width = np.exp(v / 2)
        values = jax.jit(targets.funnel(2).logdensity)(np.stack([v, width * u], axis=-1))
        assert float(np.sum(np.exp(values) * width)) * 0.5 * 0.25 == pytest.approx(1, abs=1e-10)


def test_banana_integrates_to_one() -> None:
    with jax.enable_x64(True):
        first, second = np.meshgrid(np.arange(-80.0, 81.0, 4.0), np.arange(-15.0, 210.0, 0.5), indexing="ij")
        values = jax.jit(targets.banana().logdensity)(np.stack([first, second], axis=-1))
        assert float(np.sum(np.exp(values))) * 4 * 0.5 == pytest.approx(1, abs=1e-10)


def test_funnel_draws_follow_its_definition() -> None:
    x = np.asarray(jax.jit(lambda key: targets.funnel(3).sample(key, NUM_DRAWS))(jax.random.key(0)), np.float64)
    normal = np.column_stack([x[:, 0] / 3, x[:, 1:] * np.exp(-x[:, :1] / 2)])
    for column in normal.T:
        assert stats.kstest(column, "norm").pvalue > FALSE_ALARM / 6
    for i, j in [(0, 1), (0, 2), (1, 2)]:  # what is left is uncorrelated
        assert stats.pearsonr(np.abs(normal[:, i]), np.abs(normal[:, j])).pvalue > FALSE_ALARM / 6


def test_banana_draws_follow_its_definition() -> None:
    sample = jax.jit(lambda key: targets.banana(3, bend=0.1, spread=2.0).sample(key, NUM_DRAWS))
    x = np.asarray(sample(jax.random.key(0)), np.float64)
    normal = np.column_stack([x[:, 0] / 2, x[:, 1] - 0.1 * (x[:, 0] ** 2 - 4), x[:, 2]])
    for column in normal.T:
        assert stats.kstest(column, "norm").pvalue > FALSE_ALARM / 6
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert stats.pearsonr(normal[:, i] ** 2, normal[:, j]).pvalue > FALSE_ALARM / 6


@pytest.mark.parametrize("dim", [1, 0, 2.5])
def test_bad_dimension_is_refused(dim: Any) -> None:
    for make in (targets.funnel, targets.banana):
        with pytest.raises(ValueError, match=r"^dim must be a whole number of at least 2, got"):
            make(dim)


@pytest.mark.parametrize("spread", [0.0, -1.0, float("nan"), None])
def test_bad_spread_is_refused(spread: Any) -> None:
    for make in (targets.funnel, targets.banana):
        with pytest.raises(ValueError, match=r"^spread must be a positive finite number.*, got"):
            make(2, spread=spread)


@pytest.mark.parametrize("bend", [float("nan"), float("inf"), "a lot"])
def test_bad_bend_is_refused(bend: Any) -> None:
    with pytest.raises(ValueError, match=r"^bend must be a finite number.*, got"):
        targets.banana(2, bend=bend)
