"""Options of mixtures have one declaration: every face has their names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from dyntree import params
from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.ddp.options import DDP_OPTIONS
from dyntree.mixtures.hdp.options import HDP_SETTINGS
from dyntree.mixtures.sva.options import GMM_OPTIONS, HSMM_OPTIONS, MPPCA_OPTIONS

KINDS: dict[str, tuple[type, Mapping[str, Any]]] = {
    "DPGMM": (OnlineDPGMM, GMM_OPTIONS),
    "DPMPPCA": (OnlineDPMPPCA, MPPCA_OPTIONS),
    "HDPHSMM": (OnlineHDPHSMM, HSMM_OPTIONS),
}
EMPTY = inspect.Parameter.empty
MIXTURE_OPTIONS = params.defaults_of(MixtureOptions)
# a sequence model needs both; scikit-learn asks for defaults of all that is there
NEEDED = {"lambda_": EMPTY, "noise": EMPTY}


def defaults(kind: type) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
    }


@pytest.mark.parametrize("name", KINDS)
def test_models_and_faces_have_the_declared_options(name: str) -> None:
    model, declared = KINDS[name]
    expected = dict(declared) | (NEEDED if name == "HDPHSMM" else {})
    assert defaults(model) == expected | {"seed": 0}
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api import adapters

    assert defaults(getattr(adapters, f"River{name}Clusterer")) == expected
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api import estimators

    if name == "HDPHSMM":
        expected |= {"lambda_": "auto", "noise": "auto"}
    found = defaults(getattr(estimators, f"{name}Clusterer"))
    assert found == expected | {"n_passes": 1}


# Of each model: what it takes beside its declared options, and of its face for
# scikit-learn: what that leaves out, and what it has of its own.
OTHERS: dict[str, tuple[type, Mapping[str, Any], dict[str, Any]]] = {
    "DependentDPClusterer": (DependentDPMixture, DDP_OPTIONS, {"seed": 0}),
    "MemoryBoundedTopics": (
        MemoryBoundedHDP, HDP_SETTINGS, {"seed": 0, "n_threads": None, "callback": None}
    ),
    "CanopyMixture": (
        Canopy,
        {k: v for k, v in MIXTURE_OPTIONS.items() if k not in ("sweeps", "prior")},
        {
            "prior": None, "options": None, "batch_size": 10_000, "seed": 0,
            "n_threads": None,
        },
    ),
}  # fmt: skip
FACES: dict[str, tuple[set[str], dict[str, Any]]] = {
    # all parameters of an estimator have defaults
    "DependentDPClusterer": ({"seed"}, {"family": None, "random_state": None}),
    "MemoryBoundedTopics": (
        {"seed", "n_threads", "callback"}, {"n_jobs": None, "random_state": None}
    ),
    "CanopyMixture": (
        {"seed", "batch_size", "n_threads"},
        {
            "n_init": 1, "warm_start": False, "validation": None, "callback": None,
            "progress": False, "random_state": None, "n_jobs": None,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_mixtures_have_the_declared_options(name: str) -> None:
    model, declared, own = OTHERS[name]
    assert defaults(model) == dict(declared) | own
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api import estimators

    left_out, added = FACES[name]
    face = {k: v for k, v in defaults(model).items() if k not in left_out} | added
    assert defaults(getattr(estimators, name)) == face


def test_every_face_of_a_mixture_is_compared() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api import adapters, estimators

    compared = {f"{name}Clusterer" for name in KINDS} | {*OTHERS}
    found = {name for name in estimators.__all__ if "Tree" not in name}
    assert found == compared
    rivers = {f"River{name}Clusterer" for name in KINDS}
    assert {name for name in adapters.__all__ if name.endswith("Clusterer")} == rivers
