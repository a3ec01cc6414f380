"""Responses of two whole numbers, which may be labels: a warning where nobody chose."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
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
    load,
    save,
)
from dyntree.cli import main
from dyntree.encoding.targets import ENOUGH
from dyntree.errors import TwoNumbersWarning
from dyntree.evaluate import prequential

N = 40
X = np.random.default_rng(3).random((N, 2))
Y = np.where(X[:, 0] > 0.5, 1, 0)
SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
Responses = Sequence[Any] | np.ndarray


def formula(y: Responses, **more: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    return dtf.dynamic_tree("y ~ a + b", data, **more, **SMALL).fit()


def by_rows(model: Any, **more: Any) -> Callable[..., Any]:
    def learn(y: Responses, **options: Any) -> Any:
        made = model(**more, **options)
        for row, one in zip(X, y, strict=True):
            made.update([row], [one])
        return made

    return learn


def by_arrays(model: Any, **more: Any) -> Callable[..., Any]:
    """Rows of one array, which take a shorter way into a stream."""

    def learn(y: Responses, **options: Any) -> Any:
        made = model(**more, **options)
        for k in range(N):
            made.update(X[k : k + 1], np.asarray(y[k : k + 1]) * 1.0)
        return made

    return learn


def once(model: Any, **more: Any) -> Callable[..., Any]:
    return lambda y, **options: model(**more, **options).update(X, y)


FACES: dict[str, tuple[Callable[..., Any], str]] = {
    "stream": (once(AveragedStream, **SMALL), "mixed"),
    "stream by rows": (by_rows(AveragedStream, **SMALL), "mixed"),
    "stream by arrays": (by_arrays(AveragedStream, **SMALL), "mixed"),
    "trees": (once(AveragedTrees, n_clouds=2, **SMALL), "mixed"),
    "one average": (once(AveragedTrees, n_clouds=1, **SMALL), "linear"),
    "tree": (once(DynamicTree, **SMALL), "linear"),
    "tree by rows": (by_rows(DynamicTree, **SMALL), "linear"),
    "window": (once(StreamingTree, window=30, **SMALL), "linear"),
    "window by rows": (by_rows(StreamingTree, window=30, **SMALL), "linear"),
    "window by arrays": (by_arrays(StreamingTree, window=30, **SMALL), "linear"),
    "keys": (
        lambda y, **more: KeyedStream(seed=1, **more).update(X, y, key=["u"] * N),
        "linear",
    ),
    "evaluation": (
        lambda y, **more: prequential(
            AveragedStream(**SMALL, **more), X, y, start=5, progress=False
        ),
        "mixed",
    ),
    "formula": (formula, "mixed"),
    "formula of a window": (
        lambda y, **more: formula(y, window=30, **more),
        "linear",
    ),
}


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (-1.0, 1.0)])
def test_two_whole_numbers_may_be_labels(name: str, pair: tuple[float, float]) -> None:
    learn, leaves = FACES[name]
    y = np.where(Y, pair[1], pair[0])
    expected = f"are {pair[0]:g} and {pair[1]:g} alone.*'class'.*'{leaves}' says so"
    with pytest.warns(TwoNumbersWarning, match=expected) as warned:
        learn(y)
    assert len([one for one in warned if one.category is TwoNumbersWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        learn(y, model=leaves)
        learn(y, model="class")


@pytest.mark.parametrize("name", FACES)
def test_other_responses_are_as_they_were(name: str) -> None:
    learn, _ = FACES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        for y in (Y + 0.5, np.ones(N), np.arange(N) % 3):
            learn(y)


@pytest.mark.parametrize("name", ["stream", "trees", "keys", "evaluation", "formula"])
def test_labels_are_no_numbers(name: str) -> None:
    learn, _ = FACES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        for y in (Y == 1, np.where(Y, "u", "v"), np.where(Y, "7", "12")):
            learn(y)


def test_a_few_rows_show_nothing() -> None:
    model = AveragedTrees(n_clouds=2, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        model.update(X[: ENOUGH - 1], Y[: ENOUGH - 1])


@pytest.mark.parametrize("kind", [AveragedStream, DynamicTree, StreamingTree])
def test_a_label_that_is_rare_is_seen_when_it_comes(kind: Any) -> None:
    """As of fraud, where the first hundred rows may all be 0."""
    model = kind(**SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        model.update(X[:30], np.zeros(30))
        model.update([X[30]], [0.0])
    with pytest.warns(TwoNumbersWarning, match="are 0 and 1 alone"):
        model.update([X[31]], [1.0])


@pytest.mark.parametrize("kind", [AveragedStream, KeyedStream, StreamingTree])
def test_rows_that_are_refused_count_for_nothing(kind: Any) -> None:
    model = kind(seed=1)
    more = {"key": ["u"]} if kind is KeyedStream else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        for k in range(ENOUGH - 2):
            model.update([X[k]], [Y[k]], **more)
        for k in range(ENOUGH):
            with pytest.raises(ValueError, match="X must"):
                model.update([["a", "b"]], [Y[k]], **more)
        model.update([X[-2]], [Y[-2]], **more)
    with pytest.warns(TwoNumbersWarning):
        model.update([X[-1]], [Y[-1]], **more)


def test_a_copy_of_a_model_looks_at_its_own_rows() -> None:
    model = KeyedStream(seed=1).update(X[:15], Y[:15], key=["u"] * 15)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        for _ in range(3):
            copy.deepcopy(model).update(X[15:19], Y[15:19], key=["u"] * 4)


MODELS = AveragedStream, AveragedTrees, DynamicTree, KeyedStream, StreamingTree


@pytest.mark.parametrize(
    ("kind", "way"), [*product(MODELS, ["file", "pickle"]), (KeyedStream, "store")]
)
def test_a_model_that_was_named_stays_so(kind: Any, way: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {"key": ["u"] * N} if kind is KeyedStream else {}
    options = {"store": tmp_path / "keys.db"} if way == "store" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        made = kind("linear" if more else "constant", seed=1, **options)
        made.update(X, Y, **more)
        if way == "store":
            made.close()
            again = KeyedStream(seed=1, **options)
        elif way == "pickle":
            again = pickle.loads(pickle.dumps(made))
        else:
            save(made, tmp_path / "model.dyn")
            again = load(tmp_path / "model.dyn")
        again.update(X, Y, **more)
    if way == "store":
        again.close()


def test_regressors_and_rules_of_r_take_numbers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", TwoNumbersWarning)
        DynamicTree(rules="r", **SMALL).update(X, Y)
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
        from dyntree.api.estimators import DynamicTreeRegressor

        for options in ({}, {"n_clouds": 1}, {"window": 30}, {"window": "auto"}):
            DynamicTreeRegressor(n_particles=5, random_state=1, **options).fit(X, Y)


@pytest.mark.filterwarnings("always::dyntree.errors.TwoNumbersWarning")
@pytest.mark.parametrize("window", ["auto", "30"])
@pytest.mark.parametrize("command", ["evaluate", "fit", "stream"])
def test_a_shell_says_so_with_its_options(
    command: str, window: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=Y).to_csv(table, index=False)
    call = [command, str(table), "--formula", "y ~ a + b", "--window", window]
    call += ["--out", str(tmp_path / "out"), "--particles", "5"]
    leaves = "mixed" if window == "auto" else "linear"
    assert main(call) == 0
    said = capsys.readouterr().err
    assert f"use --model class; if they are numbers, --model {leaves} says so" in said
    assert main([*call, "--model", leaves]) == 0
    assert "alone" not in capsys.readouterr().err
