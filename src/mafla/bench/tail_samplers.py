"""Samplers that get the same seconds on the same problem: ours, and those that people would use instead.

A sampler is made for a problem, which compiles it; it is then run with a key, a start and seconds. The seconds count
warm-up and draws. Whose warm-up takes more than half of its states is judged by the second half of them. Who makes many
cheap steps, and may still be on its way after a short warm-up, does not keep what it draws in the first quarter of its
time. Who has drawn as many numbers as fit into memory is done before its seconds are over.
"""

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from mafla.bench.tail_problems import Problem
from mafla.kernels.base import Kernel, params_at
from mafla.kernels.compose import cycle
from mafla.kernels.heavy_tail import heavy_tail
from mafla.kernels.mode_jumps import mode_jumps
from mafla.kernels.tempered import tempered
from mafla.modes import find_modes
from mafla.run import sample

__all__ = ["NUTS", "OURS", "SAMPLERS", "VARIANTS", "Drawn", "suits"]

OURS, TEMPERED, NUTS = "mafla", "mafla tempered", "BlackJAX NUTS"
WARMUP = 400  # steps; as few as leave most samplers most of the time for draws
LONG_WARMUP, BURN_IN = 1600, 0.25  # steps, and the share of the time, of samplers that make many cheap steps
MOST_NUMBERS = 5 * 10**7  # that a run may keep
LONGEST_CHUNK, CHUNK_SECONDS = 2000, 0.02  # of steps between looks at the clock; slow samplers make fewer
CHUNK_NUMBERS = 2**19  # that a chunk may hold
MALA_ACCEPTANCE = 0.574


class Drawn(NamedTuple):
    """What a run has made.

    Attributes:
        draws: of shape (chains, draws, dim).
        seconds: for warm-up and draws.
        warmup_seconds: until the first of the draws.
        is_warm: whether warm-up was done before the seconds were over.
    """

    draws: Float[np.ndarray, "chains draws dim"]
    seconds: float
    warmup_seconds: float
    is_warm: bool = True


Chains = Float[np.ndarray, "chains dim"]
Run = Callable[[Key[Array, ""], Chains, float], Drawn]


def ours(problem: Problem, chains: int, jumps: bool = True, **options: float) -> Run:
    """Return `mafla.heavy_tail` with its own warm-up; where there are modes, with jumps to those that it finds."""
    local, known = heavy_tail(problem.logdensity, **options), problem.locations
    return _alone(local, problem, chains) if known is None or not jumps else _with_jumps(local, problem, chains)


def parallel_tempering(problem: Problem, chains: int) -> Run:
    """Return `mafla.tempered`, as it comes."""
    return _alone(tempered(problem.logdensity), problem, chains)


def _alone(kernel: Kernel, problem: Problem, chains: int) -> Run:
    """Return the sampler that is nothing but a kernel and its own warm-up."""
    anywhere = np.asarray(jax.random.normal(jax.random.key(0), (chains, problem.dim)))
    most = MOST_NUMBERS // (chains * problem.dim)
    warmup_seconds = _compiled(kernel, anywhere, most)

    def run(key: Key[Array, ""], start: Chains, seconds: float) -> Drawn:
        began = time.perf_counter()
        tree = sample(kernel, key, start, most, warmup=WARMUP, progress=False, time_limit=seconds)
        seconds = time.perf_counter() - began
        return Drawn(tree["posterior"]["x"].to_numpy(), seconds, warmup_seconds, tree.attrs["warmup"] == WARMUP)

    return run


def _with_jumps(local: Kernel, problem: Problem, chains: int) -> Run:
    """Return the sampler that first looks for modes, which is part of its warm-up, and then jumps between them."""
    most = MOST_NUMBERS // (chains * problem.dim)
    anywhere = np.asarray(jax.random.normal(jax.random.key(0), (chains, problem.dim)))
    jumping = cycle(local, mode_jumps(problem.logdensity, find_modes(problem.logdensity, jax.random.key(0), anywhere)))

    def run(key: Key[Array, ""], start: Chains, seconds: float) -> Drawn:
        key_modes, key_start, key_run = jax.random.split(key, 3)
        began = time.perf_counter()
        law = find_modes(problem.logdensity, key_modes, start)
        ready = np.asarray(law.sample(key_start, chains))
        looking = time.perf_counter() - began
        kernel = jumping._replace(params=(params_at(local, problem.dim), law))
        warming = _compiled(kernel, ready, most)  # anew only for another number of modes
        began, left = time.perf_counter(), max(seconds - looking, seconds / 4)
        tree = sample(kernel, key_run, ready, most, warmup=WARMUP, progress=False, time_limit=left)
        spent, draws = looking + time.perf_counter() - began, tree["posterior"]["x"].to_numpy()
        return Drawn(draws, spent, looking + warming, tree.attrs["warmup"] == WARMUP)

    return run


def _compiled(kernel: Kernel, start: Chains, most: int) -> float:
    """Compile a run, and return the seconds that its warm-up takes."""
    for _ in range(2):  # the first compiles
        began = time.perf_counter()
        sample(kernel, jax.random.key(0), start, 1, warmup=WARMUP, progress=False)
        warmup_seconds = time.perf_counter() - began
    sample(kernel, jax.random.key(0), start, most, progress=False, time_limit=1e-3)
    return warmup_seconds


def blackjax_nuts(problem: Problem, chains: int) -> Run:
    """Return BlackJAX's NUTS with its window adaptation, each chain for itself, all in one batch."""
    init, step = adapted_nuts(problem)

    def init_all(_key: Key[Array, ""], start: Array) -> Any:
        return jax.vmap(init)(start)

    def step_all(states: Any, key: Key[Array, ""], number: Array) -> Any:
        return jax.vmap(step, in_axes=(0, 0, None))(states, jax.random.split(key, chains), number)

    return _in_chunks(init_all, step_all, lambda states: states[0].position, problem, chains)


def adapted_nuts(problem: Problem) -> tuple[Any, Any]:
    """Return ``init(x)`` and ``step(state, key, number)`` of BlackJAX's NUTS; the first steps are its warm-up.

    They are those of ``blackjax.window_adaptation``, one at a time, so that they can end when the time is over.
    """
    import blackjax
    from blackjax.adaptation import window_adaptation

    kernel: Any = blackjax.nuts.build_kernel()
    with warnings.catch_warnings():  # what is to come in its place makes no single steps
        warnings.simplefilter("ignore", DeprecationWarning)
        begin, update, final = window_adaptation.base(is_mass_matrix_diagonal=not problem.dense)
    stages, ends = (jnp.asarray(column) for column in zip(*window_adaptation.build_schedule(WARMUP), strict=True))

    def init(x: Array) -> Any:
        return blackjax.nuts.init(x, problem.logdensity), begin(x, 1.0)

    def step(state: Any, key: Key[Array, ""], number: Array) -> Any:
        chain, tuning = state
        is_warming, trial = number < WARMUP, (tuning.step_size, tuning.inverse_mass_matrix)
        tuned = [jnp.where(is_warming, *pair) for pair in zip(trial, final(tuning), strict=True)]
        chain, info = kernel(key, chain, problem.logdensity, *tuned)

        def updated() -> Any:
            return update(tuning, (stages[number], ends[number]), chain.position, info.acceptance_rate)

        return chain, jax.lax.cond(is_warming, updated, lambda: tuning)

    return init, step


def blackjax_mala(problem: Problem, chains: int) -> Run:
    """Return BlackJAX's MALA; it has no warm-up, so one step size for all chains follows their acceptance."""
    import blackjax

    kernel: Any = blackjax.mala.build_kernel()

    def init(_key: Key[Array, ""], start: Array) -> Any:
        return jax.vmap(lambda x: blackjax.mala.init(x, problem.logdensity))(start), jnp.zeros(())

    def step(carry: Any, key: Key[Array, ""], number: Array) -> Any:
        states, log_size = carry
        move: Any = jax.vmap(lambda k, s: kernel(k, s, problem.logdensity, jnp.exp(log_size)))
        states, infos = move(jax.random.split(key, chains), states)
        gain = jnp.where(number < LONG_WARMUP, 4 * (number + 1.0) ** -0.6, 0.0)
        return states, log_size + gain * (jnp.mean(infos.acceptance_rate) - MALA_ACCEPTANCE)

    return _in_chunks(init, step, lambda carry: carry[0].position, problem, chains, LONG_WARMUP, BURN_IN)


def numpyro_sampler(problem: Problem, chains: int, kind: str, warmup: int = WARMUP, burn_in: float = 0.0) -> Run:
    """Return NumPyro's NUTS or Barker's proposal, all chains in one batch, warmed up by its own rules."""
    init, step = numpyro_steps(problem, chains, kind, warmup)
    return _in_chunks(init, step, lambda states: states.z, problem, chains, warmup, burn_in)


def numpyro_steps(problem: Problem, chains: int, kind: str, warmup: int) -> tuple[Any, Any]:
    """Return ``init(key, start)`` and ``step(states, key, number)`` of a kernel of NumPyro, for all chains."""
    from numpyro import infer

    def potential(x: Array) -> Array:
        return -problem.logdensity(x)

    kernel: Any = getattr(infer, kind)(potential_fn=potential, dense_mass=problem.dense)
    # A first call outside of any transformation, since the kernel keeps functions from it.
    state = kernel.init(jax.random.key(0), warmup, jnp.zeros(problem.dim), (), {})
    # Chains share their place in the plan: it is looked up once, and what ends a window is done only where one ends.
    axes = jax.tree.map(lambda _: 0, state)
    axes = axes._replace(i=None, adapt_state=axes.adapt_state._replace(window_idx=None))

    def init(key: Key[Array, ""], start: Array) -> Any:
        begin: Any = jax.vmap(lambda k, x: kernel.init(k, warmup, x, (), {}), out_axes=axes)
        return begin(jax.random.split(key, chains), start)

    def step(states: Any, _key: Key[Array, ""], _number: Array) -> Any:  # both are in the states
        return jax.vmap(lambda state: kernel.sample(state, (), {}), in_axes=(axes,), out_axes=axes)(states)

    return init, step


def emcee_stretch(problem: Problem, chains: int) -> Run:
    """Return emcee's stretch moves; it needs twice as many walkers as dimensions, and has no warm-up at all."""
    import emcee

    walkers = max(chains, 2 * problem.dim + 2)
    batch = jax.jit(jax.vmap(problem.logdensity))

    def logdensities(points: np.ndarray) -> np.ndarray:
        found = np.asarray(batch(jnp.asarray(points, jnp.result_type(float))), np.float64)
        return np.where(np.isnan(found), -np.inf, found)

    for count in {walkers, walkers // 2, walkers - walkers // 2}:  # at the start, and the halves that take turns
        logdensities(np.zeros((count, problem.dim)))

    def run(key: Key[Array, ""], start: Chains, seconds: float) -> Drawn:
        began = time.perf_counter()
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        random = np.random.RandomState(seed)
        more = start[random.randint(len(start), size=walkers - len(start))] + random.normal(
            size=(walkers - len(start), problem.dim)
        )
        sampler = emcee.EnsembleSampler(walkers, problem.dim, logdensities, vectorize=True)
        sampler._random = random
        made: list[np.ndarray] = []  # kept here, since it would copy all of them whenever it makes room for more
        most = MOST_NUMBERS // (walkers * problem.dim)
        for state in sampler.sample(
            np.concatenate([start, more]), iterations=most, store=False, skip_initial_state_check=True
        ):
            made.append(state.coords.copy())
            if time.perf_counter() - began > seconds:
                break
        seconds, first = time.perf_counter() - began, int(BURN_IN * len(made))
        return Drawn(np.swapaxes(np.stack(made[first:]), 0, 1), seconds, BURN_IN * seconds)

    return run


def _in_chunks(
    init: Callable[[Key[Array, ""], Array], Any],
    step: Callable[[Any, Key[Array, ""], Array], Any],
    position: Callable[[Any], Array],
    problem: Problem,
    chains: int,
    warmup: int = WARMUP,
    burn_in: float = 0.0,
) -> Run:
    """Return a run that looks at the clock every few steps, in warm-up, which is the first steps, and after it.

    What is drawn in the first part of the time that the run took, a share ``burn_in`` of it, counts as warm-up. Warm-up
    takes no more than half of the states away, so that none is judged by the few that are left.
    """

    def chunk(states: Any, key: Key[Array, ""], first: Array, count: Array) -> tuple[Any, Array]:
        def one(number: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
            states = step(carry[0], keys[number], first + number)
            return states, carry[1].at[number].set(position(states))

        keys = jax.random.split(jax.random.fold_in(key, first), room)
        return jax.lax.fori_loop(0, count, one, (states, jnp.zeros((room, *shape.shape), shape.dtype)))

    key, shape = jax.random.key(0), jax.ShapeDtypeStruct((chains, problem.dim), jnp.result_type(float))
    room = max(1, min(LONGEST_CHUNK, CHUNK_NUMBERS // (chains * problem.dim)))
    begun = jax.jit(init).lower(key, shape).compile()
    stepped = jax.jit(chunk).lower(jax.eval_shape(init, key, shape), key, 0, 0).compile()
    most = warmup + MOST_NUMBERS // (chains * problem.dim)

    def run(key: Key[Array, ""], start: Chains, seconds: float) -> Drawn:
        key_init, key_steps = jax.random.split(key)
        began = time.perf_counter()
        states = jax.block_until_ready(begun(key_init, jnp.asarray(start, shape.dtype)))
        made: list[np.ndarray] = []
        steps, ends, count = [0], [time.perf_counter() - began], 1
        while not made or (ends[-1] < seconds and steps[-1] < most):
            states, found = stepped(states, key_steps, steps[-1], count)
            made.append(np.asarray(found)[:count].copy())  # a view would keep all of the room
            ends.append(time.perf_counter() - began)
            steps.append(steps[-1] + count)
            longest = CHUNK_SECONDS / (ends[-1] - ends[-2]) * count
            count = max(1, min(int(longest), 2 * count, room, most - steps[-1]))
        burnt = math.ceil(np.interp(burn_in * ends[-1], ends, steps))
        first = max(burnt, min(warmup, steps[-1] // 2))
        warmup_seconds = float(np.interp(first, steps, ends))
        return Drawn(np.swapaxes(np.concatenate(made)[first:], 0, 1), ends[-1], warmup_seconds, steps[-1] > warmup)

    return run


SAMPLERS: dict[str, Callable[[Problem, int], Run]] = {
    OURS: ours,
    TEMPERED: parallel_tempering,
    NUTS: blackjax_nuts,
    "BlackJAX MALA": blackjax_mala,
    "NumPyro NUTS": partial(numpyro_sampler, kind="NUTS"),
    "NumPyro Barker": partial(numpyro_sampler, kind="BarkerMH", warmup=LONG_WARMUP, burn_in=BURN_IN),
    "emcee": emcee_stretch,
}
# Ours with an α that is given, or without jumps to modes, to see what they matter; run only where they are named.
ALONE = f"{OURS} alone"
VARIANTS: dict[str, Callable[[Problem, int], Run]] = {
    **{f"{OURS} α={alpha:g}": partial(ours, alpha=alpha) for alpha in (1.2, 1.5, 1.7, 1.9, 2.0)},
    ALONE: partial(ours, jumps=False),
    **{f"{ALONE} α={alpha:g}": partial(ours, jumps=False, alpha=alpha) for alpha in (1.2, 1.7, 1.9)},
}


def suits(name: str, problem: Problem) -> bool:
    """Return whether a sampler is run on a problem: some are of interest only where there are modes."""
    return problem.locations is not None or not name.startswith((TEMPERED, ALONE))
