"""The page of verdicts in the documentation is the one that the published results give."""

import json
from pathlib import Path

from mafla.reproduce import job
from mafla.reproduce.report import verdicts_page

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_verdicts_are_those_of_the_results() -> None:
    folder = DOCS / "results" / "reproduction"
    sizes = json.loads((folder / "configuration.json").read_text(encoding="utf-8"))
    page = verdicts_page(job.collect(folder, sizes["quick"], sizes["seeds"]), sizes["quick"])
    assert page == (DOCS / "paper-verdicts.md").read_text(encoding="utf-8")
