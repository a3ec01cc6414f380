"""Spheres: clusters that are a mean, at the distance of a straight line.

The mean of cluster k is the column ``mean[:, k]`` of an array (n_features, width), so
that one instruction serves the distances to several clusters.
"""
from dyntree._core.mixtures.clusters cimport Clusters

cdef class Spheres(Clusters):
    cdef:
        double *mean
        double *step            # scratch: (n_features,)
        int width               # a multiple of 8, at least the capacity
