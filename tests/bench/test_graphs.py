"""The comparison of solvers: goals that can be missed, instances that are what they say, and a picture."""

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from mafla import plots
from mafla.bench import gathering, graphs
from mafla.bench.graph_instances import Instance, instances
from mafla.graphs.families import family
from mafla.graphs.graph import Graph

SMALL = [
    Instance("one", "maxcut", lambda: family("gnp 0.2", 14, 0), 0.2, 20.0, 1.0, 0.8),
    Instance("two", "vertex cover", lambda: family("gnm 2.5", 14, 0), 0.2, 5.0, 3.0, 0.0),
]


class AtOnce(Executor):
    """Works in the main thread, where peers can set their timers."""

    def __init__(self, _workers: int) -> None: ...

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "instances", lambda: SMALL)
        patch.setattr(gathering, "processes", AtOnce)
        found = graphs.run(0, 2, report=lambda line, _: lines.append(line))
    assert sorted(line.split(":")[1] for line in lines) == [" one", " two"]
    return found


def test_all_solvers_get_every_graph(rows: list[dict[str, Any]]) -> None:
    cut, cover = ([row["solver"] for row in rows if row["graph"] == name] for name in ("one", "two"))
    assert cut == 2 * ["mafla", "dwave annealing", "dwave tabu", "low rank + 1-flip", "networkx"]
    assert cover == ["mafla", "networkx", "HiGHS", "mafla"]  # the others would find the same again
    assert len({row["value"] for row in rows if row["graph"] == "one"}) == 1  # which is the optimum
    json.dumps(rows, allow_nan=False)


def test_what_is_known_is_not_run_again(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "instances", lambda: SMALL)
    monkeypatch.setattr(gathering, "processes", AtOnce)
    lines: list[str] = []
    half = [row for row in rows if row["seed"] == 0 or row["solver"] == "networkx"]
    again = graphs.run(0, 2, known=half, report=lambda line, _: lines.append(line))
    names = ("graph", "seed", "solver", "value")
    assert [[row[name] for name in names] for row in again] == [[row[name] for name in names] for row in rows]
    cut, cover = sorted(lines)
    assert "mafla" in cut
    assert "mafla" in cover
    assert not any(done in "".join(lines) for done in ("networkx", "HiGHS"))
    assert graphs.run(0, 2, known=again) == again


def test_a_failing_solver_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_graph: Graph, _seconds: float, _seed: int) -> Any:
        raise RuntimeError("as it was told")

    monkeypatch.setattr(graphs, "_solvers", lambda _problem: {"networkx": fail})
    monkeypatch.setattr(gathering, "processes", AtOnce)
    with pytest.raises(RuntimeError, match="as it was told"):
        graphs.run(seeds=1, only="G1", solvers="networkx")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": "G99"}, "only must be parts of the names of graphs or problems, such as G14"),
        ({"solvers": "Gurobi"}, "solvers must be parts of the names mafla, dwave annealing, .* got 'Gurobi'"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_choices_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graphs.run(**options)


def test_goals_are_judged_by_the_share_of_seeds() -> None:
    row = {"problem": "maxcut", "graph": "G", "solver": "mafla", "goal": 10.0, "known": 10.0, "limit": 1.0}
    nearly = [{**row, "seed": seed, "share": 0.8, "value": 10.0 - (seed > 2)} for seed in range(5)]
    reached = [{**row, "seed": seed, "share": 0.8, "value": 10.0 - (seed > 3)} for seed in range(5)]
    once = [{**row, "seed": seed, "share": 0.0, "value": 10.0 - (seed > 0)} for seed in range(5)]
    never = [{**row, "seed": seed, "share": 0.0, "value": 9.0} for seed in range(5)]
    assert [graphs._is_reached(own) for own in (nearly, reached, once, never)] == [False, True, True, False]
    assert graphs.summary(never) == "Goals reached on 0 of 1 graphs. Missed: G."
    peer = [{**row, "solver": "networkx", "graph": "H", "seed": 0, "share": 0.0, "value": 10.0}]
    assert graphs.summary(never + peer) == "Goals reached on 0 of 1 graphs. Missed: G."  # goals are ours alone
    cover = [{**row, "problem": "vertex cover", "seed": 0, "share": 0.0, "value": value} for value in (9.0,)]
    assert graphs._is_reached(cover)


def test_the_table_and_the_picture_show_them(rows: list[dict[str, Any]]) -> None:
    assert [(table.title, table.row_count) for table in graphs.describe(rows).renderables] == [
        ("maxcut", 1),
        ("vertex cover", 1),
    ]
    assert plots.to_bytes(graphs.picture(rows), "png")[1:4] == b"PNG"


def test_files_of_the_package_are_the_graphs_they_are_named_after() -> None:
    sizes = {each.name: each.load() for each in instances() if not each.name.startswith(("BA", "gn"))}
    found = {name: (graph.num_vertices, graph.num_edges) for name, graph in sizes.items()}
    assert found == {
        "G1": (800, 19176),
        "G14": (800, 4694),
        "G22": (2000, 19990),
        "G32": (2000, 4000),
        "G43": (1000, 9990),
        "G48": (3000, 6000),
        "G55": (5000, 12498),
        "vc-exact_031.gr": (200, 813),
        "frb30-15-1.txt": (450, 17827),
        "C125.9.clq": (125, 787),
        "vc-exact_001.gr": (6160, 40207),
    }


def test_random_graphs_have_best_known_values_that_some_cut_could_have() -> None:
    for each in instances():
        if "N=64" in each.name:
            graph = each.load()
            most = graph.num_edges if each.problem == "maxcut" else graph.num_vertices
            assert 0 < each.known < most
