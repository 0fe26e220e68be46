"""The fractional kernel that knows a score only."""

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mafla
from mafla import targets
from mafla.kernels.base import Noise
from mafla.kernels.score_fractional import line_integral

from .support import forced, many, normals, one_step

GAUSSIAN = targets.gaussian(3)


@pytest.fixture(autouse=True, scope="module")
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def test_at_two_it_is_mala_draw_for_draw() -> None:
    # the score of a Gaussian is linear, so that the quadrature is exact
    x = 2 * normals(0, (2000, 3), jnp.float64)
    ours, our_info = one_step(mafla.score_mafla(GAUSSIAN.score, 2.0, 0.9), 1, x)
    theirs, their_info = one_step(mafla.mala(GAUSSIAN.logdensity, 0.9), 1, x)
    np.testing.assert_array_equal(our_info.is_accepted, their_info.is_accepted)
    assert 0.2 < our_info.is_accepted.mean() < 0.95
    np.testing.assert_allclose(our_info.acceptance_rate, their_info.acceptance_rate, rtol=1e-12)
    np.testing.assert_allclose(ours.position, theirs.position, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_line_integral_is_exact_for_polynomials_up_to_its_degree(nodes: int) -> None:
    start, end = jnp.array([-0.7]), jnp.array([1.9])

    def error(degree: int) -> float:
        integral = line_integral(lambda x: (degree + 1) * x**degree, start, end, nodes)
        return abs(float(integral - (end[0] ** (degree + 1) - start[0] ** (degree + 1))))

    assert max(error(degree) for degree in range(2 * nodes)) < 1e-12
    assert error(2 * nodes) > 1e-6


def test_line_integral_changes_nothing_but_its_sign_when_the_ends_are_swapped() -> None:
    x, y = normals(0, (100, 3)), 10 * normals(1, (100, 3))
    target = targets.student_t(1, 3)
    integral = jax.jit(jax.vmap(lambda a, b: line_integral(target.score, a, b, 8)))
    np.testing.assert_allclose(integral(x, y), -integral(y, x), rtol=1e-14, atol=1e-15)


def test_line_integral_converges_to_the_change_of_log_density() -> None:
    target = targets.student_t(2, 3)
    x, y = normals(0, (100, 3)), normals(1, (100, 3))
    exact = target.logdensity(y) - target.logdensity(x)
    rules = [jax.jit(jax.vmap(partial(line_integral, target.score, nodes=nodes))) for nodes in (4, 32)]
    few, many_nodes = (float(jnp.abs(rule(x, y) - exact).max()) for rule in rules)
    assert few > 1e-5
    assert many_nodes < 1e-8


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_nonfinite_score_on_the_way_is_turned_down_and_reported(value: float) -> None:
    # both ends are fine; the nodes between 1 and 2 are not
    def score(x: Array) -> Array:
        return jnp.where((x > 1) & (x < 2), value, -0.1)

    kernel = mafla.score_mafla(score, 1.5, 1.0)
    start = jnp.zeros((1, 1))
    noise = forced(Noise(jnp.full((1, 1), 3.0), jnp.zeros(1)))
    states, infos = many(kernel)(kernel.params, start, noise)
    assert bool(infos.is_nonfinite[0])
    assert float(states.position[0, 0]) == 0


@pytest.mark.parametrize("nodes", [0, 2.5])
def test_number_of_nodes_is_a_positive_whole_number(nodes: float) -> None:
    with pytest.raises(ValueError, match="nodes must be a whole number of at least 1, got"):
        mafla.score_mafla(GAUSSIAN.score, 1.5, 0.1, nodes=nodes)  # type: ignore[arg-type]
