"""What every kernel is made of: its noise, its move given the noise, and the one accept/reject step.

A step needs randomness that does not depend on the state. A kernel therefore comes apart into ``noise(key, shape)``,
which draws it for any number of chains and steps at once, and ``move(params, state, noise)``, a deterministic map on a
single chain. ``step(rng_key, state)`` is one after the other, in the form that BlackJAX expects.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from mafla import _check, stable

__all__ = [
    "Info",
    "Kernel",
    "LangevinState",
    "Noise",
    "Pace",
    "ScalarNoise",
    "StepSize",
    "WalkState",
    "assemble",
    "call_logdensity",
    "call_score",
    "check_kernel",
    "draw_noise",
    "draw_scalar",
    "keep",
    "metropolis",
    "params_at",
    "retuned",
    "tune_step_size",
    "unadjusted",
]

Position = Float[Array, " dim"]
Scalar = Float[Array, ""]


class Info(NamedTuple):
    """What happened in a step."""

    acceptance_rate: Scalar
    is_accepted: Bool[Array, ""]
    is_nonfinite: Bool[Array, ""]  # a NaN or an infinity turned the proposal down


class Noise(NamedTuple):
    """The randomness of a step; a kernel uses the parts that it needs."""

    normal: Position
    log_scale: Any = None  # log A of the stable vector sqrt(2A) z
    log_uniform: Any = None


class ScalarNoise(NamedTuple):
    """The randomness of a step that is one number for each chain."""

    number: Scalar  # symmetric stable, of unit scale
    log_uniform: Scalar


class Pace(NamedTuple):
    """How warm-up goes on: by how much to change parameters, and which share of it is over."""

    gain: Any
    progress: Any


class StepSize(NamedTuple):
    """The parameters of a kernel that warm-up may change."""

    step_size: Any


class LangevinState(NamedTuple):
    """A position with the log density (None where only a score is known) and the drift there."""

    position: Position
    logdensity: Any
    drift: Position


class WalkState(NamedTuple):
    """A position with the log density there."""

    position: Position
    logdensity: Scalar


class Kernel(NamedTuple):
    """A Markov kernel as a tuple of pure functions.

    Attributes:
        init: ``init(position, rng_key=None) -> state``.
        step: ``step(rng_key, state) -> (state, info)``.
        noise: ``noise(rng_key, shape, dtype)`` draws the randomness of a step at positions of shape ``(dim, *chains)``.
        move: ``move(params, state, noise) -> (state, info)``, deterministic, for a single chain.
        params: the parameters with which ``step`` runs, or a function that returns them for a dimension.
        tune: ``tune(params, states, infos, pace) -> params`` nudges the parameters after a step of all chains.
        freeze: ``freeze(params) -> params`` ends warm-up, however long it was: what was true only of it is no more.
    """

    init: Callable[..., Any]
    step: Callable[[Key[Array, ""], Any], tuple[Any, Any]]
    noise: Callable[[Key[Array, ""], tuple[int, ...], Any], Any]
    move: Callable[[Any, Any, Any], tuple[Any, Any]]
    params: Any
    tune: Callable[[Any, Any, Any, Any], Any]
    freeze: Callable[[Any], Any]


def check_kernel(value: Any) -> None:
    """Refuse what is not a kernel, such as a log density."""
    if not isinstance(value, Kernel):
        raise ValueError(f"kernel must be a kernel such as mafla.ula(score, 0.1), got {type(value).__name__}")


def assemble(
    init: Callable[[Position], Any],
    noise: Callable[[Key[Array, ""], tuple[int, ...], Any], Any],
    move: Callable[[Any, Any, Any], tuple[Any, Any]],
    params: Any,
    tune: Callable[[Any, Any, Any, Any], Any],
    freeze: Callable[[Any], Any] = lambda params: params,
) -> Kernel:
    """Put a kernel together from its parts."""

    def init_at(position: Position, rng_key: Key[Array, ""] | None = None) -> Any:
        del rng_key  # taken for BlackJAX's sake: no kernel starts at random
        return init(jnp.asarray(position, jnp.result_type(position, jnp.float32)))

    def step(rng_key: Key[Array, ""], state: Any) -> tuple[Any, Any]:
        shape, dtype = state.position.shape, state.position.dtype
        return move(params_at(kernel, shape[0], dtype), state, noise(rng_key, shape, dtype))

    kernel = Kernel(init_at, step, noise, move, params, tune, freeze)
    return kernel


def params_at(kernel: Kernel, dim: int, dtype: Any = None) -> Any:
    """Return the parameters of a kernel in a space of so many dimensions, in the precision of its positions."""
    params = kernel.params(dim) if callable(kernel.params) else kernel.params
    return params if dtype is None else jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), params)


def draw_noise(alpha: float | None, *, accept: bool) -> Callable[[Key[Array, ""], tuple[int, ...], Any], Noise]:
    """Return the noise of a Langevin or random-walk step: Gaussian (``alpha`` None) or stable, with or without accept.

    The same key gives the same normals and uniforms whatever the kernel, so that kernels can be compared draw by draw.
    """

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> Noise:
        return Noise(*stable.draws.draw_parts(rng_key, shape, shape[1:], alpha, accept=accept, dtype=dtype))

    return noise


def draw_scalar(alpha: float) -> Callable[[Key[Array, ""], tuple[int, ...], Any], ScalarNoise]:
    """Return the noise of a step that is one stable number for each chain."""

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> ScalarNoise:
        chains = shape[1:]
        normal, log_scale, log_uniform = stable.draws.draw_parts(
            rng_key, chains, chains, alpha, accept=True, dtype=dtype
        )
        return ScalarNoise(stable.draws.amplitude(log_scale) * normal, log_uniform)

    return noise


def metropolis(log_uniform: Scalar, log_ratio: Scalar, proposed: Any, current: Any) -> tuple[Any, Info]:
    """Accept ``proposed`` with probability ``min(1, exp(log_ratio))`` (Eq. ratio_acceptance), else stay.

    A proposal with a NaN or an infinity in it is turned down and reported; one of zero density is only turned down.
    """
    outside = _logdensity(proposed) == -jnp.inf
    finite = _all_finite(proposed) & (log_ratio < jnp.inf)  # false for NaN too
    is_accepted = finite & ~outside & (log_uniform <= log_ratio)
    rate = jnp.where(finite & ~outside, jnp.exp(jnp.minimum(log_ratio, 0)), 0)
    return _select(is_accepted, proposed, current), Info(rate, is_accepted, ~finite & ~outside)


def unadjusted(proposed: Any, current: Any) -> tuple[Any, Info]:
    """Move to ``proposed`` unless it has a NaN or an infinity in it."""
    finite = _all_finite(proposed)
    rate = finite.astype(proposed.position.dtype)
    return _select(finite, proposed, current), Info(rate, finite, ~finite)


def tune_step_size(target_acceptance: float) -> Callable[[StepSize, Any, Info, Pace], StepSize]:
    """Return the Robbins-Monro rule that moves the log step size until chains accept at the target rate."""
    if not 0 < _check.number("target_acceptance", target_acceptance) < 1:
        raise ValueError(f"target_acceptance must be a number in (0, 1), got {target_acceptance}")

    def tune(params: StepSize, states: Any, infos: Info, pace: Pace) -> StepSize:
        del states
        return StepSize(retuned(params.step_size, infos, target_acceptance, pace))

    return tune


def retuned(step_size: Any, infos: Any, target_acceptance: Any, pace: Pace) -> Any:
    """Return a step size, or another scale, moved to where chains accept at the target rate."""
    return step_size * jnp.exp(pace.gain * (jnp.mean(infos.acceptance_rate) - target_acceptance))


def keep(params: Any, states: Any, infos: Any, pace: Pace) -> Any:
    """Leave the parameters as they are: for kernels whose step size is the user's."""
    del states, infos, pace
    return params


def call_score(score: Callable[[Position], Position], position: Position, name: str = "score") -> Position:
    """Evaluate a user's vector field and check the shape of what it returns."""
    value = jnp.asarray(score(position))
    if value.shape != position.shape:
        raise ValueError(f"{name} must return shape {position.shape} at a single point, got {value.shape}")
    return value.astype(position.dtype)


def call_logdensity(logdensity: Callable[[Position], Scalar], position: Position) -> Scalar:
    """Evaluate a user's log density and check that it returns a scalar."""
    value = jnp.asarray(logdensity(position))
    if value.shape != ():
        raise ValueError(f"logdensity must return a scalar at a single point, got shape {value.shape}")
    return value.astype(position.dtype)


def _logdensity(state: Any) -> Scalar:
    value = getattr(state, "logdensity", None)
    return jnp.zeros((), state.position.dtype) if value is None else value


def _all_finite(state: Any) -> Bool[Array, ""]:
    return jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(state)]).all()


def _select(condition: Bool[Array, ""], new: Any, old: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
