"""Results as lines of JSON, one for each cell, written as soon as the cell is done.

A line that was cut off is no line: its cell is computed again. A folder belongs to one configuration.
"""

import json
import os
from pathlib import Path
from typing import Any

from mafla.output import write_files
from mafla.reproduce.experiment import Cell

__all__ = ["append", "done", "identity", "open_folder", "read", "rows_of"]

CONFIGURATION = "configuration.json"

Record = dict[str, Any]


def open_folder(folder: Path, configuration: dict[str, Any]) -> None:
    """Make the folder, or see that its results are of the same configuration.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     open_folder(Path(name) / "new", {"quick": True})
        ...     open_folder(Path(name) / "new", {"quick": False})
        Traceback (most recent call last):
        ...
        ValueError: output must be a folder of the same configuration, got ... with quick=true instead of quick=false
    """
    path, wanted = folder / CONFIGURATION, json.loads(json.dumps(configuration))
    if path.exists():
        found = _parsed(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(f"output must be a folder of results, got {folder}, whose {CONFIGURATION} cannot be read")
        for name in sorted(wanted.keys() | found.keys()):
            if found.get(name) != wanted.get(name):
                there, here = (f"{name}={json.dumps(each.get(name))}" for each in (found, wanted))
                raise ValueError(
                    f"output must be a folder of the same configuration, got {folder} with {there} instead of {here}"
                )
        return
    if folder.exists() and any(folder.glob("*.jsonl")):
        raise ValueError(f"output must be a folder of results, got {folder}, which has results but no {CONFIGURATION}")
    write_files(folder, {CONFIGURATION: (json.dumps(wanted, indent=2) + "\n").encode()})


def append(path: Path, record: Record) -> None:
    """Write a record as a line and wait until it is on the disk; what was cut off before it is closed first."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Record]:
    """Return the records of a file, the last of each cell; lines that cannot be read are left out.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     path = Path(name) / "a.jsonl"
        ...     append(path, {"cell": {"seed": 0}, "rows": [], "error": None})
        ...     _ = path.write_bytes(path.read_bytes() + b'{"cell": {"se')
        ...     [record["cell"] for record in read(path)]
        [{'seed': 0}]
    """
    if not path.exists():
        return []
    found: dict[str, Record] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        record = _parsed(line)
        if isinstance(record, dict) and {"cell", "rows", "error"} <= record.keys():
            found[identity(record["cell"])] = record
    return list(found.values())


def done(records: list[Record]) -> set[str]:
    """Return which cells need not be computed again: those without an error."""
    return {identity(record["cell"]) for record in records if record["error"] is None}


def identity(cell: Cell) -> str:
    """Return a name for a cell: equal settings, in whatever order, have the same.

    Example:
        >>> identity({"seed": 0, "alpha": 1.5}) == identity({"alpha": 1.5, "seed": 0})
        True
    """
    return json.dumps(cell, sort_keys=True)


def rows_of(records: list[Record]) -> list[dict[str, Any]]:
    """Return all rows, each with the settings of its cell.

    Example:
        >>> rows_of([{"cell": {"seed": 0}, "rows": [{"w1": 1.0}], "error": None}])
        [{'seed': 0, 'w1': 1.0}]
    """
    return [{**record["cell"], **row} for record in records if record["error"] is None for row in record["rows"]]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
