"""Tests of `dyntree.mixtures.teaching`."""
