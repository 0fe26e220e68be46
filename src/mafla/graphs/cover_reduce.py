"""Reductions: parts of a graph for which some smallest vertex cover is known, and the way back from what is left.

Each rule looks at a graph and decides some of its vertices, or folds some: of a vertex with two neighbours that are not
adjacent, either it is in the cover or both of them are, so that the three can be one vertex, which stands for the two.
Every cover of what is left gives one of the whole that is larger by a fixed number, and a smallest gives a smallest.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.cover_bound import half_integral
from mafla.graphs.cover_links import Links, link
from mafla.graphs.cover_repair import Flags

__all__ = ["RULES", "Kernel", "Verdict", "dominance", "fold", "linear", "low_degree", "reductions"]

OPEN, IN, OUT = 0, 1, 2  # fates of a vertex
EFFORT = 5_000_000  # look-ups after which the search for dominated vertices ends, a fraction of a second


class Verdict(NamedTuple):
    """What a rule decides.

    Attributes:
        fate: of each vertex: still open (0), in the cover (1), or out of it (2).
        folds: of each fold a vertex and its two neighbours, the first of which stands for them; all vertices in folds
            are different and have an open fate.
    """

    fate: NDArray[np.int8]
    folds: NDArray[np.int32]

    @property
    def decided(self) -> int:
        """How many vertices the graph loses."""
        return int(np.count_nonzero(self.fate)) + 2 * len(self.folds)


class Step(NamedTuple):
    """One verdict that was carried out: it and the vertices that are left, by their numbers before."""

    verdict: Verdict
    kept: NDArray[np.int64]


class Kernel(NamedTuple):
    """What reductions leave of a graph.

    Attributes:
        links: the graph that is left.
        steps: what was done to get there.
    """

    links: Links
    steps: tuple[Step, ...] = ()

    @property
    def surplus(self) -> int:
        """How many more vertices a cover of the whole graph has than the one of the kernel that it comes from."""
        return sum(int((verdict.fate == IN).sum()) + len(verdict.folds) for verdict, _ in self.steps)

    def lift(self, cover: Flags) -> Flags:
        """Return the cover of the whole graph that belongs to one of the kernel."""
        for verdict, kept in reversed(self.steps):
            before = verdict.fate == IN
            before[kept] = cover
            middle, merged, gone = verdict.folds.T
            before[gone] = before[merged]
            before[middle] = ~before[merged]
            cover = before
        return cover


Rule = Callable[[Links], Verdict]


def low_degree(links: Links) -> Verdict:
    """Decide vertices with no neighbour, with one, and with two that are adjacent: the neighbours are in."""
    return Verdict(_dominated(links, links.degrees, 2, EFFORT), _no_folds())


def dominance(links: Links) -> Verdict:
    """Put a vertex in that is adjacent to all other neighbours of one of its neighbours, which can then be out."""
    return Verdict(_dominated(links, links.degrees, links.num_vertices, EFFORT), _no_folds())


def fold(links: Links) -> Verdict:
    """Fold vertices with two neighbours that are not adjacent, as many at once as have nothing in common."""
    return Verdict(np.zeros(links.num_vertices, np.int8), _disjoint_folds(links))


def linear(links: Links) -> Verdict:
    """Decide what a smallest fractional cover decides (Nemhauser and Trotter), or what others of the same size do."""
    solution = half_integral(links)
    fate = np.array([OUT, OPEN, IN], np.int8)[solution.doubled]
    if not fate.any():
        _decide_closed_sets(links, solution.partner, fate)
    return Verdict(fate, _no_folds())


RULES: tuple[Rule, ...] = (low_degree, fold, dominance, linear)  # cheap ones first


def reductions(links: Links, rules: Sequence[Rule] = RULES) -> Iterator[Kernel]:
    """Apply rules until none decides anything, or very little of a large graph.

    Args:
        links: the graph.
        rules: to try in this order; after each success the first one has its turn again.

    Yields:
        What is left after each rule, in the end perhaps nothing.

    Example:
        >>> path = link(4, np.array([[0, 1], [1, 2], [2, 3]]))
        >>> *_, kernel = reductions(path)
        >>> kernel.links.num_vertices, kernel.surplus, kernel.lift(np.zeros(0, bool)).tolist()
        (0, 2, [True, False, True, False])
    """
    kernel, turn = Kernel(links), 0
    while turn < len(rules):
        verdict = rules[turn](kernel.links)
        turn = 0 if verdict.decided > kernel.links.num_vertices // 1000 else turn + 1
        if verdict.decided:
            kernel = _carry_out(kernel, verdict)
        yield kernel


def _carry_out(kernel: Kernel, verdict: Verdict) -> Kernel:
    links = kernel.links
    middle, merged, gone = verdict.folds.T
    stays = verdict.fate == OPEN
    stays[middle] = stays[gone] = False
    kept = np.flatnonzero(stays)
    number = np.full(links.num_vertices, -1, np.int64)
    number[kept] = np.arange(len(kept))
    number[gone] = number[merged]
    ends = number[links.ends]
    ends = ends[(ends >= 0).all(axis=1)]
    if len(verdict.folds):  # what was merged has edges out of order, and may have some twice
        keys = np.unique(ends.min(axis=1) * len(kept) + ends.max(axis=1))
        ends = np.stack(np.divmod(keys, max(len(kept), 1)), axis=1)
    return Kernel(link(len(kept), ends), (*kernel.steps, Step(verdict, kept)))


def _decide_closed_sets(links: Links, partner: NDArray[np.int32], fate: NDArray[np.int8]) -> None:
    """Where all values are 1/2, find independent sets that are matched to all of their neighbours: those are in.

    Left copies that are a closed set, in that those matched to their neighbours belong to it, and a smallest such one,
    are a strong component without a way out. It will do if none of its vertices is the partner of another.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = links.num_vertices
    inverse = np.argsort(partner).astype(np.int32)  # all have a partner, or some value would be 0
    ways = (np.ones(len(links.targets), np.int8), inverse[links.targets], links.offsets.astype(np.int32))
    count, left = connected_components(sparse.csr_array(ways, shape=(n, n)), connection="strong")
    start, end = np.repeat(left, links.degrees), left[inverse[links.targets]]
    right = left[inverse]  # the component in which each vertex is a partner
    is_closed = np.ones(count, bool)
    is_closed[start[start != end]] = False
    twice = is_closed[left] & is_closed[right]  # in and out: by one set, which will not do, or by two: the first counts
    is_closed[np.maximum(left, right)[twice]] = False
    fate[is_closed[left]] = OUT
    fate[is_closed[right]] = IN


def _no_folds() -> NDArray[np.int32]:
    return np.zeros((0, 3), np.int32)


@compiled
def _dominated(links: Links, degree: NDArray[np.int64], most: int, effort: int) -> NDArray[np.int8]:
    """Decide vertices of degree up to ``most`` with an adjacent vertex that dominates them: the other one is in.

    The degrees, which count neighbours that are open, are changed in place.
    """
    n = len(degree)
    fate, waiting = np.zeros(n, np.int8), np.ones(n, np.bool_)
    stack, size = np.arange(n), n
    while size and effort > 0:
        size -= 1
        vertex = stack[size]
        waiting[vertex] = False
        if fate[vertex] != OPEN or degree[vertex] > most:
            continue
        if degree[vertex] == 0:
            fate[vertex] = OUT
            continue
        other, cost = _dominator(links, fate, degree, vertex)
        effort -= cost
        if other < 0:
            continue
        fate[other] = IN
        for place in range(links.offsets[other], links.offsets[other + 1]):
            neighbour = links.targets[place]
            degree[neighbour] -= 1
            if fate[neighbour] == OPEN and not waiting[neighbour]:
                waiting[neighbour] = True
                stack[size] = neighbour
                size += 1
    return fate


@compiled
def _dominator(links: Links, fate: NDArray[np.int8], degree: NDArray[np.int64], vertex: int) -> tuple[int, int]:
    """Return an open neighbour that is adjacent to all the other open ones, or -1; and the number of look-ups."""
    first, last = links.offsets[vertex], links.offsets[vertex + 1]
    cost = last - first
    for place in range(first, last):
        other = links.targets[place]
        if fate[other] != OPEN or degree[other] < degree[vertex]:
            continue
        dominates = True
        for near in range(first, last):
            third = links.targets[near]
            if third == other or fate[third] != OPEN:
                continue
            cost += 1
            if not _are_adjacent(links, other, third):
                dominates = False
                break
        if dominates:
            return other, cost
    return -1, cost


@compiled
def _are_adjacent(links: Links, u: int, v: int) -> bool:
    low, high = links.offsets[u], links.offsets[u + 1]
    while low < high:
        middle = (low + high) // 2
        if links.targets[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < links.offsets[u + 1] and links.targets[low] == v)


@compiled
def _disjoint_folds(links: Links) -> NDArray[np.int32]:
    n = len(links.offsets) - 1
    used = np.zeros(n, np.bool_)
    folds = np.empty((n // 3, 3), np.int32)
    count = 0
    for vertex in range(n):
        if used[vertex] or links.offsets[vertex + 1] - links.offsets[vertex] != 2:
            continue
        u, v = links.targets[links.offsets[vertex]], links.targets[links.offsets[vertex] + 1]
        if used[u] or used[v] or _are_adjacent(links, u, v):
            continue
        used[vertex] = used[u] = used[v] = True
        folds[count, 0], folds[count, 1], folds[count, 2] = vertex, u, v
        count += 1
    return folds[:count]
