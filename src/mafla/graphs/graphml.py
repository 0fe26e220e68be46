"""GraphML, read as a stream, so that an error has its line."""

import math
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from mafla.graphs.rows import Parsed

__all__ = ["parse_graphml"]


def parse_graphml(path: str, text: str) -> Parsed:
    """Read an undirected graph; the weights of edges are in the data whose key is declared with the name "weight".

    Raises:
        ValueError: in one line with the file, the line in it, the problem and what is allowed.

    Example:
        >>> nodes, edge = '<node id="a"/><node id="b"/>', '<edge source="a" target="b"/>'
        >>> parse_graphml("x", f'<graphml><graph edgedefault="undirected">{nodes}{edge}</graph></graphml>').labels
        ('a', 'b')
    """
    reader = _Reader(path)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        reader.fail(f"no sound XML ({expat.errors.messages[error.code]})", "GraphML is allowed", error.lineno)
    return reader.result()


class _Reader:
    """What was read so far; the parser calls its methods for each tag."""

    def __init__(self, path: str) -> None:
        self.path, self.parser = path, expat.ParserCreate(namespace_separator="}")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._refuse_entity  # entities can blow up a small file
        self.parser.buffer_text = True
        self.inside: list[str] = []  # tags that are open
        self.texts: list[str] | None = None  # pieces of a weight that is being read
        self.numbers: dict[str, int] = {}
        self.edges: list[tuple[str, str, int]] = []  # with the line, to blame it
        self.weights: list[float] = []
        self.weight_key, self.in_weight_key, self.default, self.found_graph = "", False, 1.0, False

    def fail(self, problem: str, allowed: str, line: int | None = None) -> NoReturn:
        raise ValueError(f"{self.path}:{line or self.parser.CurrentLineNumber}: {problem}; {allowed}")

    def result(self) -> Parsed:
        """Return the graph, now that all vertices are known."""
        if len(self.numbers) < 2:
            count = "one node" if self.numbers else "no nodes"
            self.fail(f"a graph with {count}", "at least two are needed")
        for source, target, line in self.edges:
            for end in (source, target):
                if end not in self.numbers:
                    self.fail(f"an edge ends at {end!r}, which is no node", "the id of a <node> is allowed", line)
        ends = [[self.numbers[source], self.numbers[target]] for source, target, _ in self.edges]
        weights = np.array([self.default if math.isnan(weight) else weight for weight in self.weights], np.float64)
        lines = [line for _, _, line in self.edges]
        return Parsed(len(self.numbers), np.array(ends, np.int64).reshape(-1, 2), weights, lines, tuple(self.numbers))

    def _start(self, full_tag: str, attributes: dict[str, str]) -> None:
        tag = full_tag.rpartition("}")[2]
        if not self.inside and tag != "graphml":
            self.fail(f"the outermost tag is <{tag}>", "<graphml> is allowed")
        if tag == "graph":
            self._start_graph(attributes)
        elif (
            tag == "key" and attributes.get("attr.name") == "weight" and attributes.get("for", "all") in ("edge", "all")
        ):
            self.weight_key = self._get(attributes, "id", tag)
        elif tag == "node":
            self._start_node(self._get(attributes, "id", tag))
        elif tag == "edge":
            if attributes.get("directed") == "true":
                self.fail("a directed edge", "undirected edges are allowed")
            source, target = self._get(attributes, "source", tag), self._get(attributes, "target", tag)
            self.edges.append((source, target, self.parser.CurrentLineNumber))
            self.weights.append(math.nan)
        elif tag == "hyperedge":
            self.fail("a hyperedge", "edges with two ends are allowed")
        elif self._holds_weight(tag, attributes):
            self.texts = []
        self.inside.append(tag)
        if tag == "key":
            self.in_weight_key = attributes.get("id") == self.weight_key

    def _start_graph(self, attributes: dict[str, str]) -> None:
        if self.found_graph:
            self.fail("a second graph", "one <graph>, without others in it, is allowed")
        if attributes.get("edgedefault") != "undirected":
            given = attributes.get("edgedefault")
            self.fail(f"a graph with edgedefault {given!r}", "'undirected' is allowed")
        self.found_graph = True

    def _start_node(self, name: str) -> None:
        if name in self.numbers:
            self.fail(f"a second node {name!r}", "different ids are allowed")
        self.numbers[name] = len(self.numbers)

    def _holds_weight(self, tag: str, attributes: dict[str, str]) -> bool:
        """Whether the text of this tag is the weight of an edge, or the one that edges have without saying so."""
        parent = self.inside[-1] if self.inside else ""
        if tag == "default":
            return parent == "key" and self.in_weight_key
        return tag == "data" and parent == "edge" and self.weight_key != "" and attributes.get("key") == self.weight_key

    def _characters(self, text: str) -> None:
        if self.texts is not None:
            self.texts.append(text)

    def _end(self, _: str) -> None:
        tag = self.inside.pop()
        if self.texts is None:
            return
        text, self.texts = "".join(self.texts).strip(), None
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not math.isfinite(weight):
            self.fail(f"the weight is {text!r}", "a finite number is allowed")
        if tag == "default":
            self.default = weight
        else:
            self.weights[-1] = weight

    def _get(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name not in attributes:
            self.fail(f"a <{tag}> without {name}", f"<{tag} {name}=...> is allowed")
        return attributes[name]

    def _refuse_entity(self, *_: object) -> None:
        self.fail("a declaration of an entity", "GraphML without entities is allowed")
