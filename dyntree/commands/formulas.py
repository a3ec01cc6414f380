"""Formulas of the commands: plain columns by name, or any terms that formulaic reads.

Plain ones, ``y ~ .`` and ``y ~ a + b``, need nothing else: trees take such columns as
they are. All others become a `Design`, which is retained beside the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyntree.api.offsets import RowOffsets, row_shift
from dyntree.api.terms import parse
from dyntree.commands.options import new_model
from dyntree.commands.readers import Row
from dyntree.commands.rows import Kinds, named_level
from dyntree.encoding.design import BESIDE, Design
from dyntree.encoding.expressions import Expression, sides
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Vector
from dyntree.params import LABELS, TreeOptions
from dyntree.trees.factory import Trees

SPECIAL = re.compile(r"[-()\[\]{}:*^/|`%~<>=!]")


def is_plain(formula: str, columns: Sequence[str]) -> bool:
    """Whether a formula means plain columns, or means to.

    Examples
    --------
    >>> [is_plain(f, ["a", "b-c"]) for f in ("y ~ a + b-c", "y ~ d", "y ~ a - d")]
    [True, True, False]
    """
    response, _, right = sides(formula)
    names = [response, *(part.strip() for part in right.split("+"))]
    known = frozenset(columns)
    return all(name in known or not SPECIAL.search(name) for name in names)


def is_of_labels(response: str) -> bool:
    """Whether a response that is no column by itself is a label: C(y), or y > 3."""
    try:
        found = Expression.parse(response)
    except ValueError:  # which has its error where the formula is read
        return False
    return found.is_category or found.is_truth


def designed(
    formula: str,
    table: Table,
    options: Mapping[str, Any],
    beside: Mapping[str, str] | None = None,
    is_late: bool = False,
) -> Design | None:
    """The terms of a formula for a model with these options; None for a plain one.

    Columns beside the inputs, as of `columns_beside`, are none of those that ``.``
    stands for; that of an exposure becomes an offset of the design. Where the response
    is late, the table need not have its columns.

    Raises
    ------
    ValueError
        If the formula cannot be read, or does not fit the table or the options.
    ImportError
        If formulaic is absent.
    """
    if is_plain(formula, table.names):
        return None
    if options.get("rules") == "r":
        raise ValueError(
            f"formula must be of plain columns under --rules r; got {formula!r}."
        )
    levels = options.get("categories") or {}
    named = beside or {}
    response, terms, offsets = parse(formula, table.names, tuple(named.values()))
    if is_late:
        table = Table(dict.fromkeys((*table.names, *response.columns), ()))
    return Design.learn(
        table,
        response,
        terms,
        [*offsets, *RowOffsets(exposure=named.get("exposure")).named],
        beside={k: v for k, v in named.items() if k in BESIDE},
        is_class=options["model"] in LABELS if "model" in options else None,
        categories={name: [*map(named_level, levels[name])] for name in levels},
        new_levels=options.get("new_levels", TreeOptions.new_levels),
        encode_levels=options.get("encode_levels", TreeOptions.encode_levels),
    )


def model_of(design: Design, options: dict[str, Any]) -> Trees:
    """A model with these options that has seen no row, for the rows of a design."""
    model: Trees = new_model(options | {"categories": None})  # the design has them
    model.fix_columns(design.features())
    return model


def encoded_row(
    design: Design, row: Row, kinds: Kinds
) -> tuple[Row, Any, Vector | None]:
    """A row of text: features by name, response (None: missing), offset (None: none).

    The offset is an array of shape (1,).
    """
    values = kinds.values(row, (*design.needed(), *design.response.columns))
    features = design.encode_row(values)[0].tolist()
    y = design.response_of(values)
    if y is not None and not design.is_class and np.isnan(y):
        y = None
    shift = row_shift(design, values, None)
    known = None if shift is None else np.array([shift])
    return dict(zip(design.names, features, strict=True)), y, known
