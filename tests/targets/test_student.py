"""Student-t laws against SciPy, and the Cauchy law against the stable law of index one."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla import targets


@pytest.mark.parametrize("dim", [1, 5])
@pytest.mark.parametrize("df", [0.5, 1, 3.7, 200])
def test_density_agrees_with_scipy(df: float, dim: int) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(12, dim)) * np.logspace(-3, 8, 12)[:, None]
        found = jax.jit(targets.student_t(df, dim).logdensity)(x)
    np.testing.assert_allclose(found, stats.multivariate_t(np.zeros(dim), np.eye(dim), df).logpdf(x), rtol=1e-11)


@pytest.mark.parametrize("dim", [1, 3])
def test_cauchy_is_the_stable_law_of_index_one(dim: int) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(12, dim)) * np.logspace(-3, 8, 12)[:, None]
        one, other = targets.cauchy(dim), targets.stable(1.0, np.zeros(dim))
        np.testing.assert_allclose(jax.jit(one.logdensity)(x), jax.jit(other.logdensity)(x), rtol=1e-12)
        np.testing.assert_allclose(jax.jit(one.score)(x), jax.jit(other.score)(x), rtol=1e-12)


def test_very_heavy_draws_are_finite_in_single_precision() -> None:
    # A draw beyond the range of float32 has probability 2e-8 here; one whose chi-square underflows is in range.
    draws = jax.jit(lambda key: targets.student_t(0.2, 2).sample(key, 50_000))(jax.random.key(0))
    assert draws.dtype == jnp.float32
    assert jnp.isfinite(draws).all()


@pytest.mark.parametrize("df", [0, -1.5, float("nan"), float("inf"), None, [1.0, 2.0]])
def test_bad_degrees_of_freedom_are_refused(df: Any) -> None:
    with pytest.raises(ValueError, match=r"^df must be a positive finite number.*, got"):
        targets.student_t(df, 2)


@pytest.mark.parametrize("dim", [0, -3, 2.0])
def test_bad_dimension_is_refused(dim: Any) -> None:
    for make in (lambda d: targets.student_t(2.0, d), targets.cauchy):
        with pytest.raises(ValueError, match=r"^dim must be a whole number of at least 1, got"):
            make(dim)
