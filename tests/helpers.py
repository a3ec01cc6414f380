"""What the tests of the core share: clouds in pairs, and comparisons."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dyntree import checkpoint
from dyntree._core.rng import RSource
from dyntree._core.trees.cloud import Cloud
from dyntree.storage import archive
from tests.oracle.cloud import Cloud as OracleCloud
from tests.oracle.stream import RSource as OracleSource

# Core and oracle do the same operations in the same order, but for sums by NumPy and
# libm's log gamma: far below this, relative to max(1, |value|).
CLOSE = 1e-9

MODELS: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant"},
    "prior": {"model": "prior"},
    "class": {"model": "class", "n_classes": 3},
    "implicit": {"model": "linear"},
    "augmented": {"model": "linear", "intercept": False, "first_split": 1},
    "none": {"model": "linear", "intercept": False},
}
RETIRING = [name for name in MODELS if name != "implicit"]


def options_of(name: str, **changes: Any) -> dict[str, Any]:
    """Arguments of a small cloud with the leaves of that name."""
    return {"n_features": 2, "n_particles": 8, "min_leaf": 3} | MODELS[name] | changes


def data(name: str, n: int, seed: int = 0, n_features: int = 2) -> tuple[Any, Any]:
    """Rows with a step that trees find, and responses the model can take."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, n_features))
    last = X[:, -1]
    y = 3.0 * (last > 0.5) + last + 0.3 * rng.normal(size=n)
    if name == "class":
        y = np.digitize(y, (1.0, 3.5)).astype(np.float64)
    if name == "augmented":
        X[:, 0] = 1.0
    return X, y


def grown(name: str, n: int = 30, seed: int = 1, **changes: Any) -> Cloud:
    """A core cloud that has learned n rows of `data`."""
    X, y = data(name, n, seed, changes.get("n_features", 2))
    cloud = Cloud(RSource(seed), **options_of(name, **changes))
    cloud.start(X[:4], y[:4])
    cloud.update(X[4:], y[4:])
    return cloud


def pair(
    name: str, n: int = 30, seed: int = 1, retire: bool = False, **changes: Any
) -> tuple[Cloud, OracleCloud]:
    """Core and oracle clouds with the same past; `retire` gives up a third of it."""
    X, y = data(name, n, seed, changes.get("n_features", 2))
    options = options_of(name, **changes)
    both = (
        Cloud(RSource(seed), **options),
        OracleCloud(OracleSource(seed), **options),
    )
    for cloud in both:
        cloud.start(X[:4], y[:4])
        cloud.update(X[4:], y[4:])
        if retire:
            cloud.retire(range(n // 3), 0.9)
    return both


def assert_close(
    got: Any, expected: Any, what: str = "", bound: float = CLOSE, size: Any = 0.0
) -> None:
    """Within `bound` relative to max(1, |value|, size); NaN and infinities in place.

    `size` is of the terms that were added up to the values, where it is known.
    """
    a, b = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert a.shape == b.shape, (what, a.shape, b.shape)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=what)
    assert np.isfinite(a[finite]).all(), (what, a, b)
    terms = np.broadcast_to(np.asarray(size, dtype=np.float64), b.shape)[finite]
    unit = np.maximum(np.maximum(1.0, np.abs(b[finite])), terms)
    error = np.abs(a[finite] - b[finite]) / unit
    assert (error <= bound).all(), (what, error.max(initial=0.0), a, b)


def assert_same_tree(got: tuple, expected: tuple) -> None:
    """Equal shape, splits, row ids in order and retired weight; evidence close."""
    if expected[0] == "leaf":
        assert got[:4] == expected[:4]
        assert_close(got[4], expected[4], "evidence")
        return
    assert got[:4] == expected[:4]
    assert_same_tree(got[4], expected[4])
    assert_same_tree(got[5], expected[5])


def assert_same_cloud(core: Cloud, oracle: OracleCloud) -> None:
    """Same rows to the bit, same trees, same place in the stream."""
    for got, expected in zip(core.rows(), oracle.rows(), strict=True):
        assert got.shape == expected.shape
        assert got.tobytes() == expected.tobytes()
    assert core.row_ids().tolist() == oracle.row_ids().tolist()
    assert core.n_retired == oracle.n_retired
    assert core.n_particles == oracle.n_particles
    for i in range(core.n_particles):
        assert_same_tree(core.tree(i), oracle.tree(i))
    place = core.source.n_draws, core.source.position
    assert place == (oracle.source.n_draws, oracle.source.position)


def routed(tree: tuple, x: np.ndarray) -> list[tuple]:
    """Nodes from the root to the leaf of x, as `.tree` shows them."""
    path = [tree]
    while path[-1][0] == "split":
        _, _, variable, value, left, right = path[-1]
        path.append(left if x[variable] <= value else right)
    return path


def model_bytes(model: Any) -> tuple[str, dict[str, Any]]:
    """All that `to_arrays` of a model or a cloud tells, byte for byte."""
    header, arrays = model.to_arrays()
    parts = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}
    return repr(header), parts


@contextmanager
def same_bytes(model: Any, view: Callable[[Any], Any] = model_bytes) -> Iterator[None]:
    """Fail unless the model is, byte for byte, what it was before the block."""
    before = view(model)
    yield
    assert view(model) == before


def changed_file(model: Any, change: Callable[..., Any]) -> bytes:
    """The file of a model, of which a function changes the header and the arrays."""
    header, arrays = archive.read(io.BytesIO(checkpoint.dumps(model)))
    change(header, arrays)
    file = io.BytesIO()
    archive.write(file, header, arrays)
    return file.getvalue()


def mostly_slow(values: Iterable[Any], n_quick: int = 1) -> list[Any]:
    """Parameters of a test, which are marked slow but for the first of them.

    A tuple has the values of several names.
    """
    return marked_slow(values, lambda place: place >= n_quick)


def one_quick_in(n: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test, which are marked slow but for each nth, as above."""
    return marked_slow(values, lambda place: place % n > 0)


def marked_slow(values: Iterable[Any], is_slow: Callable[[int], bool]) -> list[Any]:
    """Parameters of a test, some of them marked slow by their place."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=pytest.mark.slow if is_slow(place) else (),
        )
        for place, value in enumerate(values)
    ]
