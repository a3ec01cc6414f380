"""Fits beside one another, and fits that learn further rows or other ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
import pandas as pd

import dyntree.formula.api as dtf
from dyntree import AveragedTrees
from dyntree.encoding.tables import table_of
from dyntree.errors import UnseenLevelWarning
from dyntree.evaluate import class_scores, real_scores
from dyntree.runtime.seeds import spawned
from tests.unit.api.frames import WAYS


def frame(n: int = 60, seed: int = 3, levels: str = "uv") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, g = rng.random(n), np.resize(list(levels), n)
    y = 4 * x + (g == "u") + rng.normal(size=n)
    return pd.DataFrame({"x": x, "g": g, "y": y, "z": rng.random(n)})


def fit(formula: str = "y ~ x + g", data: Any = None, **options: Any) -> Any:
    data = frame() if data is None else data
    return dtf.dynamic_tree(formula, data, n_particles=20, seed=5, **options).fit()


def test_evidence_is_that_of_fits_in_shared_orders() -> None:
    fits = {"both": fit(), "noise": fit("y ~ z", model="linear")}
    table = dtf.compare(fits, n_repeats=3, seed=7)
    evidence: dict[str, Any] = {name: [] for name in fits}
    for k, seed in enumerate(spawned(7, 3)):
        order = np.random.default_rng(seed).permutation(60) if k else np.arange(60)
        for name, one in fits.items():
            tree = one.model.unlearned("test").reseeded(seed)
            tree.update(one.model.exog[order], one.model.endog[order], progress=False)
            evidence[name].append(tree.log_evidence)
    assert list(table.index) == ["both", "noise"]
    for name, values in evidence.items():
        row, gap = table.loc[name], np.subtract(values, evidence["both"])
        assert row.log_evidence == pytest.approx(np.mean(values))
        assert row.log_evidence_sd == pytest.approx(np.std(values, ddof=1))
        assert row.log_evidence_se == pytest.approx(row.log_evidence_sd / 3**0.5)
        assert row.log_bayes_factor == pytest.approx(gap.mean())
        assert row.log_bayes_factor_se == pytest.approx(gap.std(ddof=1) / 3**0.5)
        seen = fits[name].one_step_ahead()
        assert row.log_density == pytest.approx(seen.log_density[10:].mean())
        assert row.coverage == seen.coverage(0.9)
        assert row.leaves == fits[name].inner.stats().n_leaves
    pd.testing.assert_frame_equal(
        table, dtf.compare(fits, n_repeats=3, seed=7, threads=2)
    )


def test_the_order_of_a_stream_is_its_own() -> None:
    fits = [fit(), fit(window=20)]
    table = dtf.compare(fits, n_repeats=2, seed=7)
    seed = spawned(7, 2)[1]
    tree = fits[1].model.unlearned("test").reseeded(seed)
    tree.update(fits[1].model.exog, fits[1].model.endog, progress=False)
    first = fits[1].model.unlearned("test").reseeded(spawned(7, 2)[0])
    first.update(fits[1].model.exog, fits[1].model.endog, progress=False)
    mean = (tree.log_evidence + first.log_evidence) / 2
    assert table.loc[1].log_evidence == pytest.approx(mean)


def test_fits_that_cannot_be_compared(tmp_path: Any) -> None:
    one = fit()
    with pytest.raises(ValueError, match="fits must hold one fit at least"):
        dtf.compare({})
    with pytest.raises(ValueError, match="fits must be results of formulas; got 3"):
        dtf.compare({"a": one, "b": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="n_repeats must be an int >= 2; got 1"):
        dtf.compare([one], n_repeats=1)
    other = fit("y ~ x", frame(seed=4))
    with pytest.raises(ValueError, match="'b' differ from those of 'a'"):
        dtf.compare({"a": one, "b": other})
    one.save(tmp_path / "fit")
    with pytest.raises(ValueError, match="fits must have data; 0 has none"):
        dtf.compare([dtf.load(tmp_path / "fit")])


@pytest.mark.parametrize("is_class", [False, True])
def test_folds_are_scored_by_fits_to_the_others(is_class: bool) -> None:
    data = frame(50).assign(label=lambda d: np.where(d.y > 2.5, "up", "down"))
    formula = f"{'label' if is_class else 'y'} ~ scale(x) + g"
    found = dtf.cross_val(formula, data, n_folds=3, n_particles=20, seed=2)
    assert found.index.name == "fold"
    assert found["n_rows"].sum() == 50
    held = []
    y = data["label" if is_class else "y"].to_numpy()
    from dyntree.api.comparing import _folds

    fold = _folds(y, 3, is_class, 2)
    for k in range(3):
        one = dtf.dynamic_tree(
            formula, data[fold != k], n_particles=20, seed=2
        ).fit()  # fmt: skip
        answer = one.get_prediction(data[fold == k]).distribution
        if is_class:
            codes = np.array([answer.classes.index(v) for v in y[fold == k]])
            density = np.log(answer.proba[np.arange(len(codes)), codes])
            scores: Any = class_scores(codes, answer.proba, density)
        else:
            own = y[fold == k]
            scores = real_scores(
                own, answer.mean, answer.log_density(own),
                answer.quantile([0.05, 0.95]), 0.9,
            )  # fmt: skip
        held.append(scores)
        for name, value in vars(scores).items():
            assert found.loc[k, name] == pytest.approx(value), name
    if is_class:
        shares = [np.mean(y[fold == k] == "up") for k in range(3)]
        assert np.ptp(shares) < 0.08
    pd.testing.assert_frame_equal(
        found,
        dtf.cross_val(formula, data, n_folds=3, n_particles=20, seed=2, threads=2),
    )


def test_rows_left_out_are_in_no_fold() -> None:
    data = frame(30)
    data.loc[[3, 8], "x"] = np.nan
    found = dtf.cross_val(
        "y ~ x", data, n_folds=2, missing="drop", n_particles=10,
        subset=np.arange(30) < 20,
    )  # fmt: skip
    assert found["n_rows"].sum() == 18
    with pytest.raises(ValueError, match="n_folds must be at most the number of rows"):
        dtf.cross_val("y ~ x", data[:4], n_folds=5)
    with pytest.raises(ValueError, match="n_folds must be an int >= 2"):
        dtf.cross_val("y ~ x", data, n_folds=1)


def test_labels_and_levels_that_one_fold_has_alone() -> None:
    data = frame(30).assign(label="a")
    data.loc[4, "label"], data.loc[7, "g"] = "b", "w"
    with pytest.warns(UnseenLevelWarning, match="the level 'w'"):
        found = dtf.cross_val("label ~ x + g", data, n_folds=3, n_particles=10)
    assert found["n_new_labels"].sum() == 1


def in_order(found: Any) -> Any:
    """The trees of a fit that learned the rows in their order."""
    return found.tree[0] if isinstance(found.tree, AveragedTrees) else found.tree


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_extended_results_have_the_further_rows(options: dict[str, Any]) -> None:
    first, later = frame(40), frame(15, seed=9)
    whole = fit(data=pd.concat([first, later], ignore_index=True), **options)
    one = fit(data=first, **options)
    before = one.llf
    more = one.extend(later)
    assert (one.nobs, more.nobs, one.llf) == (40, 55, before)
    assert in_order(more).log_evidence == pytest.approx(
        in_order(whole).log_evidence, rel=1e-12
    )
    np.testing.assert_allclose(more.resid, whole.resid[40:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(more.llf_obs, whole.llf_obs[40:], atol=1e-9)
    copied = one.append(later, copy=True)
    assert (one.nobs, copied.nobs) == (40, 55)
    assert copied.llf == more.llf
    assert list(copied.model.endog) == list(first.y)


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_rows_that_bring_levels_are_told_as_they_came(options: dict[str, Any]) -> None:
    later = frame(12, seed=9, levels="uvw")
    one = fit(**options)
    more = one.extend(later)
    assert "g[w]" in more.exog_names
    assert "g[w]" not in one.exog_names
    seen, step = more.one_step_ahead(), one.copy()
    for k in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)
            rows = step.design.encode(table_of(later[k : k + 1]))
        assert seen.predicted[k] == in_order(step).predict(rows).mean[0]
        step.append(later[k : k + 1])
    assert in_order(more).log_evidence == pytest.approx(
        in_order(step).log_evidence, rel=1e-12
    )
    assert more.copy().nobs == 72


def test_the_same_model_of_other_rows() -> None:
    other = frame(30, seed=11, levels="uvw")
    one = fit("y ~ scale(x) + g")
    found = one.apply(other)
    assert found.nobs == 30
    assert one.nobs == 60
    assert found.model.exog_names == [*one.model.exog_names, "g[w]"]
    centre, spread = frame().x.mean(), frame().x.std(ddof=1)
    np.testing.assert_allclose(found.model.exog[:, 0], (other.x - centre) / spread)
    again = one.apply(other)
    assert again.llf == found.llf
    assert found.fittedvalues.shape == (30,)
    with pytest.raises(ValueError, match="at least one complete row"):
        one.apply(other[:0])


def test_apply_and_extend_of_a_file(tmp_path: Any) -> None:
    fit().save(tmp_path / "fit")
    loaded = dtf.load(tmp_path / "fit")
    more = loaded.extend(frame(5, seed=9))
    assert more.resid.shape == (5,)
    with pytest.raises(ValueError, match="apply needs a model with data"):
        loaded.apply(frame(5))
    arrays = dtf.DynamicTreeModel(frame().y, frame()[["x"]], n_particles=10).fit()
    assert arrays.extend(frame(5).y, frame(5)[["x"]]).resid.shape == (5,)
    with pytest.raises(ValueError, match="exog must be None"):
        fit().extend(frame(5).y, frame(5)[["x"]])
