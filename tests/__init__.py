"""Tests of dyntree."""
