"""Tables of numbers to judge defaults by; see the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .streams import Rows, arm, chickens, friedman_2, friedman_3, heavy, products, shops

MOST = 1000  # rows of a table


@dataclass(frozen=True)
class UnseenTable:
    """A table, in random order: inputs without gaps, and numbers."""

    name: str
    rows: Callable[[], Rows]


def of_statsmodels(name: str, response: str, *left_out: str) -> UnseenTable:
    """A set of statsmodels': one column by all others that are numbers."""

    def rows() -> Rows:
        import statsmodels.datasets as sets

        table = getattr(sets, name).load_pandas().data
        table = table.select_dtypes("number").dropna()
        X = table.drop(columns=[response, *left_out])
        return shuffled(X.to_numpy(float), table[response].to_numpy(float))

    return UnseenTable(f"{name}: {response}", rows)


def of_sklearn(name: str, response: int) -> UnseenTable:
    """A set of scikit-learn's: one of its inputs by all others."""

    def rows() -> Rows:
        from sklearn import datasets

        X = getattr(datasets, f"load_{name}")().data
        return shuffled(np.delete(X, response, axis=1), X[:, response])

    return UnseenTable(f"{name}: column {response}", rows)


def simulated(name: str, rows: Callable[[int], Rows], n: int) -> UnseenTable:
    """The first rows of a stream that stands still."""

    def some() -> Rows:
        X, y = rows(11)
        return X[:n], y[:n]

    return UnseenTable(f"{name}, {n} rows", some)


def shuffled(X: np.ndarray, y: np.ndarray) -> Rows:
    order = np.random.default_rng(3).permutation(len(y))[:MOST]
    return X[order], y[order]


def sparse(seed: int) -> Rows:
    """A bend, a step and a product in four of thirty columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((MOST, 30))
    mean = np.maximum(X[:, 0], 0) + 1.5 * (X[:, 7] > 0) + X[:, 12] * X[:, 20]
    return X, mean + 0.5 * rng.standard_normal(MOST)


def regions(seed: int) -> Rows:
    """A slope that has another sign in each of four regions."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (MOST, 3))
    sign = np.sign(X[:, 0] * X[:, 1])
    return X, 2 * sign * X[:, 2] + 0.3 * rng.standard_normal(MOST)


def curve(seed: int) -> Rows:
    """A curve of one input that is rough in one part."""
    rng = np.random.default_rng(seed)
    x = rng.random(MOST)
    mean = np.where(x < 0.6, np.sin(3 * x), np.sin(3 * x) + 0.7 * np.sin(60 * x))
    return x[:, None], mean + 0.2 * rng.standard_normal(MOST)


def plane(seed: int) -> Rows:
    """A plane of eight inputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((MOST, 8))
    return X, X @ rng.standard_normal(8) + rng.standard_normal(MOST)


TABLES = (
    of_statsmodels("heart", "survival"),
    of_statsmodels("statecrime", "violent"),
    of_statsmodels("cancer", "cancer"),
    of_statsmodels("copper", "WORLDCONSUMPTION"),
    of_statsmodels("committee", "BILLS104"),
    of_statsmodels("strikes", "duration"),
    of_statsmodels("scotland", "YES"),
    of_statsmodels("stackloss", "STACKLOSS"),
    of_statsmodels("macrodata", "infl", "year", "quarter"),
    of_statsmodels("randhie", "mdvis"),
    of_statsmodels("fair", "affairs"),
    of_sklearn("breast_cancer", 3),
    of_sklearn("breast_cancer", 9),
    of_sklearn("wine", 0),
    of_sklearn("iris", 2),
    of_sklearn("diabetes", 8),
    UnseenTable("chickens: weight", lambda: shuffled(*chickens(0))),
    simulated("friedman 2", friedman_2, 300),
    simulated("friedman 3", friedman_3, 300),
    simulated("arm", arm, 500),
    simulated("products", products, 500),
    simulated("heavy tails", heavy, 300),
    simulated("forty shops", shops, 800),
    simulated("sparse", sparse, 250),
    simulated("regions", regions, 400),
    simulated("curve", curve, 200),
    simulated("plane", plane, 100),
)
