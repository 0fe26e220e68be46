"""Pictures of results. They are drawn on figures of their own: nothing here changes the state of pyplot."""

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mafla import metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["best_against_seconds", "mixture_scatter", "require_matplotlib", "to_bytes", "weights_label"]

# Okabe and Ito's colours in the order of their contrast, told apart with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK, RULE = "#333333", "#BBBBBB"


def mixture_scatter(panels: Mapping[str, ArrayLike], locations: ArrayLike) -> "Figure":
    """Draw samples of a mixture in the plane side by side, coloured by the nearest mode.

    The frame is the same for all: twice as wide as the square that holds 99.5 % of the first panel, the target, so that
    a tail too heavy has room to show. What lies outside is counted. Titles give the fraction of points by nearest mode.

    Args:
        panels: samples of shape (n, 2), by title.
        locations: the modes, of shape (modes, 2), at most six.

    Example:
        >>> import numpy as np
        >>> draws = np.random.default_rng(0).normal(size=(100, 2))
        >>> figure = mixture_scatter({"Target": draws}, [[-1.0, 0.0], [1.0, 0.0]])
        >>> len(figure.axes)
        1
    """
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    centres = np.asarray(locations, dtype=np.float64)
    samples = {title: np.asarray(points, dtype=np.float64) for title, points in panels.items()}
    _check_planar(samples, centres)
    middle, half = _frame(next(iter(samples.values())), centres)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.1)  # inches
    figure = Figure(figsize=(3.6 * len(samples), 4.3), layout=layout)
    axes = figure.subplots(1, len(samples), sharex=True, sharey=True, squeeze=False)[0]
    for axis, (title, points) in zip(axes, samples.items(), strict=True):
        _scatter(axis, points, centres)
        axis.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
        axis.set_title(f"{title}\n{weights_label(metrics.mixture_weights(points, centres))}", color=INK, fontsize=11)
        outside = int((np.abs(points - middle) > half).any(axis=1).sum())
        axis.set_xlabel(f"{outside} of {len(points)} outside", color=INK, fontsize=10)
    return figure


def best_against_seconds(panels: Mapping[str, tuple[float, float, Mapping[str, ArrayLike]]]) -> "Figure":
    """Draw how far the best so far is from the best known, against seconds, for several solvers on several problems.

    Args:
        panels: by title, the best value known, the seconds that all had and, by the name of each solver, its history
            of (seconds, value).

    Example:
        >>> figure = best_against_seconds({"G1": (11624.0, 2.0, {"ours": [(0.1, 11000.0), (1.0, 11624.0)]})})
        >>> len(figure.axes)
        1
    """
    figure, axes = _row_of_panels(panels)
    names = list(dict.fromkeys(name for *_, histories in panels.values() for name in histories))
    for axis, (known, limit, histories) in zip(axes, panels.values(), strict=True):
        for name, history in histories.items():
            seconds, values = np.asarray(history, np.float64).T
            gap = 100 * np.abs(known - values) / abs(known)
            style = {"color": COLOURS[names.index(name) % len(COLOURS)], "linewidth": 1.8}
            end = max(limit, seconds[-1])
            axis.step(np.append(seconds, end), np.append(gap, gap[-1]), where="post", label=name, **style)
            axis.plot(seconds[-1], gap[-1], "o", markersize=4, color=style["color"])
        axis.set_yscale("symlog", linthresh=0.05)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("CPU seconds", color=INK, fontsize=10)
    axes[0].set_ylabel("below the best known, %", color=INK, fontsize=10)
    _shared_legend(figure, axes)
    return figure


def error_against_seconds(panels: Mapping[str, Mapping[str, ArrayLike]]) -> "Figure":
    """Draw the error of a tail probability against seconds, for several samplers on several problems.

    Args:
        panels: by title and by the name of each sampler, seconds and errors, of shape (2, times).

    Example:
        >>> figure = error_against_seconds({"Cauchy": {"ours": [[1.0, 2.0], [0.2, 0.1]]}})
        >>> len(figure.axes)
        1
    """
    figure, axes = _row_of_panels(panels)
    names = list(dict.fromkeys(name for samplers in panels.values() for name in samplers))
    for axis, samplers in zip(axes, panels.values(), strict=True):
        for name, trace in samplers.items():
            seconds, errors = np.asarray(trace, np.float64)
            colour = COLOURS[names.index(name) % len(COLOURS)]
            axis.plot(seconds, errors, "o-", markersize=4, linewidth=1.8, label=name, color=colour)
        axis.set_yscale("log")
        axis.set_xlabel("seconds, warm-up included", color=INK, fontsize=10)
    axes[0].set_ylabel("relative error of P(beyond q0.99)", color=INK, fontsize=10)
    _shared_legend(figure, axes)
    return figure


def _row_of_panels(panels: Mapping[str, Any]) -> tuple["Figure", Any]:
    """Return a figure with a panel for each title, its seconds on a logarithmic scale."""
    require_matplotlib()
    from matplotlib.figure import Figure

    if not panels:
        raise ValueError("panels must hold at least one problem, got none")
    figure = Figure(figsize=(4.2 * len(panels), 3.8), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, title in zip(axes, panels, strict=True):
        axis.set_title(title, color=INK, fontsize=11)
        axis.set_xscale("log")
        axis.tick_params(color=RULE, labelcolor=INK, labelsize=9)
        axis.spines[:].set_color(RULE)
    return figure, axes


def _shared_legend(figure: "Figure", axes: Any) -> None:
    from matplotlib.ticker import NullFormatter

    for axis in axes:  # labels of minor ticks, which less than a decade gets, overlap
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)


def to_bytes(figure: "Figure", kind: str) -> bytes:
    """Return a figure as a file, ``png`` or ``svg``; equal figures give equal bytes.

    Example:
        >>> figure = mixture_scatter({"Target": [[0.0, 1.0], [1.0, 0.0]]}, [[0.0, 0.0]])
        >>> to_bytes(figure, "png")[1:4]
        b'PNG'
    """
    if kind not in ("png", "svg"):
        raise ValueError(f"kind must be png or svg, got {kind!r}")
    from matplotlib import rc_context

    file = io.BytesIO()
    undated = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "mafla"}):
        figure.savefig(file, format=kind, dpi=200, metadata=undated)
    return file.getvalue()


def weights_label(weights: Iterable[float]) -> str:
    """Return mixture weights as they are written in titles and tables.

    Example:
        >>> weights_label([0.2, 0.8])
        '(0.20, 0.80)'
    """
    return f"({', '.join(f'{weight:.2f}' for weight in weights)})"


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is missing, before any work is done for a picture."""
    try:
        import matplotlib as mpl  # noqa: F401 - only to see that it is there
    except ModuleNotFoundError as error:
        message = "pictures need matplotlib, which is not installed: pip install 'mafla[plot]'"
        raise ModuleNotFoundError(message, name="matplotlib") from error


def _check_planar(samples: Mapping[str, np.ndarray], centres: np.ndarray) -> None:
    if not samples:
        raise ValueError("panels must hold at least one sample, got none")
    if centres.ndim != 2 or centres.shape[1] != 2 or not 1 <= len(centres) <= len(COLOURS):
        raise ValueError(f"locations must have shape (modes, 2) with 1 to {len(COLOURS)} modes, got {centres.shape}")
    for title, points in samples.items():
        if points.ndim != 2 or points.shape[1] != 2 or not len(points) or not np.isfinite(points).all():
            raise ValueError(f"panels must be finite points of shape (n, 2), got shape {points.shape} for {title!r}")


def _frame(points: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and half side of a square."""
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2
    reach = np.quantile(np.abs(points - middle).max(axis=1), 0.995)
    return middle, float(2 * max(reach, np.abs(centres - middle).max(), 1e-9))


def _scatter(axis: "Axes", points: np.ndarray, centres: np.ndarray) -> None:
    nearest = np.argmin(np.linalg.norm(points[:, None] - centres, axis=2), axis=1)
    for mode, colour in enumerate(COLOURS[: len(centres)]):
        # Points as pixels, text as text: as shapes, thousands of points make a drawing that is slow to open.
        x, y = points[nearest == mode].T
        axis.scatter(x, y, s=5, color=colour, alpha=0.45, linewidths=0, rasterized=True)
    axis.plot(*centres.T, "+", color="white", markersize=11, markeredgewidth=3.0)
    axis.plot(*centres.T, "+", color="black", markersize=9, markeredgewidth=1.4)
    axis.tick_params(color=RULE, labelcolor=INK, labelsize=9)
    axis.spines[:].set_color(RULE)
