"""Tests of `dyntree._core.mixtures`."""
