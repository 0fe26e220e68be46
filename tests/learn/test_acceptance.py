"""Learned acceptance functions: probabilities, and close to the closed form that their loss is least at."""

from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import stats

from mafla import targets
from mafla.drift import local_drift, riesz_drift
from mafla.kernels.fractional_walk import frw
from mafla.kernels.learned_fractional import mafla
from mafla.learn.acceptance import FORMS, Acceptance, Form, fit_acceptance
from mafla.learn.balance import Proposal, oracle_log_ratio
from mafla.learn.energy import fit_energy
from mafla.learn.score import fit_score
from mafla.learn.training import Schedule
from mafla.run import sample

TARGET = targets.student_t(3, dim=1)
ROWS = TARGET.sample(jax.random.key(0), 4000)
ALPHA, STEP_SIZE = 1.7, 0.3
SHORT = Schedule(steps=600, check_every=100, patience=None)


@cache
def learned(form: Form, proposal_score: Any = "exact", alpha: float = ALPHA, walk: bool = False) -> Acceptance:
    law = alpha, STEP_SIZE, proposal_score
    key = jax.random.key(1)
    return fit_acceptance(key, TARGET.score, ROWS, *law, form=form, walk=walk, schedule=SHORT, progress=False)


def proposal(kind: Any = "exact", alpha: float = ALPHA, walk: bool = False) -> Proposal:
    return Proposal(None if walk else local_drift(TARGET.score, alpha), alpha, STEP_SIZE, kind)


def pairs(count: int = 2000) -> tuple[Array, Array]:
    """Return moves of about the length of a proposal, between points of the body."""
    old = ROWS[jnp.abs(ROWS[:, 0]) < 3][:count]
    return old + jax.random.normal(jax.random.key(4), old.shape), old


def log_ratios(acceptance: Acceptance) -> np.ndarray:
    def log_ratio(new: Array, old: Array) -> Array:
        return acceptance(new, old) - acceptance(old, new)

    return np.asarray(jax.vmap(log_ratio)(*pairs()))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_acceptances_are_probabilities_everywhere(form: Form) -> None:
    acceptance = learned(form, walk=form == "factors")
    far = jnp.array([[-1e12], [-1e3], [0.0], [5.0], [1e8]])
    values = np.asarray([[acceptance(new, old) for new in far] for old in far])
    assert (values <= 0).all()
    assert np.isfinite(values).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["structured", "antisymmetric", "factors"])
def test_the_log_ratio_is_the_logit_which_is_antisymmetric(form: Form) -> None:
    acceptance = learned(form, walk=form == "factors")
    logits = np.asarray(jax.vmap(acceptance.logit)(*pairs()))
    backward = np.asarray(jax.vmap(acceptance.logit)(*pairs()[::-1]))
    assert np.abs(logits + backward).max() < 1e-5
    assert np.abs(log_ratios(acceptance) - logits).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "kind", "share"),
    [("structured", "exact", 0.25), ("antisymmetric", "exact", 0.5), ("sigmoid", "proxy", 0.5)],
)
def test_training_finds_the_closed_form(form: Form, kind: Any, share: float) -> None:
    ideal = np.asarray(jax.vmap(oracle_log_ratio(TARGET.logdensity, proposal(kind)))(*pairs()))
    # An acceptance that learned nothing would have the error of zero.
    assert np.median(np.abs(log_ratios(learned(form, kind)) - ideal)) < share * np.median(np.abs(ideal))


@pytest.mark.slow
@pytest.mark.parametrize("walk", [False, True], ids=["langevin", "walk"])
def test_at_two_it_is_the_score_based_method_for_gaussian_proposals(walk: bool) -> None:
    ideal = oracle_log_ratio(TARGET.logdensity, proposal("proxy", alpha=2.0, walk=walk))
    found = log_ratios(learned("structured", "proxy", alpha=2.0, walk=walk))
    assert np.median(np.abs(found - np.asarray(jax.vmap(ideal)(*pairs())))) < 0.05


@pytest.mark.slow
def test_a_random_walk_is_corrected_alike_by_an_energy_and_by_score_and_acceptance() -> None:
    energy = fit_energy(jax.random.key(2), ROWS, schedule=SHORT, progress=False)
    acceptance = learned("factors", walk=True)
    new, old = pairs()
    by_energy = np.asarray(jax.vmap(energy)(new) - jax.vmap(energy)(old))
    assert np.median(np.abs(log_ratios(acceptance) - by_energy)) < 0.1
    # The chains agree too: 4000 end states each, whose KS distance has the 0.1 % quantile 0.044.
    kernels = frw(energy, ALPHA, STEP_SIZE), mafla(jnp.zeros_like, acceptance, ALPHA, STEP_SIZE)
    run = partial(sample, key=jax.random.key(3), positions=ROWS, num_steps=200, thin=200, progress=False)
    ends = [run(kernel)["posterior"]["x"].to_numpy()[:, -1] for kernel in kernels]
    assert stats.ks_2samp(ends[0][:, 0], ends[1][:, 0]).statistic < 0.044


@pytest.mark.slow
def test_the_entropy_keeps_the_papers_form_from_rejecting_everything() -> None:
    new, old = pairs()
    assert np.exp(np.asarray(jax.vmap(learned("sigmoid", "proxy"))(new, old))).mean() > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("drift", [None, riesz_drift(TARGET.score, ALPHA, 3, 0.1)], ids=["local", "riesz"])
def test_a_structured_acceptance_is_the_exact_correction_of_its_energy(drift: Any) -> None:
    law, schedule = (ALPHA, STEP_SIZE), Schedule(steps=1, check_every=1)
    found = fit_acceptance(jax.random.key(1), TARGET.score, ROWS, *law, drift=drift, schedule=schedule, progress=False)

    def energy(x: Array) -> Array:
        units = found.frame.units(x)
        return found.frame.base.logdensity(units) + found.networks[0](found.frame, units)

    ideal = oracle_log_ratio(energy, Proposal(drift or local_drift(TARGET.score, ALPHA), *law))
    expected, logits = (np.asarray(jax.vmap(function)(*pairs(100))) for function in (ideal, found.logit))
    assert np.abs(expected).max() > 0.5
    assert np.abs(logits - expected).max() < 1e-4
    assert np.array_equal(np.asarray(jax.vmap(found)(*pairs(100))), np.minimum(logits, 0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "free"}, "form must be one of structured, antisymmetric, sigmoid, factors, got 'free'"),
        ({"form": "factors"}, "form must not be 'factors' unless walk=True"),
        ({"walk": True, "drift": TARGET.score}, "drift must be None if walk=True: a random walk has none"),
        ({"proposal_score": "gauss"}, "proposal_score must be exact or proxy, got 'gauss'"),
        ({"lambda_alpha": -1.0}, "lambda_alpha must be a number of at least 0"),
    ],
)
def test_a_bad_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_acceptance(jax.random.key(0), TARGET.score, ROWS[:100], 1.5, 0.1, progress=False, **arguments)


@pytest.mark.slow
def test_an_acceptance_with_a_drift_of_its_own_cannot_be_saved(tmp_path: Path) -> None:
    schedule = Schedule(steps=1, check_every=1)
    law = TARGET.score, ROWS[:100], ALPHA, STEP_SIZE
    found = fit_acceptance(jax.random.key(1), *law, drift=TARGET.score, schedule=schedule, progress=False)
    with pytest.raises(ValueError, match="drift must be None for the acceptance to be saved"):
        found.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_rows_of_another_width_than_the_score_are_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 3))
    score = fit_score(jax.random.key(0), rows, schedule=Schedule(steps=1, check_every=1), progress=False)
    with pytest.raises(ValueError, match="data must have the 3 columns of the score, got 1"):
        fit_acceptance(jax.random.key(0), score, rows[:, :1], 1.5, 0.1, progress=False)


def test_a_fractional_score_is_no_score_to_balance() -> None:
    quick = Schedule(steps=1, check_every=1)
    score = fit_score(jax.random.key(0), ROWS[:100], loss="fractional", schedule=quick, progress=False)
    with pytest.raises(ValueError, match=r"score must be the gradient of a log density, .*; pass it as drift"):
        fit_acceptance(jax.random.key(0), score, ROWS[:100], 1.5, 0.1, progress=False)
