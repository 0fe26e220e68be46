"""Any set becomes a cover without vertices to spare."""

import networkx as nx
import numpy as np
import pytest
from small_covers import is_cover, is_minimal, links_of, many_links, random_links

from mafla.graphs.cover_links import Links
from mafla.graphs.cover_repair import Flags, leave_out, minimal_cover


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_any_set_becomes_a_minimal_cover(share: float) -> None:
    rng = np.random.default_rng(0)
    for links in many_links():
        chosen = rng.random(links.num_vertices) < share
        before = chosen.copy()
        cover = minimal_cover(links, chosen)
        assert is_cover(links, cover)
        assert is_minimal(links, cover)
        assert (chosen == before).all()


def greedy_by_the_book(links: Links, chosen: Flags) -> Flags:
    cover, ends = chosen.copy(), links.ends
    while not is_cover(links, cover):
        bare = np.bincount(ends[~cover[ends].any(axis=1)].ravel(), minlength=links.num_vertices)
        cover[bare.argmax()] = True
    return leave_out(links, cover)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_vertex_with_most_bare_edges_comes_first_each_time(share: float) -> None:
    rng = np.random.default_rng(1)
    for links in (*many_links(), *(random_links(seed, n=60, density=0.08) for seed in range(20))):
        chosen = rng.random(links.num_vertices) < share
        assert minimal_cover(links, chosen).tolist() == greedy_by_the_book(links, chosen).tolist()


def test_vertices_of_low_degree_are_left_out_first() -> None:
    star = links_of(nx.star_graph(5))
    assert np.flatnonzero(leave_out(star, np.ones(6, bool))).tolist() == [0]
