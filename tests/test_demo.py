"""The demo: repeatable, true to what was drawn, and it shows what the exact correction is for."""

import io
import json
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from mafla import demo, metrics


@cache
def quick() -> demo.DemoResult:
    return demo.run(seed=0, quick=True)


def by_method() -> dict[str, dict[str, float]]:
    return {row["method"]: row for row in quick().rows}


@pytest.mark.slow
def test_exact_is_closer_to_the_floor_than_fula() -> None:
    # The seed is fixed. After 200 steps FULA's defect is many times what luck does to an independent sample.
    rows = by_method()
    for name in ("w1", "asinh_w1", "q99_error", "tail_msle"):
        assert rows["exact MAFLA"][f"{name}_ratio"] < rows["FULA"][f"{name}_ratio"], name
    assert rows["FULA"]["q99_error_ratio"] > 5 * quick().luck["q99_error"][1]


@pytest.mark.slow
def test_rows_are_the_metrics_of_the_last_states() -> None:
    result = quick()
    for row in result.rows:
        last = result.last[row["method"]]
        assert last.shape == (result.settings.chains, 2)
        assert row["weights"] == metrics.mixture_weights(last, result.settings.locations).tolist()
        for name in demo.MEASURES:
            assert row[f"{name}_ratio"] == pytest.approx(row[name] / row[f"{name}_floor"])


@pytest.mark.slow
def test_every_chain_moved_and_only_metropolis_rejects() -> None:
    result = quick()
    for row in result.rows:
        moved = np.any(result.last[row["method"]] != result.start, axis=1)
        assert moved.all(), row["method"]
    rates = {row["method"]: row["acceptance_rate"] for row in result.rows}
    assert rates["ULA"] == rates["FULA"] == rates["FULA, closed form"] == 1
    assert 0.5 < rates["exact MAFLA"] < 1


@pytest.mark.slow
def test_luck_surrounds_the_floor() -> None:
    assert all(low <= 1 <= high for low, high in quick().luck.values())


@pytest.mark.slow
def test_the_table_fits_a_terminal_and_shows_every_method() -> None:
    console = Console(width=80, file=io.StringIO())
    console.print(demo.table(quick()))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    assert all(row["method"] in text for row in quick().rows)
    assert text.count("/floor") == 3


@pytest.mark.slow
def test_the_summary_is_computed() -> None:
    result = quick()
    changed = [row | {"w1_ratio": 77.7} if row["method"] == "FULA" else row for row in result.rows]
    assert demo.summary(result._replace(rows=changed)).startswith("FULA's W1 is 77.7 times the floor")


@pytest.mark.slow
def test_rows_and_settings_are_json() -> None:
    result = quick()
    text = json.dumps([result.rows, result.settings._asdict(), result.luck], allow_nan=False)
    assert json.loads(text)[0] == result.rows


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5])
def test_a_bad_seed_is_refused(seed: float) -> None:
    with pytest.raises(ValueError, match="seed must be a whole number"):
        demo.run(seed)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws_and_another_does_not() -> None:
    again, other = demo.run(0, quick=True), demo.run(1, quick=True)
    for method, last in quick().last.items():
        np.testing.assert_array_equal(last, again.last[method])
        assert np.any(last != other.last[method])


def test_medians_over_seeds_are_between_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    def stand_in(seed: int, quick: bool, report: object) -> demo.DemoResult:
        del report
        row = {"method": "FULA", "w1": float(seed), "weights": [0.1 * seed, 1 - 0.1 * seed]}
        return demo.DemoResult(demo.Settings(seed, quick), np.zeros((1, 2)), {}, [row], {})

    monkeypatch.setattr(demo, "run", stand_in)
    result = demo.run_seeds(2, 3, quick=True)
    assert result.rows == [{"method": "FULA", "w1": 3.0, "weights": pytest.approx([0.3, 0.7])}]
    assert (result.settings.seed, result.settings.seeds) == (2, 3)
    with pytest.raises(ValueError, match="seeds must be a whole number of at least 1, got 0"):
        demo.run_seeds(0, 0, quick=True)
