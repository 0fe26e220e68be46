"""Cycles of kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import targets
from mafla.kernels.base import Pace

from .support import batch_noise, many, one_step

TARGET = targets.student_t(2, 3)
PARTS = (mafla.exact_mafla(TARGET.logdensity, 1.5, 0.5), mafla.frw(TARGET.logdensity, 1.2, 2.0))
CYCLE = mafla.cycle(*PARTS)
PACE = Pace(gain=0.1, progress=0.5)


def test_parts_are_applied_in_turn_each_with_noise_of_its_own() -> None:
    position, key, infos = jnp.ones((300, 3)), jax.random.key(5), []
    noises = batch_noise(CYCLE, key, position)
    states, info = many(CYCLE)(CYCLE.params, position, noises)
    for part, part_key, noise in zip(PARTS, jax.random.split(key, 2), noises, strict=True):
        assert jax.tree.all(jax.tree.map(jnp.array_equal, noise, batch_noise(part, part_key, position)))
        inner, part_info = many(part)(part.params, position, noise)
        position = inner.position
        infos.append(part_info)
    np.testing.assert_allclose(states.position, position, rtol=1e-6)
    for ours, theirs in zip(info.parts, infos, strict=True):
        np.testing.assert_array_equal(ours.is_accepted, theirs.is_accepted)
    np.testing.assert_array_equal(info.is_accepted, infos[0].is_accepted | infos[1].is_accepted)


def test_each_part_is_tuned_by_its_own_acceptance() -> None:
    states, infos = one_step(CYCLE, 0, jnp.ones((50, 3)))
    tuned = CYCLE.tune(CYCLE.params, states, infos, PACE)
    parts = zip(PARTS, CYCLE.params, states.parts, infos.parts, tuned, strict=True)
    for part, before, state, info, after in parts:
        assert after == part.tune(before, state, info, PACE)
    assert tuned[0] != tuned[1]


def test_a_cycle_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cycle needs at least one kernel, got none"):
        mafla.cycle()


def test_start_at_zero_density_is_refused_whichever_kernel_sees_it() -> None:
    inside = mafla.frw(lambda x: -x @ x, 1.5, 1.0)
    outside = mafla.frw(lambda x: jnp.where(x[0] > 1, -x @ x, -jnp.inf), 1.5, 1.0)
    for pair in ((inside, outside), (outside, inside)):
        with pytest.raises(ValueError, match=r"positions must have a finite logdensity, got .* at positions\[0\]"):
            mafla.sample(mafla.cycle(*pair), jax.random.key(0), jnp.zeros((2, 1)), 10, progress=False)


def test_kernel_with_a_velocity_is_refused() -> None:
    kernel = mafla.cycle(mafla.fuld(lambda x: -x, 1.5, 0.1), mafla.ula(lambda x: -x, 0.1))
    with pytest.raises(ValueError, match="cycle needs kernels whose state follows from the position"):
        kernel.init(jnp.zeros(2))


def test_log_density_is_that_of_the_last_kernel() -> None:
    target = mafla.targets.student_t(2, 3)
    kernel = mafla.cycle(mafla.ula(target.score, 0.1), mafla.mala(target.logdensity, 0.1))
    tree = mafla.sample(kernel, jax.random.key(0), jnp.zeros((2, 3)), 20, progress=False)
    draws = jnp.asarray(tree["posterior"]["x"].to_numpy())
    np.testing.assert_allclose(tree["sample_stats"]["lp"].to_numpy(), target.logdensity(draws), rtol=1e-5)
