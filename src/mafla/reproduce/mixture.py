"""The paper's mixture in the plane: scatter, weights, W1 and quantile errors where FULA is as wrong as in the paper."""

from functools import partial
from typing import Any

import numpy as np

from mafla import metrics
from mafla.bench.learned import nearest_to_w1
from mafla.bench.learned_table import PAPER_W1
from mafla.plots import COLOURS, INK, mixture_scatter
from mafla.reproduce.charts import panels
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, interval, pick, several
from mafla.reproduce.lineup import (
    CLOSED,
    EXACT,
    FULA,
    IDEAL,
    IID,
    MAFLA,
    ground,
    independent,
    learned_mafla,
    measured,
    ours,
)

__all__ = ["EXPERIMENT"]

LOCATIONS, WEIGHTS, ALPHA = ((-5.0, 0.0), (5.0, 0.0)), (0.2, 0.8), 1.95
PAPER_GAINS = {"w1": 4.87 / 0.52, "q99_error": 80.33 / 0.80}
LEVELS = tuple(np.round(np.concatenate([np.linspace(0.05, 0.95, 19), [0.97, 0.98, 0.99, 0.995]]), 3).tolist())
SHOWN = 1000  # points of a scatter


def _cells(quick: bool, seeds: int) -> list[Cell]:
    return [{"seed": seed} for seed in range(1 if quick else seeds)]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    on = ground(ALPHA, LOCATIONS, WEIGHTS, cell["seed"], quick)
    kept: dict[str, np.ndarray] = {IID: on.case.rows[: len(on.case.start)]}

    def keeping(name: str, sampler: Any) -> Row:
        def run(case: Any) -> Any:
            outcome = sampler(case)
            kept[name] = outcome.draws
            return outcome

        return measured(on, name, run)

    rows = [keeping(FULA, partial(nearest_to_w1, PAPER_W1, on.judge.reference))]
    step_size = rows[0]["step_size"]
    samplers = {MAFLA: partial(learned_mafla, ALPHA, step_size)} | ours(on, ALPHA, step_size)
    rows += [keeping(name, sampler) for name, sampler in samplers.items()] + [independent(on)]
    for row in rows:
        draws = kept[row["sampler"]]
        row["weights"] = [float(share) for share in metrics.mixture_weights(draws, LOCATIONS)]
        row["quantile_errors"] = [metrics.quantile_error(draws, on.judge.reference, level) for level in LEVELS]
        if cell["seed"] == 0:
            row["points"] = [[float(f"{value:.4g}") for value in point] for point in draws[:SHOWN].tolist()]
    return rows


def _draw(rows: list[Row]) -> Any:
    shown = (IID, FULA, MAFLA, EXACT)
    first = {row["sampler"]: row["points"] for row in pick(rows, seed=0) if row["sampler"] in shown}
    return mixture_scatter({("target" if name == IID else name): first[name] for name in shown}, LOCATIONS)


def _draw_quantiles(rows: list[Row]) -> Any:
    figure, axes = panels(1, 1, 6.0, 4.0)
    axis = axes[0, 0]
    for index, name in enumerate((MAFLA, EXACT)):
        ratios = [_ratios(rows, seed, name) for seed in several(rows, "seed")]
        style = {"color": COLOURS[index], "marker": "os"[index], "markersize": 4}
        axis.plot(LEVELS, np.median(ratios, axis=0), label=f"FULA over {name}", **style)
    axis.axhline(1, color=INK, linestyle="--", linewidth=1)
    axis.set_yscale("log")
    axis.set_xlabel("level of the quantile of |x|", color=INK, fontsize=10)
    axis.set_ylabel("ratio of the errors, median over seeds", color=INK, fontsize=10)
    axis.legend(frameon=False)
    return figure


def _ratios(rows: list[Row], seed: int, name: str) -> np.ndarray:
    (unadjusted,), (other,) = (pick(rows, seed=seed, sampler=each) for each in (FULA, name))
    return np.asarray(unadjusted["quantile_errors"]) / np.maximum(other["quantile_errors"], 1e-12)


def _judge(rows: list[Row]) -> Verdict:
    seeds = several(rows, "seed")
    of = {name: [pick(rows, seed=seed, sampler=name)[0] for seed in seeds] for name in several(rows, "sampler")}
    claims = []
    for name, paper, text in (
        ("w1", "4.87 to 0.52, 9.4 times", "MAFLA reduces W1, by as much at least"),
        ("q99_error", "80.33 to 0.80, 100 times", "MAFLA reduces the error of the 0.99-quantile, by as much at least"),
    ):
        before, after = ([row[name] for row in of[each]] for each in (FULA, MAFLA))
        gains = [old / new for old, new in zip(before, after, strict=True)]
        ours_text = f"{interval(before)} to {interval(after)}, {interval(gains)} times"
        claims.append(Claim(text, paper, ours_text, bool(np.median(gains) >= PAPER_GAINS[name])))
    shares = {name: [row["weights"][0] for row in of[name]] for name in (FULA, MAFLA, IID)}
    errors = {name: np.median(np.abs(np.subtract(shares[name], shares[IID]))) for name in (FULA, MAFLA)}
    text = f"FULA {interval(shares[FULA])}, MAFLA {interval(shares[MAFLA])}, target {interval(shares[IID])}"
    claims.append(
        Claim("MAFLA recovers the weights better", "0.26 and 0.21, of 0.2", text, bool(errors[MAFLA] < errors[FULA]))
    )
    ratios = np.median([_ratios(rows, seed, MAFLA) for seed in seeds], axis=0)
    text = f"above 1 at {int((ratios > 1).sum())} of {len(LEVELS)} levels, least {ratios.min():.2g}"
    claims.append(Claim("the quantile error ratio is above 1 everywhere", "above 1", text, bool((ratios > 1).all())))
    q99 = {name: interval([row["q99_error"] for row in of[name]]) for name in (CLOSED, IDEAL, EXACT, IID)}
    listed = ", ".join(f"{name} {value}" for name, value in q99.items())
    reason = (
        f"The step size is {interval([row['step_size'] for row in of[FULA]])}, where FULA's W1 is the paper's."
        f" Error of the 0.99-quantile there: {listed}."
    )
    return Verdict(tuple(claims), reason)


EXPERIMENT = Experiment(
    "mixture",
    "Figures: 2-D mixture of α=1.95, scatter and quantile errors",
    "Modes at ±(5, 0). The step size is the one at which FULA's W1 is the paper's 4.87, found by bisection.",
    _cells,
    _measure,
    {"scatter": _draw, "quantiles": _draw_quantiles},
    _judge,
)
