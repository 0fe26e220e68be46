"""What an experiment is made of: cells that are computed apart, figures of all rows, and a verdict on the claims.

A cell is a dictionary of settings, the seed among them. What is measured in it is a list of rows, each with the
settings of its cell, so that figures and verdicts need nothing but rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mafla.executing import Cell

__all__ = ["Cell", "Claim", "Experiment", "Row", "Verdict", "interval", "pick", "several"]

Row = dict[str, Any]


class Claim(NamedTuple):
    """Something that the paper says.

    Attributes:
        text: what it says.
        paper: its figures, or a dash where it gives none.
        ours: our figures, with the range over seeds.
        holds: whether ours bear it out.
    """

    text: str
    paper: str
    ours: str
    holds: bool


class Verdict(NamedTuple):
    """The paper's claims, beside what was measured.

    Attributes:
        claims: in the order of the paper.
        reason: why some do not hold, as far as the figures tell; what else is worth knowing.
    """

    claims: tuple[Claim, ...]
    reason: str = ""

    @property
    def word(self) -> str:
        """Return what the claims amount to.

        Example:
            >>> Verdict((Claim("a", "–", "1", True), Claim("b", "–", "2", False))).word
            'reproduced in part'
        """
        held = [claim.holds for claim in self.claims]
        return "reproduced" if all(held) else "reproduced in part" if any(held) else "not reproduced"


class Experiment(NamedTuple):
    """A table or figure of the paper.

    Attributes:
        name: on the command line.
        title: what of the paper it is.
        setting: what the paper does not state and how it is set here.
        cells: ``cells(quick, seeds)`` lists the cells, for so many seeds from zero.
        measure: ``measure(cell, quick)`` returns the rows of a cell, without the settings of the cell.
        figures: by name, what draws a figure of all rows; the name is empty where there is one only.
        judge: returns the verdict on all rows.
    """

    name: str
    title: str
    setting: str
    cells: Callable[[bool, int], list[Cell]]
    measure: Callable[[Cell, bool], list[Row]]
    figures: Mapping[str, Callable[[list[Row]], Any]]
    judge: Callable[[list[Row]], Verdict]


def pick(rows: Iterable[Row], **settings: Any) -> list[Row]:
    """Return the rows that have these settings.

    Example:
        >>> pick([{"seed": 0, "w1": 1.0}, {"seed": 1, "w1": 2.0}], seed=1)
        [{'seed': 1, 'w1': 2.0}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in settings.items())]


def several(rows: Iterable[Row], name: str) -> list[Any]:
    """Return the different values of a setting, in the order of the rows.

    Example:
        >>> several([{"tau": 0.1}, {"tau": 0.1}, {"tau": 1.0}], "tau")
        [0.1, 1.0]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def interval(values: Sequence[float]) -> str:
    """Return the median and, of several values, the range.

    Example:
        >>> interval([3.0, 1.0, 2.0])
        '2 (1 to 3)'
    """
    middle = f"{np.median(values):.3g}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3g} to {max(values):.3g})"
