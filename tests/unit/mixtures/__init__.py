"""Tests of `dyntree.mixtures`."""
