"""Particles in a box that look for large cuts: an annealed, confined fractional Langevin dynamics, compiled.

Signs are relaxed to y in [-1, 1]^n and the energy ½ yᵀWy, which is smallest where the cut is largest. Coordinate after
coordinate, a particle makes the step

    y_i ← clip(y_i - h (W y)_i / ‖W_i‖ + (h T)^(1/α) ξ_i, -1, 1),

where ‖W_i‖, the root of the sum of the squared weights at vertex i, makes all degrees alike, ξ is standard α-stable
(of variance 2 at α = 2) and the temperature T falls to 0. Steps are large: in the end nearly all coordinates lie on a
face of the box. As each coordinate sees those that have just moved, the stiff uniform direction of W needs no treatment
of its own. Fields W y are kept and change only where a coordinate does, so that one that stays on its face costs
little.
"""

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.graph import Adjacency, Graph
from mafla.graphs.stable_noise import positive_stable, symmetric_stable

__all__ = ["fields", "inverse_norms", "langevin", "to_signs"]

Floats = NDArray[np.float64]


def inverse_norms(graph: Graph) -> Floats:
    """Return 1 / ‖W_i‖ for each vertex, and 0 for one without edges.

    >>> from mafla.graphs.graph import from_edges
    >>> inverse_norms(from_edges(3, [(0, 1)], [-2.0]))
    array([0.5, 0.5, 0. ])
    """
    largest = np.abs(graph.weights).max(initial=0.0) or 1.0  # squares of what is far from one could leave the range
    squares = np.bincount(
        graph.edges.ravel(), np.repeat((graph.weights / largest) ** 2, 2), minlength=graph.num_vertices
    )
    norms = largest * np.sqrt(squares)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def to_signs(position: Floats) -> NDArray[np.int8]:
    """Return the cut of a particle: the sign of each coordinate, +1 for 0.

    >>> to_signs(np.array([-0.5, 0.0, 1.0])).tolist()
    [-1, 1, 1]
    """
    return np.where(position < 0, -1, 1).astype(np.int8)


@compiled
def fields(adjacency: Adjacency, position: Floats) -> Floats:
    """Return W y, summed from scratch."""
    offsets, targets, weights = adjacency
    result = np.zeros(len(position))
    for vertex in range(len(position)):
        for k in range(offsets[vertex], offsets[vertex + 1]):
            result[vertex] += weights[k] * position[targets[k]]
    return result


@compiled
def langevin(
    adjacency: Adjacency,
    scales: Floats,
    position: Floats,
    field: Floats,
    temperatures: Floats,
    step: float,
    alpha: float,
    isotropic: bool,
    rng: np.random.Generator,
) -> None:
    """Move a particle over all coordinates once at each temperature, in place.

    Args:
        adjacency: of the graph.
        scales: 1 / ‖W_i‖, see `inverse_norms`.
        position: y, changed in place.
        field: W y, changed in place.
        temperatures: T, not negative.
        step: h.
        alpha: stability index of the noise in (0, 2]; 2 is Gaussian.
        isotropic: whether the noise of a sweep is one isotropic vector, whose coordinates have a common scale, or has
            independent coordinates. At α = 2 they are the same.
        rng: source of randomness.
    """
    offsets, targets, weights = adjacency
    for temperature in temperatures:
        spread = (step * temperature) ** (1.0 / alpha)
        gaussian = alpha == 2.0 or isotropic
        if gaussian:
            spread *= np.sqrt(2.0 * positive_stable(alpha / 2.0, rng))
        reach = 6.0 * spread if gaussian else np.inf  # one Gaussian draw in a billion is longer
        for vertex in range(len(position)):
            old = position[vertex]
            new = old - step * scales[vertex] * field[vertex]
            if abs(old) == 1.0 and new * old >= 1.0 + reach:
                continue
            new += spread * (rng.standard_normal() if gaussian else symmetric_stable(alpha, rng))
            new = min(1.0, max(-1.0, new))
            if new != old:
                position[vertex] = new
                for k in range(offsets[vertex], offsets[vertex + 1]):
                    field[targets[k]] += weights[k] * (new - old)
