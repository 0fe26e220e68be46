"""The estimator keeps scikit-learn's conventions, and its draws and densities are those of the data."""

import copy
import importlib
import math
import os
import signal
import sys
import warnings
from typing import Any

import jax
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from mafla import estimator, program, run
from mafla.estimator import FewRowsWarning, HeavyTailSampler
from mafla.learn import energy, files
from mafla.learn.networks import EnergyNetwork, Frame
from mafla.learn.table import DuplicateRowsWarning, read_table
from mafla.learn.training import History, Schedule

ROWS = np.random.default_rng(0).standard_t(3, size=(60, 2))
NAMED = pd.DataFrame(ROWS, columns=["price", "volume"])
CENTER, SCALE = np.median(ROWS, axis=0), np.diff(np.quantile(ROWS, [0.16, 0.84], axis=0), axis=0)[0] / 2
MODES, WEIGHTS = np.array([-8.0, 8.0]), np.array([0.3, 0.7])
FATAL_KS = 1.95  # times the square root of the sum of 1/n: exceeded once in a thousand


def known_energy(key: Any, data: Any, *, alpha: Any, schedule: Any, progress: bool, least: int) -> energy.Energy:
    """Stand in for the training: every data set has the law of Student-t with one degree of freedom."""
    del alpha, schedule, progress, least
    frame = Frame.empty(data.shape[1], 1)
    network = EnergyNetwork(key, frame, 4, 1)
    small = jax.tree.map(lambda leaf: 1e-4 * leaf if isinstance(leaf, jax.Array) else leaf, network)
    return energy.Energy(frame, small, 1.5, History(0, (), (0.0,), 0, "finished", 0.0, 0))


def fit_untrained(sampler: HeavyTailSampler, data: Any) -> HeavyTailSampler:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(energy, "fit_energy", known_energy)
        return sampler.fit(data)


@pytest.fixture(scope="module")
def known() -> HeavyTailSampler:
    return fit_untrained(HeavyTailSampler(random_state=0), NAMED)


def two_modes(count: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.choice(MODES, p=WEIGHTS, size=(count, 1)) + rng.standard_t(2, size=(count, 1))


def two_modes_cdf(x: Any) -> Any:
    return WEIGHTS @ stats.t(2).cdf(np.ravel(x) - MODES[:, None])


@pytest.fixture(scope="module")
def learned() -> HeavyTailSampler:
    schedule = Schedule(steps=200, check_every=100)
    return HeavyTailSampler(steps=100, schedule=schedule, random_state=1).fit(two_modes(2000, 0))


@pytest.mark.filterwarnings("ignore::mafla.estimator.FewRowsWarning")
def test_conventions_of_scikit_learn_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "fit_energy", known_energy)
    check_estimator(HeavyTailSampler(step_size=0.1), on_skip=None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mafla.estimator.FewRowsWarning")
def test_conventions_of_scikit_learn_are_kept_with_training() -> None:
    check_estimator(HeavyTailSampler(), on_skip=None)


@pytest.mark.filterwarnings("ignore::mafla.estimator.FewRowsWarning")
def test_few_rows_get_the_base_law_alone_unless_a_schedule_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Schedule] = []

    def watched(key: Any, data: Any, *, schedule: Schedule, **others: Any) -> energy.Energy:
        plans.append(schedule)
        return known_energy(key, data, schedule=schedule, **others)

    monkeypatch.setattr(energy, "fit_energy", watched)
    given = Schedule(steps=7)
    for sampler, count in ((HeavyTailSampler(), 49), (HeavyTailSampler(), 50), (HeavyTailSampler(schedule=given), 20)):
        sampler.set_params(step_size=0.1).fit(ROWS[:count])
    assert plans == [Schedule(steps=1, check_every=1), energy.DEFAULT, given]


def test_parameters_are_kept_as_they_are_given() -> None:
    schedule = Schedule(steps=7)
    sampler = HeavyTailSampler("mafla", alpha=3, steps="many", step_size=-1, schedule=schedule, random_state="x")  # type: ignore[arg-type]
    assert sampler.get_params()["schedule"] is schedule
    assert repr(sampler).startswith("HeavyTailSampler(alpha=3, method='mafla', random_state='x'")
    copied = clone(sampler).set_params(step_size=0.5, method="energy")
    assert (copied.steps, copied.step_size, copied.method) == ("many", 0.5, "energy")
    assert repr(HeavyTailSampler()) == "HeavyTailSampler()"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "kde"}, "method must be one of energy, mafla, got 'kde'"),
        ({"alpha": 1.0}, r"alpha must be a number in \(1, 2\], got 1"),
        ({"alpha": "heavy"}, r"alpha must be a number in \(1, 2\], got 'heavy'"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"step_size": -0.1}, "step_size must be a positive finite number, got -0.1"),
        ({"schedule": 500}, "schedule must be a Schedule or None, got 500"),
        ({"random_state": "seed"}, "'seed' cannot be used to seed"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(changes: dict[str, Any], message: str) -> None:
    sampler = HeavyTailSampler(**changes)
    with pytest.raises(ValueError, match=message) as caught:
        sampler.fit(ROWS)
    assert "\n" not in str(caught.value)


def with_entry(value: Any, row: int = 4) -> Any:
    rows = ROWS.copy()
    rows[row, 1] = value
    return rows


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_entry(math.nan), "^X must be finite, got NaN in column '1', row 4 counting from 0"),
        (with_entry(-math.inf), "^X must be finite, got -inf in column '1', row 4"),
        (NAMED.mask(NAMED["price"] == ROWS[7, 0]), "got NaN in column 'price', row 7 counting from 0"),
        (np.ma.masked_equal(ROWS, ROWS[9, 1]), "got NaN in column '1', row 9"),
        (with_entry(1e30), r"^X must lie within 1e\+15 quantile scales of the median, got 1e\+30 in column '1', row 4"),
        (ROWS * [1.0, 0.0] + 2, "^X must vary in every column, got 2 in every row of column '1'"),
        (NAMED.assign(volume="many"), "^X must hold real numbers, got column 'volume' of type str"),
        ([[1.0, 2.0], ["0.5", "many"]], "^X must hold real numbers, got 'many' in column '1', row 1 counting from 0$"),
        (ROWS[:, 0], r"^X must have the shape \(rows, columns\), got \(60,\)\. Reshape your data: .* is one column$"),
        (ROWS.astype(complex), "Complex data not supported"),
        (ROWS[:1], "a minimum of 2 is required"),
    ],
)
def test_unfit_data_are_refused_with_their_place(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeavyTailSampler().fit(data)


def test_a_few_rows_are_fitted_with_a_warning_where_there_is_a_density() -> None:
    with pytest.warns(FewRowsWarning, match="^12 rows are too few to learn a density: use at least 50"):
        fit_untrained(HeavyTailSampler(step_size=0.1), ROWS[:12])
    with pytest.raises(ValueError, match=r"^X must have at least 50 rows and one column, got shape \(12, 2\)"):
        HeavyTailSampler("mafla").fit(ROWS[:12])


def test_repeated_rows_are_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks_again(key: Any, data: Any, **options: Any) -> energy.Energy:
        read_table(data)
        return known_energy(key, data, **options)

    monkeypatch.setattr(energy, "fit_energy", looks_again)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        HeavyTailSampler(step_size=0.1).fit(np.concatenate([ROWS, ROWS[:30]]))
    assert [(each.category, str(each.message)[:24]) for each in given] == [
        (DuplicateRowsWarning, "30 of 90 rows of X repea")
    ]


def test_columns_of_a_data_frame_come_back(known: HeavyTailSampler) -> None:
    frame = known.sample(5, as_frame=True)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(known.feature_names_in_) == ["price", "volume"]
    assert frame.dtypes.tolist() == [np.float64, np.float64]
    assert np.array_equal(frame.to_numpy(), known.sample(5))
    assert known.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        known.score_samples(NAMED.rename(columns={"price": "cost"}))


def test_pandas_is_asked_for_where_it_is_missing(known: HeavyTailSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"^as_frame=True needs pandas, which is not installed: pip install"):
        known.sample(as_frame=True)


def test_scikit_learn_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "mafla.estimator")
    with pytest.raises(ModuleNotFoundError, match=r"^HeavyTailSampler needs scikit-learn.* pip install 'mafla\[sk"):
        importlib.import_module("mafla.estimator")


def test_nothing_is_drawn_before_a_fit() -> None:
    for call in (HeavyTailSampler().sample, HeavyTailSampler("mafla").sample, HeavyTailSampler().score_samples):
        with pytest.raises(NotFittedError):
            call(3)


def test_number_of_draws_is_checked(known: HeavyTailSampler) -> None:
    with pytest.raises(ValueError, match=r"^n_samples must be a whole number of at least 1, got 0"):
        known.sample(0)


def test_log_density_is_that_of_the_law_in_its_own_units(known: HeavyTailSampler) -> None:
    points = np.array([[0.0, 0.0], [1.0, -2.0], [300.0, 5.0]])
    units = (points - CENTER) / SCALE
    expected = stats.multivariate_t(np.zeros(2), np.eye(2), df=1).logpdf(units) - np.log(SCALE).sum()
    named = pd.DataFrame(points, columns=NAMED.columns)
    np.testing.assert_allclose(known.score_samples(named), expected, atol=1e-4)
    assert known.score_samples(named).dtype == np.float64
    assert known.score(named) == pytest.approx(expected.sum(), abs=3e-4)


def test_a_density_of_many_rows_is_that_of_each(known: HeavyTailSampler) -> None:
    many = pd.concat([NAMED] * 40)
    assert len(many) > 2 * estimator.BLOCK
    assert np.array_equal(known.score_samples(many), np.tile(known.score_samples(NAMED), 40))


def test_a_density_beyond_all_scale_is_refused(known: HeavyTailSampler) -> None:
    with pytest.raises(ValueError, match=r"^X must lie within 1e\+15 quantile scales .*, got 1 rows farther out"):
        known.score_samples(pd.DataFrame(with_entry(1e30), columns=NAMED.columns))


def test_draws_have_the_law_of_the_model_wherever_they_start() -> None:
    """Rows to start at whose tails are too short: the usual 200 steps leave a trace of them, 1000 do not."""
    sampler = fit_untrained(HeavyTailSampler(steps=1000, random_state=0), NAMED)
    draws = sampler.scaling_.apply(sampler.sample(4000))
    assert np.abs(sampler.start_).max() < 20 < np.abs(draws).max()
    assert not (draws.astype(np.float32)[:, None] == sampler.start_).all(axis=2).any()  # no chain stayed where it was
    radius = np.linalg.norm(draws, axis=1)
    bound = FATAL_KS / math.sqrt(len(draws))
    # In the plane the radius of Student-t with ν=1 has the distribution function 1 - 1 / sqrt(1 + r²).
    assert stats.ks_1samp(radius, lambda r: 1 - 1 / np.sqrt(1 + r**2)).statistic < bound
    assert stats.ks_1samp(draws[:, 0], stats.cauchy.cdf).statistic < bound


def test_the_same_seed_gives_the_same_draws(known: HeavyTailSampler) -> None:
    again = fit_untrained(HeavyTailSampler(random_state=0), NAMED)
    assert again.step_size_ == known.step_size_
    assert np.array_equal(again.sample(5), known.sample(5))
    assert np.array_equal(known.sample(5), known.sample(5, random_state=0))
    assert not np.isin(known.sample(5, random_state=1), known.sample(5)).any()
    stream = np.random.RandomState(0)
    first, second = known.sample(5, stream), known.sample(5, stream)
    assert np.array_equal(first, known.sample(5))
    assert not np.isin(second, first).any()


def test_other_numbers_of_rows_are_drawn_by_the_same_program(known: HeavyTailSampler) -> None:
    assert known.sample(3).shape == (3, 2)
    before = program.compile_program.cache_info().misses
    assert known.sample(5).shape == (5, 2)
    assert known.sample(64).shape == (64, 2)
    assert program.compile_program.cache_info().misses == before


def test_many_rows_are_drawn_in_batches(known: HeavyTailSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator, "CHAINS", (64, 64))
    draws = known.sample(150)
    assert draws.shape == (150, 2)
    assert len(np.unique(draws, axis=0)) == 150
    assert np.array_equal(draws[:64], known.sample(64))


def test_a_copy_draws_the_same_without_the_kernel_and_whatever_the_parameters_by_then(known: HeavyTailSampler) -> None:
    known.sample()
    assert "_kept_kernel" in vars(known)
    copied = copy.deepcopy(known).set_params(method="mafla", step_size=9.0)
    assert "_kept_kernel" not in vars(copied)
    assert np.array_equal(copied.sample(5), known.sample(5))
    assert np.array_equal(copied.score_samples(NAMED), known.score_samples(NAMED))


def test_a_copy_keeps_its_precision_whatever_that_of_jax(known: HeavyTailSampler) -> None:
    draws = known.sample(5)
    with jax.enable_x64(True):
        copied = copy.deepcopy(known)
    assert np.array_equal(copied.sample(5), draws)


def test_ctrl_c_while_drawing_is_not_a_draw(known: HeavyTailSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run._Pace, "ran", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt, match="stopped while drawing"):
        copy.deepcopy(known).set_params(steps=10**6).sample(5)


@pytest.mark.parametrize("method", ["energy", "mafla"])
def test_a_fit_that_is_stopped_or_fails_leaves_nothing_fitted(
    method: str, known: HeavyTailSampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    sampler = copy.deepcopy(known).set_params(method=method, schedule=Schedule(steps=4, check_every=2))
    with monkeypatch.context() as patch:
        patch.setattr(files.Checkpoint, "save", press)
        with pytest.raises(KeyboardInterrupt, match="stopped while fitting"):
            sampler.fit(ROWS)
    with pytest.raises(NotFittedError):
        sampler.sample()
    sampler = copy.deepcopy(known)
    with pytest.raises(ValueError, match="X must be finite, got NaN"):
        sampler.fit(np.full((100, 2), np.nan))
    with pytest.raises(NotFittedError):
        sampler.sample()


def test_columns_far_from_zero_keep_their_precision() -> None:
    rows = np.round(ROWS * 1024) / 1024  # so that no row is rounded when it is moved
    shift, factor = 2.0**30, np.array([1.0, 64.0])
    near, far = (HeavyTailSampler(steps=20, step_size=1.0, random_state=0) for _ in range(2))
    fit_untrained(near, rows)
    fit_untrained(far, rows * factor + shift)
    np.testing.assert_allclose((far.sample(50) - shift) / factor, near.sample(50), rtol=1e-5, atol=1e-5)
    density = far.score_samples(rows * factor + shift) + np.log(factor).sum()
    np.testing.assert_allclose(density, near.score_samples(rows), atol=1e-5)
    assert not hasattr(near, "feature_names_in_")
    assert list(near.sample(2, as_frame=True).columns) == [0, 1]


def test_chains_start_at_some_of_many_rows_and_make_the_steps_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimator, "MOST_STARTS", 20)
    sampler = fit_untrained(HeavyTailSampler(step_size=2.5, steps=1, random_state=0), ROWS)
    assert sampler.step_size_ == 2.5
    assert sampler.start_.shape == (20, 2)
    assert np.isin(sampler.start_, sampler.scaling_.apply(ROWS).astype(np.float32)).all()
    draws = sampler.scaling_.apply(sampler.sample(64)).astype(np.float32)
    stayed = np.isclose(draws[:, None], sampler.start_, rtol=1e-6, atol=1e-6).all(axis=2).any(axis=1)
    assert 0.1 < stayed.mean() < 0.9  # turned down once: after a few steps hardly any would be left


def test_the_papers_method_has_no_density() -> None:
    sampler = HeavyTailSampler("mafla")
    for name in ("score", "score_samples"):
        assert hasattr(HeavyTailSampler(), name)
        assert not hasattr(sampler, name)
        with pytest.raises(AttributeError) as caught:
            getattr(sampler, name)
        assert str(caught.value.__cause__) == "method='mafla' learns no density; method='energy' does"


@pytest.mark.slow
def test_learned_draws_have_the_law_of_the_data_and_its_weights(learned: HeavyTailSampler) -> None:
    draws = learned.sample(4000)
    # They can be no nearer to the truth than the 2000 rows are.
    assert stats.ks_1samp(draws[:, 0], two_modes_cdf).statistic < FATAL_KS * math.sqrt(1 / 2000 + 1 / 4000)
    spread = math.sqrt(WEIGHTS.prod() * (1 / 2000 + 1 / 4000))
    assert abs(np.mean(draws < 0) - two_modes_cdf(0.0)[0]) < 3 * spread


@pytest.mark.slow
def test_learned_density_integrates_to_one_and_is_near_the_true_one(learned: HeavyTailSampler) -> None:
    grid = np.sinh(np.linspace(-14, 14, 20_001))[:, None]
    density = np.exp(learned.score_samples(grid))
    assert integrate.trapezoid(density, grid[:, 0]) == pytest.approx(1, abs=0.01)
    fresh = two_modes(2000, 5)
    truth = np.log(WEIGHTS @ stats.t(2).pdf(fresh[:, 0] - MODES[:, None]))
    assert abs(np.mean(learned.score_samples(fresh) - truth)) < 0.05


@pytest.mark.slow
def test_the_papers_method_draws_from_the_body_of_the_data() -> None:
    rows = np.random.default_rng(3).standard_t(3, size=(2000, 2))
    schedule = Schedule(steps=500, check_every=100)
    sampler = HeavyTailSampler("mafla", alpha=1.9, schedule=schedule, random_state=0).fit(rows)
    assert (sampler.energy_, sampler.step_size_, sampler.acceptance_.step_size) == (None, 0.1, 0.1)
    draws = sampler.sample(2000)
    quartiles = [0.25, 0.5, 0.75]
    np.testing.assert_allclose(np.quantile(draws, quartiles, axis=0), np.quantile(rows, quartiles, axis=0), atol=0.25)
    assert np.array_equal(copy.deepcopy(sampler).sample(100), sampler.sample(100))
