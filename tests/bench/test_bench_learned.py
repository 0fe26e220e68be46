"""The comparison of learned samplers: cells that are what they say, fair floors, and goals that can be missed."""

import json
import math
from typing import Any

import jax
import numpy as np
import pytest
from learned_cases import LINE, MIXTURE, TINY, case_of, draws_as, fresh, with_score
from scipy import stats

from mafla import cli, metrics
from mafla.bench import learned, peers
from mafla.bench.learned import Yardstick, cell, make_yardstick, paper_gain, run
from mafla.bench.learned_methods import METHODS, Case, Outcome, Settings
from mafla.bench.learned_targets import daily_returns, train_and_held_out


@pytest.fixture
def few_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "synthetic", lambda: [MIXTURE, LINE])
    monkeypatch.setattr(learned, "daily_returns", lambda: pytest.fail("loaded for nothing"))
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # other tests use them


def test_a_cell_measures_the_draws_against_the_reference_and_the_floor() -> None:
    case = case_of(MIXTURE)
    judge, draws = make_yardstick(case), fresh(case)
    row = cell(case, judge, "iid", draws_as(lambda _: draws))
    expected = metrics.evaluate(draws, judge.reference)
    for name in learned.MEASURES:
        assert row[name] == pytest.approx(expected[name])
        assert row[f"{name}_ratio"] == pytest.approx(row[name] / judge.floor[name])
    assert (row["problem"], row["seed"], row["method"], row["error"]) == (MIXTURE.name, 0, "iid", None)
    assert (row["seconds_fit"], row["seconds_sample"], row["seconds"]) == (1, 2, 3)
    assert (row["remembered"], row["duplicates"]) == (None, 0)
    json.dumps(row, allow_nan=False)


def test_the_floor_is_the_median_of_samples_of_the_size_of_the_draws() -> None:
    case = case_of(MIXTURE, settings=TINY._replace(floors=1))
    judge = make_yardstick(case)
    one = judge.floor["w1"]
    assert judge.reference.shape == (2000, 2)
    floors = make_yardstick(case_of(MIXTURE, settings=TINY._replace(floors=21))).floor
    big = make_yardstick(case_of(MIXTURE, settings=TINY._replace(floors=21, chains=400))).floor
    assert floors["w1"] != one
    assert big["asinh_w1"] < floors["asinh_w1"]  # more draws are closer
    assert make_yardstick(case).floor == judge.floor


def test_rows_reference_floors_and_starts_are_not_the_same_draws() -> None:
    case = case_of(LINE)
    judge = make_yardstick(case)
    assert judge.points is not None
    everything = np.concatenate([case.rows, judge.reference, judge.points[0]])
    assert len(np.unique(everything)) > 0.999 * len(everything)
    assert judge.floor["w1"] > 0
    starts = {row.tobytes() for row in case.rows}
    assert all(row.tobytes() in starts for row in case.start)
    assert len(np.unique(case.start)) == len(case.start) == 100


def test_returns_are_judged_by_the_other_half_and_the_floor_by_halves() -> None:
    (problem,) = learned._chosen("returns")
    case = case_of(problem, seed=4, settings=Settings())
    judge = make_yardstick(case._replace(settings=TINY))
    held_out = train_and_held_out(problem, 4, 0)[1]
    assert np.array_equal(judge.reference, held_out)
    assert judge.points is None
    assert len(case.start) == 626  # fewer than there are chains elsewhere
    halves = [train_and_held_out(problem, seed, 0) for seed in (4, 5, 6)]
    assert judge.floor["w1"] == np.median([metrics.wasserstein(*pair) for pair in halves])
    assert problem.rows is not None
    np.testing.assert_allclose(np.median(problem.rows, axis=0), 0, atol=1e-12)
    raw = daily_returns().rows
    assert raw is not None
    assert stats.spearmanr(problem.rows[:, 3], raw[:, 3]).statistic == pytest.approx(1)  # only the units are others


def test_copies_of_the_data_are_told_from_draws() -> None:
    case = case_of(MIXTURE)
    judge = make_yardstick(case)
    copies = cell(case, judge, "copies", lambda at: draws_as(lambda _: at.start, start=at.start)(at))
    assert copies["remembered"] == pytest.approx(1)
    assert copies["duplicates"] == 1
    assert copies["asinh_w1_ratio"] < 3  # by distance alone they look perfect
    half = np.concatenate([case.start[:50], fresh(case, 50)])
    halves = cell(case, judge, "half", draws_as(lambda _: half, start=case.start))
    assert halves["duplicates"] == pytest.approx(0.5)
    new = cell(case, judge, "new", draws_as(fresh, start=case.start))
    assert abs(new["remembered"]) < 5 / math.sqrt(100)
    stuck = cell(case, judge, "stuck", draws_as(fresh, start=case.start, end=case.start))
    assert stuck["remembered"] == pytest.approx(1)  # by the ends of chains, whatever was chosen from them
    repeated = cell(case, judge, "one point", draws_as(lambda _: np.repeat(fresh(case, 25), 4, axis=0)))
    assert repeated["duplicates"] == pytest.approx(0.75)


def test_weights_and_log_densities_are_compared_with_the_truth() -> None:
    case = case_of(MIXTURE)
    judge, draws = make_yardstick(case), fresh(case)
    assert judge.points is not None
    points, truth = judge.points
    assert MIXTURE.logdensity is not None
    np.testing.assert_allclose(truth, MIXTURE.logdensity(points))  # type: ignore[arg-type]
    alternating = np.where(np.arange(len(points)) % 2, 0.3, -0.1)
    row = cell(case, judge, "off", draws_as(lambda _: -draws, logdensity=lambda _: truth + alternating))
    assert row["logdensity_mean"] == pytest.approx(0.1)
    assert row["logdensity_sd"] == pytest.approx(0.2)
    assert row["weights_error"] == pytest.approx(0.6, abs=0.15)  # mirrored: 0.8 and 0.2 instead of 0.2 and 0.8
    line = case_of(LINE)
    assert cell(line, make_yardstick(line), "iid", draws_as(fresh))["weights_error"] is None


def test_a_density_of_nothing_is_no_number() -> None:
    case = case_of(LINE)
    nothing = draws_as(fresh, logdensity=lambda points: np.full(len(points), -np.inf))
    row = cell(case, make_yardstick(case), "nothing", nothing)
    assert row["error"] is None
    assert row["logdensity_mean"] is None
    json.dumps(row, allow_nan=False)


def test_a_failing_cell_says_why_and_keeps_its_columns() -> None:
    case = case_of(LINE)
    judge = make_yardstick(case)
    row = cell(case, judge, "wild", draws_as(lambda _: np.full((100, 1), np.nan)))
    assert row["error"] == "ValueError: samples must be finite, got nan"
    assert row["w1"] is None
    assert row.keys() == cell(case, judge, "iid", draws_as(fresh)).keys()


def test_warnings_are_kept_in_the_row() -> None:
    import warnings

    def noisy(case: Case) -> Outcome:
        warnings.warn("some proposals were infinite", stacklevel=1)
        return draws_as(fresh)(case)

    case = case_of(LINE)
    assert cell(case, make_yardstick(case), "noisy", noisy)["warnings"] == ["some proposals were infinite"]


@pytest.mark.usefixtures("few_problems")
def test_peers_get_the_time_of_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def peer(rows: Any, count: int, seed: int, seconds: float | None) -> peers.Draws:
        asked.append((len(rows), count, seed, seconds))
        return peers.Draws(np.zeros((count, 1)), None, 4.0)

    monkeypatch.setitem(peers.PEERS, "FlowJAX flow", peer)
    monkeypatch.setattr(learned, "METHODS", {"default": draws_as(fresh), "flow": METHODS["FlowJAX flow"]})
    rows = run(2, 1, only="1-D", settings=TINY._replace(flow_share=1.5))
    assert asked == [(400, 100, 2, 4.5)]
    assert [row["seconds"] for row in rows] == [3, 4]


@pytest.mark.usefixtures("few_problems")
def test_every_seed_and_problem_gets_every_method_and_failures_do_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(case: Case) -> Outcome:
        raise RuntimeError(f"no luck\nwith seed {case.seed}")

    monkeypatch.setattr(learned, "METHODS", {"broken": broken, "iid": draws_as(fresh)})
    lines: list[str] = []
    sizes: list[int] = []

    def report(line: str, rows: list[dict[str, Any]]) -> None:
        lines.append(line)
        sizes.append(len(rows))

    rows = run(3, 2, only="1-D", report=report, settings=TINY)
    name = LINE.name
    found = [(row["problem"], row["seed"], row["method"], row["error"]) for row in rows]
    errors = [f"RuntimeError: no luck with seed {seed}" for seed in (3, 4)]
    for seed, error in zip((3, 4), errors, strict=True):
        assert [row[2:] for row in found if row[:2] == (name, seed)] == [("broken", error), ("iid", None)]
    assert lines[0] == f"{name}, seed 3, broken: failed, {errors[0]}"
    assert lines[1].startswith(f"{name}, seed 3, iid: asinh W1 ")
    assert sizes == [1, 2, 3, 4]
    only_iid = run(3, 1, only="1-D", settings=TINY._replace(methods=("iid",)))
    assert [row["method"] for row in only_iid] == ["iid"]
    assert [row["method"] for row in run(3, 1, only="1-D", methods="ii", settings=TINY)] == ["iid"]


def test_quick_is_one_seed_with_the_rows_and_chains_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def cells(*arguments: Any) -> list[Any]:
        seen.append(arguments)
        return []

    monkeypatch.setattr(learned, "_cells", cells)
    run(methods="flow", only="2-D|paper")
    assert {problem.name for problem, *_ in seen} == {MIXTURE.name, "2-D mixture of three, α=1.7"}  # not the paper's
    seen.clear()
    assert run(1, 5, quick=True) == []
    assert {(seed, sizes) for _, seed, sizes in seen} == {(1, learned.QUICK)}
    assert [problem.name for problem, *_ in seen][:3] == [MIXTURE.name, "paper's step size", "4-D mixture, α=1.5"]
    assert seen[-1][0].name == "daily returns"
    assert len(seen) == 7
    whole = Settings()
    assert all(getattr(learned.QUICK, name) == getattr(whole, name) for name in ("rows", "chains", "steps", "energy"))
    assert set(learned.QUICK.methods) < set(METHODS)


def test_paper_gain_bisects_to_the_paper_and_compares_at_that_step_size(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(MIXTURE, settings=TINY._replace(bisections=12))
    judge = make_yardstick(case)
    tried: list[float] = []

    def chains(case: Case, kernel: Any, seconds_fit: float) -> Outcome:
        step_size = float(kernel.params.step_size)
        tried.append(step_size)
        moved = judge.reference + np.array([2 * 3.0 * step_size, 0.0])  # a W1 of 3 τ
        return draws_as(lambda _: moved, facts={"step_size": step_size}, seconds_fit=seconds_fit)(case)

    learned_at: list[float] = []

    def acceptance(case: Case) -> Outcome:
        learned_at.append(case.settings.step_size)
        return draws_as(lambda _: judge.reference + np.array([0.2, 0.0]))(case)

    monkeypatch.setattr(learned, "run_chains", chains)
    monkeypatch.setattr(learned, "METHODS", {"learned, paper": acceptance})
    fula, paper = paper_gain(with_score(case), judge)
    assert tried[:7] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, math.sqrt(1.6 * 3.2)])
    assert len(tried) == 6 + 12
    assert fula["w1"] == pytest.approx(4.87, rel=1e-3)
    assert learned_at == [fula["step_size"]]
    assert paper["w1_gain"] == pytest.approx(48.7, rel=1e-3)
    assert paper["q99_error_gain"] == pytest.approx(fula["q99_error"] / paper["q99_error"])
    assert fula["w1_gain"] is None


def test_paper_gain_ends_where_fula_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Outcome:
        raise RuntimeError("no chains")

    monkeypatch.setattr(learned, "run_chains", fail)
    case = with_score(case_of(MIXTURE))
    (row,) = paper_gain(case, Yardstick(case.rows, dict.fromkeys(learned.MEASURES, 1.0)))
    assert (row["method"], row["error"]) == ("FULA", "RuntimeError: no chains")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"only": "5-D"}, "only must be parts of the names of problems, 2-D mixture, α=1.95; .*, got '5-D'"),
        ({"methods": "NUTS"}, "methods must be parts of the names of methods, default; .*, got 'NUTS'"),
        ({"methods": "flow", "only": "paper"}, "methods must contain 'learned, paper' for the problem \"paper's step"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], answer: str) -> None:
    with pytest.raises(ValueError, match=answer):
        run(**arguments, settings=TINY)


def test_problems_are_chosen_by_a_part_of_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "daily_returns", lambda: pytest.fail("loaded for nothing"))
    assert [problem.name for problem in learned._chosen("bimodal")] == ["8-D bimodal, α=1.9"]
    assert [problem.name for problem in learned._chosen("paper")] == ["paper's step size"]
    assert learned._chosen("paper")[0].draw is not None


def test_the_command_prints_cells_to_stderr_and_writes_the_rows(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    kept: list[list[str]] = []  # what was in the folder before the work was done

    def work(*, report: Any, **settings: Any) -> list[dict[str, Any]]:
        asked.append(settings)
        row = {"problem": "P", "seed": 7, "method": "default", "error": None, "asinh_w1_ratio": 1.0}
        report("P, seed 7, default: done [in brackets]", [row])
        kept.append(sorted(path.name for path in tmp_path.iterdir()))
        return [row]

    monkeypatch.setattr(learned, "run", work)
    options = ["--seed", "7", "--seeds", "2", "--only", "1-D", "--methods", "FULA|flow", "--output", str(tmp_path)]
    assert cli.main(["bench", "learned", *options]) == 0
    out, err = capsys.readouterr()
    assert "P, seed 7, default: done [in brackets]" in err
    assert "1.00✓" in out
    assert kept == [["learned.json"]]
    assert out.splitlines()[-1] == str(tmp_path / "learned.json")
    saved = json.loads((tmp_path / "learned.json").read_text(encoding="utf-8"))
    assert (saved["seed"], saved["seeds"], saved["only"], saved["quick"]) == (7, 2, "1-D", False)
    assert cli.main(["bench", "learned", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == saved["rows"]
    assert asked == [
        {"seed": 7, "seeds": 2, "quick": False, "only": "1-D", "methods": "FULA|flow"},
        {"seed": 0, "seeds": 5, "quick": True, "only": "", "methods": ""},
    ]


@pytest.mark.slow
def test_every_method_runs_on_every_kind_of_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    small = peers.Flow(layers=1, width=8, knots=4, rates=(1e-2,), epochs=2)

    def flow(rows: Any, count: int, seed: int, seconds: float | None) -> peers.Draws:
        del seconds
        return peers.normalizing_flow(rows, count, seed, shape=small)

    monkeypatch.setitem(peers.PEERS, "FlowJAX flow", flow)
    for only in ("paper", "returns"):
        rows = run(0, 1, only=only, settings=TINY)
        assert [row["error"] for row in rows] == [None] * (2 if only == "paper" else 10)
        assert all(row["w1_ratio"] > 0 for row in rows)
        json.dumps(rows, allow_nan=False)
