"""The local search: what it keeps up to date against what it stands for, and where it gets."""

import networkx as nx
import numpy as np
import pytest
from small_covers import is_cover, is_minimal, links_of, many_links, random_links, smallest_cover

from mafla.graphs.cover_links import Links, link
from mafla.graphs.cover_search import (
    BARE,
    BLOCK,
    INSIDE,
    LAST,
    NOBODY,
    STEPS,
    UNKNOWN,
    WEIGHT,
    Search,
    _forget,
    _next_to_go,
    begin_search,
    run_search,
)


def check(links: Links, search: Search) -> None:
    """Compute all anew from the set and the weights."""
    inside, weight, counts = search.inside, search.weight, search.counts
    u, v = links.ends.T
    assert counts[INSIDE] == inside.sum()
    assert counts[WEIGHT] == weight.sum()
    assert weight.min() >= 1
    bare = np.flatnonzero(~inside[u] & ~inside[v])
    assert sorted(search.bare[: counts[BARE]].tolist()) == bare.tolist()
    assert (search.bare[search.bare_at[bare]] == bare).all()
    for vertex in range(links.num_vertices):
        others = np.where(u == vertex, v, u)
        met = (u == vertex) | (v == vertex)
        assert search.score[vertex] == weight[met & ~inside[others]].sum()
    assert (search.free[u] | search.free[v])[bare].all()
    check_leaders(search)
    assert is_cover(links, search.best)
    assert is_minimal(links, search.best)
    assert search.best_size == search.best.sum() >= search.size


def check_leaders(search: Search) -> None:
    for block, leader in enumerate(search.leaders):
        if leader == UNKNOWN:
            continue
        here = np.arange(block * BLOCK, min((block + 1) * BLOCK, len(search.score)))
        can_go = here[search.inside[here] & (here != search.counts[LAST])]
        if leader == NOBODY:
            assert len(can_go) == 0
        else:
            order = np.lexsort((search.moved[can_go], search.score[can_go]))
            first = can_go[order[0]]
            assert (search.score[leader], search.moved[leader]) == (search.score[first], search.moved[first])
            assert search.least[block] == search.score[leader]


@pytest.mark.parametrize("seed", range(4))
def test_all_that_is_kept_agrees_with_the_set_and_the_weights(seed: int) -> None:
    links, rng = random_links(seed, n=150, density=0.05), np.random.default_rng(seed)
    search = begin_search(links, np.ones(150, bool))
    check(links, search)
    for steps in (1, 1, 1, 10, 100, 1000):
        run_search(links, search, steps, rng)
        check(links, search)
    assert search.counts[STEPS] == 1113


def test_it_agrees_on_the_smallest_graphs_too() -> None:
    rng = np.random.default_rng(0)
    for links in many_links():
        if links.num_edges:
            search = begin_search(links, np.ones(links.num_vertices, bool))
            for _ in range(30):
                run_search(links, search, 1, rng)
                check(links, search)


def test_weights_grow_on_bare_edges_and_are_cut_at_times() -> None:
    links, rng = random_links(3, n=20), np.random.default_rng(0)
    search = begin_search(links, np.ones(20, bool))
    totals = []
    for _ in range(4000):
        before = search.weight.copy()
        run_search(links, search, 1, rng)
        totals.append(search.counts[WEIGHT])
        if totals[-1] > before.sum():
            assert set(search.weight - before) <= {0, 1}
        assert totals[-1] <= 0.5 * 20 * links.num_edges
    cuts = np.flatnonzero(np.diff(totals) < 0)
    assert len(cuts) > 0
    assert totals[cuts[0] + 1] < 0.4 * totals[cuts[0]]
    check(links, search)


def test_after_weights_are_cut_all_agrees_again() -> None:
    links, rng = random_links(1, n=150, density=0.05), np.random.default_rng(0)
    search = begin_search(links, np.ones(150, bool))
    run_search(links, search, 3000, rng)
    _next_to_go(search)  # so that all leaders are known, by scores that the cut changes
    before = search.weight.copy()
    _forget(links, search)
    assert (search.weight == np.maximum(1, (0.3 * before).astype(int))).all()
    check(links, search)
    can_go = search.inside & (np.arange(150) != search.counts[LAST])
    assert search.score[_next_to_go(search)] == search.score[can_go].min()
    check(links, search)


def test_who_came_in_stays_for_a_step_and_who_went_out_waits_for_a_neighbour() -> None:
    links, rng = random_links(5, n=40, density=0.15), np.random.default_rng(1)
    neighbours = [set(links.targets[links.offsets[v] : links.offsets[v + 1]].tolist()) for v in range(40)]
    search = begin_search(links, np.ones(40, bool))
    run_search(links, search, 500, rng)
    barred: set[int] = set()  # went out, and no neighbour has moved since
    for _ in range(1000):
        before, came_in, best = search.inside.copy(), int(search.counts[LAST]), search.best_size
        run_search(links, search, 1, rng)
        assert search.best_size == best == search.size + 1  # better, more than an exchange would have to be followed
        out, entered = np.flatnonzero(before & ~search.inside), np.flatnonzero(~before & search.inside)
        assert len(out) == len(entered) == 1
        assert came_in not in out
        barred = (barred - neighbours[out[0]]) | {int(out[0])}
        assert entered[0] not in barred
        barred -= neighbours[entered[0]]


def test_division_into_calls_makes_no_difference() -> None:
    links = random_links(7, n=80, density=0.08)
    results = []
    for portions in ([600], [1] * 100 + [500], [300, 300]):
        search, rng = begin_search(links, np.ones(80, bool)), np.random.default_rng(4)
        for steps in portions:
            run_search(links, search, steps, rng)
        results.append(np.concatenate([search.best, search.inside, search.score, search.weight]).tolist())
    assert results[0] == results[1] == results[2]


def test_the_smallest_cover_of_small_graphs_is_found() -> None:
    rng = np.random.default_rng(2)
    for links in many_links():
        if links.num_edges:
            search = begin_search(links, np.ones(links.num_vertices, bool))
            run_search(links, search, 2000, rng)
            assert search.best_size == smallest_cover(links)


def test_it_starts_from_the_cover_that_is_given() -> None:
    links = links_of(nx.cycle_graph(6))
    cover = np.array([True, False] * 3)
    search = begin_search(links, cover)
    assert search.best.tolist() == cover.tolist()
    assert search.size == 2
    check(links, search)


@pytest.mark.parametrize(
    ("edges", "cover", "message"),
    [([(0, 1)], [False, False], "cover must have an end of each edge"), ([], [True, True], "links must have at least")],
)
def test_what_cannot_be_searched_is_refused(edges: list[tuple[int, int]], cover: list[bool], message: str) -> None:
    links = link(2, np.array(edges))
    with pytest.raises(ValueError, match=message):
        begin_search(links, np.array(cover))
