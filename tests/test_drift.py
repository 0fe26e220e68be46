"""Fractional drifts: coefficients against Gamma functions, and the Riesz sum against closed forms as it is refined."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

import mafla
from mafla import targets
from mafla.drift import local_constant, local_drift, riesz_coefficients, riesz_drift

Vector = NDArray[np.float64]

ALPHAS = [1.2, 1.5, 1.8]


def minus(x: jax.Array) -> jax.Array:
    """Return the score of the standard normal law."""
    return -x


@cache
def relative_errors(alpha: float, spacing: float, width: float) -> Vector:
    """Relative errors of the Riesz drift of the stable law on the line, at 0.5, 1 and 3, in double precision."""
    with jax.enable_x64(True):
        target = targets.stable(alpha, [0.0])
        assert target.fractional_drift is not None
        x = jnp.array([[0.5], [1.0], [3.0]])
        found = jax.vmap(riesz_drift(target.score, alpha, round(width / spacing), spacing))
        return np.asarray((jax.jit(found)(x) / target.fractional_drift(x) - 1)[:, 0])


@pytest.mark.parametrize(
    ("alpha", "constant"),
    [(2.0, 1.0), (1.5, math.sqrt(math.pi) / math.gamma(0.75) ** 2), (1.25, 3.62560990822 / 1.43451884809**2)],
)
def test_local_constant(alpha: float, constant: float) -> None:
    assert local_constant(alpha) == pytest.approx(constant, rel=1e-10)


@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.95])
def test_coefficients_are_the_ratio_of_gamma_functions(alpha: float) -> None:
    gamma, k = alpha - 2, np.arange(31)
    ratio = special.rgamma(gamma / 2 - k + 1) * special.rgamma(gamma / 2 + k + 1)
    found = riesz_coefficients(alpha, 30)
    assert found.shape == (31,)
    np.testing.assert_allclose(found, (-1.0) ** k * math.gamma(gamma + 1) * ratio, rtol=1e-12)
    assert found[0] == local_constant(alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_coefficients_are_those_of_the_symbol(alpha: float) -> None:
    """Σ_k g_k e^(ikθ) = (2 sin(θ/2))^(α-2), so that the mean of the symbol times cos(kθ) is g_k."""
    # With θ = 2π u the symbol has integrable powers at both ends, which Gauss-Jacobi takes for its weight.
    power = alpha - 2
    node, weight = special.roots_jacobi(100, power, power)
    u = (node + 1) / 2
    smooth = (2 * np.sin(np.pi * u) / (u * (1 - u))) ** power * 2 ** (-2 * power - 1)
    found = [(weight * smooth) @ np.cos(2 * np.pi * k * u) for k in range(20)]
    np.testing.assert_allclose(riesz_coefficients(alpha, 19), found, rtol=1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_coefficients_stay_finite_and_follow_a_power_law_far_out(alpha: float) -> None:
    found = riesz_coefficients(alpha, 100_000)
    # the kernel of the Riesz potential of order 2 - α
    constant = 1 / (2 * math.gamma(2 - alpha) * math.cos(math.pi * (2 - alpha) / 2))
    assert found[-1] * 100_000 ** (alpha - 1) == pytest.approx(constant, rel=1e-8)


@pytest.mark.parametrize("alpha", [1.2, 2.0])
@pytest.mark.parametrize("spacing", [1e-3, 50.0])
def test_order_zero_is_the_local_drift_whatever_the_spacing(alpha: float, spacing: float) -> None:
    x = jnp.array([0.3, -2.0, 7.0])
    expected = local_constant(alpha) * jnp.tanh(-x)
    np.testing.assert_allclose(riesz_drift(lambda x: jnp.tanh(-x), alpha, 0, spacing)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(local_drift(lambda x: jnp.tanh(-x), alpha)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("order", [0, 1, 6])
def test_index_two_gives_the_score_at_any_order(order: int) -> None:
    x = jnp.array([0.3, -2.0, 3.0])
    drift = jax.jit(riesz_drift(lambda x: jnp.tanh(-x), 2.0, order, 0.1))
    np.testing.assert_allclose(drift(x), jnp.tanh(-x), rtol=1e-6)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.usefixtures("x64")
def test_density_ratio_is_exact_for_a_linear_score(alpha: float) -> None:
    order, spacing, x = 40, 0.3, np.array([-1.5, 0.2, 2.0])
    k = np.arange(-order, order + 1)
    points = x[:, None] - k * spacing
    ratio = np.exp((x[:, None] ** 2 - points**2) / 2)
    expected = spacing ** (2 - alpha) * (ratio * -points) @ riesz_coefficients(alpha, order)[np.abs(k)]
    found = jax.jit(riesz_drift(minus, alpha, order, spacing))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.usefixtures("x64")
def test_error_on_a_gaussian_is_that_of_the_symbol(alpha: float) -> None:
    """The leading error is (2-α)/24 h² D^α p' / p: there is no tail to cut off, and the density ratio is exact."""
    x = np.array([0.5, 1.0, 2.0])

    def potential(power: float) -> Vector:
        """D^power p' / p: (1/π) ∫ ω^(power+1) e^(-ω²/2) sin(ωx) dω, a Kummer function, over the density."""
        half = (power + 3) / 2
        integral = x * 2 ** (half - 1) * math.gamma(half) * special.hyp1f1(half, 1.5, -(x**2) / 2)
        return np.asarray(-integral / np.pi / (np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)))

    for spacing in (0.1, 0.05):
        found = np.asarray(jax.jit(riesz_drift(minus, alpha, round(12 / spacing), spacing))(x))
        error = (found - potential(alpha - 2)) / spacing**2
        scale = np.abs(potential(alpha)).max() * (2 - alpha) / 24
        np.testing.assert_allclose(error, (2 - alpha) / 24 * potential(alpha), atol=2 * spacing**2 * scale)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_error_falls_with_the_square_of_the_spacing(alpha: float) -> None:
    errors = np.abs([relative_errors(alpha, spacing, 640.0) for spacing in (0.2, 0.1, 0.05)])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2, atol=0.02)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.usefixtures("x64")
def test_error_falls_with_the_width_of_the_window_to_the_power_of_two_alpha_plus_one(alpha: float) -> None:
    """The leading terms of both sides of p' cancel: what is cut off is 2x ∫_W^∞ kernel(y) p''(y) dy / p(x)."""
    spacing, x = 0.1, np.array([0.5, 1.0, 3.0])
    widths = spacing * (np.array([400, 1200]) + 0.5)  # the sum over k ≤ K is an integral up to (K + 1/2) h
    reference = relative_errors(alpha, spacing, 640.0)
    cut = np.array([relative_errors(alpha, spacing, width - spacing / 2) for width in widths]) - reference
    orders = np.log(np.abs(cut[:-1] / cut[1:])) / np.log(widths[1:] / widths[:-1])[:, None]
    np.testing.assert_allclose(orders, 2 * alpha + 1, atol=0.1)
    tail = math.gamma(1 + alpha) * math.sin(math.pi * alpha / 2) / math.pi  # of the density, times y^-(α+1)
    kernel = 1 / (2 * math.gamma(2 - alpha) * math.cos(math.pi * (2 - alpha) / 2))
    density = np.exp(jax.jit(targets.stable(alpha, [0.0]).logdensity)(x[:, None]))
    missing = 2 * x * kernel * tail * (alpha + 1) * (alpha + 2) / (2 * alpha + 1) * widths[-1] ** -(2 * alpha + 1)
    np.testing.assert_allclose(cut[-1], missing / density / (x / alpha), rtol=0.03)


def test_window_must_reach_the_mass() -> None:
    """Far out nearly all of the drift comes from the middle of the law: a window that misses it leaves little."""
    score, x = targets.stable(1.5, [0.0]).score, jnp.array([30.0])
    short, long = (float(jax.jit(riesz_drift(score, 1.5, order, 0.2))(x)[0]) for order in (50, 500))
    assert -2 < short < 0
    assert long == pytest.approx(-30 / 1.5, rel=0.01)


@pytest.mark.parametrize("order", [1, 5])
@pytest.mark.usefixtures("x64")
def test_it_acts_coordinate_by_coordinate(order: int) -> None:
    scores: list[Callable[[jax.Array], jax.Array]] = [minus, lambda x: jnp.tanh(-x), lambda x: -2 * x / (1 + x * x)]
    x = jnp.array([0.7, -1.2, 2.5])
    product = riesz_drift(lambda x: jnp.stack([s(c) for s, c in zip(scores, x, strict=True)]), 1.4, order, 0.3)
    found = jax.jit(product)(x)
    alone = [jax.jit(riesz_drift(s, 1.4, order, 0.3))(x[i : i + 1])[0] for i, s in enumerate(scores)]
    np.testing.assert_allclose(found, alone, rtol=1e-12)


def test_drift_keeps_the_precision_and_can_be_mapped_and_differentiated() -> None:
    drift = jax.jit(riesz_drift(minus, 1.5, 3, 0.2))
    x = jnp.array([[0.5, -1.0], [2.0, 0.1]])
    mapped = jax.jit(jax.vmap(drift))(x)
    assert mapped.dtype == jnp.float32
    np.testing.assert_allclose(mapped[1], drift(x[1]), rtol=1e-5)
    step = jnp.array([1e-2, 0.0])
    slope = (drift(x[0] + step) - drift(x[0] - step)) / 2e-2
    np.testing.assert_allclose(jax.jit(jax.jacfwd(drift))(x[0])[:, 0], slope, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.1, float("nan"), None])
def test_index_without_a_drift_is_refused(alpha: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: local_constant(alpha),
        lambda: local_drift(minus, alpha),
        lambda: riesz_coefficients(alpha, 2),
        lambda: riesz_drift(minus, alpha, 2, 0.1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^alpha must be a number in \(1, 2\].*, got"):
            call()


@pytest.mark.parametrize("order", [-1, 1.5, "three", None])
def test_bad_order_is_refused(order: Any) -> None:
    with pytest.raises(ValueError, match=r"^order must be a whole number of at least 0, got"):
        riesz_coefficients(1.5, order)
    with pytest.raises(ValueError, match=r"^order must be a whole number of at least 0, got"):
        riesz_drift(minus, 1.5, order, 0.1)


@pytest.mark.parametrize("order", [0, 3])
@pytest.mark.parametrize("spacing", [0.0, -0.1, float("inf"), float("nan"), None])
def test_bad_spacing_is_refused(order: int, spacing: Any) -> None:
    with pytest.raises(ValueError, match=r"^spacing must be a positive finite number.*, got"):
        riesz_drift(minus, 1.5, order, spacing)


def test_what_is_no_function_is_refused_where_it_is_given() -> None:
    target: Any = targets.student_t(2, dim=2)
    with pytest.raises(ValueError, match=r"score must be a function of one point, got Target; pass its \.score"):
        riesz_drift(target, 1.5, 3, 0.1)
    with pytest.raises(ValueError, match="score must be a function of one point, got Target"):
        local_drift(target, 1.5)
    for kernel in (mafla.fula, mafla.score_mafla):
        with pytest.raises(ValueError, match="drift must be a function of one point, got float"):
            kernel(minus, 1.5, 0.1, drift=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="drift must be a function of one point, got str"):
        mafla.exact_mafla(target.logdensity, 1.5, 0.1, drift="local")  # type: ignore[arg-type]
