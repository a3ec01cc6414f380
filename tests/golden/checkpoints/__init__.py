"""Saved models of every released version of the format, and what they predict.

``python -m tests.golden.checkpoints`` writes those of the present version. Files of a
version that has been released are never written again.
"""
