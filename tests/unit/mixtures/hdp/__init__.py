"""Tests of `dyntree.mixtures.hdp`."""
