"""The dynamics stays in its box, keeps its fields right, has the noise it says, and finds good cuts when it cools."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from small_cuts import KINDS, largest_cut, small_graph

from mafla.graphs.cut_dynamics import fields, inverse_norms, langevin, to_signs
from mafla.graphs.graph import Graph, from_edges

LAWS = [(2.0, False), (1.5, False), (1.5, True)]


def run(graph: Graph, temperatures: Any, seed: int, alpha: float = 2.0, isotropic: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    position = rng.uniform(-1, 1, graph.num_vertices)
    field = fields(graph.adjacency, position)
    langevin(
        graph.adjacency, inverse_norms(graph), position, field, np.asarray(temperatures), 4.0, alpha, isotropic, rng
    )
    return position, field


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("alpha", "isotropic"), LAWS)
def test_particles_stay_in_the_box_and_fields_in_step(kind: str, alpha: float, isotropic: bool) -> None:
    graph = small_graph(kind, 0)
    matrix = np.zeros((graph.num_vertices, graph.num_vertices))
    matrix[tuple(graph.edges.T)] = graph.weights
    position, field = run(graph, np.linspace(1.3, 0.1, 50), 1, alpha, isotropic)
    assert np.abs(position).max() <= 1
    assert field == pytest.approx((matrix + matrix.T) @ position, abs=1e-12)


def test_without_noise_a_step_is_the_projected_gradient_of_one_coordinate_after_the_other() -> None:
    graph = from_edges(3, [(0, 1), (1, 2)], [3.0, -4.0])
    position = np.array([0.5, 0.25, -0.125])
    field = fields(graph.adjacency, position)
    langevin(
        graph.adjacency, inverse_norms(graph), position, field, np.zeros(1), 0.5, 2.0, False, np.random.default_rng()
    )
    first = 0.5 - 0.5 * 0.25
    second = 0.25 - 0.5 * (3 * first - 4 * -0.125) / 5
    assert position == pytest.approx([first, second, -0.125 + 0.5 * second])


@pytest.mark.parametrize(("alpha", "isotropic"), LAWS)
def test_the_noise_has_its_law(alpha: float, isotropic: bool) -> None:
    """One step from 0 without a field, small enough to stay in the box almost always; false alarms: one in 10^6.

    4 000 draws show an error of 5 % in the scale or of 0.1 in α.
    """
    count, temperature, step = 4000, 1e-6, 4.0
    alone = from_edges(1 if isotropic else count, [])
    rng, draws = np.random.default_rng(3), []
    for _ in range(count if isotropic else 1):
        position = np.zeros(alone.num_vertices)
        field, scales = np.zeros_like(position), np.zeros_like(position)
        langevin(alone.adjacency, scales, position, field, np.full(1, temperature), step, alpha, isotropic, rng)
        draws.extend(position / (step * temperature) ** (1 / alpha))
    wall = (step * temperature) ** (-1 / alpha)
    inside = np.abs(draws) < 0.9 * wall
    assert inside.mean() > 0.999
    law = stats.norm(scale=np.sqrt(2)).cdf if alpha == 2 else stable_distribution(alpha)
    assert stats.kstest(np.array(draws), law).pvalue > 1e-6


def stable_distribution(alpha: float) -> Any:
    """Distribution function by integrating the characteristic function, on a grid."""
    t = np.linspace(1e-6, 12, 20_001)
    grid = np.concatenate([np.linspace(0, 20, 2001), np.geomspace(20.1, 1e4, 300)])
    inner = np.array([np.trapezoid(np.sin(t * x) / t * np.exp(-(t**alpha)), t) for x in grid]) / np.pi
    tail = grid > 20  # there the integrand oscillates too fast for the grid, and the first term of the tail is enough
    constant = np.sin(np.pi * alpha / 2) * 0.886226925 / np.pi  # Γ(1.5) for α = 1.5
    inner[tail] = 0.5 - constant * grid[tail] ** -alpha
    return lambda x: 0.5 + np.sign(x) * np.interp(np.abs(x), grid, inner)


def test_isotropic_noise_shares_its_scale() -> None:
    alone = from_edges(200, [])
    medians = []
    for seed in range(50):
        position, zero = np.zeros(200), np.zeros(200)
        langevin(
            alone.adjacency, zero, position, zero.copy(), np.full(1, 1e-6), 4.0, 1.2, True, np.random.default_rng(seed)
        )
        medians.append(np.median(np.abs(position)))
    assert np.max(medians) > 5 * np.min(medians)  # of independent coordinates they would lie within a third


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("alpha", "isotropic"), LAWS)
def test_the_best_of_some_cooled_particles_is_the_largest_cut(kind: str, alpha: float, isotropic: bool) -> None:
    graph = small_graph(kind, 4)
    cuts = []
    for seed in range(20):
        position, _ = run(graph, np.linspace(1.3, 0.0, 200), seed, alpha, isotropic)
        cuts.append(graph.cut_value(to_signs(position)))
    assert max(cuts) == pytest.approx(largest_cut(graph), rel=1e-12)


def test_norms_do_not_overflow() -> None:
    graph = from_edges(3, [(0, 1), (1, 2)], [3e200, 4e200])
    assert inverse_norms(graph) * 1e200 == pytest.approx([1 / 3, 1 / 5, 1 / 4])
