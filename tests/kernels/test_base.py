"""The one accept/reject step, the noise that all kernels share, and the rule that tunes the step size."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla.kernels.base import Info, Pace, StepSize, WalkState, draw_noise, metropolis, tune_step_size, unadjusted

from .support import dkw_band, ks_distance, stable_cdf

CURRENT = WalkState(jnp.array([1.0, 2.0]), jnp.array(-3.0))
NOISE = jax.jit(draw_noise(1.5, accept=True), static_argnums=(1, 2))


def decide(position: list[float], logdensity: float, log_ratio: float, log_uniform: float) -> tuple[WalkState, Info]:
    proposed = WalkState(jnp.array(position), jnp.array(logdensity))
    state, info = metropolis(jnp.array(log_uniform), jnp.array(log_ratio), proposed, CURRENT)
    return state, info


@pytest.mark.parametrize(("log_uniform", "accepts"), [(-0.71, True), (-0.69, False)])
def test_acceptance_is_the_ratio(log_uniform: float, accepts: bool) -> None:
    state, info = decide([5.0, 6.0], -4.0, -0.7, log_uniform)
    assert bool(info.is_accepted) == accepts
    assert float(info.acceptance_rate) == pytest.approx(math.exp(-0.7), rel=1e-6)
    assert float(state.logdensity) == (-4.0 if accepts else -3.0)
    assert state.position.tolist() == ([5.0, 6.0] if accepts else [1.0, 2.0])


def test_acceptance_rate_is_at_most_one() -> None:
    assert float(decide([5.0, 6.0], -1.0, 2.0, -0.1)[1].acceptance_rate) == 1


@pytest.mark.parametrize(
    ("position", "logdensity", "log_ratio"),
    [
        ([math.nan, 0.0], 0.0, 1.0),
        ([math.inf, 0.0], 0.0, 1.0),
        ([0.0, 0.0], math.nan, 1.0),
        ([0.0, 0.0], math.inf, math.inf),
        ([0.0, 0.0], 0.0, math.nan),
    ],
)
def test_nonfinite_proposal_is_turned_down_and_reported(
    position: list[float], logdensity: float, log_ratio: float
) -> None:
    state, info = decide(position, logdensity, log_ratio, -math.inf)
    assert state.position.tolist() == [1.0, 2.0]
    assert (bool(info.is_accepted), bool(info.is_nonfinite), float(info.acceptance_rate)) == (False, True, 0.0)


def test_zero_density_is_turned_down_and_not_reported() -> None:
    state, info = decide([5.0, 6.0], -math.inf, -math.inf, -math.inf)
    assert state.position.tolist() == [1.0, 2.0]
    assert (bool(info.is_accepted), bool(info.is_nonfinite), float(info.acceptance_rate)) == (False, False, 0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_unadjusted_move_to_a_nonfinite_point_is_turned_down_and_reported(value: float) -> None:
    state, info = unadjusted(WalkState(jnp.array([value, 0.0]), jnp.array(0.0)), CURRENT)
    assert state.position.tolist() == [1.0, 2.0]
    assert (bool(info.is_accepted), bool(info.is_nonfinite)) == (False, True)


def test_a_step_is_the_move_of_its_noise() -> None:
    kernel = mafla.exact_mafla(lambda x: -jnp.log1p(x @ x), 1.5, 0.5)
    key, state = jax.random.key(3), kernel.init(jnp.ones(2))
    stepped, _ = jax.jit(kernel.step)(key, state)
    moved, _ = jax.jit(lambda now: kernel.move(kernel.params, now, kernel.noise(key, (2,), jnp.float32)))(state)
    np.testing.assert_allclose(stepped.position, moved.position, rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_noise_has_the_dtype_asked_for(dtype: Any) -> None:
    with jax.enable_x64(True):
        assert {leaf.dtype for leaf in NOISE(jax.random.key(0), (2, 5), dtype)} == {jnp.dtype(dtype)}


def test_normals_and_uniforms_do_not_depend_on_the_kernel() -> None:
    draw = jax.jit(draw_noise(None, accept=True), static_argnums=(1, 2))
    gaussian = draw(jax.random.key(0), (2, 5), jnp.float32)
    stable = NOISE(jax.random.key(0), (2, 5), jnp.float32)
    assert gaussian.log_uniform is not None
    assert stable.log_uniform is not None
    assert jnp.array_equal(gaussian.normal, stable.normal)
    assert jnp.array_equal(gaussian.log_uniform, stable.log_uniform)


def test_coordinates_share_their_scale() -> None:
    noise = NOISE(jax.random.key(0), (3, 7), jnp.float32)
    assert noise.log_scale is not None
    assert noise.log_scale.shape == (7,)


def test_noise_follows_its_law() -> None:
    size = 200_000
    noise = NOISE(jax.random.key(1), (1, size), jnp.float32)
    assert noise.log_scale is not None
    assert noise.log_uniform is not None
    draws = np.sqrt(2 * np.exp(np.asarray(noise.log_scale, np.float64))) * np.asarray(noise.normal)[0]
    band = dkw_band(size, 1e-9 / 3)
    assert ks_distance(draws, stable_cdf(1.5)) <= band
    assert ks_distance(np.asarray(noise.normal)[0], stats.norm.cdf) <= band
    assert ks_distance(np.exp(np.asarray(noise.log_uniform)), lambda u: u) <= band


@pytest.mark.parametrize(("rate", "factor"), [(0.9, math.exp(0.2)), (0.1, math.exp(-0.2))])
def test_step_size_grows_when_too_much_is_accepted(rate: float, factor: float) -> None:
    info = Info(jnp.full(4, rate), jnp.ones(4, bool), jnp.zeros(4, bool))
    tuned = tune_step_size(0.5)(StepSize(2.0), None, info, Pace(0.5, 0.0))
    assert float(tuned.step_size) == pytest.approx(2 * factor, rel=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, math.nan])
def test_target_acceptance_is_a_probability(value: float) -> None:
    with pytest.raises(ValueError, match=r"target_acceptance must be a .*number.*, got "):
        tune_step_size(value)
