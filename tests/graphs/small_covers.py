"""Small graphs of many kinds, and their covers by brute force."""

from collections.abc import Iterator

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mafla.graphs.cover_links import Links, link

SPECIAL = {
    "triangle": nx.complete_graph(3),
    "path": nx.path_graph(9),
    "star": nx.star_graph(6),
    "even cycle": nx.cycle_graph(8),
    "odd cycle": nx.cycle_graph(9),
    "clique": nx.complete_graph(7),
    "bipartite": nx.complete_bipartite_graph(4, 6),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
    "cube": nx.hypercube_graph(3),
    "Petersen": nx.petersen_graph(),
    "wheel": nx.wheel_graph(8),
    "parts": nx.disjoint_union_all([nx.cycle_graph(5), nx.empty_graph(2), nx.path_graph(3), nx.complete_graph(3)]),
    "no edges": nx.empty_graph(4),
}


def links_of(graph: nx.Graph) -> Links:
    plain = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    edges = sorted(tuple(sorted(edge)) for edge in plain.edges)
    return link(len(plain), np.array(edges, np.int32).reshape(-1, 2))


def random_links(seed: int, n: int = 12, density: float = 0.3) -> Links:
    return links_of(nx.gnp_random_graph(n, density, seed=seed))


def many_links(count: int = 60) -> Iterator[Links]:
    """Sparse and dense graphs of up to 13 vertices, after those with a name."""
    for graph in SPECIAL.values():
        yield links_of(graph)
    for seed in range(count):
        yield random_links(seed, n=4 + seed % 10, density=(0.15, 0.25, 0.4, 0.7)[seed % 4])


def all_covers(links: Links) -> NDArray[np.bool_]:
    """All covers, one in each row."""
    n = links.num_vertices
    sets = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
    return sets[(sets[:, links.ends[:, 0]] | sets[:, links.ends[:, 1]]).all(axis=1)]


def smallest_cover(links: Links) -> int:
    return int(all_covers(links).sum(axis=1).min())


def is_cover(links: Links, chosen: NDArray[np.bool_]) -> bool:
    return bool(chosen[links.ends].any(axis=1).all())


def is_minimal(links: Links, chosen: NDArray[np.bool_]) -> bool:
    """Whether no vertex can be left out by itself."""
    for vertex in np.flatnonzero(chosen):
        without = chosen.copy()
        without[vertex] = False
        if is_cover(links, without):
            return False
    return True
