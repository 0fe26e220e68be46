"""Draws and log densities of the stable law against SciPy and against plain normals."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from scipy import stats

from mafla import stable
from mafla.bench.timing import seconds
from mafla.stable.table import radial_table

__all__ = ["describe", "run"]

ALPHA = 1.5
Side = Callable[[], object]


def run(seed: int = 0, quick: bool = False) -> list[dict[str, object]]:
    """Measure draws per second, log densities per second and the time to build tables."""
    n = 20_000 if quick else 100_000
    rows = [_draws_against_scipy(n, dim, seed) for dim in (1, 10)]
    rows += [_draws_against_normals(count, dim, seed) for count, dim in ((1000, 10), (n, 10), (n // 10, 100))]
    return [*rows, _densities_against_scipy(n, seed), _table_time()]


def describe(rows: list[dict[str, object]]) -> Any:
    """Return the rows as a table for the terminal."""
    from mafla.bench.tables import table

    return table("The isotropic stable law, α = 1.5: mafla in float32, SciPy in float64", rows)


def _compare(what: str, ours: Side, our_count: int, peer: Side, peer_count: int, goal: float) -> dict[str, object]:
    """Compare rates per second, the best of many short calls: their median is mostly what else the machine does."""
    best = seconds([ours, peer], repeats=40).min(axis=0)
    rate, peer_rate = our_count / best[0], peer_count / best[1]
    row = {"what": what, "mafla_per_second": rate, "peer_per_second": peer_rate}
    return {**row, "ratio": rate / peer_rate, "goal": goal}


def _draws_against_scipy(n: int, dim: int, seed: int) -> dict[str, object]:
    def peer() -> object:
        return stats.levy_stable.rvs(ALPHA, 0.0, size=n, random_state=seed)

    what = f"coordinates drawn, {n:,} × {dim}, against scipy.stats.levy_stable.rvs"
    return _compare(what, _draw(n, dim, seed), n * dim, peer, n, 5.0 if dim == 1 else 15.0)


def _draws_against_normals(n: int, dim: int, seed: int) -> dict[str, object]:
    key = jax.random.key(seed)

    def peer() -> object:
        return jax.random.normal(key, (n, dim)).block_until_ready()

    what = f"coordinates drawn, {n:,} × {dim}, against jax.random.normal"
    return _compare(what, _draw(n, dim, seed), n * dim, peer, n * dim, 0.8)


def _draw(n: int, dim: int, seed: int) -> Side:
    key = jax.random.key(seed)
    return lambda: stable.sample(key, ALPHA, (n,), dim).block_until_ready()


def _densities_against_scipy(n: int, seed: int) -> dict[str, object]:
    x = stable.sample(jax.random.key(seed), ALPHA, (n,))
    logpdf, few = jax.jit(lambda points: stable.logpdf(points, ALPHA)), np.asarray(x[:100, 0], np.float64)

    def peer() -> object:
        return stats.levy_stable.logpdf(few, ALPHA, 0.0)

    what = "log densities, 1-D, against scipy.stats.levy_stable.logpdf"
    return _compare(what, lambda: logpdf(x).block_until_ready(), n, peer, len(few), 10_000.0)


def _table_time() -> dict[str, object]:
    """Time the slowest of the tables that the accuracy tests use."""
    slowest = 0.0
    for alpha, dim in ((1.05, 1), (1.05, 100), (1.5, 10), (1.99, 100)):
        began = time.perf_counter()
        radial_table.__wrapped__(alpha, dim)
        slowest = max(slowest, time.perf_counter() - began)
    what = "tables built, slowest of four (α, d), against one a second"
    return {"what": what, "mafla_per_second": 1 / slowest, "peer_per_second": 1.0, "ratio": 1 / slowest, "goal": 1.0}
