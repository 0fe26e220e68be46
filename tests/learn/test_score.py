"""The learned score: every loss finds the score of its law, blurred or not, in whatever units the rows come."""

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla import stable
from mafla.learn.score import Loss, Score, fit_score
from mafla.learn.training import Schedule

KEY = jax.random.key(0)
CENTER, SPREAD = np.array([1.0, -1.0]), 2.0
QUICK = Schedule(steps=20, batch_size=64, check_every=10)
CHEAP: list[Loss] = ["sliced", "denoising"]
DEAR: list[Loss] = ["exact", "fractional"]  # a Jacobian at each point, or stable noise


def normal_rows(seed: int, count: int) -> np.ndarray:
    return CENTER + SPREAD * np.random.default_rng(seed).normal(size=(count, 2))


@cache
def normal_score(loss: Loss) -> Score:
    return fit_score(KEY, normal_rows(0, 5000), loss=loss, alpha=2.0, progress=False)


@cache
def stable_score(dim: int, alpha: float, unit: float) -> Score:
    rows = unit * np.asarray(stable.sample(jax.random.key(3), alpha, (5000,), dim), np.float64)
    return fit_score(KEY, rows, loss="fractional", alpha=alpha, progress=False)


def values(score: Score, points: Any) -> np.ndarray:
    return np.asarray(jax.jit(jax.vmap(score))(jnp.asarray(points, jnp.float32)), np.float64)


@pytest.mark.parametrize(("loss", "blur"), [("sliced", 0), ("denoising", 1)])
def test_the_score_of_normal_rows_is_linear(loss: Loss, blur: int) -> None:
    check_linear(loss, blur)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "blur"), [("exact", 0), ("fractional", 2)])
def test_the_score_of_normal_rows_is_linear_by_the_dear_losses_too(loss: Loss, blur: int) -> None:
    check_linear(loss, blur)


def check_linear(loss: Loss, blur: int) -> None:
    """Noise of scale σ adds σ² to the variance, and 2σ² where it is stable noise at α=2."""
    points = normal_rows(1, 1000)
    points = points[np.linalg.norm(points - CENTER, axis=1) < 2 * SPREAD]
    found = normal_score(loss)
    variance = SPREAD**2 + (blur * np.mean(found.noise_level) ** 2 if found.noise_level else 0)
    error = np.linalg.norm(values(found, points) + (points - CENTER) / variance, axis=1)
    assert np.mean(error) * SPREAD < 0.25  # of a score whose mean length is 1.2 in these units


@pytest.mark.parametrize("loss", [*CHEAP, *(pytest.param(loss, marks=pytest.mark.slow) for loss in DEAR)])
def test_far_out_the_score_points_inwards_and_is_finite(loss: Loss) -> None:
    far = CENTER + np.array([[1e3, 0.0], [0.0, -1e6], [-1e9, 1e9]])
    found = values(normal_score(loss), far)
    assert np.isfinite(found).all()
    assert np.all(np.sum(found * (far - CENTER), axis=1) < 0)


def test_the_noise_level_is_told_in_the_units_of_the_rows() -> None:
    assert normal_score("sliced").noise_level is None
    level = normal_score("denoising").noise_level
    assert level is not None
    np.testing.assert_allclose(level, SPREAD * 4500 ** (-1 / 6), rtol=0.1)  # Silverman's rule in the plane


@pytest.mark.slow
def test_stable_noise_is_as_wide_as_normal_noise_and_alike_in_all_columns() -> None:
    level = normal_score("denoising").noise_level
    assert level is not None
    stable_level = normal_score("fractional").noise_level
    assert stable_level is not None
    assert stable_level[0] == stable_level[1] == pytest.approx(np.mean(level) / math.sqrt(2), rel=0.05)


@pytest.mark.slow
def test_a_given_noise_is_in_quantile_scales() -> None:
    rows = normal_rows(2, 200) * np.array([1.0, 100.0])
    found = fit_score(KEY, rows, loss="denoising", alpha=2.0, noise=0.5, schedule=QUICK, progress=False)
    low, high = np.quantile(rows, (0.16, 0.84), axis=0)
    assert found.noise_level is not None
    np.testing.assert_allclose(found.noise_level, 0.5 * (high - low) / 2, rtol=1e-5)


def stable_error(dim: int, alpha: float) -> np.ndarray:
    """Return the error relative to one plus the length of the fractional score of the blurred law."""
    found = stable_score(dim, alpha, 1.0)
    assert found.noise_level is not None
    points = np.asarray(stable.sample(jax.random.key(4), alpha, (2000,), dim), np.float64)
    truth = -points / (alpha * (1 + found.noise_level[0] ** alpha))
    return np.linalg.norm(values(found, points) - truth, axis=1) / (1 + np.linalg.norm(truth, axis=1))


@pytest.mark.slow
def test_the_fractional_score_of_stable_rows_is_that_of_the_blurred_law() -> None:
    """In closed form: scales add up as α-th powers. The draws reach far into the tail."""
    error = stable_error(1, 1.5)
    assert np.median(error) < 0.06
    assert np.max(error) < 0.3


@pytest.mark.slow
def test_the_fractional_score_in_the_plane_is_that_of_the_blurred_law() -> None:
    error = stable_error(2, 1.7)
    assert np.median(error) < 0.06
    assert np.max(error) < 0.3


@pytest.mark.slow
def test_the_fractional_score_is_of_order_alpha_less_one_in_the_unit_of_length() -> None:
    points, unit = np.array([[-30.0], [-1.0], [0.3], [4.0]]), 1024.0  # a power of two, so that nothing else changes
    one, other = stable_score(1, 1.5, 1.0), stable_score(1, 1.5, unit)
    np.testing.assert_allclose(values(other, unit * points), values(one, points) * unit**-0.5, rtol=1e-3)
    assert one.noise_level is not None
    assert other.noise_level is not None
    assert other.noise_level[0] == pytest.approx(unit * one.noise_level[0], rel=1e-4)


@pytest.mark.slow
def test_columns_of_other_units_share_one_for_the_fractional_score() -> None:
    rows = normal_rows(3, 200) * np.array([1.0, 16.0])
    found = fit_score(KEY, rows, loss="fractional", alpha=1.5, schedule=QUICK, progress=False)
    assert found.frame.scale[0] == found.frame.scale[1]
    level = found.noise_level
    assert level is not None
    assert level[0] == level[1]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["sliced", "exact", "denoising"])
def test_scores_scale_with_each_column(loss: Loss) -> None:
    rows, scale = normal_rows(4, 200), np.array([2.0**10, 2.0**-5])
    one, other = (
        fit_score(KEY, data, loss=loss, alpha=2.0, schedule=QUICK, progress=False) for data in (rows, rows * scale)
    )
    np.testing.assert_allclose(values(other, rows[:9] * scale) * scale, values(one, rows[:9]), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_a_few_hundred_rows_are_not_learned_by_heart() -> None:
    """With a spike at each of its rows a field would win, by rows alone: it ended 1.5 times the score away from it."""
    rows = np.random.default_rng(1).standard_t(2, size=(500, 1))
    points = np.random.default_rng(2).standard_t(2, size=(5000, 1))
    found = values(fit_score(jax.random.key(1), rows, alpha=1.5, progress=False), points)
    truth = -3 * points / (2 + points**2)
    assert np.linalg.norm(found - truth) < 0.5 * np.linalg.norm(truth)


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 1.7e9), (1e39, 0.0), (1e-40, 0.0)])
def test_columns_that_single_precision_cannot_hold_are_refused(factor: float, shift: float) -> None:
    rows = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, factor] + [0.0, shift]
    with pytest.raises(ValueError, match="data must lie near zero for float32, got column 1 with the median"):
        fit_score(KEY, rows, progress=False)


@pytest.mark.parametrize("loss", ["sliced", "denoising"])
def test_a_column_with_an_atom_has_no_score(loss: Any) -> None:
    rows = normal_rows(5, 100)
    rows[:30, 0] = 0
    with pytest.raises(
        ValueError, match=r"^data must have a density, got a quarter of them or more at one value in col"
    ):
        fit_score(KEY, rows, loss=loss, alpha=2.0, progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "huber"}, "loss must be one of sliced, exact, denoising, fractional, got 'huber'"),
        ({"loss": "denoising", "noise": 0.0}, "noise must be a positive finite number, got 0.0"),
        ({"alpha": 2.5}, r"alpha must be a number in \(1, 2\], got 2.5"),
        ({"width": 1.5}, "width must be a whole number of at least 1, got 1.5"),
        ({"key": "seed"}, r"key must be one random key such as jax.random.key\(0\), got 'seed'"),
        ({"key": jax.random.split(KEY)}, r"key must be one random key .* got an array of shape \(2,\) .*"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"key": KEY, "data": normal_rows(5, 60), "alpha": 2.0, "progress": False} | options
    with pytest.raises(ValueError, match=f"^{message}$"):
        fit_score(**given)
