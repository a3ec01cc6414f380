"""Rows a second of a model for every key, beside dictionaries of river's models.

Run ``OMP_NUM_THREADS=1 python -m tests.bench.keyed``; the last result is stored beside
this file in keyed.txt. Rows have three columns and a key by Zipf's law; all rows before
the measured ones are learned in large calls. "predict, learn" is `predict_then_learn`,
"learn" `update`, in calls of 1, 100 and 1,000 rows; "in a file" has a store on disk,
where each call is committed. The peers learn each row and predict it before, in a
dictionary with a model a key: river's standard scaler and linear regression, and its
Hoeffding trees. Times are CPU; ratios are to river's linear regression.

``--million N`` learns N rows over N / 10 keys into a file instead, in calls of 1,000,
and writes the largest memory of the process at the end of keyed.txt, in the place of
the line of an earlier run of as many rows.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dyntree

N_BEFORE, N_TIMED = 6_000, 2_000  # the shared streams learn one row in 16 after 5,000
KEYS = (10, 1_000, 100_000)
SIZES = (1, 100, 1_000)
RESULT = Path(__file__).with_suffix(".txt")


def rows_of(n_keys: int, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Columns, responses with levels of the keys, and keys."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_keys + 1) ** 0.9
    key = rng.choice(n_keys, n, p=share / share.sum())
    X, level = rng.random((n, 3)), rng.normal(0.0, 1.0, n_keys)
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] + level[key] + 0.3 * rng.standard_normal(n)
    return X, y, key


def seconds(call: Callable[[slice], Any], size: int, n: int) -> float:
    """CPU seconds a row of calls with so many rows each."""
    clock = time.process_time()
    for first in range(N_BEFORE, N_BEFORE + n, size):
        call(slice(first, first + size))
    return (time.process_time() - clock) / n


def ours(n_keys: int, store: Path | None) -> tuple[dict[str, float], Any]:
    """Seconds a row of our model by what is done and how many rows a call has."""
    X, y, key = rows_of(n_keys, N_BEFORE + N_TIMED * 2 * len(SIZES))
    model = dyntree.KeyedStream("linear", store=store, seed=1)
    model.update(X[:N_BEFORE], y[:N_BEFORE], key[:N_BEFORE], progress=False)
    found = {}
    for size in SIZES:
        n = N_TIMED if size > 1 else N_TIMED // 4
        for name in ("learn",) if store else ("predict, learn", "learn"):
            method = model.update if name == "learn" else model.predict_then_learn

            def call(part: slice, method: Any = method) -> Any:
                return method(X[part], y[part], key[part], progress=False)

            found[f"{name}, {size} a call"] = seconds(call, size, n)
    return found, model


def rivers(n_keys: int) -> dict[str, float]:
    """Seconds a row of river's models, one a key."""
    from river import linear_model, preprocessing, tree

    makers = {
        "river: linear regression a key": lambda: (
            preprocessing.StandardScaler() | linear_model.LinearRegression()
        ),
        "river: Hoeffding tree a key": tree.HoeffdingAdaptiveTreeRegressor,
    }
    X, y, key = rows_of(n_keys, N_BEFORE + N_TIMED)
    rows = [{"a": a, "b": b, "c": c} for a, b, c in X.tolist()]
    found = {}
    for name, make in makers.items():
        models: dict[int, Any] = {}

        def call(part: slice, models: Any = models, make: Any = make) -> None:
            for row in range(part.start, part.stop):
                k = int(key[row])
                model = models.get(k)
                if model is None:
                    model = models[k] = make()
                model.predict_one(rows[row])
                model.learn_one(rows[row], float(y[row]))

        call(slice(0, N_BEFORE))
        found[name] = seconds(call, 1, N_TIMED)
    return found


def sizes(n_keys: int) -> str:
    """Bytes of a key at rest and live, once it has 300 rows."""
    lines = []
    for model in ("linear", "constant", "class"):
        X, y, key = rows_of(20, 20 * 300)
        key = np.arange(len(key)) % 20
        labels = np.where(y > 1.0, "a", "b")
        fleet = dyntree.KeyedStream(model, seed=1, full_rows=500, thin=100)
        fleet.update(X, labels if model == "class" else y, key, progress=False)
        _, arrays = fleet.to_arrays()
        rest = arrays["blob_ends"][-1] / 20
        live = fleet.model_of(0).memory_usage()
        lines.append(f"{model}: {rest / 1e3:.1f} kB at rest, {live / 1e3:.0f} kB live")
    return "; ".join(lines)


def million(n: int) -> None:
    """Learn many rows of many keys into a file."""
    X, y, key = rows_of(n // 10, n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.db"
        clock = time.process_time()
        with dyntree.KeyedStream("linear", store=path, seed=1) as model:
            for first in range(0, n, 1_000):
                part = slice(first, first + 1_000)
                model.update(X[part], y[part], key[part], progress=False)
            facts = model.facts()
        clock = time.process_time() - clock
        size = path.stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    line = (
        f"{n} rows, {facts['keys']} keys, {facts['live keys']} live: "
        f"{n / clock:.0f} rows a second, {memory:.0f} MB of memory, "
        f"{size / 1e6:.0f} MB of file"
    )
    print(line)
    lines = RESULT.read_text().splitlines()
    others = [one for one in lines if not one.startswith(f"{n} rows, ")]
    RESULT.write_text("\n".join([*others, line, ""]))


def main() -> None:
    """Print all tables."""
    for n_keys in KEYS:
        found, _ = ours(n_keys, None)
        with tempfile.TemporaryDirectory() as folder:
            in_file, model = ours(n_keys, Path(folder) / "fleet.db")
            model.close()
        found |= {f"in a file: {name}": value for name, value in in_file.items()}
        found |= rivers(n_keys)
        peer = found["river: linear regression a key"]
        print(f"{n_keys} keys", flush=True)
        for name, value in found.items():
            print(f"  {name:34s} {1.0 / value:8.0f} rows/s {value / peer:6.1f}")
    print(sizes(20))


if __name__ == "__main__":
    if "--million" in sys.argv:
        million(int(sys.argv[-1]))
    else:
        main()
