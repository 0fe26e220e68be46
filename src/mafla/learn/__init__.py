"""Learning from data: scores, energies and acceptance functions, and the loop that trains them."""
