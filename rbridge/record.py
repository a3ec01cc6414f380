"""Recordings of the real package: what it answers under a seed, as strict JSON.

The format is that of tests/golden/README.md. Whoever replays a recording needs no R.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.rmirror import RStream
from dyntree.storage.atomic_files import replacing

from . import dynatree, schemes
from .errors import RBridgeError, RError
from .session import Session, default_session
from .words import PYTHON_NAMES

_CHANGES = (
    "dynaTree", "update", "retire", "rejuvenate", "copy", "stream", "design",
)  # fmt: skip
_DRAWS = ("dynaTree", "dynaTrees", "update", "rejuvenate", "sens", "classprobs")
_SILENT = ("dynaTree", "dynaTrees", "update", "rejuvenate")
_BLOCK, _MOST_BLOCKS = 624, 10**6
_WITH_NA = ("S", "T", "varpropuse", "varproptotal")
_BY_CLASS = ("MEmean", "MEq1", "MEq2", "S", "T")
_PREDICTED = ("mean", "vmean", "var", "df", "q1", "q2", "ei", "p", "entropy")
# Which fields a step answers with; absent ones are left out.
_FIELDS = {
    "dynaTree": ("lpred", "m", "nstart", "params", "classes"),
    "retire": ("X", "y"),
    "data": ("X", "y"),
    "predict": (*_PREDICTED, "yypred"),
    "relevance": ("relevance",),
    "dynaTrees": (
        "N", "R", "lpred", *_PREDICTED, "yypred", "vpu", "vpt", "relevance",
    ),
}  # fmt: skip
OPS = (
    "set.seed", *_FIELDS, "sens", "update", "rejuvenate", "copy", "deletecloud", "coef",
    "alc", "alcX", "ieci", "qEI", "qEntropy", "intervals", "sameleaf", "classprobs",
    "entropyX", "getBF", "stream", "design", "mc", "expect_error",
)  # fmt: skip


def record(
    name: str,
    seed: int,
    data: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    *,
    tags: Sequence[str] = (),
    notes: Sequence[str] = (),
    session: Session | None = None,
) -> dict[str, Any]:
    """Run steps in the real package and return the recording.

    Parameters
    ----------
    name : str
        Name of the recording, and of its file.
    seed : int
        Seed that is passed to ``set.seed`` first.
    data : mapping of str to array_like
        Input data: vectors and matrices by name.
    steps : sequence of mapping
        Each step has op, one of `OPS`; obj, the name of the model that it makes or
        uses; and args by R's names, in which ``"@X"`` stands for ``data["X"]``, and
        ``{"ref": "X", "rows": [1, 2]}`` for some of its rows, counted from 1. note is
        stored in the recording. If summary is true, long matrices are recorded by
        their moments.
    tags, notes : sequence of str
        Stored in the recording. A further note has the versions of R, its BLAS and its
        packages.
    session : Session, optional
        The R to use. The default is the embedded one if rpy2 is installed, else an
        Rscript.

    Returns
    -------
    dict
        The recording, in the form that `write` writes.

    Raises
    ------
    ValueError
        If an op or a reference is unknown.
    RError
        If the real package raises an error.

    Examples
    --------
    >>> import rbridge
    >>> case = rbridge.record(  # doctest: +SKIP
    ...     "small", 7, {"X": X, "y": y},
    ...     [{"op": "dynaTree", "obj": "a", "args": {"X": "@X", "y": "@y", "N": 30}}],
    ... )
    """
    tape = _Tape(data, session or default_session())
    plan = [{"op": "set.seed", "args": {"seed": seed}}, *steps]
    done = [tape.perform(number, step) for number, step in enumerate(plan, start=1)]
    calls = [step["args"] for step in done if step["op"] == "dynaTree"]
    case = {
        "name": name,
        "seed": seed,
        "rng": "Mersenne-Twister/Inversion/Rejection",
        "set": "recorded",
        "tags": list(tags),
        "notes": [*notes, tape.origin()],
        "data": {key: _plain(value) for key, value in tape.data.items()},
    }
    return {**case, **({"call": calls[0]} if calls else {}), "steps": done}


def write(case: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write a recording to ``folder/<name>.json``, completely or not at all.

    Returns
    -------
    Path
        Path of the file.
    """
    path = Path(folder) / f"{case['name']}.json"
    with replacing(path) as file:
        file.write(json.dumps(case, allow_nan=False).encode("ascii") + b"\n")
    return path


class _Tape:
    """The models, the data and the one stream of a recording."""

    def __init__(self, data: Mapping[str, Any], running: Session) -> None:
        self.data = {key: np.asarray(value) for key, value in data.items()}
        self.running = running
        self.models: dict[str, Any] = {}
        self.stream = RStream(0)

    def origin(self) -> str:
        """Say what a result depends on."""
        known = self.running.versions()
        return (
            f"{known['R']}, {known['platform']}, BLAS {known['BLAS']}, RNGkind "
            f"{'/'.join(known['RNGkind'])}, dynaTree {known['dynaTree']}"
        )

    def perform(self, number: int, step: Mapping[str, Any]) -> dict[str, Any]:
        op, obj, args = step["op"], step.get("obj"), dict(step.get("args") or {})
        if op not in OPS:
            raise ValueError(f"op must be of {', '.join(OPS)}; got {op!r}.")
        if op == "set.seed":
            self.stream = RStream(args["seed"])
        before = self.stream.state
        self.trace: dict[str, Any] = {}
        out = self._answer(op, obj, self._resolve(args))
        noted: dict[str, Any] = {"i": number, "op": op}
        noted |= {} if obj is None else {"obj": obj}
        noted |= {"args": _plain(args)}
        noted |= {"note": step["note"]} if "note" in step else {}
        shown = {key: _plain(value, key) for key, value in out.items()}
        if step.get("summary"):
            shown |= {key: _summary(out[key], key) for key in out if _is_long(out[key])}
        noted["out"] = shown
        if op in _CHANGES:
            noted["state"] = self._state(self.models[str(obj)])
        noted |= {"trace": self.trace} if self.trace else {}
        return noted | {"rng": self._moved(before)}

    def _moved(self, before: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "draws": _draws(before, self.stream.state),
            "mti": self.stream.position,
            "next": self.stream.peek(),
        }

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, Mapping) and "ref" not in value:
            names = {key: PYTHON_NAMES.get(str(key), str(key)) for key in value}
            return {names[key]: self._resolve(item) for key, item in value.items()}
        rows = None
        if isinstance(value, Mapping):
            value, rows = f"@{value['ref']}", np.atleast_1d(value["rows"]) - 1
        if not isinstance(value, str) or not value.startswith("@"):
            return value
        if value[1:] not in self.data:
            raise ValueError(
                f"args must refer to data, {', '.join(self.data)}; got {value!r}."
            )
        found = self.data[value[1:]]
        return found if rows is None else found[rows]

    def _answer(self, op: str, obj: Any, given: dict[str, Any]) -> dict[str, Any]:
        if op == "set.seed":
            return {}
        if op == "getBF":
            pair = (self._model(given[name]) for name in ("obj1", "obj2"))
            return {"bf": dynatree.getBF(*pair)}
        if op == "copy":
            self.models[obj] = dynatree.copy(self._model(given["from"]))
            return {}
        if op == "deletecloud":
            dynatree.deletecloud(self._model(obj))
            del self.models[obj]
            return {}
        if op == "data":
            return _chosen(op, self._model(obj))
        if op == "mc":
            return schemes.many_seeds(
                self.data, given["seeds"], given["call"], self.running
            )
        if op == "expect_error":
            return {"error": self._fails(given["fun"], obj, given["args"])}
        if op in ("stream", "design"):
            return self._loop(op, obj, given)
        given |= {"verb": 0} if op in _SILENT else {}
        given |= {"pverb": 0} if op == "dynaTrees" else {}
        if op in _DRAWS:  # classprobs: its draws are not committed
            committed = RStream.from_state(self.stream.state)
            given["rng"] = committed if op == "classprobs" else self.stream
        if op in ("dynaTree", "dynaTrees"):
            given |= {"engine": "R", "session": self.running}
            answer = getattr(dynatree, op)(**given)
        else:
            answer = getattr(dynatree, op)(self._model(obj), **given)
        if isinstance(answer, dynatree.RDynaTree):
            self.models[obj] = answer
        return _outputs(op, answer, given)

    def _loop(self, op: str, obj: str, given: dict[str, Any]) -> dict[str, Any]:
        asked = (self._model(obj), given, self.stream)
        if op == "stream":
            noted = schemes.stream(*asked, self._state, self._moved)
        else:
            noted = schemes.design(*asked, self._moved)
        self.models[obj], out, self.trace["draws"] = noted
        return out

    def _fails(self, function: str, obj: Any, given: dict[str, Any]) -> bool:
        models = [] if obj is None else [self._model(obj)]
        if function in ("dynaTree", "dynaTrees"):
            given |= {"engine": "R", "session": self.running}
        if function in _DRAWS:
            given |= {"rng": self.stream}
        try:
            if function == "getBF":  # the fields are given, not models
                self.running.call("dynaTree", function, given)
            else:
                getattr(dynatree, function)(*models, **given)
        except RError:
            return True
        return False

    def _model(self, name: Any) -> Any:
        if name not in self.models:
            raise ValueError(
                f"obj must name a model made before; got {name!r}. There are "
                f"{', '.join(self.models) or 'none'}."
            )
        return self.models[name]

    def _state(self, model: Any) -> dict[str, Any]:
        state = {
            "n": len(model["y"]),
            "treestats": dynatree.treestats(model).to_numpy()[0],
            "varpropuse": dynatree.varpropuse(model),
            "varproptotal": dynatree.varproptotal(model),
        }
        return {key: _plain(np.asarray(value), key) for key, value in state.items()}


def _outputs(op: str, answer: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the format keeps of an answer."""
    if op == "update":
        return {"lpred": answer["lpred"][-np.size(given["y"]) :]}
    if op == "rejuvenate":
        return {}
    if op == "sameleaf":
        return {"counts": answer}
    if op == "intervals":
        return {"a": np.asarray(answer["a"]), "b": np.asarray(answer["b"])}
    if op == "classprobs":
        return {
            "p": answer["pcls"][given["cls"] - 1],
            "c": answer["cls"][given["cls"] - 1],
        }
    if op == "coef":
        coefficients = answer["coef"]
        last = int(answer["params"][6]) + int(answer["icept"] == "implicit")
        return {"ncol": coefficients.shape[1], "coef": coefficients[:, :last]}
    if op == "sens":
        return _effects(answer)
    if op == "dynaTrees" and isinstance(given.get("XX"), str):
        return {**_chosen(op, answer), "sens": _effects(answer)}
    return _chosen(op, answer) if op in _FIELDS else {op: answer[op]}


def _effects(answer: Any) -> dict[str, Any]:
    """Return main effects and indices, by class where there are classes."""
    if "sens.class" not in answer:
        return {key: answer[key] for key in ("MEgrid", *_BY_CLASS)}
    labels = np.atleast_1d(answer["sens.class"]).astype(int).tolist()
    return {
        "MEgrid": answer["MEgrid"],
        "classes": np.array(labels),
        "by_class": [
            {"class": k, **{name: answer[name][k] for name in _BY_CLASS}}
            for k in labels
        ],
    }


def _chosen(op: str, answer: Any) -> dict[str, Any]:
    return {
        key: answer[key]
        for key in _FIELDS[op]
        if key in answer and np.size(answer[key])
    }


def _draws(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    """Return how many outputs of the generator lie between two states."""
    source = RStream.from_state(before)
    blocks = 0
    while not np.array_equal(source.state[2:], after[2:]):
        source.uniforms(_BLOCK)
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise RBridgeError(
                "a step left the stream elsewhere than it could draw to."
            )
    return _BLOCK * blocks + int(after[1]) - int(before[1])


def _is_long(value: Any) -> bool:
    return np.ndim(value) == 2 and len(value) > 4


def _summary(matrix: NDArray[np.float64], name: str) -> dict[str, Any]:
    """Return what stands for a matrix with a row for each of many particles."""
    moments = np.nanmean(matrix, axis=0), np.nanstd(matrix, axis=0, ddof=1)
    return {
        "summary": True,
        "nrow": matrix.shape[0],
        "ncol": matrix.shape[1],
        "n_na": int(np.isnan(matrix).sum()),
        **dict(zip(("colmean", "colsd"), map(_plain, moments), strict=True)),
        "first": _plain(matrix[:3], name),
        "last": _plain(matrix[-1:], name),
    }


def _plain(value: Any, name: str = "") -> Any:
    """Return what strict JSON holds: non-finite numbers as words, NA as null."""
    if isinstance(value, Mapping):
        return {key: _plain(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist(), name)
    if isinstance(value, np.generic):
        return _plain(value.item(), name)
    if isinstance(value, float):
        if math.isnan(value):
            return None if name in _WITH_NA else "NaN"
        if math.isinf(value):
            return "Inf" if value > 0 else "-Inf"
    return value
