"""Demonstrations, one a model: data, a picture, and a summary to look at."""
