"""Tests of `dyntree.api.adapters`."""
