"""Gaussians and their mixtures: closed forms, the drift at α=2, and the bad input that all mixtures refuse."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from mafla import targets
from mafla.targets import Target

PAIR = [[-1.0, 0.0], [1.0, 0.0]]


def test_gaussian_is_standard() -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(scale=3, size=(10, 3))
        target = targets.gaussian(3)
        values, slopes = jax.jit(target.logdensity)(x), jax.jit(target.score)(x)
    np.testing.assert_allclose(values, stats.multivariate_normal(np.zeros(3)).logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(slopes, -x, rtol=1e-12)


def test_mixture_is_the_weighted_sum_of_its_modes() -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(scale=3, size=(10, 2))
        found = jax.jit(targets.gaussian_mixture(PAIR, [0.2, 0.8], scale=0.5).logdensity)(x)
    modes = [stats.multivariate_normal(mode, 0.25 * np.eye(2)).pdf(x) for mode in PAIR]
    np.testing.assert_allclose(np.exp(found), 0.2 * modes[0] + 0.8 * modes[1], rtol=1e-10)


@pytest.mark.parametrize("target", [targets.gaussian(2), targets.gaussian_mixture(PAIR, [0.2, 0.8], scale=0.5)])
def test_drift_at_index_two_is_the_score(target: Target) -> None:
    x = np.random.default_rng(0).normal(scale=3, size=(10, 2)).astype(np.float32)
    assert target.alpha == 2
    assert target.fractional_drift is not None
    np.testing.assert_array_equal(jax.jit(target.fractional_drift)(x), jax.jit(target.score)(x))


@pytest.mark.parametrize("dim", [0, -1, 1.5, "two", None])
def test_bad_dimension_is_refused(dim: Any) -> None:
    with pytest.raises(ValueError, match=r"^dim must be a whole number of at least 1, got"):
        targets.gaussian(dim)


@pytest.mark.parametrize("scale", [0.0, -0.5, float("nan"), float("inf"), None, [1.0, 2.0]])
def test_bad_scale_is_refused(scale: Any) -> None:
    with pytest.raises(ValueError, match=r"^scale must be a positive finite number.*, got"):
        targets.gaussian_mixture(PAIR, [0.5, 0.5], scale)


def make_stable(locations: Any, weights: Any) -> Target:
    return targets.stable_mixture(1.5, locations, weights)


mixtures = pytest.mark.parametrize("mixture", [targets.gaussian_mixture, make_stable])


@mixtures
@pytest.mark.parametrize("weights", [[0.5, 0.4], [1.0, 1.0], [1.5, -0.5], [1.0, 0.0], [1.0], [0.2, 0.3, 0.5]])
def test_bad_weights_are_refused(mixture: Any, weights: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^weights must be 2 positive numbers that sum to one, got \["):
        mixture(PAIR, weights)


@mixtures
@pytest.mark.parametrize("weights", [[0.5, float("nan")], 1.0, [[0.5, 0.5]], None])
def test_weights_of_the_wrong_kind_are_refused(mixture: Any, weights: Any) -> None:
    with pytest.raises(ValueError, match=r"^weights must be .*, got"):
        mixture(PAIR, weights)


@mixtures
@pytest.mark.parametrize(
    "locations",
    [
        [0.0, 1.0],
        [[[0.0], [1.0]]],
        np.zeros((2, 0)),
        np.zeros((0, 2)),
        [[0.0], [float("nan")]],
        [[0.0], [float("inf")]],
        [[0.0], [1.0, 2.0]],
        [["a"], ["b"]],
    ],
    ids=["flat", "deep", "no-dim", "no-mode", "nan", "infinite", "ragged", "words"],
)
def test_bad_locations_are_refused(mixture: Any, locations: Any) -> None:
    with pytest.raises(ValueError, match=r"^locations must .*got"):
        mixture(locations, [0.5, 0.5])
