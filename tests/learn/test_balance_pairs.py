"""The training pairs of Score Balance Matching, and what the loss refuses."""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import stats

import mafla
from mafla import stable
from mafla.drift import local_drift
from mafla.learn.balance import Proposal, balance_loss, curriculum_pairs

DIM, TAU, PAIRS = 3, 0.3, 200


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def points() -> Array:
    return jnp.asarray(np.random.default_rng(1).standard_t(2, size=(PAIRS, DIM)))


def logdensity(x: Array) -> Array:
    return -2.5 * jnp.log1p(x @ x / 2)


score = jax.grad(logdensity)


def drift(x: Array) -> Array:
    return jnp.tanh(x[::-1]) - x


def log_acceptance(new: Array, old: Array) -> Array:
    return jax.nn.log_sigmoid(logdensity(new) - logdensity(old))


def test_pairs_run_from_the_point_itself_to_the_proposal() -> None:
    x, proposal = points(), Proposal(drift, 1.5, TAU)
    start, half, end = (curriculum_pairs(jax.random.key(0), x, proposal, eta) for eta in (0.0, 0.5, 1.0))
    np.testing.assert_array_equal(start, x)
    np.testing.assert_allclose(half, 0.5 * (x + end), rtol=1e-12)
    noise = stable.sample(jax.random.key(0), 1.5, (PAIRS,), DIM)
    np.testing.assert_allclose(end, x + TAU * jax.vmap(drift)(x) + TAU ** (1 / 1.5) * noise, rtol=1e-12)


def test_pairs_at_one_have_the_law_of_the_unadjusted_proposal() -> None:
    size, alpha = 20_000, 1.5
    x = jnp.full((size, 1), 0.7)

    def slope(x: Array) -> Array:
        return -3 * x / (2 + x * x)

    ours = curriculum_pairs(jax.random.key(0), x, Proposal(local_drift(slope, alpha), alpha, TAU), 1.0)
    kernel = mafla.fula(slope, alpha, TAU)
    keys = jax.random.split(jax.random.key(1), size)
    theirs = jax.jit(jax.vmap(lambda key, point: kernel.step(key, kernel.init(point))[0].position))(keys, x)
    assert stats.ks_2samp(np.asarray(ours[:, 0]), np.asarray(theirs[:, 0])).pvalue > 1e-3
    shifted = np.asarray(ours[:, 0]) + 0.05
    assert stats.ks_2samp(shifted, np.asarray(theirs[:, 0])).pvalue < 1e-3


def test_eta_may_be_traced() -> None:
    x, proposal = points(), Proposal(drift, 1.5, TAU)
    traced = jax.jit(lambda eta: curriculum_pairs(jax.random.key(0), x, proposal, eta))(0.25)
    np.testing.assert_allclose(traced, curriculum_pairs(jax.random.key(0), x, proposal, 0.25), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1.0}, r"alpha must be a number in \(1, 2\], got 1"),
        ({"step_size": -1.0}, "step_size must be a positive finite number, got -1.0"),
        ({"kind": "gaussian"}, "proposal_score must be exact or proxy, got 'gaussian'"),
        ({"drift": 3}, "drift must be a function of one point, got int"),
        ({"drift": jnp.sum}, r"drift must return shape \(3,\) at a single point, got \(\)"),
    ],
)
def test_bad_proposals_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        balance_loss(log_acceptance, score, Proposal(drift, 1.5, TAU)._replace(**change), 2 * points(), points())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_acceptance": 1}, "log_acceptance must be a function of one point, got int"),
        ({"log_acceptance": jnp.add}, r"log_acceptance must return a scalar for a single pair, got shape \(3,\)"),
        ({"score": logdensity}, r"score must return shape \(3,\) at a single point, got \(\)"),
        ({"proposal": 0.1}, "proposal must be a mafla.learn.balance.Proposal, got float"),
        ({"x": jnp.zeros((4, DIM))}, r"x_new and x must have one shape \(n, dim\), got \(200, 3\) and \(4, 3\)"),
        ({"lambda_alpha": -1}, "lambda_alpha must be a number of at least 0, got -1"),
        ({"lambda_entropy": math.nan}, "lambda_entropy must be a number of at least 0, got nan"),
        ({"robust": 0}, "robust must be a positive finite number, got 0.0"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    x_new, x = 2 * points(), points()
    good = {"log_acceptance": log_acceptance, "score": score, "proposal": Proposal(drift, 1.5, TAU)}
    with pytest.raises(ValueError, match=message):
        balance_loss(**(good | {"x_new": x_new, "x": x} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("eta", [-0.1, 1.5, math.nan, "all"])
def test_eta_must_lie_between_zero_and_one(eta: Any) -> None:
    with pytest.raises(ValueError, match=r"eta must be a number in \[0, 1\], got"):
        curriculum_pairs(jax.random.key(0), points(), Proposal(drift, 1.5, TAU), eta)
