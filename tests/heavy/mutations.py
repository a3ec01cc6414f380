"""Saved models of which one number is changed: refused, or plainly another model.

Run ``python -m tests.heavy.mutations [--kinds Canopy ...] [--changes 200] [--tell]``,
with ``--out tests/heavy/mutations.txt`` to store the result. Of trained models of every
kind, one number of one saved array is changed, and the file is otherwise right. What
may come of it:

- *refused* when it is loaded;
- *same*: it answers as before, now and after some fifty further rows;
- *another*: it answers otherwise, and the number is of an array of `FREE`, which
  nothing else in the file contradicts: the file is that of another valid model, whose
  answers are finite wherever those of the model are (but under R's rules, where a leaf
  may have none), and which learns and is saved like any;
- *silent*: it answers otherwise for other reasons. There must be none;
- *failed*: it loads, and raises an error later. There must be none.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dyntree.checkpoint import dumps, loads
from dyntree.errors import CheckpointError
from dyntree.mixtures import (
    AffineFlow,
    ConstantVelocity,
    GaussianUnknown,
    Multinomial,
)
from dyntree.storage import archive
from tests import kinds
from tests.property.subjects import Answers, arrays

MORE: dict[str, list[kinds.Options]] = {  # contexts beside those of `tests.kinds`
    "DynamicTree": [{"model": "poisson"}, {"weighting": "frequency"}],
    "StreamingTree": [
        {"forget": 0.9, "rejuvenate_every": 20, "window": 15},
        {"weighting": "variance", "model": "linear"},
        {"weighting": "frequency", "model": "class", "discard": "age"},
        {"robust": True},
    ],
    "RandomTreesStream": [{"discount": 0.99}],
    "LinearStream": [{"forget": 0.99}],
    "DependentDPMixture": [
        {"family": GaussianUnknown()}, {"family": AffineFlow()},
        {"family": Multinomial()},
        {"family": GaussianUnknown(), "transition": ConstantVelocity()},
    ],
    "MemoryBoundedHDP": [{"family": "diag"}],
    "Canopy": [{"family": "full"}],
}  # fmt: skip
TREES = {
    "X": "a value of a row, on the same sides of splits and within its column's range",
    "roots": "which of the trees a particle has",
    "split_value": "the place of a cut between the rows on its sides",
    "split_variable": "a column that parts the rows that are left in the same way",
    "split_links": "the side of rows with a gap, where none is held",
    "random_state": "the state of R's generator, or how many choices were drawn",
}
WINDOWS = TREES | {
    "leaf_sums": "sums over rows that have gone, of which nothing is derived",
    "spans": "the range of a column over rows that have gone",
    "row_ids": "the number of a row, of which some have gone",
    "leaf_shape": "under R's rules the depth of a leaf, which stays when a split goes",
    "leaf_credit": "worth of rows, which R's rules keep when their leaf changes",
}
FORESTS = {
    "X": TREES["X"],
    "random_state": TREES["random_state"],
    "odds": "what all rows have said for a cut, of which some have gone",
    "at": "the place of a cut between the rows on its sides",
    **dict.fromkeys(("weight", "weight_2", "feature", "feature_2"), (
        "the direction of a cut that has the same rows on its sides")),
    **dict.fromkeys(("missing_left", "parts_gaps"), (
        "the side of rows with a gap, where a leaf holds none")),
    "last": "when a row last came to a node that counts rows no leaf holds",
    **dict.fromkeys(("sums", "total"), (
        "counts of a node with rows that no leaf holds any more")),
}  # fmt: skip
MEANS = {"mean": "the mean of a cluster, whose rows are not held"}
SUBSPACES = MEANS | {
    "packed": "a product of columns, within what variances and directions allow",
}
REGRESSIONS = {
    "random_state": TREES["random_state"],
    **dict.fromkeys(("place", "unit", "column_mean", "square", "n_values"), (
        "what all rows have said of a column")),
    "prior": "the prior of a coefficient, which follows the spread of its column",
    "log_weights": "what all rows have said for a spread",
}  # fmt: skip
AVERAGE = FORESTS | WINDOWS | REGRESSIONS | {
    "log_weights": "what all rows have said for a member",
    "spread": "how wide the pool was of all rows",
    "persistence": "the last response and how far it was from the one before",
    "log_shares": "what all rows have said for the average and the regression",
    "coef": "what all rows have said for a member, of labels",
    "covariance": "how well that is known: any positive matrix",
}  # fmt: skip
FREE: dict[str, dict[str, str]] = {  # kind -> array -> why nothing contradicts it
    "DynamicTree": TREES,
    "StreamingTree": WINDOWS,
    "RandomTreesStream": FORESTS,
    "LinearStream": REGRESSIONS,
    "AveragedTrees": FORESTS | TREES | REGRESSIONS,
    "AveragedStream": AVERAGE,
    "KeyedStream": AVERAGE | {
        **dict.fromkeys(("totals", "grid", "by_age"), "what all keys have said"),
        "waiting_X": "a value of a row that waits for the end of its block",
        **dict.fromkeys(("waiting_at", "waiting_past", "waiting_misses"), (
            "what the key of a row that waits had said before it")),
        "waiting_log_densities": "what was predicted of a row that waits",
    },
    "OnlineDPGMM": MEANS,
    "DynamicMeans": MEANS | {
        "weight": "rows that a mean is worth after all of its phases",
        "absent": "phases since a cluster had rows",
    },
    "OnlineDPMPPCA": SUBSPACES,
    "OnlineHDPHSMM": SUBSPACES,
    "TaskParameterizedMixture": {f"mixture_{name}": MEANS[name] for name in MEANS},
    "DependentDPMixture": {
        "particles_alive": "the chance to live of one without rows, by votes of sweeps",
        "cells": "how far the values of the first rows are rounded",
        "early": "rows of the first phases, from which scales are chosen again",
    },
    "MemoryBoundedHDP": {
        "alpha": "the concentration of a topic, which sweeps have estimated",
        "shift": "the units of the first rows, which are not held",
        "scale": "the units of the first rows, which are not held",
        "cells": "how far the values of the first rows are rounded",
    },
}  # fmt: skip
OUTCOMES = ("refused", "same", "another", "silent", "failed")


# ------------------------------------------------------------ models and answers
def models(kind: str) -> Iterator[tuple[kinds.Options, bytes]]:
    """Options of trained models of a kind, and the bytes of each."""
    make, common, contexts, _, learn = kinds.KIND[kind]
    common = common | ({"batch_size": 40} if kind == "Canopy" else {})
    for options in [*contexts, *MORE.get(kind, [])]:
        model, whole = make(**common | options), common | options
        for part in range(3):
            learn(model, whole, part)
        yield whole, dumps(model)


def answers(kind: str, model: Any, options: kinds.Options) -> Answers:
    """What a model of this kind says of fixed rows, and of itself."""
    learn = kinds.KIND[kind][-1]
    if learn is kinds.learn_response:
        X, _ = kinds.responses(options, 90)
        asked = {"predict": model.predict(X), "evidence": model.log_evidence}
    elif learn is kinds.learn_keyed:
        asked = {"predict": model.predict(kinds.keyed(options, 1)[0])}
    elif learn is kinds.learn_movement:
        line, frames = kinds.movement(options, 90)
        asked = {
            "predict": model.predict(line, frames), "clusters": model.clusters(),
            "path": model.reproduce(frames).path,
        }  # fmt: skip
    elif learn is kinds.learn_documents:
        X = kinds.documents(options, 90)
        asked = {"transform": model.transform(X), "score": model.score(X)}
    else:
        X = kinds.rows(options, 90)
        if kind == "DynamicMeans":
            return arrays(
                {"predict": model.predict(X), "distances": model.transform(X)}
            )
        asked = {
            "predict": model.predict(X), "proba": model.predict_proba(X),
            "density": model.score_samples(X),
        }  # fmt: skip
        if not isinstance(options.get("family"), Multinomial | str):
            asked["covariances"] = model.covariances_
        if kind == "DependentDPMixture":
            asked |= {"lives": model.lifelines(), "ahead": model.forecast(2)}
    return arrays(asked)


def course(kind: str, data: bytes, options: kinds.Options) -> list[Answers]:
    """Answers of a saved model: now, and after it has learned more and was saved."""
    model, learn = loads(data), kinds.KIND[kind][-1]
    now = answers(kind, model, options)
    for part in (50, 51):
        learn(model, options, part)
    return [now, answers(kind, loads(dumps(model)), options)]


# ------------------------------------------------------------ changes
def changed(value: Any, other: Any, chance: random.Random) -> Any:
    """Another number in the place of one; `other` is its neighbour."""
    if isinstance(value, np.floating):
        odd = [-value, value * 1e9, -1e9, value + 1.0, 0.0, np.nan, np.inf, other]
    else:
        odd = [value + 1, value - 1, 0, 2**40, -1, other, -value]
    return chance.choice(odd)


def mutation(
    saved: dict[str, Any], chance: random.Random
) -> tuple[str, str, dict[str, Any]]:
    """Name of an array, what was changed in it, and arrays with one number changed."""
    names = sorted(name for name in saved if saved[name].size)
    while True:
        name = chance.choice(names)
        flat = saved[name].copy().reshape(-1)
        k = chance.randrange(flat.size)
        value, other = flat[k], flat[(k + 1) % flat.size]
        if isinstance(value, np.integer):
            value, other = int(value), int(other)
        new = changed(value, other, chance)
        if isinstance(value, int):
            new = (new + (1 << 63)) % (1 << 64) - (1 << 63)
            if not np.iinfo(flat.dtype).min <= new <= np.iinfo(flat.dtype).max:
                continue
        flat[k] = new
        array = flat.reshape(saved[name].shape)
        if array.tobytes() != saved[name].tobytes():
            return name, f"[{k}] {value!r} -> {new!r}", saved | {name: array}


def alike(now: Answers, then: Answers, rtol: float = 1e-6) -> bool:
    """Whether answers are the same but for rounding."""
    return now.keys() == then.keys() and all(
        now[name].shape == then[name].shape
        and np.allclose(now[name], then[name], rtol=rtol, atol=1e-9, equal_nan=True)
        for name in now
    )


def sensible(now: Answers, then: Answers) -> bool:
    """Whether answers are numbers where those of the model are."""
    return now.keys() == then.keys() and all(
        not np.isfinite(now[name]).all() or bool(np.isfinite(then[name]).all())
        for name in now
    )


def outcome(
    kind: str, name: str, data: bytes, options: kinds.Options, before: list[Answers]
) -> tuple[str, str]:
    """One of OUTCOMES, and what was seen."""
    try:
        loads(data)
    except CheckpointError as error:
        return "refused", str(error)
    try:
        after = course(kind, data, options)
    except ValueError as error:
        if base(name) in FREE.get(kind, {}):  # as of rows that are too far away
            return "another", str(error)
        return "failed", f"{type(error).__name__}: {error}"
    except Exception as error:  # whatever it is, it came too late
        return "failed", f"{type(error).__name__}: {error}"
    pairs = [*zip(before, after, strict=True)]
    if all(alike(*pair) for pair in pairs):
        return "same", ""
    is_sensible = options.get("rules") == "r" or all(sensible(*p) for p in pairs)
    if base(name) in FREE.get(kind, {}) and is_sensible:
        return "another", ""
    when = "later" if alike(*pairs[0]) else "now"
    return "silent", when if is_sensible else f"{when}, not finite"


def base(name: str) -> str:
    """Name of an array without those of a shared stream and of a member."""
    name = name.removeprefix("level_").removeprefix("history_")
    return name.split("_", 1)[1] if name[0] == "m" and name[1:2].isdigit() else name


def tried(
    kind: str, n_changes: int, seed: int = 0, tell: bool = False
) -> Iterator[tuple[str, str]]:
    """Array and outcome of changes of models of a kind."""
    saved = [*models(kind)]
    courses = [course(kind, data, options) for options, data in saved]
    chance = random.Random(f"{kind} {seed}")
    for number in range(n_changes):
        options, data = saved[number % len(saved)]
        header, stored = archive.read(io.BytesIO(data))
        name, what, stored = mutation(stored, chance)
        file = io.BytesIO()
        archive.write(file, header, stored)
        before = courses[number % len(saved)]
        found, seen = outcome(kind, name, file.getvalue(), options, before)
        if tell and (found in ("silent", "failed")):
            print(f"  {found}: {name}{what} {options}: {seen}", flush=True)
        yield base(name), found


# ------------------------------------------------------------ the table
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=[*kinds.KIND])
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tell", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    lines = [f"{'kind':<20}" + "".join(f"{name:>9}" for name in OUTCOMES)]
    print(lines[0], flush=True)
    bad = 0
    for kind in asked.kinds:
        found = [*tried(kind, asked.changes, asked.seed, asked.tell)]
        counts = Counter(what for _, what in found)
        bad += counts["silent"] + counts["failed"]
        lines.append(f"{kind:<20}" + "".join(f"{counts[name]:>9}" for name in OUTCOMES))
        print(lines[-1], flush=True)
        for what in OUTCOMES[2:]:
            names = Counter(name for name, one in found if one == what)
            if names:
                of = ", ".join(f"{name} {n}" for name, n in names.most_common())
                lines.append(f"    {what}: {of}")
                print(lines[-1], flush=True)
    lines.append("NOT MET" if bad else "met")
    print(lines[-1])
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
