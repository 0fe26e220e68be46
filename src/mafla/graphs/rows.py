"""Lines of text with numbers in them: read all at once, and one by one only where a line is to blame or has words."""

import math
import re
import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Parsed", "Rows", "data_rows", "edge_list", "is_whole", "number_table", "numbered_edges"]

# A vertex may be called by anything without the signs of other formats, such as JSON or source code.
WORD = re.compile(r"""[^\s,;"'<>{}()\[\]=]+""")
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # what int64 holds for sure; longer ones count as words
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COLUMN_NAMES = {"source", "target", "from", "to", "src", "dst", "node1", "node2", "vertex1", "vertex2"}


class Parsed(NamedTuple):
    """What a file says: loops and parallel edges are still there, and vertices are numbered from 0."""

    num_vertices: int
    ends: NDArray[np.int64]
    weights: NDArray[np.float64]
    lines: list[int]  # where each edge is
    labels: tuple[Any, ...] | None = None


class Table(NamedTuple):
    """Two whole numbers and a weight from each row."""

    ends: NDArray[np.int64]
    weights: NDArray[np.float64]


class Rows(NamedTuple):
    """Lines of a file that hold data, and their line numbers."""

    path: str
    texts: list[str]
    places: list[int]

    def after_header(self) -> "Rows":
        """Return all rows but the first."""
        return Rows(self.path, self.texts[1:], self.places[1:])

    def after_letter(self, letter: str) -> "Rows":
        """Return what follows the letter with which each row must begin."""
        for index, text in enumerate(self.texts):
            if not text.startswith((f"{letter} ", f"{letter}\t")):
                self.fail(index, f"the line is {_quote(text)}", f"after `p` only lines `{letter} u v` are allowed")
        return Rows(self.path, [text[2:] for text in self.texts], self.places)

    def fail(self, index: int, problem: str, allowed: str) -> NoReturn:
        """Raise an error that names the file and the line in it."""
        raise ValueError(f"{self.path}:{self.places[index]}: {problem}; {allowed}")


def data_rows(path: str, lines: list[str], *, c_is_comment: bool) -> Rows:
    """Return the lines that are neither blank nor comments; lines are without space around them."""
    signs = ("#", "%", "c ", "c\t") if c_is_comment else ("#", "%")
    bare = ("", "c") if c_is_comment else ("",)
    places = [at for at, line in enumerate(lines, 1) if not line.startswith(signs) and line not in bare]
    return Rows(path, [lines[at - 1] for at in places], places)


def numbered_edges(rows: Rows, num_vertices: int) -> Parsed:
    """Read rows `u v` or `u v w` with vertices numbered from 1."""
    table = number_table(rows.texts) or _table_by_rows(rows)
    outside = np.flatnonzero(((table.ends < 1) | (table.ends > num_vertices)).any(axis=1))
    if len(outside):
        u, v = table.ends[outside[0]]
        rows.fail(outside[0], f"the edge {u} {v} has an end that is not there", f"1 to {num_vertices} are allowed")
    _check_finite(rows, table.weights)
    return Parsed(num_vertices, table.ends - 1, table.weights, rows.places)


def edge_list(rows: Rows) -> Parsed:
    """Read rows `u v` or `u v w`, separated by space or commas, with vertices called by whole numbers or words."""
    comma = "," if "," in rows.texts[0] else None
    table = number_table(rows.texts, comma)
    if table is None:
        return _edge_list_by_rows(rows, comma)
    _check_finite(rows, table.weights)
    names, ends = np.unique(table.ends, return_inverse=True)
    return Parsed(len(names), ends.reshape(-1, 2), table.weights, rows.places, tuple(names.tolist()))


def number_table(texts: list[str], comma: str | None = None) -> Table | None:
    """Read all rows at once, or return None if some row is not as the first, or not of numbers."""
    if not texts:
        return Table(np.empty((0, 2), np.int64), np.empty(0))
    count = len(texts[0].split(comma))
    if count not in (2, 3):
        return None
    columns = [("u", np.int64), ("v", np.int64), ("w", np.float64)][:count]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns where it reads 1.5 as a whole number
            table = np.loadtxt(texts, dtype=columns, delimiter=comma, comments=None, ndmin=1)
    except (ValueError, OverflowError, Warning):
        return None
    ends = np.stack([table["u"], table["v"]], axis=1)
    return Table(ends, table["w"].copy() if count == 3 else np.ones(len(ends)))


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of at most 18 digits."""
    return WHOLE.fullmatch(text) is not None


def _table_by_rows(rows: Rows) -> Table:
    """Do slowly what `number_table` could not, which finds the row to blame."""
    ends, weights = [], []
    for index, fields in enumerate(_fields(rows, None)):
        for field in fields[:2]:
            if not is_whole(field):
                rows.fail(index, f"{_quote(field)} is no vertex", "`u v` or `u v weight` with whole u and v is allowed")
        ends.append([int(fields[0]), int(fields[1])])
        weights.append(_weight(rows, index, fields))
    return Table(np.array(ends, np.int64).reshape(-1, 2), np.array(weights, np.float64))


def _edge_list_by_rows(rows: Rows, comma: str | None) -> Parsed:
    """Read rows with words in them, or find the row to blame."""
    split = _fields(rows, comma)
    _refuse_column_names(rows, split[0])
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(field, len(numbers)) for fields in split for field in fields[:2]]
    ends = np.array(flat, np.int64).reshape(-1, 2)
    weights = np.array([_weight(rows, index, fields) for index, fields in enumerate(split)])
    for name, number in numbers.items():
        if not WORD.fullmatch(name):
            index = flat.index(number) // 2
            rows.fail(index, f"{_quote(name)} is no vertex", "a whole number or a word without signs is allowed")
    words = [number for name, number in numbers.items() if not is_whole(name)]
    if words == sorted({*flat[:2]}) and len(ends) > 1 and ends[1:].min() > words[-1]:
        rows.fail(0, f"{_quote(rows.texts[0])} is followed by numbers only", "a line of column names is not allowed")
    return Parsed(len(numbers), ends, weights, rows.places, tuple(numbers))


def _fields(rows: Rows, comma: str | None) -> list[list[str]]:
    """Split the rows, all of which must have as many fields as the first."""
    split = [[field.strip() for field in text.split(comma)] if comma else text.split() for text in rows.texts]
    for index, fields in enumerate(split):
        if len(fields) not in (2, 3):
            what = f"{_quote(rows.texts[index])} has {len(fields)} field{'s' * (len(fields) > 1)}"
            rows.fail(index, what, "`u v` or `u v weight` is allowed")
        if len(fields) != len(split[0]):
            what = f"{_quote(rows.texts[index])} has {len(fields)} fields"
            rows.fail(index, what, f"{len(split[0])} are allowed, as in line {rows.places[0]}")
    return split


def _refuse_column_names(rows: Rows, fields: list[str]) -> None:
    is_title = {field.lower() for field in fields[:2]} <= COLUMN_NAMES
    if is_title or (len(fields) == 3 and fields[2].lower() in ("weight", "w")):
        rows.fail(0, f"{_quote(rows.texts[0])} are column names", "only edges are allowed, so drop that line")


def _weight(rows: Rows, index: int, fields: list[str]) -> float:
    if len(fields) < 3:
        return 1.0
    weight = float(fields[2]) if NUMBER.fullmatch(fields[2]) else math.nan
    if not math.isfinite(weight):
        rows.fail(index, f"the weight is {_quote(fields[2])}", "a finite number is allowed")
    return weight


def _check_finite(rows: Rows, weights: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~np.isfinite(weights))
    if len(bad):
        rows.fail(bad[0], f"the weight is {weights[bad[0]]}", "a finite number is allowed")


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
