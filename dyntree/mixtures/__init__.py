"""Mixtures that learn a row at a time, and grow with the stream."""

from dyntree.mixtures.canopy.model import Canopy
from dyntree.mixtures.canopy.options import CanopyOptions, MixturePrior
from dyntree.mixtures.cover_tree import CoverTree
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.frames import product_over_frames
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.records import Clusters, Durations, LambdaPath, Path

__all__ = [
    "Canopy",
    "CanopyOptions",
    "Clusters",
    "CoverTree",
    "Durations",
    "LambdaPath",
    "MixturePrior",
    "OnlineDPGMM",
    "OnlineDPMPPCA",
    "OnlineHDPHSMM",
    "Path",
    "product_over_frames",
]
