"""Designs: kinds and levels are those of the first table, and rows follow them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.tables import table_of
from dyntree.errors import UndefinedTermWarning, UnseenLevelWarning

DATA = {
    "x": [1.0, 2.0, None, 4.0],
    "z": [1, 2, 3, 4],
    "site": ["v", "u", None, "u"],
    "code": [3, 1, 3, 1],
    "day": [
        datetime(2024, 1, 1, 12), datetime(2024, 1, 2), None, datetime(1969, 12, 31),
    ],
    "gap": np.array([1, 2, 3, 4], dtype="m8[D]"),
    "y": [0.5, 1.5, 2.5, 3.5],
}  # fmt: skip
TERMS = [
    "x", "site", "C(code)", "day", "gap", "np.log(z)", "x:site", "site:C(code)", "z:x",
    "I(z ** 2 / x)", "np.sqrt(gap):site",
]  # fmt: skip


def design(terms: list[str] = TERMS, data: Any = DATA, **options: Any) -> Design:
    """A design of terms as text, by a column y of numbers."""
    factors = [[Expression.parse(text) for text in term.split(":")] for term in terms]
    return Design.learn(table_of(data), Expression.column("y"), factors, **options)


def rows_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)
    ]


def test_columns_become_numbers_days_and_levels() -> None:
    made = design(["x", "site", "C(code)", "day", "gap"])
    assert made.names == (
        "x", "site[v]", "C(code)[3]", "day", "gap",
    )  # fmt: skip
    nan = np.nan
    np.testing.assert_array_equal(
        made.encode(table_of(DATA)),
        [
            [1, 1, 1, 19723.5, 1], [2, 0, 0, 19724, 2],
            [nan, nan, 1, nan, 3], [4, 0, 0, -1, 4],
        ],
    )  # fmt: skip
    assert made.units == {"day": "days since 1970-01-01 UTC", "gap": "days"}


def test_terms_are_products() -> None:
    made = design(["x:site", "site:C(code)", "z:x"])
    assert made.names == (
        "x:site[u]", "x:site[v]", "site[u]:C(code)[1]", "site[u]:C(code)[3]",
        "site[v]:C(code)[1]", "site[v]:C(code)[3]", "z:x",
    )  # fmt: skip
    rows = made.encode(table_of(DATA))
    np.testing.assert_array_equal(rows[0], [0, 1, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(rows[1], [2, 0, 1, 0, 0, 0, 4])
    assert np.isnan(rows[2]).all()
    margins = design(["x", "C(site)", "x:site", "site:C(code)", "C(code)"])
    assert margins.names == (
        "x", "C(site)[v]", "x:site[v]", "site[v]:C(code)[3]", "C(code)[3]",
    )  # fmt: skip


def test_a_bare_row_is_encoded_bit_for_bit_as_in_a_table() -> None:
    rng = np.random.default_rng(3)
    data = DATA | {
        "x": rng.normal(size=4), "z": rng.random(4), "gap": rng.random(4) * 1e9,
    }  # fmt: skip
    terms = [*TERMS, "I(x ** 2)", "I(x ** 3)", "np.exp(x):np.sin(x)", "I(x ** z)"]
    data["x"] = np.abs(data["x"])
    made = design(terms, data)
    expected = made.encode(table_of(data))
    for k, row in enumerate(rows_of(data)):
        assert made.encode_row(row).tobytes() == expected[k : k + 1].tobytes()
        assert made.response_of(row) == made.responses(table_of(data))[k]


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("day", [date(2024, 1, 2), np.datetime64("2024-01-02T00:00:00.000000001"),
                 datetime(2024, 1, 2)]),
        ("gap", [timedelta(days=2), np.timedelta64(48, "h")]),
        ("z", [2.0, np.int8(2), np.float32(2.0)]),
        ("code", [1.0, np.int64(1), True]),
        ("x", [None, np.nan, float("nan")]),
        ("site", [None, np.nan, float("nan")]),
    ],
)  # fmt: skip
def test_forms_of_a_value_are_one_value(name: str, forms: list[Any]) -> None:
    row = {key: values[1] for key, values in DATA.items()}
    made = design()
    first = made.encode_row(row | {name: forms[0]})
    for form in forms:
        changed = row | {name: form}
        assert made.encode_row(changed).tobytes() == first.tobytes()
        assert made.encode(table_of(changed)).tobytes() == first.tobytes()


def test_a_file_holds_the_whole_design() -> None:
    made = design()
    again = Design.from_header(json.loads(json.dumps(made.to_header())))
    assert again == made
    assert again.encode(table_of(DATA)).tobytes() == (
        made.encode(table_of(DATA)).tobytes()
    )


@pytest.mark.parametrize(
    ("change", "rule", "came"),
    [
        ({"x": "much"}, "must hold numbers in column 'x'", "'much'"),
        ({"x": date(2024, 1, 1)}, "must hold numbers in column 'x'", "date"),
        ({"day": 3.0}, "must hold dates in column 'day'", "3.0"),
        ({"day": datetime(2024, 1, 2, tzinfo=UTC)},
         "must hold dates without a zone in column 'day'", "tzinfo"),
        ({"site": b"u"}, "real numbers or levels in column 'site'", "b'u'"),
        ({"site": date(2024, 1, 2)}, "text or numbers in column 'site'", "date"),
        ({"gap": 3.0}, "must hold durations in column 'gap'", "3.0"),
        ({"x": 1e200}, "a finite value of at most 1e+150", "1e+200"),
        ({"x": float("inf")}, "a finite value", "inf"),
        ({"x": 10**400}, "must hold numbers", "1000"),
    ],
)  # fmt: skip
def test_bad_values_are_named(change: dict[str, Any], rule: str, came: str) -> None:
    row = {key: values[1] for key, values in DATA.items()} | change
    made = design()
    for encode in (made.encode_row, lambda row: made.encode(table_of(row))):
        with pytest.raises(ValueError, match="data must") as caught:
            encode(row)
        assert rule in str(caught.value)
        assert came in str(caught.value)


@pytest.mark.parametrize(
    ("change", "term", "came"),
    [
        ({"z": -1.0}, "np.log(z)", "nan in row 0, where {'z': -1.0}"),
        ({"z": 0}, "np.log(z)", "-inf in row 0"),
        ({"x": 1e149, "z": 1e10}, "z:x", "1e+159 in row 0"),
        ({"x": 0.0}, "I(z ** 2 / x)", "inf in row 0"),
    ],
)
def test_terms_without_a_finite_value_are_told_and_missing(
    change: dict[str, Any], term: str, came: str
) -> None:
    row = {key: values[1] for key, values in DATA.items()} | change
    made = design(list(dict.fromkeys(["x", "z", term])))
    for encode in (made.encode_row, lambda row: made.encode(table_of(row))):
        with pytest.warns(UndefinedTermWarning, match="counts as missing") as caught:
            rows = encode(row)
        assert np.isnan(rows).tolist() == [[False, False, True]]
        assert f"{term} a finite value" in str(caught[0].message)
        assert came in str(caught[0].message)


def test_a_warning_names_the_rows() -> None:
    data = {"x": np.r_[1.0, np.nan, np.zeros(14), 2.0], "y": np.ones(17)}
    with pytest.warns(UndefinedTermWarning, match=r"in rows 2, .* 11 and 4 more\."):
        rows = design(["np.log(x)"], data).encode(table_of(data))
    assert np.flatnonzero(~np.isnan(rows)).tolist() == [0, 16]


def test_absent_columns_are_named() -> None:
    made = design()
    for encode in (made.encode_row, lambda row: made.encode(table_of(row))):
        with pytest.raises(ValueError, match="must have the columns") as caught:
            encode({"x": 1.0, "code": 3})
        assert "'site', 'day', 'gap', 'z'] are absent" in str(caught.value)
    with pytest.raises(ValueError, match=r"\['y'\] are absent from \['x'\]"):
        made.response_of({"x": 1.0})
    with pytest.raises(ValueError, match=r"\['w'\] are absent"):
        design(["w"])


def test_new_levels_are_missing_with_a_warning_once_or_refused() -> None:
    row = {key: values[1] for key, values in DATA.items()} | {"site": "w", "code": 9}
    made = design(["site", "C(code)"])
    with pytest.warns(UnseenLevelWarning) as told:
        rows = [made.encode_row(row), made.encode_row(row), made.encode(table_of(row))]
    texts = [str(one.message) for one in told]
    assert ["'w' in column 'site'" in text for text in texts] == [True, False]
    assert ["9 in column 'code'" in text for text in texts] == [False, True]
    for found in rows:
        assert np.isnan(found).all()
    strict = design(["site"], new_levels="error")
    with pytest.raises(ValueError, match=r"among \['u', 'v'\].*got 'w' in row 0"):
        strict.encode_row(row)
    named = design(["site"], categories={"site": ["w", "u"]}, new_levels="error")
    assert named.encode_row(row).tolist() == [[0.0]]


def test_late_levels_bring_a_feature_a_term_after_all_others() -> None:
    made = design(["C(site)", "x", "site:x", "site:C(code)", "site:z"])
    late = [
        {"x": 2.0, "z": 1, "site": "v", "code": 1},
        {"x": 3.0, "z": 0, "site": "w", "code": 3},
        {"x": None, "z": 2, "site": None, "code": 2},
        {"x": 5.0, "z": 3, "site": "w", "code": 1},
    ]
    designs = made.grown(table_of(late))
    assert [row for row, _ in designs] == [1, 2]
    wide = designs[-1][1]
    assert wide.names == (
        *made.names, "C(site)[w]", "site[w]:x", "site[w]:C(code)[3]", "site[w]:z",
        "site[u]:C(code)[2]", "site[v]:C(code)[2]", "site[w]:C(code)[2]",
    )  # fmt: skip
    rows = wide.encode(table_of(late))
    nan = np.nan
    np.testing.assert_array_equal(
        rows[:, len(made.names) :],
        [[0] * 7, [1, 3, 1, 0, 0, 0, 0], [nan] * 7, [1, 5, 0, 3, 0, 0, 0]],
    )  # fmt: skip
    np.testing.assert_array_equal(
        rows[0, : len(made.names)], made.encode_row(late[0])[0]
    )
    for row, expected in zip(late, rows, strict=True):
        np.testing.assert_array_equal(wide.encode_row(row)[0], expected)
    old = table_of(DATA)
    np.testing.assert_array_equal(wide.widen(made.encode(old)), wide.encode(old))
    assert Design.from_header(json.loads(json.dumps(wide.to_header()))) == wide
    assert wide.factors == {"C(site)": ["C(site)[v]", "C(site)[w]"]}
    assert [made.brings(row) for row in late] == [False, True, True, True]
    assert not any(wide.brings(row) for row in late)


def test_levels_come_late_only_where_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"x": 3.0, "site": "w", "code": 9}
    for options in ({"categories": {"site": ["u"]}}, {"new_levels": "missing"}):
        made = design(["site", "x"], **options)
        assert made.grown(table_of(row)) == []
        assert not made.brings(row)
    monkeypatch.setattr("dyntree.encoding.levels.MOST_LEVELS", 3)
    made = design(["site", "C(code)"])
    (_, _), (_, wide) = made.grown(table_of([row, row | {"site": "s"}]))
    assert wide.names[-2:] == ("site[w]", "C(code)[9]")
    assert not wide.brings(row | {"site": "s"})


def test_lists_of_levels_are_of_the_columns() -> None:
    header = design(["site"]).to_header()
    for change in ({"late": ["x"]}, {"declared": ["nowhere"]}):
        with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
            Design.from_header(header | change)


@pytest.mark.parametrize(
    ("terms", "options", "message"),
    [
        (["x"], {"new_levels": "drop"}, "new_levels must be one of"),
        (["x"], {"categories": {"site": ["u"]}}, "categories must name columns of"),
        (["site"], {"categories": {"site": "uv"}}, "a sequence of levels"),
        (["np.log(site)"], {}, "numbers or dates in functions"),
        (["x", "I(x)", "x"], {}, "distinct names"),
    ],
)
def test_bad_designs_are_refused(
    terms: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        design(terms, **options)


def test_a_column_of_levels_must_have_one() -> None:
    with pytest.raises(ValueError, match="must have a value in column 'site'"):
        design(["C(site)"], DATA | {"site": [None] * 4})


@pytest.mark.parametrize(
    "change",
    [
        {"terms": []}, {"terms": [[]]}, {"kinds": {}}, {"kinds": {"x": "text"}},
        {"kinds": {"x": "number", "y": "number", "w": "number"}}, {"is_class": 1},
        {"new_levels": None}, {"response": None},
    ],
)  # fmt: skip
def test_a_broken_header_is_refused(change: dict[str, Any]) -> None:
    header = design(["x", "site"]).to_header()
    Design.from_header(header)
    with pytest.raises((ValueError, LookupError, TypeError)):
        Design.from_header(header | change)


@pytest.mark.parametrize("levels", [[], ["u", "u"], [None], [["u"]], [float("nan")], 3])
def test_broken_levels_are_refused(levels: Any) -> None:
    header = design(["site"]).to_header()
    header["terms"][0][0]["levels"] = levels
    with pytest.raises((ValueError, TypeError)):
        Design.from_header(header)
