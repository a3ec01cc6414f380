"""What Python says of R's arguments, as R is told it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dyntree
from rbridge.words import in_words_of_r

TOLD = {
    "quants must be True or False; got None.": (
        "quants must be TRUE or FALSE; got NULL."
    ),
    "lambda_ must be in [0, 1]; got -1.": "lambda must be in [0, 1]; got -1.",
    "N must be an int >= 1; got 0.0.": "N must be a whole number >= 1; got 0.",
    "sb must hold two ints in 1..3, the number of inputs; got [1.0, 7.5].": (
        "sb must hold two whole numbers in 1..3, the number of inputs; got c(1, 7.5)."
    ),
    "ab must be a pair; got (nan, inf).": "ab must be a pair; got c(NA, Inf).",
    "rect must have one row (lower, upper) for each of the 3 input(s); got shape "
    "(2, 2).": (
        "rect must have one row (lower, upper) for each of the 3 input(s); got 2 rows "
        "and 2 columns."
    ),
    "icept='none' needs model='linear'; got model='class'.": (
        'icept = "none" needs model = "linear"; got model = "class".'
    ),
    "lhs['shape'] must be >= 0; got [-1.0, 2.0].": (
        "lhs$shape must be >= 0; got c(-1, 2)."
    ),
    "class must be a single number; got np.True_.": (
        "class must be a single number; got TRUE."
    ),
    "cls must be in 1..3; got np.float64(7.0).": "class must be in 1..3; got 7.",
    "sample_weight must be at most 1e+09 times it; got 2e+10 in row 3.": (
        "weights must be at most 1e+09 times it; got 2e+10 in row 3."
    ),
    "lhs['mode'] must be >= 0; got [-1.0].": "lhs$mode must be >= 0; got -1.",
    "n_particles must be at most 1073741823; got 2.": (
        "N must be at most 1073741823; got 2."
    ),
}


@pytest.mark.parametrize("text", TOLD)
def test_messages_speak_r(text: str) -> None:
    assert in_words_of_r(text) == TOLD[text]
    assert in_words_of_r(TOLD[text]) == TOLD[text]


def test_messages_about_missing_values_name_the_rules_that_take_them() -> None:
    sources = Path(dyntree.__file__).parent / "api" / "rmirror" / "inputs.py"
    told = {
        node.value
        for node in ast.walk(ast.parse(sources.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "issing values" in node.value
        and "\n" not in node.value
    }
    assert len(told) == 2
    for text in told:
        ours = in_words_of_r(text)
        assert ours != text
        assert not re.search(r"NaN|R's dynaTree", ours)
