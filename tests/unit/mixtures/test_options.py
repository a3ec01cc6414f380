"""Options of mixtures have one declaration: every face has their names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from dyntree.mixtures.sva.options import GMM_OPTIONS, HSMM_OPTIONS, MPPCA_OPTIONS

KINDS: dict[str, tuple[type, Mapping[str, Any]]] = {
    "DPGMM": (OnlineDPGMM, GMM_OPTIONS),
    "DPMPPCA": (OnlineDPMPPCA, MPPCA_OPTIONS),
    "HDPHSMM": (OnlineHDPHSMM, HSMM_OPTIONS),
}
EMPTY = inspect.Parameter.empty
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
        expected |= {"lambda_": 1.0, "noise": 0.1}
    found = defaults(getattr(estimators, f"{name}Clusterer"))
    assert found == expected | {"n_passes": 1}
