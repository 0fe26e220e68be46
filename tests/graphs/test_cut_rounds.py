"""The search cools in the time that there is, keeps few cuts, and each of its parts can be switched off."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest

from mafla.graphs import cut_rounds
from mafla.graphs.cut_rounds import COLD, CutPlan, CutSearch
from mafla.graphs.graph import Graph, as_graph
from mafla.graphs.watch import Watch

QUICK = CutPlan(steps=20, sweeps=30, children=2)


def some_graph(n: int = 60) -> Graph:
    return as_graph(nx.gnp_random_graph(n, 0.2, seed=1))


def search_for(rounds: int, plan: CutPlan, graph: Graph, seed: int = 0) -> tuple[CutSearch, Watch]:
    with Watch("maxcut", None, rounds) as watch:
        search = CutSearch(graph, watch, plan, np.random.default_rng(seed))
        for part in search.slices():
            if not watch.go_on(search.mean, part.temperature, part.ends_round):
                break
    return search, watch


@pytest.mark.parametrize("rounds", [1, 2, 5, 8, 11])
def test_cuts_are_kept_like_the_digits_of_a_binary_number(rounds: int) -> None:
    search, _ = search_for(rounds, QUICK, some_graph())
    depths = [depth for depth in range(5) if rounds >> depth & 1]
    assert [cut.depth for cut in search.kept] == depths[::-1]


def test_values_are_those_of_their_cuts_and_none_is_better_than_the_best() -> None:
    graph = some_graph()
    search, watch = search_for(7, QUICK, graph)
    assert [cut.value for cut in search.kept] == [graph.cut_value(cut.signs) for cut in search.kept]
    assert search.mean == np.mean([cut.value for cut in search.kept])
    assert watch.assignment is not None
    assert watch.value == graph.cut_value(watch.assignment) >= max(cut.value for cut in search.kept)


def test_merging_without_end_pays() -> None:
    graph = as_graph(nx.random_regular_graph(3, 400, seed=2))
    alone, merged = (
        np.mean(
            [search_for(16, CutPlan(steps=10, sweeps=10, children=children), graph, seed)[1].value for seed in range(5)]
        )
        for children in (0, 3)
    )
    assert merged > alone


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        (CutPlan(steps=0, sweeps=0, moves=0, children=0), set()),
        (CutPlan(steps=3, sweeps=0, moves=0, children=0), {"langevin"}),
        (CutPlan(steps=0, sweeps=3, moves=0, children=0), {"anneal"}),
        (CutPlan(steps=0, sweeps=0, moves=3, children=0), {"tabu_search"}),
        (CutPlan(steps=0, sweeps=0, moves=0, children=2), {"merge"}),
        (CutPlan(steps=3, sweeps=3, moves=3, children=1), {"langevin", "anneal", "tabu_search", "merge"}),
    ],
)
def test_each_part_can_be_switched_off(plan: CutPlan, calls: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()

    def noted(name: str, function: Callable[..., Any], *args: Any) -> Any:
        called.add(name)
        return function(*args)

    for name in ("langevin", "anneal", "tabu_search", "merge"):
        monkeypatch.setattr(cut_rounds, name, partial(noted, name, getattr(cut_rounds, name)))
    _, watch = search_for(2, plan, some_graph())
    assert called == calls
    assert watch.value > 0


def test_annealing_cools_within_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that ticks at each look, with far more sweeps than fit."""
    ticks = itertools.count()
    monkeypatch.setattr(cut_rounds, "SLICE_WORK", 1)
    temperatures = []
    with Watch("maxcut", 10.0, None, clock=lambda: 0.01 * next(ticks)) as watch:
        search = CutSearch(some_graph(), watch, CutPlan(steps=0, sweeps=10**6), np.random.default_rng(0))
        for part in search.slices():
            if part.temperature:
                temperatures.append(part.temperature)
            if not watch.go_on(search.mean, part.temperature, part.ends_round):
                break
    assert (np.diff(temperatures) < 0).all()
    assert temperatures[-1] == pytest.approx(COLD, rel=0.1)
    assert watch.seconds < 10.2


def test_a_search_that_is_left_half_way_is_brought_to_a_local_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_rounds, "SLICE_WORK", 1)
    graph = some_graph()
    with Watch("maxcut", None, 1) as watch:
        search = CutSearch(graph, watch, CutPlan(steps=0, sweeps=100), np.random.default_rng(0))
        for part in search.slices():
            if part.temperature:  # the first, hot sweep
                break
        hot = graph.cut_value(search.signs)
        search.finish()
    assert search.value == graph.cut_value(search.signs) > hot
    assert watch.value >= search.value


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 1.0), ("alpha", 2.1), ("steps", -1), ("sweeps", 0.5), ("moves", -3), ("children", "2")],
)
def test_plans_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*, got"):
        CutPlan(**{name: value})  # type: ignore[arg-type]
