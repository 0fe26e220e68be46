"""The Student-t mixture: a density that integrates to one, draws that follow it, and a fit that nothing breaks."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla.learn import mixture
from mafla.learn.mixture import StudentMixture, fit_mixture

KEY = jax.random.key(0)
ERROR_RATE = 1e-6  # of the test of the draws, were the seed not fixed


def line() -> StudentMixture:
    whiteners = jnp.array([1.0, 0.5, 4.0])[:, None, None]
    return StudentMixture(
        jnp.log(jnp.array([0.5, 0.3, 0.2])), jnp.array([[-2.0], [1.0], [6.0]]), whiteners, jnp.array([1.0, 4.0, 30.0])
    )


def plane() -> StudentMixture:
    whiteners = jnp.array([[[1.0, 0.0], [0.7, 2.0]], [[0.5, 0.0], [-0.3, 1.0]]])
    return StudentMixture(
        jnp.log(jnp.array([0.6, 0.4])), jnp.array([[0.0, 1.0], [4.0, -3.0]]), whiteners, jnp.array([2.0, 5.0])
    )


def density(law: StudentMixture, points: np.ndarray) -> np.ndarray:
    return np.exp(np.asarray(jax.jit(jax.vmap(law.logdensity))(jnp.asarray(points, jnp.float32)), np.float64))


def bent_grid(count: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of the trapezoidal rule in asinh: close in the body, far into the tail."""
    t = np.linspace(-math.asinh(reach), math.asinh(reach), count)
    return np.sinh(t), np.cosh(t) * (t[1] - t[0])


def two_modes(rows: int, seed: int = 0) -> np.ndarray:
    """Draw a 0.7 share of Student-t with 3 degrees of freedom at (-5, 0), and one with 8 at (5, 2), twice as wide."""
    random = np.random.default_rng(seed)
    first = random.random(rows) < 0.7
    one = stats.multivariate_t([-5, 0], [[1, 0.5], [0.5, 1]], 3, seed=random).rvs(rows)
    other = stats.multivariate_t([5, 2], 4 * np.eye(2), 8, seed=random).rvs(rows)
    return np.asarray(np.where(first[:, None], one, other), np.float32)


@pytest.fixture(scope="module")
def fitted() -> StudentMixture:
    return fit_mixture(KEY, jnp.asarray(two_modes(20_000)))


def test_density_on_the_line_integrates_to_one() -> None:
    points, weights = bent_grid(40_001, 1e9)
    assert np.sum(density(line(), points[:, None]) * weights) == pytest.approx(1, abs=1e-5)


def test_density_in_the_plane_integrates_to_one() -> None:
    points, weights = bent_grid(1201, 1e5)
    pairs = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    assert np.sum(density(plane(), pairs) * np.outer(weights, weights).ravel()) == pytest.approx(1, abs=1e-4)


def test_density_is_that_of_scipy() -> None:
    law, points = plane(), np.random.default_rng(1).normal(size=(50, 2)) * 5
    expected = np.zeros(50)
    for log_weight, center, whitener, df in zip(*jax.tree.leaves(law), strict=True):
        shape = np.linalg.inv(np.asarray(whitener, np.float64).T @ np.asarray(whitener, np.float64))
        expected += np.exp(log_weight) * stats.multivariate_t(np.asarray(center, np.float64), shape, float(df)).pdf(
            points
        )
    np.testing.assert_allclose(density(law, points), expected, rtol=1e-4)


def test_draws_on_the_line_follow_the_density() -> None:
    draws = np.sort(np.asarray(line().sample(KEY, 100_000), np.float64)[:, 0])
    points, weights = bent_grid(40_001, 1e12)
    cdf = np.interp(draws, points, np.cumsum(density(line(), points[:, None]) * weights))
    steps = np.arange(len(draws) + 1) / len(draws)
    distance = max(np.max(steps[1:] - cdf), np.max(cdf - steps[:-1]))
    assert distance < math.sqrt(math.log(2 / ERROR_RATE) / (2 * len(draws)))  # Dvoretzky, Kiefer, Wolfowitz, Massart


def test_draws_in_the_plane_have_the_radii_of_their_component() -> None:
    whitener = jnp.array([[[1.0, 0.0], [0.7, 2.0]]])
    law = StudentMixture(jnp.zeros(1), jnp.array([[3.0, -1.0]]), whitener, jnp.array([2.5]))
    squared = np.asarray(jax.jit(lambda: jax.vmap(law.squared_radii)(law.sample(KEY, 50_000)))(), np.float64)[:, 0]
    assert stats.kstest(squared / 2, stats.f(2, 2.5).cdf).pvalue > ERROR_RATE


def test_no_step_of_the_fit_lowers_the_likelihood() -> None:
    """Up to rounding: half a unit in the last place of the mean is 5e-4 for the sum over 2000 rows."""
    rows = jnp.asarray(two_modes(2000))
    found = mixture._start(np.random.default_rng(0), np.asarray(rows), 3)
    step = jax.jit(mixture._step)
    likelihood = []
    for _ in range(60):
        likelihood.append(len(rows) * float(mixture._mean_loglikelihood(found, rows)))
        found = step(found, rows)
    assert np.min(np.diff(likelihood)) > -0.01
    assert likelihood[-1] > likelihood[0] + 100


def test_a_known_mixture_is_recovered(fitted: StudentMixture) -> None:
    """With the standard error of 20 000 rows times five: 0.016 for the weight, 0.05 for the centres, a fifth for df."""
    weights, order = np.exp(fitted.log_weights), np.argsort(fitted.centers[:, 0])
    assert len(weights) == 2
    np.testing.assert_allclose(weights[order], [0.7, 0.3], atol=0.016)
    np.testing.assert_allclose(fitted.centers[order], [[-5, 0], [5, 2]], atol=0.2)
    np.testing.assert_allclose(np.log(fitted.df[order]), np.log([3, 8]), atol=0.5)
    shapes = np.linalg.inv(np.asarray(fitted.whiteners)[order])
    np.testing.assert_allclose(shapes[0] @ shapes[0].T, [[1, 0.5], [0.5, 1]], atol=0.08)
    np.testing.assert_allclose(shapes[1] @ shapes[1].T, 4 * np.eye(2), atol=0.4)


def test_components_come_heaviest_first_and_without_empty_ones(fitted: StudentMixture) -> None:
    weights = np.exp(fitted.log_weights)
    assert np.all(np.diff(weights) <= 0)
    assert weights.sum() == pytest.approx(1, abs=1e-5)
    assert np.isfinite(fitted.log_weights).all()


def test_plain_student_rows_get_their_own_density() -> None:
    rows = jax.random.t(jax.random.key(3), 1.5, (10_000, 1))
    found = fit_mixture(KEY, rows)
    points = stats.t(1.5).ppf(np.linspace(0.001, 0.999, 500))
    error = np.log(density(found, points[:, None])) - stats.t(1.5).logpdf(points)
    assert np.mean(np.abs(error)) < 0.03
    assert np.max(np.abs(error)) < 0.2


def test_a_far_outlier_does_not_move_the_centre() -> None:
    rows = np.asarray(jax.random.t(jax.random.key(4), 3.0, (1000, 2)))
    before, after = (fit_mixture(KEY, jnp.asarray(data)) for data in (rows, np.vstack([rows[:-1], [[1e12, -1e12]]])))
    for name in ("centers", "whiteners", "log_weights"):
        np.testing.assert_allclose(getattr(after, name)[0], getattr(before, name)[0], atol=0.1)


def test_repeated_rows_do_not_make_it_singular() -> None:
    rows = jnp.concatenate([jnp.zeros((300, 2)), jax.random.normal(jax.random.key(5), (700, 2))])
    found = fit_mixture(KEY, rows)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    assert np.max(np.abs(found.whiteners)) <= 1 / mixture.LEAST_SPREAD * (1 + 1e-4)


@pytest.mark.slow
def test_many_columns_and_few_rows_give_a_finite_law() -> None:
    rows = jax.random.normal(jax.random.key(6), (500, 64))
    found = fit_mixture(KEY, rows)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    assert np.isfinite(density(found, np.asarray(rows))).all()
    assert np.isfinite(found.sample(KEY, 100)).all()


def test_the_same_key_gives_the_same_mixture() -> None:
    one, two = (fit_mixture(KEY, jnp.asarray(two_modes(1000))) for _ in range(2))
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(left, right)
