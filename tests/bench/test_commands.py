"""The commands of benchmarks: long work goes on with the rows in its folder, and refuses rows of another kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from mafla import cli
from mafla.bench import graphs, tails


@pytest.mark.parametrize(("name", "job"), [("graphs", graphs), ("tails", tails)])
def test_long_work_goes_on_with_the_rows_in_its_folder(
    name: str, job: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*, known: list[Any], report: Any, **_options: Any) -> list[Any]:
        rows = [*known, {"number": len(known)}]
        report("one more", rows)
        return rows

    monkeypatch.setattr(job, "run", work)
    monkeypatch.setattr(job, "describe", lambda rows: f"{len(rows)} rows")
    monkeypatch.setattr(job, "summary", lambda _rows: "")
    monkeypatch.setattr(job, "picture", lambda _rows: None)
    here = ["--output", str(tmp_path)]
    for count in (1, 2):
        assert cli.main(["bench", name, "--workers", "2", *here]) == 0
        assert f"{count} rows" in capsys.readouterr().out
    kept = (tmp_path / f"{name}.json").read_bytes()
    assert json.loads(kept)["rows"] == [{"number": 0}, {"number": 1}]

    assert cli.main(["bench", name, "--quick", "--workers", "2", *here]) == 2
    assert f"{name}.json with quick=False instead of True" in capsys.readouterr().err
    assert cli.main(["bench", name, *here]) == 2
    assert f"{name}.json with workers=2 instead of 1" in capsys.readouterr().err
    assert (tmp_path / f"{name}.json").read_bytes() == kept
