"""Flips keep gains and cuts in step, descent ends where no flip helps, and tabu search never loses."""

import itertools

import numpy as np
import pytest
from small_cuts import KINDS, all_cuts, largest_cut, random_signs, small_graph

from mafla.graphs.cut_search import anneal, descend, flip_gains, tabu_search
from mafla.graphs.graph import Graph, from_edges

ONES = np.ones(11)
GRAPHS = [small_graph(kind, seed) for kind in KINDS for seed in range(4)]


def gains_by_values(graph: Graph, signs: np.ndarray) -> list[float]:
    flipped = signs * (1 - 2 * np.eye(len(signs), dtype=np.int8))
    return [graph.cut_value(row) - graph.cut_value(signs) for row in flipped]


@pytest.mark.parametrize("graph", GRAPHS)
def test_gains_are_differences_of_cuts(graph: Graph) -> None:
    signs = random_signs(graph, 1)
    assert flip_gains(graph.adjacency, signs) == pytest.approx(gains_by_values(graph, signs), abs=1e-12)


@pytest.mark.parametrize("graph", GRAPHS)
def test_gains_stay_in_step_with_signs(graph: Graph) -> None:
    rng, signs = np.random.default_rng(2), random_signs(graph, 2)
    gains, before = flip_gains(graph.adjacency, signs), signs.copy()
    anneal(graph.adjacency, ONES[: len(signs)], signs, gains, np.full(20, 3.0), rng)
    assert not np.array_equal(signs, before)
    assert gains == pytest.approx(gains_by_values(graph, signs), abs=1e-11)
    descend(graph.adjacency, signs, gains, 1)
    assert gains == pytest.approx(gains_by_values(graph, signs), abs=1e-11)
    tabu_search(graph.adjacency, signs, gains, 15, 2, rng)
    assert gains == pytest.approx(gains_by_values(graph, signs), abs=1e-12)


@pytest.mark.parametrize("graph", GRAPHS)
def test_descent_ends_in_a_local_optimum_that_is_no_worse(graph: Graph) -> None:
    signs = random_signs(graph, 3)
    start = graph.cut_value(signs)
    assert descend(graph.adjacency, signs, flip_gains(graph.adjacency, signs), 1000)
    assert max(gains_by_values(graph, signs)) <= 1e-12
    assert graph.cut_value(signs) >= start


def test_descent_says_when_its_passes_were_not_enough() -> None:
    path = from_edges(30, [(i, i + 1) for i in range(29)], np.arange(1.0, 30.0)).adjacency
    signs = np.ones(30, np.int8)
    gains = flip_gains(path, signs)
    assert not descend(path, signs, gains, 1)
    assert descend(path, signs, gains, 100)


def test_descent_ends_on_gains_of_rounding_size() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in one order of summation: flipping for it is no progress.
    graph = from_edges(4, [(0, 1), (0, 2), (0, 3)], [0.1, 0.2, -0.3])
    signs = np.ones(4, np.int8)
    signs[1:] = 1
    gains = flip_gains(graph.adjacency, signs)
    gains[1:] = -1.0
    assert gains[0] > 0
    assert descend(graph.adjacency, signs, gains, 1)
    assert signs.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["signs", "whole"])
def test_annealing_at_a_fixed_temperature_follows_gibbs_law(kind: str) -> None:
    """20 000 independent chains; an error of 4 % in the temperature would shift the mean by the tolerance."""
    graph, temperature, count = small_graph(kind, 5, n=6), 2.0, 20_000
    values = all_cuts(graph)
    law = np.exp((values - values.max()) / temperature)
    mean, second = (float(np.average(values**k, weights=law)) for k in (1, 2))
    rng, drawn = np.random.default_rng(6), []
    for _ in range(count):
        signs = rng.choice(np.array([-1, 1], np.int8), graph.num_vertices)
        gains = flip_gains(graph.adjacency, signs)
        anneal(graph.adjacency, np.full(6, 0.5), signs, gains, np.full(40, 0.5 * temperature), rng)
        drawn.append(graph.cut_value(signs))
    tolerance = 5.0 * np.sqrt((second - mean**2) / count)  # false alarms: one in two million
    assert np.mean(drawn) == pytest.approx(mean, abs=tolerance)


def test_a_cold_sweep_never_loses() -> None:
    for graph, seed in itertools.product(GRAPHS, range(5)):
        signs = random_signs(graph, seed)
        start = graph.cut_value(signs)
        gains = flip_gains(graph.adjacency, signs)
        anneal(graph.adjacency, ONES[: len(signs)], signs, gains, np.full(5, 1e-9), np.random.default_rng(seed))
        assert graph.cut_value(signs) >= start - 1e-12


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("moves", [0, 1, 40])
def test_tabu_search_returns_its_best_and_says_how_much_better_that_is(graph: Graph, moves: int) -> None:
    signs = random_signs(graph, 4)
    start = graph.cut_value(signs)
    record = tabu_search(graph.adjacency, signs, flip_gains(graph.adjacency, signs), moves, 3, np.random.default_rng(0))
    assert record >= 0
    assert graph.cut_value(signs) == pytest.approx(start + record, abs=1e-11)


@pytest.mark.parametrize("graph", GRAPHS)
def test_tabu_search_leaves_local_optima(graph: Graph) -> None:
    signs = random_signs(graph, 5)
    gains = flip_gains(graph.adjacency, signs)
    descend(graph.adjacency, signs, gains, 1000)
    tabu_search(graph.adjacency, signs, gains, 2000, 3, np.random.default_rng(1))
    assert graph.cut_value(signs) == pytest.approx(largest_cut(graph), abs=1e-11)


def test_tabu_search_goes_on_where_all_vertices_rest() -> None:
    graph = from_edges(2, [(0, 1)])
    signs = np.array([1, -1], np.int8)
    tabu_search(graph.adjacency, signs, flip_gains(graph.adjacency, signs), 50, 20, np.random.default_rng(0))
    assert graph.cut_value(signs) == 1
