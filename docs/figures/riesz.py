"""Draw docs/figures/riesz.png: how the truncated Riesz drift approaches the exact one. Run by `make docs-figures`."""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np

from mafla import targets
from mafla.drift import local_constant, riesz_drift

ALPHAS = (1.2, 1.5, 1.8)
SPACINGS = np.geomspace(0.025, 1.6, 7)
# Okabe and Ito's colours, told apart by their markers too.
WIDTHS = {102.4: ("#0072B2", "D"), 25.6: ("#009E73", "^"), 6.4: ("#56B4E9", "s"), 1.6: ("#D55E00", "o")}
POINTS = np.array([[0.5], [1.0], [2.0], [4.0]])


def worst_error(alpha: float, spacing: float, width: float) -> float:
    """Return the largest relative error of the drift over the points; a width of zero is the local drift."""
    target = targets.stable(alpha, [0.0])
    order = round(width / spacing)
    exact = -POINTS / alpha
    if order == 0:
        found = local_constant(alpha) * np.asarray(target.score(jnp.asarray(POINTS)))
    else:
        found = np.asarray(jax.jit(jax.vmap(riesz_drift(target.score, alpha, order, spacing)))(POINTS))
    return float(np.max(np.abs(found / exact - 1)))


def main() -> None:
    """Compute the errors in double precision and save the picture beside this script."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, len(ALPHAS), figsize=(10, 3.9), sharey=True, layout="constrained")
    for axis, alpha in zip(axes, ALPHAS, strict=True):
        for width, (colour, marker) in WIDTHS.items():
            spacings = [spacing for spacing in SPACINGS if spacing <= width / 2]
            errors = [worst_error(alpha, spacing, width) for spacing in spacings]
            style = {"color": colour, "marker": marker, "markerfacecolor": "white", "markersize": 6}
            axis.loglog(spacings, errors, label=f"K h = {width:g}", **style)
        axis.axhline(worst_error(alpha, 1.0, 0.0), color="black", linestyle=":", label="local drift (K = 0)")
        guide = 1e-5 * (SPACINGS[:4] / SPACINGS[0]) ** 2 * {1.2: 3, 1.5: 1.5, 1.8: 0.7}[alpha]
        axis.loglog(SPACINGS[:4], guide, color="grey", linestyle="--", linewidth=1)
        axis.annotate("slope 2", (SPACINGS[2], guide[2]), (8, -8), textcoords="offset points", color="grey")
        axis.set_title(f"α = {alpha:g}")
        axis.set_xlabel("spacing h")
        axis.grid(color="0.92")
        axis.set_axisbelow(True)
    axes[0].set_ylabel("largest relative error at x = 0.5, 1, 2, 4")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    # Without the version of matplotlib in it, the same figure is the same file.
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
