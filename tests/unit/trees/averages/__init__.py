"""Tests of `dyntree.trees.averages`."""
