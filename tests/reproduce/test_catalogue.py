"""Every experiment of the paper: named, with cells that can be told apart, and judged by rows alone."""

import json

import pytest

from mafla.reproduce import records
from mafla.reproduce.catalogue import EXPERIMENTS, compute, named

NAMES = [
    "stable-densities",
    "mixture",
    "alpha-grid",
    "step-size",
    "dimension",
    "riesz-order",
    "alpha-loss",
    "random-walk",
    "maxcut",
    "vertex-cover",
    "settings",
]


def test_the_names_are_those_of_the_documentation() -> None:
    assert list(EXPERIMENTS) == NAMES
    assert [each.name for each in named(["all"])] == NAMES
    assert [each.name for each in named(["mixture", "maxcut", "mixture"])] == ["mixture", "maxcut"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("mixtur", "mixture"), ("max-cut", "maxcut"), ("alphagrid", "alpha-grid"), ("Dimension", "dimension")],
)
def test_a_wrong_name_gets_the_list_and_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(ValueError, match=rf"one of stable-densities, .*got '{wrong}'; did you mean '{right}'\?"):
        named([wrong])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quick", [True, False])
def test_cells_are_json_and_different(name: str, quick: bool) -> None:
    cells = EXPERIMENTS[name].cells(quick, 3)
    assert json.loads(json.dumps(cells)) == cells
    assert len({records.identity(cell) for cell in cells}) == len(cells)


def test_the_cells_are_those_of_the_paper() -> None:
    dims = {cell["dim"] for cell in EXPERIMENTS["dimension"].cells(False, 3)}
    assert dims == {8, 12, 16, 20, 24, 28, 32}
    orders = EXPERIMENTS["riesz-order"].cells(False, 1)
    assert {cell["order"] for cell in orders} - {None} == {0, 1, 3, 5}
    assert {cell["alpha"] for cell in orders} == {1.2, 1.5, 1.8}
    spacings = {cell["spacing"] for cell in orders} - {None}
    assert (min(spacings), max(spacings)) == (1e-3, 1e-1)
    weights = {cell["lambda"] for cell in EXPERIMENTS["alpha-loss"].cells(False, 1)} - {None}
    assert (min(weights), max(weights)) == (0, 2)
    for name in ("maxcut", "vertex-cover"):
        assert {cell["vertices"] for cell in EXPERIMENTS[name].cells(False, 1)} == {64, 256, 512, 1024}
    sizes = {cell["tau"] for cell in EXPERIMENTS["step-size"].cells(False, 1)}
    assert max(sizes) / min(sizes) >= 999


def test_a_record_says_what_it_depends_on() -> None:
    task = {"experiment": "stable-densities", "cell": {"alpha": 1.5}, "quick": True}
    record = compute(task)
    assert {name: record[name] for name in task} == task
    assert set(record["versions"]) == {"python", "mafla", "jax", "numpy"}
    assert record["error"] is None
    assert json.loads(json.dumps(record, allow_nan=False)) == record
