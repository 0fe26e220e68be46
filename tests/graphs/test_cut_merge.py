"""Merging two cuts is at least as good as both, keeps what they agree on, and does not see which side is which."""

import numpy as np
import pytest
from small_cuts import KINDS, random_signs, small_graph

from mafla.graphs.cut_merge import merge
from mafla.graphs.graph import Graph, from_edges

SPARSE = [small_graph(kind, seed, n=14, density=0.15) for kind in KINDS for seed in range(5)]


@pytest.mark.parametrize("graph", SPARSE)
def test_a_greedy_merge_is_at_least_as_good_as_both(graph: Graph) -> None:
    for seed in range(10):
        first, second = random_signs(graph, 2 * seed), random_signs(graph, 2 * seed + 1)
        merged, gained = merge(graph.adjacency, first, second, True, np.random.default_rng(seed))
        assert graph.cut_value(merged) >= max(graph.cut_value(first), graph.cut_value(second)) - 1e-12
        assert graph.cut_value(merged) == pytest.approx(graph.cut_value(first) + gained, abs=1e-12)


@pytest.mark.parametrize("greedy", [True, False])
def test_what_both_agree_on_is_kept(greedy: bool) -> None:
    for seed, graph in enumerate(SPARSE):
        first = random_signs(graph, seed)
        second = first * np.where(np.arange(14) < 5, -1, 1).astype(np.int8)
        for other in (second, -second):  # the same cut
            merged, gained = merge(graph.adjacency, first, other, greedy, np.random.default_rng(seed))
            assert merged[5:].tolist() == first[5:].tolist()
            assert graph.cut_value(merged) == pytest.approx(graph.cut_value(first) + gained, abs=1e-12)


def test_parts_are_chosen_one_by_one() -> None:
    # Of four separate edges the first cut has two, the second the others.
    graph = from_edges(8, [(0, 1), (2, 3), (4, 5), (6, 7)])
    first = np.array([1, -1, 1, -1, 1, 1, 1, 1], np.int8)
    second = np.array([1, 1, 1, 1, 1, -1, 1, -1], np.int8)
    merged, gained = merge(graph.adjacency, first, second, True, np.random.default_rng(0))
    assert (graph.cut_value(merged), gained) == (4, 2)


def test_chance_takes_each_part_from_either_with_equal_probability() -> None:
    graph = from_edges(9, [(0, 1), (2, 3), (4, 5)], [5.0, 1.0, -3.0])
    first = np.ones(9, np.int8)
    second = np.array([1, -1, 1, -1, 1, -1, 1, 1, 1], np.int8)
    rng = np.random.default_rng(0)
    flipped = np.mean([merge(graph.adjacency, first, second, False, rng)[0] < 0 for _ in range(4000)], axis=0)
    assert flipped[[1, 3, 5]] == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(4000))  # false alarms: one in 10^8
    assert not flipped[[0, 2, 4, 6, 7, 8]].any()
