"""Argument checks: a bad value is named, shown and answered with what is allowed, in one line."""

import math
import operator
from typing import Any

import numpy as np

__all__ = ["chain_positions", "finite_array", "number", "positive", "stability_index", "weights_sum_to_one", "whole"]


def number(name: str, value: Any, allowed: str = "a finite number") -> float:
    """Return ``value`` as a Python float, or say that it is not a concrete, finite number."""
    try:
        result = float(value)
    except (TypeError, ValueError) as error:  # JAX's tracer errors are TypeErrors
        raise ValueError(f"{name} must be {allowed} known before tracing, got {_show(value)}") from error
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
    except TypeError as error:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {_show(value)}") from error
    if result < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {result}")
    return result


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
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be an array of real numbers, got {_show(value)}") from error
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
    return repr(value) if shape is None else f"an array of shape {shape} and dtype {getattr(value, 'dtype', '?')}"
