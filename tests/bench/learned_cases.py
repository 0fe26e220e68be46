"""What the tests of the comparison share: problems that cost nothing, and stand-ins for what is learned."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from mafla.bench.learned_methods import Case, Outcome, Settings, make_case
from mafla.bench.learned_targets import Problem, train_and_held_out
from mafla.learn.training import History, Schedule

BRIEF = Schedule(steps=20, batch_size=64, check_every=20)
TINY = Settings(
    rows=400,
    chains=100,
    steps=20,
    reference_draws=2000,
    floors=3,
    density_draws=50,
    bisections=3,
    energy=BRIEF,
    score=BRIEF,
    acceptance=BRIEF,
)


def normal_modes(name: str, modes: list[list[float]], weights: list[float]) -> Problem:
    """Stands in for a mixture of stable laws, which would take seconds to compile."""
    centres, shares = np.asarray(modes), np.asarray(weights)

    def draw(key: Any, count: int) -> Any:
        random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        return centres[random.choice(len(modes), count, p=shares)] + random.normal(size=(count, centres.shape[1]))

    def logdensity(x: Any) -> Any:
        squares = ((x[..., None, :] - centres) ** 2).sum(-1)
        return logsumexp(-squares / 2, axis=-1, b=shares) - centres.shape[1] / 2 * math.log(2 * math.pi)

    return Problem(name, centres.shape[1], 1.5, draw, logdensity, centres, shares)


MIXTURE = normal_modes("2-D mixture, α=1.95", [[-5.0, 0.0], [5.0, 0.0]], [0.2, 0.8])
LINE = normal_modes("1-D, α=1.2", [[0.0]], [1.0])


def case_of(problem: Problem, seed: int = 0, settings: Settings = TINY) -> Case:
    return make_case(problem, seed, train_and_held_out(problem, seed, settings.rows)[0], settings)


def draws_as(draws: Callable[[Case], Any], **parts: Any) -> Callable[[Case], Outcome]:
    """Stands in for a method: draws without work, the ends of chains where there is a start."""
    common: dict[str, Any] = {
        "start": None,
        "seconds_fit": 1.0,
        "seconds_sample": 2.0,
        "logdensity": None,
        "facts": {},
    }

    def method(case: Case) -> Outcome:
        made = draws(case)
        return Outcome(**({"draws": made, "end": made} | common | parts))

    return method


def fresh(case: Case, count: int = 100) -> Any:
    assert case.problem.draw is not None
    return np.asarray(case.problem.draw(jax.random.key(99), count), np.float64)


class EnergyModel:
    """Stands in for a learned energy: that of a heavy-tailed law."""

    alpha, history = 1.5, History(0, (), (0.0,), 0, "finished", 0.0, 0)

    def __call__(self, x: Any) -> Any:
        return -jnp.log1p(x @ x)


class ScoreModel:
    """Stands in for a learned score: that of a heavy-tailed law."""

    alpha = 1.5

    def __call__(self, x: Any) -> Any:
        return -2 * x / (1 + x @ x)


def with_score(case: Case) -> Case:
    score: Any = ScoreModel()
    return case._replace(score=lambda: (score, 1.0))
