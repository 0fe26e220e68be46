"""The smallest cover of small graphs, the same cover for the same seed, and an end at its limits and at Ctrl-C."""

import itertools
import os
import signal
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from small_covers import is_cover, is_minimal, links_of, many_links, smallest_cover

from mafla.graphs import cover_rounds
from mafla.graphs import vertex_cover as vertex_cover_module
from mafla.graphs.cover_search import run_search
from mafla.graphs.graph import from_edges
from mafla.graphs.vertex_cover import CoverPlan, vertex_cover

HARD = nx.random_regular_graph(5, 200, seed=3)  # no rule reduces it, and the bound is far below its covers


@pytest.mark.parametrize("reductions", [True, False])
def test_the_smallest_cover_of_small_graphs_is_found(reductions: bool) -> None:
    plan = CoverPlan(reductions=reductions, sweeps=50, exchanges=1000)
    for seed, links in enumerate(many_links()):
        found = vertex_cover(from_edges(links.num_vertices, links.ends), None, seed, rounds=1, plan=plan)
        assert found.value == found.assignment.sum() == smallest_cover(links)
        assert found.bound is not None
        assert found.bound <= found.value
        assert found.assignment.dtype == np.bool_
        assert is_cover(links, found.assignment)
        assert is_minimal(links, found.assignment)


@pytest.mark.parametrize(
    "plan",
    [CoverPlan(sweeps=0), CoverPlan(sweeps=5000, exchanges=0), CoverPlan(alpha=1.5, step_size=1.0, temperature=0.2)],
    ids=["no dynamics", "no local search", "heavy tails"],
)
def test_other_plans_give_covers_as_well(plan: CoverPlan) -> None:
    found = vertex_cover(nx.gnm_random_graph(64, 160, seed=0), None, rounds=3, plan=plan)
    assert found.value == 35


@pytest.mark.parametrize(
    ("graph", "size"),
    [
        (nx.barabasi_albert_graph(1024, 2, seed=0), 447),
        (nx.grid_2d_graph(40, 50), 1000),
        (nx.complete_graph(30), 29),
        (nx.cycle_graph(101), 51),
        (nx.disjoint_union_all([nx.cycle_graph(5)] * 9), 27),
        (nx.empty_graph(1), 0),
        (nx.empty_graph(5), 0),
    ],
)
def test_graphs_that_reductions_or_bounds_solve_are_solved_at_once(graph: nx.Graph, size: int) -> None:
    found = vertex_cover(graph, 1000.0)
    assert (found.value, found.bound, found.optimal) == (size, size, True)


def test_the_search_ends_when_it_reaches_the_bound() -> None:
    # Cliques with one vertex of each such that these have no edges between them: they are all that can be left out.
    rng, k, d = np.random.default_rng(0), 18, 10
    hidden = rng.integers(0, d, k)
    graph = nx.disjoint_union_all([nx.complete_graph(d)] * k)
    for one, other in itertools.combinations(range(k), 2):
        for a, b in rng.integers(0, d, (25, 2)):
            if (a, b) != (hidden[one], hidden[other]):
                graph.add_edge(one * d + a, other * d + b)
    found = vertex_cover(graph, 1000.0)
    assert found.value == k * (d - 1)
    assert found.optimal
    assert len(found.history) > 1


@pytest.mark.parametrize(("n", "size"), [(256, 143), (512, 289), (1024, 572)])
def test_the_best_known_covers_of_random_graphs_are_found(n: int, size: int) -> None:
    assert vertex_cover(nx.gnm_random_graph(n, int(2.5 * n), seed=0), None, rounds=2).value == size


def test_sources_of_all_kinds_give_the_same_cover() -> None:
    matrix = nx.to_numpy_array(nx.petersen_graph())
    values = {vertex_cover(graph, None, rounds=1).value for graph in (matrix, sparse.csr_array(matrix))}
    assert values == {6.0}


def test_a_seed_and_a_number_of_rounds_give_the_same_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = CoverPlan(sweeps=40, exchanges=400)
    first = vertex_cover(HARD, None, 7, rounds=3, plan=plan)
    monkeypatch.setattr(cover_rounds, "SLICE_WORK", 10_000)
    second, other = (vertex_cover(HARD, None, seed, rounds=3, plan=plan) for seed in (7, 8))
    assert first.assignment.tolist() == second.assignment.tolist()
    assert first.assignment.tolist() != other.assignment.tolist()


def test_ctrl_c_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = itertools.count()

    def search_and_press(*args: Any) -> None:
        run_search(*args)
        if next(slices) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    vertex_cover(HARD, None, rounds=1)  # compiled before the key is pressed
    monkeypatch.setattr(cover_rounds, "run_search", search_and_press)
    monkeypatch.setattr(cover_rounds, "SLICE_WORK", 10_000)
    found = vertex_cover(HARD, 1000.0)
    assert found.interrupted
    assert is_cover(links_of(HARD), found.assignment)
    assert found.value == found.assignment.sum() < 130
    assert next(slices) == 6  # and no slice more


def test_ctrl_c_ends_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(cover_rounds, "run_search", press)
    with pytest.raises(KeyboardInterrupt):
        vertex_cover_module._compile.__wrapped__()


def test_the_time_limit_holds_on_a_clock_that_ticks_at_each_look() -> None:
    vertex_cover(HARD, None, rounds=1)
    ticks = itertools.count()
    found = vertex_cover(HARD, 1.0, clock=lambda: 0.01 * next(ticks))
    assert not found.interrupted
    assert 1.0 <= found.seconds < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("limit", [3.0, 8.0])
def test_the_time_limit_holds_for_a_million_edges(limit: float) -> None:
    """By the processor's clock, so that other programs do not matter."""
    graph = from_edges(100_000, np.random.default_rng(0).integers(0, 100_000, (1_000_000, 2)))
    vertex_cover(nx.petersen_graph(), None, rounds=1)
    found = vertex_cover(graph, limit, clock=time.process_time)
    assert found.seconds < 1.1 * limit
    assert graph.covers(found.assignment)
    assert found.value < 79_700  # the greedy cover has 81 618, exchanges from there end at 79 560


def test_weights_are_ignored_and_that_is_said() -> None:
    weighted = from_edges(3, [(0, 1), (1, 2), (0, 0)], [5.0, 0.5, 1.0])
    found = vertex_cover(weighted)
    assert found.assignment.tolist() == [False, True, False]
    assert found.notes == ("1 self-loop was dropped", "weights do not matter to a cover and were ignored")
    assert vertex_cover(nx.path_graph(3)).notes == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": nx.empty_graph(0)}, "num_vertices must be"),
        ({"graph": 3}, "graph must be"),
        ({"graph": -np.ones((3, 3))}, r"graph must have no negative weights .* got -1 at the edge 0 – 1 \(3 such"),
        ({"time_limit": 0}, "time_limit must be a positive"),
        ({"time_limit": None}, "time_limit or rounds must be given"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5}, "seed must be a whole number of at least 0, got 0.5"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vertex_cover(**{"graph": nx.path_graph(3), **arguments})


def test_plans_are_of_the_types_that_are_compiled() -> None:
    plan = CoverPlan(alpha=2, penalty=3, sweeps=np.int64(3))  # type: ignore[arg-type]
    assert (type(plan.alpha), type(plan.penalty), type(plan.sweeps)) == (float, float, int)
    with pytest.raises(ValueError, match="penalty must be a positive finite number, got '2'"):
        CoverPlan(penalty="2")  # type: ignore[arg-type]
