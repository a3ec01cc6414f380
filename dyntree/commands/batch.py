"""The commands that take a table as a whole: fit, predict, evaluate, info."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dyntree import checkpoint
from dyntree.api.formula_files import file_notes, read_design
from dyntree.api.offsets import check_shift, learned_response, prediction_of
from dyntree.commands.formulas import designed, model_of
from dyntree.commands.keyed import keys_in_table, prediction_at
from dyntree.commands.options import (
    cells_of,
    columns_beside,
    kinds_of,
    leaf_model_of,
    limits_of,
    model_options,
    new_model,
    times_of,
)
from dyntree.commands.readers import format_of, format_to_write
from dyntree.commands.rows import Cells, named_class
from dyntree.commands.tables import (
    TableFile,
    answer_columns,
    read_table,
    split_formula,
    warn_of_levels,
    warn_of_text,
    write_table,
)
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import columns_of, response_name
from dyntree.encoding.series import objects_of
from dyntree.encoding.tables import Table, table_of
from dyntree.encoding.targets import warn_of_two_numbers
from dyntree.encoding.values import Vector
from dyntree.errors import shown
from dyntree.evaluate import Prequential, compare, prequential
from dyntree.evaluate.delayed import DelayedLabels
from dyntree.keyed.model import KeyedStream
from dyntree.runtime.online import OnlineModel
from dyntree.storage.atomic_files import is_database, writing
from dyntree.storage.plain import strict
from dyntree.trees.learning.exposures import check_exposure, with_exposure

if TYPE_CHECKING:
    import pandas as pd

    from dyntree.api.plots import Recorder

N_NOTES = 100  # taken on the way for a web page
SCORES = {
    True: ("error", "auc", "log_loss", "brier"),
    False: ("rmse", "log_density", "coverage"),
}


def fit(arguments: argparse.Namespace) -> None:
    """Learn a table and save the model."""
    model, X, y, weights, notes = _model_and_rows(arguments)
    if arguments.missing is not None:
        notes["missing_words"] = arguments.missing
    if times := times_of(arguments):
        notes["times"] = times
    given = (X, y) if weights is None else (X, y, weights)
    model.update(*given, progress=_progress(arguments))
    with checkpoint.sole_writer(arguments.out):
        checkpoint.save_with(model, notes, arguments.out)


@contextmanager
def saved_model(path: str) -> Iterator[tuple[OnlineModel, dict[str, Any], Any]]:
    """Model, notes and position in a file; other things that files hold are refused."""
    if is_database(path):
        with KeyedStream.from_store(path, read_only=True) as stored:
            yield stored, stored.notes, None
        return
    model, notes, position = checkpoint.load_parts(path)
    if isinstance(model, DelayedLabels):
        model = model.model
    if not isinstance(model, OnlineModel):
        raise ValueError(
            f"{path} must hold a model that learns online; it holds a "
            f"{type(model).__name__}. Load it in Python by dyntree.load."
        )
    yield model, notes, position


def predict(arguments: argparse.Namespace) -> None:
    """Predict the rows of a table with a saved model."""
    format_to_write(arguments.out, "--out")  # wrong ones are refused at once
    with saved_model(arguments.saved) as (model, notes, _):
        _predict(arguments, model, notes)


def _predict(arguments: argparse.Namespace, model: Any, notes: dict[str, Any]) -> None:
    """What `predict` does, with the model."""
    import pandas as pd

    if arguments.missing is None and format_of(arguments.table) == "csv":
        arguments.missing = notes.get("missing_words")  # those of the rows learned
    known = dict.fromkeys(model.columns or (), "number")
    has_keys = isinstance(model, KeyedStream)
    if not has_keys and not hasattr(
        model, "tree"
    ):  # a mixture, which predicts no response
        read = _read(arguments, known, _cells(arguments, {}))
        frame = read.columns(model.columns or list(read.frame.columns))
        write_table(pd.DataFrame({"cluster": model.predict(frame)}), arguments.out)
        return
    trees = model if has_keys else model.tree
    levels = trees.levels
    known |= dict.fromkeys(levels, "level")
    known |= dict.fromkeys(trees.columns_without_values, "any")
    if "design" in notes:
        design = read_design(arguments.saved, trees, notes)
        known = dict.fromkeys(design.needed(), "any")
        levels = {name: (*own.places,) for name, own in design.levels_of.items()}
    over = notes.get("exposure")
    known |= {} if over is None else {over: "number"}
    by = _key_column(arguments.saved, model) if has_keys else None
    known |= {} if by is None else {by: "level"}
    known |= notes.get("times", {})
    read = _read(arguments, known, _cells(arguments, levels))
    exposure = None if over is None else _exposure(read, over)
    shift = None
    if "design" in notes:
        table = table_of(read.frame)
        X, shift = _features(design, table), _shift(design, table)
    else:
        inputs = [name for name in read.frame.columns if name not in (over, by)]
        X = read.columns(model.columns or inputs)
        warn_of_levels(X, dict(trees.state.options.categories or ()))
    if by is not None:
        decimal = arguments.decimal if format_of(arguments.table) == "csv" else None
        keys = keys_in_table(read, by, decimal, model)
        answer = prediction_at(model, X, keys, exposure, shift)
    elif shift is not None:
        answer = prediction_of(model, X, shift)
    else:
        answer = model.predict(X, exposure=exposure)
    columns = answer_columns(answer, arguments.quantiles)
    write_table(pd.DataFrame(columns), arguments.out)


def _key_column(path: str, model: KeyedStream) -> str:
    """The column of keys, which a model must name."""
    if not isinstance(model.key, str):
        raise ValueError(
            f"{path} holds a model that names no column of keys. Make it with key=, or "
            "predict in Python."
        )
    return model.key


def evaluate(arguments: argparse.Namespace) -> None:
    """Predict, score and learn a table row by row; print scores beside a baseline."""
    import pandas as pd

    format_to_write(arguments.out, "--out")
    model, X, y, weights, notes = _model_and_rows(arguments)
    if weights is not None and arguments.html is not None:
        raise ValueError("--weights does not go with --html, which takes notes.")
    learner: Any = model
    if arguments.html is not None:
        from dyntree.api.plots import Recorder

        learner = Recorder(model, max(1, len(y) // N_NOTES))
    seen = prequential(
        learner,
        X,
        y,
        sample_weight=weights,
        start=arguments.start,
        progress=_progress(arguments),
    )
    if arguments.out is not None:
        columns: dict[str, Any] = {"row": seen.rows, "loss": seen.losses}
        columns["log_density"] = seen.log_density
        write_table(pd.DataFrame(columns), arguments.out)
    if arguments.html is not None:
        name = notes["response"]
        if notes.get("design", {}).get("offsets") and not model.tree.options.is_count:
            name = f"{name} less its offset"  # as it is learned
        _write_page(arguments, learner, seen, name)
    if arguments.json:
        print(json.dumps(strict(seen.to_dict())))
        return
    print(f"{seen.scores.n_rows} rows predicted before they were learned")
    print(compare({"model": seen}, SCORES[seen.classes is not None]))
    if seen.n_new_labels:
        print(
            f"rows with labels that were new: {seen.n_new_labels}; they count as "
            "errors, and are not in log_loss"
        )
    print(f"{1e3 * seen.seconds_per_row:.3f} ms per row")


def _write_page(
    arguments: argparse.Namespace, learner: Recorder, seen: Prequential, response: str
) -> None:
    """Write an evaluation up as a web page, whole or not at all."""
    from dyntree.api.report import report_html

    table = os.path.basename(arguments.table)
    page = report_html(
        learner.model,
        seen,
        trace=learner.trace(),
        title=f"{arguments.formula} in {table}",
        response=response,
        notes={
            "table": table,
            "formula": arguments.formula,
            "first row scored": int(seen.rows[0]),
        },
    )
    with writing(arguments.html) as file:
        file.write(page.encode("utf-8"))


def info(arguments: argparse.Namespace) -> None:
    """Say what a saved model is."""
    with saved_model(arguments.saved) as (model, notes, position):
        facts = model.facts()
    facts |= {"bytes on disk": os.path.getsize(arguments.saved)}
    facts |= {name: note for name, note in notes.items() if name != "design"}
    facts |= {} if position is None else {"position": position}
    if arguments.json:
        print(json.dumps(strict(facts)))
        return
    for name, value in facts.items():
        if value is not None:
            print(f"{name:<17} {shown(str(value))}")


def _model_and_rows(
    arguments: argparse.Namespace,
) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """A fresh model, inputs, responses as it learns them, weights, and notes."""
    options, formula = model_options(arguments), arguments.formula
    beside = columns_beside(arguments)
    new_model(options)  # wrong ones are refused before a long table is read
    left = response_name(formula)
    known = kinds_of(options, left) | dict.fromkeys(beside.values(), "number")
    named, classes = options.get("categories", {}), options.get("classes")
    cells = _cells(arguments, named, left, classes)
    read = _read(arguments, known, cells, left)
    as_cells = cells if format_of(arguments.table) == "csv" else None
    table = table_of(read.frame)
    by, over = beside.get("weights"), beside.get("exposure")
    weights = None if by is None else read.columns([by])[by].to_numpy()
    exposure = None if over is None else _exposure(read, over)
    design = designed(formula, table, options, beside)
    warn_of_levels(read.frame, named)
    if design is not None:
        read.check([*design.needed(), *design.response.columns])
        factors = [factor for term in design.terms for factor in term]
        levels = columns_of([f.expression for f in factors if not f.reads_numbers])
        looked_at = [name for name in levels if name not in named]
        warn_of_text(read.frame, looked_at, as_cells)
        kind = {"model": "class"} if design.is_class and "model" not in options else {}
        model = model_of(design, options | kind)
        notes = file_notes(design, formula, "none")
        notes |= {} if over is None else {"exposure": over}
        shift = _shift(design, table)
        labels = [named_class(label, classes) for label in design.responses(table)]
        is_open = "model" not in options and design.response.is_of_column
        if is_open and not design.is_class:
            warn_of_two_numbers(labels, model.model)
        learned = learned_response(model.tree.options, labels, shift)
        return model, _features(design, table), learned, weights, notes
    response, inputs = split_formula(formula, table.names, beside.values())
    y: Any = read.columns([response])[response].to_numpy()
    if classes is not None:
        y = objects_of([named_class(label, classes) for label in y.tolist()])
    X = read.columns(inputs)
    if "model" not in options:
        options = {"model": leaf_model_of(y.tolist(), options)} | options
        if options["model"] != "class":
            warn_of_two_numbers(y, options["model"])
    warn_of_text(X, [name for name in inputs if name not in named], as_cells)
    notes = {"formula": formula, "response": response}
    notes |= {} if over is None else {"exposure": over}
    model = new_model(options)
    learned = with_exposure(model.tree.options, X, y, exposure)
    return model, X, learned, weights, notes


def _cells(
    arguments: argparse.Namespace,
    levels: Mapping[str, Sequence[str]],
    response: str = "",
    classes: Sequence[str] | None = None,
) -> Cells:
    """How the cells of CSV are read by these arguments, levels and classes."""
    given = arguments.decimal, arguments.missing
    return cells_of(*given, levels, response, classes)


def _read(
    arguments: argparse.Namespace,
    kinds: dict[str, str],
    cells: Cells,
    response: str = "",
) -> TableFile:
    """The table that the arguments name."""
    known = kinds | times_of(arguments)
    limits = limits_of(arguments)
    path, separator = arguments.table, arguments.separator
    read = read_table(path, separator, known, response, cells, limits)
    names = [*map(str, read.frame.columns)]
    if stray := [name for name in times_of(arguments) if name not in names]:
        raise ValueError(
            f"--times must name columns of the table, {names}; got {stray[0]!r}."
        )
    return read


def _features(design: Design, table: Table) -> pd.DataFrame:
    """Features of a table, by name."""
    import pandas as pd

    return pd.DataFrame(design.encode(table), columns=list(design.names))


def _exposure(read: TableFile, name: str) -> Vector:
    """Exposures in the column of that name."""
    values = read.columns([name])[name].to_numpy()
    return check_exposure(values, len(values), "--exposure")


def _shift(design: Design, table: Table) -> Vector | None:
    """Offset of each row of a table, known in all of them; None: no offset."""
    shift = design.offset(table)
    check_shift(design, shift)
    return shift


def _progress(arguments: argparse.Namespace) -> bool | None:
    """A bar where it helps, unless asked to be quiet."""
    return False if arguments.quiet else None
