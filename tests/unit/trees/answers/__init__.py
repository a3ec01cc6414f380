"""Tests of `dyntree.trees.answers`."""
