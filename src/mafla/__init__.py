"""mafla: exact fractional Langevin samplers for heavy-tailed and multimodal distributions.

Names are imported when they are first used, so that ``import mafla`` is quick and does nothing else.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mafla import diagnostics, metrics, stable, targets
    from mafla.diagnostics import summary
    from mafla.drift import local_drift, riesz_drift
    from mafla.kernels.base import Kernel
    from mafla.kernels.compose import cycle
    from mafla.kernels.exact_fractional import exact_mafla
    from mafla.kernels.fractional_langevin import fula
    from mafla.kernels.fractional_underdamped import fuld
    from mafla.kernels.fractional_walk import frw
    from mafla.kernels.langevin import ula
    from mafla.kernels.learned_fractional import mafla
    from mafla.kernels.metropolis_langevin import mala
    from mafla.kernels.score_fractional import score_mafla
    from mafla.run import sample

__all__ = [
    "Kernel",
    "cycle",
    "diagnostics",
    "exact_mafla",
    "frw",
    "fula",
    "fuld",
    "local_drift",
    "mafla",
    "mala",
    "metrics",
    "riesz_drift",
    "sample",
    "score_mafla",
    "stable",
    "summary",
    "targets",
    "ula",
]

_HOME = {
    "Kernel": "kernels.base",
    "cycle": "kernels.compose",
    "exact_mafla": "kernels.exact_fractional",
    "frw": "kernels.fractional_walk",
    "fula": "kernels.fractional_langevin",
    "fuld": "kernels.fractional_underdamped",
    "local_drift": "drift",
    "mafla": "kernels.learned_fractional",
    "mala": "kernels.metropolis_langevin",
    "riesz_drift": "drift",
    "sample": "run",
    "score_mafla": "kernels.score_fractional",
    "summary": "diagnostics",
    "ula": "kernels.langevin",
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
