"""What was reproduced, for readers: one page that opens without a network, and the verdicts for the documentation."""

import base64
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple

from mafla.plots import to_bytes
from mafla.reproduce.experiment import Experiment, Row, Verdict

__all__ = ["Result", "html_page", "verdicts_page"]

PAPER = "Score-based Metropolis–Hastings for Fractional Langevin Algorithms"
MARKS = {"reproduced": "good", "reproduced in part": "part", "not reproduced": "bad"}
COLUMNS = (
    "sampler",
    "w1",
    "asinh_w1",
    "q95_error",
    "q99_error",
    "acceptance_rate",
    "value_mean",
    "best",
    "uncovered_mean",
)
MOST_ROWS = 200  # of a table in the page; all are in the file
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
img { max-width: 100%; height: auto; } table { border-collapse: collapse; font-size: 0.875rem; }
th, td { text-align: left; padding: 0.2rem 0.7rem 0.2rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
.scroll { overflow-x: auto; } .word { font-weight: bold; padding: 0.1rem 0.5rem; border-radius: 0.3rem; }
.good { background: #cfe8df; } .part { background: #fbe8c0; }
.bad { background: #f6d3c2; } .none { background: #e5e5e5; }
"""


class Result(NamedTuple):
    """What is known of an experiment.

    Attributes:
        experiment: which.
        total: number of its cells.
        finished: of those that are done.
        errors: of those that failed.
        rows: of all that are done.
        figures: by the names of their files, functions that draw them; none before all cells are done.
        verdict: the same.
        versions: of what computed the cells, each set of them once.
    """

    experiment: Experiment
    total: int
    finished: int
    errors: list[str]
    rows: list[Row]
    figures: Mapping[str, Callable[[], Any]]
    verdict: Verdict | None
    versions: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """Return the verdict in a word, or how far the work is."""
        if self.verdict is not None:
            return self.verdict.word
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"no verdict: {self.finished} of {self.total} cells are done{failed}"


def html_page(results: list[Result], quick: bool) -> str:
    """Return the report as one page with everything in it, the pictures too."""
    listed = "".join(
        f'<tr><td><a href="#{each.experiment.name}">{each.experiment.name}</a></td>'
        f"<td>{escape(each.experiment.title)}</td><td>{_word(each)}</td></tr>"
        for each in results
    )
    parts = "".join(_section(each) for each in results)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>mafla reproduce</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head>"
        f"<body><h1>{escape(PAPER)}: what was reproduced</h1><p>{_marked(_about(results, quick))}</p>"
        f'<div class="scroll"><table><tr><th>name</th><th>of the paper</th><th>verdict</th></tr>{listed}</table></div>'
        f"{parts}</body></html>\n"
    )


def verdicts_page(results: list[Result], quick: bool) -> str:
    """Return the verdicts as Markdown."""
    head = ["# The paper's claims, measured", "", _about(results, quick), ""]
    table = ["| experiment | of the paper | verdict |", "|---|---|---|"]
    for each in results:
        name, title = each.experiment.name, each.experiment.title
        table += [f"| [`{name}`](#{name}) | {title} | {each.word} |"]
    return "\n".join([*head, *table, *(line for each in results for line in _verdict_lines(each))]) + "\n"


def _verdict_lines(result: Result) -> list[str]:
    about = f"{result.experiment.title}. {result.experiment.setting}"
    lines = ["", f"## {result.experiment.name}", "", about, "", f"**{result.word.capitalize()}.**"]
    if result.verdict is None:
        return lines
    claims = [
        f"| {claim.text} | {claim.paper} | {claim.ours} | {'holds' if claim.holds else 'does not hold'} |"
        for claim in result.verdict.claims
    ]
    head = ["", "| the paper's claim | its figures | ours | |", "|---|---|---|---|"]
    return [*lines, *head, *claims, "", result.verdict.reason]


def _about(results: list[Result], quick: bool) -> str:
    size = "Quick sizes: enough to see that it works, too little to judge by." if quick else "Full size."
    using = "; ".join(dict.fromkeys(each for result in results for each in result.versions))
    return (
        f"Written by `mafla reproduce` from its results ({using}). {size} Verdicts are computed: a claim holds if our"
        " figures bear it out. Figures are medians, in brackets the range over seeds, or over what a claim is about."
        " W1 and quantile errors are those of the last states of chains that start at rows of the data."
    )


def _word(result: Result) -> str:
    kind = MARKS[result.verdict.word] if result.verdict is not None else "none"
    return f'<span class="word {kind}">{escape(result.word)}</span>'


def _section(result: Result) -> str:
    name, about = result.experiment.name, f"{result.experiment.title}. {result.experiment.setting}"
    pictures = "".join(
        f'<figure><img id="figure-{each}" alt="{each}" width="{90 * figure().get_size_inches()[0]:.0f}"'
        f' src="data:image/png;base64,{_encoded(figure())}"></figure>'
        for each, figure in result.figures.items()
    )
    errors = "".join(f"<li>{escape(error)}</li>" for error in result.errors)
    return (
        f'<h2 id="{name}">{name} {_word(result)}</h2><p>{_marked(about)}</p>{_claims(result.verdict)}'
        f"{f'<ul>{errors}</ul>' if errors else ''}{pictures}{_table(result)}"
    )


def _claims(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    rows = "".join(
        f"<tr><td>{escape(claim.text)}</td><td>{escape(claim.paper)}</td><td>{escape(claim.ours)}</td>"
        f"<td>{'holds' if claim.holds else 'does not hold'}</td></tr>"
        for claim in verdict.claims
    )
    head = "<tr><th>the paper's claim</th><th>its figures</th><th>ours</th><th></th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div><p>{_marked(verdict.reason)}</p>'


def _table(result: Result) -> str:
    """Return the rows with the settings of their cells, folded away."""
    if not result.rows:
        return ""
    settings = [name for name in result.experiment.cells(True, 1)[0] if name in result.rows[0]]
    columns = [*settings, *(name for name in COLUMNS if any(row.get(name) is not None for row in result.rows))]
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(row.get(name)))}</td>' for name in columns)}</tr>"
        for row in result.rows[:MOST_ROWS]
    )
    count = f"{min(len(result.rows), MOST_ROWS)} of {len(result.rows)} rows; all are in {result.experiment.name}.jsonl"
    return (
        f'<details><summary>{count}</summary><div class="scroll"><table><tr>{head}</tr>{body}</table></div></details>'
    )


def _marked(text: str) -> str:
    """Return a text with what is between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _encoded(figure: Any) -> str:
    return base64.b64encode(to_bytes(figure, "png")).decode()
