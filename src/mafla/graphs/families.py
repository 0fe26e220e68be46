"""Random graphs by name: those of the paper's tables, and those for which strong solutions are known."""

from collections.abc import Callable

import numpy as np

from mafla import _check
from mafla.graphs.graph import Graph, as_graph, from_edges

__all__ = ["FAMILIES", "family"]


def family(name: str, num_vertices: int, seed: int) -> Graph:
    """Return a random graph; but for the sparse ones these are NetworkX's, so that others can make the same.

    Args:
        name: "BA" (Barabási–Albert, m=2), "gnp 0.1" or "gnp 0.2" (each edge with that probability), "gnm 2.5" (2.5 N
            edges), "doubled 0.1" (``B + Bᵀ`` with directed edges of probability 0.1, so that weights are 1 or 2: the
            "ER, p=0.1" of the paper's MaxCut table), or "sparse 4" and "sparse 20" (that many edges at each vertex on
            average, made in time proportional to the edges).
        num_vertices: at least 8.
        seed: at least 0.

    Example:
        >>> family("sparse 4", 1000, 0).num_edges
        2000
    """
    if name not in FAMILIES:
        raise ValueError(f"name must be one of {', '.join(FAMILIES)}, got {name!r}")
    return FAMILIES[name](_check.whole("num_vertices", num_vertices, 8), _check.whole("seed", seed, 0))


def _barabasi_albert(num_vertices: int, seed: int) -> Graph:
    import networkx as nx

    return as_graph(nx.barabasi_albert_graph(num_vertices, 2, seed=seed))


def _gnp(probability: float) -> Callable[[int, int], Graph]:
    def make(num_vertices: int, seed: int) -> Graph:
        import networkx as nx

        return as_graph(nx.gnp_random_graph(num_vertices, probability, seed=seed))

    return make


def _gnm(num_vertices: int, seed: int) -> Graph:
    import networkx as nx

    return as_graph(nx.gnm_random_graph(num_vertices, 5 * num_vertices // 2, seed=seed))


def _doubled(num_vertices: int, seed: int) -> Graph:
    directed = np.random.default_rng(seed).random((num_vertices, num_vertices)) < 0.1
    np.fill_diagonal(directed, val=False)
    upper = np.triu(directed.astype(np.float64) + directed.T, 1)
    edges = np.argwhere(upper)
    return from_edges(num_vertices, edges, upper[tuple(edges.T)])


def _sparse(degree: int) -> Callable[[int, int], Graph]:
    def make(num_vertices: int, seed: int) -> Graph:
        """Draw pairs, a few more than needed because some are drawn twice, and keep as many as needed."""
        rng, count = np.random.default_rng(seed), degree * num_vertices // 2
        ends = rng.integers(0, num_vertices, (count + count // 5 + 100, 2))
        keys = ends.min(axis=1) * num_vertices + ends.max(axis=1)
        _, first = np.unique(np.where(ends[:, 0] == ends[:, 1], -1, keys), return_index=True)
        kept = np.sort(first[1:] if (ends[:, 0] == ends[:, 1]).any() else first)[:count]
        return from_edges(num_vertices, ends[kept])

    return make


FAMILIES: dict[str, Callable[[int, int], Graph]] = {
    "BA": _barabasi_albert,
    "gnp 0.1": _gnp(0.1),
    "gnp 0.2": _gnp(0.2),
    "gnm 2.5": _gnm,
    "doubled 0.1": _doubled,
    "sparse 4": _sparse(4),
    "sparse 20": _sparse(20),
}
