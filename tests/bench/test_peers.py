"""The peers learn what they are given, say how likely it is, and get the time and the settings they are due."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mafla.bench import peers
from mafla.bench.peers import Draws, Flow, gaussian_mixture, kernel_density, normalizing_flow

TWO_MODES = np.random.default_rng(0).normal(np.repeat([-4.0, 4.0], [300, 700]))[:, None]
SMALL = Flow(layers=1, width=8, knots=4, rates=(1e-2,), epochs=3)


def mass(found: Draws, grid: Any) -> float:
    assert found.logdensity is not None
    return float(np.trapezoid(np.exp(found.logdensity(grid[:, None])), grid))


@pytest.mark.parametrize("peer", [kernel_density, gaussian_mixture])
def test_draws_follow_a_density_of_mass_one(peer: Any) -> None:
    found = peer(TWO_MODES, 4000, 1)
    grid = np.linspace(-30, 30, 6001)
    assert found.draws.shape == (4000, 1)
    assert mass(found, grid) == pytest.approx(1, abs=1e-3)
    density = np.exp(found.logdensity(grid[:, None]))
    cdf = np.cumsum(density) * (grid[1] - grid[0])
    assert stats.kstest(found.draws[:, 0], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-6
    # The halves of the draws are alike: they are not sorted by where they come from.
    assert stats.ks_2samp(found.draws[:2000, 0], found.draws[2000:, 0]).pvalue > 1e-6


@pytest.mark.parametrize("peer", [kernel_density, gaussian_mixture])
@pytest.mark.slow
def test_units_do_not_matter_and_a_seed_fixes_the_draws(peer: Any) -> None:
    found, moved = peer(TWO_MODES, 50, 2), peer(1e6 * TWO_MODES + 7e6, 50, 2)
    np.testing.assert_allclose(moved.draws, 1e6 * found.draws + 7e6, rtol=1e-4, atol=1e3)
    at = np.array([[-4.0], [0.5], [9.0]])
    np.testing.assert_allclose(moved.logdensity(1e6 * at + 7e6), found.logdensity(at) - np.log(1e6), atol=1e-3)
    assert np.array_equal(peer(TWO_MODES, 50, 2).draws, found.draws)
    assert not np.array_equal(peer(TWO_MODES, 50, 3).draws, found.draws)
    assert found.seconds > 0


def test_bandwidth_is_chosen_by_likelihood() -> None:
    # Silverman's rule takes both modes for one and smooths them over; the likelihood of new rows does not.
    far = np.random.default_rng(1).normal(np.repeat([-50.0, 50.0], 500))[:, None]
    chosen = kernel_density(far, 1, 0).logdensity
    assert chosen is not None
    truth = 0.5 * stats.norm.pdf(far, 50) + 0.5 * stats.norm.pdf(far, -50)
    assert np.mean(np.log(truth[:, 0]) - chosen(far)) < 0.1


def test_number_of_components_is_chosen_by_bic() -> None:
    found = gaussian_mixture(TWO_MODES, 1, 0).logdensity
    assert found is not None
    new = np.random.default_rng(9).normal(np.repeat([-4.0, 4.0], [30_000, 70_000]))
    truth = np.log(0.3 * stats.norm.pdf(new, -4) + 0.7 * stats.norm.pdf(new, 4))
    # The five parameters of two components, learned from 1000 rows, cost 5/2000 nats; the 35 of twelve 0.0175.
    assert np.mean(truth - found(new[:, None])) < 0.008


@pytest.mark.slow
def test_untrained_flow_is_a_density_with_the_tail_of_its_base() -> None:
    from flowjax.distributions import StudentT

    flow = peers._new_flow(StudentT(jnp.array([2.0])), jax.random.key(6), SMALL)
    grid = np.sinh(np.linspace(-10, 10, 4001))
    log_prob = np.asarray(flow.log_prob(jnp.asarray(grid, jnp.float32)[:, None]))
    assert np.trapezoid(np.exp(log_prob), grid) == pytest.approx(1, abs=1e-3)
    assert log_prob[-1] == pytest.approx(stats.t.logpdf(grid[-1], 2), rel=1e-3)


@pytest.mark.slow
def test_flow_learns_a_heavy_tail_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(3).standard_cauchy((600, 1))
    found = normalizing_flow(rows, 2000, 4, seconds=0.5, shape=SMALL)
    assert capfd.readouterr() == ("", "")
    assert found.draws.shape == (2000, 1)
    assert np.isfinite(found.draws).all()
    assert found.logdensity is not None
    # A power law: ten times further out the density falls by the power of the base, not by a square.
    far, further = found.logdensity(np.array([[1e3], [1e4]]))
    assert 1.5 < (far - further) / np.log(10) < 4
    grid = np.sinh(np.linspace(-12, 12, 4001))
    assert mass(found, grid) == pytest.approx(1, abs=0.02)


class Clock:
    """Stands in for training: half a second an epoch, and a record of what was asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[dict[str, Any]] = []

    def fit_to_data(self, key: Any, **options: Any) -> tuple[Any, dict[str, list[float]]]:
        self.now += 0.5 * options["max_epochs"]
        self.calls.append({"key": jax.random.key_data(key).tolist(), **options})
        return options["dist"] + 1, {"val": [3.0, float("nan"), 2.0 - 0.1 * len(self.calls)]}


@pytest.mark.parametrize(("seconds", "epochs"), [(None, [100, 100]), (10.0, [1, 1, 10] * 2), (0.1, [1, 1, 1] * 2)])
def test_time_to_train_is_shared_by_the_rates(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None, epochs: list[int]
) -> None:
    clock = Clock()
    monkeypatch.setattr("flowjax.train.fit_to_data", clock.fit_to_data)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    flow, loss = peers._train(0, jnp.zeros((1000, 2)), jax.random.key(5), seconds, Flow())
    assert [call["max_epochs"] for call in clock.calls] == epochs
    assert flow == len(epochs)  # each call goes on where the last one ended
    assert loss == pytest.approx(2.0 - 0.1 * len(epochs))
    assert all(call["key"] == clock.calls[0]["key"] for call in clock.calls)  # the same rows are held out
    assert all(call["batch_size"] == 50 and call["show_progress"] is False for call in clock.calls)


@pytest.mark.parametrize(
    ("peer", "module", "package"),
    [
        (kernel_density, "sklearn.neighbors", "scikit-learn"),
        (gaussian_mixture, "sklearn.mixture", "scikit-learn"),
        (normalizing_flow, "flowjax.distributions", "flowjax"),
    ],
)
def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, peer: Any, module: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=f"which is not installed: pip install {package}$"):
        peer(TWO_MODES, 1, 0)


def test_peers_share_one_signature() -> None:
    assert set(peers.PEERS.values()) == {kernel_density, gaussian_mixture, normalizing_flow}
