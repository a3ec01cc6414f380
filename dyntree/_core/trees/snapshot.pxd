"""A cloud as plain arrays in canonical order: trees depth-first, shared parts once."""
