"""Estimators for scikit-learn."""

try:
    import sklearn.base  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree.api.estimators needs scikit-learn >= 1.6. Install it with: "
        "pip install '.[sklearn]' in a clone of dyntree."
    ) from error

from dyntree.api.estimators.canopy import CanopyMixture
from dyntree.api.estimators.counts import DynamicTreeCountRegressor
from dyntree.api.estimators.ddp import DependentDPClusterer
from dyntree.api.estimators.dynamic_means import DynamicMeansClusterer
from dyntree.api.estimators.forests import RandomTreesClassifier, RandomTreesRegressor
from dyntree.api.estimators.hdp import MemoryBoundedTopics
from dyntree.api.estimators.keyed import KeyedClassifier, KeyedRegressor
from dyntree.api.estimators.mixtures import (
    DPGMMClusterer,
    DPMPPCAClusterer,
    HDPHSMMClusterer,
)
from dyntree.api.estimators.trees import DynamicTreeClassifier, DynamicTreeRegressor

__all__ = [
    "CanopyMixture",
    "DPGMMClusterer",
    "DPMPPCAClusterer",
    "DependentDPClusterer",
    "DynamicMeansClusterer",
    "DynamicTreeClassifier",
    "DynamicTreeCountRegressor",
    "DynamicTreeRegressor",
    "HDPHSMMClusterer",
    "KeyedClassifier",
    "KeyedRegressor",
    "MemoryBoundedTopics",
    "RandomTreesClassifier",
    "RandomTreesRegressor",
]
