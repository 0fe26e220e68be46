"""Making one good cut out of two, compiled.

Two cuts agree on some vertices and disagree on the others, once their sides are named alike. No edge joins two
connected components of the disagreement, so that each can be taken from the one cut or from the other on its own, and
the best choice is at least as good as both.
"""

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.graph import Adjacency

__all__ = ["merge"]

Signs = NDArray[np.int8]


@compiled
def merge(
    adjacency: Adjacency, first: Signs, second: Signs, greedy: bool, rng: np.random.Generator
) -> tuple[Signs, float]:
    """Combine two cuts component by component of where they disagree.

    Args:
        adjacency: of the graph.
        first: a cut.
        second: another; if it agrees with less than half of the first, its sides are exchanged.
        greedy: whether to take each component from the cut where it is better, or from either at random. Where both are
            equally good, it is at random as well.
        rng: source of randomness.

    Returns:
        The combined cut, and how much larger it is than the first.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> pairs = from_edges(6, [(0, 1), (2, 3), (4, 5)]).adjacency
        >>> a, b = np.array([1, -1, 1, 1, 1, 1], np.int8), np.array([1, 1, 1, -1, 1, 1], np.int8)
        >>> signs, gained = merge(pairs, a, b, True, np.random.default_rng(0))
        >>> signs.tolist(), gained
        ([1, -1, 1, -1, 1, 1], 1.0)
    """
    offsets, targets, weights = adjacency
    n = len(first)
    agreement = 0
    for vertex in range(n):
        agreement += first[vertex] * second[vertex]
    side = 1 if agreement >= 0 else -1
    merged, gained = first.copy(), 0.0
    waiting, queue = np.empty(n, np.bool_), np.empty(n, np.int32)
    for vertex in range(n):
        waiting[vertex] = first[vertex] != side * second[vertex]
    for root in range(n):
        if not waiting[root]:
            continue
        waiting[root] = False
        queue[0], done, found, gain = root, 0, 1, 0.0
        while done < found:
            vertex = queue[done]
            done += 1
            for k in range(offsets[vertex], offsets[vertex + 1]):
                neighbour = targets[k]
                if first[neighbour] == side * second[neighbour]:
                    gain += weights[k] * first[vertex] * first[neighbour]
                elif waiting[neighbour]:
                    waiting[neighbour] = False
                    queue[found] = neighbour
                    found += 1
        if gain > 0.0 if greedy and gain != 0.0 else rng.random() < 0.5:
            gained += gain
            for k in range(found):
                merged[queue[k]] = -merged[queue[k]]
    return merged, gained
