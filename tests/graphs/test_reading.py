"""Round trips in each format, complements, and one line of blame for each thing that can be wrong with a file."""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mafla.graphs.graph import Graph, from_edges
from mafla.graphs.reading import complement_of, read_graph

fixed = settings(derandomize=True, deadline=None, max_examples=40)
weights = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a small graph with weights, in which vertices may be isolated."""
    n = draw(st.integers(2, 9))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return from_edges(n, chosen, np.array([draw(weights) for _ in chosen]))


def lines_of(graph: Graph, letter: str = "", comma: str = " ", weighted: bool = True) -> str:
    rows = zip((graph.edges + 1).tolist(), graph.weights.tolist(), strict=True)
    return "".join(f"{letter}{u}{comma}{v}{f'{comma}{weight!r}' if weighted else ''}\n" for (u, v), weight in rows)


def written(graph: Graph, name: str) -> str:
    """Return the text of a graph in the format that goes with a file name."""
    sizes = f"{graph.num_vertices} {graph.num_edges}"
    return {
        "G7.txt": f"{sizes} \n{lines_of(graph)}",
        "toroidal.mc": f"{sizes}\r\n{lines_of(graph)}".replace("\n", "\r\n"),
        "x.clq": f"c a graph\n\nc\np edge {sizes}\n{lines_of(graph, 'e ')}c the end\n",
        "x.gr": f"c a graph\np td {sizes}\n{lines_of(graph)}",
        "bare.gr": f"c a graph\n{sizes}\n{lines_of(graph)}",
    }[name]


def read_text(folder: Path, name: str, text: str | bytes) -> Graph:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_graph(path)


def assert_same(one: Graph, other: Graph) -> None:
    assert one.num_vertices == other.num_vertices
    assert one.edges.tolist() == other.edges.tolist()
    assert one.weights.tolist() == other.weights.tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.mark.parametrize("name", ["G7.txt", "toroidal.mc", "x.clq", "x.gr", "bare.gr"])
@fixed
@given(graph=graphs())
def test_formats_with_a_header_come_back_as_written(folder: Path, name: str, graph: Graph) -> None:
    back = read_text(folder, name, written(graph, name))
    assert_same(back, graph)
    assert (back.labels, back.notes) == (None, ())


@pytest.mark.parametrize("comma", [" ", "\t", ",", " , "])
@fixed
@given(graph=graphs().filter(lambda graph: graph.num_edges > 0))
def test_edge_lists_come_back_as_written(folder: Path, comma: str, graph: Graph) -> None:
    back = read_text(folder, "x.edges", f"# a graph\n% of edges\n{lines_of(graph, comma=comma)}")
    there = np.unique(graph.edges)  # an edge list has no isolated vertices
    assert back.labels == tuple((there + 1).tolist())
    assert there[back.edges].tolist() == graph.edges.tolist()
    assert back.weights.tolist() == graph.weights.tolist()


@fixed
@given(graph=graphs().filter(lambda graph: graph.num_edges > 0))
def test_words_as_vertices_come_back_as_written(folder: Path, graph: Graph) -> None:
    text = re.sub(r"^(\d+) (\d+)", r"c\1 é\2", lines_of(graph), flags=re.MULTILINE)
    back = read_text(folder, "words.txt", text)
    assert back.labels is not None
    named = {(back.labels[u], back.labels[v]): w for (u, v), w in zip(back.edges, back.weights, strict=True)}
    expected = {(f"c{u + 1}", f"é{v + 1}"): w for (u, v), w in zip(graph.edges, graph.weights, strict=True)}
    assert {frozenset(pair): weight for pair, weight in named.items()} == {
        frozenset(pair): weight for pair, weight in expected.items()
    }


@fixed
@given(graph=graphs())
def test_graphml_of_networkx_comes_back_as_written(folder: Path, graph: Graph) -> None:
    source = nx.Graph()
    source.add_nodes_from(range(graph.num_vertices))
    source.add_weighted_edges_from((*edge, w) for edge, w in zip(graph.edges.tolist(), graph.weights, strict=True))
    nx.write_graphml_xml(source, folder / "x.graphml")
    back = read_graph(folder / "x.graphml")
    assert_same(back, graph)
    assert back.labels == tuple(map(str, range(graph.num_vertices)))


@fixed
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(-9, 9)), min_size=1, max_size=20))
def test_parallel_edges_of_a_file_are_summed(folder: Path, raw: list[tuple[int, int, int]]) -> None:
    graph = read_text(folder, "x.mc", f"4 {len(raw)}\n" + "".join(f"{u} {v} {w}\n" for u, v, w in raw))
    for (u, v), weight in zip((graph.edges + 1).tolist(), graph.weights, strict=True):
        assert weight == sum(w for a, b, w in raw if {a, b} == {u, v})
    loops = sum(u == v for u, v, _ in raw)
    assert any(note.startswith(f"{loops} self-loop") for note in graph.notes) == (loops > 0)


def test_weights_are_one_where_none_are_given(folder: Path) -> None:
    graph = from_edges(5, [(0, 4), (1, 2)])
    for name, header, letter in [("x.gr", "5 2", ""), ("x.col", "p col 5 2", "e "), ("G1", "5 2", "")]:
        assert_same(read_text(folder, name, f"{header}\n{lines_of(graph, letter, weighted=False)}"), graph)


def test_numbers_as_names_are_sorted_and_words_are_not(folder: Path) -> None:
    assert read_text(folder, "x.csv", "100,7\n7,-3\n").labels == (-3, 7, 100)
    assert read_text(folder, "x.txt", "c b\nb a 2\n".replace(" 2", "")).labels == ("c", "b", "a")
    assert read_text(folder, "x.txt", "v1 10\n10 9\n").labels == ("v1", "10", "9")
    assert read_text(folder, "x.edges", f"{10**30} 2\n2 1\n").labels == (str(10**30), "2", "1")


def test_a_byte_order_mark_is_no_part_of_the_text(folder: Path) -> None:
    assert read_text(folder, "x.gr", b"\xef\xbb\xbf2 1\n1 2\n").num_edges == 1


def test_a_graph_without_edges_can_be_read(folder: Path) -> None:
    for name, text in [("x.gr", "2 0\n"), ("x.txt", "2 0\n"), ("x.col", "p edge 2 0")]:
        graph = read_text(folder, name, text)
        assert (graph.num_vertices, graph.num_edges) == (2, 0)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.gset", "3 3\n1 2 1\n1 3 -2\n2 3 -4\n", 3),
        ("x.edges", "# names\na b 1\n\nb c -2\n", 4),
        ("x.csv", "7,8,-2\n8,9,1\n", 1),
        ("x.el", "1 1 -5\n1 2 3\n2 1 -1\n2 3 -2\n", 4),  # neither a loop nor what another edge makes up for
    ],
)
def test_a_negative_weight_is_named_by_its_line_where_none_is_allowed(
    name: str, text: str, line: int, folder: Path
) -> None:
    assert read_text(folder, name, text).weights.min() < 0
    with pytest.raises(ValueError, match=rf"{name}:{line}: the weight is -2; zero or more is allowed"):
        read_graph(folder / name, signed=False)


def test_parallel_edges_may_add_up_to_a_weight_that_is_not_negative(folder: Path) -> None:
    read_text(folder, "x.edges", "a b -1\nb a 2\n")
    assert read_graph(folder / "x.edges", signed=False).weights.tolist() == [1.0]


def test_the_complement_has_the_other_edges(folder: Path) -> None:
    source = nx.gnp_random_graph(20, 0.7, seed=2)
    text = "".join(f"e {u + 1} {v + 1}\n" for u, v in source.edges)
    (folder / "x.clq").write_text(f"p edge 20 {source.number_of_edges()}\n{text}")
    graph = read_graph(folder / "x.clq", complement=True)
    assert {tuple(edge) for edge in graph.edges.tolist()} == {tuple(sorted(e)) for e in nx.complement(source).edges}
    assert (graph.weights == 1).all()
    assert graph.notes == ()


def test_the_complement_keeps_names_and_says_that_weights_are_gone(folder: Path) -> None:
    (folder / "x.edges").write_text("a b 2\nb c 1\n")
    graph = read_graph(folder / "x.edges", complement=True)
    assert (graph.labels, graph.edges.tolist()) == (("a", "b", "c"), [[0, 2]])
    assert graph.notes == ("weights were dropped by the complement",)
    assert complement_of(complement_of(graph)).edges.tolist() == graph.edges.tolist()


def test_the_complement_of_a_large_graph_is_refused(folder: Path) -> None:
    (folder / "x.gr").write_text("5001 1\n1 2\n")
    message = r"x\.gr: its complement would need memory for 5,001 squared pairs; .* up to 5,000 vertices$"
    with pytest.raises(ValueError, match=message):
        read_graph(folder / "x.gr", complement=True)


BAD_FILES: list[tuple[str, str | bytes, str]] = [
    ("x.txt", "", "x.txt: the file is empty; at least one edge or a header is needed"),
    ("x.txt", "# only\n\n% comments\n", "x.txt: the file is empty; at least one edge or a header is needed"),
    ("x.gr", "c only comments\n", "x.gr: no header; a line `N M` or `p edge N M` must be there"),
    ("x.gr", "0 0\n", "x.gr:1: the header says N = 0 vertices; 2 to 2147483647 are allowed"),
    ("x.gr", "3000000000 0\n", "x.gr:1: the header says N = 3000000000 vertices; 2 to 2147483647 are allowed"),
    ("x.gr", "3 2\n1 2\n", "x.gr:1: the header says M = 2 edges, 1 follow; the two must agree"),
    ("x.gr", "1 2\n2 3\n3 1\n1 3\n", "x.gr:1: the header says M = 2 edges, 3 follow; the two must agree"),
    ("x.gr", "1 2 3\n", "x.gr:1: the first line is '1 2 3'; a header `N M` or `p edge N M` must be there"),
    ("x.gr", "three 1\n1 2\n", "x.gr:1: the header says 'three 1'; whole numbers N and M are allowed"),
    ("x.gr", "3 1.5\n1 2\n", "x.gr:1: the header says '3 1.5'; whole numbers N and M are allowed"),
    ("x.gr", "3 2\nc\n1 2\n0 1\n", "x.gr:4: the edge 0 1 has an end that is not there; 1 to 3 are allowed"),
    ("G1.txt", "3 2\n1 2 1\n1 4 1\n", "G1.txt:3: the edge 1 4 has an end that is not there; 1 to 3 are allowed"),
    (
        "G1.txt",
        "3 2\n1 2 1\n1 x 1\n",
        "G1.txt:3: 'x' is no vertex; `u v` or `u v weight` with whole u and v is allowed",
    ),
    ("G1.txt", "3 1\n1 2.0 1\n", "G1.txt:2: '2.0' is no vertex; `u v` or `u v weight` with whole u and v is allowed"),
    ("G1.txt", "3 2\n1 2 1\n1 3 nan\n", "G1.txt:3: the weight is nan; a finite number is allowed"),
    ("G1.txt", "3 2\n1 2 1\n1 3 -inf\n", "G1.txt:3: the weight is -inf; a finite number is allowed"),
    ("G1.txt", "3 2\n1 2 1\n1 3 heavy\n", "G1.txt:3: the weight is 'heavy'; a finite number is allowed"),
    ("G1.txt", "3 2\n1 2 1\n1 3\n", "G1.txt:3: '1 3' has 2 fields; 3 are allowed, as in line 2"),
    ("G1.txt", "3 2\n1 2\n1 3 1 1\n", "G1.txt:3: '1 3 1 1' has 4 fields; `u v` or `u v weight` is allowed"),
    ("G1.txt", "3 1\n1\n", "G1.txt:2: '1' has 1 field; `u v` or `u v weight` is allowed"),
    ("x.col", "p edge 3\n", "x.col:1: the header is 'p edge 3'; `p edge N M` is allowed"),
    ("x.col", "p edge 3 2\ne 1 2\n", "x.col:1: the header says M = 2 edges, 1 follow; the two must agree"),
    ("x.col", "p edge 3 2\ne 1 2\nn 1 5\n", "x.col:3: the line is 'n 1 5'; after `p` only lines `e u v` are allowed"),
    ("x.col", "p edge 3 1\ne 1 4\n", "x.col:2: the edge 1 4 has an end that is not there; 1 to 3 are allowed"),
    ("x.col", "p edge 3 1\ne 1 3 nan\n", "x.col:2: the weight is nan; a finite number is allowed"),
    ("x.col", "p edge 3 1\nalpha\n", "x.col:2: the line is 'alpha'; after `p` only lines `e u v` are allowed"),
    ("x.dat", "e 1 2\n", "x.dat:1: an edge 'e 1 2' before the header; a line `p edge N M` must come first"),
    ("x.edges", "a b\nb c inf\n", "x.edges:2: 'b c inf' has 3 fields; 2 are allowed, as in line 1"),
    ("x.edges", "a b 1\nb c inf\n", "x.edges:2: the weight is 'inf'; a finite number is allowed"),
    ("x.edges", "1 2 1\n1 3 inf\n", "x.edges:2: the weight is inf; a finite number is allowed"),
    ("x.edges", "a b 1\nb c 1e999\n", "x.edges:2: the weight is '1e999'; a finite number is allowed"),
    ("x.csv", "1,2\n\n1,,2\n", "x.csv:3: '1,,2' has 3 fields; 2 are allowed, as in line 1"),
    ("x.csv", "1,2\n,2\n", "x.csv:2: '' is no vertex; a whole number or a word without signs is allowed"),
    ("x.csv", '"a","b"\n', "x.csv:1: '\"a\"' is no vertex; a whole number or a word without signs is allowed"),
    ("x.csv", "Source,Target\na,b\n", "x.csv:1: 'Source,Target' are column names; only edges are allowed, so drop"),
    ("x.csv", "i,j,weight\n1,2,3\n", "x.csv:1: 'i,j,weight' are column names; only edges are allowed, so drop"),
    ("x.csv", "i,j\n1,2\n", "x.csv:1: 'i,j' is followed by numbers only; a line of column names is not allowed"),
    ("x.json", '{"nodes": [1, 2]}', "x.json:1: '{\"nodes\": [1' is no vertex; a whole number or a word without signs"),
    ("x.py", "import numpy as np\n", "x.py:1: 'import numpy as np' has 4 fields; `u v` or `u v weight` is allowed"),
    ("x.mtx", "%%MatrixMarket matrix\n2 2 1\n1 2 5\n", "x.mtx: a Matrix Market file; G-set, DIMACS, PACE, edge lists"),
    ("x.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.png: a binary file; G-set, DIMACS, PACE, edge lists and GraphML"),
    ("x.pkl", b"\x80\x04\x95\n\0\0\0\0\0\0\0]\x94.", "x.pkl: a binary file; G-set, DIMACS, PACE, edge lists and"),
    ("x.txt", "# a\n1 é\n".encode("latin-1"), "x.txt:2: the byte 0xe9 is no UTF-8 text; G-set, DIMACS, PACE, edge"),
    ("x.txt", "1 2\n".encode("utf-16"), "x.txt: a binary file; G-set"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files_are_blamed_in_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read_text(tmp_path, name, content)
    said = str(error.value)
    assert said.startswith(f"{tmp_path}/{message}")
    assert "\n" not in said
    assert len(said) < len(str(tmp_path)) + 160


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.gr", "missing.gr: no such file; the path of a graph is allowed"),
        (".", ": a folder; the path of a file is allowed"),
        ("x.gr/y.gr", "y.gr: it cannot be read (Not a directory); the path of a readable file is allowed"),
    ],
)
def test_paths_that_lead_nowhere_are_named(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "x.gr").write_text("1 0\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        read_graph(tmp_path / path)


def test_graphs_of_other_libraries_are_taken_too_and_what_is_none_is_named() -> None:
    matrix = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert read_graph(matrix).weights.tolist() == [2.0]
    with pytest.raises(ValueError, match=r"graph must be a Graph, a NetworkX graph, .* got list"):
        read_graph([[0, 1]])
