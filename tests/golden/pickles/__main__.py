"""Pickle one small model of each kind that users hold, and ask it."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dyntree import DynamicTree, StreamingTree

N, M = 40, 6  # rows learned before, and after
RNG = np.random.default_rng(3)
X = RNG.random((N + M, 2))
Y = np.sin(6 * X[:, 0]) + 0.1 * RNG.standard_normal(N + M)
LABEL = np.where(X[:, 0] > 0.5, "high", "low")
SOIL = np.where(X[:, 1] > 0.5, "clay", "sand")
SMALL: dict[str, Any] = {"n_particles": 10, "window": 20}


def frame(rows: slice) -> pd.DataFrame:
    return pd.DataFrame({"depth": X[rows, 0], "soil": SOIL[rows], "y": Y[rows]})


def row(k: int) -> dict[str, Any]:
    return {"depth": X[k, 0], "soil": str(SOIL[k])}


def models() -> dict[str, Any]:
    """Fitted models by the names of their files."""
    import dyntree.formula.api as dtf
    from dyntree.api.adapters import (
        RiverDynamicTreeClassifier,
        RiverDynamicTreeRegressor,
    )
    from dyntree.api.estimators import DynamicTreeClassifier, DynamicTreeRegressor
    from dyntree.api.formula import DynamicTreeModel

    first = slice(N)
    regressor = RiverDynamicTreeRegressor("linear", seed=1, **SMALL)
    classifier = RiverDynamicTreeClassifier(seed=1, **SMALL)
    for k in range(N):
        regressor.learn_one(row(k), Y[k])
        classifier.learn_one(row(k), str(LABEL[k]))
    text = frame(first).astype({"soil": object})
    return {
        "tree": DynamicTree("linear", n_particles=10, seed=1).update(X[:N], Y[:N]),
        "stream": StreamingTree("class", seed=1, **SMALL).update(X[:N], LABEL[:N]),
        "sklearn-regressor": DynamicTreeRegressor(
            "linear", random_state=1, **SMALL
        ).fit(X[:N], Y[:N]),
        "sklearn-classifier": DynamicTreeClassifier(random_state=1, **SMALL).fit(
            X[:N], LABEL[:N]
        ),
        "river-regressor": regressor,
        "river-classifier": classifier,
        "formula": dtf.dynamic_tree(
            "y ~ np.sqrt(depth) + C(soil)", text, seed=1, **SMALL
        ).fit(),
        "arrays": DynamicTreeModel(Y[:N], X[:N], seed=1, **SMALL).fit(),
    }


def go_on(model: Any) -> Any:
    """Learn the other rows."""
    others = slice(N, N + M)
    if hasattr(model, "learn_one"):
        labels = hasattr(model, "predict_proba_one")
        for k in range(N, N + M):
            model.learn_one(row(k), str(LABEL[k]) if labels else Y[k])
        return model
    if hasattr(model, "partial_fit"):
        labels = hasattr(model, "classes_")
        return model.partial_fit(X[others], (LABEL if labels else Y)[others])
    if hasattr(model, "append"):
        if model.model.formula is None:
            return model.append(Y[others], X[others])
        return model.append(frame(others))
    labels = model.classes is not None
    return model.update(X[others], (LABEL if labels else Y)[others])


def answer(model: Any) -> list[Any]:
    """Predictions at the rows."""
    if hasattr(model, "learn_one"):
        if hasattr(model, "predict_proba_one"):
            return [model.predict_proba_one(row(k)) for k in range(N)]
        return [model.predict_one(row(k)) for k in range(N)]
    if hasattr(model, "partial_fit"):
        ask = getattr(model, "predict_proba", model.predict)
        found: list[Any] = ask(X).tolist()
        return found
    if hasattr(model, "append"):
        rows = X if model.model.formula is None else frame(slice(N + M))
        return np.asarray(model.predict(rows)).tolist()
    told = model.predict(X)
    return list((told.mean if model.classes is None else told.proba).tolist())


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    for name, model in models().items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model))
        told[name] = [answer(model), answer(go_on(model))]
    (folder / "answers.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
