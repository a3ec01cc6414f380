"""PosteriorDraws: moments, intervals, contrasts and averages of draws, and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.errors import MissingGroupWarning
from dyntree.summaries.draws import PosteriorDraws, grouped
from tests.unit.models import refused

VALUES = np.random.default_rng(0).normal(size=(200, 5)) + np.arange(5.0)
PROBA = np.random.default_rng(1).dirichlet(np.ones(3), size=(200, 5))


def of_labels() -> PosteriorDraws:
    return PosteriorDraws(PROBA, classes=("a", "b", "c"))


def test_moments_and_intervals_are_numpys() -> None:
    draws = PosteriorDraws(VALUES)
    np.testing.assert_array_equal(draws.mean(), VALUES.mean(axis=0))
    np.testing.assert_array_equal(draws.std(), VALUES.std(axis=0))
    told = draws.conf_int(0.1)
    assert told.shape == (5, 2)
    np.testing.assert_array_equal(told.T, np.quantile(VALUES, [0.05, 0.95], axis=0))
    assert of_labels().mean().shape == (5, 3)
    assert of_labels().conf_int().shape == (5, 3, 2)


def test_draws_serve_as_an_array() -> None:
    draws = PosteriorDraws(VALUES)
    assert draws.shape == (200, 5)
    assert len(draws) == 200
    assert draws.n_rows == 5
    np.testing.assert_array_equal(np.asarray(draws), VALUES)
    np.testing.assert_array_equal(draws[:, 2], VALUES[:, 2])
    assert np.asarray(draws, dtype=np.float32).dtype == np.float32
    assert np.asarray(draws) is VALUES
    assert np.array(draws) is not VALUES
    assert np.quantile(draws, 0.5, axis=0).shape == (5,)


def test_contrasts_are_linear() -> None:
    R = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.2] * 5])
    told = PosteriorDraws(VALUES).contrast(R)
    assert told.shape == (200, 2)
    np.testing.assert_allclose(told.values, VALUES @ R.T, rtol=1e-14)
    one = PosteriorDraws(VALUES).contrast(R[0])
    np.testing.assert_array_equal(one.values, told.values[:, :1])
    labels = of_labels().contrast(R)
    assert labels.shape == (200, 2, 3)
    np.testing.assert_allclose(labels.values[:, 0], PROBA[:, 0] - PROBA[:, 1])


def test_averages_are_of_each_draw() -> None:
    draws = PosteriorDraws(VALUES)
    np.testing.assert_allclose(draws.average().values[:, 0], VALUES.mean(axis=1))
    weights = [1.0, 0.0, 3.0, 0.0, 0.0]
    told = draws.average(weights).values[:, 0]
    np.testing.assert_allclose(told, (VALUES[:, 0] + 3 * VALUES[:, 2]) / 4)
    with pytest.warns(MissingGroupWarning, match="no label in 1 of 5 rows"):
        by = draws.average(by=["v", "u", "v", None, "u"])
    assert by.groups == ("u", "v")
    np.testing.assert_allclose(by.values[:, 0], VALUES[:, [1, 4]].mean(axis=1))
    np.testing.assert_allclose(by.values[:, 1], VALUES[:, [0, 2]].mean(axis=1))
    both = draws.average([1.0, 1.0, 3.0, 1.0, 1.0], by=pd.Series([1, 2, 1, 2, 2]))
    assert both.groups == (1, 2)
    np.testing.assert_allclose(both.values[:, 0], (VALUES[:, 0] + 3 * VALUES[:, 2]) / 4)
    frame = by.summary_frame()
    assert frame.index.tolist() == ["u", "v"]


def test_groups_stand_in_order_or_as_they_came() -> None:
    assert [*grouped([2, 1, 2], 3)] == [1, 2]
    assert [*grouped([2, "a", 2], 3)] == [2, "a"]
    assert grouped(None, 2)[None].tolist() == [True, True]


def test_frames_have_the_names_of_statsmodels() -> None:
    told = PosteriorDraws(VALUES).summary_frame(0.1)
    names = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
    assert list(told) == names
    np.testing.assert_array_equal(told["mean_ci_upper"], np.quantile(VALUES, 0.95, 0))
    new = PosteriorDraws(VALUES, "obs").summary_frame()
    assert list(new) == ["mean", "obs_se", "obs_ci_lower", "obs_ci_upper"]
    labels = of_labels().summary_frame()
    ends = ("", "_se", "_ci_lower", "_ci_upper")
    assert list(labels) == [f"p_{label}{end}" for label in "abc" for end in ends]


BAD: list[tuple[Any, str, str]] = [
    (lambda d: d.conf_int(0.0), "alpha", "0.0"),
    (lambda d: d.summary_frame(1.0), "alpha", "1.0"),
    (lambda d: d.contrast([1.0, 2.0]), "R", "(2,)"),
    (lambda d: d.contrast([[1.0] * 6]), "R", "(1, 6)"),
    (lambda d: d.contrast(np.ones((1, 1, 5))), "R", "(1, 1, 5)"),
    (lambda d: d.contrast([np.nan] + [0.0] * 4), "R", "nan"),
    (lambda d: d.average([1.0, 2.0]), "weights", "(2,)"),
    (lambda d: d.average([1.0, -1.0, 0.0, 0.0, 0.0]), "weights", "-1.0 in row 1"),
    (lambda d: d.average([0.0] * 5), "average", "none"),
    (lambda d: d.average([1.0, 0, 1, 1, 0], by=[*"uvuuv"]), "average", "'v'"),
    (lambda d: d.average(by=["u"]), "by", "1"),
    (lambda d: d.average(by=[None] * 5), "by", "none in all"),
]


@pytest.mark.parametrize(("ask", "name", "came"), BAD)
def test_bad_arguments_are_refused(ask: Any, name: str, came: str) -> None:
    with refused(name, came):
        ask(PosteriorDraws(VALUES))


def test_labels_have_no_moments() -> None:
    draws = PosteriorDraws(np.array([["a", "b"]], dtype=object), "obs", ("a", "b"))
    for ask in (draws.mean, draws.conf_int, draws.average, draws.summary_frame):
        with pytest.raises(ValueError, match="kind='mean'"):
            ask()
