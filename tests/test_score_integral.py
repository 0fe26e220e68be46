"""A log density from a score: the integral is right near and far, its gradient is the score, its error is told."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla import targets

DIM = 4
STUDENT = targets.student_t(1.5, DIM)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0, 1e6, 1e12])
def test_differences_are_those_of_the_log_density(length: float) -> None:
    points = np.random.default_rng(0).normal(size=(50, DIM))
    points *= length / np.linalg.norm(points, axis=1)[:, None]
    logdensity = mafla.integrate_score(STUDENT.score, nodes=64)
    exact = STUDENT.logdensity(jnp.asarray(points)) - STUDENT.logdensity(jnp.zeros(DIM))
    np.testing.assert_allclose(jax.vmap(logdensity)(jnp.asarray(points)), exact, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_the_centre_and_the_scale_may_be_elsewhere() -> None:
    center = np.array([100.0, -50.0, 0.0, 7.0])
    logdensity = mafla.integrate_score(lambda x: STUDENT.score((x - center) / 20) / 20, center, scale=20.0)
    points = jnp.asarray(center + 40 * np.random.default_rng(1).normal(size=(20, DIM)), jnp.float32)
    exact = STUDENT.logdensity((points - center) / 20) - STUDENT.logdensity(jnp.zeros(DIM))
    np.testing.assert_allclose(jax.vmap(logdensity)(points), exact, rtol=1e-4, atol=1e-4)


def test_the_centre_is_where_it_is_as_seen_from_afar() -> None:
    """In single precision the point, less the way to it, is not the centre any more."""
    logdensity = mafla.integrate_score(lambda x: STUDENT.score(x - 30), center=30.0, nodes=64)
    points = jnp.asarray(10.0 ** np.arange(16)[:, None] * np.ones(DIM), jnp.float32)
    exact = STUDENT.logdensity(points - 30) - STUDENT.logdensity(jnp.zeros(DIM))
    np.testing.assert_allclose(jax.vmap(logdensity)(points), exact, rtol=1e-5, atol=1e-3)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_there_is_no_density_where_squares_overflow(dtype: Any) -> None:
    """A score that overflows is zero there, and a law that goes on for ever would draw all chains to it."""
    logdensity = mafla.integrate_score(lambda x: -4 * x / (1 + x @ x), nodes=64)
    largest = 0.1 * float(np.sqrt(np.finfo(dtype).max))
    near, far = (float(logdensity(jnp.full(DIM, length, dtype))) for length in (1e-4 * largest, largest))
    assert near == pytest.approx(-2 * np.log1p(DIM * (1e-4 * largest) ** 2), rel=1e-3)
    assert far == -np.inf


def test_the_gradient_is_the_score_itself() -> None:
    points = jnp.asarray(np.random.default_rng(2).normal(size=(20, DIM)), jnp.float32)
    found = jax.vmap(jax.grad(mafla.integrate_score(STUDENT.score, nodes=2)))(points)
    np.testing.assert_array_equal(found, jax.vmap(STUDENT.score)(points))


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_the_error_is_near_the_truth_and_falls_with_nodes() -> None:
    mixture = targets.gaussian_mixture([[-8.0, 0.0], [8.0, 0.0]], [0.5, 0.5])
    points = jnp.asarray(mixture.sample(jax.random.key(0), 100))
    errors = []
    for nodes in (8, 32, 128):
        logdensity = mafla.integrate_score(mixture.score, nodes=nodes)
        exact = mixture.logdensity(points) - mixture.logdensity(jnp.zeros(2))
        true = np.abs(np.asarray(jax.vmap(logdensity)(points) - exact)).max()
        told = logdensity.error(points).max()
        assert 0.5 * true < told + 1e-8 < 3 * true + 1e-7
        errors.append(told)
    assert errors[0] > 100 * errors[2]


def test_the_centre_itself_and_nothing_else_is_zero() -> None:
    logdensity = mafla.integrate_score(STUDENT.score)
    assert float(logdensity(jnp.zeros(DIM))) == 0
    assert np.isfinite(np.asarray(jax.grad(logdensity)(jnp.zeros(DIM)))).all()


@pytest.mark.slow
def test_tails_are_right_when_all_there_is_is_a_score() -> None:
    kernel = mafla.heavy_tail(mafla.integrate_score(STUDENT.score))
    start = jax.random.normal(jax.random.key(0), (64, DIM))
    draws = mafla.sample(kernel, jax.random.key(1), start, 2000, warmup=500, progress=False)["posterior"][
        "x"
    ].to_numpy()
    squares = (draws.astype(np.float64) ** 2).sum(-1) / DIM
    for level in (0.5, 0.95, 0.99):
        shares = (squares > stats.f(DIM, 1.5).ppf(level)).mean(1)
        assert abs(shares.mean() - (1 - level)) < 5 * shares.std() / 8


def test_a_centre_of_another_dimension_is_refused() -> None:
    logdensity = mafla.integrate_score(STUDENT.score, center=[0.0, 5.0])
    with pytest.raises(ValueError, match="center must be a number or of the dimension of positions, 4, got 2"):
        logdensity(jnp.zeros(DIM))


@pytest.mark.usefixtures("x64")
def test_nodes_are_doubled_until_the_error_is_small() -> None:
    mixture = targets.gaussian_mixture([[-8.0, 0.0], [8.0, 0.0]], [0.5, 0.5])
    points = np.asarray(mixture.sample(jax.random.key(0), 100))
    coarse = mafla.integrate_score(mixture.score, nodes=8)
    fine = coarse.refined(points, 1e-3)
    assert coarse.error(points).max() > 1e-3 >= fine.error(points).max()
    assert mafla.integrate_score(mixture.score, nodes=fine.nodes // 2).error(points).max() > 1e-3
    exact = mixture.logdensity(jnp.asarray(points)) - mixture.logdensity(jnp.zeros(2))
    np.testing.assert_allclose(jax.jit(jax.vmap(fine))(jnp.asarray(points)), exact, atol=2e-3)
    assert fine.refined(points, 1e-3) is fine


def test_where_there_is_no_integral_it_cannot_be_refined() -> None:
    logdensity = mafla.integrate_score(lambda x: jnp.where(x > 5, jnp.nan, -x), nodes=4)
    with pytest.raises(ValueError, match=r"points must have a finite integral of the score, got none at points\[1\]"):
        logdensity.refined([[1.0], [10.0]], 1e-6)


def test_a_tolerance_that_no_number_of_nodes_reaches_is_said_with_what_was_reached() -> None:
    logdensity = mafla.integrate_score(lambda x: jnp.where(x > 0.3, -1.0, 1.0), nodes=2)
    with pytest.raises(ValueError, match=r"tolerance must be .* 2048 nodes leave an error of .*, got 1e-09"):
        logdensity.refined(np.ones((3, 1)), 1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": 3}, "score must be a function"),
        ({"scale": 0.0}, "scale must be a positive finite number, got 0"),
        ({"nodes": 1}, "nodes must be a whole number of at least 2, got 1"),
        ({"center": [np.nan]}, r"center must be finite, got nan at \[0\]"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mafla.integrate_score(**{"score": STUDENT.score} | options)
