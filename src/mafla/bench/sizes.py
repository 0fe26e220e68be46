"""What the defaults make of tables of all sizes: from 1 to 64 columns, from 500 to a million rows, nothing tuned."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mafla import _check
from mafla.bench.gathering import Report, Row
from mafla.bench.learned import Yardstick, cell, line, make_yardstick
from mafla.bench.learned_methods import METHODS, Case, Settings, make_case
from mafla.bench.learned_table import DEFAULT
from mafla.bench.learned_targets import Problem, mixture, train_and_held_out
from mafla.bench.selection import grouped, median

__all__ = ["describe", "run", "score_error", "summary"]

COLUMNS, ROWS = (1, 8, 64), (500, 20_000, 1_000_000)
QUICK_ROWS = ROWS[:2]
ALPHA, MODES, WEIGHTS = 1.7, (-2.5, 2.5), (0.3, 0.7)  # of the first law, which has two modes in every column
DF = 2.0  # of the second, whose columns are independent
HEADINGS = {
    "asinh_w1_ratio": "asinh\nW1",
    "q99_error_ratio": "q0.99",
    "weights_error": "weights",
    "logdensity_mean": "log p",
    "logdensity_sd": "±",
    "score_error": "score",
    "seconds_fit": "sampler\ns",
    "seconds_score": "score\ns",
}


def run(
    seed: int = 0,
    seeds: int = 3,
    quick: bool = False,
    report: Report = lambda _line, _rows: None,
    settings: Settings | None = None,
) -> list[Row]:
    """Learn from tables of all sizes by the defaults of `HeavyTailSampler` and `fit_score`.

    One law is a mixture of two stable laws, the other a product of Student-t laws, whose contours are no ellipses.

    Args:
        seed: the first.
        seeds: how many; one if quick.
        quick: one seed, and no table of a million rows.
        report: called after each table, with a line about it and all rows so far.
        settings: other trainings, and sizes of what draws are judged by.

    Example:
        >>> run(seeds=0)
        Traceback (most recent call last):
        ...
        ValueError: seeds must be a whole number of at least 1, got 0
    """
    first, count = _check.whole("seed", seed, 0), 1 if quick else _check.whole("seeds", seeds, 1)
    found: list[Row] = []
    for law, columns in itertools.product(LAWS, COLUMNS):
        for rows in QUICK_ROWS if quick else ROWS:
            sizes = (settings or Settings())._replace(rows=rows)
            for each in range(first, first + count):
                found.append(_measure(law, columns, each, sizes))
                report(line(found[-1]), found)
        jax.clear_caches()  # programs for so many columns
    return found


def score_error(case: Case, judge: Yardstick) -> float:
    """Return the error of the learned score at points of the law, root mean square, over the size of the true one."""
    problem = case.problem
    if judge.points is None or problem.logdensity is None:
        raise ValueError(f"problem must have a known density, got {problem.name!r} without")
    points = judge.points[0].astype(np.float32)
    truth = np.asarray(jax.vmap(jax.grad(problem.logdensity))(points), np.float64)
    learned = np.asarray(jax.jit(jax.vmap(case.score()[0]))(points), np.float64)
    return float(np.linalg.norm(learned - truth) / np.linalg.norm(truth))


def describe(rows: list[Row]) -> Any:
    """Return a table with a line for each size, of medians over seeds.

    Example:
        >>> row = {"law": "one", "columns": 1, "rows": 500, "seed": 0, "error": None, **dict.fromkeys(HEADINGS, 1.0)}
        >>> describe([row]).row_count  # with the name of the law
        2
    """
    from rich import box
    from rich.table import Table

    seeds = len({row["seed"] for row in rows})
    caption = (
        f"medians of {seeds} seed{'s' * (seeds > 1)}; asinh W1 and the error of the 0.99-quantile over those of as "
        "many independent draws (5000, or as many as rows); largest error of a mode's weight; mean and standard "
        "deviation of the error of the log density; relative error of the score; seconds to fit, with compilation"
    )
    grid = Table(title="The defaults on tables of all sizes", caption=caption, box=box.SIMPLE_HEAD, padding=0)
    for heading in ("columns", "rows", *HEADINGS.values()):
        grid.add_column(heading, justify="right", no_wrap=True)
    for (law,), same_law in grouped(("law",), rows):
        grid.add_section()
        grid.add_row(law, style="bold")
        for (columns, count), own in grouped(("columns", "rows"), same_law):
            grid.add_row(str(columns), f"{count:,}".replace(",", " "), *(_shown(own, name) for name in HEADINGS))
    return grid


def summary(rows: list[Row]) -> str:
    """Return in words what failed, and the worst of the medians.

    Example:
        >>> row = {"law": "one", "columns": 1, "rows": 500, "seed": 0, "error": None, **dict.fromkeys(HEADINGS, 1.0)}
        >>> summary([row])
        '0 of 1 failed; at most 1 times the floor by asinh W1 and 1 by the 0.99-quantile, 1 s to fit.'
    """
    failed = sum(row["error"] is not None for row in rows)
    sizes = [own for _, own in grouped(("law", "columns", "rows"), rows)]
    names = ("asinh_w1_ratio", "q99_error_ratio", "seconds_fit", "seconds_score")
    worst = np.array([[median(own, name) for name in names] for own in sizes], float)  # None is NaN, and seen
    asinh_w1, q99, *seconds = worst.max(axis=0)
    return (
        f"{failed} of {len(rows)} failed; at most {asinh_w1:.3g} times the floor by asinh W1 and {q99:.3g} by the "
        f"0.99-quantile, {max(seconds):.0f} s to fit."
    )


def _two_modes(columns: int) -> Problem:
    """Return a law that the models' base can be near to; its index is for them to find."""
    return mixture("", ALPHA, [[mode] * columns for mode in MODES], WEIGHTS)._replace(alpha=None)


def _independent(columns: int) -> Problem:
    """Return a law that is left to the networks: far draws lie along the axes."""

    def logdensity(x: Any) -> Any:
        return jnp.sum(jax.scipy.stats.t.logpdf(x, DF), axis=-1)

    return Problem("", columns, None, lambda key, n: jax.random.t(key, DF, (n, columns)), logdensity)


def _measure(law: str, columns: int, seed: int, sizes: Settings) -> Row:
    problem = LAWS[law](columns)._replace(name=f"{law}, {columns} columns, {sizes.rows} rows")
    case = make_case(problem, seed, train_and_held_out(problem, seed, sizes.rows)[0], sizes)
    judge = make_yardstick(case)
    row = {"law": law, "columns": columns, "rows": sizes.rows} | cell(case, judge, DEFAULT, METHODS[DEFAULT])
    return row | {"score_error": score_error(case, judge), "seconds_score": case.score()[1]}


def _shown(rows: list[Row], name: str) -> str:
    """Return a median; nothing where the law has no such measure."""
    found = median(rows, name)
    if found is None:
        return "failed" if any(row["error"] for row in rows) else ""
    return f"{found:.0f}" if name.startswith("seconds") else f"{found:.2g}"


LAWS: dict[str, Callable[[int], Problem]] = {"two modes": _two_modes, "independent": _independent}
