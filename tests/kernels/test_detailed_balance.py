"""Detailed balance, pair by pair, in float64.

For a pair of points that propose each other exactly (to the last bit) with one scale A, the flux there,
``log p(x) + log q(x'|x) + log a(x', x)``, must equal the flux back. The kernel supplies nothing but ``a``; ``p``, ``q``
and the drift are computed here. The two sides may differ by 1e-10 in the logarithm, which is a relative error of 1e-10
of the flux itself. Positions reach 1e15. There, half of the pairs have a step size that makes the drift as long as the
jump; in the other half the drift vanishes in rounding, and the ratio of densities is all that is left to see.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mafla
from mafla import stable, targets
from mafla.kernels.base import Kernel, Noise, ScalarNoise, StepSize
from mafla.kernels.heavy_tail import AxialNoise, HeavyTailNoise, HeavyTailParams
from mafla.kernels.scouting import FAR_ALPHA, Scout
from mafla.stable.draws import ScaleParts

from .support import Numbers, barker, forced, many, stable_log_ratio

PAIRS = 100_000
PRECISION = 1e-10
FARTHEST = 1e15
DIM, DF, HUGE = 3, 2.0, 1e14
STUDENT = targets.student_t(DF, DIM)
STABLE = targets.stable(1.2, [0.0])
FACTOR = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.3, 0.7]])
Propose = Callable[[StepSize, Array, Noise], tuple[Array, Array]]


class Case(NamedTuple):
    """A kernel's move, and what the test knows about it by itself."""

    propose: Propose
    logdensity: Callable[[Numbers], Numbers]
    drift: Callable[[Numbers], Numbers]
    alpha: float
    dim: int = DIM
    width: float = 0.0  # of a Gaussian; zero where the target has no scale of its own
    bounded: bool = True  # is the drift?
    gaussian: bool = True  # q given A; otherwise the stable density
    step_size: float | None = None  # where a learned acceptance belongs to one
    factor: Numbers | None = None  # lower triangular; where there is one, the drift is that of the noise's own size


@pytest.fixture(autouse=True, scope="module")
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def alone(kernel: Kernel) -> Propose:
    run = many(kernel)

    def propose(params: StepSize, x: Array, noise: Noise) -> tuple[Array, Array]:
        states, infos = run(params, x, noise)
        return states.position, infos.acceptance_rate

    return propose


def in_cycle(part: int, *kernels: Kernel) -> Propose:
    """Return a part of a cycle whose other parts turn everything down."""
    cycle = mafla.cycle(*kernels)

    def one(params: StepSize, x: Array, noise: Noise) -> tuple[Array, Array]:
        idle = noise._replace(log_uniform=jnp.asarray(jnp.inf, x.dtype))
        noises = [noise if index == part else idle for index in range(len(kernels))]
        state, info = cycle.move((params,) * len(kernels), cycle.init(x), noises)
        return state.position, info.parts[part].acceptance_rate

    return jax.jit(jax.vmap(one))


def scale_parts(log_scale: Array, alpha: float) -> ScaleParts:
    """Return parts of which the scale is made: any angle, and the exponential variable that goes with it."""
    a, angle = alpha / 2, jnp.asarray(1.0)
    log_sine, log_sine_a, log_sine_b = (jnp.log(jnp.sin(share * angle)) for share in (1, a, 1 - a))
    rest = (log_scale - log_sine_a + log_sine / a) * a / (1 - a)
    return ScaleParts(angle, math.pi - angle, log_sine_b - rest)


def in_heavy_tail(factor: Numbers, alpha: float, scouts: bool = False) -> Propose:
    """Return the Langevin step of `heavy_tail`, with scales at which nothing moves along rays or axes."""
    kernel, middle = mafla.heavy_tail(STUDENT.logdensity), jnp.ones(DIM)

    def one(params: StepSize, x: Array, noise: Noise) -> tuple[Array, Array]:
        still = HeavyTailParams(alpha, params.step_size, 0.0, 0.0, middle, middle, jnp.asarray(factor))
        if scouts:
            still = still._replace(alpha=1.9, step_size=7.0, scout=Scout(params.step_size, turn=0.0))
        ray, scale = ScalarNoise(jnp.ones(()), noise.log_uniform), scale_parts(noise.log_scale, alpha)
        noises = HeavyTailNoise(noise._replace(log_scale=None), scale, ray, AxialNoise(ray, jnp.asarray(0)))
        state, info = kernel.move(still, kernel.init(x), noises)
        return state.position, info.parts[0].acceptance_rate

    return jax.jit(jax.vmap(one))


def student(x: Numbers) -> Numbers:
    return -(DF + DIM) / 2 * np.log1p((x * x).sum(-1) / DF)


def student_score(x: Numbers) -> Numbers:
    return -(DF + DIM) * x / (DF + (x * x).sum(-1, keepdims=True))


def local(score: Callable[[Numbers], Numbers], alpha: float) -> Callable[[Numbers], Numbers]:
    constant = math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2
    return lambda x: constant * score(x)


def gaussian_cases(width: float) -> dict[str, Case]:
    def logdensity(x: Any) -> Any:
        return -0.5 * ((x / width) ** 2).sum(-1)

    def score(x: Any) -> Any:
        return -x / width / width

    return {
        f"mala, gaussian {width:g}": Case(
            alone(mafla.mala(logdensity, 1.0)), logdensity, score, 2.0, width=width, bounded=False
        ),
        f"score, gaussian {width:g}": Case(
            alone(mafla.score_mafla(score, 1.5, 1.0)), logdensity, local(score, 1.5), 1.5, width=width, bounded=False
        ),
    }


def cases() -> dict[str, Case]:
    def from_library(function: Callable[[Array], Array]) -> Callable[[Numbers], Numbers]:
        compiled = jax.jit(function)
        return lambda x: np.asarray(compiled(jnp.asarray(x)))

    def exact(alpha: float, **options: Any) -> Kernel:
        return mafla.exact_mafla(STUDENT.logdensity, alpha, 1.0, **options)

    local_pull = local(student_score, 1.5)
    jax_pull = mafla.local_drift(STUDENT.score, 1.5)
    learned = mafla.mafla(
        STUDENT.score,
        lambda new, old: barker(stable_log_ratio(STUDENT.logdensity, jax_pull, 1.5, 0.7)(new, old)),
        1.5,
        0.7,
    )
    riesz = mafla.riesz_drift(STUDENT.score, 1.5, order=2, spacing=0.5)
    closed = mafla.exact_mafla(STABLE.logdensity, 1.2, 1.0, drift=STABLE.fractional_drift)
    closed_marginal = mafla.exact_mafla(STABLE.logdensity, 1.2, 1.0, drift=STABLE.fractional_drift, marginal=True)
    stable_density = from_library(lambda x: stable.logpdf(x, 1.2))
    walk = mafla.frw(STUDENT.logdensity, 1.5, 1.0)
    return (
        {
            "mala": Case(alone(mafla.mala(STUDENT.logdensity, 1.0)), student, student_score, 2.0),
            "frw": Case(alone(mafla.frw(STUDENT.logdensity, 0.8, 1.0)), student, np.zeros_like, 0.8),
            "auxiliary": Case(alone(exact(1.5)), student, local_pull, 1.5),
            "auxiliary, alpha 2": Case(alone(exact(2.0)), student, student_score, 2.0),
            "marginal": Case(alone(exact(1.5, marginal=True)), student, local_pull, 1.5, gaussian=False),
            "learned": Case(alone(learned), student, local_pull, 1.5, gaussian=False, step_size=0.7),
            "closed drift": Case(alone(closed), stable_density, lambda x: -x / 1.2, 1.2, dim=1, bounded=False),
            "closed drift, marginal": Case(
                alone(closed_marginal), stable_density, lambda x: -x / 1.2, 1.2, dim=1, bounded=False, gaussian=False
            ),
            "riesz drift": Case(alone(exact(1.5, drift=riesz)), student, from_library(jax.vmap(riesz)), 1.5),
            "cycle, first": Case(in_cycle(0, exact(1.5), walk), student, local_pull, 1.5),
            "cycle, second": Case(in_cycle(1, exact(1.5), walk), student, np.zeros_like, 1.5),
            "heavy tail": Case(in_heavy_tail(FACTOR, 1.6), student, student_score, 1.6, factor=FACTOR),
            "scout of heavy tail": Case(
                in_heavy_tail(FACTOR, FAR_ALPHA, scouts=True), student, student_score, FAR_ALPHA, factor=FACTOR
            ),
        }
        | gaussian_cases(1.0)
        | gaussian_cases(HUGE)
    )


class Setting(NamedTuple):
    """Step size and log A of each pair, and the length of its noise."""

    step_size: Numbers
    log_scale: Numbers
    deviation: Numbers


def start(case: Case, size: int) -> tuple[Numbers, Setting, Numbers]:
    """Draw points, settings and normals."""
    rng = np.random.default_rng(20)
    direction = rng.normal(size=(size, case.dim))
    least, most = (case.width / 100, 10 * case.width) if case.width else (1e-3, FARTHEST)
    radius = 10 ** rng.uniform(math.log10(least), math.log10(most), size)
    x = direction * (radius / np.linalg.norm(direction, axis=1))[:, None]
    deviation = (case.width or radius) * 10 ** rng.uniform(-1.5, 1, size)
    slope = np.linalg.norm(case.drift(x), axis=1)
    step = deviation * 10 ** rng.uniform(-1.5, 0.5, size) / np.where(slope > 0, slope, 1)
    if case.bounded:  # in half of the pairs, jumps and steps of any size, whatever the point
        free = np.arange(size) % 2 == 0
        deviation = np.where(free, 10 ** rng.uniform(-2, math.log10(FARTHEST), size), deviation)
        step = np.where(free, 10 ** rng.uniform(-2, 1, size), step)
    if case.step_size:
        step = np.full(size, case.step_size)
    if case.alpha == 2:
        step = deviation**2 / 2
    log_scale = 2 * np.log(deviation) - 2 / case.alpha * np.log(step) - math.log(2)
    return x, Setting(step, log_scale, deviation), rng.normal(size=x.shape)


def pull(case: Case, setting: Setting, x: Numbers) -> Numbers:
    """Return how far the drift leads from ``x``."""
    if case.factor is None:
        return setting.step_size[:, None] * case.drift(x)
    size = setting.step_size ** (2 / case.alpha) * np.minimum(np.exp(setting.log_scale), 1)
    return size[:, None] * case.drift(x) @ (case.factor @ case.factor.T)


def round_off(case: Case, way: Numbers) -> Numbers:
    """Return ways in coordinates in which the noise is round."""
    return way if case.factor is None else np.linalg.solve(case.factor, way.T).T


def propose(case: Case, setting: Setting, x: Numbers, normal: Numbers) -> tuple[Numbers, Numbers]:
    """Return where the kernel goes from ``x`` and the logarithm of the probability with which it goes there."""
    noise = forced(Noise(jnp.asarray(normal), jnp.asarray(setting.log_scale)))
    position, rate = case.propose(StepSize(jnp.asarray(setting.step_size)), jnp.asarray(x), noise)
    with np.errstate(divide="ignore"):
        return np.asarray(position), np.log(np.asarray(rate))


def aim(case: Case, setting: Setting, x: Numbers, goal: Numbers, corrections: int) -> tuple[Numbers, Numbers]:
    """Propose ``goal`` from ``x``, as nearly as rounding lets the noise be corrected."""
    normal = round_off(case, goal - x - pull(case, setting, x)) / setting.deviation[:, None]
    got, log_rate = propose(case, setting, x, normal)
    for _ in range(corrections):
        correction = round_off(case, goal - got) / setting.deviation[:, None]
        normal = np.where(correction == 0, normal, normal + correction)
        got, log_rate = propose(case, setting, x, normal)
    return got, log_rate


def log_proposal(case: Case, setting: Setting, x: Numbers, to: Numbers) -> Numbers:
    """Return ``log q(to|x)`` up to a constant of the pair."""
    residual = round_off(case, (to - x) - pull(case, setting, x))
    if case.gaussian:
        return -0.5 * ((residual / setting.deviation[:, None]) ** 2).sum(-1)
    gamma = setting.step_size[:, None] ** (1 / case.alpha)
    return np.asarray(stable.logpdf(jnp.asarray(residual / gamma), case.alpha))


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_flux_there_is_flux_back(name: str) -> None:
    case = CASES[name]
    x, setting, normal = start(case, 2 * PAIRS)
    there, _ = propose(case, setting, x, normal)
    here, log_back = aim(case, setting, there, x, corrections=0)
    got, log_forth = aim(case, setting, here, there, corrections=4)
    # Rates below the smallest double are zero: nothing is left of them to compare.
    used = (got == there).all(-1) & (np.minimum(log_forth, log_back) > -700) & (here != there).any(-1)
    assert used.sum() >= PAIRS
    forth = case.logdensity(here) + log_proposal(case, setting, here, there) + log_forth
    back = case.logdensity(there) + log_proposal(case, setting, there, here) + log_back
    forth, back = forth[used], back[used]
    # Relative to the log flux where that is large: of -1e10, a double holds six decimals.
    assert np.all(np.abs(forth - back) <= PRECISION * np.maximum(1, np.abs(forth)))
    # the pairs would not see a wrong ratio if nearly all of them were accepted
    assert np.mean(np.minimum(log_forth, log_back)[used] < -0.1) > 0.25
