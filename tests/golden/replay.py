"""Perform a recording's steps through the mirror and compare every recorded value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api import rmirror
from dyntree.api.rmirror import DynaTree, RStream, engine
from rbridge.schemes import sample_int

from .compare import Tally, compare

HERE = Path(__file__).parent
_RENAMED = {"class": "cls", "lambda": "lambda_"}
_SILENT = {
    "dynaTree": {"verb": 0},
    "update": {"verb": 0},
    "rejuvenate": {"verb": 0},
    "dynaTrees": {"verb": 0, "pverb": 0},
}
_DRAW = {"dynaTree", "dynaTrees", "update", "rejuvenate", "sens", "classprobs"}
_KEEP_OBJECT = {"dynaTree", "dynaTrees", "update", "retire", "rejuvenate"}


def recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder, by name."""
    return sorted(path for path in folder.glob("*.json") if path.name != "index.json")


def replay(path: Path) -> tuple[Tally, list[str]]:
    """Return the largest differences and everything that is wrong in one file."""
    run = Replay(json.loads(path.read_text()))
    wrong = [
        f"step {step['i']} ({step['op']}): {message}"
        for step in run.case["steps"]
        for message in run.perform(step)
    ]
    return run.tally, wrong


class Replay:
    """One recording on its way through the mirror."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.objects: dict[str, DynaTree] = {}
        self.tally = Tally()
        self.stream = RStream(case["seed"])
        self.trace: dict[str, list[float]] = {}

    def perform(self, step: dict[str, Any]) -> Iterator[str]:
        """Do one step; yield what is wrong with it."""
        op, name = step["op"], step.get("obj")
        args = {
            _RENAMED.get(key, key): self._resolve(value)
            for key, value in (step.get("args") or {}).items()
        }
        if op == "set.seed":
            self.stream = RStream(args["seed"])
        before = self.stream.n_draws
        self.trace = {}
        special = getattr(self, f"_do_{op.replace('.', '_')}", None)
        if special is not None:
            out = special(name, args, step)
        else:
            out = self._call(op, name, args, "trace" in step)
        yield from self._outputs(out, step["out"])
        if "state" in step:
            yield from self._check(_state(self.objects[name]), step["state"])
        if "trace" in step:
            if "from" in step["trace"]:
                self.trace["from"] = [self.objects[name].nstart + 1]
            yield from self._check(self.trace, step["trace"])
        yield from self._check(self._position(before), step["rng"])

    def _call(
        self, op: str, name: str | None, args: dict[str, Any], traced: bool
    ) -> dict[str, Any]:
        obj = [self.objects[name]] if name in self.objects and "y" not in args else []
        if op == "update":
            obj = [self.objects[str(name)]]
        if traced and op == "update":
            self._trace_update(obj[0], args)
        keywords = args | _SILENT.get(op, {})
        if op in _DRAW:
            keywords["rng"] = self.stream
        state = self.stream.state
        with _Recorder() as made:
            result = getattr(rmirror, op)(*obj, **keywords)
        if traced and op == "dynaTree":
            self._trace_fit(result, state, made.options)
        if op in _KEEP_OBJECT or (isinstance(result, DynaTree) and op != "sens"):
            self.objects[str(name)] = result
        return _fields(op, result, args)

    def _do_set_seed(self, name: Any, args: Any, step: Any) -> dict[str, Any]:
        return {}

    def _do_data(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        return {"X": self.objects[name].X, "y": self.objects[name].y}

    def _do_copy(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        self.objects[name] = rmirror.copy(self.objects[args["from"]])
        return {}

    def _do_deletecloud(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        rmirror.deletecloud(self.objects.pop(name))
        return {}

    def _do_getBF(self, name: Any, args: Any, step: Any) -> dict[str, Any]:
        pair = [self.objects[args["obj1"]], self.objects[args["obj2"]]]
        return {"bf": rmirror.getBF(*pair)}

    def _do_expect_error(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        fun = args["fun"]
        keywords = {
            _RENAMED.get(key, key): value for key, value in args["args"].items()
        }
        obj = [] if name is None else [self.objects[name]]
        if fun in ("dynaTree", "dynaTrees"):
            keywords["rng"] = self.stream
        before = self._snapshot()
        try:
            getattr(rmirror, fun)(*obj, **keywords)
        except (TypeError, ValueError):
            changed = self._snapshot() != before
            return {"error": "changed something" if changed else True}
        return {"error": False}

    def _do_mc(self, name: Any, args: Any, step: Any) -> dict[str, Any]:
        rows = [self._one_of_many(seed, args["call"]) for seed in args["seeds"]]
        out = {key: [row[key] for row in rows] for key in rows[0] if key != "at"}
        at = np.array([row["at"] for row in rows])
        return out | {"pred_mean": at.mean(axis=0), "pred_sd": at.std(axis=0, ddof=1)}

    def _one_of_many(self, seed: int, call: dict[str, Any]) -> dict[str, Any]:
        data = {key: self._resolve(f"@{key}") for key in ("X", "y", "XX", "yy")}
        fit = rmirror.dynaTree(data["X"], data["y"], **call, verb=0, seed=seed)
        fit = rmirror.predict(fit, data["XX"], data["yy"], quants=False)
        if fit.model == "class":
            labels = data["yy"].astype(int)
            at = fit.p[np.arange(labels.size), labels - 1]
            error = np.mean(fit.p.argmax(axis=1) + 1 != labels)
        else:
            at = fit.mean
            error = math.sqrt(np.mean((fit.mean - data["yy"]) ** 2))
        stats = rmirror.treestats(fit)
        return {
            "at": at,
            "lpred_sum": fit.lpred.sum(),
            "mean_log_score": np.mean(np.log(fit.yypred)),
            "error": error,
            "avgheight": stats.avgheight.iloc[0],
            "avgleaves": stats.avgleaves.iloc[0],
            "varpropuse": rmirror.varpropuse(fit),
        }

    def _do_stream(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        out: dict[str, list[Any]] = {key: [] for key in step["out"]}
        recorded = step["out"]
        draws = []
        start, checkpoint = len(self.objects[name].y), self.stream.n_draws
        for i, (x, y) in enumerate(zip(args["Xs"], args["ys"], strict=True)):
            before = self.stream.n_draws
            obj = self.objects[name]
            if args["predict"]:
                told = rmirror.predict(obj, x[None, :], yy=[y])
                for key in ("mean", "var", "p", "yypred"):
                    if key in out:
                        out[key].append(told[key][0])
            row = self._row_to_retire(name, args, i % (start - 1), recorded, out)
            obj = rmirror.retire(self.objects[name], row, args["lambda_"])
            if args["rejuv_every"] > 0 and (i + 1) % args["rejuv_every"] == 0:
                odr = np.arange(1, len(obj.y) + 1)
                obj = rmirror.rejuvenate(obj, odr, 0, rng=self.stream)
            obj = rmirror.update(obj, x[None, :], [y], 0, rng=self.stream)
            self.objects[name] = obj
            out["lpred"].append(obj.lpred[-1])
            draws.append(self.stream.n_draws - before)
            if args["check_every"] > 0 and (i + 1) % args["check_every"] == 0:
                told = rmirror.predict(obj, args["XX"], args["yy"])
                out["checkpoints"].append(
                    {
                        "i": i + 1,
                        "predict": told,
                        "state": _state(obj),
                        "rng": self._position(checkpoint),
                    }
                )
                checkpoint = self.stream.n_draws
        self.trace["draws"] = draws
        return out | {"X": self.objects[name].X, "y": self.objects[name].y}

    def _row_to_retire(
        self,
        name: str,
        args: dict[str, Any],
        turn: int,
        recorded: dict[str, Any],
        out: dict[str, list[Any]],
    ) -> int:
        obj, policy = self.objects[name], args["policy"]
        if policy == "cycle":
            row = turn + 1
        elif policy == "random":
            row = sample_int(self.stream, len(obj.y))
        else:
            if policy == "alcX":
                told = rmirror.alcX(obj, args.get("rect"), approx=args["approx"])
            else:
                told = rmirror.entropyX(obj)
            self.objects[name] = told
            row = _choose(-told[policy], recorded, "retired", out)
            out["crit"][-1] *= -1
        out["retired"].append(row)
        return row

    def _do_design(self, name: str, args: Any, step: Any) -> dict[str, Any]:
        out: dict[str, list[Any]] = {key: [] for key in step["out"]}
        draws, method = [], args["method"]
        for noise in args["noise"]:
            before = self.stream.n_draws
            obj, XX = self.objects[name], args["XX"]
            told = rmirror.predict(obj, XX, quants=False, ei=method == "ei")
            if method == "alc":
                told = rmirror.alc(obj, XX, args.get("rect"))
            values = rmirror.alcalc(told, method, args["prec"])
            row = _choose(values, step["out"], "chosen", out)
            y = args["yXX"][row - 1] + noise
            told = rmirror.update(obj, XX[[row - 1]], [y], 0, rng=self.stream)
            self.objects[name] = told
            draws.append(self.stream.n_draws - before)
            for key, value in (("chosen", row), ("y", y), ("lpred", told.lpred[-1])):
                out[key].append(value)
        self.trace["draws"] = draws
        return out

    def _trace_fit(
        self, fit: DynaTree, state: NDArray[np.int32], options: dict[str, Any]
    ) -> None:
        y = fit.y - 1 if fit.model == "class" else fit.y
        source = engine.RSource.from_state(state)
        cloud = engine.Cloud(source, **options)
        cloud.start(np.array(fit.X[: fit.nstart]), np.array(y[: fit.nstart]))
        self._trace_rows(cloud, source, fit.X[fit.nstart :], y[fit.nstart :])

    def _trace_update(self, obj: DynaTree, args: dict[str, Any]) -> None:
        X = obj.spec.encode(args["X"], "X")
        y = obj.spec.responses(args["y"], "y", len(X))
        source = engine.RSource.from_state(self.stream.state)
        self._trace_rows(obj.cloud.copy(source), source, X, y)

    def _trace_rows(
        self,
        cloud: Any,
        source: Any,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
    ) -> None:
        draws, leaves = [], []
        for i in range(len(y)):
            before = source.n_draws
            cloud.update(np.array(X[i : i + 1]), np.array(y[i : i + 1]))
            draws.append(source.n_draws - before)
            leaves.append(engine.query.tree_stats(cloud)[1])
        self.trace |= {"draws": draws, "avgleaves": leaves}

    def _outputs(self, ours: Any, recorded: dict[str, Any]) -> Iterator[str]:
        for key, value in recorded.items():
            if key == "error" and isinstance(value, bool):
                if ours[key] is not value:
                    yield f"error: {ours[key]}, recorded {value}"
            elif key == "checkpoints":
                for mine, theirs in zip(ours[key], value, strict=True):
                    if mine["i"] != theirs["i"]:
                        yield f"checkpoint {mine['i']}, recorded {theirs['i']}"
                    for part in ("predict", "state", "rng"):
                        yield from self._check(mine[part], theirs[part])
            elif key == "by_class":
                for theirs in value:
                    label = theirs["class"]
                    names = [name for name in theirs if name != "class"]
                    mine = {name: ours[name][label] for name in names}
                    yield from self._check(mine, {n: theirs[n] for n in names})
            elif key == "sens":
                yield from self._outputs(ours, value)
            else:
                yield from self._check(ours, {key: value})

    def _check(self, ours: Any, recorded: dict[str, Any]) -> Iterator[str]:
        for key, value in recorded.items():
            yield from compare(key, ours[key], value, self.tally)

    def _position(self, before: int) -> dict[str, Any]:
        return {
            "draws": self.stream.n_draws - before,
            "mti": self.stream.position,
            "next": self.stream.peek(),
        }

    def _snapshot(self) -> list[Any]:
        shown: list[Any] = [self.stream.state.tobytes(), self.stream.n_draws]
        for name, obj in self.objects.items():
            cloud = obj.cloud
            shown.append((name, cloud.n_retired, cloud.row_ids().tobytes()))
            shown += [part.tobytes() for part in cloud.rows()]
            shown += [cloud.tree(i) for i in range(cloud.n_particles)]
            shown += [repr(value) for value in obj.values()]
        return shown

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("@"):
            return np.array(self.case["data"][value[1:]])
        if isinstance(value, dict) and "ref" in value:
            rows = np.atleast_1d(value["rows"]) - 1
            return np.array(self.case["data"][value["ref"]])[rows]
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        return value


class _Recorder:
    """Keeps the options a cloud is made with, while in force."""

    def __enter__(self) -> _Recorder:
        self.options: dict[str, Any] = {}
        self._make = engine.Cloud
        engine.Cloud = self._made
        return self

    def __exit__(self, *_: object) -> None:
        engine.Cloud = self._make

    def _made(self, source: Any, **options: Any) -> Any:
        self.options = options
        return self._make(source, **options)


def _choose(
    values: NDArray[np.float64],
    recorded: dict[str, Any],
    field: str,
    out: dict[str, list[Any]],
) -> int:
    """Return the place of the largest value; the recorded one where it is a tie."""
    step = len(out["gap"])
    ordered = np.sort(values)
    out["crit"].append(ordered[-1])
    out["gap"].append(ordered[-1] - ordered[-2])
    theirs = int(np.atleast_1d(recorded[field])[step])
    if ordered[-1] - values[theirs - 1] <= 1e-12 * max(1.0, abs(ordered[-1])):
        return theirs
    return int(np.argmax(values)) + 1


def _state(obj: DynaTree) -> dict[str, Any]:
    return {
        "n": len(obj.y),
        "treestats": rmirror.treestats(obj).iloc[0].to_numpy(),
        "varpropuse": rmirror.varpropuse(obj),
        "varproptotal": rmirror.varproptotal(obj),
    }


def _fields(op: str, result: Any, args: dict[str, Any]) -> dict[str, Any]:
    if op == "sameleaf":
        return {"counts": result}
    if op == "intervals":
        return {"a": result.a, "b": result.b}
    fields = dict(result)
    if op == "update":
        fields["lpred"] = result.lpred[-np.size(args["y"]) :]
    if op == "classprobs":
        fields |= {"p": result.pcls[args["cls"]], "c": result["cls"][args["cls"]]}
    if op == "coef":
        fields["ncol"] = result.coef.shape[1]
        fields["coef"] = result.coef[:, : len(result.coef[0]) - _unused(result)]
    if "sens.class" in fields:
        fields["classes"] = fields["sens.class"]
    return fields


def _unused(result: DynaTree) -> int:
    return int(np.isnan(result.coef).all(axis=0).sum())
