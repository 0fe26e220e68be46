"""Draws as an ``xarray.DataTree``: groups ``posterior`` and ``sample_stats`` with dimensions chain and draw."""

from typing import Any

import numpy as np
import xarray as xr

__all__ = ["to_datatree"]


def to_datatree(draws: np.ndarray, stats: dict[str, np.ndarray], attributes: dict[str, Any]) -> xr.DataTree:
    """Collect draws (chain, draw, dim) and per-draw statistics (chain, draw) in the form that ArviZ reads.

    Example:
        >>> import numpy as np
        >>> tree = to_datatree(np.zeros((4, 10, 2)), {"acceptance_rate": np.ones((4, 10))}, {"seed": 1})
        >>> tree["posterior"]["x"].dims
        ('chain', 'draw', 'dim')
    """
    chains, length, dim = draws.shape
    place = {"chain": np.arange(chains), "draw": np.arange(length)}
    posterior = xr.Dataset({"x": (("chain", "draw", "dim"), draws)}, place | {"dim": np.arange(dim)}, attributes)
    sample_stats = xr.Dataset({name: (("chain", "draw"), value) for name, value in stats.items()}, place, attributes)
    root = xr.Dataset(attrs=attributes)
    return xr.DataTree.from_dict({"/": root, "posterior": posterior, "sample_stats": sample_stats})
