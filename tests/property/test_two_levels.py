"""Two levels are one 0/1 column: the model of a bool or a number, in every face."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree.formula.api as dtf
from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
    checkpoint,
    cli,
)
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.errors import ManyLevelsWarning
from tests.contract import same_answers
from tests.helpers import same_bytes

N = 60
NEW = 12
RANDOM = np.random.default_rng(8)
X = RANDOM.random(N + NEW)
FLAG = RANDOM.random(N + NEW) < 0.5
FLAG[:3] = [True, False, True]  # a level that comes alone is 1: no mirror image
Y = X + 2.0 * FLAG + RANDOM.normal(0.0, 0.2, N + NEW)


def with_gaps(values: Any) -> Any:
    """A column without values in two rows learned and one that is new."""
    return pd.Series(values).astype(object).where(~np.isin(np.arange(N + NEW), GAPS))


GAPS = [7, 20, N + 2]
KINDS: dict[str, Callable[[Any], Any]] = {
    "bool": lambda flag: flag,
    "number": lambda flag: flag.astype(float),
    "category of bools": pd.Categorical,
    "category": lambda flag: pd.Categorical(np.where(flag, "yes", "no")),
    "text": lambda flag: pd.Series(np.where(flag, "v", "u"), dtype=object),
    "text of numbers": lambda flag: pd.Series(np.where(flag, "1", "0"), dtype=object),
}
GAPPY: dict[str, Callable[[Any], Any]] = {
    "number": lambda flag: with_gaps(flag.astype(float)).astype(float),
    "text": lambda flag: with_gaps(np.where(flag, "v", "u")),
}


def table(column: Any) -> pd.DataFrame:
    """Rows to learn, and after them rows to predict."""
    return pd.DataFrame({"x": X, "g": column, "y": Y})


def parts(frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Inputs and responses to learn, and inputs that are new."""
    inputs = frame[["x", "g"]]
    return inputs[:N], frame["y"].to_numpy()[:N], inputs[N:]


def of_tree(kind: Any, **options: Any) -> Callable[[pd.DataFrame], Any]:
    def answers(frame: pd.DataFrame) -> Any:
        learned, y, new = parts(frame)
        tree = kind(seed=2, **options)
        for rows in (slice(5), slice(5, 40), slice(40, N)):
            tree.update(learned[rows], y[rows])
        return len(tree.feature_names), tree.predict(new).mean

    return answers


def of_estimator(name: str) -> Callable[[pd.DataFrame], Any]:
    def answers(frame: pd.DataFrame) -> Any:
        learned, y, new = parts(frame)
        pytest.importorskip("sklearn", reason="needs scikit-learn")
        from dyntree.api import estimators

        made = getattr(estimators, name)(random_state=2)
        if "Classifier" in name:
            made.fit(learned, np.where(y > 1.0, "high", "low"))
            return None, made.predict_proba(new)
        made.fit(learned, y)
        return None, made.predict(new)

    return answers


def of_river(name: str, **options: Any) -> Callable[[pd.DataFrame], Any]:
    def answers(frame: pd.DataFrame) -> Any:
        pytest.importorskip("river", reason="needs river")
        from dyntree.api import adapters

        learned, y, new = parts(frame)
        model = getattr(adapters, name)(seed=2, **options)
        for row, response in zip(learned.to_dict("records"), y.tolist(), strict=True):
            model.learn_one(row, response)
        found = [model.predict_one(row) for row in new.to_dict("records")]
        return len(model.stream.feature_names), np.array(found)

    return answers


def of_formula(formula: str, **options: Any) -> Callable[[pd.DataFrame], Any]:
    def answers(frame: pd.DataFrame) -> Any:
        pytest.importorskip("formulaic", reason="needs formulaic")
        model = dtf.dynamic_tree(formula, frame[:N], seed=2, **options)
        fit = model.fit()
        return len(fit.exog_names), np.asarray(fit.predict(frame[N:]))

    return answers


def in_the_shell(frame: pd.DataFrame) -> Any:
    with TemporaryDirectory() as folder:
        learned, saved, new, told = (
            str(Path(folder) / name) for name in ("a.csv", "a.dyn", "b.csv", "c.csv")
        )
        frame[:N].to_csv(learned, index=False)
        frame[N:].to_csv(new, index=False)
        small = ["--particles", "20", "--seed", "2", "--quiet"]
        fit = ["fit", learned, "--formula", "y ~ .", "--out", saved, *small]
        assert cli.main(fit) == cli.main(["predict", saved, new, "--out", told]) == 0
        width = len(checkpoint.load(saved).feature_names)
        return width, pd.read_csv(told)["mean"].to_numpy()


FACES = {
    "shell": in_the_shell,
    "tree": of_tree(DynamicTree, n_particles=20),
    "linear tree": of_tree(DynamicTree, n_particles=20, model="linear"),
    "stream": of_tree(StreamingTree, n_particles=20),
    "averaged trees": of_tree(AveragedTrees, n_clouds=2, n_particles=10),
    "averaged stream": of_tree(AveragedStream),
    "random trees": of_tree(RandomTreesStream, model="constant"),
    "regressor": of_estimator("DynamicTreeRegressor"),
    "classifier": of_estimator("DynamicTreeClassifier"),
    "river": of_river("RiverDynamicTreeRegressor"),
    "river forest": of_river("RiverRandomTreesRegressor"),
    "formula": of_formula("y ~ x + g"),
    "formula of products": of_formula("y ~ x * g", model="linear"),
    "formula of clouds": of_formula("y ~ x + g", n_clouds=2),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kinds", [KINDS, GAPPY], ids=["whole", "with gaps"])
def test_two_levels_are_the_same_model_as_a_bool(
    face: str, kinds: dict[str, Callable[[Any], Any]]
) -> None:
    found = {name: FACES[face](table(column(FLAG))) for name, column in kinds.items()}
    width, expected = next(iter(found.values()))
    assert width in (2, 3, None)  # x, g and x:g
    for name, (n_features, answer) in found.items():
        assert n_features == width, name
        np.testing.assert_array_equal(answer, expected, err_msg=name)


# ------------------------------------------------------------ levels that come late
def late_rows(n_levels: int, n_first: int) -> tuple[pd.DataFrame, Any]:
    """Rows whose first ones have so many levels, and all of them three."""
    place = np.arange(N) % n_levels
    place[n_first:] = np.arange(N - n_first) % 3
    frame = pd.DataFrame({"x": X[:N], "g": np.array([*"uvw"])[place]})
    return frame, X[:N] + 2.0 * place


def as_it_comes(model: Any, frame: pd.DataFrame, y: Any, one_by_one: bool) -> Any:
    """The model after 20 rows, and after the rest in one call or in many."""
    model.update(frame[:20], y[:20])
    for rows in (
        [slice(k, k + 1) for k in range(20, N)] if one_by_one else [slice(20, N)]
    ):
        model.update(frame[rows], y[rows])
    return model


@pytest.mark.parametrize(("n_levels", "width"), [(1, 2), (2, 2), (3, 3)])
@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("kind", [DynamicTree, StreamingTree])
def test_each_level_beyond_two_adds_a_feature(
    kind: Any, model: str, n_levels: int, width: int
) -> None:
    frame, y = late_rows(n_levels, 20)
    tree = as_it_comes(kind(model, n_particles=50, seed=1), frame, y, False)
    assert sum(name.startswith("g=") for name in tree.feature_names) == width
    assert [*map(len, tree.levels.values())] == [3]
    assert tree.tree.importance().names == ("x", "g")
    parts = as_it_comes(kind(model, n_particles=50, seed=1), frame, y, True)
    new = pd.DataFrame({"x": 0.5, "g": [*"uvw"]})
    same_answers(parts.predict(new), tree.predict(new))
    again = checkpoint.loads(checkpoint.dumps(tree))
    same_answers(again.predict(new), tree.predict(new))
    again.update(frame[:10], y[:10])
    same_answers(again.predict(new), tree.update(frame[:10], y[:10]).predict(new))
    means = tree.predict(new).mean
    np.testing.assert_allclose(np.diff(means), 2.0, atol=0.7)


def maps(n_first: int) -> Iterator[tuple[FeatureMap, list[dict[str, Any]]]]:
    """Maps that were settled with some levels, and rows with all of them and gaps."""
    rows = [{"g": level, "h": 1.0} for level in [*"uvwz", None, *"zwvu"]]
    codes = FeatureMap.learn(rows[:n_first], True)
    yield codes[0].settle(codes[1], grows=True)[0], rows


@pytest.mark.parametrize("n_first", [1, 2, 3])
def test_previewed_rows_are_as_encoded_by_any_map_on_the_way(n_first: int) -> None:
    ((known, rows),) = maps(n_first)
    steps, features = known.grown(rows)
    wide = steps[-1][1]
    assert wide.levels_of["g"].labels == ("u", "v", "w", "z")
    assert [row for row, _ in steps] == [*range(n_first, 4)]
    np.testing.assert_array_equal(wide.encode(rows), features)
    ahead = Encoded(features, wide)
    for row, one in [(0, known), *steps]:
        np.testing.assert_array_equal(one.encode(ahead), one.encode(rows), str(row))
        seen = one.encode(rows[: row + 1])
        np.testing.assert_array_equal(wide.widen(seen), wide.encode(rows[: row + 1]))
        again, encoded = one.grown(ahead)
        assert [features for _, features in again] == [
            features for first, features in steps if first > row
        ]
        np.testing.assert_array_equal(encoded, features)
        assert FeatureMap.from_header(one.to_header()) == one


def test_no_two_levels_are_alike_in_products_of_a_formula() -> None:
    """Rows that differ in a level differ in a feature, of factors and their product."""
    pytest.importorskip("formulaic", reason="needs formulaic")
    cells = [*product("ab", "cde", (0.0, 1.0))]
    frame = pd.DataFrame([*cells, *cells], columns=["g", "h", "x"])
    frame["y"] = np.arange(24.0)
    model = dtf.dynamic_tree("y ~ g * h + x:g + x", frame, n_particles=5, seed=1)
    names = ["g[b]", "h[c]", "h[d]", "h[e]"]
    assert [name for name in model.exog_names if ":" not in name] == [*names, "x"]
    assert len({row.tobytes() for row in np.asarray(model.exog)}) == 12


# ------------------------------------------------------------ river
def test_river_remembers_a_level_without_a_feature_unless_its_row_fails() -> None:
    pytest.importorskip("river", reason="needs river")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = RiverDynamicTreeRegressor(seed=1, n_particles=20)
    for k in range(20):
        model.learn_one({"x": X[k], "g": "u"}, X[k])
    absent, second = {"x": 0.5}, {"x": 0.5, "g": "v"}
    assert model.predict_one(second) == model.predict_one(absent)
    with same_bytes(model.stream), pytest.raises(ValueError, match="y"):
        model.learn_one(second, 1e200)
    assert model._columns.levels_of["g"].labels == ("u",)
    for k in range(20):
        model.learn_one({"x": X[k], "g": "v"}, 5.0 + X[k])
    assert model.stream.feature_names == ("g=u", "x")
    again = pickle.loads(pickle.dumps(model))
    first = absent | {"g": "u"}
    assert model.predict_one(second) > model.predict_one(first) + 3.0
    for row in (first, second, absent):
        assert again.predict_one(row) == model.predict_one(row)


@pytest.mark.parametrize("rows", [40, 1])
def test_an_interaction_alone_leaves_no_level_out(rows: int) -> None:
    """y ~ x:g has a slope in either level; beside x one feature is enough.

    Where the model begins with one level, the other comes late.
    """
    pytest.importorskip("formulaic")
    import dyntree.formula.api as dtf

    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=80), "g": ["u", *["v", "u"] * 39, "v"]})
    data["y"] = np.where(data.g == "u", 2.0, -2.0) * data.x
    model = dtf.dynamic_tree("y ~ x:g", data[:rows], model="linear", seed=1)
    fit = model.fit().extend(data[rows:])
    assert fit.exog_names == ["x:g[u]", "x:g[v]"]
    answers = fit.predict(pd.DataFrame({"x": [1.0, 1.0], "g": ["u", "v"]}))
    np.testing.assert_allclose(answers, [2.0, -2.0], atol=0.2)
    beside = dtf.dynamic_tree("y ~ x * g", data, n_particles=5, seed=1).fit()
    assert beside.exog_names == ["x", "g[v]", "x:g[v]"]


LATE: dict[str, Callable[[], Any]] = {
    "tree": lambda: DynamicTree("linear", n_particles=100, seed=1),
    "stream": lambda: StreamingTree("linear", window=60, n_particles=100, seed=1),
    "trees": lambda: AveragedTrees("linear", n_particles=20, seed=1),
    "average": lambda: AveragedStream("linear", n_particles=20, seed=1),
    "default": lambda: AveragedStream(n_particles=20, seed=1),
}


@pytest.mark.parametrize("kind", LATE)
@pytest.mark.parametrize("first", ["a", "ab", "abc"])
def test_late_levels_are_none_of_those_before(kind: str, first: str) -> None:
    """Each is nearer to its own mean than to that of any other: lines meet it at once.

    A constant leaf has to be split first, which a single cloud may do late.

    Means are 4 apart with a noise of .1, so that no seed fails.
    """
    rng, truth = (
        np.random.default_rng(3),
        dict(zip("abcde", range(0, 20, 4), strict=True)),
    )

    def rows(levels: Any) -> tuple[pd.DataFrame, Any]:
        frame = pd.DataFrame({"x": rng.random(len(levels)), "g": levels})
        means = frame["g"].map(truth) + frame["x"]
        return frame, (means + rng.normal(0.0, 0.1, len(frame))).to_numpy()

    fit = LATE[kind]().update(*rows([*first] * 30))
    for level in "abcde".removeprefix(first):
        known = "abcde"[: "abcde".index(level) + 1]
        fit.update(*rows(rng.permutation([*known] * 40)))
        asked = pd.DataFrame({"x": 0.5, "g": [*known]})
        off = fit.predict(asked).mean - [truth[one] + 0.5 for one in known]
        assert np.all(np.abs(off) < 2.0), (level, off)


def test_linear_leaves_say_when_they_regress_on_no_more_levels() -> None:
    tree = StreamingTree(
        "linear", window=20, n_particles=5, encode_levels="onehot", seed=1
    )
    frame = pd.DataFrame({"x": X[:40], "g": [*"ab"] * 20})
    tree.update(frame, Y[:40])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(70):
            tree.update({"x": 0.5, "g": f"late {k}"}, [1.0])
    told = [one for one in caught if "regress on 64 columns" in str(one.message)]
    assert [one.category for one in told] == [ManyLevelsWarning]
    again = checkpoint.loads(checkpoint.dumps(tree))
    asked = {"x": 0.5, "g": "late 69"}
    same_answers(again.predict(asked), tree.predict(asked))
