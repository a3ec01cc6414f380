"""river's adapters: its own checks, its tools, late columns and labels, refusals."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed: dyntree[river]")

from river import compose, datasets, evaluate, metrics, preprocessing

from dyntree import StreamingTree
from dyntree.api.adapters import (
    RiverChangeAlarm,
    RiverDPGMMClusterer,
    RiverDynamicTreeClassifier,
    RiverDynamicTreeRegressor,
    RiverKeyedClassifier,
    RiverKeyedRegressor,
    RiverRandomTreesRegressor,
)
from dyntree.encoding import growing_map
from dyntree.errors import (
    DistantInputsWarning,
    ManyLevelsWarning,
    MissingInputWarning,
    UnseenLevelWarning,
)
from dyntree.trees.learning import growth
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import Pressed, data, refused

Adapter = RiverDynamicTreeRegressor | RiverDynamicTreeClassifier

KINDS = (RiverDynamicTreeRegressor, RiverDynamicTreeClassifier)
SMALL: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant"},
    "linear": {"model": "linear"},
    "class": {},
}


def fresh(name: str, **changes: Any) -> Any:
    kind = KINDS[name == "class"]
    options = {"window": 25, "n_particles": 20, "seed": 1} | SMALL[name] | changes
    return kind(**options)


def stream_of(name: str, **changes: Any) -> StreamingTree:
    """The model that an adapter of that name should have within."""
    options = {"window": 25, "n_particles": 20, "seed": 1} | changes
    return StreamingTree(name, **options)


def dicts(X: np.ndarray) -> list[dict[str, float]]:
    """Rows with columns p and q, those missing left out."""
    return [
        {name: value for name, value in zip("pq", row, strict=True) if value == value}
        for row in X.tolist()
    ]


def learned(name: str, X: np.ndarray, y: Any, **changes: Any) -> Any:
    model = fresh(name, **changes)
    for x, response in zip(dicts(X), y.tolist(), strict=True):
        model.learn_one(x, response)
    return model


def state(model: Any) -> tuple[Any, ...]:
    """All that an adapter is."""
    return model_bytes(model.stream), repr(model._columns)


# ---------------------------------------------------------------- river's view
def test_a_pipeline_of_rivers() -> None:
    line = preprocessing.StandardScaler() | RiverDynamicTreeRegressor(
        "linear", window=100, n_particles=50, seed=1
    )
    error = evaluate.progressive_val_score(
        datasets.TrumpApproval().take(300), line, metrics.MAE()
    )
    assert error.get() < 1.0  # the response's own mean absolute deviation is above 2


def test_a_classifier_among_rivers() -> None:
    model = RiverDynamicTreeClassifier(window=200, n_particles=50, seed=1)
    line = compose.Pipeline(preprocessing.MinMaxScaler(), model)
    score = evaluate.progressive_val_score(
        datasets.Phishing().take(600), line, metrics.Accuracy()
    )
    assert score.get() > 0.8


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("n", [0, 5, 50])
def test_pickles_go_on_alike(name: str, n: int) -> None:
    X, y = data(name, 80)
    rows = [{**x, "late": x["p"]} for x in dicts(X[n:])]
    model = learned(name, X[:n], y[:n])
    for x, response in zip(rows, y[n:].tolist(), strict=True):
        other = pickle.loads(pickle.dumps(model))
        for one in (model, other):
            one.learn_one(x, response)
    assert state(other) == state(model)


@pytest.mark.parametrize("name", SMALL)
def test_a_clone_begins_anew(name: str) -> None:
    model = learned(name, *data(name))
    assert state(model.clone()) == state(fresh(name))
    kept = model.clone(include_attributes=True)
    assert state(kept) == state(model)
    kept.learn_one({"p": 0.5}, data(name)[1][0].item())
    assert model.stream.n_seen == 60


# ---------------------------------------------------------------- the model within
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "changes", [{}, {"drift": True}, {"discard": "random", "rejuvenate_every": 7}]
)
def test_rows_one_by_one_are_the_models_own(name: str, changes: Any) -> None:
    X, y = data(name, 80)
    X[::5, 1] = np.nan
    X[0] = 0.5
    if name == "class":
        y[:2] = ["a", "b"]
    model = learned(name, X, y, **changes)
    other = stream_of(name, **changes)
    for row in range(80):
        other.update(X[row : row + 1], y[row : row + 1])
    assert model_bytes(model.stream.state.cloud) == model_bytes(other.tree.state.cloud)
    told = other.predict(X)
    for row, x in enumerate(dicts(X)):
        if name == "class":
            proba = dict(zip(told.classes, told.proba[row].tolist(), strict=True))
            assert model.predict_proba_one(x) == proba
            assert model.predict_one(x) == told.label[row]
        else:
            assert model.predict_one(x) == told.mean[row]


@pytest.mark.parametrize("name", SMALL)
def test_many_rows_are_told_and_learned_as_one_by_one(name: str) -> None:
    import pandas as pd

    X, y = data(name)
    frame = pd.DataFrame(X, columns=["p", "q"], index=range(100, 160))
    one, many = learned(name, X, y), fresh(name)
    for part in (slice(1), slice(1, 30), slice(30, 60)):
        some = frame.iloc[part]
        many.learn_many(some, pd.Series(y[part], index=some.index))
    assert state(one) == state(many)
    told = many.predict_many(frame)
    assert told.index.equals(frame.index)
    assert told.tolist() == [one.predict_one(x) for x in dicts(X)]
    assert len(many.predict_many(frame.iloc[:0])) == 0
    if name == "class":
        proba = many.predict_proba_many(frame)
        assert proba.index.equals(frame.index)
        rows = [one.predict_proba_one(x) for x in dicts(X)]
        assert proba.to_dict("records") == rows
        assert len(many.predict_proba_many(frame.iloc[:0])) == 0


def test_distributions_and_intervals() -> None:
    X, y = data("constant")
    model = learned("constant", X, y)
    x = {"p": 0.8, "q": 0.5}
    told = model.stream.predict([[0.8, 0.5]])
    one = model.predict_one(x, with_dist=True)
    assert one.mu == model.predict_one(x)
    assert one.sigma == math.sqrt(told.var[0])
    assert one(2.0) == pytest.approx(math.exp(told.log_density([2.0])[0]))
    assert one.cdf(one.ppf(0.3)) == pytest.approx(0.3)
    interval = model.predict_interval_one(x, level=0.8)
    ends = told.quantile([(1.0 - 0.8) / 2.0, (1.0 + 0.8) / 2.0])[0]
    assert [interval.lower, interval.upper] == ends.tolist()
    assert one.mu in interval
    with refused("level", "1.0"):
        model.predict_interval_one(x, level=1.0)


def test_before_any_row() -> None:
    import pandas as pd

    frame = pd.DataFrame({"p": [0.5, 0.6]})
    regressor, classifier = fresh("constant"), fresh("class")
    assert regressor.predict_one({"p": 0.5}) == 0.0
    assert regressor.predict_one({}, with_dist=True).sigma == math.inf
    assert regressor.predict_interval_one({}).lower == -math.inf
    assert regressor.predict_many(frame).tolist() == [0.0, 0.0]
    assert classifier.predict_proba_one({"p": 0.5}) == {}
    assert classifier.predict_one({}) is None
    assert classifier.predict_many(frame).tolist() == [None, None]
    assert classifier.predict_proba_many(frame).shape == (2, 0)


# ---------------------------------------------------------------- what comes late
@pytest.mark.parametrize("name", ["constant", "class"])
@pytest.mark.parametrize("late", [3, 20, 50])
def test_a_late_column_was_missing_until_then(name: str, late: int) -> None:
    X, y = data(name, 80)
    X[:late, 1] = np.nan
    model = learned(name, X, y)
    other = stream_of(name)
    for row in range(80):
        other.update(X[row : row + 1], y[row : row + 1])
    assert model.stream.tree.feature_names == ("p", "q")
    assert model_bytes(model.stream.state.cloud) == model_bytes(other.tree.state.cloud)


@pytest.mark.parametrize("name", SMALL)
def test_a_late_column_is_split_on(name: str) -> None:
    X, y = data(name, 200)
    turned = X[:, ::-1].copy()  # the step is in q, which comes after 40 rows
    turned[:40, 1] = np.nan
    model = learned(name, turned, y, window=100, n_particles=100)
    values = model.stream.tree.relevance().values.mean(axis=0)
    assert values.shape == (2,)
    assert values[1] > values[0]


def test_labels_come_late() -> None:
    model = fresh("class")
    for k in range(60):
        model.learn_one({"p": float(k % 3)}, [True, "b", 3][k % 3] if k > 20 else True)
    assert model.stream.classes == (True, "b", 3)
    assert [model.predict_one({"p": float(k)}) for k in range(3)] == [True, "b", 3]


@pytest.mark.parametrize("name", ["constant", "class"])
def test_levels_come_late(name: str) -> None:
    model = fresh(name, window=60)
    answers: list[Any] = ["a", "b", "c"] if name == "class" else [0.0, 5.0, 9.0]
    for k in range(120):
        level = "xyz"[k % 2 if k < 50 else k % 3]
        model.learn_one({"t": level}, answers["xyz".index(level)])
    assert model.stream.tree.feature_names == ("t=x", "t=z")
    told = [model.predict_one({"t": level}) for level in "xyz"]
    assert told == (answers if name == "class" else pytest.approx(answers, abs=0.5))


def test_ranges_of_late_columns_count_the_rows_that_retired() -> None:
    """A level is 0 in every row that had another one of its column."""
    model = fresh("constant", window=15, discard="age")
    rows: list[dict[str, Any]] = [
        {"t": "xyz"[k > 30], "p": float(k)} | ({"q": 0.5} if k > 45 else {})
        for k in range(60)
    ]
    rows[2] = {"t": "z", "p": -3.0}
    for row in rows:
        model.learn_one(row, row["p"])
    assert min(model.stream.tree.active_ids) > 2
    encoded = np.concatenate([model._columns.encode(row) for row in rows])
    low, high, binary = model.stream.state.cloud.spans()
    np.testing.assert_array_equal(low, np.nanmin(encoded, axis=0))
    np.testing.assert_array_equal(high, np.nanmax(encoded, axis=0))
    names = model.stream.tree.feature_names
    assert {names[k] for k in np.flatnonzero(binary)} == {"t=x", "t=y"}


def test_rows_without_any_column_are_learned() -> None:
    model = fresh("constant")
    for k in range(12):
        model.learn_one({}, float(k))
    assert model.predict_one({"p": 1.0}) == pytest.approx(5.5, abs=0.2)
    model.learn_one({"p": 1.0}, 3.0)
    assert model.stream.tree.feature_names == ("p",)
    assert model.stream.n_seen == 13


def test_new_columns_can_be_ignored() -> None:
    model = fresh("constant", new_columns="ignore")
    for k in range(30):
        model.learn_one({"p": float(k)} if k else {}, float(k))
    before = state(model)
    with pytest.warns(MissingInputWarning, match=r"got \['q'\]"):
        mean = model.predict_one({"q": 2.0})
    assert mean == model.predict_one({})
    model.learn_one({"p": 1.0, "q": 2.0}, 3.0)
    assert model.stream.tree.feature_names == ("p",)
    assert state(model) != before


@pytest.mark.parametrize("learns", [False, True])
def test_one_misspelt_key_is_warned_of_once(learns: bool) -> None:
    model = fresh("constant")
    for k in range(30):
        model.learn_one({"Temp": float(k), "wind_12": 1.0}, float(k))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # sensors with other numbers are others
        model.predict_one({"Temp": 2.0, "wind_13": 1.0})
    row = {"temp": 2.0, "wind_12": 1.0}
    with pytest.warns(MissingInputWarning, match=r"x has 'temp', .* lacks 'Temp'"):
        model.learn_one(row, 2.0) if learns else model.predict_one(row)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_one({"Tmp": 2.0, "wind_12": 1.0})


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("bad", [{"x": math.inf}, {"x": "text"}])
def test_levels_of_refused_rows_are_not_counted(name: str, bad: dict[str, Any]) -> None:
    model = fresh(name)
    for k in range(30):
        model.learn_one({"x": float(k), "level": "uv"[k % 2]}, k % 2)
    before = pickle.dumps(model)
    for k in range(200):
        with pytest.raises(ValueError, match="x"):
            model.learn_one({"level": f"new {k}", **bad}, k % 2)
    assert pickle.dumps(model) == before


def test_memory_is_bounded_whatever_keys_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_map, "MOST_COLUMNS", 20)
    wide = {f"k{k}": float(k) for k in range(30)}
    model = fresh("constant", window=20)
    model.learn_one(wide, 1.0)  # a first row has all that it has
    assert len(model.stream.feature_names) == 30
    model = fresh("constant", window=20)
    for k in range(19):
        model.learn_one({"a": float(k), f"k{k}": "u"}, float(k))
    with pytest.warns(ManyLevelsWarning, match="'k19' and all other new ones are ign"):
        model.learn_one({"a": 1.0, "k19": 1.0}, 1.0)
    for k in range(20, 60):
        model.learn_one({"a": float(k), f"k{k}": 1.0, "k0": "uvw"[k % 3]}, float(k))
    names = model.stream.feature_names
    assert len(names) == 21  # another level of a known column is none of these
    assert model.predict_one({"a": 3.0, "k59": 1.0}) == model.predict_one({"a": 3.0})


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("x", [None, [1.0, 2.0], "a", 3, ("a", 1.0)])
def test_a_row_is_a_dict(name: str, x: Any) -> None:
    model = fresh(name)
    for ask in (
        lambda: model.learn_one(x, 1),
        lambda: model.predict_one(x),
        lambda: model.tail_probability_one(x, 1),
    ):
        with pytest.raises(ValueError, match="x must be a dict of features by name"):
            ask()
    assert model.stream.n_seen == 0


def test_a_frozen_stream_learns_nothing() -> None:
    model = learned("constant", *data("constant"))
    model.stream.freeze()
    with same_bytes(model, state):
        model.learn_one({"p": 0.5, "q": 0.5}, 1.0)
        model.learn_one({"p": 0.5, "late": 0.5}, 1.0)


# ---------------------------------------------------------------- refusals
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "text": ({"x": {"p": "much", "q": 0.5}}, "x", "'much'"),
    "inf": ({"x": {"p": math.inf, "q": 0.5}}, "x", "inf"),
    "inf in a late column": ({"x": {"p": 0.5, "r": -math.inf}}, "x", "-inf"),
    "y is NaN": ({"y": math.nan}, "y", "nan"),
    "y is a numpy NaN": ({"y": np.float32("nan")}, "y", "nan"),
    "y is None, and a late column": ({"x": {"r": 1.0}, "y": None}, "y", "None"),
}


@pytest.mark.parametrize("n", [1, 5, 9, 60])
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", SMALL)
def test_bad_rows_change_nothing(name: str, case: str, n: int) -> None:
    changes, argument, came = BAD[case]
    X, y = data(name)
    model = learned(name, X[:n], y[:n])
    with same_bytes(model, state), refused(argument, came):
        model.learn_one(**({"x": {"p": 0.5, "q": 0.5}, "y": y[0].item()} | changes))


@pytest.mark.parametrize("name", ["constant", "linear"])
def test_a_response_beyond_the_scale_takes_late_columns_back(name: str) -> None:
    X, y = data(name)
    model = learned(name, X, 1e-4 * y)  # which fixes the scale
    with same_bytes(model, state), refused("y", "1e+150"):
        model.learn_one({"p": 0.5, "q": 0.5, "r": 1.0}, 1e150)


@pytest.mark.filterwarnings("error::dyntree.errors.DistantInputsWarning")
def test_a_warning_made_an_error_takes_late_columns_back() -> None:
    X, y = data("linear")
    model = learned("linear", X, y)
    with (
        same_bytes(model, state),
        pytest.raises(DistantInputsWarning, match="column 'p'"),
    ):
        model.learn_one({"p": 1e9, "q": 0.5, "r": 1.0}, 0.5)


def test_responses_and_values_of_any_numeric_type_are_the_same() -> None:
    kinds = (float, int, np.float64, np.float32, np.int64, bool, np.bool_)
    models = [fresh("constant") for _ in kinds]
    for model, kind in zip(models, kinds, strict=True):
        number = float if kind in (bool, np.bool_) else kind  # labels, as responses
        for k in range(30):
            model.learn_one({"p": kind(k % 2)}, number(k % 2))
    assert all(state(model) == state(models[0]) for model in models)


def test_bad_options_are_refused() -> None:
    with refused("new_columns", "'drop'"):
        RiverDynamicTreeClassifier(new_columns="drop")
    with refused("model", "'class'"):
        RiverDynamicTreeRegressor("class")
    with refused("window", "0"):
        RiverDynamicTreeRegressor(window=0)
    with refused("seed", "-1"):
        RiverDynamicTreeClassifier(seed=-1)


def test_frames_and_responses_must_be_as_long() -> None:
    import pandas as pd

    model = fresh("constant")
    with refused("y", "1", model.stream):
        model.learn_many(pd.DataFrame({"p": [0.5, 0.6]}), pd.Series([1.0]))


def test_complex_labels_are_refused() -> None:
    tree = fresh("class")
    tree.learn_one({"p": 1.0}, "a")
    with refused("y", "1j", tree.stream):
        tree.learn_one({"p": 1.0}, 1j)


@pytest.mark.parametrize("name", SMALL)
def test_many_rows_must_be_a_frame_of_distinct_columns(name: str) -> None:
    import pandas as pd

    X, y = data(name, 30)
    frame, responses = pd.DataFrame(X, columns=["p", "q"]), pd.Series(y)
    tree = fresh(name)
    tree.learn_many(frame, responses)
    twice = frame.set_axis(["p", "p"], axis=1)
    for rows, told in ((X, "ndarray"), (twice, "['p', 'p']")):
        with refused("X", told, tree.stream):
            tree.learn_many(rows, responses)
        with refused("X", told, tree.stream):
            tree.predict_many(rows)


def test_levels_without_end_are_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dyntree.encoding.levels.MOST_LEVELS", 3)
    tree = RiverDynamicTreeRegressor(n_particles=10, seed=1)
    for k in range(3):
        tree.learn_one({"id": f"k{k}"}, float(k))
    tree.learn_one({"id": "k1"}, 1.0)
    with pytest.warns(UnseenLevelWarning, match="levels in column 'id'"):
        tree.learn_one({"id": "k3"}, 3.0)
    for k in range(40):
        tree.learn_one({"id": f"k{k}"}, float(k))
    assert tree.stream.feature_names == ("id=k0", "id=k2")
    assert tree.predict_one({"id": "k30"}) == tree.predict_one({"id": None})


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_while_a_column_comes_leaves_tree_and_adapter_alike(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = RiverDynamicTreeRegressor(n_particles=10, seed=1)
    for k in range(30):
        tree.learn_one({"a": float(k)}, float(k))
    with monkeypatch.context() as patch:
        patch.setattr(tree.stream, "learn_row", Pressed(tree.stream.learn_row, late))
        with pytest.raises(KeyboardInterrupt):
            tree.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    names = ("a", "b") if late else ("a",)
    assert tree.stream.feature_names == names
    assert tree.stream.n_seen == 30 + late
    assert np.isfinite(tree.predict_one({"a": 1.0}))
    tree.learn_one({"c": 1.0}, 3.0)
    assert tree.stream.feature_names == (*names, "c")


def test_an_interrupt_before_a_column_is_there_leaves_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = RiverDynamicTreeRegressor(n_particles=10, seed=1)
    for k in range(30):
        tree.learn_one({"a": float(k)}, float(k))
    with same_bytes(tree.stream), monkeypatch.context() as patch:
        patch.setattr(growth, "widened", Pressed(growth.widened, late=True))
        with pytest.raises(KeyboardInterrupt):
            tree.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    assert np.isfinite(tree.predict_one({"a": 1.0, "b": 2.0}))
    tree.learn_one({"a": 1.0}, 1.0)
    assert tree.stream.feature_names == ("a",)


def test_a_bad_row_that_brings_a_column_leaves_neither() -> None:
    tree = RiverDynamicTreeRegressor(n_particles=10, seed=1)
    for k in range(30):
        tree.learn_one({"a": 1e-3 * k}, 1e-3 * k)
    with (
        same_bytes(tree.stream),
        pytest.raises(ValueError, match="spreads of the first rows"),
    ):
        tree.learn_one({"a": 9e149, "b": 1.0}, 9e149)
    with pytest.warns(MissingInputWarning, match=r"got \['b'\]"):
        mean = tree.predict_one({"b": 1.0})
    assert mean == tree.predict_one({})


@pytest.mark.parametrize("n", [1, 5, 30])
def test_probabilities_are_plain_floats(n: int) -> None:
    """As river's are: those of NumPy print as np.float64(0.5)."""
    classifier = fresh("class")
    for k in range(n):
        classifier.learn_one({"p": k / n}, "uv"[k % 2])
    shares = classifier.predict_proba_one({"p": 0.5})
    assert {type(share) for share in shares.values()} == {float}


@pytest.mark.parametrize("name", SMALL)
def test_a_row_of_which_no_name_is_known_is_warned_of_once(name: str) -> None:
    X, y = data(name)
    model = learned(name, X, y)
    with pytest.warns(MissingInputWarning, match=r"got \['pp', 'qq'\]. All its"):
        model.predict_one({"pp": 1.0, "qq": 2.0})
    model.predict_one({"pp": 1.0, "qq": 2.0})  # warnings are errors here
    learned(name, X, y).predict_one({"p": 0.5, "qq": 2.0})


@pytest.mark.parametrize(
    ("kind", "classifier"),
    [
        (RiverDynamicTreeRegressor, "RiverDynamicTreeClassifier"),
        (RiverRandomTreesRegressor, "RiverRandomTreesClassifier"),
        (RiverKeyedRegressor, "RiverKeyedClassifier"),
    ],
)
@pytest.mark.parametrize("y", [True, "high"])
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingKeyWarning")
def test_labels_need_a_classifier(kind: Any, classifier: str, y: Any) -> None:
    with pytest.raises(ValueError, match=f"Labels need {classifier}"):
        kind().learn_one({"a": 1.0}, y)


def test_no_advice_names_levels_beforehand() -> None:
    """No adapter has the argument `categories`, nor do its rows have types."""
    model = RiverDynamicTreeRegressor(n_particles=5, window=50, seed=1)
    keyed = RiverKeyedRegressor(key="b", n_particles=5, seed=1)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        for k in range(130):
            model.learn_one({"a": f"u{k}", "b": f"{k}.5"}, k)
        for k in range(20):
            keyed.learn_one({"a": f"u{k % 2}", "b": 1}, k)
        keyed.predict_one({"a": "new", "b": 1})
    said = [str(note.message) for note in notes]
    assert not [text for text in said if "categories" in text or "categorical" in text]
    for ending in (
        "or convert it to numbers or dates.",
        "numbers, or ignore this if they are levels.",
        "Use encode_levels='onehot' for a feature each.",
        "Learn such rows first.",
    ):
        assert [text for text in said if text.endswith(ending)], ending


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (RiverDynamicTreeRegressor, "fit", "learn_one"),
        (RiverDynamicTreeRegressor, "predict_quantiles", "predict_interval_one"),
        (RiverDynamicTreeClassifier, "predict_proba", "predict_proba_one"),
        (RiverKeyedRegressor, "update", "learn_one"),
        (RiverRandomTreesRegressor, "predict", "predict_one"),
        (RiverChangeAlarm, "learn_one", "update"),
        (RiverDPGMMClusterer, "predict", "predict_one"),
    ],
)
def test_wrong_names_get_a_suggestion(kind: Any, name: str, meant: str) -> None:
    model = kind()
    with pytest.raises(AttributeError, match=rf"{kind.__name__}.* mean {meant}\?"):
        getattr(model, name)
    assert isinstance(pickle.loads(pickle.dumps(model)).clone(), kind)


@pytest.mark.parametrize("kind", [RiverDynamicTreeRegressor, RiverKeyedRegressor])
def test_wrong_arguments_name_the_class_of_the_user(kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.predict_one.*with_dist\?"):
        kind().predict_one({"x": 1.0}, with_interval=True)


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingKeyWarning")
def test_rows_with_keys_have_the_answers_of_others() -> None:
    x, model = {"k": "a", "x": 0.5}, RiverKeyedRegressor(key="k", n_particles=5, seed=1)
    assert model.predict_interval_one(x).lower == -math.inf
    assert model.tail_probability_one(x, 3.0) == 1.0
    labels = RiverKeyedClassifier(key="k", n_particles=5, seed=1)
    assert labels.tail_probability_one(x, "u") == 1.0
    for k in range(60):
        row = {"k": "ab"[k % 2], "x": k / 60}
        model.learn_one(row, k / 60 + k % 2)
        labels.learn_one(row, "uv"[k % 2])
    told = model.stream.predict([{"x": 0.5}], ["a"])
    interval = model.predict_interval_one(x, level=0.8)
    assert [interval.lower, interval.upper] == told.quantile([0.1, 0.9])[0].tolist()
    assert model.tail_probability_one(x, 3.0) == told.tail_probability([3.0])[0]
    proba = labels.predict_proba_one(x)
    assert labels.tail_probability_one(x, "v") == proba["v"] < proba["u"]
    with pytest.raises(ValueError, match="level"):
        model.predict_interval_one(x, level=1.0)
