"""A stream of the shell: its model, how far it has come, and one row's way."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dyntree import checkpoint
from dyntree.api.formula_files import file_notes, read_design
from dyntree.api.offsets import learned_response, prediction_of
from dyntree.commands.bad_rows import NONE, BadRows
from dyntree.commands.feed import NEW, Feed
from dyntree.commands.formulas import designed, encoded_row, is_of_labels, model_of
from dyntree.commands.keyed import exposures, key_in_row, position_in_row
from dyntree.commands.late_labels import LateLabels, Waiting, key_of
from dyntree.commands.options import (
    cells_of,
    columns_beside,
    keyed_leaves,
    kinds_of,
    leaf_model_of,
    model_options,
    new_model,
    option_differences,
    stream_options,
)
from dyntree.commands.outputs import Output, has_content
from dyntree.commands.readers import Record, Row, format_of, format_to_write
from dyntree.commands.rows import WRITERS, Cells, Kinds, named_class
from dyntree.commands.tables import (
    NamedLevels,
    answer_columns,
    separator_of,
    split_formula,
)
from dyntree.commands.terminal import say
from dyntree.commands.watch import Reports, Watch, process_bytes
from dyntree.commands.words import SHELL
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import response_name
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.required_columns import check_columns
from dyntree.encoding.tables import Table
from dyntree.encoding.targets import NumbersWatch
from dyntree.encoding.values import Vector
from dyntree.errors import (
    Message,
    MissingInputWarning,
    NotReadyError,
    in_words,
    silenced,
    without_row,
)
from dyntree.evaluate.delayed import DelayedLabels
from dyntree.keyed.model import KeyedStream
from dyntree.storage.atomic_files import is_database, is_replaceable, sweep
from dyntree.storage.plain import distinct_names, name_of
from dyntree.summaries import ClassPrediction
from dyntree.trees.learning.exposures import check_exposure, with_exposure
from dyntree.trees.learning.weights import check_weights

TICK = 1.0  # seconds between two words on progress
MARKS = "surprise", "alarm"
UNFINISHED = "unfinished", "unfinished_label"  # of rows and labels, for the next call
WORDS = {
    "rows": "rows taken", "learned": "learned", "bad_rows": "bad", "pending": "pending",
    "dropped": "dropped before their label arrived",
    "unmatched": "labels of no row that waited", "unlabelled": "labels missing",
    "alarms": "alarms", "keys": "keys", "late": "late rows of their keys",
}  # fmt: skip
NOTES = {  # of every stream
    "formula", "separator", "decimal", "format", "options", "kinds", "input", "inputs",
    "rows", "learned", "bytes", "bad",
}  # fmt: skip


class Session:
    """A model and how far it has come.

    Parameters
    ----------
    arguments : Namespace
        Of the command.

    Attributes
    ----------
    notes : dict
        What a checkpoint stores beside the model: the options of the command, the
        columns (None until there was a row), how many rows were taken and learned, what
        is known of the inputs, and the length of the output (None for a pipe).
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.path, self.out = arguments.checkpoint, arguments.out
        kind = arguments.format or format_of(arguments.table)
        like_rows = "ndjson" if kind == "ndjson" else "csv"
        self.writes = format_to_write(self.out, "--out", like_rows)
        self.every = arguments.every
        self.seconds, self.quiet = arguments.seconds, arguments.quiet
        wanted = stream_options(arguments) | {
            "format": kind,
            "options": model_options(arguments),
        }
        wanted |= columns_beside(arguments)
        self._store: DelayedLabels | None = None
        self.resumed = self.path is not None and os.path.exists(self.path)
        if arguments.resume and not self.resumed:
            check_no_rows(self.out, self.path)
        if self.path is not None and Path(self.path).parent.is_dir():
            sweep(self.path)
        self.key_by: str | None = wanted.get("key_by")
        self.n_keys_before = 0
        if self.resumed:
            self._resume(arguments, wanted)
        if not self.resumed:
            self.model: Any = new_model(wanted["options"], self.key_by)
            self.notes = wanted | {"inputs": None, "rows": 0, "learned": 0, "bytes": 0}
            response = response_name(self.notes["formula"])
            kinds = kinds_of(self.notes["options"], response)
            self.notes["kinds"] = kinds | dict(self.notes.get("times", {}))
            self.notes |= {"input": dict(NEW), "bad": dict(NONE)}
        self.cells = self._cells(self.notes["format"])
        self.late: LateLabels | None = None
        if "key" in wanted:
            self.label_format = format_of_labels(arguments.labels, wanted["format"])
            cells = self._cells(self.label_format)
            given = wanted["key"], wanted["pending"], self._store
            self.late = LateLabels(*given, cells)
        self.bad = BadRows(
            arguments.bad_rows, arguments.most_bad, self.notes["bad"], self.resumed
        )
        self.numbers: NumbersWatch | None = None  # of a stream whose model is not named
        self.watch: Watch | None = None
        self.reports: Reports | None = None
        self._watches(arguments)
        self.named = NamedLevels(self.notes["options"].get("categories", {}))
        self.place: Callable[[], None] = lambda: None  # the output where it belongs
        self.design: Design | None = None
        if "design" in self.notes:
            trees = self.model if self.key_by is not None else self.model.tree
            self.design = read_design(self.path, trees, self.notes)
        self.feed: Feed | None = None
        self.begun = False
        self.saved_at, self.printed_at = time.monotonic(), time.monotonic()

    def _watches(self, arguments: argparse.Namespace) -> None:
        """Watch what is asked for."""
        notes, path, seconds = self.notes, arguments.status, arguments.report
        if path is not None or seconds is not None:
            self.reports = Reports(self.facts, seconds, path)
        if self.reports or notes.get("surprise") or "alarm" in notes:
            seed, alarm = notes["options"].get("seed"), notes.get("alarm_state")
            self.watch = Watch(arguments.over, notes.get("alarm"), seed, alarm)

    def _cells(self, kind: str) -> Cells | None:
        """How the cells of an input of this format are read; None if it has types."""
        if kind != "csv":
            return None
        notes, options = self.notes, self.notes["options"]
        return cells_of(
            notes["decimal"],
            notes.get("missing_words"),
            options.get("categories", {}),
            response_name(notes["formula"]),
            options.get("classes"),
        )

    def _resume(self, arguments: argparse.Namespace, wanted: Row) -> None:
        """Continue from the checkpoint; an error unless it has the same options."""
        if not arguments.resume:
            raise ValueError(
                f"{self.path} exists already; add --resume to continue from it, or "
                "remove it."
            )
        if self.key_by is not None or is_database(self.path):
            self._resume_keys(wanted)
            return
        self.model, self.notes = checkpoint.load_with(self.path)
        if isinstance(self.model, DelayedLabels):
            self._store, self.model = self.model, self.model.model
        self._check_notes(wanted)

    def _resume_keys(self, wanted: Row) -> None:
        """Continue from the store of a model for keys."""
        try:
            self.model = KeyedStream.from_store(self.path)
        except NotReadyError:  # its process was killed before the first commit
            if self.key_by is None:
                raise
            self.resumed = False
            return
        self.model.autocommit = False
        self.notes, self.n_keys_before = self.model.notes, len(self.model)
        try:
            self._check_notes(wanted)
        except ValueError:
            self.model.close()
            raise

    def _check_notes(self, wanted: Row) -> None:
        """Refuse a checkpoint that no stream wrote, or one of other options."""
        if not {*self.notes} >= NOTES:
            raise ValueError(
                f"{self.path} is not a checkpoint of a stream, but another model. A "
                "stream continues only what a stream has written: name another "
                "--checkpoint and learn all rows, or learn more rows in Python by "
                "dyntree.load and update."
            )
        if differences := option_differences(self.notes, wanted):
            raise ValueError(
                f"--resume needs the options of the first call; {differences}. Give "
                "those of the first call, or start again with another --checkpoint."
            )

    def close(self) -> None:
        """Let other processes have the store of a model for keys."""
        if self.key_by is not None:
            self.model.close()

    @property
    def options(self) -> dict[str, Any]:
        """Options of the model, with what the first row made of it."""
        found: dict[str, Any] = dict(self.notes["options"])
        if "model" in self.notes:
            found["model"] = self.notes["model"]
        return found

    def begin(self, row: Row, columns: list[str] | None, out: Output) -> None:
        """Set columns and options by the first row.

        Parameters
        ----------
        row : dict
        columns : list of str or None
            Those of all rows, if the format declares them.
        out : Output
        """
        notes = self.notes
        is_first, response = notes["inputs"] is None, response_name(notes["formula"])
        if is_first and "model" not in notes["options"]:
            try:
                kinds = self._kinds(response, self.cells)
                value = kinds.values(row, [response])[response]
            except ValueError as error:
                raise ValueError(
                    Message("row {number}: {error}", number=notes["rows"], error=error)
                ) from error
            if value is None and self.late is not None:
                value = self.late.first_label(response)
            if response not in row and is_of_labels(response):
                notes["model"] = "class"
            elif self.key_by is not None:
                notes["model"] = keyed_leaves(value)
            else:
                notes["model"] = leaf_model_of([value], notes["options"])
            if notes["model"] != "class":
                self.numbers = NumbersWatch()
            notes["kinds"] |= kinds_of(self.options, response)
            if self.key_by is None:
                self.model = new_model(self.options)
        if is_first or columns is not None:
            found = columns or list(row)
            response, inputs = self._planned(found)
            if columns is not None and self.design is None and self.late is None:
                check_response(response, columns)
            stray = [name for name in notes.get("times", {}) if name not in found]
            if stray and columns is not None:
                raise ValueError(
                    f"--times must name columns of the table, {columns}; got "
                    f"{stray[0]!r}."
                )
            if columns is not None:
                self._check_beside(columns)
            if notes["inputs"] not in (None, inputs):
                raise ValueError(
                    f"--resume needs the columns of the first call, {notes['inputs']}; "
                    f"got {inputs}."
                )
            notes |= {"response": response, "inputs": inputs}
        if self.late is not None:
            self.late.begin(self.model)
        if is_first:
            self._open_store()
            self.place()
        self._begin_output(out, is_first)
        self.begun = True

    def _begin_output(self, out: Output, is_first: bool) -> None:
        """Write the first checkpoint and the header.

        Into a file of its own a stream writes nothing before its first checkpoint: rows
        without one are those of another stream; see `check_no_rows`. The header is then
        written again if the command was killed before it.
        """
        is_own, is_empty = out.path is not None, self.notes["bytes"] == 0
        if is_first and is_own:
            self.save(out)
        if self.writes == "csv" and (is_first or (is_own and is_empty)):
            titles = {name: name for name in self._titles()}
            out.write(WRITERS["csv"](titles))
        if is_first and not is_own:
            self.save(out)

    @property
    def beside(self) -> dict[str, str]:
        """Columns beside inputs and response, by what they hold."""
        kinds = "weights", "exposure", "key", "key_by", "position"
        return {what: self.notes[what] for what in kinds if what in self.notes}

    def _planned(self, columns: list[str]) -> tuple[str, list[str]]:
        """Response and inputs; for terms of all kinds the first call makes a design."""
        notes, empty = self.notes, Table(dict.fromkeys(columns, ()))
        late = self.late is not None
        if self.design is None and notes["inputs"] is None:
            self.design = designed(
                notes["formula"], empty, self.options, self.beside, late
            )
            if self.design is not None:
                notes |= file_notes(self.design, notes["formula"], "none")
                if self.key_by is None:
                    self.model = model_of(self.design, self.options)
        if self.design is None:
            beside = self.beside.values()
            response, inputs = split_formula(notes["formula"], columns, beside)
            self._check_apart(inputs)
            return response, inputs
        asked = () if late else self.design.response.columns
        check_columns(empty, asked + self.design.needed())
        self._check_apart(self.design.needed())
        return self.design.response.label, list(self.design.columns)

    def _check_apart(self, inputs: Sequence[str]) -> None:
        """Refuse a formula that has the column of keys."""
        if self.key_by in inputs:
            raise ValueError(
                f"--key-by must name a column that the formula does not have; got "
                f"{self.key_by!r} and {self.notes['formula']!r}. A model for keys "
                "learns by itself how they differ."
            )

    def _check_beside(self, columns: Sequence[str]) -> None:
        """Refuse columns without those of keys and of positions."""
        for what in ("key_by", "position"):
            name = self.notes.get(what)
            if name is not None and name not in columns:
                flag = what.replace("_", "-")
                raise ValueError(
                    f"--{flag} must name a column of the table, {list(columns)}; got "
                    f"{name!r}."
                )

    def _open_store(self) -> None:
        """Begin the model for keys, in its store if there is one."""
        if self.key_by is None or self.model.facts()["store"] is not None:
            return
        options = self.options
        if self.design is not None:
            options |= {"categories": None}  # the design has the levels
        model = new_model(options, self.key_by, self.path)
        if model.is_ready or model.notes:
            model.close()
            raise ValueError(
                f"{self.path} exists already, as another process made it meanwhile; "
                "add --resume to continue from it, or remove it."
            )
        if self.design is not None:
            model.fix_columns(self.design.features())
        model.autocommit = False
        self.model = model

    def _titles(self) -> list[str]:
        """Columns of the output in CSV."""
        has_key = self.late is not None or self.key_by is not None
        first = ["row", "key", "y"] if has_key else ["row", "y"]
        if self.model.is_classifier:
            titles = [*first, "label", "p_label", "p_y"]
        else:
            quantiles = [f"q{p:g}" for p in self.notes["quantiles"]]
            titles = [*first, "mean", "sd", *quantiles]
        return titles + self._marks()

    def _marks(self) -> list[str]:
        """Names of the columns of the output for surprise and alarm."""
        asked = self.notes.get("surprise"), "alarm" in self.notes
        return [name for name, is_asked in zip(MARKS, asked, strict=True) if is_asked]

    def take(self, record: Record, feed: Feed, out: Output) -> None:
        """Predict a row, learn it if it has a response, and write its line."""
        notes, started = self.notes, time.perf_counter()
        line = self._tried("row", notes["rows"], record, feed, self._line)
        if line is None:
            return
        if line:
            out.write(line)
        if self.watch is not None:
            self.watch.took(time.perf_counter() - started)
        feed.took(record)
        notes["rows"] += 1
        late = self.seconds and time.monotonic() - self.saved_at >= self.seconds
        if late or notes["rows"] % self.every == 0:
            self.save(out)
        self.tell()

    def _tried(
        self,
        source: str,
        number: int,
        record: Record,
        feed: Feed,
        way: Callable[[Row], bytes],
    ) -> bytes | None:
        """What a way makes of a row: nothing of a bad one, None of one not whole."""
        n_kinds = len(self.notes["kinds"])
        try:
            if record.row is None:
                raise ValueError(f"{record.reason}.")
            line = way(record.row)
        except ValueError as error:
            for name in list(self.notes["kinds"])[n_kinds:]:
                del self.notes["kinds"][name]  # a bad row tells nothing of them
            if not record.finished and self._can_wait(feed):
                warnings.warn(
                    f"line {record.line} of {feed.path} is no whole row, and the file "
                    f"ends in it ({record.reason or error}); it is left for the next "
                    "call, with what follows.",
                    stacklevel=2,
                )
                feed.leave()
                return None
            reason = in_words(without_row(error, 0), SHELL)  # of the one it was given
            if not record.finished:
                reason += " The input ended before the row did."
            if record.row is not None:
                record = self._cut(record, feed)
            self.bad.refuse(source, number, record, reason)
            return b""
        self.bad.good()
        if not record.finished:
            warnings.warn(
                f"line {record.line} of {feed.path} has no newline at its end; it was "
                "taken as a whole row.",
                stacklevel=2,
            )
        return line

    def _cut(self, record: Record, feed: Feed) -> Record:
        """Cut a bad row down to its first line; labels read after it come again."""
        if record.is_one_line:
            return record
        if self.late is not None and feed is self.late.feed:
            self.late.give_back()
        return feed.cut(record)

    def _can_wait(self, feed: Feed) -> bool:
        """Whether a next call would read an unfinished row again."""
        return self.path is not None and feed.is_file and not feed.grows

    def _line(self, row: Row) -> bytes:
        """The line of a row, which is learned, or waits for its label."""
        notes = self.notes
        late = self.late is not None
        cells = self.cells
        weight = None if late else self._amount(row, "weights", check_weights, cells)
        exposure = self._amount(row, "exposure", check_exposure, cells)
        x, y, shift = self._read(row)
        number: Row = {"row": notes["rows"]}
        if self.late is not None and y is None:
            if shift is not None:
                raise ValueError(
                    "--key does not go with an offset or exposure in a formula with "
                    "terms. Write the formula by plain column names."
                )
            over = None if exposure is None else float(exposure[0])
            key = self._key(row)
            prediction = self.late.wait(key, x, over)
            return self._written(number | {"key": key}, prediction, None, {})
        if self.key_by is not None:
            return self._line_of_key(row, x, y, exposure, shift)
        plain = None if self.design is not None else self.model.plain_row(x)
        # nothing has to look at a plain row again
        asked: Any = x if plain is None else Encoded(plain)
        learns = y is not None and (weight is None or bool(weight[0]))
        with silenced(MissingInputWarning) if learns else nullcontext():
            prediction = self._prediction_at(asked, exposure, shift)
        if self.late is not None:
            number["key"] = self._key(row)
        marks: Row = {}
        if learns:
            self._learn(asked, y, weight, exposure, shift)
            marks = self._scored(prediction, y, f"row {notes['rows']}")
        return self._written(number, prediction, y, marks)

    def _line_of_key(
        self, row: Row, x: Row, y: Any, exposure: Vector | None, shift: Vector | None
    ) -> bytes:
        """The line of a row of a model for keys, which learns it."""
        model, notes = self.model, self.notes
        assert self.key_by is not None
        key = key_in_row(row, self.key_by, self.cells, model)
        over, less = exposures(model, exposure, shift)
        was_ready, n_before = model.is_ready or bool(model.classes), model.n_seen
        marks: Row = {}
        prediction: Any = None
        if y is not None:
            position = None
            if "position" in notes:
                position = position_in_row(row, notes["position"], self.cells)
            prediction = model.predict_then_learn(
                x, [y] if less is None else y - less, key=[key],
                position=None if position is None else [position], exposure=over,
                progress=False,
            )  # fmt: skip
        elif was_ready:
            prediction = model.predict(x, key=[key], exposure=over)
        if not was_ready:
            prediction = None
        if prediction is not None and less is not None:
            prediction = prediction.shifted(less)
        if model.n_seen > n_before:
            notes["learned"] += 1
            marks = self._scored(prediction, y, f"row {notes['rows']}")
        number = {"row": notes["rows"], "key": key}
        return self._written(number, prediction, y, marks)

    def _scored(self, answer: Any, y: Any, name: str) -> Row:
        """Score a prediction if the stream is watched; return what its line adds."""
        if self.numbers is not None:
            self.numbers = self.numbers.after([y], self.notes["model"])
        if self.watch is None or answer is None or not has_answer(answer):
            return {}
        tail, is_alarm = self.watch.scored(answer, y)
        if is_alarm:
            self.notes["last_alarm"] = name
            say(f"alarm at {name}: predictions have become worse.")
        return {"surprise": tail, "alarm": is_alarm}

    def _learn(
        self,
        x: Row,
        y: Any,
        weight: Vector | None,
        exposure: Vector | None,
        shift: Vector | None,
    ) -> None:
        """Learn a row."""
        is_quick = hasattr(self.model, "learn_row")  # a table has no such way
        if is_quick and isinstance(x, Encoded) and weight is None and exposure is None:
            self.model.learn_row(x.rows, y)
            self.notes["learned"] += 1
            return
        options = self.model.tree.options
        if self.design is not None:
            learned = learned_response(options, [y], shift)
        else:
            learned = with_exposure(options, x, np.array([y]), exposure)
        self.model.update(x, learned, weight, progress=False)
        self.notes["learned"] += 1

    def take_labels(self, drained: bool) -> bool:
        """Learn rows whose labels have come; return whether a label was taken.

        Before the first row nobody knows what labels are of: they wait for it.
        """
        assert self.late is not None
        if self.late.store is None:
            return False
        return self.late.take(self._take_label, drained)

    def _take_label(self, label: Waiting, feed: Feed) -> bool:
        """Take a label, good or bad; False where it is not whole and left."""
        assert self.late is not None
        way = partial(self._learn_late, key=label.key)
        number = feed.n_taken
        return self._tried("label", number, label.record, feed, way) is not None

    def _learn_late(self, row: Row, key: str | None) -> bytes:
        """Learn the row of a label."""
        assert self.late is not None
        assert self.late.store is not None
        if key is None:
            raise ValueError(
                f"a label must have a key in column {self.notes['key']!r}."
            )
        try:
            y = self._response_of(row)
            given = row, "weights", check_weights, self.late.cells
            weight = None if y is None else self._amount(*given)
            one = None if weight is None else float(weight[0])
            if one == 0.0 and self.late.store.drop(key):
                return b"+"  # as rows of no weight: predicted only
            prediction = None
            if self.watch is not None and y is not None:
                prediction = self.late.store.predict_again(key)
            if self.late.store.learn(key, y, sample_weight=one):
                self.notes["learned"] += 1
                self._scored(prediction, y, f"the label of {key!r}")
        except ValueError:
            self.late.store.drop(key)  # its label has come, though it was no good
            raise
        return b"+"

    def _key(self, row: Row) -> str:
        """The key of a row, which it must have."""
        column = self.notes["key"]
        key = key_of(row, column, self.cells)
        if key is None:
            raise ValueError(f"a row must have a key in column {column!r}; got none.")
        return key

    def _read(self, row: Row) -> tuple[Row, Any, Vector | None]:
        """Inputs, response (None: missing), and offset by the terms (None: none)."""
        kinds = self._kinds(self.notes["response"], self.cells)
        if self.design is not None:
            x, y, shift = encoded_row(self.design, row, kinds)
            return x, self._class_of(y), shift
        notes = self.notes
        if not any(name in row for name in notes["inputs"]):
            raise ValueError(
                f"a row must have one of the columns {notes['inputs']} at least, where "
                f"what is missing may be null; got {[*row]}."
            )
        values = kinds.values(row, [*notes["inputs"], notes["response"]])
        y = values.pop(notes["response"])
        for name in notes["options"].get("categories", {}):
            if values.get(name) is not None:
                self.named.look(name, [values[name]])
        return values, self._class_of(y), None

    def _class_of(self, y: Any) -> Any:
        """A response, which is one of the named classes where these are named."""
        return named_class(y, self.notes["options"].get("classes"))

    def _response_of(self, row: Row) -> Any:
        """The response in a row of labels; None where it is missing."""
        assert self.late is not None
        response = self.notes["response"]
        kinds = self._kinds(response, self.late.cells)
        if self.design is None:
            check_label(row, [response])
            return self._class_of(kinds.values(row, [response])[response])
        check_label(row, self.design.response.columns)
        y = self.design.response_of(kinds.values(row, self.design.response.columns))
        if not self.design.is_class and y is not None and y != y:
            return None
        return self._class_of(y)

    def _amount(
        self, row: Row, what: str, check: Callable[..., Vector], cells: Cells | None
    ) -> Vector | None:
        """Weight or exposure of a row, shape (1,), where a column has them."""
        name = self.notes.get(what)
        if name is None:
            return None
        if name not in row:
            raise ValueError(
                f"--{what} must name a column, one of {[*row]}; got {name!r}."
            )
        value = Kinds({name: "number"}, "", cells).values(row, [name])[name]
        return check([value], 1, f"--{what}")

    def _kinds(self, response: str, cells: Cells | None) -> Kinds:
        """Kinds of the columns so far; new ones are added to them."""
        return Kinds(self.notes["kinds"], response, cells)

    def _prediction_at(
        self, x: Row, exposure: Vector | None, shift: Vector | None
    ) -> Any:
        """A prediction of one row; None before there can be one."""
        try:
            if self.design is not None:
                return prediction_of(self.model, x, shift)
            return self.model.predict(x, exposure=exposure)
        except NotReadyError:
            return None

    def _written(self, line: Row, answer: Any, y: Any, marks: Row) -> bytes:
        """The line of a row: what it is, response, prediction and marks."""
        ndjson = self.writes == "ndjson"
        line = line | {"y": y}
        if answer is None or not has_answer(answer):
            titles = ["label", "proba"]
            if not ndjson or not self.model.is_classifier:
                titles = [name for name in self._titles() if name not in line]
            line |= dict.fromkeys(titles)
        elif not isinstance(answer, ClassPrediction):
            columns = answer_columns(answer, self.notes["quantiles"])
            line |= {name: float(values[0]) for name, values in columns.items()}
        else:
            label, p = answer.label[0], answer.proba[0]
            known = dict(zip(answer.classes, p.tolist(), strict=True))
            if ndjson:
                names = distinct_names(answer.classes, [*map(name_of, answer.classes)])
                proba = dict(zip(names, p.tolist(), strict=True))
                line |= {"label": label, "proba": proba}
            else:
                p_y = None if y is None else known.get(y, 0.0)
                line |= {"label": label, "p_label": known[label], "p_y": p_y}
        line |= {name: marks.get(name) for name in self._marks()}
        return WRITERS[self.writes](line)

    def save(self, out: Output) -> None:
        """Write a checkpoint, once the outputs so far are on disk."""
        if self.path is None:
            return
        self.notes |= out.settle()
        if self.watch is not None and self.watch.alarm is not None:
            self.notes["alarm_state"] = self.watch.alarm_text
        self.bad.save()
        if self.feed is not None:
            self.notes["input"] = self.feed.facts
        if self.key_by is not None:
            self._open_store()
            self.model.commit(self.notes)
            self.saved_at = time.monotonic()
            return
        model = self.model
        if self.late is not None and self.late.feed is not None:
            self.notes["labels"] = self.late.feed.facts
            model = self.late.store or model
        checkpoint.save_with(model, self.notes, self.path)
        self.saved_at = time.monotonic()

    def keep(self) -> None:
        """Keep what pipes have given that was not taken, for the next call."""
        for name, feed in zip(UNFINISHED, (self.feed, self.late), strict=True):
            if feed is not None and feed.keeps:
                self.notes[name] = feed.unfinished
        if self.feed is not None and (n_lost := self.feed.n_lines_lost):
            warnings.warn(
                f"{n_lost} lines were read from a pipe but not used, because a quote "
                "in them does not close. Give them again when the command resumes.",
                stacklevel=2,
            )
        if self.late is not None and (n_lost := self.late.n_lost):
            warnings.warn(
                f"{n_lost} labels were read from a pipe but not used. Give them again "
                "when the command resumes, or give labels as NDJSON, which are stored.",
                stacklevel=2,
            )

    def release(self) -> None:
        """Leave unread text to the inputs, which go on with it."""
        for name in UNFINISHED:
            self.notes.pop(name, None)

    def tell(self, last: bool = False) -> None:
        """Say on standard error how far it is: now and then on a terminal, at last."""
        if self.reports is not None:
            self.reports.tick()
        now = time.monotonic()
        if self.quiet or not (last or now - self.printed_at > TICK):
            return
        terminal = sys.stderr.isatty()
        if not (last or terminal):
            return
        self.printed_at = now
        start, end = ("\r" if terminal else "", "\n" if last else "")
        parts = [
            f"{n} {WORDS[name]}"
            for name, n in self.counts().items()
            if n or name in ("rows", "learned")
        ]
        say(", ".join(parts), start, end)

    def counts(self) -> dict[str, int]:
        """How many rows and labels had what fate, by the names of `watch.HELP`."""
        store = None if self.late is None else self.late.store
        notes = self.notes
        found = {name: notes[name] for name in ("rows", "learned")}
        found["bad_rows"] = notes["bad"]["rows"]
        if store is not None:
            found["pending"] = store.n_pending
            found["dropped"] = store.n_dropped
            found["unmatched"] = store.n_unmatched
            found["unlabelled"] = store.n_unlabelled
        if self.key_by is not None:
            found |= {"keys": len(self.model), "late": self.model.n_skipped}
        if self.watch is not None and self.watch.alarm is not None:
            found["alarms"] = self.watch.alarm.n_alarms
        return found

    def facts(self) -> dict[str, Any]:
        """What an operator watches."""
        of_model = self.model.facts()
        found: dict[str, Any] = self.counts()
        if self.watch is not None:
            found |= self.watch.figures()
        found["last_alarm"] = self.notes.get("last_alarm")
        found["model_bytes"] = of_model["bytes in memory"]
        found["process_bytes"] = process_bytes()
        found["members"] = of_model.get("members")
        if self.key_by is not None:
            found["hot_keys"] = of_model["live keys"]
            found["new_keys"] = of_model["keys"] - self.n_keys_before
        return found


def check_no_rows(out: str | None, path: str) -> None:
    """Refuse to resume without a checkpoint where an output has rows already."""
    if out is None or not is_replaceable(out) or not has_content(out):
        return
    raise ValueError(
        f"there is no checkpoint {path}, but {out} has rows: correct --checkpoint, or "
        f"remove {out} to start anew."
    )


def format_of_labels(path: str, rows: str) -> str:
    """Format of late labels: of a pipe that of the rows, if a pipe can have it."""
    if path != "-":
        return format_of(path)
    return "csv" if rows == "parquet" else rows


def has_answer(answer: Any) -> bool:
    """Whether a prediction says anything: of labels it must know one."""
    return not isinstance(answer, ClassPrediction) or bool(answer.classes)


def check_label(row: Row, columns: Sequence[str]) -> None:
    """Refuse a label without the columns that hold it."""
    absent = [name for name in columns if name not in row]
    if absent:
        raise ValueError(
            f"a label must have the column {absent[0]!r}, of the formula's response; "
            f"got {[*row]}."
        )


def check_response(response: str, columns: list[str]) -> None:
    """Refuse columns without the response."""
    if response not in columns:
        raise ValueError(
            f"formula must name columns of the table, {columns}; it has no "
            f"{response!r}." + separator_of(columns)
        )
