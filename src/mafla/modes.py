"""Finding modes that are far apart: a law from which jumps between them can be proposed."""

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from mafla import _check
from mafla.kernels.annealed import AnnealedParams, annealed
from mafla.kernels.base import Kernel
from mafla.kernels.heavy_tail import heavy_tail
from mafla.learn.mixture import StudentMixture, fit_mixture
from mafla.learn.table import robust_scaling
from mafla.run import sample

__all__ = ["find_modes"]

CHAINS = 1024  # so that every mode gets some, and that what they draw tells its shape
SETTLING, DRAWS, THIN = 200, 4, 20


def find_modes(
    logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]],
    key: Key[Array, ""],
    positions: ArrayLike,
    *,
    reach: float = 100.0,
    steps: int = 1000,
) -> StudentMixture:
    """Return a mixture of Student-t laws that is near the target, for `mode_jumps`.

    A thousand chains spread over a wide law about the positions and are led from there to the target. They settle,
    and a mixture with up to eight components is fitted to their draws. How many chains end in a mode need not be right:
    jumps from the mixture put that right.

    Args:
        logdensity: log density at a single point, up to a constant; it is differentiated.
        key: random key.
        positions: where chains start, of shape (chains, dim).
        reach: how far from the positions modes may be; ten times too far does little harm.
        steps: of the way from the wide law to the target; more for more dimensions.

    Example:
        >>> import mafla
        >>> target = mafla.targets.gaussian_mixture([[-20.0, 0.0], [20.0, 0.0]], [0.3, 0.7])
        >>> start = jax.random.normal(jax.random.key(0), (64, 2))
        >>> law = find_modes(target.logdensity, jax.random.key(1), start, steps=200)
        >>> bool(jnp.all(jnp.abs(jnp.abs(law.centers[:, 0]) - 20) < 1))  # both, for `mafla.mode_jumps`
        True
    """
    _check.function("logdensity", logdensity)
    _check.random_key(key)
    given, steps = np.asarray(_check.chain_positions(positions)), _check.whole("steps", steps, 10)
    start = np.resize(given, (max(CHAINS, len(given)), given.shape[1]))  # repeated as often as there is room
    keys = jax.random.split(key, 3)
    wide, local = _kernels(logdensity)
    reach, center = _check.positive("reach", reach), np.median(start, axis=0)
    wide = wide._replace(params=AnnealedParams(reach, center, reach))
    found = sample(wide, keys[0], start, 1, warmup=2 * steps, progress=False)["posterior"]["x"].to_numpy()[:, -1]
    tree = sample(local, keys[1], found, DRAWS * THIN, warmup=SETTLING, thin=THIN, progress=False)
    rows = tree["posterior"]["x"].to_numpy().reshape(-1, start.shape[1])
    scaling = robust_scaling(rows.astype(np.float64))
    mixture = fit_mixture(keys[2], jnp.asarray(scaling.apply(rows), rows.dtype))
    centers = jnp.asarray(scaling.center + np.asarray(mixture.centers) * scaling.scale, rows.dtype)
    return StudentMixture(
        mixture.log_weights, centers, mixture.whiteners / jnp.asarray(scaling.scale, rows.dtype), mixture.df
    )


def _kernels(logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]]) -> tuple[Kernel, Kernel]:
    """Return the same kernels for the same target, so that they are compiled once."""
    try:
        return _kept_kernels(logdensity)
    except TypeError:  # a learned density is a tree of arrays, which have no hash
        return _kept_kernels.__wrapped__(logdensity)


@lru_cache(maxsize=8)
def _kept_kernels(logdensity: Callable[[Float[Array, " dim"]], Float[Array, ""]]) -> tuple[Kernel, Kernel]:
    return annealed(logdensity, 1.0), heavy_tail(logdensity)
