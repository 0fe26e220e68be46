"""Figures of experiments: curves with what they spread over the seeds, and heat maps with a number in each field."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mafla.plots import COLOURS, INK, RULE, require_matplotlib

__all__ = ["MARKERS", "Curve", "curves", "heat_maps", "legend_below", "panels"]

MARKERS = "os^Dv<>P"  # so that curves can be told apart without their colours

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]  # x, middle, half the height of the bar


def panels(rows: int, columns: int, width: float = 4.0, height: float = 3.4) -> tuple[Any, Any]:
    """Return a figure with so many panels, in the house style.

    Example:
        >>> figure, axes = panels(1, 2)
        >>> axes.shape
        (1, 2)
    """
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.tick_params(color=RULE, labelcolor=INK, labelsize=9)
        axis.spines[:].set_color(RULE)
    return figure, axes


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Explain the curves of all panels once, below them, in at most so many columns."""
    handles = {
        label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    style = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    figure.legend(handles.values(), handles.keys(), ncols=min(len(handles), columns), **style)


def curves(
    titles: Mapping[str, Mapping[str, Curve]], x_label: str, *, log_x: bool = False, floor: str = "independent draws"
) -> Any:
    """Draw a panel for each title with a curve for each name, on a logarithmic scale.

    Args:
        titles: curves by title and by name.
        x_label: of all panels.
        log_x: whether x is shown by its logarithm too.
        floor: the name of the curve that is drawn as a thin grey line.

    Example:
        >>> figure = curves({"W1": {"FULA": ([1, 2], [3.0, 4.0], [0.1, 0.1])}}, "step size")
        >>> len(figure.axes)
        1
    """
    figure, axes = panels(1, len(titles))
    names = list(dict.fromkeys(name for each in titles.values() for name in each if name != floor))
    for axis, (title, found) in zip(axes[0], titles.items(), strict=True):
        for name, (x, middle, spread) in found.items():
            style: dict[str, Any] = {"color": INK, "linestyle": "--", "linewidth": 1.0}
            if name != floor:
                index = names.index(name)
                style = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
                style |= {"linewidth": 1.6, "markersize": 5}
            # A bar that reaches zero has no end on a logarithmic scale.
            below = np.minimum(spread, 0.9 * np.asarray(middle, np.float64))
            axis.errorbar(x, middle, yerr=[below, spread], capsize=2, label=name, **style)
        axis.set_title(title, color=INK, fontsize=11)
        axis.set_xlabel(x_label, color=INK, fontsize=10)
        axis.set_yscale("log")
        if log_x:
            axis.set_xscale("log")
    legend_below(figure, axes, 2 * len(titles))
    return figure


def heat_maps(
    maps: Sequence[Sequence[tuple[str, np.ndarray]]],
    x_names: Sequence[str],
    y_names: Sequence[str],
    labels: Sequence[str],
    *,
    shared: bool = False,
) -> Any:
    """Draw a grid of heat maps, darker for larger values by their logarithm, with the value in each field.

    Args:
        maps: title and values, of shape (y, x), by row and column of the grid; what is not finite stays empty.
        x_names: of the columns of each map.
        y_names: of its rows.
        labels: of the axes, x and y.
        shared: whether all maps have the same scale of colours, instead of each its own.

    Example:
        >>> figure = heat_maps([[("W1", np.ones((2, 3)))]], ["a", "b", "c"], ["d", "e"], ["K", "h"])
        >>> len(figure.axes)
        1
    """
    from matplotlib.colors import LogNorm

    width, height = 1.4 + 0.62 * len(x_names), 1.1 + 0.42 * len(y_names)
    figure, axes = panels(len(maps), len(maps[0]), max(width, 3.2), max(height, 2.4))
    flat = [each for row in maps for each in row]
    everything = np.concatenate([values.ravel() for _, values in flat])
    for axis, (title, values) in zip(axes.flat, flat, strict=True):
        norm = LogNorm(*_limits(everything if shared else values))
        axis.imshow(values, cmap="cividis_r", norm=norm, aspect="auto")
        axis.set_xticks(range(len(x_names)), x_names)
        axis.set_yticks(range(len(y_names)), y_names)
        axis.set_xlabel(labels[0], color=INK, fontsize=10)
        axis.set_ylabel(labels[1], color=INK, fontsize=10, labelpad=6)
        axis.set_title(title, color=INK, fontsize=11)
        for (y, x), value in np.ndenumerate(values):
            if np.isfinite(value):
                dark = value > 0 and norm(value) > 0.55
                axis.text(
                    x, y, f"{value:.3g}", ha="center", va="center", fontsize=8, color="white" if dark else "black"
                )
    return figure


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest of what has a logarithm, apart from each other."""
    finite = values[np.isfinite(values) & (values > 0)]
    low, high = (finite.min(), finite.max()) if finite.size else (1.0, 2.0)
    return float(low), float(max(high, low * 1.001))
