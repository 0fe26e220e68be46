"""The exact fractional kernel: its Gaussian limit, and its marginal form against a density of many digits."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mafla
from mafla import targets
from mafla.kernels.base import Noise

from .support import forced, many, normals, one_step, units_apart

ORACLE = Path(__file__).parents[1] / "data" / "stable_density.json"
TARGET = targets.student_t(3, 4)


@pytest.fixture(autouse=True, scope="module")
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("marginal", [False, True])
def test_at_two_it_is_mala_draw_for_draw(marginal: bool) -> None:
    # positions to a few units in the last place, rates to the rounding of the exponent
    x = 3 * normals(0, (2000, 4), jnp.float64)
    ours, our_info = one_step(mafla.exact_mafla(TARGET.logdensity, 2.0, 2.0, marginal=marginal), 1, x)
    theirs, their_info = one_step(mafla.mala(TARGET.logdensity, 2.0), 1, x)
    np.testing.assert_array_equal(our_info.is_accepted, their_info.is_accepted)
    assert 0.2 < our_info.is_accepted.mean() < 0.95
    np.testing.assert_allclose(our_info.acceptance_rate, their_info.acceptance_rate, rtol=1e-13)
    assert units_apart(ours.position, theirs.position, x) <= 4


def test_uses_the_scaled_score_and_the_stable_step() -> None:
    alpha, tau = 1.4, 0.3
    constant = math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    kernel = mafla.exact_mafla(TARGET.logdensity, alpha, tau)
    x, z, log_a = (normals(i, shape, jnp.float64) for i, shape in enumerate([(50, 4), (50, 4), (50,)]))
    states, _ = many(kernel)(kernel.params, x, forced(Noise(z, log_a)))
    expected = (
        x + tau * constant * jax.jit(TARGET.score)(x) + tau ** (1 / alpha) * jnp.sqrt(2 * jnp.exp(log_a))[:, None] * z
    )
    np.testing.assert_allclose(states.position, expected, rtol=1e-12, atol=1e-12)


def oracle_pairs() -> list[tuple[int, float, float, float, float]]:
    """Return (dim, alpha, radius there, radius back, log f(back) - log f(there)) for neighbours and for far pairs."""
    rows = json.loads(ORACLE.read_text(encoding="utf-8"))["rows"]
    pairs = []
    for dim, alpha in [(1, 1.05), (1, 1.5), (1, 1.95), (3, 1.2), (3, 1.8), (10, 1.5)]:
        curve = [(rho, log_f) for d, a, rho, log_f, _ in rows if (d, a) == (dim, alpha)]
        pairs += [
            (dim, alpha, there, back, log_back - log_there)
            for distance in (1, 6)
            for (there, log_there), (back, log_back) in zip(curve, curve[distance:], strict=False)
            if log_back - log_there > -600
        ]
    return pairs


def test_marginal_acceptance_agrees_with_the_oracle_to_nine_digits() -> None:
    # Under a flat density, with a drift chosen so that the residuals there and back have the radii of the oracle, the
    # acceptance is the ratio of two oracle values. Radii reach 1e12.
    worst = 0.0
    for dim, alpha in {pair[:2] for pair in oracle_pairs()}:
        rows = np.array([pair[2:] for pair in oracle_pairs() if pair[:2] == (dim, alpha)])
        there, back, expected = rows.T
        axis = jnp.eye(dim)[0]

        def rate(there: float, back: float, alpha: float = alpha, axis: jax.Array = axis) -> jax.Array:
            # from 0 to e_1 with τ = γ = 1: r = e_1 - b(0) and r_rev = -e_1 - b(e_1)
            def drift(x: jax.Array) -> jax.Array:
                return jnp.where(x[0] < 0.5, 1 - there, back - 1) * axis

            kernel = mafla.exact_mafla(lambda x: 0 * x.sum(), alpha, 1.0, drift=drift, marginal=True)
            noise = Noise(there * axis, jnp.asarray(-math.log(2)), jnp.asarray(-jnp.inf))
            return kernel.move(kernel.params, kernel.init(jnp.zeros_like(axis)), noise)[1].acceptance_rate

        got = np.log(np.asarray(jax.jit(jax.vmap(rate))(jnp.asarray(there), jnp.asarray(back))))
        worst = max(worst, np.abs(got - np.minimum(expected, 0)).max())
    assert worst <= 1e-9


def test_marginal_form_accepts_more() -> None:
    x = 2 * normals(0, (20_000, 4))
    rates = [
        float(one_step(mafla.exact_mafla(TARGET.logdensity, 1.5, 1.0, marginal=form), 1, x)[1].acceptance_rate.mean())
        for form in (False, True)
    ]
    assert rates[1] - rates[0] > 2 * math.sqrt(math.log(2e9) / (2 * 20_000))  # Hoeffding: rates lie in [0, 1]
