"""Annealed fractional Langevin dynamics for vertex covers, confined to the cube [0, 1]^N.

A vertex is in the cover where its coordinate is 1. Coordinates in between have the energy

    E(x) = sum_i x_i + penalty * sum_ij (1 - x_i) (1 - x_j)    over the edges ij,

whose minima are covers for a penalty above 1. Coordinates move one after the other,

    x_i <- clip(x_i - step * c_alpha * dE/dx_i + (step * temperature)^(1/alpha) * xi),

with xi symmetric alpha-stable, normal at alpha = 2, while the temperature falls to zero. Steps are large, so that most
coordinates lie at 0 or 1; those that stay there cost next to nothing.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla.graphs.compiled import compiled
from mafla.graphs.cover_links import Links
from mafla.graphs.stable_noise import symmetric_stable

__all__ = ["Particle", "energy", "move", "scatter"]

Floats = NDArray[np.float64]


class Particle(NamedTuple):
    """A point of the cube; compiled code changes the arrays in place.

    Attributes:
        x: a coordinate for each vertex.
        missing: by how much the neighbours of each vertex fall short of 1 in all.
    """

    x: Floats
    missing: Floats


def scatter(links: Links, rng: np.random.Generator) -> Particle:
    """Place a particle anywhere in the cube.

    Example:
        >>> from mafla.graphs.cover_links import link
        >>> pair = scatter(link(2, np.array([[0, 1]])), np.random.default_rng(0))
        >>> bool(np.allclose(pair.missing, 1 - pair.x[::-1]))
        True
    """
    x = rng.random(links.num_vertices)
    return Particle(x, _shortfall(links, x))


def energy(particle: Particle, penalty: float) -> float:
    """Return the energy of a particle."""
    x, missing = particle
    return float(x.sum() + 0.5 * penalty * ((1 - x) @ missing))  # each edge is met from both ends


def move(
    links: Links,
    particle: Particle,
    temperatures: Floats,
    rng: np.random.Generator,
    alpha: float,
    penalty: float,
    step_size: float,
) -> None:
    """Move all coordinates of a particle, in place, once at each of some temperatures.

    Args:
        links: the graph.
        particle: changed in place.
        temperatures: not negative.
        rng: source of randomness.
        alpha: stability index of the noise, in (1, 2].
        penalty: energy of a bare edge.
        step_size: of the dynamics.
    """
    drift = step_size * math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    scales = (step_size * temperatures) ** (1 / alpha)
    _move(links, particle.x, particle.missing, scales, drift, penalty, alpha, rng)


@compiled
def _shortfall(links: Links, x: Floats) -> Floats:
    missing = np.zeros(len(x))
    for vertex in range(len(x)):
        for place in range(links.offsets[vertex], links.offsets[vertex + 1]):
            missing[vertex] += 1.0 - x[links.targets[place]]
    return missing


@compiled
def _move(
    links: Links,
    x: Floats,
    missing: Floats,
    scales: Floats,
    drift: float,
    penalty: float,
    alpha: float,
    rng: np.random.Generator,
) -> None:
    offsets, targets = links.offsets, links.targets
    for scale in scales:
        for vertex in range(len(x)):
            before = x[vertex]
            after = before - drift * (1.0 - penalty * missing[vertex])
            if scale > 0:
                after += scale * symmetric_stable(alpha, rng)
            after = min(1.0, max(0.0, after))
            if after != before:
                x[vertex] = after
                for place in range(offsets[vertex], offsets[vertex + 1]):
                    missing[targets[place]] += before - after
