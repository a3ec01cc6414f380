"""Figures and tables of the paper on data discarding, run again and stored.

Anagnostopoulos and Gramacy (2013), Information-theoretic data discarding for dynamic
trees on data streams, Entropy 15, 5510. ``python -m tests.bench.discarding --figure 2
--scale paper`` runs what is missing of a figure and prints its table; it can be stopped
at any moment and goes on where it was. Results stand in ``results/`` with the day and
the versions they are of; those of ``--scale ci`` are printed only.
"""
