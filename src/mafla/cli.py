"""The command ``mafla``: arguments in, tables and files out; the work is done elsewhere.

Everything heavy is imported inside the commands, so that ``mafla --help`` answers at once.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

import mafla
from mafla.output import as_record, check_folder, write_files

__all__ = ["app", "main"]

Seed = Annotated[int, Parameter(help="Seed of the random keys; the same seed gives the same draws.")]
Seeds = Annotated[int, Parameter(help="Repeat for so many seeds and show medians; the picture is that of the first.")]
Output = Annotated[Path | None, Parameter(help="Folder for the files to write, made if missing; none by default.")]
Json = Annotated[bool, Parameter(name="--json", help="Print the measured rows as JSON, and nothing else.")]
Quick = Annotated[bool, Parameter(help="Take seconds: enough to see that it works, too little to judge by.")]
SeedsUnlessQuick = Annotated[int, Parameter(help="Repeat for so many seeds and show medians; one with --quick.")]
LearnedQuick = Annotated[bool, Parameter(help="One seed and shorter trainings: less than 20 minutes on two cores.")]
GraphsQuick = Annotated[bool, Parameter(help="One seed, a few graphs and a quarter of the time: two minutes.")]
TailsQuick = Annotated[bool, Parameter(help="One seed, a third of the problems, ours and NUTS: less than 15 minutes.")]
TailsSeconds = Annotated[float, Parameter(name="--time", help="Seconds of each sampler for warm-up and draws.")]
Samplers = Annotated[str, Parameter(help="Parts of the names of the samplers, separated by |; all by default.")]
Methods = Annotated[str, Parameter(help="Parts of the names of the methods, separated by |; all by default.")]
Solvers = Annotated[str, Parameter(help="Parts of the names of the solvers, separated by |; all by default.")]
Only = Annotated[str, Parameter(help="Parts of the names of the problems to run, separated by |; all by default.")]
ModelFile = Annotated[Path, Parameter(help="File that a learned acceptance function was saved to.")]
RowsFile = Annotated[Path, Parameter(help="Rows of the target, at least 200: .npy, or text with one row a line.")]
GraphFile = Annotated[Path, Parameter(help="G-set, DIMACS, PACE .gr, GraphML or a list of edges.")]
Seconds = Annotated[
    float, Parameter(name="--time", help="Seconds for reading and search; the best until then is the answer.")
]
Complement = Annotated[bool, Parameter(help="Take the complement of the graph, for files that are about cliques.")]
ExperimentName = Annotated[str, Parameter(help="Name of an experiment, or all; a wrong name gets the list.")]
ReproduceOutput = Annotated[Path, Parameter(name="--output", help="Folder of results; a run goes on with what it has.")]
ReproduceQuick = Annotated[bool, Parameter(help="Small sizes and one seed: all in less than 15 minutes on two cores.")]
VerdictsJson = Annotated[bool, Parameter(name="--json", help="Print the verdicts as JSON, and nothing else.")]
Workers = Annotated[int, Parameter(help="Processes on this machine.")]
Dask = Annotated[str | None, Parameter(help="Address of the scheduler of a Dask cluster, instead of processes here.")]
Rows = list[dict[str, Any]]

app = App(
    name="mafla",
    help="Fractional Langevin samplers for heavy-tailed and multimodal distributions, from a density, a score or data.",
    version=lambda: str(mafla.__version__),
    help_format="plaintext",  # the others import a parser of their markup
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
bench = App(name="bench", help="Measure speed and accuracy on this machine.")
app.command(bench)


@app.command
def demo(
    *, seed: Seed = 0, seeds: Seeds = 1, output: Output = None, as_json: Json = False, quick: Quick = False
) -> None:
    """Learn from draws of a heavy-tailed mixture, sample it nine ways and compare each with independent draws."""
    from mafla import demo as job
    from mafla import plots

    if output is not None:
        check_folder(output)
        plots.require_matplotlib()
    with _console(stderr=True).status("starting") as status:
        result = job.run_seeds(seed, seeds, quick, report=status.update)
        pictures = {} if output is None else job.pictures(result)
    text = job.summary(result)
    about = {"settings": result.settings._asdict(), "luck": result.luck, "summary": text}
    files = write_files(output, {**pictures, "demo.json": as_record(result.rows, seed=seed, **about)})
    _show(result.rows, job.table(result), text, files, as_json)


@app.command
def maxcut(
    graph: GraphFile,
    /,
    *,
    seconds: Seconds = 10.0,
    seed: Seed = 0,
    complement: Complement = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Split the vertices of a graph in two so that the edges between the sides weigh as much as possible."""
    from mafla.graphs.maxcut import maxcut as solve

    _solve("maxcut", solve, graph, seconds, seed, complement, output, as_json)


@app.command
def vertex_cover(
    graph: GraphFile,
    /,
    *,
    seconds: Seconds = 10.0,
    seed: Seed = 0,
    complement: Complement = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Choose as few vertices of a graph as possible so that each edge has one of them."""
    from mafla.graphs.vertex_cover import vertex_cover as solve

    _solve("vertex-cover", solve, graph, seconds, seed, complement, output, as_json)


@app.command
def diagnose(model: ModelFile, rows: RowsFile, /, *, seed: Seed = 0, as_json: Json = False) -> None:
    """Hold a learned acceptance function against the exact one and say whether to trust it."""
    from mafla.learn import diagnose as job

    with _console(stderr=True).status("comparing"):
        found = job.diagnose(model, rows, seed)
    if as_json:
        import json

        print(json.dumps({**found._asdict(), "rows": [row._asdict() for row in found.rows]}, indent=2))
    else:
        print(found)


@app.command
def reproduce(
    *names: ExperimentName,
    output: ReproduceOutput = Path("reproduction"),
    seeds: SeedsUnlessQuick = 3,
    workers: Workers = 2,
    dask: Dask = None,
    as_json: VerdictsJson = False,
    quick: ReproduceQuick = False,
) -> int:
    """Run the paper's experiments again and compare its claims with what is measured; go on where a run stopped."""
    import json

    from mafla import _check
    from mafla.reproduce import executing, job

    workers = _check.whole("workers", workers, 1)
    if not names:
        raise ValueError("name an experiment, or all; `mafla reproduce --help` says more")
    check_folder(output)
    chosen = partial(executing.processes, workers) if dask is None else partial(executing.dask_cluster, dask)
    with _cells_bar() as report:
        files, results = job.reproduce(list(names), output, chosen, quick=quick, seeds=seeds, report=report)
    if as_json:
        print(json.dumps([job.as_json(each) for each in results], indent=2, ensure_ascii=False))
    else:
        print(*(f"{each.experiment.name}: {each.word}" for each in results), *files, sep="\n")
    failed = sum(len(each.errors) for each in results)
    return _fail(f"{failed} cells failed; run the same command to try them again", code=1) if failed else 0


@bench.command
def law(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure the draws, the density and the score of the stable law."""
    from mafla.bench import law as job

    _bench("law", job, seed, output, as_json, quick)


@bench.command
def kernels(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure the kernels."""
    from mafla.bench import kernels as job

    _bench("kernels", job, seed, output, as_json, quick)


@bench.command
def learned(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 5,
    only: Only = "",
    methods: Methods = "",
    output: Output = None,
    as_json: Json = False,
    quick: LearnedQuick = False,
) -> None:
    """Measure samplers that are learned from rows, and others that learn from the same rows."""
    from mafla.bench import learned as job

    about = {"seed": seed, "seeds": seeds, "quick": quick, "only": only, "methods": methods}
    _bench_by_parts("learned", job, output, as_json, about)


@bench.command
def relaxed(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Run the paper's samplers on relaxed cuts and covers, on equal terms."""
    from mafla.bench import relaxed as job

    _bench("relaxed", job, seed, output, as_json, quick)


@bench.command
def graphs(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 5,
    only: Only = "",
    solvers: Solvers = "",
    output: Output = None,
    as_json: Json = False,
    quick: GraphsQuick = False,
) -> None:
    """Measure the solvers for cuts and covers beside others, with equal CPU seconds."""
    from mafla.bench import graphs as job

    about = {"seed": seed, "seeds": seeds, "quick": quick, "only": only, "solvers": solvers}
    _bench_by_parts("graphs", job, output, as_json, about, job.picture)


@bench.command
def tails(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 20,
    only: Only = "",
    samplers: Samplers = "",
    seconds: TailsSeconds = 3.0,
    output: Output = None,
    as_json: Json = False,
    quick: TailsQuick = False,
) -> None:
    """Measure tails and modes of our sampler beside NUTS and others, with equal seconds."""
    from mafla.bench import tails as job

    about = {"seed": seed, "seeds": seeds, "quick": quick, "only": only, "samplers": samplers, "seconds": seconds}
    _bench_by_parts("tails", job, output, as_json, about, job.picture)


@bench.command
def ablation(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure what each part of the solvers for cuts and covers is worth."""
    from mafla.bench import ablation as job

    _bench("ablation", job, seed, output, as_json, quick)


@bench.command
def growth(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure how the time of the MaxCut solver grows with the graph."""
    from mafla.bench import growth as job

    _bench("growth", job, seed, output, as_json, quick)


def main(tokens: Iterable[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1 if a part failed, 2 after a bad argument, 130 after Ctrl-C.

    Args:
        tokens: the arguments; those of the process unless given.

    Example:
        >>> main(["bench"])
        Usage: mafla bench COMMAND
        ...
        0
    """
    try:
        code = app(tokens, exit_on_error=False, print_error=False, verbose=False, result_action="return_value")
    except KeyboardInterrupt:
        return _fail("interrupted", code=130)
    except ModuleNotFoundError as error:
        hint = f"; install {error.name} to run this" if str(error).startswith("No module named") else ""
        return _fail(f"{error}{hint}", code=2)
    except (CycloptsError, ValueError) as error:
        return _fail(str(error), code=2)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=2)
    return code if isinstance(code, int) else 0


def _solve(
    name: str, solve: Any, path: Path, seconds: float, seed: int, complement: bool, output: Path | None, as_json: bool
) -> None:
    """Solve a problem on the graph in a file, and show and write the best that was found."""
    import json

    from mafla import _check
    from mafla.graphs.reading import read_graph

    if output is not None:
        check_folder(output)
    limit, begun = _check.positive("--time", seconds), time.monotonic()
    graph = read_graph(path, complement=complement, signed=name == "maxcut")
    if graph.num_edges == 0:
        raise ValueError(f"{path}: no edges{' in the complement' * complement}; at least one is needed")
    left = max(limit - (time.monotonic() - begun), 0.1 * limit)  # something to search in, however large the file
    found = solve(graph, time_limit=left, seed=seed, progress=not as_json)
    is_chosen = found.assignment > 0
    row = {
        "problem": name,
        "graph": path.name,
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "value": found.value,
        "bound": found.bound,
        "optimal": found.optimal,
        "seconds": found.seconds,
        "interrupted": found.interrupted,
        "notes": list(found.notes),
        "chosen": [graph.labels[i] if graph.labels else i + 1 for i in is_chosen.nonzero()[0].tolist()],
    }
    about = {"seed": seed, "time": seconds, "complement": complement, "history": found.history.tolist()}
    files = write_files(output, {f"{name}.json": as_record([row], **about)})
    if as_json:
        print(json.dumps(row, indent=2, ensure_ascii=False))
        return
    for note in found.notes:
        print(note)
    bound = "" if found.bound is None else ", optimal" if found.optimal else f", bound {found.bound:.10g}"
    stopped = ", stopped by Ctrl-C" if found.interrupted else ""
    print(f"{name} {found.value:.10g}{bound} ({graph.num_vertices} vertices, {graph.num_edges} edges, ", end="")
    print(f"{found.seconds:.1f} s{stopped})")
    print(*files, sep="\n", end="\n" if files else "")


def _bench(name: str, job: Any, seed: int, output: Path | None, as_json: bool, quick: bool) -> None:
    if output is not None:
        check_folder(output)
    with _console(stderr=True).status(f"measuring {name}"):
        rows = job.run(seed, quick)
    files = write_files(output, {f"{name}.json": as_record(rows, seed=seed, quick=quick)})
    _show(rows, job.describe(rows), "", files, as_json)


def _bench_by_parts(
    name: str,
    job: Any,
    output: Path | None,
    as_json: bool,
    about: dict[str, Any],
    picture: Callable[[Rows], Any] | None = None,
) -> None:
    """Do long work that keeps what it has after each part; a picture is drawn unless there is nothing to draw."""
    from mafla import plots

    if output is not None:
        check_folder(output)
        if picture:
            plots.require_matplotlib()
    keep = _keeper(output, f"{name}.json", **about)
    rows = job.run(**about, report=keep)
    files = keep("done", rows)
    if output is not None and picture and (figure := picture(rows)) is not None:
        files += write_files(output, {f"{name}.png": plots.to_bytes(figure, "png")})
    _show(rows, job.describe(rows), job.summary(rows), files, as_json)


@contextmanager
def _cells_bar() -> Iterator[Callable[[Any], None]]:
    """Show how many cells are done, how many failed and the time left; without a terminal, a line for each cell."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = _console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("")

        def report(tally: Any) -> None:
            failed = f"{tally.failed} failed" if tally.failed else ""
            bar.update(task, total=tally.total, completed=tally.finished + tally.failed, description=failed)
            if tally.line and (not console.is_terminal or "failed" in tally.line):
                console.print(tally.line, markup=False, highlight=False, soft_wrap=True)

        yield report


def _keeper(output: Path | None, name: str, **about: object) -> Callable[[str, Rows], list[Path]]:
    """Return what long work calls after each part, so that nothing is lost: it prints a line and writes all rows."""
    console = _console(stderr=True)

    def keep(line: str, rows: Rows) -> list[Path]:
        console.print(line, markup=False, highlight=False)
        return write_files(output, {name: as_record(rows, **about)})

    return keep


def _show(rows: Rows, table: Any, text: str, files: list[Path], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(rows, indent=2))
        return
    console = _console()
    console.print(table)
    if text:
        console.print(text, highlight=False, markup=False)
    print(*files, sep="\n", end="\n" if files else "")


def _console(stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=stderr)


def _fail(message: str, code: int) -> int:
    print(f"mafla: {' '.join(message.split())}", file=sys.stderr)
    return code
