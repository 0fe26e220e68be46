"""How the time of the MaxCut solver grows with the graph: seconds to come within 1 % of the best, against N."""

from typing import Any

import numpy as np

from mafla.graphs.families import family
from mafla.graphs.maxcut import maxcut

__all__ = ["describe", "run", "slope"]

FAMILIES = ("sparse 4", "sparse 20")
SIZES = (1000, 3162, 10_000, 31_623, 100_000)
LIMITS = (10.0, 10.0, 20.0, 40.0, 60.0)
NEAR = 0.01

Row = dict[str, Any]


def run(seed: int = 0, quick: bool = False) -> list[Row]:
    """Solve random graphs of average degree 4 and 20, from a thousand to a hundred thousand vertices.

    The best is that of the run itself; how much longer than its limit a run took is reported too.

    Args:
        seed: of the graphs and of the search.
        quick: up to ten thousand vertices, and a fifth of the time.
    """
    maxcut(family("sparse 4", 50, 0), time_limit=0.1)  # loads what is compiled
    sizes = list(zip(SIZES, LIMITS, strict=True))[: 3 if quick else None]
    rows = [_measure(name, size, 0.2 * limit if quick else limit, seed) for name in FAMILIES for size, limit in sizes]
    for name in FAMILIES:
        own = [row for row in rows if row["family"] == name]
        own[-1]["slope"] = slope([row["vertices"] for row in own], [row["seconds_to_1_percent"] for row in own])
    return rows


def describe(rows: list[Row]) -> Any:
    """Return the rows as a table for the terminal."""
    from mafla.bench.tables import table

    return table("Time to within 1 % of the best; the slope is that of its logarithm against log N", rows)


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Return the exponent b of ``seconds = a sizes^b`` by least squares of logarithms.

    Example:
        >>> round(slope([10, 100, 1000], [0.2, 2.0, 20.0]), 6)
        1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _measure(name: str, size: int, limit: float, seed: int) -> Row:
    graph = family(name, size, seed)
    found = maxcut(graph, time_limit=limit, seed=seed)
    near = found.history[found.history[:, 1] >= (1 - NEAR) * found.value]
    return {
        "family": name,
        "vertices": size,
        "edges": graph.num_edges,
        "best": found.value,
        "seconds_to_1_percent": float(near[0, 0]),
        "limit": limit,
        "seconds_over_limit": found.seconds - limit,
        "slope": None,
    }
