"""Finding modes: those that are far from the start, with a law that jumps can use."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import metrics, targets

LOCATIONS, WEIGHTS = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, -60.0]]), np.array([0.5, 0.3, 0.2])


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [False, True])
def test_weights_of_modes_far_from_the_start_are_right(heavy: bool) -> None:
    target = targets.stable_mixture(1.5, LOCATIONS, WEIGHTS) if heavy else targets.gaussian_mixture(LOCATIONS, WEIGHTS)
    start = jax.random.normal(jax.random.key(0), (64, 2))
    law = mafla.find_modes(target.logdensity, jax.random.key(1), start)
    distances = np.linalg.norm(np.asarray(law.centers)[:, None] - LOCATIONS, axis=2)
    assert np.all(distances.min(axis=0) < 1)
    kernel = mafla.cycle(mafla.heavy_tail(target.logdensity), mafla.mode_jumps(target.logdensity, law))
    tree = mafla.sample(kernel, jax.random.key(2), start, 2000, warmup=300, progress=False)
    assert metrics.weight_error(tree["posterior"]["x"].to_numpy(), LOCATIONS, WEIGHTS) < 0.02


@pytest.mark.slow
def test_the_law_is_normalised() -> None:
    logdensity = targets.student_t(2, 1).logdensity
    law = mafla.find_modes(lambda x: logdensity(x / 50 - 7), jax.random.key(0), jnp.zeros((3, 1)), steps=200)
    t = np.linspace(-20, 20, 100_001)
    values = np.exp(np.asarray(jax.vmap(law.logdensity)(jnp.asarray(np.sinh(t)[:, None], jnp.float32)), np.float64))
    assert np.sum(values * np.cosh(t)) * (t[1] - t[0]) == pytest.approx(1, abs=1e-3)
    assert abs(float(law.centers[0, 0]) - 350) < 50


def test_bad_settings_are_refused() -> None:
    logdensity = targets.gaussian(1).logdensity
    with pytest.raises(ValueError, match="reach must be a positive finite number, got -1"):
        mafla.find_modes(logdensity, jax.random.key(0), np.zeros((4, 1)), reach=-1)
    with pytest.raises(ValueError, match="steps must be a whole number of at least 10, got 1"):
        mafla.find_modes(logdensity, jax.random.key(0), np.zeros((4, 1)), steps=1)
    with pytest.raises(ValueError, match="positions must"):
        mafla.find_modes(logdensity, jax.random.key(0), [[np.nan]])


@pytest.mark.slow
def test_modes_of_a_learned_density_are_found() -> None:
    """A learned density is a tree of arrays, which cannot be hashed."""
    rows = np.random.default_rng(0).normal(size=(500, 1)) + np.random.default_rng(1).choice([-9.0, 9.0], (500, 1))
    learned = mafla.fit_energy(jax.random.key(0), rows, progress=False)
    law = mafla.find_modes(learned, jax.random.key(1), rows[:8], steps=100)
    assert float(law.centers.min()) == pytest.approx(-9, abs=1)
    assert float(law.centers.max()) == pytest.approx(9, abs=1)
