"""Metrics against closed forms, their invariances, and their power to see the defects of heavy-tailed samplers."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from mafla import metrics

BODY = {"w1", "sliced_w1", "asinh_w1", "scale_error"}
TAIL = {"q95_error", "q99_error", "tail_msle", "exceedance_error", "extreme_error"}
NAMES = BODY | TAIL
moderate = st.floats(-100, 100, allow_subnormal=False)
fixed = settings(derandomize=True, deadline=None, max_examples=50)
columns = arrays.arrays(np.float64, st.integers(1, 30), elements=moderate)


def stable(rng: np.random.Generator, alpha: float, size: int) -> Any:
    """Stable draws sqrt(2 A) z with A positive alpha/2-stable, by Kanter's formula."""
    a, u, e = alpha / 2, rng.uniform(0, np.pi, size), rng.exponential(size=size)
    subordinator = np.sin(a * u) / np.sin(u) ** (1 / a) * (np.sin((1 - a) * u) / e) ** ((1 - a) / a)
    return np.sqrt(2 * subordinator) * rng.standard_normal(size)


def quantile_grid(size: int) -> Any:
    """Midpoint quantiles of Student-t with 1.5 degrees of freedom: a heavy-tailed sample without randomness."""
    return stats.t(1.5).ppf((np.arange(size) + 0.5) / size)


@pytest.mark.parametrize("size", [1, 7, 500])
def test_wasserstein_of_a_shift_is_the_shift(size: int) -> None:
    x = quantile_grid(size)
    assert metrics.wasserstein(x + 3, x) == pytest.approx(3, rel=1e-9)


def test_wasserstein_of_a_scaling_is_the_mean_absolute_value_and_averages_over_coordinates() -> None:
    x = quantile_grid(500)
    assert metrics.wasserstein(1.1 * x, x) == pytest.approx(0.1 * np.abs(x).mean(), rel=1e-9)
    pairs = np.stack([x, x], axis=1)
    assert metrics.wasserstein(pairs + np.array([1.0, 5.0]), pairs) == pytest.approx(3, rel=1e-9)


@fixed
@given(columns, columns)
def test_wasserstein_agrees_with_scipy_for_unequal_sizes(x: Any, y: Any) -> None:
    assert metrics.wasserstein(x, y) == pytest.approx(stats.wasserstein_distance(x, y), rel=1e-9, abs=1e-9)


def test_sliced_wasserstein_of_a_shift_is_its_mean_projection() -> None:
    x = np.random.default_rng(0).standard_normal((300, 3))
    first, again, other = (metrics.sliced_wasserstein(x + np.eye(3)[0] * 4, x, 4000, seed) for seed in (0, 0, 1))
    assert first == again != other
    # the mean of |u_1| over the sphere in three dimensions is 1/2, its variance 1/12
    assert abs(first - 2) < 4 * 4 * np.sqrt(1 / 12 / 4000)


def test_asinh_wasserstein_by_hand() -> None:
    reference = np.array([5.0, 6.0, 7.0, 8.0, 9.0])  # median 7, interquartile range 2
    expected = (np.arcsinh(50.0) - np.arcsinh(1.0)) / 5  # only the largest draw differs
    assert metrics.asinh_wasserstein([107.0, 5.0, 6.0, 7.0, 8.0], reference) == pytest.approx(expected, rel=1e-9)


@fixed
@given(st.floats(0.01, 100), moderate)
def test_asinh_wasserstein_does_not_depend_on_units(scale: float, shift: float) -> None:
    x, y = quantile_grid(60) * 1.3, quantile_grid(60)
    moved = metrics.asinh_wasserstein(scale * x + shift, scale * y + shift)
    assert moved == pytest.approx(metrics.asinh_wasserstein(x, y), rel=1e-6)


def test_exact_wasserstein_sees_dependence_that_coordinates_do_not() -> None:
    x, y = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert metrics.wasserstein(x, y) == 0
    assert metrics.exact_wasserstein(x, y) == 1


@fixed
@given(arrays.arrays(np.float64, (2, 12), elements=moderate))
def test_exact_wasserstein_in_one_dimension_is_wasserstein(pair: Any) -> None:
    assert metrics.exact_wasserstein(*pair) == pytest.approx(metrics.wasserstein(*pair), rel=1e-9, abs=1e-9)


def test_scale_error_is_the_log_ratio() -> None:
    x = quantile_grid(200)
    assert metrics.scale_error(1.05 * x + 3, x) == pytest.approx(np.log(1.05), rel=1e-9)
    assert metrics.scale_error(np.ones(50), x) == np.inf


def test_quantile_error_of_known_quantiles() -> None:
    x = np.linspace(-1, 1, 2001)  # |x| is uniform on (0, 1)
    assert metrics.quantile_error(3 * x, x, 0.95) == pytest.approx(2 * 0.95, abs=1e-3)
    vectors = np.stack([3 * x, 4 * x], axis=1)  # of norm 5 |x|
    assert metrics.quantile_error(vectors, 2 * vectors, 0.99) == pytest.approx(5 * 0.99, abs=5e-3)
    assert metrics.quantile_error(1e200 * vectors, vectors, 0.99) == pytest.approx(5e200 * 0.99, rel=1e-3)


def test_tail_msle_of_a_scaling_and_of_another_power() -> None:
    u = (np.arange(20_000) + 0.5) / 20_000
    assert metrics.tail_msle(3 * u, u) == pytest.approx(np.log(3) ** 2, rel=1e-9)
    # quantiles p^-1 against p^-1/2 for tail probabilities p even in the logarithm from 0.05 to 10/n
    logs = np.linspace(np.log(0.05), np.log(10 / 20_000), 32)
    assert metrics.tail_msle(u**-1.0, u**-0.5) == pytest.approx(np.mean((logs / 2) ** 2), rel=0.02)
    assert metrics.tail_msle([*range(1, 50), 1e9], range(1, 51)) == 0  # of fifty draws, only the 0.95-quantile


def test_exceedances_count_what_lies_beyond() -> None:
    y = np.arange(1.0, 1001.0)
    assert metrics.exceedances(y, y, 0.99) == pytest.approx(1)
    assert metrics.exceedances(np.minimum(y, 900), y, 0.99) == 0
    assert metrics.exceedances(np.full(10, 1e6), y, 0.99) == pytest.approx(100)


def test_mixture_weights_and_their_error() -> None:
    x = [[0.1, 0.0], [0.0, 0.2], [9.0, 9.0], [-50.0, -40.0]]
    locations = [[0, 0], [10, 10], [100, 0]]
    assert metrics.mixture_weights(x, locations).tolist() == [0.75, 0.25, 0]
    assert metrics.weight_error(x, locations, [0.5, 0.25, 0.25]) == 0.25


@fixed
@given(arrays.arrays(np.float64, (40, 2), elements=moderate), st.randoms(use_true_random=False))
def test_the_order_of_draws_does_not_matter(x: Any, random: Any) -> None:
    y = np.random.default_rng(2).standard_normal((40, 2))
    shuffled = np.array(random.sample(list(x), len(x)))
    assert metrics.evaluate(shuffled, y) == pytest.approx(metrics.evaluate(x, y), rel=1e-9, abs=1e-9)


def test_evaluate_of_the_reference_is_zero() -> None:
    y = np.arange(1.0, 1001.0)
    assert metrics.evaluate(y, y) == pytest.approx(dict.fromkeys(NAMES, 0.0), abs=1e-9)


def test_evaluate_reports_each_metric_with_its_floor_and_ratio() -> None:
    x, y, *floors = np.random.default_rng(3).standard_normal((5, 200))
    result = metrics.evaluate(x, y, floor=floors)
    assert set(result) == {name + suffix for name in NAMES for suffix in ("", "_floor", "_ratio")}
    for name in NAMES:
        singles = [metrics.evaluate(draws, y)[name] for draws in floors]
        assert result[f"{name}_floor"] == np.median(singles)
        assert result[f"{name}_ratio"] == result[name] / np.median(singles)
    assert metrics.evaluate(x, y, floor=floors[0].tolist())["w1_floor"] == metrics.evaluate(floors[0], y)["w1"]


def test_evaluate_where_the_floor_is_zero_and_with_weights() -> None:
    x, y = np.repeat([-10.0, 10.0], [30, 70]), np.repeat([-10.0, 10.0], 50)
    result = metrics.evaluate(x, y, floor=y, locations=[-10.0, 10.0], weights=[0.5, 0.5])
    assert result["weight_error"] == pytest.approx(0.2)
    assert result["weight_error_floor"] == 0
    assert (result["weight_error_ratio"], result["q95_error_ratio"]) == (np.inf, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": []}, r"samples must be non-empty.*\(0,\)"),
        ({"samples": np.zeros((2, 3, 4, 5))}, r"samples must be non-empty, of shape \(n,\).*got shape \(2, 3, 4, 5\)"),
        ({"samples": [1.0, np.nan]}, "samples must be finite, got nan"),
        ({"samples": ["a"]}, "samples must be an array of numbers, got list"),
        ({"reference": np.zeros((4, 2))}, "reference must have the dimension of samples, 1, got 2"),
        ({"reference": np.zeros(4)}, "reference must have a positive interquartile range"),
        ({"floor": [np.ones(4), np.ones(3)]}, r"floor must have 4 draws, as samples has, got \[4, 3\]"),
        ({"floor": np.ones((4, 2))}, "floor must have the dimension of samples, 1, got 2"),
        ({"floor": []}, "floor must be non-empty"),
        ({"weights": [1.0]}, "locations and weights must be given together, got only weights"),
        ({"locations": [0.0], "weights": [0.9]}, r"weights must be 1 .* sum to one, got \[0.9\]"),
        ({"locations": [0.0, 1.0], "weights": [1.5, -0.5]}, "weights must be 2 non-negative"),
        ({"locations": [[0.0, 1.0]], "weights": [1.0]}, "locations must have the dimension of samples"),
    ],
)
def test_bad_arguments_are_named_in_one_line(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        metrics.evaluate(**({"samples": [1.0, 2, 3, 4], "reference": [1.0, 2, 3, 4]} | arguments))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("level", [0, 1, -0.1, np.nan])
@pytest.mark.parametrize("metric", [metrics.quantile_error, metrics.tail_msle, metrics.exceedances])
def test_levels_outside_the_unit_interval(metric: Any, level: float) -> None:
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        metric([1.0], [1.0], level)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.exact_wasserstein(np.ones(2001), np.ones(2001)), "one size up to 2000, got 2001 and 2001"),
        (lambda: metrics.exact_wasserstein([1.0], [1.0, 2.0]), "one size up to 2000, got 1 and 2"),
        (lambda: metrics.sliced_wasserstein([1.0], [1.0], 0), "num_directions must be at least 1, got 0"),
        (lambda: metrics.tail_msle([1.0], [0.0]), "reference must have a positive 0.95-quantile"),
    ],
)
def test_other_bad_arguments(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# A defect is seen where some metric exceeds that of each of 200 i.i.d. samples: for a perfect sample, and nine metrics,
# the probability of that, over floors and samples, is at most 9/201.
ALPHA = 1.5
CUT = stats.levy_stable(ALPHA, 0).isf(0.0025)  # the 99.5 % quantile of |x|
SAME_IQR = stats.levy_stable(ALPHA, 0).ppf(0.75) / stats.levy_stable(1.7, 0).ppf(0.75)
DEFECTS = {
    "scale 5 % too large": lambda rng, size: 1.05 * stable(rng, ALPHA, size),
    "scale 5 % too small": lambda rng, size: 0.95 * stable(rng, ALPHA, size),
    "scale 10 % too large": lambda rng, size: 1.1 * stable(rng, ALPHA, size),
    "index 1.7, same IQR": lambda rng, size: SAME_IQR * stable(rng, 1.7, size),
    "truncated at 99.5 %": lambda rng, size: (x := stable(rng, ALPHA, 2 * size))[np.abs(x) <= CUT][:size],
    "clipped at 99.5 %": lambda rng, size: np.clip(stable(rng, ALPHA, size), -CUT, CUT),
}


@cache
def thresholds(size: int) -> Any:
    rng = np.random.default_rng(size)
    floor = [metrics.evaluate(stable(rng, ALPHA, size), stable(rng, ALPHA, size)) for _ in range(200)]
    return {name: max(found[name] for found in floor) for name in NAMES}


def detections(draw: Any, size: int, repeats: int) -> Any:
    """For each repeat, the metrics that exceed every i.i.d. one."""
    rng = np.random.default_rng(size + 1)
    runs = [metrics.evaluate(draw(rng, size), stable(rng, ALPHA, size)) for _ in range(repeats)]
    return [{name for name in NAMES if found[name] > thresholds(size)[name]} for found in runs]


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_seen_though_not_by_plain_wasserstein(defect: Any) -> None:
    seen = detections(DEFECTS[defect], 50_000, 10)
    assert np.mean([len(names) > 0 for names in seen]) >= 0.9
    assert np.mean(["w1" in names for names in seen]) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_power_at_a_hundred_thousand_draws(defect: Any) -> None:
    assert np.mean([len(seen) > 0 for seen in detections(DEFECTS[defect], 100_000, 100)]) >= 0.95


@pytest.mark.slow
def test_perfect_samples_are_rarely_accused() -> None:
    accused = sum(len(seen) > 0 for seen in detections(lambda rng, size: stable(rng, ALPHA, size), 100_000, 100))
    assert accused <= stats.binom(100, 9 / 201).isf(1e-4)


def test_draws_of_a_run_are_taken_chain_by_chain() -> None:
    chains, reference = np.random.default_rng(3).normal(size=(4, 50, 2)), np.random.default_rng(4).normal(size=(200, 2))
    assert metrics.evaluate(chains, reference) == metrics.evaluate(chains.reshape(-1, 2), reference)
