"""The benchmark of tails: its arithmetic, what it says, and every sampler for a moment."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest

from mafla.bench import gathering, tail_samplers, tail_table, tails
from mafla.bench.tail_problems import Problem, problems, start
from mafla.bench.tail_samplers import NUTS, OURS, SAMPLERS, VARIANTS, Drawn, suits

Row = dict[str, Any]


def row(sampler: str, errors: list[float], seconds: float, **more: Any) -> Row:
    about: Row = {"problem": "round Student-t ν=1, d=10", "group": "round Student-t", "dim": 10, "start": "near"}
    about |= {"sampler": sampler, "seed": 0, "errors": errors, "seconds": seconds, "is_warm": True}
    about |= {"warmup_seconds": seconds / 2, "asinh_w1_ratio": 1.0}
    return about | {"trace": [[seconds / 2, errors[1]], [seconds, errors[1]]]} | more


def test_efficiency_is_mean_squared_error_times_seconds() -> None:
    rows = [row(OURS, [0.1, 0.1, 0.2], 1.0), row(OURS, [0.1, 0.3, 0.2], 3.0), row(NUTS, [1.0, 1.0, 1.0], 4.0)]
    assert tail_table.efficiency(rows, NUTS, 0.99) == pytest.approx(4 / (0.05 * 2))
    assert tail_table.efficiency(rows, "emcee", 0.99) is None


@pytest.mark.parametrize(("ours", "words"), [(0.1, "reached on 1 of 1"), (0.2, "reached on 0 of 1")])
def test_goals_are_judged_by_the_lesser_efficiency(ours: float, words: str) -> None:
    rows = [row(OURS, [0.05, ours, 0.2], 1.0), row(NUTS, [1.0, 1.0, 1.0], 1.0)]
    assert words in tail_table.summary(rows)
    assert "With one seed" in tail_table.summary(rows)
    assert "With one seed" not in tail_table.summary(rows + [each | {"seed": 1} for each in rows])


def test_modes_are_judged_by_their_weights() -> None:
    about = {"group": "modes", "problem": "2 modes at 10, d=2"}
    rows = [row(OURS, [0.1] * 3, 1.0, weights_error=0.03, **about)]
    assert [table.row_count for table in tail_table.describe(rows).renderables] == [1, 3, 1]
    assert "Missed: 2 modes at 10, d=2 (near)" in tail_table.summary(rows)


def test_growth_has_the_exponents_of_dimension_and_degrees_of_freedom() -> None:
    """Half of the seconds are warm-up; for half of the error draws, and only they, take four times as long."""
    rows = [
        row(OURS, [0.2] * 3, 2 * size, dim=d, warmup_seconds=size, problem=f"round Student-t ν={nu}, d={d}")
        for d in (1, 10, 100)
        for nu in (1, 2, 5)
        for size in [d / nu**0.5]
    ]
    growth = tail_table.describe(rows).renderables[-1]
    cells = [list(column.cells) for column in growth.columns]
    assert cells[0] == [
        "round Student-t ν=1, mafla",
        "round Student-t ν=2, mafla",
        "round Student-t ν=5, mafla",
        "  like",
    ]
    assert cells[1] == ["5", "3.5", "2.2", "ν^-0.5"]
    assert cells[-1] == ["d^1.0"] * 3 + [""]
    few = tail_table.describe([each for each in rows if each["dim"] < 100]).renderables[-1]
    assert list(few.columns[-1].cells) == [""] * 4
    assert len(tail_table.describe(rows[:2]).renderables) == 2  # two sizes tell nothing
    hurried = [each | {"is_warm": False} if each["dim"] == 100 else each for each in rows]
    lost = [each | {"errors": [0.6] * 3} if each["dim"] == 100 else each for each in rows]  # no tail has been seen
    for without_the_largest in (hurried, lost):
        found = tail_table.describe(without_the_largest).renderables[-1]
        assert list(found.columns[-1].cells) == [""] * 4
        assert [next(iter(column.cells)) for column in found.columns[1:3]] == ["5", "50"]


def test_tables_have_a_row_for_each_problem_and_group() -> None:
    rows = [row(OURS, [0.05, 0.1, 0.2], 1.0), row(NUTS, [1.0, 1.0, 1.0], 1.0)]
    assert [table.row_count for table in tail_table.describe(rows).renderables] == [1, 1, 1, 3]
    assert len(tail_table.picture(rows).axes) == 1


def test_errors_are_those_of_problems_and_starts() -> None:
    """A cell is in warm-up if most of its runs are, and lost if its root mean square error is above a half."""
    far: Row = {"start": "far"}
    rows = [
        *(row(NUTS, [0.1, 0.3, 0.1], 1.0), row(NUTS, [0.1, -0.4, 0.1], 1.0, is_warm=False)),
        *(row(NUTS, [0.1, 0.6, 0.1], 1.0, is_warm=is_warm, **far) for is_warm in (False, True, False)),
        row(OURS, [0.1, 0.1, 0.1], 1.0),
    ]
    errors = tail_table.describe(rows).renderables[3]
    assert [list(column.cells) for column in errors.columns] == [
        ["round Student-t", "in warm-up", "above 0.5"],
        ["0.35–0.6", "1 of 2", "1 of 2"],
        ["0.1–0.1", "0 of 1", "0 of 1"],
    ]


@pytest.mark.slow
def test_independent_draws_are_judged_to_be_good() -> None:
    problem = next(each for each in problems() if each.name == "2 modes at 10, d=2")
    draws = problem.draws(jax.random.key(5), 64 * 1000).reshape(64, 1000, 2)
    found = tails._Judge(problem)(Drawn(draws, 2.0, 1.0), 0)
    assert np.abs(found["errors"][:2]).max() < 0.2
    assert 0.5 < found["asinh_w1_ratio"] < 2
    assert found["weights_error"] < 0.01
    seconds = [second for second, _ in found["trace"]]
    assert 1 < seconds[0] < seconds[-1] == 2


def test_samplers_are_chosen_by_parts_of_their_names_and_variants_by_the_whole() -> None:
    assert tails._named("NUTS") == ["BlackJAX NUTS", "NumPyro NUTS"]
    assert tails._named("emcee|mafla α=1.5") == ["emcee", "mafla α=1.5"]
    assert tails._named("") == list(SAMPLERS)
    assert tails._named(OURS) == [OURS]
    assert tails._named("mafla t|α") == ["mafla tempered"]
    assert tails._named("mafla alone α=1.2") == ["mafla alone α=1.2"]


@pytest.mark.parametrize("name", ["mafla tempered", "mafla alone", "mafla alone α=1.9"])
def test_what_is_about_modes_is_run_where_there_are_some(name: str) -> None:
    one, several = (next(each for each in problems() if (each.group == "modes") == modes) for modes in (False, True))
    assert [suits(name, one), suits(name, several)] == [False, True]
    assert suits(OURS, one)
    assert suits("mafla α=1.2", one)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAMPLERS, "mafla α=1.5"])
def test_every_sampler_finds_the_middle_of_an_easy_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_samplers, "WARMUP", 100)
    problem = next(each for each in problems() if each.name == "round Student-t ν=5, d=10")
    found = (SAMPLERS | VARIANTS)[name](problem, 64)(
        jax.random.key(0), start(problem, "near", jax.random.key(1), 64), 0.5
    )
    assert found.draws.shape[0] == 64
    assert found.draws.shape[2] == 10
    assert 0 < found.warmup_seconds < found.seconds
    half = np.median(problem.distance(problem.draws(jax.random.key(2), 20_000)))
    assert np.median(problem.distance(found.draws.reshape(-1, 10))) == pytest.approx(half, rel=0.3)


def counting(warmup: int, burn_in: float = 0.0) -> tail_samplers.Run:
    """Return a run of a sampler that counts its steps, whose draws show which of them were kept."""
    problem = next(each for each in problems() if each.dim == 1)
    return tail_samplers._in_chunks(
        lambda _key, start: 0 * start, lambda state, *_: state + 1, lambda state: state, problem, 2, warmup, burn_in
    )


START = np.zeros((2, 1), np.float32)


@pytest.mark.parametrize(("burn_in", "is_dropped"), [(0.0, False), (0.5, True)])
def test_what_is_drawn_in_warmup_and_while_burning_in_is_not_kept(burn_in: float, is_dropped: bool) -> None:
    """Warm-up ends within a chunk."""
    found = counting(250, burn_in)(jax.random.key(0), START, 0.1)
    first, count = found.draws[0, 0, 0], found.draws.shape[1]
    assert first > 250
    assert (first > 251) == is_dropped
    np.testing.assert_array_equal(found.draws[0, :, 0], first + np.arange(count))
    assert found.warmup_seconds > 0.9 * burn_in * found.seconds
    assert found.is_warm
    assert found.seconds >= 0.1


def test_who_is_done_early_does_not_burn_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock finds that a second went by: there are 1235 of them, one before the first step."""
    monkeypatch.setattr(tail_samplers, "MOST_NUMBERS", 2 * 1234)
    monkeypatch.setattr(tail_samplers, "time", SimpleNamespace(perf_counter=itertools.count().__next__))
    found = counting(0, 0.25)(jax.random.key(0), START, 1e6)
    assert found.draws[0, -1, 0] == 1234  # the last of all that fit
    assert (found.seconds, found.warmup_seconds) == (1235, 309)
    assert found.draws.shape[1] == 1234 - 308


def test_whose_time_is_over_in_warmup_is_judged_by_the_second_half_of_it() -> None:
    """It ends with its time, and not with its warm-up."""
    found = counting(10**9)(jax.random.key(0), START, 0.1)
    first, last = found.draws[0, 0, 0], found.draws[0, -1, 0]
    assert not found.is_warm
    assert last < 10**8
    assert first - 1 == last // 2
    assert 0 < found.warmup_seconds < found.seconds < 10


def test_warmup_takes_no_more_than_half_of_the_states_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_samplers, "MOST_NUMBERS", 2 * 10)
    found = counting(90)(jax.random.key(0), START, 1e6)
    assert found.is_warm
    np.testing.assert_array_equal(found.draws[0, :, 0], np.arange(51, 101))


@pytest.mark.parametrize("kind", ["NUTS", "BarkerMH"])
@pytest.mark.parametrize("name", ["round Student-t ν=5, d=10", "stretched Student-t ν=5, d=10"])
def test_chains_of_numpyro_that_share_their_place_in_warmup_do_as_each_alone(name: str, kind: str) -> None:
    """In double precision, since roundings in one step are choices of another tree in a later one."""
    problem, count, warmup = next(each for each in problems() if each.name == name), 3, 40
    with jax.enable_x64(True):
        kernel: Any = getattr(numpyro.infer, kind)(
            potential_fn=lambda x: -problem.logdensity(x), dense_mass=problem.dense
        )
        key, begin = jax.random.key(0), jax.random.normal(jax.random.key(1), (count, problem.dim))
        kernel.init(key, warmup, begin[0], (), {})
        states = jax.vmap(lambda k, x: kernel.init(k, warmup, x, (), {}))(jax.random.split(key, count), begin)
        init, step = tail_samplers.numpyro_steps(problem, count, kind, warmup)
        alone, together = jax.jit(jax.vmap(lambda state: kernel.sample(state, (), {}))), jax.jit(step)
        shared = init(key, begin)
        for number in range(warmup + 5):
            states, shared = alone(states), together(shared, key, number)
        np.testing.assert_allclose(shared.adapt_state.step_size, states.adapt_state.step_size, rtol=1e-6)
        np.testing.assert_allclose(shared.z, states.z, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["round Student-t ν=5, d=10", "stretched Student-t ν=5, d=10"])
def test_nuts_one_step_at_a_time_is_warmed_up_as_by_blackjax(name: str) -> None:
    """With the same keys, steps and all that is tuned are those of its own window adaptation."""
    problem = next(each for each in problems() if each.name == name)
    adaptation = blackjax.window_adaptation(
        blackjax.nuts, problem.logdensity, is_mass_matrix_diagonal=not problem.dense
    )
    key, begin = jax.random.key(0), jnp.ones(problem.dim)
    (state, tuned), _ = adaptation.run(key, begin, tail_samplers.WARMUP)
    init, step = tail_samplers.adapted_nuts(problem)
    inputs = jax.random.split(key, tail_samplers.WARMUP), jnp.arange(tail_samplers.WARMUP)
    (chain, tuning), _ = jax.lax.scan(lambda carry, each: (step(carry, *each), None), init(begin), inputs)
    np.testing.assert_allclose(chain.position, state.position, rtol=1e-4)
    np.testing.assert_allclose(tuning.inverse_mass_matrix, tuned["inverse_mass_matrix"], rtol=1e-4)
    moved, _ = step((chain, tuning), key, jnp.asarray(tail_samplers.WARMUP))
    theirs, _ = blackjax.nuts.build_kernel()(key, state, problem.logdensity, **tuned)
    np.testing.assert_allclose(moved.position, theirs.position, rtol=1e-3)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Put independent draws in the place of our sampler; return the start, seed and number of chains of each run."""
    seen: list[tuple[str, int, int]] = []

    def make(problem: Problem, chains: int) -> Any:
        def run(key: Any, start: Any, seconds: float) -> Drawn:
            begin = "far" if np.abs(start).max() > 100 else "near"
            seed = next(n for n in range(9) if bool((jax.random.split(jax.random.key(n))[1] == key).all()))
            seen.append((begin, seed, len(start)))
            return Drawn(problem.draws(key, chains * 100).reshape(chains, 100, -1), seconds, seconds / 2)

        return run

    monkeypatch.setattr(tails, "SAMPLERS", {**SAMPLERS, OURS: make})
    monkeypatch.setattr(gathering, "processes", ThreadPoolExecutor)
    return seen


def test_what_is_known_is_not_run_again(ran: list[tuple[str, int, int]]) -> None:
    options: dict[str, Any] = {"only": "round Student-t ν=5, d=10", "samplers": OURS, "seconds": 0.1, "chains": 32}
    first = tails.run(seeds=1, **options)
    assert ran == [("near", 0, 32), ("far", 0, 32)]
    other = row(NUTS, [0.1] * 3, 1.0)
    rows = tails.run(seeds=2, known=[*first, other], **options)
    assert ran[2:] == [("near", 1, 32), ("far", 1, 32)]
    assert rows[0] == other
    assert [(each["start"], each["seed"]) for each in rows[1:]] == [("near", 0), ("near", 1), ("far", 0), ("far", 1)]
    assert np.abs([each["errors"][0] for each in rows[1:]]).max() < 0.3


def test_everyone_has_three_times_the_seconds_where_there_are_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "gather", lambda _measure, parts, *_: parts)
    parts = tails.run(only="round Student-t ν=1, d=10|2 modes at 10, d=2", samplers=f"{OURS}|{NUTS}", seconds=0.5)
    assert [part["seconds"] for part in parts] == [0.5, 0.5, 1.5, 1.5]


def test_a_failing_sampler_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_problem: Problem, _chains: int) -> Any:
        raise RuntimeError("as it was told")

    monkeypatch.setattr(tails, "SAMPLERS", {**SAMPLERS, OURS: make})
    monkeypatch.setattr(gathering, "processes", ThreadPoolExecutor)
    with pytest.raises(RuntimeError, match="as it was told"):
        tails.run(only="round Student-t ν=5, d=10", samplers=OURS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": "nothing"}, "only must be parts of the names of problems, such as Student-t|funnel, got 'nothing'"),
        ({"samplers": "Gibbs"}, "samplers must be parts of the names mafla, mafla tempered, BlackJAX NUTS"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        ({"chains": 0}, "chains must be a whole number of at least 1, got 0"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_choices_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        tails.run(**options)
