"""Draws from the isotropic stable law and from its positive stable scale.

All randomness of a call is one array of random words, cut into parts: one call of the generator is quicker to compile
and to run than several, and a part keeps its words whatever follows it.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from mafla import _check

__all__ = ["ScaleParts", "amplitude", "draw_parts", "draw_whatever_alpha", "log_scale", "log_scale_at", "sample"]

# sin(x)/x as a polynomial in x² on [0, π/2], largest relative error 5e-09: several times faster than the general sine
# in float32, whose range reduction is not needed here.
_SINE = (0.9999999947, -0.1666665669, 0.0083330252251, -0.00019807423203, 2.6019108768e-06)


class ScaleParts(NamedTuple):
    """What the scale A of a stable vector is made of, whatever its α."""

    angle: Float[Array, "*shape"]  # uniform in (0, π)
    supplement: Float[Array, "*shape"]  # π less the angle
    log_exponential: Float[Array, "*shape"]


def sample(
    key: Key[Array, ""], alpha: float, shape: int | tuple[int, ...] = (), dim: int = 1, dtype: jnp.dtype | None = None
) -> Float[Array, "*shape dim"]:
    """Draw isotropic symmetric α-stable vectors of unit scale, ``ξ = sqrt(2A) z`` with one ``A`` per vector.

    Args:
        key: random key.
        alpha: stability index in (0, 2].
        shape: shape of the batch.
        dim: dimension of each vector.
        dtype: float32 or float64; JAX's default float where it is not given.

    Returns:
        Finite draws of shape ``(*shape, dim)``. A draw beyond the range of the dtype (below α=1 these happen) is
        returned with about the largest length that the dtype holds.

    Example:
        >>> import jax
        >>> x = sample(jax.random.key(0), 1.5, (1000,), dim=3)
        >>> x.shape
        (1000, 3)
    """
    alpha, dim = _check.stability_index(alpha), _check.whole("dim", dim, 1)
    shape = _batch(shape)
    if dim == 1:
        return _line(key, alpha, shape, _float_dtype(dtype))
    normal, scale = _flat_parts(key, alpha, math.prod(shape), dim, _float_dtype(dtype))
    return _scaled(normal, scale, (*shape, dim))


def log_scale(
    key: Key[Array, ""], alpha: float, shape: int | tuple[int, ...] = (), dtype: jnp.dtype | None = None
) -> Float[Array, "*shape"]:
    """Draw ``log A``, where ``A`` is positive α/2-stable with Laplace transform ``exp(-s^(α/2))`` (Kanter 1975).

    With ``a = α/2``, ``U ~ Unif(0, π)`` and ``E ~ Exp(1)``,
    ``A = sin(aU) / sin(U)^(1/a) · (sin((1-a)U) / E)^((1-a)/a)``; at α=2 it is 1.

    Args:
        key: random key.
        alpha: stability index in (0, 2].
        shape: shape of the batch.
        dtype: float32 or float64; JAX's default float where it is not given.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> log_a = log_scale(jax.random.key(0), 1.2, (100_000,))
        >>> bool(abs(jnp.mean(jnp.exp(-jnp.exp(log_a))) - jnp.exp(-1.0)) < 0.005)
        True
    """
    alpha = _check.stability_index(alpha)
    return draw_parts(key, (0,), _batch(shape), alpha, accept=False, dtype=_float_dtype(dtype))[1]


def amplitude(log_a: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return ``sqrt(2A)``, the standard deviation of the stable vector given its scale, from ``log A``."""
    largest = math.log(float(np.finfo(log_a.dtype).max) / 16)  # a normal draw is shorter than 16 per coordinate
    return jnp.exp(jnp.minimum(0.5 * (log_a + math.log(2)), largest))


def log_scale_at(parts: ScaleParts, alpha: Any) -> Float[Array, "*shape"]:
    """Return ``log A`` by Kanter's formula for any α in (0, 2), which may be a tracer; see `log_scale`."""
    u, v, log_exponential = parts
    a, b, dtype = alpha / 2, 1 - alpha / 2, u.dtype
    # U and π - U both keep their relative precision near 0: the tail of A comes from U → π.
    log_sin_ratio = _log_sin(a * u, v + b * u, dtype) - _log_sin(u, v, dtype) / a
    return log_sin_ratio + (b / a) * (_log_sin(b * u, v + a * u, dtype) - log_exponential)


def draw_parts(
    key: Key[Array, ""],
    normals: tuple[int, ...],
    scales: tuple[int, ...],
    alpha: float | None,
    *,
    accept: bool,
    dtype: jnp.dtype,
) -> tuple[Array, Any, Any]:
    """Draw normals, ``log A`` and logarithms of uniforms; the last two of shape ``scales``, or None where not wanted.

    The same key gives the same normals and the same uniforms whatever else is drawn.
    """
    scaled = alpha is not None and alpha < 2
    normal, parts, log_uniform = draw_whatever_alpha(key, normals, scales, scaled=scaled, accept=accept, dtype=dtype)
    if alpha is None:
        return normal, None, log_uniform
    return normal, log_scale_at(parts, alpha) if scaled else jnp.zeros(scales, dtype), log_uniform


def draw_whatever_alpha(
    key: Key[Array, ""],
    normals: tuple[int, ...],
    scales: tuple[int, ...],
    *,
    scaled: bool = True,
    accept: bool,
    dtype: jnp.dtype,
) -> tuple[Array, Any, Any]:
    """Draw what `draw_parts` does for any α: what scales are made of in the place of ``log A``."""
    wide = 1 if dtype == jnp.float32 else 2  # words in a number
    sizes = [wide * math.prod(normals), wide * math.prod(scales) * accept, (2 + wide) * math.prod(scales) * scaled]
    words = jax.lax.optimization_barrier(jax.random.bits(key, (sum(sizes),), jnp.uint32))
    first, second, third = jnp.split(words, np.cumsum(sizes)[:-1])
    normal = jax.lax.optimization_barrier(_normal(first, dtype)).reshape(normals)
    log_uniform = -_exponential(*_unit_interval(*_rows(second, wide, scales), dtype=dtype)) if accept else None
    return normal, _scale_parts(_rows(third, 2 + wide, scales), dtype) if scaled else None, log_uniform


@partial(jax.jit, static_argnums=(1, 2, 3))
def _line(key: Key[Array, ""], alpha: float, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "*shape 1"]:
    normal, scale = _flat_parts(key, alpha, math.prod(shape), 1, dtype)
    return (normal * scale).reshape(*shape, 1)


# Two compiled functions, because in one the normals would be computed in a loop over the short last axis of the result,
# which does not vectorise: five times slower in ten dimensions.
@partial(jax.jit, static_argnums=(1, 2, 3, 4))
def _flat_parts(
    key: Key[Array, ""], alpha: float, count: int, dim: int, dtype: jnp.dtype
) -> tuple[Float[Array, " n"], Float[Array, " count"]]:
    normal, log_a, _ = draw_parts(key, (count * dim,), (count,), alpha, accept=False, dtype=dtype)
    return normal, amplitude(log_a)


@partial(jax.jit, static_argnums=2)
def _scaled(normal: Float[Array, " n"], scale: Float[Array, " count"], shape: tuple[int, ...]) -> Array:
    return (normal.reshape(len(scale), shape[-1]) * scale[:, None]).reshape(shape)


def _rows(words: UInt32[Array, " n"], count: int, shape: tuple[int, ...]) -> list[UInt32[Array, "*shape"]]:
    return list(words.reshape(count, *shape))


def _normal(words: UInt32[Array, " n"], dtype: jnp.dtype) -> Float[Array, " m"]:
    """Turn words into standard normals by the inverse error function of an odd multiple of 2^-24 (2^-53) in (-1, 1)."""
    if dtype == jnp.float32:
        odd = (words >> 7 | 1).astype(jnp.int32) - 2**24
        return math.sqrt(2) * jax.lax.erf_inv(odd.astype(dtype) * 2.0**-24)
    high, low = words.reshape(2, -1).astype(jnp.uint64)
    odd = ((high << 32 | low) >> 10 | 1).astype(jnp.int64) - 2**53
    return math.sqrt(2) * jax.lax.erf_inv(odd.astype(dtype) * 2.0**-53)


def _scale_parts(words: list[UInt32[Array, "*shape"]], dtype: jnp.dtype) -> ScaleParts:
    """Turn random words, two for the angle and one or two for the exponential variable, into the parts of a scale."""
    angle, supplement = (math.pi * part for part in _unit_interval(words[0], words[1], dtype=dtype))
    return ScaleParts(angle, supplement, jnp.log(_exponential(*_unit_interval(*words[2:], dtype=dtype))))


def _batch(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(_check.whole("shape", size, 0) for size in sizes)


def _float_dtype(dtype: jnp.dtype | None) -> jnp.dtype:
    resolved = jnp.dtype(jnp.result_type(float) if dtype is None else dtype)
    if resolved not in (jnp.float32, jnp.float64):
        raise ValueError(f"dtype must be float32 or float64, got {resolved}")
    return resolved


def _unit_interval(
    high: UInt32[Array, "*shape"], low: UInt32[Array, "*shape"] | None = None, *, dtype: jnp.dtype
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Turn random bits into ``(p, 1 - p)``, p uniform, both positive and both fine-grained near zero.

    A float uniform on [0, 1) is exactly 0 once in 2^23 draws and never nearer to 1 than 2^-24; the complement of the
    integer has neither defect.
    """

    def fraction(high: Array, low: Array | None) -> Array:
        rest = 0.5 if low is None else (low.astype(dtype) + 0.5) * 2.0**-32
        return (high.astype(dtype) + rest) * jnp.asarray(2.0**-32, dtype)

    return fraction(high, low), fraction(~high, None if low is None else ~low)


def _exponential(p: Float[Array, "*shape"], complement: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return ``-log(1 - p) ~ Exp(1)`` with its relative precision kept for p near 0 and near 1."""
    series = p * (1 + p * (1 / 2 + p * (1 / 3 + p * (1 / 4 + p * (1 / 5 + p * (1 / 6))))))
    return jnp.where(p < 1e-2, series, -jnp.log(jnp.where(p < 0.5, 1 - p, complement)))


def _log_sin(x: Float[Array, "*shape"], supplement: Float[Array, "*shape"], dtype: jnp.dtype) -> Float[Array, "*shape"]:
    """Return ``log sin(x)`` for x in (0, π), given also ``π - x`` to full precision."""
    acute = jnp.minimum(x, supplement)
    if dtype == jnp.float64:
        return jnp.log(jnp.sin(acute))
    return jnp.log(acute * jnp.polyval(jnp.asarray(_SINE[::-1], dtype), acute * acute))
