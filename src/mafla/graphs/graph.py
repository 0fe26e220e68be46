"""Undirected weighted graphs as arrays of edges, and making them from what users have."""

import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mafla import _check
from mafla.graphs.parsing import MOST_VERTICES, parse_file

__all__ = ["Adjacency", "Graph", "as_graph", "from_edges"]


class Adjacency(NamedTuple):
    """Neighbours in one array: those of vertex v, in increasing order, lie at offsets[v] to offsets[v + 1]."""

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph without loops or parallel edges; `from_edges` makes one of edges in any order.

    Attributes:
        num_vertices: at least 1; vertices are numbered from 0, and may have no edges.
        edges: the two ends of each edge, u < v, in increasing order, int32 of shape (m, 2).
        weights: of the edges, finite, float64 of shape (m,).
        notes: what was changed to make it so, in words.
        labels: what the source calls the vertices, where it has names for them.

    Example:
        >>> triangle = from_edges(3, [(0, 1), (1, 2), (0, 2)])
        >>> triangle.num_edges, triangle.cut_value([1, -1, 1]), triangle.covers([True, False, True])
        (3, 2.0, True)
    """

    num_vertices: int
    edges: NDArray[np.int32] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    notes: tuple[str, ...] = ()
    labels: tuple[Any, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_vertices(self.num_vertices)
        edges, weights = self.edges, self.weights
        if edges.dtype != np.int32 or edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must be int32 of shape (m, 2), got {edges.dtype} of shape {edges.shape}")
        if weights.dtype != np.float64 or weights.shape != (len(edges),):
            raise ValueError(
                f"weights must be float64 of shape ({len(edges)},), got {weights.dtype} of shape {weights.shape}"
            )
        _check_range(edges, self.num_vertices)
        keys = edges[:, 0].astype(np.int64) * self.num_vertices + edges[:, 1]
        if (edges[:, 0] >= edges[:, 1]).any() or (keys[1:] <= keys[:-1]).any():
            raise ValueError("edges must be different pairs u < v in increasing order; from_edges takes any")
        _check_weights(weights)
        if self.labels is not None and len(self.labels) != self.num_vertices:
            raise ValueError(f"labels must be {self.num_vertices}, one for each vertex, got {len(self.labels)}")

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def adjacency(self) -> Adjacency:
        """Neighbours of each vertex, both directions of each edge."""
        u, v = self.edges.T
        # The smaller neighbours come first, so that a stable sort by the vertex leaves its neighbours in order.
        order = np.argsort(np.concatenate([v, u]), kind="stable")
        degrees = np.bincount(self.edges.ravel(), minlength=self.num_vertices)
        offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        return Adjacency(offsets, np.concatenate([u, v])[order], np.tile(self.weights, 2)[order])

    def cut_value(self, signs: ArrayLike) -> float:
        """Sum of the weights of the edges whose ends have different signs."""
        side = self._one_for_each_vertex("signs", signs)
        return float(self.weights[side[self.edges[:, 0]] != side[self.edges[:, 1]]].sum())

    def covers(self, chosen: ArrayLike) -> bool:
        """Whether each edge has an end among the chosen vertices, which are those that are true."""
        taken = self._one_for_each_vertex("chosen", chosen).astype(bool)
        return bool((taken[self.edges[:, 0]] | taken[self.edges[:, 1]]).all())

    def _one_for_each_vertex(self, name: str, values: ArrayLike) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape != (self.num_vertices,):
            raise ValueError(f"{name} must have shape ({self.num_vertices},), got {array.shape}")
        return array


def from_edges(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    labels: tuple[Any, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Graph:
    """Make a graph from edges in any order and direction; loops are dropped and parallel edges summed.

    Args:
        num_vertices: at least 1.
        edges: pairs of vertices, which are numbered from 0, of shape (m, 2).
        weights: of the edges, finite; 1 if None.
        labels: what the vertices are called.
        notes: remarks to keep; those on what was dropped or summed follow.

    Returns:
        The graph. What was changed is in its notes.

    Raises:
        ValueError: if there is no vertex, an edge leaves the range, or a weight is not finite.

    Example:
        >>> from_edges(3, [(1, 0), (0, 1), (2, 2)], [1.0, 2.0, 5.0])
        Graph(num_vertices=3, notes=('1 self-loop was dropped', '1 parallel edge was summed with another'))
    """
    n = _check_vertices(num_vertices)
    pairs = np.asarray(edges)
    pairs = pairs.reshape(0, 2).astype(np.int32) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"edges must be whole numbers of shape (m, 2), got {pairs.dtype} of shape {pairs.shape}")
    _check_range(pairs, n)
    values = np.ones(len(pairs)) if weights is None else _check.finite_array("weights", weights, ndim=1)
    if len(values) != len(pairs):
        raise ValueError(f"weights must be {len(pairs)}, one for each edge, got {len(values)}")
    _check_weights(values)
    is_loop = pairs[:, 0] == pairs[:, 1]
    pairs, values = pairs[~is_loop].astype(np.int64), values[~is_loop].astype(np.float64)
    keys = pairs.min(axis=1) * n + pairs.max(axis=1)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(values, first) if len(first) < len(keys) else values
    remarks = (
        *notes,
        *_remark(int(is_loop.sum()), "self-loop", "dropped"),
        *_remark(len(keys) - len(first), "parallel edge", "summed with another"),
    )
    ends = np.stack(np.divmod(keys[first], n), axis=1).astype(np.int32)
    return Graph(n, ends, np.asarray(sums, np.float64), remarks, labels)


def as_graph(source: Any) -> Graph:
    """Return a graph from what a user has.

    Args:
        source: a `Graph`; a NetworkX graph, undirected, with weights in the attribute "weight" (1 where it is missing);
            a square, symmetric matrix of weights, NumPy or scipy.sparse, in which 0 means no edge; or the path of a
            file that `mafla.graphs.reading.read_graph` can read.

    Raises:
        ValueError: if it is none of these or not a sound one.

    Example:
        >>> as_graph(np.array([[0, 2], [2, 0]])).weights
        array([2.])
    """
    if isinstance(source, Graph):
        return source
    if isinstance(source, str | os.PathLike):
        parsed = parse_file(source)
        return from_edges(parsed.num_vertices, parsed.ends, parsed.weights, labels=parsed.labels)
    networkx = sys.modules.get("networkx")  # whoever has such a graph has imported it
    if networkx is not None and isinstance(source, networkx.Graph):
        return _from_networkx(source)
    from scipy import sparse

    if sparse.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2):
        return _from_matrix(source)
    raise ValueError(
        f"graph must be a Graph, a NetworkX graph, a square NumPy or scipy.sparse matrix or a path, "
        f"got {type(source).__name__}"
    )


def _from_networkx(source: Any) -> Graph:
    if source.is_directed():
        raise ValueError("graph must be undirected, got a directed NetworkX graph; its to_undirected() makes one")
    labels = tuple(source.nodes)
    numbers = {label: number for number, label in enumerate(labels)}
    edges, weights = [], []
    for u, v, weight in source.edges(data="weight", default=1):
        edges.append((numbers[u], numbers[v]))
        weights.append(_check.number(f"weight of the edge {u!r} – {v!r}", weight))
    return from_edges(len(labels), np.array(edges, np.int64), np.array(weights), labels=labels)


def _from_matrix(source: Any) -> Graph:
    """Make a graph of a symmetric matrix, with memory for its entries that are not zero only."""
    from scipy import sparse

    if source.ndim != 2 or source.shape[0] != source.shape[1] or source.dtype.kind not in "biuf":
        raise ValueError(
            f"graph must be a square matrix of real numbers, got shape {source.shape} of dtype {source.dtype}"
        )
    matrix = sparse.csr_array(source).astype(np.float64)  # a copy, so that the source stays as it is
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows, columns = matrix.tocoo().coords
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        i, j = rows[bad[0]], columns[bad[0]]
        raise ValueError(f"graph must have finite weights, got {matrix.data[bad[0]]} at ({i}, {j})")
    differing = (matrix != matrix.T).nonzero()
    if len(differing[0]):
        i, j = (int(index[0]) for index in differing)
        raise ValueError(
            f"graph must be a symmetric matrix, got {matrix[i, j]} at ({i}, {j}) and {matrix[j, i]} at ({j}, {i})"
        )
    upper = rows <= columns
    return from_edges(matrix.shape[0], np.stack([rows, columns], axis=1)[upper], matrix.data[upper])


def _remark(count: int, thing: str, what: str) -> tuple[str, ...]:
    if count == 0:
        return ()
    return (f"1 {thing} was {what}" if count == 1 else f"{count} {thing}s were {what}",)


def _check_vertices(num_vertices: Any) -> int:
    number = _check.whole("num_vertices", num_vertices, 1)
    if number > MOST_VERTICES:
        raise ValueError(f"num_vertices must be at most {MOST_VERTICES}, got {number}")
    return number


def _check_range(edges: NDArray[Any], num_vertices: int) -> None:
    outside = np.flatnonzero((edges < 0).any(axis=1) | (edges >= num_vertices).any(axis=1))
    if len(outside):
        raise ValueError(
            f"edges must join vertices from 0 to {num_vertices - 1}, "
            f"got {edges[outside[0]].tolist()} at [{outside[0]}] ({len(outside)} such edges)"
        )


def _check_weights(weights: NDArray[np.floating]) -> None:
    with np.errstate(over="ignore"):
        total = np.abs(weights).sum(dtype=np.float64)
    if not np.isfinite(4 * float(total)):  # bounds add them up several times
        raise ValueError(f"weights must be finite and so must four times the sum of their sizes, got the sum {total}")
