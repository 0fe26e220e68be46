"""Running many chains in short chunks, so that a run can be watched, limited and interrupted."""

import math
import os
import time
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Key
from numpy.typing import ArrayLike

from mafla import _check
from mafla._interrupt import interrupts
from mafla.kernels.base import Kernel, check_kernel, params_at
from mafla.program import Draws, Program, compile_program, empty_buffer
from mafla.progress import Report, progress_bar
from mafla.samples import to_datatree

__all__ = ["NonFiniteWarning", "ShortWarmupWarning", "sample"]

CHUNK_SECONDS = 0.25
BUFFER = 2**22  # numbers that a run with a time limit draws before it puts them with the others


class NonFiniteWarning(UserWarning):
    """Some proposals had a NaN or an infinity in them. They were turned down; no such draw is stored."""


class ShortWarmupWarning(UserWarning):
    """The time limit ended warm-up before its last step: what it was to learn may not be known well."""


def sample(
    kernel: Kernel,
    key: Key[Array, ""],
    positions: ArrayLike,
    num_steps: int,
    *,
    warmup: int = 0,
    thin: int = 1,
    progress: bool = True,
    time_limit: float | None = None,
) -> xr.DataTree:
    """Run chains and return their draws.

    Args:
        kernel: any kernel of this package.
        key: random key; the same key gives the same draws.
        positions: where the chains start, of shape (chains, dim).
        num_steps: steps of each chain after warm-up; every ``thin``-th is kept.
        warmup: steps before that, not kept, in which a Metropolis kernel's step size is tuned and then frozen.
        thin: how many steps make a draw.
        progress: show a bar with acceptance and time left on a terminal.
        time_limit: stop after about so many seconds with what has been drawn (at least one chunk).

    Returns:
        A tree with groups ``posterior`` (``x``: chain, draw, dim) and ``sample_stats`` (``acceptance_rate``,
        ``nonfinite`` and, where the kernel knows it, ``lp``). Its attributes hold the settings and what was tuned;
        ``warmup`` is how many steps of warm-up were made. After Ctrl-C it holds the draws made until then.

    Example:
        >>> import jax, jax.numpy as jnp, mafla
        >>> target = mafla.targets.student_t(2, dim=3)
        >>> kernel = mafla.exact_mafla(target.logdensity, alpha=1.5, step_size=0.5)
        >>> tree = mafla.sample(kernel, jax.random.key(0), jnp.zeros((8, 3)), 100, warmup=50, progress=False)
        >>> tree["posterior"]["x"].shape
        (8, 100, 3)
    """
    started = time.monotonic()
    check_kernel(kernel)
    start = jnp.asarray(_check.chain_positions(positions)).T  # chains last, as everywhere below
    num_steps, warmup = _check.whole("num_steps", num_steps, 1), _check.whole("warmup", warmup, 0)
    thin = _check.whole("thin", thin, 1)
    if thin > num_steps:
        raise ValueError(f"thin must be at most num_steps = {num_steps}, got {thin}")
    deadline = math.inf if time_limit is None else started + _check.positive("time_limit", time_limit)
    key_warm, key_run = _two_keys(key)

    # The program takes the parameters as arguments, since warm-up changes them.
    program = compile_program(kernel._replace(params=None), start.shape, start.dtype, thin)
    states = program.init(start)
    _check_start(states)
    params, warmed = params_at(kernel, len(start), start.dtype), 0
    if warmup:
        with progress_bar("warm-up", warmup, shown=progress) as report:
            params, states, warmed = _warm_up(program, params, states, key_warm, warmup, deadline, report)
        params = kernel.freeze(params)
    with progress_bar("sampling", num_steps, shown=progress) as report:
        draws = _draw(program, params, states, key_run, num_steps // thin, deadline, report)

    _report_short_warmup(warmed, warmup)
    _report_nonfinite(draws.nonfinite, thin)
    attributes = {
        "num_steps": num_steps,
        "warmup": warmed,
        "thin": thin,
        "stopped_early": int(warmed < warmup or len(draws.position) < num_steps // thin),
        "seconds": time.monotonic() - started,
        **_tuned(params),
    }
    stats = {"acceptance_rate": draws.acceptance_rate, "nonfinite": draws.nonfinite, "lp": draws.logdensity}
    by_chain = {name: value.T for name, value in stats.items() if value is not None}
    return to_datatree(np.moveaxis(draws.position, -1, 0), by_chain, attributes)


def _two_keys(key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    _check.random_key(key)
    # Noise is drawn for many chains, whose keys are told apart by their axis: old-style keys have one of their own.
    whole = key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
    return jax.random.fold_in(whole, 0), jax.random.fold_in(whole, 1)


class _Pace:
    """How much to run next so that a chunk takes about as long as it should, and when to stop."""

    def __init__(self, deadline: float) -> None:
        self.deadline, self.wish, self.seconds_each = deadline, 1, 0.0
        self.last = time.monotonic()

    def next(self, remaining: int) -> int:
        left = (self.deadline - time.monotonic()) / max(self.seconds_each, 1e-9)
        return max(1, int(min(self.wish, remaining, left)))

    def ran(self, count: int) -> None:
        """Take note that a chunk is done: what one takes says little about much longer ones, so growth is gradual."""
        now = time.monotonic()
        self.seconds_each, self.last = (now - self.last) / count, now
        self.wish = max(1, min(8 * count, int(CHUNK_SECONDS / max(self.seconds_each, 1e-9))))

    @property
    def is_over(self) -> bool:
        return time.monotonic() + self.seconds_each > self.deadline


def _warm_up(
    program: Program, params: Any, states: Any, key: Key[Array, ""], warmup: int, deadline: float, report: Report
) -> tuple[Any, Any, int]:
    """Return the tuned parameters, the states and the number of steps of a warm-up, cut short where time is over."""
    spans, done = -(-warmup // program.engine.plan.span), 0
    carry, _ = program.warm((params, params, states), key, 0, 0, warmup)  # no steps: it compiles
    pace = _Pace(deadline)
    try:
        while done < spans and not pace.is_over:
            count = pace.next(spans - done)
            carry, rate = program.warm(carry, key, done, count, warmup)
            done += count
            report(done * program.engine.plan.span, float(rate))
            pace.ran(count)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped during warm-up: there are no draws yet") from None
    return carry[1], carry[2], min(warmup, done * program.engine.plan.span)


def _draw(
    program: Program, params: Any, states: Any, key: Key[Array, ""], total: int, deadline: float, report: Report
) -> Draws:
    """Draw until there are ``total`` draws, the time is over or the user has had enough."""
    plan = program.engine.plan
    rows, done = -(-total // plan.draws), 0
    _check_memory(rows * plan.draws, states)
    # A run that may be cut short does not wait for memory that it never uses: it fills a small buffer again and again,
    # and the system gives the memory of the whole when it is first written to. Others are spared the copying.
    room = rows if deadline == math.inf else min(rows, max(1, BUFFER // (plan.draws * states.position.size)))
    buffer = empty_buffer(plan, states, room)
    whole = None if room == rows else jax.tree.map(lambda part: np.empty((rows, *part.shape[1:]), part.dtype), buffer)
    states, buffer, _ = program.chunk(params, states, key, 0, 0, buffer=buffer)  # no rows: it compiles
    pace = _Pace(deadline)
    with interrupts() as is_interrupted:
        while done < rows and not (done and (pace.is_over or is_interrupted())):
            first, count = done % room, pace.next(min(rows - done, room - done % room))
            states, buffer, rate = program.chunk(params, states, key, done, count, buffer=buffer)
            if whole is not None:
                _put(buffer, slice(first, first + count), whole, slice(done, done + count))
            done += count
            report(done * plan.draws * plan.thin, float(rate))
            pace.ran(count)
    kept = min(total, done * plan.draws)  # the last row may make more than are wanted
    return jax.tree.map(lambda part: np.asarray(part).reshape(-1, *part.shape[2:])[:kept], whole or buffer)


def _put(buffer: Draws, rows: slice, whole: Draws, places: slice) -> None:
    for part, into in zip(buffer, whole, strict=True):
        if into is not None:
            into[places] = np.asarray(part)[rows]


def _tuned(params: Any) -> dict[str, np.ndarray]:
    """Return what warm-up may have changed, by name; of a cycle the step sizes of all parts. Matrices are left out."""
    if hasattr(params, "_asdict"):
        return {name: np.asarray(value) for name, value in params._asdict().items() if getattr(value, "ndim", 2) < 2}
    parts = jax.tree.leaves(params, is_leaf=lambda part: hasattr(part, "step_size"))
    sizes = [part.step_size for part in parts if hasattr(part, "step_size")]
    return {"step_size": np.array(sizes)} if sizes else {}


def _check_memory(draws: int, states: Any) -> None:
    """Refuse a run whose draws do not fit, before the system ends the process for it."""
    numbers = states.position.size + 3 * states.position.shape[-1]
    needed = draws * numbers * states.position.dtype.itemsize
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return
    if needed > 0.9 * there:
        raise ValueError(
            f"num_steps must be such that the draws fit into memory: they need {needed / 1e9:.1f} GB, "
            f"there are {there / 1e9:.1f} GB; raise thin or make fewer steps"
        )


def _check_start(states: Any) -> None:
    """Refuse chains that start where the target is zero or unknown."""
    for part in getattr(states, "parts", ()):
        _check_start(part)
    for name in ("logdensity", "drift", "score"):
        value = getattr(states, name, None)
        if value is None:
            continue
        bad = np.flatnonzero(~np.isfinite(np.asarray(value)).reshape(-1, value.shape[-1]).all(0))
        if len(bad):
            first = (..., bad[0])
            what = f"{name} = {np.asarray(value)[first]} at positions[{bad[0]}] = {np.asarray(states.position)[first]}"
            raise ValueError(
                f"positions must have a finite {name}, got {what} (so in {len(bad)} of {value.shape[-1]} chains)"
            )


def _report_short_warmup(made: int, wanted: int) -> None:
    if made < wanted:
        what = f"time_limit ended warm-up after {made} of {wanted} steps: step sizes may be far from good ones"
        warnings.warn(what, ShortWarmupWarning, stacklevel=3)


def _report_nonfinite(nonfinite: np.ndarray, thin: int) -> None:
    if nonfinite.any():
        chains = int(nonfinite.any(0).sum())
        warnings.warn(
            f"{nonfinite.sum()} of {nonfinite.size * thin} steps had a proposal that is NaN or infinite, in {chains} "
            "chains; it was turned down",
            NonFiniteWarning,
            stacklevel=3,
        )
