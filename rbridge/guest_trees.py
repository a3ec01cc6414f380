"""Streaming and averaged trees, as R makes, teaches and asks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dyntree import AveragedStream, AveragedTrees, StreamingTree
from dyntree.errors import ArgumentError, Message
from dyntree.params import NIG
from dyntree.params.options import BELOW
from dyntree.summaries import ClassPrediction
from dyntree.trees.base import is_cloud
from dyntree.trees.factory import make_tree

from .convert import from_r
from .guest_options import (
    Face,
    described,
    is_named_list,
    levels_of_columns,
    pair,
    plain_option,
    texts,
)
from .quantiles import mean_of
from .wire import NA_INTEGER, RValue
from .words import RWords

WINDOW = 500  # the default of StreamingTree


def _stream(options: dict[str, Any]) -> StreamingTree | AveragedStream:
    """A stream in one window, or averaged over several."""
    window = options.get("window", WINDOW)
    if window is None:
        raise ArgumentError(
            "window",
            'must be a whole number >= 2, or "auto"',
            Message("NULL"),
            "Fit all rows with dynaTree() or dyntree_average().",
        )
    made = make_tree(options | {"window": window})
    assert isinstance(made, StreamingTree | AveragedStream)
    return made


def _average(options: dict[str, Any]) -> AveragedTrees | AveragedStream:
    """Clouds that learn a table, or memories that learn a stream."""
    options = dict(options)
    kind = AveragedStream if options.pop("stream", False) else AveragedTrees
    return kind(**options)


def _prior(name: str, value: RValue) -> Any:
    """The name of a prior, or the scale of a fixed one."""
    found = plain_option(name, value)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if found != "adaptive" and not (is_number and 0.0 < found < np.inf):
        raise ArgumentError(
            name,
            "must be 'adaptive' or a number > 0, the scale b0 of a fixed prior",
            Message("{described}", described=described(value)),
        )
    return NIG(found) if is_number else found


def _first_split(name: str, value: RValue) -> int:
    """The place of a column, which R counts from 1."""
    found = plain_option(name, value)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ArgumentError(
            name,
            "must be a whole number >= 1, the place of an input",
            Message("{described}", described=described(value)),
        )
    return found - 1


def _number(value: Any) -> Any:
    """True as 1, so that one column of R's frame has one type."""
    return float(value) if isinstance(value, bool) else value


def _members(name: str, value: RValue) -> Any:
    """Options of each member, or the name of a set of them."""
    if value.kind == "NULL":
        return None
    if value.kind == "character":
        return plain_option(name, value)
    if value.kind != "list":
        raise ArgumentError(
            name,
            "must be a list with a named list for each member",
            Message("{described}", described=described(value)),
            _ADVICE,
            label=name,
        )
    return [_member(name, k, one) for k, one in enumerate(value.data)]


_ADVICE = "Write {label} = list(list(window = 50), list(window = 500))."


def _member(name: str, k: int, value: RValue) -> dict[str, Any]:
    """Options of member k."""
    if not is_named_list(value):
        raise ArgumentError(
            f"{name}[{k}]",
            "must be a named list of options, each once",
            Message("{described}", described=described(value)),
            _ADVICE,
            label=name,
        )
    try:
        return {
            key: _READERS.get(key, plain_option)(key, one)
            for key, one in value.items().items()
        }
    except ArgumentError as error:
        raise error.named(f"{error.name} of member {k}") from None


def _rows(value: RValue) -> Any:
    """A frame; of one row a dict, which takes trees a fifth of the time."""
    if len(value.data) and all(map(_is_plain_cell, value.data)):
        return {name: _cell(column) for name, column in value.items().items()}
    return from_r(value)


def _is_plain_cell(column: RValue) -> bool:
    """Whether a column has one value, and no levels beside it that it names."""
    return len(column.data) == 1 and "levels" not in column.attributes


def _cell(column: RValue) -> Any:
    """The one value of a column; None where it is missing."""
    (found,) = column.data
    if column.kind in ("integer", "logical") and found == NA_INTEGER:
        return None
    return plain_option("", column)


def _learn(
    model: Any,
    is_first: bool,
    x: Any,
    y: Any,
    weights: Any = None,
    exposure: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Let the trees learn rows with their responses."""
    given = {} if exposure is None else {"exposure": exposure}
    model.update(x, np.atleast_1d(y), weights, progress=False, **given)
    return model, {}


def _tell(model: Any) -> dict[str, Any]:
    """Facts of the trees that R's object shows."""
    facts = model.facts()
    answer = {
        "model": facts["model"],
        "n_particles": facts["particles"],
        "n_seen": model.n_seen,
        "n_active": facts["active rows"],
        "log_evidence": facts["log evidence"],
        "levels": None if model.classes is None else list(map(str, model.classes)),
        "window": facts.get("window"),
        "forget": facts.get("forget"),
        "n_clouds": facts.get("clouds"),
    }
    if isinstance(model, AveragedStream):
        members = facts["members"]
        names = dict.fromkeys(name for one in members for name in one)
        answer["members"] = {
            name: [_number(one.get(name, np.nan)) for one in members] for name in names
        }
        history = model.weight_history
        answer["history"] = {"row": history.rows + 1, "weight": history.weights}
    return {name: value for name, value in answer.items() if value is not None}


def _predict(
    model: Any, x: Any, exposure: Any = None, probs: Any = None, of_mean: Any = None
) -> dict[str, Any]:
    """What is predicted at rows: probabilities, or a mean, a spread and quantiles.

    With `of_mean`, probabilities, there are the standard deviation and the quantiles of
    the posterior of the mean, too.
    """
    given = {} if exposure is None else {"exposure": exposure}
    found = model.predict(x, **given)
    if isinstance(found, ClassPrediction):
        return {"prob": found.proba, "levels": list(map(str, found.classes))}
    answer = {"mean": found.mean, "sd": np.sqrt(found.var)}
    if probs is not None:
        levels = np.atleast_1d(np.asarray(probs, dtype=np.float64))
        answer["quantile"] = found.quantile(levels).reshape(
            len(found.mean), len(levels)
        )
    if of_mean is not None:
        levels = np.atleast_1d(np.asarray(of_mean, dtype=np.float64))
        answer["of_mean"] = mean_of(found, levels)
    return answer


def _active(model: Any) -> Any:
    """Numbers of the rows that some trees hold, from 1, in order."""
    if isinstance(model, AveragedTrees):  # whose clouds hold all, each in its own order
        return np.arange(model.n_seen) + 1
    held = [state.row_ids() for state in model.states if is_cloud(state)]
    return np.unique(np.concatenate(held)) + 1


def _importance(model: Any) -> dict[str, Any]:
    """The share of what is predicted that each input accounts for."""
    asked = model.tree if isinstance(model, StreamingTree) else model
    found = asked.importance()
    return {"input": list(found.names), "share": found.values}


_READERS = {
    "classes": texts, "categories": levels_of_columns, "tree_prior": pair,
    "prior": _prior, "members": _members, "first_split": _first_split,
}  # fmt: skip
_NAMES = {"sample_weight": "weights", "y": "the response"}


class TreeWords(RWords):
    """R's words; the place of a column counts from 1."""

    templates = MappingProxyType(
        {**RWords.templates, BELOW: BELOW.replace("must be below", "must be at most")}
    )

    def message(self, template: str, fields: Mapping[str, Any]) -> str:
        """As `Words.message`."""
        if fields.get("name") == "first_split" and type(fields.get("got")) is int:
            fields = {**fields, "got": fields["got"] + 1}
        return super().message(template, fields)


_ANSWERS: dict[str, Callable[..., Any]] = {
    "predict": _predict,
    "importance": _importance,
    "active": _active,
}

FACES = {
    name: Face(make, _learn, _tell, _ANSWERS, _READERS, _NAMES, _rows, words=TreeWords)
    for name, make in (("dyntree_stream", _stream), ("dyntree_average", _average))
}
