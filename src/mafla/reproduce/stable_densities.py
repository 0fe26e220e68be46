"""The paper's illustration of symmetric stable densities, from our law, checked against closed forms."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from mafla import stable
from mafla.plots import COLOURS, INK
from mafla.reproduce.charts import panels
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict

__all__ = ["EXPERIMENT"]

ALPHAS = (1.2, 1.5, 1.8, 2.0)
LINES = ("-", "--", "-.", ":")
REACH, NODES = 10.0, 401
FAR = 1000.0


def _cells(quick: bool, seeds: int) -> list[Cell]:
    del quick, seeds
    return [{"alpha": alpha} for alpha in ALPHAS]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    del quick
    alpha = cell["alpha"]
    x = np.linspace(-REACH, REACH, NODES)
    density = np.exp(np.asarray(stable.logpdf(jnp.asarray(x[:, None]), alpha), np.float64))
    peak = math.gamma(1 + 1 / alpha) / math.pi  # by the inversion of exp(-|u|^α)
    # On a grid that is even in asinh x, where tails are no longer than the body.
    wide = np.linspace(-math.asinh(FAR), math.asinh(FAR), 20_001)
    values = np.exp(np.asarray(stable.logpdf(jnp.sinh(wide)[:, None], alpha), np.float64)) * np.cosh(wide)
    return [
        {
            "x": x.tolist(),
            "density": density.tolist(),
            "peak_error": abs(density[NODES // 2] / peak - 1),
            "mass": float(np.trapezoid(values, wide)),
            "tail": float(density[-1]),
            "peak": float(density[NODES // 2]),
        }
    ]


def _draw(rows: list[Row]) -> Any:
    figure, axes = panels(1, 2, 4.6, 3.6)
    for axis, (title, scale) in zip(axes[0], (("Density", "linear"), ("The same, logarithmic", "log")), strict=True):
        for index, row in enumerate(rows):
            axis.plot(row["x"], row["density"], LINES[index], color=COLOURS[index], label=f"α = {row['alpha']:g}")
        axis.set_title(title, color=INK, fontsize=11)
        axis.set_xlabel("x", color=INK, fontsize=10)
        axis.set_yscale(scale)
    axes[0, 1].set_ylim(1e-6, 1)
    axes[0, 0].legend(frameon=False)
    return figure


def _judge(rows: list[Row]) -> Verdict:
    ordered = sorted(rows, key=lambda row: row["alpha"])
    tails, peaks = ([row[name] for row in ordered] for name in ("tail", "peak"))
    named = ", ".join(f"α={row['alpha']:g}" for row in ordered)
    claims = (
        Claim(
            "smaller α has heavier tails",
            "–",
            f"density at 10 for {named}: {', '.join(f'{value:.2g}' for value in tails)}",
            bool(np.all(np.diff(tails) < 0)),
        ),
        Claim(
            "smaller α has a higher peak at the origin",
            "–",
            f"density at 0: {', '.join(f'{value:.4f}' for value in peaks)}",
            bool(np.all(np.diff(peaks) < 0)),
        ),
    )
    worst = max(row["peak_error"] for row in rows)
    missing = max(abs(1 - row["mass"]) for row in rows)
    reason = (
        f"The peaks agree with the closed form Γ(1 + 1/α)/π to {worst:.1g}, and the densities hold all but at most "
        f"{missing:.1g} of the mass between -{FAR:g} and {FAR:g}."
    )
    return Verdict(claims, reason)


EXPERIMENT = Experiment(
    "stable-densities",
    "Figure: symmetric α-stable densities",
    "Nothing is chosen.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
