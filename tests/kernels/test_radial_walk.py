"""Radial moves: along rays from the centre, balanced pair by pair, and harmless at the ends of the range of numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import targets
from mafla.kernels.base import ScalarNoise, StepSize
from mafla.kernels.radial_walk import LARGEST_STEP, radial_move

from .support import Numbers, batch_noise, dkw_band, ks_distance, many, normals, one_step, stable_cdf

PAIRS, DIM, DF = 100_000, 3, 2.0
CENTER = np.array([0.5, -2.0, 1.0])
STUDENT = targets.student_t(DF, DIM)


def student(x: Numbers) -> Numbers:
    return -(DF + DIM) / 2 * np.log1p((x * x).sum(-1) / DF)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("moving", [1, 2, DIM])
def test_flux_there_is_flux_back(moving: int) -> None:
    """From x by z and from there by -z: ``p(x) a = p(x') a' e^(kz)``, k coordinates moving, with p computed here."""
    rng, along = np.random.default_rng(0), np.arange(DIM) < moving
    init = mafla.radial(STUDENT.logdensity).init
    direction = rng.normal(size=(PAIRS, DIM))
    x = direction / np.linalg.norm(direction, axis=1)[:, None] * 10 ** rng.uniform(-3, 15, PAIRS)[:, None]
    step, sure = rng.normal(size=PAIRS) * 10 ** rng.uniform(-2, 0.7, PAIRS), np.full(PAIRS, -np.inf)

    @jax.jit
    @jax.vmap
    def move(x: Any, step: Any, sure: Any) -> Any:
        state, info = radial_move(init, init(x), jnp.asarray(CENTER), 1.0, ScalarNoise(step, sure), along)
        return state.position, jnp.log(info.acceptance_rate)

    def propose(x: Numbers, step: Numbers) -> tuple[Numbers, Numbers]:
        there, log_rate = move(x, step, sure)
        return np.asarray(there), np.asarray(log_rate)

    there, log_forth = propose(x, step)
    here, log_back = propose(there, -step)
    np.testing.assert_allclose(here, x, rtol=1e-9, atol=1e-9)  # a centre that is not the origin rounds
    np.testing.assert_array_equal(there[:, ~along], x[:, ~along])
    forth, back = student(x) + log_forth, student(there) + log_back + moving * step
    assert np.all(np.abs(forth - back) <= 1e-10 * np.maximum(1, np.abs(forth)))
    assert np.mean(np.minimum(log_forth, log_back) < -0.1) > 0.25


def test_chains_stay_on_their_rays_from_the_centre() -> None:
    x = jnp.asarray(CENTER) + 3 * normals(0, (500, DIM))
    states, infos = one_step(mafla.radial(STUDENT.logdensity, center=CENTER), 1, x)
    before, after = np.asarray(x) - CENTER, np.asarray(states.position) - CENTER
    factor = np.linalg.norm(after, axis=1) / np.linalg.norm(before, axis=1)
    np.testing.assert_allclose(after, before * factor[:, None], rtol=1e-3, atol=1e-4)
    assert 100 < int(infos.is_accepted.sum()) < 500


@pytest.mark.parametrize(("scale", "unit"), [(None, 1 / np.sqrt(2 * DIM)), (0.7, 0.7)])
def test_the_logarithm_of_the_factor_is_stable_with_the_scale(scale: float | None, unit: float) -> None:
    kernel, x = mafla.radial(lambda x: -DIM * jnp.log(jnp.abs(x).max()), 1.3, scale), jnp.ones((50_000, DIM))
    states, infos = one_step(kernel, 2, x)  # whatever the factor, this density accepts
    assert float(infos.acceptance_rate.mean()) > 0.99
    log_factor = np.log(np.asarray(states.position[:, 0], np.float64))
    assert ks_distance(log_factor, stable_cdf(1.3, unit)) <= dkw_band(len(x), 1e-9)


@pytest.mark.parametrize("step", [LARGEST_STEP * 1.01, -LARGEST_STEP * 1.01, 79.0, -79.0, np.inf])
def test_steps_to_the_ends_of_the_range_are_turned_down_and_not_reported(step: float) -> None:
    kernel = mafla.radial(lambda _: jnp.zeros(()), scale=1.0)
    x = jnp.full((1, 2), 1e10)
    noise = ScalarNoise(jnp.array([step], jnp.float32), jnp.full(1, -jnp.inf))
    states, infos = many(kernel)(StepSize(1.0), x, noise)
    assert bool(jnp.isfinite(states.position).all())
    assert not infos.is_nonfinite.any()
    if abs(step) > LARGEST_STEP or step > 0:
        np.testing.assert_array_equal(states.position, x)


def test_noise_is_one_number_for_each_chain() -> None:
    noise = batch_noise(mafla.radial(STUDENT.logdensity), jax.random.key(0), jnp.zeros((7, DIM)))
    assert noise.number.shape == noise.log_uniform.shape == (7,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "scale must be a positive finite number, got 0"),
        ({"alpha": 2.5}, r"alpha must be a number in \(0, 2\], got 2.5"),
        ({"center": [[1.0]]}, "center must be an array of real numbers with 1 axes"),
        ({"center": [np.nan]}, r"center must be finite, got nan at \[0\]"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mafla.radial(STUDENT.logdensity, **options)


def test_a_centre_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match=r"center must have the shape of a position, \(2,\), got \(3,\)"):
        mafla.radial(STUDENT.logdensity, center=CENTER).init(jnp.zeros(2))
