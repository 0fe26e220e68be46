"""The compiled part of a run: many steps of many chains, grouped so that grouping never changes a bit.

Step ``t`` of a run uses the key ``fold_in(key, t)`` for all chains together, and steps are computed in rows of a fixed
shape. Draws therefore do not depend on how many rows a call makes. Chains are the last axis of every array in here:
loops over chains vectorise, loops over a few coordinates do not.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from mafla.kernels.base import Kernel, Pace

__all__ = [
    "Draws",
    "Engine",
    "Plan",
    "Program",
    "compile_program",
    "draw_chunk",
    "empty_buffer",
    "make_plan",
    "warm_chunk",
]

# Noise is drawn for several steps at once while that is less than this many numbers: few chains are held up by the
# start of each operation, many chains by memory.
NOISE_AHEAD = 2**15


class Plan(NamedTuple):
    """How steps are grouped: a row makes ``draws`` draws in ``spans`` spans of noise of ``span`` steps each."""

    thin: int
    span: int
    spans: int
    draws: int


class Draws(NamedTuple):
    """What is kept of each draw, for all chains."""

    position: Any
    logdensity: Any  # None where the kernel does not know it
    acceptance_rate: Any  # mean over the steps since the draw before
    nonfinite: Any  # number of proposals turned down for a NaN or an infinity since the draw before


class Engine(NamedTuple):
    """A kernel made ready for all chains, and the grouping of steps."""

    advance: Callable[[Any, Any, Any], tuple[Any, Any]]
    tune: Callable[[Any, Any, Any, Any], Any]
    noise: Callable[[Key[Array, ""], Any], Any]  # of a span of steps, by the first of them
    plan: Plan


class Program(NamedTuple):
    """The compiled functions of a run.

    Attributes:
        init: positions (dim, chains) to states.
        warm: ``warm((params, average, states), key, first_span, num_spans, warmup)`` steps and tunes.
        chunk: ``chunk(params, states, key, first_row, num_rows, buffer=buffer)`` makes rows of draws in the buffer.
        engine: what they are compiled from.
    """

    init: Callable[[Array], Any]
    warm: Callable[..., Any]
    chunk: Callable[..., Any]
    engine: Engine


def make_plan(size: int, thin: int) -> Plan:
    """Group steps by the size of the problem alone, so that equal runs compute equal bits."""
    ahead = 2 ** int(math.log2(min(256, max(1, NOISE_AHEAD // size))))
    if thin <= ahead:
        return Plan(thin, span=ahead // thin * thin, spans=1, draws=ahead // thin)
    span = max(divisor for divisor in range(1, ahead + 1) if thin % divisor == 0)
    return Plan(thin, span, spans=thin // span, draws=1)


@lru_cache(maxsize=16)
def compile_program(kernel: Kernel, shape: tuple[int, int], dtype: Any, thin: int) -> Program:
    """Compile a kernel for positions of shape (dim, chains); kept, so that the same kernel starts at once again."""
    dim, chains = shape
    plan = make_plan(chains * dim, thin)

    def noise(key: Key[Array, ""], first: Any) -> Any:
        keys = jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(plan.span))
        if plan.span == 1:
            return jax.tree.map(lambda leaf: leaf[None], kernel.noise(keys[0], shape, dtype))
        return jax.vmap(lambda one: kernel.noise(one, shape, dtype))(keys)

    engine = Engine(jax.vmap(kernel.move, in_axes=(None, -1, -1), out_axes=-1), kernel.tune, noise, plan)
    warm, chunk = partial(warm_chunk, engine), partial(draw_chunk, engine)
    return Program(
        jax.jit(jax.vmap(kernel.init, in_axes=-1, out_axes=-1)),
        jax.jit(warm),
        jax.jit(chunk, donate_argnames="buffer"),
        engine,
    )


def draw_chunk(
    engine: Engine, params: Any, states: Any, key: Key[Array, ""], first_row: Any, num_rows: Any, buffer: Draws
) -> tuple[Any, Draws, Any]:
    """Make ``num_rows`` rows of draws; returns states, buffer and acceptance rate.

    A row goes to its place in the buffer, counted from the start of the run and, where the buffer has fewer rows than
    the run, from the start of the buffer again.
    """
    room = len(buffer.position)

    def body(index: Any, carry: tuple[Any, Draws, Any]) -> tuple[Any, Draws, Any]:
        states, buffer, rate = carry
        states, made = _row(engine, params, states, key, first_row + index)
        buffer = jax.tree.map(lambda whole, row: whole.at[(first_row + index) % room].set(row), buffer, made)
        return states, buffer, rate + made.acceptance_rate.mean() / num_rows

    zero = jnp.zeros((), states.position.dtype)
    return jax.lax.fori_loop(0, num_rows, body, (states, buffer, zero))


def empty_buffer(plan: Plan, states: Any, rows: int) -> Draws:
    """Return room for rows of draws, (rows, draws, …, chains); each chunk takes it over and returns it."""

    def room(shape: tuple[int, ...], dtype: Any) -> Array:
        return jnp.zeros((rows, plan.draws, *shape), dtype)

    shape, dtype, logdensity = states.position.shape, states.position.dtype, getattr(states, "logdensity", None)
    log_room = None if logdensity is None else room(shape[1:], dtype)
    return Draws(room(shape, dtype), log_room, room(shape[1:], dtype), room(shape[1:], jnp.int32))


def _row(engine: Engine, params: Any, states: Any, key: Key[Array, ""], row: Any) -> tuple[Any, Draws]:
    """Make one row: ``plan.draws`` draws."""
    plan = engine.plan

    def one_draw(states: Any, noises: Any) -> tuple[Any, Draws]:
        states, infos = _scan(partial(engine.advance, params), states, noises)
        rate, nonfinite = infos.acceptance_rate.mean(0), infos.is_nonfinite.sum(0, dtype=jnp.int32)
        return states, Draws(states.position, getattr(states, "logdensity", None), rate, nonfinite)

    def one_span(states: Any, first_step: Any) -> tuple[Any, Draws]:
        noises = engine.noise(key, first_step)
        return _scan(one_draw, states, jax.tree.map(lambda leaf: leaf.reshape(plan.draws, -1, *leaf.shape[1:]), noises))

    first_step = row * (plan.span * plan.spans)
    states, made = _scan(one_span, states, first_step + plan.span * jnp.arange(plan.spans))
    last = jax.tree.map(lambda leaf: leaf[-1], made)
    return states, last._replace(
        acceptance_rate=made.acceptance_rate.mean(0), nonfinite=made.nonfinite.sum(0, dtype=jnp.int32)
    )


def warm_chunk(engine: Engine, carry: Any, key: Key[Array, ""], first_span: Any, num_spans: Any, warmup: Any) -> Any:
    """Step and tune; returns the new ``(params, average, states)`` and the acceptance rate of late.

    ``average`` gathers the parameters of the second half of warm-up, which are less noisy than the last ones.
    """
    span = engine.plan.span

    def one_step(noises: Any, first: Any, index: Any, carry: Any) -> Any:
        (params, average, states), total = carry
        moved, infos = engine.advance(params, states, jax.tree.map(lambda leaf: leaf[index], noises))
        step, time = first + index, (first + index).astype(states.position.dtype)
        tuned = engine.tune(params, moved, infos, Pace(4 * (time + 1) ** -0.6, time / warmup))
        counted = jnp.maximum(step - warmup // 2, 0)
        mean = jax.tree.map(lambda old, new: old + (new - old) / (counted + 1), average, tuned)
        return (tuned, mean, moved), total + infos.acceptance_rate.mean()

    def body(index: Any, carry: Any) -> Any:
        first = (first_span + index) * span
        count = jnp.minimum(span, warmup - first)  # the last span may be longer than what is left
        step = partial(one_step, engine.noise(key, first), first)
        inner, total = jax.lax.fori_loop(0, count, step, (carry[0], zero))
        return inner, total / count

    zero = jnp.zeros((), carry[2].position.dtype)
    return jax.lax.fori_loop(0, num_spans, body, (carry, zero))


def _scan(function: Callable[[Any, Any], tuple[Any, Any]], carry: Any, inputs: Any) -> tuple[Any, Any]:
    """Scan, without a loop where there is one step."""
    if jax.tree.leaves(inputs)[0].shape[0] > 1:
        return jax.lax.scan(function, carry, inputs)
    carry, output = function(carry, jax.tree.map(lambda leaf: leaf[0], inputs))
    return carry, jax.tree.map(lambda leaf: leaf[None], output)
