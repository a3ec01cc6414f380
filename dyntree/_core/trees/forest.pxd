"""Forest: what can be done to random trees, and what can be seen of them."""
from dyntree._core.trees.random_trees cimport RandomTrees

cdef class Forest(RandomTrees):
    pass
