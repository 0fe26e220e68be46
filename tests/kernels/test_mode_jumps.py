"""Jumps from a fixed law: proposals are its draws, accepted by the ratio of target to law at both ends."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla import targets
from mafla.learn.mixture import StudentMixture

from .support import many, normals, one_step

DIM = 2
LAW = StudentMixture(
    jnp.log(jnp.array([0.3, 0.7])),
    jnp.array([[-4.0, 0.0], [4.0, 1.0]]),
    jnp.stack([jnp.eye(2)] * 2),
    jnp.array([1.0, 3.0]),
)
STUDENT = targets.student_t(2, DIM)


def law(x: np.ndarray) -> np.ndarray:
    parts = [
        weight * stats.multivariate_t(center, np.eye(2), df=df).pdf(x)
        for weight, center, df in ((0.3, [-4.0, 0.0], 1.0), (0.7, [4.0, 1.0], 3.0))
    ]
    return np.log(sum(parts))


@pytest.mark.usefixtures("x64")
def test_a_proposal_is_accepted_by_the_ratio_of_target_and_law() -> None:
    """Against densities computed by SciPy."""
    kernel, x = mafla.mode_jumps(STUDENT.logdensity, LAW), 3 * normals(0, (1000, DIM))
    noise = jax.vmap(lambda key: kernel.noise(key, (DIM,), jnp.float64))(jax.random.split(jax.random.key(1), 1000))
    certain = noise._replace(log_uniform=jnp.full(1000, -jnp.inf))
    states, infos = many(kernel)(LAW, x, certain)
    there = np.asarray(states.position)
    target = stats.multivariate_t(np.zeros(DIM), np.eye(DIM), df=2).logpdf
    log_ratio = target(there) - target(x) + law(np.asarray(x)) - law(there)
    np.testing.assert_allclose(infos.acceptance_rate, np.exp(np.minimum(log_ratio, 0)), rtol=1e-5)
    assert 0.1 < np.mean(log_ratio < -0.1) < 0.99


def test_chains_change_between_modes_that_are_far_apart() -> None:
    target = targets.gaussian_mixture([[-4.0, 0.0], [4.0, 1.0]], [0.5, 0.5])
    start = target.sample(jax.random.key(0), 2000)
    states, _ = one_step(mafla.mode_jumps(target.logdensity, LAW), 1, start)
    changed = np.sign(np.asarray(states.position[:, 0])) != np.sign(np.asarray(start[:, 0]))
    assert changed.mean() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": STUDENT}, "law must be a mixture such as find_modes returns, got Target"),
        ({"logdensity": 3}, "logdensity must be a function"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mafla.mode_jumps(**{"logdensity": STUDENT.logdensity, "law": LAW} | options)


def test_a_law_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="law must be of the dimension of positions, 3, got 2"):
        mafla.mode_jumps(STUDENT.logdensity, LAW).init(jnp.zeros(3))
