"""Making a cover of any set of vertices: edges that are bare get an end, and vertices without use go."""

import heapq

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.cover_links import Links

__all__ = ["Flags", "leave_out", "minimal_cover"]

Flags = NDArray[np.bool_]  # one for each vertex: whether it is in the cover


def minimal_cover(links: Links, chosen: Flags) -> Flags:
    """Return a cover near a set of vertices; none of its vertices can be left out.

    Bare edges are covered greedily, by the vertex with most of them first; then vertices whose neighbours are all
    chosen are left out, those with few neighbours first. From no vertices this is the greedy cover by degree.

    Example:
        >>> from mafla.graphs.cover_links import link
        >>> star = link(4, np.array([[0, 1], [0, 2], [0, 3]]))
        >>> minimal_cover(star, np.zeros(4, bool))
        array([ True, False, False, False])
    """
    cover = np.array(chosen, np.bool_)
    _cover_bare_edges(links, cover)
    return leave_out(links, cover)


def leave_out(links: Links, cover: Flags) -> Flags:
    """Return what is left of a cover without vertices that it can do without, looking at those of low degree first."""
    result = np.array(cover, np.bool_)
    _leave_out(links, result, np.argsort(links.degrees, kind="stable"))
    return result


@compiled
def _cover_bare_edges(links: Links, cover: Flags) -> None:
    n = len(cover)
    bare = np.zeros(n, np.int64)  # bare edges at each vertex
    for edge in range(len(links.ends)):
        u, v = links.ends[edge, 0], links.ends[edge, 1]
        if not cover[u] and not cover[v]:
            bare[u] += 1
            bare[v] += 1
    # One number says how many and where: the smallest is at the vertex with most bare edges, the first of them.
    heap = [vertex - bare[vertex] * n for vertex in range(n)]
    heapq.heapify(heap)
    while heap:
        key = heapq.heappop(heap)
        vertex = key % n
        if bare[vertex] == 0:
            continue
        if key < vertex - bare[vertex] * n:  # some of its edges were covered since
            heapq.heappush(heap, vertex - bare[vertex] * n)
            continue
        cover[vertex] = True
        bare[vertex] = 0
        for place in range(links.offsets[vertex], links.offsets[vertex + 1]):
            neighbour = links.targets[place]
            if not cover[neighbour]:
                bare[neighbour] -= 1


@compiled
def _leave_out(links: Links, cover: Flags, order: NDArray[np.int64]) -> None:
    for vertex in order:
        if not cover[vertex]:
            continue
        needed = False
        for place in range(links.offsets[vertex], links.offsets[vertex + 1]):
            if not cover[links.targets[place]]:
                needed = True
                break
        cover[vertex] = needed
