"""Ablations change one part, and report what the solvers found with it."""

from dataclasses import asdict

import pytest

from mafla.bench import ablation
from mafla.bench.graph_instances import Instance
from mafla.graphs.families import family


def test_every_plan_but_the_default_differs_from_it() -> None:
    for plans in (ablation.CUT_PLANS, ablation.COVER_PLANS):
        default, *others = (asdict(plan) for plan in plans.values())
        assert all(other != default for other in others)
        assert len({str(other) for other in others}) == len(others)


def test_rows_have_the_values_of_every_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    for plans in ("CUT_PLANS", "COVER_PLANS"):  # each is compiled anew
        monkeypatch.setattr(ablation, plans, dict(list(getattr(ablation, plans).items())[:2]))
    small = [
        Instance("a", "maxcut", lambda: family("gnp 0.2", 14, 0), 1.0, 0.0, 0.0, 0.0),
        Instance("b", "vertex cover", lambda: family("gnm 2.5", 14, 0), 1.0, 0.0, 0.0, 0.0),
    ]
    monkeypatch.setattr(ablation, "instances", lambda: small)
    monkeypatch.setattr(ablation, "GRAPHS", ("a", "b"))
    monkeypatch.setattr(ablation, "LARGE_COVERS", (("sparse 4", 100),))
    monkeypatch.setattr(ablation, "SECONDS", 0.05)
    rows = ablation.run(0, quick=True)
    assert [row["plan"] for row in rows if row["graph"] == "a"] == list(ablation.CUT_PLANS)
    assert [row["plan"] for row in rows if row["graph"] == "b"] == list(ablation.COVER_PLANS)
    assert all(row["best"] == row["mean"] == row["values"][0] > 0 for row in rows)
    cuts, covers = ablation.describe(rows).renderables
    assert (cuts.row_count, covers.row_count) == (len(ablation.CUT_PLANS), len(ablation.COVER_PLANS))
