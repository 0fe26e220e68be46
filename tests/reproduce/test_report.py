"""The report: everything in one page, checked as text always and in a real browser where there is one."""

import json
import re
import shutil
import subprocess
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mafla.reproduce.experiment import Claim, Experiment, Verdict
from mafla.reproduce.report import Result, html_page, verdicts_page
from mafla.reproduce.stable_densities import EXPERIMENT as DENSITIES

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WATCH = """<script>addEventListener("load", () => {
for (const image of document.images) image.dataset.width = image.naturalWidth; });</script>"""


def results() -> list[Result]:
    rows = [{**cell, **row} for cell in DENSITIES.cells(True, 1) for row in DENSITIES.measure(cell, True)]
    figures = {name: partial(DENSITIES.figures[""], rows) for name in ("stable-densities", "stable-densities-again")}
    done = Result(DENSITIES, 4, 4, [], rows, figures, DENSITIES.judge(rows))
    failed = DENSITIES._replace(name="failed", title="<script>alert(1)</script> & more")
    return [done, Result(failed, 4, 2, ["{'alpha': 2}: RuntimeError: <b>no</b>"], rows[:2], {}, None)]


class Addresses(HTMLParser):
    """All that a page would load or lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object")
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]


def test_the_page_needs_nothing_but_itself() -> None:
    page = html_page(results(), quick=True)
    parser = Addresses()
    parser.feed(page)
    assert sum(address.startswith("data:image/png;base64,") for address in parser.found) == 2
    assert all(address.startswith(("data:", "#")) for address in parser.found)
    assert "url(" not in page
    assert "@import" not in page


def test_words_of_results_are_not_taken_for_markup() -> None:
    page = html_page(results(), quick=True)
    assert "<b>no</b>" not in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page


def test_verdicts_say_what_holds_and_how_far_the_rest_is() -> None:
    page = verdicts_page(results(), quick=False)
    assert "| [`stable-densities`](#stable-densities) | Figure: symmetric α-stable densities | reproduced |" in page
    assert "no verdict: 2 of 4 cells are done, 1 failed" in page
    assert "Full size." in page
    assert "| smaller α has heavier tails | – | density at 10 for α=1.2, α=1.5, α=1.8, α=2: " in page


@pytest.mark.parametrize(
    ("held", "word"),
    [([True, True], "reproduced"), ([True, False], "reproduced in part"), ([False, False], "not reproduced")],
)
def test_a_verdict_is_made_of_its_claims(held: list[bool], word: str) -> None:
    assert Verdict(tuple(Claim("", "", "", each) for each in held)).word == word


def test_densities_that_contradict_the_paper_are_not_reproduced() -> None:
    rows = results()[0].rows
    turned = [{**row, "tail": -row["tail"], "peak": -row["peak"]} for row in rows]
    assert isinstance(DENSITIES, Experiment)
    assert DENSITIES.judge(turned).word == "not reproduced"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")
def test_a_browser_shows_every_figure_without_an_error_or_a_request(tmp_path: Path) -> None:
    page = html_page(results(), quick=True).replace("</head>", f"{WATCH}</head>")
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    log = tmp_path / "net.json"
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    quiet = "--disable-component-update --disable-default-apps --disable-extensions --enable-logging=stderr"
    command = [
        str(CHROMIUM),
        *flags.split(),
        *quiet.split(),
        f"--user-data-dir={tmp_path / 'user'}",
        f"--log-net-log={log}",
    ]
    url = (tmp_path / "report.html").as_uri()
    done = subprocess.run([*command, "--dump-dom", url], capture_output=True, text=True, timeout=120, check=True)
    widths = [int(width) for width in re.findall(r'data-width="(\d+)"', done.stdout)]
    assert len(widths) == 2
    assert min(widths) > 500
    assert "CONSOLE" not in done.stderr
    text = log.read_text(encoding="utf-8")
    events = json.loads(text if text.rstrip().endswith("}") else text.rstrip().rstrip(",") + "]}")["events"]
    asked = {event.get("params", {}).get("url", "") for event in events}
    assert not [address for address in asked if address.startswith(("http", "ws")) and _of_the_page(address)]


def _of_the_page(address: str) -> bool:
    """Return whether a request is the page's: the browser asks its maker's hosts on its own account."""
    return not re.match(r"https?://[^/]*\.?(google|googleapis|gstatic|gvt1)\.com/", address)
