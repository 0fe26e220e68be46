"""Score-matching losses against closed-form minimisers, against each other, and within Monte-Carlo bounds."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from scipy import special

from mafla.learn.score_matching import _slopes, denoising, exact, fractional_denoising, noise_level, sliced

KEY = jax.random.key(0)
MIXING = np.array([[0.9, -0.4, 0.1], [0.5, 1.2, 0.3], [-0.2, 0.6, 0.7]])
LAWS = ["rademacher", "gaussian"]
STANDARD_ERRORS = 5.0  # one false alarm in two million


def normals(seed: int, shape: tuple[int, ...]) -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def bent(x: Array) -> Array:
    """Return a field whose Jacobian is neither constant nor diagonal nor symmetric."""
    mixing = jnp.asarray(MIXING[: len(x), : len(x)], x.dtype)
    return -jnp.tanh(mixing @ x) - 0.5 * x * x[0] ** 2


def linear(theta: Any) -> Callable[[Array], Array]:
    return lambda x: -theta * x


def compiled(loss: Callable[..., Array], score: Callable[[Array], Array], *arguments: Any, **options: Any) -> Array:
    return jax.jit(partial(loss, score, **options))(*arguments)


def over_keys(loss: Callable[[Array], Array], count: int) -> np.ndarray:
    """Return the loss for many keys."""
    return np.asarray(jax.jit(jax.vmap(loss))(jax.random.split(KEY, count)), np.float64)


def standard_error(values: np.ndarray) -> float:
    return float(values.std() / math.sqrt(len(values)))


def normal_grid(count: int) -> np.ndarray:
    return np.asarray(special.ndtri((np.arange(count) + 0.5) / count))


@pytest.mark.usefixtures("x64")
def test_exact_is_half_the_square_plus_the_trace_of_the_jacobian() -> None:
    points = normals(0, (7, 3))

    @jax.vmap
    def expected(x: Array) -> Array:
        return bent(x) @ bent(x) / 2 + jnp.trace(jax.jacrev(bent)(x))

    np.testing.assert_allclose(jax.jit(partial(exact, bent))(points), jax.jit(expected)(points).mean(), rtol=1e-13)


@pytest.mark.usefixtures("x64")
def test_exact_is_least_at_the_inverse_of_the_second_moments() -> None:
    points = np.asarray(normals(1, (50, 3))) @ MIXING
    best = np.linalg.inv(points.T @ points / len(points))
    value, slope = jax.jit(jax.value_and_grad(lambda matrix: exact(lambda x: -matrix @ x, points)))(best)
    np.testing.assert_allclose(slope, 0, atol=1e-12)
    np.testing.assert_allclose(value, -np.trace(best) / 2, rtol=1e-12)
    theta = 3 / np.mean(np.sum(points**2, axis=1))
    np.testing.assert_allclose(jax.jit(jax.grad(lambda t: exact(linear(t), points)))(theta), 0, atol=1e-12)


@pytest.mark.usefixtures("x64")
def test_rademacher_directions_know_the_trace_of_a_diagonal_jacobian() -> None:
    points = normals(2, (6, 3))

    def score(x: Array) -> Array:
        return -jnp.sinh(x)

    found = compiled(sliced, score, points, KEY, directions=3)
    np.testing.assert_allclose(found, compiled(exact, score, points), rtol=1e-13)


@pytest.mark.parametrize("variance_reduced", [True, False])
@pytest.mark.usefixtures("x64")
def test_rademacher_directions_on_the_line_are_exact(variance_reduced: bool) -> None:
    points = normals(3, (6, 1))
    found = compiled(sliced, bent, points, KEY, variance_reduced=variance_reduced)
    np.testing.assert_allclose(found, compiled(exact, bent, points), rtol=1e-13)


@pytest.mark.usefixtures("x64")
def test_a_full_orthonormal_set_of_directions_is_exact() -> None:
    points = normals(4, (6, 3))
    basis, _ = np.linalg.qr(normals(5, (6, 3, 3)))
    value, slope = jax.jit(partial(_slopes, bent))(points, jnp.asarray(basis))
    projected = np.sum(np.einsum("nkd,nd->nk", basis, value) ** 2, -1)
    found = np.mean(projected / 2 + np.sum(slope, -1))
    np.testing.assert_allclose(found, compiled(exact, bent, points), rtol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_sliced_is_exact_in_the_mean_and_less_noisy_with_the_square_in_closed_form(law: Any) -> None:
    points = normals(6, (4, 3))
    loss = partial(sliced, bent, points, law=law)
    reduced, original = over_keys(lambda key: jnp.stack([loss(key), loss(key, variance_reduced=False)]), 10_000).T
    expected = float(compiled(exact, bent, points))
    assert abs(reduced.mean() - expected) < STANDARD_ERRORS * standard_error(reduced)
    assert abs(original.mean() - expected) < STANDARD_ERRORS * standard_error(original)
    assert reduced.var() < original.var()


@pytest.mark.parametrize(("rows", "directions"), [(4, 1), (1, 4)])
def test_directions_of_all_rows_are_independent(rows: int, directions: int) -> None:
    """Four times as many directions, for one row or for four equal ones, give a fourth of the variance."""
    point = normals(7, (1, 3))
    many = jnp.repeat(point, rows, axis=0)
    single = over_keys(lambda key: sliced(bent, point, key), 10_000)
    found = over_keys(lambda key: sliced(bent, many, key, directions=directions), 10_000)

    def error_of_variance(x: np.ndarray) -> float:
        """Return the relative standard error of the sample variance."""
        return standard_error((x - x.mean()) ** 2) / float(x.var())

    bound = STANDARD_ERRORS * math.hypot(error_of_variance(single), error_of_variance(found))
    assert abs(math.log(single.var() / found.var() / 4)) < bound < 0.3


@pytest.mark.usefixtures("x64")
def test_denoising_is_least_at_the_score_of_the_blurred_gaussian() -> None:
    """With both signs of the noise, the best slope is M / (s² + σ²M), where M is the mean square of the normals."""
    points = normals(8, (20_000, 2)) * 2
    slope = jax.jit(jax.grad(lambda theta, sigma: denoising(linear(theta), points, KEY, sigma)))
    bound = STANDARD_ERRORS * math.sqrt(2 / points.size)  # of M
    for sigma in (0.05, 1.0, 3.0):
        # The loss is a parabola in θ: one Newton step reaches its minimum.
        best = slope(0.0, sigma) / (slope(0.0, sigma) - slope(1.0, sigma))
        assert float(best) == pytest.approx(1 / (np.mean(np.square(points)) + sigma**2), rel=bound)


@pytest.mark.usefixtures("x64")
def test_denoising_of_a_single_point_has_the_score_of_the_noise() -> None:
    points = jnp.broadcast_to(jnp.array([1.0, -2.0, 0.5]), (9, 3))
    sigma = jnp.array([0.1, 1.0, 30.0])

    def loss(precision: Array) -> Array:
        return denoising(lambda x: -precision * (x - points[0]), points, KEY, sigma)

    assert jax.jit(loss)(sigma**-2) < 1e-24
    assert jax.jit(loss)(2 * sigma**-2) > 0.1


def test_denoising_is_of_order_one_whatever_the_noise() -> None:
    points = jnp.zeros((50_000, 2))
    loss = jax.jit(partial(denoising, jnp.zeros_like))
    for sigma in (1e-4, 1.0, 1e4):
        assert float(loss(points, KEY, sigma)) == pytest.approx(1, abs=STANDARD_ERRORS / math.sqrt(len(points)))


@pytest.mark.usefixtures("x64")
def test_denoising_uses_both_signs_of_the_noise() -> None:
    points = normals(9, (5, 3))

    def odd(x: Array) -> Array:
        return -jnp.sinh(x)

    loss = jax.jit(partial(denoising, odd))
    np.testing.assert_allclose(loss(points, KEY, 0.4), loss(-points, KEY, 0.4), rtol=1e-13)


def test_denoising_is_the_exact_loss_of_the_blurred_points_in_the_mean() -> None:
    points, sigma = normals(10, (4, 3)), 0.5

    def difference(key: Array) -> Array:
        noise = jax.random.normal(jax.random.fold_in(key, 1), points.shape)
        expected = 3 / 2 + sigma**2 * exact(bent, points + sigma * noise)
        return denoising(bent, points, key, sigma) - expected

    found = over_keys(difference, 20_000)
    assert abs(found.mean()) < STANDARD_ERRORS * standard_error(found) < 0.1


@pytest.mark.parametrize("dim", [1, 3])
def test_noise_level_follows_the_rule_for_a_normal_law(dim: int) -> None:
    for count in (1000, 16_000):
        points = np.stack([normal_grid(count)] * dim, axis=1)
        expected = (4 / ((dim + 2) * count)) ** (1 / (dim + 4))
        np.testing.assert_allclose(noise_level(points), np.full(dim, expected), rtol=1e-2)


def test_noise_level_moves_with_the_units_of_each_column() -> None:
    points = np.asarray(normals(11, (200, 2)))
    units = np.array([1e-3, 50.0])
    np.testing.assert_allclose(noise_level(points * units + 7), noise_level(points) * units, rtol=1e-3)


def test_noise_level_ignores_tails_and_the_distance_of_modes() -> None:
    grid = normal_grid(4000)[:, None]
    wild = np.where(np.abs(grid) > 0.5, grid * 1e6, grid)
    np.testing.assert_allclose(noise_level(wild), noise_level(grid), rtol=1e-6)
    modes = [np.concatenate([grid - shift, grid + shift]) for shift in (20, 2000)]
    np.testing.assert_allclose(noise_level(modes[0]), noise_level(modes[1]), rtol=1e-3)
    # A quarter of all is half of a mode.
    expected = special.ndtri(0.75) / special.ndtri(0.625) * 2 ** (-1 / 5) * noise_level(grid)
    np.testing.assert_allclose(noise_level(modes[0]), expected, rtol=1e-2)


def every_loss(points: Any, sigma: Any = 0.5, score: Any = bent) -> list[Callable[[], Array]]:
    return [
        lambda: exact(score, points),
        lambda: sliced(score, points, KEY),
        lambda: denoising(score, points, KEY, sigma),
        lambda: fractional_denoising(score, points, KEY, 1.5, sigma),
    ]


def test_losses_keep_the_precision_of_the_points() -> None:
    whole = [[1, 2], [3, 5]]
    assert {jax.eval_shape(loss).dtype for loss in every_loss(jnp.asarray(whole))} == {jnp.dtype(jnp.float32)}
    with jax.enable_x64(True):
        for dtype in (jnp.float32, jnp.float64):
            losses = every_loss(jnp.asarray(whole, dtype))
            assert {jax.eval_shape(loss).dtype for loss in losses} == {jnp.dtype(dtype)}
        assert noise_level(normals(18, (9, 2))).dtype == jnp.float64


def test_losses_take_points_and_noise_that_are_traced() -> None:
    points = normals(19, (5, 2))
    traced = jax.jit(lambda points, sigma: [loss() for loss in every_loss(points, sigma)])
    known = jax.jit(lambda: [loss() for loss in every_loss(points, 0.5)])
    np.testing.assert_allclose(traced(points, 0.5), known(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(3,), (0, 2), (2, 0), (2, 2, 2)])
def test_points_must_be_rows(shape: tuple[int, ...]) -> None:
    for loss in every_loss(jnp.zeros(shape)):
        with pytest.raises(ValueError, match=r"^points must have shape \(n, dim\) with at least one of each, got \("):
            jax.eval_shape(loss)


def test_field_must_keep_the_shape_of_its_point() -> None:
    scores: list[Callable[[Array], Array]] = [jnp.sum, lambda x: x[:1], lambda x: jnp.outer(x, x)]
    for score in scores:
        for loss in every_loss(np.zeros((4, 3)), score=score):
            with pytest.raises(ValueError, match=r"^(score|field) must return shape \(3,\) at a single point, got \("):
                jax.eval_shape(loss)


def test_field_must_be_a_function() -> None:
    for loss in every_loss(jnp.zeros((4, 3)), score=1.0):
        with pytest.raises(ValueError, match=r"^(score|field) must be a function of one point, got float"):
            jax.eval_shape(loss)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, "wide", None])
def test_noise_must_be_positive(sigma: Any) -> None:
    for loss in every_loss(jnp.zeros((4, 3)), sigma)[2:]:
        with pytest.raises(ValueError, match=r"^sigma must be (positive|finite|an array of real numbers), got"):
            jax.eval_shape(loss)


def test_noise_must_fit_the_points() -> None:
    points = jnp.zeros((4, 3))
    with pytest.raises(ValueError, match=r"^sigma must be positive, got \[1.0, 0.0, 1.0\]"):
        denoising(bent, points, KEY, jnp.array([1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match=r"^sigma must be positive, with shape \(\) or \(3,\), got shape \(4,\)"):
        denoising(bent, points, KEY, jnp.ones(4))
    with pytest.raises(ValueError, match=r"^sigma must be positive, with shape \(\), got shape \(3,\)"):
        fractional_denoising(bent, points, KEY, 1.5, jnp.ones(3))


def test_bad_directions_are_refused() -> None:
    points = jnp.zeros((4, 3))
    with pytest.raises(ValueError, match=r"^law must be \"rademacher\" or \"gaussian\", got 'uniform'"):
        sliced(bent, points, KEY, law="uniform")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^directions must be a whole number of at least 1, got 0"):
        sliced(bent, points, KEY, directions=0)


def test_data_without_a_noise_level_are_refused() -> None:
    half = np.stack([np.arange(8.0), np.array([1.0, 1, 1, 1, 2, 3, 4, 5])], axis=1)
    with pytest.raises(ValueError, match=r"^points must have a density, got a quarter .* in column 1"):
        noise_level(half)
    with pytest.raises(ValueError, match=r"^points must have at least two rows and one column, got shape \(1, 2\)"):
        noise_level(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"^points must be finite, got nan at \[1, 0\]"):
        noise_level([[0.0], [math.nan]])
    with pytest.raises(ValueError, match=r"^points must be an array of real numbers with 2 axes, got"):
        noise_level(np.zeros(4))
