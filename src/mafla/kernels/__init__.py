"""Markov kernels, one algorithm per file, written for a single chain."""
