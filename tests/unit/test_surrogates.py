"""Text with a lone surrogate is refused by every door, and changes nothing."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import (
    AveragedStream,
    AveragedTrees,
    DelayedLabels,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.mixtures import OnlineDPGMM
from dyntree.params.labels import check_text, checked_label
from tests.helpers import same_bytes

BAD = json.loads(r'"half\ud800"')
Y = np.arange(20.0)
GOOD = {"a": 0.5, "g": "u"}
MODELS: dict[str, Callable[..., Any]] = {
    "tree": lambda **more: DynamicTree(n_particles=5, seed=1, **more),
    "r": lambda **more: DynamicTree(
        "class", rules="r", n_particles=5, n_start=3, min_leaf=1, seed=1, **more
    ),
    "stream": lambda **more: StreamingTree(window=10, n_particles=5, seed=1, **more),
    "averaged": lambda **more: AveragedStream(n_particles=5, seed=1, **more),
    "trees": lambda **more: AveragedTrees(n_clouds=2, n_particles=5, seed=1, **more),
    "forest": lambda **more: RandomTreesStream("constant", n_trees=2, seed=1, **more),
}
NATIVE = [name for name in MODELS if name != "r"]


def rows(n: int = 20) -> list[dict[str, Any]]:
    return [{"a": k / 20.0, "g": "uv"[k % 2]} for k in range(n)]


def frame(**more: Any) -> pd.DataFrame:
    data = pd.DataFrame(rows())
    for name, value in more.items():
        data[name] = pd.Series([value] * 20, dtype=object)
    return data


def refused(call: Callable[[], Any], argument: str) -> None:
    """The call is refused by an error that names the argument and can be printed."""
    with pytest.raises(ValueError, match=f"^{argument}.*without lone surrog") as caught:
        call()
    told = str(caught.value)
    assert r"'half\ud800'" in told
    told.encode("utf-8")
    assert "Mend the text where it comes from" in told


def state_of(model: Any) -> Any:
    header, arrays = model.to_arrays()
    return json.dumps(header, default=str), {k: v.tobytes() for k, v in arrays.items()}


def categorical() -> pd.DataFrame:
    data = frame()
    categories = pd.Index(["u", BAD], dtype=object)  # text of pandas can hold none
    data["g"] = pd.Categorical.from_codes([0, 1] * 10, categories=categories)
    return data


def named() -> pd.DataFrame:
    data = frame()
    data.columns = pd.Index([BAD, "g"], dtype=object)
    return data


TABLES = {
    "level": lambda: frame(g=BAD),
    "category": categorical,
    "name": named,
    "dicts": lambda: [*rows(19), {"a": 1.0, "g": BAD}],
    "dicts by name": lambda: [{**row, BAD: 1.0} for row in rows()],
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", NATIVE)
def test_first_rows_are_refused(name: str, table: str) -> None:
    model = MODELS[name]()
    with same_bytes(model, state_of):
        refused(lambda: model.update(TABLES[table](), Y), "X")


@pytest.mark.parametrize("table", ["level", "category", "dicts"])
@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("n", [3, 20])
def test_later_rows_are_refused(name: str, table: str, n: int) -> None:
    model = MODELS[name]().update(rows(n), Y[:n])
    with same_bytes(model, state_of):
        given = TABLES[table]()
        refused(lambda: model.update(given, Y), "X")
        refused(lambda: model.update([{"a": 0.5, "g": BAD}], [1.0]), "X")
    if n == 20:
        refused(lambda: model.predict(given), "X")
    model.update([GOOD], [1.0])
    assert len(model.predict([GOOD]).mean) == 1


@pytest.mark.parametrize("name", ["tree", "r", "stream"])
@pytest.mark.parametrize("kind", [str, np.str_, tuple])
def test_labels_are_refused(name: str, kind: Any) -> None:
    bad = (BAD, 1) if kind is tuple else kind(BAD)
    more = {} if name == "r" else {"model": "class"}
    model = MODELS[name](**more)
    X = np.linspace(0.0, 1.0, 20)[:, None]
    refused(lambda: model.update(X, ["u", bad, *"uv" * 9]), "y")
    model.update(X, ["u", "v"] * 10)
    with same_bytes(model, state_of):
        refused(lambda: model.update([[0.5]], [bad]), "y")


def test_named_levels_and_classes_are_refused() -> None:
    refused(lambda: DynamicTree(categories={"g": ["u", BAD]}), "categories")
    refused(lambda: DynamicTree(categories={BAD: ["u", "v"]}), "categories")
    refused(lambda: DynamicTree("class", classes=["u", BAD]), "classes")


def test_keys_and_rows_that_wait_are_refused() -> None:
    store = DelayedLabels(DynamicTree(n_particles=5))
    for call in (store.predict_again, store.drop, lambda key: store.learn(key, 1.0)):
        refused(lambda call=call: call(BAD), "key")  # type: ignore[misc]
    refused(lambda: store.predict_later(BAD, GOOD), "key")
    refused(lambda: store.predict_later("k", {"g": BAD}), "row")
    refused(lambda: store.predict_later("k", {BAD: 1.0}), "row")
    assert not store.n_pending
    assert not store.n_unmatched


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_rows_of_river_are_refused(kind: str, is_old: bool) -> None:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api import adapters

    for make in ("DynamicTree", "RandomTrees"):
        model = getattr(adapters, f"River{make}{kind}")(seed=1)
        labels = kind == "Classifier"
        y = "u" if labels else 1.0
        for k in range(20 * is_old):
            model.learn_one({"a": k, "g": "uv"[k % 2]}, y if labels else float(k))
        before, names = state_of(model.stream), model._columns.feature_names
        refused(lambda: model.learn_one({"a": 1.0, "g": BAD}, y), "x")  # noqa: B023
        refused(lambda: model.learn_one({"a": 1.0, BAD: 1.0}, y), "x")  # noqa: B023
        refused(lambda: model.learn_one({"a": 1.0, BAD: "u"}, y), "x")  # noqa: B023
        if is_old:
            refused(lambda: model.predict_one({"g": BAD}), "x")  # noqa: B023
        if labels:
            refused(lambda: model.learn_one({"a": 1.0}, BAD), "y")  # noqa: B023
        assert state_of(model.stream) == before
        assert model._columns.feature_names == names
        model.learn_one(GOOD, y)


def test_estimators_refuse() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DynamicTreeClassifier, DynamicTreeRegressor

    model = DynamicTreeRegressor(n_particles=5)
    for table in ("level", "category", "name"):
        refused(lambda table=table: model.fit(TABLES[table](), Y), "X")  # type: ignore[misc]
    classifier = DynamicTreeClassifier(n_particles=5)
    refused(lambda: classifier.fit(frame(), ["u", BAD] * 10), "y")


def test_objects_of_r_refuse() -> None:
    from dyntree.api import rmirror

    X = named().drop(columns="g")
    refused(lambda: rmirror.dynaTree(X, Y, N=5, verb=0), "X")


def test_mixtures_refuse() -> None:
    model = OnlineDPGMM(lambda_=1.0)
    refused(lambda: model.update([{BAD: 1.0}, {BAD: 2.0}]), "X")
    refused(lambda: model.learn_one({BAD: 1.0}), "X")
    assert model.n_seen == 0


def test_formulas_refuse() -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    small = {"n_particles": 5, "seed": 1}
    data, bad = frame().assign(y=Y), frame(g=BAD).assign(y=Y)
    refused(lambda: dtf.dynamic_tree("y ~ g", bad, **small), "data")
    refused(lambda: dtf.dynamic_tree("y ~ .", categorical().assign(y=Y)), "data")
    refused(lambda: dtf.dynamic_tree("y ~ .", named().assign(y=Y)), "data")
    refused(lambda: dtf.dynamic_tree("g ~ a", bad), "data")
    for formula in (BAD, f"y ~ {BAD}", f"y + a ~ `{BAD}`"):
        with pytest.raises(ValueError, match=r"^formula .* without lone surrogates"):
            dtf.dynamic_tree(formula, data)
    levels = {"g": ["u", "v", BAD]}
    refused(lambda: dtf.dynamic_tree("y ~ g", data, categories=levels), "categories")
    fit = dtf.dynamic_tree("y ~ a + g", data, **small).fit()
    with same_bytes(fit.tree, state_of):
        refused(lambda: fit.append({"a": 1.0, "g": BAD, "y": 1.0}), "data")
        refused(lambda: fit.append(bad), "data")
        refused(lambda: fit.predict({"a": 1.0, "g": BAD}), "data")


@pytest.mark.filterwarnings("ignore")
def test_other_text_is_learned_saved_and_printed(tmp_path: Path) -> None:
    texts = ["größe", "размер", "サイズ", "\U0001f642", "\U0001d400", "\ufdd0", "\x1b"]
    data = pd.DataFrame({f"n{text}": texts for text in texts})
    model = DynamicTree("class", n_particles=5, seed=1).update(data, texts)
    dyntree.save(model, tmp_path / "model.dyn")
    again = dyntree.load(tmp_path / "model.dyn")
    assert isinstance(again, DynamicTree)
    assert again.classes == model.classes
    assert again.levels == model.levels
    assert again.predict(data).label.tolist() == model.predict(data).label.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in texts:
            check_text(text, "x")
            assert checked_label(text, "y") == text
