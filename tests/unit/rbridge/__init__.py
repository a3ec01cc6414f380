"""Tests of `rbridge`."""
