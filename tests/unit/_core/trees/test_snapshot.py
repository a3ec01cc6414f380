"""Clouds as arrays: the same bytes again, and a copy that goes its own way."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees import criteria
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.probes import audit


def credited(name: str) -> Cloud:
    """A cloud whose leaves carry credit; some of them lost all their rows since."""
    cloud = helpers.grown(name, 30, min_leaf=1, tree_prior=(0.99, 0.1))
    if name == "class":
        criteria.entropy_active(cloud)
    else:
        m = cloud.n_features
        criteria.alc_active(cloud, np.zeros(m), np.ones(m), np.zeros(m, bool), False)
    if name != "implicit":
        cloud.retire(range(24))
    return cloud


PASTS: dict[str, Callable[[str], Cloud]] = {
    "new": lambda name: Cloud(RSource(1), **helpers.options_of(name)),
    "started": lambda name: helpers.grown(name, 4),
    "grown": lambda name: helpers.grown(name, 30),
    "credited": credited,
    "rejuvenated": lambda name: rejuvenated(helpers.grown(name, 20)),
}


def rejuvenated(cloud: Cloud) -> Cloud:
    cloud.rejuvenate(range(cloud.n_active))
    return cloud


@pytest.mark.parametrize("past", PASTS)
@pytest.mark.parametrize("name", helpers.MODELS)
def test_arrays_go_round(name: str, past: str) -> None:
    cloud = PASTS[past](name)
    before = helpers.model_bytes(cloud)
    again = Cloud.from_arrays(*cloud.to_arrays(), cloud.source)
    assert helpers.model_bytes(again) == before
    assert helpers.model_bytes(cloud) == before
    audit(again)


@pytest.mark.parametrize("past", PASTS)
@pytest.mark.parametrize("name", helpers.MODELS)
def test_equal_clouds_give_equal_bytes(name: str, past: str) -> None:
    """Wherever they lie: between the two, memory is filled with something else."""
    first = helpers.model_bytes(PASTS[past](name))
    litter = [np.full(n, 7.25) for n in range(1, 12_000, 37)]
    kept = litter[::2]
    del litter
    assert helpers.model_bytes(PASTS[past](name)) == first
    del kept


@pytest.mark.parametrize("name", helpers.MODELS)
def test_a_copy_goes_on_draw_for_draw_and_apart(name: str) -> None:
    cloud = credited(name)
    other = cloud.copy(cloud.source.copy())
    X, y = helpers.data(name, 30, seed=4)
    expected = cloud.update(X, y)
    after = helpers.model_bytes(cloud)
    np.testing.assert_array_equal(other.update(X, y), expected)
    assert helpers.model_bytes(other) == after
    other.rejuvenate(np.arange(other.n_active)[::-1])
    assert helpers.model_bytes(cloud) == after
    audit(other)


def test_a_copy_shares_the_stream_unless_told() -> None:
    cloud = helpers.grown("constant", 20)
    assert cloud.copy().source is cloud.source
    other = RSource(5)
    assert cloud.copy(other).source is other


def test_the_header_is_plain() -> None:
    """Numbers, strings and tuples: it survives being written down."""
    header, _ = helpers.grown("augmented", 20).to_arrays()
    assert ast.literal_eval(repr(header)) == header


def test_arrays_are_copies() -> None:
    cloud = helpers.grown("constant", 20)
    with helpers.same_bytes(cloud):
        for part in cloud.to_arrays()[1].values():
            part[...] = 0


def test_shared_parts_are_told_once() -> None:
    cloud = helpers.grown("constant", 40, n_particles=50)
    _, arrays = cloud.to_arrays()
    assert cloud.live_counts == (len(arrays["split_value"]), len(arrays["leaf_sums"]))
    assert len(arrays["leaf_sums"]) < sum(cloud.shapes()[:, 1])
