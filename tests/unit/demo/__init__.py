"""Tests of `dyntree.demo`."""
