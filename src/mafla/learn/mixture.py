"""A mixture of multivariate Student-t laws: the normalised, heavy-tailed base from which an energy network starts.

Fitted by expectation-maximisation (Peel and McLachlan 2000), whose weights ``(ν + d) / (ν + δ²)`` keep a far outlier
from moving a centre or a shape. All components are updated at once at a fixed width, so that one compiled program
serves any number of them: a component without weight stays without.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, gammaln
from jaxtyping import Array, Float, Key

__all__ = ["StudentMixture", "fit_mixture"]

WIDTH = 8  # components at the most
CANDIDATES = (1, 2, 3, 4, 6, 8)
SCREENING_ROWS, SCREENING_STEPS, FINAL_STEPS = 20_000, 100, 400
ENTRIES = 2 * 10**7  # rows × components × columns that one step may touch
KMEANS_ROUNDS = 20
DF_RANGE = (0.5, 200.0)  # below, draws are so long that their squares overflow float32
LEAST_SPREAD = 0.01  # keeps a component from shrinking onto repeated rows


class StudentMixture(eqx.Module):
    """A mixture of Student-t laws.

    Attributes:
        log_weights: of shape (components,).
        centers: of shape (components, dim).
        whiteners: inverse Cholesky factors of the scale matrices, of shape (components, dim, dim).
        df: degrees of freedom, of shape (components,).

    Example:
        >>> one = StudentMixture(jnp.zeros(1), jnp.zeros((1, 2)), jnp.eye(2)[None], jnp.ones(1))
        >>> round(float(one.logdensity(jnp.zeros(2))), 4)  # the Cauchy density 1 / 2π
        -1.8379
        >>> one.sample(jax.random.key(0), 5).shape
        (5, 2)
    """

    log_weights: Float[Array, " components"]
    centers: Float[Array, "components dim"]
    whiteners: Float[Array, "components dim dim"]
    df: Float[Array, " components"]

    def logdensity(self, point: Float[Array, " dim"]) -> Float[Array, ""]:
        """Return the normalised log density at a point."""
        return jax.nn.logsumexp(self.log_joint(self.squared_radii(point)))

    def squared_radii(self, point: Float[Array, " dim"]) -> Float[Array, " components"]:
        """Return the squared distance of a point to each component, in units of its scale matrix."""
        return jnp.sum(jnp.square(jnp.einsum("kij,kj->ki", self.whiteners, point - self.centers)), axis=-1)

    def log_joint(self, squared_radii: Float[Array, " components"]) -> Float[Array, " components"]:
        """Return the log of weight times density of each component."""
        dim, half = self.centers.shape[1], self.df / 2
        peak = gammaln(half + dim / 2) - gammaln(half) - dim / 2 * jnp.log(self.df * math.pi)
        volume = jnp.sum(jnp.log(jnp.diagonal(self.whiteners, axis1=1, axis2=2)), axis=-1)
        return self.log_weights + peak + volume - (half + dim / 2) * jnp.log1p(squared_radii / self.df)

    def sample(self, key: Key[Array, ""], count: int) -> Float[Array, "count dim"]:
        """Return independent draws."""
        key_component, key_scale, key_normal = jax.random.split(key, 3)
        component = jax.random.categorical(key_component, self.log_weights, shape=(count,))
        df = self.df[component]
        chi_square = 2 * jnp.exp(jax.random.loggamma(key_scale, df / 2))
        normal = jax.random.normal(key_normal, (count, self.centers.shape[1]), self.centers.dtype)
        # By all factors, of which one is taken: many times faster than with a factor for each draw.
        spreads = jnp.einsum("kij,nj->nki", jax.vmap(_lower_inverse)(self.whiteners), normal)
        spread = jnp.take_along_axis(spreads, component[:, None, None], axis=1)[:, 0]
        return self.centers[component] + spread * jnp.sqrt(df / chi_square)[:, None]


def fit_mixture(key: Key[Array, ""], rows: Float[Array, "rows dim"]) -> StudentMixture:
    """Return the mixture that fits the rows best, its number of components chosen by Akaike's criterion.

    The criterion stands in for the held-out likelihood, which on a tenth of the rows is too noisy to see a wrong tail.

    Args:
        key: random key, for the starts.
        rows: of shape (rows, dim), in units in which a typical distance is about one.

    Example:
        >>> rows = jax.random.t(jax.random.key(0), 2.0, (500, 1)) + 3
        >>> mixture = fit_mixture(jax.random.key(1), rows)
        >>> bool(mixture.logdensity(jnp.array([3.0])) > mixture.logdensity(jnp.array([0.0])))
        True
    """
    seed = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    dim = np.shape(rows)[1]
    most = max(500, ENTRIES // (WIDTH * dim))
    kept = jnp.asarray(np.asarray(rows)[seed.permutation(len(rows))[:most]])
    few = kept[:SCREENING_ROWS]
    candidates = []
    for components in CANDIDATES:
        found = _maximise(_start(seed, np.asarray(few), components), few, SCREENING_STEPS)
        parameters = components * (1 + dim + dim * (dim + 1) // 2 + 1) - 1
        gain = len(few) * float(_mean_loglikelihood(found, few)) - parameters
        candidates.append((gain if math.isfinite(gain) else -math.inf, -components, found))
    best = max(candidates, key=lambda candidate: candidate[:2])[2]
    return _without_empty(_maximise(best, kept, FINAL_STEPS))


def _start(seed: np.random.Generator, rows: np.ndarray, components: int) -> StudentMixture:
    """Spread the centres by k-means++ and some rounds of k-means, where asinh keeps far rows from being centres."""
    bent = np.arcsinh(rows)
    centers = bent[seed.integers(len(bent), size=1)]
    for _ in range(components - 1):
        distance = _squared_distances(bent, centers).min(axis=1) + 1e-12
        centers = np.concatenate([centers, bent[seed.choice(len(bent), size=1, p=distance / distance.sum())]])
    for _ in range(KMEANS_ROUNDS):
        nearest = _squared_distances(bent, centers).argmin(axis=1)
        members = [bent[nearest == index] for index in range(components)]
        centers = np.stack([np.mean(own, axis=0) if len(own) else bent[0] for own in members])
    sizes = np.array([len(own) + 1.0 for own in members])
    spread = np.stack([_spread(np.sinh(own)) for own in members])
    extra = WIDTH - components
    weights = np.pad(sizes / sizes.sum(), (0, extra))
    factors = np.pad(1 / spread, ((0, extra), (0, 0)), constant_values=1.0)
    with np.errstate(divide="ignore"):  # a component without weight has the log weight -inf
        log_weights = np.log(weights)
    return StudentMixture(
        jnp.asarray(log_weights, rows.dtype),
        jnp.asarray(np.pad(np.sinh(centers), ((0, extra), (0, 0))), rows.dtype),
        jnp.asarray(factors[:, :, None] * np.eye(rows.shape[1]), rows.dtype),
        jnp.full(WIDTH, 2.0, rows.dtype),
    )


def _squared_distances(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return np.stack([np.sum(np.square(rows - center), axis=1) for center in centers], axis=1)


def _spread(members: np.ndarray) -> np.ndarray:
    if len(members) < 3:
        return np.ones(members.shape[1])
    return np.maximum(np.median(np.abs(members - np.median(members, axis=0)), axis=0), 0.05)


@jax.jit
def _maximise(mixture: StudentMixture, rows: Float[Array, "rows dim"], steps: int) -> StudentMixture:
    """Run so many steps of expectation-maximisation."""
    return jax.lax.fori_loop(0, steps, lambda _, found: _step(found, rows), mixture)


def _step(mixture: StudentMixture, rows: Float[Array, "rows dim"]) -> StudentMixture:
    dim = rows.shape[1]
    squared = jax.vmap(mixture.squared_radii, out_axes=1)(rows)
    share = jax.nn.softmax(jax.vmap(mixture.log_joint, in_axes=1, out_axes=1)(squared), axis=0)
    damping = (mixture.df[:, None] + dim) / (mixture.df[:, None] + squared)
    size, damped = share.sum(axis=1), share * damping
    filled = jnp.maximum(size, 1e-6)
    centers = damped @ rows / jnp.maximum(damped.sum(axis=1), 1e-6)[:, None]
    whiteners = jax.lax.map(lambda part: _whitener(rows - part[0], part[1], part[2]), (centers, damped, filled))
    mean_damping = jnp.sum(share * (jnp.log(damping) - damping), axis=1) / filled
    df = _degrees_of_freedom(mean_damping, mixture.df, dim)
    return StudentMixture(jnp.log(size / size.sum()), centers, whiteners, df)


def _whitener(
    deviations: Float[Array, "rows dim"], damped: Float[Array, " rows"], size: Float[Array, ""]
) -> Float[Array, "dim dim"]:
    """Return the inverse Cholesky factor of a component's scale matrix, drawn a little towards its diagonal."""
    dim = deviations.shape[1]
    total = (deviations * damped[:, None]).T @ deviations / size
    share = (dim + 2) / (size + dim + 2)  # as if so many rows more had been seen, uncorrelated
    matrix = (1 - share) * total + share * jnp.diag(jnp.diagonal(total)) + LEAST_SPREAD**2 * jnp.eye(dim)
    return _lower_inverse(jnp.linalg.cholesky(matrix))


def _lower_inverse(factor: Float[Array, "dim dim"]) -> Float[Array, "dim dim"]:
    """Return the inverse of a lower triangular matrix, row by row: XLA's own on a CPU takes a hundred times as long."""
    unit = jnp.eye(len(factor), dtype=factor.dtype)

    def add_row(row: int, found: Float[Array, "dim dim"]) -> Float[Array, "dim dim"]:
        return found.at[row].set((unit[row] - factor[row] @ found) / factor[row, row])

    return jax.lax.fori_loop(0, len(factor), add_row, jnp.zeros_like(factor))


def _degrees_of_freedom(
    mean_damping: Float[Array, " components"], old: Float[Array, " components"], dim: int
) -> Float[Array, " components"]:
    """Solve for the degrees of freedom by bisection of their logarithm; the left side falls in them."""
    known = mean_damping + digamma((old + dim) / 2) - jnp.log((old + dim) / 2) + 1

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        is_below = jnp.log(jnp.exp(middle) / 2) - digamma(jnp.exp(middle) / 2) + known > 0
        return jnp.where(is_below, middle, low), jnp.where(is_below, high, middle)

    low, high = (jnp.full_like(old, math.log(bound)) for bound in DF_RANGE)
    low, high = jax.lax.fori_loop(0, 25, halve, (low, high))
    return jnp.exp((low + high) / 2)


@jax.jit
def _mean_loglikelihood(mixture: StudentMixture, rows: Float[Array, "rows dim"]) -> Float[Array, ""]:
    return jnp.mean(jax.vmap(mixture.logdensity)(rows))


def _without_empty(mixture: StudentMixture) -> StudentMixture:
    """Drop the components without weight, heaviest first."""
    order = np.argsort(-np.asarray(mixture.log_weights))
    kept = order[np.asarray(mixture.log_weights)[order] > math.log(1e-6)]
    return jax.tree.map(lambda leaf: leaf[kept], mixture)
