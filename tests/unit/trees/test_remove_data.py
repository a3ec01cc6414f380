"""Models that let go of their rows: they predict alike, and no file holds a row."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
import dyntree.formula.api as dtf
from dyntree import DynamicTree
from tests.helpers import model_bytes
from tests.property.subjects import TREES, asked

N = 90
FROM_ROWS = {"importance", "active alc", "active random", "ei"}
OF_RANGES = {"relevance", "sensitivity"}


def is_real(y: Any) -> bool:
    """Whether responses are neither labels nor counts."""
    return y.dtype.kind == "f" and bool(np.any(y != np.floor(y)))


def learned_response(name: str) -> tuple[Any, Any, Any]:
    """A model, the rows it learned, and rows to ask about."""
    subject = TREES[name]
    rng = np.random.default_rng(7)
    X, y = subject.rows(rng, N + 20)
    X = X + 1e-4 * rng.random(X.shape)  # values that no constant of a model has
    if is_real(y):
        y = y + 1e-4 * rng.random(len(y))
    model = subject.learned(X[:N], y[:N])
    return model, (X[:N], y[:N]), (X[N:], y[N:])


def found_in(path: Path, values: Any) -> list[float]:
    """Which numbers a saved file holds, as doubles or as text, in any of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = [archive.read(name) for name in archive.namelist()]
    data = b"\n".join([path.read_bytes(), *parts])
    values = np.asarray(values, dtype=np.float64).ravel()
    return [v for v in values if v.tobytes() in data or repr(float(v)).encode() in data]


@pytest.mark.parametrize("name", list(TREES))
def test_a_file_without_data_holds_no_row(name: str, tmp_path: Path) -> None:
    model, (X, y), _ = learned_response(name)
    numbers = np.column_stack([X, y]) if is_real(y) else X
    dyntree.save(model, tmp_path / "whole.dyn")
    assert found_in(tmp_path / "whole.dyn", numbers)  # the search finds what there is
    assert model.remove_data() is model
    dyntree.save(model, tmp_path / "shed.dyn")
    assert found_in(tmp_path / "shed.dyn", numbers) == []


@pytest.mark.parametrize("name", list(TREES))
def test_predictions_stay_and_learning_goes_on(name: str, tmp_path: Path) -> None:
    model, _, (new, labels) = learned_response(name)
    kept = {
        key: question
        for key, question in TREES[name].questions.items()
        if key not in FROM_ROWS | OF_RANGES | {"alc", "stats"}
    }
    before, n_seen = asked(model, new, kept), model.n_seen
    model.remove_data()
    assert (model.n_seen, model.tree.n_active) == (n_seen, 0)
    after = asked(model, new, kept)
    for key, value in before.items():
        np.testing.assert_allclose(after[key], value, rtol=1e-12, atol=0, err_msg=key)
    dyntree.save(model, tmp_path / "m.dyn")
    again = dyntree.load(tmp_path / "m.dyn")
    assert model_bytes(again) == model_bytes(model)
    for one in (model, again):
        one.update(new, labels)
    assert model_bytes(again) == model_bytes(model)
    assert model.tree.n_active > 0
    asked(model, new, TREES[name].questions)  # of the rows that came since


@pytest.mark.parametrize("name", list(TREES))
def test_what_needs_rows_says_that_there_are_none(name: str) -> None:
    model, _, (new, _) = learned_response(name)
    tree = model.remove_data().tree
    label = {"label": tree.classes[0]} if tree.is_classifier else {}
    for call in (
        lambda: tree.importance(),
        lambda: tree.relevance(),
        lambda: tree.sensitivity(**label),
        lambda: tree.sensitivity(method="boot", **label),
    ):
        with pytest.raises(ValueError, match="remove_data dropped all"):
            call()
    ranges = {"bounds": [[0.0, 1.0]] * 3, "categorical": [False] * 3}
    assert np.all(np.isfinite(tree.relevance(**ranges).values))
    tree.sensitivity(n_samples=20, n_grid=3, **ranges, **label)
    if not tree.is_classifier:
        rules: list[tuple[str, dict[str, Any]]] = [
            ("alc", {}),
            ("ei", {"best": "rows"}),
        ]
        for rule, options in rules[: 1 if tree.options.is_count else 2]:
            with pytest.raises(ValueError, match="remove_data dropped all"):
                tree.acquisition(new, rule, **options)
        assert np.all(tree.acquisition(new, "alc", **ranges) > 0.0)


def test_r_rules_keep_their_rows() -> None:
    X = np.random.default_rng(0).random((30, 2))
    tree = DynamicTree(rules="r", n_particles=10, seed=1).update(X, X[:, 0])
    with pytest.raises(ValueError, match="rules='native'"):
        tree.remove_data()


@pytest.mark.parametrize("window", [None, 25, "auto"])
def test_a_formula_fit_sheds_its_rows(window: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.random(60), "z": rng.random(60)})
    data["y"] = 3.0 * data["x"] + 0.1 * rng.standard_normal(60)
    small: dict[str, Any] = {"n_particles": 15, "seed": 1, "window": window}
    fit = dtf.dynamic_tree("y ~ x + z", data, **small).fit()
    fit.save(tmp_path / "whole.dyn")
    assert found_in(tmp_path / "whole.dyn", data["y"])
    before = fit.predict(data[:5])
    with pytest.raises(FileNotFoundError):
        fit.save(tmp_path / "no" / "folder.dyn", remove_data=True)
    assert fit.nobs == 60
    assert fit.model.endog is not None  # nothing was removed by a call that failed
    fit.save(tmp_path / "shed.dyn", remove_data=True)
    assert found_in(tmp_path / "shed.dyn", data) == []
    assert fit.tree.tree.n_active == 0
    for one in (fit, dtf.load(tmp_path / "shed.dyn")):
        pd.testing.assert_series_equal(one.predict(data[:5]), before)
        with pytest.raises(ValueError, match=r"data were removed|loaded from"):
            one.fittedvalues  # noqa: B018
        assert one.append(data[:9]).nobs == 69


@pytest.mark.parametrize("window", [None, 25, "auto"])
def test_a_summary_needs_no_rows(window: Any) -> None:
    pytest.importorskip("statsmodels", reason="needs statsmodels: dyntree[formula]")
    data = pd.DataFrame({"x": np.linspace(0.0, 1.0, 40)}).assign(y=lambda d: d["x"])
    small: dict[str, Any] = {"n_particles": 15, "seed": 1, "window": window}
    fit = dtf.dynamic_tree("y ~ x", data, **small).fit()
    assert "importance" in str(fit.summary())
    fit.remove_data()
    assert "Dynamic Tree Results" in str(fit.summary())
    assert "importance" not in str(fit.summary())
    assert "importance" in str(fit.append(data).summary())
