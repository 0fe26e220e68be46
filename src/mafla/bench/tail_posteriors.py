"""Posteriors that people fit, each with draws of it that no sampler under test has made.

Parameters are unconstrained: what is positive is its logarithm here, and the log density has the Jacobian for that.
"""

from functools import cache
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mafla.learn.mixture import StudentMixture, fit_mixture

__all__ = [
    "horseshoe_draws",
    "horseshoe_logdensity",
    "kinetics_draws",
    "kinetics_logdensity",
    "logistic_draws",
    "logistic_logdensity",
]

Point = Float[Array, " dim"]
Draws = Float[np.ndarray, "n dim"]

# Concentrations of a drug that is absorbed and eliminated by saturable kinetics, simulated; posteriordb's
# one_comp_mm_elim_abs (commit 28f8d3d), with its dose and volume.
DOSE, VOLUME, INTERVAL = 30.0, 2.0, 0.5
CONCENTRATIONS = (
    *(5.70812264865215, 7.10126075072086, 8.38520678426651, 9.79008249883381, 13.4390409239245),
    *(11.4478987597702, 11.2124282696837, 11.4269217682577, 12.2432859438401, 13.8201804108938),
    *(13.8408670746042, 11.422291744251, 10.5031943081843, 11.9121452242965, 14.0849980781312),
    *(10.5505145523917, 10.1905539351877, 12.2232272590821, 11.7290653047821, 12.2719396535996),
)
SUBSTEPS = 10  # of Runge and Kutta in an interval
LEAST = 1e-30  # what is left of the drug; less is beyond the range of numbers
KINETICS = ("k_a", "K_m", "V_m", "sigma")

PROPOSALS, BATCH = 1_000_000, 10_000  # for importance sampling
COEFFICIENTS, OBSERVATIONS = 10, 40  # of the horseshoe
GIBBS_CHAINS, GIBBS_BURN_IN, GIBBS_SWEEPS, GIBBS_THIN = 1000, 500, 1000, 5
PREDICTORS, PATIENTS, PRIOR_SCALE = 10, 200, 2.5  # of the logistic regression


def kinetics_logdensity(point: Point) -> Float[Array, ""]:
    """Return the log posterior of (log k_a, log K_m, log V_m, log σ), half-Cauchy priors on all four.

    Along its ridge ``V_m ~ K_m`` the density falls like ``K_m^-3``: there is no variance.

    Example:
        >>> bool(jnp.isfinite(kinetics_logdensity(jnp.zeros(4))))
        True
    """
    absorption, saturation, rate, sigma = jnp.exp(point)

    def slope(time: Any, level: Any) -> Any:
        gained = jnp.exp(-absorption * time) * DOSE * absorption
        return (gained - rate * level / (saturation + level)) / VOLUME

    def substep(level: Any, time: Any) -> tuple[Any, Any]:
        h = INTERVAL / SUBSTEPS
        first = slope(time, level)
        second = slope(time + h / 2, level + h / 2 * first)
        third = slope(time + h / 2, level + h / 2 * second)
        fourth = slope(time + h, level + h * third)
        level = level + h / 6 * (first + 2 * second + 2 * third + fourth)
        return level, level

    observed = jnp.log(jnp.asarray(CONCENTRATIONS, point.dtype))
    times = INTERVAL / SUBSTEPS * jnp.arange(SUBSTEPS * len(CONCENTRATIONS), dtype=point.dtype)
    levels = jax.lax.scan(substep, jnp.zeros((), point.dtype), times, unroll=2)[1][SUBSTEPS - 1 :: SUBSTEPS]
    misfit = (observed - jnp.log(jnp.maximum(levels, LEAST))) / sigma
    likelihood = -0.5 * jnp.sum(misfit**2) - len(observed) * point[3]
    return likelihood + jnp.sum(_log_half_cauchy(point))


@cache
def kinetics_draws() -> Draws:
    """Return draws of this posterior: importance sampling with a law fitted to those of posteriordb."""
    with resources.as_file(resources.files("mafla.bench") / "instances" / "one_comp_mm_elim_abs.npz") as path:
        kept = np.load(path, allow_pickle=False)
        known = np.log(np.column_stack([kept[name].ravel() for name in KINETICS]))
    proposal = fit_mixture(jax.random.key(0), jnp.asarray(known, jnp.float32))
    return _resampled(kinetics_logdensity, proposal)


def logistic_logdensity(point: Point) -> Float[Array, ""]:
    """Return the log posterior of a logistic regression with normal priors.

    Example:
        >>> bool(logistic_logdensity(jnp.zeros(10)) < 0)
        True
    """
    design, outcome = _patients()
    logits = jnp.asarray(design, point.dtype) @ point
    return jnp.sum(outcome * logits - jax.nn.softplus(logits)) - 0.5 * jnp.sum((point / PRIOR_SCALE) ** 2)


@cache
def logistic_draws() -> Draws:
    """Return draws of this posterior: importance sampling with a Student-t law about its mode."""
    mode = jnp.zeros(PREDICTORS)
    for _ in range(50):  # Newton
        mode -= jnp.linalg.solve(jax.hessian(logistic_logdensity)(mode), jax.grad(logistic_logdensity)(mode))
    whitener = jnp.linalg.cholesky(-jax.hessian(logistic_logdensity)(mode)).T
    # The whitener of a mixture is lower triangular; any square root of the precision will do, turned to be one.
    whitener = jnp.linalg.inv(jnp.linalg.cholesky(jnp.linalg.inv(whitener.T @ whitener)))
    proposal = StudentMixture(jnp.zeros(1), mode[None], whitener[None], jnp.full(1, 8.0))
    return _resampled(logistic_logdensity, proposal)


def horseshoe_logdensity(point: Point) -> Float[Array, ""]:
    """Return the log posterior of a regression under the horseshoe, not centred: (z, log λ, log τ), β = τ λ z.

    Example:
        >>> bool(jnp.isfinite(horseshoe_logdensity(jnp.zeros(21))))
        True
    """
    z, log_local, log_global = point[:COEFFICIENTS], point[COEFFICIENTS:-1], point[-1]
    design, response = _regression()
    beta = z * jnp.exp(log_local + log_global)
    misfit = jnp.asarray(response, point.dtype) - jnp.asarray(design, point.dtype) @ beta
    return -0.5 * jnp.sum(misfit**2) - 0.5 * jnp.sum(z**2) + jnp.sum(_log_half_cauchy(point[COEFFICIENTS:]))


@cache
def horseshoe_draws() -> Draws:
    """Return draws of this posterior by Gibbs sampling with auxiliary variables (Makalic and Schmidt 2016)."""
    random = np.random.default_rng(0)
    design, response = _regression()
    gram, moment = design.T @ design, design.T @ response
    local, auxiliary = np.ones((2, GIBBS_CHAINS, COEFFICIENTS))  # squares of λ
    whole, other = np.ones((2, GIBBS_CHAINS, 1))  # squares of τ
    kept = []
    for sweep in range(GIBBS_BURN_IN + GIBBS_SWEEPS):
        precision = gram + np.eye(COEFFICIENTS) / (whole * local)[:, :, None]
        factor = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, np.broadcast_to(moment, local.shape)[:, :, None])
        noise = random.normal(size=mean.shape)
        beta = (mean + np.linalg.solve(np.swapaxes(factor, 1, 2), noise))[:, :, 0]
        local = (1 / auxiliary + beta**2 / (2 * whole)) / random.gamma(1, size=local.shape)
        auxiliary = (1 + 1 / local) / random.gamma(1, size=local.shape)
        shape = (COEFFICIENTS + 1) / 2
        whole = (1 / other + np.sum(beta**2 / (2 * local), 1, keepdims=True)) / random.gamma(shape, size=whole.shape)
        other = (1 + 1 / whole) / random.gamma(1, size=whole.shape)
        if sweep >= GIBBS_BURN_IN and sweep % GIBBS_THIN == 0:
            kept.append(np.concatenate([beta / np.sqrt(whole * local), np.log(local) / 2, np.log(whole) / 2], axis=1))
    return np.concatenate(kept)


def _log_half_cauchy(log_value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the log density of the logarithm of a half-Cauchy variable, up to a constant."""
    return log_value - jax.nn.softplus(2 * log_value)


def _resampled(logdensity: Any, proposal: StudentMixture) -> Draws:
    """Return draws by importance sampling and resampling; refuse a proposal that does not fit."""
    points = proposal.sample(jax.random.key(1), PROPOSALS)
    ratio = jax.jit(lambda x: jax.lax.map(lambda at: logdensity(at) - proposal.logdensity(at), x, batch_size=BATCH))
    log_ratio = ratio(points)
    weights = np.asarray(jax.nn.softmax(log_ratio), np.float64)
    effective = weights.sum() ** 2 / np.sum(weights**2)
    if effective < PROPOSALS / 4:
        raise ArithmeticError(f"{effective:.0f} of {PROPOSALS} proposals count: this is no reference")
    steps = (np.arange(PROPOSALS) + 0.5) / PROPOSALS
    chosen = np.searchsorted(np.cumsum(weights / weights.sum()), steps)
    return np.asarray(points, np.float64)[np.minimum(chosen, PROPOSALS - 1)]


@cache
def _patients() -> tuple[np.ndarray, np.ndarray]:
    """Return predictors, some of them correlated, and outcomes."""
    random = np.random.default_rng(1)
    design = random.normal(size=(PATIENTS, PREDICTORS))
    design[:, 1] += 2 * design[:, 2]
    design[:, 0] = 1.0
    chance = 1 / (1 + np.exp(-design @ random.normal(size=PREDICTORS)))
    return design, (random.random(PATIENTS) < chance).astype(np.float64)


@cache
def _regression() -> tuple[np.ndarray, np.ndarray]:
    """Return predictors and a response on which only the first two have an influence."""
    random = np.random.default_rng(2)
    design = random.normal(size=(OBSERVATIONS, COEFFICIENTS))
    return design, design[:, :2] @ [3.0, 1.0] + random.normal(size=OBSERVATIONS)
