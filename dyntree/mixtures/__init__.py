"""Mixtures that learn a row, or a phase, at a time, and grow with the stream."""

from dyntree.mixtures.canopy.model import Canopy
from dyntree.mixtures.canopy.options import CanopyOptions, MixturePrior
from dyntree.mixtures.cover_tree import CoverTree
from dyntree.mixtures.ddp.finite import DynamicFiniteMixture
from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance
from dyntree.mixtures.ddp.metrics import variation_of_information
from dyntree.mixtures.ddp.model import DependentDPMixture
from dyntree.mixtures.ddp.multinomial import Multinomial
from dyntree.mixtures.ddp.processes import (
    DirichletDraw,
    draw_dirichlet_process,
    move,
    superpose,
    thin,
)
from dyntree.mixtures.ddp.regression import AffineFlow, GaussianUnknown
from dyntree.mixtures.ddp.transitions import Discount, RandomWalk
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.frames import product_over_frames
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.records import Clusters, Durations, LambdaPath, Path

__all__ = [
    "AffineFlow",
    "Canopy",
    "CanopyOptions",
    "Clusters",
    "CoverTree",
    "DependentDPMixture",
    "DirichletDraw",
    "Discount",
    "Durations",
    "DynamicFiniteMixture",
    "GaussianKnownVariance",
    "GaussianUnknown",
    "LambdaPath",
    "MixturePrior",
    "Multinomial",
    "OnlineDPGMM",
    "OnlineDPMPPCA",
    "OnlineHDPHSMM",
    "Path",
    "RandomWalk",
    "draw_dirichlet_process",
    "move",
    "product_over_frames",
    "superpose",
    "thin",
    "variation_of_information",
]
