"""Our solvers for cuts and covers against others: the same graphs, equal CPU seconds, one core each."""

import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np

from mafla import _check
from mafla.bench.gathering import Report, Row, gather
from mafla.bench.graph_instances import Instance, instances
from mafla.bench.graph_peers import COVER_PEERS, CUT_PEERS, DETERMINISTIC_PEERS, Found
from mafla.bench.selection import grouped, is_chosen
from mafla.executing import Cell
from mafla.graphs.families import family
from mafla.graphs.graph import Graph
from mafla.graphs.maxcut import maxcut
from mafla.graphs.vertex_cover import vertex_cover

__all__ = ["describe", "picture", "run", "summary"]

OURS = "mafla"
SOLVERS = list(dict.fromkeys((OURS, *CUT_PEERS, *COVER_PEERS)))
QUICK = ("BA, N=1024, seed 0", "gnp 0.2, N=256, seed 0", "G1", "G14", "G32", "gnm 2.5, N=256, seed 0", "frb30-15-1.txt")
QUICK_SHARE = 0.25  # of the seconds
PICTURED = ("G14", "G32", "G55")

Solver = Callable[[Graph, float, int], Found]


def run(
    seed: int = 0,
    seeds: int = 5,
    quick: bool = False,
    only: str = "",
    solvers: str = "",
    workers: int = 1,
    known: Iterable[Row] = (),
    report: Report = lambda _line, _rows: None,
) -> list[Row]:
    """Let every solver have every graph; a row is a graph, a solver and a seed.

    Args:
        seed: the first.
        seeds: how many; one if quick, and for peers that use no random numbers.
        quick: a few graphs, and a quarter of the time.
        only: parts of the names of graphs or problems to run, separated by ``|``; all by default.
        solvers: parts of the names of the solvers to compare, separated by ``|``; all by default.
        workers: how many graphs are solved at the same time, each on processors of its own.
        known: rows of earlier runs; they are not measured again.
        report: called after each graph, with a line about it and all rows so far.

    Returns:
        all rows, the known ones too.

    Example:
        >>> run(only="G99")
        Traceback (most recent call last):
        ...
        ValueError: only must be parts of the names of graphs or problems, such as G14|vertex cover, got 'G99'
    """
    first, count = _check.whole("seed", seed, 0), 1 if quick else _check.whole("seeds", seeds, 1)
    chosen = [each for each in instances() if is_chosen(f"{each.problem}: {each.name}", only)]
    if not chosen:
        raise ValueError(
            f"only must be parts of the names of graphs or problems, such as G14|vertex cover, got {only!r}"
        )
    if quick:
        chosen = [each._replace(seconds=QUICK_SHARE * each.seconds) for each in chosen if each.name in QUICK]
    names, workers, rows = _named(solvers), _check.whole("workers", workers, 1), list(known)
    parts: list[Cell] = [
        {"instance": each, "runs": runs}
        for each in chosen
        if (runs := _missing(each, names, range(first, first + count), rows))
    ]
    return gather(measure, parts, rows, workers, _place, _line, report)


def measure(part: Cell) -> list[Row]:
    """Return the rows of one graph: those of ``runs``, which are pairs of a seed and a solver."""
    from threadpoolctl import threadpool_limits

    instance: Instance = part["instance"]
    common = {"problem": instance.problem, "graph": instance.name, "limit": instance.seconds}
    common |= {"known": instance.known, "goal": instance.goal, "share": instance.share}
    solvers, graph = _solvers(instance.problem), instance.load()
    rows = []
    with threadpool_limits(1):
        _warm_up()
        for seed, name in part["runs"]:
            found = solvers[name](graph, instance.seconds, seed)
            made = {"solver": name, "seed": seed, "value": found.value, "seconds": found.seconds}
            rows.append({**common, **made, "history": [list(pair) for pair in found.history]})
    return rows


def describe(rows: list[Row]) -> Any:
    """Return a table for each problem: graphs, and the median of each solver over the seeds.

    Example:
        >>> row = {"problem": "maxcut", "graph": "G1", "solver": "mafla", "value": 11624.0, "known": 11624.0}
        >>> tables = describe([row | {"goal": 11624.0, "share": 0.8, "limit": 20.0, "seed": 0}])
        >>> [table.row_count for table in tables.renderables]
        [1]
    """
    from rich.console import Group

    return Group(*(_table(problem, own) for (problem,), own in grouped(("problem",), rows)))


def summary(rows: list[Row]) -> str:
    """Return in words how many goals were reached, and which were not; see `describe`."""
    ours = [own for _, own in grouped(("problem", "graph"), [row for row in rows if row["solver"] == OURS])]
    if not ours:
        return ""
    missed = [own[0]["graph"] for own in ours if not _is_reached(own)]
    text = f"Goals reached on {len(ours) - len(missed)} of {len(ours)} graphs."
    return text + (f" Missed: {'; '.join(missed)}." if missed else "")


def picture(rows: list[Row]) -> Any:
    """Return a figure: the best cut so far against CPU seconds, ours and others, for hard graphs; None without cuts."""
    from mafla.plots import best_against_seconds

    if not any(row["problem"] == "maxcut" for row in rows):
        return None
    shown = [name for name in PICTURED if any(row["graph"] == name for row in rows)]
    shown = shown or list(dict.fromkeys(row["graph"] for row in rows if row["problem"] == "maxcut"))[:3]
    panels = {}
    for name in shown:
        own = [row for row in rows if (row["problem"], row["graph"]) == ("maxcut", name) and row["history"]]
        panels[name] = (own[0]["known"], own[0]["limit"], {row["solver"]: row["history"] for row in own[::-1]})
    return best_against_seconds(panels)


def _named(solvers: str) -> list[str]:
    names = [name for name in SOLVERS if is_chosen(name, solvers)]
    if not names:
        raise ValueError(f"solvers must be parts of the names {', '.join(SOLVERS)}, got {solvers!r}")
    return names


def _missing(instance: Instance, names: list[str], seeds: range, rows: list[Row]) -> list[tuple[int, str]]:
    """Return the seeds and solvers that still have to be run on a graph."""
    own = [row for row in rows if (row["problem"], row["graph"]) == (instance.problem, instance.name)]
    done = {(row["seed"], row["solver"]) for row in own}
    solvers = _solvers(instance.problem)
    return [
        (seed, name)
        for seed in seeds
        for name in names
        if name in solvers and (seed == seeds[0] or solvers[name] not in DETERMINISTIC_PEERS)
        if (seed, name) not in done
    ]


def _place(row: Row) -> tuple[int, int, int]:
    """Return where a row belongs: in the order of graphs, seeds and solvers."""
    graphs = [(each.problem, each.name) for each in instances()]
    return graphs.index((row["problem"], row["graph"])), row["seed"], SOLVERS.index(row["solver"])


@cache
def _warm_up() -> None:
    """Compile everything on a small graph, so that no one's time is spent on that."""
    graph = family("gnm 2.5", 30, 0)
    for solve in (maxcut, vertex_cover):
        solve(graph, time_limit=0.2, seed=0)
    for peer in (*CUT_PEERS.values(), *COVER_PEERS.values()):
        peer(graph, 0.05, 0)


def _solvers(problem: str) -> dict[str, Solver]:
    return {OURS: partial(_ours, problem)} | (CUT_PEERS if problem == "maxcut" else COVER_PEERS)


def _ours(problem: str, graph: Graph, seconds: float, seed: int) -> Found:
    solve = maxcut if problem == "maxcut" else vertex_cover
    found = solve(graph, time_limit=seconds, seed=seed, clock=time.process_time)
    return Found(found.value, found.seconds, [(float(at), float(value)) for at, value in found.history])


def _table(title: str, rows: list[Row]) -> Any:
    from rich import box
    from rich.table import Table

    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    caption = "median over the seeds, at equal CPU seconds; ✓ and ✗: ours against its goal"
    grid = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    grid.add_column("graph")
    for heading in ("s", "best known", *solvers):
        grid.add_column(heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    for (graph,), own in grouped(("graph",), rows):
        cells = [_shown([row for row in own if row["solver"] == solver], solver) for solver in solvers]
        grid.add_row(graph, f"{own[0]['limit']:g}", f"{own[0]['known']:g}", *cells)
    return grid


def _is_reached(own: list[Row]) -> bool:
    sign = 1 if own[0]["problem"] == "maxcut" else -1
    reached = np.mean([sign * row["value"] >= sign * row["goal"] - 1e-9 for row in own])
    return bool(reached > 0 and reached >= own[0]["share"])


def _shown(own: list[Row], solver: str) -> str:
    if not own:
        return ""
    middle = f"{np.median([row['value'] for row in own]):g}"
    return middle + (("✓" if _is_reached(own) else "✗") if solver == OURS else "")


def _line(rows: list[Row]) -> str:
    first = rows[0]
    values = {name: [f"{row['value']:g}" for row in found] for (name,), found in grouped(("solver",), rows)}
    parts = [" ".join([name, *found]) for name, found in values.items()]
    return f"{first['problem']}: {first['graph']}: {', '.join(parts)} (best known {first['known']:g})"
