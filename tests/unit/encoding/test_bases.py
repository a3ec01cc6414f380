"""Splines, polynomials, scales and codings are those of patsy, formulaic and R."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.factors import Factor
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import Matrix
from dyntree.errors import UndefinedTermWarning, UnseenLevelWarning

RNG = np.random.default_rng(4)
FIT = {
    "x": np.round(RNG.normal(size=80), 1),  # with ties
    "g": RNG.choice(["a", "b", "c", "d", "e", "f"], 80),
    "n": RNG.choice([1, 2, 5], 80),
    "y": RNG.random(80),
}
NEW = {
    "x": RNG.uniform(FIT["x"].min(), FIT["x"].max(), 30),
    "g": np.array([*"abcdef"] * 5), "n": np.array([1, 5, 2] * 10), "y": np.zeros(30),
}  # fmt: skip
BEYOND = NEW | {"x": FIT["x"].max() + np.linspace(-9.0, 3.0, 30)}


def design_of(term: str, data: Any = None, **options: Any) -> Design:
    data = FIT if data is None else data
    terms = [[Expression.parse(term)]]
    return Design.learn(table_of(data), Expression.column("y"), terms, **options)


def encoded(term: str, rows: dict[str, Any]) -> Matrix:
    """Rows by a design that a file has held; a bare row has the same bits."""
    made = design_of(term)
    again = Design.from_header(json.loads(json.dumps(made.to_header())))
    assert again == made
    found = again.encode(table_of(rows))
    for k in (0, 7):
        row = {name: values[k] for name, values in rows.items()}
        assert again.encode_row(row).tobytes() == found[k : k + 1].tobytes()
    return found


INSIDE = [
    "C(g, Treatment)", "C(g, Treatment('c'))", "C(g, Treatment(reference='f'))",
    "C(g, Sum)", "C(g, Helmert)", "C(g, Poly)", "C(n, Sum)", "C(n, Treatment(2))",
    "center(x)", "standardize(x)", "standardize(x, ddof=1)",
    "np.exp(center(x))", "standardize(np.exp(x))",
    "bs(x, df=4)", "bs(x, df=7)", "bs(x, 5, degree=2)", "bs(x, df=4, degree=1)",
    "bs(x, knots=[-.5, .1, 1])", "bs(x, df=6, include_intercept=True)", "bs(x, df=3)",
    "bs(x, df=5, lower_bound=-6, upper_bound=6)", "bs(x, df=3, degree=0)",
    "bs(np.exp(x), df=5)", "bs(x, knots=[.1, .1, .7])",
]  # fmt: skip
CUBIC = [
    "cr(x, df=3)", "cr(x, df=6)", "cr(x, knots=[-.5, .1, 1])", "cc(x, df=3)",
    "cc(x, df=6)", "cc(x, knots=[-.5, .1, 1])",
    "cr(x, df=5, lower_bound=-1, upper_bound=1)",
    "cc(x, df=5, lower_bound=-1, upper_bound=1.5)",
]  # fmt: skip


@pytest.mark.parametrize(
    ("term", "rows"),
    [*((term, NEW) for term in INSIDE), *((term, BEYOND) for term in CUBIC)],
)
def test_columns_are_patsys(term: str, rows: dict[str, Any]) -> None:
    patsy = pytest.importorskip("patsy", reason="patsy is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = patsy.dmatrix(term, FIT)
        (expected,) = patsy.build_design_matrices([made.design_info], rows)
    found = encoded(term, rows)
    np.testing.assert_allclose(found, np.asarray(expected)[:, 1:], rtol=0, atol=1e-10)
    if term.startswith("C(g"):
        assert [*design_of(term).names] == made.design_info.column_names[1:]


@pytest.mark.parametrize(
    "term",
    ["poly(x, 1)", "poly(x, 4)", "poly(x, 3, raw=True)", "scale(x)", "center(x)",
     "scale(x, center=False)", "scale(x, scale=False)", "scale(x, ddof=0)",
     "bs(x, df=5)", "cr(x, df=5)", "cc(x, df=5)", "C(g, contr.treatment)",
     "C(g, contr.treatment(base='c'))", "C(g, contr.sum)", "C(g, contr.helmert)",
     "C(g, contr.poly)"],
)  # fmt: skip
def test_columns_and_names_are_formulaics(term: str) -> None:
    formulaic = pytest.importorskip("formulaic", reason="formulaic is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = formulaic.model_matrix(term, pd.DataFrame(FIT))
        expected = made.model_spec.get_model_matrix(pd.DataFrame(NEW)).iloc[:, 1:]
    np.testing.assert_allclose(encoded(term, NEW), expected, rtol=0, atol=1e-10)
    # formulaic counts raw powers from 0, and calls polynomials of levels .L and .Q
    if "raw" not in term and "contr.poly" not in term:
        assert [*design_of(term).names] == [*expected.columns]


@pytest.mark.parametrize(
    ("term", "call"),
    [
        ("poly(x, 3)", "poly(x, 3)"), ("poly(x, 6)", "poly(x, 6)"),
        ("scale(x)", "scale(x)"), ("ns(x, df=1)", "ns(x, df=1)"),
        ("ns(x, df=4)", "ns(x, df=4)"), ("ns(x, df=7)", "ns(x, df=7)"),
        ("ns(x, knots=[-.5, .1, 1])", "ns(x, knots=c(-.5, .1, 1))"),
        ("ns(x, df=4, include_intercept=True)", "ns(x, df=4, intercept=TRUE)"),
        ("ns(x, df=4, lower_bound=-1, upper_bound=1)",
         "ns(x, df=4, Boundary.knots=c(-1, 1))"),
    ],
)  # fmt: skip
def test_columns_are_rs(term: str, call: str) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    fit, new = (",".join(map(repr, rows["x"].tolist())) for rows in (FIT, BEYOND))
    code = (
        f"library(splines); x <- c({fit}); made <- {call}; "
        + (
            f"m <- (c({new}) - attr(made, 'scaled:center')) / "
            "attr(made, 'scaled:scale'); "
            if term.startswith("scale")
            else f"m <- predict(made, c({new})); "
        )
        + "cat(sprintf('%.17g', t(m)))"
    )
    done = subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, check=True
    )
    expected = np.array(done.stdout.split(), dtype=float).reshape(len(BEYOND["x"]), -1)
    # relative: far outside the rows of the fit polynomials of degree 6 are large, and
    # R's recursion and ours, which round in other places, lose digits of that
    np.testing.assert_allclose(encoded(term, BEYOND), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("term", "rule", "remedy"),
    [
        ("bs(x)", "bs df or knots", "Give df="),
        ("bs(x, df=2)", "df at least 3", "Give more"),
        ("bs(x, knots=[], degree=0)", "df at least 1", "Give more"),
        ("bs(x, df=3, include_intercept=True)", "df at least 4", "Give more"),
        ("bs(x, df=5, knots=[0])", "2 inner knots, by its df", "Leave df or knots"),
        ("ns(x, knots=[0, 99])", "knots from", "lower_bound="),
        ("cr(x, df=1)", "df at least 2", "Give more"),
        ("cc(x, df=1)", "3 distinct knots", "Take another df"),
        (
            "cr(n, 4, lower_bound=1, upper_bound=1.5)",
            "4 distinct knots",
            "Take another",
        ),
        ("bs(x, 4, lower_bound=5, upper_bound=1)", "a lower bound below", "Give lower"),
        ("poly(n, 3)", "degree below 3, the distinct values", "raw=True"),
        ("poly(x, 0)", "degree at least 1", "Leave the term out"),
        ("C(g, Treatment('z'))", "a reference among the levels", "Name one of them"),
        ("C(g, Treatment('z'), levels=['z'])", "two levels at least", "levels=[...]"),
    ],
)
def test_arguments_that_do_not_fit_the_data_are_told(
    term: str, rule: str, remedy: str
) -> None:
    with pytest.raises(ValueError, match="formula must give") as caught:
        design_of(term)
    assert rule in str(caught.value)
    assert f"in {term}; got" in str(caught.value)
    assert remedy in str(caught.value)


def test_data_without_spread_or_values_are_told() -> None:
    still = FIT | {"x": np.ones(80)}
    with pytest.raises(ValueError, match=r"distinct values to be scaled in scale\(x\)"):
        design_of("scale(x)", still)
    none = FIT | {"x": np.full(80, np.nan)}
    for term in ("center(x)", "bs(x, df=4)", "poly(x, 2)"):
        with pytest.raises(ValueError, match="must have a value in"):
            design_of(term, none)
    with pytest.raises(ValueError, match=r"got none\. Name them: C\(\.\.\., levels="):
        design_of("C(np.floor(x))", none)
    with pytest.raises(ValueError, match="formula must give levels once"):
        design_of("C(g, levels=['a'])", categories={"g": ["a"]})


def test_b_splines_end_at_their_knots() -> None:
    made = design_of("bs(x, df=4)")
    with pytest.raises(ValueError, match=r"outer knots of bs\(x, df=4\), .* row 0"):
        made.encode(table_of(BEYOND))
    with pytest.raises(ValueError, match=r"got 99.0 in row 0.*lower_bound="):
        made.encode_row({"x": 99.0})
    ends = {"x": np.array([FIT["x"].min(), FIT["x"].max()])}
    np.testing.assert_allclose(
        made.encode(table_of(ends)), [[0, 0, 0, 0], [0, 0, 0, 1]], atol=1e-12
    )


@pytest.mark.parametrize("term", ["cc(x, df=2)", "cc(x, df=5)", "cr(x, df=2)"])
def test_cubic_splines_through_ones_are_1(term: str) -> None:
    """Also with the fewest knots, where patsy fails."""
    np.testing.assert_allclose(encoded(term, BEYOND).sum(axis=1), 1.0, rtol=1e-12)


def test_missing_values_do_not_count_and_stay_missing() -> None:
    gaps = {name: np.r_[values[:3], values] for name, values in FIT.items()}
    gaps["x"] = np.r_[np.nan, np.nan, np.nan, FIT["x"]]
    for term in ("scale(x)", "bs(x, df=4)", "cc(x, df=4)", "poly(x, 3)"):
        found = design_of(term, gaps).encode(table_of(gaps))
        assert np.isnan(found[:3]).all()
        assert found[3:].tobytes() == design_of(term).encode(table_of(FIT)).tobytes()


def test_columns_without_end_are_gaps() -> None:
    made = design_of("poly(x, 4)")
    with pytest.warns(UndefinedTermWarning, match=r"poly\(x, 4\)\[.\] a finite value"):
        found = made.encode_row({"x": 1e100})
    assert np.isnan(found[0, 1:]).all()


def test_levels_of_a_transform_come_late_like_others() -> None:
    made = design_of("C(np.floor(x))")
    assert made.names[0] == f"C(np.floor(x))[{np.floor(FIT['x'].min()):g}]"
    late = {"x": np.array([0.5, 40.5, np.nan, 40.9]), "y": np.zeros(4)}
    ((row, wider),) = made.grown(table_of(late))
    assert (row, wider.names[-1]) == (1, "C(np.floor(x))[40]")
    assert wider.encode(table_of(late))[:, -1].tolist()[:2] == [0.0, 1.0]
    assert made.brings({"x": 40.5})
    assert not made.brings({"x": 0.5})
    again = Design.from_header(json.loads(json.dumps(wider.to_header())))
    assert again == wider
    encoded("C(np.floor(x))", NEW)
    assert design_of("C(x > 0)").names == ("C(x > 0)[1]",)


@pytest.mark.parametrize(
    "term", ["C(g, Sum)", "C(g, Treatment)", f"C(g, levels={[*'abcdef']})"]
)
def test_codings_and_named_levels_take_no_others(term: str) -> None:
    made = design_of(term)
    late = {"g": np.array(["a", "z"]), "y": np.zeros(2)}
    assert made.grown(table_of(late)) == []
    assert not made.brings({"g": "z"})
    with pytest.warns(UnseenLevelWarning, match="the level 'z' in column 'g'"):
        found = made.encode(table_of(late))
    assert np.isnan(found).all(axis=1).tolist() == [False, True]


def test_levels_may_be_named_in_the_formula() -> None:
    made = design_of("C(n, levels=[5, 2, 1])")
    assert [name[-2] for name in made.names] == ["5", "2", "1"]
    assert made.encode_row({"n": 2}).tolist() == [[0.0, 1.0, 0.0]]
    assert design_of("C(n, Sum, levels=[5, 2, 1])").encode_row({"n": 1}).tolist() == [
        [-1.0, -1.0]
    ]


@pytest.mark.parametrize(
    ("term", "change"),
    [
        ("bs(x, df=4)", {"kind": "code"}), ("bs(x, df=4)", {"breaks": [2.0, 1.0]}),
        ("bs(x, df=4)", {"origins": [0.0]}), ("bs(x, df=4)", {"outside": "maybe"}),
        ("bs(x, df=4)", {"coefficients": [[[0.0]], [[0.0, 1.0]]]}),
        ("bs(x, df=4)", {"coefficients": [[["x"]], [["y"]]]}),
        ("bs(x, df=4)", {"coefficients": [[], []]}),
        ("bs(x, df=4)", {"bounds": [2, 1]}),
        ("poly(x, 2)", {"centers": []}), ("poly(x, 2)", {"norms": [1.0, 0.0, 1.0]}),
        ("C(g, Sum)", {"endings": []}), ("C(g, Sum)", {"rows": [[1.0] * 5] * 5}),
        ("C(g, Sum)", {"rows": [["x"] * 5] * 6}), ("C(g, Sum)", {"endings": [1] * 5}),
    ],
)  # fmt: skip
def test_headers_that_describe_none_are_refused(
    term: str, change: dict[str, Any]
) -> None:
    header = design_of(term).to_header()["terms"][0][0]
    assert Factor.from_header(header).names
    part = "coding" if "coding" in header else "basis"
    with pytest.raises((ValueError, LookupError, TypeError)):
        Factor.from_header(header | {part: header[part] | change})
