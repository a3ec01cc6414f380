"""Rows as users hold them become the same float64 rows, or an error says why not."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, DynamicTree, mixtures
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.growing_map import GrowingMap
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import is_missing
from dyntree.errors import ColumnsByPlaceWarning
from tests.unit.models import frame, refused

VALUES = np.array([[1.0, 2.0, 0.0], [3.0, -4.0, 1.0]])
NAMED, _ = FeatureMap.learn(frame(VALUES, "abc"))
PLAIN, _ = FeatureMap.learn(VALUES)


def dicts(values: Any = VALUES, names: str = "abc") -> list[dict[str, float]]:
    return [dict(zip(names, row, strict=True)) for row in values]


FORMS: dict[str, Any] = {
    "array": VALUES,
    "lists": VALUES.tolist(),
    "ints": VALUES.astype(np.int8),
    "float32": VALUES.astype(np.float32),
    "Fortran": np.asfortranarray(VALUES),
    "strided": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "reversed": VALUES[::-1, ::-1].copy()[::-1, ::-1],
    "frame": frame(VALUES, "abc"),
    "frame, other order": frame(VALUES, "abc")[["c", "a", "b"]],
    "frame, mixed types": frame(VALUES, "abc").astype({"a": "int8", "c": bool}),
    "frame, pandas types": frame(VALUES, "abc").astype({"a": "Int64", "c": "boolean"}),
    "frame, odd index": frame(VALUES, "abc").set_index(pd.Index([7, 7])),
    "dicts": dicts(),
    "dicts, other order": dicts(VALUES[:, ::-1], "cba"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form: str) -> None:
    given = FORMS[form]
    rows = NAMED.encode(given)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert rows.flags.writeable
    assert rows.tobytes() == VALUES.tobytes()
    if isinstance(given, np.ndarray):  # one that needs nothing is taken as it is
        assert np.shares_memory(rows, given) == NAMED.is_plain(given)
    if "other order" not in form:
        assert PLAIN.encode(given).tobytes() == VALUES.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_the_first_rows_fix_width_and_names(form: str) -> None:
    learned, rows = FeatureMap.learn(FORMS[form])
    named = form.startswith(("frame", "dict"))
    assert learned.n_features == 3
    assert (learned.names is not None) == named
    assert sorted(rows.ravel().tolist()) == sorted(VALUES.ravel().tolist())


def test_one_dict_is_one_row() -> None:
    assert NAMED.encode({"b": 2, "c": 0, "a": 1}).tolist() == [[1.0, 2.0, 0.0]]


@pytest.mark.parametrize("many", [[1.0], (1.0, 2.0), np.ones(2), pd.Series([1.0])])
def test_a_dict_of_columns_is_refused(many: Any) -> None:
    known, _ = FeatureMap.learn([{"a": 0.5, "s": "u"}], True)
    known, _ = known.settle(known.codes({"a": 0.5, "s": "u"}))
    for row in ({"a": many, "s": "u"}, {"a": 0.5, "s": many}):
        with pytest.raises(ValueError, match="one value a column"):
            FeatureMap.learn(row, True)
        with pytest.raises(ValueError, match="one value a column"):
            known.encode([{"a": 0.5, "s": "u"}, row])
    assert known.encode({"a": np.array(2.0), "s": "u"}).tolist() == [[2.0, 1.0]]


def test_names_that_are_not_text_become_text() -> None:
    learned, _ = FeatureMap.learn(pd.DataFrame(VALUES))
    assert learned.names == ("0", "1", "2")
    header = learned.to_header()
    assert (header["n_columns"], header["names"]) == (3, ["0", "1", "2"])
    assert PLAIN.to_header()["names"] is None
    for known in (learned, PLAIN):
        assert FeatureMap.from_header(known.to_header()) == known


def test_no_rows_are_fine_to_encode() -> None:
    assert NAMED.encode(VALUES[:0]).shape == (0, 3)
    assert NAMED.encode(frame(VALUES[:0], "abc")).shape == (0, 3)


OBJECTS = [[1, None], [Decimal("2.5"), True], [np.float32(0.5), 10**20]]


def test_objects_that_are_numbers_are_numbers() -> None:
    expected = [[1.0, np.nan], [2.5, 1.0], [0.5, 1e20]]
    given = np.array(OBJECTS, dtype=object)
    for X in (given, OBJECTS, pd.DataFrame(OBJECTS, dtype=object)):
        np.testing.assert_array_equal(FeatureMap.learn(X, True)[1], expected)


def native(X: Any, *more: Any) -> Any:
    return FeatureMap.learn(X, True, *more)


HOLES, _ = native(frame(VALUES, "abc"))
WIDE, NARROW, HUGE = np.ones((2, 4)), VALUES[:, :2], 10**400
TEXT, COLUMN = [[0.5, 1.0], [2.0, "u"]], VALUES[:, 0]
LEVELS = "real numbers or levels in column 'a'"


def column_of(thing: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series([thing, "u", None], dtype=object)})


# Who reads rows, rows, the argument at fault where it is not X, and what came of it.
REFUSED: list[tuple[Any, ...]] = [
    (NAMED.encode, frame(VALUES, "abd"), "missing ['c'], unknown ['d']"),
    (NAMED.encode, frame(WIDE, "abcd"),
     "first update; unknown ['d']. Leave out what is unknown."),
    (NAMED.encode, frame(NARROW, "ab"), "update; missing ['c']. Add what is missing."),
    (HOLES.encode, frame(NARROW, "ab"),
     "Add what is missing, with NaN or None for values"),
    (PLAIN.encode, frame(NARROW, "ab"), "got 2"), (NAMED.encode, WIDE, "got 4"),
    (NAMED.encode, np.ones(3), "(3,)"),
    (NAMED.encode, [{"a": 1.0}], "missing ['b', 'c']"),
    (NAMED.encode, frame(VALUES, "abc").astype({"b": str}), "'b'"),
    (NAMED.encode, frame([[1.0, np.nan, 2.0]], "abc"), "nan in row 0, column 'b'"),
    (NAMED.encode, frame([[1.0, 2.0, 3.0], [1.0, 2.0, np.inf]], "abc"),
     "inf in row 1, column"),
    (NAMED.encode, [*dicts(VALUES[:1]), [1.0, 2.0, 3.0]], "row 1"),
    (NAMED.encode, [{"a": 1.0, "b": None, "c": 3.0}], "nan in row 0, column 'b'"),
    (FeatureMap.learn, np.array(OBJECTS, dtype=object), "nan in row 0, column 1"),
    *[(learn, X, "inf in row 0, column 1")
      for learn in (FeatureMap.learn, native) for size in (HUGE, -HUGE)
      for X in ([[0.5, size]], np.array([[0.5, size]], dtype=object))],
    *[(native, {"a": 0.5, "b": size}, "inf in row 0, column 'b'")
      for size in (HUGE, -HUGE)],
    *[(native, X, "'u' in row 1, column 1")
      for X in (TEXT, tuple(map(tuple, TEXT)), np.array(TEXT, dtype=object))],
    (native, np.array([[1, 1], [np.timedelta64(5, "s"), 1]], dtype=object),
     "timedelta64(5,'s') in row 1, column 0"),
    (FeatureMap.learn, COLUMN, "got shape (2,). Use reshape(-1, 1) for one column"),
    (FeatureMap.learn, pd.Series(COLUMN),
     "got shape (2,). Use to_frame() for one column"),
    *[(native, column_of(thing), LEVELS) for thing in ([1], {"b": 1}, np.ones(2), 1j)],
    *[(lambda X: Design.learn(table_of(X), Expression.column("a"), []),
       column_of(thing), LEVELS, "data") for thing in ([1], {"b": 1}, np.ones(2))],
    *[(lambda X: native(X, (("sight", ("a",)),)), X, "'sight'", "categories")
      for X in ([{"site": "a"}], [[1.0]])],
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_rows_that_do_not_fit_are_refused(case: Any) -> None:
    read, X, came, *name = case
    with refused(*name or ["X"], came):
        read(X)


# ------------------------------------------------------------ levels
def sites(*values: Any) -> list[dict[str, Any]]:
    return [{"site": value} for value in values]


def learned(*batches: Any, **categories: Any) -> tuple[FeatureMap, np.ndarray]:
    """A settled map after some batches, and the features of all their rows."""
    table = tuple(categories.items())
    known, codes = FeatureMap.learn(batches[0], True, table)
    for batch in batches[1:]:
        known, more = known.extend(batch)
        codes = np.concatenate([codes, more])
    return known.settle(codes)


@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3], [2, 3]])
def test_levels_of_rows_before_the_map_is_settled_do_not_depend_on_batches(
    cuts: list[int],
) -> None:
    rows = sites(None, "south", "north", None, "south")
    known, encoded = learned(*[rows[a:b] for a, b in pairwise([0, *cuts, 5])])
    assert known.feature_names == ("site=south",)
    np.testing.assert_array_equal(encoded, [[np.nan], [1], [0], [np.nan], [1]])
    assert FeatureMap.from_header(known.to_header()) == known
    late = known.codes(sites("moon", "north"))
    assert late.ravel().tolist() == [-1.0, 0.0]
    assert known.unseen(late) == ["site"]
    assert known.unseen(known.codes(sites("south", None))) == []
    assert np.isnan(known.encode(sites("moon"))).all()


def test_late_levels_come_last_whatever_the_batches() -> None:
    known, _ = learned(sites("south", None, "north"))
    late = sites("moon", None, "south", "earth", "moon", 3.0, 3)
    steps, rows = known.grown(late)
    assert [row for row, _ in steps] == [0, 3, 5]
    grown = steps[-1][1]
    titles = ["south", "moon", "earth", "3"]  # north is 0 in all of them
    assert grown.feature_names == tuple(f"site={title}" for title in titles)
    assert grown.level_places == {"site": [0, 1, 2, 3]}
    one_by_one = known
    for row in late:
        more, _ = one_by_one.grown([row])
        one_by_one = more[-1][1] if more else one_by_one
    assert one_by_one == grown == FeatureMap.from_header(grown.to_header())
    with pytest.raises(ValueError, match="must fit one another"):
        FeatureMap.from_header(grown.to_header() | {"late": [["site", "south"]]})
    nan = [np.nan] * 4
    expected = [
        [0, 1, 0, 0], nan, [1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]  # fmt: skip
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(grown.encode(late), expected)
    before = known.encode(sites("north", None, "south"))
    np.testing.assert_array_equal(
        grown.widen(before), [[0, 0, 0, 0], nan, [1, 0, 0, 0]]
    )
    assert [features.late for _, features in steps] == [
        grown.late[:1], grown.late[:2], grown.late,
    ]  # fmt: skip
    assert known.grown(sites("north", None))[0] == []


@pytest.mark.parametrize("thing", [[1], 1j, {"b": 1}])
def test_what_is_no_level_does_not_become_one_late(thing: Any) -> None:
    known, _ = learned(sites("south"))
    column = pd.Series([None, thing], dtype=object)
    with pytest.raises(ValueError, match="real numbers or levels in column 'site'"):
        known.grown(pd.DataFrame({"site": column}))


def test_the_first_value_says_what_a_column_is_once_the_map_is_settled() -> None:
    rows = [{"a": None, "b": None, "c": None}]
    known, codes = FeatureMap.learn(rows, True)
    known, _ = known.settle(codes, 1, grows=True)
    assert known.unknown == ("a", "b", "c")
    assert FeatureMap.from_header(known.to_header()) == known
    late = [
        {"a": None, "b": 2.0, "c": None}, {"a": "u", "b": None, "c": None},
        {"a": "v", "b": 1, "c": None}, {"a": "w", "b": 1, "c": None},
    ]  # fmt: skip
    steps, encoded = known.grown(late)
    assert [(row, features.unknown) for row, features in steps] == [
        (0, ("a", "c")), (1, ("c",)), (2, ("c",)), (3, ("c",)),
    ]  # fmt: skip
    assert [features.feature_names for _, features in steps] == [
        ("a", "b", "c"), *[("a=u", "b", "c")] * 2, ("a=u", "b", "c", "a=w"),
    ]  # fmt: skip
    nan = np.nan
    np.testing.assert_array_equal(
        encoded, [[nan, 2, nan, nan], [1, nan, nan, 0], [0, 1, nan, 0], [0, 1, nan, 1]]
    )
    np.testing.assert_array_equal(known.encode(late), [
        [nan, 2, nan], [nan, nan, nan], [nan, 1, nan], [nan, 1, nan],
    ])  # fmt: skip
    assert known.undecided(late) == ["a"]
    with refused("X", "'w' in row 4"):
        known.grown([*late, {"a": "u", "b": "w", "c": None}])
    dates = pd.DataFrame(rows).assign(a=pd.to_datetime(["2024-01-01"]))
    ((row, dated),), encoded = known.grown(dates)
    assert (row, dated.unknown, dated.times) == (0, ("b", "c"), ((0, "local date"),))
    assert encoded[0, 0] == 19723.0
    assert FeatureMap.from_header(dated.to_header()) == dated
    with refused("X", "got 'u' in row 0"):
        dated.grown([{"a": "u", "b": None, "c": None}])


def test_declared_levels_keep_their_order_and_take_no_others() -> None:
    known, encoded = learned(sites(None), sites("b", "z"), site=("b", "a"))
    assert known.feature_names == ("site=a",)
    np.testing.assert_array_equal(encoded, [[np.nan], [0.0], [np.nan]])
    assert known.unseen(known.codes(sites("z"))) == []


@pytest.mark.parametrize(
    "first", [sites(1.5), sites(None, 2), sites(np.nan, np.int64(1)), sites(True)]
)
def test_a_column_of_numbers_takes_no_strings(first: Any) -> None:
    known, _ = FeatureMap.learn(first, allow_missing=True)
    assert known.unknown == known.levels == ()
    for call in (known.extend, known.encode):
        with refused("X", "'north' in row 1"):
            call(sites(3, "north"))
        with refused("categories", "'site'"):
            call(sites("north"))


def test_a_column_without_values_settles_on_numbers() -> None:
    known, encoded = learned(sites(None), sites(np.nan))
    assert np.isnan(encoded).all()
    assert known.encode(sites(2)).tolist() == [[2.0]]
    with refused("categories", "'site'"):
        known.encode(sites("north"))


def test_arrays_cannot_stand_for_columns_of_levels() -> None:
    waiting, _ = FeatureMap.learn(sites(None), allow_missing=True)
    assert waiting.extend([[2.0]])[0].unknown == ()
    known, _ = learned(sites("a"))
    with refused("X", "'site'"):
        known.encode([[1.0]])


@pytest.mark.parametrize(
    "nothing", [None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT", "D")]
)
def test_what_is_missing(nothing: Any) -> None:
    assert is_missing(nothing)


@pytest.mark.parametrize("thing", [0, "", [1], [], {}, np.ones(2), 1j, "nan", ()])
def test_what_is_not_missing(thing: Any) -> None:
    """What cannot be read is no missing value: it has to be refused or told."""
    assert not is_missing(thing)


def test_declared_whole_numbers_stay_levels_beside_a_missing_one() -> None:
    declared = (("a", ("1", "2")),)
    frame = pd.DataFrame({"a": [1, 2]})
    known, codes = FeatureMap.learn(frame, True, declared)
    assert codes.ravel().tolist() == [0.0, 1.0]
    for late in (pd.DataFrame({"a": [2, None]}), [{"a": np.float32(2)}, {"a": None}]):
        codes = known.codes(late).ravel()
        np.testing.assert_array_equal(codes, [1.0, np.nan])
    unknown = known.codes([{"a": 2.5}, {"a": np.inf}, {"a": 3}])
    assert unknown.ravel().tolist() == [-1.0] * 3


def test_levels_without_end_are_refused_unless_named() -> None:
    frame = pd.DataFrame({"id": np.arange(1001).astype(str)})
    known, codes = FeatureMap.learn(frame[:1000], True)
    assert known.settle(codes)[0].n_features == 1000
    known, codes = FeatureMap.learn(frame, True)
    with pytest.raises(ValueError, match="column 'id' must have at most 1000 levels"):
        known.settle(codes)
    named, codes = FeatureMap.learn(frame, True, (("id", tuple(frame["id"])),))
    assert named.settle(codes)[0].n_features == 1001


def test_decimals_and_fractions_are_numbers() -> None:
    values = [Decimal("1.5"), Fraction(1, 4), None]
    column = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    known, codes = FeatureMap.learn(column, True)
    assert known.settle(codes)[0].feature_names == ("a",)
    np.testing.assert_array_equal(codes, [[1.5], [0.25], [np.nan]])
    design = Design.learn(table_of(column), Expression.column("a"), [])
    assert design.kinds == {"a": "number"}
    assert GrowingMap().grown({"a": values[0]}).feature_names == ("a",)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DynamicTree("constant", n_particles=3, seed=1),
        lambda: AveragedStream("constant", n_particles=3, seed=1),
        lambda: mixtures.OnlineDPGMM(lambda_=1.0, seed=1),
    ],
)
def test_names_that_a_model_cannot_use_are_warned_of(make: Any) -> None:
    """It takes columns in their order, whatever their names say."""
    X = np.arange(80.0).reshape(40, 2)
    model = make()
    model.update(X) if isinstance(model, mixtures.OnlineDPGMM) else model.update(
        X, X[:, 0]
    )
    named = pd.DataFrame(X[:3], columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.DataFrame(X[:3]))
    with pytest.warns(ColumnsByPlaceWarning, match=r"named columns, \['b', 'a'\]"):
        model.predict(named[["b", "a"]])
