"""Kernels one after the other."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla.kernels.base import Kernel, Pace, assemble, check_kernel, params_at

__all__ = ["CycleInfo", "cycle", "summarise"]


class CycleState(NamedTuple):
    """The position, and the state of each kernel as its own move left it."""

    position: Float[Array, " dim"]
    parts: tuple[Any, ...]

    @property
    def logdensity(self) -> Any:
        """The log density where the last kernel knows it."""
        return getattr(self.parts[-1], "logdensity", None)


class CycleInfo(NamedTuple):
    """The information of all kernels together, and of each."""

    acceptance_rate: Float[Array, ""]
    is_accepted: Array
    is_nonfinite: Array
    parts: tuple[Any, ...]


def cycle(*kernels: Kernel) -> Kernel:
    """Return the kernel that applies the given kernels in turn; what each of them leaves invariant, it does too.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from mafla.kernels.fractional_walk import frw
        >>> from mafla.kernels.exact_fractional import exact_mafla
        >>> logdensity = lambda x: -jnp.log1p(x @ x)
        >>> kernel = cycle(exact_mafla(logdensity, 1.8, 0.5), frw(logdensity, 1.2, 2.0))
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> len(info.parts)
        2
    """
    if not kernels:
        raise ValueError("cycle needs at least one kernel, got none")
    for kernel in kernels:
        check_kernel(kernel)

    def init(position: Float[Array, " dim"]) -> CycleState:
        parts = tuple(kernel.init(position) for kernel in kernels)
        for memory in ("velocity", "replicas"):
            if any(hasattr(part, memory) for part in parts):
                raise ValueError(f"cycle needs kernels whose state follows from the position, got one with {memory}")
        return CycleState(position, parts)

    def noise(rng_key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> tuple[Any, ...]:
        keys = jax.random.split(rng_key, len(kernels))
        return tuple(kernel.noise(key, shape, dtype) for kernel, key in zip(kernels, keys, strict=True))

    def move(params: Any, state: CycleState, noises: Any) -> tuple[CycleState, CycleInfo]:
        position, moved = state.position, []
        for kernel, param, noise in zip(kernels, params, noises, strict=True):
            # Each kernel starts anew, since it may know another density than the one before it.
            part, info = kernel.move(param, kernel.init(position), noise)
            position = part.position
            moved.append((part, info))
        parts, infos = zip(*moved, strict=True)
        return CycleState(position, parts), summarise(infos)

    def tune(params: Any, states: CycleState, infos: CycleInfo, pace: Pace) -> tuple[Any, ...]:
        parts = zip(kernels, params, states.parts, infos.parts, strict=True)
        return tuple(kernel.tune(param, state, info, pace) for kernel, param, state, info in parts)

    def freeze(params: Any) -> tuple[Any, ...]:
        return tuple(kernel.freeze(param) for kernel, param in zip(kernels, params, strict=True))

    def params(dim: int) -> tuple[Any, ...]:
        return tuple(params_at(kernel, dim) for kernel in kernels)

    is_known = not any(callable(kernel.params) for kernel in kernels)
    return assemble(init, noise, move, params(0) if is_known else params, tune, freeze)


def summarise(parts: tuple[Any, ...]) -> CycleInfo:
    """Return what happened in several moves, one after the other."""
    rates, accepted, nonfinite = (jnp.stack(column) for column in zip(*(part[:3] for part in parts), strict=True))
    return CycleInfo(rates.mean(), accepted.any(), nonfinite.any(), parts)
