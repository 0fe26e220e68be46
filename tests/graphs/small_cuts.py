"""Small weighted graphs and their largest cuts by brute force."""

import itertools

import numpy as np

from mafla.graphs.graph import Graph, from_edges

KINDS = ("ones", "signs", "whole", "normal")


def small_graph(kind: str, seed: int, n: int = 11, density: float = 0.5) -> Graph:
    """A random graph, some of whose vertices may be isolated."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    edges = np.array([pair for pair in itertools.combinations(range(n), 2) if rng.random() < density])
    m = len(edges)
    weights = {
        "ones": np.ones(m),
        "signs": rng.choice([-1.0, 1.0], m),
        "whole": rng.integers(-5, 10, m).astype(float),
        "normal": rng.standard_normal(m) + 0.3,
    }
    return from_edges(n, edges, weights[kind])


def all_cuts(graph: Graph) -> np.ndarray:
    """Values of all cuts up to exchanging the sides."""
    codes = np.arange(2 ** (graph.num_vertices - 1))
    sides = (codes[:, None] >> np.arange(graph.num_vertices)) & 1  # the last vertex keeps its side
    cut = sides[:, graph.edges[:, 0]] != sides[:, graph.edges[:, 1]]
    return np.asarray(cut @ graph.weights)


def largest_cut(graph: Graph) -> float:
    return float(all_cuts(graph).max())


def random_signs(graph: Graph, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), graph.num_vertices)
