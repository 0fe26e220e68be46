"""The rows of ``mafla bench learned`` as a table for the terminal, with their goals, and in words."""

import math
from typing import Any

from mafla.bench.selection import median

__all__ = ["DEFAULT", "LAST_STATES", "PAPER", "PAPER_STEP_SIZE", "PAPER_W1", "UNADJUSTED", "describe", "summary"]

DEFAULT, LAST_STATES, UNADJUSTED, PAPER = "default", "default's last states", "FULA", "learned, paper"
PAPER_PROBLEM, PAPER_STEP_SIZE = "2-D mixture, α=1.95", "paper's step size"
PAPER_W1 = 4.87  # FULA's in the paper; its error of the 0.99-quantile is 80
GAINS = {"w1_gain": 9.0, "q99_error_gain": 100.0}  # the paper's, about
COLUMNS = {
    "asinh_w1_ratio": "asinh\nW1",
    "q99_error_ratio": "q0.99",
    "weights_error": "weights",
    "logdensity_mean": "log p",
    "logdensity_sd": "±",
    "seconds_fit": "fit s",
    "seconds_sample": "draw s",
    "remembered": "start",
}
# At most, in size. Times are for the mixture in the plane, on two cores.
GOALS = {
    "asinh_w1_ratio": 1.3,
    "q99_error_ratio": 2.0,
    "weights_error": 0.01,
    "logdensity_mean": 0.05,
    "logdensity_sd": 0.2,
}
GOALS_OF_TIME = {"seconds_fit": 60.0, "seconds_sample": 20.0}
GOALS_LEARNED = {"asinh_w1_ratio": 2.0, "q99_error_ratio": 3.0}

Row = dict[str, Any]


def describe(rows: list[Row]) -> Any:
    """Return a table with a row for each problem and method: medians over seeds, with a mark where there is a goal.

    Example:
        >>> rows = [{"problem": "1-D", "method": DEFAULT, "error": None, "seed": 0, "asinh_w1_ratio": 1.1}]
        >>> describe(rows).row_count  # with the name of the problem
        2
    """
    from rich import box
    from rich.table import Table

    seeds = sorted({row["seed"] for row in rows})
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"medians over the seeds {seeds[0]} to {seeds[-1]}"
    caption = (
        f"{over}; asinh W1 and the error of the 0.99-quantile over those of independent draws; largest error of a "
        "mode's weight; mean and standard deviation of the error of the log density; seconds with compilation, of the "
        "last three methods to fit and draw; rank correlation of the ends of chains with their starts. The default's "
        "draws are chosen evenly from later states of its chains and vary less than independent ones; its last states "
        "do not. ✓ and ✗ are goals, also for the best of the learned acceptances"
    )
    grid = Table(title="Learned from rows", caption=caption, box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    grid.add_column("", min_width=15)
    for heading in COLUMNS.values():
        grid.add_column(heading, justify="right", no_wrap=True)
    best = _best_learned(rows)
    for problem in dict.fromkeys(row["problem"] for row in rows):
        grid.add_section()
        grid.add_row(problem, style="bold")
        own = [row for row in rows if row["problem"] == problem]
        for method in dict.fromkeys(row["method"] for row in own):
            grid.add_row(*_shown(problem, method, [row for row in own if row["method"] == method], method == best))
    return grid


def summary(rows: list[Row]) -> str:
    """Return in words what the paper's acceptance gains at its step size.

    Example:
        >>> fula = {"problem": PAPER_STEP_SIZE, "method": UNADJUSTED, "step_size": 0.8, "w1": 4.9, "q99_error": 81.0}
        >>> learned = {**fula, "method": PAPER, "w1_gain": 9.5, "q99_error_gain": 120.0}
        >>> print(summary([fula, learned]))
        At τ = 0.800 FULA's W1 is 4.90 (the paper's is 4.87) and its error of the 0.99-quantile 81.0. The paper's
        acceptance makes them 9.50 times (goal: 9) and 120 times (goal: 100) smaller.
    """
    own = [row for row in rows if row["problem"] == PAPER_STEP_SIZE]
    unadjusted, learned = ([row for row in own if row["method"] == method] for method in (UNADJUSTED, PAPER))
    gains = [median(learned, name) for name in GAINS]
    before = [median(unadjusted, name) for name in ("step_size", "w1", "q99_error")]
    if None in (*gains, *before):
        return ""
    step_size, w1, q99 = map(_digits, before)
    smaller = " and ".join(
        f"{_digits(gain)} times (goal: {goal:g})" for gain, goal in zip(gains, GAINS.values(), strict=True)
    )
    return (
        f"At τ = {step_size} FULA's W1 is {w1} (the paper's is {PAPER_W1}) and its error of the 0.99-quantile {q99}. "
        f"The paper's acceptance makes them {smaller} smaller."
    )


def _shown(problem: str, method: str, rows: list[Row], is_best: bool) -> list[str]:
    """Return the cells of a line of the table."""
    failed = sum(bool(row["error"]) for row in rows)
    name = f" {method}" if not failed else f" {method}: {failed} of {len(rows)} failed"
    goals = GOALS | (GOALS_OF_TIME if problem == PAPER_PROBLEM else {}) if method == DEFAULT else {}
    if is_best and problem != PAPER_STEP_SIZE:
        goals = GOALS_LEARNED
    return [name, *(_marked(median(rows, column), goals.get(column)) for column in COLUMNS)]


def _marked(value: float | None, goal: float | None) -> str:
    if value is None:
        return ""
    return _digits(value) if goal is None else f"{_digits(value)}{'✓' if abs(value) <= goal else '✗'}"


def _best_learned(rows: list[Row]) -> str | None:
    """Return the learned acceptance whose worst asinh W1 over the problems is best; one that failed is the worst."""
    own = [row for row in rows if row["method"].startswith("learned, ") and row["problem"] != PAPER_STEP_SIZE]
    worst: dict[str, float] = {}
    for problem, method in dict.fromkeys((row["problem"], row["method"]) for row in own):
        same = [row for row in own if (row["problem"], row["method"]) == (problem, method)]
        ratio = median(same, "asinh_w1_ratio")
        worst[method] = max(worst.get(method, 0.0), math.inf if ratio is None else ratio)
    return min(worst, key=lambda method: worst[method], default=None)


def _digits(value: float | None) -> str:
    """About three digits, with an exponent only where there would be more than five."""
    if value is None:
        return ""
    size = abs(value)
    return (
        f"{value:.{3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0}f}" if size < 1e5 else f"{value:.0e}"
    )
