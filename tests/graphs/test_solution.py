"""When a solution is proved to be the best."""

import numpy as np
import pytest

from mafla.graphs.solution import Solution

SIDES = np.array([1, -1], np.int8)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (3.0, 3.0, True),
        (3.0, 4.0, False),
        (3.0, None, False),
        (0.0, 0.0, True),
        (1e9, 1e9 + 1, False),
        (1e13 + 5, 1e13 + 15, False),
    ],
)
def test_a_solution_is_optimal_if_the_bound_meets_it(value: float, bound: float | None, expected: bool) -> None:
    assert Solution(value, SIDES, bound).optimal is expected


def test_the_order_of_a_sum_does_not_decide_on_optimality() -> None:
    weights = np.random.default_rng(0).normal(size=1000)
    value, bound = float(sum(weights)), float(sum(weights[::-1]))
    assert value != bound
    assert Solution(value, SIDES, bound).optimal


def test_a_solution_shows_itself_without_its_arrays() -> None:
    shown = repr(Solution(3.0, SIDES, 4.0, notes=("a remark",)))
    assert "value=3.0" in shown
    assert "a remark" in shown
    assert "array" not in shown
