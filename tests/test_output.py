"""Files are whole or not there, and what is wrong with their folder is said in one line."""

import json
from pathlib import Path

import pytest

from mafla.output import as_record, versions, write_files


def test_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    assert write_files(tmp_path / "new", {"a": b"1", "b": b"2"}) == [tmp_path / "new" / name for name in "ab"]
    assert sorted(path.read_bytes() for path in (tmp_path / "new").iterdir()) == [b"1", b"2"]


@pytest.mark.parametrize("rows", [[], [{"α": [1.0, 2.5]}], [{"a": "x\ny"}, {"b": {"c": None}}]])
def test_a_record_has_a_line_for_each_row(rows: list[dict[str, object]]) -> None:
    text = as_record(rows, seed=3).decode()
    assert json.loads(text) == {"seed": 3, "versions": versions(), "rows": rows}
    assert [json.loads(line.rstrip(",")) for line in text.splitlines()[1:-1] if line] == rows


def test_a_file_in_the_place_of_the_folder_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"^--output must be a folder that can be written, got .*file \(File exists\)$"
    ):
        write_files(tmp_path / "file", {"a": b"1"})


def test_files_that_cannot_all_be_put_in_place_leave_no_parts(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(ValueError, match="--output must be a folder that can be written"):
        write_files(tmp_path, {"b": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
