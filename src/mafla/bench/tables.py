"""Rows of measurements as a table for the terminal."""

from typing import Any

__all__ = ["table"]


def table(title: str, rows: list[dict[str, object]]) -> Any:
    """Return a table with one column for each key of the rows.

    Example:
        >>> table("Speed", [{"chains": 16, "ratio": 1.5}]).row_count
        1
    """
    from rich.table import Table

    result = Table(title=title)
    for name in rows[0]:
        result.add_column(
            name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right", overflow="fold"
        )
    for row in rows:
        result.add_row(*(_show(value) for value in row.values()))
    return result


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.3g}"
    return "" if value is None else str(value)
