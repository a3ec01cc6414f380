"""Dynamic trees: models that learn row by row, and all that can be asked of them.

Native rules are this package's own algorithm. R's rules return the numbers of CRAN
dynaTree from the same seed.
"""
