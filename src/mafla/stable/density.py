"""Log density and score of the isotropic stable law, exact to interpolation of a radial table."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

from mafla import _check
from mafla.stable.table import radial_table

__all__ = ["logpdf", "score"]


def logpdf(x: Float[Array, "*batch dim"], alpha: float) -> Float[Array, "*batch"]:
    """Return the log density of the isotropic stable law of unit scale (``log f_α`` of the paper's Eq. q-density).

    Closed forms are used at α=2 and α=1, elsewhere a table that is built on first use for each ``(alpha, dim)``.
    Its gradient is `score`.

    Args:
        x: points, the last axis being the dimension of the law.
        alpha: stability index in (0.5, 2], a number known before tracing.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.round(logpdf(jnp.array([[0.0, 0.0], [3.0, 4.0]]), 1.5), 4))
        [-2.3565 -7.0353]
        >>> logpdf(jnp.linspace(-3, 3, 7)[:, None], 1.5).shape  # points on the line need their axis, too
        (7,)
    """
    x, alpha = _points(x, alpha)
    if alpha == 2:
        return -0.25 * jnp.sum(x * x, -1) - 0.5 * x.shape[-1] * math.log(4 * math.pi)
    if alpha == 1:
        power = 0.5 * (x.shape[-1] + 1)
        return float(gammaln(power)) - power * math.log(math.pi) - 2 * power * jnp.log(_stretch(x))
    return _tabulated_logpdf(x, alpha)


def score(x: Float[Array, "*batch dim"], alpha: float) -> Float[Array, "*batch dim"]:
    """Return the gradient of `logpdf`: towards the origin, with length about ``(d + α) / |x|`` far out.

    Args:
        x: points, the last axis being the dimension of the law.
        alpha: stability index in (0.5, 2], a number known before tracing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array([3.0, 4.0])
        >>> bool(jnp.allclose(score(x, 1.5), jax.grad(logpdf)(x, 1.5)))
        True
    """
    x, alpha = _points(x, alpha)
    if alpha == 2:
        return -0.5 * x
    if alpha == 1:
        stretch = _stretch(x)[..., None]
        return -(x.shape[-1] + 1) * (x / stretch) / stretch
    table = radial_table(alpha, x.shape[-1])
    scaled = x / jnp.asarray(table.core, x.dtype)
    stretch = _stretch(scaled)
    slope = jnp.exp(_interpolate(stretch, table.starts, table.spacing, table.log_slope))
    return -(slope / stretch)[..., None] * (scaled / stretch[..., None]) / table.core


def _points(x: Float[Array, "*batch dim"], alpha: float) -> tuple[Float[Array, "*batch dim"], float]:
    x = jnp.asarray(x)
    if x.ndim == 0:
        raise ValueError(
            "x must have the dimension of the law as its last axis (x[..., None] on the line), got a scalar"
        )
    return x.astype(jnp.result_type(x.dtype, jnp.float32)), _check.stability_index(alpha, above=0.5)


@jax.custom_jvp
def _stretch(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
    """Return ``sqrt(1 + |x|²)`` without overflow; smooth at the origin, where ``|x|`` is not."""
    largest = jnp.maximum(1, jnp.max(jnp.abs(x), -1))
    ratio = x / largest[..., None]
    return largest * jnp.sqrt((1 / largest) ** 2 + jnp.sum(ratio * ratio, -1))


@_stretch.defjvp
def _stretch_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    stretch = _stretch(x)
    return stretch, jnp.sum(x / stretch[..., None] * dx, -1)


def _tabulated(x: Array, alpha: float) -> Array:
    table = radial_table(alpha, x.shape[-1])
    stretch = _stretch(x / jnp.asarray(table.core, x.dtype))
    return _interpolate(stretch, table.starts, table.spacing, table.log_density)


# The gradient is the tabulated score, not the derivative of the interpolant: the two agree to interpolation error, and
# users see one score.
_tabulated_logpdf = jax.custom_jvp(_tabulated, nondiff_argnums=(1,))


@_tabulated_logpdf.defjvp
def _tabulated_logpdf_jvp(alpha: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _tabulated_logpdf(x, alpha), jnp.sum(score(x, alpha) * dx, -1)


def _interpolate(
    stretch: Float[Array, "*batch"], starts: np.ndarray, spacing: float, coefficients: np.ndarray
) -> Float[Array, "*batch"]:
    """Evaluate the piecewise polynomial of `mafla.stable.table.RadialTable` at ``y = log(stretch)``."""
    dtype = stretch.dtype
    cell = jnp.floor(jnp.sqrt(jnp.log(stretch) / spacing)).astype(jnp.int32)
    cell = jnp.clip(cell, 0, len(starts) - 1)
    # log(stretch) - y_i would lose the low digits of both: far out the density has a slope of d + α in y.
    offset = jnp.log(stretch * jnp.asarray(np.exp(-starts), dtype)[cell])
    rows = jnp.asarray(coefficients, dtype)[cell]
    value = rows[..., -1]
    for power in range(rows.shape[-1] - 2, -1, -1):
        value = value * offset + rows[..., power]
    return value
