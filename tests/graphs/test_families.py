"""Families of graphs have the sizes, degrees and weights that their names promise."""

import networkx as nx
import numpy as np
import pytest

from mafla.graphs.families import FAMILIES, family
from mafla.graphs.graph import as_graph


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_gives_one_graph_and_another_seed_another(name: str) -> None:
    first, again, other = family(name, 60, 3), family(name, 60, 3), family(name, 60, 4)
    np.testing.assert_array_equal(first.edges, again.edges)
    assert first.num_vertices == 60
    assert first.edges.shape != other.edges.shape or (first.edges != other.edges).any()
    assert first.notes == ()


def test_networkx_makes_the_same() -> None:
    theirs = as_graph(nx.barabasi_albert_graph(50, 2, seed=1))
    np.testing.assert_array_equal(family("BA", 50, 1).edges, theirs.edges)
    assert family("gnm 2.5", 64, 0).num_edges == 160


def test_doubled_graphs_have_weights_of_one_and_two() -> None:
    graph = family("doubled 0.1", 400, 0)
    pairs = 400 * 399 / 2
    shares = [(graph.weights == weight).sum() / pairs for weight in (1, 2)]
    assert shares[0] == pytest.approx(0.18, abs=4 * np.sqrt(0.18 / pairs))
    assert shares[1] == pytest.approx(0.01, abs=4 * np.sqrt(0.01 / pairs))


@pytest.mark.parametrize(("name", "degree"), [("sparse 4", 4), ("sparse 20", 20)])
def test_sparse_graphs_have_their_degree_and_no_favoured_vertices(name: str, degree: int) -> None:
    graph = family(name, 5000, 0)
    assert graph.num_edges == degree * 5000 // 2
    degrees = np.diff(graph.adjacency.offsets)
    assert degrees.var() == pytest.approx(degree, rel=0.1)  # Poisson
    assert degrees[:2500].sum() == pytest.approx(degrees[2500:].sum(), rel=0.05)


def test_unknown_families_are_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match=r"name must be one of BA, gnp 0\.1, .* got 'ER'"):
        family("ER", 64, 0)
