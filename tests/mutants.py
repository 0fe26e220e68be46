"""Break the code on purpose, one bug at a time, and see that the tests notice: ``tests/mutants.py [--only NAME]``.

The bugs are ones that samplers have shipped with. Each runs in a copy of the repository, against the few cheap tests
that should see it. A mutant whose text is no longer in the source is an error, not a pass.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 240  # after which a test run counts as hung, which is noticed too

BASE, PROPOSAL, EXACT = "kernels/base.py", "kernels/proposal.py", "kernels/exact_fractional.py"
RATIO = "kernels/acceptance.py"
MALA, LINE, UNDERDAMPED = (
    f"kernels/{name}.py" for name in ("metropolis_langevin", "score_fractional", "fractional_underdamped")
)
LEARNED, CYCLE, TEMPERED = "kernels/learned_fractional.py", "kernels/compose.py", "kernels/tempered.py"
RADIAL, JUMP, SHAPE = (f"kernels/{name}.py" for name in ("radial_walk", "line_jump", "elliptical_shape"))
HEAVY, SCOUTING = "kernels/heavy_tail.py", "kernels/scouting.py"
DRAWS, DRIFT, PROGRAM, RUN, PATH = "stable/draws.py", "drift.py", "program.py", "run.py", "score_integral.py"
SBM, MATCHING, TRAINING, FILES = (f"learn/{name}.py" for name in ("balance", "score_matching", "training", "files"))

ACCEPT, CHECK_CYCLE, CHECK_UNDERDAMPED = (
    f"tests/kernels/test_{name}.py" for name in ("base", "compose", "fractional_underdamped")
)
TEXTBOOK, RIESZ = "tests/kernels/test_metropolis_langevin.py", "tests/test_drift.py"
FULA = "tests/kernels/test_fractional_langevin.py::test_move_is_the_formula"
ORDER = "tests/kernels/test_learned_fractional.py::test_function_is_given_the_new_point_first"
QUADRATURE = "tests/kernels/test_score_fractional.py::test_line_integral_is_exact_for_polynomials_up_to_its_degree"
BALANCE = "tests/kernels/test_detailed_balance.py::test_flux_there_is_flux_back"
AUXILIARY, MARGINAL, IN_HEAVY_TAIL = (f"{BALANCE}[{case}]" for case in ("auxiliary", "marginal", "heavy tail"))
UNCAPPED = "tests/stable/test_draws.py::test_tail_of_the_scale_is_not_capped"
CACHES = "tests/kernels/test_exactness.py::test_state_belongs_to_its_position_after_acceptance_and_after_rejection"
CHAINS = "tests/kernels/test_exactness.py::test_chains_from_one_point_part_at_once"
CHECK_SBM, CHECK_PAIRS, CHECK_MATCHING, CHECK_TRAINING, CHECK_FILES = (
    f"tests/learn/test_{name}.py" for name in ("balance", "balance_pairs", "score_matching", "training", "model_files")
)
SCOUTS = "tests/kernels/test_scouting.py"
RAYS = "tests/kernels/test_radial_walk.py::test_flux_there_is_flux_back"
LOST = "tests/kernels/test_elliptical_shape.py::test_the_shape_is_seen_from_a_small_cloud_far_away"
JUMPS = "tests/kernels/test_line_jump.py::test_flux_there_is_flux_back"
EXCHANGE = "tests/kernels/test_tempered.py::test_exchanges_balance_at_every_pair_of_points"
LADDER = "tests/kernels/test_tempered.py::test_rungs_move_to_where_refusals_are"
CUT_SHORT = "tests/kernels/test_annealed.py::test_a_warm_up_cut_short_leaves_the_target_too"
AFAR = "tests/test_score_integral.py::test_the_centre_is_where_it_is_as_seen_from_afar"
BUFFERS = "tests/test_run.py::test_a_run_of_many_buffers_is_that_of_one"
STEPS_MADE = "tests/test_run.py::test_warm_up_makes_as_many_steps_as_it_is_given"
FROZEN = "tests/test_run.py::test_step_size_is_frozen_after_warm_up"


class Mutant(NamedTuple):
    """A bug: in ``file``, ``old`` becomes ``new``; a test in ``test`` must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


CHANGE, CHANGE_BACK = "proposed.logdensity - state.logdensity", "state.logdensity - proposed.logdensity"
SCALE, NO_SCALE = "stable.draws.amplitude(noise.log_scale)\n    change", "jnp.sqrt(2.0)\n    change"
CURVATURE = " + step_size * (proposed.drift - state.drift)"
POINTS, POINTS_SWAPPED = "(proposed.position, state.position)", "(state.position, proposed.position)"
SELECT, STALE = "_select(is_accepted, proposed, current), Info", "_select(is_accepted, proposed, current)._replace("
STALE_ON_ACCEPT, STALE_ON_REJECT = (
    STALE + "logdensity=current.logdensity), Info",
    STALE + "logdensity=proposed.logdensity), Info",
)
DECIDE = "return metropolis(noise.log_uniform, log_ratio, proposed, state)"
STALE_DRIFT = f"chosen, info = {DECIDE[7:]}\n        return chosen._replace(drift=proposed.drift), info"
FINITE, NOT_FINITE = "finite & ~outside & (log_uniform <= log_ratio)", "~outside & ~(log_uniform > log_ratio)"
NOISE = "kernel.noise(one, shape, dtype)"
ONE_NOISE = "jax.tree.map(lambda leaf: jnp.repeat(leaf, chains, -1), kernel.noise(one, (dim, 1), dtype))"
KEYS, ONE_KEY = "jax.random.split(rng_key, len(kernels))", "[rng_key] * len(kernels)"
DRAW, DRAW_OTHERWISE = "_draw(program, params,", "_draw(program, jax.tree.map(lambda x: 1.1 * x, params),"
LENGTH, SPREAD = "(log_a + math.log(2))", "jnp.sqrt(2 * tau)"
STABLE_SCORE = "stable.score(residual / gamma, alpha)"
IMBALANCE_SWAPPED = "log_acceptance(x, x_new) - forward"

MUTANTS = (
    Mutant("density-ratio-inverted", EXACT, CHANGE, CHANGE_BACK, AUXILIARY),
    Mutant("acceptance-inverted", BASE, "(log_uniform <= log_ratio)", "(log_uniform <= -log_ratio)", ACCEPT),
    Mutant("always-accept", BASE, "(log_uniform <= log_ratio)", "(log_uniform <= 0)", ACCEPT),
    Mutant("gaussian-ratio-for-stable-noise", RATIO, SCALE, NO_SCALE, AUXILIARY),
    Mutant("no-constant-in-exact-drift", EXACT, "constant * gradient", "gradient", AUXILIARY),
    Mutant("no-constant-in-local-drift", DRIFT, "constant * score(x)", "score(x)", FULA),
    Mutant("wrong-constant", DRIFT, "math.gamma(alpha - 1) /", "math.gamma(alpha) /", FULA),
    Mutant("mala-variance-half", MALA, SPREAD, "jnp.sqrt(tau)", TEXTBOOK),
    Mutant("mala-deviation-0.95", MALA, SPREAD, "0.95 * jnp.sqrt(2 * tau)", TEXTBOOK),
    Mutant("mala-ratio-sign", MALA, "-0.25 * jnp.sum", "0.25 * jnp.sum", TEXTBOOK),
    Mutant("mala-symmetric", MALA, "-0.25 * jnp.sum", "0 * jnp.sum", TEXTBOOK),
    Mutant("ratio-sign", RATIO, "return -0.5 * jnp.sum", "return 0.5 * jnp.sum", AUXILIARY),
    Mutant("ratio-without-curvature", RATIO, CURVATURE, "", AUXILIARY),
    Mutant("proposal-taken-for-symmetric", EXACT, "log_ratio += log_proposal", "log_proposal", AUXILIARY),
    Mutant("marginal-ratio-swapped", RATIO, "return backward - forward", "return forward - backward", MARGINAL),
    Mutant("acceptance-arguments-swapped", LEARNED, POINTS, POINTS_SWAPPED, ORDER),
    Mutant("density-not-updated-on-accept", BASE, SELECT, STALE_ON_ACCEPT, f"{CACHES}[mala]"),
    Mutant("density-of-proposal-kept-on-reject", BASE, SELECT, STALE_ON_REJECT, f"{CACHES}[mala]"),
    Mutant("drift-of-proposal-kept-on-reject", EXACT, DECIDE, STALE_DRIFT, f"{CACHES}[auxiliary]"),
    Mutant("nan-accepted", BASE, FINITE, NOT_FINITE, ACCEPT),
    Mutant("nan-not-reported", BASE, "~finite & ~outside)", "outside & False)", ACCEPT),
    Mutant("one-scale-per-coordinate", BASE, "shape[1:]", "shape", ACCEPT),
    Mutant("log-scale-sign", DRAWS, LENGTH, "(-log_a + math.log(2))", FULA),
    Mutant("stable-deviation-0.95", DRAWS, LENGTH, "(log_a + math.log(1.805))", FULA),
    Mutant("tail-of-scale-capped", DRAWS, "largest = ", "largest = 4.0 + 0 * ", UNCAPPED),
    Mutant("kanter-exponent", DRAWS, "(b / a) *", "(b / a / a) *", ACCEPT),
    Mutant("step-not-to-the-power", PROPOSAL, "return jnp.power(step_size, 1 / alpha)", "return step_size", FULA),
    Mutant("riesz-coefficient-sign", DRIFT, "(k - half) /", "(k + half) /", RIESZ),
    Mutant("riesz-path-without-half", DRIFT, "steps = 0.5 * spacing", "steps = spacing", RIESZ),
    Mutant("line-integral-without-half", LINE, "0.5 * (end - start)", "(end - start)", QUADRATURE),
    Mutant("path-not-from-the-centre", PATH, "middle + r *", "point - way + r *", AFAR),
    Mutant("velocity-noise-exponent", UNDERDAMPED, "-alpha * friction * tau", "-friction * tau", CHECK_UNDERDAMPED),
    Mutant("velocity-scale", UNDERDAMPED, "alpha ** (-1 / alpha)", "alpha ** (-1 / 2)", CHECK_UNDERDAMPED),
    Mutant("cycle-reuses-noise", CYCLE, KEYS, ONE_KEY, CHECK_CYCLE),
    Mutant("identical-keys-for-all-chains", PROGRAM, NOISE, ONE_NOISE, CHAINS),
    Mutant("rows-written-over", PROGRAM, "(first_row + index) % room", "(first_row + index) % 1", BUFFERS),
    Mutant("radial-without-volume", RADIAL, " + jnp.sum(moving) * step", "", f"{RAYS}[3]"),
    Mutant("axial-with-the-volume-of-all", RADIAL, "jnp.sum(moving) * step", "len(moving) * step", f"{RAYS}[1]"),
    Mutant(
        "heavy-tail-drift-not-in-round-coordinates", HEAVY, "params.factor.T @ p", "params.factor @ p", IN_HEAVY_TAIL
    ),
    Mutant("scouts-with-the-steps-of-others", HEAVY, "params.scout.step_size, p", "params.step_size, p", SCOUTS),
    Mutant("valley-below-one-end", SCOUTING, "jnp.minimum(one_end", "jnp.maximum(one_end", SCOUTS),
    Mutant("scouts-go-on-after-warm-up", HEAVY, "(turn=jnp.ones_like", "(turn=jnp.zeros_like", SCOUTS),
    Mutant("scouts-count-steps-of-others", SCOUTING, "jnp.where(scouted, crossed, 0)", "crossed", SCOUTS),
    Mutant("heavy-tail-taken-for-symmetric", HEAVY, "log_ratio += auxiliary", "auxiliary", IN_HEAVY_TAIL),
    Mutant("warm-up-not-ended", RUN, "params = kernel.freeze(params)", "pass", CUT_SHORT),
    Mutant("jump-without-its-law", JUMP, " + log_law(state.position) - log_law(position)", "", JUMPS),
    Mutant("jump-by-another-law", JUMP, "2 * jnp.log", "3 * jnp.log", JUMPS),
    Mutant("shape-hidden-by-a-lost-chain", SHAPE, "* jnp.median(lengths)", "/ jnp.mean(1 / lengths)", LOST),
    Mutant("exchange-the-wrong-way", TEMPERED, "(here[:-1] - here[1:])", "(here[1:] - here[:-1])", EXCHANGE),
    Mutant("exchange-without-reference", TEMPERED, "everyone.logdensity - reference", "everyone.logdensity", EXCHANGE),
    Mutant("ladder-not-even", TEMPERED, "jnp.interp(parts,", "jnp.interp(so_far,", LADDER),
    Mutant("tuning-sign", BASE, "jnp.exp(pace.gain * (", "jnp.exp(-pace.gain * (", ACCEPT),
    Mutant("warm-up-beyond-its-end", PROGRAM, "jnp.minimum(span, warmup - first)", "span + 0 * first", STEPS_MADE),
    Mutant("step-size-not-frozen", RUN, DRAW, DRAW_OTHERWISE, FROZEN),
    Mutant("no-jacobian-in-balance", SBM, "(gradient + step_size * transposed(gradient)[0])", "gradient", CHECK_SBM),
    Mutant(
        "proxy-without-constant", SBM, "1 / (alpha * local_constant(alpha) * step_size)", "0.5 / step_size", CHECK_SBM
    ),
    Mutant("stable-score-without-scale", SBM, "stable.score(residual / gamma, alpha) / gamma", STABLE_SCORE, CHECK_SBM),
    Mutant("acceptance-arguments-swapped", SBM, "forward - log_acceptance(x, x_new)", IMBALANCE_SWAPPED, CHECK_SBM),
    Mutant("entropy-sign", SBM, "+ entropy_weight * parts", "- entropy_weight * parts", CHECK_SBM),
    Mutant("no-proposal-drift-in-pairs", SBM, "jump += step_size", "jump += 0 * step_size", CHECK_PAIRS),
    Mutant("sliced-without-slope", MATCHING, "0.5 * square + jnp.mean(slope, -1)", "0.5 * square", CHECK_MATCHING),
    Mutant(
        "average-drawn-to-the-start", TRAINING, "/ -jnp.expm1(log_decay * updates.astype(float))", "", CHECK_TRAINING
    ),
    Mutant("checksum-not-looked-at", FILES, "digest(metadata, arrays) or", "metadata.get('sha256') and", CHECK_FILES),
)


def run_tests(folder: Path, *tests: str) -> bool:
    """Return whether the tests pass in a copy of the repository."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        result = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    if result.returncode not in (0, 1):  # no tests found, a test that cannot be collected: not what was asked
        raise SystemExit(f"pytest {' '.join(tests)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.returncode == 0


def is_killed(folder: Path, mutant: Mutant) -> bool:
    path = folder / "src" / "mafla" / mutant.file
    source = path.read_text(encoding="utf-8")
    if mutant.old not in source:
        raise SystemExit(
            f"{mutant.name}: {mutant.file} does not contain {mutant.old!r}; bring tests/mutants.py up to date"
        )
    path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return not run_tests(folder, mutant.test)
    finally:
        path.write_text(source, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", choices=[mutant.name for mutant in MUTANTS])
    only = parser.parse_args().only
    mutants = [mutant for mutant in MUTANTS if only in (None, mutant.name)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        tests = dict.fromkeys(mutant.test for mutant in mutants)
        if not run_tests(folder, *tests):
            raise SystemExit("the tests fail without any mutation")
        killed = 0
        for mutant in mutants:
            began = time.monotonic()
            verdict = is_killed(folder, mutant)
            killed += verdict
            print(
                f"{'killed' if verdict else 'SURVIVED':8} {time.monotonic() - began:5.1f} s  {mutant.name}", flush=True
            )
    print(f"killed {killed}/{len(mutants)}")
    return 0 if killed == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
