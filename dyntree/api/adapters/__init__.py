"""Adapters for river."""

try:
    import river.base  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree.api.adapters needs river >= 0.22. Install it with: "
        "pip install '.[river]' in a clone of dyntree."
    ) from error

from dyntree.api.adapters.anomalies import RiverAnomalyDetector, RiverChangeAlarm
from dyntree.api.adapters.answers import RowDistribution
from dyntree.api.adapters.forests import (
    RiverRandomTreesClassifier,
    RiverRandomTreesRegressor,
)
from dyntree.api.adapters.keyed import RiverKeyedClassifier, RiverKeyedRegressor
from dyntree.api.adapters.mixtures import (
    RiverDPGMMClusterer,
    RiverDPMPPCAClusterer,
    RiverHDPHSMMClusterer,
)
from dyntree.api.adapters.trees import (
    RiverDynamicTreeClassifier,
    RiverDynamicTreeRegressor,
)

__all__ = [
    "RiverAnomalyDetector",
    "RiverChangeAlarm",
    "RiverDPGMMClusterer",
    "RiverDPMPPCAClusterer",
    "RiverDynamicTreeClassifier",
    "RiverDynamicTreeRegressor",
    "RiverHDPHSMMClusterer",
    "RiverKeyedClassifier",
    "RiverKeyedRegressor",
    "RiverRandomTreesClassifier",
    "RiverRandomTreesRegressor",
    "RowDistribution",
]
