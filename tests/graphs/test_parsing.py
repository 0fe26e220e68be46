"""Where a first line of two numbers is a header, an edge or an error; and reading a million edges."""

import time
from pathlib import Path

import numpy as np
import pytest

from mafla.graphs.parsing import parse_file

TRIANGLE = "1 2\n2 3\n3 1\n"


@pytest.mark.parametrize(
    ("name", "text", "sizes"),
    [
        # the name decides
        ("x.gr", "4 1\n2 3\n", (4, 1)),
        ("x.edges", "4 1\n2 3\n", (4, 2)),
        ("X.EDGES", "4 1\n2 3\n", (4, 2)),
        ("g1.TXT", "3 1\n1 2\n", (3, 1)),
        ("x.edges", "c 1\n2 3\n", (4, 2)),
        # the content decides
        ("x.txt", "4 1\n2 3\n", (4, 1)),
        ("x", "5 0\n", (5, 0)),
        ("x.txt", "1 2\n", (2, 1)),
        ("x.txt", TRIANGLE, (3, 3)),  # two lines follow, as the first one says, but not of vertex 1 alone
        ("x.txt", "1 2\n3 4\n5 6\n", (6, 3)),
        ("x.txt", f"3 3\n{TRIANGLE}", (3, 3)),
        ("x.txt", "0 1\n1 2\n", (3, 2)),
        ("x.txt", "3 2\n2 1\n", (3, 2)),  # M < N: a path, from its end
        ("x.txt", "4 2\n1 2 9\n2 3 9\n", (4, 2)),
        ("x.txt", "c a comment\n4 1\n2 3\n", (4, 1)),
        ("x.txt", "c d\nd 5\n", (3, 2)),
        ("x.txt", "p q\nq r\n", (3, 2)),
        ("x.txt", "p col 4 1\ne 2 3\n", (4, 1)),
        ("x.txt", "p vc 4 1\n2 3\n", (4, 1)),
    ],
)
def test_headers_are_told_from_edges(tmp_path: Path, name: str, text: str, sizes: tuple[int, int]) -> None:
    (tmp_path / name).write_text(text)
    parsed = parse_file(tmp_path / name)
    assert (parsed.num_vertices, len(parsed.ends)) == sizes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4 5\n1 2\n3 4\n", r":1: '4 5' looks like a header N M, but 2 edges follow; .* end in \.edges$"),
        ("4 3\n0 1\n0 2\n0 3\n", r":1: '4 3' looks like a header N M, but vertices are numbered from 0; .*\.edges$"),
        ("4 2\n1 2 9\n", r":1: the header says M = 2 edges, 1 follow; the two must agree$"),
        ("4 3\n1 2\n2 3\n4 5\n", r":4: the edge 4 5 has an end that is not there; 1 to 4 are allowed$"),
        ("4 3\n1 2\n2 3\n4 x\n", r":4: 'x' is no vertex; `u v` or `u v weight` with whole u and v is allowed$"),
        ("p edge 4\ne 1 2\n", r":1: the header is 'p edge 4'; `p edge N M` is allowed$"),
    ],
)
def test_a_header_that_is_wrong_is_no_edge(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        parse_file(tmp_path / "x.txt")


@pytest.mark.slow
def test_a_million_edges_are_read_in_seconds(tmp_path: Path) -> None:
    ends = np.random.default_rng(0).integers(1, 100_001, (1_000_000, 2))
    np.savetxt(tmp_path / "G1", np.insert(ends, 2, 7, axis=1), fmt="%d", header="100000 1000000", comments="")
    started = time.process_time()
    parsed = parse_file(tmp_path / "G1")
    assert time.process_time() - started < 3
    assert (parsed.ends == ends - 1).all()
    assert (parsed.weights == 7).all()
