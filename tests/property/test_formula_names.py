"""Columns of any name are in the formula that names them, and under their own name."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dyntree.formula.api as dtf
from dyntree.api.terms import parse

SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
ODD = [
    "1", "0", "-1", "1.0", "1e3", "Intercept", "intercept", ".", "~", "a ~ b", "a+b",
    "a:b", "a*b", "(", ")", "C(x)", "np.log(x)", "I(x)", "column0", "column1", "'", '"',
    "a b", "Größe", "数", "True", "None", "lambda", "x0", "{x}", "[", "|", "%in%", "\\",
]  # fmt: skip
NAMES = st.sampled_from(ODD) | st.text(
    st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=6
)
COLUMNS = st.lists(NAMES, min_size=2, max_size=6, unique=True).filter(
    lambda names: "the response" not in names
)


def frame_of(names: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((12, len(names))), columns=names)
    return frame.assign(**{"the response": rng.random(12)})


def quoted(name: str) -> str:
    return f"`{name}`"


@settings(max_examples=150, deadline=None)
@given(COLUMNS)
def test_a_dot_is_every_column_under_its_own_name(names: list[str]) -> None:
    frame = frame_of(names)
    for right in (".", ". - 1", "1 + .", "0 + .", ". + 1"):
        model = dtf.dynamic_tree(f"`the response` ~ {right}", frame, **SMALL)
        assert model.exog_names == names
        np.testing.assert_array_equal(model.exog, frame[names])


@settings(max_examples=150, deadline=None)
@given(COLUMNS.filter(lambda names: not any("`" in name for name in names)))
def test_names_in_backticks_are_columns_in_every_term(names: list[str]) -> None:
    a, b, *others = names
    columns = [*names, "y"]

    def terms(right: str) -> list[list[str]]:
        found = parse(f"y ~ {right}", columns)[1]
        return [[factor.label for factor in term] for term in found]

    if "y" in names:
        return
    assert terms(" + ".join(map(quoted, names))) == [[name] for name in names]
    assert terms(f"{quoted(a)}*{quoted(b)}") == [[a], [b], [a, b]]
    assert terms(f"{quoted(a)}:{quoted(b)} - 1") == [[a, b]]
    assert terms(f". - {quoted(a)}") == [[name] for name in names if name != a]
    # the response, too
    response, found, _ = parse(f"{quoted(a)} ~ .", columns)
    assert (response.columns, response.label) == ((a,), a)
    assert [[f.label for f in term] for term in found] == [
        [b],
        *([c] for c in others),
        ["y"],
    ]
    ((inner,),) = parse(f"y ~ np.square({quoted(b)})", columns)[1]
    assert inner.columns == (b,)


def test_a_column_called_1_is_learned() -> None:
    """It was taken for the intercept, and the fit for one of two columns of noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((200, 3)))
    X["y"] = 5.0 * X[1] + 0.1 * rng.standard_normal(200)
    for right in (".", "`0` + `1`", "`0`*`1`", ". - 1"):
        model = dtf.dynamic_tree(f"y ~ {right}", X, n_particles=50, seed=1)
        assert "1" in model.exog_names
        fit = model.fit()
        assert np.corrcoef(fit.predict(X), X["y"])[0, 1] > 0.95


@pytest.mark.parametrize(
    "formula", ["y ~ .", "I(y * 2) ~ .", "y ~ . - `0`", "`y` ~ `1`"]
)
def test_the_shell_learns_a_column_called_1(formula: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = 5.0 * X[:, 1] + 0.1 * rng.standard_normal(80)
    table = tmp_path / "table.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "0", "1", "2"])
        writer.writerows(np.column_stack([y, X]).tolist())
    command = [sys.executable, "-m", "dyntree", "evaluate", str(table), "--formula"]
    done = subprocess.run(
        [*command, formula, "--particles", "50", "--seed", "1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (line,) = (one for one in done.stdout.splitlines() if "rmse" in one.lower())
    scale = 2.0 if "I(" in formula else 1.0
    numbers = [float(part) for part in done.stdout.split() if _is_number(part)]
    assert line
    assert min(n for n in numbers if n > 0.05 * scale) < 0.8 * scale


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_a_response_may_have_a_tilde_in_its_name() -> None:
    response, terms, _ = parse("`x ~ z` ~ u", ["x ~ z", "u"])
    assert response.columns == ("x ~ z",)
    assert [factor.columns for term in terms for factor in term] == [("u",)]


@pytest.mark.parametrize(
    "left", ["a + b", "a - b", "a*b", "a / b", "a**2", "I(a) + (b)"]
)
def test_several_responses_are_refused_and_i_makes_one_of_them(left: str) -> None:
    """Other formulas read such a left side as several responses."""
    with pytest.raises(ValueError, match="must have one response") as caught:
        parse(f"{left} ~ x", ["a", "b", "x"])
    assert f"Write I({left})" in str(caught.value)
    response = parse(f"I({left}) ~ x", ["a", "b", "x"]).response
    assert set(response.columns) <= {"a", "b"}
    parse(f"np.log({left}) ~ x", ["a", "b", "x"])
