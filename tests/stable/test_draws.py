"""Draws follow the law they claim, to the ends of its tails, and are never NaN or infinite."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla import stable
from mafla.stable.draws import _scale_parts, amplitude, log_scale_at
from mafla.stable.table import log_moment

FALSE_ALARM = 1e-9


def band(n: int, comparisons: int) -> float:
    """Return how far an empirical CDF strays from the true one (Dvoretzky-Kiefer-Wolfowitz-Massart)."""
    return math.sqrt(math.log(2 * comparisons / FALSE_ALARM) / (2 * n))


@pytest.mark.parametrize("alpha", [0.7, 1.2, 1.5, 1.9, 1.999])
def test_one_dimension_follows_scipy(alpha: float) -> None:
    x = np.sort(np.abs(np.asarray(stable.sample(jax.random.key(1), alpha, (400_000,)))[:, 0]))
    grid = np.quantile(x, np.linspace(0.05, 0.99, 12))
    expected = 2 * stats.levy_stable.cdf(grid, alpha, 0.0) - 1
    assert np.max(np.abs(np.searchsorted(x, grid) / len(x) - expected)) < band(len(x), 5)


def test_two_is_the_gaussian_of_variance_two() -> None:
    x = np.asarray(stable.sample(jax.random.key(2), 2.0, (300_000,), dim=2)).ravel()
    assert stats.kstest(x / math.sqrt(2), stats.norm.cdf).pvalue > FALSE_ALARM
    assert not np.any(stable.log_scale(jax.random.key(0), 2.0, (10,)))


@pytest.mark.parametrize(("alpha", "dim"), [(0.6, 2), (1.2, 2), (1.5, 10), (1.9, 3), (1.999, 5)])
def test_characteristic_function(alpha: float, dim: int) -> None:
    n, lengths = 400_000, np.array([0.2, 0.7, 1.3, 2.0])
    x = np.asarray(stable.sample(jax.random.key(3), alpha, (n,), dim), np.float64)
    directions = np.random.default_rng(4).normal(size=(4, dim))
    directions *= (lengths / np.linalg.norm(directions, axis=1))[:, None]
    phase = x @ directions.T
    # cos and sin lie in [-1, 1], so Hoeffding's bound holds although x has no variance.
    bound = math.sqrt(2 * math.log(2 * 5 * 8 / FALSE_ALARM) / n)
    assert np.max(np.abs(np.cos(phase).mean(0) - np.exp(-(lengths**alpha)))) < bound
    assert np.max(np.abs(np.sin(phase).mean(0))) < bound


@pytest.mark.parametrize(("alpha", "dim"), [(1.2, 1), (1.5, 2), (1.8, 10), (1.95, 32)])
def test_radius_follows_the_density_used_in_the_ratio(alpha: float, dim: int) -> None:
    x = np.asarray(stable.sample(jax.random.key(5), alpha, (400_000,), dim), np.float64)
    rho = np.sort(np.linalg.norm(x, axis=1))
    log_rho = np.linspace(-12, 35, 6001)
    with jax.enable_x64(True):
        points = jnp.zeros((len(log_rho), dim)).at[:, 0].set(jnp.exp(jnp.asarray(log_rho)))
        log_f = np.asarray(stable.logpdf(points, alpha))
    sphere = math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2)
    mass = np.exp(log_f + dim * log_rho + sphere)
    cdf = np.concatenate([[0], np.cumsum((mass[1:] + mass[:-1]) / 2 * np.diff(log_rho))])
    empirical = np.searchsorted(rho, np.exp(log_rho)) / len(rho)
    assert np.max(np.abs(empirical - cdf)) < band(len(rho), 4)


def test_all_coordinates_share_one_scale() -> None:
    # With a common scale a coordinate is extreme together with the others: P(both > t) / P(one > t) does not vanish.
    x = np.abs(np.asarray(stable.sample(jax.random.key(6), 1.2, (400_000,), dim=2)))
    far = np.quantile(x, 0.999)
    assert np.mean((x > far).all(1)) > 0.2 * np.mean(x[:, 0] > far)


@pytest.mark.parametrize("alpha", [0.4, 1.0, 1.5, 1.9])
def test_scale_has_its_laplace_transform(alpha: float) -> None:
    a = np.exp(np.asarray(stable.log_scale(jax.random.key(7), alpha, (400_000,)), np.float64))
    s = np.array([0.1, 1.0, 5.0])
    bound = math.sqrt(math.log(2 * 12 / FALSE_ALARM) / (2 * len(a)))
    assert np.max(np.abs(np.exp(-s[:, None] * a).mean(1) - np.exp(-(s ** (alpha / 2))))) < bound


def test_negative_moments_are_the_closed_form() -> None:
    # A^(-1) has all moments, so the central limit theorem applies to it.
    inverse = np.exp(-np.asarray(stable.log_scale(jax.random.key(8), 1.5, (400_000,)), np.float64))
    error = inverse.mean() - math.exp(log_moment(1.5, 1.0))
    assert abs(error) < 6 * inverse.std() / math.sqrt(len(inverse))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0, 1.5, 1.999, 1.999999])
def test_extreme_bits_give_finite_scales(alpha: float, dtype: type) -> None:
    edge = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    with jax.enable_x64(True):
        words = [jnp.asarray(word.ravel()) for word in np.meshgrid(edge, edge, edge, edge)]
        log_a = log_scale_at(_scale_parts(words, jnp.dtype(dtype)), alpha)
        assert log_a.dtype == dtype
        assert np.isfinite(log_a).all()
        assert np.isfinite(amplitude(log_a)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tail_of_the_scale_is_not_capped(dtype: type) -> None:
    # The angle nearest to π comes with probability 2^-64; A ~ (π - U)^(-2/α) must have grown by the full power there.
    with jax.enable_x64(True):
        words = [jnp.array([word], jnp.uint32) for word in (2**32 - 1, 2**32 - 1, 2**31, 0)]
        drawn = log_scale_at(_scale_parts(words, jnp.dtype(dtype)), 1.5)[0]
        log_a, length = float(drawn), float(amplitude(drawn))
    assert log_a == pytest.approx(64 * math.log(2) * 2 / 1.5, abs=3)
    assert length == pytest.approx(math.sqrt(2) * math.exp(log_a / 2), rel=1e-5)


def exceedances_and_faults(alpha: float, total: int, batch: int) -> tuple[np.ndarray, int]:
    """Count draws of |x| beyond the quantiles of order 1e-2 … 1e-6, and those that are not finite."""
    levels = 10.0 ** -np.arange(2, 7)
    limits = np.array([radius_quantile(alpha, level) for level in levels], np.float32)

    @jax.jit
    def count(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = jnp.abs(stable.sample(key, alpha, (batch,))[:, 0])
        return jnp.sum(x[:, None] > limits, axis=0), jnp.sum(~jnp.isfinite(x))

    counts = [count(key) for key in jax.random.split(jax.random.key(9), total // batch)]
    return np.sum([c for c, _ in counts], axis=0), int(sum(f for _, f in counts))


def radius_quantile(alpha: float, level: float) -> float:
    """Return t with P(|x| > t) = level in one dimension, by the density."""
    if alpha == 2:
        return float(math.sqrt(2) * stats.norm.isf(level / 2))
    log_t = np.linspace(60, -2, 20_001)
    with jax.enable_x64(True):
        density = np.exp(np.asarray(stable.logpdf(jnp.exp(jnp.asarray(log_t))[:, None], alpha)) + log_t)
    beyond = np.cumsum(2 * (density[1:] + density[:-1]) / 2 * -np.diff(log_t))
    return float(np.exp(np.interp(level, beyond, log_t[1:])))


def check_tail(alpha: float, total: int, batch: int) -> None:
    counts, faults = exceedances_and_faults(alpha, total, batch)
    assert faults == 0
    expected = total * 10.0 ** -np.arange(2, 7)
    low, high = stats.poisson.interval(0.999, expected)
    assert np.all((counts >= low) & (counts <= high)), (counts, low, high)


@pytest.mark.parametrize("alpha", [1.2, 2.0])
def test_tail_exceedances(alpha: float) -> None:
    check_tail(alpha, 8 * 10**6, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.8, 1.05, 1.5, 1.95, 1.999, 2.0])
def test_hundred_million_draws(alpha: float) -> None:
    check_tail(alpha, 10**8, 2 * 10**6)


def test_same_key_same_draws_and_float64() -> None:
    key = jax.random.key(0)
    assert np.array_equal(stable.sample(key, 1.5, (4, 3), 2), stable.sample(key, 1.5, (4, 3), 2))
    with jax.enable_x64(True):
        assert stable.sample(key, 1.5, (4,), 2).dtype == np.float64
        assert stable.sample(key, 1.5, (4,), 2, dtype=jnp.float32).dtype == np.float32


def test_works_under_vmap_of_keys() -> None:
    keys = jax.random.split(jax.random.key(0), 5)
    batched = jax.vmap(lambda key: stable.sample(key, 1.5, (7,), 2))(keys)
    single = jnp.stack([stable.sample(key, 1.5, (7,), 2) for key in keys])
    np.testing.assert_allclose(batched, single, rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, -0.5, 2.0001, math.nan, math.inf])
def test_bad_alpha(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be a number in \(0, 2\], got"):
        stable.sample(jax.random.key(0), alpha, (2,))


def test_bad_dim_and_dtype() -> None:
    with pytest.raises(ValueError, match="dim must be a whole number of at least 1, got 0"):
        stable.sample(jax.random.key(0), 1.5, (2,), dim=0)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int32"):
        stable.sample(jax.random.key(0), 1.5, (2,), dtype=jnp.dtype("int32"))


def test_shapes_may_be_numbers_or_lists() -> None:
    key = jax.random.key(0)
    for shape in (np.int64(4), 4, (4,), [4]):
        assert stable.sample(key, 1.5, shape, 2).shape == (4, 2)  # type: ignore[arg-type]
        assert stable.log_scale(key, 1.5, shape).shape == (4,)  # type: ignore[arg-type]
    for bad in ("four", 2.5, (4, -1), None):
        with pytest.raises(ValueError, match="shape must be a whole number of at least 0, got"):
            stable.sample(key, 1.5, bad)  # type: ignore[arg-type]
