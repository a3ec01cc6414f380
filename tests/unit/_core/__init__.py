"""Tests of `dyntree._core`."""
