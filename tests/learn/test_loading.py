"""Models in files: the same bits back, here and in another process, and nothing but models."""

import dataclasses
import math
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mafla.learn import files
from mafla.learn.acceptance import fit_acceptance
from mafla.learn.energy import fit_energy
from mafla.learn.loading import load
from mafla.learn.score import fit_score
from mafla.learn.training import Schedule

QUICK = Schedule(steps=20, check_every=20)
ROWS = np.random.default_rng(0).standard_t(2, size=(200, 2)).astype(np.float32)
DEAR = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("acceptance", "acceptance of an energy")]
KINDS = ["score", "energy", *DEAR]


@cache
def model(kind: str) -> Any:
    if kind == "score":
        return fit_score(jax.random.key(0), ROWS, loss="denoising", alpha=1.5, schedule=QUICK, progress=False)
    if kind == "energy":
        return fit_energy(jax.random.key(0), ROWS, alpha=1.5, schedule=QUICK, progress=False)
    if kind == "acceptance":
        return fit_acceptance(jax.random.key(0), model("score"), ROWS, 1.5, 0.1, schedule=QUICK, progress=False)
    return dataclasses.replace(model("acceptance"), score=model("energy").score)


def outputs(kind: str, found: Any) -> np.ndarray:
    pairs = (ROWS[:100], ROWS[100:]) if kind.startswith("acceptance") else (ROWS[:100],)
    return np.asarray(jax.jit(jax.vmap(found))(*pairs))


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_gives_the_same_bits(kind: str, tmp_path: Path) -> None:
    model(kind).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(model(kind))
    assert np.array_equal(outputs(kind, again), outputs(kind, model(kind)))
    assert again.history == model(kind).history
    assert again.alpha == model(kind).alpha


def test_another_process_gets_the_same_bits(tmp_path: Path) -> None:
    model("energy").save(tmp_path / "model")
    np.save(tmp_path / "rows.npy", ROWS[:100])
    program = (
        "import sys, jax, numpy as np, mafla\n"
        "found = mafla.load(sys.argv[1] + '/model')\n"
        "rows = np.load(sys.argv[1] + '/rows.npy', allow_pickle=False)\n"
        "np.save(sys.argv[1] + '/out.npy', np.asarray(jax.jit(jax.vmap(found))(rows)))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=120)
    assert np.array_equal(np.load(tmp_path / "out.npy"), outputs("energy", model("energy")))


@pytest.mark.slow
def test_a_model_in_double_precision_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = ROWS[:100].astype(np.float64)
    with jax.enable_x64(True):
        found = fit_score(jax.random.key(0), rows, alpha=1.5, schedule=QUICK, progress=False)
        found.save(tmp_path / "model")
        values = outputs("score", found), outputs("score", load(tmp_path / "model"))
    assert found.frame.center.dtype == np.float64
    assert np.array_equal(*values)
    with pytest.raises(ValueError, match=r"^path must be a model in single precision, got .*jax_enable_x64.*$"):
        load(tmp_path / "model")


@pytest.mark.slow
def test_a_model_in_single_precision_stays_so_where_double_is_enabled(tmp_path: Path) -> None:
    model("acceptance").save(tmp_path / "model")
    with jax.enable_x64(True):
        again = load(tmp_path / "model")
        assert {value.dtype for value in files.arrays_of(again).values()} == {np.dtype("float32")}
    assert np.array_equal(outputs("acceptance", again), outputs("acceptance", model("acceptance")))


def test_a_diverged_training_can_be_saved_with_its_history(tmp_path: Path) -> None:
    history = model("energy").history._replace(training_loss=(0.1, math.nan), held_out_loss=(0.1, math.inf))
    dataclasses.replace(model("energy"), history=history).save(tmp_path / "model")
    again = load(tmp_path / "model").history
    assert again.training_loss[0] == again.held_out_loss[0] == 0.1
    assert math.isnan(again.training_loss[1])
    assert again.held_out_loss[1] == math.inf


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    files.write(tmp_path / "work", "training", {}, {"a": np.ones(1)})
    with pytest.raises(ValueError, match=r"of kind score, energy, acceptance, got .*'training'"):
        load(tmp_path / "work")


def test_settings_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    files.write(tmp_path / "model", "energy", {"dim": 2}, {"a": np.ones(1, np.float32)})
    with pytest.raises(ValueError, match="with the settings of the energy"):
        load(tmp_path / "model")


@pytest.mark.slow
def test_an_acceptance_of_a_foreign_score_is_not_saved(tmp_path: Path) -> None:
    acceptance = dataclasses.replace(model("acceptance"), score=lambda x: -x)
    with pytest.raises(ValueError, match=r"^score must be a model of mafla, or .* got .*lambda.*$"):
        acceptance.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("nested", [False, True])
def test_a_file_that_claims_endless_layers_is_refused_at_once(nested: bool, tmp_path: Path) -> None:
    """Layers are made one by one, and a hundred million of them would take all memory."""
    config = model("energy").config() | {"depth": 10**8}
    files.write(tmp_path / "model", "energy", {"score": config} if nested else config, files.arrays_of(model("energy")))
    with pytest.raises(ValueError, match=r"depth must be less than the number of arrays, \d+, got 100000000"):
        load(tmp_path / "model")
