"""Learned models back from their files."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mafla.learn import files
from mafla.learn.acceptance import Acceptance
from mafla.learn.energy import Energy
from mafla.learn.score import Score

__all__ = ["load", "rebuilt"]

MODELS: dict[str, type[Score] | type[Energy] | type[Acceptance]] = {
    "score": Score,
    "energy": Energy,
    "acceptance": Acceptance,
}


def load(path: str | Path) -> Score | Energy | Acceptance:
    """Return the model in a file made by its ``save``: the same to the last bit, from which nothing is executed.

    Args:
        path: the file.

    Raises:
        ValueError: in one line, if the file is damaged, holds something else, or is in double precision and JAX is not.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as empty:
        ...     load(empty.name)
        Traceback (most recent call last):
        ...
        ValueError: path must be a whole safetensors file, got ...
    """
    kind, config, arrays = files.read(path)
    if kind not in MODELS:
        raise ValueError(f"path must be a file of kind {', '.join(MODELS)}, got {path}, which is of kind {kind!r}")
    is_double = any(value.dtype == np.float64 for value in arrays.values())
    if is_double and jnp.result_type(float) != np.float64:
        switch = 'jax.config.update("jax_enable_x64", True)'
        raise ValueError(f"path must be a model in single precision, got {path} in double; first call {switch}")
    try:
        return rebuilt(MODELS[kind], config, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"path must be a file with the settings of the {kind}, got {path} ({error})") from None


def rebuilt(model: Any, config: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Return the model that has these settings and arrays, in the precision of the arrays.

    Args:
        model: its class.
        config: what its method ``config`` returned.
        arrays: what `files.arrays_of` returned for it.
    """
    _check_depths(config, len(arrays))
    # Shapes only: the given arrays are the first to be made.
    skeleton = eqx.filter_eval_shape(lambda: model.skeleton(config))
    return files.filled(_in_precision_of(arrays, skeleton), arrays)


def _check_depths(config: dict[str, Any], most: int) -> None:
    """Refuse networks of more layers than there are arrays, before their layers are made one by one."""
    for name, value in config.items():
        if isinstance(value, dict):
            _check_depths(value, most)
        elif name == "depth" and not 0 <= value < most:
            raise ValueError(f"depth must be less than the number of arrays, {most}, got {value}")


def _in_precision_of(arrays: dict[str, np.ndarray], skeleton: Any) -> Any:
    """Return shapes in the precision of the file, whatever that of JAX."""

    def fit(path: Any, leaf: Any) -> Any:
        value = arrays.get(jax.tree_util.keystr(path))
        if value is None or not (isinstance(leaf, jax.ShapeDtypeStruct) and value.dtype in (np.float32, np.float64)):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, value.dtype)

    return jax.tree_util.tree_map_with_path(fit, skeleton)
