"""The audit of an acceptance function that was saved, on rows in a file: what ``mafla diagnose`` does."""

from pathlib import Path

import jax
import jax.numpy as jnp

from mafla import _check
from mafla.learn.acceptance import Acceptance
from mafla.learn.audit import Audit, audit
from mafla.learn.loading import load
from mafla.learn.rows_file import read_rows

__all__ = ["diagnose"]


def diagnose(model: str | Path, rows: str | Path, seed: int = 0) -> Audit:
    """Hold a saved acceptance function against the exact one; the target is known by the score it was learned from.

    Args:
        model: file that ``Acceptance.save`` wrote.
        rows: file of rows of the target, at least 200, as `read_rows` takes them.
        seed: of the random key.

    Example:
        >>> diagnose("missing.mafla", "rows.csv")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.mafla'
    """
    found, data = load(model), read_rows(rows)
    if not isinstance(found, Acceptance):
        raise ValueError(f"{model}: must be a learned acceptance function, got the model {type(found).__name__}")
    if data.shape[1] != len(found.frame.center):
        raise ValueError(f"{rows}: must have {len(found.frame.center)} columns as the model has, got {data.shape[1]}")
    key = jax.random.key(_check.whole("seed", seed, 0))
    drift = jnp.zeros_like if found.walk else None
    return audit(found, found.score, data, found.alpha, found.step_size, key=key, drift=drift)
