"""Tests of `dyntree.mixtures.sva`."""
