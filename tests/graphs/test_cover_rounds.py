"""Rounds: each part can be left out, has its share of the time, and what is offered are covers of the whole."""

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from small_covers import is_cover, is_minimal, links_of

from mafla.graphs import cover_rounds
from mafla.graphs.cover_dynamics import move
from mafla.graphs.cover_rounds import CoverPlan, CoverSearch, Slice
from mafla.graphs.cover_search import begin_search, run_search
from mafla.graphs.graph import as_graph
from mafla.graphs.watch import Watch

HARD = nx.random_regular_graph(5, 100, seed=3)  # no rule reduces it, and the bound is far below its covers


def run(watch: Watch, plan: CoverPlan, graph: nx.Graph = HARD) -> list[Slice]:
    parts = []
    with watch:
        for part in CoverSearch(as_graph(graph), watch, plan, np.random.default_rng(0)).slices():
            parts.append(part)
            if not watch.go_on(part.mean, part.temperature, part.ends_round):
                break
    return parts


class Log:
    """Note how much work of each kind is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sweeps: list[int] = []
        self.exchanges: list[int] = []
        monkeypatch.setattr(cover_rounds, "move", self.move)
        monkeypatch.setattr(cover_rounds, "run_search", self.search)

    def move(self, links: Any, particle: Any, temperatures: Any, *rest: Any) -> None:
        self.sweeps.append(len(temperatures))
        move(links, particle, temperatures, *rest)

    def search(self, links: Any, search: Any, steps: int, rng: Any) -> None:
        self.exchanges.append(steps)
        run_search(links, search, steps, rng)


def test_rounds_double(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    parts = run(Watch("cover", None, 3, sign=-1), CoverPlan(sweeps=10, exchanges=50))
    assert (log.sweeps, log.exchanges) == ([10, 20, 40], [50, 100, 200])
    assert sum(part.ends_round for part in parts) == 3


@pytest.mark.parametrize(
    ("plan", "sweeps", "exchanges"),
    [
        (CoverPlan(sweeps=0, exchanges=50), 0, 150),
        (CoverPlan(sweeps=10, exchanges=0), 30, 0),
        (CoverPlan(sweeps=0, exchanges=0), 0, 0),
    ],
    ids=["no dynamics", "no local search", "neither"],
)
def test_parts_can_be_left_out(plan: CoverPlan, sweeps: int, exchanges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log, watch = Log(monkeypatch), Watch("cover", None, 2, sign=-1)
    run(watch, plan)
    assert (sum(log.sweeps), sum(log.exchanges)) == (sweeps, exchanges)
    assert watch.assignment is not None
    assert is_cover(links_of(HARD), watch.assignment)
    assert is_minimal(links_of(HARD), watch.assignment)


@pytest.mark.parametrize("reductions", [True, False])
def test_reductions_can_be_left_out(reductions: bool) -> None:
    watch = Watch("cover", None, 1, sign=-1)
    parts = run(watch, CoverPlan(reductions=reductions, sweeps=1, exchanges=1), nx.path_graph(50))
    assert watch.value == 25
    assert (len(parts) > 1) == reductions


def test_slices_are_short_and_temperatures_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    monkeypatch.setattr(cover_rounds, "SLICE_WORK", 6000)
    parts = run(Watch("cover", None, 1, sign=-1), CoverPlan(sweeps=100, exchanges=100, temperature=2.0))
    assert log.sweeps == [40, 40, 20]  # 4 * 6000 over 100 vertices and 500 ends of edges
    assert log.exchanges == [48, 48, 4]  # 6000 over 100 + 4 * 5 + 3
    assert [part.temperature for part in parts if part.temperature] == pytest.approx([2 * 0.6, 2 * 0.2])


def test_dynamics_that_are_too_slow_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    log, ticks = Log(monkeypatch), itertools.count()
    monkeypatch.setattr(cover_rounds, "SLICE_WORK", 150)  # a sweep for each slice, some ticks of the clock
    watch = Watch("cover", 5.0, None, sign=-1, clock=lambda: 0.01 * next(ticks))
    parts = run(watch, CoverPlan(sweeps=1000, exchanges=10**6))
    hot = [part.temperature for part in parts if part.temperature]
    assert 10 < len(hot) < 200
    assert hot[-1] < 0.05  # it has cooled down nevertheless
    assert log.exchanges
    assert 5.0 <= watch.seconds < 5.2


def test_a_better_particle_is_where_exchanges_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def note(links: Any, cover: Any) -> Any:
        begun.append(int(cover.sum()))
        return begin_search(links, cover)

    monkeypatch.setattr(cover_rounds, "begin_search", note)
    run(Watch("cover", None, 4, sign=-1), CoverPlan(sweeps=300, exchanges=1), nx.random_regular_graph(5, 400, seed=3))
    assert len(begun) > 1
    assert begun == sorted(set(begun), reverse=True)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("alpha", 1.0, "alpha must be"),
        ("alpha", 2.5, "alpha must be"),
        ("penalty", 1.0, "penalty must be above 1"),
        ("penalty", -1.0, "penalty must be a positive"),
        ("temperature", 0.0, "temperature must be a positive"),
        ("step_size", float("nan"), "step_size must be a positive"),
        ("sweeps", -1, "sweeps must be a whole number of at least 0"),
        ("exchanges", 0.5, "exchanges must be a whole number of at least 0"),
    ],
)
def test_plans_are_checked(field: str, value: float, message: str) -> None:
    arguments: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=message):
        CoverPlan(**arguments)
