"""``mafla diagnose`` says of saved models what the audit says of models in memory."""

import json
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from mafla import cli
from mafla.learn.acceptance import Acceptance
from mafla.learn.audit import audit
from mafla.learn.energy import Energy
from mafla.learn.networks import EnergyNetwork, Frame, PairNetwork
from mafla.learn.training import History

ROWS = np.random.default_rng(0).standard_t(3, size=(300, 1))
KEY, FRAME = jax.random.key(0), Frame.empty(1, 1)
HISTORY = History(0, (), (0.0,), 0, "finished", 0.0, 0)  # nothing is trained here


@pytest.fixture(scope="module")
def energy() -> Energy:
    return Energy(FRAME, EnergyNetwork(KEY, FRAME, 4, 1), 1.8, HISTORY)


@pytest.fixture(scope="module")
def walk(energy: Energy) -> Acceptance:
    networks = (*(EnergyNetwork(KEY, FRAME, 4, 1) for _ in range(2)), PairNetwork(KEY, FRAME, 4, 1))
    return Acceptance(FRAME, networks, energy.score, "factors", 1.8, 0.1, walk=True, history=HISTORY)


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mafla.learn.diagnose.audit", partial(audit, pairs=2000))


@pytest.fixture
def folder(tmp_path: Path, energy: Energy, walk: Acceptance) -> Path:
    energy.save(tmp_path / "energy.mafla")
    walk.save(tmp_path / "walk.mafla")
    np.save(tmp_path / "rows.npy", ROWS)
    np.savetxt(tmp_path / "rows.csv", ROWS)
    np.save(tmp_path / "wide.npy", np.hstack([ROWS, ROWS]))
    return tmp_path


@pytest.mark.slow
def test_the_command_prints_the_audit(
    folder: Path, energy: Energy, walk: Acceptance, capsys: pytest.CaptureFixture[str]
) -> None:
    key, standing = jax.random.key(3), lambda x: 0 * x
    expected = audit(walk, energy.score, ROWS, 1.8, 0.1, key=key, drift=standing, pairs=2000)
    for rows in ("rows.npy", "rows.csv"):
        assert cli.main(["diagnose", str(folder / "walk.mafla"), str(folder / rows), "--seed", "3"]) == 0
        assert capsys.readouterr().out.strip() == str(expected)
    assert cli.main(["diagnose", str(folder / "walk.mafla"), str(folder / "rows.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == expected.verdict


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        ("energy.mafla", "rows.npy", "must be a learned acceptance function, got the model Energy"),
        ("walk.mafla", "wide.npy", "wide.npy: must have 1 columns as the model has, got 2"),
        ("missing.mafla", "rows.npy", "missing.mafla: No such file or directory"),
        ("rows.csv", "rows.npy", "rows.csv"),
    ],
)
def test_what_cannot_be_audited_is_named_in_one_line(
    model: str, rows: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diagnose", str(folder / model), str(folder / rows)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
