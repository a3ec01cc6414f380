"""Values of any mixture make the same levels in every map that rows go through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.growing_map import GrowingMap
from dyntree.encoding.series import objects_of
from dyntree.encoding.tables import table_of

WHOLE = st.integers(-3, 3)
NUMBERS = st.one_of(
    WHOLE, WHOLE.map(float), WHOLE.map(np.int64), WHOLE.map(np.float32),
    st.sampled_from([0.5, -2.5, 1e20, 10**20, 1e-300]),
)  # fmt: skip
TEXTS = st.one_of(
    st.text("ab01.-", max_size=3),
    st.sampled_from(["1", "-2", "0.5", "1.0", "true", "nan", ""]),
)


def key(value: Any) -> Any:
    """What tells levels apart: numbers by their value, text that names one as well."""
    if isinstance(value, str):
        known = (*range(-3, 4), *map(float, range(-3, 4)), 0.5, -2.5)
        number = {repr(one): one for one in known}.get(value)
        return value if number is None else float(number)
    return float(value)


def groups(rows: np.ndarray) -> list[int]:
    """Which rows are equal: for each the first that is like it."""
    found = [row.tobytes() for row in rows]
    return [found.index(row) for row in found]


@given(st.lists(st.one_of(NUMBERS, TEXTS), min_size=1, max_size=12))
def test_equal_values_are_one_level_in_every_map(values: list[Any]) -> None:
    values = ["text", *values]  # so that the column is one of levels
    keys = [key(value) for value in values]
    expected = [keys.index(one) for one in keys]
    column = objects_of(values)
    known, codes = FeatureMap.learn(pd.DataFrame({"s": column}), True)
    known, rows = known.settle(codes)
    assert groups(rows) == expected
    assert groups(known.encode([{"s": value} for value in values])) == expected
    table = table_of({"s": column, "y": np.arange(float(len(values)))})
    made = Design.learn(table, Expression.column("y"), [[Expression.parse("C(s)")]])
    assert groups(made.encode(table)) == expected
    columns = GrowingMap()
    for value in values:
        columns = columns.grown({"s": value})
    encoded = np.concatenate([columns.encode({"s": value}) for value in values])
    assert groups(encoded) == expected
    late, _ = FeatureMap.learn([{"s": "text"}], True)
    late, _ = late.settle(late.codes([{"s": "text"}]))
    _, rows = late.grown([{"s": value} for value in values])
    assert groups(rows) == expected
