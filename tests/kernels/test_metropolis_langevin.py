"""The Metropolis-adjusted Langevin algorithm."""

import jax
import jax.numpy as jnp
import numpy as np

import mafla
from mafla import targets
from mafla.kernels.base import Noise

from .support import forced, many, normals


def test_acceptance_is_that_of_the_textbook() -> None:
    target, tau = targets.student_t(3, 2), 0.8
    with jax.enable_x64(True):
        x, z = 2 * normals(0, (500, 2), jnp.float64), normals(1, (500, 2), jnp.float64)
        kernel = mafla.mala(target.logdensity, tau)
        states, infos = many(kernel)(kernel.params, x, forced(Noise(z)))
        here, there = np.asarray(x), np.asarray(states.position)
        logdensity, score = jax.jit(target.logdensity), jax.jit(target.score)
        slope, slope_there = np.asarray(score(x)), np.asarray(score(states.position))
        change = np.asarray(logdensity(states.position)) - np.asarray(logdensity(x))
    forth = -((there - here - tau * slope) ** 2).sum(1) / (4 * tau)
    back = -((here - there - tau * slope_there) ** 2).sum(1) / (4 * tau)
    np.testing.assert_allclose(infos.acceptance_rate, np.minimum(1, np.exp(change + back - forth)), rtol=1e-11)
    np.testing.assert_allclose(there, here + tau * slope + np.sqrt(2 * tau) * np.asarray(z), rtol=1e-12, atol=1e-12)
