"""The fractional random walk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import targets
from mafla.kernels.base import Noise

from .support import forced, many, normals


@pytest.mark.parametrize("alpha", [0.6, 1.5, 2.0])
def test_move_and_acceptance_are_the_formula(alpha: float) -> None:
    target, tau = targets.student_t(1, 2), 0.7
    with jax.enable_x64(True):
        kernel = mafla.frw(target.logdensity, alpha, tau)
        x, z, log_a = (normals(i, shape, jnp.float64) for i, shape in enumerate([(500, 2), (500, 2), (500,)]))
        states, infos = many(kernel)(kernel.params, x, forced(Noise(z, log_a)))
        expected = x + tau ** (1 / alpha) * jnp.sqrt(2 * jnp.exp(log_a))[:, None] * z
        rate = jnp.minimum(1, jnp.exp(target.logdensity(expected) - target.logdensity(x)))
    np.testing.assert_allclose(states.position, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(infos.acceptance_rate, rate, rtol=1e-11)


def test_index_may_lie_below_one() -> None:
    kernel = mafla.frw(targets.cauchy(2).logdensity, 0.5, 1.0)
    assert kernel.params.step_size == 1
    with pytest.raises(ValueError, match=r"alpha must be a number in \(0, 2\], got 0"):
        mafla.frw(targets.cauchy(2).logdensity, 0.0, 1.0)
