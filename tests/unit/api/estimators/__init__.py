"""Tests of `dyntree.api.estimators`."""
