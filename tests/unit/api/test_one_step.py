"""What results say of their rows one step ahead."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
import pandas as pd
from scipy.special import ndtr

import dyntree.formula.api as dtf
from dyntree import AveragedTrees
from dyntree.evaluate.residuals import OneStepAhead
from tests.unit.api.frames import WAYS

ROWS = 40


def data(is_class: bool, n: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.random(n)
    y = 4 * x + rng.normal(size=n)
    columns = {"x": x, "y": np.where(y > 2, "up", "down") if is_class else y}
    return pd.DataFrame(columns, index=np.arange(n) * 10)


def fit(is_class: bool = False, **options: Any) -> Any:
    frame = data(is_class)
    return dtf.dynamic_tree("y ~ x", frame, n_particles=20, seed=5, **options).fit()


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_rows_are_those_that_a_stream_would_have_met(
    options: dict[str, Any], is_class: bool
) -> None:
    found = fit(is_class, **options)
    seen, model = found.one_step_ahead(), found.model
    tree = model.unlearned("test")
    tree = tree[0] if isinstance(tree, AveragedTrees) else tree  # the one in order
    for k, y in enumerate(model.endog):
        row = model.exog[k : k + 1]
        answer = tree.predict(row) if k or is_class else None  # before any row: none
        if is_class:
            place = answer.classes.index(y)
            ends = np.concatenate([[0.0], answer.proba[0].cumsum()])[place : place + 2]
            np.testing.assert_allclose(seen.pit[k], ends, atol=1e-12)
            assert seen.predicted[k] == answer.label[0]
            assert seen.proba is not None
            np.testing.assert_array_equal(seen.proba[k], answer.proba[0])
        elif k and np.isfinite(answer.var[0]):
            assert seen.pit[k, 0] == seen.pit[k, 1] == answer.cdf([y])[0]
            assert seen.sd[k] == np.sqrt(answer.var[0])
            assert seen.predicted[k] == answer.mean[0]
        else:
            assert np.isnan(seen.pit[k]).all()
        tree.update(row, [y], progress=False)
    assert seen.log_density.sum() == pytest.approx(tree.log_evidence, rel=1e-12)
    if "n_clouds" in options:  # which learned them in one call
        assert tree.log_evidence == pytest.approx(found.tree[0].log_evidence)
    np.testing.assert_array_equal(seen.y, model.endog)


def record(pit: Any, classes: tuple[str, ...] | None = None) -> OneStepAhead:
    n = len(pit)
    nothing = np.zeros(n)
    return OneStepAhead(
        nothing, nothing, nothing, nothing, np.asarray(pit), classes=classes
    )


def test_right_predictions_of_labels_give_uniform_values() -> None:
    """False-fail rate 1e-6 at any seed, by Massart's bound on Kolmogorov's distance."""
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(3), 5000)
    drawn = (p.cumsum(axis=1) < rng.random((5000, 1))).sum(axis=1)
    ends = np.column_stack([np.zeros(5000), p.cumsum(axis=1)])
    rows = np.arange(5000)
    pit = np.column_stack([ends[rows, drawn], ends[rows, drawn + 1]])
    values = np.sort(record(pit, ("a", "b", "c")).pit_values(rng))
    distance = np.abs(values - (rows + 0.5) / 5000).max() + 0.5 / 5000
    assert distance < np.sqrt(np.log(2 / 1e-6) / (2 * 5000))


def test_draws_repeat_by_seed_and_stay_between_their_ends() -> None:
    seen = fit(True).one_step_ahead()
    values = seen.pit_values(1)
    np.testing.assert_array_equal(values, seen.pit_values(1))
    assert (values != seen.pit_values(2)).any()
    assert (seen.pit[:, 0] <= values).all()
    assert (values <= seen.pit[:, 1]).all()


def test_residuals_are_quantiles_and_coverage_counts_them() -> None:
    seen = record([[np.nan] * 2, [0.5] * 2, [0.04] * 2, [0.96] * 2, [0.06] * 2])
    np.testing.assert_allclose(ndtr(seen.quantile_residuals()), seen.pit[:, 1])
    np.testing.assert_array_equal(seen.inside(0.9), [np.nan, 1.0, 0.0, 0.0, 1.0])
    assert seen.coverage(0.9) == 0.5
    assert seen.coverage(0.99) == 1.0
    assert np.isfinite(record([[0.0] * 2, [1.0] * 2]).quantile_residuals()).all()
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\); got 1"):
        seen.inside(1)


def test_shares_of_squares() -> None:
    found = fit()
    y, ahead = found.model.endog, found.one_step_ahead().predicted
    before = np.array([y[:k].mean() for k in range(1, ROWS)])
    share = 1 - ((y - ahead)[1:] ** 2).sum() / ((y[1:] - before) ** 2).sum()
    assert found.rsquared == pytest.approx(share, rel=1e-9)
    now = ((y - np.asarray(found.predict())) ** 2).sum()
    assert found.rsquared_final == pytest.approx(1 - now / (ROWS * y.var()), rel=1e-9)
    shifted = dtf.dynamic_tree(
        "y ~ x", data(False).assign(y=lambda d: d.y * 2**10 + 2.0**20),
        n_particles=20, seed=5,
    ).fit()  # fmt: skip
    assert shifted.rsquared == pytest.approx(found.rsquared, abs=1e-6)
    constant = dtf.dynamic_tree(
        "y ~ x", {"x": [1.0, 2.0], "y": [3.0, 3.0]}, n_particles=5
    )
    assert np.isnan(constant.fit().rsquared)


def test_series_have_the_callers_index() -> None:
    found = fit()
    for name in ("resid", "resid_pearson", "resid_quantile", "fittedvalues"):
        series = getattr(found, name)
        assert list(series.index) == [10 * k for k in range(ROWS)]
        assert np.isnan(series.iloc[0])
    seen = found.one_step_ahead()
    later = seen.is_predicted
    np.testing.assert_allclose(
        found.resid_pearson[later], ((seen.y - seen.predicted) / seen.sd)[later]
    )
    labels = fit(True)
    assert np.isfinite(labels.resid_quantile).all()
    for name in ("resid", "resid_pearson", "rsquared", "rsquared_final"):
        with pytest.raises(ValueError, match=f"{name} needs a response of numbers"):
            getattr(labels, name)


def test_pickles_keep_what_was_said() -> None:
    found = fit()
    before = found.resid
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again._replayed, OneStepAhead)
    pd.testing.assert_series_equal(again.resid, before)


@pytest.mark.parametrize("is_class", [False, True])
def test_six_panels(is_class: bool) -> None:
    pytest.importorskip("matplotlib")
    from dyntree.api import plots

    found = fit(is_class)
    axes = found.plot_diagnostics().axes
    assert len(axes) == 6
    assert sum(bar.get_height() for bar in axes[0].patches[1:]) == pytest.approx(1.0)
    seen = found.one_step_ahead()
    residuals = seen.quantile_residuals()[seen.is_predicted]
    drawn = axes[1].lines[1]
    np.testing.assert_array_equal(drawn.get_ydata(), np.sort(residuals))
    np.testing.assert_array_equal(axes[3].lines[1].get_ydata(), residuals)
    last = axes[4].lines[1].get_ydata()[-1]
    assert last == pytest.approx(seen.inside(0.9)[-10:].mean())
    c = residuals - residuals.mean()
    segments = axes[5].collections[0].get_segments()
    assert segments[0][1][1] == pytest.approx((c[1:] @ c[:-1]) / (c @ c))
    with pytest.raises(ValueError, match="seen must be a OneStepAhead"):
        plots.plot_diagnostics(3)
    with pytest.raises(ValueError, match="2 rows at least that were predicted; got 1"):
        plots.plot_diagnostics(record([[np.nan] * 2, [0.5] * 2]))
