"""A log density from a score: its integral along the straight line from a fixed point.

Kernels that compare densities need nothing more. What they then sample from exactly is the density of this function:
the target's, but for the error of the quadrature, which `LineIntegral.error` tells.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike
from scipy import special

from mafla import _check
from mafla.kernels.base import call_score

__all__ = ["LineIntegral", "integrate_score"]

FARTHEST = 1e-3  # of the numbers that have squares, in units of the scale: beyond there is no density
MOST_NODES = 2048  # more would cost more than any kernel is worth

Position = Float[Array, " dim"]


class LineIntegral:
    """A log density up to a constant: call it at a single point. Its gradient is the score itself."""

    def __init__(self, score: Callable[[Position], Position], center: ArrayLike, scale: float, nodes: int) -> None:
        self.score, self.center, self.scale, self.nodes = score, center, scale, nodes
        self._values = {count: _integral(score, center, scale, count) for count in (nodes, 2 * nodes)}

    def __call__(self, point: Position) -> Float[Array, ""]:
        """Return the log density at a point, relative to that at the centre."""
        return self._values[self.nodes](point)

    def error(self, points: ArrayLike) -> Float[np.ndarray, " n"]:
        """Return how much the log density at points, of shape (n, dim), changes with twice as many nodes."""
        checked = jnp.asarray(_check.finite_array("points", points, ndim=2))
        coarse, fine = (jax.jit(jax.vmap(value))(checked) for value in self._values.values())
        return np.abs(np.asarray(coarse - fine, np.float64))

    def refined(self, points: ArrayLike, tolerance: float = 0.01) -> "LineIntegral":
        """Return the integral with its nodes doubled until its error at the points is nowhere above a tolerance.

        Args:
            points: of shape (n, dim), such as draws of a first run; what they do not show is not looked at.
            tolerance: of the log density: 0.01 changes the probability of an acceptance by at most one percent or two.

        Example:
            >>> import mafla, numpy as np
            >>> logdensity = integrate_score(mafla.targets.student_t(2, dim=3).score, nodes=4)
            >>> points = np.random.default_rng(0).standard_cauchy((100, 3))
            >>> logdensity.error(points).max() > 0.01, logdensity.refined(points).error(points).max() <= 0.01
            (np.True_, np.True_)
        """
        wished, found = _check.positive("tolerance", tolerance), self
        while not (error := found.error(points).max(initial=0)) <= wished:  # nor is a NaN
            if np.isnan(error):
                bad = np.flatnonzero(np.isnan(found.error(points)))
                raise ValueError(f"points must have a finite integral of the score, got none at points[{bad[0]}]")
            if 2 * found.nodes > MOST_NODES:
                what = f"{found.nodes} nodes leave an error of {error:.2g}"
                raise ValueError(f"tolerance must be one that quadrature reaches: {what}, got {wished:g}")
            found = LineIntegral(self.score, self.center, self.scale, 2 * found.nodes)
        return found


def integrate_score(
    score: Callable[[Position], Position], center: ArrayLike = 0.0, scale: float = 1.0, nodes: int = 32
) -> LineIntegral:
    """Return the log density of which a score is the gradient, for kernels that need one, such as `heavy_tail`.

    It costs ``nodes`` evaluations of the score where its gradient costs one more. Nodes lie densely near the centre and
    ever more sparsely farther out, as suits one mode with a heavy tail. Modes far from the centre need more of them:
    where a rule misses them there may seem to be mass far out, and chains leave for there. Look at `.error` of draws.
    Beyond 1e16 scales (1e151 in double precision), where squares would overflow, there is no density.

    Args:
        score: gradient of the log density at a single point.
        center: from where to integrate; best a point in the middle of the target.
        scale: the distance from there up to which nodes are evenly spaced; about the width of the target.
        nodes: of the Gauss-Legendre rule.

    Example:
        >>> import mafla
        >>> target = mafla.targets.student_t(2, dim=3)
        >>> logdensity = integrate_score(target.score)
        >>> x, y = jnp.ones(3), jnp.full(3, 1e4)
        >>> bool(abs(logdensity(y) - logdensity(x) - target.logdensity(y) + target.logdensity(x)) < 1e-3)
        True
        >>> bool(logdensity.error(y[None]).max() < 1e-3)
        True
        >>> kernel = mafla.heavy_tail(logdensity)
    """
    _check.function("score", score)
    middle = _check.finite_array("center", np.atleast_1d(center), ndim=1)
    return LineIntegral(score, middle, _check.positive("scale", scale), _check.whole("nodes", nodes, 2))


def _integral(score: Any, center: ArrayLike, scale: float, nodes: int) -> Callable[[Position], Float[Array, ""]]:
    """Return the integral with so many nodes, as a function whose derivative is the score."""
    roots, weights = special.roots_legendre(nodes)
    shares, weights = (roots + 1) / 2, weights / 2

    @jax.custom_jvp
    def value(point: Position) -> Float[Array, ""]:
        middle = jnp.asarray(center, point.dtype)
        if len(middle) not in (1, len(point)):
            allowed = f"a number or of the dimension of positions, {len(point)}"
            raise ValueError(f"center must be {allowed}, got {len(middle)}")
        way = point - middle
        largest = jnp.maximum(jnp.max(jnp.abs(way)), np.finfo(point.dtype).tiny)  # squares would overflow
        length = largest * jnp.linalg.norm(way / largest)
        # Distances are scale * sinh(u), u evenly spaced: linear in the body and logarithmic in the tail.
        end = jnp.arcsinh(length / scale)
        u = end * jnp.asarray(shares, point.dtype)
        distances, density = scale * jnp.sinh(u), scale * jnp.cosh(u) * end
        direction = way / jnp.maximum(length, np.finfo(point.dtype).tiny)
        along = jax.vmap(lambda r: call_score(score, middle + r * direction) @ direction)(distances)
        total = jnp.sum(jnp.asarray(weights, point.dtype) * density * along)
        # There a score that squares its argument is zero by overflow, and its law would have no end.
        return jnp.where(length <= scale * FARTHEST * math.sqrt(np.finfo(point.dtype).max), total, -jnp.inf)

    @value.defjvp
    def derivative(primals: tuple[Position], tangents: tuple[Position]) -> tuple[Array, Array]:
        return value(*primals), call_score(score, *primals) @ tangents[0]

    return value
