"""Tables: one set of columns out of every kind of frame, answers back in its kind."""

from __future__ import annotations

import sys
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import mixtures
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import is_row, table_of

DATA = {
    "x": [1.5, 2.5, None],
    "n": [1, 2, None],
    "site": ["v", None, "u"],
    "day": [date(2024, 1, 1), date(2024, 1, 2), None],
    "flag": [True, False, None],
}
KINDS = ["v", "u", "w"]


def pandas(data: Any) -> Any:
    frame = pd.DataFrame(data, index=["p", "q", "r"])
    frame["kind"] = pd.Categorical(["u", None, "v"], categories=KINDS)
    return frame


def pandas_nullable(data: Any) -> Any:
    frame = pandas(data)
    kinds = {"n": "Int64", "x": "Float64", "flag": "boolean", "site": "string"}
    return frame.astype(kinds).assign(day=pd.to_datetime(frame["day"]))


def pandas_zoned(data: Any) -> Any:
    days = pd.to_datetime(pd.Series(data["day"])).dt.tz_localize("UTC")
    return pandas(data).assign(day=days.dt.tz_convert("Asia/Tokyo").to_numpy())


def pandas_arrow(data: Any) -> Any:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = pandas(data).astype({"n": "int64[pyarrow]", "site": "string[pyarrow]"})
    return frame.astype({"x": "float64[pyarrow]", "day": "date32[pyarrow]"})


def polars(data: Any) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip(
        "narwhals", reason="narwhals is not installed: dyntree[formula]"
    )
    return pl.DataFrame(data).with_columns(
        kind=pl.Series(["u", None, "v"], dtype=pl.Enum(KINDS))
    )


def pyarrow(data: Any) -> Any:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip(
        "narwhals", reason="narwhals is not installed: dyntree[formula]"
    )
    return pa.table({**data, "kind": ["u", None, "v"]})


def columns(data: Any) -> Any:
    return {**data, "kind": ["u", None, "v"]}


def dicts(data: Any) -> Any:
    data = columns(data)
    return [
        dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)
    ]


FORMS = [
    pandas, pandas_nullable, pandas_zoned, pandas_arrow, polars, pyarrow, columns,
    dicts,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_frame_is_the_same_table(form: Any) -> None:
    table = table_of(form(DATA))
    assert table.names == (*DATA, "kind")
    assert table.n_rows == 3
    terms = [[Expression.parse(name)] for name in ("x", "n", "site", "day", "flag")]
    design = Design.learn(
        table, Expression.column("x"), [*terms, [Expression.parse("kind")]]
    )
    nan = np.nan
    np.testing.assert_array_equal(
        design.encode(table)[:, :5],
        [
            [1.5, 1, 1, 19723, 1],
            [2.5, 2, nan, 19724, 0],
            [nan, nan, 0, nan, nan],
        ],
    )
    declared = table.read("kind").categories
    assert declared in (tuple(KINDS), None)
    assert list(design.terms[-1][0].coded.labels) == list(declared or "uv")


def test_answers_keep_type_and_index() -> None:
    table = table_of(pandas(DATA))
    answer = table.series(np.array([1.0, 2.0, 3.0]), "y")
    assert answer.to_dict() == {"p": 1.0, "q": 2.0, "r": 3.0}
    assert answer.name == "y"
    assert table.frame({"a": np.arange(3)}).index.tolist() == ["p", "q", "r"]


@pytest.mark.parametrize("form", [polars, pyarrow])
def test_answers_are_of_the_callers_library(form: Any) -> None:
    frame = form(DATA)
    table = table_of(frame)
    series = table.series(np.array([1.0, 2.0, 3.0]), "y")
    assert type(series).__module__.split(".")[0] == form.__name__
    assert (
        series.to_pylist() == [1, 2, 3]
        if form is pyarrow
        else list(series) == [1, 2, 3]
    )
    empty = table.series(np.empty(0), "y")
    assert (len(empty), empty.dtype if form is polars else empty.type) == (
        0, series.dtype if form is polars else series.type,
    )  # fmt: skip
    answer = table.frame({"a": np.array(["u", "v", "w"]), "b": np.arange(3)})
    assert type(answer) is type(frame)
    assert table_of(answer).column("a").tolist() == ["u", "v", "w"]


def test_rows_and_columns_are_told_apart() -> None:
    assert is_row({"x": 1.0, "site": "u", "day": None})
    assert not is_row({"x": [1.0]})
    assert not is_row({"x": np.ones(2)})
    assert not is_row([{"x": 1.0}])
    assert table_of({"x": 1.0, "site": "u"}).column("site").tolist() == ["u"]
    assert table_of({"x": np.float64(1.0), "z": np.array(2.0)}).n_rows == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": [1.0], "z": [1.0, 2.0]}, "columns of one length; got {'x': 1, 'z': 2}"),
        ([{"x": 1}, {"z": 1}], r"same keys; row 1 differs from row 0, \['x'\]"),
        ([{"x": 1}, 3], "row 1 differs"),
        (np.ones((2, 2)), "data must be a frame, .* got numpy.ndarray"),
        ([], "got builtins.list"), (None, "builtins.NoneType"),
        ("x", "got 'x'. Make it one"), ("y ~ x", "A formula is passed before the data"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "distinct column names"),
    ],
)  # fmt: skip
def test_other_data_are_refused(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        table_of(data)


def test_lazy_frames_are_to_be_collected() -> None:
    with pytest.raises(ValueError, match=r"Collect it first: data\.collect\(\)"):
        table_of(polars(DATA).lazy())


class LikeDask:
    """A frame as dask's: it has columns and a length, and computes when it is asked."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.dask = frame, {"a": "graph"}

    columns = property(lambda self: self.frame.columns)
    iloc = property(lambda self: self.frame.iloc)
    index = property(lambda self: self.frame.index)
    shape = property(lambda self: self.frame.shape)

    def __len__(self) -> int:
        return len(self.frame)

    def compute(self) -> pd.DataFrame:
        return self.frame


NUMBERS = pd.DataFrame({"x": np.arange(30.0), "z": np.arange(30.0) ** 2 % 7})
LAZY: dict[str, tuple[Any, str]] = {
    "polars": (lambda: polars_of(NUMBERS).lazy(), "collect"),
    "dask": (lambda: LikeDask(NUMBERS), "compute"),
}


def polars_of(frame: pd.DataFrame) -> Any:
    library = pytest.importorskip("polars", reason="polars is not installed")
    return library.DataFrame({name: frame[name].to_numpy() for name in frame})


def doors() -> dict[str, Any]:
    """Every call that takes a table of some model."""
    for package in ("formulaic", "river", "sklearn"):
        pytest.importorskip(package)
    import dyntree.formula.api as dtf
    from dyntree.api import adapters, estimators

    y, small = NUMBERS["x"], {"n_particles": 5, "seed": 1}
    tree = dyntree.DynamicTree(**small).update(NUMBERS, y)
    fit = dtf.dynamic_tree("x ~ z", NUMBERS, **small).fit()
    river = adapters.RiverDynamicTreeRegressor(n_particles=5)
    found = {
        "update": dyntree.DynamicTree(**small).update, "stream":
        dyntree.StreamingTree(window=20, **small).update,
        "forest": dyntree.RandomTreesStream("constant").update,
        "clouds": dyntree.AveragedTrees(n_clouds=2, **small).update,
        "preview": tree.preview, "later": tree.update, "river": river.learn_many,
        "estimator": estimators.DynamicTreeRegressor(n_particles=5).fit,
        "random trees": estimators.RandomTreesRegressor(n_trees=3).fit,
    }  # fmt: skip
    with_y = {name: lambda X, call=call: call(X, y) for name, call in found.items()}
    return with_y | {
        "predict": tree.predict, "acquisition": lambda X: tree.acquisition(X, "alc"),
        "formula": lambda X: dtf.dynamic_tree("x ~ z", X), "append": fit.append,
        "asked": fit.predict, "effects": lambda X: fit.avg_predictions(X),
        "endog": lambda X: dyntree.formula.api.DynamicTreeModel(y, X),
        "responses": lambda X: dyntree.DynamicTree(**small).update(NUMBERS, X),
        "labels": lambda X: dyntree.RandomTreesStream("class").update(NUMBERS, X),
        "rows of river": river.predict_many,
        "clusters": mixtures.OnlineDPGMM(lambda_=5.0).update,
        "phase": mixtures.DependentDPMixture(mixtures.GaussianUnknown()).update,
        "canopy": mixtures.Canopy(2).fit,
        "words": mixtures.MemoryBoundedHDP("multinomial").fit,
        "documents": lambda X: mixtures.MemoryBoundedHDP().fit(X, groups="z"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", LAZY)
def test_every_door_says_how_to_compute_a_lazy_frame(kind: str) -> None:
    make, way = LAZY[kind]
    for name, call in doors().items():
        with pytest.raises(ValueError, match=rf"it first: \w+\.{way}\(\)\.") as caught:
            call(make())
        assert "not a lazy one" in str(caught.value), name


def test_without_narwhals_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = polars(DATA)
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(
        ImportError, match=r"polars.DataFrame needs narwhals .*\[formula\]"
    ):
        table_of(frame)
    with pytest.raises(ImportError, match=r"Series of polars.* needs narwhals .*\[for"):
        column_of(frame["x"])
    assert table_of(pandas(DATA)).n_rows == 3
