"""How steps are grouped."""

import pytest

from mafla.program import NOISE_AHEAD, make_plan


@pytest.mark.parametrize("size", [1, 30, 1000, NOISE_AHEAD, 10**7])
@pytest.mark.parametrize("thin", [1, 2, 7, 64, 97, 1000])
def test_a_row_is_a_whole_number_of_draws(size: int, thin: int) -> None:
    plan = make_plan(size, thin)
    assert plan.span * plan.spans == plan.draws * thin
    assert plan.spans == 1 or plan.draws == 1
    assert plan.span % plan.draws == 0


def test_many_chains_draw_noise_step_by_step_and_few_draw_it_ahead() -> None:
    assert make_plan(10**6, 1).span == 1
    assert make_plan(160, 1).span > 100


def test_noise_ahead_is_bounded() -> None:
    for size in (1, 10, 100, 1000, 10_000):
        assert make_plan(size, 1).span * size <= max(NOISE_AHEAD, size)
