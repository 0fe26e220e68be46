"""Jumps on the line: draws of a Cauchy law, balanced pair by pair, and harmless at the ends of the range of numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla import targets
from mafla.kernels.base import ScalarNoise, WalkState, draw_scalar
from mafla.kernels.line_jump import JUMP_ALPHA, line_jump

from .support import Numbers, dkw_band, ks_distance

PAIRS, DF, CENTER, SCALE = 100_000, 2.0, 0.7, 3.0
STUDENT = targets.student_t(DF, 1)


def init(position: Any) -> WalkState:
    return WalkState(position, STUDENT.logdensity(position))


@jax.jit
@jax.vmap
def jump(x: Any, cauchy: Any, log_uniform: Any) -> Any:
    state, info = line_jump(init, init(x[None]), jnp.array([CENTER]), SCALE, ScalarNoise(cauchy, log_uniform))
    return state.position[0], info


@pytest.mark.usefixtures("x64")
def test_flux_there_is_flux_back() -> None:
    """``p(x) q(x') a = p(x') q(x) a'`` with p and q computed by SciPy."""
    rng, sure = np.random.default_rng(0), np.full(PAIRS, -np.inf)
    x, there = rng.choice([-1, 1], (2, PAIRS)) * 10 ** rng.uniform(-3, 15, (2, PAIRS))

    def log_rate(start: Numbers, end: Numbers) -> Numbers:
        reached, info = jump(start, (end - CENTER) / SCALE, sure)
        np.testing.assert_allclose(reached, end, rtol=1e-12, atol=1e-12)
        return np.log(np.asarray(info.acceptance_rate))

    def flux(start: Numbers, end: Numbers) -> Numbers:
        return stats.t(DF).logpdf(start) + stats.cauchy(CENTER, SCALE).logpdf(end) + log_rate(start, end)

    forth, back = flux(x, there), flux(there, x)
    assert np.all(np.abs(forth - back) <= 1e-10 * np.maximum(1, np.abs(forth)))
    assert np.mean(np.minimum(log_rate(x, there), log_rate(there, x)) < -0.1) > 0.5


def test_the_noise_is_cauchy() -> None:
    noise = draw_scalar(JUMP_ALPHA)(jax.random.key(0), (1, PAIRS), jnp.float32)
    assert noise.number.shape == noise.log_uniform.shape == (PAIRS,)
    assert ks_distance(np.asarray(noise.number, np.float64), stats.cauchy.cdf) <= dkw_band(PAIRS, 1e-9)
    assert abs(float(jnp.corrcoef(jnp.arctan(noise.number), noise.log_uniform)[0, 1])) < 5 / np.sqrt(PAIRS)


@pytest.mark.parametrize("cauchy", [np.inf, -np.inf, 3e38])
def test_jumps_beyond_the_range_are_turned_down_and_not_reported(cauchy: float) -> None:
    position, info = jump(jnp.ones(1), jnp.array([cauchy], jnp.float32), jnp.full(1, -jnp.inf))
    assert position.tolist() == [1.0]
    assert float(info.acceptance_rate[0]) == 0
    assert not info.is_nonfinite.any()
