"""The learned energy: a loss that is least at the truth, and a fit that is a normalised log density of its data."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import stats

from mafla import targets
from mafla.learn import energy as module
from mafla.learn.energy import Energy, contrastive_loss, fit_energy
from mafla.learn.networks import EnergyNetwork
from mafla.learn.prepare import prepare
from mafla.learn.training import Schedule

KEY = jax.random.key(0)
QUICK = Schedule(steps=20, batch_size=64, check_every=10)
MODES = targets.stable_mixture(1.5, [[-5.0], [5.0]], [0.3, 0.7])


def fit_student(key: Array) -> Energy:
    rows = np.random.default_rng(0).standard_t(2, size=(5000, 1))
    return fit_energy(key, rows, schedule=Schedule(steps=200, check_every=50), progress=False)


@pytest.fixture(scope="module")
def student() -> Energy:
    return fit_student(KEY)


@pytest.fixture(scope="module")
def modes() -> Energy:
    rows = MODES.sample(jax.random.key(1), 10_000)
    return fit_energy(KEY, rows, alpha=1.5, progress=False)


def on_line(function: Callable[[Array], Array], points: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(points, jnp.float32)[:, None]), np.float64)


def mass(logdensity: Callable[[Array], Array], below: float = math.inf) -> float:
    """Return the integral over the line, or over the part below a point, by the trapezoidal rule in asinh."""
    t = np.linspace(-math.asinh(1e12), math.asinh(1e12), 40_001)
    points = np.sinh(t)
    values = np.exp(on_line(logdensity, points)) * np.cosh(t) * (t[1] - t[0])
    return float(values[points < below].sum())


def on_a_ring(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return draws from a blurred circle of radius 3, and their log densities."""
    random = np.random.default_rng(seed)
    radius, angle = random.normal(3, 0.3, size=count), random.uniform(0, 2 * np.pi, size=count)
    logdensity = stats.norm.logpdf(radius, 3, 0.3) - np.log(2 * np.pi * radius)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), logdensity


def assert_network_helps(rows: np.ndarray, points: np.ndarray, truth: np.ndarray, score_weight: float) -> None:
    """The mean error of the log density must be well below that of the base, which is what a new network gives."""
    found = fit_energy(KEY, rows, alpha=2.0, score_weight=score_weight, progress=False)
    base = eqx.tree_at(lambda model: model.network, found, EnergyNetwork(KEY, found.frame, 64, 2))
    values = [jax.jit(jax.vmap(each))(jnp.asarray(points, jnp.float32)) for each in (found, base)]
    ours, start = (np.mean(np.abs(np.asarray(each, np.float64) - truth)) for each in values)
    assert found.history.best_step > 0
    assert ours < 0.9 * start


@pytest.mark.usefixtures("x64")
def test_contrastive_loss_is_stationary_at_the_ratio_of_discrete_laws_and_nowhere_near() -> None:
    """Rows and noise hold every state as often as its law says, so that the loss is its own expectation."""
    row_counts, noise_counts = np.array([1, 2, 3, 4]), np.array([12, 4, 8, 6])
    rows, noise = (np.repeat(np.arange(4), counts) for counts in (row_counts, noise_counts))
    truth = jnp.asarray(np.log(row_counts / 10) - np.log(noise_counts / 30))
    slope = jax.jit(jax.grad(lambda table: contrastive_loss(table[rows], table[noise])))
    np.testing.assert_allclose(slope(truth), 0, atol=1e-15)
    assert np.abs(slope(truth + 0.1)).max() > 1e-3  # the constant counts
    assert np.abs(slope(truth + jnp.array([0.1, 0, 0, 0]))).max() > 1e-3


@pytest.mark.usefixtures("x64")
def test_contrastive_loss_is_the_logistic_loss_of_telling_rows_from_noise() -> None:
    rows, noise = np.array([0.3, -1.0]), np.array([0.5, 2.0, -0.7, 0.0, 1.0, -3.0])
    is_row = 1 / (1 + 3 * np.exp(-rows)), 1 / (1 + 3 * np.exp(-noise))  # three draws of noise for each row
    expected = -(np.log(is_row[0]).sum() + np.log1p(-is_row[1]).sum()) / len(rows)
    np.testing.assert_allclose(contrastive_loss(jnp.asarray(rows), jnp.asarray(noise)), expected, rtol=1e-12)


@pytest.mark.slow
def test_a_wrong_mass_is_corrected() -> None:
    found = prepare(KEY, np.random.default_rng(1).standard_t(3, size=(500, 1)), 1.5)
    fresh = EnergyNetwork(KEY, found.frame, 8, 1)
    wrong = eqx.tree_at(lambda net: (net.tail, net.constant), fresh, (jnp.float32(1.0), jnp.float32(1.7)))

    def logdensity(network: Any) -> Callable[[Array], Array]:
        return lambda u: found.frame.base.logdensity(u) + network(found.frame, u)

    assert mass(logdensity(wrong)) > 3
    assert mass(logdensity(module._normalised(found, wrong))) == pytest.approx(1, abs=5e-3)


@pytest.mark.parametrize("far", [1e20, -1e30, 1e38])
def test_there_is_no_density_where_squares_overflow(student: Energy, far: float) -> None:
    """A NaN there would be counted and warned of by every run whose long moves try such points."""
    assert float(student(jnp.full(1, far))) == -np.inf
    assert np.isfinite(float(student(jnp.full(1, np.sign(far) * 1e14))))


def test_the_density_of_student_rows_integrates_to_one(student: Energy) -> None:
    assert mass(student) == pytest.approx(1, abs=1e-2)


def test_the_log_density_of_student_rows_is_theirs(student: Energy) -> None:
    points = stats.t(2).ppf((np.arange(1000) + 0.5) / 1000)
    assert np.mean(np.abs(on_line(student, points) - stats.t(2).logpdf(points))) < 0.05


def test_the_score_is_the_gradient(student: Energy) -> None:
    points, step = np.array([-20.0, -3.0, -0.5, 0.1, 2.0, 50.0]), 1e-2
    found = on_line(student.score, points)[:, 0]
    steps = step * np.maximum(1, np.abs(points))
    difference = (on_line(student, points + steps) - on_line(student, points - steps)) / (2 * steps)
    np.testing.assert_allclose(found, difference, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(found, -3 * points / (2 + points**2), atol=0.1)


@pytest.mark.slow
def test_the_stability_index_is_that_of_the_rows(student: Energy, modes: Energy) -> None:
    """Estimated for the first, whose tail of index 2 looks like that of a stable law below 2; given for the second."""
    assert 1.4 < student.alpha < 1.9
    assert modes.alpha == 1.5


@pytest.mark.slow
def test_weights_of_separated_modes_are_those_of_the_rows(modes: Energy) -> None:
    assert mass(modes) == pytest.approx(1, abs=1e-2)
    assert mass(modes, below=0) == pytest.approx(mass(MODES.logdensity, below=0), abs=0.02)


@pytest.mark.slow
def test_the_same_key_gives_the_same_model(student: Energy) -> None:
    for one, two in zip(*(jax.tree.leaves(model) for model in (student, fit_student(KEY))), strict=True):
        if eqx.is_array(one):
            np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_units_change_the_log_density_by_their_volume() -> None:
    rows, scale = np.random.default_rng(3).standard_t(2, size=(200, 2)), np.array([2.0**20, 2.0**-10])
    one, other = (fit_energy(KEY, data, alpha=1.5, schedule=QUICK, progress=False) for data in (rows, rows * scale))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(other))(jnp.asarray(rows[:20] * scale, jnp.float32)),
        jax.jit(jax.vmap(one))(jnp.asarray(rows[:20], jnp.float32)) - np.log(scale).sum(),
        atol=1e-4,
    )


@pytest.mark.slow
def test_an_edge_that_the_base_cannot_see_is_learned() -> None:
    """Exponential rows; by contrast alone, since score matching knows nothing of edges."""
    rows = np.random.default_rng(4).exponential(size=(10_000, 1))
    points = stats.expon.ppf((np.arange(1000) + 0.5) / 1000)[:, None]
    assert_network_helps(rows, points, stats.expon.logpdf(points[:, 0]), score_weight=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("score_weight", [0.0, 0.1])
def test_a_ring_that_the_base_cannot_see_is_learned(score_weight: float) -> None:
    assert_network_helps(on_a_ring(4, 10_000)[0], *on_a_ring(5, 1000), score_weight=score_weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.0}, r"alpha must be a number in \(1, 2\], got 1"),
        ({"width": 0}, "width must be a whole number of at least 1, got 0"),
        ({"depth": -1}, "depth must be a whole number of at least 0, got -1"),
        ({"score_weight": math.nan}, "score_weight must be a finite number, got nan"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        fit_energy(KEY, np.random.default_rng(5).normal(size=(60, 1)), progress=False, **options)


def test_a_key_must_be_one_key() -> None:
    with pytest.raises(ValueError, match=r"^key must be one random key such as jax.random.key\(0\), got 'seed'$"):
        fit_energy("seed", np.zeros((60, 1)))  # type: ignore[arg-type]
