"""Data are refused by name and place, scaled by quantiles, and told by their tail which noise to propose with."""

import itertools
import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy import stats

from mafla import stable
from mafla.diagnostics import hill
from mafla.learn import table as learn_table
from mafla.learn.table import (
    DuplicateRowsWarning,
    Scaling,
    proposal_alpha,
    read_table,
    robust_scaling,
    split,
    tail_index,
)

ROWS = np.random.default_rng(0).normal(size=(60, 3))


def changed(row: int, column: int, value: float) -> Any:
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


def column(values: Any) -> Any:
    return np.column_stack([ROWS[:, 0], np.broadcast_to(values, 60)])


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        ROWS.tolist(),
        jnp.asarray(ROWS),
        ROWS.astype(np.float32),
        pd.DataFrame(ROWS),
        np.ma.masked_array(ROWS, dtype=np.float32),
    ],
    ids=["numpy", "list", "jax", "float32", "frame", "masked"],
)
def test_every_holder_of_numbers_is_read_as_float64(data: Any) -> None:
    values, columns = read_table(data)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, ROWS, rtol=1e-6)
    assert columns == ("0", "1", "2")


def test_whole_numbers_and_missing_integers_of_a_frame_are_read() -> None:
    whole = np.arange(120).reshape(60, 2)
    assert np.array_equal(read_table(whole.astype(np.uint8)).values, whole)
    frame = pd.DataFrame(whole, columns=["a", "b"]).astype("Int64")
    assert np.array_equal(read_table(frame).values, whole)
    frame.loc[7, "b"] = pd.NA
    with pytest.raises(ValueError, match="got nan in column 'b', row 7 counting from 0"):
        read_table(frame)


def test_data_are_copied_and_columns_keep_their_names() -> None:
    frame = pd.DataFrame(ROWS, columns=["price", 7, ("a", "b")])
    values, columns = read_table(frame)
    assert columns == ("price", "7", "('a', 'b')")
    rows = ROWS.copy()
    read_table(rows).values[:] = 0
    values[:] = 0
    assert np.array_equal(rows, ROWS)
    assert np.array_equal(frame.to_numpy(), ROWS)


def test_columns_of_any_magnitude_are_fine() -> None:
    values = read_table(ROWS * [1e30, 1e-30, 1.0] + [0, 0, 1e6]).values
    scaled = robust_scaling(values).apply(values)
    np.testing.assert_allclose(scaled, robust_scaling(ROWS).apply(ROWS), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(4, 1, math.nan), "got nan in column '1', row 4 counting from 0 \\(1 not finite in all\\)"),
        (changed(4, 1, -math.inf), "got -inf in column '1', row 4 counting from 0"),
        (np.full((60, 2), math.nan), "got nan in column '0', row 0 counting from 0 \\(120 not finite in all\\)"),
        (np.ma.masked_equal(ROWS, ROWS[9, 2]), "got nan in column '2', row 9 counting from 0"),
        (ROWS.astype(str), "data must hold real numbers, got ndarray of type <U"),
        (ROWS.astype(object), "data must hold real numbers, got ndarray of type object"),
        (ROWS.astype(complex), "data must hold real numbers, got ndarray of type complex128"),
        (ROWS > 0, "data must hold real numbers, got ndarray of type bool"),
        ([[1.0, 2.0], [3.0]], "data must be an array of real numbers, got list"),
        (None, "data must hold real numbers, got NoneType of type object"),
        (
            ROWS[:, 0],
            "data must have the shape \\(rows, columns\\), got \\(60,\\); use data\\[:, None\\] for one column",
        ),
        (pd.Series(ROWS[:, 0]), "got \\(60,\\); use data\\[:, None\\]"),
        (ROWS[None], "data must have the shape \\(rows, columns\\), got \\(1, 60, 3\\)$"),
        (ROWS[:49], "data must have at least 50 rows and one column, got shape \\(49, 3\\)"),
        (ROWS[:, :0], "data must have at least 50 rows and one column, got shape \\(60, 0\\)"),
        (column(1.5), "data must vary in every column, got 1.5 in every row of column '1'"),
        (column(np.where(np.arange(60) % 10, 0, ROWS[:, 1])), "got 0 in 54 of 60 rows of column '1'"),
        (
            changed(5, 2, -1e25),
            "must lie within 1e\\+15 quantile scales of the median, got -1e\\+25 in column '2', row 5",
        ),
        (changed(5, 2, 1e308) * [1, 1, 1.5], "got 1.5e\\+308 in column '2', row 5"),
    ],
)
def test_unfit_data_are_refused_in_one_line(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_table(data)
    assert "\n" not in str(caught.value)


def test_frames_are_refused_by_column_and_label() -> None:
    dates = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"], index=dates)
    assert np.array_equal(read_table(frame).values, ROWS)
    frame.iloc[3, 1] = math.nan
    with pytest.raises(ValueError, match="'b', row 3 counting from 0 \\(labelled 2020-01-04 00:00:00\\)"):
        read_table(frame)
    for values, kind in ((["x"] * 60, "str"), (ROWS[:, 0] > 0, "bool"), (dates, "datetime64")):
        with pytest.raises(ValueError, match=f"data must hold real numbers, got column 'c' of type {kind}"):
            read_table(frame.assign(c=values))


def test_a_name_and_a_number_of_rows_can_be_given() -> None:
    assert read_table(ROWS[:4], least=4).values.shape == (4, 3)
    with pytest.raises(ValueError, match="rows must have at least 61 rows"):
        read_table(ROWS, name="rows", least=61)


def test_traced_data_are_refused() -> None:
    with pytest.raises(ValueError, match=r"data must be an array of real numbers, got .*Tracer"):
        jax.jit(lambda rows: read_table(rows).values)(ROWS)


def test_repeated_rows_are_kept_and_counted_above_one_in_twenty() -> None:
    few, many = np.concatenate([ROWS, ROWS[:3]]), np.concatenate([ROWS, ROWS[:4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_table(few).values) == 63
    with pytest.warns(DuplicateRowsWarning, match="4 of 64 rows of data repeat an earlier row"):
        assert len(read_table(many).values) == 64


def test_scaling_is_the_median_and_half_the_middle_range() -> None:
    normal = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    center, scale = robust_scaling(np.column_stack([3 * normal + 2, normal]))
    np.testing.assert_allclose(center, [2, 0], atol=1e-12)
    np.testing.assert_allclose(scale, stats.norm.ppf(0.84) * np.array([3, 1]), rtol=2e-3)


def test_scaling_does_not_see_the_tail() -> None:
    wild = changed(5, 2, 1e300)
    assert robust_scaling(wild).scale[2] < 2 * robust_scaling(ROWS).scale[2]


def test_scaling_falls_back_on_wider_quantiles() -> None:
    def scale_with_ties(tied: int) -> float:
        values = np.arange(-500.0, 501.0)
        values[np.abs(values) <= tied // 2] = 0
        return float(robust_scaling(values[:, None]).scale[0])

    assert [scale_with_ties(tied) for tied in (600, 800, 960, 998)] == [340, 450, 490, 500]
    with pytest.raises(ValueError, match="values must vary in every column, got a constant column 1"):
        robust_scaling(column(2.0))


def test_scaling_comes_undone_and_keeps_the_dtype_of_jax() -> None:
    rows = ROWS * 1e12 + 1e6
    scaling = robust_scaling(rows)
    np.testing.assert_allclose(scaling.undo(scaling.apply(rows)), rows, rtol=1e-12)
    with jax.enable_x64(True):
        for dtype in (jnp.float32, jnp.float64):
            points = jnp.asarray(ROWS, dtype)
            assert scaling.apply(points).dtype == scaling.undo(points).dtype == dtype
    assert isinstance(jax.jit(scaling.apply)(jnp.zeros(3)), jax.Array)
    assert Scaling(np.array([1.0]), np.array([2.0])).apply(np.array([[5.0]])).item() == 2


def test_tail_index_is_that_of_hill_on_the_line() -> None:
    half = np.random.default_rng(1).pareto(1.5, 500)
    values = np.concatenate([half, -half])  # the median is zero
    assert tail_index(values[:, None]) == pytest.approx(hill(values), rel=1e-12)


def test_tail_index_does_not_depend_on_units() -> None:
    rows = np.random.default_rng(2).standard_t(2, (1000, 3))
    assert tail_index(rows * [1e20, 1.0, 1e-20] + [0, 5, 0]) == pytest.approx(tail_index(rows), rel=1e-6)


def test_tail_needs_fifty_rows() -> None:
    assert math.isfinite(tail_index(ROWS[:50]).index)
    assert 1.1 <= proposal_alpha(ROWS[:50]) <= 2
    for function in (tail_index, proposal_alpha):
        with pytest.raises(ValueError, match="values must have at least 50 rows, got 49"):
            function(ROWS[:49])


@pytest.mark.parametrize("dim", [1, 2, 8])
def test_simulated_tails_come_in_the_order_of_alpha(dim: int) -> None:
    distances = [learn_table._distance_from_box(law) for law in learn_table._stable_laws(dim)]
    found = [learn_table._hill_of_distance(distance, len(distance) // 20).index for distance in distances]
    assert len(found) == len(learn_table.ALPHAS)
    assert all(lighter > heavier for heavier, lighter in itertools.pairwise(found))


# Standard deviations of the estimate from 20 000 rows are below 0.07 up to α=1.7 and below 0.01 above.
@pytest.mark.parametrize(("alpha", "dim", "error"), [(1.2, 1, 0.2), (1.5, 4, 0.2), (1.9, 2, 0.03), (1.95, 8, 0.03)])
def test_alpha_of_stable_rows_is_found(alpha: float, dim: int, error: float) -> None:
    rows = np.asarray(stable.sample(jax.random.key(3), alpha, (20_000,), dim), np.float64)
    assert proposal_alpha(rows) == pytest.approx(alpha, abs=error)


def test_far_modes_do_not_hide_the_tail() -> None:
    rows = np.asarray(stable.sample(jax.random.key(4), 1.5, (20_000,)), np.float64)
    apart = rows + np.where(np.random.default_rng(4).uniform(size=(20_000, 1)) < 0.5, -5, 5)
    assert proposal_alpha(apart) == pytest.approx(1.5, abs=0.2)
    assert tail_index(apart).index > 1.7  # which is why the box is needed


def test_light_tails_give_two_and_the_heaviest_the_least() -> None:
    rng = np.random.default_rng(5)
    assert proposal_alpha(rng.normal(size=(5000, 3))) >= 1.98
    assert proposal_alpha(rng.uniform(size=(5000, 1))) == 2
    assert proposal_alpha(rng.integers(0, 2, (5000, 1)).astype(float)) == 2  # nothing lies outside the box
    assert proposal_alpha(rng.standard_t(0.5, (5000, 2))) == 1.1


def test_alpha_is_a_matter_of_the_rows_alone() -> None:
    rows = np.random.default_rng(6).standard_t(3, (3000, 2))
    expected = proposal_alpha(rows)
    assert proposal_alpha(rows[::-1] * [1e10, 1.0] + 7) == expected
    assert expected == round(expected, 2)
    with jax.enable_x64(True):
        assert proposal_alpha(rows) == expected


def test_split_loses_no_row() -> None:
    train, held_out = split(ROWS, jax.random.key(0), 0.25)
    assert (len(train), len(held_out)) == (45, 15)
    assert np.array_equal(np.sort(np.concatenate([train, held_out])[:, 0]), np.sort(ROWS[:, 0]))
    again, other = split(ROWS, jax.random.key(0), 0.25)[0], split(ROWS, jax.random.key(1), 0.25)[0]
    assert np.array_equal(train, again)
    assert not np.array_equal(train, other)
    assert not np.array_equal(train, ROWS[15:])


@pytest.mark.parametrize(
    ("rows", "fraction", "count"), [(2, 0.1, 1), (2, 0.9, 1), (60, 0.1, 6), (60, 0.999, 59), (200_000, 0.1, 5000)]
)
def test_split_holds_out_a_sensible_number(rows: int, fraction: float, count: int) -> None:
    train, held_out = split(np.zeros((rows, 1)), jax.random.key(0), fraction)
    assert (len(train), len(held_out)) == (rows - count, count)


def test_split_refuses_what_cannot_be_split() -> None:
    for fraction in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="fraction must be"):
            split(ROWS, jax.random.key(0), fraction)
    with pytest.raises(ValueError, match="values must have at least two rows, got 1"):
        split(ROWS[:1], jax.random.key(0))
