"""One script, as a user of statsmodels writes it, for its models and for ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("formulaic")
pytest.importorskip("statsmodels")
import pandas as pd
import statsmodels.formula.api as smf

import dyntree.formula.api as dtf

FORMULA = "y ~ C(g, Treatment(reference='b')) + bs(x, df=4) + t + Q('a name')"


def data() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 200
    x, g, t = rng.random(n), rng.choice(list("abc"), n), rng.integers(2, size=n)
    w = rng.choice([0.5, 1.0, 4.0], n)
    y = np.sin(3 * x) + (g == "c") + t + 0.3 * rng.normal(size=n) / np.sqrt(w)
    columns = {"x": x, "g": g, "t": t, "w": w, "y": y, "a name": rng.random(n)}
    return pd.DataFrame(columns, index=np.arange(n) + 1000)


def test_the_same_words_for_counts_with_an_offset() -> None:
    """GLMs of counts and trees take exposures and offsets alike."""
    frame = data()
    rng = np.random.default_rng(3)
    frame["hours"] = rng.uniform(0.5, 4.0, len(frame))
    rate = np.exp(0.5 + frame["t"] + np.sin(3 * frame["x"]))
    frame["k"] = rng.poisson(frame["hours"] * rate)
    words = "k ~ C(g, Treatment(reference='b')) + bs(x, df=4) + t"
    new = frame.iloc[:50]
    glm = smf.poisson(words, frame, exposure=frame["hours"]).fit(disp=0)
    trees = dtf.dynamic_tree(
        words, frame, exposure=frame["hours"], model="negbin", n_clouds=10,
        n_particles=50, seed=1,
    ).fit()  # fmt: skip
    theirs = glm.predict(new, exposure=new["hours"])
    ours = trees.predict(new, exposure=new["hours"])
    assert list(ours.index) == list(theirs.index)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.9
    offset = dtf.dynamic_tree(
        words + " + offset(np.log(hours))", frame, model="negbin", n_clouds=10,
        n_particles=50, seed=1,
    ).fit()  # fmt: skip
    np.testing.assert_allclose(offset.predict(new), ours, rtol=1e-9)
    assert offset.get_prediction(new).conf_int(alpha=0.1).shape == (50, 2)
    ratio = offset.avg_comparisons("t", comparison="ratio", alpha=0.1, seed=1).iloc[0]
    assert ratio["conf_low"] < np.e < ratio["conf_high"] + 0.5


def walk(fit: Any, new: pd.DataFrame) -> dict[str, Any]:
    """What both kinds of results are asked for, in the same words."""
    frame = fit.get_prediction(new).summary_frame(alpha=0.1)
    assert list(frame.index) == list(new.index)
    assert {"mean", "mean_se", "mean_ci_lower", "obs_ci_upper"} <= set(frame.columns)
    mean = fit.predict(new)
    np.testing.assert_allclose(mean, frame["mean"])
    assert list(fit.resid.index) == list(range(1000, 1200))
    text = fit.summary().as_text()
    assert "Dep. Variable" in text
    assert len(fit.params) == len(fit.bse) == len(fit.conf_int(alpha=0.1))
    return {
        "mean": mean.to_numpy(),
        "width": (frame["obs_ci_upper"] - frame["obs_ci_lower"]).to_numpy(),
        "rsquared": fit.rsquared,
        "nobs": fit.nobs,
        "resid": np.asarray(fit.resid),
    }


def test_the_same_words_for_wls_and_for_trees() -> None:
    frame = data()
    new = frame.iloc[:50]
    theirs = walk(smf.wls(FORMULA, frame, weights=frame["w"]).fit(), new)
    ours = dtf.dynamic_tree(
        FORMULA, frame, weights=frame["w"], model="linear", n_clouds=10,
        n_particles=50, seed=1,
    ).fit()  # fmt: skip
    told = walk(ours, new)
    assert told["nobs"] == theirs["nobs"]
    # the truth is additive, so that both know the mean to about a tenth
    assert np.sqrt(np.mean((told["mean"] - theirs["mean"]) ** 2)) < 0.2
    assert 0.7 < np.median(told["width"] / theirs["width"]) < 1.6
    assert 0.5 < told["rsquared"] < theirs["rsquared"]  # one step ahead, and in sample
    effect = ours.avg_comparisons("t", alpha=0.1, seed=1).iloc[0]
    assert effect["conf_low"] < 1.0 < effect["conf_high"]
    less = dtf.dynamic_tree(
        "y ~ t", frame, weights="w", model="linear", n_clouds=2, n_particles=50, seed=1
    ).fit()
    table = dtf.compare({"all": ours, "t": less}, n_repeats=2)
    assert list(table.index) == ["all", "t"]
    assert len(ours.plot_diagnostics().axes) == 6
    more = ours.extend(new, weights="w")
    assert (more.nobs, more.resid.shape) == (250, (50,))
    formula = FORMULA.replace("bs(", "cr(")  # bs refuses values beyond its knots
    scores = dtf.cross_val(
        formula, frame, weights=frame["w"], model="linear", n_particles=50, n_folds=3
    )
    assert 0.2 < scores["rmse"].mean() < 0.7
