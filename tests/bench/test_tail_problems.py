"""Problems in the tails: thresholds and draws agree with each other and with the log density."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla.bench import tail_posteriors
from mafla.bench.tail_problems import LEVELS, Problem, problems, start

ALL = {problem.name: problem for problem in problems()}
DRAWN = [name for name in ALL if name.split(",")[0] not in ("horseshoe", "kinetics", "logistic")]
QUICK = {
    "round Student-t ν=1, d=10",
    "stretched Student-t ν=2, d=10",
    "Cauchy product, d=10",
    "stretched Gaussian, d=50",
}
SIZE = 20_000


def some_slow(names: list[str]) -> list[Any]:
    """Return the names as parameters of a test, slow but for one of each kind."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


def stein_z(problem: Problem, draws: np.ndarray) -> np.ndarray:
    """Return, by coordinate, how many standard errors ``E[∂ log p]`` is from zero, what it must be for draws of p."""
    gradients = np.asarray(jax.jit(jax.vmap(jax.grad(problem.logdensity)))(jnp.asarray(draws, jnp.float32)), np.float64)
    return gradients.mean(0) / (gradients.std(0) / np.sqrt(len(draws)))


@pytest.mark.parametrize("name", some_slow(DRAWN))
def test_draws_lie_beyond_thresholds_as_often_as_they_should(name: str) -> None:
    problem = ALL[name]
    distances = problem.distance(problem.draws(jax.random.key(1), SIZE))
    for threshold, level in zip(problem.thresholds(), LEVELS, strict=True):
        error = np.sqrt(level * (1 - level) / SIZE)
        assert abs(np.mean(distances > threshold) - (1 - level)) < 5 * error


@pytest.mark.parametrize("name", some_slow([name for name in DRAWN if "modes" not in name and "d=200" not in name]))
def test_draws_are_of_the_log_density(name: str) -> None:
    problem = ALL[name]
    assert np.abs(stein_z(problem, np.asarray(problem.draws(jax.random.key(2), SIZE)))).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["horseshoe, d=21", "kinetics, d=4", "logistic, d=10"])
def test_draws_of_posteriors_are_of_their_log_densities(name: str) -> None:
    """Draws of the Gibbs sampler and of importance sampling are less than independent, so with room."""
    problem = ALL[name]
    assert np.abs(stein_z(problem, np.asarray(problem.draws(jax.random.key(2), 5000)))).max() < 5


@pytest.mark.slow
def test_kinetics_agree_with_the_quantiles_of_posteriordb() -> None:
    """Its 99.9 % intervals for K_m, from ten thousand draws that were made by others."""
    draws = np.exp(tail_posteriors.kinetics_draws()[:, 1])
    known = {0.05: (0.0758, 0.0961), 0.25: (0.384, 0.433), 0.5: (0.933, 1.032), 0.75: (2.097, 2.392)}
    known |= {0.95: (7.897, 9.910), 0.99: (22.76, 35.97)}
    for level, (low, high) in known.items():
        assert low < np.quantile(draws, level) < high


def test_chains_start_near_or_far() -> None:
    problem = ALL["round Student-t ν=1, d=10"]
    near, far = (start(problem, name, jax.random.key(0), 64) for name in problem.starts)
    assert 2 < np.linalg.norm(near, axis=1).mean() < 4
    np.testing.assert_allclose(np.linalg.norm(far, axis=1), 1e3, rtol=1e-5)


def test_stretched_laws_are_stretched_and_off_centre() -> None:
    problem = ALL["stretched Student-t ν=5, d=10"]
    draws = problem.draws(jax.random.key(0), SIZE)
    spread = np.linalg.eigvalsh(np.cov(draws.T))
    assert 500 < spread[-1] / spread[0] < 2000
    assert problem.distance(np.zeros((1, 10)))[0] == pytest.approx(30)
