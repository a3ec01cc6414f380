"""Mixtures: learned by rows, phases, epochs or tables, some growing as they learn."""

from dyntree.mixtures.canopy.model import Canopy
from dyntree.mixtures.canopy.options import CanopyOptions, MixturePrior
from dyntree.mixtures.canopy.records import CanopySweep
from dyntree.mixtures.cover_tree import CoverTree
from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance
from dyntree.mixtures.ddp.model import DependentDPMixture
from dyntree.mixtures.ddp.multinomial import Multinomial
from dyntree.mixtures.ddp.regression import AffineFlow, GaussianUnknown
from dyntree.mixtures.ddp.transitions import (
    ConstantVelocity,
    CustomTransition,
    Discount,
    RandomWalk,
)
from dyntree.mixtures.hdp.merging import merge_models
from dyntree.mixtures.hdp.model import MemoryBoundedHDP
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.records import (
    EpochReport,
    LDAParameters,
    MemoryReport,
    Retrieved,
    SweepReport,
    TopicLabels,
    TopicTable,
)
from dyntree.mixtures.hdp.reports import memory_report, to_lda, topics
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.dynamic_means import DynamicMeans
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.records import (
    Clusters,
    Durations,
    FrameClusters,
    LambdaPath,
    MovingClusters,
    Path,
    Reproduction,
)
from dyntree.mixtures.sva.task_parameterized import TaskParameterizedMixture
from dyntree.mixtures.teaching.finite import DynamicFiniteMixture
from dyntree.mixtures.teaching.metrics import variation_of_information
from dyntree.mixtures.teaching.processes import (
    DirichletDraw,
    draw_dirichlet_process,
    merge,
    move,
    split,
    superpose,
    thin,
)
from dyntree.mixtures.teaching.urns import (
    GeneralizedPolyaUrnMixture,
    RecurrentCRPMixture,
)

__all__ = [
    "AffineFlow",
    "Canopy",
    "CanopyOptions",
    "CanopySweep",
    "Clusters",
    "ConstantVelocity",
    "CoverTree",
    "CustomTransition",
    "DependentDPMixture",
    "DirichletDraw",
    "Discount",
    "Durations",
    "DynamicFiniteMixture",
    "DynamicMeans",
    "EpochReport",
    "FrameClusters",
    "GaussianKnownVariance",
    "GaussianUnknown",
    "GeneralizedPolyaUrnMixture",
    "HDPOptions",
    "HDPPrior",
    "LDAParameters",
    "LambdaPath",
    "MemoryBoundedHDP",
    "MemoryReport",
    "MixturePrior",
    "MovingClusters",
    "Multinomial",
    "OnlineDPGMM",
    "OnlineDPMPPCA",
    "OnlineHDPHSMM",
    "Path",
    "RandomWalk",
    "RecurrentCRPMixture",
    "Reproduction",
    "Retrieved",
    "SweepReport",
    "TaskParameterizedMixture",
    "TopicLabels",
    "TopicTable",
    "draw_dirichlet_process",
    "memory_report",
    "merge",
    "merge_models",
    "move",
    "split",
    "superpose",
    "thin",
    "to_lda",
    "topics",
    "variation_of_information",
]


def __dir__() -> list[str]:
    return __all__
