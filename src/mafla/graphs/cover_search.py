"""Local search for small vertex covers, by exchanges that weights of the edges steer.

It works on a set of vertices that is one short of the smallest cover known. A step takes out the vertex that leaves the
least weight bare, draws a bare edge, and puts in the end of it that covers more; then every edge that is bare gains
weight, so that edges that stay bare become expensive and the search leaves the places where it is stuck. A vertex that
went out stays out until one of its neighbours has moved. This is the scheme of NuMVC (Cai, Su, Luo and Sattar,
doi.org/10.1613/jair.3907); leaders of blocks of vertices make the choice cheap in large graphs too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.cover_links import Links
from mafla.graphs.cover_repair import Flags

__all__ = ["Search", "begin_search", "run_search"]

# Places in Search.counts: how many vertices are inside, edges are bare, vertices are in the best cover and steps were
# made; the sum of the weights of the edges; and the vertex that came in last, or -1.
INSIDE, BARE, BEST, STEPS, WEIGHT, LAST = range(6)

BLOCK = 64  # vertices that have a leader in common
NOBODY, UNKNOWN = -1, -2  # in Search.leaders
FORGET_ABOVE = 0.5  # mean weight of an edge, over the number of vertices, from which on weights are cut
FORGET_TO = 0.3  # what is left of them


class Search(NamedTuple):
    """Where a search is; compiled code changes the arrays in place.

    Attributes:
        inside: whether each vertex is in the set.
        score: weight of the edges that its move would bare, if it is inside, or cover, if it is not.
        weight: of each edge.
        moved: step at which each vertex moved last.
        free: whether a vertex that is outside may come in.
        leaders: of each block of vertices the next to go out: the one inside, but not the last that came in, with the
            smallest score, of several the one that moved longest ago.
        least: the score of each leader.
        bare: the bare edges, in no order, in the first places.
        bare_at: where among them an edge is.
        best: the smallest cover so far, which can do without none of its vertices.
        counts: see above.
    """

    inside: Flags
    score: NDArray[np.int64]
    weight: NDArray[np.int64]
    moved: NDArray[np.int64]
    free: Flags
    leaders: NDArray[np.int32]
    least: NDArray[np.int64]
    bare: NDArray[np.int32]
    bare_at: NDArray[np.int32]
    best: Flags
    counts: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Size of the set that the search is at."""
        return int(self.counts[INSIDE])

    @property
    def best_size(self) -> int:
        """Size of the smallest cover so far."""
        return int(self.counts[BEST])


def begin_search(links: Links, cover: Flags) -> Search:
    """Start from a cover.

    Raises:
        ValueError: if it is none, or there is no edge to cover.

    Example:
        >>> from mafla.graphs.cover_links import link
        >>> triangle = link(3, np.array([[0, 1], [0, 2], [1, 2]]))
        >>> search = begin_search(triangle, np.ones(3, bool))
        >>> run_search(triangle, search, 10, np.random.default_rng(0))
        >>> search.best_size
        2
    """
    n, m = links.num_vertices, links.num_edges
    if m == 0:
        raise ValueError("links must have at least one edge, got none")
    if not cover[links.ends].any(axis=1).all():
        raise ValueError("cover must have an end of each edge, got one without")
    search = Search(
        inside=np.ones(n, np.bool_),
        score=np.zeros(n, np.int64),
        weight=np.ones(m, np.int64),
        moved=np.zeros(n, np.int64),
        free=np.ones(n, np.bool_),
        leaders=np.full(-(-n // BLOCK), UNKNOWN, np.int32),
        least=np.zeros(-(-n // BLOCK), np.int64),
        bare=np.zeros(m, np.int32),
        bare_at=np.zeros(m, np.int32),
        best=np.array(cover, np.bool_),
        counts=np.array([n, 0, cover.sum(), 0, m, -1], np.int64),
    )
    _keep_only_best(links, search)
    return search


@compiled
def run_search(links: Links, search: Search, steps: int, rng: np.random.Generator) -> None:
    """Make some steps; how they are divided among calls makes no difference.

    Args:
        links: the graph.
        search: changed in place.
        steps: how many exchanges to make.
        rng: source of randomness.
    """
    for _ in range(steps):
        search.counts[STEPS] += 1
        going = _next_to_go(search)
        if going >= 0:
            _put_out(links, search, going)
        _release_last(search)
        _put_in(links, search, _end_of_bare_edge(links, search, rng))
        _raise_weights(links, search)
        _shrink(links, search)


@compiled
def _keep_only_best(links: Links, search: Search) -> None:
    """Go from all vertices to those of the best cover."""
    for vertex in range(len(search.best)):
        if not search.best[vertex]:
            _put_out(links, search, vertex)
    search.free[:] = True
    _shrink(links, search)


@compiled
def _shrink(links: Links, search: Search) -> None:
    """Take vertices out of a cover until it is none any more, and keep the last that was one."""
    counts = search.counts
    while counts[BARE] == 0:
        if counts[INSIDE] < counts[BEST]:
            search.best[:] = search.inside
            counts[BEST] = counts[INSIDE]
        _release_last(search)
        _put_out(links, search, _next_to_go(search))


@compiled
def _put_out(links: Links, search: Search, vertex: int) -> None:
    # Arrays by themselves: taking one out of a tuple in each turn of the loop would cost more than the turn.
    inside, free, bare, bare_at, counts = search.inside, search.free, search.bare, search.bare_at, search.counts
    score, weight, leaders = search.score, search.weight, search.leaders
    targets, edge_of = links.targets, links.edge_of
    inside[vertex] = free[vertex] = False
    search.moved[vertex] = counts[STEPS]
    counts[INSIDE] -= 1
    leaders[vertex // BLOCK] = UNKNOWN
    for at in range(links.offsets[vertex], links.offsets[vertex + 1]):
        neighbour, edge = targets[at], edge_of[at]
        # Inside, it is now the only one to cover the edge; outside, it could cover what has become bare.
        score[neighbour] += weight[edge]
        free[neighbour] = True
        if inside[neighbour]:
            leaders[neighbour // BLOCK] = UNKNOWN
        else:
            bare[counts[BARE]] = edge
            bare_at[edge] = counts[BARE]
            counts[BARE] += 1


@compiled
def _put_in(links: Links, search: Search, vertex: int) -> None:
    inside, free, bare, bare_at, counts = search.inside, search.free, search.bare, search.bare_at, search.counts
    score, weight, leaders = search.score, search.weight, search.leaders
    targets, edge_of = links.targets, links.edge_of
    inside[vertex] = True
    search.moved[vertex] = counts[STEPS]
    counts[INSIDE] += 1
    counts[LAST] = vertex
    for at in range(links.offsets[vertex], links.offsets[vertex + 1]):
        neighbour, edge = targets[at], edge_of[at]
        score[neighbour] -= weight[edge]
        free[neighbour] = True
        if inside[neighbour]:
            leaders[neighbour // BLOCK] = UNKNOWN
        else:
            counts[BARE] -= 1
            final, place = bare[counts[BARE]], bare_at[edge]
            bare[place] = final
            bare_at[final] = place


@compiled
def _release_last(search: Search) -> None:
    """Let the vertex that came in last go out again; it could not do so at once."""
    if search.counts[LAST] >= 0:
        search.leaders[search.counts[LAST] // BLOCK] = UNKNOWN
        search.counts[LAST] = -1


@compiled
def _next_to_go(search: Search) -> int:
    """Return the first of the leaders, or -1 if there is none."""
    leaders, least, moved = search.leaders, search.least, search.moved
    first, smallest = NOBODY, 0
    for block in range(len(leaders)):
        if leaders[block] == UNKNOWN:
            _find_leader(search, block)
        leader = leaders[block]
        if leader == NOBODY or (first != NOBODY and least[block] > smallest):
            continue
        if first == NOBODY or least[block] < smallest or moved[leader] < moved[first]:
            first, smallest = leader, least[block]
    return first


@compiled
def _find_leader(search: Search, block: int) -> None:
    inside, score, moved, last = search.inside, search.score, search.moved, search.counts[LAST]
    first, smallest = NOBODY, 0
    for vertex in range(block * BLOCK, min(len(score), (block + 1) * BLOCK)):
        if not inside[vertex] or vertex == last or (first != NOBODY and score[vertex] > smallest):
            continue
        if first == NOBODY or score[vertex] < smallest or moved[vertex] < moved[first]:
            first, smallest = vertex, score[vertex]
    search.leaders[block], search.least[block] = first, smallest


@compiled
def _end_of_bare_edge(links: Links, search: Search, rng: np.random.Generator) -> int:
    """Draw a bare edge and return the better of its ends; of the two, the last to go out has freed the other."""
    edge = search.bare[int(rng.random() * search.counts[BARE])]
    u, v = links.ends[edge, 0], links.ends[edge, 1]
    if not search.free[u]:
        return v
    if not search.free[v]:
        return u
    if search.score[u] != search.score[v]:
        return u if search.score[u] > search.score[v] else v
    return u if search.moved[u] < search.moved[v] else v


@compiled
def _raise_weights(links: Links, search: Search) -> None:
    for i in range(search.counts[BARE]):
        edge = search.bare[i]
        u, v = links.ends[edge, 0], links.ends[edge, 1]
        search.weight[edge] += 1
        search.score[u] += 1
        search.score[v] += 1
    search.counts[WEIGHT] += search.counts[BARE]
    if search.counts[WEIGHT] > FORGET_ABOVE * len(search.inside) * len(search.weight):
        _forget(links, search)


@compiled
def _forget(links: Links, search: Search) -> None:
    """Cut all weights, so that what was hard long ago does not rule for ever."""
    search.score[:] = 0
    total = 0
    for edge in range(len(search.weight)):
        weight = max(1, int(FORGET_TO * search.weight[edge]))  # at 0, a vertex would seem to be of no use
        search.weight[edge] = weight
        total += weight
        u, v = links.ends[edge, 0], links.ends[edge, 1]
        if not search.inside[v]:
            search.score[u] += weight
        if not search.inside[u]:
            search.score[v] += weight
    search.counts[WEIGHT] = total
    search.leaders[:] = UNKNOWN
