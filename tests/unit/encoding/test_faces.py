"""One door for tables and one reading of values, in every face that takes rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.encoding.columns import days_of
from tests.helpers import mostly_slow, one_quick_in
from tests.unit.faces import FACES, MIXTURES, TREES, Ask, without

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
N = 40
NUMBERS = ["a", "b", "c"]


def rows(with_levels: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a time with a zone, a duration; and text and categories where asked."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((N, 3)), columns=NUMBERS)
    X["when"] = pd.date_range("2024-01-01", periods=N, freq="17h", tz="Asia/Tokyo")
    X["gap"] = pd.to_timedelta(rng.integers(0, 500, N), unit="h")
    if with_levels:
        X["site"] = rng.choice(["u", "v"], N)
        X["kind"] = pd.Categorical(rng.choice(["r", "s", "t"], N))
    y = 5.0 * X["a"] + X["gap"].dt.days / 10.0 + rng.normal(0.0, 0.1, N)
    return X, y.to_numpy()


# ---------------------------------------------------------------- tables
def polars(frame: pd.DataFrame) -> Any:
    import polars as pl

    categories = {
        name: pl.Enum([*frame[name].cat.categories])
        for name in frame.select_dtypes("category")
    }
    return pl.from_pandas(frame).cast(categories)  # a Categorical names no levels


def pyarrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame)


def batch(frame: pd.DataFrame) -> Any:
    return pyarrow(frame).to_batches()[0]


def arrow_in_pandas(frame: pd.DataFrame) -> Any:
    return frame.convert_dtypes(dtype_backend="pyarrow")


def turned(X: Any) -> Any:
    """The same table with its columns the other way round."""
    if hasattr(X, "iloc"):
        return X[X.columns[::-1]]
    return X.select([*getattr(X, "column_names", X.columns)][::-1])


@cache
def learned_response(name: str) -> Ask:
    """A face that has learned the frame of pandas."""
    return FACES[name](*rows(name in TREES))


def is_estimator(name: str) -> bool:
    """Whether a face is scikit-learn's, which wants the order of the fit, too."""
    return any(word in name for word in ("gressor", "classifier", "clusterer")) and (
        "river" not in name
    )


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(polars, marks=without("polars", "pyarrow", "narwhals")),
        pytest.param(pyarrow, marks=without("pyarrow", "narwhals")),
        pytest.param(batch, marks=without("pyarrow", "narwhals")),
        pytest.param(arrow_in_pandas, marks=without("pyarrow")),
    ],
)
@pytest.mark.parametrize("name", FACES)
def test_a_table_of_any_library_is_the_same_table(
    name: str, form: Callable[[pd.DataFrame], Any]
) -> None:
    X, y = rows(name in TREES)
    ask, given = learned_response(name), form(X)
    expected = ask(X)
    other = FACES[name](given, y)
    np.testing.assert_array_equal(other(given), expected)
    if not is_estimator(name):
        np.testing.assert_array_equal(other(turned(given)), expected)
        np.testing.assert_array_equal(ask(turned(given)), expected)
        return
    with pytest.raises(ValueError, match="same order"):
        other(turned(given))


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(polars, marks=without("polars", "pyarrow", "narwhals")),
        pytest.param(pyarrow, marks=without("pyarrow", "narwhals")),
    ],
)
@pytest.mark.parametrize(
    "name", [n for n in FACES if n in MIXTURES or "river" not in n]
)  # the trees of river take any columns
def test_renamed_columns_are_told_in_a_table_of_any_library(
    name: str, form: Callable[[pd.DataFrame], Any]
) -> None:
    X, y = rows(name in TREES)
    ask = FACES[name](form(X), y)
    with pytest.raises(ValueError, match="renamed"):
        ask(form(X.rename(columns={"b": "renamed"})))


# ---------------------------------------------------------------- times
BEGIN = datetime(2024, 1, 1, 6)
TOKYO = timezone(timedelta(hours=9))
STEPS = [timedelta(hours=7 * k) for k in range(N)]
SINCE = BEGIN - datetime(1970, 1, 1)
DAYS = np.array([(SINCE + step) / timedelta(1) for step in STEPS])
GAPS = np.array([step / timedelta(1) for step in STEPS])
HOURS = np.array([(6 + 7 * k) % 24 / 24.0 for k in range(N)])


def stamps(unit: str) -> Any:
    begin = np.datetime64(BEGIN)
    return np.array([begin + np.timedelta64(step) for step in STEPS], f"M8[{unit}]")


def objects(values: list[Any]) -> Any:
    return pd.Series(values, dtype=object)


LOCAL = [BEGIN + step for step in STEPS]
ZONED = [when.replace(tzinfo=UTC) for when in LOCAL]
MIDNIGHTS = [when.date() for when in LOCAL]
TIMES: dict[str, tuple[Any, np.ndarray]] = {
    **{f"M8[{unit}]": (stamps(unit), DAYS) for unit in ("h", "s", "ms", "us", "ns")},
    "datetime": (objects(LOCAL), DAYS),
    "datetime with a zone": (objects([w.astimezone(TOKYO) for w in ZONED]), DAYS),
    "Timestamp": (objects([pd.Timestamp(when) for when in LOCAL]), DAYS),
    "Timestamp with a zone": (objects([pd.Timestamp(w) for w in ZONED]), DAYS),
    "series with a zone": (pd.Series(pd.to_datetime(ZONED)).dt.tz_convert(TOKYO), DAYS),
    "date": (objects(MIDNIGHTS), np.floor(DAYS)),
    "M8[D]": (np.array(MIDNIGHTS, "M8[D]"), np.floor(DAYS)),
    "period": (pd.Series(pd.PeriodIndex(LOCAL, freq="h")), DAYS),
    "periods as objects": (objects([pd.Period(w, freq="h") for w in LOCAL]), DAYS),
    "m8[h]": (np.array(STEPS, "m8[h]"), GAPS),
    "m8[ns]": (np.array(STEPS, "m8[ns]"), GAPS),
    "timedelta": (objects(STEPS), GAPS),
    "Timedelta": (objects([pd.Timedelta(step) for step in STEPS]), GAPS),
    "time": (objects([when.time() for when in LOCAL]), HOURS),
    "with gaps": (objects([None, *LOCAL[1:]]), np.array([np.nan, *DAYS[1:]])),
}


def dated(values: Any, name: str = "t") -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.random(N)})
    X[name] = values
    return X, 3.0 * X["a"].to_numpy() + np.sin(GAPS) + rng.normal(0.0, 0.1, N)


@cache
def told_of(name: str, days: bytes) -> np.ndarray:
    """What a face answers that was given days as numbers."""
    X, y = dated(np.frombuffer(days))
    return FACES[name](X, y)(X)


@pytest.mark.parametrize(
    ("name", "kind"),
    one_quick_in(  # 7 divides neither number of kinds: each is tried in some faces
        7, [(n, k) for n in FACES for k in TIMES if n in TREES or k != "with gaps"]
    ),
)
def test_times_of_every_kind_are_days(name: str, kind: str) -> None:
    """Learned and asked, they give what numbers of days give, bit for bit."""
    values, days = TIMES[kind]
    X, y = dated(values)
    expected = told_of(name, days.tobytes())
    np.testing.assert_array_equal(FACES[name](X, y)(X), expected)


def arrow(kind: str) -> Any:
    import pyarrow as pa

    return {
        "timestamp": lambda: pa.array(LOCAL, pa.timestamp("ns")),
        "zoned": lambda: pa.array(ZONED, pa.timestamp("us", "Asia/Tokyo")),
        "date32": lambda: pa.array(MIDNIGHTS, pa.date32()),
        "date64": lambda: pa.array(MIDNIGHTS, pa.date64()),
        "duration": lambda: pa.array(STEPS, pa.duration("s")),
        "time": lambda: pa.array([when.time() for when in LOCAL], pa.time64("us")),
    }[kind]()


ARROW = {
    "timestamp": DAYS, "zoned": DAYS, "date32": np.floor(DAYS),
    "date64": np.floor(DAYS), "duration": GAPS, "time": HOURS,
}  # fmt: skip


@without("pyarrow", "narwhals", "polars")
@pytest.mark.parametrize("library", mostly_slow(["pyarrow", "polars", "pandas"]))
@pytest.mark.parametrize("kind", ARROW)
@pytest.mark.parametrize("name", FACES)
def test_times_of_arrow_and_polars_are_days(name: str, kind: str, library: str) -> None:
    import polars as pl
    import pyarrow as pa

    plain, y = dated(ARROW[kind])
    table = pa.table({"a": plain["a"].to_numpy(), "t": arrow(kind)})
    given: Any = table
    if library == "polars":
        given = pl.from_arrow(table)
    elif library == "pandas":
        given = table.to_pandas(types_mapper=pd.ArrowDtype)
    expected = told_of(name, ARROW[kind].tobytes())
    np.testing.assert_array_equal(FACES[name](given, y)(given), expected)


@pytest.mark.parametrize("first", ["local", "zoned"])
@pytest.mark.parametrize("name", FACES)
def test_a_column_has_times_with_a_zone_or_without(name: str, first: str) -> None:
    kinds = {"local": LOCAL, "zoned": ZONED}
    (known, y), (other, _) = (
        dated(kinds[first]),
        dated(kinds["local" if first == "zoned" else "zoned"]),
    )
    ask = FACES[name](known, y)
    with pytest.raises(ValueError, match=r"zone.*column 't'"):
        ask(other)
    mixed, _ = dated(objects([*kinds[first][:-1], other["t"].iloc[-1]]))
    with pytest.raises(ValueError, match=r"zone.*column 't'") as caught:
        FACES[name](mixed, y)
    assert f"row {N - 1}" in str(caught.value)


@pytest.mark.parametrize("name", FACES)
def test_times_numbers_and_durations_do_not_stand_for_one_another(name: str) -> None:
    kinds = {"dates": LOCAL, "durations": STEPS, "numbers": GAPS}
    for known, values in kinds.items():
        X, y = dated(values)
        ask = FACES[name](X, y)
        for other, given in kinds.items():
            if other != known:
                with pytest.raises(ValueError, match=rf"{known} in column 't'"):
                    ask(dated(given)[0])


@pytest.mark.parametrize(
    "name", [n for n in FACES if "river" not in n and n != "hdp"]
)  # which take named rows, or documents
def test_an_array_of_times_is_one_of_days(name: str) -> None:
    times = np.column_stack([stamps("s"), stamps("s")[::-1]])
    days, (_, y) = np.column_stack([DAYS, DAYS[::-1]]), dated(DAYS)
    expected = FACES[name](days, y)(days)
    ask = FACES[name](times, y)
    np.testing.assert_array_equal(ask(times), expected)
    with pytest.raises(ValueError, match="dates"):
        ask(days)
    with pytest.raises(ValueError, match="numbers"):
        FACES[name](days, y)(times)


@pytest.mark.parametrize("unit", ["Y", "D", "s", "us"])
def test_times_beyond_the_range_of_microseconds_do_not_wrap(unit: str) -> None:
    far = np.datetime64(10_000 if unit == "us" else 400_000, "Y")
    when = np.datetime64(int(far.astype(int)) - 1970, "Y").astype(f"M8[{unit}]")
    expected = float(when.astype("M8[D]").astype(np.int64))
    ask = TREES["tree"](*dated(np.full(N, when)))
    assert np.isfinite(ask(dated(np.full(N, when))[0])).all()
    assert days_of(when) == expected


# ---------------------------------------------------------------- what is no value
class Thing:
    """An object that is neither a number, text nor a time."""


NOTHING: dict[str, Any] = {
    "bytes": b"u", "a tuple": (1, 2), "a list": [1, 2], "an object": Thing(),
    "an interval": pd.Interval(0, 1), "a complex number": 1j, "a set": frozenset({1}),
    "a class": Thing,
}  # fmt: skip
if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # from there on NumPy warns of them
    NOTHING["a duration of no unit"] = np.timedelta64(5)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        (n, first)
        for n in FACES
        for first in ("numbers", "text", "times")
        if n in TREES or first != "text"  # which mixtures do not take
    ],
)
def test_what_is_no_value_is_a_type_error(name: str, first: str) -> None:
    """It names the column and the row, whether it is learned or asked."""
    kinds = {"numbers": GAPS, "text": ["u", "v"] * (N // 2), "times": LOCAL}
    X, y = dated(objects(list(kinds[first])))
    ask = FACES[name](X, y)
    for value in NOTHING.values():
        bad = X.copy()
        bad.at[7, "t"] = value
        for call in (partial(FACES[name], bad, y), partial(ask, bad)):
            with pytest.raises(TypeError, match="column 't'") as caught:
                call()
            assert isinstance(caught.value, ValueError)  # as it was
            assert "row 7" in str(caught.value)


@pytest.mark.parametrize("what", NOTHING)
def test_a_row_of_river_refuses_what_is_no_value(what: str) -> None:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    for first in (None, 1.5, "u", BEGIN):
        model = RiverDynamicTreeRegressor(n_particles=10, seed=1)
        if first is not None:
            model.learn_one({"a": 1.0, "t": first}, 1.0)
        for call in (
            lambda m: m.learn_one({"a": 1.0, "t": NOTHING[what]}, 2.0),
            lambda m: m.predict_one({"a": 1.0, "t": NOTHING[what]}),
        ):
            with pytest.raises(TypeError, match="column 't'"):
                call(model)


@pytest.mark.parametrize("name", TREES)
def test_a_category_that_only_its_address_tells_is_no_value(name: str) -> None:
    one, other = Thing(), Thing()
    named = objects([one, other, *["u", "v"] * (N // 2 - 1)])
    X, y = dated(pd.Categorical(named))
    with pytest.raises(TypeError, match=r"in column 't'; got .*Thing"):
        TREES[name](X, y)


def test_a_time_of_day_with_a_zone_is_no_value() -> None:
    with pytest.raises(TypeError, match="column 't'"):
        TREES["tree"](*dated(objects([time(6, tzinfo=UTC)] * N)))


@pytest.mark.parametrize("name", TREES)
def test_times_beside_text_or_numbers_are_refused(name: str) -> None:
    for other in ("n/a", 3.0):
        X, y = dated(objects([*LOCAL[:-1], other]))
        with pytest.raises(ValueError, match="dates in column 't'") as caught:
            TREES[name](X, y)
        assert f"row {N - 1}" in str(caught.value)
    text, y = dated(objects(["u", "v"] * (N // 2)))
    ask = TREES[name](text, y)
    with pytest.raises(ValueError, match="column 't'"):
        ask(dated(objects([date(2024, 1, 1)] * N))[0])


@without("pyarrow", "polars", "narwhals")
@pytest.mark.parametrize("form", [polars, pyarrow, batch])
def test_the_mirror_knows_the_names_of_other_libraries(
    form: Callable[[pd.DataFrame], Any],
) -> None:
    from dyntree.api import rmirror as r

    X, y = rows(False)
    options: dict[str, Any] = {"N": 10, "seed": 1, "verb": 0}
    expected = r.predict(r.dynaTree(X[NUMBERS], y, **options), X[NUMBERS]).mean
    fit = r.dynaTree(form(X[NUMBERS]), y, **options)
    assert r.predict(fit, form(X[NUMBERS])).mean.tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match="in that order"):
        r.predict(fit, form(X[NUMBERS[::-1]]))
    with pytest.raises(TypeError, match="numeric columns; column 'when'"):
        r.dynaTree(form(X), y, **options)
