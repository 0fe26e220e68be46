"""Reproducing experiments: what is done is read, the rest is computed, and reports are written from all of it."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from mafla import _check, plots
from mafla.executing import Open, run_cells
from mafla.output import versions, write_files
from mafla.reproduce import records
from mafla.reproduce.catalogue import compute, named
from mafla.reproduce.experiment import Cell, Experiment
from mafla.reproduce.report import Result, html_page, verdicts_page

__all__ = ["Tally", "as_json", "collect", "reproduce"]

REPORT, VERDICTS = "report.html", "paper-verdicts.md"


class Tally(NamedTuple):
    """How far the work is.

    Attributes:
        total: cells in all.
        finished: those that are done, now or before.
        failed: those that failed now.
        line: about the last of them.
    """

    total: int
    finished: int
    failed: int
    line: str


def reproduce(
    names: list[str],
    folder: Path,
    open_executor: Open,
    *,
    quick: bool = False,
    seeds: int = 3,
    report: Callable[[Tally], object] = lambda _tally: None,
) -> tuple[list[Path], list[Result]]:
    """Compute what is missing of some experiments and write their results, figures and verdicts.

    Args:
        names: of the experiments, or "all".
        folder: where results are, or will be: a file of JSON lines for each experiment, its figures, and one report of
            all that is there.
        open_executor: opens what cells are computed by, such as ``lambda: processes(2)``.
        quick: small sizes and one seed, to see that it works.
        seeds: how many, where an experiment has more than one.
        report: called after each cell.

    Returns:
        the files that were written, and the results of the experiments that were asked for.
    """
    chosen, seeds = named(names), 1 if quick else _check.whole("seeds", seeds, 1)
    plots.require_matplotlib()
    records.open_folder(folder, {"quick": quick, "seeds": seeds})
    wanted = {each.name: each.cells(quick, seeds) for each in chosen}
    missing = [
        {"experiment": name, "cell": cell, "quick": quick}
        for name, cells in wanted.items()
        for cell in _not_done(folder / f"{name}.jsonl", cells)
    ]
    total, failures = sum(len(cells) for cells in wanted.values()), 0
    tally = Tally(total, total - len(missing), 0, "")
    report(tally)

    def finish(task: Cell, record: Any, error: BaseException | None) -> None:
        nonlocal tally, failures
        failures += error is not None
        record = record or {**task, "versions": versions(), "seconds": None, "rows": [], "error": _words(error)}
        records.append(folder / f"{task['experiment']}.jsonl", record)
        about = ", ".join(f"{key}={value}" for key, value in task["cell"].items())
        how = f"failed, {record['error']}" if error else f"{record['seconds']:.0f} s"
        tally = Tally(total, tally.finished + (error is None), failures, f"{task['experiment']} ({about}): {how}")
        report(tally)

    run_cells(compute, missing, open_executor, finish)
    results = [_result(folder, each, wanted[each.name]) for each in chosen]
    return _write_all(folder, results, quick, seeds), results


def collect(folder: Path, quick: bool, seeds: int) -> list[Result]:
    """Return what is known of all experiments that the folder has results of."""
    return [
        _result(folder, each, each.cells(quick, seeds))
        for each in named(["all"])
        if (folder / f"{each.name}.jsonl").exists()
    ]


def as_json(result: Result) -> dict[str, Any]:
    """Return a verdict with its claims, and what failed, as JSON has them."""
    verdict = result.verdict
    claims = [claim._asdict() for claim in verdict.claims] if verdict else []
    common = {"experiment": result.experiment.name, "verdict": result.word, "claims": claims}
    return {**common, "reason": verdict.reason if verdict else None, "errors": result.errors}


def _not_done(path: Path, cells: list[Cell]) -> list[Cell]:
    done = records.done(records.read(path))
    return [cell for cell in cells if records.identity(cell) not in done]


def _result(folder: Path, experiment: Experiment, cells: list[Cell]) -> Result:
    """Return what is known of an experiment: figures and a verdict once all of its cells are there."""
    found = {records.identity(record["cell"]): record for record in records.read(folder / f"{experiment.name}.jsonl")}
    own = [found[identity] for identity in map(records.identity, cells) if identity in found]
    errors = [f"{record['cell']}: {record['error']}" for record in own if record["error"]]
    rows, using = records.rows_of(own), tuple(dict.fromkeys(_using(record) for record in own))
    if errors or len(own) < len(cells):
        return Result(experiment, len(cells), len(own) - len(errors), errors, rows, {}, None, using)
    figures = {
        f"{experiment.name}-{name}" if name else experiment.name: cache(partial(draw, rows))
        for name, draw in experiment.figures.items()
    }
    return Result(experiment, len(cells), len(own), [], rows, figures, experiment.judge(rows), using)


def _write_all(folder: Path, results: list[Result], quick: bool, seeds: int) -> list[Path]:
    """Write the figures of these results, and the reports of all experiments that the folder has."""
    pictures = {
        f"{name}.{kind}": plots.to_bytes(figure(), kind)
        for result in results
        for name, figure in result.figures.items()
        for kind in ("png", "svg")
    }
    asked = {result.experiment.name: result for result in results}
    everything = [asked.get(each.experiment.name, each) for each in collect(folder, quick, seeds)]
    pages = {REPORT: html_page(everything, quick).encode(), VERDICTS: verdicts_page(everything, quick).encode()}
    return write_files(folder, pictures | pages)


def _using(record: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())


def _words(error: BaseException | None) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
