"""Problems on which samplers are compared in the tails: where each starts, and what is known of the truth."""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from mafla import targets
from mafla.bench import tail_posteriors

__all__ = ["LEVELS", "Problem", "problems", "start"]

LEVELS = (0.95, 0.99, 0.999)
CONDITION, OFFSET = 1e3, 30.0  # of covariances; of centres from the origin, in units of the target's own scale
FAR = 1e3
LARGEST_DENSE = 50  # dimensions; beyond, a matrix for each chain makes peers slower still
THRESHOLD_DRAWS, SHARE_DRAWS = 2_000_000, 20_000_000  # where thresholds or shares have no formula

Draws = Float[np.ndarray, "n dim"]


class Problem(NamedTuple):
    """A target with what is known of it.

    Attributes:
        name: for tables.
        group: problems that share a goal.
        dim: the dimension.
        logdensity: up to a constant, at a single point.
        distance: of points of shape (n, dim): how far out they are, by which tails are judged.
        thresholds: the distances beyond which about the shares ``1 - LEVELS`` of the law lie.
        draws: ``draws(key, n)``: at least nearly independent points of the target.
        beyond: those shares; where thresholds are quantiles of draws, from ten times as many other draws.
        locations: modes, of shape (modes, dim); none where there is one.
        dense: whether a peer that can learn a whole matrix should.
        starts: from where chains start.
    """

    name: str
    group: str
    dim: int
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]]
    distance: Callable[[Draws], Float[np.ndarray, " n"]]
    thresholds: Callable[[], Float[np.ndarray, " levels"]]
    draws: Callable[[Key[Array, ""], int], Any]
    beyond: Callable[[], Float[np.ndarray, " levels"]] = lambda: 1 - np.array(LEVELS)
    locations: Float[np.ndarray, "modes dim"] | None = None
    dense: bool = False
    starts: tuple[str, ...] = ("near", "far")


@cache
def problems() -> tuple[Problem, ...]:
    """Return all problems, from those with the heaviest tails to those with none.

    Example:
        >>> len(problems())
        38
    """
    sizes = [(df, dim) for df in (1, 2, 5) for dim in (1, 10, 50, 200)]
    modes = [(count, distance, dim) for count in (2, 5) for distance in (10, 30) for dim in (2, 10)]
    return (
        *(_student(df, dim, stretched=False) for df, dim in sizes),
        *(_student(df, dim, stretched=True) for df, dim in sizes),
        _cauchy_product(10),
        *(_modes(*each) for each in modes),
        _funnel(10),
        _posterior("horseshoe, d=21", "curved", 21, "horseshoe", lambda x: x[:, -2]),
        _posterior("kinetics, d=4", "curved", 4, "kinetics", lambda x: x[:, 1], dense=True),
        _normal(50),
        _posterior("logistic, d=10", "light", 10, "logistic", lambda x: x[:, 2], ("near", "far"), dense=True),
    )


def start(problem: Problem, name: str, key: Key[Array, ""], chains: int) -> Float[np.ndarray, "chains dim"]:
    """Return where chains start: "near" is N(0, I), "far" at random on the sphere of radius 1000.

    Example:
        >>> first = problems()[0]
        >>> np.abs(start(first, "far", jax.random.key(0), 2)).round(3).tolist()
        [[1000.0], [1000.0]]
    """
    normal = np.asarray(jax.random.normal(key, (chains, problem.dim)))
    return normal if name == "near" else FAR * normal / np.linalg.norm(normal, axis=1, keepdims=True)


def _student(df: int, dim: int, stretched: bool) -> Problem:
    """Return a Student-t law, round about the origin or stretched about a point that is far from it."""
    base, random = targets.student_t(df, dim), np.random.default_rng(dim)
    turn = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    axes = np.geomspace(1, math.sqrt(CONDITION), dim) if stretched else np.ones(dim)
    direction = random.normal(size=dim)
    center = OFFSET * stretched * turn @ (axes * direction / np.linalg.norm(direction))
    whiten, color = (turn / axes).T, turn * axes
    log_volume = float(np.sum(np.log(axes)))

    def logdensity(x: Float[Array, " dim"]) -> Float[Array, ""]:
        if not stretched:
            return base.logdensity(x)
        return base.logdensity(jnp.asarray(whiten, x.dtype) @ (x - jnp.asarray(center, x.dtype))) - log_volume

    kind = "stretched" if stretched else "round"
    return Problem(
        f"{kind} Student-t ν={df}, d={dim}",
        f"{kind} Student-t" if df < 5 else "Student-t ν=5",
        dim,
        logdensity,
        lambda x: np.linalg.norm((x - center) @ whiten.T, axis=1),
        lambda: np.sqrt(dim * stats.f.ppf(LEVELS, dim, df)),
        lambda key, n: center + np.asarray(base.sample(key, n), np.float64) @ color.T,
        dense=stretched and dim <= LARGEST_DENSE,
    )


def _cauchy_product(dim: int) -> Problem:
    def logdensity(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -jnp.sum(jnp.log1p(x**2))

    def largest(x: Draws) -> Float[np.ndarray, " n"]:
        return np.abs(x).max(axis=1)

    return Problem(
        f"Cauchy product, d={dim}",
        "round Student-t",
        dim,
        logdensity,
        largest,
        lambda: stats.cauchy.ppf((1 + np.asarray(LEVELS) ** (1 / dim)) / 2),
        lambda key, n: np.asarray(jax.random.cauchy(key, (n, dim)), np.float64),
    )


def _modes(count: int, distance: float, dim: int) -> Problem:
    """Return a mixture of stable laws at the corners of a simplex or, in fewer dimensions, of a polygon."""
    if dim >= count:
        locations = distance / math.sqrt(2) * np.eye(count, dim)
    else:
        angles = 2 * np.pi * np.arange(count) / count
        radius = distance / (2 * math.sin(math.pi / count))
        locations = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    weights = np.arange(1, count + 1) / (count * (count + 1) / 2)
    mixture = targets.stable_mixture(1.5, locations, weights)
    away = partial(_to_nearest, locations)

    @cache
    def thresholds() -> Float[np.ndarray, " levels"]:
        return np.quantile(away(_draws(mixture, jax.random.key(0), THRESHOLD_DRAWS)), LEVELS)

    @cache
    def beyond() -> Float[np.ndarray, " levels"]:
        blocks = jax.random.split(jax.random.key(1), SHARE_DRAWS // THRESHOLD_DRAWS)
        shares = [away(_draws(mixture, key, THRESHOLD_DRAWS))[:, None] > thresholds() for key in blocks]
        return np.mean([each.mean(axis=0) for each in shares], axis=0)

    return Problem(
        f"{count} modes at {distance}, d={dim}",
        "modes",
        dim,
        mixture.logdensity,
        away,
        thresholds,
        partial(_draws, mixture),
        beyond,
        locations,
    )


def _to_nearest(locations: Draws, x: Draws) -> Float[np.ndarray, " n"]:
    return np.min([np.linalg.norm(x - location, axis=1) for location in locations], axis=0)


def _normal(dim: int) -> Problem:
    random = np.random.default_rng(dim)
    turn = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    axes = np.geomspace(1, math.sqrt(CONDITION), dim)

    def logdensity(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * jnp.sum(jnp.square(jnp.asarray((turn / axes).T, x.dtype) @ x))

    return Problem(
        f"stretched Gaussian, d={dim}",
        "light",
        dim,
        logdensity,
        lambda x: np.linalg.norm(x @ (turn / axes), axis=1),
        lambda: np.sqrt(stats.chi2.ppf(LEVELS, dim)),
        lambda key, n: np.asarray(jax.random.normal(key, (n, dim)), np.float64) @ (turn * axes).T,
        dense=True,
    )


def _funnel(dim: int) -> Problem:
    """Return the funnel, judged by its neck, which is normal with standard deviation 3."""
    target = targets.funnel(dim)
    return Problem(
        f"funnel, d={dim}",
        "curved",
        dim,
        target.logdensity,
        lambda x: x[:, 0],
        lambda: 3 * stats.norm.ppf(LEVELS),
        partial(_draws, target),
        starts=("near",),
    )


def _draws(target: targets.Target, key: Key[Array, ""], count: int) -> Draws:
    return np.asarray(target.sample(key, count), np.float64)


def _posterior(
    name: str,
    group: str,
    dim: int,
    which: str,
    distance: Any,
    starts: tuple[str, ...] = ("near",),
    dense: bool = False,
) -> Problem:
    """Return a posterior whose truth is known from draws made once."""
    made = getattr(tail_posteriors, f"{which}_draws")
    logdensity = getattr(tail_posteriors, f"{which}_logdensity")

    def draws(key: Key[Array, ""], n: int) -> Draws:
        rows: Draws = made()
        return rows[np.asarray(jax.random.randint(key, (n,), 0, len(rows)))]

    return Problem(
        name,
        group,
        dim,
        logdensity,
        distance,
        lambda: np.quantile(distance(made()), LEVELS),
        draws,
        starts=starts,
        dense=dense,
    )
