"""Tests of `dyntree.mixtures.canopy`."""
