"""What estimators refuse, told in words that their users can follow."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone

import dyntree
from dyntree.api import estimators
from dyntree.api.estimators import (
    CanopyMixture,
    DPGMMClusterer,
    DynamicMeansClusterer,
    DynamicTreeClassifier,
    DynamicTreeCountRegressor,
    DynamicTreeRegressor,
    KeyedRegressor,
    RandomTreesClassifier,
    RandomTreesRegressor,
)
from dyntree.errors import (
    ManyLevelsWarning,
    NumbersAsTextWarning,
    UnseenLevelWarning,
)
from tests.unit.models import refused

ALL = [
    DynamicTreeRegressor, DynamicTreeClassifier, DynamicTreeCountRegressor,
    RandomTreesRegressor, RandomTreesClassifier, DPGMMClusterer,
]  # fmt: skip
Y = np.arange(30) % 3


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("X", "told"),
    [
        ({"a": Y}, "got a dict. Make it a frame"),
        (pd.DataFrame(index=range(30)), "X must have at least one column"),
        (np.array([["a", 1]] * 30, dtype=object), "got 'a'. Give text in a frame"),
        (np.array([["a", "b"]] * 30), "got .*'a'.*. Give text in a frame"),
        ([["a", 1]] * 30, "got 'a'. Give text in a frame"),
    ],
)
def test_rows_that_are_none_are_told(kind: type, X: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        kind().fit(X, Y)


FITTED: list[tuple[Any, list[tuple[str, Any]], dict[str, Any]]] = [
    (DynamicTreeRegressor, [
        ("discard", "age"), ("forget", 0.9), ("drift", True), ("rejuvenate_every", 10),
        ("window", 1), ("window", "long"), ("model", "class"), ("n_particles", 0),
        ("n_clouds", 0), ("n_jobs", 0), ("random_state", -1), ("random_state", "dice"),
    ], {}),
    (DynamicTreeRegressor, [("n_clouds", 3)], {"window": 50}),
    (DynamicTreeRegressor, [("drift", True)], {"window": "auto"}),
    (RandomTreesRegressor, [
        ("n_trees", 0), ("discount", 1.5), ("min_split", 1), ("max_nodes", 2),
        ("window", 1), ("n_jobs", 0),
    ], {}),
    (CanopyMixture, [("n_init", 0), ("random_state", -1), ("n_components", 0)],
     {"random_state": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "beside"), FITTED)
def test_bad_parameters_are_refused_when_fitting(
    kind: Any, options: list[tuple[str, Any]], beside: dict[str, Any]
) -> None:
    X = np.random.default_rng(0).random((30, 2))
    for name, value in options:
        estimator = kind(**beside | {name: value})
        with refused(name, repr(value)):
            estimator.fit(X, X[:, 0])
        assert not hasattr(estimator, "model_")


def test_remedies_name_estimators() -> None:
    X, labels = np.ones((30, 1)) * Y[:, None], np.array(["u", "v", "w"])[Y]
    with pytest.raises(ValueError, match=r"Labels need DynamicTreeClassifier\."):
        DynamicTreeRegressor().fit(X, labels)
    with pytest.raises(ValueError, match=r"responses see DynamicTreeRegressor\."):
        DynamicTreeCountRegressor().fit(X, -Y)
    assert {"DynamicTreeClassifier", "DynamicTreeRegressor"} <= {*estimators.__all__}


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_threads_may_be_all(n_jobs: int) -> None:
    X = np.ones((30, 1)) * Y[:, None]
    with pytest.raises(ValueError, match=f"-1 for all; got {n_jobs}"):
        DynamicTreeRegressor(n_jobs=n_jobs).fit(X, Y)
    DynamicTreeRegressor(n_jobs=-1, n_particles=10).fit(X, Y)


def test_labels_in_messages_are_plain() -> None:
    X = np.ones((30, 1)) * Y[:, None]
    model = DynamicTreeClassifier(n_particles=10)
    with pytest.raises(ValueError, match=r"among \[0, 1\]; got 2\. Name every label"):
        model.partial_fit(X, Y, classes=[0, 1])


@pytest.mark.parametrize("kind", [DynamicTreeClassifier, RandomTreesClassifier])
def test_log_probabilities(kind: type) -> None:
    X = np.ones((30, 1)) * Y[:, None]
    model = kind(random_state=1).fit(X, Y)
    expected = np.log(model.predict_proba(X[:5]))
    np.testing.assert_array_equal(model.predict_log_proba(X[:5]), expected)


BOOLEANS = [
    (DynamicTreeRegressor, "DynamicTreeClassifier"),
    (DynamicTreeCountRegressor, "DynamicTreeClassifier"),
    (RandomTreesRegressor, "RandomTreesClassifier"),
    (KeyedRegressor, "KeyedClassifier"),
]


@pytest.mark.parametrize(("kind", "classifier"), BOOLEANS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_booleans_need_a_classifier(kind: Any, classifier: str, method: str) -> None:
    X = np.ones((30, 1)) * Y[:, None]
    with pytest.raises(ValueError, match=f"Labels need {classifier};"):
        getattr(kind(), method)(X, Y > 1)
    with pytest.raises(ValueError, match=f"Labels need {classifier}"):
        getattr(kind(), method)(X, np.array(["u", "v", "w"])[Y])


def test_levels_are_those_of_a_categorical_column() -> None:
    """No estimator has the argument `categories`."""
    frame = pd.DataFrame({"city": ["u", "v"] * 15, "size": ["1.5", "2.5"] * 15})
    ids = pd.DataFrame({"city": [f"id{k}" for k in range(150)]})
    with pytest.warns(NumbersAsTextWarning) as notes:
        model = DynamicTreeRegressor(n_particles=10).fit(frame, Y)
    with pytest.warns(UnseenLevelWarning) as later:
        model.predict(pd.DataFrame({"city": ["w"], "size": ["1.5"]}))
    with pytest.warns(ManyLevelsWarning) as many:
        RandomTreesRegressor(n_trees=3).fit(ids, np.arange(150.0))
    for kind in (notes, later, many):
        said = [str(note.message) for note in kind]
        assert any("astype('category')" in text for text in said)
        assert not any("categories=" in text for text in said)


def test_the_words_of_an_estimator_end_with_its_call() -> None:
    with pytest.raises(ValueError, match="DynamicTreeClassifier"):
        DynamicTreeRegressor().fit(np.ones((30, 1)), Y > 1)
    with pytest.raises(ValueError, match="Labels need model='class'"):
        dyntree.DynamicTree().update(np.ones((30, 1)), Y > 1)


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (DynamicTreeRegressor, "predict_interval", r"predict_quantiles\?"),
        (DynamicTreeClassifier, "predict_interval", r"predict_proba\?"),
        (DynamicTreeRegressor, "update", r"partial_fit\?"),
        (DPGMMClusterer, "predict_prob", r"predict_proba\?"),
        (CanopyMixture, "save", r"joblib.dump\(estimator, path\)"),
    ],
)
def test_wrong_names_get_a_suggestion(kind: Any, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean {meant}"):
        getattr(kind(), name)


def test_methods_of_the_model_are_named_with_it() -> None:
    model = DynamicTreeRegressor(n_particles=10).fit(np.ones((30, 1)) * Y[:, None], Y)
    with pytest.raises(AttributeError, match=r"mean model_\.acquisition\?"):
        model.acquisition(Y[:, None])
    with pytest.raises(TypeError, match=r"'std'\. Its arguments are X, return_std\."):
        model.predict(Y[:, None], std=True)


@pytest.mark.parametrize("name", estimators.__all__)
def test_suggestions_leave_the_rest_as_it_was(name: str) -> None:
    estimator = getattr(estimators, name)()
    assert not hasattr(estimator, "model_")
    again = pickle.loads(pickle.dumps(clone(estimator)))
    assert again.get_params() == estimator.get_params()
    assert not hasattr(again, "n_features_in_")


@pytest.mark.parametrize("name", estimators.__all__)
def test_arguments_of_a_constructor_are_named(name: str) -> None:
    """The example is a default: what was passed may be no value of that argument."""
    make = getattr(estimators, name)
    with pytest.raises(TypeError, match="Name them, such as ") as caught:
        make(*["linear"] * 30)
    argument, value = str(caught.value)[:-1].rpartition(" ")[2].split("=")
    assert repr(make().get_params()[argument]) == value


def test_a_wrong_argument_of_a_short_constructor_lists_its_arguments() -> None:
    make: Any = DynamicMeansClusterer
    with pytest.raises(TypeError, match=r"Its arguments are lambda_, max_absence,"):
        make(n_components=3)


def test_one_row_of_a_frame_and_rows_as_dicts_get_a_way_on() -> None:
    """scikit-learn says that a series has no features, where text asks for a frame."""
    X = pd.DataFrame({"a": [0.0, 1.0] * 15, "g": ["u", "v"] * 15})
    model = DynamicTreeRegressor(n_clouds=1, n_particles=3, random_state=1)
    model.fit(X, [0.0, 1.0] * 15)
    with pytest.raises(ValueError, match=r"A row of a frame is X\.iloc\[\[0\]\]"):
        model.predict(X.iloc[0])
    with pytest.raises(ValueError, match=r"frame first: pandas\.DataFrame\(X\)"):
        model.predict([{"a": 0.5, "g": "u"}])
