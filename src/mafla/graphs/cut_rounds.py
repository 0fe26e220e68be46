"""A search for large cuts in short slices, so that it can be watched, limited and interrupted.

Particles fall one after the other. Each follows the confined fractional Langevin dynamics while it cools, is read off
by its signs, and is improved by annealing and descent. The cuts are then merged like the digits of a binary counter:
two that have come out of equally many merges make one that has come out of one more. Relatives are never crossed, there
is no population that could lose its variety, and memory holds a logarithmic number of cuts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mafla import _check
from mafla.graphs.cut_dynamics import fields, inverse_norms, langevin, to_signs
from mafla.graphs.cut_merge import merge
from mafla.graphs.cut_search import anneal, descend, flip_gains, tabu_search
from mafla.graphs.graph import Graph
from mafla.graphs.watch import Watch

__all__ = ["CutPlan", "CutSearch", "Slice"]

Signs = NDArray[np.int8]
Floats = NDArray[np.float64]

# Temperatures of annealing, where the weights at each vertex are scaled to norm one: for a random cut, for one from the
# dynamics, for one from a merge, and at the end.
HOT, FALLEN, WARM, COLD = 0.4, 0.3, 0.2, 0.05
# The same for the dynamics, in a new place and from a merged cut; the end is at 0. And its step.
DYNAMICS_HOT, DYNAMICS_WARM, STEP = 1.3, 0.3, 4.0
SLICE_WORK = 2_000_000  # vertices and edges looked at in a slice, which makes it some hundredths of a second


@dataclass(frozen=True)
class CutPlan:
    """What the search for a cut consists of; 0 switches a part off.

    Attributes:
        alpha: stability index of the noise in the dynamics, in (1, 2]; 2 is Gaussian.
        isotropic: whether the coordinates of that noise share one heavy-tailed scale, or are independent.
        steps: steps of the dynamics for each particle.
        sweeps: sweeps of annealing for each particle and each attempt at a merge.
        moves: moves of tabu search after that.
        children: attempts at each merge.
    """

    alpha: float = 2.0
    isotropic: bool = False
    steps: int = 1000
    sweeps: int = 1000
    moves: int = 0
    children: int = 4

    def __post_init__(self) -> None:
        # As the types that they are compiled for: others would be compiled again while the clock runs.
        object.__setattr__(self, "alpha", _check.stability_index(self.alpha, above=1))
        for name in ("steps", "sweeps", "moves", "children"):
            object.__setattr__(self, name, _check.whole(name, getattr(self, name), 0))


class Slice(NamedTuple):
    """What a slice of the search did."""

    temperature: float
    ends_round: bool = False


class _Cut(NamedTuple):
    """A cut, its value and how many merges it has come out of."""

    signs: Signs
    value: float
    depth: int


class CutSearch:
    """A search that can be left after any slice; cuts are offered to the watch as they are found.

    Args:
        graph: with at least one weight that is not 0.
        watch: is offered cuts, and knows the time that is left.
        plan: what the search consists of.
        rng: source of randomness.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> triangle = from_edges(3, [(0, 1), (1, 2), (0, 2)])
        >>> with Watch("maxcut", None, rounds=1) as watch:
        ...     for part in CutSearch(triangle, watch, CutPlan(sweeps=5), np.random.default_rng(0)).slices():
        ...         if not watch.go_on(0.0, part.temperature, part.ends_round):
        ...             break
        >>> watch.value
        2.0
    """

    def __init__(self, graph: Graph, watch: Watch, plan: CutPlan, rng: np.random.Generator) -> None:
        self.graph, self.watch, self.plan, self.rng = graph, watch, plan, rng
        self.adjacency, self.scales = graph.adjacency, inverse_norms(graph)
        self.per_slice = max(1, SLICE_WORK // (graph.num_vertices + 2 * graph.num_edges))
        self.kept: list[_Cut] = []
        self.signs, self.value = self._random_signs(), -math.inf

    @property
    def mean(self) -> float:
        """Mean value of the cuts that are kept."""
        return float(np.mean([cut.value for cut in self.kept])) if self.kept else self.watch.value

    def slices(self) -> Iterator[Slice]:
        """Run without end; the caller decides after each slice whether to go on."""
        yield from self._settle()  # so that there is something to show at once
        while True:
            yield from self._drop_particle()
            newest = _Cut(self.signs, self.value, 0)
            while self.plan.children and self.kept and self.kept[-1].depth == newest.depth:
                other = self.kept.pop()
                yield from self._merge(*sorted((newest, other), key=lambda cut: -cut.value))
                newest = _Cut(self.signs, self.value, newest.depth + 1)
            self.kept = [*(self.kept if self.plan.children else ()), newest]
            yield Slice(0.0, ends_round=True)

    def finish(self) -> None:
        """Bring the cut that was under way when the search was left to its local optimum, and offer it."""
        for _ in self._settle():
            pass

    def _drop_particle(self) -> Iterator[Slice]:
        """Make a cut from nothing."""
        self.signs = self._random_signs()
        if self.plan.steps:
            position = self.rng.uniform(-1.0, 1.0, self.graph.num_vertices)
            yield from self._move_particle(position, DYNAMICS_HOT)
        yield from self._improve(FALLEN if self.plan.steps else HOT)

    def _merge(self, better: _Cut, worse: _Cut) -> Iterator[Slice]:
        """Make a cut from two; an attempt that is no worse takes the place of the worse."""
        for _ in range(self.plan.children):
            floor, gained = merge(self.adjacency, better.signs, worse.signs, True, self.rng)
            floor_value = self.graph.cut_value(floor)
            self.watch.offer(floor_value, floor)
            # Where choosing the better parts gains nothing, the mixture would be the better cut again and again.
            mixed = floor if gained > 0 else merge(self.adjacency, better.signs, worse.signs, False, self.rng)[0]
            self.signs = mixed.copy()
            if self.plan.steps and not self.plan.sweeps:
                yield from self._move_particle(self.signs.astype(np.float64), DYNAMICS_WARM)
            yield from self._improve(WARM)
            child = max(_Cut(self.signs, self.value, 0), _Cut(floor, floor_value, 0), key=lambda cut: cut.value)
            if child.value >= worse.value:
                better, worse = (child, better) if child.value >= better.value else (better, child)
        self.signs, self.value = better.signs, better.value

    def _move_particle(self, position: Floats, temperature: float) -> Iterator[Slice]:
        """Run the dynamics from a position and read off its signs."""
        plan, field = self.plan, fields(self.adjacency, position)
        share = plan.steps / (plan.steps + plan.sweeps)
        for slice_ in self._cooling(plan.steps, temperature, 0.0, share * self.watch.seconds_left):
            langevin(self.adjacency, self.scales, position, field, slice_, STEP, plan.alpha, plan.isotropic, self.rng)
            self.signs = to_signs(position)
            yield Slice(slice_[-1])

    def _improve(self, temperature: float) -> Iterator[Slice]:
        """Anneal the cut, bring it to a local optimum, and search on from there."""
        gains = flip_gains(self.adjacency, self.signs)
        for slice_ in self._cooling(self.plan.sweeps, temperature, COLD, self.watch.seconds_left):
            anneal(self.adjacency, self.scales, self.signs, gains, slice_, self.rng)
            yield Slice(slice_[-1])
        yield from self._settle()
        moves_left, n = self.plan.moves, self.graph.num_vertices
        gains = flip_gains(self.adjacency, self.signs)
        while moves_left > 0:
            moves = min(moves_left, max(1, SLICE_WORK // n))
            tabu_search(self.adjacency, self.signs, gains, moves, n // 100, self.rng)
            moves_left -= moves
            self._offer()
            yield Slice(0.0)

    def _settle(self) -> Iterator[Slice]:
        """Bring the cut to a local optimum and offer it."""
        gains = flip_gains(self.adjacency, self.signs)  # from scratch: what annealing summed up has rounding errors
        while not descend(self.adjacency, self.signs, gains, self.per_slice):
            self._offer()
            yield Slice(0.0)
        self._offer()

    def _offer(self) -> None:
        self.value = self.graph.cut_value(self.signs)
        self.watch.offer(self.value, self.signs)

    def _cooling(self, count: int, first: float, last: float, seconds: float) -> Iterator[Floats]:
        """Yield `count` temperatures in slices, and fewer of them if they would not be over within the seconds."""
        began, done = self.watch.seconds, 0.0
        while True:
            done = max(done, count * (self.watch.seconds - began) / max(seconds, 1e-9))
            shares = (done + 1 + np.arange(min(self.per_slice, math.ceil(count - done)))) / count
            if not len(shares):
                return
            yield first + (last - first) * np.minimum(shares, 1.0)
            done += len(shares)

    def _random_signs(self) -> Signs:
        return to_signs(self.rng.random(self.graph.num_vertices) - 0.5)
