"""Rows that cannot be taken: they end a stream, or are put aside and counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dyntree.commands.lines import ENDS
from dyntree.commands.outputs import Output, has_content, output
from dyntree.commands.readers import Record, format_to_write
from dyntree.commands.rows import WRITERS

STOP, SKIP = "stop", "skip"
NONE = {"rows": 0, "in_a_row": 0, "bytes": 0, "end": None, "file": None}
TITLES = ("input", "line", "reason", "row")


class BadRow(ValueError):
    """A row that ends the stream."""


class BadRows:
    """What becomes of bad rows.

    Parameters
    ----------
    how : str
        `STOP`, `SKIP`, or the file they go to: CSV, or by its suffix NDJSON.
    most : int
        Bad rows in a row, after which the next one ends the stream.
    facts : dict
        What a checkpoint stores of them, as `NONE`; it is up to date.
    is_late : bool, default False
        Whether the stream is resumed: a file that is not its own is then left alone.

    Attributes
    ----------
    has_moved : bool
        Whether they go to a file of which the checkpoint does not know.
    """

    def __init__(
        self, how: str, most: int, facts: dict[str, Any], is_late: bool = False
    ) -> None:
        self._how, self._most, self._facts = how, most, facts
        self._is_late, self.has_moved = is_late, False
        self._file: Output | None = None
        self._write = WRITERS["csv"]
        if how not in (STOP, SKIP):
            self._write = WRITERS[format_to_write(how, "--bad-rows")]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Context in which their file is open, cut back to the checkpoint's length."""
        if self._how in (STOP, SKIP):
            yield
            return
        before = self._facts["file"]
        resumed = before is not None and _is_same(before, self._how)
        position = self._facts["bytes"], self._facts["end"]
        if not resumed and self._is_late and has_content(self._how):
            elsewhere = (
                "none yet" if before is None else f"they went to {before} before"
            )
            raise ValueError(
                f"--bad-rows {self._how} exists already, and holds other rows: of this "
                f"stream {elsewhere}. Move it away, or name another file."
            )
        self.has_moved = not resumed
        with output(self._how, resumed, position, is_saved=True) as (self._file, place):
            place()
            self._facts["file"] = self._how
            if not resumed and self._write is WRITERS["csv"]:
                self._file.write(self._write(dict(zip(TITLES, TITLES, strict=True))))
            yield

    def good(self) -> None:
        """Count a good row: it ends a run of bad ones."""
        self._facts["in_a_row"] = 0

    def refuse(self, source: str, number: int, record: Record, reason: str) -> None:
        """Set a bad row aside, or raise `BadRow` where the first one stops all.

        Parameters
        ----------
        source : str
            "row" or "label".
        number : int
            Of the row in its input.
        record : Record
        reason : str
            Why it is bad, as a sentence.
        """
        fault = f"{source} {number}: {reason}"
        if self._how == STOP:
            raise BadRow(fault)
        facts = self._facts
        if facts["in_a_row"] >= self._most:
            raise BadRow(
                f"{fault} That many were bad in a row, {facts['in_a_row'] + 1}, and "
                f"--most-bad is {self._most}. Mend the feed, or raise it."
            )
        facts["rows"] += 1
        facts["in_a_row"] += 1
        if self._file is not None:
            text = record.text.rstrip("".join(ENDS))
            values = source, record.line, reason, text
            line = self._write(dict(zip(TITLES, values, strict=True)))
            self._file.write(line)

    def save(self) -> None:
        """Write the file to disk, before a checkpoint records its length."""
        if self._file is not None:
            self._facts |= self._file.settle()


def _is_same(one: str, other: str) -> bool:
    """Whether two names are of one file, which need not be there."""
    return os.path.realpath(one) == os.path.realpath(other)
