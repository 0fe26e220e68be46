"""Cuts and covers as log densities of u in R^N, as in the paper's case study: what its samplers run on.

The energy is bounded, so that ``exp(-E(u)/η)`` has no finite integral over R^N: a sampler that runs long enough drifts
away for good, and exact correction does not change that. This is the paper's target and the default. Two forms are
proper: with the Jacobian of ``y = tanh(u)`` the density is that of y in the open cube, and in the box u is folded into
the cube, as if its walls reflected.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from mafla import _check
from mafla.graphs.graph import Graph

__all__ = ["Relaxation", "decode_cut", "paper_cover", "paper_cut", "relaxed_cover", "relaxed_cut", "repair_cover"]

CONFINEMENTS = ("none", "jacobian", "box")
LARGEST_DENSE = 2048  # vertices up to which a dense product is faster than a sparse one

Point = Float[Array, " n"]
Scalar = Float[Array, ""]
Confinement = Literal["none", "jacobian", "box"]


class Relaxation(NamedTuple):
    """A problem on a graph in continuous variables, one for each vertex.

    Attributes:
        dim: number of vertices.
        energy: E(u), as the tables report it.
        logdensity: ``-E(u)/η``, with the Jacobian where it is asked for.
        score: its gradient, in closed form.
        side: y(u) in [-1, 1] for each vertex; a cover chooses those above 0.
        field: ``-∂(E/η)/∂y`` at y(u), for each vertex.
        temperature: η.
    """

    dim: int
    energy: Callable[[Point], Scalar]
    logdensity: Callable[[Point], Scalar]
    score: Callable[[Point], Point]
    side: Callable[[Point], Point]
    field: Callable[[Point], Point]
    temperature: float


class _Map(NamedTuple):
    """How u becomes y, the slope of that, and what the log density gains by it."""

    value: Callable[[Point], Point]
    slope: Callable[[Point], Point]
    log_volume: Callable[[Point], Scalar]
    log_volume_gradient: Callable[[Point], Point]


def relaxed_cut(
    graph: Graph, temperature: float = 1.0, *, scale: float = 1.0, confinement: Confinement = "none"
) -> Relaxation:
    """Return MaxCut relaxed: ``E(u) = scale · ½ yᵀWy`` with ``y = tanh(u)``.

    Args:
        graph: its weights are W.
        temperature: η, positive.
        scale: factor of the energy; the paper's tables have ``1/sqrt(N)``.
        confinement: "none" is the paper's improper density; "jacobian" and "box" are proper.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> edge = relaxed_cut(from_edges(2, [(0, 1)]))
        >>> round(float(edge.energy(jnp.array([20.0, -20.0]))), 6)
        -1.0
    """
    scale, product = _check.positive("scale", scale), _product(graph)
    return _relaxation(
        graph.num_vertices,
        lambda y: 0.5 * scale * jnp.dot(y, product(y)),
        lambda y: scale * product(y),
        1.0,
        temperature,
        confinement,
    )


def relaxed_cover(
    graph: Graph,
    temperature: float = 1.0,
    *,
    penalty: float = 2.0,
    scale: float = 1.0,
    confinement: Confinement = "none",
) -> Relaxation:
    """Return vertex cover relaxed: ``E(u) = scale · (Σ p_i + λ Σ_(ij) (1-p_i)(1-p_j))`` with ``p = σ(u)``.

    Args:
        graph: the weights of its edges are not used.
        temperature: η, positive.
        penalty: λ, positive.
        scale: factor of the energy; the paper's tables have ``1/N``.
        confinement: "none" is the paper's improper density; "jacobian" and "box" are proper.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> edge = relaxed_cover(from_edges(2, [(0, 1)]), penalty=3.0)
        >>> [round(float(edge.energy(jnp.array(u))), 4) for u in ([20.0, -20.0], [-20.0, -20.0])]
        [1.0, 3.0]
    """
    scale, penalty = _check.positive("scale", scale), _check.positive("penalty", penalty)
    product = _product(graph, weighted=False)

    def energy(y: Point) -> Scalar:
        free = (1 - y) / 2
        return scale * (jnp.sum(1 - free) + penalty / 2 * jnp.dot(free, product(free)))

    def gradient(y: Point) -> Point:
        return scale / 2 * (1 - penalty * product((1 - y) / 2))

    return _relaxation(graph.num_vertices, energy, gradient, 0.5, temperature, confinement)


def paper_cut(graph: Graph, temperature: float = 1.0, confinement: Confinement = "none") -> Relaxation:
    """Return MaxCut as in the paper's Table 1, inferred from its rows of ULA: ``W/sqrt(N)``, η=1; see `relaxed_cut`."""
    return relaxed_cut(graph, temperature, scale=1 / math.sqrt(graph.num_vertices), confinement=confinement)


def paper_cover(
    graph: Graph, penalty: float = 0.5, temperature: float = 0.1, confinement: Confinement = "none"
) -> Relaxation:
    """Return vertex cover as in the paper's Table 2, inferred from its rows of ULA; see `relaxed_cover`.

    Args:
        graph: the graph.
        penalty: λ: 0.5 is that of the Erdős–Rényi graphs, 3 that of the Barabási–Albert graphs.
        temperature: η.
        confinement: as for `relaxed_cover`.
    """
    return relaxed_cover(graph, temperature, penalty=penalty, scale=1 / graph.num_vertices, confinement=confinement)


def decode_cut(sides: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return the signs of relaxed sides, that of 0 being +1.

    Example:
        >>> decode_cut(np.array([-0.5, 0.0, 0.2])).tolist()
        [-1, 1, 1]
    """
    return np.where(np.asarray(sides) >= 0, 1, -1).astype(np.int8)


def repair_cover(graph: Graph, sides: NDArray[np.floating]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Choose the vertices above 0 and then, for each edge that is still uncovered, its end of larger activation.

    Args:
        graph: the graph.
        sides: relaxed sides of many particles, (particles, N).

    Returns:
        Valid covers of shape (particles, N), and the share of edges of each that was uncovered before the repair.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> path = from_edges(3, [(0, 1), (1, 2)])
        >>> covers, uncovered = repair_cover(path, np.array([[-0.9, -0.1, -0.5]]))
        >>> covers.tolist(), uncovered.tolist()
        ([[False, True, False]], [1.0])
    """
    activation = np.ascontiguousarray(np.asarray(sides).T)
    chosen = activation > 0
    heads, tails = graph.edges.T
    uncovered = (~(chosen[heads] | chosen[tails])).mean(axis=0) if graph.num_edges else np.zeros(chosen.shape[1])
    for u, v in graph.edges:
        missing = ~(chosen[u] | chosen[v])
        is_first = activation[u] >= activation[v]
        chosen[u] |= missing & is_first
        chosen[v] |= missing & ~is_first
    return chosen.T, uncovered


def _relaxation(
    dim: int,
    energy: Callable[[Point], Scalar],
    gradient: Callable[[Point], Point],
    gain: float,
    temperature: float,
    confinement: Confinement,
) -> Relaxation:
    """Put a relaxation together from an energy of y and its gradient."""
    if confinement not in CONFINEMENTS:
        raise ValueError(f"confinement must be one of {', '.join(CONFINEMENTS)}, got {confinement!r}")
    eta = _check.positive("temperature", temperature)
    to_side = _folded() if confinement == "box" else _squashed(gain, with_volume=confinement == "jacobian")

    def field(u: Point) -> Point:
        return -gradient(to_side.value(u)) / eta

    return Relaxation(
        dim,
        lambda u: energy(to_side.value(u)),
        lambda u: -energy(to_side.value(u)) / eta + to_side.log_volume(u),
        lambda u: to_side.slope(u) * field(u) + to_side.log_volume_gradient(u),
        to_side.value,
        field,
        eta,
    )


def _squashed(gain: float, *, with_volume: bool) -> _Map:
    def value(u: Point) -> Point:
        return jnp.tanh(gain * u)

    def slope(u: Point) -> Point:
        return gain * (1 - value(u) ** 2)

    def log_volume(u: Point) -> Scalar:
        size = jnp.abs(gain * u)  # log(1 - tanh²) without the loss of all digits where tanh is near 1
        return jnp.sum(2 * (math.log(2) - size - jnp.log1p(jnp.exp(-2 * size))))

    if with_volume:
        return _Map(value, slope, log_volume, lambda u: -2 * gain * value(u))
    return _Map(value, slope, lambda u: jnp.zeros((), u.dtype), jnp.zeros_like)


def _folded() -> _Map:
    """Return the triangle wave of period 4 that is the identity on [-1, 1]."""

    def phase(u: Point) -> Point:
        return jnp.mod(u + 1, 4) - 2

    return _Map(
        lambda u: 1 - jnp.abs(phase(u)),
        lambda u: jnp.where(phase(u) < 0, 1.0, -1.0).astype(u.dtype),
        lambda u: jnp.zeros((), u.dtype),
        jnp.zeros_like,
    )


def _product(graph: Graph, *, weighted: bool = True) -> Callable[[Point], Point]:
    """Return ``y -> W y``; dense for small graphs, else with memory for the edges only."""
    n, (offsets, targets, weights) = graph.num_vertices, graph.adjacency
    values = weights if weighted else np.ones_like(weights)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets))
    if n <= LARGEST_DENSE:
        matrix = np.zeros((n, n))
        matrix[rows, targets] = values
        return lambda y: jnp.asarray(matrix, y.dtype) @ y

    def product(y: Point) -> Point:
        terms = jnp.asarray(values, y.dtype) * y[targets]
        return jax.ops.segment_sum(terms, rows, num_segments=n, indices_are_sorted=True)

    return product
