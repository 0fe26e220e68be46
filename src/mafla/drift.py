"""Drifts of the fractional Langevin dynamics: local and truncated Riesz. The closed form belongs to a target.

The exact drift is ``b = D^(α-2)(p ∇log p) / p`` with the Riesz derivative D. The paper replaces it by ``c_α ∇log p``
(Eq. frac-drift-approx) and, in its appendix, by a truncated centred difference (Eq. score_approx).
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mafla import _check

__all__ = ["local_constant", "local_drift", "riesz_coefficients", "riesz_drift"]

Field = Callable[[Float[Array, " dim"]], Float[Array, " dim"]]


def local_constant(alpha: float) -> float:
    """Return ``c_α = Γ(α-1) / Γ(α/2)²`` for α in (1, 2] (Eq. frac-drift-approx); it is 1 at α=2.

    Example:
        >>> local_constant(2.0)
        1.0
    """
    alpha = _check.stability_index(alpha, above=1)
    return math.gamma(alpha - 1) / math.gamma(alpha / 2) ** 2


def local_drift(score: Field, alpha: float) -> Field:
    """Return the paper's drift ``c_α s(x)``.

    Example:
        >>> import jax.numpy as jnp
        >>> float(local_drift(lambda x: -x, 2.0)(jnp.array([3.0]))[0])
        -3.0
    """
    _check.function("score", score)
    constant = local_constant(alpha)
    return lambda x: constant * score(x)


def riesz_coefficients(alpha: float, order: int) -> np.ndarray:
    """Return ``g_{α-2,k}`` for ``k = 0 … order``, by the ratio of neighbours (the Gamma functions overflow).

    Example:
        >>> print(riesz_coefficients(2.0, 2))
        [1. 0. 0.]
    """
    half = (_check.stability_index(alpha, above=1) - 2) / 2
    k = np.arange(_check.whole("order", order, 0))
    return local_constant(alpha) * np.cumprod(np.concatenate([[1.0], (k - half) / (k + 1 + half)]))


def riesz_drift(score: Field, alpha: float, order: int, spacing: float) -> Field:
    """Return the truncated Riesz drift of order K and spacing h (Eq. score_approx), coordinate by coordinate.

    Component i is ``h^(2-α) Σ_{|k|≤K} g_k p(x - kh e_i)/p(x) s_i(x - kh e_i)``; the density ratio is the trapezoidal
    integral of the score along the path. Order 0 is the local drift whatever the spacing. In one dimension it tends to
    the exact drift as ``K h → ∞`` and ``h → 0``. A call evaluates the score ``dim (2K + 1)`` times.

    Args:
        score: gradient of the log density at a single point.
        alpha: stability index in (1, 2].
        order: K, at least 0.
        spacing: h, positive.

    Example:
        >>> import jax.numpy as jnp
        >>> drift = riesz_drift(lambda x: -x, 1.5, order=3, spacing=0.1)
        >>> drift(jnp.array([1.0, -1.0])).shape
        (2,)
    """
    _check.function("score", score)
    coefficients, order = riesz_coefficients(alpha, order), _check.whole("order", order, 0)
    spacing = _check.positive("spacing", spacing)
    if order == 0:
        return local_drift(score, alpha)
    window = np.concatenate([coefficients[:0:-1], coefficients])  # k = -K … K, symmetric

    def component(x: Float[Array, " dim"], axis: Array) -> Array:
        shifts = spacing * jnp.arange(-order, order + 1, dtype=x.dtype)
        points = x + shifts[:, None] * jax.nn.one_hot(axis, x.shape[0], dtype=x.dtype)
        slope = jax.vmap(lambda point: score(point)[axis])(points)
        steps = 0.5 * spacing * (slope[1:] + slope[:-1])
        # Summed outwards from the centre, where the log ratio is zero.
        right, left = jnp.cumsum(steps[order:]), -jnp.cumsum(steps[:order][::-1])[::-1]
        log_ratio = jnp.concatenate([left, jnp.zeros(1, x.dtype), right])
        return spacing ** (2 - alpha) * jnp.sum(jnp.asarray(window, x.dtype) * jnp.exp(log_ratio) * slope)

    return lambda x: jax.vmap(component, in_axes=(None, 0))(x, jnp.arange(x.shape[0]))
