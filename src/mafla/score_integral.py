"""A log density from a score: its integral along the straight line from a fixed point.

Kernels that compare densities need nothing more. What they then sample from exactly is the density of this function:
the target's, but for the error of the quadrature, which `LineIntegral.error` tells.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from mafla import _check
from mafla.kernels.base import call_score

__all__ = ["LineIntegral", "integrate_score"]

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


def integrate_score(
    score: Callable[[Position], Position], center: ArrayLike = 0.0, scale: float = 1.0, nodes: int = 32
) -> LineIntegral:
    """Return the log density of which a score is the gradient, for kernels that need one, such as `heavy_tail`.

    It costs ``nodes`` evaluations of the score where its gradient costs one more. Nodes lie densely near the centre and
    ever more sparsely farther out, as suits one mode with a heavy tail. Modes far from the centre need more of them.

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
    middle = np.asarray(_check.finite_array("center", np.atleast_1d(center), ndim=1))
    return LineIntegral(score, middle, _check.positive("scale", scale), _check.whole("nodes", nodes, 2))


def _integral(score: Any, center: ArrayLike, scale: float, nodes: int) -> Callable[[Position], Float[Array, ""]]:
    """Return the integral with so many nodes, as a function whose derivative is the score."""
    roots, weights = np.polynomial.legendre.leggauss(nodes)
    shares, weights = (roots + 1) / 2, weights / 2

    @jax.custom_jvp
    def value(point: Position) -> Float[Array, ""]:
        way = point - jnp.asarray(center, point.dtype)
        largest = jnp.maximum(jnp.max(jnp.abs(way)), np.finfo(point.dtype).tiny)  # squares would overflow
        length = largest * jnp.linalg.norm(way / largest)
        # Distances are scale * sinh(u), u evenly spaced: linear in the body and logarithmic in the tail.
        end = jnp.arcsinh(length / scale)
        u = end * jnp.asarray(shares, point.dtype)
        distances, density = scale * jnp.sinh(u), scale * jnp.cosh(u) * end
        direction = way / jnp.maximum(length, np.finfo(point.dtype).tiny)
        along = jax.vmap(lambda r: call_score(score, point - way + r * direction) @ direction)(distances)
        return jnp.sum(jnp.asarray(weights, point.dtype) * density * along)

    @value.defjvp
    def derivative(primals: tuple[Position], tangents: tuple[Position]) -> tuple[Array, Array]:
        return value(*primals), call_score(score, *primals) @ tangents[0]

    return value
