"""Recordings of the real package: written as the golden ones, and replayed by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rbridge
from dyntree.api.rmirror import RStream
from rbridge import schemes
from rbridge.record import OPS, write
from tests.golden.compare import decode
from tests.golden.replay import replay
from tests.unit.rbridge.engines import running

A, TWIN = {"obj": "a"}, {"obj": "b"}
NEW = {"XX": "@XX"}
REST = {
    "X": {"ref": "X", "rows": [41, 42, 43]},
    "y": {"ref": "y", "rows": [41, 42, 43]},
}


def data(model: str) -> dict[str, Any]:
    rng = np.random.default_rng(13)
    X = rng.random((43, 2))
    y = X[:, 0] + rng.normal(0, 0.1, 43)
    if model == "class":
        y = 1.0 + (y > 0.4) + (y > 0.8)
    return {
        "X": X,
        "y": y,
        "XX": rng.random((5, 2)),
        "yy": y[:5],
        "ones": np.ones((30, 2)),
    }


def everything(model: str, **more: Any) -> list[dict[str, Any]]:
    """A step of every kind that the model can take."""
    fit = {
        "X": {"ref": "X", "rows": list(range(1, 41))},
        "model": model,
        "N": 30,
        **more,
    }
    fit["y"] = {"ref": "y", "rows": list(range(1, 41))}
    steps = [
        {"op": "dynaTree", **A, "args": fit, "note": "forty rows"},
        {"op": "update", **A, "args": REST},
        {"op": "predict", **A, "args": {**NEW, "yy": "@yy"}},
        {"op": "copy", **TWIN, "args": {"from": "a"}},
        {"op": "retire", **A, "args": {"indices": [3, 40], "lambda": 0.9}},
        {"op": "rejuvenate", **A},
        {"op": "update", **A, "args": REST},
        {"op": "data", **A},
        {"op": "relevance", **A},
        {"op": "relevance", **A, "summary": True},
        {"op": "sens", **A, "args": {"nns": 40, "nME": 4}},
        {"op": "sameleaf", **A, "args": {"X": "@XX"}},
        {"op": "intervals", **A, "args": {"index": 2, "var": 1}},
    ]
    if model == "class":
        classes = {"class": 2, **NEW, "output": "both"}
        steps += [
            {"op": "entropyX", **A},
            {"op": "classprobs", **A, "args": classes},
            {"op": "sens", **A, "args": {"class": 2, "nns": 30, "nME": 3}},
            {"op": "predict", **A, "args": NEW},
        ]
    else:
        lines = {**NEW, "Xref": {"ref": "X", "rows": [1, 2]}, "probs": "@ones"}
        steps += [{"op": op, **A, "args": NEW} for op in ("alc", "qEI", "qEntropy")]
        steps += [{"op": "alcX", **A}, {"op": "ieci", **A, "args": lines}]
        steps += [{"op": "predict", **A, "args": {**NEW, "ei": True, "quants": False}}]
    if model == "linear":
        steps.append({"op": "coef", **A, "args": NEW})
    return [*steps, {"op": "deletecloud", **TWIN}]


def loops(model: str) -> list[dict[str, Any]]:
    stream = {"Xs": "@X", "ys": "@y", "lambda": 1, "rejuv_every": 10, **NEW}
    stream |= {"yy": "@yy", "check_every": 20, "approx": False}
    policies = ["cycle", "entropyX" if model == "class" else "alcX", "random"]
    steps: list[dict[str, Any]] = [
        {"op": "dynaTree", **A, "args": {"X": "@X", "y": "@y", "N": 10, "model": model}}
    ]
    steps += [
        {"op": "stream", **A, "args": {**stream, "policy": one, "predict": told}}
        for one, told in zip(policies, (True, False, True), strict=True)
    ]
    if model != "class":
        given = {**NEW, "yXX": "@yy", "noise": [0.1, -0.1, 0.0], "prec": 0.1}
        steps += [
            {"op": "design", **A, "args": {**given, "method": one}}
            for one in ("alm", "alc", "ei")
        ]
    many = {"seeds": [1, 2, 3], "call": {"model": model, "N": 20}}
    wrong = {"fun": "retire", "args": {"indices": 44}}
    return [
        *steps,
        {"op": "mc", "args": many},
        {"op": "expect_error", **A, "args": wrong},
    ]


def repeats(model: str) -> list[dict[str, Any]]:
    given = {"X": "@X", "y": "@y", "N": 10, "R": 3, "model": model}
    made = [
        {**given, **NEW, "varstats": True},
        {**given, "XX": "sens", "nns": 30, "nME": 4},
        given,
    ]
    steps: list[dict[str, Any]] = [
        {"op": "dynaTrees", "obj": name, "args": args}
        for name, args in zip("abc", made, strict=True)
    ]
    return [*steps, {"op": "getBF", "args": {"obj1": "a", "obj2": "c"}}]


@pytest.mark.cran
@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("constant", everything("constant")),
        ("linear", everything("linear", icept="augmented", sb=[1, 1])),
        ("class", everything("class")),
        ("constant", loops("constant")),
        ("class", loops("class")),
        ("constant", repeats("constant")),
        ("class", repeats("class")),
    ],
    ids=[
        "constant",
        "linear",
        "class",
        "loops",
        "class loops",
        "repeats",
        "repeats of classes",
    ],
)
def test_a_recording_replays(
    model: str, steps: list[dict[str, Any]], tmp_path: Path
) -> None:
    r = running("subprocess", cran=True)
    case = rbridge.record("case", 5, data(model), steps, tags=["t"], session=r)
    path = write(case, tmp_path)
    _, wrong = replay(path)
    assert wrong == []
    told = json.loads(path.read_text())
    assert [step["op"] for step in told["steps"]] == [
        "set.seed",
        *(step["op"] for step in steps),
    ]
    assert list(told)[:6] == ["name", "seed", "rng", "set", "tags", "notes"]
    assert "BLAS" in told["notes"][-1]
    summed = [step for step in steps if step.get("summary")]
    shown = [str(step["out"]) for step in told["steps"]]
    assert sum("'summary': True" in one for one in shown) == len(summed)
    assert all(set(step["rng"]) == {"draws", "mti", "next"} for step in told["steps"])
    assert np.array_equal(told["data"]["X"], data(model)["X"])


DENSITIES = {"lpred", "yypred", "ei", "qEI", "ieci"}  # R's dt() enters them


def differing(again: Any, recorded: Any, rtol: float, name: str = "") -> Iterator[str]:
    """Names of what is not the same to the bit; of densities, within `rtol`."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in recorded.keys() | again.keys():
            yield from differing(again.get(key), recorded.get(key), rtol, key)
    elif name == "checkpoints":
        for one, other in zip(again, recorded, strict=True):
            yield from differing(one, other, rtol)
    elif again != recorded and not (
        name in DENSITIES
        and np.allclose(
            decode(again), decode(recorded), rtol=rtol, atol=0.0, equal_nan=True
        )
    ):
        yield name


def test_only_densities_may_differ_and_only_so_far() -> None:
    told = {
        "mean": [1.0, 2.0],
        "yypred": [0.5, None],
        "checkpoints": [{"lpred": [3.0]}],
    }
    near = {"mean": [1.0, 2.0], "yypred": [0.5 + 1e-14, None]}
    near |= {"checkpoints": [{"lpred": [3.0 + 1e-13]}]}
    assert [*differing(told, told, 0.0)] == [*differing(near, told, 1e-12)] == []
    assert sorted(differing(near, told, 0.0)) == ["lpred", "yypred"]
    assert sorted(differing(near, told, 1e-14)) == ["lpred", "yypred"]
    assert [*differing(told | {"mean": [1.0, 2.0 + 1e-15]}, told, 1e-12)] == ["mean"]
    assert [*differing(told | {"more": 1}, told, 1e-12)] == ["more"]


@pytest.mark.cran
def test_a_golden_recording_comes_again() -> None:
    """Byte for byte the same numbers, from the file's own steps.

    They were recorded with R 4.2. R 4.4 made its `stirlerr` more accurate, which dt()
    uses: by its news that changes densities "after 12th decimal". So densities may
    differ by that much there, and nothing else: neither trees nor streams.
    """
    r = running("subprocess", cran=True)
    rtol = 1e-12 if r.evaluate("getRversion() >= '4.4'") else 0.0
    folder = Path(__file__).parents[2] / "golden"
    for name in (
        "retire_const",
        "sens_class3",
        "dynaTrees_reg",
        "lin_sb_fried5",
        "stream_random_const_N36",
        "stream_alcX_linear_aug",
        "stream_entropyX_class",
        "stream_elec2_drift",
        "design_alm_linear",
        "design_ei_const",
        "arg_errors",
    ):
        theirs = json.loads((folder / f"{name}.json").read_text())
        steps = theirs["steps"][1:]
        if any(step["op"] not in OPS for step in steps):
            pytest.fail(f"{name} has steps that cannot be recorded")
        again = rbridge.record(name, theirs["seed"], theirs["data"], steps, session=r)
        for mine, step in zip(again["steps"], theirs["steps"], strict=True):
            loop = step["op"] in ("stream", "design")
            for part in ("out", "state", "rng", *(["trace"] if loop else [])):
                wrong = [*differing(mine.get(part), step.get(part), rtol)]
                assert not wrong, (name, step["i"], part, wrong)
        assert again["call"] == theirs["call"] if "call" in theirs else True


def test_unknown_ops_and_references_are_refused() -> None:
    r = running("subprocess")
    for step, told in (
        ({"op": "swim"}, "op must be of set.seed, .*; got 'swim'"),
        ({"op": "predict", "obj": "a"}, "obj must name a model made before; got 'a'"),
        (
            {"op": "dynaTree", "obj": "a", "args": {"X": "@Z"}},
            "args must refer to data, X; got '@Z'",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            rbridge.record("n", 1, {"X": [1.0]}, [step], session=r)


def test_unknown_policies_of_a_stream_are_refused() -> None:
    given = {"Xs": REST["X"], "ys": REST["y"], "policy": "age"}
    with pytest.raises(ValueError, match=r"policy must be one of random.*; got 'age'"):
        schemes.stream({}, given, RStream(1), dict, dict)
