"""What the tests of kernels share: running a kernel on many points, laws that the library did not compute, verdicts."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray
from scipy import stats

from mafla import stable
from mafla.kernels.base import Kernel, Noise, StepSize, params_at

Numbers = NDArray[np.floating[Any]]


def many(kernel: Kernel) -> Callable[[Any, Array, Any], tuple[Any, Any]]:
    """Return a compiled ``(params, positions, noise) -> (states, infos)``: one step of independent chains."""

    def one(params: Any, position: Array, noise: Any) -> tuple[Any, Any]:
        return kernel.move(params, kernel.init(position), noise)

    params_axis = 0 if isinstance(kernel.params, StepSize) else None
    compiled = jax.jit(jax.vmap(one, in_axes=(params_axis, 0, 0)))

    def run(params: Any, positions: Array, noise: Any) -> tuple[Any, Any]:
        if isinstance(params, StepSize):
            params = StepSize(jnp.broadcast_to(jnp.asarray(params.step_size, positions.dtype), positions.shape[:1]))
        states, infos = compiled(params, positions, noise)
        return states, infos

    return run


def batch_noise(kernel: Kernel, key: Array, positions: Array) -> Any:
    """Draw the noise of one step for each row of ``positions``; kernels themselves put chains last."""

    @jax.jit
    def draw(key: Array) -> Any:
        noise = kernel.noise(key, positions.shape[::-1], positions.dtype)
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), noise)

    return draw(key)


def one_step(kernel: Kernel, seed: int, positions: Array) -> tuple[Any, Any]:
    """Move each row of ``positions`` once, with noise of its own."""
    return many(kernel)(
        params_at(kernel, positions.shape[1]), positions, batch_noise(kernel, jax.random.key(seed), positions)
    )


class Walk(NamedTuple):
    """Independent chains before, after the first and after the last step, and how often they accepted."""

    start: Numbers
    first: Numbers
    last: Numbers
    acceptance: float


def walk(kernel: Kernel, seed: int, positions: Array, steps: int) -> Walk:
    """Run independent chains from ``positions``."""
    advance = jax.vmap(kernel.move, in_axes=(None, 0, 0))

    @jax.jit
    def step(states: Any, key: Array) -> tuple[Any, Array]:
        states, infos = advance(params_at(kernel, positions.shape[1]), states, batch_noise(kernel, key, positions))
        return states, infos.acceptance_rate.mean()

    states, rates, seen = jax.jit(jax.vmap(kernel.init))(positions), [], []
    for key in jax.random.split(jax.random.key(seed), steps):
        states, rate = step(states, key)
        rates.append(float(rate))
        seen.append(states.position)
    return Walk(np.asarray(positions), np.asarray(seen[0]), np.asarray(seen[-1]), float(np.mean(rates)))


def normals(seed: int, shape: tuple[int, ...], dtype: Any = None) -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype or jnp.result_type(float))


def units_apart(ours: Array, theirs: Array, start: Array) -> float:
    """Return the largest difference in units of the last place of the longer of start and end, chain by chain."""
    size = np.maximum(np.abs(np.asarray(start)).max(1), np.abs(np.asarray(theirs)).max(1))
    return float((np.abs(np.asarray(ours) - np.asarray(theirs)).max(1) / np.spacing(size)).max())


def forced(noise: Noise) -> Noise:
    """Return the noise with which every proposal of positive density is accepted."""
    return noise._replace(log_uniform=jnp.full(noise.normal.shape[:-1], -jnp.inf, noise.normal.dtype))


def barker(log_ratio: Array) -> Array:
    """Barker's acceptance, the other function of the ratio that balances."""
    return -jnp.logaddexp(0, -log_ratio)


def stable_log_ratio(
    logdensity: Callable[[Array], Array], drift: Callable[[Array], Array], alpha: float, step_size: float
) -> Callable[[Array, Array], Array]:
    """Return ``log p(x') - log p(x) + log q(x|x') - log q(x'|x)`` as a function of ``(x', x)``."""
    gamma = step_size ** (1 / alpha)

    def proposal(to: Array, at: Array) -> Array:
        return stable.logpdf((to - at - step_size * drift(at)) / gamma, alpha)

    return lambda new, old: logdensity(new) - logdensity(old) + proposal(old, new) - proposal(new, old)


def dkw_band(size: int, false_fail: float) -> float:
    """Return the distance from the true CDF that an empirical one exceeds with probability ``false_fail`` (Massart)."""
    return math.sqrt(math.log(2 / false_fail) / (2 * size))


def ks_distance(draws: Numbers, cdf: Callable[[Numbers], Numbers]) -> float:
    """Return the largest distance between the empirical CDF and ``cdf``."""
    level = cdf(np.sort(draws.astype(np.float64)))
    grid = np.arange(len(draws) + 1) / len(draws)
    return float(max((grid[1:] - level).max(), (level - grid[:-1]).max()))


def stable_cdf(alpha: float, scale: float = 1.0) -> Callable[[Numbers], Numbers]:
    """Return the CDF of the one-dimensional law by Zolotarev's integral (α > 1), which the library does not use."""
    power = alpha / (alpha - 1)
    logit = np.arange(-40, 40, 0.02)
    theta, rest = np.pi / 2 / (1 + np.exp(-logit)), np.pi / 2 / (1 + np.exp(logit))
    weight = 0.02 * theta * rest / np.pi**2 * 2
    log_cos = np.log(np.sin(rest))
    log_v = power * (log_cos - np.log(np.sin(alpha * theta))) + np.log(np.cos((alpha - 1) * theta)) - log_cos
    knots = np.linspace(-8, 20, 2801)  # of log x
    tail = np.array([weight @ np.exp(-np.exp(np.minimum(power * y + log_v, 7))) for y in knots])

    def cdf(x: Numbers) -> Numbers:
        log_size = np.log(np.maximum(np.abs(x) / scale, 1e-300))
        near = 0.5 - (0.5 - tail[0]) * np.exp(np.minimum(log_size - knots[0], 0))
        upper = np.where(log_size < knots[0], near, np.exp(np.interp(log_size, knots, np.log(tail))))
        return np.where(x > 0, 1 - upper, upper)

    return cdf


def exchange_p_values(before: Numbers, after: Numbers, bins: int = 8) -> list[float]:
    """Return p-values of the claim that ``(before, after)`` and ``(after, before)`` have one law.

    One for rises against falls, and one for each pair of bins of equal mass: flow there against flow back.
    """
    edges = np.quantile(np.concatenate([before, after]), np.arange(1, bins) / bins)
    cells = np.searchsorted(edges, before) * bins + np.searchsorted(edges, after)
    flow = np.bincount(cells, minlength=bins * bins).reshape(bins, bins)
    upper = np.triu_indices(bins, 1)
    there = np.append(flow[upper], (after > before).sum())
    back = np.append(flow.T[upper], (after < before).sum())
    return [float(p) for p in np.minimum(1, 2 * stats.binom.cdf(np.minimum(there, back), there + back, 0.5))]
