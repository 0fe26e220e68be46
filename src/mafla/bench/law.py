"""Draws and log densities of the stable law against SciPy and against plain normals."""

import time
from typing import Any

import jax
import numpy as np
from scipy import stats

from mafla import stable
from mafla.bench.timing import best_seconds
from mafla.stable.table import radial_table

__all__ = ["describe", "run"]

ALPHA = 1.5


def run(seed: int = 0, quick: bool = False) -> list[dict[str, object]]:
    """Measure draws per second, log densities per second and the time to build tables."""
    n = 20_000 if quick else 100_000
    rows = [_draws_against_scipy(n, dim, seed) for dim in (1, 10)]
    rows += [_draws_against_normals(count, dim, seed) for count, dim in ((1000, 10), (n, 10), (n // 10, 100))]
    return [*rows, _densities_against_scipy(n, seed), _table_time()]


def describe(rows: list[dict[str, object]]) -> Any:
    """Return the rows as a table for the terminal."""
    from mafla.bench.tables import table

    return table("The isotropic stable law, α = 1.5, float32 (SciPy: float64)", rows)


def _row(what: str, ours: float, theirs: float, goal: float) -> dict[str, object]:
    """Compare rates per second."""
    return {"what": what, "mafla_per_second": ours, "peer_per_second": theirs, "ratio": ours / theirs, "goal": goal}


def _draws_against_scipy(n: int, dim: int, seed: int) -> dict[str, object]:
    draw = jax.jit(lambda key: stable.sample(key, ALPHA, (n,), dim))
    key, peer_n = jax.random.key(seed), min(n, 100_000)
    ours, theirs = best_seconds(
        [
            lambda: draw(key).block_until_ready(),
            lambda: stats.levy_stable.rvs(ALPHA, 0.0, size=peer_n, random_state=seed),
        ]
    )
    what = f"coordinates drawn, {dim}-D, against scipy.stats.levy_stable.rvs"
    return _row(what, n * dim / ours, n / theirs, 5.0 if dim == 1 else 15.0)


def _draws_against_normals(n: int, dim: int, seed: int) -> dict[str, object]:
    draw = jax.jit(lambda key: stable.sample(key, ALPHA, (n,), dim))
    normal = jax.jit(lambda key: jax.random.normal(key, (n, dim)))
    key = jax.random.key(seed)
    ours, theirs = best_seconds([lambda: draw(key).block_until_ready(), lambda: normal(key).block_until_ready()], 15)
    return _row(f"coordinates drawn, {n:,} × {dim}, against jax.random.normal", n * dim / ours, n * dim / theirs, 0.8)


def _densities_against_scipy(n: int, seed: int) -> dict[str, object]:
    x = stable.sample(jax.random.key(seed), ALPHA, (n,))
    logpdf, few = jax.jit(lambda points: stable.logpdf(points, ALPHA)), np.asarray(x[:200, 0], np.float64)
    ours, theirs = best_seconds(
        [lambda: logpdf(x).block_until_ready(), lambda: stats.levy_stable.logpdf(few, ALPHA, 0.0)], 3
    )
    return _row("log densities, 1-D, against scipy.stats.levy_stable.logpdf", n / ours, len(few) / theirs, 10_000.0)


def _table_time() -> dict[str, object]:
    """Time the slowest of the tables that the accuracy tests use."""
    slowest = 0.0
    for alpha, dim in ((1.05, 1), (1.05, 100), (1.5, 10), (1.99, 100)):
        began = time.perf_counter()
        radial_table.__wrapped__(alpha, dim)
        slowest = max(slowest, time.perf_counter() - began)
    return _row("tables built, slowest of four (α, d), against one a second", 1 / slowest, 1.0, 1.0)
