"""An acceptance function learned from scores alone: networks for ``a(x', x)``, trained by Score Balance Matching.

Four ways to write it, from the paper's to one that learns only what is unknown:

- "sigmoid": ``a = σ(g(x', x))`` with a free network, the paper's.
- "antisymmetric": the logit is ``g(x', x) - g(x, x')``, accepted by Metropolis.
- "factors": ``a = f(x) g(x') r(x', x)`` with a symmetric r (Lemma decomposition), for symmetric proposals.
- "structured": the logit is ``e(x') - e(x) + log q(x|x') - log q(x'|x)`` with the exact proposal density and a learned
  e, accepted by Metropolis: exact if e is the log density.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from mafla import _check
from mafla.drift import local_drift
from mafla.learn import files
from mafla.learn.balance import Proposal, balance_loss, curriculum_pairs, log_proposal_ratio
from mafla.learn.energy import Energy
from mafla.learn.networks import EnergyNetwork, Frame, PairNetwork, Point, Scalar
from mafla.learn.prepare import prepare
from mafla.learn.score import Score
from mafla.learn.training import History, Schedule, train

__all__ = ["Acceptance", "fit_acceptance"]

FORMS = ("structured", "antisymmetric", "sigmoid", "factors")
FULL_AT = 0.5  # share of the training after which pairs are whole proposals
SETTINGS = ("form", "alpha", "step_size", "walk")  # of an Acceptance, which a file must name
SIZE = (64, 2)  # width and depth of every network
ENTROPY = 0.1  # without it the paper's form learns to accept nothing
LEAST_ETA = 0.1  # pairs of equal points would teach nothing
# Held-out pairs are whole proposals, at which a free network that has seen short moves only looks bad: no early stop.
DEFAULT = Schedule(steps=3000, check_every=100, patience=None)
STRUCTURED = Schedule(steps=1000, check_every=100, patience=6)  # starts at the base, with little left to learn

Form = Literal["structured", "antisymmetric", "sigmoid", "factors"]
Field = Callable[[Point], Point]
Networks = tuple[Any, ...]


class Acceptance(eqx.Module):
    """A learned acceptance function: call it with a pair ``(x_new, x)`` for the log probability of that move.

    Attributes:
        frame: units and base of the data.
        networks: those of the form.
        score: the score that it was learned from; the structured form needs it for the proposal density.
        form: how the acceptance is written.
        alpha: stability index of the proposal it belongs to.
        step_size: step size of the proposal.
        walk: whether the proposal is the fractional random walk instead of the Langevin proposal.
        history: the training.
        drift: of the proposal, where it is not ``c_α s(x)``.
    """

    frame: Frame
    networks: Networks
    score: Any
    form: Form = eqx.field(static=True)
    alpha: float = eqx.field(static=True)
    step_size: float = eqx.field(static=True)
    walk: bool = eqx.field(static=True)
    history: History = eqx.field(static=True)
    drift: Field | None = None

    def __call__(self, x_new: Point, x: Point) -> Scalar:
        """Return ``log a(x_new, x)``."""
        accept = log_acceptance(self.frame, self.networks, self.form, self._proposal())
        return accept(jnp.asarray(x_new), jnp.asarray(x))

    def logit(self, x_new: Point, x: Point) -> Scalar:
        """Return the logit from which the acceptance is made."""
        logit = acceptance_logit(self.frame, self.networks, self.form, self._proposal())
        return logit(jnp.asarray(x_new), jnp.asarray(x))

    def save(self, path: str | Path) -> None:
        """Write the model, with the score that it was learned from, to a file that `mafla.load` reads."""
        files.write(path, "acceptance", self.config(), files.arrays_of(self))

    def config(self) -> dict[str, Any]:
        """Return the settings from which `skeleton` makes an empty model."""
        if self.drift is not None:
            raise ValueError(
                "drift must be None for the acceptance to be saved: a function cannot be written to a file"
            )
        settings = {name: getattr(self, name) for name in SETTINGS}
        sizes, history = self.frame.sizes(self.networks[0]), self.history.to_json()
        return {**settings, **sizes, "score": _score_config(self.score), "history": history}

    @staticmethod
    def skeleton(config: dict[str, Any]) -> "Acceptance":
        """Return the model that was saved with these settings, its arrays empty."""
        frame = Frame.empty(config["dim"], config["components"])
        networks = _networks(jax.random.key(0), frame, config["form"], (config["width"], config["depth"]))
        settings = {name: config[name] for name in SETTINGS}
        score, history = _score_skeleton(config["score"]), History.from_json(config["history"])
        return Acceptance(frame, networks, score, **settings, history=history)

    def _proposal(self) -> Proposal:
        drift = self.drift or local_drift(self.score, self.alpha)
        return Proposal(None if self.walk else drift, self.alpha, self.step_size)


def fit_acceptance(  # noqa: PLR0913 - each is a choice that the paper leaves open
    key: Key[Array, ""],
    score: Field,
    data: Any,
    alpha: float,
    step_size: float,
    proposal_score: Literal["exact", "proxy"] = "exact",
    *,
    form: Form = "structured",
    walk: bool = False,
    drift: Field | None = None,
    lambda_alpha: float = 0.1,
    lambda_entropy: float | None = None,
    schedule: Schedule | None = None,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> Acceptance:
    """Learn an acceptance function by Score Balance Matching (Eqs. sbm_objective and sbm_ent).

    Args:
        key: random key; the same key gives the same model.
        score: score of the target at a single point: a `Score`, the ``.score`` of an `Energy`, or any function, with
            which the result cannot be saved.
        data: rows of the target, at least 50.
        alpha: stability index of the proposal, in (1, 2].
        step_size: its τ; the result belongs to this step size.
        proposal_score: "exact", the score of the stable law, or "proxy", the paper's.
        form: "structured", "antisymmetric", "sigmoid" (the paper's) or "factors" (for ``walk``).
        walk: learn for the fractional random walk, whose proposal is symmetric.
        drift: replaces ``c_α s(x)`` in the proposal; the result cannot be saved.
        lambda_alpha: weight λ_α of the loss in the α-norm.
        lambda_entropy: weight λ of the negative entropy; 0.1 where it is not given, and 0 for the forms in which the
            entropy cannot change without the balance.
        schedule: how to train; where it is not given, 3000 steps, or up to 1000 for the structured form.
        progress: show a bar on a terminal.
        checkpoint: file from which an interrupted training goes on, with the same score and drift.

    Example:
        >>> import jax, numpy as np
        >>> rows = np.random.default_rng(0).normal(size=(200, 1))
        >>> quick = Schedule(steps=50, check_every=50)
        >>> log_acceptance = fit_acceptance(
        ...     jax.random.key(0), lambda x: -x, rows, 2.0, 0.1, schedule=quick, progress=False
        ... )
        >>> bool(log_acceptance(np.ones(1), np.zeros(1)) <= 0)
        True
    """
    _check.function("score", score)
    _refuse_misfits(score, form, walk, drift)
    if lambda_entropy is None:
        lambda_entropy = ENTROPY if form in ("sigmoid", "factors") else 0.0
    frame = score.frame if isinstance(score, Score) else None
    found = prepare(key, data, _check.stability_index(alpha, above=1), frame=frame)
    step_size = _check.positive("step_size", step_size)
    pull = None if walk else drift or local_drift(score, found.alpha)
    proposal = Proposal(pull, found.alpha, step_size, proposal_score)
    networks = _networks(found.keys[0], found.frame, form)
    loss = _loss(found.frame, score, proposal, form, (lambda_alpha, lambda_entropy))
    networks, history = train(
        found.keys[1],
        networks,
        loss,
        found.train,
        found.held_out,
        schedule or (STRUCTURED if form == "structured" else DEFAULT),
        progress=progress,
        label="acceptance",
        checkpoint=checkpoint,
        settings=(form, walk, *proposal[1:], str(lambda_alpha), str(lambda_entropy)),
    )
    return Acceptance(found.frame, networks, score, form, found.alpha, step_size, walk, history, drift)


def acceptance_logit(
    frame: Frame, networks: Networks, form: Form, proposal: Proposal
) -> Callable[[Point, Point], Scalar]:
    """Return the logit of a move to ``x_new`` from ``x``: antisymmetric in all forms but the paper's."""
    log_proposal = log_proposal_ratio(proposal._replace(kind="exact"))

    def logit(x_new: Point, x: Point) -> Scalar:
        new, old = frame.units(x_new), frame.units(x)
        if form == "sigmoid":
            return networks[0](frame, new, old)
        if form == "antisymmetric":
            return networks[0](frame, new, old) - networks[0](frame, old, new)
        if form == "structured":
            energy_new, energy_old = (frame.base.logdensity(u) + networks[0](frame, u) for u in (new, old))
            return energy_new - energy_old + log_proposal(x_new, x)
        log_f, log_g, _ = networks
        return log_g(frame, new) - log_f(frame, new) - (log_g(frame, old) - log_f(frame, old))

    return logit


def log_acceptance(
    frame: Frame, networks: Networks, form: Form, proposal: Proposal
) -> Callable[[Point, Point], Scalar]:
    """Return ``log a(x_new, x)``: Metropolis where the logit is that of detailed balance, else a sigmoid."""
    logit = acceptance_logit(frame, networks, form, proposal)
    if form in ("structured", "antisymmetric"):
        return lambda x_new, x: jnp.minimum(logit(x_new, x), 0)
    if form == "sigmoid":
        return lambda x_new, x: jax.nn.log_sigmoid(logit(x_new, x))

    def factors(x_new: Point, x: Point) -> Scalar:
        # f(x) g(x') r(x', x), r the largest symmetric factor that keeps both directions below one times one below one.
        new, old = frame.units(x_new), frame.units(x)
        symmetric = networks[2](frame, new, old) + networks[2](frame, old, new)
        return jax.nn.log_sigmoid(logit(x_new, x)) - jax.nn.softplus(symmetric)

    return factors


def _refuse_misfits(score: Field, form: Form, walk: bool, drift: Field | None) -> None:
    """Refuse choices that do not go together."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    if form == "factors" and not walk:
        raise ValueError("form must not be 'factors' unless walk=True: it belongs to symmetric proposals")
    if walk and drift is not None:
        raise ValueError("drift must be None if walk=True: a random walk has none")
    if isinstance(score, Score) and score.loss == "fractional":
        raise ValueError(
            "score must be the gradient of a log density, got one with loss='fractional'; pass it as drift"
        )


def _networks(key: Key[Array, ""], frame: Frame, form: Form, size: tuple[int, int] = SIZE) -> Networks:
    keys = jax.random.split(key, 3)
    if form == "structured":
        return (EnergyNetwork(keys[0], frame, *size),)
    if form == "factors":
        return (*(EnergyNetwork(each, frame, *size) for each in keys[:2]), PairNetwork(keys[2], frame, *size))
    return (PairNetwork(keys[0], frame, *size),)


def _score_config(score: Any) -> dict[str, Any]:
    if isinstance(score, Score):
        return {"kind": "score", **score.config()}
    if getattr(score, "__func__", None) is Energy.score:
        return {"kind": "energy", **score.__self__.config()}
    what = getattr(score, "__qualname__", type(score).__name__)
    raise ValueError(
        f"score must be a model of mafla, or the .score of one, for the acceptance to be saved, got {what}"
    )


def _score_skeleton(config: dict[str, Any]) -> Any:
    return Score.skeleton(config) if config["kind"] == "score" else Energy.skeleton(config).score


def _loss(frame: Frame, score: Field, proposal: Proposal, form: Form, weights: tuple[float, float]) -> Any:
    lambda_alpha, lambda_entropy = weights

    def value(networks: Networks, unit_rows: Float[Array, "n dim"], key: Key[Array, ""], progress: Scalar) -> Scalar:
        rows = unit_rows * frame.scale + frame.center
        new = curriculum_pairs(key, rows, proposal, jnp.clip(progress / FULL_AT, LEAST_ETA, 1))
        function = log_acceptance(frame, networks, form, proposal)
        pairs = function, score, proposal, new, rows
        return balance_loss(*pairs, lambda_alpha=lambda_alpha, lambda_entropy=lambda_entropy)[0]

    return value
