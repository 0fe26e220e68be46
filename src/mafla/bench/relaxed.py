"""The paper's samplers on relaxed cuts and covers: equal temperature, steps, step size and particles for all.

Each particle runs once from the same start, is decoded, and counts as a run. Beside the samplers stand what needs none:
the expected cut of random sides, one round of greedy local search, a greedy cover, and the best that is known. The
solvers `mafla.maxcut` and `mafla.vertex_cover` are measured elsewhere.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mafla import _check
from mafla.bench.known_graphs import best_known_cover, best_known_cut
from mafla.graphs.families import family
from mafla.graphs.graph import Graph
from mafla.graphs.pooled_acceptance import PooledAcceptance, fit_pooled_acceptance
from mafla.graphs.relaxation import Relaxation, decode_cut, paper_cover, paper_cut, repair_cover
from mafla.kernels.base import Kernel
from mafla.kernels.coordinatewise_langevin import fld
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.fractional_langevin import fula
from mafla.kernels.langevin import ula
from mafla.kernels.learned_fractional import mafla
from mafla.kernels.metropolis_langevin import mala
from mafla.learn.training import Schedule
from mafla.run import sample

__all__ = ["Experiment", "Settings", "describe", "experiments", "greedy_cover", "one", "one_flip", "run"]

Row = dict[str, Any]


class Settings(NamedTuple):
    """The same for all samplers.

    Attributes:
        sizes: numbers of vertices.
        particles: runs of each sampler.
        steps: of each run.
        step_size: τ; with 100 steps τT is 10, which fits the paper's rows of ULA.
        alpha: stability index of the fractional samplers.
        train_on: number of vertices of the graph on which the acceptance is learned, for all sizes.
        schedule: of that training.
    """

    sizes: tuple[int, ...] = (64, 256, 512, 1024)
    particles: int = 500
    steps: int = 100
    step_size: float = 0.1
    alpha: float = 1.8
    train_on: int = 64
    schedule: Schedule = Schedule(steps=1000, batch_size=128, learning_rate=1e-2, check_every=100, patience=None)


Learn = Callable[[], PooledAcceptance]
SAMPLERS: dict[str, Callable[[Relaxation, Settings, Learn], Kernel]] = {
    "ULA": lambda on, at, _: ula(on.score, at.step_size),
    "FULA": lambda on, at, _: fula(on.score, at.alpha, at.step_size),
    "FLD": lambda on, at, _: fld(on.score, at.alpha, at.step_size),
    "MALA": lambda on, at, _: mala(on.logdensity, at.step_size),
    "MAFLA, learned": lambda on, at, learn: mafla(on.score, learn().on(on), at.alpha, at.step_size),
    "MAFLA, exact": lambda on, at, _: exact_mafla(on.logdensity, at.alpha, at.step_size),
}
QUICK = Settings(sizes=(64, 256), particles=200, schedule=Schedule(steps=200, batch_size=64, check_every=100))


class Experiment(NamedTuple):
    """A problem on a family of graphs with the normalisation of the paper's tables.

    Attributes:
        problem: "maxcut" or "vertex cover".
        family: of `mafla.graphs.families`.
        relax: the relaxed problem on a graph.
    """

    problem: str
    family: str
    relax: Callable[[Graph], Relaxation]


def experiments() -> list[Experiment]:
    """Return what the paper's two tables are about, and MaxCut on graphs that are what their name says.

    Example:
        >>> [(each.problem, each.family) for each in experiments()][0]
        ('maxcut', 'BA')
    """
    return [
        Experiment("maxcut", "BA", paper_cut),
        Experiment("maxcut", "doubled 0.1", paper_cut),
        Experiment("maxcut", "gnp 0.1", paper_cut),
        Experiment("vertex cover", "gnm 2.5", lambda graph: paper_cover(graph, 0.5)),
        Experiment("vertex cover", "BA", lambda graph: paper_cover(graph, 3.0)),
    ]


def run(seed: int = 0, quick: bool = False, settings: Settings | None = None) -> list[Row]:
    """Run every sampler on every graph and return a row for each, with references.

    Args:
        seed: of the graphs, the starts and the noise.
        quick: fewer and smaller graphs, fewer particles and a shorter training.
        settings: other sizes.
    """
    seed, sizes = _check.whole("seed", seed, 0), settings or (QUICK if quick else Settings())
    rows: list[Row] = []
    for experiment in experiments():
        for num_vertices in sizes.sizes:
            rows.extend(one(experiment.problem, experiment.family, num_vertices, seed, sizes))
        jax.clear_caches()
    return rows


def one(
    problem: str,
    family_name: str,
    num_vertices: int,
    seed: int,
    settings: Settings | None = None,
    samplers: Sequence[str] = tuple(SAMPLERS),
) -> list[Row]:
    """Run samplers on one graph and return a row for each, with references.

    Args:
        problem: "maxcut" or "vertex cover".
        family_name: of one of `experiments`.
        num_vertices: of the graph.
        seed: of the graph, the starts and the noise.
        settings: sizes; those of the paper's tables where they are not given.
        samplers: which of them; nothing is learned unless it is needed.

    Example:
        >>> small = QUICK._replace(particles=4, steps=2)
        >>> [row["sampler"] for row in one("maxcut", "BA", 16, 0, small, ["ULA"])]
        ['ULA', 'half of all weight', 'random + 1-flip']
    """
    return list(_rows(_experiment(problem, family_name), num_vertices, seed, settings or Settings(), samplers))


def describe(rows: list[Row]) -> Any:
    """Return the rows as a table for the terminal.

    Example:
        >>> row = {"problem": "maxcut", "family": "BA", "vertices": 64, "sampler": "ULA", "value_mean": 67.9}
        >>> describe([row]).row_count  # and a heading
        2
    """
    from rich import box
    from rich.table import Table

    grid = Table(
        title="The paper's samplers on relaxed problems: mean ± std over particles", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in ("N", "sampler", "energy", "cut or cover", "best", "bare", "acc."):
        grid.add_column(heading, justify="left" if heading == "sampler" else "right", no_wrap=True)
    for title, group in groupby(rows, lambda row: f"{row['problem']}, {row['family']}"):
        grid.add_row("", title)
        for row in group:
            grid.add_row(
                str(row["vertices"]),
                row["sampler"],
                _pair(row, "energy", 2),
                _pair(row, "value", 1),
                f"{row['best']:g}" if row.get("best") is not None else "",
                f"{row['uncovered_mean']:.3f}" if row.get("uncovered_mean") is not None else "",
                f"{row['acceptance']:.2f}" if row.get("acceptance") is not None else "",
            )
    grid.caption = "bare: share of edges that are uncovered before repair; acc.: acceptance rate"
    return grid


def one_flip(graph: Graph, signs: NDArray[np.int8]) -> NDArray[np.int8]:
    """Move vertices to the other side, those that gain most first, until no single move gains.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> square = from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> square.cut_value(one_flip(square, np.ones(4, np.int8)))
        4.0
    """
    offsets, targets, weights = graph.adjacency
    rows = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    sides = signs.astype(np.float64)
    gains = np.bincount(rows, weights * sides[rows] * sides[targets], minlength=graph.num_vertices)
    while gains.max() > 1e-9:
        vertex = int(gains.argmax())
        near = slice(offsets[vertex], offsets[vertex + 1])
        gains[targets[near]] -= 2 * weights[near] * sides[vertex] * sides[targets[near]]
        gains[vertex] *= -1
        sides[vertex] *= -1
    return sides.astype(np.int8)


def greedy_cover(graph: Graph) -> NDArray[np.bool_]:
    """Choose the vertex with most uncovered edges, again and again.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> greedy_cover(from_edges(4, [(0, 1), (0, 2), (0, 3)])).tolist()
        [True, False, False, False]
    """
    offsets, targets, _ = graph.adjacency
    chosen, degrees = np.zeros(graph.num_vertices, bool), np.diff(offsets)
    while degrees.max() > 0:
        vertex = int(degrees.argmax())
        chosen[vertex], degrees[vertex] = True, 0
        near = targets[offsets[vertex] : offsets[vertex + 1]]
        degrees[near[~chosen[near]]] -= 1
    return chosen


def _experiment(problem: str, family_name: str) -> Experiment:
    return next(each for each in experiments() if (each.problem, each.family) == (problem, family_name))


@lru_cache(maxsize=4)
def _learned(problem: str, family_name: str, seed: int, sizes: Settings) -> PooledAcceptance:
    """Learn on one small graph of another seed, from the states of FULA there; the result serves all sizes."""
    relaxed = _experiment(problem, family_name).relax(family(family_name, sizes.train_on, seed + 1000))
    key_run, key_learn = jax.random.split(jax.random.key(seed + 1000))
    states, _ = _final_states(fula(relaxed.score, sizes.alpha, sizes.step_size), relaxed, key_run, sizes)
    return fit_pooled_acceptance(
        key_learn, relaxed, states, sizes.alpha, sizes.step_size, schedule=sizes.schedule, progress=False
    )


def _rows(
    experiment: Experiment, num_vertices: int, seed: int, sizes: Settings, samplers: Sequence[str]
) -> Iterator[Row]:
    graph = family(experiment.family, num_vertices, seed)
    relaxed, cell = experiment.relax(graph), (experiment.problem, experiment.family, num_vertices, seed)
    for name in samplers:
        kernel = SAMPLERS[name](relaxed, sizes, lambda: _learned(experiment.problem, experiment.family, seed, sizes))
        states, acceptance = _final_states(kernel, relaxed, jax.random.key(seed), sizes)
        sides = np.asarray(jax.vmap(relaxed.side)(states))
        energies = np.asarray(jax.vmap(relaxed.energy)(states), np.float64)
        if experiment.problem == "maxcut":
            values, uncovered = np.array([graph.cut_value(signs) for signs in decode_cut(sides)]), None
        else:
            covers, uncovered = repair_cover(graph, sides)
            values = covers.sum(axis=1).astype(np.float64)
        yield _row(cell, name, values, energies, uncovered, acceptance)
    yield from _references(graph, cell, sizes)


def _final_states(kernel: Kernel, relaxed: Relaxation, key: Any, sizes: Settings) -> tuple[Any, float]:
    """Return where particles are after all steps from standard normal starts, the same for every kernel."""
    key_start, key_run = jax.random.split(key)
    start = jax.random.normal(key_start, (sizes.particles, relaxed.dim))
    tree = sample(kernel, key_run, start, sizes.steps, thin=sizes.steps, progress=False)
    rate = float(tree["sample_stats"]["acceptance_rate"].mean())
    return jnp.asarray(tree["posterior"]["x"].to_numpy()[:, -1]), rate


def _references(graph: Graph, cell: tuple[str, str, int, int], sizes: Settings) -> Iterator[Row]:
    rng = np.random.default_rng(cell[3])
    if cell[0] == "maxcut":
        yield _row(cell, "half of all weight", np.array([graph.weights.sum() / 2]))
        starts = rng.choice(np.array([-1, 1], np.int8), (sizes.particles, graph.num_vertices))
        flipped = [graph.cut_value(one_flip(graph, signs)) for signs in starts[: min(50, sizes.particles)]]
        yield _row(cell, "random + 1-flip", np.array(flipped))
        known = best_known_cut(*cell[1:])
    else:
        yield _row(cell, "greedy by degree", np.array([float(greedy_cover(graph).sum())]))
        known = best_known_cover(*cell[1:])
    if known is not None:
        yield _row(cell, "best known", np.array([known]))


def _row(
    cell: tuple[str, str, int, int],
    sampler: str,
    values: NDArray[np.float64],
    energies: NDArray[np.float64] | None = None,
    uncovered: NDArray[np.float64] | None = None,
    acceptance: float | None = None,
) -> Row:
    best = values.max() if cell[0] == "maxcut" else values.min()
    row: Row = dict(zip(("problem", "family", "vertices", "seed"), cell, strict=True)) | {"sampler": sampler}
    for name, found in (("energy", energies), ("value", values), ("uncovered", uncovered)):
        several = found is not None and len(found) > 1
        row[f"{name}_mean"] = None if found is None else float(found.mean())
        row[f"{name}_std"] = float(found.std(ddof=1)) if found is not None and several else None
    return row | {"best": float(best), "acceptance": acceptance}


def _pair(row: Row, name: str, digits: int) -> str:
    mean, std = row.get(f"{name}_mean"), row.get(f"{name}_std")
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" if std is None else f"{mean:.{digits}f} ± {std:.{digits}f}"
