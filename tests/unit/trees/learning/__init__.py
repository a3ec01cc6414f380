"""Tests of `dyntree.trees.learning`."""
