"""No cut passes a bound, and balanced graphs reach it."""

import itertools

import networkx as nx
import numpy as np
import pytest
from small_cuts import KINDS, largest_cut, small_graph

from mafla.graphs.cut_bound import balanced_sides, positive_weight, spectral_bound
from mafla.graphs.graph import Graph, as_graph, from_edges


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("density", [0.2, 0.5, 1.0])
def test_no_cut_passes_the_bounds(kind: str, density: float) -> None:
    for seed in range(8):
        graph = small_graph(kind, seed, density=density)
        assert largest_cut(graph) <= spectral_bound(graph) + 1e-12 <= positive_weight(graph) + 2e-12


@pytest.mark.parametrize("n", range(2, 9))
def test_the_spectral_bound_is_the_largest_cut_of_complete_graphs(n: int) -> None:
    assert spectral_bound(as_graph(nx.complete_graph(n))) == (n // 2) * ((n + 1) // 2)


@pytest.mark.parametrize(("n", "best"), [(301, 300), (400, 400)])
def test_the_spectral_bound_of_long_cycles_is_tight(n: int, best: int) -> None:
    assert spectral_bound(as_graph(nx.cycle_graph(n))) == best


def test_the_sparse_eigenvalue_agrees_with_the_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_graph(nx.gnp_random_graph(280, 0.1, seed=3))
    exact = spectral_bound(graph)
    monkeypatch.setattr("mafla.graphs.cut_bound.DENSE_VERTICES", 0)
    assert exact <= spectral_bound(graph) <= 1.001 * exact


def test_graphs_without_weight_have_the_bound_zero() -> None:
    assert spectral_bound(from_edges(3, [])) == 0
    assert spectral_bound(from_edges(3, [(0, 1)], [0.0])) == 0


def planted(seed: int, n: int = 40) -> Graph:
    """A balanced graph of several components, with edges of weight 0 that do not respect the sides."""
    rng = np.random.default_rng(seed)
    sides = rng.choice([-1, 1], n)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.08]
    weights = [-sides[u] * sides[v] * rng.uniform(0.1, 2) * (rng.random() < 0.9) for u, v in pairs]
    return from_edges(n, pairs, weights)


@pytest.mark.parametrize("seed", range(6))
def test_balanced_graphs_are_solved(seed: int) -> None:
    graph = planted(seed)
    sides = balanced_sides(graph)
    assert sides is not None
    assert set(np.unique(sides)) == {-1, 1}
    assert graph.cut_value(sides) == pytest.approx(positive_weight(graph), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_one_bad_edge_is_noticed(seed: int) -> None:
    graph = planted(seed)
    tree = nx.minimum_spanning_tree(nx.Graph(graph.edges[graph.weights != 0].tolist()))
    off_tree = [k for k, (u, v) in enumerate(graph.edges.tolist()) if graph.weights[k] and not tree.has_edge(u, v)]
    weights = graph.weights.copy()
    weights[off_tree[0]] *= -1
    assert balanced_sides(from_edges(40, graph.edges, weights)) is None
