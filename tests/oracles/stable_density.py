"""High-precision reference values for the isotropic symmetric alpha-stable density.

The law on R^d has characteristic function exp(-|u|^alpha).  Fast floating-point code for its log density needs
something to be measured against that shares nothing with it, so the radial density

    f_d(rho) = (2 pi)^(-d/2) rho^(1-d/2) int_0^oo exp(-k^alpha) k^(d/2) J_(d/2-1)(k rho) dk

is evaluated here in multiple precision by three methods, each with its own error estimate:

  a  the power series about rho = 0 (convergent for alpha > 1, and for alpha = 1 where rho < 1);
  b  the series in powers rho^(-alpha k - d), cut where a proven bound on its remainder is smallest;
  c  the integral turned onto the ray k rho = i w, arg w = THETA - pi/2, where J = Re H1 becomes the Bessel function K:
     f_d(rho) = -(2/pi) (2 pi)^(-d/2) rho^(-d) Im int exp(-(i w/rho)^alpha) w^(d/2) K_(d/2-1)(w) dw.

A method counts at a point if its estimated relative error is below TOLERANCE, and all those that count must agree.
The weight is w_d(rho) = -f_d'(rho) / (rho f_d(rho)) = 2 pi f_(d+2)(rho) / f_d(rho), a ratio of two densities.
Every alpha and rho is the double nearest to the decimal below.  The script rewrites tests/data/stable_density.json.
"""

from __future__ import annotations

import itertools
import json
import time
from functools import cache
from pathlib import Path

from mpmath import mp, mpc, mpf
from scipy.stats import levy_stable

DIMS = (1, 2, 3, 4, 10, 32, 100)
ALPHAS = (1.0, 1.05, 1.2, 1.5, 1.8, 1.95, 1.99)
NEAR = (0.0, 1e-6, 1e-3, 0.03, 0.3, 1.0, 2.0, 4.0, 7.0, 10.0, 14.0, 20.0, 30.0, 60.0, 100.0, 300.0)
RADII = (*NEAR, 1e3, 1e4, 1e6, 1e9, 1e12)
ALL_DIMS = sorted({*DIMS, *(d + 2 for d in DIMS)})
OUTPUT = Path(__file__).resolve().parents[1] / "data" / "stable_density.json"
COLUMNS = ("dim", "alpha", "rho", "log_density", "log_weight")
ABOUT = "Log density of the law with characteristic function exp(-|u|^alpha) on R^dim and log of its weight"
ABOUT += " -(d log f/d rho)/rho, from tests/oracles/stable_density.py; methods: per dim and alpha, radius by radius,"
ABOUT += " those that agree on f_dim and on f_(dim+2), the one used first."

DIGITS = 300  # working precision
TOLERANCE = mpf("1e-17")  # relative error allowed in a density
MAX_TERMS = 1200  # of the power series
MAX_TAIL_TERMS = 300  # of the series in powers of 1/rho
THETA = mpf("0.39")  # angle of the ray in k; below pi/(2 alpha), so that both factors decay
STEP = mpf(1) / 160  # of the trapezoidal rule along the ray

Estimate = tuple[mpf, mpf]  # a density and its estimated relative error
FAILED: Estimate = (mpf(0), mpf("inf"))


@cache
def power_coefficient(alpha: float, dim: int, m: int) -> mpf:
    """Return the coefficient of (-rho^2/4)^m in f_dim(rho)."""
    scale = mpf(alpha) / 2 * mp.sqrt(4 * mp.pi) ** dim
    return mp.gamma((2 * m + dim) / mpf(alpha)) / (scale * mp.factorial(m) * mp.gamma(m + mpf(dim) / 2))


def power_series(alpha: float, dim: int, rho: float) -> Estimate:
    """Method a: sum until the alternating terms have fallen below the tolerance."""
    x = mpf(rho) ** 2 / 4
    if power_coefficient(alpha, dim, MAX_TERMS) * x**MAX_TERMS > power_coefficient(alpha, dim, 0) / 10**40:
        return FAILED
    total = largest = mpf(0)
    for m in range(MAX_TERMS):
        term = power_coefficient(alpha, dim, m) * x**m
        total += (-1) ** m * term
        largest = max(largest, term)
        if term < abs(total) * TOLERANCE**2 or rho == 0:
            break
    error = (0 if rho == 0 else term) + largest * mpf(10) ** (5 - DIGITS)
    return total, error / abs(total)


@cache
def tail_coefficients(alpha: float, dim: int, k: int) -> tuple[mpf, mpf]:
    """Return the coefficient of rho^(-alpha k - dim) and that in the bound on the sum cut before it."""
    # On the ray arg k = pi/(2 alpha) the remainder of exp(-k^alpha) is at most |k|^(alpha n)/n!, and |K(w)| <= K(Re w).
    a = mpf(alpha) * k
    size = 2**a * mp.gamma(1 + a / 2) * mp.gamma((a + dim) / 2) / (mp.pi ** (mpf(dim) / 2 + 1) * mp.factorial(k))
    return (-1) ** (k + 1) * mp.sinpi(a / 2) * size, size / mp.sinpi(1 / (2 * mpf(alpha))) ** (a + mpf(dim) / 2 + 1)


def tail_series(alpha: float, dim: int, rho: float) -> Estimate:
    """Method b: cut the series where the bound on the remainder is smallest relative to the sum."""
    if rho == 0:
        return FAILED
    total, best = mpf(0), FAILED
    base, step = mpf(rho) ** -dim, mpf(rho) ** -mpf(alpha)
    for k in range(1, MAX_TAIL_TERMS):
        coefficient, bound = (c * base * step**k for c in tail_coefficients(alpha, dim, k))
        if total and bound < abs(total) * best[1]:
            best = total, bound / abs(total)
        if best[1] < TOLERANCE**2:
            break
        total += coefficient
    return best


def bessel_k01(w: mpc) -> tuple[mpc, mpc]:
    """Return K_0(w) and K_1(w): ascending series with guard digits, or the asymptotic one far out."""
    if abs(w) > 1.2 * DIGITS:
        return mp.besselk(0, w), mp.besselk(1, w)
    with mp.workdps(DIGITS + 20 + int(abs(w))):
        q = w * w / 4
        term, harmonic, i0, i1, tail = mpc(1), mpf(0), mpc(0), mpc(0), mpc(0)
        for k in itertools.count(1):
            i0, i1, tail = i0 + term, i1 + term / k, tail + harmonic * term
            if mp.mag(term) < -mp.prec:
                break
            term, harmonic = term * q / k**2, harmonic + mpf(1) / k
        k0 = tail - (mp.log(w / 2) + mp.euler) * i0
        return k0, (1 / w - i1 * w / 2 * k0) / i0  # the Wronskian gives K_1


@cache
def ray_nodes() -> tuple[list[mpc], dict[int, list[mpc]]]:
    """Return log(i w) at the nodes and, per dimension, w^(d/2) K_(d/2-1)(w) dw, shared by all alpha and rho."""
    logs: list[mpc] = []
    weights: dict[int, list[mpc]] = {d: [] for d in ALL_DIMS}
    for j in range(-int(6.5 / STEP), int(7.6 / STEP)):
        shrink = mp.exp(-j * STEP)  # log |w| = u - exp(-u) hurries towards w = 0
        log_w = mpc(j * STEP - shrink, THETA - mp.pi / 2)
        w = mp.exp(log_w)
        jacobian = STEP * (1 + shrink) * w
        half = mp.sqrt(mp.pi / (2 * w)) * mp.exp(-w)
        logs.append(log_w + mpc(0, mp.pi / 2))
        for first, start in ((1, (half, half)), (2, bessel_k01(w))):
            (low, high), power = start, mp.sqrt(w) ** first * jacobian
            for dim in range(first, ALL_DIMS[-1] + 1, 2):
                if dim in weights:
                    weights[dim].append(power * low)
                low, high, power = high, low + dim / w * high, power * w
    return logs, weights


@cache
def ray_integrals(alpha: float, rho: float) -> dict[int, Estimate]:
    """Method c in every dimension: trapezoidal rule, judged by the rule with every other node left out."""
    if rho == 0:
        return dict.fromkeys(ALL_DIMS, FAILED)
    logs, weights = ray_nodes()
    log_rho = mp.log(mpf(rho))
    damping = [mp.exp(-mp.exp(alpha * (z - log_rho))) for z in logs]
    estimates = {}
    for dim, values in weights.items():
        terms = [e.real * g.imag + e.imag * g.real for e, g in zip(damping, values, strict=True)]
        fine, coarse = mp.fsum(terms), 2 * mp.fsum(terms[::2])
        noise = mp.fsum(terms, absolute=True) * mpf(10) ** (5 - DIGITS)
        scale = -2 / mp.pi / (mp.sqrt(2 * mp.pi) * mpf(rho)) ** dim
        estimates[dim] = scale * fine, (abs(fine - coarse) + noise) / abs(fine)
    return estimates


@cache
def density(alpha: float, dim: int, rho: float) -> tuple[mpf, str, mpf]:
    """Return f_dim(rho), the methods that apply (the first is the one used) and their largest disagreement."""
    estimates = {"a": power_series(alpha, dim, rho), "b": tail_series(alpha, dim, rho)}
    estimates["c"] = ray_integrals(alpha, rho)[dim]
    values = {name: value for name, (value, error) in estimates.items() if error < TOLERANCE}
    assert values, f"no method applies at {alpha=} {dim=} {rho=}"
    used = next(iter(values.values()))
    assert used > 0, f"negative density at {alpha=} {dim=} {rho=}"
    spread = max(abs(value / used - 1) for value in values.values())
    assert spread < 2 * TOLERANCE, f"methods disagree at {alpha=} {dim=} {rho=}: {values}"
    return used, "".join(values), spread


def check_against_known_laws() -> None:
    """Compare with the Cauchy law in every dimension and with SciPy on the line."""
    for dim, rho in itertools.product(ALL_DIMS, RADII):
        half = mpf(dim + 1) / 2
        cauchy = mp.gamma(half) / (mp.pi * (1 + mpf(rho) ** 2)) ** half
        assert abs(density(1.0, dim, rho)[0] / cauchy - 1) < TOLERANCE, f"Cauchy {dim=} {rho=}"
    for alpha, rho in itertools.product((1.2, 1.5, 1.8, 1.95), (0.0, 0.3, 1.0, 4.0, 10.0)):
        ratio = levy_stable.pdf(rho, alpha, 0.0) / float(density(alpha, 1, rho)[0])
        assert abs(ratio - 1) < 1e-7, f"SciPy {alpha=} {rho=} {ratio=}"


def main() -> None:
    """Evaluate the grid, check it and write the file."""
    mp.dps = DIGITS
    rows, methods, spreads = [], [], []
    for dim, alpha in itertools.product(DIMS, ALPHAS):
        points = [(density(alpha, dim, rho), density(alpha, dim + 2, rho)) for rho in RADII]
        for rho, ((f, _, _), (g, _, _)) in zip(RADII, points, strict=True):
            values = [float(mp.chop(mp.log(v), tol=1e-30)) for v in (f, 2 * mp.pi * g / f)]
            rows.append(f"[{dim}, {alpha!r}, {rho!r}, {values[0]:.16e}, {values[1]:.16e}]")
        methods.append(json.dumps([dim, alpha, *(" ".join(p[i][1] for p in points) for i in (0, 1))]))
        spreads += [spread for pair in points for _, _, spread in pair]
    check_against_known_laws()
    head = f'"about": {json.dumps(ABOUT)},\n"columns": {json.dumps(COLUMNS)},\n'
    lists = (f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in (("rows", rows), ("methods", methods)))
    OUTPUT.write_text("{\n" + head + ",\n".join(lists) + "\n}\n")
    print(f"{len(rows)} rows, largest disagreement {mp.nstr(max(spreads), 3)}, {time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
