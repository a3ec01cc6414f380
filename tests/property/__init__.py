"""Hypothesis machines against the oracle."""
