"""Streams with bad rows that are skipped are those without them, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dyntree.formula.api as dtf
from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.api.plots import Recorder
from dyntree.evaluate import Prequential, prequential, prequential_each
from tests.helpers import model_bytes

N = 36
RNG = np.random.default_rng(2)
NUMBERS = RNG.random((N, 2))
REAL = 2.0 * (NUMBERS[:, 0] > 0.5) + NUMBERS[:, 1] + 0.1 * RNG.standard_normal(N)
LABELS = np.array(["low", "high"])[(REAL > 1.5).astype(int)]
COUNTS = RNG.poisson(np.exp(REAL))
SHOPS = [f"s{k % 3}" for k in range(N)]
DICTS = [{"a": a, "shop": s} for (a, _), s in zip(NUMBERS.tolist(), SHOPS, strict=True)]

Row = dict[str, Any]  # X, y and what is beside them, of one row


@dataclass(frozen=True)
class Case:
    """A model in one face, rows that it takes, and what makes a row bad.

    Attributes
    ----------
    make : callable
    X : list
        Rows, as `held` puts them together.
    y : list
    held : callable
        Rows of a list as the face has them.
    bad : dict of str to dict
        Changes of a row, by what they are called.
    beside : dict of str to list
        Weights and exposures.
    """

    make: Callable[[], Any]
    X: list[Any]
    y: list[Any]
    held: Callable[[list[Any]], Any]
    bad: dict[str, Row]
    beside: dict[str, list[Any]] = field(default_factory=dict)


def as_frame(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"])


def as_frame_of_objects(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "shop"], dtype=object)


def as_columns(rows: list[Any]) -> dict[str, list[Any]]:
    return {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}


def trees(**options: Any) -> dict[str, Any]:
    return {"n_particles": 4, "seed": 1} | options


def formula(text: str = "y ~ a + b") -> Any:
    data = as_frame(NUMBERS.tolist()).assign(y=REAL)
    return dtf.dynamic_tree(text, data, **trees()).fit()


LISTS = NUMBERS.tolist()
IN_NUMBERS: dict[str, Row] = {
    "infinite": {"X": [np.inf, 0.5]},
    "too large": {"X": [0.5, -1e300]},
}
IN_LISTS = IN_NUMBERS | {
    "text": {"X": [0.5, "oops"]},
    "too wide": {"X": [0.5, 0.5, 0.5]},
    "too narrow": {"X": [0.5]},
    "empty": {"X": []},
    "no row": {"X": None},
    "a number": {"X": 0.5},
    "a word": {"X": "oops"},
    "a table": {"X": [[0.5, 0.5], [0.5, 0.5]]},
    "an object": {"X": [0.5, object()]},
}
REAL_RESPONSES: dict[str, Row] = {
    "missing y": {"y": np.nan},
    "infinite y": {"y": -np.inf},
}
IN_RESPONSES = REAL_RESPONSES | {
    "text as y": {"y": "oops"}, "no y": {"y": None}, "y of two": {"y": [1.0, 2.0]},
}  # fmt: skip
IN_LABELS: dict[str, Row] = {"no label": {"y": None}, "missing label": {"y": np.nan}}
IN_COUNTS: dict[str, Row] = {"below 0": {"y": -1.0}, "not whole": {"y": 0.5}}
IN_WEIGHTS: dict[str, Row] = {
    "negative weight": {"sample_weight": -1.0},
    "missing weight": {"sample_weight": np.nan},
    "text as weight": {"sample_weight": "heavy"},
}
IN_EXPOSURES: dict[str, Row] = {
    "no exposure": {"exposure": 0.0}, "text as exposure": {"exposure": "long"},
}  # fmt: skip
WEIGHTS = [0.0 if k % 9 == 4 else 1.0 + k % 3 for k in range(N)]

CASES: dict[str, Case] = {
    "tree, array": Case(
        lambda: DynamicTree("linear", **trees()), LISTS, REAL.tolist(), np.array,
        IN_NUMBERS | REAL_RESPONSES,
    ),
    "tree, lists": Case(
        lambda: DynamicTree(**trees()), LISTS, REAL.tolist(), list,
        IN_LISTS | IN_RESPONSES,
    ),
    "stream, frame": Case(
        lambda: StreamingTree(window=12, **trees()), LISTS, REAL.tolist(), as_frame,
        IN_NUMBERS | IN_RESPONSES,
    ),
    "stream, frame of objects": Case(
        lambda: StreamingTree("linear", window=12, **trees()),
        [[row["a"], row["shop"]] for row in DICTS], REAL.tolist(), as_frame_of_objects,
        {"infinite": {"X": [np.inf, "s1"]}} | IN_RESPONSES,
    ),
    "stream, dicts": Case(
        lambda: StreamingTree(window=12, **trees()), DICTS, REAL.tolist(), list,
        {"infinite": {"X": {"a": np.inf, "shop": "s1"}},
         "a list": {"X": {"a": [0.5], "shop": "s1"}}} | IN_RESPONSES,
    ),
    "labels, lists": Case(
        lambda: StreamingTree("class", window=12, **trees()), LISTS, LABELS.tolist(),
        list, IN_LISTS | IN_LABELS,
    ),
    "labels under R's rules": Case(
        lambda: DynamicTree("class", rules="r", classes=("high", "low"), **trees()),
        LISTS, LABELS.tolist(), np.array, {"unknown": {"y": "middle"}},
    ),
    "R's rules": Case(
        lambda: StreamingTree(rules="r", window=14, **trees()), LISTS,
        REAL.tolist(), list,
        {"missing": {"X": [np.nan, 0.5]}} | REAL_RESPONSES,
    ),
    "weights": Case(
        lambda: DynamicTree("linear", **trees()), LISTS, REAL.tolist(), list,
        IN_LISTS | IN_RESPONSES | IN_WEIGHTS, {"sample_weight": WEIGHTS},
    ),
    "counts": Case(
        lambda: DynamicTree("negbin", **trees()), LISTS, COUNTS.tolist(), list,
        IN_LISTS | IN_RESPONSES | IN_COUNTS | IN_EXPOSURES,
        {"exposure": [0.5 + k % 4 for k in range(N)]},
    ),
    "counts with weights": Case(
        lambda: StreamingTree("poisson", window=12, **trees()), LISTS, COUNTS.tolist(),
        as_frame, IN_NUMBERS | IN_COUNTS | IN_WEIGHTS | IN_EXPOSURES,
        {"exposure": [0.5 + k % 4 for k in range(N)], "sample_weight": WEIGHTS},
    ),
    "average of streams": Case(
        lambda: AveragedStream("linear", members=[{"window": 9}, {"window": 20}],
                               **trees()),
        LISTS, REAL.tolist(), list, IN_LISTS | IN_RESPONSES,
    ),
    "average of clouds": Case(
        lambda: AveragedTrees(n_clouds=2, **trees()), LISTS, REAL.tolist(), list,
        IN_LISTS | IN_RESPONSES,
    ),
    "random trees": Case(
        lambda: RandomTreesStream(seed=1), LISTS, LABELS.tolist(), list,
        IN_LISTS | IN_LABELS,
    ),
    "recorder": Case(
        lambda: Recorder(StreamingTree(window=12, **trees()), every=4), LISTS,
        REAL.tolist(), list, IN_LISTS | IN_RESPONSES,
    ),
    "formula, frame": Case(
        formula, LISTS, REAL.tolist(), as_frame, IN_NUMBERS | IN_RESPONSES,
    ),
    "formula, columns": Case(
        formula, LISTS, REAL.tolist(), as_columns,
        IN_NUMBERS | IN_RESPONSES | {"text": {"X": [0.5, "oops"]}},
    ),
    "trained": Case(
        lambda: DynamicTree("linear", **trees()).update(NUMBERS, REAL), LISTS,
        REAL.tolist(), list, IN_LISTS | IN_RESPONSES,
    ),
    "frozen": Case(
        lambda: StreamingTree(window=12, **trees()).update(NUMBERS, REAL).freeze(),
        LISTS, REAL.tolist(), list, IN_LISTS | IN_RESPONSES,
    ),
}  # fmt: skip


def stream_of(case: Case, bad: dict[int, str]) -> tuple[dict[str, Any], list[int]]:
    """Arguments of a stream with bad rows at these places, and the good rows' places.

    A place is a number among the good rows, before which a bad one comes.
    """
    names = {"X": case.X, "y": case.y} | case.beside
    rows: dict[str, list[Any]] = {name: [] for name in names}
    good = []
    for k in range(N):
        own = {name: values[k] for name, values in names.items()}
        if k in bad:
            change = case.bad[bad[k]]
            for name in rows:
                rows[name].append(change.get(name, own[name]))
        good.append(len(rows["y"]))
        for name in rows:
            rows[name].append(own[name])
    return {**rows, "X": case.held(rows["X"])}, good


def same(one: Any, other: Any) -> bool:
    """Whether two parts of records are the same, bit for bit."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return repr(one) == repr(other)


def learned(model: Any) -> Any:
    """The model in a recorder, the trees of results, or the model."""
    if isinstance(model, Recorder):
        return model.model
    return model.tree if hasattr(model, "as_learner") else model


def check_records(seen: Prequential, plain: Prequential, good: list[int]) -> None:
    for one in fields(Prequential):
        if one.name not in ("rows", "seconds_per_row", "bad_rows"):
            a, b = getattr(seen, one.name), getattr(plain, one.name)
            assert same(a, b), one.name
    assert seen.rows.tolist() == [good[k] for k in plain.rows]


@pytest.mark.filterwarnings("ignore::dyntree.errors.LearnedRowsWarning")
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=8)
@given(
    data=st.data(), start=st.sampled_from([0, 1, 12, 30]),
    delay=st.sampled_from([0, 1, 7]), is_told=st.booleans(),
)  # fmt: skip
def test_bad_rows_are_as_if_they_were_not_there(
    name: str, data: Any, start: int, delay: int, is_told: bool
) -> None:
    case = CASES[name]
    kinds = st.sampled_from(sorted(case.bad))
    bad = data.draw(st.dictionaries(st.integers(1, N - 1), kinds, max_size=12))
    given, good = stream_of(case, bad)
    clean, _ = stream_of(case, {})
    model, alone = case.make(), case.make()
    told: list[tuple[int, str]] = []
    skipped = prequential(
        model, given.pop("X"), given.pop("y"), start=good[start], delay=delay,
        on_bad_rows=(lambda row, error: told.append((row, str(error)))) if is_told
        else "skip", **given,
    )  # fmt: skip
    plain = prequential(
        alone, clean.pop("X"), clean.pop("y"), start=start, delay=delay, **clean
    )
    check_records(skipped, plain, good)
    expected = sorted({*range(N + len(bad))} - {*good})
    assert [*skipped.bad_rows] == expected
    assert all(skipped.bad_rows.values())
    assert " in row " not in " ".join(skipped.bad_rows.values())
    assert told == (list(skipped.bad_rows.items()) if is_told else [])
    assert model_bytes(learned(model)) == model_bytes(learned(alone))


@pytest.mark.parametrize("name", ["tree, lists", "weights", "counts", "formula, frame"])
def test_raising_is_the_default_and_learns_nothing(name: str) -> None:
    case = CASES[name]
    kind = "infinite"
    given, _ = stream_of(case, {30: kind})
    model = case.make()
    before = model_bytes(learned(model))
    for more in ({}, {"on_bad_rows": "raise"}):
        with pytest.raises(ValueError, match="inf"):
            prequential(model, **given, **more)
    assert model_bytes(learned(model)) == before


def test_each_model_skips_what_it_refuses() -> None:
    case = CASES["tree, lists"]
    given, good = stream_of(case, {9: "text", 20: "missing y"})
    models = {
        "numbers": DynamicTree(**trees()), "labels": StreamingTree("class", **trees()),
        "formula": formula(),
    }  # fmt: skip
    y = given["y"] = ["a" if k % 2 else "b" for k in range(len(given["y"]))]
    with pytest.raises(ValueError, match="refused all 38, row 0 for this: y must"):
        prequential_each(models, **given, on_bad_rows="skip")
    del models["numbers"], models["formula"]
    models["more"] = AveragedStream("class", members=[{"window": 9}], **trees())
    copies = deepcopy(models)
    for threads in (1, 2):
        seen = prequential_each(
            models, **given, start=3, on_bad_rows="skip", threads=threads
        )
        for name, model in models.items():
            assert [*seen[name].bad_rows] == [9]
            assert model_bytes(model) == model_bytes(copies[name])
            alone = prequential(
                deepcopy(model), [x for k, x in enumerate(given["X"]) if k != 9],
                [one for k, one in enumerate(y) if k != 9], start=3,
            )  # fmt: skip
            rows = [k for k in range(38) if k != 9]
            check_records(seen[name], alone, rows)
    assert len(good) == N
