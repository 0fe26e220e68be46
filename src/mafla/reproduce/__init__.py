"""The paper's tables and figures: each an experiment of cells, a figure, and a verdict that is computed from them."""
