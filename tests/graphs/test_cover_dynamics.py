"""The dynamics: energy and drift by hand, the law of the noise, and walls."""

import math

import networkx as nx
import numpy as np
import pytest
from small_covers import is_cover, links_of, many_links, random_links, smallest_cover

from mafla.graphs.cover_dynamics import Particle, _shortfall, energy, move, scatter
from mafla.graphs.cover_links import Links, link


def particle_at(links: Links, x: list[float]) -> Particle:
    position = np.array(x)
    return Particle(position, _shortfall(links, position))


def test_energy_by_hand() -> None:
    path = links_of(nx.path_graph(3))
    # 0.5 + 0.25 + 1 for the vertices, and a penalty of 2 for (1 - 0.5) (1 - 0.25); the other edge is covered.
    assert energy(particle_at(path, [0.5, 0.25, 1.0]), 2.0) == pytest.approx(1.75 + 2 * 0.375)
    for cover in ([0.0, 1.0, 0.0], [1.0, 0.0, 1.0]):
        assert energy(particle_at(path, cover), 1.2) == sum(cover)


def test_the_smallest_energy_at_corners_is_the_smallest_cover() -> None:
    for links in many_links(20):
        n = links.num_vertices
        corners = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
        energies = [energy(particle_at(links, corner.tolist()), 1.2) for corner in corners[:: max(1, 2**n // 512)]]
        assert min(energies) >= smallest_cover(links) - 1e-9


@pytest.mark.parametrize("alpha", [2.0, 1.5])
def test_without_noise_a_coordinate_follows_the_gradient(alpha: float) -> None:
    pair, step, penalty = links_of(nx.path_graph(2)), 0.01, 1.5
    particle = particle_at(pair, [0.3, 0.6])
    move(pair, particle, np.zeros(1), np.random.default_rng(0), alpha, penalty, step)
    constant = math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    first = 0.3 - step * constant * (1 - penalty * 0.4)
    second = 0.6 - step * constant * (1 - penalty * (1 - first))  # it sees the first where it has moved to
    assert particle.x == pytest.approx([first, second], rel=1e-12)


def test_without_noise_small_steps_never_raise_the_energy() -> None:
    links = random_links(2, n=30, density=0.2)
    particle, last = scatter(links, np.random.default_rng(1)), math.inf
    for _ in range(300):
        move(links, particle, np.zeros(1), np.random.default_rng(0), 2.0, 1.2, 0.02)
        now = energy(particle, 1.2)
        assert now <= last + 1e-12
        last = now
    assert is_cover(links, particle.x > 0.5)


@pytest.mark.parametrize("alpha", [2.0, 1.3])
def test_particles_stay_in_the_cube_and_know_their_neighbours(alpha: float) -> None:
    links, rng = random_links(4, n=60, density=0.1), np.random.default_rng(2)
    particle = scatter(links, rng)
    start = particle.x.copy()
    move(links, particle, np.linspace(1, 0, 200), rng, alpha, 1.2, 2.0)
    assert ((particle.x >= 0) & (particle.x <= 1)).all()
    assert particle.missing == pytest.approx(_shortfall(links, particle.x), abs=1e-9)
    assert (particle.x != start).mean() > 0.9


def test_division_into_calls_makes_no_difference() -> None:
    links, ends = random_links(4, n=60, density=0.1), []
    for parts in (1, 5):
        rng = np.random.default_rng(3)
        particle = scatter(links, rng)
        for temperatures in np.split(np.linspace(1, 0, 100), parts):
            move(links, particle, temperatures, rng, 2.0, 1.2, 4.0)
        ends.append(particle.x.tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("alpha", [2.0, 1.5])
def test_the_noise_has_the_scale_of_step_and_temperature(alpha: float) -> None:
    """On vertices without edges a step is drift and noise; its cosines have an error of at most 1/sqrt(2 n)."""
    n, step, temperature = 40_000, 1e-3, 0.02
    alone = link(n, np.zeros((0, 2)))
    particle = Particle(np.full(n, 0.5), np.zeros(n))
    move(alone, particle, np.array([temperature]), np.random.default_rng(6), alpha, 1.2, step)
    drift = step * math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    units = (particle.x - 0.5 + drift) / (step * temperature) ** (1 / alpha)
    # The walls are 100 units away and more: their part is below one in a thousand at alpha = 1.5.
    assert abs(np.cos(units).mean() - math.exp(-1)) < 6 / math.sqrt(2 * n) + 2e-3
    assert abs(np.sin(units).mean()) < 6 / math.sqrt(2 * n) + 2e-3


def test_annealing_finds_small_covers() -> None:
    rng, excess = np.random.default_rng(7), []
    for links in many_links():
        particle = scatter(links, rng)
        move(links, particle, np.linspace(1, 0, 300), rng, 2.0, 1.2, 4.0)
        assert is_cover(links, particle.x > 0.5)
        excess.append((particle.x > 0.5).sum() - smallest_cover(links))
    assert np.mean(np.array(excess) == 0) > 0.9
