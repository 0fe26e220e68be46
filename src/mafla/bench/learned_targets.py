"""Problems for learned samplers: heavy-tailed mixtures whose truth is known, and daily returns of four markets."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check, targets
from mafla.targets.base import LogDensity

__all__ = ["Problem", "daily_returns", "mixture", "problems", "synthetic", "train_and_held_out"]

# The markets, the modules of arch.data that hold them, and the columns with their daily closing prices.
MARKETS = {
    "S&P 500": ("sp500", "Adj Close"),
    "NASDAQ": ("nasdaq", "Adj Close"),
    "WTI": ("wti", "DCOILWTICO"),
    "VIX": ("vix", "vix"),
}


class Problem(NamedTuple):
    """A distribution to learn from rows, with what is known of it.

    Attributes:
        name: for tables.
        dim: the dimension.
        alpha: the stability index of its tail, or None.
        draw: ``draw(key, n)`` draws n independent rows; None where there are only `rows`.
        logdensity: normalised, or None.
        locations: the modes, of shape (modes, dim), or None.
        weights: of the modes, or None.
        rows: all data there are, of shape (n, dim), where it cannot be drawn from.
    """

    name: str
    dim: int
    alpha: float | None = None
    draw: Callable[[Key[Array, ""], int], Float[Array, "n dim"]] | None = None
    logdensity: LogDensity | None = None
    locations: Float[np.ndarray, "modes dim"] | None = None
    weights: Float[np.ndarray, " modes"] | None = None
    rows: Float[np.ndarray, "n dim"] | None = None


def problems() -> list[Problem]:
    """Return all problems: those with a known truth, then the daily returns.

    Example:
        >>> len(problems())
        6
    """
    return [*synthetic(), daily_returns()]


def synthetic() -> list[Problem]:
    """Return the mixtures of isotropic stable laws, from 1 to 8 dimensions and α from 1.2 to 1.95.

    Example:
        >>> [problem.name for problem in synthetic()][:2]
        ['2-D mixture, α=1.95', '4-D mixture, α=1.5']
    """
    angles = 2 * np.pi * np.arange(3) / 3
    triangle = 6 * np.column_stack([np.cos(angles), np.sin(angles)])
    return [
        mixture("2-D mixture, α=1.95", 1.95, [[-5.0, 0.0], [5.0, 0.0]], [0.2, 0.8]),
        mixture("4-D mixture, α=1.5", 1.5, [[-2.5] * 4, [2.5] * 4], [0.3, 0.7]),
        mixture("1-D, α=1.2", 1.2, [[0.0]], [1.0]),
        mixture("8-D bimodal, α=1.9", 1.9, [[-1.0] * 8, [1.0] * 8], [0.6, 0.4]),
        mixture("2-D mixture of three, α=1.7", 1.7, triangle, [0.5, 0.3, 0.2]),
    ]


def mixture(name: str, alpha: float, locations: ArrayLike, weights: ArrayLike) -> Problem:
    """Return a mixture of isotropic stable laws.

    Args:
        name: for tables.
        alpha: the stability index of all.
        locations: the modes, of shape (modes, dim).
        weights: of the modes.

    Example:
        >>> mixture("two", 1.5, [[-1.0], [1.0]], [0.3, 0.7]).dim
        1
    """
    target = targets.stable_mixture(alpha, locations, weights)
    centres, shares = np.asarray(locations, np.float64), np.asarray(weights, np.float64)
    return Problem(name, target.dim, alpha, target.sample, target.logdensity, centres, shares)


def daily_returns() -> Problem:
    """Return the daily returns, in percent, of S&P 500, NASDAQ, crude oil (WTI) and VIX from 2014 to 2018.

    A return is 100 times the difference of log prices between two days on which all four have a price.

    Example:
        >>> daily_returns().rows.shape
        (1252, 4)
    """
    prices = None
    for name, (module, column) in MARKETS.items():
        market = _load(f"arch.data.{module}").load()[[column]].set_axis([name], axis=1)
        prices = market if prices is None else prices.join(market, how="inner")
    values = np.asarray(prices, np.float64)
    values = values[np.all(np.isfinite(values) & (values > 0), axis=1)]  # missing, or without a logarithm
    return Problem("daily returns", len(MARKETS), rows=100 * np.diff(np.log(values), axis=0))


def train_and_held_out(
    problem: Problem, seed: int, count: int
) -> tuple[Float[np.ndarray, "n dim"], Float[np.ndarray, "m dim"]]:
    """Return rows to learn from and others to judge by.

    Args:
        problem: where they come from.
        seed: the same seed gives the same rows.
        count: number of rows of either kind; of a problem that only has its own rows, random halves are returned.

    Example:
        >>> train, held_out = train_and_held_out(synthetic()[0], seed=0, count=10)
        >>> train.shape, held_out.shape
        ((10, 2), (10, 2))
    """
    key_train, key_held_out = jax.random.split(jax.random.key(_check.whole("seed", seed, 0)))
    if problem.draw is not None:
        train, held_out = (problem.draw(key, _check.whole("count", count, 1)) for key in (key_train, key_held_out))
        return np.asarray(train, np.float64), np.asarray(held_out, np.float64)
    if problem.rows is None:
        raise ValueError(f"problem must have rows or a way to draw them, got {problem.name!r} with neither")
    order = np.asarray(jax.random.permutation(key_train, len(problem.rows)))
    half = len(order) // 2
    return problem.rows[order[:half]], problem.rows[order[half:]]


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = "the daily returns come with arch, which is not installed: pip install arch"
        raise ModuleNotFoundError(message, name="arch") from error
