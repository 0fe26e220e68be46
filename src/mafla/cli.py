"""The command ``mafla``: arguments in, tables and files out; the work is done elsewhere.

Everything heavy is imported inside the commands, so that ``mafla --help`` answers at once.
"""

import os
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

import mafla
from mafla.bench.commands import bench
from mafla.output import as_record, check_folder, write_files
from mafla.terminal import Json, Output, Quick, Seed, Seeds, SeedsUnlessQuick, cells_bar, console, show

__all__ = ["app", "main"]

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

app = App(
    name="mafla",
    help="Fractional Langevin samplers for heavy-tailed and multimodal distributions, from a density, a score or data.",
    version=lambda: str(mafla.__version__),
    help_format="plaintext",  # the others import a parser of their markup
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
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
    with console(stderr=True).status("starting") as status:
        result = job.run_seeds(seed, seeds, quick, report=status.update)
        pictures = {} if output is None else job.pictures(result)
    text = job.summary(result)
    about = {"settings": result.settings._asdict(), "luck": result.luck, "summary": text}
    files = write_files(output, {**pictures, "demo.json": as_record(result.rows, seed=seed, **about)})
    show(result.rows, job.table(result), text, files, as_json)


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

    with console(stderr=True).status("comparing"):
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

    from mafla import _check, executing
    from mafla.reproduce import job

    workers = _check.whole("workers", workers, 1)
    if not names:
        raise ValueError("name an experiment, or all; `mafla reproduce --help` says more")
    check_folder(output)
    chosen = partial(executing.processes, workers) if dask is None else partial(executing.dask_cluster, dask)
    with cells_bar() as report:
        files, results = job.reproduce(list(names), output, chosen, quick=quick, seeds=seeds, report=report)
    if as_json:
        print(json.dumps([job.as_json(each) for each in results], indent=2, ensure_ascii=False))
    else:
        print(*(f"{each.experiment.name}: {each.word}" for each in results), *files, sep="\n")
    failed = sum(len(each.errors) for each in results)
    return _fail(f"{failed} cells failed; run the same command to try them again", code=1) if failed else 0


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
    except MemoryError as error:
        return _fail(f"not enough memory: {error}", code=2)
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
        "graph": os.fsencode(path.name).decode(errors="replace"),
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
    if as_json:
        print(json.dumps(row, indent=2, ensure_ascii=False))
    else:
        for note in found.notes:
            print(note)
        bound = "" if found.bound is None else ", optimal" if found.optimal else f", bound {found.bound:.15g}"
        stopped = ", stopped by Ctrl-C" if found.interrupted else ""
        print(f"{name} {found.value:.15g}{bound} ({graph.num_vertices} vertices, {graph.num_edges} edges, ", end="")
        print(f"{found.seconds:.1f} s{stopped})", flush=True)
    # Last, so that an answer which cannot be written is not lost.
    files = write_files(output, {f"{name}.json": as_record([row], **about)})
    if files and not as_json:
        print(*files, sep="\n")


def _fail(message: str, code: int) -> int:
    print(f"mafla: {' '.join(message.split())}", file=sys.stderr)
    return code
