"""Formulas, in the habit of statsmodels: see `dyntree.formula.api`."""
