"""Stable targets: the closed-form fractional drift against Fourier integrals, special cases and bad input."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from mafla import targets

Vector = NDArray[np.float64]

WEIGHTS, SCALES = np.array([0.3, 0.7]), np.array([0.5, 2.0])


def frequencies(alpha: float, scale: float) -> tuple[Vector, Vector]:
    """Nodes ω > 0 and tanh-sinh weights times ``exp(-(σω)^α)``: the rule minds no power at zero."""
    t = np.arange(-4.0, 4.0, 1 / 256)
    omega = special.expit(np.pi * np.sinh(t)) * 40 ** (1 / alpha) / scale
    weight = np.pi * np.cosh(t) * special.expit(-np.pi * np.sinh(t)) * omega / 256
    return omega, weight * np.exp(-((scale * omega) ** alpha))


def riesz_on_the_line(alpha: float, x: Vector, locations: Vector) -> tuple[Vector, Vector]:
    """The density and ``D^(α-2) p'``, whose Fourier transform is ``|ω|^(α-2)`` times that of p'."""
    density, derivative = np.zeros_like(x), np.zeros_like(x)
    for share, centre, scale in zip(WEIGHTS, locations, SCALES, strict=True):
        omega, weight = frequencies(alpha, scale)
        phase = (x - centre)[:, None] * omega
        density += share / np.pi * np.cos(phase) @ weight
        derivative -= share / np.pi * np.sin(phase) @ (weight * omega ** (alpha - 2) * omega)
    return density, derivative


def riesz_on_the_plane(alpha: float, x: Vector, locations: Vector) -> tuple[Vector, Vector]:
    """The same for ``∇p`` in the plane, where radial Fourier transforms are Bessel integrals."""
    density, derivative = np.zeros(len(x)), np.zeros_like(x)
    for share, centre, scale in zip(WEIGHTS, locations, SCALES, strict=True):
        omega, weight = frequencies(alpha, scale)
        radius = np.linalg.norm(x - centre, axis=1)
        phase = radius[:, None] * omega
        density += share / (2 * np.pi) * special.j0(phase) @ (weight * omega)
        slope = special.j1(phase) @ (weight * omega ** (alpha - 2) * omega**2) / (2 * np.pi)
        derivative -= share * (slope / radius)[:, None] * (x - centre)
    return density, derivative


@pytest.mark.parametrize("alpha", [1.05, 1.3, 1.9, 2.0])
@pytest.mark.usefixtures("x64")
def test_drift_is_the_riesz_derivative_on_the_line(alpha: float) -> None:
    locations = np.array([-2.0, 3.0])
    x = np.array([-6.0, -2.1, -0.5, 0.0, 1.3, 3.0, 7.5])
    target = targets.stable_mixture(alpha, locations[:, None], WEIGHTS, SCALES)
    density, derivative = riesz_on_the_line(alpha, x, locations)
    np.testing.assert_allclose(np.exp(jax.jit(target.logdensity)(x[:, None])), density, rtol=1e-7)
    assert target.fractional_drift is not None
    found = np.asarray(jax.jit(target.fractional_drift)(x[:, None]))[:, 0]
    np.testing.assert_allclose(found, derivative / density, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("alpha", [1.5])
@pytest.mark.usefixtures("x64")
def test_drift_is_the_riesz_derivative_on_the_plane(alpha: float) -> None:
    locations = np.array([[-2.0, 1.0], [3.0, 0.0]])
    x = np.array([[-6.0, 0.0], [-2.1, 1.2], [0.0, 0.0], [0.5, -2.0], [3.1, 0.1], [4.0, 5.0]])
    target = targets.stable_mixture(alpha, locations, WEIGHTS, SCALES)
    density, derivative = riesz_on_the_plane(alpha, x, locations)
    np.testing.assert_allclose(np.exp(jax.jit(target.logdensity)(x)), density, rtol=1e-7)
    assert target.fractional_drift is not None
    found = np.asarray(jax.jit(target.fractional_drift)(x))
    np.testing.assert_allclose(found, derivative / density[:, None], rtol=1e-7, atol=1e-8)


def test_drift_belongs_to_the_index_of_the_law() -> None:
    assert targets.stable(1.3, [0.0]).alpha == 1.3
    for alpha in (0.7, 1.0):  # there is no drift: the law has no mean to pull towards
        target = targets.stable(alpha, [0.0])
        assert (target.alpha, target.fractional_drift) == (alpha, None)


@pytest.mark.usefixtures("x64")
def test_index_two_is_a_gaussian_of_twice_the_variance() -> None:
    locations, x = [[-2.0, 1.0], [3.0, 0.0]], np.random.default_rng(0).normal(scale=4, size=(20, 2))
    stable = targets.stable_mixture(2.0, locations, WEIGHTS, 0.7)
    gaussian = targets.gaussian_mixture(locations, WEIGHTS, 0.7 * 2**0.5)
    np.testing.assert_allclose(jax.jit(stable.logdensity)(x), jax.jit(gaussian.logdensity)(x), rtol=1e-12)
    assert stable.fractional_drift is not None
    np.testing.assert_allclose(jax.jit(stable.fractional_drift)(x), jax.jit(gaussian.score)(x), rtol=1e-10)


@pytest.mark.usefixtures("x64")
def test_one_mode_is_the_plain_law_moved_and_stretched() -> None:
    centre, scale = np.array([1.0, -2.0]), 3.0
    x = np.random.default_rng(1).normal(scale=10, size=(20, 2))
    moved = jax.jit(targets.stable(1.4, centre, scale).logdensity)(x)
    plain = jax.jit(targets.stable(1.4, [0.0, 0.0]).logdensity)((x - centre) / scale)
    np.testing.assert_allclose(moved, plain - 2 * np.log(scale), rtol=1e-12)


PAIR = [[-1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("alpha", [0.5, 0.0, -1.0, 2.01, float("nan"), None])
def test_index_out_of_range_is_refused(alpha: Any) -> None:
    with pytest.raises(ValueError, match=r"^alpha must be a number in \(0\.5, 2\].*, got"):
        targets.stable(alpha, [0.0])
    with pytest.raises(ValueError, match=r"^alpha must be a number in \(0\.5, 2\].*, got"):
        targets.stable_mixture(alpha, PAIR, [0.5, 0.5])


@pytest.mark.parametrize(
    "scale", [0.0, -1.0, float("nan"), float("inf"), [1.0, 0.0], [1.0, -2.0], [1.0, 1.0, 1.0], [[1.0], [1.0]], "wide"]
)
def test_bad_scale_is_refused(scale: Any) -> None:
    with pytest.raises(ValueError, match=r"^scale must be .*got"):
        targets.stable_mixture(1.5, PAIR, [0.5, 0.5], scale)


@pytest.mark.parametrize("location", [0.0, [[0.0]], [], [float("nan"), 0.0], ["here"], [1j]])
def test_bad_location_is_refused(location: Any) -> None:
    with pytest.raises(ValueError, match=r"^location must .*got"):
        targets.stable(1.5, location)


def test_integers_are_points_like_others() -> None:
    target = targets.stable_mixture(1.5, [[0.5, 0.0], [3.0, 0.0]], [0.5, 0.5], scale=0.5)
    whole = jnp.array([1, 2])
    assert target.fractional_drift is not None
    for function in (target.logdensity, target.fractional_drift):
        np.testing.assert_array_equal(function(whole), function(whole.astype(float)))
