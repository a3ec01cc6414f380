"""scikit-learn's estimators: its own checks, its tools, and what the model says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from dyntree import AveragedStream, AveragedTrees
from dyntree.api.estimators import (
    DynamicTreeClassifier,
    DynamicTreeRegressor,
)
from dyntree.errors import DegenerateTreesWarning, NotReadyError
from dyntree.trees.factory import make_tree
from tests.helpers import model_bytes
from tests.unit.models import data, refused

Estimator = DynamicTreeRegressor | DynamicTreeClassifier

ESTIMATORS: dict[str, Estimator] = {
    "constant": DynamicTreeRegressor(n_particles=20, random_state=1),
    "linear": DynamicTreeRegressor("linear", n_particles=20, random_state=1),
    "class": DynamicTreeClassifier(n_particles=20, random_state=1),
    "linear stream": DynamicTreeRegressor(
        "linear", window=25, drift=True, n_particles=20, random_state=1
    ),
    "class stream": DynamicTreeClassifier(
        window=25, discard="entropy", n_particles=20, random_state=1
    ),
    "linear auto stream": DynamicTreeRegressor(
        "linear", window="auto", n_particles=10, random_state=1
    ),
    "class auto stream": DynamicTreeClassifier(
        window="auto", n_particles=10, random_state=1, n_jobs=2
    ),
}


def rows(name: str, n: int = 60) -> tuple[np.ndarray, Any]:
    """Rows for the estimator of that name."""
    return data(name.split()[0], n)


def fitted(name: str, **changes: Any) -> Any:
    return clone(ESTIMATORS[name]).set_params(**changes).fit(*rows(name))


def answers(estimator: Any, X: Any) -> np.ndarray:
    if isinstance(estimator, DynamicTreeClassifier):
        return estimator.predict_proba(X)
    return np.column_stack(estimator.predict(X, return_std=True))


# ---------------------------------------------------------------- scikit-learn's view
@pytest.mark.parametrize("name", ESTIMATORS)
def test_tags(name: str) -> None:
    tags = get_tags(ESTIMATORS[name])
    kind = "classifier" if name.startswith("class") else "regressor"
    assert tags.estimator_type == kind
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert tags.target_tags.required
    assert not tags.target_tags.multi_output
    assert not tags.non_deterministic


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_tools_of_model_selection(name: str) -> None:
    X, y = rows(name)
    line = make_pipeline(StandardScaler(), clone(ESTIMATORS[name]))
    step = line.steps[-1][0]
    search = GridSearchCV(line, {f"{step}__min_leaf": [8, 20]}, cv=3).fit(X, y)
    assert search.best_params_[f"{step}__min_leaf"] in (8, 20)
    assert search.best_estimator_[-1].model_.n_seen == 60
    assert cross_val_predict(line, X, y, cv=3).shape == (60,)
    assert cross_val_score(line, X, y, cv=3).mean() > 0.5


def test_probabilities_across_folds() -> None:
    X, y = rows("class")
    told = cross_val_predict(ESTIMATORS["class"], X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(told.sum(axis=1), 1.0)
    assert told.shape == (60, 3)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_are_stored_unchanged(name: str) -> None:
    estimator = ESTIMATORS[name]
    prior = (0.5, 1.0)
    twin = clone(estimator).set_params(tree_prior=prior, random_state=np.random)
    assert twin.tree_prior is prior
    assert twin.random_state is np.random
    assert repr(clone(estimator)) == repr(estimator)
    assert vars(estimator).keys() == estimator.get_params().keys()


# ---------------------------------------------------------------- the model within
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_is_the_models_own(name: str) -> None:
    X, y = rows(name)
    estimator = fitted(name)
    options = {"model": "class", "classes": ["a", "b", "c"]}
    options |= estimator.get_params()
    options["seed"] = options.pop("random_state")
    options["n_clouds"] = 1 if name.endswith("stream") else 10
    del options["n_jobs"]
    options.pop("class_weight", None)
    if not name.startswith("class"):
        del options["classes"]
    model = make_tree(options).update(X, y)
    assert model_bytes(estimator.model_) == model_bytes(model)
    told = model.predict(X)
    if name.startswith("class"):
        assert np.array_equal(estimator.predict_proba(X), told.proba)
        assert np.array_equal(estimator.predict(X), told.label)
        assert estimator.classes_.tolist() == ["a", "b", "c"]
    else:
        mean, std = estimator.predict(X, return_std=True)
        assert np.array_equal(mean, told.mean)
        assert np.array_equal(std, np.sqrt(told.var))
        assert np.array_equal(estimator.predict_quantiles(X, 0.5), told.quantile(0.5))
        assert estimator.predict_quantiles(X).shape == (60, 3)
    assert estimator.log_evidence_ == model.log_evidence
    assert estimator.predict(X).flags.writeable


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parts_in_turn_are_the_whole(name: str) -> None:
    X, y = rows(name)
    one = {} if name.endswith("stream") else {"n_clouds": 1}  # others shuffle a part
    whole = fitted(name, **one)
    parts = clone(ESTIMATORS[name]).set_params(**one)
    more = {"classes": ["c", "a", "b"]} if name.startswith("class") else {}
    for part in np.split(np.arange(60), [1, 4, 30]):
        parts.partial_fit(X[part], y[part], **more)
    assert model_bytes(parts.model_) == model_bytes(whole.model_)


def test_tables_are_averaged_over_clouds_and_streams_over_windows() -> None:
    X, y = data("constant", 60)
    table = DynamicTreeRegressor(random_state=1).fit(X, y).model_
    assert isinstance(table, AveragedTrees)
    assert (len(table), table.options.n_particles) == (10, 100)
    single = DynamicTreeRegressor(random_state=1, n_clouds=1).fit(X, y).model_
    assert (type(single).__name__, single.options.n_particles) == ("DynamicTree", 1000)
    stream = DynamicTreeRegressor(random_state=1, window="auto").fit(X, y).model_
    assert isinstance(stream, AveragedStream)
    jobs = DynamicTreeRegressor(random_state=1, n_jobs=-1).fit(X, y)
    assert model_bytes(jobs.model_) == model_bytes(table)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_forgets_and_a_partial_fit_goes_on(name: str) -> None:
    X, y = rows(name)
    estimator = fitted(name)
    estimator.partial_fit(X[:10], y[:10])
    assert estimator.model_.n_seen == 70
    estimator.fit(X, y)
    assert model_bytes(estimator.model_) == model_bytes(fitted(name).model_)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_missing_values_are_taken(name: str) -> None:
    X, y = rows(name)
    X[::3, 1] = np.nan
    estimator = clone(ESTIMATORS[name]).fit(X, y)
    assert np.isfinite(answers(estimator, X)[:, 0]).all()
    assert estimator.score(X, y) > 0.5


@pytest.mark.parametrize("name", ESTIMATORS)
def test_importances_are_shares(name: str) -> None:
    X, y = rows(name, 120)
    X = np.column_stack([X[:, 0], np.full(120, 2.0)])
    estimator = clone(ESTIMATORS[name]).fit(X, y)
    assert estimator.feature_importances_.tolist() == [1.0, 0.0]
    estimator.fit(X[:1], y[:1])
    assert estimator.feature_importances_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_draws(name: str) -> None:
    X = rows(name)[0]
    estimator = fitted(name)
    draws = estimator.sample_y(X, 7, random_state=3)
    assert draws.shape == (60, 7)
    assert np.array_equal(draws, estimator.sample_y(X, 7, random_state=3))
    assert estimator.sample_y(X).shape == (60, 1)
    if name.startswith("class"):
        assert draws.dtype == estimator.classes_.dtype
        assert set(draws.ravel()) <= set(estimator.classes_)
    with refused("n_samples", "0", estimator.model_):
        estimator.sample_y(X, 0)
    with refused("random_state", "'dice'", estimator.model_):
        estimator.sample_y(X, random_state="dice")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_samples_and_draws_are_joint(name: str) -> None:
    """Two draws at one row share their tree and its parameters, but not the noise.

    For labels it is the probabilities that they share. A correlation of 2000
    independent pairs is above .1 with a probability below 1e-5.
    """
    estimator = fitted(name)
    row = np.repeat(rows(name)[0][:1], 2, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateTreesWarning)
        mean = estimator.posterior_draws(row, 50, seed=1)
        none = estimator.compute_contrast(row[:1], row[1:], 50, seed=1)
        new = estimator.posterior_draws(row, 50, "obs", seed=1)
    np.testing.assert_array_equal(mean.values[:, 0], mean.values[:, 1])
    assert not none.values.any()
    samples = estimator.sample_y(row, 2000, random_state=1)
    if name.startswith("class"):
        assert new.values.dtype == estimator.classes_.dtype
        proba = estimator.posterior_draws(rows(name)[0], 2000, seed=1).mean()
        np.testing.assert_allclose(
            proba, estimator.predict_proba(rows(name)[0]), atol=0.05
        )
    else:
        assert (samples[0] != samples[1]).all()
        X, y = rows(name)
        few = clone(ESTIMATORS[name]).fit(X[:12], y[:12])  # so that little is known
        drawn = few.sample_y(row, 2000, random_state=1)
        ranks = drawn.argsort(axis=1).argsort(axis=1)
        assert np.corrcoef(ranks)[0, 1] > 0.1


def test_samples_are_drawn_before_there_are_trees() -> None:
    X, y = rows("constant")
    few = clone(ESTIMATORS["constant"]).fit(X[:3], y[:3])
    assert few.sample_y(X, 4, random_state=1).shape == (60, 4)
    with pytest.raises(NotReadyError, match="posterior_draws"):
        few.posterior_draws(X)


def test_quantiles_hold_what_they_promise() -> None:
    """A 90 % interval of 1000 fresh rows misses .9 by 6 standard errors at most."""
    rng = np.random.default_rng(5)
    X = rng.random((2000, 1))
    y = 3.0 * (X[:, 0] > 0.5) + rng.normal(size=2000)
    tree = DynamicTreeRegressor(n_particles=200, random_state=1).fit(X[:1000], y[:1000])
    low, high = tree.predict_quantiles(X[1000:], [0.05, 0.95]).T
    inside = np.mean((low < y[1000:]) & (y[1000:] < high))
    assert abs(inside - 0.9) < 6 * np.sqrt(0.09 / 1000)


@pytest.mark.usefixtures("drawn_seeds")
def test_random_states() -> None:
    X, y = rows("constant")

    def seed(random_state: Any) -> int:
        return fitted("constant", random_state=random_state).model_.seed

    assert seed(7) == seed(np.int64(7)) == 7
    for kind in (np.random.RandomState, np.random.default_rng):
        assert seed(kind(3)) == seed(kind(3)) != seed(kind(4))
    assert seed(None) != seed(None)
    generator = np.random.RandomState(3)
    one = clone(ESTIMATORS["constant"]).set_params(random_state=generator).fit(X, y)
    first = one.model_.seed
    assert one.fit(X, y).model_.seed != first


# ---------------------------------------------------------------- refusals
def test_classes_are_named_first_and_stay() -> None:
    X, y = rows("class")
    estimator = clone(ESTIMATORS["class"])
    with refused("classes", "None"):
        estimator.partial_fit(X, y)
    with refused("y", "'b'"):
        estimator.partial_fit(X, y, classes=["a", "c"])
    estimator.partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert estimator.predict_proba(X).shape == (60, 4)
    with refused("classes", "['a', 'z']", estimator.model_):
        estimator.partial_fit(X, y, classes=["a", "z"])
    with refused("y", "'z'", estimator.model_):
        estimator.partial_fit(X[:1], ["z"])
    assert estimator.partial_fit(X[:1], ["a"]).model_.n_seen == 61


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_is_told_before_a_fit(name: str) -> None:
    estimator = clone(ESTIMATORS[name])
    for ask in (estimator.predict, estimator.sample_y):
        with pytest.raises(NotFittedError):
            ask([[0.5, 0.5]])
    assert not hasattr(estimator, "feature_importances_")
    assert not hasattr(estimator, "log_evidence_")


@pytest.mark.parametrize("kind", [DynamicTreeRegressor, DynamicTreeClassifier])
def test_plain_rows_are_taken_as_checked_ones_are(kind: Any) -> None:
    """Arrays that need no check, and the same rows as lists, which get them all."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = X[:, 0] if kind is DynamicTreeRegressor else X[:, 0] > 0.5
    short, full = (kind(n_particles=20, random_state=1).fit(X, y) for _ in range(2))
    for k in range(len(X)):
        row = slice(k, k + 1)
        short.partial_fit(X[row], y[row])
        full.partial_fit(X[row].tolist(), y[row].tolist())
    assert model_bytes(short.model_) == model_bytes(full.model_)
    np.testing.assert_array_equal(short.predict(X[:3]), full.predict(X[:3].tolist()))
    before, bad = model_bytes(short.model_), X.copy()
    bad[1, 0] = np.inf
    for rows, told in (
        (bad, "X contains infinity"), (X[:, :1], "X has 1 features"),
        (X[:0], "0 sample"), (X[0], "Expected 2D array"), (X * 1e200, "X must be at"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=told):
            short.partial_fit(rows, y[: len(rows)])
        with pytest.raises(ValueError, match=told):
            short.predict(rows)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        short.partial_fit(X, y[:5])
    with pytest.raises(ValueError, match=r"y contains NaN|y must be finite"):
        short.partial_fit(X, np.where(X[:, 0] > 0.9, np.nan, y.astype(float)))
    assert model_bytes(short.model_) == before


# ---------------------------------------------------------------- frames with levels
def sites(n: int = 300) -> tuple[Any, np.ndarray]:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(n), "k": rng.choice(["u", "v"], n)})
    return frame, (3 * frame["a"] + 2 * (frame["k"] == "u")).to_numpy()


@pytest.mark.parametrize("kind", [str, "category", object])
def test_frames_of_strings(kind: Any) -> None:
    frame, y = sites()
    frame = frame.astype({"k": kind})
    model = DynamicTreeRegressor("linear", n_particles=100, random_state=1)
    assert model.fit(frame, y).score(frame, y) > 0.95
    assert model.feature_names_in_.tolist() == ["a", "k"]
    assert model.feature_importances_.shape == (model.n_features_in_,)
    model.partial_fit(frame[:10], y[:10])
    core = model.model_.predict(frame[:5]).mean
    assert model.predict(frame[:5]).tolist() == core.tolist()
    before = model.predict(frame[:5])
    for wrong, told in (
        (frame[["a"]], "feature names"),
        (frame[["k", "a"]], "feature names"),
    ):
        with pytest.raises(ValueError, match=told):
            model.partial_fit(wrong, y)
    assert model.predict(frame[:5]).tolist() == before.tolist()


def test_labels_of_frames_of_strings() -> None:
    frame, y = sites()
    label = np.where(y > 2, "high", "low")
    model = DynamicTreeClassifier(n_particles=100, random_state=1).fit(frame, label)
    assert model.score(frame, label) > 0.95
    assert model.predict_proba(frame[:3]).shape == (3, 2)


@pytest.mark.parametrize("window", [None, 30])
def test_levels_may_come_late(window: int | None) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    site = np.array([*"uvw"])[np.minimum(rng.integers(3, size=90), np.arange(90) // 30)]
    X = pd.DataFrame({"site": site, "x": rng.random(90)})
    y = 3.0 * (site == "w") + 0.1 * rng.standard_normal(90)
    options: dict[str, Any] = {"n_particles": 50, "window": window, "random_state": 1}
    options["n_clouds"] = 1
    whole = DynamicTreeRegressor("constant", **options).fit(X, y)
    parts = DynamicTreeRegressor("constant", **options)
    for first in range(0, 90, 9):
        parts.partial_fit(X[first : first + 9], y[first : first + 9])
    assert parts.predict(X).tolist() == whole.predict(X).tolist()
    assert len(whole.feature_importances_) == whole.n_features_in_ == 2
    assert whole.feature_importances_[0] > 0.5
    strict = DynamicTreeRegressor(new_levels="error", **options).fit(X[:60], y[:60])
    with refused("X", "'w' in row"):
        strict.partial_fit(X[60:], y[60:])
    labels = np.where(y > 1.5, "high", "low")
    told = DynamicTreeClassifier(**options).fit(X, labels)
    assert np.mean(told.predict(X) == labels) > 0.9
