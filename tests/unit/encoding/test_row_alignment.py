"""What belongs to rows is paired with them by index wherever both sides have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree.formula.api as dtf
from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.api.formula import DynamicTreeModel
from dyntree.errors import IndexOrderWarning
from dyntree.evaluate import prequential, prequential_each
from dyntree.evaluate.repeats import fit_repeats
from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    MemoryBoundedHDP,
)
from tests.helpers import same_bytes

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.random((60, 2)), columns=["a", "b"])
Y = (5.0 * X["a"] + 0.1 * RNG.standard_normal(60)).rename("y")
SHUFFLED = Y.sample(frac=1.0, random_state=1)
SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def tree(**options: Any) -> DynamicTree:
    return DynamicTree(**SMALL, **options)


def of_river(name: str, **options: Any) -> Any:
    """How a new adapter learns many rows."""
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api import adapters

    small = {"seed": 1} if "n_trees" in options else SMALL
    return getattr(adapters, f"River{name}")(**small, **options).learn_many


CALLS: dict[str, Callable[[Any], Any]] = {
    "tree": lambda y: tree().update(X, y),
    "tree, R's rules": lambda y: tree(rules="r").update(X, y),
    "tree that waits": lambda y: tree().update(X[:5], y[:5]),
    "preview": lambda y: tree().preview(X, y),
    "rehearse": lambda y: tree().update(X, Y).rehearse(X[:1], y[:1]),
    "stream": lambda y: StreamingTree(window=30, **SMALL).update(X, y),
    "average": lambda y: AveragedStream(**SMALL).update(X, y),
    "clouds": lambda y: AveragedTrees(n_clouds=2, **SMALL).update(X, y),
    "prequential": lambda y: prequential(tree(), X, y, start=20),
    "prequential_each": lambda y: prequential_each({"a": tree()}, X, y, start=20),
    "fit_repeats": lambda y: fit_repeats(tree(), X, y, 2),
    "model": lambda y: DynamicTreeModel(y, X, **SMALL).fit(),
    "append": lambda y: DynamicTreeModel(Y, X, **SMALL).fit().append(y, X),
    "phases": lambda y: DependentDPMixture(
        GaussianKnownVariance(1.0), n_sweeps=4, burn_in=1
    ).update(X, phases=(y > 2.0).astype(int)),
    "weights": lambda y: Canopy(2, inference="em", max_iter=2, seed=1).fit(
        X, sample_weight=y - y.min() + 1.0
    ),
    "weights of documents": lambda y: MemoryBoundedHDP(seed=1).fit(
        X, groups=np.arange(60) // 20, sample_weight=y - y.min() + 1.0
    ),
    "river, a stream": lambda y: of_river("DynamicTreeRegressor", window=20)(X, y),
    "river, an average": lambda y: of_river("DynamicTreeRegressor")(X, y),
    "river, random trees": lambda y: of_river("RandomTreesRegressor", n_trees=3)(X, y),
    "river, keys": lambda y: of_river("KeyedRegressor")(X, y),
    "river, labels": lambda y: of_river("DynamicTreeClassifier")(X, y > 2.0),
    "river, weights": lambda y: of_river("DynamicTreeRegressor")(X, Y, y - y.min()),
    "groups": lambda y: MemoryBoundedHDP(seed=1).fit(X, groups=(y > 2.0).astype(int)),
}


@pytest.mark.filterwarnings("ignore::dyntree.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingKeyWarning")
@pytest.mark.parametrize("name", list(CALLS))
def test_a_series_of_another_order_is_refused(name: str) -> None:
    call = CALLS[name]
    call(Y)
    call(Y.set_axis(range(60)))  # an equal index of another kind
    for wrong in (
        SHUFFLED,
        Y.set_axis(np.arange(60) + 1),
        Y.set_axis(list(map(str, Y))),
    ):
        with pytest.raises(ValueError, match=r"must have the same index") as caught:
            call(wrong)
        assert "to_numpy() to pair them by position" in str(caught.value)


def test_the_first_row_that_differs_is_named() -> None:
    y = Y.rename(index={3: 70})
    with pytest.raises(ValueError, match="row 3 has index 70 in y and 3 in X"):
        tree().update(X, y)


ESTIMATORS: dict[str, Callable[[Any, Any], Any]] = {
    "y": lambda made, y: made.DynamicTreeRegressor(n_particles=5).fit(X, y),
    "more y": lambda made, y: made.RandomTreesRegressor(n_trees=3).partial_fit(X, y=y),
    "labels": lambda made, y: made.DynamicTreeClassifier(n_particles=5).fit(X, y > 2.0),
    "keys": lambda made, y: made.KeyedRegressor(key="k", n_particles=5).fit(
        X.assign(k=X.index // 20), y
    ),
    "sample_weight": lambda made, y: made.DynamicTreeRegressor(n_particles=5).fit(
        X, Y, y - y.min()
    ),
    "weights of clusters": lambda made, y: made.CanopyMixture(2, random_state=1).fit(
        X, sample_weight=y - y.min() + 1.0
    ),
    "groups": lambda made, y: made.MemoryBoundedTopics(random_state=1).fit(
        X, groups=y > 2.0
    ),
}


@pytest.mark.filterwarnings("ignore::dyntree.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_estimators_warn_of_another_order(name: str) -> None:
    """scikit-learn pairs by position, so that other indices are no mistake."""
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api import estimators

    fit = ESTIMATORS[name]
    fit(estimators, Y)
    fit(estimators, Y.set_axis(np.arange(60) + 1))
    fit(estimators, SHUFFLED.to_numpy())
    with pytest.warns(IndexOrderWarning, match="in another order; row 0 has index"):
        fit(estimators, SHUFFLED)


def test_a_refused_call_changes_nothing() -> None:
    model = tree().update(X[:30], Y[:30])
    with same_bytes(model), pytest.raises(ValueError, match="same index"):
        model.update(X[30:], SHUFFLED[30:])


def test_what_has_no_index_is_paired_by_position() -> None:
    by_index = tree().update(X, Y).log_evidence
    shuffled = X.loc[SHUFFLED.index]
    for rows, responses in (
        (X.to_numpy(), Y.set_axis(range(7, 67))),
        (X.set_axis(range(3, 63)), Y.to_numpy()),
        (X, Y.tolist()),
    ):
        assert tree().update(rows, responses).log_evidence == by_index
    same = tree().update(shuffled, SHUFFLED).log_evidence
    assert same == tree().update(shuffled.to_numpy(), SHUFFLED.to_numpy()).log_evidence


def test_scikit_learns_face_pairs_by_position_as_scikit_learn_does() -> None:
    pytest.importorskip("sklearn")
    from dyntree.api.estimators import DynamicTreeRegressor

    by_place = DynamicTreeRegressor(n_particles=20, random_state=1)
    with pytest.warns(IndexOrderWarning):
        one = by_place.fit(X, SHUFFLED).predict(X)
    other = by_place.fit(X, SHUFFLED.to_numpy()).predict(X)
    np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------ subset
FRAME = X.assign(y=Y)
MANY = FRAME.set_index(
    pd.MultiIndex.from_product([list("uvw"), range(20)], names=["site", "day"])
)
SUBSETS: dict[str, tuple[pd.DataFrame, Any]] = {
    "shuffled mask": (FRAME, (Y > 2.0).sample(frac=1.0, random_state=2)),
    "mask of more rows": (FRAME[:40], Y > 2.0),
    "nullable mask": (FRAME, (Y > 2.0).astype("boolean")),
    "array": (FRAME, (Y > 2.0).to_numpy()),
    "list": (FRAME, (Y > 2.0).tolist()),
    "labels": (
        FRAME.set_axis([f"r{k}" for k in range(60)]),
        [f"r{k}" for k in (7, 3, *range(20, 50))],
    ),
    "index": (FRAME, FRAME.index[10:50]),
    "two levels": (MANY, [("u", k) for k in range(20)] + [("w", 3), ("v", 4)]),
    "first level": (MANY, "u"),
    "slice": (FRAME, slice(5, 44)),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SUBSETS))
def test_subset_takes_the_rows_that_loc_gives(name: str) -> None:
    data, subset = SUBSETS[name]
    model = dtf.dynamic_tree("y ~ a + b", data, subset=subset, **SMALL)
    rows = data.loc[subset]
    np.testing.assert_array_equal(model.endog, rows["y"])
    np.testing.assert_array_equal(model.exog, rows[["a", "b"]])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_masks_of_other_libraries_are_by_position(library: str) -> None:
    pytest.importorskip("narwhals", reason="needs narwhals: dyntree[formula]")
    made = pytest.importorskip(library, reason=f"needs {library}")
    mask = (Y > 2.0).to_numpy()
    given = made.array(mask) if library == "pyarrow" else made.Series(mask)
    model = dtf.dynamic_tree("y ~ a + b", FRAME, subset=given, **SMALL)
    np.testing.assert_array_equal(model.endog, Y[mask])


def test_a_function_as_subset_is_given_the_data() -> None:
    model = dtf.dynamic_tree("y ~ a", FRAME, subset=lambda d: d["y"] > 2.0, **SMALL)
    np.testing.assert_array_equal(model.endog, Y[Y > 2.0])


@pytest.mark.parametrize(
    "subset",
    [
        Y[:50] > 2.0,  # rows without a value
        (Y > 2.0).set_axis(range(100, 160)),
        [True] * 59,
        ["r1"],
        [99],
        object(),
    ],
    ids=["short", "foreign", "too few", "text", "number", "object"],
)
def test_a_subset_that_loc_refuses_is_refused(subset: Any) -> None:
    with pytest.raises(ValueError, match=r"subset must be what data\.loc takes"):
        dtf.dynamic_tree("y ~ a", FRAME, subset=subset, **SMALL)
