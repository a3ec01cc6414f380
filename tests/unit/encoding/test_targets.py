"""What y may be: real responses, labels and their codes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream
from dyntree.encoding import targets
from tests.unit.models import refused


def test_real_responses() -> None:
    numbers = np.array([Decimal(1), 2], dtype=object)
    assert targets.real_response(numbers, 2).tolist() == [1.0, 2.0]
    for y in ([1, 2], (1.0, 2.0), np.array([1, 2], np.int8), pd.Series([1.0, 2.0])):
        assert targets.real_response(y, 2).tolist() == [1.0, 2.0]
    assert targets.real_response(3, 1).tolist() == [3.0]
    given = np.array([1.0, 2.0])
    assert not np.shares_memory(targets.real_response(given, 2), given)


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (["b", "a"], ["b", "a"]),
        (np.array(["b", "a"]), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="category"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="string"), ["b", "a"]),
        (np.array([2, 1], np.int8), [2, 1]),
        ([np.int64(2), np.int64(1)], [2, 1]),
        ([1, "a"], [1, "a"]),
        ([True, False], [True, False]),
    ],
)
def test_labels_are_plain_and_keep_their_kind(y: Any, labels: list[Any]) -> None:
    got = targets.label_list(y, 2)
    assert got == labels
    assert [type(label) for label in got] == [type(label) for label in labels]


def test_labels_and_their_places() -> None:
    assert targets.sorted_labels(["b", "a", "b"]) == ("a", "b")
    assert targets.label_codes(["b", "a"], ("a", "b")).tolist() == [1.0, 0.0]
    with refused("y", "'c' in row 1"):
        targets.label_codes(["a", "c"], ("a", "b"))
    for labels in ([1, "a"], [1j, 2j]):  # of no order
        with refused("classes", "labels of one type"):
            targets.sorted_labels(labels)


@pytest.mark.parametrize(
    ("read", "y", "came"),
    [(targets.label_list, y, came) for y, came in [
        (["a", None], "None in row 1"), (["a", float("nan")], "nan in row 1"),
        (pd.Series(["a", pd.NA], dtype="string"), "<NA> in row 1"),
        ([{}, "a"], "{} in row 0"), ([["a"], ["b"]], "(2, 1)"), (["a"], "(1,)"),
        ([1j, 2j], "1j in row 0"),
    ]] + [(targets.real_response, y, came) for y, came in [
        ([1.0, "a"], "'a' in row 1. Labels need"), ([1.0, None], "nan in row 1"),
        (np.array([1, np.timedelta64(5, "s")], object), "timedelta64(5,'s') in row 1"),
        ([1.0, 10**400], "inf in row 1"), (np.array([1.0, np.inf]), "inf in row 1"),
        (np.array(["2020", "2021"], dtype="M8[Y]"), "datetime64"),
        (np.array([1j, 2j]), "complex"), ([[1.0], [2.0]], "(2, 1)"),
    ]],
)  # fmt: skip
def test_what_is_no_response_is_refused(read: Any, y: Any, came: str) -> None:
    with refused("y", came):
        read(y, 2)


@pytest.mark.parametrize("y", [None, 1.5, "u", {"a": 1}])
def test_what_is_no_sequence_is_shown(y: Any) -> None:
    for reader in (targets.real_response, targets.label_list):
        with refused("y", f"of shape (2,), one response a row of X; got {y!r}."):
            reader(y, 2)
    with refused("y", "of shape (1,), one response a row of X; got None."):
        targets.real_response(None, 1)
    assert targets.real_response(1.5, 1).tolist() == [1.5]


@pytest.mark.parametrize("model", [None, "class", "linear"])
def test_a_column_s_name_and_frames_as_responses_are_said_to_be_none(
    model: str | None,
) -> None:
    # each row has a level of its own, so that labels are counted before y is checked
    table = pd.DataFrame({"x": [*"abcdefghijkl"], "y": np.arange(12.0)})
    stream = AveragedStream(model, seed=1)
    shape = "of shape (12,), one response a row of X; got"
    with refused("y", f"{shape} 'y'. Pass the column, not its name."):
        stream.update(table[["x"]], "y")
    with refused("y", f"{shape} shape (12, 1). Pass one column, such as frame['name']"):
        stream.update(table[["x"]], table[["y"]])
