"""Steps of a recording that are loops of calls: streams, designs, many seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.rmirror import RStream

from . import dynatree
from .session import Session

Out = dict[str, Any]
_POLICIES = ("random", "cycle", "alcX", "entropyX")
_SHOWN = ("mean", "var", "p", "yypred")
_AT_CHECKPOINTS = ("mean", "var", "p", "entropy", "yypred")


def stream(
    model: Any,
    given: Mapping[str, Any],
    rng: RStream,
    state: Callable[[Any], Out],
    moved: Callable[[NDArray[np.int32]], Out],
) -> tuple[Any, Out, list[int]]:
    """Predict, retire and update row by row.

    Parameters
    ----------
    model : RDynaTree
        A fitted model.
    given : mapping
        Xs, ys, policy ("random", "cycle", "alcX" or "entropyX") and, optionally,
        predict, lambda_, rect, approx, rejuv_every, check_every, XX and yy.
    rng : RStream
        The stream for all random draws.
    state, moved : callable
        Return what a checkpoint records of a model, and of the stream since a state of
        it.

    Returns
    -------
    tuple of (RDynaTree, dict, list of int)
        The model, the data to record, and the number of draws for each row.

    Raises
    ------
    ValueError
        If the policy is unknown.
    """
    if given["policy"] not in _POLICIES:
        raise ValueError(
            f"policy must be one of {', '.join(_POLICIES)}; got {given['policy']!r}."
        )
    out: Out = {"retired": [], "lpred": []}
    draws, checkpoints = [], []
    start, last = len(model["y"]), rng.state
    for i, (x, y) in enumerate(zip(given["Xs"], given["ys"], strict=True), start=1):
        before = rng.state
        if given.get("predict"):
            answer = dynatree.predict(model, x[None, :], yy=[y])
            for name in _present(answer, _SHOWN):
                out.setdefault(name, []).append(answer[name][0])
        if given["policy"] == "cycle":
            row = (i - 1) % (start - 1) + 1
        elif given["policy"] == "random":
            row = sample_int(rng, len(model["y"]))
        else:
            model, values = _least_useful(model, given)
            row = _choose(-values, out)
            out["crit"][-1] *= -1
        out["retired"].append(row)
        model = dynatree.retire(model, row, given.get("lambda_", 1))
        if _is_turn(i, given.get("rejuv_every")):
            odr = np.arange(1, len(model["y"]) + 1)
            model = dynatree.rejuvenate(model, odr, 0, rng=rng)
        model = dynatree.update(model, x[None, :], [y], 0, rng=rng)
        out["lpred"].append(model["lpred"][-1])
        draws.append(moved(before)["draws"])
        if _is_turn(i, given.get("check_every")):
            answer = dynatree.predict(model, given["XX"], given["yy"])
            shown = {name: answer[name] for name in _present(answer, _AT_CHECKPOINTS)}
            checkpoints.append(
                {"i": i, "predict": shown, "state": state(model), "rng": moved(last)}
            )
            last = rng.state
    out |= {"checkpoints": checkpoints} if checkpoints else {}
    return model, {**out, "X": model["X"], "y": model["y"]}, draws


def design(
    model: Any,
    given: Mapping[str, Any],
    rng: RStream,
    moved: Callable[[NDArray[np.int32]], Out],
) -> tuple[Any, Out, list[int]]:
    """Choose rows of XX one by one and learn their noisy responses.

    Parameters
    ----------
    model, rng, moved
        As in `stream`.
    given : mapping
        XX, yXX, noise, method ("alm", "alc" or "ei"), and prec and rect if the method
        needs them.

    Returns
    -------
    tuple of (RDynaTree, dict, list of int)
        As in `stream`.
    """
    out: Out = {"chosen": [], "y": [], "lpred": []}
    XX, method, draws = given["XX"], given["method"], []
    for noise in given["noise"]:
        before = rng.state
        answer = dynatree.predict(model, XX, quants=False, ei=method == "ei")
        if method == "alc":
            answer = dynatree.alc(model, XX, given.get("rect"))
        row = _choose(dynatree.alcalc(answer, method, given.get("prec", 1)), out)
        y = given["yXX"][row - 1] + noise
        model = dynatree.update(model, XX[[row - 1]], [y], 0, rng=rng)
        for name, value in (("chosen", row), ("y", y), ("lpred", model["lpred"][-1])):
            out[name].append(value)
        draws.append(moved(before)["draws"])
    return model, out, draws


def many_seeds(
    data: Mapping[str, NDArray[Any]],
    seeds: Sequence[int],
    call: Mapping[str, Any],
    running: Session,
) -> Out:
    """Fit ``data["X"]`` under each seed and predict at ``data["XX"]``.

    Returns
    -------
    dict
        lpred_sum, mean_log_score, error, avgheight, avgleaves and varpropuse for each
        seed, and pred_mean and pred_sd over seeds.
    """
    rows = [_one_of_many(data, RStream(seed), call, running) for seed in seeds]
    at = np.array([row.pop("at") for row in rows])
    return {
        **{name: np.array([row[name] for row in rows]) for name in rows[0]},
        "pred_mean": at.mean(axis=0),
        "pred_sd": at.std(axis=0, ddof=1),
    }


def sample_int(rng: RStream, n: int) -> int:
    """Draw R's ``sample.int(n, 1)``: bits enough for n, until they are below it."""
    bits = (n - 1).bit_length()
    while True:
        value = 0
        for _ in range(0, bits + 1, 16):
            value = 65536 * value + math.floor(rng.uniforms(1)[0] * 65536)
        value &= (1 << bits) - 1
        if value < n:
            return value + 1


def _one_of_many(
    data: Mapping[str, NDArray[Any]],
    rng: RStream,
    call: Mapping[str, Any],
    running: Session,
) -> Out:
    fit = dynatree.dynaTree(
        data["X"], data["y"], **call, verb=0, rng=rng, engine="R", session=running
    )
    fit = dynatree.predict(fit, data["XX"], data["yy"], quants=False)
    if fit["model"] == "class":
        labels = data["yy"].astype(int)
        at = fit["p"][np.arange(labels.size), labels - 1]
        error = np.mean(fit["p"].argmax(axis=1) + 1 != labels)
    else:
        at = fit["mean"]
        error = np.sqrt(np.mean((at - data["yy"]) ** 2))
    stats = dynatree.treestats(fit)
    answer = {
        "at": at,
        "lpred_sum": fit["lpred"].sum(),
        "mean_log_score": np.mean(np.log(fit["yypred"])),
        "error": error,
        "avgheight": stats["avgheight"].iloc[0],
        "avgleaves": stats["avgleaves"].iloc[0],
        "varpropuse": dynatree.varpropuse(fit),
    }
    dynatree.deletecloud(fit)
    return answer


def _least_useful(
    model: Any, given: Mapping[str, Any]
) -> tuple[Any, NDArray[np.float64]]:
    if given["policy"] == "entropyX":
        model = dynatree.entropyX(model)
    else:
        model = dynatree.alcX(
            model, given.get("rect"), approx=given.get("approx", False)
        )
    return model, np.asarray(model[given["policy"]])


def _choose(values: NDArray[np.float64], out: Out) -> int:
    """Return the place of the largest value, from 1; note it and the runner-up."""
    ordered = np.sort(values)
    out.setdefault("crit", []).append(ordered[-1])
    out.setdefault("gap", []).append(ordered[-1] - ordered[-2])
    return int(np.argmax(values)) + 1


def _is_turn(i: int, every: int | None) -> bool:
    return bool(every) and i % int(every or 1) == 0


def _present(answer: Any, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in answer and np.size(answer[name])]
