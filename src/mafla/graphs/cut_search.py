"""Searching for large cuts one flip at a time: descent, annealing and tabu search, compiled.

A cut is an array of signs, and the gain of a vertex is what the cut grows by when that vertex changes sides,

    gain_i = s_i Σ_j w_ij s_j.

A flip changes the gains of the vertex and of its neighbours only, and what is compiled here keeps signs and gains in
step in place. With whole-numbered weights the gains are exact; otherwise `flip_gains` makes them so again.
"""

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.graph import Adjacency

__all__ = ["anneal", "descend", "flip_gains", "tabu_search"]

Signs = NDArray[np.int8]
Floats = NDArray[np.float64]


@compiled
def flip_gains(adjacency: Adjacency, signs: Signs) -> Floats:
    """Return what the cut gains by flipping each vertex, summed from scratch."""
    offsets, targets, weights = adjacency
    gains = np.zeros(len(signs))
    for vertex in range(len(signs)):
        for k in range(offsets[vertex], offsets[vertex + 1]):
            gains[vertex] += weights[k] * signs[vertex] * signs[targets[k]]
    return gains


@compiled
def _flip(adjacency: Adjacency, signs: Signs, gains: Floats, vertex: int) -> None:
    offsets, targets, weights = adjacency
    for k in range(offsets[vertex], offsets[vertex + 1]):
        neighbour = targets[k]
        gains[neighbour] -= 2.0 * weights[k] * signs[vertex] * signs[neighbour]
    gains[vertex] = -gains[vertex]
    signs[vertex] = -signs[vertex]


@compiled
def descend(adjacency: Adjacency, signs: Signs, gains: Floats, passes: int) -> bool:
    """Flip whatever gains, one pass over the vertices after the other.

    Args:
        adjacency: of the graph.
        signs: the cut, changed in place.
        gains: of its flips, changed in place.
        passes: how many at most.

    Returns:
        Whether the last pass found nothing to flip, so that the cut is a local optimum.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> path = from_edges(3, [(0, 1), (1, 2)]).adjacency
        >>> signs = np.ones(3, np.int8)
        >>> descend(path, signs, flip_gains(path, signs), 10), signs.tolist()
        (True, [-1, 1, -1])
    """
    offsets, _, weights = adjacency
    for _ in range(passes):
        settled = True
        for vertex in range(len(signs)):
            if gains[vertex] <= 0.0:
                continue
            # Below the rounding of its own sum a gain may be none, and flipping for it need not end.
            strength = 0.0
            for k in range(offsets[vertex], offsets[vertex + 1]):
                strength += abs(weights[k])
            if gains[vertex] > 1e-14 * strength:
                _flip(adjacency, signs, gains, vertex)
                settled = False
        if settled:
            return True
    return False


@compiled
def anneal(
    adjacency: Adjacency, scales: Floats, signs: Signs, gains: Floats, temperatures: Floats, rng: np.random.Generator
) -> None:
    """Sweep over the vertices once at each temperature, flipping by Metropolis' rule, in place.

    Args:
        adjacency: of the graph.
        scales: what gains are multiplied by before they are compared with the temperature, for each vertex. Ones give
            Gibbs' law at a temperature; one over the size of its weights gives each vertex the heat that it can use.
        signs: the cut, changed in place.
        gains: of its flips, changed in place.
        temperatures: positive.
        rng: source of randomness.
    """
    for temperature in temperatures:
        for vertex in range(len(signs)):
            exponent = gains[vertex] * scales[vertex] / temperature
            # Below -16 one in ten million would pass; most vertices of a cold cut end here.
            if exponent > -16.0 and (exponent >= 0.0 or rng.random() < np.exp(exponent)):
                _flip(adjacency, signs, gains, vertex)


@compiled
def tabu_search(
    adjacency: Adjacency, signs: Signs, gains: Floats, moves: int, tenure: int, rng: np.random.Generator
) -> float:
    """Flip the best vertex again and again, even at a loss, but none that was flipped a short while ago.

    A vertex rests for `tenure` moves and up to ten more at random, unless its flip leads beyond the best so far.

    Args:
        adjacency: of the graph.
        signs: the cut; at the end, the best that was met.
        gains: of its flips, changed in place.
        moves: how many to make.
        tenure: how long a vertex rests at least.
        rng: source of randomness.

    Returns:
        How much better the best cut is than the first, never negative.
    """
    n = len(signs)
    free_at = np.zeros(n, np.int64)
    best = signs.copy()
    above, record = 0.0, 0.0
    for move in range(moves):
        chosen, ties = -1, 0
        for vertex in range(n):
            gain = gains[vertex]
            if (chosen >= 0 and gain < gains[chosen]) or (free_at[vertex] > move and above + gain <= record):
                continue
            ties = ties + 1 if chosen >= 0 and gain == gains[chosen] else 1
            if rng.random() * ties < 1.0:  # each of the equally good is chosen with the same probability
                chosen = vertex
        if chosen < 0:  # all of them rest
            continue
        above += gains[chosen]
        _flip(adjacency, signs, gains, chosen)
        free_at[chosen] = move + 1 + tenure + rng.integers(0, 11)
        if above > record:
            record = above
            best[:] = signs
    signs[:] = best
    gains[:] = flip_gains(adjacency, signs)
    return record
