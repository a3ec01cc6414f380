"""Tests of `dyntree.encoding`."""
