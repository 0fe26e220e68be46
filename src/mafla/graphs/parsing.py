"""Recognising the format of a file from its content, with its name as a hint, and reading what it says.

Whether the first line is a header `N M` or the first edge is decided so:

1. A first line `p word N M` is a header (DIMACS, PACE).
2. The names *.gr, *.mc, *.rud, *.gset, *.clq, *.col, *.dimacs, *.mis and G1, G1.txt, G2, ... promise a header.
3. The names *.edges, *.edgelist, *.el, *.csv and *.tsv promise that there is none.
4. Under any other name two whole numbers N M are a header if the next line has three fields, or if M lines follow of
   which more than half join vertices from 1 to N. They are an error if M lines follow which all join vertices from 0
   to N - 1, or another number of lines which all join vertices from 1 to N < M: a header that is wrong is more likely
   than such an edge. Else they are an edge.

A header that disagrees with the lines that follow is an error.
"""

import os
import re
from pathlib import Path
from typing import NoReturn

import numpy as np

from mafla.graphs.graphml import parse_graphml
from mafla.graphs.rows import Parsed, Rows, data_rows, edge_list, is_whole, number_table, numbered_edges

__all__ = ["MOST_VERTICES", "parse_file"]

FORMATS = "G-set, DIMACS, PACE, edge lists and GraphML are allowed"
HEADED = re.compile(r".*\.(gr|mc|rud|gset|clq|col|dimacs|mis)|G[0-9]+(\.txt)?", re.IGNORECASE)
HEADLESS = re.compile(r".*\.(edges|edgelist|el|csv|tsv)", re.IGNORECASE)
PROBLEMS = {"edge", "col", "td", "vc", "mis", "clq", "clique", "tw", "sp", "max", "ds", "is"}
MOST_VERTICES = 2**31 - 1  # their numbers are int32
CONTROL = bytes(code for code in range(32) if code not in b"\t\n\v\f\r")


def parse_file(path: str | os.PathLike[str]) -> Parsed:
    r"""Read a file of any format that `mafla.graphs.reading.read_graph` knows.

    Raises:
        ValueError: in one line with the file, the line in it where there is one, the problem and what is allowed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "triangle.gr").write_text("3 3\n1 2\n1 3\n2 3\n")
        ...     parse_file(Path(folder, "triangle.gr")).ends.tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    name = os.fspath(path) or "."
    text = _text(name)
    if text.lstrip().startswith("<"):
        return parse_graphml(name, text)
    if text.startswith("%%MatrixMarket"):
        _fail(name, "a Matrix Market file", f"{FORMATS}; scipy.io.mmread reads it, and its matrix can be given")
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    rows, base = data_rows(name, lines, c_is_comment=True), Path(name).name
    if rows.texts and _is_problem_line(rows.texts[0]):
        return _dimacs(rows)
    if HEADED.fullmatch(base):
        return _headed(rows) if rows.texts else _fail(name, "no header", "a line `N M` or `p edge N M` must be there")
    if rows.texts and not HEADLESS.fullmatch(base):
        _refuse_lone_edges(rows)
        if _looks_headed(rows):
            return _headed(rows)
    rows = data_rows(name, lines, c_is_comment=False)  # a vertex of an edge list may be called c
    return (
        edge_list(rows) if rows.texts else _fail(name, "the file is empty", "at least one edge or a header is needed")
    )


def _text(path: str) -> str:
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        _fail(path, "no such file", "the path of a graph is allowed")
    except IsADirectoryError:
        _fail(path, "a folder", "the path of a file is allowed")
    except OSError as error:
        _fail(path, f"it cannot be read ({error.strerror})", "the path of a readable file is allowed")
    if len(content.translate(None, CONTROL)) < len(content):
        _fail(path, "a binary file", f"{FORMATS}, as text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _fail(f"{path}:{line}", f"the byte {content[error.start]:#x} is no UTF-8 text", f"{FORMATS}, in UTF-8")


def _is_problem_line(text: str) -> bool:
    """Tell `p edge 5 4` from an edge of a vertex called p."""
    fields = text.split()
    return fields[0] == "p" and len(fields) > 1 and (len(fields) == 4 or fields[1] in PROBLEMS)


def _dimacs(rows: Rows) -> Parsed:
    fields = rows.texts[0].split()
    if len(fields) != 4:
        rows.fail(0, f"the header is {rows.texts[0][:40]!r}", "`p edge N M` is allowed")
    body = rows.after_header()
    num_vertices = _sizes(rows, fields[2:])
    if body.texts and not is_whole(body.texts[0].split()[0]):  # PACE has no letter before an edge
        body = body.after_letter("e")
    return numbered_edges(body, num_vertices)


def _headed(rows: Rows) -> Parsed:
    fields = rows.texts[0].split()
    if len(fields) != 2:
        rows.fail(0, f"the first line is {rows.texts[0][:40]!r}", "a header `N M` or `p edge N M` must be there")
    return numbered_edges(rows.after_header(), _sizes(rows, fields))


def _sizes(rows: Rows, fields: list[str]) -> int:
    """Return the number of vertices from the header, of which the number of edges must agree with the rows."""
    if not all(map(is_whole, fields)):
        rows.fail(0, f"the header says {' '.join(fields)!r}", "whole numbers N and M are allowed")
    num_vertices, num_edges = map(int, fields)
    if num_edges != len(rows.texts) - 1:
        rows.fail(0, f"the header says M = {num_edges} edges, {len(rows.texts) - 1} follow", "the two must agree")
    if not 2 <= num_vertices <= MOST_VERTICES:
        rows.fail(0, f"the header says N = {num_vertices} vertices", f"2 to {MOST_VERTICES} are allowed")
    return num_vertices


def _refuse_lone_edges(rows: Rows) -> None:
    """Refuse DIMACS without its header, which could pass for edges of a vertex called e."""
    if re.match(r"[ea]\s+[0-9]+\s+[0-9]+", rows.texts[0]):
        rows.fail(0, f"an edge {rows.texts[0]!r} before the header", "a line `p edge N M` must come first")


def _looks_headed(rows: Rows) -> bool:
    """Decide rule 4 above."""
    fields = rows.texts[0].split()
    if len(fields) != 2 or not all(map(is_whole, fields)):
        return False
    body = rows.texts[1:]
    num_vertices, num_edges = map(int, fields)
    if body and len(body[0].split()) == 3:
        return True
    table = number_table(body)
    if table is None:  # what is wrong with the lines will be said
        return num_edges == len(body)
    in_range = ((table.ends >= 1) & (table.ends <= num_vertices)).all(axis=1)
    if num_edges == len(body):
        if not body or 2 * np.count_nonzero(in_range) > len(body):
            return True
        if table.ends.min() == 0 and table.ends.max() < num_vertices:
            rows.fail(
                0,
                f"{rows.texts[0]!r} looks like a header N M, but vertices are numbered from 0",
                "from 1 is allowed; if it is an edge, let the name of the file end in .edges",
            )
        return False
    if body and in_range.all() and num_edges > num_vertices:
        rows.fail(
            0,
            f"{rows.texts[0]!r} looks like a header N M, but {len(body)} edges follow",
            "the two must agree; if it is an edge, let the name of the file end in .edges",
        )
    return False


def _fail(place: str, problem: str, allowed: str) -> NoReturn:
    raise ValueError(f"{place}: {problem}; {allowed}")
