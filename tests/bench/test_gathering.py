"""Gathering rows: in their places whatever is done first, each part told at once, no failure passed over."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mafla.bench import gathering
from mafla.bench.gathering import Row, gather


def work(part: Row) -> list[Row]:
    if part["at"] < 0:
        raise RuntimeError("as it was told")
    return [{"at": part["at"]}]


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "processes", ThreadPoolExecutor)


def run(parts: list[int], known: list[Row]) -> tuple[list[Row], list[tuple[str, int]]]:
    told: list[tuple[str, int]] = []
    found = gather(
        work,
        [{"at": at} for at in parts],
        known,
        1,
        lambda row: row["at"],
        lambda made: str(made[0]["at"]),
        lambda line, rows: told.append((line, len(rows))),
    )
    return found, told


def test_rows_are_sorted_and_every_part_is_told() -> None:
    known = [{"at": 2}]
    found, told = run([5, 1, 3], known)
    assert [row["at"] for row in found] == [1, 2, 3, 5]
    assert sorted(line for line, _ in told) == ["1", "3", "5"]
    assert [count for _, count in told] == [2, 3, 4]
    assert known == [{"at": 2}]


def test_a_failure_ends_the_work() -> None:
    with pytest.raises(RuntimeError, match="as it was told"):
        run([-1], [])
