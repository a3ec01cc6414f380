"""Streams and tables on which no default was chosen, and none may ever be.

Defaults are chosen on the streams of tests/statistical/streams.py and averaged.py, and
on tables.py. What stands in this folder only judges them: a change that was made to do
better here spoils it for good. Whoever needs data to choose by adds some elsewhere.
"""
