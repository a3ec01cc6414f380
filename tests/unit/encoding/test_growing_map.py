"""GrowingMap: columns and levels that come late, rows that lack them, bad values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.encoding.growing_map import GrowingMap
from tests.unit.models import refused

NAN = np.nan
FIRST = {"size": 2.5, "colour": "red"}


def known(*rows: dict[Any, Any]) -> GrowingMap:
    """The map after these rows."""
    columns = GrowingMap()
    for row in rows:
        columns = columns.grown(row)
    return columns


def encoded(columns: GrowingMap, row: dict[Any, Any]) -> list[float]:
    (values,) = columns.encode(row)
    return values.tolist()


def test_a_column_takes_so_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dyntree.encoding.levels.MOST_LEVELS", 3)
    columns = known(*({"colour": colour, "size": 1} for colour in ("a", "b", "c", "d")))
    assert columns.feature_names == ("colour=a", "size", "colour=c")
    row = {"colour": "d", "size": 1}
    assert not columns.news(row).taken
    assert columns.news(row).beyond == ["colour"]
    for colour in ("b", None):
        assert columns.news({"colour": colour}).beyond == []
    assert encoded(columns, row)[1] == 1.0
    assert np.isnan(encoded(columns, row)[::2]).all()


def test_columns_keep_their_places() -> None:
    green, blue = {"colour": "green"}, {"colour": "blue", "age": 3}
    columns = known(FIRST, green, blue, {"age": 1, "size": 0})
    assert columns.feature_names == ("colour=red", "size", "age", "colour=blue")
    assert columns.n_features == 4
    row = {"colour": "blue", "size": 1, "age": True}
    assert encoded(columns, row) == [0.0, 1.0, 1.0, 1.0]
    assert encoded(columns, row | green) == [0.0, 1.0, 1.0, 0.0]
    assert columns.features().feature_names == columns.feature_names


@pytest.mark.parametrize("nothing", [None, NAN, np.float64("nan")])
def test_what_a_row_lacks_is_missing(nothing: Any) -> None:
    columns = known(FIRST, {"colour": "green"}, {"colour": "blue"})
    row = {"size": nothing, "colour": nothing}
    np.testing.assert_array_equal(columns.encode(row), [[NAN, NAN, NAN]])
    np.testing.assert_array_equal(columns.encode({}), [[NAN, NAN, NAN]])
    assert not columns.news({**row, "later": nothing}).taken
    assert columns.grown({"later": nothing}).feature_names == columns.feature_names


def test_what_is_not_known_is_left_out_or_missing() -> None:
    """A column that came never is left out; a level that came never is missing."""
    columns = known(FIRST)
    row = encoded(columns, {"size": 1.0, "colour": "green", "age": 3})
    np.testing.assert_array_equal(row, [NAN, 1.0])


def test_a_map_without_columns_has_one_that_is_missing() -> None:
    columns = GrowingMap()
    assert columns.n_features == 1
    np.testing.assert_array_equal(columns.encode({"size": 1.0}), [[NAN]])
    wide = columns.grown(FIRST).widen(columns.encode({}))
    np.testing.assert_array_equal(wide, [[NAN, NAN]])


def test_the_order_of_names_does_not_matter() -> None:
    row = {"b": 1.0, "a": "x", 3: 2.0, "3": 4.0}
    turned = dict(reversed(row.items()))
    assert (
        known(row).feature_names
        == known(turned).feature_names
        == ("3", "3", "a=x", "b")
    )
    assert encoded(known(turned), row) == encoded(known(row), turned)


def test_news_are_what_would_change_the_map() -> None:
    columns = known(FIRST)
    for row in ({"age": 1.0}, {"colour": "blue"}, {"size": 1, "shape": "round"}):
        assert columns.news(row).taken
        assert columns.grown(row) != columns
    for row in (FIRST, {}, {"size": 3}, {"colour": "red"}):
        assert not columns.news(row).taken
        assert columns.grown(row) == columns


def test_growing_leaves_the_old_map_alone() -> None:
    columns = known(FIRST)
    columns.grown({"colour": "blue", "age": 3})
    assert columns.feature_names == known(FIRST).feature_names
    assert columns.levels_of == known(FIRST).levels_of


def test_widened_rows_are_what_later_encoding_gives() -> None:
    rows: list[dict[Any, Any]] = [FIRST, {"colour": "blue"}, {"size": 1.0}, {}]
    late = {"age": 3.0, "colour": "green", "shape": "round"}
    narrow = known(*rows)
    wide = narrow.grown(late)
    before = np.concatenate([narrow.encode(row) for row in rows])
    after = np.concatenate([wide.encode(row) for row in rows])
    np.testing.assert_array_equal(wide.widen(before), after)


def test_numbers_in_a_column_of_text_are_levels() -> None:
    columns = known({"code": "7"})
    assert encoded(columns, {"code": 7}) == [1.0]
    assert columns.news({"code": 8}).taken


@pytest.mark.parametrize(
    ("value", "came"),
    [
        ("red", "'red'"),
        ("2.5", "'2.5'"),
        (1j, "1j"),
        (np.inf, "inf"),
        (-2e150, "-2e+150"),
        (10**400, "1000"),
    ],
)
def test_bad_numbers_are_refused(value: Any, came: str) -> None:
    columns = known(FIRST, {"age": 1})
    for rest in ({}, {"age": 2.0}, {"age": NAN}):
        with refused("x", came):
            columns.encode({"size": value, **rest})


def test_large_numbers_that_are_allowed() -> None:
    columns = known({"a": 1, "b": 1})
    assert encoded(columns, {"a": 1e150, "b": -1e150}) == [1e150, -1e150]
    assert encoded(columns, {"a": np.float32(0.5), "b": np.bool_(True)}) == [0.5, 1.0]


def test_a_list_is_no_number_and_no_missing_value() -> None:
    columns = known(FIRST)
    with refused("x", "[1]"):
        columns.encode({"size": [1]})
    for value in ([1], 1j, {"a": 1}):
        with refused("x", repr(value)):
            columns.grown({"later": value})
