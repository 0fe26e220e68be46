"""The tail index against Pareto tails, and summaries of runs that are healthy, stuck or without a variance."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import arviz_stats
import numpy as np
import pytest
import xarray
from scipy import special
from scipy.stats import binom

from mafla.diagnostics import InfiniteVarianceWarning, NotMixedWarning, hill, summary

MOMENTS = ("mean", "sd", "mcse_mean")


def tree_of(draws: Any, **coords: Any) -> Any:
    posterior = xarray.Dataset({"x": (("chain", "draw", "dim"), draws)}, coords=coords)
    return xarray.DataTree.from_dict({"posterior": posterior})


def stable(rng: np.random.Generator, alpha: float, size: int) -> Any:
    """Stable draws sqrt(2 A) z with A positive alpha/2-stable, by Kanter's formula."""
    a, u, e = alpha / 2, rng.uniform(0, np.pi, size), rng.exponential(size=size)
    subordinator = np.sin(a * u) / np.sin(u) ** (1 / a) * (np.sin((1 - a) * u) / e) ** ((1 - a) / a)
    return np.sqrt(2 * subordinator) * rng.standard_normal(size)


LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "Student-t 1": lambda rng, size: rng.standard_t(1, size),
    "stable 1.5": lambda rng, size: stable(rng, 1.5, size),
    "Student-t 3": lambda rng, size: rng.standard_t(3, size),
    "Gaussian": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
}
INFINITE = {"Student-t 1", "stable 1.5"}


@pytest.mark.parametrize("alpha", [0.7, 1.5, 4.0])
def test_hill_of_exact_pareto_quantiles(alpha: float) -> None:
    # the distances i^(-1/alpha), i = 1..n, on either side of a median of zero, so that two draws share each distance
    distances = np.arange(1, 201) ** (-1 / alpha)
    k = 40
    log_excess = 2 * (20 * math.log(21) - special.gammaln(21)) / alpha
    found = hill(np.concatenate([distances, -distances]), k=k)
    assert found.index == pytest.approx(k / log_excess, rel=1e-9)
    assert found.k == k


def test_hill_interval_is_that_of_a_gamma_variable_and_widens_with_fewer_effective_draws() -> None:
    x = np.random.default_rng(0).standard_t(2, 10_000)
    found = hill(x)
    assert found.k == 300
    assert [found.lower, found.upper] == pytest.approx(found.index * special.gammaincinv(300, [0.025, 0.975]) / 300)
    fewer = hill(x, ess=1000)
    assert fewer.index == found.index
    assert [fewer.lower, fewer.upper] == pytest.approx(found.index * special.gammaincinv(30, [0.025, 0.975]) / 30)
    assert hill(x, ess=1e6) == found


def test_hill_interval_covers_the_index_of_a_pareto_tail() -> None:
    rng = np.random.default_rng(1)
    # exactly Pareto beyond 1, with enough zeros to make the median zero
    signs = rng.choice([-1, 0, 1], p=[0.2, 0.6, 0.2], size=(400, 2000))
    draws = signs * rng.uniform(size=(400, 2000)) ** (-1 / 1.5)
    covered = sum(found.lower <= 1.5 <= found.upper for found in map(hill, draws))
    assert binom(400, 0.95).ppf(1e-4) <= covered <= binom(400, 0.95).isf(1e-4)


def test_hill_does_not_depend_on_units_or_order() -> None:
    x = np.random.default_rng(2).standard_t(1, 1000)
    assert hill(np.flip(1e30 * (x + 7)).reshape(4, 250)) == pytest.approx(hill(x), rel=1e-6)


def test_hill_without_a_tail() -> None:
    assert np.isnan(hill(np.zeros(200))[:3]).all()
    assert hill(np.tile([-1.0, 1.0], 100)).index == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": np.ones(99)}, "x must hold at least 100 draws, all finite, got 99 with 0 not finite"),
        ({"x": np.full(100, np.nan)}, "got 100 with 100 not finite"),
        ({"x": np.arange(100), "k": 100}, "k must lie between 1 and 99.*got 100"),
        ({"x": np.arange(100), "k": 0}, "k must lie between 1 and 99.*got 0"),
        ({"x": np.arange(100), "ess": 0.0}, "ess must be positive, got 0.0"),
        ({"x": np.arange(100), "ess": math.nan}, "ess must be positive, got nan"),
    ],
)
def test_hill_names_bad_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hill(**arguments)


@pytest.mark.parametrize("law", LAWS)
def test_infinite_variance_is_flagged_and_only_that(law: Any) -> None:
    rng = np.random.default_rng(3)
    flagged = [hill(LAWS[law](rng, 10_000)).upper < 2 for _ in range(100)]
    if law in INFINITE:
        assert np.mean(flagged) >= 0.9
    else:
        assert not any(flagged)


def test_the_boundary_of_two_degrees_of_freedom_is_rarely_flagged() -> None:
    rng = np.random.default_rng(4)
    assert np.mean([hill(rng.standard_t(2, 10_000)).upper < 2 for _ in range(200)]) <= 0.15


def test_summary_gives_no_moments_where_the_variance_looks_infinite() -> None:
    rng = np.random.default_rng(5)
    draws = np.stack([law(rng, 10_000).reshape(4, 2500) for law in LAWS.values()], axis=-1)
    with pytest.warns(InfiniteVarianceWarning, match=r"in dim Student-t 1, stable 1.5: use quantiles") as caught:
        result = summary(tree_of(draws, dim=list(LAWS)))
    assert len(caught) == 1
    for name in MOMENTS:
        assert np.isnan(result[name].sel(dim=sorted(INFINITE))).all()
        assert np.isfinite(result[name].sel(dim=[law for law in LAWS if law not in INFINITE])).all()
    assert result["dim"].values.tolist() == list(LAWS)


def test_summary_of_independent_draws_matches_numpy_and_arviz() -> None:
    tree = tree_of(np.random.default_rng(6).standard_normal((4, 1000, 3)))
    x = tree["posterior"]["x"]
    result = summary(tree)
    pooled = x.stack(sample=("chain", "draw"))
    for name, level in {"q5": 0.05, "median": 0.5, "q95": 0.95}.items():
        np.testing.assert_allclose(result[name], pooled.quantile(level, "sample"))
        # density of the normal law at its quantile
        density = np.exp(-(special.ndtri(level) ** 2) / 2) / math.sqrt(2 * math.pi)
        exact = math.sqrt(level * (1 - level) / 4000) / density
        np.testing.assert_allclose(result[f"mcse_{name}"], exact, rtol=0.35)
    np.testing.assert_allclose(result["mean"], pooled.mean("sample"))
    np.testing.assert_allclose(result["sd"], pooled.std("sample", ddof=1))
    np.testing.assert_allclose(result["r_hat"], arviz_stats.rhat(x, method="rank"))
    np.testing.assert_allclose(result["ess_bulk"], arviz_stats.ess(x, method="bulk"))
    assert result.sizes == {"dim": 3}


def test_summary_of_an_autoregression_has_its_effective_sample_size() -> None:
    rng, rho = np.random.default_rng(7), 0.8
    draws = rng.standard_normal((4, 20_000, 1))
    for t in range(1, draws.shape[1]):
        draws[:, t] = rho * draws[:, t - 1] + math.sqrt(1 - rho**2) * draws[:, t]
    result = summary(tree_of(draws))
    assert result["ess_bulk"].item() == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.1)
    independent = hill(draws)
    assert result["tail_index_upper"].item() > independent.upper
    assert result["tail_index"].item() == independent.index


def test_summary_of_chains_that_disagree() -> None:
    draws = np.random.default_rng(8).standard_t(3, (4, 500, 1))
    draws[0] += 3
    with pytest.warns(NotMixedWarning, match=r"^the chains have not mixed \(R-hat\) in dim 0: run longer"):
        assert summary(tree_of(draws))["r_hat"].item() > 1.1


def test_ties_from_rejections_do_not_break_the_summary() -> None:
    draws = np.random.default_rng(9).standard_normal((4, 2000, 5))
    draws[..., 0] = np.repeat(draws[:, ::10, 0], 10, axis=1)  # nine of ten moves rejected
    draws[..., 1] = 3  # never moves
    draws[..., 2] = np.arange(4)[:, None]  # each chain stuck elsewhere
    draws[:, 800:1200, 3] = 50  # a long stay at the largest value
    draws[:, 800:1200, 4] = -50
    with pytest.warns(NotMixedWarning, match=r"in dim 1, 2: "):
        result = summary(tree_of(draws))
    assert result["ess_bulk"][0].item() == pytest.approx(800, rel=0.2)
    assert result["r_hat"][0].item() < 1.02
    assert np.isnan([result[name][1].item() for name in ("r_hat", "ess_bulk", "ess_tail", "tail_index")]).all()
    assert result["r_hat"][2].item() > 2
    # four stays, one per chain, carry what is known of the tail
    assert (result["ess_tail"][3:] < 100).all()


def test_summary_of_huge_float32_draws() -> None:
    draws = (1e31 * np.random.default_rng(10).standard_cauchy((4, 1000, 1))).astype(np.float32)
    with pytest.warns(InfiniteVarianceWarning, match="in dim 0:"):
        result = summary(tree_of(draws))
    assert result["r_hat"].item() < 1.02
    assert result["median"].item() == pytest.approx(np.median(draws.astype(np.float64)))


def test_summary_names_at_most_ten_coordinates() -> None:
    draws = np.random.default_rng(11).standard_cauchy((4, 500, 12))
    with pytest.warns(InfiniteVarianceWarning, match=r"in dim 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.:"):
        summary(tree_of(draws))


def test_summary_of_few_draws_does_not_judge_the_tail() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = summary(tree_of(np.random.default_rng(12).standard_cauchy((1, 99, 2))))
    assert np.isnan([result[name].values for name in (*MOMENTS, "tail_index", "r_hat")]).all()
    assert np.isfinite([result[name].values for name in ("median", "mcse_q95", "ess_bulk")]).all()


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (xarray.DataTree(), r"variable x in its group posterior, got the groups \[\]"),
        (tree_of(np.zeros((4, 3, 1))), "at least 4 draws per chain, got the sizes.*'draw': 3"),
        (tree_of(np.zeros((0, 10, 1))), "at least 4 draws per chain, got the sizes.*'chain': 0"),
        (tree_of(np.full((4, 10, 1), np.inf)), "x must be finite, got 40 non-finite values of 40"),
        (
            xarray.DataTree.from_dict({"posterior": xarray.Dataset({"x": (("chain", "draw"), np.zeros((4, 9)))})}),
            r"dimensions chain, draw and dim, got \('chain', 'draw'\)",
        ),
    ],
)
def test_summary_names_bad_trees(tree: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summary(tree)


def test_a_single_chain_that_never_moved_is_named() -> None:
    draws = np.zeros((1, 200, 2))
    draws[..., 1] = np.random.default_rng(0).normal(size=200)
    with pytest.warns(NotMixedWarning, match="in dim 0: "):
        summary(tree_of(draws))
