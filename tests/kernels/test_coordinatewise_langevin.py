"""FLD is FULA with independent noise: the same in one dimension, coordinate by coordinate in more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla.kernels.coordinatewise_langevin import fld
from mafla.kernels.fractional_langevin import fula


def pull(x: jax.Array) -> jax.Array:
    return -x


def test_in_one_dimension_it_is_fula() -> None:
    key, start = jax.random.key(0), jnp.array([0.5])
    states = [kernel.step(key, kernel.init(start))[0] for kernel in (fld(pull, 1.5, 0.1), fula(pull, 1.5, 0.1))]
    np.testing.assert_array_equal(*(state.position for state in states))


@pytest.mark.slow
def test_each_coordinate_gets_stable_noise_of_its_own() -> None:
    kernel, count, tau, alpha = fld(pull, 1.5, 0.2, drift=jnp.zeros_like), 4000, 0.2, 1.5
    keys = jax.random.split(jax.random.key(1), count)
    moved = jax.vmap(lambda key: kernel.step(key, kernel.init(jnp.zeros(2)))[0].position)(keys)
    noise = np.asarray(moved) / tau ** (1 / alpha)
    for column in noise.T:
        assert stats.kstest(column, stats.levy_stable(alpha, 0).cdf).pvalue > 1e-3
    # Under isotropic noise the sizes would share their scale: rank correlation about 0.3.
    assert abs(stats.spearmanr(*np.abs(noise).T).statistic) < 4 / np.sqrt(count)
