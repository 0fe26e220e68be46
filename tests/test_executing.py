"""Cells on executors: all of them, whatever fails; finished ones once only, whoever dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from traced_work import computed, trace

from mafla.executing import dask_cluster, processes, run_cells


class Seen:
    """What was finished, in order."""

    def __init__(self) -> None:
        self.results: list[int] = []
        self.errors: list[tuple[int, str]] = []

    def __call__(self, cell: dict[str, Any], result: Any, error: BaseException | None) -> None:
        if error is None:
            self.results.append(result["index"])
        else:
            self.errors.append((cell["index"], f"{type(error).__name__}: {error}"))


def cells(log: Path, count: int, **settings: Any) -> list[dict[str, Any]]:
    return [{"index": index, "log": str(log), **settings} for index in range(count)]


def test_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    seen, all_cells = Seen(), cells(tmp_path / "log", 5)
    all_cells[1]["fail"] = True
    run_cells(trace, all_cells, partial(ThreadPoolExecutor, 2), seen)
    assert sorted(seen.results) == [0, 2, 3, 4]
    assert seen.errors == [(1, "RuntimeError: as it was told")]


def test_processes_compute_each_cell_once(tmp_path: Path) -> None:
    seen, log = Seen(), tmp_path / "log"
    run_cells(trace, cells(log, 4), partial(processes, 2), seen)
    assert sorted(seen.results) == sorted(computed(log)) == [0, 1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell which processors are ours")
def test_processes_are_not_in_each_others_way() -> None:
    """As many workers as processors have one each; more than that have all."""
    mine = os.sched_getaffinity(0)
    with processes(len(mine)) as pool:
        assert len(pool.submit(os.sched_getaffinity, 0).result()) == 1
    with processes(len(mine) + 1) as pool:
        assert pool.submit(os.sched_getaffinity, 0).result() == mine


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    seen, log = Seen(), tmp_path / "log"
    run_cells(trace, cells(log, 4, die_once=str(tmp_path / "died")), partial(processes, 1), seen)
    assert sorted(seen.results) == [0, 1, 2, 3]
    assert not seen.errors
    assert computed(log).count(0) == 2  # the one that died


def test_a_cell_that_kills_its_process_is_recorded_in_the_end(tmp_path: Path) -> None:
    seen, log = Seen(), tmp_path / "log"
    run_cells(trace, cells(log, 1, die_once=str(tmp_path / "missing" / "never")), partial(processes, 1), seen)
    assert [index for index, _ in seen.errors] == [0]


def test_a_cell_that_kills_its_process_does_not_fail_the_others(tmp_path: Path) -> None:
    seen, log = Seen(), tmp_path / "log"
    all_cells = cells(log, 12)
    all_cells[1]["die_once"] = str(tmp_path / "missing" / "never")
    run_cells(trace, all_cells, partial(processes, 2), seen)
    assert sorted(seen.results) == [0, *range(2, 12)]
    assert [index for index, _ in seen.errors] == [1]


def test_a_killed_worker_of_a_dask_cluster_loses_nothing(tmp_path: Path) -> None:
    """A real scheduler and two workers, of which one is killed when a few cells are done."""
    distributed = pytest.importorskip("distributed")
    seen, log = Seen(), tmp_path / "log"
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        local_directory=str(tmp_path),
    )
    with cluster:
        workers = [worker.pid for worker in cluster.workers.values()]
        before: list[int] = []

        def finish(cell: dict[str, Any], result: Any, error: BaseException | None) -> None:
            seen(cell, result, error)
            if len(seen.results) == 3:
                before.extend(seen.results)
                os.kill(workers[0], signal.SIGKILL)

        run_cells(trace, cells(log, 12, seconds=0.3), partial(dask_cluster, cluster.scheduler_address), finish)
    assert sorted(seen.results) == list(range(12))
    assert not seen.errors
    assert [computed(log).count(index) for index in before] == [1, 1, 1]
    assert len(computed(log)) <= 12 + 2  # what the killed one was at, or had not yet handed over


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ValueError, match=r"dask must be the address of a scheduler that answers, got 'nonsense://x'"),
        dask_cluster("nonsense://x"),
    ):
        pass


@contextmanager
def job(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run three cells in a process of their own, of which the first is done and the second takes long."""
    script = f"""
import signal
from functools import partial
from mafla.executing import processes, run_cells
from traced_work import trace
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, a shell lets it be ignored
    log = {str(tmp_path / "log")!r}
    cells = [{{"index": i, "log": log, "seconds": 0.0 if i == 0 else 60.0}} for i in range(3)]
    run_cells(trace, cells, partial(processes, 1), lambda cell, result, error: print(*result.values(), flush=True))
"""
    path = tmp_path / "job.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent)}
    command = [sys.executable, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        yield process


def test_ctrl_c_ends_at_once_and_keeps_what_is_done(tmp_path: Path) -> None:
    with job(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"0 ")
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) != 0
        assert time.monotonic() - began < 15


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with job(tmp_path) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline().split()[1])
        process.kill()
        process.wait()
        for _ in range(100):
            try:
                os.kill(worker, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
    pytest.fail("the worker is still there")
