"""Variables behind rows of features, and where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

from dyntree.encoding.contrasts import Variable
from dyntree.encoding.raw_rows import (
    Domain,
    bare_places,
    encoded,
    feature_places,
    raw_columns,
)
from dyntree.encoding.tables import table_of
from tests.unit.encoding.test_contrasts import DATA, design_of
from tests.unit.models import refused

TOLD = "y ~ x + I(x**2) + C(g)*t + flag + C(k) + o + day + zoned + wait"


def domain(name: str, data: Any = DATA, **options: Any) -> Domain:
    design, table = design_of(TOLD, data)
    return Domain.of(Variable.of(design, name, table, table), **options)


@pytest.mark.parametrize(
    "formula",
    [
        TOLD, "y ~ a*b", "y ~ C(g, Sum) + t", "y ~ C(k) + k", "y ~ g",
        "y ~ C(o) + np.log(x):t + x + t",
    ],
)  # fmt: skip
def test_variables_are_told_by_their_features(formula: str) -> None:
    """Also where values are missing, and levels unknown."""
    data = DATA.assign(a=DATA.x, b=DATA.t)
    design, _ = design_of(formula, data)
    gaps = data.copy()
    for k, name in enumerate(["x", "g", "day", "zoned", "wait", "a"]):
        gaps.loc[k % 4, name] = None
    features = design.encode(table_of(gaps))
    found = raw_columns(design, features)
    assert found is not None
    assert {*found} == {*design.columns}
    np.testing.assert_array_equal(encoded(design, found), features)


@pytest.mark.parametrize(
    "formula", ["y ~ np.log(x)", "y ~ poly(x, 2) + t", "y ~ x:t + t", "y ~ C(g):t + g"]
)
def test_features_of_other_terms_tell_no_variable(formula: str) -> None:
    design, table = design_of(formula)
    assert raw_columns(design, design.encode(table)) is None


def test_a_variable_has_the_features_of_all_its_terms() -> None:
    design, _ = design_of("y ~ x + C(g):t + I(x*t)")
    names = design.names
    places = feature_places(design)
    assert [names[k] for k in places["x"]] == ["x", "I(x * t)"]
    assert [names[k] for k in places["g"]] == [f"C(g)[{one}]:t" for one in "uvw"]
    assert len(places["t"]) == 4
    assert bare_places(design) == {"x": 0}


def test_numbers_and_times_lie_between_their_ends() -> None:
    assert domain("x").span == (0.5, 4.0)
    assert domain("x", seen=(-1.0, 9.0)).span == (-1.0, 9.0)
    assert domain("x", bounds=(0, 1)).span == (0.0, 1.0)
    axis = domain("x").axis(8)
    np.testing.assert_allclose(axis.values, np.linspace(0.5, 4.0, 8))
    assert not axis.is_factor
    day = domain("day").axis(5)
    assert day.values[0] == np.datetime64("2024-01-01")
    assert day.values[-1] == np.datetime64("2024-01-05")
    assert domain("zoned").axis(2).points.is_zoned
    ends = (pd.Timestamp("2024-02-01"), pd.Timestamp("2024-02-03"))
    assert domain("day", bounds=ends).axis(3).values[1] == np.datetime64("2024-02-02")
    assert domain("wait").axis(2).values.tolist() == [1.0, 5.0]
    constant = DATA.assign(x=2.0)
    assert domain("x", constant).axis(2).values.tolist() == [1.5, 2.5]


def test_levels_and_0_or_1_are_points() -> None:
    assert domain("g").axis(9).values.tolist() == ["u", "v", "w"]
    assert domain("o").axis(9).values.tolist() == ["lo", "mid", "hi"]
    for name in ("t", "flag"):
        axis = domain(name).axis(9)
        assert axis.values.tolist() == [0.0, 1.0]
        assert axis.is_factor
    assert domain("t", bounds=(0, 2)).axis(3).values.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(domain("g").shares, [0.5, 0.25, 0.25])
    np.testing.assert_allclose(domain("flag").shares, [0.25, 0.75])
    ones = domain("t", DATA.assign(t=1), seen=(0.0, 1.0))  # as a fair coin
    np.testing.assert_allclose(ones.shares, [0.5, 0.5])


def test_samples_have_the_shares_and_the_range() -> None:
    """Of stratified probabilities, exactly."""
    unit = (np.arange(400) + 0.5) / 400
    levels = domain("g").quantiles(unit).objects()
    assert [levels.count(one) for one in "uvw"] == [200, 100, 100]
    assert sum(domain("flag").quantiles(unit).values) == 300
    numbers = domain("x").quantiles(unit).values
    np.testing.assert_allclose(numbers, 0.5 + 3.5 * unit)
    for name in ("x", "g", "day", "wait", "zoned"):
        gaps = DATA.copy()
        gaps.loc[0, name] = None
        one = domain(name, gaps)
        assert one.missing == 0.25
        column = one.quantiles(unit, np.random.default_rng(0))
        # binomial (400, 1/4): 5 sd are 43, a false-fail rate of 6e-7
        assert abs(len([*column.present()]) - 300) < 43
        assert len([*one.quantiles(unit).present()]) == 400


def test_domains_that_cannot_be() -> None:
    with refused("bounds", "(low, high) with low < high for 'x'; got (2, 1)"):
        domain("x", bounds=(2, 1))
    bad: Any
    for bad in (3, (1,), ("a", "b"), (0.0, np.inf)):
        with pytest.raises(ValueError, match="bounds must be"):
            domain("x", bounds=bad)
    with pytest.raises(ValueError, match="of variables that are numbers or times"):
        domain("g", bounds=(0, 1))
    design, _ = design_of(TOLD)
    gone = table_of(DATA.assign(x=np.nan))
    with pytest.raises(ValueError, match="in some row; 'x' has none"):
        Domain.of(Variable.of(design, "x", gone, gone))
