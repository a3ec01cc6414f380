"""Rows at the edge give finite answers, rows beyond it an error and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
)
from tests.helpers import model_bytes, same_bytes
from tests.probes import audit
from tests.unit.faces import SMALL, TREES
from tests.unit.models import data, frame

Rows = tuple[np.ndarray, np.ndarray]

# what X and y may be, made of plain ones
ODD: dict[str, Callable[[np.ndarray, np.ndarray], Rows]] = {
    "constant columns": lambda X, y: (np.ones_like(X), y),
    "rows again and again": lambda X, y: (
        np.repeat(X[:6], 10, axis=0), np.repeat(y[:6], 10),
    ),
    "denormal numbers": lambda X, y: (X * 5e-324, y),
    "near the smallest": lambda X, y: (X, y * 1e-149),
    "negative zeros": lambda X, y: (X * -0.0, y),
    "near the largest": lambda X, y: (X * 1e149, y * 1e149),
    "wide ranges": lambda X, y: (10.0 ** (300 * X - 150), y),
    "constant responses": lambda X, y: (X, np.ones_like(y)),
    "nothing but missing": lambda X, y: (np.full_like(X, np.nan), y),
    "a column missing": lambda X, y: (np.where([True, False], np.nan, X), y),
}  # fmt: skip
MAKERS: dict[str, Callable[[str], Any]] = {
    "tree": lambda model: DynamicTree(model, n_particles=20, seed=1),
    "stream": lambda model: StreamingTree(model, window=15, n_particles=20, seed=1),
}
ENGINES: dict[str, Callable[[], Any]] = {
    "tree": lambda: DynamicTree(**SMALL),
    "counts": lambda: StreamingTree("negbin", **SMALL),
    "average of streams": lambda: AveragedStream(**SMALL),
    "average of trees": lambda: AveragedTrees(**SMALL),
    "random trees": lambda: RandomTreesStream("constant", seed=1),
}
BAD: dict[str, tuple[Any, Any]] = {
    "infinite": ([[0.5, np.inf]], None),
    "too large": ([[0.5, 1e308]], None),
    "too wide": ([[0.5, 0.5, 0.5]], None),
    "flat": (np.array([0.5, 0.5]), None),
    "text": (np.array([["a", "b"]]), None),
    "none": (np.empty((0, 2)), None),
    "a number": (0.5, None),
    "nothing": (None, None),
    "missing response": (np.array([[0.5, 0.5]]), np.array([np.nan])),
    "two responses": (np.array([[0.5, 0.5]]), np.array([1.0, 2.0])),
}


@pytest.mark.filterwarnings("ignore::dyntree.errors.DistantInputsWarning")  # the ranges
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_odd_rows_give_finite_answers(model: str, maker: str, odd: str) -> None:
    X, y = ODD[odd](*data("constant", 60))
    if model == "class":
        y = (y > np.median(y)).astype(np.int64)
    tree = MAKERS[maker](model).update(X, y)
    told = tree.predict(np.concatenate([X[:5], data("constant", 5, seed=8)[0]]))
    found = [told.proba] if model == "class" else [told.mean, told.quantile([0.1, 0.9])]
    assert all(np.all(np.isfinite(part)) for part in found)
    assert not np.isnan(getattr(tree, "tree", tree).log_evidence)
    audit(getattr(tree, "tree", tree).state.cloud)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("n", [5, 60])
def test_bad_rows_leave_no_trace(model: str, maker: str, bad: str, n: int) -> None:
    X, y = data(model, n)
    tree = MAKERS[maker](model).update(X, y)
    row, response = BAD[bad]
    with same_bytes(tree), pytest.raises(ValueError, match=r"\b(X|y)\b"):
        tree.update(row, y[:1] if response is None else response)
    if "response" not in bad and bad != "none":
        with same_bytes(tree), pytest.raises(ValueError, match="X"):
            tree.predict(row)


REAL = [name for name in TREES if "class" not in name]


@pytest.mark.parametrize("name", REAL)
def test_booleans_beside_numbers_are_refused(name: str) -> None:
    X, y = data("constant", 60)
    mixed = np.array([*y[:40].tolist(), *[True] * 20], dtype=object)
    with pytest.raises(ValueError, match=r"must (hold real|be a) number.* got True"):
        TREES[name](frame(X, "pq"), mixed)


@pytest.mark.parametrize("name", [name for name in REAL if name != "prequential"])
def test_responses_that_are_no_sequence_are_shown(name: str) -> None:
    X = frame(data("constant", 60)[0], "pq")
    with pytest.raises(ValueError, match=r"\b(y|endog) (must|should)\b.* (1\.5|a 1d)"):
        TREES[name](X, 1.5)


@pytest.mark.parametrize("maker", ENGINES)
def test_booleans_after_numbers_are_refused(maker: str) -> None:
    X, y = data("constant", 60)
    model = ENGINES[maker]().update(X, np.round(np.abs(y)))
    late: tuple[Any, ...] = ([True, False], np.array([True, False]), [1.0, True])
    for booleans in late:
        with (
            same_bytes(model),
            pytest.raises(ValueError, match="must hold real numbers"),
        ):
            model.update(X[:2], booleans)
    if hasattr(model, "learn_row"):
        with (
            same_bytes(model),
            pytest.raises(ValueError, match="must hold real numbers"),
        ):
            model.learn_row(X[:1], True)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1e151])
def test_responses_whose_squares_are_lost_are_refused(name: str, scale: float) -> None:
    X, y = data("constant", 60)
    late = np.where(np.arange(60) < 30, 0.0, scale * y)
    for responses in (scale * y, late):
        with pytest.raises(ValueError, match=r"\by .*1e[-+]150"):
            TREES[name](frame(X, "pq"), responses)


def test_what_a_masked_array_hides_stays_hidden() -> None:
    X, y = data("constant")
    hidden = X > 0.8
    expected = MAKERS["tree"]("constant").update(np.where(hidden, np.nan, X), y)
    model = MAKERS["tree"]("constant").update(np.ma.array(X, mask=hidden), y)
    assert model_bytes(model) == model_bytes(expected)
    with pytest.raises(ValueError, match="y must be finite; got nan in row 0"):
        model.update(X, np.ma.array(y, mask=y == y))
    assert model_bytes(model) == model_bytes(expected)


@pytest.mark.parametrize("form", ["frame", "dicts"])
@pytest.mark.parametrize("time", [np.datetime64("2024-01-01"), np.timedelta64(3, "D")])
def test_times_for_numbers_are_sent_to_numbers(time: Any, form: str) -> None:
    """Advice on levels would not help, as a time is none."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame({"a": np.linspace(0.0, 1.0, 40), "b": np.arange(40.0)})
    model = DynamicTree(**SMALL).update(X, X.a)
    rows = X[:1].assign(b=[time])
    with pytest.raises(ValueError, match=r"'b'.*Convert times to numbers"):
        model.predict(rows if form == "frame" else rows.to_dict("records"))
