"""One small network learns to accept on graphs of every size."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla.drift import local_constant, local_drift
from mafla.graphs.graph import Graph, from_edges
from mafla.graphs.pooled_acceptance import PooledAcceptance, PooledNetwork, fit_pooled_acceptance
from mafla.graphs.relaxation import Relaxation, paper_cut
from mafla.kernels.fractional_langevin import fula
from mafla.learn.balance import Proposal, curriculum_pairs, oracle_log_ratio
from mafla.run import sample

ALPHA, TAU = 1.8, 0.1


def random_graph(n: int, seed: int) -> Graph:
    matrix = np.triu(np.random.default_rng(seed).random((n, n)) < 8 / n, 1)
    return from_edges(n, np.argwhere(matrix))


def states_of(relaxed: Relaxation, count: int, seed: int) -> jax.Array:
    key_start, key_run = jax.random.split(jax.random.key(seed))
    start = jax.random.normal(key_start, (count, relaxed.dim))
    tree = sample(fula(relaxed.score, ALPHA, TAU), key_run, start, 50, thin=50, progress=False)
    return jnp.asarray(tree["posterior"]["x"].to_numpy()[:, -1])


def ideal_weights() -> np.ndarray:
    """Multiply out the log ratio under the proxy: the products that each pooled quantity stands for."""
    c = local_constant(ALPHA)
    squares = 0.5 * TAU * c / ALPHA  # the proxy is -κ r with κ = 1 / (α c τ), the drift c times the score
    return np.array([1.0, -1 / ALPHA, -1 / ALPHA, -squares, squares, 0.0])


@pytest.fixture(scope="module")
def learned() -> PooledAcceptance:
    relaxed = paper_cut(random_graph(24, 0))
    return fit_pooled_acceptance(jax.random.key(1), relaxed, states_of(relaxed, 1000, 2), ALPHA, TAU, progress=False)


def test_the_ideal_log_ratio_is_a_sum_of_the_pooled_products() -> None:
    relaxed = paper_cut(random_graph(12, 3))
    silent = jax.tree.map(lambda leaf: 0 * leaf if eqx.is_array(leaf) else leaf, PooledNetwork(jax.random.key(0)))
    pooled = eqx.tree_at(lambda network: network.products, silent, jnp.asarray(ideal_weights(), jnp.float32))
    proposal = Proposal(local_drift(relaxed.score, ALPHA), ALPHA, TAU, "proxy")
    oracle = oracle_log_ratio(relaxed.logdensity, proposal)
    old = jax.random.normal(jax.random.key(1), (20, 12))
    new = curriculum_pairs(jax.random.key(2), old, proposal, 1.0)
    for x_new, x in zip(new, old, strict=True):
        assert float(pooled(relaxed, x_new, x)) == pytest.approx(float(oracle(x_new, x)), rel=1e-3, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [24, 96])
def test_what_is_learned_on_one_graph_balances_on_others(learned: PooledAcceptance, n: int) -> None:
    relaxed = paper_cut(random_graph(n, 10 + n))
    proposal = Proposal(local_drift(relaxed.score, ALPHA), ALPHA, TAU, "proxy")
    old = states_of(relaxed, 200, 4)
    new = curriculum_pairs(jax.random.key(5), old, proposal, 1.0)
    accept = learned.on(relaxed)
    found = jax.vmap(lambda x_new, x: accept(x_new, x) - accept(x, x_new))(new, old)
    ideal = jax.vmap(oracle_log_ratio(relaxed.logdensity, proposal))(new, old)
    typical = np.median(np.abs(ideal))
    assert np.median(np.abs(found - ideal)) < 0.25 * typical
    assert np.corrcoef(np.argsort(np.argsort(found)), np.argsort(np.argsort(ideal)))[0, 1] > 0.9


def test_the_network_is_small_and_runs_on_graphs_of_any_size() -> None:
    network = PooledNetwork(jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(network) if isinstance(leaf, jax.Array)) < 200
    for n in (5, 50):
        old, new = jax.random.normal(jax.random.key(n), (2, n))
        assert np.isfinite(network(paper_cut(random_graph(n, 0)), new, old))


def test_states_of_another_graph_are_refused() -> None:
    relaxed = paper_cut(random_graph(5, 0))
    with pytest.raises(ValueError, match=r"states must have the shape \(n, 5\) with n of at least 50, got \(60, 4\)"):
        fit_pooled_acceptance(jax.random.key(0), relaxed, np.zeros((60, 4)), ALPHA, TAU)
