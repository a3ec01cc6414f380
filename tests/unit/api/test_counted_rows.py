"""Rows that weigh nothing, or more, in what is asked after a fit; copies of fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
import pandas as pd

import dyntree.formula.api as dtf
from dyntree import DynamicTree
from dyntree.evaluate import prequential
from tests.unit.api.frames import WAYS

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def data(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.random(n)
    y = np.exp(x) + 0.2 * rng.standard_normal(n)
    frame = pd.DataFrame({"x": x, "z": rng.random(n), "y": y})
    frame["w"] = rng.choice([1.0, 2.0, 5.0], n)
    frame["g"] = np.where(x > 0.5, "a", "b")
    return frame


def fit(formula: str, frame: pd.DataFrame, **options: Any) -> Any:
    return dtf.dynamic_tree(formula, frame, **SMALL, **options).fit()


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", ["weights", "freq_weights"])
def test_rows_of_weight_zero_count_nowhere(kind: str, options: dict[str, Any]) -> None:
    frame = data().assign(w=1.0)
    frame.loc[[0, 20], "w"], frame.loc[20, "y"] = 0.0, 1e6
    frame.loc[0, "y"] = np.nan
    kept = frame[frame["w"] > 0].reset_index(drop=True)
    one, other = (
        fit("y ~ x", frame, **{kind: "w"}, **options),
        fit("y ~ x", kept, **options),
    )
    for name in ("llf", "nobs", "rsquared", "rsquared_final"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9), name
    seen, own = one.one_step_ahead(), other.one_step_ahead()
    assert seen.coverage() == own.coverage()
    counted = (frame["w"] > 0).to_numpy()
    np.testing.assert_array_equal(seen.pit[counted], own.pit)
    assert np.isnan(seen.pit[~counted]).all()
    if not options:
        table = dtf.compare([one, one.copy()], n_repeats=2)
        assert np.isfinite(table["log_density"]).all()
        scores = dtf.cross_val("y ~ x", frame, n_folds=4, n_particles=5, **{kind: "w"})
        assert scores["n_rows"].sum() == 58
        means = [f.avg_predictions(seed=1).iloc[0] for f in (one, other)]
        # rows that do not count reach leaves, too, so that the 1000 draws are others;
        # with both rows counted the average would be off by more
        error = means[1]["std_error"] / np.sqrt(1000)
        assert abs(means[0]["estimate"] - means[1]["estimate"]) < 4 * 2**0.5 * error


def test_the_column_of_weights_is_no_input_of_a_fold() -> None:
    frame = data()[["z", "y"]].assign(w=lambda d: d["y"])  # it would tell all
    dot, named = (
        dtf.cross_val(f, frame, weights="w", n_particles=20) for f in ("y ~ .", "y ~ z")
    )
    pd.testing.assert_frame_equal(dot, named)


def test_scores_of_folds_are_by_weight() -> None:
    frame = data().assign(w=np.tile([1.0, 1e4], 30))
    rng = np.random.default_rng(1)
    frame["y"] = 2.0 + rng.standard_normal(60) / np.sqrt(frame["w"])
    scores = dtf.cross_val("y ~ x", frame, weights="w", n_particles=30).mean()
    assert scores["rmse"] < 0.1  # rows of weight 1 alone are off by 1
    assert scores["log_density"] > 1.0


def test_frequencies_average_as_repeated_rows() -> None:
    frame = data()
    often = frame.loc[frame.index.repeat(frame["w"].astype(int))]
    one = fit("y ~ x", frame, freq_weights="w")
    told = one.avg_predictions(seed=1)["estimate"].iloc[0]
    asked = one.avg_predictions(often, seed=1)["estimate"].iloc[0]
    assert told == pytest.approx(asked, rel=1e-9)
    plain = one.avg_predictions(frame, seed=1)["estimate"].iloc[0]
    assert told != pytest.approx(plain, rel=1e-3)


def test_fits_that_count_rows_otherwise_are_not_compared() -> None:
    frame = data()
    plain = fit("y ~ x", frame)
    halves = np.repeat([0.0, 1.0], 30)
    for other in (
        fit("y ~ x", frame, freq_weights=0.5), fit("y ~ x", frame, weights=halves)
    ):  # fmt: skip
        with pytest.raises(ValueError, match="with the same weights"):
            dtf.compare({"one": plain, "other": other})
    weighed = fit("y ~ x", frame, weights="w")
    assert len(dtf.compare([plain, weighed], n_repeats=2)) == 2
    with pytest.raises(ValueError, match="fits must be a dict or a list"):
        dtf.compare(plain)


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_a_fit_that_went_on_begins_anew_where_it_is_asked(
    options: dict[str, Any],
) -> None:
    frame = data()
    first = fit("y ~ x", frame[:25], **options)
    later = first.extend(frame[25:45])
    direct, again = first.apply(frame[45:]), later.apply(frame[45:])
    assert (direct.nobs, again.nobs) == (15, 15)
    assert direct.llf == again.llf
    assert later.model.fit().nobs == 20
    assert "Log-Ev." in later.summary(n_orders=2).as_text()
    assert len(dtf.compare([later], n_repeats=2)) == 1


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_labels_that_come_late_are_told_as_unknown(options: dict[str, Any]) -> None:
    frame = data()
    one = fit("g ~ x", frame, **options)
    later = one.extend(frame[:4].assign(g=["a", "new", "new", "b"]))
    residuals = later.resid_quantile
    np.testing.assert_array_equal(np.isnan(residuals), [False, True, False, False])
    seen = later.one_step_ahead()
    assert seen.proba is not None
    assert seen.proba.shape == (4, 3)
    assert seen.classes == ("a", "b", "new")
    assert later.llf_obs.shape == (4,)


def test_copies_keep_their_data() -> None:
    frame = data()
    one = fit("y ~ x", frame[:30])
    copied, more = one.append(frame[30:], copy=True), one.copy()
    copied.remove_data()
    more.remove_data()
    assert one.resid.shape == (30,)


def test_columns_of_answers_do_not_hide_one_another() -> None:
    frame = data().assign(term="u", estimate=1.0)
    one = fit("y ~ x", frame)
    for name in ("term", "estimate"):
        with pytest.raises(ValueError, match=f"by must name .*got '{name}'"):
            one.avg_predictions(by=name)
    labels = fit("g ~ x", data().assign(g=["a", "a_se"] * 30))
    with pytest.raises(ValueError, match="columns of different names"):
        labels.posterior_draws(frame[:1], 10, seed=1).summary_frame()


def test_weights_of_a_stream_have_the_index_of_its_rows() -> None:
    frame = data()
    with pytest.raises(ValueError, match="sample_weight"):
        prequential(
            DynamicTree(**SMALL),
            frame[["x"]],
            frame["y"],
            sample_weight=frame["w"][::-1],
        )


def test_appended_rows_without_weight_are_left_out_in_any_form() -> None:
    one = fit("y ~ x", data())
    for rows in ({"x": 0.5, "y": 1.0}, data()[:1], [{"x": 0.5, "y": 1.0}]):
        assert one.append(rows, weights=0).nobs == 60


def test_several_responses_with_rows_of_their_own() -> None:
    frame = data()
    frame.loc[3, "y"] = np.nan
    several = dtf.dynamic_tree("y + z ~ x", frame, missing="drop", **SMALL).fit()
    with pytest.raises(ValueError, match="exog must be given"):
        several.predict()
    assert several.predict(frame).shape == (60, 2)
    with pytest.raises(ValueError, match="responses that differ"):
        dtf.dynamic_tree("y + `y` ~ x", data(), **SMALL)
