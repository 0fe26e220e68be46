"""A graph as compiled code walks over it: the neighbours of each vertex, and the edges that lead there."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled

__all__ = ["Links", "link", "neighbours_matrix"]


class Links(NamedTuple):
    """An unweighted graph; unlike a `Graph` it may be empty.

    Attributes:
        offsets: neighbours of vertex v lie at offsets[v] to offsets[v + 1].
        targets: neighbours, in increasing order for each vertex.
        edge_of: number of the edge that leads to each of the targets.
        ends: the two ends of each edge, u < v, different and in increasing order, of shape (m, 2).
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    edge_of: NDArray[np.int32]
    ends: NDArray[np.int32]

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.ends)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of each vertex."""
        return np.diff(self.offsets)


def link(num_vertices: int, edges: NDArray[Any]) -> Links:
    """Link vertices by edges that are different pairs u < v in increasing order.

    Example:
        >>> path = link(3, np.array([[0, 1], [1, 2]]))
        >>> path.targets.tolist(), path.edge_of.tolist()
        ([1, 0, 2, 1], [0, 0, 1, 1])
    """
    ends = np.array(edges, np.int32, order="C").reshape(-1, 2)  # a copy: read-only arrays would be compiled for again
    offsets = np.zeros(num_vertices + 1, np.int64)
    np.cumsum(np.bincount(ends.ravel(), minlength=num_vertices), out=offsets[1:])
    targets, edge_of = np.empty(2 * len(ends), np.int32), np.empty(2 * len(ends), np.int32)
    _fill(ends, offsets[:-1].copy(), targets, edge_of)
    return Links(offsets, targets, edge_of, ends)


def neighbours_matrix(links: Links) -> Any:
    """Return the adjacency matrix as a sparse array of ones."""
    from scipy import sparse

    n = links.num_vertices
    ones = np.ones(len(links.targets), np.int8)
    return sparse.csr_array((ones, links.targets, links.offsets.astype(np.int32)), shape=(n, n))


@compiled
def _fill(
    ends: NDArray[np.int32], places: NDArray[np.int64], targets: NDArray[np.int32], edge_of: NDArray[np.int32]
) -> None:
    """Deal the edges out to their ends: the smaller neighbours first, so that each vertex gets its own in order."""
    for here in (1, 0):
        for edge in range(len(ends)):
            vertex = ends[edge, here]
            place = places[vertex]
            targets[place] = ends[edge, 1 - here]
            edge_of[place] = edge
            places[vertex] = place + 1
