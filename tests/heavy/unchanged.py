"""What the package says before a change of its house and after it, side by side.

Run ``python -m tests.heavy.unchanged record BEFORE.json`` in a tree of the state
before, ``... record AFTER.json`` in one of the state after, each with its own build,
then ``... compare BEFORE.json AFTER.json``. Recorded are:

- *arrays*: the arrays of every model's saved state after fixed rows, each as a hash;
- *answers*: all that can be asked of every model (`tests.property.subjects`);
- *faces*: predictions through every way in (`tests.unit.faces`), and formulas;
- *recordings*: fits of R's functions under R's rules, whose numbers are CRAN's;
- *signatures*: public functions and classes, their methods, and the parameter sections
  of their documentation;
- *errors*: type and text of what wrong arguments raise, one argument at a time.

The comparison lists what was added, has gone or differs, and exits with 1 if anything
does. A hash is of type, shape and bytes, so that one bit that differs is seen.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from tests.property import subjects
from tests.unit import faces

N_ROWS = 80
MODULES = (
    "dyntree", "dyntree.mixtures", "dyntree.evaluate", "dyntree.checkpoint",
    "dyntree.datasets", "dyntree.errors", "dyntree.api.estimators",
    "dyntree.api.adapters", "dyntree.api.plots", "dyntree.api.rmirror",
    "dyntree.formula.api", "dyntree.api.formula",
)  # fmt: skip
WRONG: dict[str, Any] = {
    "None": None, "-1": -1, "0": 0, "nan": float("nan"), "text": "nonsense",
    "list": [1, "u"], "object": {"a": 1}, "flag": True, "large": 10**30,
}  # fmt: skip
IN_FITS = ("-1", "text", "object")  # of estimators, which look when they are fitted
FORMULAS = ("y ~ x + z", "y ~ x * C(g)", "np.log(p) ~ bs(x, df=4) + g", "y > 1 ~ x + g")
Section = dict[str, str]


def digest(value: Any) -> str:
    """A short hash of an array: of its type, its shape and its bytes."""
    array = np.ascontiguousarray(value)
    head = f"{array.dtype} {array.shape} ".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()[:16]


def seeded_rows(subject: Any) -> tuple[Any, Any]:
    """Rows of a subject, the same in every run."""
    X, y = subject.rows(np.random.default_rng(11), N_ROWS)
    return X, y


def learned() -> Iterator[tuple[str, Any, Any, Any]]:
    """Every model after its rows: name, subject, model and rows to ask about."""
    for name, subject in subjects.SUBJECTS.items():
        X, y = seeded_rows(subject)
        model = subject.learned(X, y)
        if name == "cover tree":
            model = subject.learn(None, X, y)
        yield name, subject, model, X[:20]


def arrays() -> Section:
    """The arrays of every model's state."""
    found = {}
    for name, _, model, _ in learned():
        if hasattr(model, "to_arrays"):
            for key, value in model.to_arrays()[1].items():
                found[f"{name}: {key}"] = digest(value)
    return found


def answers() -> Section:
    """All answers of every model."""
    found = {}
    for name, subject, model, X in learned():
        for key, value in subjects.asked(model, X, subject.questions).items():
            found[f"{name}: {key}"] = digest(value)
    return found


def through_faces() -> Section:
    """Predictions through every face, and by formulas."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.random((N_ROWS, 3)), columns=[*"abc"])
    y = np.asarray(3.0 * X["a"] + rng.normal(0.0, 0.3, N_ROWS))
    found = {name: digest(teach(X, y)(X[:9])) for name, teach in faces.FACES.items()}
    import dyntree.formula.api as dtf

    table = X.rename(columns={"a": "x", "b": "z", "c": "p"})
    table["p"] += 1.0
    table["g"] = rng.choice([*"uvw"], N_ROWS)
    table["y"] = y + (table["g"] == "v")
    for formula in FORMULAS:
        for more in ({}, {"n_clouds": 2}, {"window": 40}):
            fit = dtf.dynamic_tree(formula, table, n_particles=20, seed=1, **more).fit()
            asked = np.asarray(pd.Series(fit.predict(table[:9])).astype(str).tolist())
            found[f"{formula} {more}"] = digest(asked)
            found[f"{formula} {more} summary"] = digest([str(fit.summary())])
    return found


def recordings() -> Section:
    """Fits and predictions of R's functions, under R's rules."""
    from dyntree.api import rmirror

    rng, found = np.random.default_rng(3), {}
    X = rng.random((60, 2))
    responses = {
        "constant": X[:, 0] + rng.normal(0.0, 0.1, 60),
        "linear": X[:, 0] + rng.normal(0.0, 0.1, 60),
        "class": 1 + (X[:, 0] > 0.5),
    }
    for model, y in responses.items():
        fit = rmirror.dynaTree(X, y, N=40, model=model, verb=0, seed=1)
        fit = rmirror.predict(fit, X[:10])
        for key in dir(fit):
            value = None if key[0] == "_" else getattr(fit, key, None)
            if isinstance(value, np.ndarray):
                found[f"{model}: {key}"] = digest(value)
    return found


# ------------------------------------------------------------ names and errors
def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module and what they name."""
    names = getattr(module, "__all__", [n for n in dir(module) if n[0] != "_"])
    for name in sorted(names):
        value = getattr(module, name, None)
        if callable(value) and getattr(value, "__module__", "").startswith("dyntree"):
            yield f"{module.__name__}.{name}", value


def parameters_of(value: Any) -> str:
    """The parameter section of a docstring, as a hash."""
    _, found, rest = (inspect.getdoc(value) or "").partition("Parameters\n----------")
    return digest([rest.partition("\n---")[0]]) if found else ""


def signature_of(value: Any) -> str:
    """Signature and parameter section of something that can be called."""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        text = "no signature"
    return f"{text} {parameters_of(value)}".strip()


def signatures() -> Section:
    """Public functions, classes and their public methods."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name, value in public(module):
            found[name] = signature_of(value)
            methods = inspect.getmembers(value) if inspect.isclass(value) else []
            for key, method in methods:
                if key[0] != "_" and callable(method):
                    found[f"{name}.{key}"] = signature_of(method)
    return found


def raised(way: Callable[[], Any]) -> str:
    """Type and text of what a call raises; "" if nothing."""
    try:
        way()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def errors() -> Section:
    """What each argument of each model and estimator says of each wrong value."""
    found = {}
    for module in ("dyntree", "dyntree.mixtures", "dyntree.api.estimators"):
        for name, kind in public(importlib.import_module(module)):
            if not inspect.isclass(kind) or name.endswith(("Warning", "Error")):
                continue
            labels = IN_FITS if hasattr(kind, "get_params") else WRONG
            for argument in inspect.signature(kind).parameters:
                for label in labels:
                    value = WRONG[label]
                    text = raised(lambda: begun(kind, argument, value))  # noqa: B023
                    if text:
                        found[f"{name}({argument}={label})"] = text
    for name, subject, model, X in learned():
        for label, value in WRONG.items():
            if hasattr(model, "predict"):
                text = raised(lambda: model.predict(value))  # noqa: B023
                found[f"{name}.predict({label})"] = text
            if hasattr(model, "update"):
                given = (value,) if subject.rows is subjects.blobs else (X, value)
                text = raised(lambda: model.copy().update(*given))  # noqa: B023
                found[f"{name}.update({label})"] = text
    return found


def begun(kind: Any, argument: str, value: Any) -> None:
    """Make a model with one argument, and fit it where only that looks at it."""
    made = kind(**{argument: value})
    if hasattr(made, "fit") and hasattr(made, "get_params"):
        X = np.arange(20.0).reshape(10, 2) % 7
        y = np.arange(10) % 2
        made.fit(X, y)


SECTIONS: dict[str, Callable[[], Section]] = {
    "arrays": arrays, "answers": answers, "faces": through_faces,
    "recordings": recordings, "signatures": signatures, "errors": errors,
}  # fmt: skip


def record(path: Path, only: list[str]) -> None:
    """Write what the package says now."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in only or SECTIONS:
            found[name] = SECTIONS[name]()
            print(f"{len(found[name])} {name}", flush=True)
    path.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


def compare(before: Path, after: Path) -> int:
    """Print what differs between two recordings; returns how much does."""
    old, new = json.loads(before.read_text()), json.loads(after.read_text())
    total = 0
    for section in old:
        was, now = old[section], new.get(section, {})
        gone, added = sorted(was.keys() - now), sorted(now.keys() - was)
        other = sorted(k for k in was.keys() & now.keys() if was[k] != now[k])
        total += len(gone) + len(added) + len(other)
        print(
            f"{section}: {len(was)} before; {len(gone)} gone, {len(added)} added, "
            f"{len(other)} differ"
        )
        for sign, keys in ("-", gone), ("+", added):
            for key in keys:
                print(f"  {sign} {key}")
        for key in other:
            print(f"  ! {key}\n      {was[key]}\n      {now[key]}")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("record")
    made.add_argument("path", type=Path)
    made.add_argument("--only", nargs="*", choices=[*SECTIONS], default=[])
    made = commands.add_parser("compare")
    made.add_argument("before", type=Path)
    made.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.path, given.only)
        return 0
    return int(compare(given.before, given.after) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
