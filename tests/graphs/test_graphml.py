"""GraphML as others write it, and what is refused with its line."""

import re

import pytest

from mafla.graphs.graphml import parse_graphml

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
NODES = '<node id="a"/>\n<node id="b"/>\n<node id="c"/>\n'


def document(body: str, keys: str = "", directed: str = "undirected") -> str:
    opening = f'<?xml version="1.0"?>\n<graphml xmlns="{NAMESPACE}">{keys}\n<graph edgedefault="{directed}">\n'
    return f"{opening}{body}</graph></graphml>"


def test_weights_are_found_by_the_name_of_their_key() -> None:
    keys = (
        '<key id="k2" for="edge" attr.name="weight"><default>2</default></key>'
        '<key id="k1" for="node" attr.name="weight"><default>9</default></key>'
        '<key id="k3" for="edge" attr.name="colour"><default>red</default></key>'
    )
    edges = (
        '<edge source="a" target="c"><data key="k3">blue</data><data key="k2"> -1.5 </data></edge>'
        '<edge source="b" target="c"><data key="k1">7</data></edge>'
    )
    parsed = parse_graphml("x", document(edges + NODES, keys))  # edges may come first
    assert parsed.labels == ("a", "b", "c")
    assert parsed.ends.tolist() == [[0, 2], [1, 2]]
    assert parsed.weights.tolist() == [-1.5, 2.0]


@pytest.mark.parametrize("reach", ["", ' for="all"', ' for="edge"'])
def test_a_key_may_be_for_everything_and_be_described(reach: str) -> None:
    keys = f'<key id="w"{reach} attr.name="weight"><desc>how dear</desc><default>5</default></key>'
    edges = '<edge source="a" target="c"/><edge source="b" target="c"><data key="w">7</data></edge>'
    assert parse_graphml("x", document(NODES + edges, keys)).weights.tolist() == [5.0, 7.0]


def test_weights_are_one_without_a_key() -> None:
    parsed = parse_graphml("x", document(f'{NODES}<edge source="b" target="a"><data key="w">5</data></edge>'))
    assert (parsed.num_vertices, parsed.ends.tolist(), parsed.weights.tolist()) == (3, [[1, 0]], [1.0])


def test_a_graph_may_have_no_edges() -> None:
    parsed = parse_graphml("x", document('<node id="a"/><node id="b"/>'))
    assert (parsed.num_vertices, parsed.ends.shape, parsed.weights.shape) == (2, (0, 2), (0,))


def test_edges_know_their_lines() -> None:
    text = document(f'{NODES}\n<edge source="b" target="a"/>\n\n<edge source="c" target="a"/>')
    expected = [number for number, line in enumerate(text.splitlines(), 1) if "<edge" in line]
    assert parse_graphml("x", text).lines == expected


KEY = '<key id="w" for="edge" attr.name="weight"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body/></html>", "x:1: the outermost tag is <html>; <graphml> is allowed"),
        ("<p>1 < 2", "x:1: the outermost tag is <p>; <graphml> is allowed"),
        ("<graphml>\n<graph", "x:2: no sound XML (unclosed token); GraphML is allowed"),
        (document(NODES)[:-3], "no sound XML (unclosed token); GraphML is allowed"),
        (document(NODES, directed="directed"), "x:3: a graph with edgedefault 'directed'; 'undirected' is allowed"),
        ("<graphml><graph/></graphml>", "x:1: a graph with edgedefault None; 'undirected' is allowed"),
        ("<graphml></graphml>", "x:1: a graph with no nodes; at least two are needed"),
        (
            document(f'{NODES}<edge source="a" target="z"/>\n'),
            "x:7: an edge ends at 'z', which is no node; the id of a",
        ),
        (document(f'{NODES}<edge source="a"/>'), "x:7: a <edge> without target; <edge target=...> is allowed"),
        (document(f"{NODES}<node/>"), "x:7: a <node> without id; <node id=...> is allowed"),
        (document(f'{NODES}<node id="a"/>'), "x:7: a second node 'a'; different ids are allowed"),
        (document(f'{NODES}<edge source="a" target="b" directed="true"/>'), "x:7: a directed edge; undirected edges"),
        (document(f"{NODES}<hyperedge/>"), "x:7: a hyperedge; edges with two ends are allowed"),
        (
            document('<node id="a"><graph edgedefault="undirected"/></node>'),
            "x:4: a second graph; one <graph>, without",
        ),
        (
            document(f'{NODES}<edge source="a" target="b">\n<data key="w">heavy</data></edge>', KEY),
            "x:8: the weight is 'heavy'; a finite number is allowed",
        ),
        (
            document(f'{NODES}<edge source="a" target="b"><data key="w">NaN</data></edge>', KEY),
            "x:7: the weight is 'NaN'; a finite number is allowed",
        ),
        ('<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "x:1: a declaration of an entity; GraphML without entities is"),
    ],
)
def test_what_is_refused_has_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        parse_graphml("x", text)
    assert "\n" not in str(error.value)
