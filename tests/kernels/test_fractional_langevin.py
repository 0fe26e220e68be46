"""The fractional unadjusted Langevin algorithm: its formula, its Gaussian limit and its bias where that is known."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import stats

import mafla
from mafla import stable, targets
from mafla.kernels.base import Noise

from .support import dkw_band, ks_distance, many, normals, one_step, stable_cdf, units_apart, walk

FALSE_FAIL = 1e-9 / 20  # all CDF tests of this file together: 1e-9
SMALL, FULL = 100_000, 12_000_000
ALPHA, RATE, STEP = 1.5, 0.8, 0.7  # of the Ornstein-Uhlenbeck chain x' = (1 - λh) x + h^(1/α) ξ
OU_SCALE = (STEP / (1 - abs(1 - RATE * STEP) ** ALPHA)) ** (1 / ALPHA)


def spring(x: Array) -> Array:
    return -RATE * x


def ou(alpha: float = ALPHA) -> mafla.Kernel:
    return mafla.fula(spring, alpha, STEP, drift=spring)


@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.9, 2.0])
def test_move_is_the_formula(alpha: float) -> None:
    constant = math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    with jax.enable_x64(True):
        kernel = mafla.fula(lambda x: -(x**3), alpha, 0.3)
        x, z, log_a = (normals(i, shape, jnp.float64) for i, shape in enumerate([(50, 2), (50, 2), (50,)]))
        states, _ = many(kernel)(kernel.params, x, Noise(z, log_a))
        expected = x - 0.3 * constant * x**3 + 0.3 ** (1 / alpha) * jnp.sqrt(2 * jnp.exp(log_a))[:, None] * z
    np.testing.assert_allclose(states.position, expected, rtol=1e-12, atol=1e-12)


def test_drift_replaces_the_scaled_score() -> None:
    kernel = mafla.fula(lambda x: -100 * x, 1.3, 0.3, drift=lambda x: x + 5)
    np.testing.assert_allclose(kernel.init(jnp.array([1.0, -2.0])).drift, [6, 3])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_at_two_it_is_ula_to_a_few_units_in_the_last_place(dtype: np.dtype[np.floating]) -> None:
    target = targets.student_t(3, 4)
    with jax.enable_x64(True):
        x = 3 * normals(0, (1000, 4), dtype)
        ours, _ = one_step(mafla.fula(target.score, 2.0, 0.3), 1, x)
        theirs, _ = one_step(mafla.ula(target.score, 0.3), 1, x)
    assert units_apart(ours.position, theirs.position, x) <= 4


def test_ratio_of_two_coordinates_of_the_noise_is_cauchy() -> None:
    # true of an isotropic law, and not if each coordinate has a scale of its own
    path, _ = one_step(mafla.fula(lambda x: 0 * x, 1.2, 1.0), 2, jnp.zeros((SMALL, 2)))
    ratio = np.asarray(path.position[:, 0] / path.position[:, 1])
    assert ks_distance(ratio, stats.cauchy.cdf) <= dkw_band(SMALL, FALSE_FAIL)


def ou_error(start: Array, steps: int) -> float:
    return ks_distance(walk(ou(), 4, start, steps).last[:, 0], stable_cdf(ALPHA, OU_SCALE))


def stationary(size: int) -> Array:
    return OU_SCALE * stable.sample(jax.random.key(3), ALPHA, (size,))


@pytest.mark.parametrize(("start", "steps"), [(stationary, 1), (lambda n: jnp.zeros((n, 1)), 20)], ids=["warm", "cold"])
def test_bias_of_the_linear_chain_is_the_known_one(start: Callable[[int], Array], steps: int) -> None:
    assert ou_error(start(SMALL), steps) <= dkw_band(SMALL, FALSE_FAIL)


def test_known_bias_is_not_the_law_of_the_continuous_process() -> None:
    continuous = (1 / (ALPHA * RATE)) ** (1 / ALPHA)
    draws = walk(ou(), 4, jnp.zeros((SMALL, 1)), 20).last[:, 0]
    assert ks_distance(draws, stable_cdf(ALPHA, continuous)) > dkw_band(SMALL, FALSE_FAIL)


@pytest.mark.slow
@pytest.mark.parametrize(("start", "steps"), [(stationary, 1), (lambda n: jnp.zeros((n, 1)), 20)], ids=["warm", "cold"])
def test_cdf_of_the_linear_chain_is_right_to_two_in_a_thousand(start: Callable[[int], Array], steps: int) -> None:
    # the true CDF is within the band of the empirical one
    assert ou_error(start(FULL), steps) + dkw_band(FULL, FALSE_FAIL) <= 0.002
