"""The audit: acceptances of known quality get the verdict that they deserve, and the numbers are what they say."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from mafla import targets
from mafla.drift import local_drift
from mafla.learn.audit import Audit, audit
from mafla.learn.balance import Proposal, curriculum_pairs, oracle_log_ratio

PairFunction = Callable[[Array, Array], Array]

ALPHA, TAU = 1.5, 0.1
MIXTURE = targets.stable_mixture(ALPHA, [[-5.0, 0.0, 0.0, 0.0], [5.0, 0.0, 0.0, 0.0]], [0.2, 0.8])
STUDENT = targets.student_t(2, 2)
STRATA = ["body", "95 % tail", "99 % tail"]


def ratio(kind: Any, alpha: float = ALPHA, target: targets.Target = STUDENT) -> PairFunction:
    return oracle_log_ratio(target.logdensity, Proposal(local_drift(target.score, alpha), alpha, TAU, kind))


def barker(log_ratio: PairFunction) -> PairFunction:
    return lambda new, old: jax.nn.log_sigmoid(log_ratio(new, old))


def always(new: Array, old: Array) -> Array:
    return 0 * new[0] * old[0]


@cache
def data(target: targets.Target = STUDENT) -> Array:
    return target.sample(jax.random.key(0), 10_000)


def run(log_acceptance: Any, target: targets.Target = STUDENT, **options: Any) -> Audit:
    known: dict[str, Any] = {"logdensity": target.logdensity, "pairs": 3500, "key": jax.random.key(1)}
    return audit(log_acceptance, target.score, data(target), ALPHA, TAU, **(known | options))


@cache
def run_always() -> Audit:
    return run(always)


@pytest.mark.parametrize(
    "target",
    [pytest.param(MIXTURE, id="log density", marks=pytest.mark.slow), pytest.param(STUDENT, id="line integral")],
)
def test_exact_barker_acceptance_is_trusted(target: targets.Target) -> None:
    found = run(
        barker(ratio("exact", target=target)), target, logdensity=target.logdensity if target == MIXTURE else None
    )
    assert found.verdict == "trust"
    assert [row.stratum for row in found.rows] == [*STRATA, "long jumps"]
    for row in found.rows:
        assert row.residual < 1e-3
        assert row.error < 1e-3
        assert row.acceptance == pytest.approx(row.barker, abs=1e-3)
    for row in found.rows[:3]:
        assert row.flux == pytest.approx(1, abs=1e-3)
        assert row.flux_error < 1e-3
    assert found.excess == 0
    assert found.faults == 0


def test_exact_log_ratio_is_taken_as_the_metropolis_acceptance_that_the_kernel_makes_of_it() -> None:
    found = run(ratio("exact"))
    assert found.verdict == "trust"
    assert found.excess > 1
    for row in found.rows:
        assert row.acceptance == pytest.approx(row.metropolis, abs=1e-6)
        assert row.metropolis > row.barker


def test_accepting_everything_is_not_trusted() -> None:
    found = run_always()
    assert found.verdict == "do not trust"
    assert "99 % tail: log ratio off by" in found.message
    assert "so it fills" in found.message
    assert "use mafla.exact_mafla" in found.message
    body, _, tail, jumps = found.rows
    assert tail.flux < 0.5
    assert body.flux > 2
    assert body.acceptance == jumps.acceptance == 1
    assert body.residual > 0.3


@pytest.mark.slow
def test_ideal_acceptance_of_the_proxy_is_not_trusted_and_the_tail_is_named() -> None:
    acceptance = barker(ratio("proxy", target=MIXTURE))
    found = run(acceptance, MIXTURE, logdensity=None, proposal_score="proxy", nodes=16)
    assert found.verdict == "do not trust"
    assert "99 % tail: log ratio off by" in found.message
    assert "long jumps: log ratio off by" in found.message
    assert "it balances the proxy, which is not the proposal" in found.message
    assert "use mafla.score_mafla" in found.message
    assert found.fit < 1e-3
    assert found.rows[0].residual > 0.1


def test_flux_says_whether_a_tail_fills_or_empties() -> None:
    centre = np.median(data(), axis=0)
    spread = np.subtract(*np.quantile(data(), [0.75, 0.25], axis=0))

    def leaning(sign: float) -> PairFunction:
        """Let moves outwards through e times as often as it should against moves inwards, or the other way round."""

        def radius(x: Array) -> Array:
            return jnp.linalg.norm((x - centre) / spread)

        return barker(lambda new, old: exact(new, old) + sign * jnp.sign(radius(new) - radius(old)))

    exact = ratio("exact")
    outwards, inwards = run(leaning(1.0)), run(leaning(-1.0))
    for row in outwards.rows[:3]:
        assert row.residual == pytest.approx(1, abs=1e-4)
    assert outwards.rows[2].flux == pytest.approx(math.exp(-1), rel=1e-3)
    assert inwards.rows[2].flux == pytest.approx(math.e, rel=1e-3)
    assert outwards.rows[0].flux == pytest.approx(math.e, rel=1e-3)
    assert "99 % tail: log ratio off by 1, outflow 0.37 of inflow, so it fills" in outwards.message
    assert "empties" in inwards.message


@pytest.mark.slow
def test_flux_agrees_with_counting_moves() -> None:
    rows, alpha, tau = 100_000, 1.7, 0.5
    target = targets.student_t(3, 2)
    sample = target.sample(jax.random.key(2), rows)
    found = audit(always, target.score, sample, alpha, tau, key=jax.random.key(3), logdensity=target.logdensity)
    drift = local_drift(target.score, alpha)
    new = curriculum_pairs(jax.random.key(4), sample, Proposal(drift, alpha, tau), 1.0)
    spread = np.subtract(*np.quantile(sample, [0.75, 0.25], axis=0))
    before, after = (np.linalg.norm((x - np.median(sample, axis=0)) / spread, axis=1) for x in (sample, new))
    edge = np.quantile(before, 0.99)
    leave, enter = (np.sum((before > edge) & (after <= edge)), np.sum((before <= edge) & (after > edge)))
    error = math.hypot(math.sqrt(1 / leave + 1 / enter), found.rows[2].flux_error / found.rows[2].flux)
    assert abs(math.log(leave / enter) - math.log(found.rows[2].flux)) < 4 * error
    assert error < 0.2
    assert leave / enter < 0.7


def test_slight_errors_call_for_caution() -> None:
    exact = ratio("exact")
    found = run(barker(lambda new, old: 0.9 * exact(new, old)))
    assert found.verdict == "caution"
    # accepting everything, the residual is the log ratio itself, of the same pairs
    assert found.rows[0].residual == pytest.approx(0.1 * run_always().rows[0].residual, rel=1e-4)


def test_acceptance_that_hardly_moves_is_called_slow() -> None:
    balanced = barker(ratio("exact"))
    found = run(lambda new, old: balanced(new, old) - 5.0)
    assert found.verdict == "caution"
    assert "is possible, so it is slow" in found.message
    assert found.rows[0].residual < 1e-3


def test_pairs_without_a_finite_ratio_are_counted() -> None:
    balanced = barker(ratio("exact"))
    found = run(lambda new, old: jnp.where(new[1] > 0, balanced(new, old), jnp.nan))
    assert found.verdict == "do not trust"
    assert 1200 < found.faults < 3000
    assert f"{found.faults} of 3500 pairs have no finite ratio" in found.message


def test_coarse_line_integral_is_owned_up_to() -> None:
    found = run(barker(ratio("exact")), logdensity=None, nodes=2)
    assert found.quadrature > 0.1
    assert "the line integral is known to" in found.message
    assert found.verdict != "trust"


def test_antisymmetry_of_a_logit_is_reported() -> None:
    class Learned:
        def __init__(self, shift: float) -> None:
            self.shift = shift

        def logit(self, new: Array, old: Array) -> Array:
            return jnp.tanh(new[0]) - jnp.tanh(old[0]) + self.shift

        def __call__(self, new: Array, old: Array) -> Array:
            return jax.nn.log_sigmoid(self.logit(new, old))

    assert run(Learned(0.0)).antisymmetry == pytest.approx(0, abs=1e-4)
    assert run(Learned(0.25)).antisymmetry == pytest.approx(0.5, abs=1e-4)
    assert run_always().antisymmetry is None


@pytest.mark.slow
def test_at_two_there_are_no_long_jumps() -> None:
    target = targets.gaussian(2)
    sample = target.sample(jax.random.key(0), 2000)
    exact = barker(ratio("exact", 2.0, target))
    found = audit(
        exact, target.score, sample, 2.0, TAU, key=jax.random.key(1), logdensity=target.logdensity, pairs=3500
    )
    assert [row.stratum for row in found.rows] == STRATA
    assert found.verdict == "trust"


def test_printed_it_is_a_table_with_the_verdict() -> None:
    found = run_always()
    header, *rows, last = str(found).splitlines()
    assert header.split()[:3] == ["stratum", "pairs", "residual"]
    assert [row[:10].strip() for row in rows] == [*STRATA, "long jumps"]
    assert f"{found.rows[2].flux:.2f} ± {found.rows[2].flux_error:.2f}" in rows[2]
    assert last == f"do not trust: {found.message}"


def test_same_key_gives_the_same_audit() -> None:
    assert str(run(always)) == str(run_always()) != str(run(always, key=jax.random.key(2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_acceptance": 1}, "log_acceptance must be a function of one point, got int"),
        ({"log_acceptance": jnp.add}, r"log_acceptance must return a scalar for a single pair, got shape \(2,\)"),
        (
            {"log_acceptance": lambda new, old: jnp.nan * new[0] * old[0]},
            "must be finite, got no such pair in the row body",
        ),
        ({"score": 2.0}, "score must be a function of one point, got float"),
        ({"data": np.zeros(300)}, "data must be an array of real numbers with 2 axes, got"),
        ({"data": np.zeros((100, 2))}, r"data must have shape \(n, dim\) with at least 200 rows, got \(100, 2\)"),
        ({"data": np.full((300, 2), np.nan)}, "data must be finite, got nan"),
        ({"data": np.zeros((300, 2))}, "data must vary in every coordinate, got interquartile ranges of"),
        ({"data": np.tile([[0.0], [1.0]], (150, 2))}, "data must have points in the body and in both tails, got"),
        ({"alpha": 1.0}, r"alpha must be a number in \(1, 2\], got 1"),
        ({"step_size": 0.0}, "step_size must be a positive finite number, got 0.0"),
        ({"proposal_score": "score"}, "proposal_score must be exact or proxy, got 'score'"),
        ({"key": 3}, r"key must be one random key such as jax.random.key\(0\), got 3"),
        ({"logdensity": STUDENT}, r"logdensity must be a function of one point, got Target; pass its \.logdensity"),
        ({"nodes": 1}, "nodes must be a whole number of at least 2, got 1"),
        ({"pairs": 6}, "pairs must be a whole number of at least 7, got 6"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "log_acceptance": always,
        "score": STUDENT.score,
        "data": data(),
        "alpha": ALPHA,
        "step_size": TAU,
    }
    with pytest.raises(ValueError, match=message):
        audit(**(good | {"key": jax.random.key(0), "pairs": 700} | change))
