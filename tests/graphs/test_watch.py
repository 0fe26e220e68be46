"""A watch keeps the best, ends at its limits, and loses nothing at Ctrl-C."""

import itertools
import math
import os
import signal
import time
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mafla.graphs.watch import Watch

SIDES = np.array([1, -1], np.int8)


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("sign", "kept"), [(1, [3.0, 5.0]), (-1, [3.0, 1.0])])
def test_the_best_is_kept_as_a_copy_with_its_history(sign: int, kept: list[float]) -> None:
    sides = SIDES.copy()
    with Watch("search", None, 1, sign=sign) as watch:
        answers = []
        for value in (3.0, 3.0, 5.0, 1.0):
            sides[:] = value, -value
            answers.append(watch.offer(value, sides))
            sides[:] = 0
    found = watch.solution(bound=7.0, notes=("a remark",))
    assert answers == [True, False, sign > 0, sign < 0]
    assert found.value == kept[-1]
    assert found.assignment.tolist() == [kept[-1], -kept[-1]]
    assert found.history[:, 1].tolist() == kept
    assert (np.diff(found.history[:, 0]) >= 0).all()
    assert found.history[-1, 0] <= found.seconds
    assert (found.bound, found.notes, found.interrupted) == (7.0, ("a remark",), False)


def test_what_is_not_a_number_is_never_the_best() -> None:
    with Watch("search", None, 1) as watch:
        assert not watch.offer(math.nan, SIDES)
        assert watch.offer(-math.inf, SIDES)
        assert not watch.offer(math.nan, SIDES)


def test_rounds_end_the_search_and_slices_that_end_no_round_do_not_count() -> None:
    with Watch("search", None, 3) as watch:
        assert watch.seconds_left == math.inf
        assert [watch.go_on(0.0, 1.0, round_done=k % 2 == 1) for k in range(6)] == [True] * 5 + [False]


def test_the_time_limit_ends_the_search() -> None:
    with Watch("search", 0.2, None) as watch:
        assert 0 < watch.seconds_left <= 0.2
        while watch.go_on(0.0, 1.0):
            time.sleep(0.01)
            watch.offer(1.0, SIDES)
        assert watch.seconds_left == 0
    assert watch.solution().seconds >= 0.2


def test_the_seconds_are_those_of_the_clock() -> None:
    ticks = itertools.count(100.0)
    with Watch("search", 6.0, None, clock=lambda: next(ticks)) as watch:
        watch.offer(1.0, SIDES)
        asked = 1
        while watch.go_on(0.0, 1.0):
            asked += 1
    assert asked < 6  # each question looks at the clock
    assert 6 <= watch.solution().seconds <= 12


def test_the_time_stands_still_after_the_search() -> None:
    with Watch("search", None, 1) as watch:
        watch.offer(1.0, SIDES)
    first = watch.solution().seconds
    time.sleep(0.02)
    assert watch.solution().seconds == first


def test_stop_ends_the_search() -> None:
    with Watch("search", None, 1000) as watch:
        assert watch.go_on(0.0, 1.0)
        watch.stop()
        assert not watch.go_on(0.0, 1.0)


def test_ctrl_c_between_slices_keeps_the_best() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Watch("search", None, 1000) as watch:
        watch.offer(1.0, SIDES)
        press_ctrl_c()
        watch.offer(2.0, SIDES)  # the slice is finished first
        assert not watch.go_on(0.0, 1.0)
    assert watch.solution().interrupted
    assert watch.solution().value == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_after_the_last_question_is_seen_at_the_end() -> None:
    with Watch("search", None, 1000) as watch:
        watch.offer(1.0, SIDES)
        press_ctrl_c()
    assert watch.solution().interrupted


def test_a_keyboard_interrupt_that_is_raised_in_the_body_keeps_the_best() -> None:
    with Watch("search", None, 1000) as watch:
        watch.offer(1.0, SIDES)
        raise KeyboardInterrupt
    assert watch.solution().interrupted


def test_ctrl_c_before_there_is_anything_goes_through() -> None:
    def search() -> None:
        with Watch("search", None, 1000) as watch:
            press_ctrl_c()
            watch.go_on(0.0, 1.0)
            pytest.fail("the search went on")

    with pytest.raises(KeyboardInterrupt):
        search()
    with pytest.raises(KeyboardInterrupt), Watch("search", None, 1000):
        press_ctrl_c()
    with pytest.raises(KeyboardInterrupt), Watch("search", None, 1000):
        raise KeyboardInterrupt


def test_other_errors_go_through_and_leave_ctrl_c_as_it_was() -> None:
    def search() -> None:
        with Watch("search", None, 1000) as watch:
            watch.offer(1.0, SIDES)
            raise ZeroDivisionError

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        search()
    assert signal.getsignal(signal.SIGINT) is before


def test_without_an_offer_there_is_no_solution() -> None:
    with Watch("search", None, 1) as watch:
        pass
    with pytest.raises(ValueError, match="at least one assignment, got none"):
        watch.solution()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_line_shows_best_mean_temperature_and_time_left(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def console(**arguments: Any) -> Console:
        return Console(**arguments, force_terminal=terminal, width=120, color_system=None)

    monkeypatch.setattr("rich.console.Console", console)
    with Watch("maxcut", 60.0, None, progress=True) as watch:
        watch.go_on(3.5, 0.25)
        watch.offer(11624.0, SIDES)
        watch.go_on(11500.5, 0.25)
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("maxcut", "best 11624", "mean 11500.5", "temperature 0.25", "1:00 left"):
        assert (part in shown.err) is terminal


def test_the_time_left_is_estimated_from_rounds() -> None:
    ticks = iter([0.0, 0.0, *[2.0] * 20])
    shown: list[str] = []
    watch = Watch("search", None, 10, clock=lambda: next(ticks))
    with watch:
        watch._show = lambda _, text: shown.append(text)
        watch.go_on(0.0, 1.0)
        watch.offer(1.0, SIDES)
    assert shown[0].endswith("0:18 left")  # one round took two seconds, nine are left


def test_who_is_told_to_ignore_ctrl_c_does() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Watch("search", None, 3) as watch:
            watch.offer(1.0, SIDES)
            press_ctrl_c()
            assert watch.go_on(0.0, 1.0)
        assert not watch.interrupted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_limit": None, "rounds": None}, "time_limit or rounds must be given, got None for both"),
        ({"time_limit": 0}, "time_limit must be a positive finite number, got 0"),
        ({"time_limit": -1.0}, "time_limit must be a positive finite number, got -1.0"),
        ({"time_limit": math.nan}, "time_limit must be a positive finite number, got nan"),
        ({"time_limit": "1 h"}, "time_limit must be a positive finite number, got '1 h'"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": 1.5}, "rounds must be a whole number of at least 1, got 1.5"),
        ({"sign": 0}, r"sign must be \+1 or -1, got 0"),
    ],
)
def test_bad_limits_are_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"time_limit": 1.0, "rounds": 1} | change
    with pytest.raises(ValueError, match=f"^{message}"):
        Watch("search", **arguments)
