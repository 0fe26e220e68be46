"""From names to files: what is done is kept, what failed is said, and a run goes on where it stopped."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mafla import cli
from mafla.reproduce import catalogue, job, records
from mafla.reproduce.experiment import Cell, Claim, Experiment, Row, Verdict
from mafla.reproduce.stable_densities import EXPERIMENT as DENSITIES

NAME = "stable-densities"


class Toy:
    """An experiment in place of the densities, which counts what it computes and fails where it is told to."""

    def __init__(self) -> None:
        self.computed: list[int] = []
        self.bad: set[int] = set()
        figures = {"": lambda _rows: DENSITIES.figures[""](_densities())}
        self.experiment = Experiment(NAME, "Toy", "None.", self.cells, self.measure, figures, self.judge)

    def cells(self, quick: bool, seeds: int) -> list[Cell]:
        return [{"seed": seed} for seed in range(2 if quick else seeds)]

    def measure(self, cell: Cell, quick: bool) -> list[Row]:
        assert isinstance(quick, bool)
        self.computed.append(cell["seed"])
        if cell["seed"] in self.bad:
            raise RuntimeError("too\nhard")
        return [{"w1": float(cell["seed"]), "odd": float("nan")}]

    def judge(self, rows: list[Row]) -> Verdict:
        return Verdict((Claim("all are there", "–", f"{len(rows)}", True),))


def _densities() -> list[Row]:
    return [{"alpha": 1.5, "x": [0.0, 1.0], "density": [0.3, 0.1]}]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    found = Toy()
    monkeypatch.setitem(catalogue.EXPERIMENTS, NAME, found.experiment)
    return found


def run(folder: Path, **settings: Any) -> Any:
    return job.reproduce([NAME], folder, partial(ThreadPoolExecutor, 1), **settings)


def test_a_second_run_computes_nothing_and_writes_the_same(toy: Toy, tmp_path: Path) -> None:
    files, results = run(tmp_path / "new")
    assert toy.computed == [0, 1, 2]
    assert results[0].word == "reproduced"
    names = {"stable-densities.png", "stable-densities.svg", "report.html", "paper-verdicts.md"}
    assert {path.name for path in files} == names
    before = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert set(before) == names | {"stable-densities.jsonl", "configuration.json"}
    run(tmp_path / "new")
    assert toy.computed == [0, 1, 2]
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == before


def test_a_truncated_line_is_computed_again(toy: Toy, tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / f"{NAME}.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    _, results = run(tmp_path)
    assert toy.computed == [0, 1, 2, 2]
    assert results[0].finished == 3


def test_a_failed_cell_is_recorded_and_tried_again(toy: Toy, tmp_path: Path) -> None:
    toy.bad = {1}
    tallies: list[job.Tally] = []
    _, results = run(tmp_path, report=tallies.append)
    assert toy.computed == [0, 1, 2]
    assert results[0].word == "no verdict: 2 of 3 cells are done, 1 failed"
    assert results[0].errors == ["{'seed': 1}: RuntimeError: too hard"]
    assert tallies[-1][:3] == (3, 2, 1)
    assert "RuntimeError: too hard" in (tmp_path / "report.html").read_text(encoding="utf-8")
    toy.bad = set()
    _, results = run(tmp_path)
    assert toy.computed == [0, 1, 2, 1]
    assert results[0].word == "reproduced"


def test_what_is_not_finite_is_null(toy: Toy, tmp_path: Path) -> None:
    run(tmp_path)
    assert toy.computed
    assert records.rows_of(records.read(tmp_path / f"{NAME}.jsonl"))[1] == {"seed": 1, "w1": 1.0, "odd": None}


def test_other_sizes_are_refused_and_nothing_is_computed(toy: Toy, tmp_path: Path) -> None:
    run(tmp_path)
    for settings in ({"quick": True}, {"seeds": 4}):
        with pytest.raises(ValueError, match="output must be a folder of the same configuration"):
            run(tmp_path, **settings)
    assert toy.computed == [0, 1, 2]


def test_the_command_ends_with_one_if_a_cell_failed(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mafla.executing.processes", ThreadPoolExecutor)
    toy.bad = {0}
    arguments = ["reproduce", NAME, "--output", str(tmp_path / "out")]
    assert cli.main(arguments) == 1
    assert "1 cells failed" in capsys.readouterr().err
    toy.bad = set()
    assert cli.main([*arguments, "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] == "reproduced"
    assert verdict["claims"][0]["ours"] == "3"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mixtures"], "did you mean 'mixture'?"),
        ([], "name an experiment, or all"),
        ([NAME, "--workers", "0"], "workers must be a whole number of at least 1, got 0"),
        ([NAME, "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
    ],
)
def test_a_bad_argument_is_named_and_nothing_is_written(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["reproduce", *arguments, "--output", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
