"""river's own checks of all adapters, of which none skips any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("river", reason="river is not installed: dyntree[river]")

from river import checks

from dyntree.api import adapters

KINDS = (
    adapters.RiverAnomalyDetector,
    adapters.RiverDynamicTreeClassifier,
    adapters.RiverDynamicTreeRegressor,
    adapters.RiverKeyedClassifier,
    adapters.RiverKeyedRegressor,
    adapters.RiverRandomTreesClassifier,
    adapters.RiverRandomTreesRegressor,
)
KEYED = adapters.RiverKeyedClassifier
MODELS = [
    *(kind(**options) for kind in KINDS for options in kind._unit_test_params()),
    adapters.RiverDPGMMClusterer(),
    adapters.RiverDPMPPCAClusterer(),
    adapters.RiverHDPHSMMClusterer(1.0, 0.1),
]


def rivers_checks() -> Iterator[Any]:
    for number, model in enumerate(MODELS):
        for k, check in enumerate(checks.yield_checks(model)):
            title = f"{type(model).__name__}-{number}-{k}-{check.__name__}"
            yield pytest.param(
                model,
                check,
                id=title,
                # half of the time of all; the regressor shares what it does with keys
                marks=pytest.mark.slow if type(model) is KEYED else (),
            )


@pytest.mark.parametrize(("model", "check"), list(rivers_checks()))
@pytest.mark.filterwarnings("ignore:rows have features that the first row")
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingKeyWarning")
@pytest.mark.usefixtures("global_randomness_on_loan")
def test_rivers_own_checks(model: Any, check: Callable[[Any], None]) -> None:
    assert model._unit_test_skips() == set()
    check(model.clone())
