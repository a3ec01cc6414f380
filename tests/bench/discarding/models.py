"""Trees and peers of the figures, by the names that the paper gives them.

ORIG learns the first w rows and no more; ORAND, OALC, OENT and OAGE learn all and hold
w of them, discarding by chance, ALC, entropy or age; FULL holds all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dyntree import AveragedStream, DynamicTree, StreamingTree

DISCARDS = {"ORAND": "random", "OALC": "alc", "OENT": "entropy", "OAGE": "age"}


def tree(
    model: str, method: str, rules: str, *, window: int, n_particles: int, seed: int,
    forget: float | None = None, **more: Any,
) -> Any:  # fmt: skip
    """An unfitted tree; `learn` gives it what its method lets it see."""
    if rules == "averaged":
        return AveragedStream(model, seed=seed, **more)
    given: dict[str, Any] = {"n_particles": n_particles, "rules": rules, "seed": seed}
    if rules == "r" and model == "linear":
        given["intercept"] = "augmented"  # R's default cannot retire
    given |= more
    if method in ("ORIG", "FULL"):
        return DynamicTree(model, **given)
    return StreamingTree(
        model, window=window, discard=DISCARDS[method], forget=forget, **given
    )


def learn(tree: Any, method: str, X: Any, y: Any, window: int) -> Any:
    n = window if method == "ORIG" else len(y)
    return tree.update(X[:n], y[:n], progress=False)


def height_and_leaves(model: Any) -> tuple[float, float]:
    """Means over the particles; NaN for averages of several clouds."""
    if isinstance(model, AveragedStream):
        return float("nan"), float("nan")
    inside = model.tree if isinstance(model, StreamingTree) else model
    stats = inside.stats()
    return stats.height, stats.n_leaves


def probability(told: Any) -> np.ndarray:
    """Of label 1."""
    place = list(told.classes).index(1)
    out: np.ndarray = told.proba[:, place]
    return out


# ---------------------------------------------------------------- peers
def river_classifiers() -> dict[str, Callable[[int], Any]]:
    from river import ensemble, forest, linear_model, preprocessing, tree

    return {
        "adaptive random forest": lambda seed: forest.ARFClassifier(seed=seed),
        "aggregated Mondrian forest": lambda seed: forest.AMFClassifier(seed=seed),
        "Hoeffding adaptive tree": lambda seed: tree.HoeffdingAdaptiveTreeClassifier(
            seed=seed
        ),
        "leveraging bagging": lambda seed: ensemble.LeveragingBaggingClassifier(
            tree.HoeffdingTreeClassifier(), seed=seed
        ),
        "logistic regression": lambda seed: (
            preprocessing.StandardScaler() | linear_model.LogisticRegression()
        ),
    }


def river_regressors() -> dict[str, Callable[[int], Any]]:
    from river import forest, linear_model, preprocessing, tree

    return {
        "adaptive random forest": lambda seed: forest.ARFRegressor(seed=seed),
        "aggregated Mondrian forest": lambda seed: forest.AMFRegressor(seed=seed),
        "Hoeffding adaptive tree": lambda seed: tree.HoeffdingAdaptiveTreeRegressor(
            seed=seed
        ),
        "linear regression": lambda seed: (
            preprocessing.StandardScaler() | linear_model.LinearRegression()
        ),
    }


def of_river(model: Any, X: np.ndarray, y: np.ndarray, is_class: bool) -> np.ndarray:
    """Mean, or probability of label 1, of each row before it is learned."""
    told = np.zeros(len(y))
    for t, (values, response) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(values))
        if is_class:
            told[t] = model.predict_proba_one(row).get(1, 0.0)
        else:
            told[t] = model.predict_one(row)
        model.learn_one(row, response)
    return told


def of_river_batch(model: Any, X: np.ndarray, is_class: bool) -> np.ndarray:
    """The same for rows that are not learned."""
    rows = [dict(enumerate(values)) for values in X.tolist()]
    if is_class:
        return np.array([model.predict_proba_one(row).get(1, 0.0) for row in rows])
    return np.array([model.predict_one(row) for row in rows])


def windowed_forest(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """scikit-learn's forest on the last 500 rows, fitted anew every 100."""
    from sklearn.ensemble import RandomForestClassifier

    told = np.full(len(y), 0.5)
    for first in range(500, len(y), 100):
        rows = slice(first - 500, first)
        some = slice(first, first + 100)
        if len(np.unique(y[rows])) < 2:
            told[some] = y[rows][0]
            continue
        forest = RandomForestClassifier(100, random_state=seed, min_samples_leaf=5)
        told[some] = forest.fit(X[rows], y[rows]).predict_proba(X[some])[:, 1]
    return told


class AdaptiveLDA:
    """Linear discriminants of two classes whose forgetting factor follows the stream.

    Means m_c, weights n_c and the pooled covariance S fade by lambda with each row;
    lambda itself climbs the log density of the next row under its own class, by the
    derivatives of n_c, m_c and S that are carried along (Anagnostopoulos, Tasoulis,
    Adams, Pavlidis and Hand 2012, Statistical Analysis and Data Mining 5, 139).

    Parameters
    ----------
    d : int
    step : float
        Of the climb.
    """

    def __init__(self, d: int, step: float = 1e-4) -> None:
        self.step, self.lam = step, 0.99
        self.n, self.dn = np.ones(2), np.zeros(2)
        self.m, self.dm = np.zeros((2, d)), np.zeros((2, d))
        self.total, self.dtotal = 1.0, 0.0
        self.S, self.dS = np.eye(d), np.zeros((d, d))

    def proba(self, x: np.ndarray) -> float:
        """Probability of label 1."""
        w = np.linalg.solve(self.S, (self.m[1] - self.m[0]))
        score = w @ (x - 0.5 * self.m.sum(axis=0)) + np.log(self.n[1] / self.n[0])
        return float(1.0 / (1.0 + np.exp(-np.clip(score, -500, 500))))

    def learn(self, x: np.ndarray, c: int) -> None:
        gap = x - self.m[c]
        turned = np.linalg.solve(self.S, gap)
        slope = turned @ self.dm[c] + 0.5 * (
            turned @ self.dS @ turned - np.trace(np.linalg.solve(self.S, self.dS))
        )
        self.lam = float(np.clip(self.lam + self.step * slope, 0.9, 1.0))
        lam = self.lam
        self.dn, self.n = self.n + lam * self.dn, lam * self.n
        self.n[c] += 1.0
        rate = 1.0 / self.n[c]
        drate = -self.dn[c] * rate**2
        dgap = -self.dm[c]
        self.dm[c] = (1.0 - rate) * self.dm[c] + drate * gap
        self.m[c] += rate * gap
        self.dtotal, self.total = self.total + lam * self.dtotal, lam * self.total + 1.0
        share = 1.0 / self.total
        dshare = -self.dtotal * share**2
        outer = np.outer(gap, gap)
        douter = np.outer(dgap, gap)
        self.dS = (
            (1.0 - share) * self.dS
            + dshare * (outer - self.S)
            + share * (douter + douter.T)
        )
        self.S = (1.0 - share) * self.S + share * outer


def adaptive_lda(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Probability of label 1 of each row before it is learned."""
    model = AdaptiveLDA(X.shape[1])
    told = np.empty(len(y))
    for t, (x, c) in enumerate(zip(X, y.tolist(), strict=True)):
        told[t] = model.proba(x)
        model.learn(x, int(c))
    return told
