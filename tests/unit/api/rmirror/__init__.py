"""Tests of `dyntree.api.rmirror`."""
