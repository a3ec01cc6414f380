"""RandomTreesStream: what it is as a model, alone and as a member of an average."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, RandomTreesStream, checkpoint
from dyntree.errors import CheckpointError, NotReadyError
from tests.helpers import model_bytes, mostly_slow, same_bytes
from tests.unit.models import checker, data

SMALL: dict[str, Any] = {"n_trees": 5, "seed": 1}
MEMBERS = [{"window": 30}, {"window": 10, "forget": 0.8}, {"n_trees": 5}]


def test_a_small_window_splits_leaves_with_its_rows() -> None:
    X, y = checker(200)
    small, asked = (
        RandomTreesStream(window=16, **SMALL | more) for more in ({}, {"min_split": 16})
    )
    told = [model.update(X, y).predict(X).proba for model in (small, asked)]
    np.testing.assert_array_equal(*told)
    assert small.stats().n_leaves > 2.0


# data and seeds are fixed, so that nothing here fails by chance
def test_a_checker_is_learned_that_no_first_cut_tells() -> None:
    X, y = checker(1500)
    model = RandomTreesStream(seed=1).update(X[:1000], y[:1000])
    assert np.mean(model.predict(X[1000:]).label == y[1000:]) > 0.95


def test_a_wave_is_learned_with_its_noise() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    truth = np.sin(6.0 * X[:, 0])
    y = truth + 0.2 * rng.normal(size=3000)
    model = RandomTreesStream("constant", seed=1).update(X[:2000], y[:2000])
    found = model.predict(X[2000:])
    assert np.sqrt(np.mean((found.mean - truth[2000:]) ** 2)) < 0.15
    low, high = found.quantile(0.05), found.quantile(0.95)
    cover = np.mean((low < y[2000:]) & (y[2000:] < high))
    assert 0.85 < cover < 0.97


def test_fading_trees_follow_labels_that_change_places() -> None:
    X, y = checker(2500)
    y[1500:] = np.where(y[1500:] == "same", "other", "same")
    still = RandomTreesStream(seed=1)
    fading = RandomTreesStream(discount=1 - 1 / 200, seed=1)
    right = [
        np.mean(model.update(X[:2000], y[:2000]).predict(X[2000:]).label == y[2000:])
        for model in (still, fading)
    ]
    assert right[1] > 0.9 > right[0]


def test_gaps_levels_and_late_labels_are_as_in_other_models() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.choice(["u", "v"], 400)
    frame = pd.DataFrame({"a": rng.normal(size=400), "kind": kind})
    frame.loc[::7, "a"] = np.nan
    y = np.where(kind == "u", 1, 2)
    model = RandomTreesStream(**SMALL).update(frame, y)
    assert np.mean(model.predict(frame).label == y) > 0.97
    shares = model.importance()
    assert shares.names[int(np.argmax(shares.values))] == "kind"
    late = frame.assign(kind="w")
    model.update(late[:120], np.full(120, 3))  # 18 of them without a
    assert model.classes == (1, 2, 3)
    assert np.mean(model.predict(late).label == 3) > 0.9
    assert model.predict(frame[::-1][["kind", "a"]]).label.tolist() == (
        model.predict(frame[::-1]).label.tolist()
    )


def test_questions_of_real_responses_take_levels_and_late_columns() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=400), "kind": rng.choice(["u", "v", "w"], 400)}
    )
    y = 3.0 * (frame["kind"] == "u") + 0.1 * rng.normal(size=400)
    model = RandomTreesStream("constant", window=300, **SMALL).update(frame, y)
    shares = model.importance()
    assert shares.names[int(np.argmax(shares.values))] == "kind"
    assert model.active_ids.tolist() == [*range(100, 400)]
    told = model.stats()
    assert 1.0 < told.height <= 31.0
    assert told.n_leaves * (told.leaf_size + told.leaf_retired) == pytest.approx(400)
    with pytest.raises(ValueError, match="coef needs model='linear'"):
        model.coef(frame)


def test_a_file_without_data_holds_no_row_and_goes_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    for model in (
        RandomTreesStream("constant", **SMALL),
        AveragedStream("constant", members=MEMBERS, n_particles=10, seed=1),
    ):
        y = np.round(rng.normal(size=200), 9) + 0.123456789
        model.update(X, y)
        before = model.predict(X[:9]).mean
        model.remove_data()
        np.testing.assert_allclose(model.predict(X[:9]).mean, before, rtol=1e-12)
        held = [a for name, a in model.to_arrays()[1].items() if name[-1] in "Xy"]
        assert held
        assert not any(array.size for array in held)
        again = checkpoint.loads(checkpoint.dumps(model))
        for one in (model, again):
            one.update(X, y)
        assert model_bytes(model) == model_bytes(again)


def test_importance_is_of_rows() -> None:
    with pytest.raises(NotReadyError, match="importance needs a model"):
        RandomTreesStream().importance()


def test_responses_beyond_the_scale_of_the_first_are_refused() -> None:
    X, _ = checker(100)
    model = RandomTreesStream("constant", **SMALL).update(X, X[:, 0])
    words = "spreads of the first rows away"
    with same_bytes(model), pytest.raises(ValueError, match=words):
        model.update(X[:1], [9e149])


def test_an_average_of_windows_and_forests_answers_all_questions() -> None:
    X, y = checker(300)
    own = [*MEMBERS, {"n_trees": 4, "discount": 0.99}]
    model = AveragedStream("class", members=own, n_particles=15, seed=1).update(X, y)
    assert np.mean(model.predict(X).label == y) > 0.9
    assert model.frozen_view().n_particles == 30
    assert model.stats().n_leaves > 1.0
    assert len(model.importance().values) == 2
    assert model.sensitivity(label="same", n_samples=20).first.shape == (30, 2)
    assert [*model.facts()["members"][2]] == ["trees", "discount", "weight"]
    again = pickle.loads(pickle.dumps(model)).update(X, y)
    assert model_bytes(again) == model_bytes(model.update(X, y))


def damaged(arrays: dict[str, Any], name: str, rng: Any) -> dict[str, Any]:
    """Arrays with one value of one of them changed."""
    found = {key: array.copy() for key, array in arrays.items()}
    place = rng.integers(found[name].size)
    value = (
        rng.choice([-3, -1, 2, 7, 10**6]) if found[name].dtype.kind in "iu" else -9.0
    )
    flat = found[name].reshape(-1)
    flat[place] = value if found[name].dtype.kind != "u" else abs(value)
    return found


@pytest.mark.parametrize("model", ["class", "constant"])
def test_a_damaged_file_is_refused_or_harmless(model: str) -> None:
    X, y = checker(200)
    X[::9, 0] = np.nan
    made = RandomTreesStream(model, n_trees=3, max_nodes=31, seed=1)
    made.update(X, y if model == "class" else X[:, 1])
    header, arrays = made.to_arrays()
    rng = np.random.default_rng(0)
    names = [name for name in arrays if arrays[name].size and name != "waiting_X"]
    refused = 0
    for name in names:
        for _ in range(25):
            try:
                again = RandomTreesStream.from_arrays(
                    header, damaged(arrays, name, rng)
                )
            except (CheckpointError, ValueError):
                refused += 1
                continue
            again.update(X, y if model == "class" else X[:, 1])
            assert again.n_seen == 400
    assert refused > 150


@pytest.mark.parametrize("discount", mostly_slow([0.98, 0.995, 1.0]))
def test_real_responses_that_fade_leave_no_spread_below_zero(discount: float) -> None:
    """Sums of squares that rounding brought below zero made files that did not load."""
    for seed in range(5):
        X, y = data("constant", 200, seed)
        stream = RandomTreesStream("constant", discount=discount, seed=seed)
        for first in range(0, 200, 10):
            stream.update(X[first : first + 10], y[first : first + 10])
            again = RandomTreesStream.from_arrays(*stream.to_arrays())
            assert model_bytes(again) == model_bytes(stream)


@pytest.mark.parametrize("weight", [1e7, 1e8, 1e9])
def test_heavy_rows_come_back_from_a_file(weight: float) -> None:
    X, y = checker(60)
    model = RandomTreesStream(**SMALL).update(X, y, np.full(60, weight))
    assert model_bytes(checkpoint.loads(checkpoint.dumps(model))) == model_bytes(model)


def test_rows_with_the_missing_values_of_r_come_back_without_a_warning() -> None:
    missing = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)[0]
    X, y = data("class", 200)
    X[::7, 0] = np.full(len(X[::7]), missing)
    forest = RandomTreesStream("class", n_trees=3, seed=1).update(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_bytes(checkpoint.loads(checkpoint.dumps(forest)), forest)
