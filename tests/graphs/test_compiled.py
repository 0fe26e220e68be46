"""Compiled functions compute what they say, and a missing numba is named."""

import sys

import pytest

from mafla.graphs.compiled import compiled


@compiled
def triangle_number(n: int) -> int:
    total = 0
    for k in range(n + 1):
        total += k
    return total


@compiled
def twice_triangle_number(n: int) -> int:
    return 2 * triangle_number(n)


def test_compiled_functions_call_each_other() -> None:
    assert triangle_number(100) == 5050
    assert twice_triangle_number(100) == 10100
    assert type(triangle_number).__name__ == "CPUDispatcher"


def test_a_missing_numba_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ModuleNotFoundError, match=r"^\S+ needs numba: pip install 'mafla\[graphs\]'$"):
        compiled(triangle_number)
