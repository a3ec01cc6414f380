"""Mixtures of small variance: closed-form learning in one pass."""
