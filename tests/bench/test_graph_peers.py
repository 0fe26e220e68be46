"""Peers return values that some cut or cover has, and keep to their time."""

import itertools
import signal
import time

import numpy as np
import pytest

from mafla.bench import graph_peers
from mafla.bench.graph_peers import COVER_PEERS, CUT_PEERS
from mafla.graphs.families import family
from mafla.graphs.graph import from_edges

GRAPH = family("gnp 0.2", 12, 3)
SIDES = np.array(list(itertools.product([-1, 1], repeat=12)))


@pytest.mark.parametrize("name", CUT_PEERS)
def test_cuts_of_a_small_graph_are_optimal_or_possible(name: str) -> None:
    CUT_PEERS[name](GRAPH, 0.05, 0)  # compiles
    began = time.process_time()
    found = CUT_PEERS[name](GRAPH, 0.3, 1)
    best = max(GRAPH.cut_value(signs) for signs in SIDES)
    assert found.value == best
    assert found.history[-1][1] == found.value
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("name", COVER_PEERS)
def test_covers_of_a_small_graph_are_possible(name: str) -> None:
    best = min(int((signs > 0).sum()) for signs in SIDES if GRAPH.covers(signs > 0))
    found = COVER_PEERS[name](GRAPH, 5.0, 0)
    assert found.value == best if name == "HiGHS" else best <= found.value <= 2 * best


def test_a_vertex_without_edges_counts_for_nothing() -> None:
    graph = from_edges(4, [(0, 2)])
    assert [peer(graph, 0.05, 0).value for peer in CUT_PEERS.values()] == [1.0] * len(CUT_PEERS)


def test_runs_of_annealing_last_a_tenth_of_the_time_though_calling_them_takes_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the place of the sampler, one whose calls take five milliseconds more than its sweeps do."""
    from dwave.samplers import SimulatedAnnealingSampler

    lengths = []
    answer = SimulatedAnnealingSampler().sample_ising({}, {(0, 1): 1.0}, num_reads=1, seed=0)

    def sample(_sampler: object, _model: object, num_sweeps: int, **_: object) -> object:
        lengths.append(0.005 + 1e-6 * num_sweeps)
        until = time.process_time() + lengths[-1]
        while time.process_time() < until:
            pass
        return answer

    monkeypatch.setattr(SimulatedAnnealingSampler, "sample", sample)
    found = graph_peers.annealing(from_edges(2, [(0, 1)]), 1.0, 0)
    assert found.seconds < 1.05
    assert 0.08 < np.median(lengths[3:10]) < 0.13


def test_what_comes_after_the_time_does_not_count() -> None:
    clock = graph_peers._Clock(0.05, 1)
    clock.offer(1.0)
    while clock.seconds < 0.06:
        pass
    clock.offer(2.0)
    assert clock.found().value == 1.0


def test_a_peer_that_does_not_come_to_an_end_is_cut_off() -> None:
    graph = family("gnp 0.2", 400, 0)
    found = graph_peers.one_exchange(graph, 0.5, 0)
    assert 0.5 <= found.seconds < 1.0
    assert 0.4 * graph.num_edges < found.value < 0.6 * graph.num_edges  # its random start
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
