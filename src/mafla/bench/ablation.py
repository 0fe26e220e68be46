"""What each part of the solvers is worth: the same graphs, seconds and seeds with one part changed or left out."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mafla import _check
from mafla.bench.graph_instances import instances
from mafla.bench.selection import grouped
from mafla.graphs.families import family
from mafla.graphs.graph import Graph
from mafla.graphs.maxcut import CutPlan, maxcut
from mafla.graphs.vertex_cover import CoverPlan, vertex_cover

__all__ = ["COVER_PLANS", "CUT_PLANS", "describe", "run"]

CUT, COVER = CutPlan(), CoverPlan()
CUT_PLANS = {
    "default": CUT,
    "without dynamics": replace(CUT, steps=0),
    "without annealing": replace(CUT, sweeps=0),
    "without merging": replace(CUT, children=0),
    "tabu search instead of annealing": replace(CUT, sweeps=0, moves=20_000),
    "α = 1.8, noise of each vertex": replace(CUT, alpha=1.8),
    "α = 1.5, noise of each vertex": replace(CUT, alpha=1.5),
    "α = 1.2, noise of each vertex": replace(CUT, alpha=1.2),
    "α = 1.5, one scale for all": replace(CUT, alpha=1.5, isotropic=True),
}
COVER_PLANS = {
    "default": COVER,
    "without reductions": replace(COVER, reductions=False),
    "without dynamics": replace(COVER, sweeps=0),
    "without exchanges": replace(COVER, exchanges=0),
    "α = 1.8": replace(COVER, alpha=1.8),
    "α = 1.5": replace(COVER, alpha=1.5),
    "α = 1.2": replace(COVER, alpha=1.2),
}
GRAPHS = ("G1", "G14", "G22", "G32", "G55", "frb30-15-1.txt", "vc-exact_001.gr")
LARGE_COVERS = (("sparse 4", 10_000), ("sparse 20", 10_000))  # the others are too easy to tell plans apart
SECONDS = 5.0
SEEDS = 4

Row = dict[str, Any]


def run(seed: int = 0, quick: bool = False) -> list[Row]:
    """Run every plan on a few hard graphs; a row is a graph and a plan, over four seeds.

    Args:
        seed: the first.
        quick: one seed, and a tenth of the time.
    """
    first, count = _check.whole("seed", seed, 0), 1 if quick else SEEDS
    small = family("gnm 2.5", 30, 0)
    maxcut(small, time_limit=0.1), vertex_cover(small, time_limit=0.1)  # loads what is compiled
    seconds = 0.1 * SECONDS if quick else SECONDS
    chosen = [(each.problem, each.name, each.load) for each in instances() if each.name in GRAPHS]
    chosen += [("vertex cover", f"{kind}, N={size}", partial(family, kind, size, 0)) for kind, size in LARGE_COVERS]
    return [row for each in chosen for row in _rows(*each, seconds, range(first, first + count))]


def describe(rows: list[Row]) -> Any:
    """Return a table for each problem, of graphs and plans, with the mean over the seeds.

    Example:
        >>> row = {"problem": "maxcut", "plan": "default", "graph": "G1", "mean": 11624.0}
        >>> [table.title for table in describe([row]).renderables]
        ['Mean over the seeds of maxcut']
    """
    from rich.console import Group

    return Group(*(_table(problem, own) for (problem,), own in grouped(("problem",), rows)))


def _table(problem: str, rows: list[Row]) -> Any:
    from rich import box
    from rich.table import Table

    grid = Table(title=f"Mean over the seeds of {problem}", box=box.SIMPLE_HEAD, collapse_padding=True)
    grid.add_column("plan", no_wrap=True)
    for (graph,), _ in grouped(("graph",), rows):
        grid.add_column(graph, justify="right", overflow="fold")
    for (plan,), own in grouped(("plan",), rows):
        grid.add_row(plan, *(f"{row['mean']:.1f}" for row in own))
    return grid


def _rows(problem: str, name: str, load: Callable[[], Graph], seconds: float, seeds: range) -> list[Row]:
    graph, is_cut = load(), problem == "maxcut"
    plans: dict[str, Any] = dict(CUT_PLANS if is_cut else COVER_PLANS)
    solve: Any = maxcut if is_cut else vertex_cover
    rows = []
    for plan_name, plan in plans.items():
        search = partial(solve, graph, time_limit=seconds, plan=plan, clock=time.process_time)
        values = [search(seed=seed).value for seed in seeds]
        common = {"problem": problem, "graph": name, "plan": plan_name, "seconds": seconds}
        best = max(values) if is_cut else min(values)
        rows.append({**common, "mean": float(np.mean(values)), "best": best, "values": values})
    return rows
