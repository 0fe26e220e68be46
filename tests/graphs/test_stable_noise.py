"""Stable numbers one at a time have the characteristic function and the Laplace transform of their laws."""

import math

import numpy as np
import pytest

from mafla.graphs.stable_noise import positive_stable, symmetric_stable


@pytest.mark.parametrize("alpha", [2.0, 1.8, 1.2])
def test_symmetric_numbers_have_their_characteristic_function(alpha: float) -> None:
    """Each of six cosines has an error of at most 1/sqrt(2 n): six deviations pass with probability 1 - 1e-8."""
    rng = np.random.default_rng(5)
    draws = np.array([symmetric_stable(alpha, rng) for _ in range(20_000)])
    for t in (0.2, 0.7, 1.5):
        assert abs(np.cos(t * draws).mean() - math.exp(-(t**alpha))) < 6 / math.sqrt(2 * len(draws))
        assert abs(np.sin(t * draws).mean()) < 6 / math.sqrt(2 * len(draws))


@pytest.mark.parametrize("index", [1.0, 0.9, 0.6])
def test_positive_numbers_have_their_laplace_transform(index: float) -> None:
    """Each mean of exp(-s A), which lies between 0 and 1, has an error of at most 1/(2 sqrt(n))."""
    rng = np.random.default_rng(6)
    draws = np.array([positive_stable(index, rng) for _ in range(20_000)])
    for s in (0.2, 1.0, 3.0):
        assert abs(np.exp(-s * draws).mean() - math.exp(-(s**index))) < 6 / (2 * math.sqrt(len(draws)))
