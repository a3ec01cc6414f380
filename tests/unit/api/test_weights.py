"""Weights of rows as formulas, scikit-learn, river and the shell take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedTrees, DynamicTree, StreamingTree, checkpoint, cli
from dyntree.errors import UnseenLevelWarning
from tests.helpers import same_bytes

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def table(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.random(n), "g": rng.choice(["p", "q"], n)})
    data["w"] = rng.choice([0.25, 1.0, 4.0], n)
    data["y"] = np.sin(6 * data.x) + 0.3 * rng.standard_normal(n) / np.sqrt(data.w)
    data["label"] = np.where(data.y > 0.0, "u", "v")
    return data


def formula(text: str = "y ~ x + g", data: Any = None, **options: Any) -> Any:
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    import dyntree.formula.api as dtf

    own = {"n_clouds": 1} | SMALL | options
    return dtf.dynamic_tree(text, table() if data is None else data, **own)


# ------------------------------------------------------------ formulas
def test_a_column_of_weights_is_no_input() -> None:
    data = table().drop(columns="label")
    model = formula("y ~ .", data, weights="w")
    assert model.exog_names == ["x", "g[q]"]
    assert formula("y ~ .", data, freq_weights="w").exog_names == model.exog_names
    assert formula("y ~ x + w", data, weights="w").exog_names == ["x", "w"]
    from dyntree.api.formula import DynamicTreeModel

    arrays = DynamicTreeModel(data.y, data[["x", "w"]], weights="w", **SMALL)
    assert arrays.exog_names == ["x"]


@pytest.mark.parametrize("kind", ["weights", "freq_weights"])
def test_formulas_learn_what_update_does(kind: str) -> None:
    data = table()
    by_name = formula(**{kind: "w"}).fit()
    by_array = formula(**{kind: data.w.to_numpy()}).fit()
    weighting = {"weights": "variance", "freq_weights": "frequency"}[kind]
    features = pd.DataFrame(by_name.model.exog, columns=by_name.exog_names)
    tree = DynamicTree(weighting=weighting, **SMALL).update(features, data.y, data.w)
    assert by_name.llf == by_array.llf == tree.log_evidence
    assert np.nansum(by_name.llf_obs) == pytest.approx(by_name.llf, abs=1e-9)
    if kind == "freq_weights":  # a table is learned whole, in pieces
        data["w"] = np.minimum(data.w, 1.0)
        by_name = by_array = formula(data=data, **{kind: "w"}).fit()
    part = formula(data=data, subset=np.arange(40), **{kind: data.w}).fit()
    rest = part.append(data[40:60], **{kind: "w"})
    rest.append(data[60:], **{kind: data.w[60:]})
    assert (rest.nobs, rest.llf) == (80, by_name.llf)
    row = data.iloc[0].to_dict()
    one = by_name.copy().append(row, **{kind: "w"})
    assert one.llf == by_array.append(row, **{kind: row["w"]}).llf


@pytest.mark.parametrize("kind", ["weights", "freq_weights"])
def test_weights_that_are_named_are_those_of_further_rows(
    kind: str, tmp_path: Path
) -> None:
    import dyntree.formula.api as dtf

    data = table()
    fit = formula(data=data[:50], **{kind: "w"}).fit()
    fit.save(tmp_path / "fit")
    new, row = data[50:], data.iloc[60].to_dict()
    for learn in ("append", "extend", "apply"):
        told = [
            getattr(fit.copy(), learn)(new, **more).llf
            for more in ({}, {kind: "w"}, {kind: new["w"]}, {kind: 1})
        ]
        assert told[0] == told[1] == told[2] != told[3]
    assert dtf.load(tmp_path / "fit").append(new).llf == fit.copy().append(new).llf
    one = fit.copy().append(row)
    assert one.llf == fit.copy().append(row, **{kind: row["w"]}).llf
    with same_bytes(fit.tree):
        for lacks in (new.drop(columns="w"), {"x": 0.5, "g": "p", "y": 1.0}):
            with pytest.raises(ValueError, match=rf"pass {kind}=\.\.\."):
                fit.append(lacks)
    by_value = formula(data=data[:50], **{kind: data.w[:50]}).fit()
    with same_bytes(by_value.tree), pytest.raises(ValueError, match=f"Pass {kind}="):
        by_value.append(new)


@pytest.mark.parametrize("weighting", ["variance", "frequency"])
def test_results_of_the_shell_know_the_column_too(
    weighting: str, tmp_path: Path
) -> None:
    import dyntree.formula.api as dtf

    data, path = table(), tmp_path / "t.csv"
    data.to_csv(path, index=False)
    asked = ["--formula", "y ~ np.sqrt(x)", "--weights", "w", "--quiet",
             "--weighting", weighting, "--particles", 20, "--seed", 1]  # fmt: skip
    assert said("fit", path, *asked, "--out", tmp_path / "m.dyn") == 0
    fit = dtf.load(tmp_path / "m.dyn")
    kind = {"variance": "weights", "frequency": "freq_weights"}[weighting]
    told = fit.copy().append(data, **{kind: "w"})
    assert fit.copy().append(data).llf == told.llf
    assert len(fit.get_prediction(data).summary_frame()) == len(data)
    with pytest.raises(ValueError, match=rf"^{kind} must .* pass {kind}="):
        fit.append(data.drop(columns="w"))


def test_predictions_have_the_weights_of_the_model() -> None:
    """Those of its own rows, and of new ones that have the column; 1 without."""
    data = table().assign(w=lambda one: np.where(one.index < 2, 0.0, one.w))
    fit = formula(data=data, weights="w").fit()
    own = np.where(data.w > 0.0, data.w, 1.0)
    expected = fit.get_prediction(data, weights=own).summary_frame()
    for told in (fit.get_prediction(), fit.get_prediction(data)):
        pd.testing.assert_frame_equal(told.summary_frame(), expected)
    plain = fit.get_prediction(data, weights=1).summary_frame()
    lacks = fit.get_prediction(data.drop(columns="w")).summary_frame()
    pd.testing.assert_frame_equal(lacks, plain)


def test_rows_of_weight_zero_are_foreseen_and_not_learned() -> None:
    data = table()
    data["w"] = np.where(np.arange(80) < 60, data.w, 0.0)
    data.loc[79, "g"], data.loc[78, "y"] = "late", np.nan
    with pytest.warns(UnseenLevelWarning, match="late"):
        model = formula(data=data, weights="w")
    assert (model.nobs, model.exog_names) == (60, ["x", "g[q]"])
    fit = model.fit()
    assert fit.nobs == 60
    assert fit.llf == formula(data=data[:60], weights="w").fit().llf
    assert fit.fittedvalues.notna().sum() == 79  # but for the first
    assert np.all(fit.llf_obs[60:] == 0.0)
    before = fit.llf
    assert fit.append(data[60:], weights=np.r_[1.0, np.zeros(19)]).nobs == 61
    assert fit.llf != before


def test_predictions_by_formula_take_weights() -> None:
    fit, data = formula(weights="w").fit(), table()[:5]
    plain = fit.get_prediction(data, weights=1.0).summary_frame()
    by_name = fit.get_prediction(data).summary_frame()
    for weights in ("w", data.w, data.w.to_numpy()):
        told = fit.get_prediction(data, weights=weights).summary_frame()
        pd.testing.assert_frame_equal(told, by_name)
        pd.testing.assert_series_equal(told["mean"], plain["mean"])
        width, before = (f.obs_ci_upper - f.obs_ci_lower for f in (told, plain))
        assert np.all((width < before) == (data.w > 1.0))
        assert np.all((width > before) == (data.w < 1.0))


def test_files_of_formulas_go_on_with_weights(tmp_path: Path) -> None:
    import dyntree.formula.api as dtf

    data, path = table(), tmp_path / "fit.dyn"
    for kind in ("weights", "freq_weights"):
        fit = formula(data=data[:50], **{kind: "w"}).fit()
        fit.save(path)
        again = dtf.load(path)
        for one in (fit, again):
            one.append(data[50:], **{kind: "w"})
        assert again.llf == fit.llf


def test_append_takes_weights_of_the_same_meaning() -> None:
    data = table()
    for kind, other in (("weights", "freq_weights"), ("freq_weights", "weights")):
        fit = formula(**{kind: "w"}).fit()
        with same_bytes(fit.tree), pytest.raises(ValueError, match=f"give {kind}"):
            fit.append(data, **{other: "w"})
    fit = formula("label ~ x", freq_weights="w").fit()
    with same_bytes(fit.tree), pytest.raises(ValueError, match="labels have none"):
        fit.append(data, weights="w")
    with same_bytes(fit.tree), pytest.raises(ValueError, match="in row 2"):
        fit.append(data[:4], freq_weights=[1.0, 2.0, -3.0, 1.0])


# ------------------------------------------------------------ scikit-learn
def estimators() -> Any:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api import estimators

    return estimators


def small(name: str, **options: Any) -> Any:
    own = {"n_trees": 5} if "Random" in name else {"n_particles": 10, "n_clouds": 2}
    return getattr(estimators(), name)(random_state=1, **own | options)


NAMES = ["DynamicTreeRegressor", "DynamicTreeClassifier", "RandomTreesRegressor",
         "RandomTreesClassifier"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_estimators_give_weights_to_their_model(name: str) -> None:
    data = table()
    X, y = data[["x"]].to_numpy(), data["label" if "Class" in name else "y"].to_numpy()
    whole = small(name).fit(X, y, data.w)
    plain = small(name).fit(X, y)
    assert whole.log_evidence_ != plain.log_evidence_
    assert small(name).fit(X, y, np.ones(80)).log_evidence_ == plain.log_evidence_
    with pytest.raises(ValueError, match="sample_weight must have one value"):
        small(name).fit(X, y, [1.0])
    for spelt in (["1"] * 80, np.array(["1"] * 80), pd.Series(["1"] * 80)):
        with pytest.raises(ValueError, match=r"sample_weight must be numbers; .*'1'"):
            small(name).fit(X, y, spelt)
    more = {"classes": ["u", "v"]} if "Class" in name else {}
    data.w = np.minimum(data.w, 1.0)  # or a table is learned whole, in pieces
    parts = small(name, **{} if "Random" in name else {"n_clouds": 1})
    parts.partial_fit(X[:40], y[:40], sample_weight=data.w[:40], **more)
    parts.partial_fit(X[40:], y[40:], sample_weight=data.w[40:])
    again = small(name, **{} if "Random" in name else {"n_clouds": 1})
    assert parts.log_evidence_ == again.fit(X, y, data.w).log_evidence_
    assert parts.score(X, y, sample_weight=data.w) != parts.score(X, y)


@pytest.mark.parametrize("name", ["DynamicTreeClassifier", "RandomTreesClassifier"])
def test_class_weights_multiply_those_of_rows(name: str) -> None:
    data = table()
    X, y = data[["x"]].to_numpy(), data.label.to_numpy()
    by_class = np.where(y == "u", 3.0, 0.5)
    expected = small(name).fit(X, y, by_class * data.w).log_evidence_
    given = small(name, class_weight={"u": 3.0, "v": 0.5}).fit(X, y, data.w)
    assert given.log_evidence_ == expected
    share = np.mean(y == "u")
    even = np.where(y == "u", 0.5 / share, 0.5 / (1.0 - share))
    balanced = small(name, class_weight="balanced").fit(X, y)
    expected = small(name).fit(X, y, even).log_evidence_
    assert balanced.log_evidence_ == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        balanced.partial_fit(X, y)


def test_regressors_have_a_meaning_of_weights() -> None:
    data = table()
    X, y = data[["x"]].to_numpy(), data.y.to_numpy()
    for name in ("DynamicTreeRegressor", "RandomTreesRegressor"):
        found = [
            small(name, weighting=weighting).fit(X, y, data.w).log_evidence_
            for weighting in (None, "variance", "frequency")
        ]
        assert found[0] == found[1] != found[2]


# ------------------------------------------------------------ river
@pytest.mark.parametrize("kind", ["DynamicTree", "RandomTrees"])
@pytest.mark.parametrize("what", ["Regressor", "Classifier"])
def test_river_learns_rows_with_weights(kind: str, what: str) -> None:
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api import adapters

    data = table()
    own = {"n_trees": 5} if kind == "RandomTrees" else {"n_particles": 10, "window": 30}
    make = getattr(adapters, f"River{kind}{what}")
    y = data.label if what == "Classifier" else data.y
    rows = data[["x", "g"]]
    one, many = make(seed=1, **own), make(seed=1, **own)
    for x, response, w in zip(rows.to_dict("records"), y, data.w, strict=True):
        one.learn_one(x, response, w)
        one.learn_one({"never": 1.0}, response, w=0.0)
    many.learn_many(rows, y, data.w)
    assert one.stream.log_evidence == many.stream.log_evidence
    assert one.stream.n_seen == 80
    assert "never" not in one.stream.feature_names
    plain = make(seed=1, **own)
    plain.learn_many(rows, y)
    assert plain.stream.log_evidence != one.stream.log_evidence
    with same_bytes(one.stream), pytest.raises(ValueError, match="w must be finite"):
        one.learn_one({"x": 0.5}, y[0], w=-1.0)
    with same_bytes(one.stream):
        with pytest.raises(ValueError, match="w must be numbers; got the text '1'"):
            one.learn_one({"x": 0.5}, y[0], w="1")
        with pytest.raises(ValueError, match=r"got the text .1\.0. in"):
            one.learn_many(rows, y, np.full(80, "1.0"))


# ------------------------------------------------------------ shell
def said(*words: Any) -> int:
    return cli.main([str(word) for word in words])


def test_the_shell_takes_a_column_of_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path = table()[["x", "w", "y"]], tmp_path / "t.csv"
    data.loc[::7, "w"] = 0.0
    data.to_csv(path, index=False)
    for weighting in ("variance", "frequency"):
        made = tmp_path / f"{weighting}.dyn"
        asked = ["--formula", "y ~ .", "--weights", "w", "--weighting", weighting]
        asked += ["--particles", 20, "--seed", 1, "--quiet"]
        assert said("fit", path, *asked, "--window", 0, "--out", made) == 0
        trees = AveragedTrees(weighting=weighting, **SMALL)
        trees.update(data[["x"]], data.y, data.w)
        assert checkpoint.load(made).log_evidence == trees.log_evidence
        tree = StreamingTree(weighting=weighting, **SMALL)
        tree.update(data[["x"]], data.y, data.w)
        stream, out = tmp_path / f"{weighting}.s", tmp_path / f"{weighting}.csv"
        asked += ["--window", 500, "--checkpoint", stream, "--out", out]
        assert said("stream", path, *asked) == 0
        assert checkpoint.load(stream).log_evidence == tree.log_evidence
        assert len(pd.read_csv(out)) == 80  # those of weight 0 are predicted
        assert said("stream", path, *asked[:2], *asked[6:], "--resume") == 1
        assert "--resume needs the" in capsys.readouterr().err
        assert said("evaluate", path, *asked[:10], "--start", 20) == 0
        assert "rows predicted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (["--weights", "v"], "must have the columns ['v']", 1),
        (["--weights", "y"], "another column than the response", 2),
        (["--weights", "w", "--rules", "r"], "CRAN dynaTree has no weights", 2),
        (["--weights", "bad"], "must be finite and >= 0; got -1.0 in row 5", 1),
    ],
)
def test_the_shell_refuses_other_weights(
    words: list[str],
    told: str,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data, path = table()[["x", "w", "y"]], tmp_path / "t.csv"
    data["bad"] = np.where(np.arange(80) == 5, -1.0, 1.0)
    data.to_csv(path, index=False)
    given = ["--formula", "y ~ x", "--out", tmp_path / "m.dyn", "--particles", 5]
    assert said("fit", path, *given, *words) == code
    assert told in capsys.readouterr().err


# ------------------------------------------------------------ what errors say
def test_errors_call_weights_as_the_caller_does() -> None:
    """Also where trees below refuse them, which call them sample_weight."""
    data, huge = table(), np.r_[np.ones(79), 1e12]
    for kind in ("weights", "freq_weights"):
        fit = formula(data=data, **{kind: "w"}).fit()
        asks = [
            lambda kind=kind: formula(data=data, **{kind: huge}).fit(),
            lambda fit=fit, kind=kind: fit.append(data, **{kind: huge}),
            lambda fit=fit, kind=kind: fit.extend(data, **{kind: huge}),
            lambda fit=fit, kind=kind: fit.apply(data, **{kind: huge}),
        ]
        for ask in asks:
            with pytest.raises(ValueError, match=rf"^{kind} must be at most"):
                ask()
    with pytest.raises(ValueError, match=r"^weights of a prediction divides"):
        formula(data=data, freq_weights="w").fit().get_prediction(data, weights=2.0)
    weighed = formula(data=data, weights="w").fit()
    with pytest.raises(ValueError, match=r"^weights must be > 0 to predict"):
        weighed.get_prediction(data, weights=0.0)


def test_river_and_single_rows_call_the_weight_as_they_do() -> None:
    from dyntree import StreamingTree

    rng = np.random.default_rng(0)
    X = rng.random((30, 1))
    stream = StreamingTree(window=20, **SMALL).update(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^sample_weight must be at most"):
        stream.learn_row(np.array([[0.5]]), 0.5, 1e12)
    pytest.importorskip("river")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    for options in {}, {"window": 20}:  # an average, and a single stream
        model = RiverDynamicTreeRegressor(n_particles=10, seed=1, **options)
        for x in X[:, 0]:
            model.learn_one({"x": x}, x)
        with pytest.raises(ValueError, match=r"^w must be at most"):
            model.learn_one({"x": 0.5}, 0.5, 1e12)


def test_a_model_without_weights_says_so() -> None:
    plain = formula().fit()
    with pytest.raises(ValueError, match="was made without weights") as caught:
        plain.append(table(5), freq_weights=2.0)
    assert "mixed" not in str(caught.value)
    assert "freq_weights=1" in str(caught.value)
    again = formula(freq_weights=1).fit()  # the remedy
    assert again.append(table(5), freq_weights=2.0).nobs == 85
    assert plain.append(table(5), weights=2.0).nobs == 85
    with pytest.raises(ValueError, match="must not be mixed with weights"):
        formula(weights="w").fit().append(table(5), freq_weights=2.0)


def test_the_response_is_not_its_own_weight() -> None:
    data = table().assign(y=lambda frame: frame.y.abs())
    for kind in ("weights", "freq_weights"):
        for text in ("y ~ x", "np.log1p(y) ~ x"):
            with pytest.raises(ValueError, match=f"{kind} must name another column"):
                formula(text, data, **{kind: "y"})
        fit = formula("y ~ x", data, **{kind: "w"}).fit()
        for ask in (fit.append, fit.extend, fit.apply):
            with pytest.raises(ValueError, match=f"{kind} must name another column"):
                ask(data, **{kind: "y"})
    weighed = formula("y ~ x", data, weights="w").fit()
    with pytest.raises(ValueError, match="weights must name another column"):
        weighed.get_prediction(data, weights="y")


def test_texts_are_no_weights() -> None:
    data = table().assign(text="1", some=[1.0] * 79 + ["2"])
    numbers = np.array(["1"] * 80)
    for kind in ("weights", "freq_weights"):
        for bad, row in ((numbers, 0), ("text", 0), ("some", 79), (["1"] * 80, 0)):
            with pytest.raises(ValueError, match=rf"{kind} must be numbers; .* {row}"):
                formula(data=data, **{kind: bad})
        fit = formula(data=data, **{kind: "w"}).fit()
        with pytest.raises(ValueError, match=f"{kind} must be numbers"):
            fit.append(data.iloc[0].to_dict(), **{kind: "text"})
        with pytest.raises(ValueError, match=f"{kind} must be numbers"):
            fit.append(data, **{kind: "some"})
    whole = formula(data=data.assign(w=data.w.astype(object)), weights="w").fit()
    assert whole.llf == formula(data=data, weights="w").fit().llf
