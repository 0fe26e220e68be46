"""Choosing what a benchmark runs by parts of names, grouping its rows by what they share, and their medians."""

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["grouped", "is_chosen", "median"]


def is_chosen(name: str, parts: str) -> bool:
    """Say whether the name has any of the parts, which are separated by ``|``; no parts choose all names.

    Example:
        >>> [is_chosen("maxcut: G14", parts) for parts in ("", "G14", "BA|maxcut: G", "g14")]
        [True, True, True, False]
    """
    return any(part in name for part in parts.split("|"))


def grouped(names: tuple[str, ...], rows: list[dict[str, Any]]) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Return the rows that have the same values of these names, after the values.

    Example:
        >>> list(grouped(("a",), [{"a": 1, "b": 2}, {"a": 1, "b": 3}]))
        [((1,), [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}])]
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    yield from groups.items()


def median(rows: list[dict[str, Any]], name: str) -> float | None:
    """Return the median of a number over the rows that have it, or None.

    Example:
        >>> median([{"a": 1.0}, {"a": None}, {"a": 3.0}], "a")
        2.0
    """
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.median(values)) if values else None
