"""One warning names a column of text most of whose values are new, in every face."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    StreamingTree,
)
from dyntree.encoding.levels import MOST_NEW, LevelCounts
from dyntree.errors import ManyLevelsWarning, NumbersAsTextWarning
from dyntree.evaluate import prequential
from dyntree.evaluate.repeats import fit_repeats
from tests.unit.commands.conftest import run
from tests.unit.commands.test_rows import COMMANDS

N = 3 * MOST_NEW // 2
RNG = np.random.default_rng(6)
SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
IDS = [f"request-{k}" for k in range(N)]
Y = RNG.random(N)
Feed = Callable[[pd.DataFrame, Any], Any]


def table(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": RNG.random(len(column)), "id": column})


def at_once(make: Callable[[], Any]) -> Feed:
    return lambda X, y: make().update(X, y)


def in_parts(make: Callable[[], Any], size: int) -> Feed:
    def feed(X: pd.DataFrame, y: Any) -> Any:
        model = make()
        for first in range(0, len(X), size):
            part = slice(first, first + size)
            model.update(X[part], y[part])
        return model

    return feed


def estimator(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DynamicTreeRegressor

    return DynamicTreeRegressor(n_clouds=2, n_particles=5, random_state=1).fit(X, y)


def river(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = RiverDynamicTreeRegressor("constant", window=20, **SMALL)
    for row, response in zip(X.to_dict("records"), y, strict=True):
        model.learn_one(row, response)
    return model


def formula(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree(
        "y ~ a + id", X.assign(y=y), model="constant", **SMALL
    ).fit()


def appended(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = X.assign(y=y)
    fit = dtf.dynamic_tree(
        "y ~ a + id", data[:20], window=15, model="constant", **SMALL
    ).fit()
    for k in range(20, len(data)):
        fit.append(data[k : k + 1] if k % 2 else data.iloc[k].to_dict())
    return fit


FACES: dict[str, Feed] = {
    "tree": at_once(lambda: DynamicTree("constant", **SMALL)),
    "tree in parts": in_parts(lambda: DynamicTree("constant", **SMALL), 40),
    "stream": in_parts(lambda: StreamingTree("constant", window=20, **SMALL), 1),
    "classes": lambda X, y: in_parts(
        lambda: StreamingTree("class", window=20, **SMALL), 7
    )(X, np.where(y > 0.5, "u", "v")),
    "average of streams": at_once(lambda: AveragedStream("constant", **SMALL)),
    "average of streams in parts": in_parts(
        lambda: AveragedStream("constant", **SMALL), 30
    ),
    "average of trees": at_once(lambda: AveragedTrees("constant", n_clouds=3, **SMALL)),
    "average of trees in parts": in_parts(
        lambda: AveragedTrees("constant", n_clouds=3, **SMALL), 30
    ),
    "average in one order": at_once(
        lambda: AveragedTrees("constant", n_clouds=3, shuffle=False, **SMALL)
    ),
    "average of trees class": lambda X, y: AveragedTrees(
        "class", n_clouds=3, **SMALL
    ).update(X, np.where(y > 0.5, "u", "v")),
    "prequential": lambda X, y: prequential(DynamicTree("constant", **SMALL), X, y),
    "repeats": lambda X, y: fit_repeats(DynamicTree("constant", **SMALL), X, y, 3),
    "repeats in one order": lambda X, y: fit_repeats(
        AveragedStream("constant", **SMALL), X, y, 2, shuffle=False
    ),
    "regressor": estimator,
    "river": river,
    "formula": formula,
    "append": appended,
    "keys": lambda X, y: KeyedStream(seed=1).update(X, y, key=["u"] * len(X)),
    "keys in parts": lambda X, y: in_parts(
        lambda: KeyedStream(seed=1, key="k"), 30
    )(X.assign(k="u"), y),
}  # fmt: skip


@pytest.mark.parametrize("name", FACES)
def test_identifiers_are_told_once(name: str) -> None:
    with pytest.warns(ManyLevelsWarning) as warned:
        FACES[name](table(IDS), Y)
    messages = [str(one.message) for one in warned]
    assert all("column 'id'" in message for message in messages)
    assert sum("most of its values are new" in message for message in messages) == 1


@pytest.mark.parametrize("name", FACES)
def test_numbers_as_text_are_told_once(name: str) -> None:
    """Half of them are whole, and few enough that nothing else is odd."""
    texts = [str(k / 2) for k in RNG.permutation(np.arange(N) % 8 + 1)]
    with pytest.warns(NumbersAsTextWarning) as warned:
        FACES[name](table(texts), Y)
    messages = [
        str(one.message) for one in warned if one.category is NumbersAsTextWarning
    ]
    assert len(messages) == 1
    assert "column 'id' holds numbers as text" in messages[0]


@pytest.mark.parametrize("name", ["tree", "average of trees"])
def test_levels_of_categories_are_not_counted(name: str) -> None:
    """Their type names them, whatever the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'id' has more than 32 levels")
        FACES[name](table(pd.Categorical(IDS)), Y)


@pytest.mark.parametrize(
    "levels",
    [
        ["007", "12", "35"],  # codes
        ["low", "0.5", "1.5"],
        ["nan.", "inf", "1.5"],
        pd.Categorical(["0.5", "1.5", "2.5"]),
    ],
    ids=["codes", "text first", "inf", "categories"],
)
@pytest.mark.parametrize("name", ["tree", "stream", "river", "average of trees"])
def test_levels_that_are_no_numbers_as_text(name: str, levels: Any) -> None:
    if name == "river" and isinstance(levels, pd.Categorical):
        return  # a dict has no types of columns
    column = levels.take(np.arange(30) % 3) if hasattr(levels, "take") else levels * 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FACES[name](table(column), Y[:30])


def test_numbers_as_text_that_are_meant_as_levels() -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = table(["0.5", "1.5", "2.5"] * 10).assign(y=Y[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dtf.dynamic_tree("y ~ a + C(id)", data, **SMALL).fit()
        named = {"id": ["0.5", "1.5", "2.5"]}
        DynamicTree(categories=named, **SMALL).update(data[["a", "id"]], data["y"])


@pytest.mark.parametrize("name", ["tree in parts", "stream", "river", "append"])
def test_numbers_as_text_after_numbers_are_to_be_converted(name: str) -> None:
    """Another column, or levels, would not be what the caller means."""
    column = [*range(N - 1), "0.5"]
    with pytest.raises(ValueError, match=r"number as text: convert such a column"):
        FACES[name](table(column), Y)


@pytest.mark.parametrize("text", ["False", "true"])
def test_truth_values_as_text_after_truth_values_are_to_be_converted(text: str) -> None:
    model = DynamicTree(**SMALL).update(table(np.median(Y) < Y), Y)
    with pytest.raises(ValueError, match=r"truth value as text: convert it to one"):
        model.predict(table([text]))


@pytest.mark.parametrize("name", ["tree in parts", "stream", "river", "append"])
def test_times_as_text_after_times_are_to_be_converted(name: str) -> None:
    column = [*pd.date_range("2026-01-01", periods=N - 1), "2026-12-01"]
    data = table(pd.Series(column, dtype=object))
    with pytest.raises(ValueError, match=r"text: convert such a column to dates"):
        FACES[name](data, Y)


HONEST: dict[str, Any] = {
    "250 levels": lambda n: RNG.integers(0, 250, n),
    "40 levels": lambda n: RNG.integers(0, 40, n),
    "a long tail": lambda n: (RNG.pareto(0.5, n)).astype(int),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("name", ["tree", "stream", "river", "formula", "append"])
def test_many_honest_levels_are_not_told(name: str, kind: str) -> None:
    """With 250 equal levels the lead is 77 on average and has a deviation of 9."""
    column = [f"level-{k}" for k in HONEST[kind](N)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'id' has more than 32 levels")
        FACES[name](table(column), Y)


def test_the_lead_of_new_values_decides() -> None:
    counts = LevelCounts()
    counts.count("id", MOST_NEW, MOST_NEW)
    with pytest.warns(ManyLevelsWarning, match="column 'id'"):
        counts.count("id", 1, 1)
    counts.count("id", 500, 500)
    counts.count("site", 1000, 550)
    with pytest.warns(ManyLevelsWarning, match="column 'site'"):
        counts.copy().count("site", 1, 1)


def test_levels_that_are_named_are_not_counted() -> None:
    X = table(IDS)
    DynamicTree("constant", categories={"id": IDS}, **SMALL).update(X, Y)
    tree = DynamicTree("constant", encode_levels="onehot", **SMALL)
    again = pickle.loads(pickle.dumps(tree.update(X[:50], Y[:50])))
    again.update(X[:50], Y[:50])
    assert again.n_seen == 100


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_tells_it_once(command: str, tmp_path: Any, capsys: Any) -> None:
    table(IDS).assign(y=Y).to_csv(tmp_path / "a.csv", index=False)
    rest = ["--formula", "y ~ .", "--particles", "5", "--quiet", "--window", "20"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(command, tmp_path / "a.csv", *rest, "--out", tmp_path / "o") == 0
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if "identifiers" in line]
    assert len(told) == 1
    assert "column 'id'" in told[0]
    assert "--levels id=A,B,..." in told[0]
