"""Pictures show what they are given: weights, counts, one frame for all, and the same bytes for the same data."""

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from mafla import plots

MODES = [[-5.0, 0.0], [5.0, 0.0]]


def cloud(count: int, spread: float = 1.0) -> np.ndarray:
    """A quarter of the points around the left mode, the rest around the right one."""
    rng = np.random.default_rng(1)
    centre = np.where(np.arange(count)[:, None] < count // 4, MODES[0], MODES[1])
    return np.asarray(centre + spread * rng.normal(size=(count, 2)))


def three_panels() -> Figure:
    wild = np.vstack([cloud(396), [[1e4, 0.0], [0.0, -1e4], [1e4, 1e4], [-1e4, 0.0]]])
    return plots.mixture_scatter({"Target": cloud(400), "Wild": wild, "Tame": cloud(400, 0.1)}, MODES)


def test_titles_give_the_weights_and_labels_count_what_is_outside() -> None:
    target, wild, tame = three_panels().axes
    assert [axis.get_title().split("\n")[0] for axis in (target, wild, tame)] == ["Target", "Wild", "Tame"]
    assert tame.get_title() == "Tame\n(0.25, 0.75)"
    assert [axis.get_xlabel() for axis in (target, wild, tame)] == [
        "0 of 400 outside",
        "4 of 400 outside",
        "0 of 400 outside",
    ]


def test_all_panels_have_one_frame_with_the_modes_inside() -> None:
    axes = three_panels().axes
    assert len({(*axis.get_xlim(), *axis.get_ylim()) for axis in axes}) == 1
    left, right = axes[0].get_xlim()
    assert left < -5 < 5 < right


def test_no_text_lies_on_other_text_or_is_cut_off() -> None:
    figure = three_panels()
    figure.draw_without_rendering()  # lays it out
    axes = figure.axes
    texts = [text for axis in axes for text in (axis.title, axis.xaxis.label)]
    for axis in axes:
        left, right = axis.get_xlim()
        texts += [tick.label1 for tick in axis.xaxis.get_major_ticks() if left <= tick.get_loc() <= right]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) > 2 * len(axes)
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    width, height = figure.get_size_inches() * figure.dpi
    assert all(box.x0 > 0 and box.x1 < width and box.y0 > 0 and box.y1 < height for box in boxes)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_equal_figures_give_equal_bytes(kind: str, start: bytes) -> None:
    first, second = (plots.to_bytes(three_panels(), kind) for _ in range(2))
    assert first.startswith(start)
    assert first == second


@pytest.mark.parametrize(
    ("panels", "locations", "named"),
    [
        ({}, MODES, "panels"),
        ({"A": [[np.nan, 0.0]]}, MODES, "panels"),
        ({"A": np.zeros((5, 3))}, MODES, "panels"),
        ({"A": np.zeros((5, 2))}, [[0.0, 0.0, 0.0]], "locations"),
        ({"A": np.zeros((5, 2))}, np.zeros((7, 2)), "locations"),
    ],
)
def test_bad_arguments_are_named(panels: dict[str, Any], locations: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named} must "):
        plots.mixture_scatter(panels, locations)


def test_other_kinds_of_file_are_refused() -> None:
    with pytest.raises(ValueError, match="kind must be png or svg, got 'gif'"):
        plots.to_bytes(three_panels(), "gif")


def test_a_missing_matplotlib_is_answered_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mafla\[plot\]'"):
        plots.mixture_scatter({"A": cloud(8)}, MODES)


def test_pyplot_is_left_alone() -> None:
    program = (
        "import sys; from mafla import plots\n"
        "plots.to_bytes(plots.mixture_scatter({'A': [[0.0, 1.0]]}, [[0.0, 0.0]]), 'png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
