"""Exact fractional Langevin correction from a score alone: the log density ratio is a line integral of the score."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from scipy import special

from mafla import _check
from mafla.kernels.acceptance import auxiliary_log_ratio, default_acceptance
from mafla.kernels.base import (
    Info,
    Kernel,
    LangevinState,
    Noise,
    StepSize,
    assemble,
    call_score,
    draw_noise,
    metropolis,
    tune_step_size,
)
from mafla.kernels.proposal import Field, propose, start_from_score

__all__ = ["line_integral", "score_mafla"]


def score_mafla(
    score: Field,
    alpha: float,
    step_size: float,
    nodes: int = 8,
    drift: Field | None = None,
    target_acceptance: float | None = None,
) -> Kernel:
    """Return the Metropolis-adjusted fractional Langevin kernel of a target known by its score.

    The kernel is exact up to the quadrature error of the line integral, which falls with ``nodes`` and rises with the
    length of the jump in units of the scale of the target.

    Args:
        score: gradient of the log density at a single point.
        alpha: stability index in (1, 2]; at 2 this is MALA from a score.
        step_size: τ, positive.
        nodes: Gauss-Legendre nodes on the segment between the two points.
        drift: replaces ``c_α s(x)``.
        target_acceptance: what warm-up aims for; ``min(0.5, α - 1)`` where it is not given.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> kernel = score_mafla(lambda x: -x, 1.5, 0.3)
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape
        (2,)
    """
    _check.function("score", score)
    alpha, step_size = _check.stability_index(alpha, above=1), _check.positive("step_size", step_size)
    aim = default_acceptance(alpha) if target_acceptance is None else target_acceptance
    nodes = _check.whole("nodes", nodes, 1)
    init = start_from_score(score, alpha, drift)

    def move(params: StepSize, state: LangevinState, noise: Noise) -> tuple[LangevinState, Info]:
        proposed = init(propose(state, noise, params.step_size, alpha))
        log_ratio = line_integral(score, state.position, proposed.position, nodes)
        log_ratio = jnp.where(jnp.isfinite(log_ratio), log_ratio, jnp.nan)  # a fault, not a point of zero density
        log_ratio += auxiliary_log_ratio(state, proposed, noise, params.step_size, alpha)
        return metropolis(noise.log_uniform, log_ratio, proposed, state)

    return assemble(init, draw_noise(alpha, accept=True), move, StepSize(step_size), tune_step_size(aim))


def line_integral(score: Field, start: Float[Array, " dim"], end: Float[Array, " dim"], nodes: int) -> Float[Array, ""]:
    """Return ``log p(end) - log p(start) ≈ Σ_i w_i s(start + t_i (end - start))·(end - start)`` (Gauss-Legendre)."""
    abscissae, weights = special.roots_legendre(nodes)
    # Counted from the middle, so that swapping the ends changes the sign and, but for rounding, nothing else.
    middle, half = 0.5 * (start + end), 0.5 * (end - start)
    points = middle + jnp.asarray(abscissae, start.dtype)[:, None] * half
    slopes = jax.vmap(lambda point: call_score(score, point))(points)
    return jnp.dot(jnp.asarray(weights, start.dtype), slopes @ half)
