"""The measurements run, compare like with like and say how fast each side is."""

import jax
import numpy as np
import pytest

import mafla
from mafla.bench import kernels, law
from mafla.bench.tables import table
from mafla.bench.timing import seconds, speed_ratio


def test_the_faster_side_is_told_from_the_slower() -> None:
    calls: list[int] = []
    times = seconds([lambda: calls.append(1), lambda: sum(range(200_000))], repeats=3)
    assert speed_ratio(times) > 1
    assert speed_ratio(times, ours=1, peer=0) < 1
    assert len(calls) == 4  # once to compile, three times measured


def test_one_scan_makes_the_draws_of_the_chunked_run() -> None:
    target = mafla.targets.student_t(2, kernels.DIM)
    kernel = mafla.exact_mafla(target.logdensity, 1.5, 0.5)
    start, key = target.sample(jax.random.key(0), 4), jax.random.key(1)
    buffer = kernels._single_scan(kernel, start, 256)(jax.random.fold_in(key, 1))
    tree = mafla.sample(kernel, key, start, 256, progress=False)
    whole = np.asarray(buffer.position).reshape(-1, kernels.DIM, 4)[:256]
    assert np.array_equal(np.moveaxis(whole, -1, 0), tree["posterior"]["x"].to_numpy())


@pytest.mark.slow
def test_the_peer_samples_the_same_target() -> None:
    target = mafla.targets.gaussian(kernels.DIM)
    start = target.sample(jax.random.key(0), 2000)
    last = np.asarray(kernels._blackjax_mala(target.logdensity, start, 50)(jax.random.key(1)))[-1]
    assert last.std() == pytest.approx(1, abs=0.03)
    assert not np.allclose(last, start, atol=0.1)


def test_law_rows_name_their_goals() -> None:
    rows = [law._draws_against_normals(500, 10, seed=0), law._table_time()]
    assert all(row["goal"] in (0.8, 1.0) and float(str(row["ratio"])) > 0 for row in rows)
    assert table("law", rows).row_count == 2
