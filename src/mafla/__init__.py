"""mafla: fractional Langevin samplers for heavy-tailed and multimodal distributions, from a density, a score or data.

Names are imported when they are first used, so that ``import mafla`` is quick and does nothing else.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mafla import diagnostics, metrics, stable, targets
    from mafla.diagnostics import summary
    from mafla.drift import local_drift, riesz_drift
    from mafla.estimator import HeavyTailSampler
    from mafla.graphs.maxcut import maxcut
    from mafla.graphs.reading import read_graph
    from mafla.graphs.vertex_cover import vertex_cover
    from mafla.kernels.base import Kernel
    from mafla.kernels.compose import cycle
    from mafla.kernels.coordinatewise_langevin import fld
    from mafla.kernels.exact_fractional import exact_mafla
    from mafla.kernels.fractional_langevin import fula
    from mafla.kernels.fractional_underdamped import fuld
    from mafla.kernels.fractional_walk import frw
    from mafla.kernels.heavy_tail import heavy_tail
    from mafla.kernels.langevin import ula
    from mafla.kernels.learned_fractional import mafla
    from mafla.kernels.metropolis_langevin import mala
    from mafla.kernels.mode_jumps import mode_jumps
    from mafla.kernels.radial_walk import radial
    from mafla.kernels.score_fractional import score_mafla
    from mafla.kernels.tempered import tempered
    from mafla.learn.acceptance import fit_acceptance
    from mafla.learn.audit import audit
    from mafla.learn.energy import fit_energy
    from mafla.learn.loading import load
    from mafla.learn.score import fit_score
    from mafla.learn.training import Schedule
    from mafla.modes import find_modes
    from mafla.run import sample
    from mafla.score_integral import integrate_score

__all__ = [
    "HeavyTailSampler",
    "Kernel",
    "Schedule",
    "audit",
    "cycle",
    "diagnostics",
    "exact_mafla",
    "find_modes",
    "fit_acceptance",
    "fit_energy",
    "fit_score",
    "fld",
    "frw",
    "fula",
    "fuld",
    "heavy_tail",
    "integrate_score",
    "load",
    "local_drift",
    "mafla",
    "mala",
    "maxcut",
    "metrics",
    "mode_jumps",
    "radial",
    "read_graph",
    "riesz_drift",
    "sample",
    "score_mafla",
    "stable",
    "summary",
    "targets",
    "tempered",
    "ula",
    "vertex_cover",
]

_HOME = {
    "HeavyTailSampler": "estimator",
    "Kernel": "kernels.base",
    "Schedule": "learn.training",
    "audit": "learn.audit",
    "cycle": "kernels.compose",
    "exact_mafla": "kernels.exact_fractional",
    "find_modes": "modes",
    "fit_acceptance": "learn.acceptance",
    "fit_energy": "learn.energy",
    "fit_score": "learn.score",
    "fld": "kernels.coordinatewise_langevin",
    "frw": "kernels.fractional_walk",
    "fula": "kernels.fractional_langevin",
    "fuld": "kernels.fractional_underdamped",
    "heavy_tail": "kernels.heavy_tail",
    "integrate_score": "score_integral",
    "load": "learn.loading",
    "local_drift": "drift",
    "mafla": "kernels.learned_fractional",
    "mala": "kernels.metropolis_langevin",
    "maxcut": "graphs.maxcut",
    "mode_jumps": "kernels.mode_jumps",
    "radial": "kernels.radial_walk",
    "read_graph": "graphs.reading",
    "riesz_drift": "drift",
    "sample": "run",
    "score_mafla": "kernels.score_fractional",
    "summary": "diagnostics",
    "tempered": "kernels.tempered",
    "ula": "kernels.langevin",
    "vertex_cover": "graphs.vertex_cover",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("mafla")
    if name in _HOME:
        return getattr(importlib.import_module(f"mafla.{_HOME[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"mafla.{name}")
    raise AttributeError(f"module 'mafla' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
