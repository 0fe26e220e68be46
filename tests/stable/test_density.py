"""The density against an independent high-precision oracle, closed forms, and what a density and a score must be."""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from mafla import stable
from mafla.stable.table import radial_table

ORACLE = json.loads((Path(__file__).parents[1] / "data" / "stable_density.json").read_text())
ROWS = np.array(ORACLE["rows"])  # dim, alpha, rho, log density, log weight
LAWS = sorted({(int(dim), float(alpha)) for dim, alpha in ROWS[:, :2]})


def at_radius(rho: np.ndarray, dim: int, dtype: type) -> np.ndarray:
    """Return points of the given lengths, spread over all coordinates."""
    direction = np.random.default_rng(dim).normal(size=dim)
    return (rho[:, None] * (direction / np.linalg.norm(direction))).astype(dtype)


def oracle(dim: int, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = ROWS[(ROWS[:, 0] == dim) & (ROWS[:, 1] == alpha)]
    return rows[:, 2], rows[:, 3], rows[:, 4]


@pytest.mark.parametrize(("dim", "alpha"), LAWS)
def test_float64_agrees_with_the_oracle_to_1e_6(dim: int, alpha: float) -> None:
    rho, log_density, log_weight = oracle(dim, alpha)
    with jax.enable_x64(True):
        x = at_radius(rho, dim, np.float64)
        error = np.abs(np.asarray(stable.logpdf(jnp.asarray(x), alpha)) - log_density)
        score = np.asarray(stable.score(jnp.asarray(x), alpha))
    assert error.max() <= 1e-6
    expected = -np.exp(log_weight)[:, None] * x
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize(("dim", "alpha"), LAWS)
def test_float32_agrees_with_the_oracle_to_1e_4(dim: int, alpha: float) -> None:
    # Where |log f| passes about 500, the spacing of float32 numbers is itself of this size: one such unit is allowed.
    rho, log_density, _ = oracle(dim, alpha)
    x = at_radius(rho, dim, np.float32)
    # Rounding x changes its length by up to 1e-7 of it, and log f far out by d + α times that: remove this part.
    length = np.linalg.norm(x.astype(np.float64), axis=1)
    shift = np.log(np.maximum(length, 1e-30) / np.maximum(rho, 1e-30))
    with jax.enable_x64(True):
        slope = np.sum(np.asarray(stable.score(jnp.asarray(x, jnp.float64), alpha)) * x, axis=1)
    error = np.abs(np.asarray(stable.logpdf(jnp.asarray(x), alpha), np.float64) - log_density - slope * shift)
    assert np.all(error <= 1e-4 + np.spacing(np.abs(log_density).astype(np.float32)))


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8])
def test_one_dimension_agrees_with_scipy(alpha: float) -> None:
    x = np.array([0.05, 0.7, 3.0, 20.0])
    expected = stats.levy_stable.pdf(x, alpha, 0.0)
    np.testing.assert_allclose(np.exp(stable.logpdf(jnp.asarray(x)[:, None], alpha)), expected, rtol=1e-4)


@pytest.mark.parametrize("dim", [1, 2, 7, 100])
def test_closed_forms_at_one_and_two(dim: int) -> None:
    with jax.enable_x64(True):
        x = jnp.asarray(at_radius(np.array([0.0, 0.1, 1.0, 30.0]), dim, np.float64))
        square = jnp.sum(x * x, -1)
        cauchy = gammaln((dim + 1) / 2) - (dim + 1) / 2 * (math.log(math.pi) + jnp.log1p(square))
        np.testing.assert_allclose(stable.logpdf(x, 1.0), cauchy, rtol=1e-12)
        np.testing.assert_allclose(stable.logpdf(x, 2.0), -square / 4 - dim / 2 * math.log(4 * math.pi), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.7, 1.3, 1.9])
@pytest.mark.parametrize("dim", [1, 2, 3, 10, 50])
def test_density_integrates_to_one(alpha: float, dim: int) -> None:
    with jax.enable_x64(True):
        log_rho = np.linspace(-25, 60, 20_001)  # P(|x| > e^60) < e^(-42)
        rho = jnp.exp(jnp.asarray(log_rho))
        log_f = stable.logpdf(jnp.zeros((len(rho), dim)).at[:, 0].set(rho), alpha)
        sphere = math.log(2) + dim / 2 * math.log(math.pi) - gammaln(dim / 2)
        total = np.trapezoid(np.exp(np.asarray(log_f) + dim * log_rho + sphere), log_rho)
    assert total == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.4, 1.99, 2.0])
def test_score_is_the_gradient_by_finite_differences(alpha: float) -> None:
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(0).standard_t(2, size=(200, 3)) * 3)
        h = 1e-4
        for axis in range(3):
            shift = jnp.zeros(3).at[axis].set(h)
            slope = (stable.logpdf(x + shift, alpha) - stable.logpdf(x - shift, alpha)) / (2 * h)
            np.testing.assert_allclose(stable.score(x, alpha)[:, axis], slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_jit_vmap_and_grad(alpha: float) -> None:
    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, 2)), jnp.float32).at[0].set(0)
    batch = stable.logpdf(x, alpha)
    single = jax.vmap(jax.jit(lambda point: stable.logpdf(point, alpha)))(x)
    np.testing.assert_allclose(single, batch, rtol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(lambda point: stable.logpdf(point, alpha)))(x), stable.score(x, alpha), rtol=1e-6
    )


def test_second_derivative_is_that_of_the_score() -> None:
    with jax.enable_x64(True):
        for rho in (0.0, 0.5, 4.0, 50.0):
            x = jnp.array([rho, 0.0])
            hessian = jax.hessian(lambda point: stable.logpdf(point, 1.5))(x)
            h = 1e-4
            columns = [(stable.score(x + h * e, 1.5) - stable.score(x - h * e, 1.5)) / (2 * h) for e in jnp.eye(2)]
            np.testing.assert_allclose(hessian, jnp.stack(columns, axis=1), rtol=1e-5, atol=1e-8)


def test_far_points_do_not_overflow() -> None:
    x = jnp.full((3, 2), 1e30, jnp.float32)
    assert np.isfinite(stable.logpdf(x, 1.5)).all()
    np.testing.assert_allclose(stable.score(x, 1.5) * x, -(2 + 1.5) / 2, rtol=1e-4)


def test_table_is_built_once() -> None:
    assert radial_table(1.37, 5) is radial_table(1.37, 5)


@pytest.mark.parametrize("alpha", [0.5, -1.0, 2.1, math.nan, "two", None])
def test_bad_alpha_is_named(alpha: object) -> None:
    with pytest.raises(ValueError, match=r"alpha must be a number in \(0\.5, 2\].*got"):
        stable.logpdf(jnp.zeros(2), alpha)  # type: ignore[arg-type]


def test_traced_alpha_is_refused() -> None:
    with pytest.raises(ValueError, match=r"alpha must be .* known before tracing"):
        jax.jit(stable.logpdf)(jnp.zeros(2), 1.5)


def test_scalar_point_is_refused() -> None:
    with pytest.raises(ValueError, match="x must have the dimension of the law as its last axis"):
        stable.logpdf(jnp.float32(1.0), 1.5)
