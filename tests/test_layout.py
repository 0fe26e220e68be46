"""The shape of the package: who may import whom, and what its source must not contain."""

import ast
import graphlib
import importlib.metadata
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "mafla"


class Rule(NamedTuple):
    """What a module may import from the package; `never` is stronger than `may`."""

    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


# Modules are named without the leading "mafla."; "mafla" is the package itself, and `*` also matches dots.
# The first line that fits a module counts, so put the particular before the general.
LAYERS: dict[str, Rule] = {
    "_check": Rule(),
    "_interrupt": Rule(),
    "output": Rule(),
    "executing": Rule(),
    "terminal": Rule(may=("output",)),
    "stable": Rule(may=("_check", "stable.*")),
    "stable.*": Rule(may=("_check", "stable.*")),
    "drift": Rule(may=("_check", "stable")),
    "targets": Rule(may=("_check", "stable", "targets.*")),
    "targets.*": Rule(may=("_check", "stable", "targets.*")),
    "kernels.base": Rule(may=("_check", "stable")),
    "kernels.acceptance": Rule(may=("stable", "kernels.base")),
    "kernels.proposal": Rule(may=("_check", "stable", "drift", "kernels.base")),
    "kernels": Rule(may=("kernels.*",)),
    "kernels.heavy_tail": Rule(may=("_check", "stable", "kernels.*")),
    "kernels.tempered": Rule(
        may=("_check", "kernels.acceptance", "kernels.annealed", "kernels.base", "kernels.proposal")
    ),
    "kernels.mode_jumps": Rule(may=("_check", "kernels.base", "learn.mixture")),
    "kernels.*": Rule(may=("_check", "stable", "drift", "kernels.acceptance", "kernels.base", "kernels.proposal")),
    "samples": Rule(may=("_check",)),
    "progress": Rule(may=("_check",)),
    "program": Rule(may=("kernels.base",)),
    "run": Rule(may=("_check", "_interrupt", "kernels.base", "program", "samples", "progress")),
    "modes": Rule(may=("_check", "kernels.*", "learn.mixture", "learn.table", "run")),
    "score_integral": Rule(may=("_check", "kernels.base")),
    "metrics": Rule(may=("_check",)),
    "thinning": Rule(may=("_check",)),
    "diagnostics": Rule(may=("_check",)),
    "learn.files": Rule(),
    "learn.mixture": Rule(),
    "learn.table": Rule(may=("_check", "stable", "diagnostics")),
    "learn.score_matching": Rule(may=("_check", "stable")),
    "learn.networks": Rule(may=("learn.mixture",)),
    "learn.training": Rule(may=("_check", "_interrupt", "learn.files", "progress")),
    "learn.balance": Rule(may=("_check", "stable", "drift")),
    "learn.prepare": Rule(may=("_check", "learn.table", "learn.mixture", "learn.networks")),
    # A model knows what it is learned with; none knows the kernels that will use it.
    "learn.audit*": Rule(may=("*",), never=("mafla", "run", "plots", "bench*", "demo", "cli", "estimator")),
    "learn.diagnose": Rule(may=("_check", "learn.*")),
    "learn.rows_file": Rule(may=("learn.table",)),
    "learn": Rule(),
    "learn.*": Rule(may=("_check", "drift", "learn.*"), never=("learn.audit*",)),
    "graphs": Rule(),
    "graphs.compiled": Rule(),
    "graphs.solution": Rule(),
    "graphs.rows": Rule(),
    "graphs.graphml": Rule(may=("graphs.rows",)),
    "graphs.parsing": Rule(may=("graphs.graphml", "graphs.rows")),
    "graphs.graph": Rule(may=("_check", "graphs.parsing")),
    "graphs.reading": Rule(may=("graphs.graph", "graphs.parsing", "graphs.rows")),
    "graphs.families": Rule(may=("_check", "graphs.graph")),
    "graphs.watch": Rule(may=("_check", "_interrupt", "graphs.solution")),
    # The paper's part and the solvers know nothing of each other.
    "graphs.relaxation": Rule(may=("_check", "graphs.graph")),
    "graphs.pooled_acceptance": Rule(may=("_check", "drift", "graphs.relaxation", "learn.*")),
    "graphs.*": Rule(may=("_check", "graphs.*"), never=("graphs.relaxation", "graphs.pooled_acceptance")),
    "estimator": Rule(may=("*",), never=("mafla", "plots", "bench*", "demo", "cli")),
    "plots": Rule(may=("*",), never=("mafla", "kernels*", "run", "bench*", "demo", "report*", "cli")),
    "report*": Rule(may=("*",), never=("mafla", "kernels*", "run", "bench*", "demo", "cli")),
    "bench*": Rule(may=("*",), never=("cli",)),
    "demo": Rule(may=("*",), never=("cli",)),
    "reproduce*": Rule(may=("*",), never=("mafla", "demo", "cli")),
    "cli": Rule(may=("*",)),
    "__main__": Rule(may=("cli",)),
    "mafla": Rule(may=("*",), never=("bench*", "reproduce*", "demo", "cli")),
}

FILES = sorted(PACKAGE.rglob("*.py"))
SERIALISERS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
# Identifiers of papers and of XML vocabularies; the package speaks to no host, and names no other.
HOSTS = {"arxiv.org", "doi.org", "www.w3.org"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "mafla"


MODULES = {module_name(path) for path in FILES}


def is_match(module: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in patterns)


def rule_of(module: str) -> Rule | None:
    return next((rule for pattern, rule in LAYERS.items() if fnmatchcase(module, pattern)), None)


def shorten(dotted: str) -> str:
    return dotted.removeprefix("mafla.") if dotted.startswith("mafla.") else dotted


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything a file imports, inside functions and type checks too."""
    package = ["mafla", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield node.lineno, name if shorten(name) in MODULES else base


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    for line, dotted in imports(path):
        if dotted == "mafla" or dotted.startswith("mafla."):
            yield line, shorten(dotted)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_package_was_found() -> None:
    assert "mafla" in MODULES


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_downwards(path: Path) -> None:
    module = module_name(path)
    rule = rule_of(module)
    assert rule is not None, f"{module!r} has no line in LAYERS of tests/test_layout.py: add one"
    wrong = [
        f"{relative(path)}:{line}: {module!r} may not import {name!r}"
        for line, name in own_imports(path)
        if not is_match(name, rule.may) or is_match(name, rule.never)
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_form_no_circle() -> None:
    graph = {module_name(path): {name for _, name in own_imports(path)} for path in FILES}
    for module, names in graph.items():
        names.discard(module)
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_is_pickled(path: Path) -> None:
    imported = {dotted.partition(".")[0] for _, dotted in imports(path)}
    assert not imported & SERIALISERS
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant), f"line {node.value.lineno}: write allow_pickle=False"
            assert node.value.value is False, f"line {node.value.lineno}: write allow_pickle=False"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_source_names_no_places(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"(?<![\w.~])/(?:home|opt|root|tmp|work|Users)\b", text), "an absolute path"
    assert not re.findall(r"\.\./", text), "a path out of the repository"
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= HOSTS, f"hosts that the package has no business with: {sorted(hosts - HOSTS)}"


def test_set_up_names_no_addresses() -> None:
    for path in [ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "requirements").iterdir()]:
        assert "://" not in path.read_text(encoding="utf-8"), relative(path)


def test_versions_agree() -> None:
    version = importlib.metadata.version("mafla")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for path in FILES:
        assert version not in re.findall(r"""["'](\d+\.\d+\.\d+)["']""", path.read_text(encoding="utf-8"))


def test_planted_bugs_are_about_the_source_as_it_is() -> None:
    """`make mutants` takes too long to be run each time, and would then find that it is out of date."""
    mutants = runpy.run_path(str(ROOT / "tests" / "mutants.py"))["MUTANTS"]
    assert not [each.name for each in mutants if each.old not in (PACKAGE / each.file).read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "code",
    ["import mafla", "import mafla.cli", "import runpy; runpy.run_module('mafla', run_name='__main__')"],
    ids=["package", "cli", "help"],
)
def test_jax_is_not_imported_early(code: str) -> None:
    program = "\n".join(
        [
            "import sys",
            "sys.argv = ['mafla', '--help']",
            "try:",
            f"    {code}",
            "except SystemExit as stop:",
            "    assert not stop.code, stop.code",
            "assert 'jax' not in sys.modules, 'jax was imported'",
        ]
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
