"""What each part of the solvers is worth: the same graphs, seconds and seeds with one part changed or left out."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mafla import _check
from mafla.bench.graph_instances import instances
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
    """Return a table of graphs and plans with the mean over the seeds.

    Example:
        >>> describe([{"problem": "maxcut", "plan": "default", "graph": "G1", "mean": 11624.0}]).row_count
        1
    """
    from rich import box
    from rich.table import Table

    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    grid = Table(title="Mean over the seeds, of cuts (larger is better) and covers", box=box.SIMPLE_HEAD)
    for heading in ("", "plan", *graphs):
        grid.add_column(heading, justify="left" if heading in ("", "plan") else "right")
    for problem, plan in dict.fromkeys((row["problem"], row["plan"]) for row in rows):
        found = {row["graph"]: row["mean"] for row in rows if (row["problem"], row["plan"]) == (problem, plan)}
        grid.add_row(problem, plan, *(f"{found[graph]:g}" if graph in found else "" for graph in graphs))
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
