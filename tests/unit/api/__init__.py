"""Tests of `dyntree.api`."""
