"""The step size that the paper does not state, the same for all samplers; ``mafla reproduce settings`` chooses it."""

__all__ = ["STEP_SIZE", "STEP_SIZES"]

STEP_SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)  # that the sweep tries
STEP_SIZE = 0.03
