"""Streams whose fresh trees are half grown: copies, files, columns, labels, errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, StreamingTree, checkpoint
from dyntree.errors import CheckpointError
from tests import helpers
from tests.helpers import model_bytes
from tests.probes import audit, probe

KINDS: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant"},
    "constant alc": {"model": "constant", "discard": "alc"},
    "linear": {"model": "linear", "discard": "random"},
    "linear drift": {"model": "linear", "drift": True},
    "class": {"model": "class", "discard": "entropy", "classes": ("a", "b")},
    "class drift": {"model": "class", "drift": True, "classes": ("a", "b")},
    "prior": {"model": "prior", "discard": "random"},
}
EVERY = 25
WINDOW = 20
HALF = 28  # rows after which trees are half grown


def rows_of(kind: str, n: int = 90, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = 3.0 * (X[:, 0] > 0.5) + rng.standard_normal(n)
    return X, np.where(y > 1.5, "b", "a") if "class" in kind else y


def stream(kind: str, **changes: Any) -> StreamingTree:
    options = {
        "window": WINDOW,
        "rejuvenate_every": EVERY,
        "n_particles": 10,
        "seed": 1,
    }
    return StreamingTree(**(options | KINDS[kind] | changes))


def half_grown(kind: str, **changes: Any) -> StreamingTree:
    X, y = rows_of(kind)
    model = stream(kind, **changes).update(X[:HALF], y[:HALF])
    assert is_growing(model)
    return model


def is_growing(model: StreamingTree) -> bool:
    return bool(probe.growing(model.tree.state.cloud)[0])


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": lambda m: m.copy(),
    "deepcopy": copy.deepcopy,
    "file": lambda m: checkpoint.loads(checkpoint.dumps(m)),
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "arrays": lambda m: type(m).from_arrays(*m.to_arrays()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_twin_made_at_any_row_goes_on_alike(kind: str, way: str) -> None:
    X, y = rows_of(kind, 60)
    whole, twin = stream(kind).update(X, y), stream(kind)
    n_growing = 0
    for t in range(60):
        twin = WAYS[way](twin.update(X[t : t + 1], y[t : t + 1]))
        n_growing += twin.is_ready and is_growing(twin)
    assert model_bytes(twin) == model_bytes(whole)
    assert n_growing > 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("every", [1, 3, 7, 25, 60])
def test_blocks_of_rows_and_single_rows_are_the_same(kind: str, every: int) -> None:
    X, y = rows_of(kind)
    whole, cut = (stream(kind, rejuvenate_every=every) for _ in range(2))
    whole.update(X, y)
    for rows in np.split(np.arange(90), [1, 3, 20, 26, 27, 31, 60]):
        cut.update(X[rows], y[rows])
    assert model_bytes(cut) == model_bytes(whole)


def test_an_average_of_growing_members_goes_on_alike() -> None:
    X, y = rows_of("linear")
    members = [{"window": 20, "forget": 0.9}, {"window": 30, "discard": "random"}]
    whole = AveragedStream("linear", members=members, n_particles=6, seed=1)
    twin = whole.copy()
    whole.update(X, y)
    n_growing = 0
    for t in range(90):
        twin = checkpoint.loads(
            checkpoint.dumps(twin.update(X[t : t + 1], y[t : t + 1]))
        )
        n_growing += twin.is_ready and is_growing(twin.members[0])
    assert model_bytes(twin) == model_bytes(whole)
    assert n_growing > 5


@pytest.mark.parametrize("kind", KINDS)
def test_questions_are_asked_of_grown_trees_alone(kind: str) -> None:
    """Trees that grow draw times of their own, and are seen once they have joined."""
    model = half_grown(kind)
    X, _ = rows_of(kind)
    before, shapes = model.predict(X[:5]), model.tree.stats()
    cloud = model.tree.state.cloud
    bare = type(cloud).from_arrays(
        cloud.to_arrays()[0],
        {k: v for k, v in cloud.to_arrays()[1].items() if k in cloud_parts(cloud)},
        cloud.source,
    )
    assert bare.n_particles == cloud.n_particles == 10
    np.testing.assert_array_equal(bare.shapes(), cloud.shapes())
    assert model.tree.stats() == shapes
    for name, value in vars(model.predict(X[:5])).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(before, name))
    assert model.frozen_view().n_particles == 10


def cloud_parts(cloud: Any) -> set[str]:
    """Names of the arrays of a cloud without growing trees."""
    return set(cloud.to_arrays()[1]) - {"fresh_roots", "waiting"}


@pytest.mark.parametrize("kind", ["constant", "class", "prior"])
def test_levels_and_labels_may_come_while_trees_grow(kind: str) -> None:
    X, y = rows_of(kind)
    y = y.astype(object) if "class" in kind else y
    rows = [
        {"p": x, "s": "uvw"[(k >= HALF) * (1 + k % 2)]} for k, x in enumerate(X[:, 0])
    ]
    if "class" in kind:
        y[HALF + 1 :: 3] = "late"
    model, again = stream(kind), stream(kind)
    model.update(rows[:HALF], y[:HALF])
    width = model.tree.state.cloud.n_features
    assert is_growing(model)
    model.update(rows[HALF : HALF + 2], y[HALF : HALF + 2])
    assert is_growing(model)
    assert model.tree.state.cloud.n_features > width
    audit(model.tree.state.cloud)
    twin = checkpoint.loads(checkpoint.dumps(model))
    for one in (model, twin):
        one.update(rows[HALF + 2 :], y[HALF + 2 :])
        audit(one.tree.state.cloud)
    assert model_bytes(model) == model_bytes(twin)
    if "class" not in kind:  # labels are known from the call on that brings them
        assert model_bytes(model) == model_bytes(again.update(rows, y))


def test_a_unit_may_come_while_trees_grow() -> None:
    """Responses that are all equal, and then are not; a column, too."""
    X, y = rows_of("linear")
    X[: HALF + 1, 1], y[: HALF + 1] = 2.0, 5.0
    model = stream("linear").update(X[:HALF], y[:HALF])
    assert is_growing(model)
    for t in range(HALF, 90):
        model.update(X[t : t + 1], y[t : t + 1])
        audit(model.tree.state.cloud)
    assert model_bytes(model) == model_bytes(stream("linear").update(X, y))
    assert model_bytes(WAYS["file"](model)) == model_bytes(model)


@pytest.mark.parametrize("kind", KINDS)
def test_letting_go_of_all_rows_lets_go_of_growing_trees(kind: str) -> None:
    model = half_grown(kind)
    told = model.predict(rows_of(kind)[0][:3])
    model.remove_data()
    assert not is_growing(model)
    audit(model.tree.state.cloud)
    for name, value in vars(model.predict(rows_of(kind)[0][:3])).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(value, getattr(told, name), rtol=1e-6)
    model.update(*rows_of(kind))
    audit(model.tree.state.cloud)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_of_a_stream_may_be_taught_while_trees_grow(kind: str) -> None:
    model = half_grown(kind)
    X, y = rows_of(kind)
    tree, cloud = model.tree, model.tree.state.cloud
    tree.rejuvenate()
    assert (cloud.n_particles, is_growing(model)) == (20, True)
    tree.update(X[HALF : HALF + 3], y[HALF : HALF + 3])
    tree.retire(tree.active_ids[::4])
    audit(tree.state.cloud)
    model.update(X[HALF + 3 : HALF + 20], y[HALF + 3 : HALF + 20])
    audit(tree.state.cloud)
    assert not is_growing(model)


@pytest.mark.parametrize("kind", KINDS)
def test_refused_rows_change_nothing_while_trees_grow(kind: str) -> None:
    model = half_grown(kind)
    with helpers.same_bytes(model), pytest.raises(ValueError, match="X must"):
        model.update([[np.inf, 0.0]], rows_of(kind)[1][:1])


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_bounded(kind: str) -> None:
    """By what a few rounds of growing trees need."""
    X, y = rows_of(kind, 1600)
    model, seen = stream(kind), []
    for first in range(0, 1600, 100):
        for t in range(first, first + 100):
            model.update(X[t : t + 1], y[t : t + 1])
        seen.append(model.memory_usage())
    assert max(seen[4:]) <= 1.3 * max(seen[:4])


# ---------------------------------------------------------------- files
ODD: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "no list": ("no tree is growing", lambda a: a.pop("waiting")),
    "no trees": ("no tree is growing", lambda a: a.pop("fresh_roots")),
    "other type": ("waiting has type", lambda a: put(a, "waiting", float)),
    "too few": ("fresh_roots has shape", lambda a: cut(a, "fresh_roots")),
    "no such tree": ("a tree leads", lambda a: a["fresh_roots"].fill(10**6)),
    "shared": ("share with others", lambda a: share(a)),
    "no such row": ("waiting has values", lambda a: a["waiting"].fill(WINDOW)),
    "before all rows": ("waiting has values", lambda a: a["waiting"].fill(-1)),
    "twice": ("waits twice", lambda a: a["waiting"].fill(a["waiting"][0])),
    "one forgotten": ("a growing tree lacks", lambda a: cut(a, "waiting")),
    "one learned": ("holds a row that waits", lambda a: exchange(a)),
}


def put(arrays: dict[str, Any], name: str, dtype: Any) -> None:
    arrays[name] = arrays[name].astype(dtype)


def cut(arrays: dict[str, Any], name: str) -> None:
    arrays[name] = arrays[name][:-1].copy()


def share(arrays: dict[str, Any]) -> None:
    """Give a growing tree the root of another; nothing may be left without a tree."""
    roots = arrays["fresh_roots"]
    k = next(k for k in range(len(roots)) if np.sum(roots == roots[k]) > 1)
    roots[k] = arrays["roots"][0]


def exchange(arrays: dict[str, Any]) -> None:
    """Let a row that was learned wait instead of one that was not."""
    learned = set(range(WINDOW)) - set(arrays["waiting"].tolist())
    arrays["waiting"][0] = learned.pop()


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["constant", "class drift"])
def test_files_of_unsound_growing_trees_are_refused(kind: str, odd: str) -> None:
    header, arrays = half_grown(kind).to_arrays()
    reason, change = ODD[odd]
    change(arrays)
    with pytest.raises(CheckpointError, match=reason):
        StreamingTree.from_arrays(header, arrays)


def test_trees_of_rs_rules_never_grow_by_the_row() -> None:
    X, y = rows_of("constant")
    options = {"rules": "r", "window": WINDOW, "n_particles": 10, "seed": 1}
    model = StreamingTree(**options, rejuvenate_every=EVERY).update(X[:HALF], y[:HALF])
    header, arrays = model.to_arrays()
    assert not is_growing(model)
    arrays["fresh_roots"] = arrays["roots"].copy()
    arrays["waiting"] = np.empty(0, dtype=np.int32)
    with pytest.raises(CheckpointError, match="no use for the arrays"):
        StreamingTree.from_arrays(header, arrays)
