"""The commands ``mafla bench ...``: arguments in, tables and files out."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from mafla.output import as_record, check_folder, earlier_rows, write_files
from mafla.terminal import Json, Output, Quick, Rows, Seed, SeedsUnlessQuick, console, keeper, show

__all__ = ["bench"]

LearnedQuick = Annotated[bool, Parameter(help="One seed and shorter trainings: less than 20 minutes on two cores.")]
SizesQuick = Annotated[bool, Parameter(help="One seed, and no table of a million rows.")]
GraphsQuick = Annotated[bool, Parameter(help="One seed, a few graphs and a quarter of the time: two minutes.")]
TailsQuick = Annotated[bool, Parameter(help="One seed, a third of the problems, ours and NUTS: less than 15 minutes.")]
TailsSeconds = Annotated[
    float, Parameter(name="--time", help="Seconds for warm-up and draws; three times as many with modes.")
]
TailsChains = Annotated[int, Parameter(help="Chains of each sampler; emcee takes more where it needs them.")]
Results = Annotated[Path | None, Parameter(name="--output", help="Folder of results; a run goes on with its own.")]
Workers = Annotated[int, Parameter(help="How many run at a time, each on processors of its own.")]
Samplers = Annotated[str, Parameter(help="Parts of the names of the samplers, separated by |; all by default.")]
Methods = Annotated[str, Parameter(help="Parts of the names of the methods, separated by |; all by default.")]
Solvers = Annotated[str, Parameter(help="Parts of the names of the solvers, separated by |; all by default.")]
Only = Annotated[str, Parameter(help="Parts of the names of the problems to run, separated by |; all by default.")]

bench = App(name="bench", help="Measure speed and accuracy on this machine.")


@bench.command
def law(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure the draws, the density and the score of the stable law."""
    from mafla.bench import law as job

    _at_once("law", job, seed, output, as_json, quick)


@bench.command
def kernels(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure the kernels."""
    from mafla.bench import kernels as job

    _at_once("kernels", job, seed, output, as_json, quick)


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
    _in_parts("learned", job, output, as_json, about)


@bench.command
def sizes(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 3,
    output: Output = None,
    as_json: Json = False,
    quick: SizesQuick = False,
) -> None:
    """Measure what the defaults learn from tables of 1 to 64 columns and 500 to a million rows."""
    from mafla.bench import sizes as job

    _in_parts("sizes", job, output, as_json, {"seed": seed, "seeds": seeds, "quick": quick})


@bench.command
def relaxed(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Run the paper's samplers on relaxed cuts and covers, on equal terms."""
    from mafla.bench import relaxed as job

    _at_once("relaxed", job, seed, output, as_json, quick)


@bench.command
def graphs(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 5,
    only: Only = "",
    solvers: Solvers = "",
    workers: Workers = 1,
    output: Results = None,
    as_json: Json = False,
    quick: GraphsQuick = False,
) -> None:
    """Measure the solvers for cuts and covers beside others, with equal CPU seconds."""
    from mafla.bench import graphs as job

    about = {"seed": seed, "seeds": seeds, "only": only, "solvers": solvers}
    _in_parts("graphs", job, output, as_json, about, job.picture, same={"quick": quick, "workers": workers})


@bench.command
def tails(
    *,
    seed: Seed = 0,
    seeds: SeedsUnlessQuick = 20,
    only: Only = "",
    samplers: Samplers = "",
    seconds: TailsSeconds = 1.0,
    chains: TailsChains = 64,
    workers: Workers = 1,
    output: Results = None,
    as_json: Json = False,
    quick: TailsQuick = False,
) -> None:
    """Measure tails and modes of our sampler beside NUTS and others, with equal seconds."""
    from mafla.bench import tails as job

    about = {"seed": seed, "seeds": seeds, "only": only, "samplers": samplers}
    same = {"quick": quick, "seconds": seconds, "chains": chains, "workers": workers}
    _in_parts("tails", job, output, as_json, about, job.picture, same)


@bench.command
def ablation(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure what each part of the solvers for cuts and covers is worth."""
    from mafla.bench import ablation as job

    _at_once("ablation", job, seed, output, as_json, quick)


@bench.command
def growth(*, seed: Seed = 0, output: Output = None, as_json: Json = False, quick: Quick = False) -> None:
    """Measure how the time of the MaxCut solver grows with the graph."""
    from mafla.bench import growth as job

    _at_once("growth", job, seed, output, as_json, quick)


def _at_once(name: str, job: Any, seed: int, output: Path | None, as_json: bool, quick: bool) -> None:
    if output is not None:
        check_folder(output)
    with console(stderr=True).status(f"measuring {name}"):
        rows = job.run(seed, quick)
    files = write_files(output, {f"{name}.json": as_record(rows, seed=seed, quick=quick)})
    show(rows, job.describe(rows), "", files, as_json)


def _in_parts(
    name: str,
    job: Any,
    output: Path | None,
    as_json: bool,
    about: dict[str, Any],
    picture: Callable[[Rows], Any] | None = None,
    same: dict[str, Any] | None = None,
) -> None:
    """Do long work that keeps what it has after each part.

    Args:
        name: of the work and its files.
        job: the module that does it.
        output: folder of the files.
        as_json: whether to print rows and nothing else.
        about: the options.
        picture: returns a figure of rows, or None where there is nothing to draw.
        same: options of work that goes on with the rows in its folder, if they were measured with the same.
    """
    from mafla import plots

    file = f"{name}.json"
    if output is not None:
        check_folder(output)
        if picture:
            plots.require_matplotlib()
    options = about | (same or {})
    known = {"known": [] if output is None else earlier_rows(output / file, **same)} if same else {}
    keep = keeper(output, file, **options)
    rows = job.run(**options, **known, report=keep)
    files = keep("done", rows)
    if output is not None and picture and (figure := picture(rows)) is not None:
        files += write_files(output, {f"{name}.png": plots.to_bytes(figure, "png")})
    show(rows, job.describe(rows), job.summary(rows), files, as_json)
