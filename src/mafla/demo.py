"""The job at a glance: a heavy-tailed mixture, nine samplers with one step size, and how far each ends from the target.

The target is the paper's mixture of two isotropic stable laws in the plane, α = 1.95 with weights 0.2 and 0.8 (Figure
mixture-scatter), with modes at (-5, 0) and (5, 0). Five samplers know its density. Four know 20 000 draws of it and go
the whole way: data, learned score, learned acceptance or energy, chains. All chains start at exact draws, the first of
the data: what is wrong at the end is what the sampler made wrong.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from mafla import _check, metrics, plots, targets
from mafla.kernels.base import Kernel
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.fractional_langevin import fula
from mafla.kernels.langevin import ula
from mafla.kernels.learned_fractional import mafla
from mafla.kernels.metropolis_langevin import mala
from mafla.learn.acceptance import fit_acceptance
from mafla.learn.energy import fit_energy
from mafla.learn.score import fit_score
from mafla.learn.training import Schedule
from mafla.run import sample

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["DemoResult", "Settings", "pictures", "run", "run_seeds", "summary", "table"]

# Continuous measures of body and tail: their floors are never zero, so that ratios to them are numbers.
MEASURES = ("w1", "asinh_w1", "q95_error", "q99_error", "tail_msle")
FULA, CLOSED, EXACT = "FULA", "FULA, closed form", "exact MAFLA"
LEARNED_FULA, PAPER, STRUCTURED, ENERGY = "FULA, learned", "MAFLA, paper's", "MAFLA, structured", "exact, learned"
LEARNED = (LEARNED_FULA, PAPER, STRUCTURED, ENERGY)


class Settings(NamedTuple):
    """Everything that decides the result, besides the versions of the packages."""

    seed: int = 0
    quick: bool = False
    seeds: int = 1
    alpha: float = 1.95
    locations: tuple[tuple[float, float], ...] = ((-5.0, 0.0), (5.0, 0.0))
    weights: tuple[float, ...] = (0.2, 0.8)
    step_size: float = 0.1
    chains: int = 5000
    steps: int = 1000
    reference_draws: int = 50_000
    floors: int = 19
    rows: int = 20_000
    training_steps: int = 3000


class DemoResult(NamedTuple):
    """What was drawn and measured.

    Attributes:
        settings: what decided it.
        start: exact draws of the target, where all chains start: the first of those to learn from.
        last: the last state of each chain, by method.
        rows: for each method its measures, with their floors and ratios, weights, acceptance rate and seconds, those of
            its training apart.
        luck: for each measure, the least and the largest ratio to the floor among the i.i.d. samples that set it.
    """

    settings: Settings
    start: np.ndarray
    last: dict[str, np.ndarray]
    rows: list[dict[str, Any]]
    luck: dict[str, tuple[float, float]]


def run(seed: int = 0, quick: bool = False, report: Callable[[str], object] = lambda _: None) -> DemoResult:
    """Sample the mixture with each method and measure the last states against independent draws.

    Args:
        seed: a whole number from 0 to 2³² - 1.
        quick: fewer chains and steps, to see that it works.
        report: called with what is being done.
    """
    if _check.whole("seed", seed, 0) >= 2**32:
        raise ValueError(f"seed must be a whole number from 0 to {2**32 - 1}, got {seed}")
    settings = Settings(seed, quick)
    if quick:
        settings = settings._replace(chains=1000, steps=200, reference_draws=20_000, floors=5)
        settings = settings._replace(rows=2000, training_steps=200)
    target = targets.stable_mixture(settings.alpha, settings.locations, settings.weights)
    key_draws, key_learn, key_run = jax.random.split(jax.random.key(seed), 3)

    report("drawing from the target")
    reference, data, *iid = _exact_draws(target, key_draws, settings)
    start = data[: settings.chains]
    reached = [_measure(draws, reference) for draws in iid]
    floor = {name: float(np.median([found[name] for found in reached])) for name in MEASURES}
    ratios = {name: [found[name] / floor[name] for found in reached] for name in MEASURES}
    luck = {name: (min(values), max(values)) for name, values in ratios.items()}

    last: dict[str, np.ndarray] = {}
    rows: list[dict[str, Any]] = []
    kernels = _kernels(target, settings) | _learned_kernels(key_learn, data, settings, report)
    for (method, (kernel, training)), key in zip(kernels.items(), jax.random.split(key_run, len(kernels)), strict=True):
        report(f"sampling with {method}")
        last[method], facts = _last_states(kernel, key, start, settings.steps)
        facts |= {"training_seconds": training}
        rows.append({"method": method, **_row(last[method], reference, floor, settings), **facts})
    return DemoResult(settings, start, last, rows, luck)


def run_seeds(seed: int, seeds: int, quick: bool, report: Callable[[str], object] = lambda _: None) -> DemoResult:
    """Repeat `run` for as many seeds, one after the other, and replace each number of the first by their median."""
    results = [run(seed + index, quick, report) for index in range(_check.whole("seeds", seeds, 1))]
    rows = [_median_row(rows) for rows in zip(*(result.rows for result in results), strict=True)]
    return results[0]._replace(settings=results[0].settings._replace(seeds=seeds), rows=rows)


def _median_row(rows: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    numbers = {name: np.median([row[name] for row in rows], axis=0).tolist() for name in rows[0] if name != "method"}
    return {"method": rows[0]["method"], **numbers}


def table(result: DemoResult) -> "Table":
    """Return the measured rows as a table for the terminal, headed by what independent draws reach; see `run`."""
    from rich import box
    from rich.table import Table

    at, first = result.settings, result.rows[0]
    title = f"Stable mixture in the plane, α = {at.alpha}: {at.chains} chains × {at.steps} steps, τ = {at.step_size}"
    seeds = f"seed {at.seed}" if at.seeds == 1 else f"medians over the seeds {at.seed} to {at.seed + at.seeds - 1}"
    caption = (
        f"{seeds}; independent draws reach the floor, 1; seconds include compilation and training.\n"
        f"Above the line the density is known, below all is learned from {at.rows} draws."
    )
    grid = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    shown = {"w1": "W1", "asinh_w1": "asinh\nW1", "q99_error": "q0.99\nerror"}
    grid.add_column("method", no_wrap=True)
    for heading in [*(text for name in shown.values() for text in (name, "/floor")), "weights", "seconds"]:
        grid.add_column(heading, justify="right", no_wrap=True)
    floor = [text for name in shown for text in (_digits(first[f"{name}_floor"]), "1")]
    grid.add_row("independent draws", *floor, plots.weights_label(at.weights), "")
    for row in result.rows:
        cells = [_digits(row[key]) for name in shown for key in (name, f"{name}_ratio")]
        seconds = f"{row['seconds'] + row['training_seconds']:.1f}"
        is_last_known = row["method"] == EXACT
        grid.add_row(row["method"], *cells, plots.weights_label(row["weights"]), seconds, end_section=is_last_known)
    return grid


def summary(result: DemoResult) -> str:
    """Return what the table shows, in words; see `run`."""
    row = {found["method"]: found for found in result.rows}
    w1, q99 = ({name: _digits(found[f"{key}_ratio"]) for name, found in row.items()} for key in ("w1", "q99_error"))
    weights = {name: plots.weights_label(found["weights"]) for name, found in row.items()}
    luck = {name: " to ".join(map(_digits, bounds)) for name, bounds in result.luck.items()}
    learned = ", ".join(f"{name} {w1[name]} and {q99[name]} times" for name in LEARNED)
    return (
        f"FULA's W1 is {w1[FULA]} times the floor, which is what independent draws reach, and its error of the "
        f"0.99-quantile {q99[FULA]} times; it gives the modes the weights {weights[FULA]} instead of "
        f"{plots.weights_label(result.settings.weights)}. Exact MAFLA makes the same proposals and accepts "
        f"{row[EXACT]['acceptance_rate']:.1%} of them: {w1[EXACT]} and {q99[EXACT]} times, weights {weights[EXACT]}. "
        f"FULA with the closed-form drift: {w1[CLOSED]} and {q99[CLOSED]} times. Learned from "
        f"{result.settings.rows} draws: {learned}. Luck alone: of "
        f"{result.settings.floors} independent samples, W1 is {luck['w1']} and the error of the quantile "
        f"{luck['q99_error']} times the floor."
    )


def pictures(result: DemoResult) -> dict[str, bytes]:
    """Return the picture of data and of three samplers that learned from them, as PNG and SVG files; see `run`."""
    panels = {
        "Data": result.start,
        "FULA, learned score": result.last[LEARNED_FULA],
        "MAFLA, the paper's": result.last[PAPER],
        "Exact MAFLA, learned energy": result.last[ENERGY],
    }
    figure = plots.mixture_scatter(panels, result.settings.locations)
    return {f"mixture.{kind}": plots.to_bytes(figure, kind) for kind in ("png", "svg")}


def _kernels(target: targets.Target, at: Settings) -> dict[str, tuple[Kernel, float]]:
    """The samplers that know the density, with no training."""
    kernels = {
        "ULA": ula(target.score, at.step_size),
        "MALA": mala(target.logdensity, at.step_size),
        FULA: fula(target.score, at.alpha, at.step_size),
        CLOSED: fula(target.score, at.alpha, at.step_size, drift=target.fractional_drift),
        EXACT: exact_mafla(target.logdensity, at.alpha, at.step_size),
    }
    return {name: (kernel, 0.0) for name, kernel in kernels.items()}


def _learned_kernels(
    key: Key[Array, ""], data: np.ndarray, at: Settings, report: Callable[[str], object]
) -> dict[str, tuple[Kernel, float]]:
    """The samplers that learn from data, with the seconds of their training."""
    keys, law = jax.random.split(key, 4), (at.alpha, at.step_size)
    schedule = Schedule(steps=at.training_steps, check_every=100, patience=6)

    def timed(what: str, fit: Callable[[], Any]) -> tuple[Any, float]:
        report(f"learning {what}")
        began = time.monotonic()
        return fit(), time.monotonic() - began

    def acceptance(key: Key[Array, ""], form: Any, proposal_score: Any) -> Any:
        chosen = schedule._replace(patience=None) if at.quick else None
        return fit_acceptance(key, score, data, *law, proposal_score, form=form, schedule=chosen, progress=False)

    score, first = timed("the score", lambda: fit_score(keys[0], data, schedule=schedule, progress=False))
    paper, second = timed("the paper's acceptance", lambda: acceptance(keys[1], "sigmoid", "proxy"))
    structured, third = timed("the structured acceptance", lambda: acceptance(keys[2], "structured", "exact"))
    energy, fourth = timed("the energy", lambda: fit_energy(keys[3], data, schedule=schedule, progress=False))
    return {
        LEARNED_FULA: (fula(score, *law), first),
        PAPER: (mafla(score, paper, *law), first + second),
        STRUCTURED: (mafla(score, structured, *law), first + third),
        ENERGY: (exact_mafla(energy, *law), fourth),
    }


def _exact_draws(target: targets.Target, key: Key[Array, ""], at: Settings) -> list[np.ndarray]:
    """Independent draws, cut up: the reference, the data to learn from, and the samples that set the floor."""
    count = at.reference_draws + at.rows + at.floors * at.chains
    draws = jax.jit(target.sample, static_argnums=1)(key, count)
    jax.eval_shape(target.logdensity, draws)  # tabulates the stable density, which no method's time should contain
    cuts = at.reference_draws + at.rows + at.chains * np.arange(at.floors)
    return np.split(np.asarray(draws), [at.reference_draws, *cuts])


def _last_states(
    kernel: Kernel, key: Key[Array, ""], start: np.ndarray, steps: int
) -> tuple[np.ndarray, dict[str, float]]:
    tree = sample(kernel, key, start, steps, thin=steps, progress=False)
    posterior, acceptance = tree["posterior"], tree["sample_stats"]["acceptance_rate"]
    facts = {"acceptance_rate": float(acceptance.mean()), "seconds": float(posterior.attrs["seconds"])}
    return posterior["x"].to_numpy()[:, -1], facts


def _measure(draws: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    found = metrics.evaluate(draws, reference)
    return {name: found[name] for name in MEASURES}


def _row(draws: np.ndarray, reference: np.ndarray, floor: dict[str, float], at: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in _measure(draws, reference).items():
        found |= {name: value, f"{name}_floor": floor[name], f"{name}_ratio": value / floor[name]}
    return found | {"weights": metrics.mixture_weights(draws, at.locations).tolist()}


def _digits(value: float) -> str:
    """About three digits, without exponents."""
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"
