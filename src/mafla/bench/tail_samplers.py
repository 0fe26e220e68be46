"""Samplers that get the same seconds on the same problem: ours, and those that people would use instead.

A sampler is made for a problem, which compiles it; it is then run with a key, a start and seconds. The seconds count
warm-up and draws. Who is not done with warm-up when they are over goes on until it is and draws a little, and what it
took is said. Whose warm-up tunes step sizes alone does not keep what it draws in the first quarter of its time. Who
has drawn as many numbers as fit into memory is done before its seconds are over.
"""

import time
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
WARMUP = 400  # steps; as few as leave all of them most of the time for draws
MOST_NUMBERS = 5 * 10**7  # that a run may keep
CHUNK = 10  # draws between looks at the clock
BURN_IN = 0.25  # share of the time of samplers whose warm-up is short for them
MALA_ACCEPTANCE = 0.574


class Drawn(NamedTuple):
    """Draws of shape (chains, draws, dim), the seconds for warm-up and draws, and those for warm-up alone."""

    draws: Float[np.ndarray, "chains draws dim"]
    seconds: float
    warmup_seconds: float


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
        return Drawn(tree["posterior"]["x"].to_numpy(), time.perf_counter() - began, warmup_seconds)

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
        began, left = time.perf_counter(), max(seconds - looking, seconds / 2)
        tree = sample(kernel, key_run, ready, most, warmup=WARMUP, progress=False, time_limit=left)
        drawing = time.perf_counter() - began
        return Drawn(tree["posterior"]["x"].to_numpy(), looking + drawing, looking + warming)

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
    import blackjax

    adaptation = blackjax.window_adaptation(
        blackjax.nuts,
        problem.logdensity,
        is_mass_matrix_diagonal=not problem.dense,
        adaptation_info_fn=lambda *_: None,
    )
    kernel = blackjax.nuts.build_kernel()

    def warm(key: Key[Array, ""], start: Array) -> Any:
        return jax.vmap(lambda k, x: adaptation.run(k, x, WARMUP)[0])(jax.random.split(key, chains), start)

    def advance(state: Any, key: Key[Array, ""], tuned: Any) -> Any:
        return kernel(key, state, problem.logdensity, **tuned)[0]

    return _in_chunks(warm, advance, problem, chains)


def blackjax_mala(problem: Problem, chains: int) -> Run:
    """Return BlackJAX's MALA; it has no warm-up, so one step size for all chains follows their acceptance."""
    import blackjax

    kernel: Any = blackjax.mala.build_kernel()

    def warm(key: Key[Array, ""], start: Array) -> Any:
        def step(carry: Any, inputs: Any) -> Any:
            states, log_size = carry
            number, step_key = inputs
            move: Any = jax.vmap(lambda k, s: kernel(k, s, problem.logdensity, jnp.exp(log_size)))
            states, infos = move(jax.random.split(step_key, chains), states)
            gain = (number + 1.0) ** -0.6
            return (states, log_size + gain * (jnp.mean(infos.acceptance_rate) - MALA_ACCEPTANCE)), None

        states = jax.vmap(lambda x: blackjax.mala.init(x, problem.logdensity))(start)
        inputs = (jnp.arange(WARMUP), jax.random.split(key, WARMUP))
        states, log_size = jax.lax.scan(step, (states, jnp.zeros(())), inputs)[0]
        return states, jnp.broadcast_to(jnp.exp(log_size), chains)

    def advance(state: Any, key: Key[Array, ""], tuned: Any) -> Any:
        return kernel(key, state, problem.logdensity, tuned)[0]

    return _in_chunks(warm, advance, problem, chains, burn_in=BURN_IN)


def numpyro_sampler(problem: Problem, chains: int, kind: str, burn_in: float = 0.0) -> Run:
    """Return NumPyro's NUTS or Barker's proposal, all chains in one batch, warmed up by its own rules."""
    from numpyro import infer

    def potential(x: Array) -> Array:
        return -problem.logdensity(x)

    kernel: Any = getattr(infer, kind)(potential_fn=potential, dense_mass=problem.dense)

    def warm(key: Key[Array, ""], start: Array) -> Any:
        keys = jax.random.split(key, chains)
        states = jax.vmap(lambda k, x: kernel.init(k, WARMUP, x, (), {}))(keys, start)
        advance: Any = jax.vmap(lambda state: kernel.sample(state, (), {}))
        return jax.lax.fori_loop(0, WARMUP, lambda _, found: advance(found), states), jnp.zeros(chains)

    def advance(state: Any, key: Key[Array, ""], tuned: Any) -> Any:
        del key, tuned  # both are in the state
        return kernel.sample(state, (), {})

    # A first call outside of any transformation, since the kernel keeps functions from it.
    kernel.init(jax.random.key(0), WARMUP, jnp.zeros(problem.dim), (), {})
    return _in_chunks(warm, advance, problem, chains, burn_in, position=lambda state: state.z)


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
        state, most = np.concatenate([start, more]), MOST_NUMBERS // (walkers * problem.dim)
        while not sampler.iteration or (sampler.iteration < most and time.perf_counter() - began < seconds):
            state = sampler.run_mcmc(state, min(CHUNK, most - sampler.iteration), skip_initial_state_check=True)
        seconds, chain = time.perf_counter() - began, np.swapaxes(sampler.get_chain(), 0, 1)
        return Drawn(chain[:, int(BURN_IN * chain.shape[1]) :], seconds, BURN_IN * seconds)

    return run


def _in_chunks(
    warm: Any,
    advance: Any,
    problem: Problem,
    chains: int,
    burn_in: float = 0.0,
    position: Callable[[Any], Any] = lambda state: state.position,
) -> Run:
    """Return a run of a sampler of BlackJAX's form: warm up, then draw in chunks until the time is over.

    What is drawn in the first part of the time that the run took, a share ``burn_in`` of it, counts as warm-up.
    """

    def chunk(states: Any, tuned: Any, key: Key[Array, ""]) -> tuple[Any, Array]:
        def step(states: Any, step_key: Key[Array, ""]) -> tuple[Any, Array]:
            states = jax.vmap(advance)(states, jax.random.split(step_key, chains), tuned)
            return states, position(states)

        return jax.lax.scan(step, states, jax.random.split(key, CHUNK))

    key, shape = jax.random.key(0), jax.ShapeDtypeStruct((chains, problem.dim), jnp.result_type(float))
    warmed = jax.jit(warm).lower(key, shape).compile()
    states, tuned = jax.eval_shape(warm, key, shape)
    drawn = jax.jit(chunk).lower(states, tuned, key).compile()
    most = MOST_NUMBERS // (chains * problem.dim * CHUNK)

    def run(key: Key[Array, ""], start: Chains, seconds: float) -> Drawn:
        key_warm, key_draw = jax.random.split(key)
        began = time.perf_counter()
        states, tuned = jax.block_until_ready(warmed(key_warm, jnp.asarray(start, shape.dtype)))
        made: list[np.ndarray] = []
        ends = [time.perf_counter() - began]  # of warm-up, and then of each chunk
        while not made or (ends[-1] < seconds and len(made) < most):
            states, found = drawn(states, tuned, jax.random.fold_in(key_draw, len(made)))
            made.append(np.asarray(found))
            ends.append(time.perf_counter() - began)
        burnt = sum(end < burn_in * ends[-1] for end in ends[1:])
        return Drawn(np.swapaxes(np.concatenate(made[burnt:]), 0, 1), ends[-1], ends[burnt])

    return run


SAMPLERS: dict[str, Callable[[Problem, int], Run]] = {
    OURS: ours,
    TEMPERED: parallel_tempering,
    NUTS: blackjax_nuts,
    "BlackJAX MALA": blackjax_mala,
    "NumPyro NUTS": partial(numpyro_sampler, kind="NUTS"),
    "NumPyro Barker": partial(numpyro_sampler, kind="BarkerMH", burn_in=BURN_IN),
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
