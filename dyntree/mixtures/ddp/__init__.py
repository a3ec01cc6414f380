"""Dependent Dirichlet process mixtures: clusters that are born, move, fade and die."""
