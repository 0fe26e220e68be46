"""Rows come from the files that people have, and a file that is none is refused with its line."""

from pathlib import Path

import numpy as np
import pytest

from mafla.learn.rows_file import read_rows

ROWS = np.array([[1.0, -2.5], [3e10, 4.0]])


@pytest.mark.parametrize(
    "text",
    [
        "1,-2.5\n3e10,4\n",
        "a;b\n1; -2.5\n\n3e10;4",
        "# made by hand\n1 -2.5 # first\n3e10\t4\n",
        "\ufeff1 -2.5\n3e10 4\n",
    ],
)
def test_text_is_read_whatever_separates_the_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text(text, encoding="utf-8")
    np.testing.assert_array_equal(read_rows(path), ROWS)


def test_arrays_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS.astype(np.float32))
    np.testing.assert_allclose(read_rows(tmp_path / "rows.npy"), ROWS, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"x,y\n1,2\n3\n", "a.csv:3: must have 2 columns as the first row has, got 1"),
        ("a.csv", b"1,2\n\n3,four\n", "a.csv:3: must be numbers, got 'four'"),
        ("a.csv", b"x,y\n", "a.csv: must have rows of numbers, got none"),
        ("a.csv", b"\xff\xfe\x00", "a.csv: must be text in UTF-8 or a .npy file"),
        ("a.npy", b"1,2\n", "a.npy: must hold one array of numbers .* got a file that is no array of numbers"),
    ],
)
def test_a_file_without_rows_is_refused_with_the_reason(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / name)


def test_arrays_of_another_kind_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "line.npy", np.arange(3.0))
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        read_rows(tmp_path / "line.npy")
    np.save(tmp_path / "complex.npy", np.full((2, 2), 1j))
    with pytest.raises(ValueError, match=r"got an array of shape \(2, 2\) and type complex128"):
        read_rows(tmp_path / "complex.npy")
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }\n"  # objects, which would have to be executed
    (tmp_path / "things.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match="no array of numbers"):
        read_rows(tmp_path / "things.npy")
    with pytest.raises(ValueError, match=r"missing.csv: cannot be read \(No such file"):
        read_rows(tmp_path / "missing.csv")
