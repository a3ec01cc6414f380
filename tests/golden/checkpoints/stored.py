"""Small models of each kind, and what each is asked."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dyntree
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.results import DynamicTreeResults
from dyntree.checkpoint.models import VERSION
from dyntree.mixtures import Canopy, CoverTree
from tests import kinds
from tests.property.subjects import Answers, arrays, forecast

FOLDER = Path(__file__).parent / f"v{VERSION}"
MEMORIES = [{"window": 20}, {"window": 30, "forget": 0.9}]
ALSO: dict[str, kinds.Options] = {  # for small files
    "AveragedStream": {"members": MEMORIES}, "AveragedTrees": {"n_particles": 5},
    "Canopy": {"batch_size": 16},
}  # fmt: skip
ALL_CONTEXTS = ("DynamicTree", "MemoryBoundedHDP")  # of others the first one alone
FORMULA = "formula"  # which its own class saves and loads
POINTS = kinds.table(9, 4)


def models() -> dict[str, Any]:
    """A model of each kind by name; of some also with other leaves or families."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, (make, common, contexts, _, learn) in kinds.KIND.items():
            for context in contexts if kind in ALL_CONTEXTS else contexts[:1]:
                options = common | context | ALSO.get(kind, {})
                model = make(**options)
                learn(model, options, 0)
                found["-".join([kind, *map(str, context.values())])] = model
        found |= others()
    return found


def others() -> dict[str, Any]:
    """Models of kinds that learn otherwise than by rows, and results of a formula."""
    X = kinds.table(0, 40)
    alarm = dyntree.ChangeAlarm(seed=1)
    for score in np.abs(X[:, 0]):
        alarm.update(float(score))
    late = dyntree.DelayedLabels(dyntree.DynamicTree(n_particles=12, seed=1))
    late.model.update(X, X[:, 0])
    late.predict_later("order 17", [0.5, 1.0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.dyn"
        fit = Canopy(3, seed=1)
        fit.fit(X, save_to=path, save_every=2, callback=lambda seen: seen.sweep == 2)
        running = dyntree.load(path)
    days = np.datetime64("2024-01-01", "D") + np.arange(40).astype("timedelta64[D]")
    columns = {"a": np.linspace(0, 1, 40), "site": ["u", "v"] * 20, "day": days}
    formula = DynamicTreeModel(
        np.sin(6 * columns["a"]), columns, n_particles=12, window=20, seed=1
    )
    return {
        "ChangeAlarm": alarm, "DelayedLabels": late, "Running": running,
        "CoverTree": CoverTree(X), FORMULA: formula.fit(), "KeyedStream": keys(X),
    }  # fmt: skip


def keys(X: np.ndarray) -> Any:
    """A model for keys, in the middle of a block."""
    options = {"members": MEMORIES, "n_particles": 5, "window": 20, "block": 4}
    model = dyntree.KeyedStream("linear", seed=1, **options)
    for _ in range(5):
        model.update(X, X[:, 0] + np.arange(40) % 3, np.arange(40) % 3)
    return model


def answer(name: str, model: Any) -> Answers:
    """Numbers that tell models apart."""
    kind, _, context = name.partition("-")
    if isinstance(model, DynamicTreeResults):
        rows = [{"a": p, "site": "u", "day": None} for p in (0.1, 0.4, 0.9)]
        return arrays({"mean": model.predict(rows), "llf": model.llf})
    if kind == "ChangeAlarm":
        return arrays({"p": model.p_value, "evidence": model.log_evidence})
    if kind == "DelayedLabels":
        return arrays({"waits": model.n_pending} | forecast(model.model, POINTS))
    if kind == "Running":
        return arrays({"pace": model.pace, "mean": model.state.components.mean})
    if kind == "KeyedStream":
        return arrays({"mean": model.predict(POINTS, np.arange(4)).mean})
    if kind == "CoverTree":
        return arrays(model.query(POINTS, k=3))
    _, common, contexts, _, learn = kinds.KIND[kind]
    options = common | next(
        one for one in contexts if "-".join(map(str, one.values())) == context
    )
    if learn is kinds.learn_movement:
        line, frames = kinds.movement(options, 9)
        path = model.reproduce(frames).path
        return arrays({"cluster": model.predict(line, frames), "path": path})
    if learn is kinds.learn_documents:
        return arrays({"shares": model.transform(kinds.documents(options, 9))})
    if learn is kinds.learn_rows:
        X = kinds.rows(options, 9)[:4]
        if kind == "DynamicMeans":
            return arrays({"cluster": model.predict(X), "distance": model.transform(X)})
        found = {"cluster": model.predict(X), "density": model.score_samples(X)}
        return arrays(found)
    X = kinds.responses(options, 9)[0][:4]
    seen: Answers = {"evidence": model.log_evidence}
    if model.classes is not None:
        return arrays(seen | {"proba": model.predict(X).proba})
    if hasattr(model.predict(X), "of_mean"):
        return arrays(seen | forecast(model, X))
    return arrays(seen | {"mean": model.predict(X).mean})
