"""The kernel that accepts by a supplied function."""

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mafla
from mafla import targets
from mafla.kernels.base import Noise, Pace

from .support import forced, many, normals, one_step, stable_log_ratio

TARGET = targets.student_t(2, 2)
ALPHA, TAU = 1.5, 0.5


def kernel_with(log_acceptance: object) -> mafla.Kernel:
    return mafla.mafla(TARGET.score, log_acceptance, ALPHA, TAU)  # type: ignore[arg-type]


def test_function_is_given_the_new_point_first() -> None:
    kernel = kernel_with(lambda new, old: -jnp.abs(new[0]) - 3 * jnp.abs(old[1]))
    x = normals(0, (200, 2))
    states, infos = many(kernel)(kernel.params, x, forced(Noise(normals(1, (200, 2)), jnp.zeros(200))))
    expected = np.exp(-np.abs(states.position[:, 0]) - 3 * np.abs(x[:, 1]))
    np.testing.assert_allclose(infos.acceptance_rate, expected, rtol=1e-5)


def test_true_ratio_makes_it_the_exact_kernel() -> None:
    drift = mafla.local_drift(TARGET.score, ALPHA)
    learned = kernel_with(stable_log_ratio(TARGET.logdensity, drift, ALPHA, TAU))
    exact = mafla.exact_mafla(TARGET.logdensity, ALPHA, TAU, marginal=True)
    x = 3 * normals(0, (1000, 2))
    (ours, our_info), (theirs, their_info) = one_step(learned, 1, x), one_step(exact, 1, x)
    np.testing.assert_allclose(our_info.acceptance_rate, their_info.acceptance_rate, rtol=2e-5)
    agree = np.asarray(our_info.is_accepted == their_info.is_accepted)
    assert agree.mean() >= 0.998  # a uniform may fall between two roundings of the ratio
    np.testing.assert_allclose(ours.position[agree], theirs.position[agree], rtol=1e-5, atol=1e-5)


def test_warm_up_leaves_the_step_size_alone() -> None:
    kernel = kernel_with(lambda new, old: jnp.minimum(0, TARGET.logdensity(new) - TARGET.logdensity(old)))
    states, infos = one_step(kernel, 0, normals(0, (10, 2)))
    assert kernel.tune(kernel.params, states, infos, Pace(1.0, 0.5)) == kernel.params


def test_acceptance_must_be_a_scalar() -> None:
    def vector(new: Array, old: Array) -> Array:
        return new - old

    with pytest.raises(ValueError, match=r"log_acceptance must return a scalar for a single pair, got shape \(2,\)"):
        one_step(kernel_with(vector), 0, normals(0, (10, 2)))


def test_acceptance_that_is_not_a_number_is_turned_down_and_reported() -> None:
    kernel = kernel_with(lambda new, old: jnp.where(new[0] > 0, jnp.nan, 0.0) + 0 * old[0])
    x = normals(0, (200, 2))
    states, infos = one_step(kernel, 1, x)
    assert 20 < int(infos.is_nonfinite.sum()) < 180
    np.testing.assert_array_equal(infos.is_nonfinite, ~infos.is_accepted)
    np.testing.assert_array_equal(states.position[infos.is_nonfinite], x[infos.is_nonfinite])
