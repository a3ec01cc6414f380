"""Predictions on the scale of the column behind a transformed response."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
import pandas as pd

import dyntree.formula.api as dtf

WAYS = {"np.log(z)": np.exp, "I(1 - np.log(z))": lambda v: np.exp(1 - v)}
TREES: list[dict[str, Any]] = [{}, {"window": 30}, {"n_clouds": 2}, {"window": "auto"}]


def data() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.random(60)
    return pd.DataFrame({"x": x, "z": np.exp(2 * x + 0.3 * rng.normal(size=60))})


def fit(response: str, **options: Any) -> Any:
    made = dtf.dynamic_tree(
        f"{response} ~ x", data(), n_particles=20, seed=1, **options
    )
    return made.fit()


@pytest.mark.parametrize("options", TREES)
@pytest.mark.parametrize("response", WAYS)
def test_quantiles_go_back_and_keep_their_order(
    response: str, options: dict[str, Any]
) -> None:
    found, back = fit(response, **options), WAYS[response]
    new = pd.DataFrame({"x": [0.2, 0.8]}, index=["a", "b"])
    plain, there = (
        found.get_prediction(new, back_transform=flag) for flag in (False, True)
    )
    levels = np.array([0.1, 0.5, 0.9])
    expected = np.sort(back(plain.distribution.quantile(levels)), axis=1)
    np.testing.assert_allclose(there.quantile(levels), expected, rtol=1e-6)
    np.testing.assert_allclose(there.predicted_median, expected[:, 1], rtol=1e-6)
    frame = there.summary_frame(alpha=0.2)
    assert list(frame.index) == ["a", "b"]
    np.testing.assert_allclose(frame[["obs_ci_lower", "obs_ci_upper"]],
                               expected[:, [0, 2]], rtol=1e-6)  # fmt: skip
    of_mean = np.sort(back(plain.conf_int(alpha=0.2)), axis=1)
    np.testing.assert_allclose(frame.filter(like="median_ci"), of_mean, rtol=1e-12)
    series = found.predict(new, back_transform=True)
    assert series.name == "z"
    np.testing.assert_array_equal(series, frame["median"])
    one = found.predict({"x": 0.2}, back_transform=True)
    assert one == frame["median"].iloc[0]


def test_the_median_is_near_the_truth() -> None:
    """A guard against the wrong scale, far wider than noise."""
    median = fit("np.log(z)", model="linear").predict({"x": 0.5}, back_transform=True)
    assert 2.0 < median < 3.7  # exp(1) = 2.72


def test_responses_that_cannot_go_back() -> None:
    with pytest.raises(ValueError, match=r"can be inverted.*got np\.square"):
        fit("np.square(z)").predict(back_transform=True)
    labels = dtf.dynamic_tree("l ~ x", data().assign(l="a"), n_particles=5).fit()
    with pytest.raises(ValueError, match="needs a response of numbers; got labels"):
        labels.get_prediction(back_transform=True)
    with pytest.raises(ValueError, match="back_transform must be"):
        fit("np.log(z)").predict(back_transform="yes")
