"""Graphs from files, and the complement of a graph."""

import os
from typing import Any

import numpy as np

from mafla.graphs.graph import Graph, as_graph, from_edges
from mafla.graphs.parsing import parse_file
from mafla.graphs.rows import Parsed

__all__ = ["complement_of", "read_graph"]

MOST_VERTICES_OF_COMPLEMENT = 5000


def read_graph(path: Any, *, complement: bool = False, signed: bool = True) -> Graph:
    r"""Read a graph from a file, in any of these formats, which are told apart by the content and the name.

    - G-set and rudy: `N M`, then a line `i j weight` for each edge, vertices numbered from 1; without weight it is 1.
    - DIMACS: `c` comments, `p edge N M`, then lines `e u v` or `e u v weight`.
    - PACE: `c` comments, `p td N M` or `N M`, then lines `u v`.
    - Edge lists: lines `u v` or `u v weight`, separated by space or commas; `#` and `%` comments. Vertices are called
      by whole numbers, which are sorted, or by words, in the order in which they appear.
    - GraphML: undirected; the weight is the data of an edge that is declared with the name "weight".

    Two whole numbers in the first line are a header `N M` in files named *.gr, *.mc, *.rud, *.gset, *.clq, *.col,
    *.dimacs, *.mis, G1, G1.txt, G2, ... and an edge in files named *.edges, *.edgelist, *.el, *.csv, *.tsv. Under
    other names they are a header if the next line has three fields, or if M lines follow of which more than half join
    vertices from 1 to N; an error if M lines follow that all join vertices from 0 to N - 1, or another number of lines
    that all join vertices from 1 to N < M, as in a file that was cut off; and else an edge. A header that disagrees
    with the lines that follow is an error.

    Args:
        path: of the file; or any graph that `as_graph` takes, such as that of NetworkX or a scipy.sparse matrix.
        complement: return the graph of the edges that are not there, all of weight 1, with at most 5000
            vertices: a largest clique is what a smallest cover of the complement leaves over.
        signed: whether weights in a file may be negative; where they may not, the error names its line.

    Returns:
        The graph, vertices numbered from 0. Its `labels` say what edge lists and GraphML call them, its `notes` which
        loops were dropped and which parallel edges summed.

    Raises:
        ValueError: in one line with the file, the line in it where there is one, the problem and what is allowed.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "path.txt")
        ...     _ = path.write_text("3 2\n1 2 5\n2 3 -1\n")
        ...     read_graph(path).weights, read_graph(path, complement=True).edges
        (array([ 5., -1.]), array([[0, 2]], dtype=int32))
    """
    parsed = parse_file(path) if isinstance(path, str | os.PathLike) else None
    if parsed is None:
        graph = as_graph(path)
    else:
        graph = from_edges(parsed.num_vertices, parsed.ends, parsed.weights, labels=parsed.labels)
    if not complement:
        if not signed and parsed is not None:
            _refuse_negative(graph, parsed, os.fspath(path))
        return graph
    if graph.num_vertices > MOST_VERTICES_OF_COMPLEMENT:
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else "graph"
        raise ValueError(
            f"{name}: its complement would need memory for {graph.num_vertices:,} squared pairs; "
            f"complement=True is allowed up to {MOST_VERTICES_OF_COMPLEMENT:,} vertices"
        )
    return complement_of(graph)


def complement_of(graph: Graph) -> Graph:
    """Return the graph that has an edge of weight 1 where the given one has none; memory grows as the pairs do.

    Example:
        >>> complement_of(from_edges(3, [(0, 1)])).edges.tolist()
        [[0, 2], [1, 2]]
    """
    joined = np.zeros((graph.num_vertices, graph.num_vertices), bool)
    joined[graph.edges[:, 0], graph.edges[:, 1]] = True
    edges = np.argwhere(np.triu(~joined, 1))
    notes = graph.notes if (graph.weights == 1).all() else (*graph.notes, "weights were dropped by the complement")
    return from_edges(graph.num_vertices, edges, labels=graph.labels, notes=notes)


def _refuse_negative(graph: Graph, parsed: Parsed, path: str) -> None:
    """Name the first line to blame, if parallel edges add up to a weight below zero."""
    below = {(int(u), int(v)) for u, v in graph.edges[graph.weights < 0]}
    for index in np.flatnonzero(parsed.weights < 0) if below else ():
        u, v = sorted(parsed.ends[index].tolist())
        if (u, v) in below:
            raise ValueError(
                f"{path}:{parsed.lines[index]}: the weight is {parsed.weights[index]:g}; "
                "zero or more is allowed in a graph that is to be covered"
            )
