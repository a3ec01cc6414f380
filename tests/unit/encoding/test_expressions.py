"""Expressions: text becomes steps, steps are replayed, nothing else is understood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.encoding.expressions import FUNCTIONS, Expression, with_backticks

COLUMNS = {"x": np.array([0.25, 4.0]), "a.b": np.array([1.0, -2.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", [0.25, 4.0]), ("np.log2(x)", [-2.0, 2.0]), ("sqrt(x)", [0.5, 2.0]),
        ("I(x ** 2 - 1)", [-0.9375, 15.0]), ("-a.b / 2", [-0.5, 1.0]),
        ("np.abs(a.b) * x", [0.25, 8.0]), ("x // 3 + x % 3", [0.25, 2.0]),
        ("`a.b` + `x`", [1.25, 2.0]), ("x > 1", [0.0, 1.0]), ("a.b == 1", [1.0, 0.0]),
        ("0 < x <= 0.25", [1.0, 0.0]), ("I((x > 1) * x)", [0.0, 4.0]),
        ("np.where(a.b > 0, x, -x)", [0.25, -4.0]), ("np.power(x, 2)", [0.0625, 16.0]),
        ("np.where(a.b > 0, 1, np.log(a.b)) + x", [1.25, np.nan]),
        ("np.log(a.b) > 5", [0.0, np.nan]), ("np.maximum(x, a.b)", [1.0, 4.0]),
        ("np.where(np.log(a.b) > 0, 1, 2)", [2.0, np.nan]),
        ("np.minimum(x, 3)", [0.25, 3.0]), ("np.clip(x, 1, 3)", [1.0, 3.0]),
        ("np.clip(a.b, None, 0)", [0.0, -2.0]), ("np.clip(a.b, 0, None)", [1.0, 0.0]),
    ],
)  # fmt: skip
def test_values(text: str, expected: list[float]) -> None:
    expression = Expression.parse(text)
    found = np.asarray(expression.value(COLUMNS.__getitem__))
    np.testing.assert_array_equal(found, expected)
    for row, value in enumerate(expected):  # as a bare row has it
        one = expression.value(lambda name, row=row: COLUMNS[name][row])
        np.testing.assert_array_equal(one, value)
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
        ("x if x else y", "if"), ("[x]", "[x]"), ("x in y", "x in y"),
        ("x is y", "x is y"), ("x == 'a'", "'a' in x"),
        ("True * x", "True"),         ("x +", "got x +"),
        ("f'{x}'", "f'{x}'"), ("x.y()", "got x.y in"), ("(x := 1)", "x := 1"),
    ],
)  # fmt: skip
def test_all_else_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ValueError, match="formula must be made of") as caught:
        Expression.parse(text)
    assert named in str(caught.value)
    assert "np.log1p" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rule", "remedy"),
    [
        ("np.where(x > 1)", "np.where 3 arguments", "np.where(x > 3, 1, 0)"),
        ("np.power(x)", "np.power 2 arguments", "np.power(x, 2)"),
        ("np.maximum(x, 1, 2)", "np.maximum 2 arguments", "np.maximum(x, 0)"),
        ("np.minimum(x1=1, x2=2)", "np.minimum 2 arguments", "np.minimum(x, 1)"),
        ("np.clip(x, a_min=1)", "np.clip 3 arguments", "np.clip(x, 0, None)"),
    ],
)  # fmt: skip
def test_a_wrong_number_of_arguments_is_told(text: str, rule: str, remedy: str) -> None:
    with pytest.raises(ValueError, match="formula must give") as caught:
        Expression.parse(text)
    assert rule in str(caught.value)
    assert text in str(caught.value)
    assert str(caught.value).endswith(f"Write {remedy}.")


@pytest.mark.parametrize(
    ("text", "rule", "came"),
    [
        ("np.log(C(x))", "C(...) as a factor of its own", "np.log(C(x))"),
        ("bs(x, df=4) + 1", "bs(...) as a factor of its own", "bs(x, df=4) + 1"),
        ("C(x, y)", "a contrast among Treatment, Sum", "y"),
        ("C(x, Sum, ['a'], 3)", "C at most the arguments x, contrast, levels", "C(x"),
        ("C()", "C at most the arguments x", "C()"),
        ("center()", "center at most", "center()"),
        ("C(x, Treatment(base='a'))", "the arguments reference, each once", "base="),
        ("C(x, Sum(1))", "Sum at most the arguments of none", "Sum(1)"),
        ("C(x, levels='ab')", "levels a list of text or numbers", "'ab'"),
        ("C(x, levels=[])", "levels a list", "[]"),
        ("C(x, levels=[y])", "levels a list", "[y]"),
        ("poly(x, 2.5)", "degree a whole number of at least 0", "2.5"),
        ("poly(x, degree=2, degre=3)", "degree, raw, each once", "degre="),
        ("poly(x, 2, raw=1)", "raw True or False", "1"),
        ("bs(x, df=0)", "df a whole number of at least 1", "0"),
        ("bs(x, 4, df=4)", "each once", "df="), ("ns(x, **k)", "each once", "None="),
        ("bs(x, knots=3)", "knots a list of numbers", "3"),
        ("cr(x, 4, lower_bound='a')", "lower_bound a number", "'a'"),
        ("bs(x, df=open('f'))", "df a whole number", "open('f')"),
        ("scale(x, ddof=-1)", "ddof a whole number of at least 0", "-1"),
        ("center(x, 1)", "center at most the arguments x", "center(x, 1)"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(text: str, rule: str, came: str) -> None:
    with pytest.raises(ValueError, match=r"formula must .*; got .*\. [A-Z]") as caught:
        Expression.parse(text)
    assert rule in str(caught.value)
    assert came in str(caught.value).split("; got ")[1]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ Q('a b')", "y ~ `a b`"), ('Q("a ~ b") ~ C(Q("c"))', "`a ~ b` ~ C(`c`)"),
        ("y ~ `Q('a')` + faQ('a')", "y ~ `Q('a')` + faQ('a')"),
        (r"y ~ Q('it\'s') + Q( 'x' )", "y ~ `it's` + `x`"), ("y ~ Q(a)", "y ~ Q(a)"),
    ],
)  # fmt: skip
def test_q_names_a_column_as_backticks_do(formula: str, expected: str) -> None:
    assert with_backticks(formula) == expected


@pytest.mark.parametrize("text", ["Q('a`b')", "Q('')"])
def test_q_without_a_name_that_backticks_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"without backticks; got .*Rename the column"):
        with_backticks(f"y ~ {text}")


GOOD = {"label": "x", "steps": [["column", "x"]], "category": False}


@pytest.mark.parametrize(
    "change",
    [
        {"steps": []}, {"steps": [["column", "x"], ["column", "y"]]},
        {"steps": [["call", "np.log"]]}, {"steps": [["column", "x"], ["apply", "+"]]},
        {"steps": [["column", "x"], ["call", "os.system"]]},
        {"steps": [["column", 1]]}, {"steps": [["run", "x"]]},
        {"steps": [["number", "x"]]}, {"steps": [["number", float("nan")]]},
        {"steps": [["column", "x"], ["column", "x"], ["choose", "np.where"]]},
        {"steps": [["column", "x"], ["column", "x"], ["apply", "np.divide"]]},
        {"steps": [["number", 1.0]], "category": True}, {"label": None},
        {"category": 1}, {"steps": [["column", "x", "y"]]}, {"steps": 3},
    ],
)  # fmt: skip
def test_a_header_that_describes_none_is_refused(change: dict[str, Any]) -> None:
    assert Expression.from_header(GOOD).is_bare
    with pytest.raises((ValueError, LookupError, TypeError)):
        Expression.from_header(GOOD | change)
