"""Steps per second of exact kernels against BlackJAX's MALA, and how much of a step is bare noise.

A step of `heavy_tail` makes three moves, a fractional Langevin step, a radial and an axial one; the other makes one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

import mafla
from mafla.bench.timing import seconds, speed_ratio
from mafla.kernels.base import params_at
from mafla.program import compile_program, draw_chunk, empty_buffer

__all__ = ["describe", "run"]

DIM, ALPHA, STEP_SIZE = 10, 1.5, 0.5
STEPS = {16: 200_000, 1000: 6000, 10_000: 600}
KERNELS: dict[str, Callable[[Callable[[Array], Array]], mafla.Kernel]] = {
    "exact MAFLA": lambda logdensity: mafla.exact_mafla(logdensity, ALPHA, STEP_SIZE),
    "heavy tail": mafla.heavy_tail,
}


def run(seed: int = 0, quick: bool = False) -> list[dict[str, object]]:
    """Measure 16, 1 000 and 10 000 chains on a 10-D Student-t target; all sides store every position."""
    part = 20 if quick else 1
    return [_measure(name, chains, steps // part, seed) for name in KERNELS for chains, steps in STEPS.items()]


def describe(rows: list[dict[str, object]]) -> Any:
    """Return the rows as a table for the terminal."""
    from mafla.bench.tables import table

    return table("Exact kernels against BlackJAX MALA, 10-D Student-t, float32", rows)


def _measure(name: str, chains: int, steps: int, seed: int) -> dict[str, object]:
    target = mafla.targets.student_t(2, DIM)
    kernel = KERNELS[name](target.logdensity)
    start, key = target.sample(jax.random.key(seed), chains), jax.random.key(seed + 1)
    peer = _blackjax_mala(target.logdensity, start, steps)
    noise = _bare_noise(kernel, chains, steps)
    single = _single_scan(kernel, start, steps)
    sides = [
        lambda: mafla.sample(kernel, key, start, steps, progress=False),
        lambda: jax.block_until_ready(peer(key)),
        lambda: jax.block_until_ready(noise(key)),
        lambda: jax.block_until_ready(single(jax.random.fold_in(key, 1))),
    ]
    times = seconds(sides, repeats=9)
    best = times.min(axis=0)
    return {
        "kernel": name,
        "chains": chains,
        "steps": steps,
        "mafla_steps_per_second": steps / best[0],
        "blackjax_steps_per_second": steps / best[1],
        "ratio": speed_ratio(times),
        "noise_share": speed_ratio(times, ours=0, peer=2),
        "overhead_of_chunks": 1 / speed_ratio(times, ours=0, peer=3) - 1,
    }


def _blackjax_mala(logdensity: Callable[[Array], Array], start: Array, steps: int) -> Callable[[Array], Array]:
    """Return BlackJAX's MALA on many chains the way its documentation runs them: one key per chain and step."""
    import blackjax

    algorithm = blackjax.mala(logdensity, STEP_SIZE / 2)  # its step ε has the drift ε and the variance 2ε of ours
    advance = jax.vmap(algorithm.step)

    def one_step(states: Any, key: Array) -> tuple[Any, Array]:
        states, _ = advance(jax.random.split(key, len(start)), states)
        return states, states.position

    states = jax.vmap(algorithm.init)(start)
    return jax.jit(lambda key: jax.lax.scan(one_step, states, jax.random.split(key, steps))[1])


def _bare_noise(kernel: mafla.Kernel, chains: int, steps: int) -> Callable[[Array], Array]:
    """Return the noise of a run and nothing else, grouped as the run groups it."""
    shape, dtype = (DIM, chains), jnp.dtype("float32")
    plan = compile_program(kernel._replace(params=None), shape, dtype, 1).engine.plan

    def one_span(total: Array, first: Array) -> tuple[Array, None]:
        keys = jax.vmap(partial(jax.random.fold_in, jax.random.key(0)))(first + jnp.arange(plan.span))
        noise = jax.vmap(lambda key: kernel.noise(key, shape, dtype))(keys)
        # Every number must be used, or the compiler would not draw it.
        return total + sum(jnp.sum(leaf) for leaf in jax.tree.leaves(noise)), None

    spans = -(-steps // plan.span)
    return jax.jit(lambda key: jax.lax.scan(one_span, jax.random.uniform(key), plan.span * jnp.arange(spans))[0])


def _single_scan(kernel: mafla.Kernel, start: Array, steps: int) -> Callable[[Array], Any]:
    """Return all steps as one compiled call, in the groups of the chunked run and with no host in between."""
    made = compile_program(kernel._replace(params=None), start.T.shape, start.dtype, 1)
    states, params = made.init(start.T), jax.tree.map(jnp.float32, params_at(kernel, DIM))
    rows = -(-steps // made.engine.plan.draws)

    def whole(key: Array) -> Any:
        buffer = empty_buffer(made.engine.plan, states, rows)
        return draw_chunk(made.engine, params, states, key, 0, rows, buffer)[1]

    return jax.jit(whole)
