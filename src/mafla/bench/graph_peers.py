"""What others would use for cuts and covers, each with the same CPU seconds on one core.

A peer is a function of a graph, the seconds and a seed. It returns its best value until then; what it finishes later
does not count. Tabu search and HiGHS can only be limited by the clock on the wall, so that they lose on a busy machine.
Where a peer has settings, they are chosen in its favour: annealing runs as long as a tenth of the time
allows, and as often as there is time for.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from mafla.graphs.compiled import compiled
from mafla.graphs.cut_search import descend, flip_gains
from mafla.graphs.graph import Adjacency, Graph

__all__ = ["COVER_PEERS", "CUT_PEERS", "DETERMINISTIC_PEERS", "Found"]

MOST_PASSES = 10_000  # of single flips; a local optimum ends them long before
ANNEALING_SHARE, FEWEST_SWEEPS = 0.1, 100  # of the time, for each run of simulated annealing; of each run


class Found(NamedTuple):
    """The best value, the CPU seconds that were used, and the values over the CPU seconds at which they were found."""

    value: float
    seconds: float
    history: list[tuple[float, float]]


class _Clock:
    """CPU seconds of this process, and the best value until they are over."""

    def __init__(self, seconds: float, sign: int) -> None:
        self.limit, self.sign, self.began = seconds, sign, time.process_time()
        self.history: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        return time.process_time() - self.began

    def offer(self, value: float) -> None:
        now = self.seconds
        is_better = not self.history or self.sign * value > self.sign * self.history[-1][1]
        if is_better and (now <= self.limit or not self.history):
            self.history.append((now, float(value)))

    def found(self) -> Found:
        return Found(self.history[-1][1], self.seconds, self.history)


def annealing(graph: Graph, seconds: float, seed: int) -> Found:
    """Run the simulated annealing of dwave-samplers, which is compiled C++."""
    from dimod import BinaryQuadraticModel
    from dwave.samplers import SimulatedAnnealingSampler

    sampler, clock = SimulatedAnnealingSampler(), _Clock(seconds, 1)
    model, sweeps, number = BinaryQuadraticModel.from_ising({}, _couplings(graph)), FEWEST_SWEEPS, 0
    while clock.seconds < seconds:
        before = clock.seconds
        answer = sampler.sample(model, num_reads=1, num_sweeps=sweeps, seed=1000 * seed + number)
        clock.offer(_cut(graph, answer))
        # The next runs fill what is left of the time evenly, and the last is over a little before it.
        took, left = clock.seconds - before, seconds - clock.seconds
        wished = 0.97 * left / max(1, round(left / (ANNEALING_SHARE * seconds)))
        sweeps, number = max(FEWEST_SWEEPS, int(sweeps * wished / max(took, 1e-4))), number + 1
    return clock.found()


def tabu(graph: Graph, seconds: float, seed: int) -> Found:
    """Run the tabu search of dwave-samplers, which is compiled C++ and keeps its own time."""
    from dwave.samplers import TabuSampler

    clock = _Clock(seconds, 1)
    milliseconds = max(10, int(1000 * 0.95 * seconds))
    answer = TabuSampler().sample_ising({}, _couplings(graph), num_reads=1, timeout=milliseconds, seed=seed)
    clock.offer(_cut(graph, answer))
    return clock.found()


def low_rank(graph: Graph, seconds: float, seed: int) -> Found:
    """Solve the semidefinite relaxation by coordinates of low rank, round at random and move single vertices."""
    rng, clock = np.random.default_rng(seed), _Clock(seconds, 1)
    adjacency = graph.adjacency
    rank = int(np.ceil(np.sqrt(2 * graph.num_vertices))) + 1
    vectors = rng.normal(size=(graph.num_vertices, rank))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    while clock.seconds < 0.5 * seconds:
        if _mix(adjacency, vectors) < 1e-4 * graph.num_vertices:
            break
    while not clock.history or clock.seconds < seconds:
        signs = np.where(vectors @ rng.normal(size=rank) >= 0, 1, -1).astype(np.int8)
        descend(adjacency, signs, flip_gains(adjacency, signs), MOST_PASSES)
        clock.offer(graph.cut_value(signs))
    return clock.found()


def one_exchange(graph: Graph, seconds: float, seed: int) -> Found:
    """Run NetworkX's greedy exchange from random starts as long as there is time.

    On a dense graph of a thousand vertices it does not come to an end once. What it has then is out of reach, and its
    best is where it started.
    """
    from networkx.algorithms.approximation import one_exchange as exchange

    theirs, clock, number = _networkx(graph), _Clock(seconds, 1), 0
    with suppress(TimeoutError), _ends_when(lambda: clock.seconds >= seconds):
        while True:
            sides = np.random.default_rng([seed, number]).choice(np.array([-1, 1], np.int8), graph.num_vertices)
            clock.offer(graph.cut_value(sides))
            clock.offer(exchange(theirs, set(np.flatnonzero(sides > 0).tolist()), weight="weight", seed=seed)[0])
            number += 1
    return clock.found()


def two_approximation(graph: Graph, seconds: float, seed: int) -> Found:
    """Return NetworkX's cover, at most twice as large as the smallest."""
    from networkx.algorithms.approximation import min_weighted_vertex_cover

    del seed
    clock = _Clock(seconds, -1)
    clock.offer(len(min_weighted_vertex_cover(_networkx(graph))))
    return clock.found()


def mixed_integer(graph: Graph, seconds: float, seed: int) -> Found:
    """Let HiGHS, through SciPy, solve the integer programme, which may prove the optimum."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    del seed
    clock, count = _Clock(seconds, -1), graph.num_edges
    rows = csr_array((np.ones(2 * count), (np.repeat(np.arange(count), 2), graph.edges.ravel())))
    rows.resize((count, graph.num_vertices))
    answer = milp(
        np.ones(graph.num_vertices),
        integrality=np.ones(graph.num_vertices),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, 1, np.inf),
        options={"time_limit": seconds},
    )
    clock.offer(graph.num_vertices if answer.x is None else float(np.round(answer.x).sum()))
    return clock.found()


CUT_PEERS: dict[str, Callable[[Graph, float, int], Found]] = {
    "dwave annealing": annealing,
    "dwave tabu": tabu,
    "low rank + 1-flip": low_rank,
    "networkx": one_exchange,
}
COVER_PEERS: dict[str, Callable[[Graph, float, int], Found]] = {
    "HiGHS": mixed_integer,
    "networkx": two_approximation,
}
DETERMINISTIC_PEERS = (mixed_integer, two_approximation)  # a seed changes nothing


@contextmanager
def _ends_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Raise TimeoutError soon after it is over, in a body that is Python."""

    def ask(*_: object) -> None:
        if is_over():
            raise TimeoutError

    before = signal.signal(signal.SIGPROF, ask)
    signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _couplings(graph: Graph) -> dict[tuple[int, int], float]:
    return {(int(u), int(v)): float(w) for (u, v), w in zip(graph.edges, graph.weights, strict=True)}


def _cut(graph: Graph, answer: Any) -> float:
    sides = np.ones(graph.num_vertices, np.int8)  # a vertex without edges is not among theirs
    sides[np.array(list(answer.variables), int)] = answer.record.sample[0]
    return graph.cut_value(sides)


def _networkx(graph: Graph) -> Any:
    import networkx as nx

    made = nx.Graph()
    made.add_nodes_from(range(graph.num_vertices))
    made.add_weighted_edges_from((int(u), int(v), w) for (u, v), w in zip(graph.edges, graph.weights, strict=True))
    return made


@compiled
def _mix(adjacency: Adjacency, vectors: np.ndarray) -> float:
    """Turn each vector against the sum of its neighbours, once round; return how far they moved in all."""
    offsets, targets, weights = adjacency
    moved = 0.0
    pull = np.empty(vectors.shape[1])
    for v in range(len(offsets) - 1):
        pull[:] = 0.0
        for k in range(offsets[v], offsets[v + 1]):
            pull -= weights[k] * vectors[targets[k]]
        length = np.sqrt((pull * pull).sum())
        if length > 0:
            pull /= length
            moved += np.sqrt(((pull - vectors[v]) ** 2).sum())
            vectors[v] = pull
    return moved
