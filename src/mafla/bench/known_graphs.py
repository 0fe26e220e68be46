"""The best solutions known for random graphs by seed, against which samplers and solvers are judged.

Found by long runs of several solvers (simulated annealing, tabu search, low-rank relaxation and local search) on
NetworkX's graphs, but for four cuts of 1024 vertices, 1711, 1713, 30003 and 29920, which `mafla.maxcut` found and the
others had missed by 1, 3, 2 and 2. Which are proved optimal is not said here.
"""

from collections.abc import Mapping

__all__ = ["best_known_cover", "best_known_cut"]

SIZES = (64, 256, 512, 1024)
CUTS = {
    "BA": ((103, 103, 104), (424, 425, 426), (852, 853, 853), (1711, 1713, 1712)),
    "gnp 0.1": ((165, 154, 149), (2100, 2149, 2080), (7885, 7815, 7793), (30003, 29920, 29924)),
    "gnp 0.2": ((271, 265, 264), (3872, 3938, 3884), (14947, 14902, 14751), (57530, 57564, 57221)),
}
COVERS = {"BA": ((28,), (105,), (215,), (447,)), "gnm 2.5": ((35,), (143,), (289,), (572,))}


def best_known_cut(family: str, num_vertices: int, seed: int) -> float | None:
    """Return the largest cut known of a graph of `mafla.graphs.families`, or None.

    Example:
        >>> best_known_cut("BA", 256, 1), best_known_cut("BA", 100, 1)
        (425.0, None)
    """
    return _entry(CUTS, family, num_vertices, seed)


def best_known_cover(family: str, num_vertices: int, seed: int) -> float | None:
    """Return the size of the smallest cover known, or None; see `best_known_cut`."""
    return _entry(COVERS, family, num_vertices, seed)


def _entry(table: Mapping[str, tuple[tuple[int, ...], ...]], family: str, num_vertices: int, seed: int) -> float | None:
    if family not in table or num_vertices not in SIZES:
        return None
    values = table[family][SIZES.index(num_vertices)]
    return float(values[seed]) if seed < len(values) else None
