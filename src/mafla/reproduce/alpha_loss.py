"""The weight λ_α of the loss in the α-norm, with the order of the drift: the paper's nine heat maps."""

from typing import Any

import numpy as np

from mafla.reproduce.chosen import STEP_SIZE
from mafla.reproduce.drift_orders import ALPHAS, mafla_with_order, map_of, nine_maps, references
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict, pick, several
from mafla.reproduce.lineup import EXACT, IDEAL, IID, MAFLA

__all__ = ["EXPERIMENT"]

WEIGHTS, QUICK_WEIGHTS = (0.0, 0.5, 1.0, 2.0), (0.0, 2.0)
ORDERS, QUICK_ORDERS = (0, 1, 3, 5), (0,)
SPACING = 0.01
HEAVY = 1.5  # α up to which the paper calls the gain significant


def _cells(quick: bool, seeds: int) -> list[Cell]:
    del seeds  # the paper's maps have none
    weights, orders = (QUICK_WEIGHTS, QUICK_ORDERS) if quick else (WEIGHTS, ORDERS)
    pairs = [(None, None), *((order, weight) for weight in weights for order in orders)]
    return [
        {"alpha": alpha, "order": order, "lambda": weight, "seed": 0} for order, weight in pairs for alpha in ALPHAS
    ]


def _measure(cell: Cell, quick: bool) -> list[Row]:
    if cell["order"] is None:
        return references(cell["alpha"], cell["seed"], quick)
    return [mafla_with_order(cell["alpha"], cell["order"], SPACING, cell["seed"], quick, cell["lambda"])]


def _draw(rows: list[Row]) -> Any:
    return nine_maps(rows, "order", "lambda", ("order K", r"weight $\lambda_\alpha$"))


def _judge(rows: list[Row]) -> Verdict:
    own = pick(rows, sampler=MAFLA)
    alphas, orders, weights = (several(own, name) for name in ("alpha", "order", "lambda"))
    heavy = [alpha for alpha in alphas if alpha <= HEAVY]
    tails, bodies = (
        {alpha: map_of(rows, name, alpha, "order", "lambda") for alpha in alphas} for name in ("q99_error", "w1")
    )

    def medians(grids: dict[float, np.ndarray], which: list[float], worst: float) -> tuple[str, bool]:
        """Compare the first row, λ_α = 0, with all others, over all K."""
        pairs = {alpha: (np.median(grids[alpha][0]), np.median(grids[alpha][1:])) for alpha in which}
        text = "; ".join(f"α={alpha:g}: {before:.3g} to {after:.3g}" for alpha, (before, after) in pairs.items())
        return f"medians over K, λ_α=0 to λ_α≥0.5: {text}", all(after < worst * old for old, after in pairs.values())

    first = tails[heavy[0]]
    by_order = "; ".join(
        f"K={order:g}: {old:.3g} to {new:.3g}" for order, old, new in zip(orders, first[0], first[-1], strict=True)
    )
    claims = (
        Claim(
            "λ_α > 0 reduces the error of the 0.99-quantile for heavy tails, by a fifth at least",
            "–",
            *medians(tails, heavy, 0.8),
        ),
        Claim(
            f"it does so consistently: λ_α={weights[-1]:g} is better than none at each K",
            "14.80 (λ_α=0, K=1) to 1.18 (λ_α=2, K=0) at α=1.2",
            f"λ_α=0 to λ_α={weights[-1]:g} at α={heavy[0]:g}: {by_order}",
            all(bool((tails[alpha][-1] < tails[alpha][0]).all()) for alpha in heavy),
        ),
        Claim("it does not raise W1 by more than a tenth", "–", *medians(bodies, alphas, 1.1)),
    )
    names = (IDEAL, EXACT, IID)
    means = {name: [pick(rows, sampler=name, alpha=alpha)[0]["q99_error"] for alpha in alphas] for name in names}
    others = "; ".join(f"{name} {', '.join(f'{value:.3g}' for value in values)}" for name, values in means.items())
    accepted = np.mean([row["acceptance_rate"] for row in own])
    reason = (
        f"Error of the 0.99-quantile at α = {', '.join(f'{alpha:g}' for alpha in alphas)}: {others}. Each field is"
        f" one training, so that neighbours differ by noise too. Mean acceptance {accepted:.2f}."
    )
    return Verdict(claims, reason)


EXPERIMENT = Experiment(
    "alpha-loss",
    "Appendix: weight λ_α of the loss in the α-norm, h = 0.01",
    f"Step size {STEP_SIZE:g}, chosen by `mafla reproduce settings`; one seed, as in the paper's maps.",
    _cells,
    _measure,
    {"": _draw},
    _judge,
)
