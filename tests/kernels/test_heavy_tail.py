"""The kernel for heavy tails: what moves and when, what warm-up finds, and tails that are right."""

import math
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mafla
from mafla import run, targets
from mafla.bench.tail_problems import problems, start
from mafla.diagnostics import NotMixedWarning
from mafla.kernels.annealed import annealed
from mafla.kernels.base import Pace
from mafla.kernels.heavy_tail import HeavyTailParams

from .support import dkw_band, ks_distance, one_step

DIM, DF = 3, 2.0
STUDENT = targets.student_t(DF, DIM)
ROUND = jnp.zeros(DIM), jnp.zeros(DIM), jnp.eye(DIM)


def test_before_it_has_settled_nothing_moves_radially() -> None:
    kernel = mafla.heavy_tail(lambda _: jnp.zeros(()), 2.0, 1e-12)
    x, still = jnp.ones((50, DIM)), HeavyTailParams(2.0, 1e-12, 1.0, 0.0, *ROUND, settled=0.0)
    for settled in (0.0, 1.0):
        params = still._replace(settled=settled)
        states, _ = one_step(kernel._replace(params=params), 0, x)
        assert bool((jnp.abs(states.position - x) > 1e-3).any()) == bool(settled)


def test_axial_moves_change_one_coordinate_and_each_as_often() -> None:
    kernel, chains = mafla.heavy_tail(lambda x: -jnp.log(jnp.abs(x)).sum(), 2.0, 1e-12), 30_000
    x, axial = jnp.ones((chains, DIM)), HeavyTailParams(2.0, 1e-12, 1.0, 1.0, *ROUND, settled=0.0)
    states, infos = one_step(kernel._replace(params=axial), 0, x)  # whatever the factor, this density accepts
    assert float(infos.parts[2].acceptance_rate.mean()) > 0.99
    moved = np.asarray(jnp.abs(states.position - x) > 1e-4)
    assert moved.sum(1).max() == 1
    shares = moved.sum(0) / moved.sum()
    assert np.abs(shares - 1 / DIM).max() < 5 * math.sqrt(1 / DIM / chains)


def test_on_the_line_chains_jump_by_the_centre_and_the_scale_that_were_learned() -> None:
    kernel, chains = mafla.heavy_tail(lambda x: -jnp.log1p(((x[0] - 3) / 2) ** 2), 2.0, 1e-12), 30_000
    learned = kernel.params(1)._replace(center=jnp.array([3.0]), factor=jnp.array([[2.0]]), settled=0.0)
    states, infos = one_step(kernel._replace(params=learned), 0, jnp.full((chains, 1), 1e6))
    *_, jump = infos.parts
    assert float(jump.acceptance_rate.min()) == pytest.approx(1.0, abs=1e-4)  # the law of the jumps is the target
    away = (np.asarray(states.position[:, 0], np.float64) - 3) / 2
    assert ks_distance(away, stats.cauchy.cdf) <= dkw_band(chains, 1e-9)


def test_the_centre_is_learned_in_haste_first_and_the_radial_scale_then() -> None:
    kernel = mafla.heavy_tail(lambda x: STUDENT.logdensity(x - 5))
    x = 5 + jax.random.normal(jax.random.key(0), (64, DIM))
    states, infos = one_step(kernel, 1, x)
    columns = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), states)
    before = kernel.params(DIM)
    early, late = (
        kernel.tune(before._replace(settled=settled), columns, infos, Pace(jnp.float32(0.1), jnp.float32(at)))
        for settled, at in ((0.0, 0.0), (1.0, 0.9))
    )
    assert (float(early.settled), float(late.settled)) == (0, 1)
    for name in ("center", "middle"):
        assert float(getattr(early, name).min()) > 5 * float(getattr(late, name).max()) > 0
    assert float(early.radial_scale) == 1
    assert float(late.radial_scale) != 1
    for tuned in (early, late):
        assert float(tuned.step_size) != before.step_size
        assert float(tuned.axial_scale) != before.axial_scale
        assert bool((tuned.factor != before.factor).any())


def test_radial_moves_begin_as_soon_as_the_centre_is_known() -> None:
    kernel = mafla.heavy_tail(STUDENT.logdensity)
    states, infos = one_step(kernel, 1, 1e3 * jax.random.normal(jax.random.key(0), (64, DIM)))
    columns = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), states)
    tuned = kernel.tune(
        kernel.params(DIM)._replace(settled=0.0), columns, infos, Pace(jnp.float32(0.5), jnp.float32(0.0))
    )
    assert float(tuned.settled) == 1


@pytest.mark.parametrize(
    ("df", "dim", "start"),
    [
        pytest.param(1.0, 1, 1e3, marks=pytest.mark.slow),
        (1.0, 10, 1.0),
        pytest.param(2.0, 30, 1.0, marks=pytest.mark.slow),
    ],
)
def test_tails_of_a_stretched_law_far_away_are_right_after_a_cold_start(df: float, dim: int, start: float) -> None:
    rng = np.random.default_rng(dim)
    factor = np.linalg.qr(rng.normal(size=(dim, dim)))[0] * np.geomspace(1, 30, dim)
    inverse, center = jnp.asarray(np.linalg.inv(factor), jnp.float32), jnp.asarray(factor @ rng.normal(size=dim) * 10)

    def logdensity(x: Any) -> Any:
        return -(df + dim) / 2 * jnp.log1p(((inverse @ (x - center)) ** 2).sum() / df)

    at = start * jax.random.normal(jax.random.key(0), (64, dim))
    kernel = mafla.heavy_tail(logdensity)
    tree = mafla.sample(kernel, jax.random.key(1), at, 1000, warmup=600, progress=False)
    away = (tree["posterior"]["x"].to_numpy() - np.asarray(center)) @ np.asarray(inverse).T
    squares = (away.astype(np.float64) ** 2).sum(-1) / dim
    for level in (0.5, 0.95, 0.99):
        shares = (squares > stats.f(dim, df).ppf(level)).mean(1)  # of each chain
        error = shares.std() / math.sqrt(len(shares))
        assert abs(shares.mean() - (1 - level)) < 5 * error
        assert error < 0.2 * (1 - level)
    assert tree.attrs["center"].shape == (dim,)
    assert tree.attrs["settled"] == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mafla.diagnostics.InfiniteVarianceWarning")
def test_four_chains_in_many_dimensions_need_a_longer_warmup_and_r_hat_says_so() -> None:
    problem = next(each for each in problems() if each.name == "stretched Student-t ν=2, d=50")
    kernel, threshold = mafla.heavy_tail(problem.logdensity), problem.thresholds()[0]
    at = start(problem, "near", jax.random.key(0), 4)
    r_hat, errors = {}, {}
    for steps in (400, 1600):
        tree = mafla.sample(kernel, jax.random.key(1), at, 30_000, warmup=steps, progress=False)
        distances = problem.distance(tree["posterior"]["x"].to_numpy().reshape(-1, problem.dim))
        errors[steps] = abs(float(np.mean(distances > threshold)) / 0.05 - 1)
        with pytest.warns(NotMixedWarning) if steps == 400 else nullcontext():
            r_hat[steps] = float(mafla.summary(tree)["r_hat"].max())
    assert errors[400] > 0.5
    assert r_hat[400] > 1.1
    assert errors[1600] < 0.2
    assert r_hat[1600] < 1.02


@pytest.mark.parametrize("far", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_tails_of_a_law_without_elliptical_contours_are_right_after_a_cold_start(far: bool) -> None:
    """Independent Cauchy laws of scales from 0.1 to 10, fifty units away; judged by the largest coordinate."""
    dim = 10
    middle, scale = 50.0 * (-1.0) ** np.arange(dim), np.geomspace(0.1, 10, dim)
    at = np.random.default_rng(0).normal(size=(64, dim))
    at = 1000 * at / np.linalg.norm(at, axis=1, keepdims=True) if far else at
    kernel = mafla.heavy_tail(lambda x: -jnp.log1p(((x - middle) / scale) ** 2).sum())
    tree = mafla.sample(kernel, jax.random.key(1), at, 2000, warmup=500, progress=False)
    largest = np.abs((tree["posterior"]["x"].to_numpy() - middle) / scale).max(-1)
    for level in (0.5, 0.95):
        shares = (largest > stats.cauchy.ppf((1 + level ** (1 / dim)) / 2)).mean(1)
        error = shares.std() / math.sqrt(len(shares))
        assert abs(shares.mean() - (1 - level)) < 5 * error
        assert error < 0.2 * (1 - level)
    assert np.all(np.abs(tree.attrs["middle"] - middle) < 3 * scale)


@pytest.mark.slow
def test_it_is_a_part_of_a_cycle_like_others() -> None:
    kernel = mafla.cycle(mafla.heavy_tail(STUDENT.logdensity), mafla.frw(STUDENT.logdensity, 1.2, 1.0))
    start = jax.random.normal(jax.random.key(0), (16, DIM))
    tree = mafla.sample(kernel, jax.random.key(1), start, 50, warmup=50, progress=False)
    assert np.isfinite(tree["posterior"]["x"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.0}, r"alpha must be a number in \(1, 2\], got 1"),
        ({"step_size": -1.0}, "step_size must be a positive finite number, got -1"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mafla.heavy_tail(STUDENT.logdensity, **options)


def test_on_the_line_no_scale_is_tuned_by_jumps() -> None:
    """Nearly every jump is accepted on a Cauchy law, and a scale that followed would grow without end."""
    kernel, start = mafla.heavy_tail(targets.cauchy(1).logdensity), np.linspace(-3, 3, 64)[:, None]
    tree = mafla.sample(kernel, jax.random.key(0), start, 1, warmup=3000, progress=False)
    assert tree.attrs["axial_scale"] == 1


def test_radial_moves_are_on_after_a_warm_up_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains far from a centre that they do not know yet do not move radially, but only while they are warming up."""
    monkeypatch.setattr(run._Pace, "is_over", property(lambda pace: pace.seconds_each > 0))
    kernel, start = mafla.heavy_tail(lambda x: STUDENT.logdensity(x - 1e6)), np.zeros((64, DIM))
    with pytest.warns(run.ShortWarmupWarning):
        tree = mafla.sample(kernel, jax.random.key(0), start, 1, warmup=10**6, progress=False)
    assert tree.attrs["settled"] == 1


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("make", [mafla.heavy_tail, mafla.tempered])
def test_a_step_keeps_the_precision_of_its_state(make: Any) -> None:
    kernel = make(STUDENT.logdensity)
    before = kernel.init(jnp.zeros(DIM, jnp.float32))
    after, _ = jax.eval_shape(kernel.step, jax.random.key(0), before)
    assert [leaf.dtype for leaf in jax.tree.leaves(after)] == [leaf.dtype for leaf in jax.tree.leaves(before)]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "kernel", [mafla.heavy_tail(STUDENT.logdensity), annealed(STUDENT.logdensity, 10.0)], ids=["heavy tail", "annealed"]
)
def test_warm_up_keeps_the_precision_of_positions(kernel: mafla.Kernel) -> None:
    tree = mafla.sample(kernel, jax.random.key(0), np.ones((4, DIM), np.float32), 3, warmup=3, progress=False)
    assert tree["posterior"]["x"].dtype == np.float32
