"""What a file keeps of a formula beside the trees, and its check."""

from __future__ import annotations

import os
from typing import Any

from dyntree import params
from dyntree.checkpoint.models import UNSOUND
from dyntree.encoding.design import Design
from dyntree.errors import CheckpointError, Message, shown

MISSING = ("none", "drop", "raise")


def file_notes(design: Design, formula: str | None, missing: str) -> dict[str, Any]:
    """What a file stores of a formula, in addition to the trees."""
    return {
        "formula": formula,
        "response": design.response.label,
        "missing": missing,
        "design": design.to_header(),
    }


def read_design(
    path: str | os.PathLike[str], tree: Any, notes: dict[str, Any]
) -> Design:
    """The design that a file contains, checked against the trees in the file.

    Parameters
    ----------
    path : str or path
        Path of the file, for error messages.
    tree : DynamicTree or KeyedStream
        The trees in the file.
    notes : dict
        As returned by ``checkpoint.load_with``.

    Returns
    -------
    Design

    Raises
    ------
    CheckpointError
    """
    failure = f"{shown(os.fspath(path))} cannot be loaded: it holds "
    try:
        design = Design.from_header(notes["design"])
        params.one_of("missing", notes["missing"], MISSING)
        if not isinstance(notes["formula"], str | None):
            raise ValueError(
                Message(
                    "formula must be text; got {formula!r}", formula=notes["formula"]
                )
            )
    except UNSOUND as error:
        raise CheckpointError(
            Message(
                "{failure}no formula with terms, or a broken one ({error}). Models "
                "without one, and those of the shell whose terms are columns as they "
                "are, load by dyntree.load.",
                failure=failure,
                error=error,
            )
        ) from error
    names, options = tree.feature_names or design.names, tree.state.options
    is_class = options.has_labels
    if names != design.names or is_class != design.is_class or options.rules == "r":
        raise CheckpointError(
            Message("{failure}a formula that does not fit its trees.", failure=failure)
        )
    return design
