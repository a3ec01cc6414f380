"""Mixtures that learn a row, or an epoch, at a time, and grow with the stream."""

from dyntree.mixtures.hdp.model import MemoryBoundedHDP
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.records import (
    LDA,
    EpochReport,
    MemoryReport,
    Retrieved,
    SweepReport,
    TopicLabels,
    TopicTable,
)
from dyntree.mixtures.hdp.reports import memory_report, to_lda, topics
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.frames import product_over_frames
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.records import Clusters, Durations, LambdaPath, Path

__all__ = [
    "LDA",
    "Clusters",
    "Durations",
    "EpochReport",
    "HDPOptions",
    "HDPPrior",
    "LambdaPath",
    "MemoryBoundedHDP",
    "MemoryReport",
    "OnlineDPGMM",
    "OnlineDPMPPCA",
    "OnlineHDPHSMM",
    "Path",
    "Retrieved",
    "SweepReport",
    "TopicLabels",
    "TopicTable",
    "memory_report",
    "product_over_frames",
    "to_lda",
    "topics",
]
