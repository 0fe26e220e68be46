"""Bounds against the smallest covers of small graphs, and the fractional cover against a linear program."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from small_covers import links_of, many_links, smallest_cover

from mafla.graphs.cover_bound import half_integral, lower_bound
from mafla.graphs.cover_links import Links


def least_fractional(links: Links) -> float:
    rows = np.zeros((links.num_edges, links.num_vertices))
    rows[np.arange(links.num_edges)[:, None], links.ends] = -1
    return float(linprog(np.ones(links.num_vertices), rows, -np.ones(links.num_edges), bounds=(0, 1)).fun)


def test_the_fractional_cover_is_one_and_is_as_small_as_the_linear_program_says() -> None:
    for links in many_links():
        doubled, partner = half_integral(links)
        assert set(doubled) <= {0, 1, 2}
        assert (doubled[links.ends].sum(axis=1) >= 2).all()
        least = least_fractional(links) if links.num_edges else 0
        assert doubled.sum() / 2 == pytest.approx(least)
        assert (partner >= 0).sum() == doubled.sum()


@pytest.mark.parametrize("matching", [True, False])
def test_no_cover_is_smaller_than_the_bound(matching: bool) -> None:
    gaps = [smallest_cover(links) - lower_bound(links, matching=matching) for links in many_links()]
    assert min(gaps) == 0
    assert sum(gap == 0 for gap in gaps) > len(gaps) / 2  # it is often tight on graphs as small as these


@pytest.mark.parametrize(
    ("graph", "least"),
    [
        (nx.cycle_graph(7), 4),
        (nx.disjoint_union_all([nx.cycle_graph(5)] * 3), 9),  # rounded up in each component
        (nx.disjoint_union_all([nx.complete_graph(5)] * 3), 12),
        (nx.disjoint_union(nx.complete_graph(6), nx.cycle_graph(9)), 10),  # by cliques here and by a matching there
        (nx.grid_2d_graph(5, 6), 15),
        (nx.star_graph(9), 1),
        (nx.empty_graph(3), 0),
    ],
)
def test_the_bound_is_reached(graph: nx.Graph, least: int) -> None:
    assert lower_bound(links_of(graph)) == least


def test_without_matching_the_bound_is_at_least_half_of_the_largest_matching() -> None:
    graph = nx.random_regular_graph(3, 40, seed=2)
    bound = lower_bound(links_of(graph), matching=False)
    assert len(nx.max_weight_matching(graph, maxcardinality=True)) / 2 <= bound <= lower_bound(links_of(graph))
