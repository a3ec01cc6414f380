"""Tests of `dyntree.trees`."""
