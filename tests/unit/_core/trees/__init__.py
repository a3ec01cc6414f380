"""Tests of `dyntree._core.trees`."""
