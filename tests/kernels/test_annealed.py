"""Annealed chains: balanced at either end, at the target when warm-up is over, and not stuck in a mode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla import run, targets
from mafla.kernels.annealed import AnnealedParams, annealed, wide_logdensity
from mafla.kernels.base import Pace

from .support import dkw_band, ks_distance, walk

SIZE, LEVEL = 100_000, 1e-6


@pytest.mark.parametrize("beta", [1.0, 0.0])
def test_the_law_at_either_end_is_invariant(beta: float) -> None:
    """At β=1 the target, here normal; at β=0 the wide law, here Cauchy about 3 with the scale 5."""
    target = targets.gaussian(1)
    kernel = annealed(target.logdensity, 1.0)._replace(params=AnnealedParams(2.0, np.array([3.0]), 5.0, beta))
    exact = stats.norm() if beta else stats.cauchy(3, 5)
    start = jnp.asarray(exact.rvs((SIZE, 1), random_state=0), jnp.float32)
    path = walk(kernel, 1, start, 5)
    assert ks_distance(path.last[:, 0], exact.cdf) <= dkw_band(SIZE, LEVEL)
    assert 0.2 < path.acceptance < 0.99


def test_powers_rise_to_one() -> None:
    kernel = annealed(targets.gaussian(2).logdensity, 10.0)
    state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    powers = [float(kernel.tune(kernel.params(2), state, info, Pace(1.0, progress)).beta) for progress in (0, 0.3, 0.5)]
    assert powers[0] < 1e-3 < powers[1] < 1 == powers[2]


@pytest.mark.parametrize("warmup", [1, 3, 50, 51])
def test_after_warmup_the_law_is_the_target_itself(warmup: int) -> None:
    """What warm-up leaves is an average over its second half, and of powers below 1 the average is below 1."""
    kernel, start = annealed(targets.gaussian(2).logdensity, 10.0), jnp.zeros((8, 2))
    assert mafla.sample(kernel, jax.random.key(0), start, 1, warmup=warmup, progress=False).attrs["beta"] == 1


def test_a_warm_up_cut_short_leaves_the_target_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is over after a single span, long before the power has risen to one."""
    kernel, start = annealed(targets.gaussian(2).logdensity, 10.0), jnp.zeros((8, 2))
    monkeypatch.setattr(run._Pace, "is_over", property(lambda pace: pace.seconds_each > 0))
    with pytest.warns(run.ShortWarmupWarning):
        tree = mafla.sample(kernel, jax.random.key(0), start, 1, warmup=10**5, progress=False)
    assert tree.attrs["beta"] == 1


def test_the_wide_law_is_known_where_squares_overflow() -> None:
    far = jnp.array([3e30, 4e30])
    value, gradient = jax.value_and_grad(wide_logdensity)(far, 0.0, 1.0)
    assert float(value) == pytest.approx(-3 * np.log(5e30), rel=1e-6)
    np.testing.assert_allclose(gradient, -3 * far / 5e30 / 5e30, rtol=1e-5)


def test_both_modes_are_found_from_one() -> None:
    """Standard normals 40 apart, in five dimensions; a local sampler would stay where it starts."""
    target = targets.gaussian_mixture(np.array([[0.0] * 5, [40.0] + [0.0] * 4]), [0.5, 0.5])
    start = target.sample(jax.random.key(0), 256) * jnp.array([0.0, 1.0, 1.0, 1.0, 1.0])
    tree = mafla.sample(annealed(target.logdensity, 100.0), jax.random.key(1), start, 1, warmup=600, progress=False)
    found = tree["posterior"]["x"].to_numpy()[:, -1]
    assert 0.2 < np.mean(found[:, 0] > 20) < 0.8
    nearest = np.minimum(np.linalg.norm(found, axis=1), np.linalg.norm(found - [40, 0, 0, 0, 0], axis=1))
    assert np.mean(nearest < 5) > 0.95


def test_a_bad_reach_is_refused() -> None:
    with pytest.raises(ValueError, match="reach must be a positive finite number, got 0"):
        annealed(targets.gaussian(1).logdensity, 0.0)
