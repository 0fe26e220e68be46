"""The index α that warm-up chooses: small where jumps get over valleys of the density, near 2 where there are none."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import targets
from mafla.kernels.base import Kernel, Pace
from mafla.kernels.scouting import EVERY, FAR_ALPHA, NEAR_ALPHA, Scout, chosen, is_scouting, report

from .support import normals, one_step

DIM = 2
MODES = targets.stable_mixture(1.5, [[-5.0, 0.0], [5.0, 0.0]], [0.5, 0.5])
ROUND = targets.student_t(1, DIM)


def scouting(kernel: Kernel, step_size: float) -> Kernel:
    """Return the kernel as it is in warm-up at a step that scouts."""
    return kernel._replace(params=kernel.params(DIM)._replace(scout=Scout(step_size, turn=0.0)))


def alpha_after(kernel: Kernel, start: Any) -> float:
    tree = mafla.sample(kernel, jax.random.key(1), start, 1, warmup=400, progress=False)
    return float(tree.attrs["alpha"])


def test_one_step_of_a_few_scouts() -> None:
    scout, seen = Scout(1.0), []
    for _ in range(3 * EVERY):
        seen.append(bool(is_scouting(scout)))
        scout = report(scout, 2.0, 0.25)
    assert sum(seen) == 3
    assert not seen[0]
    assert float(scout.step_size) == 2
    assert float(scout.crossed) == 0.75


@pytest.mark.parametrize(("crossed", "expected"), [(0.0, (1.9, 0.3)), (0.4, (1.9, 0.3)), (0.6, (FAR_ALPHA, 4.0))])
def test_scouts_are_followed_if_they_got_over_valleys(crossed: float, expected: tuple[float, float]) -> None:
    np.testing.assert_allclose(chosen(1.9, 0.3, Scout(4.0, crossed)), expected, rtol=1e-6)


def test_a_scout_steps_like_a_kernel_with_a_small_index() -> None:
    x = 3 * normals(0, (500, DIM))
    ours, _ = one_step(scouting(mafla.heavy_tail(ROUND.logdensity), 0.7), 1, x)
    given, _ = one_step(mafla.heavy_tail(ROUND.logdensity, FAR_ALPHA, 0.7), 1, x)
    others, _ = one_step(mafla.heavy_tail(ROUND.logdensity, NEAR_ALPHA, 0.7), 1, x)
    np.testing.assert_array_equal(ours.position, given.position)
    assert bool((ours.position != others.position).any())


def test_without_warm_up_nobody_scouts() -> None:
    x = 3 * normals(0, (100, DIM))
    states, _ = one_step(mafla.heavy_tail(ROUND.logdensity, step_size=0.7), 1, x)
    given, _ = one_step(mafla.heavy_tail(ROUND.logdensity, NEAR_ALPHA, 0.7), 1, x)
    np.testing.assert_array_equal(states.position, given.position)


def test_no_jump_of_an_elliptical_law_passes_a_valley_and_between_modes_many_do() -> None:
    x = jnp.concatenate([MODES.sample(jax.random.key(0), 10_000), 1e4 * normals(2, (10_000, DIM))])
    rates = {}
    for target in (ROUND, MODES):
        _, infos = one_step(scouting(mafla.heavy_tail(target.logdensity), 2.0), 1, x)
        langevin = infos.parts[0]
        assert bool((langevin.crossing_rate <= langevin.acceptance_rate).all())
        rates[target] = float(langevin.crossing_rate.mean())
    assert rates[ROUND] == 0
    assert rates[MODES] > 5e-4


def test_only_jumps_of_scouts_are_counted_and_none_is_sent_out_before_chains_have_settled() -> None:
    kernel = mafla.heavy_tail(MODES.logdensity)
    scout = scouting(kernel, 2.0)
    states, infos = one_step(scout, 1, MODES.sample(jax.random.key(0), 10_000))
    columns = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), states)
    expected = float(infos.parts[0].crossing_rate.sum())
    assert expected > 1

    def after(turn: float, progress: float) -> Scout:
        before = scout.params._replace(scout=Scout(2.0, turn=turn))
        tuned: Scout = kernel.tune(before, columns, infos, Pace(jnp.float32(0.1), jnp.float32(progress))).scout
        return tuned

    assert float(after(0.0, 0.9).crossed) == pytest.approx(expected, rel=1e-4)
    assert float(after(1.0, 0.9).crossed) == 0
    assert is_scouting(after(EVERY - 1.0, 0.9))
    assert not is_scouting(after(EVERY - 1.0, 0.1))


def test_each_kind_of_step_tunes_its_own_size() -> None:
    kernel = mafla.heavy_tail(ROUND.logdensity)
    states, infos = one_step(kernel, 1, normals(0, (64, DIM)))
    columns = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), states)
    for turn in (0.0, 1.0):
        before = kernel.params(DIM)._replace(scout=Scout(0.5, turn=turn))
        after = kernel.tune(before, columns, infos, Pace(jnp.float32(0.1), jnp.float32(0.5)))
        assert (float(after.scout.step_size) != 0.5) == (turn == 0)
        assert (float(after.step_size) != 0.5) == (turn != 0)


@pytest.mark.parametrize(
    ("logdensity", "expected"),
    [
        (MODES.logdensity, FAR_ALPHA),
        (ROUND.logdensity, NEAR_ALPHA),
        (lambda x: -jnp.logaddexp(x, -x).sum(), NEAR_ALPHA),
    ],
    ids=["two modes", "elliptical", "convex"],
)
def test_warm_up_finds_out_from_a_cold_start(logdensity: Any, expected: float) -> None:
    kernel = mafla.heavy_tail(logdensity)
    for distance in (1.0, 1e3):
        assert alpha_after(kernel, distance * normals(0, (64, DIM))) == pytest.approx(expected)


def test_an_index_that_is_given_stays() -> None:
    kernel = mafla.heavy_tail(MODES.logdensity, 1.5)
    assert alpha_after(kernel, MODES.sample(jax.random.key(0), 64)) == pytest.approx(1.5)


def test_scouting_ends_with_warm_up_however_short_that_was() -> None:
    kernel = mafla.heavy_tail(ROUND.logdensity)
    amid = jax.tree.map(jnp.asarray, kernel.params(DIM)._replace(scout=Scout(0.1, turn=0.0)))
    assert bool(is_scouting(amid.scout))
    assert not bool(is_scouting(kernel.freeze(amid).scout))
