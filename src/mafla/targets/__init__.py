"""Analytic targets: log density, score, exact draws and, where it is known, the closed-form fractional drift."""

from mafla.targets.base import Target
from mafla.targets.curved import banana, funnel
from mafla.targets.normal import gaussian, gaussian_mixture
from mafla.targets.stable_family import stable, stable_mixture
from mafla.targets.student import cauchy, student_t

__all__ = [
    "Target",
    "banana",
    "cauchy",
    "funnel",
    "gaussian",
    "gaussian_mixture",
    "stable",
    "stable_mixture",
    "student_t",
]
