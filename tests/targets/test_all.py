"""Properties that every target has: a normalised density, its gradient, and draws that follow it."""

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import interpolate, stats
from scipy.special import gammaln

from mafla import targets
from mafla.targets import Target

Vector = NDArray[np.float64]

FALSE_ALARM = 1e-6  # of a whole test, shared among its comparisons
NUM_DRAWS = 20_000  # a distribution function that is off by 0.025 anywhere fails

LINE = {
    "gaussian_mixture": targets.gaussian_mixture([[-2.0], [1.0]], [0.3, 0.7], scale=0.6),
    "stable-0.8": targets.stable(0.8, [0.5]),
    "stable-1": targets.stable(1.0, [-1.0], scale=2.0),
    "stable-1.5": targets.stable(1.5, [2.0], scale=0.5),
    "stable_mixture": targets.stable_mixture(1.7, [[-2.0], [2.0]], [0.25, 0.75], scale=[0.5, 1.5]),
}
PLANE = {
    "cauchy": targets.cauchy(2),
    "stable": targets.stable(1.2, [1.0, -0.5], scale=0.7),
    "stable_mixture": targets.stable_mixture(1.9, [[-2.0, 0.0], [2.0, 1.0]], [0.25, 0.75], scale=[0.7, 1.5]),
}
# Isotropic about a centre, so that a radius says it all.
SPACE = {
    "gaussian": (targets.gaussian(3), np.zeros(3)),
    "student_t": (targets.student_t(2.5, 3), np.zeros(3)),
    "stable": (targets.stable(1.5, [1.0, 2.0, -1.0], scale=2.0), np.array([1.0, 2.0, -1.0])),
}
CURVED = {"funnel": targets.funnel(3, spread=1.5), "banana": targets.banana(3)}
ALL: dict[str, Target] = {
    **{f"line-{name}": target for name, target in LINE.items()},
    **{f"plane-{name}": target for name, target in PLANE.items()},
    **{f"space-{name}": target for name, (target, _) in SPACE.items()},
    **CURVED,
}
ONE_OF_A_KIND = ["line-stable-1", "line-stable_mixture", "line-gaussian_mixture", "space-student_t", *CURVED]
HEAVY = {  # with the exponent d + tail index of the density far out
    "student_t": (targets.student_t(2.5, 3), 5.5),
    "cauchy": (targets.cauchy(2), 3.0),
    "stable-0.8": (targets.stable(0.8, [0.5]), 1.8),
    "stable-1": (targets.stable(1.0, [0.5, 0.0]), 3.0),
    "stable-1.5": (targets.stable(1.5, [0.5, -3.0, 2.0]), 4.5),
    "stable_mixture": (targets.stable_mixture(1.9, [[-2.0, 0.0], [2.0, 1.0]], [0.25, 0.75], [0.7, 1.5]), 3.9),
}


@cache
def compiled(target: Target) -> tuple[Callable[..., jax.Array], Callable[..., jax.Array]]:
    return jax.jit(target.logdensity), jax.jit(target.score)


def density(target: Target, points: Vector) -> Vector:
    return np.exp(np.asarray(compiled(target)[0](points), np.float64))


def sinh_grid(reach: float, step: float) -> tuple[Vector, Vector, Vector]:
    """Nodes t, points sinh(t) and trapezoidal weights: power laws decay like exponentials in t."""
    t = np.arange(-reach, reach + step / 2, step)
    return t, np.sinh(t), step * np.cosh(t)


def line_density(target: Target) -> tuple[Vector, Vector]:
    """The density over t, times dx/dt."""
    t, x, _ = sinh_grid(36, 0.01)
    return t, density(target, x[:, None]) * np.cosh(t)


def marginal_density(target: Target, angle: float) -> tuple[Vector, Vector]:
    """The density over t of the coordinate ``x_1 cos(angle) + x_2 sin(angle) = sinh(t)``, times the derivative."""
    t, x, weight = sinh_grid(24, 0.08)
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    values = density(target, x[:, None, None] * along + x[:, None] * across)
    return t, (values @ weight) * np.cosh(t)


def radial_density(target: Target, centre: Vector) -> tuple[Vector, Vector]:
    """The density over ``t = asinh|x - centre|``, times the derivative."""
    t = np.arange(0, 36, 0.01)
    dim = len(centre)
    log_area = np.log(2) + dim / 2 * np.log(np.pi) - gammaln(dim / 2)
    points = centre + np.sinh(t)[:, None] * np.eye(dim)[0]
    return t, density(target, points) * np.exp(log_area) * np.sinh(t) ** (dim - 1) * np.cosh(t)


def total(t: Vector, values: Vector) -> float:
    return float(interpolate.CubicSpline(t, values).integrate(t[0], t[-1]))


def distribution_p_value(draws: Vector, t: Vector, values: Vector) -> float:
    """p-value of the draws against the distribution with the given density over t."""
    cdf = interpolate.CubicSpline(t, values).antiderivative()
    return float(stats.kstest(np.arcsinh(draws), lambda at: np.clip(cdf(at), 0, 1)).pvalue)


@cache
def draw(target: Target) -> Vector:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(target.sample, static_argnums=1)(jax.random.key(7), NUM_DRAWS))


@pytest.mark.parametrize("name", LINE)
@pytest.mark.usefixtures("x64")
def test_density_on_the_line_integrates_to_one_and_draws_follow_it(name: str) -> None:
    t, values = line_density(LINE[name])
    assert total(t, values) == pytest.approx(1, abs=1e-8)
    assert distribution_p_value(draw(LINE[name])[:, 0], t, values) > FALSE_ALARM


@pytest.mark.parametrize("name", PLANE)
@pytest.mark.usefixtures("x64")
def test_density_on_the_plane_integrates_to_one_and_draws_follow_its_projections(name: str) -> None:
    angles, draws = (0.0, 1.0, np.pi / 2), draw(PLANE[name])
    for angle in angles:
        t, values = marginal_density(PLANE[name], angle)
        assert total(t, values) == pytest.approx(1, abs=1e-6)
        projected = draws @ np.array([np.cos(angle), np.sin(angle)])
        assert distribution_p_value(projected, t, values) > FALSE_ALARM / len(angles), angle


@pytest.mark.parametrize("name", SPACE)
@pytest.mark.usefixtures("x64")
def test_isotropic_density_integrates_to_one_and_draws_follow_radius_and_direction(name: str) -> None:
    target, centre = SPACE[name]
    dim = len(centre)
    t, values = radial_density(target, centre)
    assert total(t, values) == pytest.approx(1, abs=1e-8)
    offsets = draw(target) - centre
    radius = np.linalg.norm(offsets, axis=1)
    assert distribution_p_value(radius, t, values) > FALSE_ALARM / (dim + 2)
    # A coordinate u of a uniform direction has u² ~ Beta(1/2, (d-1)/2); the last one looks between the axes.
    for axis in np.vstack([np.eye(dim), np.full((1, dim), dim**-0.5)]):
        squares = (offsets @ axis / radius) ** 2
        assert stats.kstest(squares, stats.beta(0.5, (dim - 1) / 2).cdf).pvalue > FALSE_ALARM / (dim + 2), axis
    reflection = np.eye(dim) - 2 / dim  # an orthogonal matrix that mixes all coordinates
    there, turned = (density(target, centre + part[:20]) for part in (offsets, offsets @ reflection))
    np.testing.assert_allclose(turned, there, rtol=1e-9)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.usefixtures("x64")
def test_score_is_the_gradient_of_the_log_density(name: str) -> None:
    target = ALL[name]
    logdensity, score = compiled(target)
    x = draw(target)[:40]
    length = np.exp(x[:, 0] / 2) if name == "funnel" else np.maximum(0.3, np.linalg.norm(x, axis=1))
    step = 1e-3 * length[:, None]
    found = np.asarray(score(x))
    for axis in range(target.dim):
        moves = np.array([-2, -1, 1, 2])[:, None, None] * step * np.eye(target.dim)[axis]
        values = np.asarray(logdensity(x + moves), np.float64)
        slope = np.array([1, -8, 8, -1]) @ values / (12 * step[:, 0])  # of fourth order
        np.testing.assert_allclose(found[:, axis], slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_batches_single_points_and_transformations_agree(name: str) -> None:
    target = ALL[name]
    drift = target.fractional_drift or target.score

    @jax.jit
    def everything(x: jax.Array) -> list[list[jax.Array]]:
        batch = x.reshape(2, 3, target.dim)
        values = [
            [
                function(batch).reshape(function(x).shape),
                jax.vmap(function)(x),
                jnp.stack([function(x[0]), function(x[1])]),
            ]
            for function in (target.logdensity, target.score, drift)
        ]
        return [[values[1][0], jax.vmap(jax.grad(target.logdensity))(x)], *values]

    for first, *others in everything(jnp.asarray(draw(target)[:6], jnp.float32)):
        assert first.dtype == jnp.float32
        for other in others:
            np.testing.assert_allclose(other, first[: len(other)], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("target", [LINE["gaussian_mixture"], PLANE["stable"], *CURVED.values()])
def test_draws_depend_on_the_key_and_on_the_precision(target: Target) -> None:
    for enable, dtype in [(True, jnp.float64), (False, jnp.float32)]:
        with jax.enable_x64(enable):
            sample = jax.jit(lambda key: target.sample(key, 7))
            first, other = (sample(jax.random.key(seed)) for seed in (0, 1))
        assert first.shape == (7, target.dim)
        assert first.dtype == dtype
        assert not np.any(np.asarray(first) == np.asarray(other))


@pytest.mark.parametrize("name", HEAVY)
def test_far_tail_is_a_power_law_in_single_precision(name: str) -> None:
    target, exponent = HEAVY[name]
    logdensity, score = compiled(target)
    direction = np.ones(target.dim, np.float32) / np.float32(np.sqrt(target.dim))
    radii = np.array([1e10, 1e15, 1e30], np.float32)
    points = jnp.asarray(radii[:, None] * direction)
    values, slopes = np.asarray(logdensity(points), np.float64), np.asarray(score(points), np.float64)
    assert np.isfinite(values).all()
    fall = np.diff(values) / np.diff(np.log(radii.astype(np.float64)))
    np.testing.assert_allclose(fall, -exponent, rtol=1e-5)
    scaled = slopes * radii[:, None].astype(np.float64)
    np.testing.assert_allclose(scaled, np.tile(-exponent * direction, (3, 1)), rtol=1e-5)
