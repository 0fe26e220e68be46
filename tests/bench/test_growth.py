"""Growth: rows for every size, and a slope that is that of the times."""

import pytest

from mafla.bench import growth


def test_times_are_measured_and_their_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "SIZES", (50, 100, 200))
    monkeypatch.setattr(growth, "LIMITS", (0.2, 0.2, 0.2))
    rows = growth.run(0)
    assert [row["vertices"] for row in rows] == [50, 100, 200] * 2
    assert [row["edges"] for row in rows] == [100, 200, 400, 500, 1000, 2000]
    assert all(0 < row["seconds_to_1_percent"] <= 0.4 for row in rows)
    for own in (rows[:3], rows[3:]):
        times = [row["seconds_to_1_percent"] for row in own]
        assert own[-1]["slope"] == pytest.approx(growth.slope([50, 100, 200], times))
    assert growth.describe(rows).row_count == 6


def test_a_power_law_has_its_exponent() -> None:
    assert growth.slope([1, 10, 100], [5.0, 5.0 * 10**1.5, 5.0 * 10**3]) == pytest.approx(1.5)
