"""Every type of label has a way in and a way out; others are refused with their row."""

from __future__ import annotations

import enum
import json
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
import dyntree.cli
from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    StreamingTree,
    checkpoint,
)
from dyntree.errors import CheckpointError
from dyntree.params.labels import can_store, from_json, plain_label, to_json
from tests.helpers import changed_file, same_bytes
from tests.unit.models import data

TOKYO = timezone(timedelta(hours=9))
HALF = datetime(2024, 1, 1, 12, 0, 0, 500)
LABELS: dict[str, tuple[Any, Any, Any]] = {
    "text": ("u", "", "é"),
    "ints": (0, -1, 2**80),
    "floats": (0.5, 1e300, float("inf")),
    "truth values": (True, False, True),
    "text and numbers": ("u", 1, 2.5),
    "tuples": (("u", 1), ("u", 2), ()),
    "nested tuples": ((1, ("u", date(2024, 1, 1))), (2, (True, 0.5)), (3, ("v", "w"))),
    "time stamps": (HALF, HALF + timedelta(1), datetime(1, 1, 1)),
    "time stamps with a zone": (
        HALF.replace(tzinfo=UTC), HALF.replace(tzinfo=TOKYO), HALF.replace(tzinfo=UTC),
    ),
    "dates": (date(2024, 1, 1), date(1969, 12, 31), date(9999, 1, 1)),
    "times": (time(12, 30), time(0), time(1, 2, 3, 4)),
    "durations": (timedelta(1), timedelta(-1, 3, 5), timedelta(0)),
    "decimals": (Decimal("1.50"), Decimal("0.1"), Decimal(2)),
    "bytes": (b"u", b"", b"\xff"),
    "periods": (
        pd.Period("2024-01", "M"), pd.Period("2024-02", "M"), pd.Period("2024", "Y"),
    ),
    "intervals": (
        pd.Interval(0, 1), pd.Interval(1, 2.5), pd.Interval(2, 3, closed="both"),
    ),
    "intervals of a range": tuple(pd.interval_range(0, 3)),
    "Timestamps": (
        pd.Timestamp("2024-01-01"), pd.Timestamp(0), pd.Timestamp("2024-06-01"),
    ),
    "Timedeltas": (pd.Timedelta(1, "h"), pd.Timedelta(0), pd.Timedelta(-1, "D")),
    "NumPy's numbers": (np.int64(1), np.uint8(2), np.float32(0.5)),
    "NumPy's text": (np.str_("u"), np.str_("v"), np.str_("w")),
    "NumPy's times": (
        np.datetime64("2024-01-01T01:00", "ns"), np.datetime64("2024-01-01"),
        np.datetime64("2024-01-02"),
    ),
}  # fmt: skip
FRACTIONS = ("decimals", "floats", "text and numbers", "NumPy's numbers")
X, PLACES = data("constant", 30)
PLACES = np.digitize(X[:, 0], (0.3, 0.6))
SMALL: dict[str, Any] = {"n_particles": 10, "seed": 1}
MODELS: dict[str, Callable[..., Any]] = {
    "tree": lambda **more: DynamicTree("class", **SMALL, **more),
    "stream": lambda **more: StreamingTree("class", window=20, **SMALL, **more),
    "average of streams": lambda **more: AveragedStream("class", **SMALL, **more),
    "average of trees": lambda **more: AveragedTrees(
        "class", n_clouds=2, **SMALL, **more
    ),
    "R's rules": lambda **more: DynamicTree("class", rules="r", **SMALL, **more),
}


def chosen(kind: str) -> list[Any]:
    return [LABELS[kind][k] for k in PLACES]


def known(kind: str) -> dict[str, Any]:
    """The labels as `classes`, each once: those of one call may not sort."""
    return {"classes": list(dict.fromkeys(map(plain_label, LABELS[kind])))}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", MODELS)
def test_labels_come_in_and_out(name: str, kind: str, tmp_path: Path) -> None:
    labels = chosen(kind)
    model = MODELS[name](**known(kind)).update(X, labels)
    labels = [*map(plain_label, labels)]  # NumPy's times are equal, with other hashes
    assert {*model.classes} == {*labels}
    dyntree.save(model, tmp_path / "m.dyn")
    loaded = dyntree.load(tmp_path / "m.dyn"), pickle.loads(pickle.dumps(model))
    for again in (*loaded, model.copy()):
        assert again.classes == model.classes
        assert [*map(type, again.classes)] == [*map(type, model.classes)]
        answer = again.predict(X)
        assert {*answer.label.tolist()} <= {*labels}
        assert {*answer.sample(3, 1).ravel().tolist()} <= {*labels}
        assert np.isfinite(answer.log_density(labels)).all()
        again.update(X[:3], labels[:3])
    facts = model.facts()
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_wait_for_trees_are_kept_in_files(kind: str) -> None:
    labels = chosen(kind)
    whole = MODELS["R's rules"](n_start=20, **known(kind)).update(X, labels)
    waiting = MODELS["R's rules"](n_start=20, **known(kind)).update(X[:9], labels[:9])
    again = pickle.loads(pickle.dumps(waiting)).update(X[9:], labels[9:])
    assert again.predict(X).proba.tobytes() == whole.predict(X).proba.tobytes()


@pytest.mark.parametrize("kind", LABELS)
def test_arrays_and_series_hold_the_same_labels(kind: str) -> None:
    labels, column = chosen(kind), np.empty(len(X), dtype=object)
    column[:] = labels
    forms = [labels, tuple(labels), column, pd.Series(column, dtype=object)]
    if kind not in ("tuples", "nested tuples", "text and numbers", "NumPy's times"):
        forms += [np.array(labels), pd.Series(labels)]
    models = [MODELS["tree"](**known(kind)).update(X, form) for form in forms]
    assert len({model.log_evidence for model in models}) == 1
    assert all(model.classes == models[0].classes for model in models)


def test_faces_take_labels_of_every_type() -> None:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeClassifier
    from dyntree.api.formula import DynamicTreeModel

    for kind in LABELS:
        labels = chosen(kind)
        if kind not in FRACTIONS:  # which somebody has to name
            river = RiverDynamicTreeClassifier(**SMALL)
            for x, label in zip(X, labels, strict=True):
                river.learn_one({"a": x[0], "b": x[1]}, label)
            again = pickle.loads(pickle.dumps(river))
            assert again.predict_one({"a": 0.5, "b": 0.5}) in labels, kind
        expected = {*map(plain_label, labels)}
        model = DynamicTreeModel(
            pd.Series(labels, dtype=object), X, model="class", **known(kind), **SMALL
        )
        fit = model.fit()
        assert {*fit.predict(X)} <= expected, kind
        assert {*fit.tree.classes} == expected, kind


MEASURED = np.linspace(0.25, 9.75, 30)
FORMS: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray, "list": lambda y: y.tolist(), "Series": pd.Series,
    "of 32 bits": lambda y: y.astype(np.float32),
    "big-endian": lambda y: y.astype(">f8"),
    "objects": lambda y: y.astype(object), "scalars": lambda y: [*y],
    "decimals": lambda y: [Decimal(str(value)) for value in y],
    "one of many": lambda y: np.where(np.arange(len(y)) == 7, y, 1.0),
    "infinite": lambda y: np.where(np.arange(len(y)) == 7, np.inf, 1.0),
}  # fmt: skip
FRESH: dict[str, Callable[..., Any]] = MODELS | {
    "random trees": lambda **more: dyntree.RandomTreesStream(n_trees=3, seed=1, **more),
    "linear stream": lambda **more: dyntree.LinearStream(seed=1, **more),
}
# a linear stream has no such model itself
REMEDY = r"a number with a fraction\. .*trees, model='constant'.*classes=\(\.\.\.\)"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FRESH)
def test_measurements_are_no_labels(name: str, form: str) -> None:
    """Numbers with a fraction are refused, at first and later, until they are named."""
    y = FORMS[form](MEASURED)
    model = FRESH[name]()
    with same_bytes(model), pytest.raises(ValueError, match=REMEDY):
        model.update(X, y)
    whole = np.arange(30.0) % 3
    model = FRESH[name]().update(X, whole)
    assert {*model.classes} == {0.0, 1.0, 2.0}
    with same_bytes(model), pytest.raises(ValueError, match=r"fraction|among"):
        model.update(X, y)
    values = [*dict.fromkeys(np.asarray(y, dtype=object).tolist())]
    named = FRESH[name](classes=values).update(X, y)
    assert {*named.classes} == {*values}


@pytest.mark.parametrize(
    "name", ["stream", "average of streams", "random trees", "linear stream"]
)
def test_a_single_measurement_is_no_label(name: str) -> None:
    model = FRESH[name]().update(X, PLACES)
    for way in (
        lambda: model.update(X[:1], np.array([0.5])),
        lambda: model.update(X[:1], [0.5]),
        lambda: model.learn_row(X[:1], 0.5),
        lambda: model.preview(X[:1], [0.5]),
    ):
        with same_bytes(model), pytest.raises(ValueError, match=REMEDY):
            way()


def test_faces_refuse_measurements_as_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("river", "sklearn", "formulaic"):
        pytest.importorskip(package)
    import dyntree.formula.api as dtf
    from dyntree.api import adapters, estimators

    for face in (
        adapters.RiverDynamicTreeClassifier(**SMALL),
        adapters.RiverDynamicTreeClassifier(window=20, **SMALL),
        adapters.RiverRandomTreesClassifier(n_trees=3, seed=1),
    ):
        other = type(face).__name__.replace("Classifier", "Regressor")
        remedy = rf"a number with a fraction\. Such numbers need {other}\."
        for ready in (False, True):
            with pytest.raises(ValueError, match=remedy):
                face.learn_one({"x": 0.5}, 0.25)
            with pytest.raises(ValueError, match=remedy):
                face.learn_many(pd.DataFrame({"x": X[:, 0]}), pd.Series(MEASURED))
            if not ready:
                face.learn_one({"x": 0.5}, 1.0)
    for kind in (
        estimators.DynamicTreeClassifier(n_particles=5, n_clouds=2),
        estimators.RandomTreesClassifier(n_trees=3),
    ):
        with pytest.raises(ValueError, match="continuous"):
            kind.fit(X, MEASURED)
    frame = pd.DataFrame({"x": X[:, 0], "y": MEASURED})
    for formula, more in (("y ~ x", {"model": "class"}), ("C(y) ~ x", {})):
        with pytest.raises(ValueError, match=REMEDY):
            dtf.dynamic_tree(formula, frame, **more, **SMALL)
        fit = dtf.dynamic_tree(formula, frame.round(), **more, **SMALL).fit()
        for learn in (fit.append, fit.extend):
            with same_bytes(fit.tree), pytest.raises(ValueError, match=REMEDY):
                learn(frame)
    levels = frame.assign(y=pd.Categorical(frame["y"].round(0) / 2))  # named by type
    assert 0.5 in dtf.dynamic_tree("y ~ x", levels, **SMALL).fit().tree.classes
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = ["--formula", "y ~ x", "--model", "class", "--particles", "5"]
    words = ["fit", str(tmp_path / "t.csv"), *asked, "--out", str(tmp_path / "m")]
    assert dyntree.cli.main(words) == 1
    assert "a number with a fraction" in capsys.readouterr().err


class Colour(enum.Enum):
    RED = 1


class Shade(str, enum.Enum):  # noqa: UP042 # whose str() is not its text
    DARK = "dark"


BAD: dict[str, Any] = {
    "an object": object(), "an enumeration": Colour.RED, "a set": frozenset({1}),
    "a fraction": Fraction(1, 3), "a complex number": 1j, "a list": ["u"], "a dict": {},
    "a function": len, "a tuple of an object": ("u", object()), "a range": range(3),
    "a tuple of nothing": ("u", None), "a tuple of NaN": (1, float("nan")),
    "finer than a microsecond": pd.Timestamp("2024-01-01") + pd.Timedelta(1, "ns"),
    "NumPy's finer time": np.datetime64(1, "ns"), "months": np.timedelta64(1, "M"),
    "a year beyond Python's": np.datetime64("20000-01-01"),
    "an interval of times": pd.Interval(
        pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_no_label_is_refused_with_its_row(name: str, what: str) -> None:
    column = np.array(["u", "v", "w"] * 10, dtype=object)
    model = MODELS[name](classes=("u", "v", "w")).update(X, column)
    bad = column.copy()
    bad[7] = BAD[what]
    with same_bytes(model), pytest.raises(TypeError, match=r"y must hold .* in row 7"):
        model.update(X, bad)
    if what not in ("a list", "a dict"):
        with pytest.raises(TypeError, match="classes must hold labels"):
            MODELS[name](classes=("u", BAD[what]))


@pytest.mark.parametrize("what", BAD)
def test_formulas_refuse_what_is_no_label_with_its_row(what: str) -> None:
    from dyntree.api.formula import DynamicTreeModel

    column = np.array(["u", "v", "w"] * 10, dtype=object)
    fit = DynamicTreeModel(column, X, model="class", **SMALL).fit()
    column[7] = BAD[what]
    row = {"x1": 0.5, "x2": 0.5, "y": BAD[what]}
    told = "data must hold labels; got .* in row {}, column 'y'"
    with pytest.raises(TypeError, match=told.format(7)):
        DynamicTreeModel(column, X, model="class", **SMALL)
    with same_bytes(fit.tree), pytest.raises(TypeError, match=told.format(0)):
        fit.append([row])


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", ["M8[ns]", "m8[ns]"])
def test_columns_of_finer_times_are_not_merged(kind: str, form: str) -> None:
    from dyntree.api.formula import DynamicTreeModel
    from dyntree.mixtures import MemoryBoundedHDP

    pytest.importorskip("narwhals", reason="needs narwhals: dyntree[formula]")
    library = pytest.importorskip(form, reason=f"needs {form}")
    make = library.array if form == "pyarrow" else library.Series
    y = make(PLACES.astype(kind))
    with pytest.raises(TypeError, match="y must hold labels; got"):
        MODELS["tree"]().update(X, y)
    with pytest.raises(TypeError, match="data must hold labels; got"):
        DynamicTreeModel(y, X, model="class", **SMALL)
    table = pd.DataFrame({"a": X[:, 0], "page": PLACES.astype(kind)})
    model = MemoryBoundedHDP(seed=1, init_topics=2).fit(table, groups="page")
    assert len(model.group_sizes_) == 3


@pytest.mark.parametrize(
    "nothing", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT", "ns")]
)
def test_a_missing_label_is_told_with_its_row(nothing: Any) -> None:
    model, column = MODELS["tree"](), np.array(["u", "v", "w"] * 10, dtype=object)
    column[7] = nothing
    with pytest.raises(ValueError, match=r"y must hold labels; .* in row 7. Leave"):
        model.update(X, column)


def test_members_of_enumerations_of_text_are_their_text() -> None:
    model = MODELS["tree"]().update(X, [Shade.DARK, "light", "dark"] * 10)
    assert dyntree.checkpoint.loads(dyntree.checkpoint.dumps(model)).classes == (
        "dark", "light",
    )  # fmt: skip


@pytest.mark.parametrize("kind", LABELS)
def test_headers_hold_labels(kind: str) -> None:
    for label in map(plain_label, LABELS[kind]):
        assert can_store(label)
        held = to_json(label)
        again = from_json(json.loads(json.dumps(held)))
        assert (again, type(again)) == (label, type(label))


@pytest.mark.parametrize("held", [{"date": "x"}, {"what": 1}, {}, {"date": "", "b": 1}])
def test_a_broken_label_in_a_file_is_an_error_of_ours(held: Any) -> None:
    model = MODELS["tree"]().update(X, ["u", "v", "w"] * 10)

    def change(header: dict[str, Any], _: Any) -> None:
        header["model"]["options"]["classes"][0] = held

    with pytest.raises(CheckpointError):
        checkpoint.loads(changed_file(model, change))


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_scikit_learn_takes_times_as_labels(unit: str) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DynamicTreeClassifier

    y = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], f"M8[{unit}]")[PLACES]
    tree = DynamicTreeClassifier(n_particles=10, random_state=1).fit(X, y)
    again = pickle.loads(pickle.dumps(tree)).partial_fit(X, y)
    assert again.predict(X).dtype == y.dtype
    assert (again.predict(X) == y).mean() > 0.9


CUTS: dict[str, list[int]] = {"rows": [*range(30)], "halves": [0, 15], "late": [0, 1]}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["tree", "stream", "average of streams"])
def test_evidence_depends_on_cuts_only_where_labels_are_not_named(
    name: str, cut: str
) -> None:
    """As `classes` of DynamicTree says: the first call tells its labels at once."""
    labels = chosen("text")
    for named in ({}, {"classes": ("u", "", "é")}):
        whole, parts = MODELS[name](**named).update(X, labels), MODELS[name](**named)
        for part in np.split(np.arange(30), CUTS[cut][1:]):
            parts.update(X[part], [labels[k] for k in part])
        first = {*labels[: CUTS[cut][1]]}
        is_same = bool(named) or first == {*labels}
        assert (parts.log_evidence == whole.log_evidence) == is_same
