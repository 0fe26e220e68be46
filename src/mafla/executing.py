"""Running cells on any executor: each result is handed over as soon as it is there, and no failure stops the others."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["Cell", "dask_cluster", "processes", "run_cells"]

SUSPECTS = 2 * (os.cpu_count() or 1) + 1  # more than are handed to workers at a time

Cell = dict[str, Any]  # what is computed on its own
Open = Callable[[], Any]  # returns a context whose value is an executor
Finish = Callable[[Cell, Any, BaseException | None], None]


def run_cells(work: Callable[[Cell], Any], cells: list[Cell], open_executor: Open, finish: Finish) -> None:
    """Compute all cells and call ``finish(cell, result, error)`` for each, in the order in which they are done.

    Where a worker dies and takes its executor with it, others are opened for what is not yet done.

    Args:
        work: a function that other processes can import.
        cells: what to call it with.
        open_executor: opens an executor, as `processes` and `dask_cluster` do.
        finish: called in this process.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> run_cells(len, [{"a": 1}], ThreadPoolExecutor, lambda cell, result, error: print(cell, result, error))
        {'a': 1} 1 None
    """
    waiting = cells
    while waiting:
        lost = _run_together(work, waiting, open_executor, finish)
        # Of which cell the worker died is not known, but it is one of the first: each of them gets an executor alone.
        for cell, _ in lost[:SUSPECTS]:
            for own, error in _run_together(work, [cell], open_executor, finish):
                finish(own, None, error)
        waiting = [cell for cell, _ in lost[SUSPECTS:]]


def _run_together(
    work: Callable[[Cell], Any], cells: list[Cell], open_executor: Open, finish: Finish
) -> list[tuple[Cell, BaseException]]:
    """Compute cells on one executor; return those that were not done when it broke, in their order."""
    lost = {}
    with open_executor() as executor:
        futures = {executor.submit(work, cell): index for index, cell in enumerate(cells)}
        for future in as_completed(futures):
            index, error = futures.pop(future), future.exception()
            result = None if error else future.result()
            del future  # if the worker that has it dies, a cluster computes again what is still held here
            if isinstance(error, BrokenExecutor):
                lost[index] = cells[index], error
            else:
                finish(cells[index], result, error)
    return [lost[index] for index in sorted(lost)]


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Open a pool of new processes on this machine; Ctrl-C ends them at once.

    Example:
        >>> with processes(1) as pool:
        ...     pool.submit(abs, -2).result()
        2
    """
    context = multiprocessing.get_context("spawn")
    others, begun = multiprocessing.active_children(), context.Value("i", 0)
    with TemporaryDirectory() as compiled:
        prepare = partial(_prepare, compiled, _shares(workers))
        pool = ProcessPoolExecutor(workers, context, initializer=prepare, initargs=(begun,))
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - set(others):
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """Open the Dask cluster whose scheduler listens there; a worker that dies is made up for by the others.

    Args:
        address: of the scheduler, such as ``tcp://127.0.0.1:8786``.
    """
    try:
        import distributed
    except ModuleNotFoundError as error:
        message = "a Dask cluster needs distributed, which is not installed: pip install 'mafla[cluster]'"
        raise ModuleNotFoundError(message, name="distributed") from error
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(f"dask must be the address of a scheduler that answers, got {address!r}") from error
    with client:
        yield client.get_executor()


def _shares(workers: int) -> list[set[int]]:
    """Return which of this process's processors each worker gets: all of them where there are fewer than workers.

    JAX uses every processor that it is given, and workers that use the same ones are in each other's way.
    """
    if not hasattr(os, "sched_getaffinity"):  # a system that does not tell
        return [set()] * workers
    mine = sorted(os.sched_getaffinity(0))
    return [set(mine[worker::workers] if workers <= len(mine) else mine) for worker in range(workers)]


def _prepare(compiled: str, shares: list[set[int]], begun: Any) -> None:
    """Leave Ctrl-C to the parent and end with it, keep to some processors, and share what JAX compiles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with begun.get_lock():
        number, begun.value = begun.value, begun.value + 1
    if share := shares[number % len(shares)]:
        os.sched_setaffinity(0, share)
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", compiled)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def _end_with_parent() -> None:
    """Wait for the parent to end, which may have been killed, and end too: nobody would take the results."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
