"""Machine code from Python functions, by numba, which is an extra."""

import importlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["compiled"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function when it is first called; the machine code is kept in a file for later processes.

    Args:
        function: one that numba understands. Other threads, such as a progress bar's, go on while it runs.

    Returns:
        The compiled function, with the type of the one that is given.

    Raises:
        ModuleNotFoundError: if numba is not installed.

    Example:
        >>> @compiled
        ... def add(a: int, b: int) -> int:
        ...     return a + b
        >>> add(1, 2)
        3
    """
    try:
        numba = importlib.import_module("numba")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{function.__module__} needs numba: pip install 'mafla[graphs]'") from None
    try:
        result: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place to keep the machine code: a read-only installation, or an interactive session
        result = numba.njit(nogil=True)(function)
    return result
