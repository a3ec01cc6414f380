"""Arguments that describe a model, and the model that they describe."""

from __future__ import annotations

import argparse
from typing import Any

from dyntree import params
from dyntree.params import STREAM_OPTIONS, TREE_OPTIONS, StreamOptions, TreeOptions
from dyntree.trees.factory import make_tree, only_for_windows
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `described` reads."""
    group = parser.add_argument_group("model", "as in dyntree.StreamingTree")
    group.add_argument("--model", default=TreeOptions.model, choices=params.MODELS)
    group.add_argument(
        "--window", type=int, default=StreamOptions.window, metavar="N",
        help="most rows held one by one (default %(default)s); 0 holds them all",
    )  # fmt: skip
    group.add_argument("--discard", choices=params.DISCARDS, help="which row retires")
    group.add_argument("--forget", type=float, metavar="F", help="in [0, 1]")
    group.add_argument("--drift", action="store_true", help="follow a changing stream")
    group.add_argument(
        "--rejuvenate-every", type=int, metavar="N", help="rows; 0 never"
    )
    group.add_argument(
        "--particles",
        type=int,
        default=TreeOptions.n_particles,
        metavar="N",
        dest="n_particles",
        help="trees in the cloud (default %(default)s)",
    )
    group.add_argument("--rules", default=TreeOptions.rules, choices=params.RULES)
    group.add_argument(
        "--intercept", default=TreeOptions.intercept, choices=params.INTERCEPTS
    )
    group.add_argument("--min-leaf", type=int, metavar="N")
    group.add_argument(
        "--levels", action="append", default=[], metavar="COLUMN=A,B,...",
        dest="categories", help="levels of a column of strings; may come repeatedly",
    )  # fmt: skip
    group.add_argument("--seed", type=int, metavar="N", help="drawn where absent")


def described(arguments: argparse.Namespace) -> dict[str, Any]:
    """Options of the model as a dict that JSON can hold; without those not given."""
    kinds = TREE_OPTIONS, STREAM_OPTIONS, {"seed": None}
    values = params.given_options(vars(arguments), *kinds)
    values["categories"] = dict(_levels(text) for text in arguments.categories) or None
    return {name: value for name, value in values.items() if value is not None}


def _levels(text: str) -> tuple[str, list[str]]:
    """A column and its levels, from COLUMN=A,B,..."""
    column, equals, levels = text.partition("=")
    if not equals:
        raise ValueError(f"--levels must be COLUMN=A,B,...; got {text!r}.")
    return column, levels.split(",")


def fresh(options: dict[str, Any]) -> DynamicTree | StreamingTree:
    """The model that `described` options stand for."""
    if options["window"]:
        return make_tree(options)
    if stray := only_for_windows(options):
        flag = stray[0].replace("_", "-")
        raise ValueError(f"--{flag} needs a window; got --window 0.")
    return make_tree(options | {"window": None})
