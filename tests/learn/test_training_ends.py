"""How a training ends: crashed and resumed, interrupted, or diverged."""

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from mafla.learn import training
from mafla.learn.training import DivergedWarning, History, Schedule, train

KEY = jax.random.key(0)
QUICK = Schedule(steps=40, batch_size=4, learning_rate=0.1, check_every=10, patience=None)


def run(model: Any, loss: Any, data: Any, held_out: Any = None, **settings: Any) -> tuple[Any, History]:
    """Train briefly, without a bar; settings of the schedule may be given among the others."""
    changes = {name: settings.pop(name) for name in Schedule._fields if name in settings}
    key, checkpoint = settings.pop("key", KEY), settings.pop("checkpoint", None)
    held_out = data if held_out is None else held_out
    schedule = QUICK._replace(**changes)
    return train(key, model, loss, data, held_out, schedule, progress=False, checkpoint=checkpoint, **settings)


def noisy_fit(model: Any, batch: Any, key: Array, progress: Array) -> Array:
    """Return a loss that uses everything that a loss is given."""
    inputs, outputs = batch
    noise = (1 - progress) * jax.random.uniform(key, outputs.shape)
    return jnp.mean((inputs @ model["weight"] + model["bias"] - outputs + noise) ** 2)


NOISY = {"weight": jnp.zeros(2), "bias": jnp.zeros(())}
PAIRS = (jax.random.normal(jax.random.key(5), (50, 2)), jnp.arange(50.0) % 3)


@pytest.fixture(scope="module")
def whole() -> tuple[Any, History]:
    """Return the model and the history of a training that ran through."""
    return run(NOISY, noisy_fit, PAIRS)


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def at_check(monkeypatch: pytest.MonkeyPatch, number: int, action: Callable[[], None]) -> None:
    """Do something at the end of the given check, where the loop tells the progress bar."""

    @contextmanager
    def bar(description: str, total: int, *, shown: bool) -> Iterator[Callable[[int, float], None]]:
        del description, total, shown
        calls: list[int] = []

        def report(done: int, rate: float) -> None:
            del rate
            calls.append(done)
            if len(calls) == number:
                action()

        yield report

    monkeypatch.setattr(training, "progress_bar", bar)


def crash() -> None:
    raise RuntimeError("the power is gone")


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_other_key_gives_another_model(whole: tuple[Any, History]) -> None:
    other, _ = run(NOISY, noisy_fit, PAIRS, key=jax.random.key(1))
    assert bits(other) != bits(whole[0])


def test_resumed_training_is_the_same_to_the_last_bit(
    whole: tuple[Any, History], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept"
    for checks in (1, 2):  # three of the four checks, in two goes
        with monkeypatch.context() as patch:
            at_check(patch, checks, crash)
            with pytest.raises(RuntimeError, match="the power is gone"):
                run(NOISY, noisy_fit, PAIRS, checkpoint=path)
        assert [file.name for file in tmp_path.iterdir()] == ["kept"]
    at_check(monkeypatch, 2, crash)  # but one is left
    resumed, history = run(NOISY, noisy_fit, PAIRS, checkpoint=path)
    assert bits(resumed) == bits(whole[0])
    assert history._replace(seconds=0) == whole[1]._replace(seconds=0)
    assert not list(tmp_path.iterdir())


def test_training_that_crashed_after_its_end_is_not_run_again(
    whole: tuple[Any, History], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        at_check(patch, 4, crash)
        with pytest.raises(RuntimeError, match="the power is gone"):
            run(NOISY, noisy_fit, PAIRS, checkpoint=tmp_path / "kept")
    at_check(monkeypatch, 1, crash)  # which a single further check would reach
    model, history = run(NOISY, noisy_fit, PAIRS, checkpoint=tmp_path / "kept")
    assert (history.outcome, history.steps) == ("finished", 40)
    assert bits(model) == bits(whole[0])
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_another_loss_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        at_check(patch, 1, ctrl_c)
        run(NOISY, noisy_fit, PAIRS, checkpoint=tmp_path / "kept", settings=("sliced",))
    with pytest.raises(ValueError, match="checkpoint must belong to the same work"):
        run(NOISY, noisy_fit, PAIRS, checkpoint=tmp_path / "kept", settings=("denoising",))


def test_ctrl_c_returns_the_best_so_far_and_keeps_a_checkpoint_for_this_training_only(
    whole: tuple[Any, History], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "kept", signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        at_check(patch, 2, ctrl_c)
        model, history = run(NOISY, noisy_fit, PAIRS, checkpoint=path)
    assert signal.getsignal(signal.SIGINT) is before
    assert (history.outcome, history.steps) == ("interrupted", 20)
    assert history.held_out_loss == whole[1].held_out_loss[:3]
    assert history.best_step == 10 * int(np.argmin(history.held_out_loss)) > 0
    loss = noisy_fit(model, PAIRS, jax.random.fold_in(KEY, 1), jnp.ones(()))
    assert float(loss) == pytest.approx(min(history.held_out_loss), rel=1e-6)

    kept = path.read_bytes()
    others: list[dict[str, Any]] = [
        {"key": jax.random.key(1)},
        {"learning_rate": 0.2},
        {"model": NOISY | {"bias": jnp.ones(())}},
        {"data": (PAIRS[0], PAIRS[1].at[49].set(9.0))},
        {"held_out": (PAIRS[0][:49], PAIRS[1][:49])},
    ]
    same = {"model": NOISY, "loss": noisy_fit, "data": PAIRS, "held_out": PAIRS, "checkpoint": path}
    for other in others:
        with pytest.raises(ValueError, match=r"checkpoint must belong to the same work, got .*kept, which belongs to"):
            run(**(same | other))
    assert path.read_bytes() == kept
    for damaged, message in [
        (kept[:-1], r"path must be a whole safetensors file, got .*kept"),
        (kept[:-1] + bytes([kept[-1] ^ 1]), r"got .*kept, which fails its checksum"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            run(**same)


def cliff(model: Array, batch: Array, key: Array, progress: Array) -> Array:
    """Return a loss that falls until the model is beyond the largest row, and is NaN there."""
    del key, progress
    return jnp.where(jnp.sum(model) > jnp.max(batch), jnp.nan, -jnp.sum(model))


def test_diverged_training_returns_the_last_good_model_and_warns() -> None:
    message = (
        r"^training diverged by step \d+: \d+ of 10 steps had a NaN or an infinity in them; the model of step \d+ is"
    )
    with pytest.warns(DivergedWarning, match=message) as caught:
        model, history = run(
            jnp.zeros(1), cliff, jnp.full((4, 1), 2.0), jnp.full((4, 1), 100.0), steps=100, average=0.0
        )
    assert f" by step {history.steps}: " in str(caught[0].message)
    assert f" of step {history.best_step} is returned" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert history.outcome == "diverged"
    assert 0 < history.best_step < history.steps < 100
    assert 1 < float(model[0]) <= 2
    assert history.held_out_loss[history.best_step // 10] == -float(model[0])


def test_held_out_loss_that_is_not_finite_is_divergence_and_no_checkpoint(tmp_path: Path) -> None:
    data, held_out = jnp.full((4, 1), 100.0), jnp.full((4, 1), 1.0)
    message = r"^training diverged by step 20: the held-out loss is nan; the model of step 10 is returned$"
    models = []
    for _ in range(2):  # the second one goes on from the last good check, and ends in the same way
        with pytest.warns(DivergedWarning, match=message):
            model, history = run(jnp.zeros(1), cliff, data, held_out, average=0.0, checkpoint=tmp_path / "kept")
        assert (history.outcome, history.steps, history.best_step, history.skipped) == ("diverged", 20, 10, 0)
        assert math.isnan(history.held_out_loss[-1])
        assert 0 < float(model[0]) <= 1
        models.append(model)
    assert bits(models[0]) == bits(models[1])


def test_bar_is_told_of_steps_and_ctrl_c_in_the_last_chunk_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, float]] = []
    given: list[object] = []

    @contextmanager
    def bar(description: str, total: int, *, shown: bool) -> Iterator[Callable[[int, float], None]]:
        given.extend([description, total, shown])

        def report(done: int, rate: float) -> None:
            told.append((done, rate))
            if done == total:
                ctrl_c()

        yield report

    monkeypatch.setattr(training, "progress_bar", bar)
    _, history = train(KEY, NOISY, noisy_fit, PAIRS, PAIRS, QUICK, label="score")
    assert given == ["score", 40, True]
    assert told == [(10, 1.0), (20, 1.0), (30, 1.0), (40, 1.0)]
    assert history.outcome == "finished"
