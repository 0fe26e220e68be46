"""The table of the paper's samplers: references that are what they say, and a row for every sampler."""

import itertools
import json

import numpy as np
import pytest

from mafla.bench import relaxed
from mafla.bench.relaxed import Experiment, Settings, experiments, greedy_cover, one_flip, run
from mafla.graphs.families import family
from mafla.graphs.relaxation import paper_cover, paper_cut
from mafla.learn.training import Schedule

TINY = Settings(
    sizes=(12,), particles=60, steps=5, train_on=8, schedule=Schedule(steps=2, batch_size=16, check_every=2)
)
SAMPLERS = ["ULA", "FULA", "FLD", "MALA", "MAFLA, learned", "MAFLA, exact"]


def tiny_run() -> list[dict[str, object]]:
    few = [
        Experiment("maxcut", "doubled 0.1", paper_cut),
        Experiment("vertex cover", "gnm 2.5", lambda graph: paper_cover(graph, 0.5)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relaxed, "experiments", lambda: few)
        patch.setattr("jax.clear_caches", lambda: None)  # other tests use them
        return run(0, settings=TINY)


@pytest.mark.slow
def test_every_sampler_runs_on_equal_terms_and_references_stand_beside() -> None:
    rows = tiny_run()
    for problem, references in (
        ("maxcut", ["half of all weight", "random + 1-flip"]),
        ("vertex cover", ["greedy by degree"]),
    ):
        own = [row for row in rows if row["problem"] == problem]
        assert [row["sampler"] for row in own] == SAMPLERS + references
        assert all((row["energy_mean"] is None) == (row["sampler"] in references) for row in own)
    check_values(rows)
    assert relaxed.describe(rows).row_count == len(rows) + 2  # a heading for each problem
    json.dumps(rows, allow_nan=False)


def check_values(rows: list[dict[str, object]]) -> None:
    """Values are those that some cut or cover has, and the best is among them."""
    graphs = {"maxcut": family("doubled 0.1", 12, 0), "vertex cover": family("gnm 2.5", 12, 0)}
    sides = np.array(list(itertools.product([-1, 1], repeat=12)))
    largest = max(graphs["maxcut"].cut_value(signs) for signs in sides)
    smallest = min(int((signs > 0).sum()) for signs in sides if graphs["vertex cover"].covers(signs > 0))
    for row in rows:
        best, mean = row["best"], row["value_mean"]
        assert isinstance(best, float)
        assert isinstance(mean, float)
        if row["problem"] == "maxcut":
            assert mean <= best <= largest
        else:
            assert smallest <= best <= mean


def test_one_flip_ends_where_no_move_gains() -> None:
    graph = family("gnp 0.2", 30, 1)
    start = np.random.default_rng(0).choice(np.array([-1, 1], np.int8), 30)
    end = one_flip(graph, start)
    value = graph.cut_value(end)
    assert value > graph.cut_value(start)
    for vertex in range(30):
        flipped = end.copy()
        flipped[vertex] *= -1
        assert graph.cut_value(flipped) <= value


def test_the_greedy_cover_is_one() -> None:
    for seed in range(5):
        graph = family("gnm 2.5", 40, seed)
        assert graph.covers(greedy_cover(graph))


def test_the_experiments_are_those_of_the_tables() -> None:
    assert {(each.problem, each.family) for each in experiments()} >= {
        ("maxcut", "BA"),
        ("maxcut", "doubled 0.1"),
        ("vertex cover", "gnm 2.5"),
        ("vertex cover", "BA"),
    }
