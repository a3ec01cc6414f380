"""Values cross to R and back as they are, traps of other bridges included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rbridge
from rbridge.convert import from_r, to_r
from rbridge.wire import dumps, loads
from tests.unit.rbridge.engines import WAYS, running


@pytest.fixture(params=WAYS)
def r(request: pytest.FixtureRequest) -> rbridge.Session:
    return running(request.param)


def there(r: rbridge.Session, value: Any) -> Any:
    """Send a value through R."""
    return from_r(r.call("base", "identity", {"x": value}).value)


BITS = np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, np.pi])


def test_bits_of_doubles_survive(r: rbridge.Session) -> None:
    assert there(r, BITS).tobytes() == BITS.tobytes()


@pytest.mark.parametrize(
    "code",
    ["c(NA, 1)", "c(a = NA, b = 1)", "matrix(c(NA, 1))", "data.frame(x = c(NA, 1))"],
)
def test_arithmetic_with_na_does_not_warn(r: rbridge.Session, code: str) -> None:
    found = np.asarray(r.evaluate(code), dtype=float)
    with np.errstate(invalid="raise"):
        assert (found - 1.0 == 0.0).sum() == 1


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6).reshape(3, 2).T,
        np.arange(24.0).reshape(2, 3, 4),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.array([[1.5]]),
        np.array([], dtype=float),
    ],
)
def test_arrays_come_back(r: rbridge.Session, value: np.ndarray) -> None:
    back = there(r, value)
    assert back.shape == value.shape
    assert back.dtype == value.dtype
    assert np.array_equal(back, value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (3, 3),
        (2.5, 2.5),
        (True, True),
        ("é", "é"),
        ({"a": 1, "b": {"c": None}}, {"a": 1, "b": {"c": None}}),
        ([1, "x", None], [1, "x", None]),
        ((0.95, 2), [0.95, 2.0]),
        (range(1, 4), [1, 2, 3]),
        (["u", "v"], ["u", "v"]),
    ],
)
def test_plain_values_come_back(r: rbridge.Session, value: Any, expected: Any) -> None:
    back = there(r, value)
    assert (back.tolist() if isinstance(back, np.ndarray) else back) == expected


def test_the_first_row_is_the_first_row(r: rbridge.Session) -> None:
    X = np.arange(6.0).reshape(3, 2)
    got = r.call("base", "[", {"x": X, "i": 1, "j": [1, 2]})
    assert from_r(got.value).tolist() == [0.0, 1.0]


FRAME = """data.frame(i = c(1L, NA), l = c(NA, TRUE), d = as.Date("2024-02-29") + 0:1,
  s = c("x", NA), f = factor(c("u", NA)), x = c(NaN, 1), t = .POSIXct(c(0, NA)))"""


def test_missing_values_of_a_frame_arrive_as_missing(r: rbridge.Session) -> None:
    frame = r.evaluate(FRAME)
    assert [type(name) for name in frame.columns] == [str] * 7
    assert str(frame["i"].dtype) == "Int64"
    assert frame["i"][1] is pd.NA
    assert str(frame["l"].dtype) == "boolean"
    assert frame["l"][0] is pd.NA
    assert frame["d"].dtype == "datetime64[s]"
    assert str(frame["d"][0].date()) == "2024-02-29"
    assert frame["s"].isna().tolist() == [False, True]
    assert frame["f"].cat.categories.tolist() == ["u"]
    assert frame["f"].isna().tolist() == [False, True]
    assert frame["t"].isna().tolist() == [False, True]


def test_a_frame_comes_back(r: rbridge.Session) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.5, np.nan],
            "n": [1, 2],
            "i": pd.array([3, None], dtype="Int64"),
            "b": pd.array([None, True], dtype="boolean"),
            "c": pd.Categorical(["q", "p"], categories=["q", "p"]),
            "t": np.array(["2024-01-01T10:00:00", "NaT"], dtype="datetime64[s]"),
            "parts": np.array(
                ["2024-01-01T10:00:00.25", "NaT"], dtype="datetime64[us]"
            ),
            "s": ["u", None],
        }
    )
    back = there(r, frame)
    assert back.columns.tolist() == frame.columns.tolist()
    for name in frame.columns:
        assert back[name].isna().tolist() == frame[name].isna().tolist(), name
        assert back[name].dropna().tolist() == frame[name].dropna().tolist(), name


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]]), "double"),
        (np.array([[1, 2**40, 3], [4, 5, 2**40]]), "integer"),
        (np.array([[True, False, True], [False, True, True]]), "logical"),
        (np.array([["a", "b", "c"], ["d", "e", "f"]]), "character"),
        (np.array([["a", "b", "c"], ["d", "e", "f"]], dtype=object), "character"),
        (np.arange(6).reshape(2, 3).astype("datetime64[D]"), "double"),
    ],
)
def test_masked_values_are_na(r: rbridge.Session, values: Any, kind: str) -> None:
    mask = np.array([[False, True, False], [False, False, True]])
    sent = to_r(np.ma.array(values, mask=mask))
    assert sent.kind == kind
    there = r.call("base", "is.na", {"x": sent}).value
    assert from_r(there).tolist() == mask.tolist()
    whole = to_r(np.ma.array(values[:, :1]))
    assert np.array_equal(whole.data, to_r(values[:, :1]).data)


def test_whole_numbers_beyond_32_bits_are_refused() -> None:
    for number in (2**31, -(2**31), 2**40):
        with pytest.raises(ValueError, match=r"within \+-\(2\*\*31 - 1\); got"):
            to_r([1, number])
    assert to_r(2**31 - 1).data.tolist() == [2**31 - 1]


def test_values_without_a_counterpart_are_refused(r: rbridge.Session) -> None:
    with pytest.raises(TypeError, match="no counterpart of object"):
        to_r(object())
    with pytest.raises(TypeError, match="array of complex128"):
        to_r(np.array([1j]))
    with pytest.raises(TypeError, match="something that is not data"):
        r.evaluate("function(x) x")
    assert r.evaluate("1") == 1


def test_the_format_is_its_own_inverse() -> None:
    value = to_r({"a": BITS, "b": ["x", None], "c": [True, False], "d": [1, {}]})
    again = loads(dumps(value))
    assert dumps(again) == dumps(value)
    with pytest.raises(ValueError, match="must start with"):
        loads(b"RDX2")
    told = bytes(dumps(to_r("caf_"))).replace(b"caf_", b"caf\xe9")
    with pytest.raises(ValueError, match=r"valid UTF-8 .*; got 'caf\\xe9'\. Convert"):
        loads(told)
