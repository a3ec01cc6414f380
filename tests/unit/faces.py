"""Every face that rows come in by: what teaches it a table, and what it answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.api.formula import DynamicTreeModel
from dyntree.errors import MissingKeyWarning
from dyntree.evaluate import prequential, prequential_density
from dyntree.evaluate.repeats import fit_repeats
from dyntree.mixtures import (
    Canopy,
    CoverTree,
    DependentDPMixture,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)

Ask = Callable[[Any], np.ndarray]
Teach = Callable[[Any, Any], Ask]
SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
FOREST: dict[str, Any] = {"n_trees": 5, "seed": 1}


def told(answer: Any) -> np.ndarray:
    """The numbers of an answer, as an array."""
    for name in ("proba", "mean"):
        if hasattr(answer, name) and not callable(getattr(answer, name)):
            return np.asarray(getattr(answer, name))
    return np.asarray(answer, dtype=np.float64)


def engine(make: Callable[[], Any]) -> Teach:
    """A model of trees, by `update` and `predict`."""

    def teach(X: Any, y: Any) -> Ask:
        model = make().update(X, y)
        return lambda X: told(model.predict(X))

    return teach


def labels(y: Any) -> list[str]:
    return ["high" if one > np.median(y) else "low" for one in y]


def of_labels(teach: Teach) -> Teach:
    """The same face, given labels."""
    return lambda X, y: teach(X, labels(y))


def by_key(X: Any, y: Any) -> Ask:
    model = KeyedStream(n_particles=5, seed=1)
    model.update(X, y, [row % 3 for row in range(len(X))])
    return lambda X: told(model.predict(X, [row % 4 for row in range(len(X))]))


def of_one_series(teach: Teach) -> Teach:
    """A model for keys that has no key, without the warning that says so."""

    def learned(X: Any, y: Any) -> Ask:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingKeyWarning)
            return teach(X, y)

    return learned


def endog(X: Any, y: Any) -> Ask:
    fit = DynamicTreeModel(np.asarray(y), X, **SMALL).fit()
    return lambda X: np.asarray(fit.predict(X), dtype=np.float64)


def repeats(X: Any, y: Any) -> Ask:
    model = DynamicTree(**SMALL)
    found = fit_repeats(model, X, y, n_repeats=2, progress=False)
    return lambda X: np.concatenate([told(one.predict(X)) for one in found])


def scored(make: Callable[[], Any], start: int) -> Teach:
    """A model by `prequential`, which cuts rows out of the table one by one."""

    def teach(X: Any, y: Any) -> Ask:
        model = make()
        seen = prequential(model, X, y, start=start, progress=False)
        return lambda X: np.append(seen.mean, told(model.predict(X)))

    return teach


def estimator(name: str, **options: Any) -> Teach:
    """One of scikit-learn's."""

    def teach(X: Any, y: Any) -> Ask:
        pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
        from dyntree.api import estimators

        made = getattr(estimators, name)(**options).fit(X, y)
        return lambda X: told(getattr(made, "predict_proba", made.predict)(X))

    return teach


def river(name: str, **options: Any) -> Teach:
    """One of river's, by mini-batches."""

    def teach(X: Any, y: Any) -> Ask:
        pytest.importorskip("river", reason="needs river: dyntree[river]")
        from dyntree.api import adapters

        made = getattr(adapters, name)(**options)
        given = (X,) if "Clusterer" in name else (X, np.asarray(y))
        made.learn_many(*given)
        ask = getattr(made, "predict_proba_many", made.predict_many)
        return lambda X: np.asarray(ask(X), dtype=np.float64)

    return teach


def mixture(make: Callable[[], Any], ask: str = "predict") -> Teach:
    """A mixture of rows without responses."""

    def teach(X: Any, y: Any) -> Ask:
        model = make()
        model.fit(X) if isinstance(model, Canopy) else model.update(X)
        return lambda X: told(getattr(model, ask)(X))

    return teach


def density(X: Any, y: Any) -> Ask:
    model = OnlineDPGMM(25.0)
    seen = prequential_density(model, X, start=30, progress=False)
    return lambda X: np.concatenate([seen.log_density, model.score_samples(X)])


def cover_tree(X: Any, y: Any) -> Ask:
    tree = CoverTree(X)
    return lambda X: tree.query(X, k=3)[0]


TREES: dict[str, Teach] = {
    "tree": engine(lambda: DynamicTree(**SMALL)),
    "tree linear": engine(lambda: DynamicTree("linear", **SMALL)),
    "tree class": of_labels(engine(lambda: DynamicTree("class", **SMALL))),
    "stream": engine(lambda: StreamingTree(window=25, **SMALL)),
    "average of streams": engine(lambda: AveragedStream(**SMALL)),
    "average of trees": engine(lambda: AveragedTrees(n_clouds=3, **SMALL)),
    "average of trees class": of_labels(
        engine(lambda: AveragedTrees("class", n_clouds=3, **SMALL))
    ),
    "random trees": engine(lambda: RandomTreesStream("constant", **FOREST)),
    "random trees class": of_labels(engine(lambda: RandomTreesStream(**FOREST))),
    "prequential": scored(lambda: DynamicTree(**SMALL), 0),
    "prequential average": scored(lambda: AveragedStream(**SMALL), 20),
    "prequential class": of_labels(scored(lambda: DynamicTree("class", **SMALL), 0)),
    "keyed stream": by_key,
    "keyed regressor": of_one_series(
        estimator("KeyedRegressor", n_particles=5, random_state=1)
    ),
    "keyed classifier": of_one_series(
        of_labels(estimator("KeyedClassifier", n_particles=5, random_state=1))
    ),
    "river keyed regressor": of_one_series(
        river("RiverKeyedRegressor", n_particles=5, seed=1)
    ),
    "river keyed classifier": of_one_series(
        of_labels(river("RiverKeyedClassifier", n_particles=5, seed=1))
    ),
    "repeats": repeats,
    "endog and exog": endog,
    "regressor": estimator("DynamicTreeRegressor", n_particles=15, random_state=1),
    "regressor in a window": estimator(
        "DynamicTreeRegressor", window=25, n_particles=15, random_state=1
    ),
    "classifier": of_labels(
        estimator("DynamicTreeClassifier", n_particles=15, random_state=1)
    ),
    "forest regressor": estimator("RandomTreesRegressor", random_state=1),
    "forest classifier": of_labels(estimator("RandomTreesClassifier", random_state=1)),
    "river forest regressor": river("RiverRandomTreesRegressor", **FOREST),
    "river forest classifier": of_labels(river("RiverRandomTreesClassifier", **FOREST)),
    "river regressor": river("RiverDynamicTreeRegressor", **SMALL),
    "river classifier": of_labels(river("RiverDynamicTreeClassifier", **SMALL)),
}
MIXTURES: dict[str, Teach] = {
    "dpgmm": mixture(lambda: OnlineDPGMM(25.0)),
    "dpgmm scores": mixture(lambda: OnlineDPGMM(25.0), "score_samples"),
    "dpmppca": mixture(lambda: OnlineDPMPPCA(25.0, noise=0.5)),
    "hdphsmm": mixture(lambda: OnlineHDPHSMM(25.0, noise=0.5)),
    "ddp": mixture(lambda: DependentDPMixture(GaussianUnknown(), seed=1)),
    "canopy": mixture(lambda: Canopy(2, seed=1)),
    "hdp": mixture(lambda: MemoryBoundedHDP(seed=1), "transform"),
    "prequential density": density,
    "cover tree": cover_tree,
    "dpgmm clusterer": estimator("DPGMMClusterer", lambda_=25.0),
    "ddp clusterer": estimator("DependentDPClusterer", random_state=1),
    "dynamic means clusterer": estimator("DynamicMeansClusterer", random_state=1),
    "canopy clusterer": estimator("CanopyMixture", n_components=2, random_state=1),
    "river clusterer": river("RiverDPGMMClusterer", lambda_=25.0),
}
FACES = TREES | MIXTURES


def without(*packages: str) -> Any:
    """A mark that skips a test where packages are not there, and names them."""
    absent = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(absent), reason=f"needs {', '.join(absent)}")
