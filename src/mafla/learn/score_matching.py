"""Score-matching losses: pure functions of a score callable and of the rows of the data.

All are means over the batch, up to a constant half the squared distance to the score of the data (`exact`, `sliced`),
of data blurred by Gaussian noise (`denoising`) or to the fractional score of data blurred by stable noise
(`fractional_denoising`). The score is a function of a single point; the losses map it over the rows.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check, stable

__all__ = ["denoising", "exact", "fractional_denoising", "fractional_score", "noise_level", "sliced"]

Field = Callable[[Float[Array, " dim"]], Float[Array, " dim"]]

# The width of the interval that holds the middle quarter of the standard normal law.
_NORMAL_QUARTER = 0.6372787


def exact(score: Field, points: Float[Array, "n dim"]) -> Float[Array, ""]:
    """Return Hyvärinen's loss, the mean of ``½|s(x)|² + tr ∇s(x)`` (Eq. hyv_loss).

    The trace takes one derivative per coordinate: for many coordinates use `sliced`.

    Args:
        score: the score at a single point.
        points: the data, one row per point.

    Example:
        >>> import jax.numpy as jnp
        >>> float(exact(lambda x: -x, jnp.array([[1.0, 1.0], [1.0, -1.0]])))  # ½·2 - 2
        -1.0
    """
    points = _rows(points)
    axes = jnp.broadcast_to(jnp.eye(points.shape[1], dtype=points.dtype), (len(points), *[points.shape[1]] * 2))
    value, slope = _slopes(score, points, axes)
    return jnp.mean(0.5 * jnp.sum(value * value, -1) + jnp.sum(slope, -1))


def sliced(
    score: Field,
    points: Float[Array, "n dim"],
    key: Key[Array, ""],
    *,
    directions: int = 1,
    law: Literal["rademacher", "gaussian"] = "rademacher",
    variance_reduced: bool = True,
) -> Float[Array, ""]:
    """Return the sliced loss, `exact` with the trace estimated by ``v·∇s(x) v`` along random directions (Song 2020).

    Both laws have ``E[v vᵀ] = I``, so the loss is that of `exact` in the mean over ``v``. Rademacher directions know
    the diagonal of the Jacobian exactly and in one dimension all of it; Gaussian ones are those of the paper. A
    direction costs one derivative.

    Args:
        score: the score at a single point.
        points: the data, one row per point.
        key: random key for the directions, which differ from row to row.
        directions: directions per row.
        law: signs ±1 ("rademacher") or standard normals ("gaussian").
        variance_reduced: take ``½|s|²`` as in the paper, the mean over ``v`` of the original's ``½(v·s)²``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> points = jnp.array([[1.0, 1.0], [1.0, -1.0]])
        >>> float(sliced(lambda x: -x, points, jax.random.key(0)))
        -1.0
    """
    points = _rows(points)
    v = _directions(key, (len(points), _check.whole("directions", directions, 1), points.shape[1]), law, points.dtype)
    value, slope = _slopes(score, points, v)
    square = jnp.sum(value * value, -1) if variance_reduced else jnp.mean(jnp.sum(v * value[:, None], -1) ** 2, -1)
    return jnp.mean(0.5 * square + jnp.mean(slope, -1))


def denoising(
    score: Field, points: Float[Array, "n dim"], key: Key[Array, ""], sigma: Float[Array, " dim"] | float
) -> Float[Array, ""]:
    """Return the denoising loss, the mean of ``½|σ s(x̃) + z|²`` at ``x̃ = x + σz`` with ``z ~ N(0, I)``.

    This is the regression of ``s(x̃)`` on ``-(x̃ - x)/σ²``, whose minimiser is the score of the blurred data, with each
    coordinate multiplied by its σ, which keeps the loss of order one. For one σ it is in the mean ``d/2`` plus σ² times
    the loss of `exact` on the blurred data. Every ``z`` is used with both signs: what is odd in ``z``, noise that grows
    like 1/σ in units of the signal, cancels.

    Args:
        score: the score at a single point.
        points: the data, one row per point.
        key: random key for the noise.
        sigma: σ > 0, one number or one per coordinate; `noise_level` proposes one.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> blurred_score = lambda x: -x / 0.01  # of points at the origin, blurred with σ = 0.1
        >>> round(float(denoising(blurred_score, jnp.zeros((5, 2)), jax.random.key(0), 0.1)), 6)
        0.0
    """
    points = _rows(points)
    sigma = _noise_size(sigma, [(), points.shape[1:]], points.dtype)
    z = jax.random.normal(key, points.shape, points.dtype)
    residuals = [sigma * _evaluate(score, points + sigma * noise) + noise for noise in (z, -z)]
    return jnp.mean(jnp.sum(0.5 * jnp.square(jnp.stack(residuals)), -1))


def noise_level(points: ArrayLike, dim: int | None = None) -> Float[Array, " dim"]:
    """Return the σ proposed for `denoising`, by Silverman's rule with a scale that tails and modes cannot inflate.

    It is ``(4 / (d + 2))^(1/(d+4)) n^(-1/(d+4))`` times a scale per coordinate: the width of the shortest interval that
    holds a quarter of the points, over that of the normal law. Unlike a standard deviation it exists for any tail, and
    unlike an interquartile range it is that of one mode where there are two or three. The blur widens what is learned:
    a normal law of standard deviation s becomes one of ``sqrt(s² + σ²)``.

    Args:
        points: the data, one row per point, known before tracing.
        dim: d, the number of columns unless given; 1 for a blur of each column as if it were alone.

    Example:
        >>> import numpy as np
        >>> from scipy.special import ndtri
        >>> grid = ndtri((np.arange(1000) + 0.5) / 1000)  # a normal sample without the luck of the draw
        >>> print(*[f"{sigma:.3f}" for sigma in noise_level(np.stack([grid, 10 * grid], axis=1))])
        0.316 3.162
    """
    data = _check.finite_array("points", points, ndim=2)
    count, columns = data.shape
    if count < 2 or columns < 1:
        raise ValueError(f"points must have at least two rows and one column, got shape {data.shape}")
    ranked, quarter = np.sort(data, axis=0), math.ceil((count - 1) / 4)
    width = np.min(ranked[quarter:] - ranked[:-quarter], axis=0)
    if not width.all():
        column = int(np.argmin(width))
        raise ValueError(f"points must have a density, got a quarter of them or more at one value in column {column}")
    d = columns if dim is None else _check.whole("dim", dim, 1)
    return jnp.asarray(width / _NORMAL_QUARTER * (4 / ((d + 2) * count)) ** (1 / (d + 4)))


def fractional_score(
    x: Float[Array, " dim"], points: Float[Array, "n dim"], alpha: float, sigma: Float[Array, ""] | float
) -> Float[Array, " dim"]:
    """Return ``D^(α-2)∇p / p`` at ``x`` for ``p`` the points blurred by stable noise of scale σ.

    The blurred data are a mixture of stable laws centred at the points, whose fractional score is known: the posterior
    mean ``-Σ_j w_j (x - x_j) / (α σ^α)`` with ``w_j ∝ f_α((x - x_j)/σ)``. At α=2 it is the score of a Gaussian kernel
    density estimate of variance 2σ².

    Args:
        x: a single point.
        points: the data, one row per point.
        alpha: stability index in (1, 2].
        sigma: σ > 0, one number.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fractional_score(jnp.array([3.0, -6.0]), jnp.zeros((4, 2)), 1.5, 1.0))  # -x/α
        [-2.  4.]
    """
    points, alpha = _rows(points), _check.stability_index(alpha, above=1)
    sigma = _noise_size(sigma, [()], points.dtype)
    if jnp.shape(x) != points.shape[1:]:
        raise ValueError(f"x must be a single point of shape {points.shape[1:]}, got shape {jnp.shape(x)}")
    difference = jnp.asarray(x, points.dtype) - points
    weight = jax.nn.softmax(stable.logpdf(difference / sigma, alpha))
    return -(weight @ difference) / (alpha * sigma**alpha)


def fractional_denoising(
    field: Field,
    points: Float[Array, "n dim"],
    key: Key[Array, ""],
    alpha: float,
    sigma: Float[Array, ""] | float,
    *,
    centre: ArrayLike = 0.0,
    scale: float = 1.0,
) -> Float[Array, ""]:
    """Return the regression of a field on the fractional score of data blurred by stable noise ``x̃ = x + σξ``.

    The minimiser is ``D^(α-2)∇p_σ / p_σ``, the drift under which the fractional Langevin dynamics leave the blurred
    law ``p_σ`` alone. Its unbiased estimate from one pair, ``-(x̃ - x)/(α σ^α)``, has no variance. Two changes give it
    one and leave the minimiser ``E[target | x̃]`` alone:

    - The target is averaged over which row of the batch was blurred into ``x̃`` (`fractional_score` of the batch): a
      conditional mean, with the same mean given ``x̃`` and less noise.
    - The target still grows like ``|x̃|``. The squared residual is multiplied by ``1 / (1 + |x̃ - m|²/r²)``: at each
      ``x̃`` a positive factor does not move the minimum. Centre ``m`` and scale ``r`` are given, not taken from the
      batch, because then the factor would depend on more than ``x̃``.

    The factor ``½ α σ^(2α-2)`` keeps the loss of order one. At α=2 and far inside ``r`` it is `denoising` with noise
    ``N(0, 2σ²)``. Work and memory grow with the square of the batch.

    Args:
        field: the fractional score at a single point.
        points: the data, one row per point.
        key: random key for the noise.
        alpha: stability index in (1, 2].
        sigma: σ > 0, one number, because the noise is isotropic.
        centre: m, about the middle of the data.
        scale: r, about the spread of the data.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> points = jnp.zeros((5, 2))
        >>> round(float(fractional_denoising(lambda x: -x / 1.5, points, jax.random.key(0), 1.5, 1.0)), 6)
        0.0
    """
    points, alpha = _rows(points), _check.stability_index(alpha, above=1)
    sigma = _noise_size(sigma, [()], points.dtype)
    noisy = points + sigma * stable.sample(key, alpha, (len(points),), points.shape[1], points.dtype)
    target = jax.vmap(lambda x: fractional_score(x, points, alpha, sigma))(noisy)
    # Damped before it is squared: the square alone may overflow.
    residual = _damping(noisy, centre, scale) * (_evaluate(field, noisy, "field") - target)
    return 0.5 * alpha * sigma ** (2 * alpha - 2) * jnp.mean(jnp.sum(residual * residual, -1))


def _slopes(
    score: Field, points: Float[Array, "n dim"], directions: Float[Array, "n k dim"]
) -> tuple[Float[Array, "n dim"], Float[Array, "n k"]]:
    """Return the score at every row and ``v·∇s v`` along each of its directions."""
    single = _checked(score, "score")

    def at(x: Float[Array, " dim"], v: Float[Array, "k dim"]) -> tuple[Array, Array]:
        # The score itself does not depend on the direction, and is evaluated once.
        value, push = jax.vmap(lambda u: jax.jvp(single, (x,), (u,)), out_axes=(None, 0))(v)
        return value, jnp.sum(v * push, -1)

    return jax.vmap(at)(points, directions)


def _directions(key: Key[Array, ""], shape: tuple[int, ...], law: str, dtype: Any) -> Array:
    if law == "rademacher":
        return jax.random.rademacher(key, shape, dtype)
    if law == "gaussian":
        return jax.random.normal(key, shape, dtype)
    raise ValueError(f'law must be "rademacher" or "gaussian", got {law!r}')


def _damping(x: Float[Array, "n dim"], centre: ArrayLike, scale: float) -> Float[Array, "n 1"]:
    """Return ``1 / sqrt(1 + |x - m|²/r²)``."""
    middle, reach = _check.finite_array("centre", centre), _check.positive("scale", scale)
    if middle.shape not in ((), x.shape[1:]):
        raise ValueError(f"centre must have shape () or {x.shape[1:]}, got {middle.shape}")
    outwards = (x - jnp.asarray(middle, x.dtype)) / reach
    return jax.lax.rsqrt(1 + jnp.sum(outwards * outwards, -1, keepdims=True))


def _evaluate(field: Field, points: Float[Array, "n dim"], name: str = "score") -> Float[Array, "n dim"]:
    return jax.vmap(_checked(field, name))(points)


def _checked(field: Field, name: str) -> Field:
    """Return the field with a check of the shape that it returns, and with the dtype of its point."""
    _check.function(name, field)

    def single(x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        value = jnp.asarray(field(x))
        if value.shape != x.shape:
            raise ValueError(f"{name} must return shape {x.shape} at a single point, got {value.shape}")
        return value.astype(x.dtype)

    return single


def _rows(points: Any) -> Float[Array, "n dim"]:
    """Return the points as floats; only their shape can be checked, because in training they are traced."""
    points = jnp.asarray(points)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"points must have shape (n, dim) with at least one of each, got {points.shape}")
    return points.astype(jnp.result_type(points.dtype, jnp.float32))


def _noise_size(sigma: Any, shapes: list[tuple[int, ...]], dtype: Any) -> Array:
    """Return σ as an array of one of the shapes; its sign is checked where it is known before tracing."""
    traced = isinstance(sigma, jax.core.Tracer)
    value = sigma if traced else _check.finite_array("sigma", sigma)
    if value.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"sigma must be positive, with shape {allowed}, got shape {value.shape}")
    if not traced and not (value > 0).all():
        raise ValueError(f"sigma must be positive, got {value.tolist()}")
    return jnp.asarray(value, dtype)
