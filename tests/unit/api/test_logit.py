"""Logistic leaves by way of estimators, adapters, formulas and the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree.cli import main
from tests.unit.models import refused, slopes


def test_a_classifier_of_scikit_learn_has_logistic_leaves() -> None:
    """With its weights of classes and options of regressions."""
    pytest.importorskip("sklearn")
    from dyntree.api.estimators import DynamicTreeClassifier

    X, y = slopes(200)
    own: dict[str, Any] = {"n_particles": 20, "random_state": 1}
    tree = DynamicTreeClassifier(model="logit", **own).fit(X, y)
    assert tree.model_.options.model == "logit"
    np.testing.assert_allclose(tree.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    balanced = DynamicTreeClassifier(
        model="logit", class_weight={"yes": 3, "no": 1}, n_basis=2, **own
    ).fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > tree.predict_proba(X)[:, 1].mean()
    with refused("model", "'linear'"):
        DynamicTreeClassifier(model="linear", **own).fit(X, y)
    with refused("classes", "[0, 1, 2]"):
        DynamicTreeClassifier(model="logit", **own).fit(X, np.arange(200) % 3)
    for several in ({"n_clouds": 3}, {"window": "auto"}):
        with refused("model", "one cloud of trees"):
            DynamicTreeClassifier(model="logit", **several).fit(X, y)


def test_a_classifier_of_river_has_logistic_leaves() -> None:
    pytest.importorskip("river")
    from dyntree.api.adapters import RiverDynamicTreeClassifier

    X, y = slopes(80)
    tree = RiverDynamicTreeClassifier(
        model="logit", window=40, n_particles=20, seed=1
    )  # fmt: skip
    for x, label in zip(X, y, strict=True):
        tree.learn_one(
            {name: float(v) for name, v in zip("abc", x, strict=True)}, str(label)
        )
    proba = tree.predict_proba_one({"a": 1.0, "b": 2.0, "c": 0.0})
    assert set(proba) == {"yes", "no"}
    assert proba["yes"] > 0.5
    with refused("y", "'maybe'"):
        tree.learn_one({"a": 0.0, "b": 0.0, "c": 0.0}, "maybe")


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
@pytest.mark.parametrize("options", [{}, {"window": 100}], ids=repr)
def test_formulas_fit_logistic_leaves(options: dict[str, Any]) -> None:
    """With factors, a summary, predictions and comparisons."""
    pd = pytest.importorskip("pandas")
    import dyntree.formula.api as dtf

    X, y = slopes(200)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["y"], frame["g"] = y, np.where(X[:, 2] > 0, "u", "v")
    found = dtf.dynamic_tree(
        "y ~ a + b + g", frame, model="logit", n_particles=20, seed=1, **options
    ).fit()
    assert "logistic leaves" in str(found.summary())
    assert set(found.predict(frame)) == {"yes", "no"}
    effects = found.avg_comparisons()
    assert np.isfinite(effects["estimate"]).all()


def test_the_shell_fits_logistic_leaves(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    X, y = slopes(200)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["y"] = y
    frame.to_csv(tmp_path / "rows.csv", index=False)
    arguments = [
        "fit", str(tmp_path / "rows.csv"), "--formula", "y ~ a + b", "--model", "logit",
        "--particles", "20", "--seed", "1", "--out", str(tmp_path / "model.dyn"),
    ]  # fmt: skip
    assert main(arguments) == 0
    model = dyntree.load(tmp_path / "model.dyn")
    assert model.options.model == "logit"
