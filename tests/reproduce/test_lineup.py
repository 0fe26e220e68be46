"""The line-up on a target that is easy: each sampler does what its name says."""

from functools import partial

import pytest

from mafla.bench.learned_methods import Case, Outcome
from mafla.reproduce.lineup import (
    CLOSED,
    ENERGY,
    EXACT,
    FULA,
    IDEAL,
    IID,
    MAFLA,
    MEASURES,
    Ground,
    ground,
    independent,
    learned_fula,
    learned_mafla,
    measured,
    ours,
)

ALPHA, STEP_SIZE = 1.5, 0.1


@pytest.fixture(scope="module")
def easy() -> Ground:
    return ground(ALPHA, ((2.0,),), (1.0,), 0, True)


def test_the_floor_is_that_of_independent_draws(easy: Ground) -> None:
    row = independent(easy)
    assert row["sampler"] == IID
    assert all(row[name] == row[f"{name}_floor"] > 0 for name in MEASURES)


@pytest.mark.slow
def test_exact_chains_are_near_the_floor_and_the_ideal_proxy_is_not(easy: Ground) -> None:
    """The bias of the proxy is many times the floor; that of the exact chain is zero."""
    samplers = ours(easy, ALPHA, STEP_SIZE)
    assert set(samplers) == {IDEAL, EXACT, ENERGY, CLOSED}
    exact, ideal = (measured(easy, name, samplers[name]) for name in (EXACT, IDEAL))
    assert exact["asinh_w1"] < 3 * exact["asinh_w1_floor"]
    assert ideal["asinh_w1"] > 10 * ideal["asinh_w1_floor"]
    assert 0.5 < exact["acceptance_rate"] < 1


def test_the_closed_form_is_left_out_where_it_does_not_hold(easy: Ground) -> None:
    assert CLOSED not in ours(easy, 1.8, STEP_SIZE)


def test_what_goes_wrong_is_raised(easy: Ground) -> None:
    def wrong(case: Case) -> Outcome:
        raise ValueError(f"no chains for {len(case.rows)} rows")

    with pytest.raises(RuntimeError, match="FULA: ValueError: no chains for 4000 rows"):
        measured(easy, FULA, wrong)


@pytest.mark.slow
def test_the_papers_samplers_run(easy: Ground) -> None:
    unadjusted = measured(easy, FULA, partial(learned_fula, ALPHA, STEP_SIZE))
    learned = measured(easy, MAFLA, partial(learned_mafla, ALPHA, STEP_SIZE))
    assert unadjusted["acceptance_rate"] == 1
    assert 0 < learned["acceptance_rate"] < 1
