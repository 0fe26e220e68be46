"""Score Balance Matching: the gradients of the proposal, the loss of an acceptance function, and its ideal solution.

An acceptance ``a(x', x)``, the probability of moving from x to x', leaves p invariant if
``log a(x', x) - log a(x, x') = log p(x') - log p(x) + log q(x|x') - log q(x'|x)``. The gradient of this equation in
both points needs scores only. The proposal's comes in two kinds: ``"proxy"``, the paper's ``-κ r``, which belongs to a
Gaussian, and ``"exact"``, that of the stable law from which the noise is drawn. They agree at α=2 and only there.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from mafla import _check, stable
from mafla.drift import local_constant

__all__ = [
    "BalanceParts",
    "Proposal",
    "ProposalScores",
    "balance_loss",
    "balance_target",
    "curriculum_pairs",
    "log_proposal_ratio",
    "oracle_log_ratio",
    "proposal_scores",
]

Point = Float[Array, " dim"]
Points = Float[Array, "n dim"]
Scalar = Float[Array, ""]
Field = Callable[[Point], Point]
PairFunction = Callable[[Point, Point], Scalar]


class Proposal(NamedTuple):
    """The fractional Langevin proposal ``x' = x + τ b(x) + τ^(1/α) ξ`` (Eq. frac-proposal).

    Attributes:
        drift: b, a function of a single point; None for the fractional random walk, which has none.
        alpha: stability index in (1, 2].
        step_size: τ, positive.
        kind: how the score of its density is computed, ``"exact"`` or ``"proxy"``.
    """

    drift: Field | None
    alpha: float
    step_size: float
    kind: Literal["exact", "proxy"] = "exact"


class ProposalScores(NamedTuple):
    """The four gradients of Eq. frac-proposal-grads, in the order of the paper."""

    forward_new: Point  # of log q(x'|x) in x'
    forward_old: Point  # of log q(x'|x) in x
    backward_old: Point  # of log q(x|x') in x
    backward_new: Point  # of log q(x|x') in x'


class BalanceParts(NamedTuple):
    """The terms of the loss before they are weighted, each a mean over pairs."""

    squares: Scalar  # Eq. sbm_l2
    powers: Scalar  # Eq. sbm_alpha
    negative_entropy: Scalar  # Eq. sbm_ent


def proposal_scores(proposal: Proposal) -> Callable[[Point, Point], ProposalScores]:
    """Return the function ``(x_new, x)`` that gives the four gradients of the proposal (Eq. frac-proposal-grads).

    With ``g`` the score of the noise at ``r = x' - x - τ b(x)``, the gradients of ``log q(x'|x)`` are ``g`` in x' and
    ``-(g + τ Jᵀ g)`` in x, where J is the Jacobian of b. It is never formed.

    Example:
        >>> import jax.numpy as jnp
        >>> scores = proposal_scores(Proposal(lambda x: -x, 2.0, 0.5))
        >>> print(scores(jnp.array([1.0]), jnp.array([0.0])).forward_old)  # of -(x' - x + τ x)² / (4τ)
        [0.5]
    """
    drift, alpha, step_size, kind = _checked(proposal)
    gamma, kappa = step_size ** (1 / alpha), 1 / (alpha * local_constant(alpha) * step_size)  # Eq. grad-xprime-q

    def noise_score(residual: Point) -> Point:
        return -kappa * residual if kind == "proxy" else stable.score(residual / gamma, alpha) / gamma

    def one_way(to: Point, at: Point) -> tuple[Point, Point]:
        if drift is None:
            gradient = noise_score(to - at)
            return gradient, -gradient
        pull, transposed = jax.vjp(lambda point: _at_point(drift, point, "drift"), at)
        gradient = noise_score(to - at - step_size * pull)
        return gradient, -(gradient + step_size * transposed(gradient)[0])

    return lambda x_new, x: ProposalScores(*one_way(x_new, x), *one_way(x, x_new))


def balance_target(score: Field, proposal: Proposal) -> Callable[[Point, Point], tuple[Point, Point]]:
    """Return the function ``(x_new, x)`` that gives ``Δ_p + Δ_q`` of Eq. sbm_l2, its gradients in x and in x'.

    It is what the gradients of ``log a(x', x) - log a(x, x')`` must be. A random walk has ``Δ_q = 0``.

    Example:
        >>> import jax.numpy as jnp
        >>> target = balance_target(lambda x: -x, Proposal(None, 1.5, 0.1))
        >>> print(*target(jnp.array([3.0]), jnp.array([1.0])))
        [1.] [-3.]
    """
    _check.function("score", score)
    scores = proposal_scores(proposal)

    def target(x_new: Point, x: Point) -> tuple[Point, Point]:
        in_old, in_new = -_at_point(score, x, "score"), _at_point(score, x_new, "score")
        if proposal.drift is None:
            return in_old, in_new
        found = scores(x_new, x)
        return in_old + found.backward_old - found.forward_old, in_new + found.backward_new - found.forward_new

    return target


def balance_loss(
    log_acceptance: PairFunction,
    score: Field,
    proposal: Proposal,
    x_new: Points,
    x: Points,
    *,
    lambda_alpha: float = 0.0,
    lambda_entropy: float = 0.0,
    robust: float | None = None,
) -> tuple[Scalar, BalanceParts]:
    """Return the Score Balance Matching loss ``L₂ + λ_α L_α + λ E[H]`` (Eqs. sbm_objective and sbm_ent) and its parts.

    The residual of a pair has ``2 dim`` numbers, one gradient for each point; ``L₂`` is its mean squared length and
    ``L_α`` the mean sum of its α-th powers. ``H`` is the negative entropy of the acceptance, so that minimising it
    pushes ``a`` away from 0 and from 1; a log acceptance above 0 counts as 0 there.

    Args:
        log_acceptance: ``log a(x_new, x)``, the log probability of moving from a single point x to x_new.
        score: gradient of the log density at a single point.
        proposal: the proposal, and which score of it to match.
        x_new: where the moves end.
        x: where they start.
        lambda_alpha: λ_α, not negative.
        lambda_entropy: λ, not negative.
        robust: None for the paper's loss. A length ρ makes the squared length s of each residual count as
            ``2ρ² (sqrt(1 + s/ρ²) - 1)``, pseudo-Huber: a pair pulls with the weight ``1 / sqrt(1 + s/ρ²)``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> proposal = Proposal(lambda x: -x, 1.5, 0.1)
        >>> ratio = oracle_log_ratio(lambda x: -0.5 * x @ x, proposal)
        >>> barker = lambda new, old: jax.nn.log_sigmoid(ratio(new, old))
        >>> loss, _ = balance_loss(barker, lambda x: -x, proposal, jnp.ones((3, 2)), jnp.zeros((3, 2)))
        >>> bool(loss < 1e-8)
        True
    """
    _check.function("log_acceptance", log_acceptance)
    alpha_weight, entropy_weight = _weight("lambda_alpha", lambda_alpha), _weight("lambda_entropy", lambda_entropy)
    width = None if robust is None else _check.positive("robust", robust)
    if x_new.shape != x.shape or x.ndim != 2:
        raise ValueError(f"x_new and x must have one shape (n, dim), got {x_new.shape} and {x.shape}")
    target = balance_target(score, proposal)

    def one_pair(x_new: Point, x: Point) -> BalanceParts:
        (in_new, in_old), log_a = jax.grad(_imbalance, argnums=(1, 2), has_aux=True)(log_acceptance, x_new, x)
        target_old, target_new = target(x_new, x)
        residual = _shrink(jnp.concatenate([in_old - target_old, in_new - target_new]), width)
        powers = jnp.sum(jnp.abs(residual) ** proposal.alpha)
        return BalanceParts(jnp.sum(residual * residual), powers, _negative_entropy(log_a))

    parts = BalanceParts(*map(jnp.mean, jax.vmap(one_pair)(x_new, x)))
    return parts.squares + alpha_weight * parts.powers + entropy_weight * parts.negative_entropy, parts


def log_proposal_ratio(proposal: Proposal) -> PairFunction:
    """Return ``log q(x|x') - log q(x'|x)`` as a function of ``(x_new, x)``.

    For ``"proxy"`` it is the potential of the proxy, ``-κ/2 (|r_rev|² - |r|²)``.

    Example:
        >>> import jax.numpy as jnp
        >>> ratio = log_proposal_ratio(Proposal(lambda x: -x, 1.5, 0.1))
        >>> there, back = jnp.array([2.0]), jnp.array([0.5])
        >>> bool(ratio(there, back) == -ratio(back, there))
        True
    """
    drift, alpha, step_size, kind = _checked(proposal)
    gamma, kappa = step_size ** (1 / alpha), 1 / (alpha * local_constant(alpha) * step_size)  # Eq. grad-xprime-q

    def ratio(x_new: Point, x: Point) -> Scalar:
        if drift is None:
            return jnp.zeros((), x.dtype)
        pull, pull_new = _at_point(drift, x, "drift"), _at_point(drift, x_new, "drift")
        if kind == "proxy" or alpha == 2:
            # Multiplied out: the difference of two long squares would lose what is left of it.
            change = 2 * (x_new - x) + step_size * (pull_new - pull)
            return -0.5 * kappa * step_size * jnp.sum((pull + pull_new) * change)
        forward = stable.logpdf((x_new - x - step_size * pull) / gamma, alpha)
        backward = stable.logpdf((x - x_new - step_size * pull_new) / gamma, alpha)
        return backward - forward

    return ratio


def oracle_log_ratio(logdensity: Callable[[Point], Scalar], proposal: Proposal) -> PairFunction:
    """Return what ``log a(x', x) - log a(x, x')`` is where the loss is zero, as a function of ``(x_new, x)``.

    For ``"exact"`` it is the Metropolis-Hastings log ratio. For ``"proxy"`` it is not, and below α=2 it does not become
    so as τ falls: short moves have ``(1/2 - 1/α) (x' - x)·(s(x) + s(x'))``, of the wrong sign.

    Example:
        >>> import jax.numpy as jnp
        >>> ratio = oracle_log_ratio(lambda x: -0.5 * x @ x, Proposal(None, 1.5, 0.1))
        >>> float(ratio(jnp.array([2.0]), jnp.array([0.0])))
        -2.0
    """
    _check.function("logdensity", logdensity)
    ratio = log_proposal_ratio(proposal)
    return lambda x_new, x: logdensity(x_new) - logdensity(x) + ratio(x_new, x)


def curriculum_pairs(key: Key[Array, ""], x: Points, proposal: Proposal, eta: Any) -> Points:
    """Return the new points ``x' = η v' + (1-η) x`` of training pairs ``(x', x)``, with ``v' ~ q(·|x)``.

    Args:
        key: random key.
        x: points of the data.
        proposal: from which v' is drawn; its kind plays no part.
        eta: η in [0, 1]: 0 gives x itself, 1 proposals.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.ones((3, 2))
        >>> bool((curriculum_pairs(jax.random.key(0), x, Proposal(lambda x: -x, 1.5, 0.1), 0.0) == x).all())
        True
    """
    drift, alpha, step_size, _ = _checked(proposal)
    if not isinstance(eta, jax.core.Tracer) and not 0 <= _check.number("eta", eta, "a number in [0, 1]") <= 1:
        raise ValueError(f"eta must be a number in [0, 1], got {eta}")
    jump = step_size ** (1 / alpha) * stable.sample(key, alpha, x.shape[:-1], x.shape[-1], x.dtype)
    if drift is not None:
        jump += step_size * jax.vmap(lambda point: _at_point(drift, point, "drift"))(x)
    return x + eta * jump


def _imbalance(log_acceptance: PairFunction, x_new: Point, x: Point) -> tuple[Scalar, Scalar]:
    forward = jnp.asarray(log_acceptance(x_new, x))
    if forward.shape != ():
        raise ValueError(f"log_acceptance must return a scalar for a single pair, got shape {forward.shape}")
    return forward - log_acceptance(x, x_new), forward


def _shrink(residual: Float[Array, " n"], width: float | None) -> Float[Array, " n"]:
    """Shorten a residual: its squared length becomes the pseudo-Huber function of what it was."""
    if width is None:
        return residual
    return residual * jnp.sqrt(2 / (1 + jnp.sqrt(1 + jnp.sum((residual / width) ** 2))))


def _negative_entropy(log_a: Scalar) -> Scalar:
    """Return ``a log a + (1-a) log(1-a)``, finite with a finite derivative where a is 0 or 1 in floating point."""
    tiny = float(np.finfo(log_a.dtype).tiny)
    log_a = jnp.clip(log_a, jnp.log(jnp.asarray(tiny, log_a.dtype)), 0)
    rest = jnp.where(log_a < -1, 1 - jnp.exp(log_a), -jnp.expm1(log_a))  # the derivative of expm1 fails far below 0
    return jnp.exp(log_a) * log_a + rest * jnp.log(jnp.maximum(rest, tiny))


def _checked(proposal: Proposal) -> Proposal:
    if not isinstance(proposal, Proposal):
        raise ValueError(f"proposal must be a mafla.learn.balance.Proposal, got {type(proposal).__name__}")
    if proposal.drift is not None:
        _check.function("drift", proposal.drift)
    if proposal.kind not in ("exact", "proxy"):
        raise ValueError(f"proposal_score must be exact or proxy, got {proposal.kind!r}")
    alpha = _check.stability_index(proposal.alpha, above=1)
    return Proposal(proposal.drift, alpha, _check.positive("step_size", proposal.step_size), proposal.kind)


def _weight(name: str, value: Any) -> float:
    if _check.number(name, value, "a number of at least 0") < 0:
        raise ValueError(f"{name} must be a number of at least 0, got {value}")
    return float(value)


def _at_point(field: Field, point: Point, name: str) -> Point:
    value = jnp.asarray(field(point))
    if value.shape != point.shape:
        raise ValueError(f"{name} must return shape {point.shape} at a single point, got {value.shape}")
    return value.astype(point.dtype)
