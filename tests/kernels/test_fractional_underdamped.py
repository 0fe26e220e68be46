"""Fractional underdamped dynamics: exact where theory gives the bias, second order in the step where it does not."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla import stable, targets
from mafla.kernels.base import Noise, Pace, StepSize

from .support import Numbers, batch_noise, dkw_band, ks_distance, stable_cdf

FALSE_FAIL = 1e-9 / 20


def positions(kernel: mafla.Kernel, x: jax.Array, v: jax.Array, steps: int) -> tuple[Numbers, Numbers]:
    """Run from positions x and velocities v."""
    advance = jax.vmap(kernel.move, in_axes=(None, 0, 0))

    @jax.jit
    def run(x: jax.Array, v: jax.Array, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        states = jax.vmap(kernel.init)(x)._replace(velocity=v)
        states, _ = jax.lax.scan(
            lambda now, key: (advance(kernel.params, now, batch_noise(kernel, key, x))[0], None), states, keys
        )
        return states.position, states.velocity

    last, velocity = run(x, v, jax.random.split(jax.random.key(9), steps))
    return np.asarray(last)[:, 0], np.asarray(velocity)[:, 0]


@pytest.mark.parametrize("friction", [0.5, 2.0])
def test_at_two_the_bias_on_a_gaussian_is_the_known_one(friction: float) -> None:
    # half a kick, drift, half a kick keep v²/2 + (1 - τ²/4) x²/2, and the rest keeps v ~ N(0, 1)
    size, tau = 100_000, 1.0
    kernel = mafla.fuld(lambda x: -x, 2.0, tau, friction=friction)
    rest = jnp.zeros((size, 1))
    x, v = positions(kernel, rest, rest, 80)
    band = dkw_band(size, FALSE_FAIL)
    assert ks_distance(x, stats.norm(0, (1 - tau**2 / 4) ** -0.5).cdf) <= band
    assert ks_distance(v, stats.norm.cdf) <= band
    assert ks_distance(x, stats.norm.cdf) > band


def stable_error(size: int, alpha: float, tau: float, time: float) -> tuple[float, float]:
    """CDF errors of position and velocity, started at the law of continuous time."""
    target, scale = targets.stable(alpha, [0.0]), alpha ** (-1 / alpha)
    x = target.sample(jax.random.key(1), size)
    v = scale * stable.sample(jax.random.key(2), alpha, (size,))
    last, velocity = positions(mafla.fuld(target.score, alpha, tau), x, v, round(time / tau))
    return ks_distance(last, stable_cdf(alpha)), ks_distance(velocity, stable_cdf(alpha, scale))


def test_small_steps_leave_a_stable_law_and_its_velocity_alone() -> None:
    size = 100_000
    assert max(stable_error(size, 1.5, 0.25, 8)) <= dkw_band(size, FALSE_FAIL)


@pytest.mark.slow
def test_bias_on_a_stable_law_is_of_second_order() -> None:
    size = 2_000_000
    band = dkw_band(size, FALSE_FAIL)
    coarse, fine = stable_error(size, 1.5, 2.0, 20)[0], stable_error(size, 1.5, 1.0, 20)[0]
    # within the bands, halving the step divides the error by more than 2.8 = 2^1.5
    assert fine - band > 0
    assert (coarse - band) / (fine + band) > 2**1.5


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nonfinite_score_is_turned_down_and_reported(value: float) -> None:
    kernel = mafla.fuld(lambda x: jnp.where(x > 0, value, -x), 1.5, 1.0)
    state = kernel.init(jnp.array([-0.1]))._replace(velocity=jnp.array([1.0]))
    after, info = jax.jit(kernel.step)(jax.random.key(0), state)
    assert bool(info.is_nonfinite)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, after, state))


def test_step_size_is_the_users() -> None:
    kernel = mafla.fuld(lambda x: -x, 1.5, 0.1)
    assert kernel.tune(StepSize(0.1), None, None, Pace(1.0, 0.5)) == StepSize(0.1)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_friction_is_positive(value: float) -> None:
    with pytest.raises(ValueError, match="friction must be a positive finite number, got"):
        mafla.fuld(lambda x: -x, 1.5, 0.1, friction=value)


@pytest.mark.parametrize("friction", [1e-9, 1e-5, 1e-2])
def test_noise_of_a_little_friction_is_not_rounded_away(friction: float) -> None:
    kernel = mafla.fuld(lambda x: 0 * x, 1.5, 1.0, friction=friction)
    state, noise = kernel.init(jnp.zeros(1)), Noise(jnp.ones(1), jnp.zeros(()))  # sqrt(2A) z = sqrt(2)
    refreshed = float(kernel.move(kernel.params, state, noise)[0].velocity[0])
    exact = math.sqrt(2) * (-math.expm1(-1.5 * friction) / 1.5) ** (1 / 1.5)
    assert refreshed == pytest.approx(exact, rel=1e-5)
