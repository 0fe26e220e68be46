"""All experiments by name, and the one function that other processes call."""

import math
import time
from difflib import get_close_matches
from typing import Any

from mafla.output import versions
from mafla.reproduce import (
    alpha_grid,
    alpha_loss,
    dimension,
    graph_tables,
    mixture,
    random_walk,
    riesz_order,
    settings,
    stable_densities,
    step_size,
)
from mafla.reproduce.experiment import Cell, Experiment

__all__ = ["EXPERIMENTS", "compute", "named"]

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        stable_densities.EXPERIMENT,
        mixture.EXPERIMENT,
        alpha_grid.EXPERIMENT,
        step_size.EXPERIMENT,
        dimension.EXPERIMENT,
        riesz_order.EXPERIMENT,
        alpha_loss.EXPERIMENT,
        random_walk.EXPERIMENT,
        graph_tables.MAXCUT,
        graph_tables.VERTEX_COVER,
        settings.EXPERIMENT,
    )
}


def named(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, "all" for all of them, each once.

    Example:
        >>> named(["mixtures"])
        Traceback (most recent call last):
        ...
        ValueError: name must be all or one of stable-densities, mixture, ..., got 'mixtures'; did you mean 'mixture'?
    """
    for name in names:
        if name not in (*EXPERIMENTS, "all"):
            near = get_close_matches(name, EXPERIMENTS, 1, 0.4)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"name must be all or one of {', '.join(EXPERIMENTS)}, got {name!r}{hint}")
    return [each for each in EXPERIMENTS.values() if "all" in names or each.name in names]


def compute(task: Cell) -> dict[str, Any]:
    """Compute a cell and return its record.

    Args:
        task: the name of the "experiment", its "cell", and whether it is "quick".

    Example:
        >>> record = compute({"experiment": "stable-densities", "cell": {"alpha": 2.0}, "quick": True})
        >>> round(record["rows"][0]["mass"], 6), record["error"]
        (1.0, None)
    """
    import jax

    began = time.perf_counter()
    rows = EXPERIMENTS[task["experiment"]].measure(task["cell"], task["quick"])
    jax.clear_caches()  # a process computes hundreds of cells, whose programs are all different
    plain = [{name: _finite(value) for name, value in row.items()} for row in rows]
    return {**task, "versions": versions(), "seconds": time.perf_counter() - began, "error": None, "rows": plain}


def _finite(value: Any) -> Any:
    """Return the value as JSON has it; what is not a number there is None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
