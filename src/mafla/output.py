"""What commands leave behind: files that are never half there, with what is needed to get them again."""

import contextlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["as_record", "check_folder", "earlier_rows", "versions", "write_files"]


def versions() -> dict[str, str]:
    """Return the versions that results depend on.

    Example:
        >>> list(versions())
        ['python', 'mafla', 'jax', 'numpy']
    """
    return {"python": platform.python_version()} | {name: version(name) for name in ("mafla", "jax", "numpy")}


def as_record(rows: list[dict[str, Any]], **about: object) -> bytes:
    """Return rows as JSON, a line for each, with what is needed to get them again.

    Example:
        >>> json.loads(as_record([{"w1": 1.0}], seed=3))["seed"]
        3
    """
    head, *lines = (json.dumps(each, ensure_ascii=False) for each in ({**about, "versions": versions()}, *rows))
    return "\n".join([head[:-1] + ', "rows": [', ",\n".join(lines), "]}", ""]).encode()


def earlier_rows(path: Path, **settings: object) -> list[dict[str, Any]]:
    """Return the rows of a record that an earlier run left, to go on from; none if there is no such file.

    Args:
        path: of the file.
        settings: those that must be the same as then.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     path = Path(name) / "speed.json"
        ...     _ = path.write_bytes(as_record([{"w1": 1.0}], seconds=3.0))
        ...     print(earlier_rows(path, seconds=3.0))
        ...     earlier_rows(path, seconds=1.0)
        Traceback (most recent call last):
        ...
        ValueError: --output must be a folder of the same settings, got ...speed.json with seconds=3.0 instead of 1.0
    """
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows: list[dict[str, Any]] = found["rows"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"--output must be a folder of results, got {path}, which cannot be read as such") from None
    for name, value in settings.items():
        if found.get(name) != value:
            what = f"got {path} with {name}={found.get(name)} instead of {value}"
            raise ValueError(f"--output must be a folder of the same settings, {what}")
    return rows


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
            with contextlib.suppress(OSError):  # which would hide what went wrong
                part.unlink()
    return list(parts)
