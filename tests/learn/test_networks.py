"""Networks far out: inputs stay bounded, fields and densities follow their power law, and no kernel meets a NaN."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mafla
from mafla.learn.mixture import StudentMixture
from mafla.learn.networks import REACH, EnergyNetwork, FieldNetwork, Frame, PairNetwork, bounded

KEY = jax.random.key(0)
DIM, DF = 3, 1.5
RADII = [0.0, 1e-20, 1.0, 1e3, 1e9, 1e15]
SIZE = (16, 2)


def frame(dim: int = DIM) -> Frame:
    """Return a frame with two components, of which the first has the heavier tail."""
    factors = jnp.stack([jnp.eye(dim), 0.5 * jnp.eye(dim)])
    centers = jnp.stack([jnp.zeros(dim), jnp.full(dim, 4.0)])
    base = StudentMixture(jnp.log(jnp.array([0.7, 0.3])), centers, factors, jnp.array([DF, 6.0]))
    return Frame(jnp.full(dim, 1.0), jnp.full(dim, 2.0), base)


def trained(network: Any, size: float = 1.0) -> Any:
    """Return the network with weights as large as training might make them."""
    leaves, structure = jax.tree.flatten(eqx.filter(network, eqx.is_inexact_array))
    keys = jax.random.split(jax.random.key(1), len(leaves))
    noisy = [leaf + size * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, noisy), network)


def along(radius: float, dim: int = DIM) -> Array:
    return radius * jnp.array([0.6, -0.8, 0.1, 0.0])[:dim]


def slope(function: Callable[[Array], Array], low: float, high: float) -> float:
    """Return by how much a function changes in the log of the radius."""
    return float((function(along(high)) - function(along(low))) / np.log(high / low))


@pytest.mark.parametrize("radius", RADII)
def test_features_are_bounded(radius: float) -> None:
    found = frame().features(along(radius))
    assert len(found) == frame().feature_count
    assert np.all(np.abs(found) <= REACH * np.sqrt(DIM) * (1 + 1e-6))


@pytest.mark.slow
def test_gradients_are_finite_everywhere() -> None:
    here = frame()
    field = trained(FieldNetwork(KEY, here, *SIZE, growth=-1))
    energy, pair = trained(EnergyNetwork(KEY, here, *SIZE)), trained(PairNetwork(KEY, here, *SIZE))
    weights, rest = eqx.partition(energy, eqx.is_inexact_array)

    def slopes(x: Array) -> Any:
        return (
            jax.jacobian(here.features)(x),
            jax.jacobian(lambda u: field(here, u))(x),
            jax.grad(lambda u: energy(here, u))(x),
            jax.grad(lambda u, v: pair(here, u, v), argnums=(0, 1))(x, x[::-1] + 1),
            jax.grad(lambda net: eqx.combine(net, rest)(here, x))(weights),
        )

    points = jnp.stack([along(radius) for radius in RADII])
    for leaf in jax.tree.leaves(jax.jit(jax.vmap(slopes))(points)):
        assert np.isfinite(leaf).all()


def test_in_the_body_coordinates_enter_almost_as_they_are() -> None:
    np.testing.assert_allclose(bounded(along(0.3)), along(0.3), rtol=0.01)
    assert np.linalg.norm(bounded(along(1e15))) == pytest.approx(REACH * np.sqrt(DIM), rel=1e-6)


@pytest.mark.parametrize(("growth", "power"), [(-1, -1), (1, 1)])
def test_field_goes_like_a_power_of_the_distance(growth: int, power: int) -> None:
    here = frame()
    field = trained(FieldNetwork(KEY, here, *SIZE, growth=growth))
    found = slope(lambda u: jnp.log(jnp.linalg.norm(field(here, u))), 1e8, 1e12)
    assert found == pytest.approx(power, abs=1e-3)


@pytest.mark.parametrize("tail", [0.0, 2.0, -1.0])
def test_log_density_falls_with_the_exponent_of_the_base_and_the_learned_one(tail: float) -> None:
    here = frame()
    network = eqx.tree_at(lambda net: net.tail, trained(EnergyNetwork(KEY, here, *SIZE)), jnp.asarray(tail))
    found = slope(lambda u: here.base.logdensity(u) + network(here, u), 1e8, 1e12)
    assert found == pytest.approx(-(DF + DIM + tail), abs=1e-2)


def test_no_learned_exponent_makes_the_density_improper() -> None:
    here = frame()
    network = eqx.tree_at(lambda net: net.tail, EnergyNetwork(KEY, here, *SIZE), jnp.asarray(-100.0))
    found = slope(lambda u: here.base.logdensity(u) + network(here, u), 1e8, 1e12)
    assert found == pytest.approx(-(0.1 * DF + DIM), abs=1e-2)


def test_units_are_those_of_the_frame() -> None:
    np.testing.assert_allclose(frame().units(jnp.array([1.0, 3.0, -3.0])), [0.0, 1.0, -2.0], rtol=1e-6)


def test_fresh_networks_are_almost_nothing() -> None:
    here, x = frame(), along(2.0)
    assert np.all(np.abs(FieldNetwork(KEY, here, *SIZE, growth=-1)(here, x)) < 0.01)
    assert abs(EnergyNetwork(KEY, here, *SIZE)(here, x)) < 0.01
    assert abs(PairNetwork(KEY, here, *SIZE)(here, x, -x)) < 0.01


def test_no_layer_starts_at_exactly_zero() -> None:
    for layer in EnergyNetwork(KEY, frame(), *SIZE).layers.layers:
        assert np.all(layer.weight != 0)


def test_pairs_have_a_direction() -> None:
    here, x, y = frame(), along(2.0), along(-1.0)
    pair = trained(PairNetwork(KEY, here, *SIZE))
    assert abs(pair(here, x, y) - pair(here, y, x)) > 0.1


@pytest.mark.parametrize("batch", [(5, DIM), ()])
def test_networks_take_a_single_point_only(batch: tuple[int, ...]) -> None:
    here = frame()
    with pytest.raises((TypeError, ValueError)):
        EnergyNetwork(KEY, here, *SIZE)(here, jnp.zeros(batch))


def test_an_empty_frame_has_the_same_shapes() -> None:
    shapes = [jax.tree.map(jnp.shape, each) for each in (frame(), Frame.empty(DIM, 2))]
    assert eqx.tree_equal(*shapes)


@pytest.mark.parametrize("dim", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_kernels_stay_finite_with_a_fresh_network(dim: int) -> None:
    """Compiled around a last layer of exact zeros, they may not (jaxlib 0.10 on a CPU)."""
    here = frame(dim)
    energy = EnergyNetwork(KEY, here, 64, 2)
    field = FieldNetwork(KEY, here, 64, 2, growth=-1)
    score = jax.grad(here.base.logdensity)
    kernels = [
        mafla.exact_mafla(lambda x: here.base.logdensity(x) + energy(here, x), 1.5, 0.1),
        mafla.fula(lambda x: score(x) + field(here, x), 1.5, 0.1),
    ]
    for kernel in kernels:
        tree = mafla.sample(kernel, KEY, jnp.zeros((5000, dim)), 20, thin=20, progress=False)
        assert np.isfinite(tree["posterior"]["x"].to_numpy()).all()
