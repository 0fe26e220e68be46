"""A learned acceptance function for graphs whose size does not depend on the graph: one for 64 vertices runs on 1024.

The log ratio of a move is a sum over vertices, so the network is too: a few products of what each vertex knows of both
states, weighted alike for all vertices, and a small network on the same quantities. With the paper's proxy of the
proposal score the ideal log ratio is a weighted sum of those products, whatever the graph.
"""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.drift import local_drift
from mafla.graphs.relaxation import Point, Relaxation, Scalar
from mafla.learn.balance import PairFunction, Proposal, balance_loss, curriculum_pairs
from mafla.learn.table import split
from mafla.learn.training import History, Schedule, train

__all__ = ["PooledAcceptance", "PooledNetwork", "fit_pooled_acceptance"]

WIDTH, DEPTH = 16, 1
VERTEX_FEATURES, PRODUCTS = 5, 6
LEAST_ETA, FULL_AT = 0.1, 0.5  # pairs start at a tenth of a move and are whole proposals after half the training
DEFAULT = Schedule(steps=1000, batch_size=128, learning_rate=1e-2, check_every=100, patience=None)


class PooledNetwork(eqx.Module):
    """A number for a move on any graph.

    Attributes:
        products: weights of the pooled products.
        vertex: network that is applied to each vertex and summed.
    """

    products: Float[Array, " products"]
    vertex: eqx.nn.MLP

    def __init__(self, key: Key[Array, ""]) -> None:
        layers = eqx.nn.MLP(VERTEX_FEATURES, "scalar", WIDTH, DEPTH, activation=jnp.tanh, key=key)
        self.vertex = eqx.tree_at(lambda found: found.layers[-1].weight, layers, replace_fn=lambda last: 1e-3 * last)
        self.products = jnp.zeros(PRODUCTS)

    def __call__(self, relaxed: Relaxation, new: Point, old: Point) -> Scalar:
        """Return the logit of a move from ``old`` to ``new``."""
        jump, score_new, score_old = new - old, relaxed.score(new), relaxed.score(old)
        pooled = jnp.stack(
            [
                relaxed.logdensity(new) - relaxed.logdensity(old),
                jnp.dot(jump, score_new),
                jnp.dot(jump, score_old),
                jnp.dot(score_new, score_new),
                jnp.dot(score_old, score_old),
                jnp.dot(jump, jump),
            ]
        )
        known = [relaxed.side(new), relaxed.side(old), relaxed.field(new), relaxed.field(old), jump]
        each = jax.vmap(self.vertex)(jnp.tanh(jnp.stack(known, axis=1)))
        return jnp.dot(self.products, pooled) + jnp.sum(each - self.vertex(jnp.zeros(VERTEX_FEATURES)))


class PooledAcceptance(eqx.Module):
    """An acceptance ``a = σ(g(x', x))`` in the paper's form, to be put `on` a relaxation.

    Attributes:
        network: g.
        alpha: stability index of the proposal it belongs to.
        step_size: step size of the proposal.
        history: the training.
    """

    network: PooledNetwork
    alpha: float = eqx.field(static=True)
    step_size: float = eqx.field(static=True)
    history: History = eqx.field(static=True)

    def on(self, relaxed: Relaxation) -> PairFunction:
        """Return ``log a(x_new, x)`` for a graph of any size."""
        return lambda x_new, x: jax.nn.log_sigmoid(self.network(relaxed, x_new, x))


def fit_pooled_acceptance(
    key: Key[Array, ""],
    relaxed: Relaxation,
    states: Any,
    alpha: float,
    step_size: float,
    proposal_score: Literal["proxy", "exact"] = "proxy",
    *,
    lambda_alpha: float = 0.1,
    lambda_entropy: float = 0.1,
    schedule: Schedule = DEFAULT,
    progress: bool = True,
) -> PooledAcceptance:
    """Learn an acceptance function for the states of a graph by Score Balance Matching (Eqs. sbm_objective, sbm_ent).

    Args:
        key: random key; the same key gives the same model.
        relaxed: the problem on a graph.
        states: where its particles are, (n, N), at least 50.
        alpha: stability index of the proposal, in (1, 2].
        step_size: its τ; the result belongs to this step size.
        proposal_score: "proxy", the paper's, or "exact", the score of the stable law.
        lambda_alpha: weight λ_α of the loss in the α-norm.
        lambda_entropy: weight λ of the negative entropy.
        schedule: how to train.
        progress: show a bar on a terminal.

    Example:
        >>> from mafla.graphs.graph import from_edges
        >>> from mafla.graphs.relaxation import relaxed_cut
        >>> ring = relaxed_cut(from_edges(3, [(0, 1), (1, 2), (0, 2)]))
        >>> states = jax.random.normal(jax.random.key(0), (60, 3))
        >>> quick = Schedule(steps=2, check_every=2)
        >>> learned = fit_pooled_acceptance(jax.random.key(1), ring, states, 1.8, 0.1, schedule=quick, progress=False)
        >>> bool(learned.on(ring)(states[0], states[1]) < 0)
        True
    """
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    rows = _check.finite_array("states", states, ndim=2)
    if len(rows) < 50 or rows.shape[1] != relaxed.dim:
        raise ValueError(f"states must have the shape (n, {relaxed.dim}) with n of at least 50, got {rows.shape}")
    key_network, key_split, key_train = jax.random.split(key, 3)
    proposal = Proposal(local_drift(relaxed.score, alpha), alpha, step_size, proposal_score)
    loss = _loss(relaxed, proposal, lambda_alpha, lambda_entropy)
    parts = split(rows.astype(jnp.result_type(float)), key_split)
    network, history = train(
        key_train, PooledNetwork(key_network), loss, *parts, schedule, progress=progress, label="acceptance"
    )
    return PooledAcceptance(network, alpha, step_size, history)


def _loss(
    relaxed: Relaxation, proposal: Proposal, lambda_alpha: float, lambda_entropy: float
) -> Callable[[PooledNetwork, Float[Array, "n dim"], Key[Array, ""], Scalar], Scalar]:
    def value(network: PooledNetwork, rows: Float[Array, "n dim"], key: Key[Array, ""], progress: Scalar) -> Scalar:
        new = curriculum_pairs(key, rows, proposal, jnp.clip(progress / FULL_AT, LEAST_ETA, 1))

        def log_acceptance(x_new: Point, x: Point) -> Scalar:
            return jax.nn.log_sigmoid(network(relaxed, x_new, x))

        pairs = log_acceptance, relaxed.score, proposal, new, rows
        # Per vertex, so that graphs of all sizes are learned at one pace.
        loss, _ = balance_loss(*pairs, lambda_alpha=lambda_alpha, lambda_entropy=relaxed.dim * lambda_entropy)
        return loss / relaxed.dim

    return value
