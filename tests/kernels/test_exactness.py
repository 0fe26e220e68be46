"""What holds for every kernel: honest caches, no silent NaN, explained refusals, BlackJAX's form, distinct chains."""

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import blackjax.util
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mafla
from mafla import targets
from mafla.kernels.base import Kernel, params_at

from .support import batch_noise, normals, one_step

LogDensity = Callable[[Array], Array]
TARGET = targets.student_t(2, 3)


def kernels(logdensity: LogDensity, score: LogDensity, alpha: float = 1.5, step_size: float = 0.8) -> dict[str, Kernel]:
    """Return every kernel of the package for one target."""
    exact = mafla.exact_mafla(logdensity, alpha, step_size)
    return {
        "ula": mafla.ula(score, step_size),
        "mala": mafla.mala(logdensity, step_size),
        "fula": mafla.fula(score, alpha, step_size),
        "fuld": mafla.fuld(score, alpha, step_size),
        "frw": mafla.frw(logdensity, alpha, step_size),
        "auxiliary": exact,
        "marginal": mafla.exact_mafla(logdensity, alpha, step_size, marginal=True),
        "score": mafla.score_mafla(score, alpha, step_size),
        "learned": mafla.mafla(score, lambda new, old: 0.3 * (score(new) - score(old)).sum(), alpha, step_size),
        "cycle": mafla.cycle(exact, mafla.frw(logdensity, alpha, step_size)),
        "radial": mafla.radial(logdensity, scale=step_size),
        "heavy tail": mafla.heavy_tail(logdensity, alpha, step_size),
        "tempered": mafla.tempered(logdensity, reach=3, rungs=3, alpha=alpha),
    }


KERNELS = kernels(TARGET.logdensity, TARGET.score)
METROPOLIS = {"mala", "frw", "auxiliary", "marginal", "score", "learned", "cycle", "radial", "heavy tail", "tempered"}
every_kernel = pytest.mark.parametrize("name", KERNELS)


@cache
def stepped(name: str) -> tuple[Array, Any, Any]:
    """Return where 500 chains were, and their states and infos after a step."""
    x = 2 * normals(0, (500, 3))
    return x, *one_step(KERNELS[name], 1, x)


@every_kernel
def test_state_belongs_to_its_position_after_acceptance_and_after_rejection(name: str) -> None:
    _, states, infos = stepped(name)
    fresh = jax.jit(jax.vmap(KERNELS[name].init))(states.position)
    if name in METROPOLIS:
        assert 20 < int(infos.is_accepted.sum()) < 500
    for field in ("logdensity", "drift", "score"):
        if getattr(fresh, field, None) is not None:
            np.testing.assert_allclose(getattr(states, field), getattr(fresh, field), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(METROPOLIS))
def test_rejected_chains_stay_and_accepted_ones_move(name: str) -> None:
    x, states, infos = stepped(name)
    np.testing.assert_array_equal((states.position != x).any(1), infos.is_accepted)


@every_kernel
def test_runs_in_blackjax_as_it_is(name: str) -> None:
    _, (states, infos) = blackjax.util.run_inference_algorithm(
        jax.random.key(0), KERNELS[name], 50, initial_position=jnp.ones(3)
    )
    assert states.position.shape == (50, 3)
    assert len(np.unique(np.asarray(states.position[:, 0]))) > 3
    assert bool(jnp.isfinite(states.position).all())
    assert infos.acceptance_rate.shape == (50,)


def broken(value: Any, what: str) -> dict[str, Kernel]:
    """Return kernels of a Gaussian whose log density or score has ``value`` where the first coordinate is positive."""

    def logdensity(x: Array) -> Array:
        return jnp.where(x[0] > 0, value, -0.5 * (x * x).sum()) if what == "logdensity" else -0.5 * (x * x).sum()

    def score(x: Array) -> Array:
        return jnp.where(x[0] > 0, value, -x) if what == "score" else -x

    return kernels(logdensity, score)


@cache
def broken_step(name: str, what: str) -> Callable[[float], tuple[Any, Any]]:
    """Return a step from where all is well, as a function of the value that is found beyond."""
    start = -jnp.abs(normals(0, (300, 2)))

    def one(value: Any, position: Array, noise: Any) -> tuple[Any, Any]:
        kernel = broken(value, what)[name]
        return kernel.move(params_at(kernel, 2), kernel.init(position), noise)

    run = jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))
    noise = batch_noise(broken(0.0, what)[name], jax.random.key(1), start)
    return lambda value: run(jnp.float32(value), start, noise)


KNOW_A_SCORE = ["ula", "fula", "score", "learned"]
KNOW_A_DENSITY = ["mala", "frw", "auxiliary", "marginal", "cycle", "heavy tail", "tempered"]
BROKEN = [(name, "score", value) for name in KNOW_A_SCORE for value in (math.nan, math.inf, -math.inf)]
BROKEN += [(name, "logdensity", value) for name in KNOW_A_DENSITY for value in (math.nan, math.inf)]


@pytest.mark.parametrize(("name", "what", "value"), BROKEN)
def test_nonfinite_target_is_turned_down_and_reported(name: str, what: str, value: float) -> None:
    states, infos = broken_step(name, what)(value)
    assert 20 < int(infos.is_nonfinite.sum()) < 280
    assert bool((states.position[:, 0] <= 0).all())
    assert jax.tree.all(jax.tree.map(lambda leaf: jnp.isfinite(leaf).all(), states))
    assert bool((infos.acceptance_rate[infos.is_nonfinite] < 1).all())


@pytest.mark.parametrize("name", KNOW_A_DENSITY)
def test_zero_density_is_turned_down_and_not_reported(name: str) -> None:
    states, infos = broken_step(name, "logdensity")(-math.inf)
    assert bool((states.position[:, 0] <= 0).all())
    assert 20 < int(infos.is_accepted.sum()) < 300
    assert not infos.is_nonfinite.any()


@pytest.mark.parametrize("name", [*KNOW_A_SCORE, "fuld"])
def test_score_of_the_wrong_shape_is_refused(name: str) -> None:
    kernel = kernels(TARGET.logdensity, lambda x: x.sum())[name]
    with pytest.raises(ValueError, match=re.escape("score must return shape (3,) at a single point, got ()")):
        kernel.init(jnp.zeros(3))


@pytest.mark.parametrize("name", KNOW_A_DENSITY)
def test_log_density_that_is_no_scalar_is_refused(name: str) -> None:
    kernel = kernels(lambda x: -x * x, TARGET.score)[name]
    with pytest.raises(
        ValueError, match=re.escape("logdensity must return a scalar at a single point, got shape (3,)")
    ):
        kernel.init(jnp.zeros(3))


def test_drift_of_the_wrong_shape_is_refused_by_its_name() -> None:
    kernel = mafla.exact_mafla(TARGET.logdensity, 1.5, 0.1, drift=lambda x: x[:2])
    with pytest.raises(ValueError, match=re.escape("drift must return shape (3,) at a single point, got (2,)")):
        kernel.init(jnp.zeros(3))


MAKERS: dict[str, Callable[..., Kernel]] = {
    "fula": lambda alpha, step: mafla.fula(TARGET.score, alpha, step),
    "fuld": lambda alpha, step: mafla.fuld(TARGET.score, alpha, step),
    "exact": lambda alpha, step: mafla.exact_mafla(TARGET.logdensity, alpha, step),
    "score": lambda alpha, step: mafla.score_mafla(TARGET.score, alpha, step),
    "learned": lambda alpha, step: mafla.mafla(TARGET.score, lambda new, old: new @ old, alpha, step),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.01, math.nan, "x"])
def test_index_out_of_range_is_refused(name: str, alpha: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"^alpha must be a number in \(1, 2\].*, got '?{alpha}'?$".replace("1.0", "1")
    ):
        MAKERS[name](alpha, 0.1)


STEPPERS = MAKERS | {
    "ula": lambda _, step: mafla.ula(TARGET.score, step),
    "mala": lambda _, step: mafla.mala(TARGET.logdensity, step),
    "frw": lambda alpha, step: mafla.frw(TARGET.logdensity, alpha, step),
}


@pytest.mark.parametrize("name", STEPPERS)
@pytest.mark.parametrize("step_size", [0.0, -1.0, math.nan, math.inf])
def test_step_size_that_is_not_positive_is_refused(name: str, step_size: float) -> None:
    with pytest.raises(ValueError, match=rf"^step_size must be a positive finite number, got {step_size}$"):
        STEPPERS[name](1.5, step_size)


@pytest.mark.parametrize(("chains", "dim"), [(5, 2), (20_000, 2)], ids=["noise ahead", "noise step by step"])
def test_chains_from_one_point_part_at_once(chains: int, dim: int) -> None:
    kernel = mafla.fula(lambda x: -x, 1.5, 0.5)
    tree = mafla.sample(kernel, jax.random.key(0), np.zeros((chains, dim)), 2, progress=False)
    first = tree["posterior"]["x"].to_numpy()[:, 0]
    assert all(len(np.unique(column)) > 0.99 * chains for column in first.T)


def test_target_in_the_place_of_its_log_density_or_score_is_refused() -> None:
    with pytest.raises(ValueError, match=r"logdensity must be a function .*, got Target; pass its \.logdensity"):
        mafla.exact_mafla(TARGET, 1.5, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"score must be a function of one point, got Target; pass its \.score"):
        mafla.fula(TARGET, 1.5, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"kernel must be a kernel such as .*, got function"):
        mafla.cycle(TARGET.logdensity)  # type: ignore[arg-type]
