"""What else learns a distribution from rows and draws from it: kernel density, Gaussian mixture, normalizing flow.

Each peer gets the chance that a careful user would give it: rows in robust units, and its settings chosen by likelihood
or BIC. All have one signature, ``peer(rows, count, seed, seconds)``.
"""

import importlib
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mafla.learn.table import robust_scaling, tail_index

__all__ = ["PEERS", "Draws", "Flow", "gaussian_mixture", "kernel_density", "normalizing_flow"]

Rows = Float[np.ndarray, "n dim"]
LogDensity = Callable[[Rows], Float[np.ndarray, " n"]]

BANDWIDTHS = np.geomspace(0.01, 10, 25)  # in units of Silverman's rule, which far modes make much too wide
BANDWIDTH_ROWS = 2000  # cross-validation looks at so many
MOST_COMPONENTS = 12


class Draws(NamedTuple):
    """What a peer made of rows.

    Attributes:
        draws: of shape (count, dim), in the units of the rows.
        logdensity: of points (n, dim), normalised; None where the peer has none.
        seconds: to fit and to draw.
    """

    draws: Rows
    logdensity: LogDensity | None
    seconds: float


class Flow(NamedTuple):
    """The shape of the flow and how it is trained."""

    layers: int = 5
    width: int = 50
    knots: int = 8
    interval: float = 5.0  # in robust units; beyond it the tail is that of the base
    rates: tuple[float, ...] = (1e-3, 2e-4)
    epochs: int = 100  # where no time is given
    patience: int = 10
    batch: int = 256


def kernel_density(rows: Rows, count: int, seed: int, seconds: float | None = None) -> Draws:
    """Draw from scikit-learn's Gaussian kernel density with the bandwidth of the highest cross-validated likelihood.

    Args:
        rows: data of shape (n, dim).
        count: number of draws.
        seed: of the draws and of the rows that choose the bandwidth.
        seconds: not used; fitting takes what it takes.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(100, 1))
        >>> kernel_density(rows, 5, seed=0).draws.shape
        (5, 1)
    """
    del seconds
    neighbors, selection = _load("sklearn.neighbors", "scikit-learn"), _load("sklearn.model_selection", "scikit-learn")
    began, scaling = time.perf_counter(), robust_scaling(rows)
    scaled = scaling.apply(rows)
    few = scaled[np.random.default_rng(seed).permutation(len(scaled))[:BANDWIDTH_ROWS]]
    model = neighbors.KernelDensity(rtol=1e-4)
    search = selection.GridSearchCV(model, {"bandwidth": BANDWIDTHS * _silverman(few)}, refit=False).fit(few)
    factor = search.best_params_["bandwidth"] / _silverman(few)
    model.set_params(bandwidth=factor * _silverman(scaled)).fit(scaled)  # more rows, a narrower kernel
    draws = scaling.undo(model.sample(count, random_state=seed))
    return Draws(draws, _in_units_of(rows, model.score_samples), time.perf_counter() - began)


def gaussian_mixture(rows: Rows, count: int, seed: int, seconds: float | None = None) -> Draws:
    """Draw from scikit-learn's mixture of normals with full covariances and 1 to 12 components, by BIC.

    Args:
        rows: data of shape (n, dim).
        count: number of draws.
        seed: of the first guess and of the draws.
        seconds: not used; fitting takes what it takes.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(100, 1))
        >>> gaussian_mixture(rows, 5, seed=0).draws.shape
        (5, 1)
    """
    del seconds
    mixture, exceptions = _load("sklearn.mixture", "scikit-learn"), _load("sklearn.exceptions", "scikit-learn")
    began, scaling = time.perf_counter(), robust_scaling(rows)
    scaled = scaling.apply(rows)
    models = [
        mixture.GaussianMixture(components, reg_covar=1e-4, max_iter=300, random_state=seed)
        for components in range(1, min(MOST_COMPONENTS, len(rows)) + 1)
    ]
    with warnings.catch_warnings():
        # Far rows keep some fits from converging; BIC judges them as they are.
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        best = min((model.fit(scaled) for model in models), key=lambda model: float(model.bic(scaled)))
    draws = np.random.default_rng(seed).permutation(best.sample(count)[0])  # they come sorted by component
    return Draws(scaling.undo(draws), _in_units_of(rows, best.score_samples), time.perf_counter() - began)


def normalizing_flow(
    rows: Rows, count: int, seed: int, seconds: float | None = None, shape: Flow | None = None
) -> Draws:
    """Draw from FlowJAX's masked autoregressive flow of rational quadratic splines.

    Two flows are trained, on a normal and on a Student-t base whose degrees of freedom start at the tail index of the
    rows and are learned; the one with the higher held-out likelihood draws.

    Args:
        rows: data of shape (n, dim).
        count: number of draws.
        seed: of the networks, of the training and of the draws.
        seconds: time to train each flow for, not counting compilation, unless it stops improving earlier.
        shape: size and training of the flow.

    Example:
        >>> PEERS["FlowJAX flow"] is normalizing_flow, Flow(layers=3).knots
        (True, 8)
    """
    distributions, shape = _load("flowjax.distributions", "flowjax"), shape or Flow()
    began, scaling = time.perf_counter(), robust_scaling(rows)
    scaled, dim = jnp.asarray(scaling.apply(rows), jnp.float32), rows.shape[1]
    freedom = float(np.clip(tail_index(rows).index, 1, 30))
    bases = [distributions.StandardNormal((dim,)), distributions.StudentT(jnp.full(dim, freedom, jnp.float32))]
    key_train, key_draw = jax.random.split(jax.random.key(seed))
    trained = [_train(_new_flow(base, key_train, shape), scaled, key_train, seconds, shape) for base in bases]
    flow, _ = min(trained, key=lambda pair: pair[1])
    draws = scaling.undo(np.asarray(flow.sample(key_draw, (count,)), np.float64))

    def logdensity(points: Rows) -> Float[np.ndarray, " n"]:
        return np.asarray(flow.log_prob(jnp.asarray(points, jnp.float32)), np.float64)

    return Draws(draws, _in_units_of(rows, logdensity), time.perf_counter() - began)


PEERS: dict[str, Callable[[Rows, int, int, float | None], Draws]] = {
    "kernel density": kernel_density,
    "Gaussian mixture": gaussian_mixture,
    "FlowJAX flow": normalizing_flow,
}


def _load(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"the comparison needs {package}, which is not installed: pip install {package}"
        raise ModuleNotFoundError(message, name=package) from error


def _in_units_of(rows: Rows, logdensity: LogDensity) -> LogDensity:
    """Turn the log density of scaled points into that of points as they are."""
    scaling = robust_scaling(rows)
    shift = float(np.log(scaling.scale).sum())
    return lambda points: logdensity(scaling.apply(np.asarray(points, np.float64))) - shift


def _silverman(scaled: Rows) -> float:
    n, dim = scaled.shape
    return float((n * (dim + 2) / 4) ** (-1 / (dim + 4)))


def _new_flow(base: Any, key: jax.Array, shape: Flow) -> Any:
    flows, bijections = _load("flowjax.flows", "flowjax"), _load("flowjax.bijections", "flowjax")
    spline = bijections.RationalQuadraticSpline(knots=shape.knots, interval=shape.interval)
    return flows.masked_autoregressive_flow(
        key, base_dist=base, transformer=spline, flow_layers=shape.layers, nn_width=shape.width
    )


def _train(flow: Any, scaled: Any, key: jax.Array, seconds: float | None, shape: Flow) -> tuple[Any, float]:
    """Train at falling learning rates, each for its share of the time, and return the flow and its held-out loss.

    The key is the same in every call, so that the same rows are held out.
    """
    optax, train = _load("optax", "optax"), _load("flowjax.train", "flowjax")
    loss, losses = _load("flowjax.train.losses", "flowjax").MaximumLikelihoodLoss(), [math.inf]
    batch = min(shape.batch, max(1, len(scaled) // 20))
    common = {"loss_fn": loss, "max_patience": shape.patience, "batch_size": batch, "show_progress": False}
    for rate in shape.rates:
        # Without the clip one far row in a batch throws the network off.
        optimizer = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(rate))
        fit = partial(train.fit_to_data, key, data=scaled, optimizer=optimizer, **common)
        epochs = shape.epochs
        if seconds is not None:
            flow, _ = fit(dist=flow, max_epochs=1)  # compiles
            began = time.perf_counter()
            flow, _ = fit(dist=flow, max_epochs=1)
            epochs = max(1, math.ceil(seconds / len(shape.rates) / (time.perf_counter() - began)))
        flow, history = fit(dist=flow, max_epochs=epochs)
        losses = history["val"]
    return flow, min((loss for loss in losses if math.isfinite(loss)), default=math.inf)
