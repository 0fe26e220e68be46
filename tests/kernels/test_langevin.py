"""The unadjusted Langevin algorithm."""

import jax.numpy as jnp
import numpy as np
from scipy import stats

import mafla
from mafla.kernels.base import Noise

from .support import dkw_band, ks_distance, many, normals, walk

SIZE = 100_000


def test_move_is_the_formula() -> None:
    kernel = mafla.ula(lambda x: -(x**3), 0.3)
    x, z = 3 * normals(0, (50, 2)), normals(1, (50, 2))
    states, _ = many(kernel)(kernel.params, x, Noise(z))
    expected = np.asarray(x, np.float64) - 0.3 * np.asarray(x, np.float64) ** 3 + 0.6**0.5 * np.asarray(z)
    np.testing.assert_allclose(states.position, expected, rtol=1e-5, atol=1e-5)


def test_bias_on_the_gaussian_is_the_known_one() -> None:
    # x' = (1 - τ) x + sqrt(2τ) z has the variance 1 / (1 - τ/2), here 4/3; the law itself is N(0, 1)
    path = walk(mafla.ula(lambda x: -x, 0.5), 1, jnp.zeros((SIZE, 1)), 40)
    band = dkw_band(SIZE, 1e-9)
    assert ks_distance(path.last[:, 0], stats.norm(0, (4 / 3) ** 0.5).cdf) <= band
    assert ks_distance(path.last[:, 0], stats.norm.cdf) > band
