"""What `mafla bench tails` says about its rows: a table against NUTS, one against all peers, growth, and a picture."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mafla.bench.selection import grouped, median
from mafla.bench.tail_problems import LEVELS
from mafla.bench.tail_samplers import NUTS, OURS

__all__ = ["describe", "efficiency", "picture", "summary"]

# The least efficiency against NUTS at the 0.95- and 0.99-quantiles, by group and whether d is above 50.
GOALS = {
    ("round Student-t", False): 50.0,
    ("round Student-t", True): 20.0,
    ("stretched Student-t", False): 30.0,
    ("stretched Student-t", True): 10.0,
    ("Student-t ν=5", False): 1.0,
    ("Student-t ν=5", True): 1.0,
    ("curved", False): 1.0,
    ("light", False): 0.1,
}
WEIGHTS_GOAL = 0.02
PICTURED = ("round Student-t ν=1, d=10", "round Student-t ν=2, d=10", "round Student-t ν=5, d=10", "logistic, d=10")
FIXED_ERROR = 0.1  # to which the time is given
LARGEST_ERROR = 0.5  # that tells something about time: who has seen no tail at all has one of 1 for long
LEAST_SIZES = 3  # that tell how it grows

Row = dict[str, Any]
Measure = Callable[[list[Row], str, float], float | None]


def describe(rows: list[Row]) -> Any:
    """Return tables: each problem against NUTS, groups against every peer, errors, weights of modes, and growth.

    Example:
        >>> row = {"problem": "funnel, d=10", "group": "curved", "dim": 10, "start": "near", "seed": 0, "seconds": 1.0}
        >>> row |= {"errors": [0.1, 0.1, 0.1], "asinh_w1_ratio": 1.0, "sampler": "mafla", "is_warm": True}
        >>> [table.row_count for table in describe([row]).renderables]
        [1, 3]
    """
    from rich.console import Group

    groups = (_against_peers(rows, title, measure) for title, measure in MEASURES.items())
    tables = (_against_nuts(rows), *groups, _errors(rows), _weights(rows), _growth(rows))
    return Group(*(table for table in tables if table.row_count))


def summary(rows: list[Row]) -> str:
    """Return in words which goals were reached; see `describe`."""
    cells = [own for _, own in grouped(("problem", "start"), rows)]
    judged = [(own, verdict) for own in cells if (verdict := _is_reached(own)) is not None]
    missed = [f"{own[0]['problem']} ({own[0]['start']})" for own, verdict in judged if not verdict]
    text = f"Goals reached on {len(judged) - len(missed)} of {len(judged)} problems and starts."
    text += f" Missed: {'; '.join(missed)}." if missed else ""
    if len({row["seed"] for row in rows}) == 1:
        text += " With one seed, chance alone makes a peer's error next to nothing now and then."
    return text


def efficiency(rows: list[Row], peer: str, level: float) -> float | None:
    """Return mean squared error times seconds of a peer over ours, at a level; None where one of them is missing.

    Example:
        >>> ours = {"sampler": "mafla", "errors": [0.1, 0.1, 0.1], "seconds": 2.0}
        >>> theirs = {"sampler": "emcee", "errors": [0.2, 0.2, 0.2], "seconds": 1.0}
        >>> round(efficiency([ours, theirs], "emcee", 0.99), 6)
        2.0
    """
    theirs, ours = (_cost([row for row in rows if row["sampler"] == name], level) for name in (peer, OURS))
    return None if theirs is None or ours is None else theirs / ours


def patience(rows: list[Row], peer: str, level: float) -> float | None:
    """Return the seconds in which a peer has our error over ours, with its warm-up, which it makes once.

    Example:
        >>> ours = {"sampler": "mafla", "errors": [0.1, 0.1, 0.1], "seconds": 2.0, "warmup_seconds": 0.1}
        >>> theirs = {"sampler": "emcee", "errors": [0.2, 0.2, 0.2], "seconds": 2.0, "warmup_seconds": 1.0}
        >>> round(patience([ours, theirs], "emcee", 0.99), 6)
        2.5
    """
    theirs, ours = ([row for row in rows if row["sampler"] == name] for name in (peer, OURS))
    if not theirs or not ours:
        return None
    square = _square(ours, level)
    return _time(theirs, square, level) / _time(ours, square, level)


MEASURES = {"mean squared error times seconds": efficiency, "seconds to our error": patience}


def _least(measure: Measure, rows: list[Row], peer: str) -> float | None:
    """Return the lesser of the measures at the levels that goals are about."""
    found = (measure(rows, peer, level) for level in (0.95, 0.99))
    return min((value for value in found if value is not None), default=None)


def picture(rows: list[Row]) -> Any:
    """Return a figure: the error of a tail probability against seconds, ours and BlackJAX's NUTS."""
    from mafla.plots import error_against_seconds

    names = [name for name in PICTURED if any(row["problem"] == name for row in rows)]
    names = names or list(dict.fromkeys(row["problem"] for row in rows))[:4]
    panels: dict[str, dict[str, Any]] = {}
    for name in names:
        near = [row for row in rows if row["problem"] == name and row["start"] == "near"]
        panels[name] = {
            sampler: _trace(own) for (sampler,), own in grouped(("sampler",), near) if sampler in (OURS, NUTS)
        }
    return error_against_seconds(panels)


def _trace(rows: list[Row]) -> np.ndarray:
    """Return median seconds and root mean square errors over the seeds, of shape (2, times)."""
    length = min(len(row["trace"]) for row in rows)
    traces = np.array([row["trace"][-length:] for row in rows])
    return np.stack([np.median(traces[:, :, 0], axis=0), np.sqrt(np.mean(traces[:, :, 1] ** 2, axis=0))])


def _cost(rows: list[Row], level: float) -> float | None:
    return _square(rows, level) * float(np.mean([row["seconds"] for row in rows])) if rows else None


def _square(rows: list[Row], level: float) -> float:
    """Return the mean squared error."""
    return float(np.mean([row["errors"][LEVELS.index(level)] ** 2 for row in rows]))


def _time(rows: list[Row], square: float, level: float) -> float:
    """Return the seconds to a mean squared error: those of warm-up, and as many for draws as it asks for."""
    warmup, whole = (float(np.mean([row[name] for row in rows])) for name in ("warmup_seconds", "seconds"))
    return warmup + (whole - warmup) * _square(rows, level) / square


def _is_reached(rows: list[Row]) -> bool | None:
    """Say whether the goal of a problem is reached; None if there is nothing to compare."""
    ours = [row for row in rows if row["sampler"] == OURS]
    if not ours:
        return None
    if rows[0]["group"] == "modes":
        return bool(np.median([row["weights_error"] for row in ours]) <= WEIGHTS_GOAL)
    found = _least(efficiency, rows, NUTS)
    return None if found is None else found >= GOALS[rows[0]["group"], rows[0]["dim"] > 50]


def _against_nuts(rows: list[Row]) -> Any:
    caption = (
        "root mean square of the relative error of a tail probability over the seeds; its square times seconds, of "
        "BlackJAX's NUTS over ours; asinh W1 over that of 5000 independent draws, medians; ✓ and ✗ are goals"
    )
    grid = _grid("tails", caption, ("problem", "error\n0.99", "NUTS", "times\n0.95", "0.99", "0.999", "W1", "NUTS"))
    for (problem, begin), own in grouped(("problem", "start"), rows):
        ours, theirs = ([row for row in own if row["sampler"] == name] for name in (OURS, NUTS))
        times = [efficiency(own, NUTS, level) for level in LEVELS]
        distances = [median(part, "asinh_w1_ratio") for part in (ours, theirs)]
        numbers = [_root_mean_square(ours), _root_mean_square(theirs), *times, *distances]
        grid.add_row(f"{problem}, {begin}{_mark(own)}", *map(_short, numbers))
    return grid


def _weights(rows: list[Row]) -> Any:
    samplers = [name for (name,), _ in grouped(("sampler",), rows)]
    grid = _grid(
        "modes", "largest error of the share of draws nearest to a mode, median over the seeds", ("problem", *samplers)
    )
    for (problem, begin), own in grouped(("problem", "start"), [row for row in rows if row["group"] == "modes"]):
        found = [median([row for row in own if row["sampler"] == name], "weights_error") for name in samplers]
        grid.add_row(f"{problem}, {begin}{_mark(own)}", *map(_short, found))
    return grid


def _against_peers(rows: list[Row], title: str, measure: Measure) -> Any:
    peers = [name for (name,), _ in grouped(("sampler",), rows) if name != OURS]
    caption = (
        "of a peer over ours, the lesser of those at the 0.95- and the 0.99-quantile; median over problems and "
        "starts, and the least in brackets"
    )
    grid = _grid(title, caption, ("group", *peers))
    for (group,), own in grouped(("group",), rows) if peers else ():
        columns = []
        for peer in peers:
            found = [_least(measure, cell, peer) for _, cell in grouped(("problem", "start"), own)]
            known = [value for value in found if value is not None]
            columns.append(f"{_short(float(np.median(known)))} ({_short(min(known))})" if known else "")
        grid.add_row(group, *columns)
    return grid


def _errors(rows: list[Row]) -> Any:
    """Return how large errors are, by group and sampler, and where a sampler had too few seconds to have any less."""
    caption = (
        "least and largest root mean square error at 0.99 of problems and starts; on how many of them most runs were "
        f"still in warm-up when their time was over, and on how many the error is above {LARGEST_ERROR:g}"
    )
    samplers = [name for (name,), _ in grouped(("sampler",), rows)]
    cells = [own for _, own in grouped(("problem", "start", "sampler"), rows)]
    grid = _grid("errors", caption, ("group", *samplers))
    for (group,), _ in grouped(("group",), rows):
        here = [[own for own in cells if (own[0]["group"], own[0]["sampler"]) == (group, name)] for name in samplers]
        grid.add_row(group, *(_range([_root_mean_square(own) for own in part]) for part in here))
    grid.add_section()
    by_sampler = [[own for own in cells if own[0]["sampler"] == name] for name in samplers]
    for what, is_so in (("in warm-up", _is_in_warmup), (f"above {LARGEST_ERROR:g}", _is_lost)):
        grid.add_row(what, *(f"{sum(map(is_so, part))} of {len(part)}" for part in by_sampler))
    return grid


def _is_in_warmup(rows: list[Row]) -> bool:
    return bool(np.mean([row["is_warm"] for row in rows]) < 0.5)


def _is_lost(rows: list[Row]) -> bool:
    return _square(rows, 0.99) > LARGEST_ERROR**2


def _range(values: list[Any]) -> str:
    return f"{_short(min(values))}–{_short(max(values))}" if values else ""


def _grid(title: str, caption: str, headings: tuple[str, ...]) -> Any:
    from rich import box
    from rich.table import Table

    grid = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for number, heading in enumerate(headings):
        grid.add_column(heading.replace(" ", "\n", 1), justify="right" if number else "left", no_wrap=not number)
    return grid


def _growth(rows: list[Row]) -> Any:
    """Return the time to a fixed error on Student-t laws, against d and against ν, with the exponents of both."""
    two = [row for row in rows if row["start"] == "near" and row["sampler"] in (OURS, NUTS)]
    near = [row | found for row in two if (found := _student(row["problem"]))]
    dims, dfs = (sorted({row[name] for row in near}) for name in ("dim", "df"))
    if max(len(dims), len(dfs)) < LEAST_SIZES:
        near = []
    caption = (
        f"seconds to an error of {FIXED_ERROR:g} at 0.99 with warm-up, from near, and how they grow; nothing where "
        f"time is over before warm-up in any run, or where the error is above {LARGEST_ERROR:g}"
    )
    grid = _grid("growth", caption, ("law", *(f"d={dim}" for dim in dims), "like"))
    for (kind, sampler), own in grouped(("kind", "sampler"), near):
        times = {
            df: {dim: time for (dim,), cell in grouped(("dim",), part) if (time := _time_to_fixed(cell)) is not None}
            for (df,), part in grouped(("df",), own)
        }
        for df, by_dim in times.items():
            cells = [_short(by_dim.get(dim)) for dim in dims]
            grid.add_row(f"{kind} ν={df:g}, {sampler}", *cells, _power("d", by_dim))
        by_df = [{df: by_dim[dim] for df, by_dim in times.items() if dim in by_dim} for dim in dims]
        grid.add_row("  like", *(_power("ν", each) for each in by_df), "", end_section=True)
    return grid


def _student(problem: str) -> Row | None:
    """Return the kind and the degrees of freedom of a Student-t law from its name; None for other problems."""
    kind, _, rest = problem.partition(" ν=")
    return {"kind": kind, "df": float(rest.split(",")[0])} if rest and "Student-t" in kind else None


def _time_to_fixed(rows: list[Row]) -> float | None:
    """Return the seconds to a fixed error; None where that cannot be told from what there is."""
    if _is_lost(rows) or not all(row["is_warm"] for row in rows):
        return None
    return _time(rows, FIXED_ERROR**2, 0.99)


def _power(name: str, times: dict[float, float]) -> str:
    """Return the power law through seconds by size, such as ``d^1.5``; of few sizes none."""
    if len(times) < LEAST_SIZES:
        return ""
    return f"{name}^{np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]:.1f}"


def _root_mean_square(rows: list[Row]) -> float | None:
    return math.sqrt(_square(rows, 0.99)) if rows else None


def _mark(rows: list[Row]) -> str:
    return {None: "", True: "✓", False: "✗"}[_is_reached(rows)]


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2g}" if value < 100 else f"{value:.0f}" if value < 1e4 else f"{value:.0e}"
