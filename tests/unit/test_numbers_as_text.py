"""Responses that are numbers as text choose no model of labels, in any face."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, KeyedStream
from tests.helpers import model_bytes

X = pd.DataFrame(np.random.default_rng(3).random((24, 2)), columns=["a", "b"])
TEXT = [f"{k / 8}" for k in range(24)]


def formula(y: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    model = dtf.dynamic_tree("y ~ a + b", X.assign(y=y), n_particles=5, seed=1)
    return model.fit()


FACES: dict[str, Callable[[Any], Any]] = {
    "stream": lambda y: AveragedStream(seed=1).update(X, y),
    "trees": lambda y: AveragedTrees(n_clouds=2, n_particles=5, seed=1).update(X, y),
    "tree": lambda y: DynamicTree(n_particles=5, seed=1).update(X, y),
    "keys": lambda y: KeyedStream(seed=1).update(X, y, key=["u"] * len(X)),
    "formula": formula,
}
OPEN = ["stream", "trees", "keys", "formula"]  # which labels make classifiers


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)],
    ids=["list", "array", "series", "objects"],
)  # fmt: skip
def test_numbers_as_text_are_to_be_converted(name: str, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"\. Convert (text|the responses) to numbers"):
        FACES[name](kind(TEXT))


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("row", [0, 7])
def test_numbers_as_text_with_one_word_are_to_be_converted(name: str, row: int) -> None:
    texts = [*TEXT]
    texts[row] = "?"
    with pytest.raises(ValueError, match=r"which reads as a number, but also '\?'"):
        FACES[name](texts)


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("row", [0, 7])
def test_a_word_among_numbers_is_named(name: str, row: int) -> None:
    """It makes labels of all numbers, none of which is at fault."""
    y: list[Any] = [float(text) for text in TEXT]
    y[row] = "?"
    with pytest.raises(ValueError, match=r"must hold .* labels") as caught:
        FACES[name](y)
    assert f"'?' in row {row}" in str(caught.value) or name == "formula"
    assert "'?'" in str(caught.value)


@pytest.mark.parametrize("make", [AveragedStream, KeyedStream])
def test_a_word_before_numbers_is_named(make: Any) -> None:
    more = {"key": ["u"]} if make is KeyedStream else {}
    model = make(seed=1).update(X[:1], ["?"], **more)
    with pytest.raises(ValueError, match=r"beside the text '\?' before it\. If that"):
        model.update(X[1:2], [182.5], **more)


def test_a_regressor_of_scikit_learn_asks_for_numbers() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DynamicTreeRegressor

    with pytest.raises(ValueError, match="Convert text to numbers"):
        DynamicTreeRegressor(random_state=1).fit(X, TEXT)
    with pytest.raises(ValueError, match="DynamicTreeClassifier has it"):
        DynamicTreeRegressor("class").fit(X, TEXT)


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize(
    "labels",
    [["1", "2"], ["007", "12"], ["0.5", "low"], pd.Categorical(["0.5", "1.5"])],
    ids=["digits", "codes", "one text", "categories"],
)
def test_other_texts_are_labels(name: str, labels: Any) -> None:
    codes = np.arange(24) % 2
    y = labels.take(codes) if hasattr(labels, "take") else labels * 12
    assert FACES[name](y) is not None


@pytest.mark.parametrize("make", [AveragedStream, AveragedTrees, KeyedStream])
def test_a_model_that_is_named_takes_them_as_labels(make: Any) -> None:
    more = {"key": ["u"] * 24} if make is KeyedStream else {}
    model = make("class", seed=1).update(X, ["3.11", "3.12"] * 12, **more)
    assert [*model.classes] == ["3.11", "3.12"]


@pytest.mark.parametrize("make", [AveragedStream, AveragedTrees, KeyedStream])
def test_a_model_is_as_before_once_they_are_refused(make: Any) -> None:
    more = {"key": ["u"] * 24} if make is KeyedStream else {}
    model = make(seed=1)
    with pytest.raises(ValueError, match="reads as a number"):
        model.update(X, TEXT, **more)
    numbers = [float(text) for text in TEXT]
    model.update(X, numbers, **more)
    fresh = make(seed=1).update(X, numbers, **more)
    assert model_bytes(model) == model_bytes(fresh)
