"""Graphs against NetworkX and dense matrices, and what is dropped, summed or refused on the way in."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mafla.graphs.graph import Graph, as_graph, from_edges

fixed = settings(derandomize=True, deadline=None, max_examples=50)
raw_edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 3)), max_size=30)


def dense(graph: Graph) -> Any:
    matrix = np.zeros((graph.num_vertices, graph.num_vertices))
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = graph.weights
    return matrix + matrix.T


def assert_same(one: Graph, other: Graph) -> None:
    assert one.num_vertices == other.num_vertices
    assert one.edges.tolist() == other.edges.tolist()
    assert one.weights.tolist() == other.weights.tolist()


@fixed
@given(raw_edges)
def test_parallel_edges_are_summed_and_loops_dropped(raw: list[tuple[int, int, int]]) -> None:
    expected: dict[tuple[int, int], int] = {}
    for u, v, weight in raw:
        if u != v:
            pair = (min(u, v), max(u, v))
            expected[pair] = expected.get(pair, 0) + weight
    graph = from_edges(8, [edge[:2] for edge in raw], [edge[2] for edge in raw] or np.empty(0))
    assert graph.edges.tolist() == [list(pair) for pair in sorted(expected)]
    assert graph.weights.tolist() == [expected[pair] for pair in sorted(expected)]
    loops = sum(u == v for u, v, _ in raw)
    parallel = len(raw) - loops - len(expected)
    assert any("self-loop" in note for note in graph.notes) == (loops > 0)
    assert any("parallel" in note for note in graph.notes) == (parallel > 0)


@fixed
@given(raw_edges, st.lists(st.booleans(), min_size=8, max_size=8))
def test_cut_cover_and_adjacency_agree_with_the_matrix(raw: list[tuple[int, int, int]], chosen: list[bool]) -> None:
    graph = from_edges(8, [edge[:2] for edge in raw], [edge[2] for edge in raw] or np.empty(0))
    matrix, inside = dense(graph), np.array(chosen)
    assert graph.cut_value(np.where(inside, 1, -1)) == matrix[inside][:, ~inside].sum()
    assert graph.cut_value(inside) == matrix[inside][:, ~inside].sum()
    assert graph.covers(chosen) == all(chosen[u] or chosen[v] for u, v in graph.edges)
    offsets, targets, weights = graph.adjacency
    for vertex in range(8):
        row = slice(offsets[vertex], offsets[vertex + 1])
        neighbours = sorted({*graph.edges[(graph.edges == vertex).any(axis=1)].ravel().tolist()} - {vertex})
        assert targets[row].tolist() == neighbours
        assert weights[row].tolist() == matrix[vertex, neighbours].tolist()
    assert [part.dtype.name for part in graph.adjacency] == ["int64", "int32", "float64"]


def test_notes_count_in_words() -> None:
    graph = from_edges(3, [(0, 0), (1, 1), (0, 1), (1, 0)], notes=("before",))
    assert graph.notes == ("before", "2 self-loops were dropped", "1 parallel edge was summed with another")


def test_isolated_vertices_and_edges_of_weight_zero_stay() -> None:
    graph = from_edges(5, [(1, 3)], [0.0])
    assert (graph.num_vertices, graph.num_edges, graph.weights.tolist()) == (5, 1, [0.0])
    assert graph.adjacency.offsets.tolist() == [0, 0, 1, 1, 2, 2]
    assert not graph.covers(np.zeros(5, bool))


def test_one_vertex_is_a_graph() -> None:
    graph = from_edges(1, [])
    assert (graph.num_edges, graph.cut_value([1]), graph.covers([False])) == (0, 0.0, True)
    assert graph.adjacency.offsets.tolist() == [0, 0]


def test_small_types_of_numbers_do_not_overflow() -> None:
    graph = from_edges(300, np.array([[255, 1], [200, 100]], np.uint8), np.array([100, 100], np.int8))
    assert graph.edges.tolist() == [[1, 255], [100, 200]]
    wide = from_edges(2**31 - 1, [(2**31 - 2, 2**31 - 3)])
    assert wide.edges.tolist() == [[2**31 - 3, 2**31 - 2]]


def test_a_networkx_graph_keeps_its_names_and_weights() -> None:
    source = nx.MultiGraph()
    source.add_nodes_from(["z", "a", 7])
    source.add_edge("a", "z", weight=2.5)
    source.add_edge("z", "a")
    source.add_edge(7, 7)
    graph = as_graph(source)
    assert graph.labels == ("z", "a", 7)
    assert (graph.edges.tolist(), graph.weights.tolist()) == ([[0, 1]], [3.5])
    assert len(graph.notes) == 2


def test_networkx_sparse_and_dense_agree() -> None:
    source = nx.gnp_random_graph(30, 0.2, seed=1)
    for number, edge in enumerate(source.edges):
        source.edges[edge]["weight"] = (-1) ** number * (number + 1)
    graph, matrix = as_graph(source), nx.to_numpy_array(source)
    assert graph.num_edges == source.number_of_edges()
    assert (dense(graph) == matrix).all()
    for other in (matrix, sparse.csr_array(matrix), sparse.coo_matrix(matrix), sparse.lil_array(matrix)):
        assert_same(as_graph(other), graph)
    assert as_graph(graph) is graph


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.gr").write_text("3 1\n1 3\n")
    assert as_graph(tmp_path / "x.gr").edges.tolist() == as_graph(str(tmp_path / "x.gr")).edges.tolist() == [[0, 2]]


def test_a_sparse_matrix_may_have_zeros_duplicates_and_a_diagonal() -> None:
    rows, columns, values = [0, 1, 0, 1, 2, 0, 2], [1, 0, 1, 0, 2, 2, 0], [1.0, 2.0, 2.0, 1.0, 9.0, 0.0, 0.0]
    source = sparse.coo_array((values, (rows, columns)), shape=(4, 4))
    graph = as_graph(source)
    assert (graph.edges.tolist(), graph.weights.tolist()) == ([[0, 1]], [3.0])
    assert graph.notes == ("1 self-loop was dropped",)
    assert source.nnz == 7  # the source stays as it is
    doubled = sparse.csr_array(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert (as_graph(doubled).weights.tolist(), as_graph(doubled).notes, doubled.nnz) == ([3.0], (), 3)
    assert as_graph(np.array([[False, True], [True, False]])).weights.tolist() == [1.0]


def bad_weight(weight: Any) -> Any:
    source = nx.Graph()
    source.add_edge("a", "b", weight=weight)
    return source


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (nx.DiGraph([(0, 1)]), "graph must be undirected, got a directed NetworkX graph"),
        (nx.Graph(), "num_vertices must be a whole number of at least 1, got 0"),
        (bad_weight("heavy"), "weight of the edge 'a' – 'b' must be a finite number, got 'heavy'"),
        (bad_weight(np.nan), "weight of the edge 'a' – 'b' must be a finite number, got nan"),
        (bad_weight(10**400), "weight of the edge 'a' – 'b' must be a finite number, got 1000"),
        (sparse.coo_array([1.0, 2.0]), "graph must be a square matrix of real numbers, got shape (2,)"),
        (np.zeros((2, 3)), "graph must be a square matrix of real numbers, got shape (2, 3)"),
        (np.zeros((2, 2), complex), "graph must be a square matrix of real numbers, got shape (2, 2) of dtype complex"),
        (np.array([[0, 1], [2, 0]]), "symmetric matrix, got 1.0 at (0, 1) and 2.0 at (1, 0)"),
        (sparse.csr_array(([5.0], ([2], [0])), shape=(3, 3)), "got 0.0 at (0, 2) and 5.0 at (2, 0)"),
        (np.array([[0, np.nan], [np.nan, 0]]), "graph must have finite weights, got nan at (0, 1)"),
        (np.zeros((0, 0)), "num_vertices must be a whole number of at least 1, got 0"),
        (np.zeros(3), "graph must be a Graph, a NetworkX graph, a square NumPy or scipy.sparse matrix or a path"),
        (None, "or a path, got NoneType"),
    ],
)
def test_what_is_no_graph_is_named(source: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        as_graph(source)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, []), "num_vertices must be a whole number of at least 1, got 0"),
        ((2.5, []), "num_vertices must be a whole number of at least 1, got 2.5"),
        ((2**31, []), "num_vertices must be at most 2147483647, got 2147483648"),
        ((2, [(0, 2)]), "edges must join vertices from 0 to 1, got [0, 2] at [0] (1 such edges)"),
        ((2, [(0, 1), (-1, 0)]), "got [-1, 0] at [1]"),
        ((2, [(0, 1, 1)]), "edges must be whole numbers of shape (m, 2), got int64 of shape (1, 3)"),
        ((2, [(0.0, 1.0)]), "edges must be whole numbers of shape (m, 2), got float64"),
        ((2, [(0, 1)], [1.0, 2.0]), "weights must be 1, one for each edge, got 2"),
        ((2, [(0, 1)], [np.inf]), "weights must be finite, got inf at [0]"),
        ((2, [(0, 1), (1, 0)], [1e308, 1e308]), "weights must be finite and so must four times the sum of their sizes"),
        ((3, [(0, 1), (1, 2), (2, 0)], [5e307] * 3), "four times the sum of their sizes, got the sum 1.5e+308"),
    ],
)
def test_bad_edges_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        from_edges(*arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([[0, 1]], [1, 1], "weights must be float64 of shape"),
        ([[1, 0]], [1], "different pairs u < v in increasing order; from_edges takes any"),
        ([[0, 2], [0, 1]], [1, 1], "in increasing order"),
        ([[0, 1], [0, 1]], [1, 1], "different pairs"),
        ([[0, 3]], [1], "edges must join vertices from 0 to 2"),
        ([[0, 1]], [np.nan], "weights must be finite"),
    ],
)
def test_a_graph_cannot_be_made_unsound(edges: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph(3, np.array(edges, np.int32), np.array(weights, np.float64))


def test_types_labels_and_assignments_are_checked() -> None:
    with pytest.raises(ValueError, match="edges must be int32"):
        Graph(3, np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match="labels must be 3, one for each vertex, got 1"):
        from_edges(3, [(0, 1)], labels=("a",))
    with pytest.raises(ValueError, match=r"signs must have shape \(3,\), got \(2,\)"):
        from_edges(3, [(0, 1)]).cut_value([1, -1])
    with pytest.raises(ValueError, match=r"chosen must have shape \(3,\), got \(3, 1\)"):
        from_edges(3, [(0, 1)]).covers(np.ones((3, 1), bool))
