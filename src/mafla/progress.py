"""A progress bar with acceptance and time left, and nothing where no one is looking."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Report", "progress_bar"]

Report = Callable[[int, float], None]  # steps done, mean acceptance of late


@contextmanager
def progress_bar(description: str, total: int, *, shown: bool) -> Iterator[Report]:
    """Show a bar on standard error while the body runs; the body reports steps done and acceptance.

    Example:
        >>> with progress_bar("sampling", 100, shown=False) as report:
        ...     report(50, 0.5)
    """
    if not shown:
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("acceptance {task.fields[acceptance]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total, acceptance="  –")

        def report(done: int, acceptance: float) -> None:
            bar.update(task, completed=min(done, total), acceptance=f"{acceptance:.2f}")

        yield report


def _silent(done: int, acceptance: float) -> None:
    """Report to no one."""
