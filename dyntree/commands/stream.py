"""The command that reads rows one by one, and can be killed and resumed.

A row is predicted, its line is written, then it is learned. A checkpoint holds the
model together with how many rows it has taken and how long the output then was; the
output is on disk before the checkpoint is. Resuming cuts the output back to that length
and skips that many rows, so whenever the process died, no row and no line is lost or
doubled. For that the input must begin anew from its first row, unless it is said to
continue, and the output be a file; readers of a pipe drop repeated lines by their row
numbers. A polite stop (see `stops`) finishes the row and writes a checkpoint first.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dyntree import checkpoint
from dyntree.api.formula_files import file_notes, read_design
from dyntree.api.offsets import foreseen, taught
from dyntree.commands.formulas import designed, encoded_row
from dyntree.commands.options import (
    columns_beside,
    kinds_of,
    leaf_model_of,
    model_options,
    new_model,
)
from dyntree.commands.rows import (
    READERS,
    WRITERS,
    Kinds,
    Row,
    format_of,
    opened,
)
from dyntree.commands.stops import Lines, Stopped, Stops
from dyntree.commands.tables import NamedLevels, answer_columns, split_formula
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import response_name
from dyntree.encoding.needed import check_columns
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Vector
from dyntree.errors import NotReadyError
from dyntree.storage.atomic_files import beginning, sweep
from dyntree.storage.one_writer import sole_writer
from dyntree.summaries import ClassPrediction
from dyntree.trees.learning.exposures import check_exposure, with_exposure
from dyntree.trees.learning.weights import check_weights

TICK = 1.0  # seconds between two words on progress


def stream(arguments: argparse.Namespace) -> int | None:
    """Predict and learn rows as they come; see the module.

    Returns the signal that ended it, if one did.
    """
    path = arguments.checkpoint
    if path is None or not Path(path).absolute().parent.is_dir():
        return _stream(arguments)
    with sole_writer(path):
        return _stream(arguments)


def _stream(arguments: argparse.Namespace) -> int | None:
    """What `stream` does, while nobody else writes the checkpoint."""
    session = Session(arguments)
    continues = arguments.input_continues
    n_skipped = 0 if continues else session.notes["rows"]
    before = session.notes.pop("unfinished", "")
    with (
        opened(arguments.table) as file,
        _output(session, arguments.out) as out,
        Stops() as stops,
    ):
        lines = Lines(file, stops, before if continues else "")
        rows = READERS[session.notes["format"]](lines, session.notes["separator"])
        number = -1
        try:
            for number, row in enumerate(rows):
                lines.taken()
                if number == 0:
                    session.begin(row, out)
                if number >= n_skipped:
                    session.take(row, out)
            if number < 0 and not continues:
                raise ValueError(f"{arguments.table} cannot be read: it has no row.")
        except Stopped:
            session.keep(lines.unfinished)
        if number >= 0 or continues or session.resumed:
            session.save(out)
    session.named.tell()
    session.tell(last=True)
    return stops.came


class Session:
    """A model and how far it has come.

    Parameters
    ----------
    arguments : Namespace
        Of the command.

    Attributes
    ----------
    notes : dict
        What a checkpoint tells beside the model: the options of the command, the
        columns (None until there was a row), how many rows were taken and learned, and
        the length of the output (None for a pipe).
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.path, self.every = arguments.checkpoint, arguments.every
        self.seconds, self.quiet = arguments.seconds, arguments.quiet
        wanted = {
            "formula": arguments.formula,
            "format": arguments.format or format_of(arguments.table),
            "separator": arguments.separator,
            "decimal": arguments.decimal,
            "quantiles": arguments.quantiles,
            "options": model_options(arguments),
        }
        wanted |= columns_beside(arguments)
        self.resumed = self.path is not None and os.path.exists(self.path)
        if self.path is not None and Path(self.path).parent.is_dir():
            sweep(self.path)
        if self.resumed:
            self._resume(arguments, wanted)
        else:
            self.model = new_model(wanted["options"])
            self.notes = wanted | {"inputs": None, "rows": 0, "learned": 0, "bytes": 0}
            self.notes["kinds"] = kinds_of(
                self.notes["options"], response_name(self.notes["formula"])
            )
        if self.notes["format"] == "parquet":
            raise ValueError(
                f"a stream must be CSV or NDJSON; got {arguments.table}, by its name "
                "Parquet. See --format."
            )
        self.named = NamedLevels(self.notes["options"].get("categories", {}))
        self.place: Callable[[], None] = lambda: None  # the output where it belongs
        self.design: Design | None = None
        if "design" in self.notes:
            self.design = read_design(self.path, self.model.tree, self.notes)
        self.saved_at, self.told_at = time.monotonic(), time.monotonic()

    def _resume(self, arguments: argparse.Namespace, wanted: Row) -> None:
        """Take over what the checkpoint holds, if it is of the same command."""
        if not arguments.resume:
            raise ValueError(
                f"{self.path} is there already; add --resume to go on from it, or "
                "remove it."
            )
        self.model, self.notes = checkpoint.load_with(self.path)
        for name, value in {"separator": ",", "decimal": ".", "kinds": {}}.items():
            self.notes.setdefault(name, value)  # older ones have none
        if not {*wanted, "inputs", "rows", "learned", "bytes"} <= {*self.notes}:
            raise ValueError(f"{self.path} is no checkpoint of a stream.")
        for name in {**wanted, "weights": None, "exposure": None}:
            first, now = self.notes.get(name), wanted.get(name)
            if first != now:
                raise ValueError(
                    f"--resume needs the {name} of the first call, {first!r}; got "
                    f"{now!r}."
                )

    def begin(self, row: Row, out: BinaryIO) -> None:
        """Learn from the first row of the input what the stream is of."""
        notes, csv, columns = self.notes, self.notes["format"] == "csv", list(row)
        if notes["inputs"] is None and "model" not in notes["options"]:
            response = response_name(notes["formula"])
            value = self._kinds(response).values(row, [response])[response]
            notes["model"] = leaf_model_of([value])
            notes["kinds"] |= kinds_of(self.options, response)
            self.model = new_model(self.options)
        if notes["inputs"] is None or csv:
            response, inputs = self._planned(columns)
            if csv and self.design is None and response not in columns:
                raise ValueError(
                    f"formula must name columns of the table, {columns}; it has no "
                    f"{response!r}."
                )
            if notes["inputs"] not in (None, inputs):
                raise ValueError(
                    f"--resume needs the columns of the first call, {notes['inputs']}; "
                    f"got {inputs}."
                )
            notes |= {"response": response, "inputs": inputs}
        if notes["rows"] == 0:
            self.place()
            self.save(out)
            if csv:
                out.write(WRITERS["csv"]({name: name for name in self._titles()}))

    @property
    def options(self) -> dict[str, Any]:
        """Options of the model, with what the first row made of it."""
        found: dict[str, Any] = dict(self.notes["options"])
        if "model" in self.notes:
            found["model"] = self.notes["model"]
        return found

    @property
    def _beside(self) -> dict[str, str]:
        """Columns beside inputs and response, by what they hold."""
        kinds = "weights", "exposure"
        return {what: self.notes[what] for what in kinds if what in self.notes}

    def _planned(self, columns: list[str]) -> tuple[str, list[str]]:
        """Response and inputs; for terms of all kinds the first call makes a design."""
        notes, empty = self.notes, Table(dict.fromkeys(columns, ()))
        if self.design is None and notes["inputs"] is None:
            self.design = designed(notes["formula"], empty, self.options, self._beside)
            if self.design is not None:
                notes |= file_notes(self.design, notes["formula"], "none")
                self.model = new_model(self.options | {"categories": None})
        if self.design is None:
            return split_formula(notes["formula"], columns, self._beside.values())
        check_columns(empty, self.design.response.columns + self.design.needed)
        return self.design.response.label, list(self.design.columns)

    def _titles(self) -> list[str]:
        """Columns of the output in CSV."""
        if self.model.is_classifier:
            return ["row", "y", "label", "p_label", "p_y"]
        return ["row", "y", "mean", "sd", *(f"q{p:g}" for p in self.notes["quantiles"])]

    def take(self, row: Row, out: BinaryIO) -> None:
        """Predict a row, write its line, learn it if it has a response."""
        notes = self.notes
        try:
            weight = self._amount(row, "weights", check_weights)
            exposure = self._amount(row, "exposure", check_exposure)
            x, y, shift = self._read(row)
            told = self._foreseen(x, y, exposure, shift)
            line = {"row": notes["rows"], "y": y} | told
            out.write(WRITERS[notes["format"]](line))
            out.flush()
            if y is not None and (weight is None or weight[0]):
                options = self.model.tree.options
                if self.design is not None:
                    learned = taught(options, [y], shift)
                else:
                    learned = with_exposure(options, x, [y], exposure)
                self.model.update(x, learned, weight, progress=False)
                notes["learned"] += 1
        except ValueError as error:
            message = str(error).replace(" in row 0", "")  # of the one row it was given
            raise ValueError(f"row {notes['rows']}: {message}") from error
        notes["rows"] += 1
        late = self.seconds and time.monotonic() - self.saved_at >= self.seconds
        if late or notes["rows"] % self.every == 0:
            self.save(out)
        self.tell()

    def _read(self, row: Row) -> tuple[Row, Any, Vector | None]:
        """Inputs, response (None: missing), and offset by the terms (None: none)."""
        kinds = self._kinds(self.notes["response"])
        if self.design is not None:
            return encoded_row(self.design, row, kinds)
        notes = self.notes
        values = kinds.values(row, [*notes["inputs"], notes["response"]])
        y = values.pop(notes["response"])
        for name in notes["options"].get("categories", {}):
            if values.get(name) is not None:
                self.named.look(name, [values[name]])
        return values, y, None

    def _amount(
        self, row: Row, what: str, check: Callable[..., Vector]
    ) -> Vector | None:
        """Weight or exposure of a row, shape (1,), where a column has them."""
        name = self.notes.get(what)
        if name is None:
            return None
        if name not in row:
            raise ValueError(
                f"--{what} must name a column, one of {[*row]}; got {name!r}."
            )
        decimal = self.notes["decimal"]
        value = Kinds({name: "number"}, "", decimal).values(row, [name])[name]
        return check([value], 1, f"--{what}")

    def _kinds(self, response: str) -> Kinds:
        """What columns hold, as far as it is known; what is found is added to it."""
        return Kinds(self.notes["kinds"], response, self.notes["decimal"])

    def _foreseen(
        self, x: Row, y: Any, exposure: Vector | None, shift: Vector | None
    ) -> Row:
        """What the model says of a row before it learns it."""
        try:
            if self.design is not None:
                answer = foreseen(self.model, x, shift)
            else:
                answer = self.model.predict(x, exposure=exposure)
            if not isinstance(answer, ClassPrediction):
                columns = answer_columns(answer, self.notes["quantiles"])
                return {name: float(values[0]) for name, values in columns.items()}
            label, p = answer.label[0], answer.proba[0]
        except NotReadyError:
            ndjson = self.notes["format"] == "ndjson" and self.model.is_classifier
            titles = ["label", "proba"] if ndjson else self._titles()[2:]
            return dict.fromkeys(titles)
        known = dict(zip(answer.classes, p.tolist(), strict=True))
        if self.notes["format"] == "ndjson":
            return {"label": label, "proba": known}
        p_y = None if y is None else known.get(y, 0.0)
        return {"label": label, "p_label": known[label], "p_y": p_y}

    def save(self, out: BinaryIO) -> None:
        """Write a checkpoint, once the output so far is on disk."""
        if self.path is None:
            return
        out.flush()
        self.notes["bytes"] = _length(out)
        if self.notes["bytes"] is not None:
            os.fsync(out.fileno())
        checkpoint.save_with(self.model, self.notes, self.path)
        self.saved_at = time.monotonic()

    def keep(self, unfinished: str) -> None:
        """Keep what an input that goes on has begun to say, for the next call."""
        if self.notes["format"] == "ndjson":  # CSV begins anew, with a header
            self.notes["unfinished"] = unfinished

    def tell(self, last: bool = False) -> None:
        """Say on standard error how far it is: now and then on a terminal, at last."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if self.quiet or not (last or (terminal and now - self.told_at > TICK)):
            return
        self.told_at = now
        text = f"{self.notes['rows']} rows taken, {self.notes['learned']} learned"
        start, end = ("\r" if terminal else "", "\n" if last else "")
        print(f"{start}dyntree: {text}", end=end, file=sys.stderr, flush=True)


def _length(file: BinaryIO) -> int | None:
    """Bytes in a regular file; None for a pipe or a terminal."""
    found = os.fstat(file.fileno())
    return found.st_size if stat.S_ISREG(found.st_mode) else None


@contextmanager
def _output(session: Session, path: str | None) -> Iterator[BinaryIO]:
    """The output, cut back to where the checkpoint left it.

    A new one takes the place of an old file when the first row has been read.
    """
    if path is None or path == "-":
        if session.resumed:
            _cut(sys.stdout.buffer, session.notes["bytes"], "standard output")
        yield sys.stdout.buffer
        return
    if not session.resumed and not _is_special(path):
        with beginning(path) as (file, session.place):
            yield file
        return
    with open(path, "ab" if session.resumed else "wb") as file:
        if session.resumed:
            _cut(file, session.notes["bytes"], path)
        yield file


def _is_special(path: str) -> bool:
    """Whether there is a pipe or a device, which cannot be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def _cut(file: BinaryIO, n_bytes: int | None, name: str) -> None:
    """Cut a regular file back to a length."""
    length = _length(file)
    if length is None or n_bytes is None:
        return
    if length < n_bytes:
        raise ValueError(
            f"--resume needs the output of the first call, with {n_bytes} bytes at "
            f"least; {name} has {length}. Append to it (>> in a shell)."
        )
    os.ftruncate(file.fileno(), n_bytes)
    file.seek(n_bytes)
