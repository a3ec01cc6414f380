"""Small models under R's rules with their data; refused calls, bad rows, interrupts."""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree
from tests.helpers import model_bytes, same_bytes

MODELS: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant", "rules": "r"},
    "implicit": {"model": "linear", "rules": "r"},
    "augmented": {"model": "linear", "rules": "r", "intercept": "augmented"},
    "none": {"model": "linear", "rules": "r", "intercept": "none"},
    "class": {"model": "class", "rules": "r"},
    "prior": {"model": "prior", "rules": "r"},
}
RETIRING = [name for name in MODELS if name != "implicit"]

# every discard rule, each with a model it fits
DISCARDS = [
    ("constant", "alc"),
    ("augmented", "alc"),
    ("class", "entropy"),
    ("none", "age"),
    ("class", "random"),
]


def data(name: str, n: int = 60, seed: int = 0) -> tuple[np.ndarray, Any]:
    """Two inputs, and a response with a step in the first.

    For "class" they are labels "a", "b", "c", for "count" whole numbers.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = 2.0 * (X[:, 0] > 0.5) + X[:, 1] + 0.2 * rng.normal(size=n)
    if name == "class":
        return X, np.array(["a", "b", "c"])[np.digitize(y, (1.0, 2.0))]
    if name == "count":
        return X, np.maximum(np.round(2.0 * y), 0.0)
    return X, y


def slopes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of opposite sign on either side of 0; labels are words."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    odds = np.where(X[:, 0] > 0, 2.5, -2.5) * X[:, 1] + 0.5
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


def checker(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a checker of two by two fields, which no plane tells apart."""
    X = np.random.default_rng(seed).random((n, 2))
    return X, np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), "same", "other")


def labelled(name: str) -> dict[str, Any]:
    """Options that name every label of `data` at the start, where there are any."""
    return {"classes": ("a", "b", "c")} if name == "class" else {}


def fresh(name: str, **changes: Any) -> DynamicTree:
    """A model that has seen nothing."""
    return DynamicTree(**(MODELS[name] | {"n_particles": 20, "seed": 1} | changes))


def grown(name: str, n: int = 60, **changes: Any) -> DynamicTree:
    """A model that has learned n rows of `data`."""
    return fresh(name, **changes).update(*data(name, n))


def stream(name: str, **changes: Any) -> StreamingTree:
    """A stream that has seen nothing, with a window of 25 rows."""
    options = {"n_particles": 20, "seed": 1, "window": 25} | MODELS[name] | changes
    return StreamingTree(**options)


@contextmanager
def refused(name: str, came: str, model: Any = None) -> Iterator[None]:
    """Expect an error that names the argument and shows what came; nothing changes."""
    with (
        nullcontext() if model is None else same_bytes(model),
        pytest.raises((TypeError, ValueError)) as caught,
    ):
        yield
    message = str(caught.value)
    assert re.search(rf"\b{re.escape(name)}\b", message), message
    assert came in message, message


@contextmanager
def interrupt_after(seconds: float) -> Iterator[Callable[..., None]]:
    """Expect a real SIGINT to cut the block short.

    It comes so many seconds after the first call of what the block is given, which may
    serve as `progress`.
    """
    armed = False

    def arm(*rows: int) -> None:
        nonlocal armed
        if not armed:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def press(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    gc.disable()  # what comes in the callbacks of a collection, Python prints and drops
    alarm = signal.signal(signal.SIGALRM, press)
    ctrl_c = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield arm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, ctrl_c)
        gc.enable()


def check_interrupts(model: Any, X: Any, y: Any, *seconds: float) -> None:
    """Real interrupts during `update` leave what whole rows would have."""
    twin = model.copy()
    for after in seconds:
        before = model.n_seen
        with interrupt_after(after) as arm:
            model.update(X, y, progress=arm)
        learned = model.n_seen - before
        assert 0 < learned < len(X)
        twin.update(X[:learned], y[:learned])
        assert model_bytes(model) == model_bytes(twin)


def frame(values: Any, names: str) -> Any:
    """A pandas frame with one-letter column names."""
    import pandas as pd

    return pd.DataFrame(values, columns=list(names))


def bad_rows() -> dict[str, tuple[Any, Any, str, str]]:
    """What every update must refuse: X, y, the argument at fault, what came."""
    X, y = np.full((3, 2), 0.5), np.arange(3.0)
    with_nan, with_inf = X.copy(), X.copy()
    with_nan[1, 0], with_inf[2, 1] = np.nan, -np.inf
    with_text = X.astype(object)
    with_text[1, 0] = "u"
    half = {"p": 0.5, "q": 0.5}
    return {
        "no rows for responses": (X[:0], y[:2], "X", "none"),
        "no columns": (X[:, :0], y, "X", "0"),
        "one row, flat": (X[0], y[:1], "X", "(2,)"),
        "three dimensions": (X[None], y[:1], "X", "(1, 3, 2)"),
        "a number": (0.5, y[:1], "X", "got 0.5"),
        "None": (None, y, "X", "got None"),
        "ragged": ([[0.5, 0.5], [0.5]], y[:2], "X", "[0.5]"),
        "too wide": (np.ones((3, 3)), y, "X", "3"),
        "too narrow": (np.ones((3, 1)), y, "X", "1"),
        "NaN": (with_nan, y, "X", "nan in row 1, column 0"),
        "inf": (with_inf, y, "X", "-inf in row 2, column 1"),
        "objects": (with_text, y, "X", "'u' in row 1, column 0"),
        "strings": (X.astype(str), y, "X", "'0.5' in row 0, column 0"),
        "complex": (X.astype(complex), y, "X", "complex128"),
        "dates": (X.astype("datetime64[s]"), y, "X", "datetime64"),
        "text in a column": (frame(with_text, "qp"), y, "X", "column 'q'"),
        "NaN in a dict": ([half, {"p": 0.5, "q": np.nan}], y[:2], "X", "nan in row 1"),
        "other keys": ([half, {"p": 0.5}], y[:2], "X", "row 1"),
        "a name twice": (frame(X, "pp"), y, "X", "['p', 'p']"),
        "y short": (X, y[:2], "y", "(2,)"),
        "y long": (X, np.arange(4.0), "y", "(4,)"),
        "y a column": (X, y[:, None], "y", "(3, 1)"),
        "y empty": (X, [], "y", "(0,)"),
        "y None": (X, None, "y", "got None"),
    }


BAD_REAL: dict[str, tuple[Any, str]] = {
    "ragged": ([1.0, [2.0], 3.0], "[2.0]"),
    "complex": (np.arange(3) * 1j, "complex128"),
    "NaN": ([0.0, np.nan, 1.0], "nan in row 1"),
    "inf": ([0.0, 1.0, -np.inf], "-inf in row 2"),
    "None": ([0.0, None, 1.0], "nan in row 1"),
    "strings": (["0", "1", "2"], "'0' in row 0"),
}

BAD_LABELS: dict[str, tuple[Any, str]] = {
    "unknown": (["a", "z", "b"], "'z' in row 1"),
    "numbers": ([0, 1, 2], "0 in row 0"),
    "NaN": (["a", "b", float("nan")], "nan in row 2"),
    "None": (["a", None, "b"], "None in row 1"),
    "unhashable": (np.array(["a", "b", {}], dtype=object), "{} in row 2"),
}


class Pressed:
    """A call that an interrupt cuts short, before or after it has done its work."""

    def __init__(self, call: Any, late: bool) -> None:
        self.call, self.late = call, late

    def __call__(self, *arguments: Any, **more: Any) -> None:
        if self.late:
            self.call(*arguments, **more)
        raise KeyboardInterrupt
