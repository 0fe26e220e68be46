"""``mafla maxcut`` and ``mafla vertex-cover``: answers that can be checked, and one line about what is wrong."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mafla import cli
from mafla.graphs.reading import read_graph

PENTAGON = "5 5\n1 2 1\n2 3 1\n3 4 1\n4 5 1\n1 5 1\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "G5.txt"
    path.write_text(PENTAGON, encoding="utf-8")
    return path


def test_a_cut_is_printed_and_written(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--time", "0.2", "--seed", "3", "--output", str(tmp_path / "out")]
    assert cli.main(["maxcut", str(file), *options]) == 0
    first, path = capsys.readouterr().out.splitlines()
    assert first.startswith("maxcut 4")
    assert "(5 vertices, 5 edges, " in first
    saved = json.loads(Path(path).read_text(encoding="utf-8"))
    row: dict[str, Any] = saved["rows"][0]
    signs = [1 if vertex in row["chosen"] else -1 for vertex in range(1, 6)]
    assert read_graph(file).cut_value(signs) == row["value"] == 4
    assert (saved["seed"], saved["time"]) == (3, 0.2)


def test_a_cover_is_printed_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["vertex-cover", str(file), "--time", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["value"] == 3 == len(row["chosen"])
    assert row["optimal"]
    assert read_graph(file).covers([vertex in row["chosen"] for vertex in range(1, 6)])


def test_the_complement_of_a_pentagon_is_one_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["vertex-cover", str(file), "--complement", "--time", "1"]) == 0
    assert capsys.readouterr().out.startswith("vertex-cover 3, optimal (5 vertices, 5 edges, ")


def test_vertices_keep_their_names_and_changes_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.edges"
    path.write_text("ann bob\nbob ann\ncarl carl\n", encoding="utf-8")
    assert cli.main(["vertex-cover", str(path), "--time", "1"]) == 0
    assert "1 self-loop was dropped" in capsys.readouterr().out
    assert cli.main(["vertex-cover", str(path), "--time", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"] in (["ann"], ["bob"])


@pytest.mark.parametrize("command", ["maxcut", "vertex-cover"])
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", (), "G5.txt"),
        ("0 0\n", (), "G5.txt:1"),
        ("1 0\n", (), "G5.txt:1: the header says N = 1 vertices"),
        ("3 0\n", (), "G5.txt: no edges; at least one is needed"),
        ("2 1\n1 2 1\n", ("--complement",), "G5.txt: no edges in the complement"),
        ("3 2\n1 2 1\n", (), "G5.txt"),
        ("3 1\n1 4 1\n", (), "G5.txt:2"),
        ("3 1\n1 2 x\n", (), "G5.txt:2"),
        ("3 1\n1 2 nan\n", (), "G5.txt:2"),
        ("\x89PNG\r\n\x1a\n\x00\x00", (), "G5.txt"),
        (PENTAGON, ("--time", "0"), "--time must be a positive finite number, got 0.0"),
        (PENTAGON, ("--seed", "-1"), "for --seed. It must be at least 0 and at most 4294967295"),
    ],
)
def test_bad_input_is_one_line_code_2_and_nothing_written(
    command: str,
    content: str,
    options: tuple[str, ...],
    message: str,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file.write_text(content, encoding="latin-1")
    assert cli.main([command, str(file), "--output", str(tmp_path / "out"), *options]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_negative_weights_have_no_cover(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("3 2\n1 2 3\n2 3 -1\n", encoding="utf-8")
    assert cli.main(["vertex-cover", str(file)]) == 2
    assert f"{file}:3: the weight is -1; zero or more is allowed" in capsys.readouterr().err
    assert cli.main(["vertex-cover", str(file), "--complement", "--time", "1"]) == 0  # has no weights


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["maxcut", str(tmp_path / "nothing.txt")]) == 2
    assert "nothing.txt" in capsys.readouterr().err


def test_large_weights_are_printed_to_the_last_digit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heavy.edges"
    path.write_text("a b 12345678901\nb c 12345678902\na c 12345678907\n", encoding="utf-8")
    assert cli.main(["maxcut", str(path), "--time", "0.1"]) == 0
    assert capsys.readouterr().out.startswith("maxcut 24691357809, bound 27777777")


def test_an_answer_that_cannot_be_written_is_not_lost(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "maxcut.json").mkdir(parents=True)  # a folder in the place of the file
    assert cli.main(["maxcut", str(file), "--time", "0.1", "--output", str(tmp_path / "out")]) == 2
    out, error = capsys.readouterr()
    assert out.startswith("maxcut 4")
    assert "--output must be a folder that can be written" in error


def test_the_name_of_a_file_may_be_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / os.fsdecode(b"g\xff.edges")
    path.write_text("a b\n", encoding="utf-8")
    assert cli.main(["maxcut", str(path), "--time", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graph"] == "g\ufffd.edges"
