"""Results on the disk: nothing half written counts, and configurations do not mix."""

import json
from pathlib import Path

import pytest

from mafla.reproduce import records


def record(seed: int, error: str | None = None) -> dict[str, object]:
    return {"cell": {"seed": seed}, "rows": [{"w1": 1.0}], "error": error}


@pytest.mark.parametrize("cut", [1, 2, 10, 40])
def test_a_line_that_was_cut_off_is_computed_again_and_spoils_nothing(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.jsonl"
    for seed in range(3):
        records.append(path, record(seed))
    path.write_bytes(path.read_bytes()[:-cut])
    expected = {0, 1} if cut > 1 else {0, 1, 2}  # without its last newline a line is still whole
    assert {found["cell"]["seed"] for found in records.read(path)} == expected
    records.append(path, record(2))
    assert {found["cell"]["seed"] for found in records.read(path)} == {0, 1, 2}


def test_a_failed_cell_is_not_done_and_its_success_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records.append(path, record(0, "RuntimeError: no"))
    assert records.done(records.read(path)) == set()
    assert records.rows_of(records.read(path)) == []
    records.append(path, record(0))
    assert records.done(records.read(path)) == {records.identity({"seed": 0})}
    assert len(records.read(path)) == 1


@pytest.mark.parametrize("junk", ["[]", "3", "{}", '{"cell": 1}', "\x00\x01", ""])
def test_lines_of_something_else_are_left_out(tmp_path: Path, junk: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(junk + "\n", encoding="utf-8")
    records.append(path, record(0))
    assert [found["cell"] for found in records.read(path)] == [{"seed": 0}]


def test_what_is_not_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.append(tmp_path / "a.jsonl", {"cell": {}, "rows": [{"w1": float("nan")}], "error": None})
    assert records.read(tmp_path / "a.jsonl") == []


def test_a_folder_of_another_configuration_is_refused_and_left_alone(tmp_path: Path) -> None:
    records.open_folder(tmp_path, {"quick": True, "seeds": 1})
    records.open_folder(tmp_path, {"seeds": 1, "quick": True})
    before = (tmp_path / "configuration.json").read_bytes()
    with pytest.raises(ValueError, match="with quick=true instead of quick=false"):
        records.open_folder(tmp_path, {"quick": False, "seeds": 1})
    assert (tmp_path / "configuration.json").read_bytes() == before


@pytest.mark.parametrize(("name", "content"), [("configuration.json", "{"), ("a.jsonl", "{}\n")])
def test_a_folder_that_cannot_be_understood_is_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="output must be a folder of results"):
        records.open_folder(tmp_path, {"quick": False})
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_records_are_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records.append(path, record(0))
    assert json.loads(path.read_text(encoding="utf-8")) == record(0)
