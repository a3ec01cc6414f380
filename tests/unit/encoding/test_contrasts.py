"""Variables of raw data that are moved: what they become, and what moves with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

from dyntree.api.terms import parse
from dyntree.encoding.contrasts import Moves, Variable, moved_rows
from dyntree.encoding.design import Design
from dyntree.encoding.tables import table_of
from tests.unit.models import refused

DATA = pd.DataFrame(
    {
        "x": [0.5, 1.5, 2.0, 4.0],
        "t": [0, 1, 1, 0],
        "flag": [True, False, True, True],
        "g": ["u", "v", "w", "u"],
        "k": [3, 1, 2, 1],
        "o": pd.Categorical(
            ["lo", "hi", "mid", "lo"], ["lo", "mid", "hi"], ordered=True
        ),
        "day": pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-04", "2024-01-05"]),
        "zoned": pd.date_range("2024-01-01", periods=4, tz="Europe/Berlin"),
        "wait": pd.to_timedelta([1.0, 2.0, 3.0, 5.0], unit="D"),
        "y": [1.0, 2.0, 3.0, 4.0],
    }
)
FORMULA = (
    "y ~ x + I(x**2) + C(g) + t + C(g):t + flag + C(k) + o + day + zoned + wait"
    " + np.log(x):t"
)


def design_of(formula: str = FORMULA, data: Any = DATA) -> tuple[Design, Any]:
    table = table_of(data)
    return Design.learn(table, *parse(formula, table.names)), table


def moves(name: str, contrast: Any = None, data: Any = DATA) -> Moves:
    design, _ = design_of()
    table = table_of(data)
    return Variable.of(design, name, table, table).moves(contrast)


def rows_at(name: str, contrast: Any = None) -> Any:
    """Encoded rows of the low and the high setting of a comparison."""
    design, table = design_of()
    move = moves(name, contrast)
    rows = moved_rows(design, table, name, move.settings)
    rows = rows.reshape(len(move.settings), 4, -1)
    (pair,) = move.pairs
    return rows[[pair.low, pair.high]], [*design.names]


@pytest.mark.parametrize(
    ("name", "contrast", "low", "high"),
    [
        ("x", None, DATA.x, DATA.x + 1),
        ("x", 0.5, DATA.x, DATA.x + 0.5),
        ("x", (1, 3), 1.0, 3.0),
        ("t", None, 0, 1),
        ("flag", None, False, True),
        ("g", ("w", "u"), "w", "u"),
        ("k", (1, 3), 1, 3),
        ("o", ("lo", "hi"), "lo", "hi"),
        ("day", None, DATA.day, DATA.day + pd.Timedelta(days=1)),
        ("zoned", 2, DATA.zoned, DATA.zoned + pd.Timedelta(days=2)),
        ("wait", 0.5, DATA.wait, DATA.wait + pd.Timedelta(hours=12)),
        (
            "day", (pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01")),
            pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01"),
        ),
    ],
)  # fmt: skip
def test_a_variable_moves_through_the_design(
    name: str, contrast: Any, low: Any, high: Any
) -> None:
    """As if the frame had the other values, whatever terms the variable is in."""
    design, _ = design_of()
    found, _ = rows_at(name, contrast)
    for rows, value in zip(found, (low, high), strict=True):
        data = DATA.copy()
        data[name] = value
        np.testing.assert_array_equal(rows, design.encode(table_of(data)))


def test_only_what_has_the_variable_moves() -> None:
    found, names = rows_at("g", ("u", "v"))
    moved = (found[0] != found[1]).any(axis=0)
    told = {name for name, one in zip(names, moved, strict=True) if one}
    assert told == {"C(g)[u]", "C(g)[v]", "C(g)[u]:t", "C(g)[v]:t"}


def test_names_tell_what_is_compared() -> None:
    def told(name: str, contrast: Any = None) -> list[str]:
        return [" - ".join(pair.names) for pair in moves(name, contrast).pairs]

    assert told("x") == ["+1"]
    assert told("x", -0.5) == ["-0.5"]
    assert told("x", (1, 3)) == ["3 - 1"]
    assert told("t") == ["1 - 0"]
    assert told("g") == ["v - u", "w - u"]
    assert told("g", "pairwise") == ["v - u", "w - u", "w - v"]
    assert told("o") == ["mid - lo", "hi - lo"]
    assert told("k") == ["2 - 1", "3 - 1"]


def test_spreads_are_those_of_the_models_data() -> None:
    design, table = design_of()
    one = Variable.of(design, "x", table_of(DATA[:1]), table)
    low, high = (column.values[0] for column in one.moves("iqr").settings)
    assert [low, high] == np.quantile(DATA.x, [0.25, 0.75]).tolist()
    low, high = (column.values[0] for column in one.moves("sd").settings)
    assert high - low == pytest.approx(DATA.x.std())
    assert (high + low) / 2 == pytest.approx(DATA.x.mean())


def test_rows_without_the_variable_move_where_it_is_set() -> None:
    data = DATA.assign(x=[np.nan, 1.0, 2.0, 3.0])
    assert moves("x", None, data).counts.tolist() == [False, True, True, True]
    assert moves("x", (0, 1), data).counts.all()


@pytest.mark.parametrize(
    ("name", "contrast", "argument", "came"),
    [
        ("q", None, "variables", "'q'"),
        ("y", None, "variables", "'y'"),
        ("g", ("u", "z"), "contrast", "'z'"),
        ("g", 1.0, "contrast", "1.0"),
        ("g", "sd", "contrast", "'sd'"),
        ("x", "pairwise", "contrast", "'pairwise'"),
        ("x", "most", "contrast", "'most'"),
        ("x", 0, "contrast", "0"),
        ("x", (1, 2, 3), "contrast", "(1, 2, 3)"),
        ("x", ("u", "v"), "contrast", "('u', 'v')"),
        ("x", (0, np.inf), "contrast", "inf"),
        ("day", (0, 1), "contrast", "(0, 1)"),
    ],
)
def test_what_cannot_move_is_refused(
    name: str, contrast: Any, argument: str, came: str
) -> None:
    with refused(argument, came):
        moves(name, contrast)


def test_a_variable_without_spread_or_second_level_is_refused() -> None:
    design, table = design_of("y ~ x + g", DATA[:1])
    with refused("contrast", "'sd'"):
        Variable.of(design, "x", table, table).moves("sd")
    with refused("variables", "['u']"):
        Variable.of(design, "g", table, table).moves()
