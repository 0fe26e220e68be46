"""Large cuts of a weighted graph."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mafla import _check
from mafla.graphs.cut_bound import balanced_sides, positive_weight, spectral_bound
from mafla.graphs.cut_rounds import CutPlan, CutSearch
from mafla.graphs.graph import Graph, as_graph, from_edges
from mafla.graphs.solution import Solution
from mafla.graphs.watch import Watch

__all__ = ["CutPlan", "maxcut"]

SPECTRAL_SIZE = 500_000  # vertices and edges above which the search can use the time better than an eigenvalue
SPECTRAL_SECONDS, SPECTRAL_SHARE = 1e-5, 0.1  # that it may take for each of them; of the time that is left, at the most


def maxcut(
    graph: Any,
    time_limit: float | None = 10.0,
    seed: int = 0,
    *,
    rounds: int | None = None,
    plan: CutPlan | None = None,
    progress: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Solution:
    """Search for sides of the vertices such that the edges from one side to the other weigh as much as possible.

    Args:
        graph: a `Graph`, a NetworkX graph, a symmetric NumPy or scipy.sparse matrix of weights, or the path of a file.
            Weights may be negative.
        time_limit: seconds after which the search ends, or None. Compilation and reading the graph do not count.
        seed: of the random numbers. With `rounds` and no time limit, a seed gives the same cut each time.
        rounds: number of particles after which the search ends, or None.
        plan: what the search consists of; `CutPlan()` if None.
        progress: show the best, the mean of the cuts that are kept, temperature and time left, on a terminal.
        clock: returns the seconds that `time_limit` is about; with `time.process_time` they are those of the CPU.

    Returns:
        The best cut, as sides -1 and +1. The search ends early where a bound proves it `optimal`, for bipartite graphs
        with positive weights at once. After Ctrl-C it is the best until then.

    Raises:
        ValueError: for what is no graph, weights that are not finite, or limits that are not positive.

    Example:
        >>> square_with_diagonals = 1 - np.eye(4)
        >>> found = maxcut(square_with_diagonals, time_limit=None, rounds=1)
        >>> found.value, found.optimal
        (4.0, True)
    """
    network, seed = as_graph(graph), _check.whole("seed", seed, 0)
    watch = Watch("maxcut", time_limit, rounds, progress=progress, clock=clock)
    _compile()
    return _search(network, watch, seed, plan or CutPlan())


@functools.cache
def _compile() -> None:
    """Have all machine code made or loaded before the clock starts, by a search that uses each part."""
    diamond = from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)], [1.0, 1.0, 1.0, 1.0, 0.1])
    balanced_sides(diamond)
    plan = CutPlan(alpha=1.5, steps=1, sweeps=1, moves=1, children=1)
    watch = Watch("compilation", None, 2)  # not entered: Ctrl-C is to end it at once, as there is no cut to keep
    for part in CutSearch(diamond, watch, plan, np.random.default_rng(0)).slices():
        if not watch.go_on(watch.value, part.temperature, part.ends_round):
            return


def _has_time(graph: Graph, watch: Watch) -> bool:
    size = graph.num_vertices + graph.num_edges
    return size <= SPECTRAL_SIZE and SPECTRAL_SECONDS * size <= SPECTRAL_SHARE * watch.seconds_left


def _search(graph: Graph, watch: Watch, seed: int, plan: CutPlan) -> Solution:
    with watch:
        sides = balanced_sides(graph)
        if sides is not None:
            watch.offer(graph.cut_value(sides), sides)
            return watch.solution(watch.value, graph.notes)
        search = CutSearch(graph, watch, plan, np.random.default_rng(seed))
        search.finish()  # a first cut, before the bound takes its time
        bound = spectral_bound(graph) if _has_time(graph, watch) else positive_weight(graph)
        for part in search.slices():
            if watch.value >= bound:
                watch.stop()
            if not watch.go_on(search.mean, part.temperature, part.ends_round):
                break
        search.finish()
    return watch.solution(bound, graph.notes)
