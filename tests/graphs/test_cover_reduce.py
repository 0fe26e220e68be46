"""Each rule keeps the size of the smallest cover, and covers of what is left lead back to covers of the whole."""

import networkx as nx
import numpy as np
import pytest
from small_covers import SPECIAL, all_covers, is_cover, links_of, many_links, random_links, smallest_cover

from mafla.graphs.cover_links import Links
from mafla.graphs.cover_reduce import (
    EFFORT,
    RULES,
    Kernel,
    Rule,
    _dominated,
    dominance,
    fold,
    linear,
    low_degree,
    reductions,
)


def reduce(links: Links, *rules: Rule) -> Kernel:
    return list(reductions(links, rules or RULES))[-1]


CHOICES = {rule.__name__: (rule,) for rule in (low_degree, fold, dominance, linear)} | {"all": RULES}


@pytest.mark.parametrize("rules", CHOICES.values(), ids=CHOICES)
def test_the_smallest_cover_stays_and_all_covers_lead_back(rules: tuple[Rule, ...]) -> None:
    reduced = 0
    for links in many_links(100):
        kernel = reduce(links, *rules)
        reduced += kernel.links.num_vertices < links.num_vertices
        assert smallest_cover(links) == smallest_cover(kernel.links) + kernel.surplus
        for cover in all_covers(kernel.links)[::7]:
            lifted = kernel.lift(cover)
            assert is_cover(links, lifted)
            assert lifted.sum() == cover.sum() + kernel.surplus
    assert reduced > 20  # each rule has something to do


@pytest.mark.parametrize("seed", range(20))
def test_every_state_on_the_way_is_sound(seed: int) -> None:
    links = random_links(seed, n=13, density=0.2)
    for kernel in reductions(links):
        best = all_covers(kernel.links)[all_covers(kernel.links).sum(axis=1).argmin()]
        assert kernel.lift(best).sum() == smallest_cover(links)
        ends = kernel.links.ends
        keys = ends[:, 0].astype(int) * max(kernel.links.num_vertices, 1) + ends[:, 1]
        assert (ends[:, 0] < ends[:, 1]).all()
        assert (np.diff(keys) > 0).all()


@pytest.mark.parametrize("name", ["path", "star", "clique", "wheel", "parts", "odd cycle", "no edges"])
def test_nothing_is_left_of_simple_graphs(name: str) -> None:
    assert reduce(links_of(SPECIAL[name])).links.num_vertices == 0


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(6, 7), nx.hypercube_graph(6), nx.complete_bipartite_graph(20, 20)])
def test_bipartite_graphs_are_solved_by_the_linear_rule_alone(graph: nx.Graph) -> None:
    links = links_of(graph)
    kernel = reduce(links, linear)
    assert kernel.links.num_vertices == 0
    lifted = kernel.lift(np.zeros(0, bool))
    assert is_cover(links, lifted)
    assert lifted.sum() == links.num_vertices // 2


def test_trees_are_solved_by_low_degrees_alone() -> None:
    tree = nx.random_labeled_tree(500, seed=3)
    kernel = reduce(links_of(tree), low_degree)
    assert kernel.links.num_vertices == 0
    assert kernel.surplus == len(nx.max_weight_matching(tree, maxcardinality=True))  # by König's theorem


def test_low_degrees_are_left_alone_where_nothing_can_be_decided() -> None:
    assert low_degree(links_of(nx.cycle_graph(6))).decided == 0
    assert low_degree(links_of(nx.complete_graph(5))).decided == 0
    assert dominance(links_of(nx.complete_graph(5))).decided == 5


def test_folds_have_nothing_in_common() -> None:
    folds = fold(links_of(nx.cycle_graph(30))).folds
    assert len(folds) == 10
    assert len(np.unique(folds)) == 30


@pytest.mark.parametrize("graph", [nx.petersen_graph(), nx.random_regular_graph(4, 60, seed=0)])
def test_what_cannot_be_reduced_stays_as_it_is(graph: nx.Graph) -> None:
    links = links_of(graph)
    kernel = reduce(links)
    assert kernel.surplus == 0
    assert kernel.links is links


def test_little_effort_decides_less_but_nothing_wrong() -> None:
    links = links_of(nx.disjoint_union_all([nx.complete_graph(4)] * 3))
    decided = [np.count_nonzero(_dominated(links, links.degrees, 12, effort)) for effort in (0, 5, EFFORT)]
    assert decided[0] == 0 < decided[1] < decided[2] == 12


def test_little_progress_in_a_large_graph_is_not_repeated() -> None:
    # One triangle that hangs on a graph of degree four: each rule has one turn and finds one vertex in a thousand.
    graph = nx.random_regular_graph(4, 5000, seed=1)
    graph.add_edges_from([(5000, 0), (5000, 5001), (5001, 5002), (5000, 5002)])
    kernels = list(reductions(links_of(graph)))
    assert len(kernels) == len(RULES)
    assert kernels[-1].links.num_vertices <= 5000
