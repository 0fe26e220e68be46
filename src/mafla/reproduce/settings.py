"""The sweep behind what the paper does not state: how soon exact chains forget their start, where ULA is the paper's.

The step size is the smallest at which exact MAFLA, from the truth, forgets its start: a property of the proposal, not
the error of any sampler, and the smallest because samplers without a correction are the more wrong the larger it is.
On graphs, the total time is that at which ULA is nearest the paper's ULA.
"""

from typing import Any

import numpy as np

from mafla.bench import relaxed
from mafla.kernels.exact_fractional import exact_mafla
from mafla.plots import COLOURS, INK
from mafla.reproduce.charts import MARKERS, panels
from mafla.reproduce.chosen import STEP_SIZE, STEP_SIZES
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, pick, several
from mafla.reproduce.graph_tables import COVERS, CUTS
from mafla.reproduce.lineup import EXACT, FULL, chains, ground, measured

__all__ = ["EXPERIMENT"]

# α, modes and weights of the targets at which other experiments use the one step size.
TARGETS: dict[str, tuple[float, Any, tuple[float, ...]]] = {
    **{f"4-D, α={alpha:g}": (alpha, ((1.0, 2.0, 3.0, 4.0),), (1.0,)) for alpha in (1.2, 1.6, 1.95)},
    **{f"1-D, α={alpha:g}": (alpha, ((5.0,),), (1.0,)) for alpha in (1.2, 1.5, 1.8)},
    **{f"{dim}-D, α=1.9": (1.9, ((1.0,) * dim, (-1.0,) * dim), (0.6, 0.4)) for dim in (8, 32)},
}
FORGOTTEN = 0.1  # rank correlation of start and end, mean over the targets
GRAPH_STEPS_TRIED = (30, 60, 100, 200, 400)  # with τ = 0.1
VERTICES = 256
# Energy, then cut or cover, of the paper's ULA with so many vertices.
PAPER_ULA = {
    ("maxcut", "BA"): (-1.22, CUTS.paper["BA", VERTICES][0]),
    ("maxcut", "doubled 0.1"): (-15.24, CUTS.paper["doubled 0.1", VERTICES][0]),
    ("vertex cover", "gnm 2.5"): (0.810, COVERS.paper["gnm 2.5", VERTICES][0]),
    ("vertex cover", "BA"): (1.720, COVERS.paper["BA", VERTICES][0]),
}


def _cells(quick: bool, seeds: int) -> list[Cell]:
    del quick, seeds
    targets = [{"kind": "chains", "of": name, "tried": tau, "seed": 0} for tau in STEP_SIZES for name in TARGETS]
    graphs = [
        {"kind": "graphs", "of": f"{problem}, {family}", "tried": steps, "seed": 0}
        for problem, family in PAPER_ULA
        for steps in GRAPH_STEPS_TRIED
    ]
    return [*targets, *graphs]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    if cell["kind"] == "graphs":
        problem, family = cell["of"].split(", ")
        sizes = (relaxed.QUICK if quick else relaxed.Settings())._replace(steps=cell["tried"])
        row = relaxed.one(problem, family, VERTICES, cell["seed"], sizes, samplers=("ULA",))[0]
        energy, value = PAPER_ULA[problem, family]
        misfit = (
            abs(row["energy_mean"] - energy) / row["energy_std"] + abs(row["value_mean"] - value) / row["value_std"]
        )
        return [{"misfit": misfit, "energy": row["energy_mean"], "value": row["value_mean"]}]
    alpha, locations, weights = TARGETS[cell["of"]]
    on = ground(alpha, locations, weights, cell["seed"], quick)
    kernel = exact_mafla(on.target.logdensity, alpha, cell["tried"])
    long = on._replace(case=on.case._replace(settings=on.case.settings._replace(steps=FULL.steps)))
    row = measured(long, EXACT, chains(kernel))
    return [{"misfit": row["remembered"], "acceptance_rate": row["acceptance_rate"]}]


def _means(rows: list[Row], kind: str) -> dict[float, float]:
    """Return for each setting that was tried its mean over the targets."""
    own = pick(rows, kind=kind)
    return {tried: float(np.mean([row["misfit"] for row in pick(own, tried=tried)])) for tried in several(own, "tried")}


def _judge(rows: list[Row]) -> Verdict:
    sizes, steps, steps_used = _means(rows, "chains"), _means(rows, "graphs"), relaxed.Settings().steps
    smallest = min((tau for tau, mean in sizes.items() if mean < FORGOTTEN), default=max(sizes))
    nearest = min(steps, key=lambda tried: steps[tried])
    claims = []
    for text, means, used, best in (
        (f"the step size is the smallest at which {FULL.steps} steps forget the start", sizes, STEP_SIZE, smallest),
        ("the steps on graphs are those at which ULA is nearest the paper's", steps, steps_used, nearest),
    ):
        listed = ", ".join(f"{mean:.2g} at {tried:g}" for tried, mean in means.items())
        claims.append(Claim(text, "–", f"{used:g} is in use, {best:g} is chosen; {listed}", best == used))
    return Verdict(tuple(claims), "This is about our own choices; the paper states none of them.")


def _draw(rows: list[Row]) -> Any:
    figure, axes = panels(1, 2, 5.4, 4.2)
    titles = {
        "chains": (f"exact MAFLA, {FULL.steps} steps: rank correlation\nof start and end", "step size τ"),
        "graphs": (f"ULA, {VERTICES} vertices: distance\nfrom the paper's, in std", "steps of τ = 0.1"),
    }
    for axis, (kind, (title, label)) in zip(axes[0], titles.items(), strict=True):
        own = pick(rows, kind=kind)
        for index, name in enumerate(several(own, "of")):
            found = pick(own, of=name)
            style = {"color": (*COLOURS, INK, "#999999")[index], "marker": MARKERS[index], "markersize": 4}
            axis.plot([row["tried"] for row in found], [row["misfit"] for row in found], label=name, **style)
        tried = several(own, "tried")
        axis.set_xscale("log")
        axis.set_xticks(tried, [f"{value:g}" for value in tried])
        axis.minorticks_off()
        axis.set_title(title, color=INK, fontsize=11)
        axis.set_xlabel(label, color=INK, fontsize=10)
        axis.legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    "settings",
    "Not in the paper: the sweep that chooses what it does not state",
    "Networks and trainings are the defaults, but for that of an energy, which has half as many steps.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
