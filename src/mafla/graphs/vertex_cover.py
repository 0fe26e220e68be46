"""Small vertex covers of a graph."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mafla import _check
from mafla.graphs.cover_rounds import CoverPlan, CoverSearch
from mafla.graphs.graph import Graph, as_graph, from_edges
from mafla.graphs.solution import Solution
from mafla.graphs.watch import Watch

__all__ = ["CoverPlan", "vertex_cover"]


def vertex_cover(
    graph: Any,
    time_limit: float | None = 10.0,
    seed: int = 0,
    *,
    rounds: int | None = None,
    plan: CoverPlan | None = None,
    progress: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Solution:
    """Search for as few vertices as possible that have an end of each edge.

    Args:
        graph: a `Graph`, a NetworkX graph, a symmetric NumPy or scipy.sparse matrix of weights, or the path of a file.
            Weights must not be negative, and do not matter otherwise.
        time_limit: seconds after which the search ends, or None. Compilation and reading the graph do not count.
        seed: of the random numbers. With `rounds` and no time limit, a seed gives the same cover each time.
        rounds: number of rounds after which the search ends, or None; each is twice as long as the one before.
        plan: what the search consists of; `CoverPlan()` if None.
        progress: show the best, the size that the search is at, temperature and time left, on a terminal.
        clock: returns the seconds that `time_limit` is about; with `time.process_time` they are those of the CPU.

    Returns:
        The smallest cover, as one bool for each vertex; it can do without none of its vertices. The search ends early
        where a bound proves it `optimal`. After Ctrl-C it is the best until then.

    Raises:
        ValueError: for what is no graph, negative weights, or limits that are not positive.

    Example:
        >>> import networkx
        >>> found = vertex_cover(networkx.cycle_graph(7))
        >>> found.value, found.optimal
        (4.0, True)
    """
    network, seed = as_graph(graph), _check.whole("seed", seed, 0)
    notes = (*network.notes, *_check_weights(network))
    watch = Watch("vertex cover", time_limit, rounds, progress=progress, sign=-1, clock=clock)
    _compile()
    with watch:
        search = CoverSearch(network, watch, plan or CoverPlan(), np.random.default_rng(seed))
        _run(search)
    found = watch.solution(search.bound, notes)
    if not network.covers(found.assignment):
        raise RuntimeError("the vertices found cover not all edges: this is an error in mafla, please report the graph")
    return found


def _check_weights(graph: Graph) -> tuple[str, ...]:
    negative = np.flatnonzero(graph.weights < 0)
    if len(negative):
        u, v = graph.edges[negative[0]]
        raise ValueError(
            f"graph must have no negative weights if it is to be covered, got {graph.weights[negative[0]]:g} "
            f"at the edge {u} – {v} ({len(negative)} such edges)"
        )
    return () if (graph.weights == 1).all() else ("weights do not matter to a cover and were ignored",)


@functools.cache
def _compile() -> None:
    """Have all machine code made or loaded before the clock starts, by the Petersen graph.

    No rule reduces it and the bound is below its smallest cover, so that the search uses each part.
    """
    ring, spokes = [(i, (i + 1) % 5) for i in range(5)], [(i, i + 5) for i in range(5)]
    star = [(i + 5, (i + 2) % 5 + 5) for i in range(5)]
    petersen, plan = from_edges(10, [*ring, *spokes, *star]), CoverPlan(sweeps=1, exchanges=1)
    watch = Watch("compilation", None, 1, sign=-1)  # not entered: Ctrl-C is to end it at once
    _run(CoverSearch(petersen, watch, plan, np.random.default_rng(0)))


def _run(search: CoverSearch) -> None:
    """Go on until the watch has had enough, or a bound is reached."""
    for part in search.slices():
        if not search.watch.go_on(part.mean, part.temperature, part.ends_round):
            return
