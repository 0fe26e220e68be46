"""The fractional score of blurred data against closed forms, and the loss whose minimiser it is."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from mafla import stable, targets
from mafla.drift import riesz_drift
from mafla.learn.score_matching import denoising, fractional_denoising, fractional_score

KEY = jax.random.key(0)
STANDARD_ERRORS = 5.0  # one false alarm in two million


def normals(seed: int, shape: tuple[int, ...]) -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def linear(theta: Any) -> Callable[[Array], Array]:
    return lambda x: -theta * x


def over_keys(loss: Callable[[Array], Array], count: int) -> np.ndarray:
    """Return the loss for many keys."""
    return np.asarray(jax.jit(jax.vmap(loss))(jax.random.split(KEY, count)), np.float64)


def standard_error(values: np.ndarray) -> float:
    return float(values.std() / math.sqrt(len(values)))


def score_at(x: Array, points: Array, alpha: float, sigma: float) -> Array:
    """Return the fractional score at every row of ``x``."""
    return jax.jit(jax.vmap(lambda row: fractional_score(row, points, alpha, sigma)))(x)


@pytest.mark.parametrize(("alpha", "dim"), [(1.2, 1), (1.7, 3), (2.0, 2)])
@pytest.mark.usefixtures("x64")
def test_fractional_score_is_the_drift_of_the_mixture_at_the_points(alpha: float, dim: int) -> None:
    points, x = normals(12, (6, dim)) * 3, normals(13, (4, dim)) * 5
    mixture = targets.stable_mixture(alpha, points, np.full(6, 1 / 6), 0.7)
    assert mixture.fractional_drift is not None
    expected = jax.jit(jax.vmap(mixture.fractional_drift))(x)
    np.testing.assert_allclose(score_at(x, points, alpha, 0.7), expected, rtol=1e-10)


@pytest.mark.usefixtures("x64")
def test_fractional_score_on_the_line_is_the_limit_of_the_riesz_sum() -> None:
    points, x = jnp.array([[-1.0], [0.5], [3.0]]), jnp.array([[0.2], [2.0]])

    def logdensity(x: Array) -> Array:
        return jax.nn.logsumexp(stable.logpdf((x - points) / 0.8, 1.5))

    riesz = jax.jit(jax.vmap(riesz_drift(jax.grad(logdensity), 1.5, 4000, 0.02)))
    np.testing.assert_allclose(score_at(x, points, 1.5, 0.8), riesz(x), rtol=1e-3)


@pytest.mark.usefixtures("x64")
def test_fractional_score_at_two_is_the_gradient_of_the_kernel_density_estimate() -> None:
    points, x = normals(14, (6, 2)), normals(15, (3, 2))

    def logdensity(x: Array) -> Array:
        return jax.nn.logsumexp(-jnp.sum((x - points) ** 2, -1) / (2 * 2 * 0.6**2))

    np.testing.assert_allclose(score_at(x, points, 2.0, 0.6), jax.jit(jax.vmap(jax.grad(logdensity)))(x), rtol=1e-12)


def test_fractional_score_grows_linearly_far_out() -> None:
    x = jnp.array([[3e6, -4e6]])
    np.testing.assert_allclose(score_at(x, normals(16, (8, 2)), 1.5, 0.5), -x / (1.5 * 0.5**1.5), rtol=1e-5)


@pytest.mark.parametrize(("alpha", "sigma"), [(1.2, 0.1), (1.7, 4.0)])
@pytest.mark.usefixtures("x64")
def test_fractional_denoising_of_a_single_point_has_the_fractional_score_of_the_noise(
    alpha: float, sigma: float
) -> None:
    points, best = jnp.zeros((20, 2)), 1 / (alpha * sigma**alpha)

    @jax.jit
    def loss(theta: Any) -> Array:
        return fractional_denoising(linear(theta), points, KEY, alpha, sigma, scale=2 * sigma)

    assert loss(best) < 1e-24
    # ½ α σ^(2α-2) (θ - θ*)² |x̃|² / (1 + |x̃|²/r²) at θ = 0, in units of the noise
    noise = np.sum(np.asarray(stable.sample(KEY, alpha, (20,), 2)) ** 2, -1)
    np.testing.assert_allclose(loss(0.0), np.mean(noise / (1 + noise / 4)) / (2 * alpha), rtol=1e-10)


@pytest.mark.parametrize(
    ("alpha", "sigma", "centre", "scale"),
    [(1.2, 0.5, 0.0, 2.0), (1.7, 0.7, 1.0, 1.0), (2.0, 0.7, 0.0, 2.0)],
)
def test_fractional_denoising_of_stable_data_is_least_at_the_fractional_score_of_the_blurred_law(
    alpha: float, sigma: float, centre: float, scale: float
) -> None:
    """Data of scale one and noise of scale σ add up to scale ``(1 + σ^α)^(1/α)``; at α=2 this is N(0, 2 + 2σ²)."""
    best = 1 / (alpha * (1 + sigma**alpha))

    def slope(theta: float, key: Array) -> Array:
        key_data, key_noise = jax.random.split(key)
        points = stable.sample(key_data, alpha, (64,), 2)
        loss = partial(fractional_denoising, alpha=alpha, sigma=sigma, centre=centre, scale=scale)
        return jax.grad(lambda t: loss(linear(t), points, key_noise))(theta)

    found, further = over_keys(lambda key: jnp.stack([slope(theta, key) for theta in (best, 1.1 * best)]), 400).T
    assert abs(found.mean()) < STANDARD_ERRORS * standard_error(found)
    assert further.mean() > STANDARD_ERRORS * standard_error(further)  # so many draws would tell


def test_fractional_denoising_at_two_is_denoising_with_twice_the_variance() -> None:
    """Averaging the target changes the loss by a constant: the difference between two fields stays."""
    points, sigma = normals(17, (8, 3)), 0.6

    def gap(loss: Callable[[Callable[[Array], Array]], Array]) -> Array:
        return loss(lambda x: -jnp.tanh(x)) - loss(jnp.zeros_like)

    fractional = over_keys(
        lambda key: gap(lambda field: fractional_denoising(field, points, key, 2.0, sigma, scale=1e4)), 10_000
    )
    gaussian = over_keys(lambda key: gap(lambda score: denoising(score, points, key, math.sqrt(2) * sigma)), 10_000)
    bound = STANDARD_ERRORS * math.hypot(standard_error(fractional), standard_error(gaussian))
    assert abs(fractional.mean() - gaussian.mean()) < bound < 0.1 * abs(gaussian.mean())


def test_averaging_the_target_over_the_batch_lowers_its_variance() -> None:
    """Same noise and same weights: only the target differs from that of a single pair."""
    alpha, sigma = 1.5, 0.5
    best = 1 / (alpha * (1 + sigma**alpha))

    def slopes(key: Array) -> Array:
        key_data, key_noise = jax.random.split(key)
        points = stable.sample(key_data, alpha, (64,), 1)
        noise = sigma * stable.sample(key_noise, alpha, (64,), 1)

        def single(theta: Array) -> Array:
            x = points + noise
            residual = (-theta * x + noise / (alpha * sigma**alpha)) ** 2 / (1 + x**2)
            return 0.5 * alpha * sigma ** (2 * alpha - 2) * jnp.mean(residual)

        averaged = jax.grad(lambda t: fractional_denoising(linear(t), points, key_noise, alpha, sigma))
        return jnp.stack([averaged(best), jax.grad(single)(best)])

    averaged, single = over_keys(slopes, 400).T
    assert averaged.std() < 0.8 * single.std()


def test_far_points_do_not_overflow() -> None:
    points = jnp.array([[0.0], [1.0], [1e25]], jnp.float32)
    loss = jax.jit(jax.value_and_grad(lambda t: fractional_denoising(linear(t), points, KEY, 1.5, 0.5)))
    assert np.isfinite(loss(1.0)).all()


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.1, math.nan, None])
def test_index_without_a_drift_is_refused(alpha: Any) -> None:
    with pytest.raises(ValueError, match=r"^alpha must be a number in \(1, 2\].*, got"):
        fractional_denoising(linear(1.0), jnp.zeros((4, 3)), KEY, alpha, 1.0)
    with pytest.raises(ValueError, match=r"^alpha must be a number in \(1, 2\].*, got"):
        fractional_score(jnp.zeros(3), jnp.zeros((4, 3)), alpha, 1.0)


def test_places_must_fit_the_points() -> None:
    points = jnp.zeros((4, 3))
    loss = partial(fractional_denoising, linear(1.0), points, KEY, 1.5, 1.0)
    with pytest.raises(ValueError, match=r"^centre must have shape \(\) or \(3,\), got \(2,\)"):
        jax.eval_shape(partial(loss, centre=[0.0, 0.0]))
    with pytest.raises(ValueError, match=r"^scale must be a positive finite number, got 0"):
        jax.eval_shape(partial(loss, scale=0.0))
    with pytest.raises(ValueError, match=r"^x must be a single point of shape \(3,\), got shape \(2,\)"):
        fractional_score(jnp.zeros(2), points, 1.5, 1.0)
    with pytest.raises(ValueError, match=r"^points must have shape \(n, dim\) with at least one of each, got \(3,\)"):
        fractional_score(jnp.zeros(3), jnp.zeros(3), 1.5, 1.0)
