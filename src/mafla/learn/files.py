"""Models and unfinished work in files: safetensors with a checksum, from which nothing is ever executed."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from safetensors import SafetensorError
from safetensors import numpy as safetensors

__all__ = ["Checkpoint", "arrays_of", "digest", "filled", "key_from_parts", "key_parts", "read", "write"]

FORMAT, VERSION = "mafla", 1
NUMBERS = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
)

Tree = TypeVar("Tree")


def write(path: str | Path, kind: str, config: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file all at once: whoever looks sees the old file or the new one, after a crash too.

    Args:
        path: the file; one that is there is replaced.
        kind: what is in it, such as "score"; `read` can insist on it.
        config: settings that JSON can hold, all numbers finite; tuples come back as lists.
        arrays: numbers by name, as from `arrays_of`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/model", "score", {"width": 8}, {"weight": np.ones(3)})
        ...     read(f"{folder}/model", "score")
        ('score', {'width': 8}, {'weight': array([1., 1., 1.])})
    """
    if not Path(path).parent.is_dir():
        raise ValueError(f"path must be a file in a folder that exists, got {path}")
    plain = {name: _plain(name, value) for name, value in arrays.items()}
    metadata = {"format": FORMAT, "format_version": str(VERSION), "kind": kind, "config": _to_json(config)}
    metadata["sha256"] = digest(metadata, plain)
    _replace(Path(path), safetensors.save(plain, metadata))


def read(path: str | Path, kind: str | None = None) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Return kind, config and arrays of a file, bit for bit as they were written, or say what is wrong with it.

    Args:
        path: a file made by `write`.
        kind: refuse a file of another kind.

    Example:
        >>> read(__file__)
        Traceback (most recent call last):
        ValueError: path must be a whole safetensors file, got ...
    """
    data = Path(path).read_bytes()
    try:
        arrays = safetensors.load(data)
        header = data[8 : 8 + int.from_bytes(data[:8], "little")]
        metadata = json.loads(header).get("__metadata__") or {}
    except (SafetensorError, KeyError, ValueError) as error:  # a type that NumPy does not have is a KeyError
        raise ValueError(f"path must be a whole safetensors file, got {path} ({_one_line(error)})") from None
    if metadata.get("format") != FORMAT or not {"format_version", "kind", "config", "sha256"} <= set(metadata):
        raise ValueError(f"path must be a file written by mafla, got {path}, which is of another format")
    if metadata["format_version"] != str(VERSION):
        there = metadata["format_version"]
        raise ValueError(
            f"path must be in version {VERSION} of mafla's format, got {path}, which is in version {there}"
        )
    # The header ends in spaces, which no checksum of the contents covers.
    if metadata.pop("sha256") != digest(metadata, arrays) or not header.rstrip(b" ").endswith(b"}"):
        raise ValueError(f"path must be a file as it was written, got {path}, which fails its checksum")
    if kind not in (None, metadata["kind"]):
        raise ValueError(f"path must be a file of kind {kind!r}, got {path}, which is of kind {metadata['kind']!r}")
    return metadata["kind"], _from_json(path, metadata["config"]), arrays


def digest(metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of texts and arrays by name, whatever their order.

    Example:
        >>> digest({"kind": "score"}, {"weight": np.ones(3)})[:8]
        'a5c50b92'
    """
    ordered = sorted(arrays.items())
    # Names, types and shapes come first and say how many bytes follow, so that different contents are different bytes.
    outline = [sorted(metadata.items()), [[name, value.dtype.name, value.shape] for name, value in ordered]]
    total = hashlib.sha256(json.dumps(outline).encode())
    for _, value in ordered:
        total.update(value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
    return total.hexdigest()


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a model (any pytree) by the path at which they are; what is no array is left out.

    Example:
        >>> arrays_of({"weight": jnp.ones(2), "activation": jnp.tanh})
        {"['weight']": array([1., 1.], dtype=float32)}
    """
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(model):
        name = jax.tree_util.keystr(path)
        if eqx.is_array(leaf):
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                raise ValueError(f"model must hold no random key, got one at {name}; store its key_parts")
            found[name] = np.asarray(leaf)
    return found


def filled(skeleton: Tree, arrays: Mapping[str, np.ndarray]) -> Tree:
    """Return a copy of a model with the given arrays in the place of its own.

    Args:
        skeleton: a model of the same make, or its shapes as from ``eqx.filter_eval_shape``.
        arrays: exactly its arrays by name, each of the same shape and dtype.

    Example:
        >>> shapes = eqx.filter_eval_shape(lambda: {"weight": jnp.zeros(2)})
        >>> filled(shapes, {"['weight']": np.array([1, 2], np.float32)})
        {'weight': Array([1., 2.], dtype=float32)}
    """
    rest = dict(arrays)

    def fill(path: Any, leaf: Any) -> Any:
        if not (eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)):
            return leaf
        name = jax.tree_util.keystr(path)
        if name not in rest:
            raise ValueError(f"arrays must have one named {name!r}, got {_names(arrays)}")
        value = rest.pop(name)
        if (value.shape, value.dtype) != (leaf.shape, leaf.dtype):
            wanted, got = (f"{each.dtype}{list(each.shape)}" for each in (leaf, value))
            raise ValueError(f"arrays must have {wanted} at {name!r}, got {got}")
        # A copy, whatever JAX shares with NumPy: the arrays stay the caller's.
        return value.copy() if isinstance(leaf, np.ndarray) else jnp.array(value)

    result = jax.tree_util.tree_map_with_path(fill, skeleton)
    if rest:
        raise ValueError(f"arrays must be those of the model only, got {_names(rest)} as well")
    return result


def key_parts(key: Key[Array, ""]) -> tuple[str, np.ndarray]:
    """Return the name of a random key's generator and its numbers, which a file can hold.

    Example:
        >>> key_parts(jax.random.key(7))
        ('threefry2x32', array([0, 7], dtype=uint32))
    """
    return str(jax.random.key_impl(key)), np.asarray(jax.random.key_data(key))


def key_from_parts(generator: str, numbers: np.ndarray) -> Key[Array, ""]:
    """Return the random key with the given `key_parts`.

    Example:
        >>> key_from_parts(*key_parts(jax.random.key(7))) == jax.random.key(7)
        Array(True, dtype=bool)
    """
    return jax.random.wrap_key_data(jnp.asarray(numbers), impl=generator)


class Checkpoint:
    """The file in which long work is kept, so that the same work can go on from there; no path keeps nothing.

    Args:
        path: the file, in a folder that exists, or None.
        kind: what is in it.
        fingerprint: the `digest` of what the work started from; a file of other work is refused.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(f"{folder}/kept", "training", "5f1c")
        ...     checkpoint.save({"step": 7}, jnp.ones(2))
        ...     checkpoint.load(jnp.zeros(2))
        ({'step': 7}, Array([1., 1.], dtype=float32))
    """

    def __init__(self, path: str | Path | None, kind: str, fingerprint: str) -> None:
        self.path, self.kind, self.fingerprint = None if path is None else Path(path), kind, fingerprint
        if self.path is not None and not self.path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint must be a file in a folder that exists, got {path}")

    def save(self, config: dict[str, Any], tree: Any) -> None:
        """Keep settings and the arrays of a pytree."""
        if self.path is not None:
            write(self.path, self.kind, {"fingerprint": self.fingerprint, "config": config}, arrays_of(tree))

    def load(self, skeleton: Tree) -> tuple[dict[str, Any], Tree] | None:
        """Return what was kept, with its arrays in the place of the skeleton's; None if nothing was."""
        if self.path is None or not self.path.exists():
            return None
        _, kept, arrays = read(self.path, self.kind)
        if kept["fingerprint"] != self.fingerprint:
            raise ValueError(f"checkpoint must belong to the same work, got {self.path}, which belongs to other work")
        return kept["config"], filled(skeleton, arrays)

    def remove(self) -> None:
        """Remove the file, if there is one."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _plain(name: str, value: Any) -> np.ndarray:
    """Return an array in C order and the machine's byte order: safetensors copies memory as it lies there."""
    array = np.asarray(value)
    if array.dtype.name not in NUMBERS or name == "__metadata__":
        raise ValueError(f"arrays must be of booleans, integers or floats, got {array.dtype} at {name!r}")
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def _to_json(config: Any) -> str:
    try:
        return json.dumps(dict(config), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"config must be what JSON can hold, with finite numbers, got {_one_line(error)}") from None


def _from_json(path: str | Path, text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no finite number")

    try:
        return dict(json.loads(text, parse_constant=refuse))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"path must be a file with settings in JSON, got {path} ({_one_line(error)})") from None


def _replace(path: Path, data: bytes) -> None:
    """Put a file in its place once it is safely on the disk."""
    temporary = path.with_name(f".mafla-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # there only after a failure
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _names(arrays: Mapping[str, np.ndarray]) -> str:
    shown = ", ".join(map(repr, list(arrays)[:5]))
    return f"{shown} and {len(arrays) - 5} more" if len(arrays) > 5 else shown or "none"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
