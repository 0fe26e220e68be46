"""What commands leave behind: files that are never half there, with what is needed to get them again."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["as_record", "check_folder", "versions", "write_files"]


def versions() -> dict[str, str]:
    """Return the versions that results depend on.

    Example:
        >>> list(versions())
        ['python', 'mafla', 'jax', 'numpy']
    """
    return {"python": platform.python_version()} | {name: version(name) for name in ("mafla", "jax", "numpy")}


def as_record(rows: list[dict[str, Any]], **about: object) -> bytes:
    """Return rows as JSON, with what is needed to get them again.

    Example:
        >>> json.loads(as_record([{"w1": 1.0}], seed=3))["seed"]
        3
    """
    record = {**about, "versions": versions(), "rows": rows}
    return (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written before the work is done for it, without making it yet.

    Example:
        >>> check_folder(Path("new") / "folder")
    """
    try:
        above = next(path for path in (folder, *folder.parents) if path.exists())
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            return
        reason = f"{above} is not writable" if above.is_dir() else f"{above} is a file"
    except OSError as error:
        reason = str(error.strerror)
    raise ValueError(f"--output must be a folder that can be written, got {folder} ({reason})")


def write_files(folder: Path | None, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files under temporary names and then rename them, so that none is ever half there.

    Args:
        folder: where to, made if missing; None to write nothing.
        files: contents by name.

    Example:
        >>> write_files(None, {"a.txt": b"a"})
        []
    """
    if folder is None:
        return []
    parts = {folder / name: folder / f".{name}.{os.getpid()}.part" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, content in zip(parts.values(), files.values(), strict=True):
            part.write_bytes(content)
        for path, part in parts.items():
            part.replace(path)
    except OSError as error:
        raise ValueError(f"--output must be a folder that can be written, got {folder} ({error.strerror})") from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    return list(parts)
