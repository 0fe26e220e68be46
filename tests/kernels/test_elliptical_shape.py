"""Centre and shape are found from directions alone: without moments, from afar, and with few chains."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla.kernels.elliptical_shape import Shape, follow, follow_middle, unit_shape

from .support import Numbers


def law(dim: int, seed: int = 0) -> tuple[Numbers, Numbers]:
    """Return a centre and a factor whose axes have a ratio of thirty."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return 30 * rng.normal(size=dim), turn * np.geomspace(1, 30, dim)


def followed(clouds: Any, df: float, center: Numbers, factor: Numbers, gain: float = 1.0) -> Shape:
    """Follow round clouds of the t law, stretched and moved."""
    dim = len(center)
    inverse = np.linalg.inv(factor)

    def one(shape: Shape, step_and_cloud: Any) -> tuple[Shape, None]:
        step, cloud = step_and_cloud
        gradients = -(df + dim) * inverse.T @ cloud / (df + (cloud * cloud).sum(0))
        moved = jnp.asarray(center)[:, None] + factor @ cloud
        return follow(shape, moved, gradients, gain * (step + 1.0) ** -0.6)[0], None

    start = unit_shape(dim)
    return jax.jit(lambda clouds: jax.lax.scan(one, start, (jnp.arange(len(clouds)), clouds))[0])(jnp.asarray(clouds))


def student_clouds(seed: int, df: float, steps: int, dim: int, chains: int) -> Numbers:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(steps, dim, chains)) / np.sqrt(rng.chisquare(df, (steps, 1, chains)) / df)


def errors(shape: Shape, center: Numbers, factor: Numbers) -> tuple[float, float]:
    """Return the distance of the centre in round coordinates, and the ratio of axes that is left."""
    inverse = np.linalg.inv(factor)
    axes = np.linalg.svd(inverse @ np.asarray(shape.factor, np.float64))[1]
    return float(np.linalg.norm(inverse @ (np.asarray(shape.center, np.float64) - center))), float(axes[0] / axes[-1])


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("df", "dim", "chains", "steps"), [(1, 2, 64, 300), (1, 10, 8, 600), (0.5, 30, 64, 600)])
def test_a_law_without_mean_is_found(df: float, dim: int, chains: int, steps: int) -> None:
    center, factor = law(dim)
    distance, ratio = errors(followed(student_clouds(1, df, steps, dim, chains), df, center, factor), center, factor)
    assert distance < 0.3
    assert ratio < 1.5


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("lost", [0, 1])
def test_the_shape_is_seen_from_a_small_cloud_far_away(lost: int) -> None:
    """Chains of another shape, forty units from the centre of a nearly normal law: it is in their gradients.

    One that is lost, so far out that its gradient is next to nothing, does not hide what the others have in common.
    """
    dim = 5
    center, factor = law(dim)
    other = np.linalg.inv(factor)  # a ball in the coordinates of the chains
    clouds = 40 * np.eye(dim)[0][:, None] + other @ np.random.default_rng(2).normal(size=(600, dim, 64))
    clouds[:, :, :lost] *= 1e12
    assert errors(unit_shape(dim), center, factor)[1] == pytest.approx(30)
    assert errors(followed(clouds, 1e6, center, factor), center, factor)[1] < 2.5


@pytest.mark.usefixtures("x64")
def test_an_elliptical_law_that_is_known_stays_known_however_few_the_chains() -> None:
    dim = 50
    center, factor = law(dim)
    triangle = np.linalg.cholesky(factor @ factor.T)
    known = Shape(jnp.asarray(center), jnp.asarray(triangle))
    for seed in range(5):
        cloud = 1000 * student_clouds(seed, 1.0, 1, dim, 8)[0]
        gradients = -np.linalg.inv(triangle).T @ cloud / (1 + (cloud * cloud).sum(0))
        moved, misfit = follow(known, center[:, None] + triangle @ cloud, gradients, 0.5, 0.5)
        ratio = np.linalg.solve(triangle, np.asarray(moved.factor))
        np.testing.assert_allclose(ratio, ratio[0, 0] * np.eye(dim), atol=1e-6)
        distance = np.linalg.norm(np.linalg.solve(triangle, np.asarray(moved.center) - center))
        assert distance < 0.05 * np.linalg.norm(cloud, axis=0).min()  # of one over the dimension, half is used
        assert float(misfit) < 1e-12


@pytest.mark.usefixtures("x64")
def test_middles_are_found_where_gradients_change_sign() -> None:
    """Independent Cauchy laws; the middle that is found stays, whatever the chains."""
    dim, rng = 6, np.random.default_rng(3)
    truth, scale = 40 * rng.normal(size=dim), np.geomspace(0.1, 10, dim)
    clouds = rng.standard_cauchy((300, dim, 64))

    def one(middle: Any, step_and_cloud: Any) -> tuple[Any, None]:
        step, cloud = step_and_cloud
        positions = truth[:, None] + scale[:, None] * cloud
        gradients = -2 * cloud / (1 + cloud**2) / scale[:, None]
        return follow_middle(middle, positions, gradients, (step + 1.0) ** -0.6), None

    middle, _ = jax.jit(lambda: jax.lax.scan(one, jnp.zeros(dim), (jnp.arange(300), jnp.asarray(clouds))))()
    assert np.all(np.abs(middle - truth) < scale)
    stays, _ = one(jnp.asarray(truth), (0.0, jnp.asarray(clouds[0])))
    np.testing.assert_array_equal(stays, truth)


@pytest.mark.usefixtures("x64")
def test_the_gradients_tell_the_centre_better_than_the_median_does() -> None:
    dim, chains = 30, 64
    cloud = jnp.asarray(student_clouds(6, 1.0, 1, dim, chains)[0])
    start = Shape(jnp.full(dim, 0.5), jnp.eye(dim))
    gradients = -(1 + dim) * cloud / (1 + (cloud * cloud).sum(0))
    random = jnp.asarray(np.random.default_rng(7).normal(size=(dim, chains)))
    told, untold = (follow(start, cloud, slope, 0.5)[0].center for slope in (gradients, random))
    assert float(jnp.linalg.norm(told)) < 0.65 * float(jnp.linalg.norm(start.center))
    assert float(jnp.linalg.norm(told)) < 0.9 * float(jnp.linalg.norm(untold))


@pytest.mark.usefixtures("x64")
def test_the_size_is_that_of_the_median_radius() -> None:
    dim = 4
    clouds = student_clouds(3, 1.0, 800, dim, 64)
    shape = followed(clouds, 1.0, np.zeros(dim), 5 * np.eye(dim))
    median = np.median(np.linalg.norm(5 * clouds, axis=1))
    size = np.exp(np.mean(np.log(np.diagonal(np.asarray(shape.factor)))))
    assert size * np.sqrt(dim) == pytest.approx(median, rel=0.05)


def test_one_chain_however_far_moves_the_shape_by_a_bounded_step() -> None:
    near = np.random.default_rng(4).normal(size=(3, 16)).astype(np.float32)
    moved = []
    for far in (1e3, 1e30):
        cloud = near.copy()
        cloud[:, 0] = far
        moved.append(follow(unit_shape(3), jnp.asarray(cloud), jnp.asarray(-near), 0.1)[0])
    for one, other in zip(*moved, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-3)
    assert float(jnp.abs(moved[1].center).max()) < 0.2


def test_chains_at_the_centre_and_flat_places_do_no_harm() -> None:
    shape, _ = follow(unit_shape(2), jnp.zeros((2, 4)), jnp.zeros((2, 4)), 0.5)
    assert all(bool(jnp.isfinite(part).all()) for part in shape)
    assert bool((jnp.diagonal(shape.factor) > 0).all())


def test_on_the_line_the_centre_is_the_median() -> None:
    rng, shape = np.random.default_rng(5), unit_shape(1)
    step = jax.jit(follow)
    for index in range(400):
        cloud = jnp.asarray(7 + 2 * rng.standard_cauchy((1, 64)), jnp.float32)
        shape, _ = step(shape, cloud, -(cloud - 7), (index + 1) ** -0.6)
    assert float(shape.center[0]) == pytest.approx(7, abs=0.2)
    assert float(shape.factor[0, 0]) == pytest.approx(2, rel=0.1)


def test_misfit_is_the_square_of_the_sine_between_gradients_and_the_way_to_the_centre() -> None:
    cloud = np.random.default_rng(0).normal(size=(5, 64))
    assert float(follow(unit_shape(5), jnp.asarray(cloud), jnp.asarray(-3 * cloud), 0.1)[1]) < 1e-6
    off = np.eye(5)[:, :1] * 2
    sines = [1 - (x @ (x + off[:, 0])) ** 2 / ((x @ x) * np.sum((x + off[:, 0]) ** 2)) for x in cloud.T]
    found = follow(unit_shape(5), jnp.asarray(cloud), jnp.asarray(-(cloud + off)), 0.1)[1]
    assert float(found) == pytest.approx(np.mean(sines), rel=1e-4)


def test_haste_moves_the_centre_farther_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(3, 64)) + 5
    slow, fast = (
        follow(unit_shape(3), jnp.asarray(cloud), jnp.asarray(5 - cloud), 0.01, haste)[0] for haste in (0.0, 0.4)
    )
    np.testing.assert_allclose(fast.center, 40 * slow.center, rtol=1e-4)
    np.testing.assert_array_equal(fast.factor, slow.factor)


def test_the_size_hurries_only_where_chance_cannot_be_the_reason() -> None:
    far = 1e3 * np.random.default_rng(2).normal(size=(4, 64))
    sizes = [
        np.prod(np.diag(follow(unit_shape(4), jnp.asarray(far[:, :n]), jnp.asarray(-far[:, :n]), 0.01)[0].factor))
        for n in (64, 16)
    ]
    np.testing.assert_allclose(np.log(sizes) / 4, [0.5, 0.01], rtol=1e-3)
