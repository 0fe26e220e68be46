"""Argument checks: a bad value is named, shown and answered with what is allowed, in one line."""

import math
import operator
from typing import Any

import numpy as np

__all__ = [
    "chain_positions",
    "finite_array",
    "function",
    "number",
    "positive",
    "random_key",
    "stability_index",
    "weights_sum_to_one",
    "whole",
]


def number(name: str, value: Any, allowed: str = "a finite number") -> float:
    """Return ``value`` as a Python float, or say that it is not a concrete, finite number."""
    try:
        result = float("" if isinstance(value, str | bytes) else value)  # a text is no number, though it may say one
    except (TypeError, ValueError, OverflowError):  # JAX's tracer errors are TypeErrors
        known = " known before tracing" if type(value).__name__.endswith("Tracer") else ""
        raise ValueError(f"{name} must be {allowed}{known}, got {_show(value)}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be {allowed}, got {result}")
    return result


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a positive, finite float."""
    result = number(name, value, "a positive finite number")
    if result <= 0:
        raise ValueError(f"{name} must be a positive finite number, got {result}")
    return result


def whole(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int of at least ``least``."""
    try:
        result = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {_show(value)}") from None
    if result < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {result}")
    return result


def function(name: str, value: Any) -> None:
    """Refuse what cannot be called, such as the target in the place of its log density."""
    if not callable(value):
        hint = f"; pass its .{name}" if hasattr(value, name) else ""
        raise ValueError(f"{name} must be a function of one point, got {type(value).__name__}{hint}")


def random_key(value: Any) -> None:
    """Refuse what is not one random key."""
    import jax  # here, so that the command line starts without it

    try:
        jax.random.fold_in(value, 0)
    except (TypeError, ValueError):
        raise ValueError(f"key must be one random key such as jax.random.key(0), got {_show(value)}") from None


def stability_index(alpha: Any, *, above: float = 0.0) -> float:
    """Return the stability index, which lies in ``(above, 2]``: (0, 2] for noise, (1, 2] where there is a drift."""
    allowed = f"a number in ({above:g}, 2]"
    result = number("alpha", alpha, allowed)
    if not above < result <= 2:
        raise ValueError(f"alpha must be {allowed}, got {result:g}")
    return result


def finite_array(name: str, value: Any, ndim: int | None = None) -> np.ndarray[Any, np.dtype[np.floating]]:
    """Return ``value`` as a floating NumPy array without NaN or infinity."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths, or a random key
        raise ValueError(f"{name} must be an array of real numbers, got {_show(value)}") from None
    if array.dtype.kind not in "iuf" or (ndim is not None and array.ndim != ndim):
        shape = "" if ndim is None else f" with {ndim} axes"
        raise ValueError(f"{name} must be an array of real numbers{shape}, got {_show(value)}")
    array = array.astype(np.result_type(array.dtype, np.float32))
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ValueError(f"{name} must be finite, got {array[tuple(bad[0])]} at [{place}] ({len(bad)} such entries)")
    return array


def chain_positions(positions: Any) -> np.ndarray[Any, np.dtype[np.floating]]:
    """Return the start of the chains: finite, shaped (chains, dim), with at least one of each."""
    array = finite_array("positions", positions)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"positions must have shape (chains, dim) with at least one chain and one coordinate, got {array.shape}"
        )
    return array


def weights_sum_to_one(name: str, value: Any, length: int) -> np.ndarray[Any, np.dtype[np.floating]]:
    """Return ``length`` positive weights that sum to one."""
    array = finite_array(name, value, ndim=1).astype(np.float64)
    if len(array) != length or (array <= 0).any() or abs(array.sum() - 1) > 1e-6:
        raise ValueError(f"{name} must be {length} positive numbers that sum to one, got {array.tolist()}")
    return array


def _show(value: Any) -> str:
    """Describe a value in a few words."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"an array of shape {shape} and dtype {getattr(value, 'dtype', '?')}"
    text = " ".join(repr(value).split())
    return text if len(text) < 80 else f"{text[:76]} ..."
