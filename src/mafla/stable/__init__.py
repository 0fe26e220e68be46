"""The isotropic symmetric α-stable law in any dimension: draws, log density and score.

``SαS(1)`` in R^d has the characteristic function ``exp(-|u|^α)``. At α=2 it is the Gaussian ``N(0, 2 I)`` (variance
two, not one), at α=1 the multivariate Cauchy law. It is a Gaussian with a random scale, ``ξ = sqrt(2A) z``, where
``A`` is positive α/2-stable and shared by all coordinates of ``ξ``.
"""

from mafla.stable.density import logpdf, score
from mafla.stable.draws import log_scale, sample

__all__ = ["log_scale", "logpdf", "sample", "score"]
