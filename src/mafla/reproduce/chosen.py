"""The settings that the paper does not state, the same for all samplers; ``mafla reproduce settings`` chooses them."""

__all__ = ["GRAPH_STEPS", "GRAPH_STEPS_TRIED", "STEP_SIZE", "STEP_SIZES"]

STEP_SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)  # that the sweep tries
STEP_SIZE = 0.03
GRAPH_STEPS_TRIED = (30, 60, 100, 200, 400)  # with τ = 0.1
GRAPH_STEPS = 100
