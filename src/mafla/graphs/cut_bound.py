"""Upper bounds on cuts, and the graphs where the simplest of them is reached.

A cut is at most Σ max(w, 0), and that is reached where the sides can be chosen such that all positive edges are cut and
no negative one is: in bipartite graphs with positive weights, and in general in balanced graphs. Writing a cut as

    ½ Σ_edges w - ¼ xᵀWx,  x in {-1, 1}^n,  and  c_i = Σ_j |w_ij|,

it is at most ½ Σ w + ¼ λ Σ c with λ the largest eigenvalue of -C^(-½) W C^(-½). As λ ≤ 1, this is never worse than the
simple bound, and much better in dense graphs.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from mafla.graphs.compiled import compiled
from mafla.graphs.graph import Adjacency, Graph

__all__ = ["balanced_sides", "positive_weight", "spectral_bound"]

DENSE_VERTICES = 300  # below, all eigenvalues are faster than some, and there is no doubt about them


def positive_weight(graph: Graph) -> float:
    """Return the sum of the positive weights, the bound that balanced graphs reach.

    >>> from mafla.graphs.graph import from_edges
    >>> positive_weight(from_edges(3, [(0, 1), (1, 2)], [2.0, -1.0]))
    2.0
    """
    return float(graph.weights[graph.weights > 0].sum())


def balanced_sides(graph: Graph) -> NDArray[np.int8] | None:
    """Return sides that cut all positive edges and no negative one, or None if there are none.

    Args:
        graph: edges of weight 0 do not count.

    Returns:
        A largest cut of a balanced graph.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> balanced_sides(from_edges(4, [(0, 1), (1, 2), (2, 3)], [1.0, -1.0, 1.0])).tolist()
        [1, -1, -1, 1]
        >>> balanced_sides(from_edges(3, [(0, 1), (1, 2), (0, 2)])) is None
        True
    """
    sides = np.zeros(graph.num_vertices, np.int8)
    return sides if _spread_sides(graph.adjacency, sides) else None


def spectral_bound(graph: Graph) -> float:
    """Return an upper bound on all cuts by an eigenvalue, rounded down if the weights are whole numbers.

    Above a few hundred vertices the eigenvalue is found by Lanczos' method and its residual is added, which makes up
    for stopping early; that the method missed the largest eigenvalue altogether is possible in theory.

    Args:
        graph: any.

    Returns:
        The bound, at most `positive_weight`.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> complete = from_edges(5, [(i, j) for j in range(5) for i in range(j)])
        >>> spectral_bound(complete), positive_weight(complete)
        (6.0, 10.0)
    """
    strengths = np.bincount(graph.edges.ravel(), np.repeat(np.abs(graph.weights), 2), minlength=graph.num_vertices)
    used = np.flatnonzero(strengths)
    if not len(used):
        return 0.0
    offsets, targets, weights = graph.adjacency
    n = graph.num_vertices
    matrix = -sparse.csr_array((weights, targets, offsets), shape=(n, n))[used][:, used]
    roots = sparse.diags_array(1.0 / np.sqrt(strengths[used]))
    eigenvalue = min(1.0, _largest_eigenvalue(roots @ matrix @ roots))
    bound = graph.weights.sum() / 2 + eigenvalue * strengths.sum() / 4
    slack = 1e-9 * strengths.sum()  # rounding must not take away from a bound
    if np.all(graph.weights == np.round(graph.weights)):
        bound = math.floor(bound + slack)
    return min(float(bound + (0.0 if bound == round(bound) else slack)), positive_weight(graph))


def _largest_eigenvalue(matrix: sparse.csr_array) -> float:
    n = matrix.shape[0]
    if n <= DENSE_VERTICES:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    start = np.random.default_rng(0).standard_normal(n)
    try:
        values, vectors = linalg.eigsh(matrix, k=1, which="LA", v0=start, tol=1e-4, maxiter=30)
    except linalg.ArpackNoConvergence:
        return 1.0
    residual = np.linalg.norm(matrix @ vectors[:, 0] - values[0] * vectors[:, 0])
    return float(values[0] + residual)


@compiled
def _spread_sides(adjacency: Adjacency, sides: NDArray[np.int8]) -> bool:
    """Give each component the only sides that it can have, from a first vertex on; say whether they fit together."""
    offsets, targets, weights = adjacency
    queue = np.empty(len(sides), np.int32)
    for root in range(len(sides)):
        if sides[root] != 0:
            continue
        sides[root] = 1
        queue[0], done, found = root, 0, 1
        while done < found:
            vertex = queue[done]
            done += 1
            for k in range(offsets[vertex], offsets[vertex + 1]):
                if weights[k] == 0.0:
                    continue
                neighbour, side = targets[k], -sides[vertex] if weights[k] > 0.0 else sides[vertex]
                if sides[neighbour] == 0:
                    sides[neighbour] = side
                    queue[found] = neighbour
                    found += 1
                elif sides[neighbour] != side:
                    return False
    return True
