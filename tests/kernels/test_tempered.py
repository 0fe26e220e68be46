"""Parallel tempering: every rung keeps its law, exchanges balance, modes are visited as often as they should be."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import integrate

import mafla
from mafla import targets
from mafla.kernels.annealed import AnnealedParams, wide_logdensity
from mafla.kernels.base import Kernel, LangevinState, Pace
from mafla.kernels.tempered import TemperedInfo, TemperedState, _even_out, _exchange

from .support import batch_noise, dkw_band, ks_distance, normals

SIZE, LEVEL, STEPS = 100_000, 1e-7, 5
BETAS, CENTER, REACH = np.array([0.2, 0.6, 1.0]), 1.0, 4.0
TARGET = targets.gaussian(1)
FAR = targets.stable_mixture(1.5, np.array([[0.0, 0, 0], [30.0, 0, 0]]), [0.2, 0.8])


def between(beta: float, x: np.ndarray) -> np.ndarray:
    """Return ``p^β q^(1-β)``, up to a constant."""
    return np.exp(-beta * x**2 / 2) * (1 + ((x - CENTER) / REACH) ** 2) ** -(1 - beta)


def laws() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return grids and CDFs of the laws of all rungs."""
    grid = 4 * np.sinh(np.linspace(-8, 8, 200_001))
    cdfs = [integrate.cumulative_trapezoid(between(beta, grid), grid, initial=0) for beta in BETAS]
    return [(grid, cdf / cdf[-1]) for cdf in cdfs]


def law_of(grid: np.ndarray, cdf: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.asarray(np.interp(x, grid, cdf))


def run(kernel: Kernel, params: AnnealedParams, state: TemperedState, steps: int) -> tuple[TemperedState, Any]:
    """Move every chain so many times; returns the states and the rates of moves and exchanges at each step."""
    advance = jax.vmap(kernel.move, in_axes=(None, 0, 0))

    def step(state: TemperedState, key: Array) -> tuple[TemperedState, Any]:
        state, infos = advance(params, state, batch_noise(kernel, key, state.position))
        return state, (infos.rates.mean(0), infos.exchanges.mean(0))

    return jax.jit(jax.lax.scan, static_argnums=0)(step, state, jax.random.split(jax.random.key(1), steps))


def test_every_rung_keeps_its_law() -> None:
    """Replicas that start at their laws, independently, stay there; explorations and exchanges both happen."""
    kernel, random = mafla.tempered(TARGET.logdensity, REACH, CENTER, rungs=3), np.random.default_rng(0)
    params = AnnealedParams(jnp.array([3.0, 2.0, 1.5]), jnp.array([CENTER]), REACH, jnp.array(BETAS))
    start = np.stack([np.interp(random.uniform(size=SIZE), cdf, grid) for grid, cdf in laws()], axis=1)[..., None]
    x = jnp.asarray(start, jnp.float32)
    known = jax.vmap(jax.vmap(lambda at: LangevinState(at, TARGET.logdensity(at), TARGET.score(at))))(x)
    state = TemperedState(known.position[:, -1], known.logdensity[:, -1], known.drift[:, -1], known)
    state, (moves, exchanges) = run(kernel, params, state, STEPS)
    assert ((moves > 0.2) & (moves < 0.99)).all()
    assert ((exchanges > 0.2) & (exchanges < 0.99)).all()
    for rung, (grid, cdf) in enumerate(laws()):
        draws = np.asarray(state.replicas.position[:, rung, 0])
        assert ks_distance(draws, law_of(grid, cdf)) <= dkw_band(SIZE, LEVEL)


def test_exchanges_balance_at_every_pair_of_points() -> None:
    """π(x, y) a(x, y) = π(y, x) a(y, x), with π the product of the laws of two neighbours."""
    pairs = 3 * normals(0, (200, 2, 2))
    params = AnnealedParams(None, jnp.array([0.5, -1.0]), 2.0, jnp.array([0.3]))
    target = targets.student_t(3, 2)

    def flow(pair: Any) -> Any:
        state = LangevinState(pair, jax.vmap(target.logdensity)(pair), jax.vmap(target.score)(pair))
        wide = jax.vmap(lambda x: wide_logdensity(x, params.center, params.reach))(pair)
        _, rates = _exchange(params, state, jnp.zeros(1))
        return wide[0] + 0.3 * state.logdensity[1] + 0.7 * wide[1] + jnp.log(rates[0])

    there, back = jax.vmap(flow)(pairs), jax.vmap(flow)(pairs[:, ::-1])
    np.testing.assert_allclose(there, back, rtol=1e-5, atol=1e-5)


def test_a_replica_that_goes_down_goes_on_going_down() -> None:
    at = jnp.arange(5.0)[:, None]
    state = LangevinState(at, jnp.zeros(5), jnp.zeros((5, 1)))
    params = AnnealedParams(None, jnp.zeros(1), 1.0, jnp.linspace(0.25, 1, 4))
    once, _ = _exchange(params, state, jnp.full(4, -jnp.inf))
    assert once.position[:, 0].tolist() == [1, 3, 0, 4, 2]
    twice, _ = _exchange(params, once, jnp.full(4, -jnp.inf))
    assert twice.position[4, 0] == 0


def test_what_is_not_sound_does_not_come_down() -> None:
    """A draw from the wide law where the density is NaN, infinite or zero is never exchanged."""
    for value in (jnp.nan, jnp.inf, -jnp.inf):
        state = LangevinState(jnp.array([[9.0], [1.0]]), jnp.array([value, 0.0]), jnp.zeros((2, 1)))
        params = AnnealedParams(None, jnp.zeros(1), 1.0, jnp.array([1.0]))
        found, rates = _exchange(params, state, jnp.full(1, -1e30))
        assert found.position[1, 0] == 1
        assert rates[0] == 0


def test_rungs_move_to_where_refusals_are() -> None:
    beta = jnp.array([0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(_even_out(beta, jnp.full(4, 0.3), 1.0), beta, rtol=1e-6)
    moved = _even_out(beta, jnp.array([0.0, 0.0, 0.9, 0.0]), 1.0)
    assert (np.diff(np.asarray(moved)) > 0).all()
    assert moved[-1] == 1
    assert ((moved[:3] > 0.49) & (moved[:3] < 0.76)).all()


@pytest.fixture(scope="module")
def far_modes() -> tuple[Kernel, Any]:
    """Return a kernel and its draws of stable laws with α=1.5 that are 30 apart; chains start in the smaller one."""
    start = jax.random.normal(jax.random.key(0), (64, 3))
    kernel = mafla.tempered(FAR.logdensity, rungs=10)
    return kernel, mafla.sample(kernel, jax.random.key(1), start, 2000, warmup=600, progress=False)


@pytest.mark.slow
def test_modes_get_their_shares_though_all_chains_start_in_one(far_modes: tuple[Kernel, Any]) -> None:
    draws, exact = far_modes[1]["posterior"]["x"].to_numpy(), np.asarray(FAR.sample(jax.random.key(2), 200_000))
    assert abs(np.mean(draws[..., 0] > 15) - np.mean(exact[:, 0] > 15)) < 0.02
    radius, far = np.linalg.norm(draws, axis=-1), np.quantile(np.linalg.norm(exact, axis=1), 0.99)
    assert np.mean(radius > far) == pytest.approx(0.01, rel=0.15)


@pytest.mark.slow
def test_warmup_evens_out_exchanges_and_ends_at_the_target(far_modes: tuple[Kernel, Any]) -> None:
    kernel, tree = far_modes
    params = AnnealedParams(*(tree.attrs[name] for name in AnnealedParams._fields))
    assert params.beta[-1] == 1
    assert (np.diff(params.beta) > 0).all()
    state = jax.vmap(kernel.init)(jnp.asarray(tree["posterior"]["x"].to_numpy()[:, -1]))
    _, (_, exchanges) = run(kernel, params, state, 1000)
    rates = np.mean(exchanges[500:], axis=0)
    assert rates.min() > 0.5
    assert np.ptp(rates) < 0.1


def test_step_sizes_grow_where_moves_are_accepted_often() -> None:
    kernel = mafla.tempered(TARGET.logdensity, rungs=2)
    infos = TemperedInfo(jnp.ones(9), jnp.ones(9), jnp.ones(9), jnp.full((2, 9), 0.9), jnp.full((2, 9), 0.5))
    params = kernel.tune(kernel.params(1), None, infos, Pace(1.0, 0.0))
    assert (params.step_size > kernel.params(1).step_size).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reach": 0.0}, "reach must be a positive finite number, got 0"),
        ({"rungs": 0}, "rungs must be a whole number of at least 1, got 0"),
        ({"center": [1.0, np.nan]}, "center must"),
        ({"logdensity": 3}, "logdensity must be a function"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mafla.tempered(**{"logdensity": TARGET.logdensity} | options)


def test_a_center_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="center must be a number or of the dimension of positions, 1, got"):
        mafla.tempered(TARGET.logdensity, center=[0.0, 0.0]).params(1)


def test_it_is_refused_in_a_cycle() -> None:
    kernel = mafla.cycle(mafla.tempered(TARGET.logdensity), mafla.mala(TARGET.logdensity, 0.1))
    with pytest.raises(ValueError, match="got one with replicas"):
        kernel.init(jnp.zeros(1))


def test_a_start_without_gradient_is_refused() -> None:
    """One such chain would turn exchanges off for all."""
    kernel = mafla.tempered(lambda x: -jnp.linalg.norm(x), rungs=4)
    with pytest.raises(ValueError, match=r"positions must have a finite drift, got .* at positions\[1\]"):
        mafla.sample(kernel, jax.random.key(0), np.array([[1.0], [0.0]]), 10, warmup=10, progress=False)
