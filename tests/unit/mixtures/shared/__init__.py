"""Tests of `dyntree.mixtures.shared`."""
