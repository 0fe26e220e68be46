"""Lower bounds for vertex covers: half-integral covers by matching, and cliques.

Vertices with values 0, 1/2 or 1 are a fractional cover if the two of each edge sum to at least 1. The smallest total is
half of a maximum matching in the bipartite double cover, which has a left and a right copy of each vertex. A clique of
k vertices needs k - 1 of them, so that a partition into cliques is a bound as well. Both add over components.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.cover_links import Links, neighbours_matrix

__all__ = ["HalfIntegral", "half_integral", "lower_bound"]


class HalfIntegral(NamedTuple):
    """An optimal fractional cover and the matching that proves it.

    Attributes:
        doubled: twice the value of each vertex: 0, 1 or 2. Some smallest cover has all vertices with 2 and none with 0.
        partner: right copy that the left copy of each vertex is matched to, or -1.
    """

    doubled: NDArray[np.int8]
    partner: NDArray[np.int32]


def half_integral(links: Links) -> HalfIntegral:
    """Return a smallest fractional cover.

    Example:
        >>> from mafla.graphs.cover_links import link
        >>> half_integral(link(3, np.array([[0, 1], [0, 2]]))).doubled.tolist()
        [2, 0, 0]
        >>> half_integral(link(3, np.array([[0, 1], [0, 2], [1, 2]]))).doubled.tolist()
        [1, 1, 1]
    """
    from scipy.sparse.csgraph import maximum_bipartite_matching

    partner = maximum_bipartite_matching(neighbours_matrix(links), perm_type="column").astype(np.int32)
    reached_left, reached_right = _alternate(links, partner, _inverse(partner))
    # By König's theorem the left copies that are not reached and the right ones that are cover the double cover.
    return HalfIntegral((~reached_left).astype(np.int8) + reached_right.astype(np.int8), partner)


def lower_bound(links: Links, *, matching: bool = True) -> int:
    """Return a number of vertices that every cover has at least: over components, the better of both bounds.

    Args:
        links: the graph.
        matching: whether to compute the first bound too, which takes time.

    Example:
        >>> from mafla.graphs.cover_links import link
        >>> lower_bound(link(5, np.array([[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]])))  # a cycle of five
        3
    """
    from scipy.sparse.csgraph import connected_components

    if links.num_edges == 0:
        return 0
    count, component = connected_components(neighbours_matrix(links), directed=False)
    sizes = np.bincount(component, minlength=count)
    best = np.zeros(count, np.int64)
    if matching:
        best = (np.bincount(component[half_integral(links).partner >= 0], minlength=count) + 1) // 2
    for order in (np.argsort(links.degrees, kind="stable"), np.arange(links.num_vertices)):
        heads = _cliques(links, order)
        best = np.maximum(best, sizes - np.bincount(component[heads], minlength=count))
    return int(best.sum())


def _inverse(partner: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the left copy that the right copy of each vertex is matched to, or -1."""
    result = np.full(len(partner), -1, np.int32)
    matched = np.flatnonzero(partner >= 0)
    result[partner[matched]] = matched
    return result


@compiled
def _alternate(
    links: Links, partner: NDArray[np.int32], inverse: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which copies alternating paths reach that start at left copies without a partner."""
    left, right = partner < 0, np.zeros(len(partner), np.bool_)
    stack = np.empty(len(partner), np.int32)
    size = 0
    for vertex in range(len(partner)):
        if left[vertex]:
            stack[size] = vertex
            size += 1
    while size:
        size -= 1
        vertex = stack[size]
        for place in range(links.offsets[vertex], links.offsets[vertex + 1]):
            neighbour = links.targets[place]
            if right[neighbour]:
                continue
            right[neighbour] = True
            follower = inverse[neighbour]  # there is one: the matching is maximum, so no path augments it
            if not left[follower]:
                left[follower] = True
                stack[size] = follower
                size += 1
    return left, right


@compiled
def _cliques(links: Links, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Part the vertices into cliques and return the first vertex of each; one after the other joins the largest it can.

    Where there are no triangles this is a greedy matching.
    """
    n = len(order)
    clique = np.full(n, -1, np.int64)  # of each vertex that has its place, the first vertex of its clique
    size, seen = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for vertex in order:
        first, last = links.offsets[vertex], links.offsets[vertex + 1]
        for place in range(first, last):
            head = clique[links.targets[place]]
            if head >= 0:
                seen[head] += 1
        joined = vertex
        for place in range(first, last):
            head = clique[links.targets[place]]
            # It can join where all members are neighbours; size[vertex] is still 0.
            if head >= 0 and seen[head] == size[head] > size[joined]:
                joined = head
        for place in range(first, last):
            head = clique[links.targets[place]]
            if head >= 0:
                seen[head] = 0
        clique[vertex] = joined
        size[joined] += 1
    return np.flatnonzero(size)
