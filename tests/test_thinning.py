"""Thinning: unbiased, evenly spread, and honest about what it is given."""

import numpy as np
import pytest

from mafla.thinning import thin_evenly


def test_a_single_coordinate_is_thinned_to_its_quantiles() -> None:
    points = np.random.default_rng(0).standard_cauchy(10_000)[:, None]
    thinned = np.sort(thin_evenly(points, 100)[:, 0])
    ranks = np.searchsorted(np.sort(points[:, 0]), thinned)
    assert np.abs(ranks - (100 * np.arange(100) + 50)).max() <= 50


def test_every_point_is_equally_likely() -> None:
    points = np.random.default_rng(1).normal(size=(40, 2))
    counts = np.zeros(40)
    for seed in range(4000):
        for row in thin_evenly(points, 10, seed):
            counts += (points == row).all(axis=1)
    assert counts.sum() == 40_000
    # Binomial with mean 1000 and standard deviation 27; 40 points at a false alarm of 1e-3 in all.
    assert np.abs(counts - 1000).max() < 4.3 * 27.4


def test_the_error_of_a_share_is_less_than_half_of_that_at_random() -> None:
    random = np.random.default_rng(2)
    points = random.normal(size=(20_000, 2)) + np.where(random.random((20_000, 1)) < 0.2, -5.0, 5.0) * [1, 0]
    share = (points[:, 0] < 0).mean()
    errors = [(thin_evenly(points, 1000, seed)[:, 0] < 0).mean() - share for seed in range(200)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * np.sqrt(0.16 / 1000)


def test_rows_are_rows_of_the_points_without_repetition() -> None:
    points = np.random.default_rng(3).normal(size=(500, 70))
    thinned = thin_evenly(points, 200)
    assert len(np.unique(thinned, axis=0)) == 200
    assert set(map(tuple, thinned)) <= set(map(tuple, points))
    assert np.array_equal(np.sort(thin_evenly(points, 500), axis=0), np.sort(points, axis=0))


@pytest.mark.parametrize("count", [0, 501, 2.5])
def test_a_bad_count_is_named(count: float) -> None:
    with pytest.raises(ValueError, match="count must be"):
        thin_evenly(np.zeros((500, 2)), count)  # type: ignore[arg-type]


def test_points_must_be_finite_rows() -> None:
    with pytest.raises(ValueError, match="points must be"):
        thin_evenly(np.array([[1.0], [np.nan]]), 1)


@pytest.mark.slow
def test_the_tail_keeps_its_share_in_many_dimensions() -> None:
    """The share beyond a far quantile of the distance varies less than half as much as at random."""
    random = np.random.default_rng(4)
    points = random.normal(size=(20_000, 8)) / np.sqrt(random.chisquare(2, size=(20_000, 1)))
    radii = np.linalg.norm(points, axis=1)
    limit = np.quantile(radii, 0.99)
    errors = [(np.linalg.norm(thin_evenly(points, 1000, seed), axis=1) > limit).mean() - 0.01 for seed in range(200)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * np.sqrt(0.01 * 0.99 / 1000)


def test_huge_values_and_constant_columns_do_no_harm() -> None:
    points = np.random.default_rng(5).standard_cauchy((100, 2)) * [1e300, 0.0]
    assert len(np.unique(thin_evenly(points, 50), axis=0)) == 50
    assert thin_evenly(np.zeros((10, 3)), 4).shape == (4, 3)


def test_what_cannot_be_thinned_is_named() -> None:
    with pytest.raises(ValueError, match=r"points must have at least one column, got shape \(5, 0\)"):
        thin_evenly(np.zeros((5, 0)), 2)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
        thin_evenly(np.zeros((5, 1)), 2, seed=-1)
