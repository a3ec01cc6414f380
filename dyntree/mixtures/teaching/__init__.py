"""Models and operations to learn from, and to measure the others against."""
