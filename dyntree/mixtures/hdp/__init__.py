"""Topic models in a fixed memory: a hierarchical Dirichlet process over clumps."""
