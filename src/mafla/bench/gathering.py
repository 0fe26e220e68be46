"""Long work in parts: rows are put in their places as they are made, and whoever waits is told of each part."""

from collections.abc import Callable
from functools import partial
from typing import Any

from mafla.executing import Cell, processes, run_cells

__all__ = ["Report", "Row", "gather"]

Row = dict[str, Any]
Report = Callable[[str, list[Row]], object]


def gather(
    measure: Callable[[Cell], list[Row]],
    parts: list[Cell],
    rows: list[Row],
    workers: int,
    place: Callable[[Row], Any],
    line: Callable[[list[Row]], str],
    report: Report,
) -> list[Row]:
    """Return the rows that are there and those of all parts; a part that fails ends the work.

    Args:
        measure: returns the rows of a part; a function that other processes can import.
        parts: what to measure.
        rows: those that are there already.
        workers: how many parts are measured at the same time, each on processors of its own.
        place: by which rows are sorted.
        line: returns what is said about the rows of a part.
        report: called after each part, with that and all rows so far.

    Example:
        >>> gather(len, [], [{"at": 1}], 1, lambda row: row["at"], str, print)
        [{'at': 1}]
    """
    gathered = list(rows)

    def finish(_part: Cell, made: Any, error: BaseException | None) -> None:
        if error is not None:
            raise error
        gathered.extend(made)
        gathered.sort(key=place)
        report(line(made), gathered)

    run_cells(measure, parts, partial(processes, workers), finish)
    return gathered
