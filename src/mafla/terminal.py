"""What the commands share: options, progress for long work, and what they show at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mafla.output import as_record, write_files

__all__ = [
    "Json",
    "Output",
    "Quick",
    "Rows",
    "Seed",
    "Seeds",
    "SeedsUnlessQuick",
    "cells_bar",
    "console",
    "keeper",
    "show",
]


def _check_seed(_type: Any, value: Any) -> None:
    if not 0 <= value < 2**32:
        raise ValueError(f"It must be at least 0 and at most {2**32 - 1}.")


Seed = Annotated[
    int, Parameter(help="Seed of the random keys; the same seed gives the same draws.", validator=_check_seed)
]
Seeds = Annotated[int, Parameter(help="Repeat for so many seeds and show medians; the picture is that of the first.")]
SeedsUnlessQuick = Annotated[int, Parameter(help="Repeat for so many seeds and show medians; one with --quick.")]
Output = Annotated[Path | None, Parameter(help="Folder for the files to write, made if missing; none by default.")]
Json = Annotated[bool, Parameter(name="--json", help="Print the measured rows as JSON, and nothing else.")]
Quick = Annotated[bool, Parameter(help="Take seconds: enough to see that it works, too little to judge by.")]
Rows = list[dict[str, Any]]


def console(stderr: bool = False) -> Any:
    """Return the terminal, or where errors and progress go."""
    from rich.console import Console

    return Console(stderr=stderr)


def show(rows: Rows, table: Any, text: str, files: list[Path], as_json: bool) -> None:
    """Print what was measured: as JSON and nothing else, or a table, words and the names of the files."""
    if as_json:
        import json

        print(json.dumps(rows, indent=2))
        return
    terminal = console()
    terminal.print(table)
    if text:
        terminal.print(text, highlight=False, markup=False)
    print(*files, sep="\n", end="\n" if files else "")


def keeper(output: Path | None, name: str, **about: object) -> Callable[[str, Rows], list[Path]]:
    """Return what long work calls after each part, so that nothing is lost: it prints a line and writes all rows."""
    progress = console(stderr=True)

    def keep(line: str, rows: Rows) -> list[Path]:
        progress.print(line, markup=False, highlight=False)
        return write_files(output, {name: as_record(rows, **about)})

    return keep


@contextmanager
def cells_bar() -> Iterator[Callable[[Any], None]]:
    """Show how many cells are done, how many failed and the time left; without a terminal, a line for each cell."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    progress = console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=progress, disable=not progress.is_terminal) as bar:
        task = bar.add_task("")

        def report(tally: Any) -> None:
            failed = f"{tally.failed} failed" if tally.failed else ""
            bar.update(task, total=tally.total, completed=tally.finished + tally.failed, description=failed)
            if tally.line and (not progress.is_terminal or "failed" in tally.line):
                progress.print(tally.line, markup=False, highlight=False, soft_wrap=True)

        yield report
