"""Neighbours and the edges that lead to them, against the list of edges."""

import numpy as np
import pytest
from small_covers import many_links, random_links

from mafla.graphs.cover_links import link, neighbours_matrix


def test_neighbours_are_those_of_the_edges() -> None:
    for links in many_links():
        for vertex in range(links.num_vertices):
            here = slice(links.offsets[vertex], links.offsets[vertex + 1])
            met = links.ends[(links.ends == vertex).any(axis=1)]
            assert links.targets[here].tolist() == sorted((met.sum(axis=1) - vertex).tolist())
            assert links.degrees[vertex] == len(met)
            for neighbour, edge in zip(links.targets[here], links.edge_of[here], strict=True):
                assert sorted((vertex, neighbour)) == links.ends[edge].tolist()


def test_the_matrix_is_symmetric_and_has_a_one_for_each_end() -> None:
    links = random_links(1)
    dense = neighbours_matrix(links).toarray()
    assert (dense == dense.T).all()
    assert dense.sum() == 2 * links.num_edges
    assert dense[tuple(links.ends.T)].all()


@pytest.mark.parametrize("n", [0, 3])
def test_there_may_be_no_edges_and_no_vertices(n: int) -> None:
    links = link(n, np.zeros((0, 2)))
    assert (links.num_vertices, links.num_edges, len(links.targets)) == (n, 0, 0)


def test_edges_that_are_read_only_are_copied() -> None:
    edges = np.array([[0, 1]], np.int32)
    edges.flags.writeable = False
    assert link(2, edges).ends.flags.writeable
