"""Expressions: text becomes steps, steps are replayed, nothing else is understood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.encoding.expressions import FUNCTIONS, Expression

COLUMNS = {"x": np.array([0.25, 4.0]), "a.b": np.array([1.0, -2.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", [0.25, 4.0]), ("np.log2(x)", [-2.0, 2.0]), ("sqrt(x)", [0.5, 2.0]),
        ("I(x ** 2 - 1)", [-0.9375, 15.0]), ("-a.b / 2", [-0.5, 1.0]),
        ("np.abs(a.b) * x", [0.25, 8.0]), ("x // 3 + x % 3", [0.25, 2.0]),
        ("`a.b` + `x`", [1.25, 2.0]),
    ],
)  # fmt: skip
def test_values(text: str, expected: list[float]) -> None:
    expression = Expression.parse(text)
    assert np.asarray(expression.value(COLUMNS.__getitem__)).tolist() == expected
    again = Expression.from_header(expression.to_header())
    assert again == expression


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str) -> None:
    expected = getattr(np, name.removeprefix("np."))(COLUMNS["x"])
    found = Expression.parse(f"{name}(x)").value(COLUMNS.__getitem__)
    assert found.tobytes() == expected.tobytes()


def test_columns_and_categories() -> None:
    assert Expression.parse("x * `my col` + x").columns == ("x", "my col")
    assert Expression.parse("C(`my col`)").is_category
    assert Expression.parse("C(site)").columns == ("site",)
    assert Expression.column("my col").is_bare
    assert not Expression.parse("C(site)").is_bare


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("__import__('os').system('true')", "__import__('os').system in"),
        ("eval(x)", "got eval in eval(x)"), ("np.linalg.norm(x)", "np.linalg.norm in"),
        ("np.log(x, 2)", "np.log(x, 2)"), ("np.log(x=1)", "np.log(x=1)"),
        ("(lambda: 1)()", "lambda"), ("x[0]", "x[0]"), ("'a'", "'a'"),
        ("x if x else y", "if"), ("[x]", "[x]"), ("x > 1", "x > 1"),
        ("True * x", "True"), ("C(x + 1)", "x + 1"), ("C(x, y)", "C(x, y)"),
        ("np.log(C(x))", "got C in"), ("poly(x, 2)", "poly"), ("x +", "got x +"),
        ("f'{x}'", "f'{x}'"), ("x.y()", "got x.y()"), ("(x := 1)", "x := 1"),
    ],
)  # fmt: skip
def test_all_else_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ValueError, match="formula must be made of") as caught:
        Expression.parse(text)
    assert named in str(caught.value)
    assert "np.log1p" in str(caught.value)


GOOD = {"label": "x", "steps": [["column", "x"]], "category": False}


@pytest.mark.parametrize(
    "change",
    [
        {"steps": []}, {"steps": [["column", "x"], ["column", "y"]]},
        {"steps": [["call", "np.log"]]}, {"steps": [["column", "x"], ["apply", "+"]]},
        {"steps": [["column", "x"], ["call", "os.system"]]},
        {"steps": [["column", 1]]}, {"steps": [["run", "x"]]},
        {"steps": [["number", "x"]]}, {"steps": [["number", float("nan")]]},
        {"steps": [["number", 1.0]], "category": True}, {"label": None},
        {"category": 1}, {"steps": [["column", "x", "y"]]}, {"steps": 3},
    ],
)  # fmt: skip
def test_a_header_that_describes_none_is_refused(change: dict[str, Any]) -> None:
    assert Expression.from_header(GOOD).is_bare
    with pytest.raises((ValueError, LookupError, TypeError)):
        Expression.from_header(GOOD | change)
