"""Relaxed energies are those of the appendix, their scores the gradients, and decoded states valid solutions."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla.graphs import relaxation
from mafla.graphs.graph import Graph, from_edges
from mafla.graphs.relaxation import (
    Relaxation,
    decode_cut,
    paper_cover,
    paper_cut,
    relaxed_cover,
    relaxed_cut,
    repair_cover,
)

N = 7
CONFINEMENTS = ("none", "jacobian", "box")


def random_graph(seed: int, weighted: bool = True) -> Graph:
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(N), 2)))
    pairs = pairs[rng.random(len(pairs)) < 0.5]
    return from_edges(N, pairs, rng.normal(size=len(pairs)) if weighted else None)


def all_kinds(graph: Graph) -> list[Relaxation]:
    cuts = [relaxed_cut(graph, 0.7, scale=0.3, confinement=kind) for kind in CONFINEMENTS]  # type: ignore[arg-type]
    covers = [relaxed_cover(graph, 0.7, penalty=1.3, scale=0.3, confinement=kind) for kind in CONFINEMENTS]  # type: ignore[arg-type]
    return [*cuts, *covers, paper_cut(graph), paper_cover(graph)]


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_gradients_of_the_log_densities(seed: int) -> None:
    with jax.enable_x64(True):
        points = 3 * jax.random.normal(jax.random.key(seed), (20, N), jnp.float64)
        for relaxed in all_kinds(random_graph(seed)):
            found, truth = jax.vmap(relaxed.score)(points), jax.vmap(jax.grad(relaxed.logdensity))(points)
            np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_energies_at_corners_are_those_of_the_discrete_problems(seed: int) -> None:
    graph = random_graph(seed)
    with jax.enable_x64(True):
        cut, cover = relaxed_cut(graph), relaxed_cover(graph, penalty=1.7)
        for corner in itertools.product([-1, 1], repeat=N):
            signs = np.array(corner)
            u = jnp.asarray(60.0 * signs)
            assert float(cut.energy(u)) == pytest.approx(graph.weights.sum() - 2 * graph.cut_value(signs), abs=1e-9)
            uncovered = sum(1 for a, b in graph.edges if signs[a] < 0 and signs[b] < 0)
            assert float(cover.energy(u)) == pytest.approx((signs > 0).sum() + 1.7 * uncovered, abs=1e-9)


def test_the_appendix_in_its_own_symbols() -> None:
    graph, u = random_graph(4, weighted=False), np.random.default_rng(4).normal(size=N)
    matrix = np.zeros((N, N))
    for a, b in graph.edges:
        matrix[a, b] = matrix[b, a] = 1
    y, p, eta, penalty = np.tanh(u), 1 / (1 + np.exp(-u)), 0.4, 3.0
    with jax.enable_x64(True):
        cut, cover = relaxed_cut(graph, eta), relaxed_cover(graph, eta, penalty=penalty)
        np.testing.assert_allclose(cut.energy(jnp.asarray(u)), 0.5 * y @ matrix @ y)
        np.testing.assert_allclose(cut.score(jnp.asarray(u)), -(1 - y**2) * (matrix @ y) / eta)
        energy = p.sum() + penalty / 2 * (1 - p) @ matrix @ (1 - p)
        np.testing.assert_allclose(cover.energy(jnp.asarray(u)), energy)
        slope = p * (1 - p) * (1 - penalty * matrix @ (1 - p))
        np.testing.assert_allclose(cover.score(jnp.asarray(u)), -slope / eta)
        np.testing.assert_allclose(paper_cut(graph).energy(jnp.asarray(u)), cut.energy(jnp.asarray(u)) / math.sqrt(N))
        np.testing.assert_allclose(paper_cover(graph, penalty).energy(jnp.asarray(u)), energy / N)


def test_the_sparse_product_is_the_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, points = random_graph(5), jax.random.normal(jax.random.key(5), (4, N))
    dense = jax.vmap(relaxed_cut(graph).score)(points)
    monkeypatch.setattr(relaxation, "LARGEST_DENSE", 1)
    np.testing.assert_allclose(jax.vmap(relaxed_cut(graph).score)(points), dense, rtol=1e-5, atol=1e-6)


def test_proper_forms_have_a_finite_mass_and_the_papers_has_not() -> None:
    graph = from_edges(2, [(0, 1)])
    masses = {}
    for kind in CONFINEMENTS:
        relaxed = relaxed_cut(graph, confinement=kind)  # type: ignore[arg-type]
        for half in (20.0, 40.0):
            axis = jnp.linspace(-half, half, 801) if kind != "box" else jnp.linspace(-1, 1, 801)
            grid = jnp.stack(jnp.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
            masses[kind, half] = float(jnp.exp(jax.vmap(relaxed.logdensity)(grid)).sum() * (axis[1] - axis[0]) ** 2)
    # Both proper forms are exp(-y₁y₂) on the square, whose integral is 4 Σ 1 / ((2k)! (2k+1)²).
    exact = 4 * sum(1 / (math.factorial(2 * k) * (2 * k + 1) ** 2) for k in range(10))
    assert masses["jacobian", 20.0] == pytest.approx(exact, rel=1e-3)
    assert masses["jacobian", 40.0] == pytest.approx(exact, rel=1e-2)
    assert masses["box", 20.0] == pytest.approx(exact, rel=1e-2)
    assert masses["none", 40.0] > 3.5 * masses["none", 20.0]


def test_the_box_reflects() -> None:
    relaxed = relaxed_cut(from_edges(2, [(0, 1)]), confinement="box")
    folded = relaxed.side(jnp.array([0.3, 1.2, 2.5, 3.9, -1.2, -0.3]))
    np.testing.assert_allclose(folded, [0.3, 0.8, -0.5, -0.1, -0.8, -0.3], atol=1e-6)


def test_zero_belongs_to_the_positive_side() -> None:
    assert decode_cut(np.array([0.0, -0.0, -1e-30])).tolist() == [1, 1, -1]


@pytest.mark.parametrize("seed", range(5))
def test_repaired_covers_are_valid_and_only_add(seed: int) -> None:
    graph, sides = random_graph(seed, weighted=False), np.random.default_rng(seed).uniform(-1, 0.5, size=(30, N))
    covers, uncovered = repair_cover(graph, sides)
    for side, cover, share in zip(sides, covers, uncovered, strict=True):
        assert graph.covers(cover)
        assert cover[side > 0].all()
        heads, tails = graph.edges.T
        assert share == pytest.approx(np.mean((side[heads] <= 0) & (side[tails] <= 0)))


def test_repair_takes_the_end_of_larger_activation() -> None:
    covers, _ = repair_cover(from_edges(2, [(0, 1)]), np.array([[-0.5, -0.4], [-0.4, -0.5], [-0.5, -0.5]]))
    assert covers.tolist() == [[False, True], [True, False], [True, False]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature must be a positive finite number, got 0.0"),
        ({"scale": -1.0}, "scale must be a positive finite number, got -1.0"),
        ({"confinement": "wall"}, "confinement must be one of none, jacobian, box, got 'wall'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relaxed_cut(from_edges(2, [(0, 1)]), **arguments)  # type: ignore[arg-type]
