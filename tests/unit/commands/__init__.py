"""Tests of `dyntree.commands`."""
