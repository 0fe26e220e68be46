"""Rows in, new rows of the same law out, in the manner of scikit-learn's density estimators.

Rows are brought to robust units on the host in float64, and models learn and draw in those units: a column far from
zero, or of any size, keeps its precision although they compute in float32.
"""

import warnings
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from mafla import _check, run
from mafla.kernels.base import Kernel
from mafla.kernels.exact_fractional import exact_mafla
from mafla.kernels.learned_fractional import mafla
from mafla.learn import acceptance, energy, files, score, table
from mafla.learn.loading import rebuilt
from mafla.learn.training import Schedule
from mafla.thinning import thin_evenly

try:
    from sklearn.base import BaseEstimator, DensityMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    message = "HeavyTailSampler needs scikit-learn, which is not installed: pip install 'mafla[sklearn]'"
    raise ModuleNotFoundError(message, name="sklearn") from error

__all__ = ["FewRowsWarning", "HeavyTailSampler"]

METHODS = ("energy", "mafla")
ENOUGH_ROWS = 50
FEW = Schedule(steps=1, check_every=1)  # with fewer rows the base law is all that can be learned
MOST_STARTS = 20_000
CHAINS = (64, 4096)  # at once: powers of two between these, so that few programs are compiled
STATES = 10  # that a chain offers; draws are chosen from the later half of them
TUNING_CHAINS, TUNING_STEPS = 1024, 100
STEP_SIZE = 0.1  # in robust units: where tuning starts, and where nothing is tuned
BLOCK = 1024  # rows whose densities are computed at once, whatever their number, so that each gets the same bits
MODELS = {"energy_": energy.Energy, "score_": score.Score, "acceptance_": acceptance.Acceptance}


class FewRowsWarning(UserWarning):
    """There are too few rows to learn a density from."""


def _has_density(sampler: "HeavyTailSampler") -> bool:
    method = sampler.method
    if hasattr(sampler, "start_"):  # a fit holds until the next one, whatever the parameters are by now
        method = "energy" if sampler.energy_ is not None else "mafla"
    if method != "energy":
        raise AttributeError(f"method={method!r} learns no density; method='energy' does")
    return True


class HeavyTailSampler(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Learn the law of heavy-tailed or multimodal rows, and draw from it.

    Args:
        method: "energy" learns a normalised log density and draws with the exact fractional Langevin kernel. "mafla" is
            the paper's method: a score by sliced score matching, and an acceptance function by Score Balance Matching
            with the proxy of the proposal score. It has no density.
        alpha: stability index of the proposals, in (1, 2]; estimated from the tail of the rows by "auto".
        steps: steps of each chain. Chains start at rows that were fitted, as many as there will be draws; the draws are
            chosen evenly from all their later states.
        step_size: step size τ in robust units; tuned where it is None, and 0.1 by "mafla".
        schedule: how to train; None for the default of each model.
        verbose: show bars on a terminal.
        random_state: seed of fits, and of draws too unless `sample` is given its own.

    Attributes:
        alpha_: the stability index in use.
        step_size_: the step size in use.
        energy_: the learned log density of rows in robust units; None by "mafla".
        score_, acceptance_: the learned score and acceptance function; None by "energy".
        scaling_: from rows to robust units and back.
        start_: rows in robust units at which chains start, at most 20 000.
        n_features_in_: number of columns.
        feature_names_in_: their names, if rows came in a data frame with text for names.

    Example:
        >>> rows = np.random.default_rng(0).standard_t(2, size=(400, 1))
        >>> quick = {"alpha": 1.5, "step_size": 0.1, "steps": 50, "schedule": Schedule(steps=50)}  # no need of any
        >>> sampler = HeavyTailSampler(**quick, random_state=0).fit(rows)
        >>> sampler.sample(3).shape, sampler.score_samples([[0.0], [1e6]]).round()
        ((3, 1), array([ -1., ...]))
    """

    def __init__(
        self,
        method: Literal["energy", "mafla"] = "energy",
        *,
        alpha: float | Literal["auto"] = "auto",
        steps: int = 200,
        step_size: float | None = None,
        schedule: Schedule | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.steps = steps
        self.step_size = step_size
        self.schedule = schedule
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "HeavyTailSampler":
        """Learn from rows.

        Args:
            X: array of shape (rows, columns) or data frame of real numbers; at least 50 rows, or a warning by "energy".
            y: ignored.
        """
        del y
        self.__dict__.pop("start_", None)  # the last thing to be known: what stops half way leaves nothing fitted
        self._check_parameters()
        values = self._read(X)
        key_learn, key_start, key_tune = jax.random.split(_key(self.random_state, 0), 3)
        self.scaling_ = table.robust_scaling(values)
        rows = self.scaling_.apply(values)
        self.step_size_ = STEP_SIZE if self.step_size is None else float(self.step_size)
        self._learn(key_learn, rows)
        if len(rows) > MOST_STARTS:
            rows = rows[np.asarray(jax.random.permutation(key_start, len(rows)))[:MOST_STARTS]]
        start = rows.astype(jnp.result_type(float))
        if self.energy_ is not None and self.step_size is None:
            self.step_size_ = _tuned_step_size(self._kernel(), key_tune, start)
            self._forget_kernel()
        self.start_ = start
        return self

    def sample(self, n_samples: int = 1, random_state: Any = None, *, as_frame: bool = False) -> Any:
        """Return new rows, an array of shape (n_samples, columns) in float64.

        Args:
            n_samples: number of rows.
            random_state: seed; that of the sampler where it is None, so that a whole number gives the same rows again.
            as_frame: return a pandas data frame; its columns have the names that were fitted, if those were texts.
        """
        check_is_fitted(self)
        count, steps = _check.whole("n_samples", n_samples, 1), _check.whole("steps", self.steps, 1)
        key = _key(self.random_state if random_state is None else random_state, 1)
        rows = self.scaling_.undo(_draw(self._kernel(), key, self.start_, count, steps, bool(self.verbose)))
        if not as_frame:
            return rows
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ModuleNotFoundError as error:
            message = "as_frame=True needs pandas, which is not installed: pip install pandas"
            raise ModuleNotFoundError(message, name="pandas") from error
        return pd.DataFrame(rows, columns=getattr(self, "feature_names_in_", None))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Float[np.ndarray, " n"]:
        """Return the normalised log density at each row."""
        check_is_fitted(self)
        points = self.scaling_.apply(_validated(self, X, reset=False))
        if far := int(np.count_nonzero((np.abs(points) > table.FARTHEST).any(axis=1))):
            what = f"{table.FARTHEST:g} quantile scales of the median"
            raise ValueError(f"X must lie within {what} of the rows that were fitted, got {far} rows farther out")
        return _logdensities(self.energy_, points) - np.sum(np.log(self.scaling_.scale))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Return the log density of all rows together: the sum of `score_samples`."""
        del y
        return float(np.sum(self.score_samples(X)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "start_")

    def _check_parameters(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.alpha != "auto":
            _check.stability_index(self.alpha, above=1)
        _check.whole("steps", self.steps, 1)
        if self.step_size is not None:
            _check.positive("step_size", self.step_size)
        if not isinstance(self.schedule, Schedule | None):
            raise ValueError(f"schedule must be a Schedule or None, got {self.schedule!r}")

    def _read(self, X: Any) -> table.Values:
        """Return the rows if scikit-learn takes them for data, and we for data that can be learned from."""
        least = 2 if self.method == "energy" else ENOUGH_ROWS
        # To scikit-learn's eyes the columns of a data frame have no names, and masked entries are as good as others.
        is_first = hasattr(X, "iloc") or np.ma.isMaskedArray(X)
        found = _read_table(X, least) if is_first else None
        taken = _validated(self, X, ensure_all_finite=False, ensure_min_samples=2)
        values = (found or _read_table(taken, least)).values
        if len(values) < ENOUGH_ROWS:
            what = f"{len(values)} rows are too few to learn a density: use at least {ENOUGH_ROWS}, better thousands"
            warnings.warn(what, FewRowsWarning, stacklevel=3)
        return values

    def _learn(self, key: Key[Array, ""], rows: table.Values) -> None:
        key_first, key_second = jax.random.split(key)
        progress, schedule = bool(self.verbose), self.schedule
        self._forget_kernel()
        self.energy_: Any = None
        self.score_: Any = None
        self.acceptance_: Any = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", table.DuplicateRowsWarning)  # which has been given, of X
            if self.method == "energy":
                plan = schedule or (energy.DEFAULT if len(rows) >= ENOUGH_ROWS else FEW)
                self.energy_ = energy.fit_energy(
                    key_first, rows, schedule=plan, alpha=self.alpha, progress=progress, least=2
                )
                _refuse_unfinished(self.energy_)
                self.alpha_ = self.energy_.alpha
                return
            self.score_ = score.fit_score(
                key_first, rows, schedule=schedule or score.DEFAULT, alpha=self.alpha, progress=progress
            )
            _refuse_unfinished(self.score_)
            self.alpha_ = self.score_.alpha
            proposal = self.alpha_, self.step_size_
            self.acceptance_ = acceptance.fit_acceptance(
                key_second, self.score_, rows, *proposal, "proxy", form="sigmoid", schedule=schedule, progress=progress
            )
            _refuse_unfinished(self.acceptance_)

    def _kernel(self) -> Kernel:
        """Return the kernel, always the same one after a fit: a new one would be compiled again."""
        if not hasattr(self, "_kept_kernel"):
            if self.energy_ is not None:
                self._kept_kernel = exact_mafla(self.energy_, self.alpha_, self.step_size_)
            else:
                self._kept_kernel = mafla(self.score_, self.acceptance_, self.alpha_, self.step_size_)
        return self._kept_kernel

    def _forget_kernel(self) -> None:
        self.__dict__.pop("_kept_kernel", None)

    def __getstate__(self) -> dict[str, Any]:
        # Functions cannot be taken to another process: a kernel is made again there, a model from settings and arrays.
        state = super().__getstate__()
        models = {name: (state[name].config(), files.arrays_of(state[name])) for name in MODELS if state.get(name)}
        return {name: value for name, value in state.items() if name != "_kept_kernel"} | models

    def __setstate__(self, state: dict[str, Any]) -> None:
        models = {name: rebuilt(kind, *state[name]) for name, kind in MODELS.items() if state.get(name)}
        super().__setstate__(state | models)


def _refuse_unfinished(model: Any) -> None:
    if model.history.outcome == "interrupted":
        raise KeyboardInterrupt("stopped while fitting: nothing is fitted")


def _key(random_state: Any, purpose: int) -> Key[Array, ""]:
    """Return a key from whatever scikit-learn takes for a seed; the same seed serves several purposes."""
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    return jax.random.fold_in(jax.random.key(seed), purpose)


def _validated(sampler: "HeavyTailSampler", data: Any, **options: Any) -> table.Values:
    """Return what scikit-learn takes for data, and say in one line what it says in many, or without a place."""
    try:
        return np.asarray(validate_data(sampler, data, dtype=np.float64, **options))
    except ValueError as error:
        if "Reshape your data" in str(error):
            what = f"X must have the shape (rows, columns), got {np.shape(data)}"
            raise ValueError(f"{what}. Reshape your data: X.reshape(-1, 1) is one column") from None
        if "could not convert string to float" in str(error):
            raise ValueError(f"X must hold real numbers, got {_first_text(data)}") from None
        raise


def _first_text(data: Any) -> str:
    """Name the first entry that is no number, and its place."""
    for (row, column), entry in np.ndenumerate(np.asarray(data, dtype=object)):
        try:
            float(entry)
        except ValueError:
            return f"{entry[:40]!r} in column '{column}', row {row} counting from 0"
    return "text"


def _read_table(data: Any, least: int) -> table.Table:
    try:
        return table.read_table(data, name="X", least=least)
    except ValueError as error:  # scikit-learn's users look for NaN in its own spelling
        raise ValueError(str(error).replace("got nan", "got NaN")) from None


def _start(key: Key[Array, ""], start: np.ndarray, chains: int) -> np.ndarray:
    return start[np.asarray(jax.random.randint(key, (chains,), 0, len(start)))]


def _tuned_step_size(kernel: Kernel, key: Key[Array, ""], start: np.ndarray) -> float:
    """Return the step size at which chains accept as often as they should."""
    key_rows, key_run = jax.random.split(key)
    rows = _start(key_rows, start, TUNING_CHAINS)
    return float(run.sample(kernel, key_run, rows, 1, warmup=TUNING_STEPS, progress=False).attrs["step_size"])


def _draw(
    kernel: Kernel, key: Key[Array, ""], start: np.ndarray, count: int, steps: int, progress: bool
) -> table.Values:
    """Return draws chosen evenly from the later states of chains that start at random rows, in batches of one size."""
    chains = min(max(CHAINS[0], 2 ** (count - 1).bit_length()), CHAINS[1])
    made: list[table.Values] = []
    for first in range(0, count, chains):
        key_rows, key_run, key_thin = jax.random.split(jax.random.fold_in(key, first), 3)
        rows = _start(key_rows, start, chains)
        tree = run.sample(kernel, key_run, rows, steps, thin=max(1, steps // STATES), progress=progress)
        if tree.attrs["stopped_early"]:
            raise KeyboardInterrupt("stopped while drawing: chains that are not done are no draws")
        states = tree["posterior"]["x"].to_numpy()
        later = states[:, states.shape[1] // 2 :].reshape(-1, start.shape[1])
        seed = int(jax.random.randint(key_thin, (), 0, 2**31 - 1))
        made.append(thin_evenly(later, min(chains, count - first), seed).astype(np.float64))
    return np.concatenate(made)


def _logdensities(model: energy.Energy, points: table.Values) -> table.Values:
    rows, dim = points.shape
    blocks = np.zeros((-(-rows // BLOCK), BLOCK, dim), jnp.result_type(float))
    blocks.reshape(-1, dim)[:rows] = points
    return np.concatenate([np.asarray(_block(model, block), np.float64) for block in blocks])[:rows]


@eqx.filter_jit
def _block(model: energy.Energy, points: Float[Array, "n dim"]) -> Float[Array, " n"]:
    return jax.vmap(model)(points)
