"""Tests of `dyntree.api.plots`."""
