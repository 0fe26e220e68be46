"""The radial log density of the isotropic stable law, tabulated once per (α, d).

The density is a Gaussian mixture over the positive stable scale ``A``,
``f(ρ) = E[(4πA)^(-d/2) exp(-θB)]`` with ``B = 1/(4A)`` and ``θ = ρ²``: a positive integral, so nothing cancels, and
a Laplace transform in θ, so the derivatives of ``log f`` are cumulants of ``B``. Kanter's representation of ``A`` by
a uniform and an exponential variable makes it a smooth double integral, for which the trapezoidal rule converges
exponentially. The table holds ``log f`` and the logarithm of its slope as quintic Hermite polynomials.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

__all__ = ["RadialTable", "log_moment", "radial_table"]

Vector = np.ndarray[Any, np.dtype[np.float64]]

NUM_CELLS = 1000
LAST_NODE = 30.0  # in log(ρ / core): beyond it the power law holds to the last bit


class RadialTable(NamedTuple):
    """Piecewise polynomials in ``y = ½ log(1 + ρ²/core²)``, on cells that start at ``y_i = spacing · i²``.

    Row ``i`` of a coefficient array holds the polynomial in ``y - y_i``, lowest power first. The last row is the
    power law of the tail.
    """

    core: float
    spacing: float
    starts: Vector
    log_density: Vector
    log_slope: Vector  # of -d(log f)/dy, which tends to d + α


@lru_cache(maxsize=256)
def radial_table(alpha: float, dim: int) -> RadialTable:
    """Tabulate the law with index ``alpha`` in R^``dim``."""
    # The core radius makes the slope in y the same at the centre as in the tail: d + α.
    log_curvature = log_moment(alpha, dim / 2 + 1) - log_moment(alpha, dim / 2) - math.log(2)
    core = math.sqrt((dim + alpha) / math.exp(log_curvature))
    spacing = LAST_NODE / NUM_CELLS**2
    nodes = spacing * np.arange(NUM_CELLS + 1.0) ** 2
    log_f, mean, variance, third = _cumulants(alpha, dim, core**2 * np.expm1(2 * nodes))
    theta_rate = 2 * core**2 * np.exp(2 * nodes)  # dθ/dy
    ratio = variance / mean * theta_rate
    slope = mean * theta_rate
    log_density = _hermite(nodes, log_f, -slope, slope * (ratio - 2))
    curvature = (third / mean) * theta_rate**2 - ratio**2 - 2 * ratio
    log_slope = _hermite(nodes, np.log(slope), 2 - ratio, curvature)
    log_density[-1] = [log_f[-1], -(dim + alpha), 0, 0, 0, 0]
    log_slope[-1] = [math.log(dim + alpha), 0, 0, 0, 0, 0]
    return RadialTable(core, spacing, nodes, log_density, log_slope)


def log_moment(alpha: float, order: float) -> float:
    """Return ``log E[A^(-order)]`` in closed form."""
    return float(gammaln(1 + 2 * order / alpha) - gammaln(1 + order))


def _scale_nodes(alpha: float, dim: int) -> tuple[Vector, Vector]:
    """Return nodes ``log A`` and log weights of a trapezoidal rule for expectations over the positive stable scale.

    The variables are the logit of the uniform and the logarithm of the exponential variable of Kanter's formula.
    Steps are a fraction of the width of the integrand, which narrows with the dimension.
    """
    a, b = alpha / 2, 1 - alpha / 2
    peak = b / a * dim / 2  # of the exponential variable, seen at the centre of the density
    logit_step = 0.25 / math.sqrt(1 + dim / 8)
    logit = np.arange(-28, 28 + alpha * (LAST_NODE + 0.5 * math.log(dim + 2)), logit_step)
    u, v = math.pi / (1 + np.exp(-logit)), math.pi / (1 + np.exp(logit))
    log_weight_u = math.log(logit_step) - np.logaddexp(0, logit) - np.logaddexp(0, -logit)
    log_angle = _log_sin(a * u, v + b * u) - _log_sin(u, v) / a + (b / a) * _log_sin(b * u, v + a * u)
    log_e_step = 0.36 / math.sqrt(1 + peak / 5) * min(1, 1.2 * a / b)
    log_e = np.arange(-26 / a, math.log(peak + 10 * math.sqrt(peak) + 40), log_e_step)
    log_weight_e = math.log(log_e_step) + log_e - np.exp(log_e)
    log_weight = (log_weight_u[:, None] + log_weight_e).ravel()
    used = log_weight > -100
    return (log_angle[:, None] - (b / a) * log_e).ravel()[used], log_weight[used]


def _log_sin(x: Vector, supplement: Vector) -> Vector:
    return np.log(np.sin(np.minimum(x, supplement)))


def _cumulants(alpha: float, dim: int, theta: Vector, block: int = 16) -> tuple[Vector, Vector, Vector, Vector]:
    """Return ``log f`` and the mean, variance and third central moment of B given ρ, at each ``θ = ρ²``."""
    log_a, log_weight = _scale_nodes(alpha, dim)
    log_weight -= dim / 2 * (math.log(4 * math.pi) + log_a)
    b = np.exp(-log_a) / 4
    rows = []
    for rho2 in np.array_split(theta, max(1, len(theta) // block)):
        # Exponents fall with θ, so a node below the last peak already at the first θ adds nothing in this block.
        used = log_weight - rho2[0] * b > np.max(log_weight - rho2[-1] * b) - 35
        exponent = log_weight[used] - rho2[:, None] * b[used]
        top = exponent.max(axis=1, keepdims=True)
        weight = np.exp(exponent - top)
        total = weight.sum(axis=1)
        mean = weight @ b[used] / total
        centred = b[used] - mean[:, None]
        weight *= centred * centred
        rows.append((top[:, 0] + np.log(total), mean, weight.sum(1) / total, (weight * centred).sum(1) / total))
    log_f, mean, variance, third = (np.concatenate(column) for column in zip(*rows, strict=True))
    return log_f, mean, variance, third


def _hermite(nodes: Vector, value: Vector, first: Vector, second: Vector) -> Vector:
    """Return the coefficients of the quintic that matches value and two derivatives at both ends of each cell."""
    h = np.diff(nodes)
    v0, d0, c0 = value[:-1], first[:-1] * h, second[:-1] * h**2 / 2
    # What the quadratic at the left end misses at the right end, in units of the cell.
    missing = value[1:] - v0 - d0 - c0
    missing_first = first[1:] * h - d0 - 2 * c0
    missing_second = second[1:] * h**2 / 2 - c0
    cubic = 10 * missing - 4 * missing_first + missing_second
    quartic = -15 * missing + 7 * missing_first - 2 * missing_second
    quintic = 6 * missing - 3 * missing_first + missing_second
    powers = h[:, None] ** np.arange(6)
    cells = np.stack([v0, d0, c0, cubic, quartic, quintic], axis=1) / powers
    return np.vstack([cells, np.zeros(6)])
