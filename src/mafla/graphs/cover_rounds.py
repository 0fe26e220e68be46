"""A search for small vertex covers in short slices, so that it can be watched, limited and interrupted.

What can be decided exactly is decided first. In the rest each round cools a particle down, makes a cover of where it
ends, and goes on by exchanges of vertices: from there if that is better than what exchanges have led to before, or else
from where they were. Each round is twice as long as the one before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mafla import _check
from mafla.graphs.cover_bound import lower_bound
from mafla.graphs.cover_dynamics import Particle, energy, move, scatter
from mafla.graphs.cover_links import link
from mafla.graphs.cover_reduce import RULES, Kernel, linear, reductions
from mafla.graphs.cover_repair import Flags, leave_out, minimal_cover
from mafla.graphs.cover_search import BLOCK, Search, begin_search, run_search
from mafla.graphs.graph import Graph
from mafla.graphs.watch import Watch

__all__ = ["CoverPlan", "CoverSearch", "Slice"]

SLICE_WORK = 5_000_000  # steps of the processor's, roughly, which make a slice some hundredths of a second
DYNAMICS_SHARE = 0.6  # of the time that is left: the most that a particle may take
# Seconds that a matching, and a bound without one, take for each vertex and each edge; several times that must be left.
MATCHING_SECONDS, BOUND_SECONDS, ROOM = (5e-6, 3e-7), (5e-7, 5e-7), 4


@dataclass(frozen=True)
class CoverPlan:
    """What the search for a cover consists of.

    Attributes:
        reductions: whether to decide what can be decided exactly, and search in the rest only.
        alpha: stability index of the noise in the dynamics, in (1, 2]; 2 is normal.
        penalty: energy of a bare edge, above that of a vertex, which is 1.
        temperature: at which the dynamics start; it falls to 0 linearly.
        step_size: of the dynamics.
        sweeps: moves of each coordinate in the first round; 0 leaves the dynamics out.
        exchanges: of vertices in the first round; 0 leaves the local search out.
    """

    reductions: bool = True
    alpha: float = 2.0
    penalty: float = 1.2
    temperature: float = 1.0
    step_size: float = 4.0
    sweeps: int = 1000
    exchanges: int = 100_000

    def __post_init__(self) -> None:
        # As the types that they are compiled for: others would be compiled again while the clock runs.
        object.__setattr__(self, "alpha", _check.stability_index(self.alpha, above=1))
        for name in ("penalty", "temperature", "step_size"):
            object.__setattr__(self, name, _check.positive(name, getattr(self, name)))
        for name in ("sweeps", "exchanges"):
            object.__setattr__(self, name, _check.whole(name, getattr(self, name), 0))
        if self.penalty <= 1:
            raise ValueError(f"penalty must be above 1, the energy of a vertex, got {self.penalty}")


class Slice(NamedTuple):
    """What a slice of the search did: the size it is at, the temperature, and whether a round is over."""

    mean: float
    temperature: float = 0.0
    ends_round: bool = False


class CoverSearch:
    """A search that can be left after any slice; covers are offered to the watch as they are found.

    Args:
        graph: whose weights do not matter.
        watch: is offered covers, and knows the time that is left.
        plan: what the search consists of.
        rng: source of randomness.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> triangle = from_edges(3, [(0, 1), (1, 2), (0, 2)])
        >>> with Watch("cover", None, rounds=1, sign=-1) as watch:
        ...     search = CoverSearch(triangle, watch, CoverPlan(), np.random.default_rng(0))
        ...     for part in search.slices():
        ...         if not watch.go_on(part.mean, part.temperature, part.ends_round):
        ...             break
        >>> watch.value, search.bound
        (2.0, 2)
    """

    def __init__(self, graph: Graph, watch: Watch, plan: CoverPlan, rng: np.random.Generator) -> None:
        self.watch, self.plan, self.rng = watch, plan, rng
        self.whole = link(graph.num_vertices, graph.edges)
        self.kernel = Kernel(self.whole)
        self.bound = 0

    def slices(self) -> Iterator[Slice]:
        """Run until the best is proved to be optimal, or without end; the caller decides after each slice."""
        self._offer(_greedy(self.kernel))  # so that there is something to show at once
        yield Slice(self.watch.value)
        if self.plan.reductions:
            rules = RULES if self._has_time(MATCHING_SECONDS) else tuple(rule for rule in RULES if rule is not linear)
            for kernel in reductions(self.whole, rules):
                self.kernel, self.bound = kernel, kernel.surplus
                yield Slice(self.watch.value)
        if self._has_time(BOUND_SECONDS):
            self.bound += lower_bound(self.kernel.links, matching=self._has_time(MATCHING_SECONDS))
        greedy = _greedy(self.kernel)
        self._offer(greedy)
        if not self._is_proved and (self.plan.sweeps or self.plan.exchanges):
            yield from self._rounds(begin_search(self.kernel.links, greedy))

    def _rounds(self, search: Search) -> Iterator[Slice]:
        links, factor = self.kernel.links, 1
        while not self._is_proved:
            if self.plan.sweeps:
                particle = scatter(links, self.rng)
                yield from self._anneal(particle, factor * self.plan.sweeps)
                cover = minimal_cover(links, particle.x > 0.5)
                self._offer(cover)
                if np.count_nonzero(cover) < search.best_size:  # or else the weights it has learned are worth more
                    search = begin_search(links, cover)
            yield from self._exchange(search, factor * self.plan.exchanges)
            yield Slice(self.watch.value, ends_round=True)
            factor *= 2

    @property
    def _is_proved(self) -> bool:
        return self.watch.value <= self.bound

    def _has_time(self, seconds: tuple[float, float]) -> bool:
        for_vertex, for_edge = seconds
        links = self.kernel.links
        return ROOM * (for_vertex * links.num_vertices + for_edge * links.num_edges) < self.watch.seconds_left

    def _offer(self, cover: Flags) -> None:
        """Offer a cover of the kernel to the watch, as one of the whole graph."""
        whole = leave_out(self.whole, self.kernel.lift(cover))
        self.watch.offer(float(np.count_nonzero(whole)), whole)

    def _anneal(self, particle: Particle, sweeps: int) -> Iterator[Slice]:
        """Cool a particle down in so many sweeps, or in fewer where the time would not be enough for them."""
        plan, links, made = self.plan, self.kernel.links, 0
        portion = max(1, 4 * SLICE_WORK // (links.num_vertices + 2 * links.num_edges))
        began, seconds = self.watch.seconds, DYNAMICS_SHARE * self.watch.seconds_left
        while made < sweeps:
            times = np.arange(made, min(made + portion, sweeps)) + 1
            temperatures = plan.temperature * (1 - times / sweeps)
            move(links, particle, temperatures, self.rng, plan.alpha, plan.penalty, plan.step_size)
            yield Slice(self.kernel.surplus + energy(particle, plan.penalty), temperatures[-1])
            made = max(times[-1], int(sweeps * (self.watch.seconds - began) / max(seconds, 1e-9)))

    def _exchange(self, search: Search, exchanges: int) -> Iterator[Slice]:
        """Make exchanges, unless the best is proved to be optimal before."""
        links, left = self.kernel.links, exchanges
        degree = 2 * links.num_edges // links.num_vertices
        portion = max(1, SLICE_WORK // (100 + 4 * degree + 2 * links.num_vertices // BLOCK))
        while left > 0 and not self._is_proved:
            run_search(links, search, min(portion, left), self.rng)
            left -= portion
            if self.kernel.surplus + search.best_size < self.watch.value:
                self._offer(search.best)
            yield Slice(self.kernel.surplus + search.size)


def _greedy(kernel: Kernel) -> Flags:
    return minimal_cover(kernel.links, np.zeros(kernel.links.num_vertices, np.bool_))
