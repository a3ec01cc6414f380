"""Mixtures that learn a row at a time, and grow with the stream."""

from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.records import Clusters, LambdaPath

__all__ = ["Clusters", "LambdaPath", "OnlineDPGMM", "OnlineDPMPPCA"]
