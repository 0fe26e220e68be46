"""The training loop against closed forms and a NumPy re-implementation of every step."""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from mafla.learn import training
from mafla.learn.training import DivergedWarning, History, Schedule, train

KEY = jax.random.key(0)
ROWS = jnp.zeros((4, 1))
QUICK = Schedule(steps=40, batch_size=4, learning_rate=0.1, check_every=10, patience=None)


def run(model: Any, loss: Any, data: Any = ROWS, held_out: Any = None, **settings: Any) -> tuple[Any, History]:
    """Train briefly, without a bar; settings of the schedule may be given among the others."""
    changes = {name: settings.pop(name) for name in Schedule._fields if name in settings}
    key, checkpoint = settings.pop("key", KEY), settings.pop("checkpoint", None)
    held_out = data if held_out is None else held_out
    schedule = QUICK._replace(**changes)
    return train(key, model, loss, data, held_out, schedule, progress=False, checkpoint=checkpoint, **settings)


def distance(model: Array, batch: Array, key: Array, progress: Array) -> Array:
    """Return the mean squared distance of the model, a point, to the rows."""
    del key, progress
    return jnp.mean((batch - model) ** 2)


def batches(rows: int, schedule: Schedule = QUICK) -> Iterator[np.ndarray]:
    """Yield the rows of each step, drawn by hand from the key of the step."""
    for step in range(schedule.steps):
        key = jax.random.split(jax.random.fold_in(jax.random.fold_in(KEY, 0), step))[0]
        yield np.asarray(jax.random.randint(key, (schedule.batch_size,), 0, rows))


def test_minimiser_of_a_quadratic_is_reached() -> None:
    centre, scales = jnp.array([3.0, -1.0, 0.5]), jnp.array([1.0, 5.0, 0.2])

    def bowl(model: Array, batch: Array, key: Array, progress: Array) -> Array:
        del batch, key, progress
        return jnp.sum(scales * (model - centre) ** 2)

    model, history = run(jnp.zeros(3), bowl, steps=1500, check_every=500, average=0.9)
    np.testing.assert_allclose(model, centre, atol=1e-4)
    assert history.outcome == "finished"
    assert history.held_out_loss[-1] < 1e-7
    assert history.steps == 1500


def by_hand(start: np.ndarray, scales: np.ndarray, centre: np.ndarray, plan: Schedule) -> tuple[np.ndarray, ...]:
    """Return parameters, averages and losses of all steps: clipping, Adam, rate and the average as defined."""
    w, m, v, ema, rows = start, np.zeros_like(start), np.zeros_like(start), np.zeros_like(start), []
    rise = int(plan.warmup * plan.steps)
    for t in range(plan.steps):
        loss, gradient = 0.5 * np.sum(scales * (w - centre) ** 2), scales * (w - centre)
        gradient = gradient * min(1, plan.clip / np.linalg.norm(gradient))
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        step = m / (1 - 0.9 ** (t + 1)) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
        fall = 0.5 * (1 + math.cos(math.pi * (t - rise) / (plan.steps - rise)))
        w = w - plan.learning_rate * (t / rise if t < rise else fall) * step
        ema = plan.average * ema + (1 - plan.average) * w
        rows.append((w, ema / (1 - plan.average ** (t + 1)), loss))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_every_check_agrees_with_numpy() -> None:
    with jax.enable_x64(True):
        start, scales, centre = np.array([1.0, -2.0]), np.array([1.0, 9.0]), np.array([0.5, 0.25])
        plan = QUICK._replace(steps=60, check_every=20, average=0.9, clip=1.5, warmup=0.1)

        def bowl(model: Array, batch: Array, key: Array, progress: Array) -> Array:
            del batch, key, progress
            return 0.5 * jnp.sum(scales * (model - centre) ** 2)

        _, averages, losses = by_hand(start, scales, centre, plan)
        model, history = run(jnp.asarray(start), bowl, **plan._asdict())
        checked = np.concatenate([start[None], averages[19::20]])
        held_out = 0.5 * np.sum(scales * (checked - centre) ** 2, -1)
        np.testing.assert_allclose(history.held_out_loss, held_out, rtol=1e-9)
        np.testing.assert_allclose(history.training_loss, losses.reshape(3, 20).mean(1), rtol=1e-9)
        assert history.best_step == 20 * int(np.argmin(held_out))
        np.testing.assert_allclose(model, checked[np.argmin(held_out)], rtol=1e-9)


@pytest.mark.parametrize(("steps", "warmup", "rise"), [(20, 0.25, 5), (10, 0.0, 0)])
def test_learning_rate_rises_linearly_and_falls_as_a_cosine(steps: int, warmup: float, rise: int) -> None:
    # With a constant gradient Adam moves by the learning rate itself.
    with jax.enable_x64(True):
        settings = {"steps": steps, "warmup": warmup, "check_every": 1, "average": 0.0, "learning_rate": 0.5}
        _, history = run(jnp.zeros(()), lambda model, batch, key, progress: model, **settings)  # noqa: ARG005
    rates = -np.diff(history.held_out_loss)
    t = np.arange(steps)
    expected = np.where(t < rise, t / max(rise, 1), 0.5 * (1 + np.cos(np.pi * (t - rise) / (steps - rise))))
    np.testing.assert_allclose(rates, 0.5 * expected, rtol=1e-7)  # short of 1 by Adam's epsilon


def test_batches_are_rows_drawn_by_the_key_of_the_step() -> None:
    values = np.arange(7, dtype=np.float32)
    data = {"one": jnp.asarray(values), "two": jnp.asarray(10 * values)[:, None]}

    def mean(model: Array, batch: Any, key: Array, progress: Array) -> Array:
        del key, progress
        return jnp.mean(batch["one"] + batch["two"][:, 0]) + 0 * model

    _, history = run(jnp.zeros(()), mean, data)
    expected = [11 * values[rows].mean() for rows in batches(7)]
    np.testing.assert_allclose(history.training_loss, np.reshape(expected, (4, 10)).mean(1), rtol=1e-6)
    np.testing.assert_allclose(history.held_out_loss, 33, rtol=1e-6)


def test_progress_rises_in_training_and_is_one_in_checks() -> None:
    _, history = run(jnp.zeros(()), lambda model, batch, key, progress: progress + 0 * model)  # noqa: ARG005
    np.testing.assert_allclose(history.training_loss, np.arange(40).reshape(4, 10).mean(1) / 40, rtol=1e-6)
    assert history.held_out_loss == (1.0,) * 5


def test_key_of_the_loss_is_new_in_steps_and_fixed_in_checks() -> None:
    def noise(model: Array, batch: Array, key: Array, progress: Array) -> Array:
        del batch, progress
        return jax.random.uniform(key) + 0 * model

    _, history = run(jnp.zeros(()), noise)
    assert len(set(history.training_loss)) == 4
    assert len(set(history.held_out_loss)) == 1


def test_only_floating_arrays_are_trained_and_the_given_model_is_left_alone() -> None:
    model = {"weight": jnp.zeros(2), "count": jnp.arange(3), "name": "score", "activation": jnp.tanh}

    def loss(model: Any, batch: Array, key: Array, progress: Array) -> Array:
        del batch, key, progress
        return jnp.sum((model["activation"](model["weight"]) - 0.5) ** 2 * model["count"][1])

    trained, _ = run(model, loss)
    assert np.all(np.asarray(trained["weight"]) > 0.1)
    np.testing.assert_array_equal(trained["count"], [0, 1, 2])
    assert (trained["name"], trained["activation"]) == ("score", jnp.tanh)
    np.testing.assert_array_equal(model["weight"], [0, 0])  # which donation would have deleted


def test_float32_stays_float32_where_float64_is_enabled_and_nothing_is_traced_again() -> None:
    seen = []

    def loss(model: Array, batch: Array, key: Array, progress: Array) -> Array:
        seen.append(progress.dtype)
        return distance(model, batch, key, progress)

    with jax.enable_x64(True):
        model, history = run(jnp.zeros(1, jnp.float32), loss, jnp.ones((4, 1), jnp.float32), steps=100)
    assert model.dtype == jnp.float32
    assert set(seen) == {jnp.dtype("float32")}
    assert len(seen) < len(history.training_loss) == 10


def test_early_stop_returns_the_best_and_not_the_last() -> None:
    # Training moves from 0 to 3 and passes 1, where the held-out rows are.
    data, held_out = jnp.full((4, 1), 3.0), jnp.full((4, 1), 1.0)
    settings = {"steps": 400, "average": 0.5, "patience": 3}
    model, history = run(jnp.zeros(1), distance, data, held_out, **settings)
    best = int(np.argmin(history.held_out_loss))
    assert history.outcome == "stopped early"
    assert history.best_step == 10 * best
    assert 0 < history.best_step < history.steps == 10 * (best + 3) < 400
    np.testing.assert_allclose(jnp.mean((held_out - model) ** 2), history.held_out_loss[best], rtol=1e-6)
    assert history.held_out_loss[-1] > 2 * history.held_out_loss[best]


def test_without_patience_it_goes_on_to_the_end_and_may_return_the_start() -> None:
    data, held_out = jnp.full((4, 1), 3.0), jnp.zeros((4, 1))
    model, history = run(jnp.zeros(1), distance, data, held_out, patience=None)
    assert (history.outcome, history.steps, history.best_step) == ("finished", 40, 0)
    assert len(history.held_out_loss) == len(history.training_loss) + 1 == 5
    np.testing.assert_array_equal(model, [0])


@pytest.mark.parametrize(("steps", "check_every", "made"), [(25, 10, 30), (30, 10, 30), (5, 200, 5)])
def test_steps_are_whole_chunks(steps: int, check_every: int, made: int) -> None:
    assert training._checked(Schedule(steps=steps, check_every=check_every)).steps == made


def test_held_out_rows_beyond_the_first_8192_are_not_used() -> None:
    held_out = jnp.zeros((9000, 1)).at[8192:].set(jnp.nan)
    _, history = run(jnp.ones(1), distance, ROWS, held_out, steps=10)
    assert history.held_out_loss[0] == 1
    with pytest.raises(ValueError, match="model must start with a finite loss on held_out, got nan"):
        run(jnp.ones(1), distance, ROWS, held_out.at[8191].set(jnp.nan))


def test_steps_with_a_bad_row_are_skipped_and_counted() -> None:
    data = jnp.ones((30, 1)).at[7].set(jnp.nan)
    model, history = run(jnp.zeros(1), distance, data, jnp.ones((4, 1)), steps=200, average=0.0)
    bad = sum(7 in rows for rows in batches(30, QUICK._replace(steps=200)))
    assert 10 < bad < 50
    assert (history.outcome, history.skipped) == ("finished", bad)
    assert all(math.isfinite(x) for x in history.training_loss)
    np.testing.assert_allclose(model, [1], atol=1e-3)


def test_skipped_step_changes_nothing() -> None:
    # The gradient of sqrt is infinite at 0 while the loss is finite: the model must stay where it is.
    def root(model: Array, batch: Array, key: Array, progress: Array) -> Array:
        del batch, key, progress
        return jnp.sqrt(jnp.sum(model))

    with pytest.warns(
        DivergedWarning, match="by step 10: 10 of 10 steps had a NaN or an infinity in them; the model of step 0"
    ):
        model, history = run(jnp.zeros(1), root)
    assert (history.skipped, history.held_out_loss) == (10, (0.0, 0.0))
    np.testing.assert_array_equal(model, [0])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ({"batch_size": 1.5}, "batch_size must be a whole number of at least 1, got 1.5"),
    ({"check_every": 0}, "check_every must be a whole number of at least 1, got 0"),
    ({"patience": 0}, "patience must be a whole number of at least 1, got 0"),
    ({"learning_rate": 0.0}, "learning_rate must be a positive finite number, got 0"),
    ({"clip": math.inf}, "clip must be a positive finite number, got inf"),
    ({"warmup": 1.0}, r"warmup must be a number in \[0, 1\), got 1.0"),
    ({"average": -0.1}, r"average must be a number in \[0, 1\), got -0.1"),
    ({"average": math.nan}, "average must be a finite number, got nan"),
    ({"key": jax.random.split(KEY)}, r"key must be one random key .* got an array of shape \(2,\)"),
    ({"data": jnp.zeros((0, 1))}, r"data must be arrays with the same number of rows.* got shapes \[\(0, 1\)\]"),
    ({"data": (ROWS, ROWS[:2])}, r"data must be arrays .* got shapes \[\(4, 1\), \(2, 1\)\]"),
    ({"held_out": jnp.zeros(())}, r"held_out must be arrays .* got shapes \[\(\)\]"),
    ({"data": ()}, r"data must be arrays .* got shapes \[\]"),
    ({"model": {"count": jnp.arange(3)}}, "model must have floating-point arrays to train, got none"),
    ({"loss": 3}, r"loss must be a function of \(model, batch, key, progress\), got int"),
    ({"loss": lambda *a: a[0]}, r"loss must return a scalar, got shape \(1,\)"),
    ({"checkpoint": "nowhere/file"}, "checkpoint must be a file in a folder that exists, got nowhere/file"),
]


def test_what_is_no_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"schedule must be a mafla\.Schedule, got None"):
        train(KEY, jnp.ones(1), distance, ROWS, ROWS, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**({"model": jnp.ones(1), "loss": distance, "held_out": ROWS} | change))
