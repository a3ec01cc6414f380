"""A model for every key: shared streams, and a small tree for each key beside them."""
