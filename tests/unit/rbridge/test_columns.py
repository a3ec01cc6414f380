"""Frames of all kinds of columns cross to R and back, or are refused by name."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rbridge
from rbridge.convert import from_r, to_r
from rbridge.wire import NA_INTEGER, RValue
from tests.unit.rbridge.engines import WAYS, need, running

Maker = Callable[[np.random.Generator, int], Any]
N_FRAMES = 200
ZONES = ("Asia/Tokyo", "America/Lima", "Europe/Berlin", "UTC", "Etc/GMT-2")


@pytest.fixture(params=WAYS)
def r(request: pytest.FixtureRequest) -> rbridge.Session:
    return running(request.param)


def through(r: rbridge.Session, value: Any) -> RValue:
    return r.call("base", "identity", {"x": value}).value


def gaps(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n) < rng.choice([0.0, 0.3, 1.0])


def with_none(rng: np.random.Generator, values: list[Any]) -> list[Any]:
    there = ~gaps(rng, len(values))
    return [
        value if is_there else None
        for value, is_there in zip(values, there, strict=True)
    ]


def texts(rng: np.random.Generator, n: int) -> list[str]:
    return [str(item) for item in rng.choice(["a", "é", "", "NA", "a b"], n)]


def times(rng: np.random.Generator, n: int, unit: str) -> np.ndarray:
    ticks = rng.integers(-(10**9), 4 * 10**9, n)
    scale = {"s": 1, "us": 10**6, "ns": 10**9}[unit]
    parts = rng.integers(0, 10**6, n) * (scale // 10**6) if scale > 1 else 0
    found = (ticks * scale + parts).astype(f"datetime64[{unit}]")
    found[gaps(rng, n)] = np.array("NaT", dtype=found.dtype)
    return found


def zoned(rng: np.random.Generator, n: int) -> Any:
    plain = pd.DatetimeIndex(times(rng, n, "us")).tz_localize("UTC")
    return plain.tz_convert(str(rng.choice(ZONES))).array


def durations(rng: np.random.Generator, n: int) -> np.ndarray:
    unit = str(rng.choice(["s", "ms", "us", "ns"]))
    found = rng.integers(-(10**6), 10**6, n).astype(f"timedelta64[{unit}]")
    found[gaps(rng, n)] = np.array("NaT", dtype=found.dtype)
    return found


def doubles(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, 3.0], n)


def categories(rng: np.random.Generator, n: int) -> pd.Categorical:
    codes = np.where(gaps(rng, n), -1, rng.integers(0, 2, n))
    is_ordered = bool(rng.integers(2))
    return pd.Categorical.from_codes(codes, ["q", "p", "unseen"], ordered=is_ordered)


KINDS: dict[str, Maker] = {
    "double": doubles,
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "int": lambda rng, n: rng.integers(-(2**31) + 1, 2**31, n),
    "uint8": lambda rng, n: rng.integers(0, 256, n).astype(np.uint8),
    "Int64": lambda rng, n: pd.array(
        with_none(rng, rng.integers(-9, 9, n).tolist()), dtype="Int64"
    ),
    "bool": lambda rng, n: rng.random(n) < 0.5,
    "boolean": lambda rng, n: pd.array(
        with_none(rng, (rng.random(n) < 0.5).tolist()), dtype="boolean"
    ),
    "text": texts,
    "objects": lambda rng, n: np.array([*with_none(rng, texts(rng, n)), 0], object)[:n],
    "string": lambda rng, n: pd.array(with_none(rng, texts(rng, n)), dtype="string"),
    "levels": categories,
    "seconds": lambda rng, n: times(rng, n, "s"),
    "parts": lambda rng, n: times(rng, n, "us"),
    "zoned": zoned,
    "durations": durations,
}
REFUSED: dict[str, Maker] = {
    "large": lambda rng, n: np.full(n, 2**40),
    "complex": lambda rng, n: np.full(n, 1j),
    "mixed": lambda rng, n: np.array([*([1, "a"] * n)], dtype=object)[:n],
    "periods": lambda rng, n: pd.period_range("2024-01", periods=n, freq="M").array,
    "halves": lambda rng, n: pd.DatetimeIndex(np.zeros(n, "M8[s]")).tz_localize(
        datetime.timezone(datetime.timedelta(minutes=330))
    ),
}


def indexes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        "rows": pd.RangeIndex(n),
        "numbers": pd.Index(rng.permutation(n + 5)[:n] + 2),
        "texts": pd.Index([f"r{k}" for k in rng.permutation(n)], dtype=object),
    }


def frame_of(columns: list[Any], names: list[str], index: Any) -> pd.DataFrame:
    frame = pd.DataFrame(dict(enumerate(columns)), index=range(len(index)))
    frame.columns = pd.Index(names)
    frame.index = index
    return frame


def assert_same_columns(back: pd.DataFrame, frame: pd.DataFrame) -> None:
    assert back.columns.tolist() == frame.columns.tolist()
    for k in range(frame.shape[1]):
        one, other = back.iloc[:, k], frame.iloc[:, k]
        assert one.isna().tolist() == other.isna().tolist()
        assert one.dropna().tolist() == other.dropna().tolist()
        if isinstance(other.dtype, pd.CategoricalDtype):
            assert one.cat.ordered == other.cat.ordered
            assert one.cat.categories.tolist() == other.cat.categories.tolist()
        zone = getattr(other.dtype, "tz", None)
        assert str(getattr(one.dtype, "tz", None)) == str(zone)


def test_random_frames_come_back_or_are_refused_by_name(r: rbridge.Session) -> None:
    rng = np.random.default_rng()
    n_refused = 0
    for _ in range(N_FRAMES):
        n, m = int(rng.integers(0, 6)), int(rng.integers(1, 7))
        kinds = rng.choice([*KINDS], m).tolist()
        columns = [KINDS[kind](rng, n) for kind in kinds]
        names = [str(rng.choice([kind, "twice"], p=[0.8, 0.2])) for kind in kinds]
        choices = indexes(rng, n)
        frame = frame_of(columns, names, choices[str(rng.choice([*choices]))])
        back = from_r(through(r, frame))
        assert_same_columns(back, frame)
        assert back.index.tolist() == frame.index.tolist()
        if not n or rng.random() < 0.7:
            continue
        kind, place = str(rng.choice([*REFUSED])), int(rng.integers(0, m + 1))
        columns.insert(place, REFUSED[kind](rng, n))
        names.insert(place, "bad one")
        if kind == "mixed" and n == 1:
            continue
        with pytest.raises((TypeError, ValueError), match="column 'bad one': "):
            to_r(frame_of(columns, names, frame.index))
        n_refused += 1
    assert n_refused > 0  # but for one time in 1e20


def test_frames_of_polars_and_arrow_arrive_as_those_of_pandas(
    r: rbridge.Session,
) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    rng = np.random.default_rng()
    for _ in range(40):
        n = int(rng.integers(1, 6))
        zone = str(rng.choice(ZONES[:3]))
        levels = pl.Enum(["q", "p", "unseen"])
        columns = {
            "double": pl.Series(doubles(rng, n)),
            "int": pl.Series(
                with_none(rng, rng.integers(-9, 9, n).tolist()), dtype=pl.Int64
            ),
            "bool": pl.Series(
                with_none(rng, (rng.random(n) < 0.5).tolist()), dtype=pl.Boolean
            ),
            "text": pl.Series(with_none(rng, texts(rng, n)), dtype=pl.String),
            "levels": pl.Series(
                with_none(rng, rng.choice(["q", "p"], n).tolist()), dtype=levels
            ),
            "time": pl.Series(times(rng, n, "us")),
            "zoned": pl.Series(times(rng, n, "us"))
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone(zone),
            "duration": pl.Series(durations(rng, n).astype("m8[us]")),
        }
        frame = pl.DataFrame(columns)
        back = from_r(through(r, frame))
        assert back.columns.tolist() == [*columns]
        for name in columns:
            there = [
                item
                for item in frame[name].to_list()
                if item is not None and item == item
            ]
            assert back[name].dropna().tolist() == there, name
            assert back[name].isna().sum() == n - len(there), name
        assert str(back["zoned"].dtype.tz) == zone
        assert back["levels"].cat.categories.tolist() == ["q", "p", "unseen"]
        if rng.random() < 0.3:
            pytest.importorskip("pyarrow")
            arrow = from_r(through(r, frame.drop("levels").to_arrow()))
            assert_same_columns(arrow, back.drop(columns="levels"))
    with pytest.raises(TypeError, match="Collect it first"):
        to_r(frame.lazy())
    with pytest.raises(TypeError, match="column 'parts': R takes"):
        to_r(pl.DataFrame({"parts": [[1], [2, 3]]}))


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["a", "a"]),
        pd.Index([1.5, 2.5]),
        pd.DatetimeIndex(["2024-01-01", "2024-01-02"]),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
        pd.Index(["a", None]),
        pd.Index([True, False]),
    ],
)
def test_an_index_that_cannot_be_row_names_is_refused(index: Any) -> None:
    with pytest.raises(
        ValueError, match=r"index of a frame must be .* got .*reset_ind"
    ):
        to_r(pd.DataFrame({"x": [1, 2]}, index=index))


def test_columns_with_several_names_are_refused() -> None:
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    with pytest.raises(TypeError, match="2 levels of names"):
        to_r(pd.DataFrame(np.ones((1, 2)), columns=columns))


# ------------------------------------------------------------------- from R


def r_vector(kind: str, data: Any, **attributes: Any) -> RValue:
    named = {
        name.replace("_", "."): RValue("character", value)
        for name, value in attributes.items()
    }
    return RValue(kind, data, named)


def some(rng: np.random.Generator, values: np.ndarray, nothing: Any) -> np.ndarray:
    return np.where(gaps(rng, len(values)), nothing, values)


def r_levels(rng: np.random.Generator, n: int) -> RValue:
    codes = some(rng, rng.integers(1, 4, n), NA_INTEGER).astype(np.int32)
    classes = ["ordered", "factor"] if rng.integers(2) else ["factor"]
    levels = ["u", None, "v"] if rng.integers(2) else ["u", "w", "v"]
    attributes = {
        "levels": RValue("character", levels),
        "class": RValue("character", classes),
    }
    return RValue("integer", codes, attributes)


def r_integer64(rng: np.random.Generator, n: int, largest: int = 2**31 - 1) -> RValue:
    bits = some(rng, rng.integers(-largest, largest, n), -(2**63)).astype(np.int64)
    return RValue(
        "double", bits.view(np.float64), {"class": RValue("character", ["integer64"])}
    )


def r_seconds(rng: np.random.Generator, n: int) -> np.ndarray:
    numbers = rng.integers(-(10**9), 10**9, n)
    numbers = numbers + rng.choice([0.0, 0.25]) * rng.integers(0, 3, n)
    return some(rng, numbers, np.nan)


FROM_R: dict[str, Maker] = {
    "double": lambda rng, n: RValue("double", doubles(rng, n)),
    "integer": lambda rng, n: RValue(
        "integer", some(rng, rng.integers(-9, 9, n), NA_INTEGER).astype(np.int32)
    ),
    "logical": lambda rng, n: RValue(
        "logical", some(rng, rng.integers(0, 2, n), NA_INTEGER).astype(np.int32)
    ),
    "character": lambda rng, n: RValue("character", with_none(rng, texts(rng, n))),
    "factor": r_levels,
    "integer64": r_integer64,
    "Date": lambda rng, n: RValue(
        "double",
        some(rng, rng.integers(-9999, 9999, n).astype(float), np.nan),
        {"class": RValue("character", ["Date"])},
    ),
    "POSIXct": lambda rng, n: RValue(
        "double",
        r_seconds(rng, n),
        {
            "class": RValue("character", ["POSIXct", "POSIXt"]),
            "tzone": RValue("character", [str(rng.choice([*ZONES, "", "GMT"]))]),
        },
    ),
    "difftime": lambda rng, n: RValue(
        "double",
        some(rng, rng.integers(-99, 99, n) / 8.0, np.nan),
        {
            "class": RValue("character", ["difftime"]),
            "units": RValue(
                "character",
                [str(rng.choice(["secs", "mins", "hours", "days", "weeks"]))],
            ),
        },
    ),
}
SECONDS = {"secs": 1, "mins": 60, "hours": 3600, "days": 86400, "weeks": 604800}


def meaning(value: RValue) -> list[Any]:
    """What a vector of R says, whatever its storage."""
    classes = value.strings("class")
    if "factor" in classes:
        levels = value.strings("levels")
        return [None if k == NA_INTEGER else levels[k - 1] for k in value.data.tolist()]
    if value.kind == "character":
        return list(value.data)
    numbers: Any = value.data
    if "integer64" in classes:
        bits = numbers.view(np.int64).tolist()
        return [None if k == -(2**63) else k for k in bits]
    unit = (value.strings("units") or ["days" if "Date" in classes else "secs"])[0]
    scale = SECONDS[unit] if classes else 1
    return [
        None if k in (NA_INTEGER,) or k != k else k * scale for k in numbers.tolist()
    ]


def test_random_frames_of_r_come_back_as_they_were(r: rbridge.Session) -> None:
    rng = np.random.default_rng()
    for _ in range(N_FRAMES):
        n, m = int(rng.integers(0, 6)), int(rng.integers(1, 7))
        kinds = rng.choice([*FROM_R], m).tolist()
        names = [str(rng.choice([kind, "twice"], p=[0.8, 0.2])) for kind in kinds]
        columns = [FROM_R[kind](rng, n) for kind in kinds]
        rows: Any = (np.arange(n) + 1).astype(np.int32)
        if rng.random() < 0.5:
            rows = rng.permutation(n + 5)[:n].astype(np.int32) + 2
        sent = RValue("list", columns, {
            "names": RValue("character", names),
            "class": RValue("character", ["data.frame"]),
            "row.names": RValue("integer", rows)})  # fmt: skip
        frame = from_r(through(r, sent))
        back = through(r, frame)
        assert back.strings("names") == names
        assert back.attributes["row.names"].data.tolist() == rows.tolist()
        for column, one in zip(columns, back.data, strict=True):
            assert meaning(one) == meaning(column)
            zone = (column.strings("tzone") or [None])[0]
            if zone in ZONES[:3]:
                assert one.strings("tzone") == [zone]
        for column, (_, series) in zip(columns, frame.items(), strict=True):
            if "difftime" in column.strings("class"):
                told = [None if t is pd.NaT else t.total_seconds() for t in series]
                assert told == pytest.approx(meaning(column))


def test_whole_numbers_of_64_bits_keep_them(r: rbridge.Session) -> None:
    rng = np.random.default_rng()
    sent = r_integer64(rng, 50, 2**62)
    back = from_r(through(r, sent))
    assert [None if item is pd.NA else int(item) for item in back] == meaning(sent)
    need_no_package = RValue("double", np.array([5]).view(np.float64), sent.attributes)
    assert from_r(through(r, need_no_package)) == 5
    if max(abs(item or 0) for item in meaning(sent)) >= 2**31:
        with pytest.raises(ValueError, match="column 'n': whole numbers for R"):
            to_r(pd.DataFrame({"n": back}))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("data.frame(a = 1:2, b = I(matrix(1:4, 2)))", "column 'b': it is a matrix"),
        ("structure(list(t = as.POSIXlt(c('2024-01-01', '2024-01-02'))), names = 't', "
         "class = 'data.frame', row.names = 1:2)", "column 't': R sent .* as POSIXlt"),
        ("as.POSIXlt('2024-01-01')", "as POSIXlt"),
        ("1i", "complex numbers"),
        ("data.frame(z = 1i)", "complex numbers"),
        (".POSIXct(0, tz = 'Mars/Base')", "zone of R's times .* got 'Mars/Base'"),
        ("as.difftime(1.5, units = 'hours') -> d; attr(d, 'units') <- 'moons'; d",
         "difftime must be in one of secs, .* got 'moons'"),
        (".POSIXct(1e300)", "times must be within"),
    ],
)  # fmt: skip
def test_what_python_has_no_counterpart_of_is_refused(
    r: rbridge.Session, code: str, words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        r.evaluate(code)


PACKAGES = {
    "bit64": "bit64::as.integer64(c('9007199254740993', NA, '5'))",
    "data.table": "local({d <- data.table::data.table(a = 1:3, b = c('x', NA, 'z')); "
    "data.table::setkey(d, a); d})",
}


def test_integer64_and_data_table_arrive(r: rbridge.Session, tmp_path: Any) -> None:
    for package in PACKAGES:
        need(tmp_path, package)
    numbers = r.evaluate(PACKAGES["bit64"])
    assert numbers[0] == 2**53 + 1
    assert [item is pd.NA for item in numbers] == [False, True, False]
    table = r.evaluate(PACKAGES["data.table"])
    assert table["a"].tolist() == [1, 2, 3]
    assert table["b"].isna().tolist() == [False, True, False]
    back = from_r(through(r, table))
    assert_same_columns(back, table)


def test_scalars_of_times_cross(r: rbridge.Session) -> None:
    moment = pd.Timestamp("2024-03-01 10:00", tz="Asia/Tokyo")
    for value in (
        moment, pd.Timedelta("36h"), datetime.timedelta(hours=36),
        datetime.datetime(2024, 3, 1, 10, tzinfo=datetime.UTC), np.timedelta64(5, "h"),
    ):  # fmt: skip
        back = from_r(through(r, value))
        assert pd.Series([back])[0] == pd.Series([value])[0]
    with pytest.raises(TypeError, match="R takes durations of weeks"):
        to_r(np.timedelta64(3, "M"))
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # which warns of them
        with pytest.raises(TypeError, match="R takes durations of weeks"):
            to_r(np.timedelta64(3))


def test_all_pairs_of_kinds_stand_beside_one_another(r: rbridge.Session) -> None:
    rng = np.random.default_rng()
    for one, other in itertools.product(KINDS, KINDS):
        frame = frame_of(
            [KINDS[one](rng, 1), KINDS[other](rng, 1)], ["x", "y"], pd.RangeIndex(1)
        )
        assert_same_columns(from_r(through(r, frame)), frame)
