"""Rows of numbers from a file: text with one row a line, or a NumPy array."""

from pathlib import Path

import numpy as np

from mafla.learn.table import Values

__all__ = ["read_rows"]


def read_rows(path: str | Path) -> Values:
    r"""Read rows from a ``.npy`` file or from text, its columns separated by commas, semicolons or white space.

    A first line without any number names the columns and is left out; empty lines and lines that begin with # are too.

    Raises:
        ValueError: in one line, with the file and the line that is wrong.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "rows.csv")
        ...     _ = path.write_text("price,volume\n1.5,2\n-3,4e5\n")
        ...     read_rows(path)
        array([[ 1.5e+00,  2.0e+00],
               [-3.0e+00,  4.0e+05]])
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            return _array(path)
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets begin a file with a mark
    except UnicodeDecodeError:
        raise ValueError(f"{path}: must be text in UTF-8 or a .npy file, got other bytes") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    return _numbers(path, text)


def _array(path: Path) -> Values:
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray) and found.ndim == 2 and found.dtype.kind in "biuf":
            return found.astype(np.float64)
        is_array = isinstance(found, np.ndarray)
        reason = f"an array of shape {found.shape} and type {found.dtype}" if is_array else "several arrays"
    except (ValueError, EOFError, MemoryError):
        reason = "a file that is no array of numbers"
    raise ValueError(f"{path}: must hold one array of numbers with the shape (rows, columns), got {reason}")


def _numbers(path: Path, text: str) -> Values:
    lines = [(number, line.split("#", 1)[0].strip()) for number, line in enumerate(text.splitlines(), start=1)]
    cells = [(number, _cells(line)) for number, line in lines if line]
    if cells and not any(_is_number(cell) for cell in cells[0][1]):
        cells = cells[1:]
    if not cells:
        raise ValueError(f"{path}: must have rows of numbers, got none")
    width = len(cells[0][1])
    for number, row in cells:
        if len(row) != width:
            raise ValueError(f"{path}:{number}: must have {width} columns as the first row has, got {len(row)}")
        for cell in row:
            if not _is_number(cell):
                raise ValueError(f"{path}:{number}: must be numbers, got {cell!r}")
    return np.array([[float(cell) for cell in row] for _, row in cells])


def _cells(line: str) -> list[str]:
    separator = next((mark for mark in ",;" if mark in line), None)
    return [cell.strip() for cell in line.split(separator)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
