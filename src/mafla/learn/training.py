"""One training loop for every model: Adam in compiled chunks, averaged parameters, and the best of them returned.

Step ``t`` uses the key ``fold_in(key, t)``, and steps are computed in chunks of one shape with a check on held-out data
after each. A training that goes on from its checkpoint is therefore the same to the last bit as one that ran through.
"""

import json
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla._interrupt import interrupts
from mafla.learn import files
from mafla.progress import Report, progress_bar

__all__ = ["DivergedWarning", "History", "Schedule", "train"]

HELD_OUT_ROWS = 8192  # more would make checks slow and hardly change them
LOSSES = ("training_loss", "held_out_loss")  # of a History

Model = TypeVar("Model")
Function = Callable[..., Any]
Loss = Callable[[Any, Any, Key[Array, ""], Float[Array, ""]], Float[Array, ""]]


class DivergedWarning(UserWarning):
    """A training left the finite numbers. It was stopped, and the best model before that was returned."""


class Schedule(NamedTuple):
    """The settings of a training."""

    steps: int = 4000  # rounded up to a multiple of check_every
    batch_size: int = 512  # rows in a step, drawn with replacement
    learning_rate: float = 2e-3  # the largest: it rises to this linearly, then falls to zero as a cosine
    warmup: float = 0.05  # fraction of the steps in which it rises
    clip: float = 1.0  # gradients longer than this are shortened to it
    average: float = 0.995  # decay of the exponential average of the parameters
    check_every: int = 200  # steps between checks on held-out data, at most `steps`
    patience: int | None = 8  # stop after so many checks without improvement; None never stops early


class History(NamedTuple):
    """What happened in a training."""

    steps: int  # steps made or skipped
    training_loss: tuple[float, ...]  # mean over the steps before each check
    held_out_loss: tuple[float, ...]  # at the start and at each check, so one more
    best_step: int  # of the model that was returned; 0 is the model at the start
    outcome: str  # "finished", "stopped early", "diverged" or "interrupted"
    seconds: float  # with those before an interruption
    skipped: int  # steps not made because of a NaN or an infinity in loss, gradient or new parameters

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold, which has no words for the last losses of a training that diverged."""
        texts = {name: [x if math.isfinite(x) else str(x) for x in getattr(self, name)] for name in LOSSES}
        return self._asdict() | texts

    @staticmethod
    def from_json(kept: dict[str, Any]) -> "History":
        """Return the history that was kept."""
        return History(**kept | {name: tuple(map(float, kept[name])) for name in LOSSES})


DEFAULT = Schedule()


def train(
    key: Key[Array, ""],
    model: Model,
    loss: Loss,
    data: Any,
    held_out: Any,
    schedule: Schedule = DEFAULT,
    *,
    progress: bool = True,
    label: str = "training",
    checkpoint: str | Path | None = None,
    settings: tuple[Any, ...] = (),
) -> tuple[Model, History]:
    """Minimise a loss and return the model whose averaged parameters did best on held-out data.

    Args:
        key: random key; the same key gives the same model.
        model: any pytree; its floating-point arrays are trained.
        loss: ``loss(model, batch, key, progress)``, a scalar; ``progress`` rises from 0 to 1 and is 1 in checks.
        data: array or pytree of arrays with one row for each example.
        held_out: the same with other rows; the first 8192 are used, always with the same key.
        schedule: the settings.
        progress: show a bar with the rate of acceptance (of steps not skipped) and time left on a terminal.
        label: what the bar calls the training.
        checkpoint: file in which the training is kept after each check, and from which it goes on if the file is there.
            It is removed when the training is done.
        settings: what JSON can hold of all that the loss depends on: a checkpoint with others is refused.

    Returns:
        The best model and the history; after Ctrl-C those until then.

    Example:
        >>> def distance(model, batch, key, progress):
        ...     return jnp.mean((batch - model) ** 2)
        >>> data = 3 + jax.random.normal(jax.random.key(0), (1000,))
        >>> schedule = Schedule(steps=400, batch_size=64, learning_rate=0.1, check_every=100)
        >>> mean, history = train(jax.random.key(1), jnp.zeros(()), distance, data, data, schedule, progress=False)
        >>> print(jnp.round(mean), history.outcome)
        3.0 finished
    """
    if not callable(loss):
        raise ValueError(f"loss must be a function of (model, batch, key, progress), got {type(loss).__name__}")
    _check.random_key(key)
    plan, key_steps, key_check = _checked(schedule), jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
    data, held_out = _rows("data", data), _rows("held_out", held_out, HELD_OUT_ROWS)
    trained, fixed = eqx.partition(model, eqx.is_inexact_array)
    mark = "" if checkpoint is None else _fingerprint(key, (plan, settings), (model, data, held_out))
    kept = files.Checkpoint(checkpoint, "training", mark)
    init, chunk, check = _compile(loss, fixed, plan)
    chunk = partial(chunk, data=data, key=key_steps)
    check = partial(check, batch=held_out, key=key_check, progress=1.0)
    run = _start(init, check, trained, kept)
    with progress_bar(label, plan.steps, shown=progress) as report:
        best, history = _train_on(partial(_next, chunk, check, plan), run, plan, kept, report)
    return eqx.combine(best, fixed), history


class _State(NamedTuple):
    """What a step changes."""

    params: Any
    optimiser: Any
    average: Any
    updates: Any  # steps made, without those skipped


class _Run(NamedTuple):
    """A training up to a check."""

    state: _State
    best: Any
    history: History


def _compile(loss: Loss, fixed: Any, plan: Schedule) -> tuple[Function, Function, Function]:
    """Return the start of the optimiser and, compiled, a chunk of steps and a check, which take data as arguments."""
    # The learning rate goes by the step and not by Adam's own count, which skipped steps hold up.
    optimiser = optax.chain(optax.clip_by_global_norm(plan.clip), optax.adam(1.0))
    rise = int(plan.warmup * plan.steps)
    rate = optax.warmup_cosine_decay_schedule(0.0, plan.learning_rate, rise, plan.steps)

    def value(params: Any, batch: Any, key: Key[Array, ""], progress: Any) -> Any:
        progress = jnp.asarray(progress, jnp.result_type(*jax.tree.leaves(params)))
        result = jnp.asarray(loss(eqx.combine(params, fixed), batch, key, progress))
        if result.shape != ():
            raise ValueError(f"loss must return a scalar, got shape {result.shape}")
        return result

    def step(data: Any, key: Key[Array, ""], state: _State, index: Any) -> tuple[_State, tuple[Any, Any]]:
        key_rows, key_loss = jax.random.split(jax.random.fold_in(key, index))
        rows = jax.random.randint(key_rows, (plan.batch_size,), 0, len(jax.tree.leaves(data)[0]))
        batch = jax.tree.map(lambda leaf: leaf[rows], data)
        time_now = index.astype(float)
        result, gradient = jax.value_and_grad(value)(state.params, batch, key_loss, time_now / plan.steps)
        direction, optimiser_state = optimiser.update(gradient, state.optimiser)
        params = _combine(1, state.params, rate(time_now), direction)
        updates = state.updates + 1
        weight = _average_weight(updates, plan.average)
        stepped = _State(params, optimiser_state, _combine(1 - weight, state.average, weight, params), updates)
        is_taken = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves((result, gradient, params))]).all()
        return jax.tree.map(lambda new, old: jnp.where(is_taken, new, old), stepped, state), (result, is_taken)

    def chunk(state: _State, first: Any, data: Any, key: Key[Array, ""]) -> tuple[_State, Any, Any]:
        indices = first + jnp.arange(plan.check_every, dtype=jnp.int32)
        state, (losses, is_taken) = jax.lax.scan(partial(step, data, key), state, indices)
        return state, losses, is_taken

    return optimiser.init, jax.jit(chunk, donate_argnums=0), jax.jit(value)


def _average_weight(updates: Any, decay: float) -> Any:
    """Return the weight of the newest parameters: 1 at first, so that the average is not drawn to where it started."""
    log_decay = math.log(decay) if decay else -math.inf
    return (1 - decay) / -jnp.expm1(log_decay * updates.astype(float))


def _start(init: Function, check: Function, trained: Any, kept: files.Checkpoint) -> _Run:
    """Return the training as it was kept, or before its first step, in copies: a chunk overwrites what it is given."""
    if not jax.tree.leaves(trained):
        raise ValueError("model must have floating-point arrays to train, got none")
    params = _copy(trained)
    state = _copy(_State(params, init(params), params, jnp.int32(0)))
    if (found := kept.load((state, params))) is not None:
        return _Run(*found[1], History.from_json(found[0]))
    held_out_loss = float(check(params))
    if not math.isfinite(held_out_loss):
        raise ValueError(f"model must start with a finite loss on held_out, got {held_out_loss}")
    return _Run(state, params, History(0, (), (held_out_loss,), 0, "interrupted", 0.0, 0))


def _train_on(
    advance: Function, run: _Run, plan: Schedule, kept: files.Checkpoint, report: Report
) -> tuple[Any, History]:
    """Go on until the training is over, in trouble or interrupted; return the best parameters and the history."""
    started, is_interrupted = time.monotonic() - run.history.seconds, False
    with interrupts() as ask:
        while not (is_interrupted or _end(run.history, plan)):
            run, trouble = advance(run)
            history = run.history._replace(seconds=time.monotonic() - started)
            if trouble:
                where = f"by step {history.steps}: {trouble}; the model of step {history.best_step} is returned"
                warnings.warn(f"training diverged {where}", DivergedWarning, stacklevel=3)
                return run.best, history._replace(outcome="diverged")
            run = run._replace(history=history)
            kept.save(history.to_json(), (run.state, run.best))
            report(history.steps, 1 - history.skipped / history.steps)
            is_interrupted = ask()
    if outcome := _end(run.history, plan):
        kept.remove()
    return run.best, run.history._replace(outcome=outcome or "interrupted")


def _next(chunk: Function, check: Function, plan: Schedule, run: _Run) -> tuple[_Run, str]:
    """Make the steps up to the next check, and check; say what is wrong, if anything is."""
    before = run.history
    state, losses, is_taken = chunk(run.state, before.steps)
    finite = np.asarray(losses, np.float64)[np.asarray(is_taken)]
    skipped, training_loss = plan.check_every - len(finite), float(finite.mean()) if len(finite) else math.nan
    held_out_loss = float(check(state.average))
    history = before._replace(
        steps=before.steps + plan.check_every,
        training_loss=(*before.training_loss, training_loss),
        held_out_loss=(*before.held_out_loss, held_out_loss),
        skipped=before.skipped + skipped,
    )
    if 2 * skipped > plan.check_every:
        return run._replace(history=history), f"{skipped} of {plan.check_every} steps had a NaN or an infinity in them"
    if not math.isfinite(held_out_loss):
        return run._replace(history=history), f"the held-out loss is {held_out_loss}"
    if held_out_loss < min(before.held_out_loss):
        return _Run(state, _copy(state.average), history._replace(best_step=history.steps)), ""
    return _Run(state, run.best, history), ""


def _end(history: History, plan: Schedule) -> str:
    """Return how the training came to its end, or nothing while it goes on."""
    if history.steps >= plan.steps:
        return "finished"
    waited = (history.steps - history.best_step) // plan.check_every
    return "stopped early" if plan.patience is not None and waited >= plan.patience else ""


def _fingerprint(key: Key[Array, ""], settings: Any, contents: Any) -> str:
    generator, numbers = files.key_parts(key)
    return files.digest({"key": generator, "settings": json.dumps(settings)}, files.arrays_of((numbers, contents)))


def _checked(schedule: Schedule) -> Schedule:
    """Return the settings as they are carried out, with whole chunks only."""
    if not isinstance(schedule, Schedule):
        raise ValueError(f"schedule must be a mafla.Schedule, got {schedule!r}")
    steps, batch_size, check_every = (
        _check.whole(name, getattr(schedule, name), 1) for name in ("steps", "batch_size", "check_every")
    )
    check_every = min(check_every, steps)
    steps = -(-steps // check_every) * check_every
    for name in ("warmup", "average"):
        if not 0 <= _check.number(name, getattr(schedule, name)) < 1:
            raise ValueError(f"{name} must be a number in [0, 1), got {getattr(schedule, name)}")
    rate, clip = (_check.positive(name, getattr(schedule, name)) for name in ("learning_rate", "clip"))
    patience = None if schedule.patience is None else _check.whole("patience", schedule.patience, 1)
    return Schedule(
        steps, batch_size, rate, float(schedule.warmup), clip, float(schedule.average), check_every, patience
    )


def _rows(name: str, tree: Any, most: int | None = None) -> Any:
    """Return the arrays of the tree as JAX arrays with the first rows, if they all have the same number of them."""
    tree = jax.tree.map(jnp.asarray, tree)
    shapes = [leaf.shape for leaf in jax.tree.leaves(tree)]
    if len({shape[:1] for shape in shapes}) != 1 or shapes[0][:1] in ((), (0,)):
        raise ValueError(f"{name} must be arrays with the same number of rows, at least one, got shapes {shapes}")
    return jax.tree.map(lambda leaf: leaf[:most], tree)


def _combine(weight: Any, tree: Any, other_weight: Any, other: Any) -> Any:
    """Return a weighted sum in the precision of the trees, whatever that of the weights."""
    weights = jnp.asarray(weight), jnp.asarray(other_weight)
    return jax.tree.map(lambda a, b: weights[0].astype(a.dtype) * a + weights[1].astype(b.dtype) * b, tree, other)


def _copy(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.array(leaf, jnp.result_type(leaf), copy=True), tree)
