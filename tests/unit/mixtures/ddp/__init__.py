"""Tests of `dyntree.mixtures.ddp`."""
