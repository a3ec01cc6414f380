"""Mixtures of very many components, at the cost of a look-up."""
