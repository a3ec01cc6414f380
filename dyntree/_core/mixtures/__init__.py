"""Kernels of the mixtures: clusters that learn a row at a time."""
