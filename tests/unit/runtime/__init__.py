"""Tests of `dyntree.runtime`."""
