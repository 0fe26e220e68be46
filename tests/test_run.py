"""The run loop: what is returned, that grouping never changes a bit, and that nothing bad is stored."""

import itertools
import math
import os
import signal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import arviz_stats  # noqa: F401 - gives trees their .azstats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import mafla
from mafla import program, run
from mafla.learn.mixture import StudentMixture
from mafla.run import NonFiniteWarning, ShortWarmupWarning

TARGET = mafla.targets.student_t(2, 3)
KERNEL = mafla.exact_mafla(TARGET.logdensity, 1.5, 0.5)
KEY = jax.random.key(0)
LAW = StudentMixture(*map(jnp.asarray, (np.zeros(1), np.zeros((1, 3)), np.eye(3)[None], np.ones(1))))


def draws(tree: xr.DataTree) -> np.ndarray:
    return tree["posterior"]["x"].to_numpy()


def test_tree_has_the_groups_that_arviz_reads() -> None:
    tree = mafla.sample(KERNEL, KEY, jnp.zeros((4, 3)), 200, warmup=100, progress=False)
    assert tree["posterior"]["x"].dims == ("chain", "draw", "dim")
    assert set(tree["sample_stats"].data_vars) == {"acceptance_rate", "nonfinite", "lp"}
    lp = TARGET.logdensity(jnp.asarray(draws(tree)))
    np.testing.assert_allclose(tree["sample_stats"]["lp"].to_numpy(), lp, rtol=1e-5)
    assert float(tree.azstats.rhat()["x"].max()) < 1.5


def test_tree_survives_a_file(tmp_path: Path) -> None:
    tree = mafla.sample(KERNEL, KEY, jnp.zeros((2, 3)), 20, warmup=10, progress=False)
    tree.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as again:
        assert np.array_equal(draws(again), draws(tree))
        assert again.attrs["step_size"] == tree.attrs["step_size"]


def single_scan(kernel: mafla.Kernel, key: jax.Array, start: np.ndarray, num_steps: int, thin: int) -> np.ndarray:
    """Run all rows in one compiled scan, without chunks."""
    made = program.compile_program(kernel._replace(params=None), start.T.shape, jnp.dtype(start.dtype), thin)
    rows = -(-num_steps // thin // made.engine.plan.draws)
    states, params = made.init(jnp.asarray(start.T)), jax.tree.map(jnp.float32, kernel.params)
    buffer = program.empty_buffer(made.engine.plan, states, rows)
    _, drawn, _ = jax.jit(partial(program.draw_chunk, made.engine))(params, states, key, 0, rows, buffer)
    return np.asarray(drawn.position).reshape(-1, *start.T.shape)[: num_steps // thin]


@pytest.mark.parametrize(("chains", "thin"), [(5, 1), (5, 3), (64, 300), (3000, 1), (20_000, 2)])
def test_chunks_equal_one_scan_bit_by_bit(chains: int, thin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start = np.zeros((chains, 3), np.float32)
    num_steps = 7 * max(thin, 40 if chains < 10_000 else 1)
    whole = single_scan(KERNEL, jax.random.fold_in(KEY, 1), start, num_steps, thin)
    monkeypatch.setattr(run, "CHUNK_SECONDS", 1e-9)  # one row in each chunk
    chunked = draws(mafla.sample(KERNEL, KEY, start, num_steps, thin=thin, progress=False))
    assert chunked.shape == (chains, num_steps // thin, 3)
    assert np.array_equal(np.moveaxis(chunked, 0, -1), whole)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_run_of_many_buffers_is_that_of_one(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, num_steps = np.zeros((3000, 3), np.float32), 50
    plan = program.make_plan(start.size, 1)
    whole = mafla.sample(KERNEL, KEY, start, num_steps, progress=False)
    monkeypatch.setattr(run, "BUFFER", rows * plan.draws * start.size)
    parts = mafla.sample(KERNEL, KEY, start, num_steps, progress=False, time_limit=1e6)  # which may be cut short
    assert num_steps > 3 * rows * plan.draws
    for group, name in (("posterior", "x"), ("sample_stats", "lp"), ("sample_stats", "acceptance_rate")):
        assert np.array_equal(parts[group][name], whole[group][name])


def test_thinned_run_keeps_every_thin_th_draw_of_the_full_run() -> None:
    start = np.zeros((4, 3), np.float32)
    full = draws(mafla.sample(KERNEL, KEY, start, 100, progress=False))
    thinned = mafla.sample(KERNEL, KEY, start, 100, thin=7, progress=False)
    np.testing.assert_allclose(draws(thinned), full[:, 6::7], rtol=1e-5, atol=1e-6)
    assert thinned["sample_stats"]["acceptance_rate"].shape == (4, 14)


def test_longer_run_begins_with_the_shorter_one() -> None:
    start = np.zeros((4, 3), np.float32)
    short, long = (draws(mafla.sample(KERNEL, KEY, start, n, progress=False)) for n in (37, 700))
    assert np.array_equal(short, long[:, :37])


def test_same_key_same_draws_other_key_other_draws() -> None:
    start = np.zeros((4, 3), np.float32)
    one, two = (draws(mafla.sample(KERNEL, KEY, start, 50, warmup=20, progress=False)) for _ in range(2))
    other = draws(mafla.sample(KERNEL, jax.random.key(1), start, 50, warmup=20, progress=False))
    assert np.array_equal(one, two)
    assert not np.any(np.all(one == other, axis=(1, 2)))
    assert len(np.unique(one[:, -1, 0])) == 4  # chains differ


@pytest.mark.parametrize("warmup", [1, 3, 300])
def test_warm_up_makes_as_many_steps_as_it_is_given(warmup: int) -> None:
    kernel = mafla.ula(jnp.zeros_like, 0.1)

    def count(params: Any, state: Any, noise: Any) -> tuple[Any, Any]:
        return state._replace(position=state.position + 1), kernel.move(params, state, noise)[1]

    tree = mafla.sample(kernel._replace(move=count), KEY, jnp.zeros((5, 3)), 2, warmup=warmup, progress=False)
    assert np.array_equal(draws(tree)[0, :, 0], [warmup + 1, warmup + 2])


@pytest.mark.parametrize("step_size", [1e-4, 1e4])
@pytest.mark.parametrize("chains", [16, pytest.param(2000, marks=pytest.mark.slow)])
def test_warm_up_reaches_the_target_acceptance(step_size: float, chains: int) -> None:
    kernel = mafla.exact_mafla(TARGET.logdensity, 1.5, step_size, target_acceptance=0.6)
    tree = mafla.sample(kernel, KEY, TARGET.sample(KEY, chains), 200, warmup=1000, progress=False)
    assert float(tree["sample_stats"]["acceptance_rate"].mean()) == pytest.approx(0.6, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.1, 1.3])
def test_warm_up_finds_a_useful_step_near_one(alpha: float) -> None:
    # There the acceptance rate is not monotone in the step size, and a high one is reached by standing still.
    target = mafla.targets.student_t(3, 3)
    kernel = mafla.exact_mafla(target.logdensity, alpha, 0.1)
    tree = mafla.sample(kernel, KEY, target.sample(KEY, 64), 10, warmup=500, progress=False)
    assert 0.3 < float(tree.attrs["step_size"]) < 10


def test_step_size_is_frozen_after_warm_up() -> None:
    tree = mafla.sample(KERNEL, KEY, jnp.zeros((8, 3)), 40, warmup=200, progress=False)
    tuned = float(tree["posterior"].attrs["step_size"])
    assert tuned != KERNEL.params.step_size
    # Going on by hand with the tuned step size, from the draw before and with the run's own noise, gives the next draw.
    noise = KERNEL.noise(jax.random.fold_in(jax.random.fold_in(KEY, 1), 31), (3, 8), jnp.dtype("float32"))
    for chain in range(8):
        own = jax.tree.map(lambda leaf: leaf[..., chain], noise)  # noqa: B023
        state = KERNEL.init(jnp.asarray(draws(tree)[chain, 30]))
        moved, _ = KERNEL.move(KERNEL.params._replace(step_size=tuned), state, own)
        np.testing.assert_allclose(moved.position, draws(tree)[chain, 31], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["ula", "fula", "fuld", "mafla"])
def test_warm_up_leaves_other_kernels_alone(name: str) -> None:
    kernels = {
        "ula": mafla.ula(TARGET.score, 0.1),
        "fula": mafla.fula(TARGET.score, 1.5, 0.1),
        "fuld": mafla.fuld(TARGET.score, 1.5, 0.1),
        "mafla": mafla.mafla(TARGET.score, lambda new, old: -jnp.sum((new - old) ** 2), 1.5, 0.1),
    }
    tree = mafla.sample(kernels[name], KEY, jnp.zeros((4, 3)), 10, warmup=50, progress=False)
    assert float(tree["posterior"].attrs["step_size"]) == pytest.approx(0.1)


def test_time_limit_returns_what_has_been_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    start, steps = np.zeros((50, 3), np.float32), 20_000
    whole = draws(mafla.sample(KERNEL, KEY, start, steps, progress=False))
    made = []
    for limit in (1e-3, 2.0, 3.0):
        ticks = itertools.count()  # a clock on which everything takes a tenth of a second for each look at it
        monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda ticks=ticks: 0.1 * next(ticks)))
        tree = mafla.sample(KERNEL, KEY, start, steps, progress=False, time_limit=limit)
        assert tree.attrs["stopped_early"] == 1
        made.append(draws(tree).shape[1])
        assert np.array_equal(draws(tree), whole[:, : made[-1]])
    assert 0 < made[0] < made[1] < made[2] < steps  # one chunk at least, whatever the limit


def test_the_last_chunk_ends_with_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    pace = run._Pace(deadline=1.0)
    while not pace.is_over:
        count = pace.next(10**6)
        clock[0] += 0.01 * count  # a step takes a hundredth of a second
        pace.ran(count)
    assert 0.98 < clock[0] < 1.001


def test_compilation_is_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock on which nothing but compilation takes time, a limit a little above that is long enough."""
    clock, start, seconds = [0.0], np.zeros((8, 3)), list[float]()
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slow_to_trace(x: jax.Array) -> jax.Array:
        clock[0] += 1
        return TARGET.logdensity(x)

    for limit in (None, 0.1):
        began = clock[0]
        kernel = mafla.frw(slow_to_trace, 1.5, 1.0)  # anew, so that it is compiled anew
        enough = limit and limit + seconds[0]
        tree = mafla.sample(kernel, KEY, start, 2000, warmup=3000, progress=False, time_limit=enough)
        seconds.append(clock[0] - began)
    assert seconds[0] == seconds[1] > 2
    assert tree.attrs["warmup"] == 3000
    assert draws(tree).shape[1] == 2000
    assert tree.attrs["stopped_early"] == 0


def test_a_warm_up_that_was_cut_short_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: 0.1 * next(ticks)))
    with pytest.warns(ShortWarmupWarning, match=r"time_limit ended warm-up after \d+ of 1000000 steps"):
        tree = mafla.sample(KERNEL, KEY, np.zeros((8, 3)), 10, warmup=10**6, progress=False, time_limit=2.0)
    assert 0 < tree.attrs["warmup"] < 10**6
    assert draws(tree).shape[1] == 10
    assert tree.attrs["stopped_early"] == 1


@pytest.mark.parametrize("chains", [1, 2, 5])
def test_old_style_keys_are_as_good_as_new_ones(chains: int) -> None:
    kernel, start = mafla.mode_jumps(TARGET.logdensity, LAW), np.zeros((chains, 3))
    new, old = (
        mafla.sample(kernel, make(0), start, 20, progress=False) for make in (jax.random.key, jax.random.PRNGKey)
    )
    assert np.array_equal(draws(new), draws(old))


def test_ctrl_c_returns_what_has_been_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    ran, calls = run._Pace.ran, []

    def interrupt_after_the_third_chunk(pace: run._Pace, count: int) -> None:
        ran(pace, count)
        calls.append(count)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(run._Pace, "ran", interrupt_after_the_third_chunk)
    tree = mafla.sample(KERNEL, KEY, jnp.zeros((200, 3)), 20_000, progress=False)
    rows = sum(calls)
    assert len(calls) == 3
    assert draws(tree).shape[1] == rows * program.make_plan(600, 1).draws < 20_000
    assert tree["posterior"].attrs["stopped_early"] == 1
    assert np.isfinite(draws(tree)).all()


def test_the_step_sizes_of_a_run_are_those_of_all_kernels_that_have_one() -> None:
    jumps, start = mafla.mode_jumps(TARGET.logdensity, LAW), np.zeros((4, 3))
    kernels = {
        (0.5, 0.5): mafla.cycle(KERNEL, jumps, mafla.cycle(mafla.heavy_tail(TARGET.logdensity))),
        (): mafla.cycle(jumps),
    }
    for sizes, kernel in kernels.items():
        attributes = mafla.sample(kernel, KEY, start, 2, progress=False).attrs
        assert tuple(attributes.get("step_size", ())) == pytest.approx(sizes)
    assert "step_size" not in mafla.sample(jumps, KEY, start, 2, progress=False).attrs


def cracked(x: jax.Array) -> jax.Array:
    """Return a log density that is NaN in a region that chains do reach."""
    return jnp.where(x[0] > 1.5, jnp.nan, -0.5 * x @ x)


def test_nan_is_turned_down_counted_and_reported() -> None:
    kernel = mafla.frw(cracked, 1.5, 1.0)
    with pytest.warns(NonFiniteWarning, match=r"\d+ of 8000 steps had a proposal that is NaN or infinite, in \d+ ch"):
        tree = mafla.sample(kernel, KEY, jnp.zeros((8, 2)), 1000, thin=4, progress=False)
    assert int(tree["sample_stats"]["nonfinite"].sum()) > 100
    assert np.isfinite(draws(tree)).all()
    assert draws(tree)[..., 0].max() <= 1.5


def test_run_that_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(ValueError, match=r"num_steps must be such that the draws fit into memory: they need \d+"):
        mafla.sample(KERNEL, KEY, jnp.zeros((1000, 3)), 10**9, progress=False)


def test_handler_of_interrupts_is_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    mafla.sample(KERNEL, KEY, jnp.zeros((2, 3)), 5, progress=False)
    assert signal.getsignal(signal.SIGINT) is before


BAD = [
    ({"positions": np.zeros(3)}, r"positions must have shape \(chains, dim\).*got \(3,\)"),
    ({"positions": np.zeros((0, 3))}, r"positions must have shape \(chains, dim\).*got \(0, 3\)"),
    ({"positions": np.array([[0, 0, math.nan]])}, r"positions must be finite, got nan at \[0, 2\]"),
    ({"positions": np.array([["a", "b", "c"]])}, "positions must be an array of real numbers"),
    ({"num_steps": 0}, "num_steps must be a whole number of at least 1, got 0"),
    ({"num_steps": 2.5}, "num_steps must be a whole number of at least 1, got 2.5"),
    ({"thin": 0}, "thin must be a whole number of at least 1, got 0"),
    ({"thin": 11}, "thin must be at most num_steps = 10, got 11"),
    ({"warmup": -1}, "warmup must be a whole number of at least 0, got -1"),
    ({"time_limit": 0}, "time_limit must be a positive finite number, got 0"),
    ({"key": "seed"}, "key must be one random key such as jax.random.key"),
    ({"key": jax.random.split(KEY)}, r"key must be one random key .* got an array of shape \(2,\)"),
    ({"positions": KEY}, "positions must be an array of real numbers, got an array of shape"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_arguments_are_named(change: dict[str, object], message: str) -> None:
    arguments = {"key": KEY, "positions": np.zeros((2, 3)), "num_steps": 10, "progress": False} | change
    with pytest.raises(ValueError, match=message):
        mafla.sample(KERNEL, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-math.inf, math.nan, math.inf])
def test_start_without_density_is_refused(value: float) -> None:
    kernel = mafla.frw(lambda x: jnp.where(x[0] == 1, value, 0.0), 1.5, 1.0)
    with pytest.raises(ValueError, match=r"positions must have a finite logdensity, got .* at positions\[2\]"):
        mafla.sample(kernel, KEY, np.array([[0.0], [0.0], [1.0]]), 10, progress=False)


def test_start_without_score_is_refused() -> None:
    kernel = mafla.ula(lambda x: x / 0, 0.1)
    with pytest.raises(ValueError, match="positions must have a finite drift"):
        mafla.sample(kernel, KEY, np.zeros((1, 2)), 10, progress=False)


def test_log_density_in_the_place_of_a_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kernel must be a kernel such as .*, got function"):
        mafla.sample(TARGET.logdensity, KEY, np.zeros((1, 3)), 10)  # type: ignore[arg-type]


def test_float64_where_it_is_enabled() -> None:
    with jax.enable_x64(True):
        tree = mafla.sample(KERNEL, KEY, np.zeros((2, 3)), 10, warmup=5, progress=False)
        assert draws(tree).dtype == np.float64


def test_ctrl_c_in_warm_up_says_that_there_are_no_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(pace: run._Pace, count: int) -> None:
        del pace, count
        raise KeyboardInterrupt

    monkeypatch.setattr(run._Pace, "ran", interrupt)
    with pytest.raises(KeyboardInterrupt, match="stopped during warm-up: there are no draws yet"):
        mafla.sample(KERNEL, KEY, jnp.zeros((2, 3)), 10, warmup=10, progress=False)
