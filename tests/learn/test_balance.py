"""Score Balance Matching: gradients against the densities they belong to, and losses that vanish where they must."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from mafla import stable
from mafla.drift import local_constant, local_drift
from mafla.learn.balance import (
    Proposal,
    balance_loss,
    balance_target,
    log_proposal_ratio,
    oracle_log_ratio,
    proposal_scores,
)

PairFunction = Callable[[Array, Array], Array]

DIM, TAU, PAIRS = 3, 0.3, 200
MATRIX = np.random.default_rng(5).normal(size=(DIM, DIM))
ALPHAS = [1.2, 1.8, 2.0]
KINDS: list[Any] = ["exact", "proxy"]


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def logdensity(x: Array) -> Array:
    """Student-t of two degrees of freedom with a bump, so that nothing about it is symmetric."""
    return -2.5 * jnp.log1p(x @ x / 2) + jnp.sin(x[0] + 0.5 * x[-1])


score = jax.grad(logdensity)


def drift(x: Array) -> Array:
    """Neither linear nor a gradient: its Jacobian is far from symmetric."""
    return jnp.tanh(jnp.asarray(MATRIX) @ x) - x / (1 + x @ x)


def pairs(spread: float = 2.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    x = spread * rng.standard_t(2, size=(PAIRS, DIM))
    return jnp.asarray(x + rng.standard_t(1.5, size=x.shape)), jnp.asarray(x)


def log_proposal(alpha: float, kind: str, to: Array, at: Array, field: Callable[[Array], Array] = drift) -> Array:
    """Return ``log q(to|at)`` up to a constant, for the proxy that of a Gaussian of variance ``α c_α τ``."""
    residual = to - at - TAU * field(at)
    if kind == "proxy":
        return -0.5 * residual @ residual / (alpha * local_constant(alpha) * TAU)
    return stable.logpdf(residual / TAU ** (1 / alpha), alpha)


def log_ratio(alpha: float, kind: str, field: Callable[[Array], Array] = drift) -> PairFunction:
    q = partial(log_proposal, alpha, kind, field=field)
    return lambda new, old: logdensity(new) - logdensity(old) + q(old, new) - q(new, old)


def on_pairs(function: Callable[[Array, Array], Any], *, swapped: bool = False) -> Any:
    """Evaluate a function of one pair on all of them, compiled in one go."""
    new, old = pairs()
    return jax.jit(jax.vmap(function))(*((old, new) if swapped else (new, old)))


def barker(ratio: PairFunction) -> PairFunction:
    return lambda new, old: jax.nn.log_sigmoid(ratio(new, old))


def loss_of(log_acceptance: PairFunction, proposal: Proposal, **options: Any) -> float:
    return float(jax.jit(lambda: balance_loss(log_acceptance, score, proposal, *pairs(), **options)[0])())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_four_gradients_are_those_of_the_log_density_of_the_proposal(alpha: float, kind: Any) -> None:
    found = on_pairs(proposal_scores(Proposal(drift, alpha, TAU, kind)))
    forward = on_pairs(jax.grad(partial(log_proposal, alpha, kind), argnums=(0, 1)))
    backward = on_pairs(jax.grad(partial(log_proposal, alpha, kind), argnums=(0, 1)), swapped=True)
    for ours, theirs in zip(found, (*forward, *backward), strict=True):
        size = np.linalg.norm(theirs, axis=1)
        assert np.all(np.linalg.norm(ours - theirs, axis=1) <= 1e-9 * size)


def test_at_two_both_kinds_are_the_gaussian_of_mala() -> None:
    def mala(to: Array, at: Array) -> Array:
        return jax.scipy.stats.norm.logpdf(to, at + TAU * drift(at), math.sqrt(2 * TAU)).sum()

    exact, proxy = (on_pairs(proposal_scores(Proposal(drift, 2.0, TAU, kind))) for kind in KINDS)
    expected = on_pairs(jax.grad(mala, argnums=(0, 1)))
    for ours, theirs, truth in zip(exact[:2], proxy[:2], expected, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(theirs, truth, rtol=1e-9, atol=1e-12)


def test_below_two_the_kinds_differ() -> None:
    exact, proxy = (on_pairs(proposal_scores(Proposal(drift, 1.5, TAU, kind))) for kind in KINDS)
    assert np.median(np.abs(exact.forward_new / proxy.forward_new - 1)) > 0.2


def test_far_out_the_proxy_grows_where_the_score_of_the_proposal_decays() -> None:
    alpha, x = 1.5, jnp.zeros(DIM)
    near, far = (jnp.full(DIM, length / math.sqrt(DIM)) for length in (1e4, 1e6))
    exact, proxy = (proposal_scores(Proposal(None, alpha, TAU, kind)) for kind in KINDS)
    assert np.linalg.norm(proxy(far, x).forward_new) == pytest.approx(
        1e6 / (alpha * local_constant(alpha) * TAU), rel=1e-9
    )
    assert np.linalg.norm(exact(far, x).forward_new) == pytest.approx((DIM + alpha) / 1e6, rel=1e-4)
    assert np.linalg.norm(exact(near, x).forward_new) == pytest.approx((DIM + alpha) / 1e4, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_target_is_the_gradient_of_the_ideal_log_ratio(alpha: float, kind: Any) -> None:
    proposal = Proposal(drift, alpha, TAU, kind)
    in_old, in_new = on_pairs(balance_target(score, proposal))
    new, old = on_pairs(jax.grad(log_ratio(alpha, kind), argnums=(0, 1)))
    np.testing.assert_allclose(in_old, old, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(in_new, new, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_oracle_is_the_log_ratio_of_target_and_proposal(alpha: float, kind: Any) -> None:
    ours = on_pairs(oracle_log_ratio(logdensity, Proposal(drift, alpha, TAU, kind)))
    theirs = on_pairs(log_ratio(alpha, kind))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_loss_is_zero_for_acceptances_that_balance(alpha: float, kind: Any) -> None:
    def product(new: Array, old: Array) -> Array:
        """Half the log ratio and a symmetric factor: the paper's f(x) g(x') r(x', x)."""
        return 0.5 * ratio(new, old) - jnp.cos(new @ old) - jnp.sum((new - old) ** 2)

    ratio, proposal = log_ratio(alpha, kind), Proposal(drift, alpha, TAU, kind)
    assert loss_of(barker(ratio), proposal) <= 1e-12
    assert loss_of(product, proposal) <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_loss_sees_whatever_does_not_balance(kind: Any) -> None:
    alpha = 1.5
    proposal, right = Proposal(drift, alpha, TAU, kind), log_ratio(alpha, kind)
    constant, proxy_part = local_constant(alpha), log_proposal_ratio(Proposal(drift, alpha, TAU, "proxy"))
    wrong = {
        "arguments swapped": lambda new, old: right(old, new),
        "no Jacobian": log_ratio(alpha, kind, field=lambda x: jax.lax.stop_gradient(drift(x))),
        "another drift": log_ratio(alpha, kind, field=lambda x: drift(x) + 0.05 * x[::-1]),
        "another kappa": lambda new, old: right(new, old) + 0.1 * proxy_part(new, old),
        "no local constant": lambda new, old: right(new, old) + (constant - 1) * proxy_part(new, old),
        "no proposal": lambda new, old: logdensity(new) - logdensity(old),
        "no target": lambda new, old: right(new, old) - logdensity(new) + logdensity(old),
        "accept always": lambda new, old: 0 * new @ old,
    }
    losses = {name: loss_of(barker(ratio), proposal) for name, ratio in wrong.items()}
    assert min(losses.values()) > 1e-3, losses


def test_kinds_do_not_balance_each_other() -> None:
    assert loss_of(barker(log_ratio(1.5, "proxy")), Proposal(drift, 1.5, TAU, "exact")) > 0.1


def test_at_two_the_power_loss_is_the_squared_loss() -> None:
    proposal = Proposal(drift, 2.0, TAU)
    loss, parts = jax.jit(
        lambda: balance_loss(lambda new, old: -new @ old, score, proposal, *pairs(), lambda_alpha=0.5)
    )()
    assert parts.squares > 1
    np.testing.assert_allclose(parts.powers, parts.squares, rtol=1e-12)
    np.testing.assert_allclose(loss, 1.5 * parts.squares, rtol=1e-12)


def test_parts_are_the_formulas_of_the_paper() -> None:
    alpha, proposal = 1.5, Proposal(drift, 1.5, TAU)

    def log_acceptance(new: Array, old: Array) -> Array:
        return jax.nn.log_sigmoid(0.3 * new[0] - jnp.sin(old[1]))

    def imbalance(new: Array, old: Array) -> Array:
        return log_acceptance(new, old) - log_acceptance(old, new) - log_ratio(alpha, "exact")(new, old)

    residual = np.concatenate(on_pairs(jax.grad(imbalance, argnums=(0, 1))), axis=1)
    a = np.exp(on_pairs(log_acceptance))
    loss, parts = jax.jit(
        lambda: balance_loss(log_acceptance, score, proposal, *pairs(), lambda_alpha=0.7, lambda_entropy=0.2)
    )()
    expected = (residual**2).sum(1).mean(), (np.abs(residual) ** alpha).sum(1).mean()
    entropy = (a * np.log(a) + (1 - a) * np.log(1 - a)).mean()
    np.testing.assert_allclose(parts, (*expected, entropy), rtol=1e-9)
    np.testing.assert_allclose(loss, expected[0] + 0.7 * expected[1] + 0.2 * entropy, rtol=1e-9)


def test_robust_loss_is_pseudo_huber_in_the_length_of_the_residual() -> None:
    proposal, width = Proposal(None, 1.5, TAU), 0.7
    x_new, x = (points[:1] for points in pairs())

    def parts(scale: Array | float, robust: float | None) -> Array:
        # a random walk on a flat target: the residual is (-u, u) for the logit u·x'
        return balance_loss(
            lambda new, old: scale * (new[0] - old[0]) / 2, jnp.zeros_like, proposal, x_new, x, robust=robust
        )[1].squares

    plain, robust = (jax.jit(jax.value_and_grad(partial(parts, robust=choice))) for choice in (None, width))
    for scale in (1e-3, 0.5, 40.0):
        (square, slope), (shrunk, shrunk_slope) = plain(scale), robust(scale)
        np.testing.assert_allclose(square, 2 * scale**2, rtol=1e-12)
        np.testing.assert_allclose(shrunk, 2 * width**2 * (math.sqrt(1 + square / width**2) - 1), rtol=1e-7)
        np.testing.assert_allclose(shrunk_slope / slope, 1 / math.sqrt(1 + square / width**2), rtol=1e-9)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_value_and_gradient_are_numbers_at_the_ends_of_the_acceptance(dtype: Any) -> None:
    x_new, x = (points[:5].astype(dtype) for points in pairs())

    def loss(level: Array) -> Array:
        return balance_loss(
            lambda new, old: level + 0 * (new @ old),
            jnp.zeros_like,
            Proposal(None, 1.5, TAU),
            x_new,
            x,
            lambda_alpha=1.0,
            lambda_entropy=1.0,
            robust=1.0,
        )[0]

    both = jax.jit(jax.value_and_grad(loss))
    for log_a in (0.0, -1e-30, -1e-3, -1.0, -1e4, -math.inf):
        value, slope = both(jnp.asarray(log_a, dtype))
        assert value.dtype == slope.dtype == dtype
        assert np.isfinite([value, slope]).all(), log_a


def test_entropy_pushes_the_acceptance_away_from_both_ends() -> None:
    def negative_entropy(level: Array) -> Array:
        proposal = Proposal(None, 1.5, TAU)
        return balance_loss(
            lambda new, old: jax.nn.log_sigmoid(level) + 0 * (new @ old), jnp.zeros_like, proposal, *pairs()
        )[1].negative_entropy

    slope = jax.jit(jax.grad(negative_entropy))
    for logit in (-200.0, -5.0, 0.0, 5.0, 30.0):
        a, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
        assert float(slope(logit)) == pytest.approx(a * rest * logit, rel=1e-9, abs=1e-16 * a * rest)


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0])
def test_residual_of_zero_has_a_gradient_of_zero(alpha: float) -> None:
    def powers(scale: Array) -> Array:
        return balance_loss(
            lambda new, old: scale * new[0] + 0 * old[0], jnp.zeros_like, Proposal(None, alpha, TAU), *pairs()
        )[1].powers

    value, slope = jax.jit(jax.value_and_grad(powers))(0.0)
    assert (float(value), float(slope)) == (0.0, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_random_walk_needs_the_score_of_the_target_only(kind: Any) -> None:
    proposal = Proposal(None, 1.5, TAU, kind)
    x_new, x = pairs()
    in_old, in_new = jax.vmap(balance_target(score, proposal))(x_new, x)
    np.testing.assert_array_equal(in_old, -jax.vmap(score)(x))
    np.testing.assert_array_equal(in_new, jax.vmap(score)(x_new))
    found = jax.vmap(proposal_scores(proposal))(x_new, x)
    np.testing.assert_array_equal(found.backward_old, found.forward_old)
    np.testing.assert_array_equal(found.backward_new, found.forward_new)
    still = jax.vmap(proposal_scores(proposal._replace(drift=jnp.zeros_like)))(x_new, x)
    jax.tree.map(np.testing.assert_array_equal, found, still)
    assert loss_of(barker(oracle_log_ratio(logdensity, proposal)), proposal) <= 1e-12
    assert loss_of(barker(lambda new, old: logdensity(new) - logdensity(old)), proposal) <= 1e-12


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.9])
def test_short_moves_have_the_wrong_sign_under_the_proxy(alpha: float) -> None:
    x = pairs()[1]
    x_new = x + 1e-4 * jnp.asarray(np.random.default_rng(2).normal(size=x.shape))
    # κ τ does not depend on τ, so that no smaller step helps
    proposal = Proposal(local_drift(score, alpha), alpha, 1e-8, "proxy")
    found = np.asarray(jax.vmap(oracle_log_ratio(logdensity, proposal))(x_new, x))
    change = np.asarray(((x_new - x) * (jax.vmap(score)(x) + jax.vmap(score)(x_new))).sum(1))
    np.testing.assert_allclose(found, (1 / 2 - 1 / alpha) * change, rtol=1e-4, atol=1e-4 * np.abs(change).max())
    truth = np.asarray(jax.vmap(logdensity)(x_new) - jax.vmap(logdensity)(x))
    clear = np.abs(truth) > 1e-2 * np.abs(truth).max()
    assert np.all(found[clear] * truth[clear] < 0)
