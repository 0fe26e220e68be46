"""The largest cut of small graphs, the same cut for the same seed, and an end at its limits and at Ctrl-C."""

import itertools
import os
import signal
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from small_cuts import KINDS, largest_cut, small_graph

from mafla.graphs import cut_rounds
from mafla.graphs import maxcut as maxcut_module
from mafla.graphs.cut_search import anneal
from mafla.graphs.graph import from_edges
from mafla.graphs.maxcut import CutPlan, maxcut


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_cut_of_small_graphs_is_found(kind: str, seed: int) -> None:
    graph = small_graph(kind, seed, n=13)
    found = maxcut(graph, None, seed, rounds=4)
    assert found.value == graph.cut_value(found.assignment)
    assert found.value == pytest.approx(largest_cut(graph), rel=1e-12)
    assert found.bound is not None
    assert found.bound >= found.value
    assert found.assignment.dtype == np.int8
    assert set(found.assignment) <= {-1, 1}


@pytest.mark.parametrize(("alpha", "isotropic", "moves"), [(1.5, False, 0), (1.5, True, 0), (2.0, False, 50)], ids=str)
def test_it_is_found_by_other_plans_too(alpha: float, isotropic: bool, moves: int) -> None:
    graph = small_graph("whole", 9, n=13)
    plan = CutPlan(alpha=alpha, isotropic=isotropic, moves=moves, steps=50, sweeps=0)
    assert maxcut(graph, None, rounds=8, plan=plan).value == largest_cut(graph)


@pytest.mark.parametrize(
    ("graph", "best"),
    [
        (nx.empty_graph(1), 0),
        (nx.empty_graph(5), 0),
        (nx.grid_2d_graph(30, 40), 30 * 39 + 29 * 40),
        (nx.complete_bipartite_graph(20, 30), 600),
        (nx.disjoint_union(nx.path_graph(9), nx.star_graph(4)), 12),
        (-nx.to_numpy_array(nx.complete_graph(6)), 0),
    ],
)
def test_balanced_graphs_are_solved_at_once(graph: Any, best: float) -> None:
    found = maxcut(graph, 1000.0)
    assert (found.value, found.bound, found.optimal) == (best, best, True)
    assert len(found.history) == 1


def test_complete_graphs_are_solved_and_proved() -> None:
    found = maxcut(nx.complete_graph(21), 1000.0)
    assert found.optimal
    assert found.value == 110


def test_components_and_isolated_vertices_do_not_matter() -> None:
    graph = nx.disjoint_union_all([nx.complete_graph(5), nx.empty_graph(3), nx.cycle_graph(7), nx.path_graph(2)])
    assert maxcut(graph, None, rounds=2).value == 6 + 6 + 1


def test_sources_of_all_kinds_give_the_same_cut() -> None:
    graph = small_graph("whole", 3)
    matrix = np.zeros((11, 11))
    matrix[tuple(graph.edges.T)] = graph.weights
    matrix += matrix.T
    values = {maxcut(source, None, rounds=1).value for source in (graph, matrix, sparse.csr_array(matrix))}
    assert len(values) == 1


def test_a_seed_and_a_number_of_rounds_give_the_same_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.gnp_random_graph(120, 0.1, seed=4)
    plan = CutPlan(steps=40, sweeps=40, moves=40)
    first = maxcut(graph, None, 7, rounds=6, plan=plan)
    monkeypatch.setattr(cut_rounds, "SLICE_WORK", 120 * 40)  # other slices of dynamics and annealing, one of moves
    second, other = (maxcut(graph, None, seed, rounds=6, plan=plan) for seed in (7, 8))
    assert first.assignment.tolist() == second.assignment.tolist()
    assert first.history[:, 1].tolist() == second.history[:, 1].tolist()
    assert first.assignment.tolist() != other.assignment.tolist()


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e150])
def test_the_scale_of_the_weights_does_not_matter(scale: float) -> None:
    graph = small_graph("normal", 6, n=13)
    scaled = from_edges(13, graph.edges, scale * graph.weights)
    assert maxcut(scaled, None, rounds=3).value == pytest.approx(scale * largest_cut(graph), rel=1e-12)


def test_ctrl_c_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = itertools.count()

    def anneal_and_press(*args: Any) -> None:
        anneal(*args)
        if next(slices) == 20:
            os.kill(os.getpid(), signal.SIGINT)

    graph = nx.gnp_random_graph(200, 0.1, seed=1)
    maxcut(graph, None, rounds=1)  # compiled before the key is pressed
    monkeypatch.setattr(cut_rounds, "anneal", anneal_and_press)
    found = maxcut(graph, 1000.0)
    assert found.interrupted
    assert found.value == from_edges(200, list(graph.edges)).cut_value(found.assignment) > 1200
    assert next(slices) == 21  # and no slice more


def test_the_time_limit_holds_on_a_clock_that_ticks_at_each_look() -> None:
    graph = nx.gnp_random_graph(200, 0.1, seed=1)
    maxcut(graph, None, rounds=1)
    ticks = itertools.count()
    found = maxcut(graph, 5.0, clock=lambda: 0.01 * next(ticks))
    assert not found.interrupted
    assert 5.0 <= found.seconds < 5.2


@pytest.mark.parametrize(("limit", "is_bounded"), [(0.3, False), (1000.0, True)])
def test_the_bound_comes_after_a_first_cut_and_only_if_there_is_time(
    limit: float, is_bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, asked = nx.gnm_random_graph(1000, 10_000, seed=0), []
    maxcut(graph, None, rounds=1)

    def bound_and_press(given: Any) -> float:
        asked.append(given)
        os.kill(os.getpid(), signal.SIGINT)
        return float(given.num_edges)

    monkeypatch.setattr(maxcut_module, "spectral_bound", bound_and_press)
    found = maxcut(graph, limit)
    assert found.value > 6000
    assert len(asked) == found.interrupted == is_bounded
    assert found.bound == 10_000


@pytest.mark.slow
def test_the_time_limit_holds_for_a_million_edges() -> None:
    """By the processor's clock, so that other programs do not matter."""
    rng = np.random.default_rng(0)
    graph = from_edges(100_000, rng.integers(0, 100_000, (1_000_000, 2)))
    maxcut(nx.complete_graph(3), None, rounds=1)
    found = maxcut(graph, 6.0, clock=time.process_time)
    assert found.seconds < 6.6
    assert found.value > 0.66 * graph.num_edges  # more than local optima near random cuts have


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": nx.empty_graph(0)}, "num_vertices must be"),
        ({"graph": 3}, "graph must be"),
        ({"time_limit": 0}, "time_limit must be a positive"),
        ({"time_limit": None}, "time_limit or rounds must be given"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5}, "seed must be a whole number of at least 0, got 0.5"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        maxcut(**{"graph": nx.path_graph(3), **arguments})


def test_plans_are_of_the_types_that_are_compiled() -> None:
    plan = CutPlan(alpha=2, steps=np.int64(3))  # type: ignore[arg-type]
    assert (type(plan.alpha), type(plan.steps)) == (float, int)
    with pytest.raises(ValueError, match=r"alpha must be a number in \(1, 2\], got '1.5'"):
        CutPlan(alpha="1.5")  # type: ignore[arg-type]
