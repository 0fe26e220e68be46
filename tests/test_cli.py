"""The command line: quick to answer, one line for a mistake, whole files or none."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mafla
from mafla import cli
from mafla.bench import commands

RUN = [sys.executable, "-m", "mafla"]


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False, timeout=300)


def fake_result() -> SimpleNamespace:
    """Stands for a result of the demo where its content does not matter."""
    return SimpleNamespace(rows=[{"method": "A", "w1": 1.0}], luck={}, settings=SimpleNamespace(_asdict=dict))


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the work of the demo; the command around it stays."""
    from mafla import demo

    work = lambda _seed, _seeds, _quick, report: (report("sampling"), fake_result())[1]  # noqa: E731
    monkeypatch.setattr(demo, "run_seeds", work)
    monkeypatch.setattr(demo, "pictures", lambda _: {"mixture.png": b"png", "mixture.svg": b"svg"})
    monkeypatch.setattr(demo, "summary", lambda _: "In words.")
    monkeypatch.setattr(demo, "table", lambda _: "the table")


def processor_seconds(arguments: list[str]) -> float:
    """Return the least time on the processor, which is the time on the clock unless other tests run beside this one."""
    seconds = []
    for _ in range(5):
        before = os.times()
        subprocess.run(arguments, capture_output=True, check=True, timeout=300)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(seconds)


def test_help_answers_within_half_a_second() -> None:
    # A processor that other tests keep busy is slower; how much, the parser of arguments alone tells.
    parser = processor_seconds([sys.executable, "-c", "import cyclopts"])
    assert 0 < processor_seconds([*RUN, "--help"]) < max(0.5, 1.6 * parser)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"], ["bench", "law", "--help"]])
def test_nothing_heavy_is_imported_to_answer(arguments: list[str]) -> None:
    program = (
        "import sys; from mafla.cli import main; assert main(sys.argv[1:]) == 0\n"
        "heavy = {'jax', 'numpy', 'scipy', 'xarray', 'matplotlib'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, timeout=60)


def test_help_names_the_commands_and_version_is_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("demo", "bench", "--version"))
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == mafla.__version__


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["dmeo"], "demo"),
        (["bench", "lw"], "law"),
        (["demo", "--sed", "1"], "--seed"),
        (["demo", "--seed", "many"], "int"),
        (["demo", "--seed", "-1"], "at least 0"),
        (["demo", "--seed", str(2**32)], str(2**32 - 1)),
        (["bench", "law", "--seed", str(2**63)], str(2**32 - 1)),
        (["demo", "--no-quick"], "--no-quick"),
        (["demo", "extra"], "extra"),
    ],
)
def test_a_bad_argument_is_one_line_and_code_2(
    arguments: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("mafla: ")
    assert err.count("\n") == 1
    assert answer in err


def test_the_process_exits_with_the_code() -> None:
    result = command("demo", "--sed", "1")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "mafla: Unknown option: --sed. Did you mean --seed?\n"


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_in_place_of_the_folder_is_refused_before_the_work(
    tmp_path: Path, below: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mafla import demo

    monkeypatch.setattr(demo, "run", lambda *_, **__: pytest.fail("sampled for a folder that cannot be written"))
    (tmp_path / "taken").write_text("mine")
    assert cli.main(["demo", "--quick", "--output", str(tmp_path / "taken" / below)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    assert "--output must be a folder that can be written" in err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.usefixtures("no_work")
def test_when_one_file_cannot_be_written_none_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mixture.png").write_bytes(b"old")
    whole = Path.write_bytes

    def until_full(path: Path, content: bytes) -> int:
        if "svg" in path.name:
            whole(path, content[:1])
            raise OSError(28, "No space left on device", str(path))
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", until_full)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"mixture.png": b"old"}


@pytest.mark.usefixtures("no_work")
def test_without_json_table_words_and_paths_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert cli.main(["demo", "--output", str(folder)]) == 0
    paths = [str(folder / name) for name in ("mixture.png", "mixture.svg", "demo.json")]
    assert capsys.readouterr().out.splitlines() == ["the table", "In words.", *paths]


@pytest.mark.usefixtures("no_work")
def test_a_missing_package_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("pip install 'mafla[plot]'\n")
    assert not list(tmp_path.iterdir())


def test_another_missing_package_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", lambda *_, **__: __import__("not_there"))
    assert cli.main([]) == 2
    assert capsys.readouterr().err == "mafla: No module named 'not_there'; install not_there to run this\n"


def test_bench_prints_rows_and_writes_them_with_their_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [{"what": "draws", "per_second": 1e6}]
    job = SimpleNamespace(run=lambda _seed, _quick: rows, describe=lambda found: f"{len(found)} row")
    commands._at_once("law", job, 7, tmp_path, False, True)
    assert capsys.readouterr().out.splitlines() == ["1 row", str(tmp_path / "law.json")]
    saved = json.loads((tmp_path / "law.json").read_text(encoding="utf-8"))
    assert (saved["seed"], saved["quick"], saved["rows"]) == (7, True, rows)
    commands._at_once("law", job, 7, None, True, True)
    assert json.loads(capsys.readouterr().out) == rows


def test_ctrl_c_is_one_line_and_code_130(tmp_path: Path) -> None:
    program = (
        "import signal, sys, mafla.demo as demo, time; from mafla.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told it to ignore Ctrl-C\n"
        "demo.run = lambda *a, **k: (print('ready', flush=True), time.sleep(60))\n"
        "sys.exit(main(['demo', '--output', sys.argv[1]]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "new")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "mafla: interrupted\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_demo_runs_from_end_to_end(tmp_path: Path) -> None:
    result = command("demo", "--quick", "--json", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    rows = {row["method"]: row for row in json.loads(result.stdout)}
    assert rows["exact MAFLA"]["w1_ratio"] < rows["FULA"]["w1_ratio"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.json", "mixture.png", "mixture.svg"]
    saved = json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))
    assert saved["rows"] == list(rows.values())
    assert (saved["seed"], saved["settings"]["quick"]) == (0, True)
    assert saved["versions"]["mafla"] == mafla.__version__
