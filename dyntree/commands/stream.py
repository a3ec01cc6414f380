"""The command that reads rows one by one, and can be killed and resumed.

A row is predicted and learned, and its line is written. A checkpoint holds the model
together with how many rows it has taken and how long the output then was; the output is
on disk before the checkpoint is. Resuming cuts the output back to that length and skips
that many rows, so whenever the process died, no row and no line is lost or doubled. For
that the input must begin anew from its first row (see `feed`), unless it is said to
continue, and the output be a file; readers of a pipe drop repeated lines by their row
numbers. A polite stop (see `stops`) finishes the row and writes a checkpoint first.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from dyntree.commands.bad_rows import BadRow
from dyntree.commands.feed import LOOK, Feed
from dyntree.commands.options import limits_of
from dyntree.commands.outputs import Output, output
from dyntree.commands.readers import Record
from dyntree.commands.session import Session
from dyntree.commands.stops import Stopped, Stops
from dyntree.storage.atomic_files import is_database
from dyntree.storage.one_writer import sole_writer


def stream(arguments: argparse.Namespace) -> int | None:
    """Predict and learn rows as they come; see the module.

    Returns the signal that ended it, if one did.
    """
    path = arguments.checkpoint
    if path is None or not Path(path).absolute().parent.is_dir():
        return _stream(arguments)
    if arguments.key_by is not None or is_database(path):  # its writer locks it
        return _stream(arguments)
    with sole_writer(path):
        return _stream(arguments)


def _stream(arguments: argparse.Namespace) -> int | None:
    """What `stream` does, while nobody else writes the checkpoint."""
    session = Session(arguments)
    reports = session.reports
    stops = Stops(None if reports is None else reports.tick)
    continues = arguments.input_continues
    with ExitStack() as stack:
        stack.callback(session.close)
        before = session.notes["bytes"], session.notes.get("end")
        is_saved = session.path is not None
        written = output(arguments.out, session.resumed, before, is_saved)
        out, session.place = stack.enter_context(written)
        stack.enter_context(session.bad.opened())
        stack.enter_context(stops)
        try:
            rows = stack.enter_context(_rows(arguments, session, stops))
            session.feed = rows
            if session.late is not None:
                labels = _labels(arguments, session, stops)
                session.late.feed = stack.enter_context(labels)
            if session.resumed and session.bad.has_moved:
                session.keep()
                session.save(out)  # so that a kill leaves no file that nobody knows
                session.release()
            if session.late is None:
                for record in rows:
                    _take(session, record, rows, out)
            else:
                _take_both(session, rows, stops, out)
            if rows.is_empty and not continues:
                raise ValueError(f"{arguments.table} cannot be read: it has no row.")
        except Stopped:
            session.keep()
        except BadRow:
            if session.begun:
                rows.meets(None)  # it may be mended
                session.save(out)
            raise
        if session.notes["rows"] or continues or session.resumed:
            session.save(out)
        out.settle()  # which says whether others have written to it, too
    session.named.tell()
    if reports is not None:
        reports.report(running=False)
    session.tell(last=True)
    return stops.signal


def _rows(arguments: argparse.Namespace, session: Session, stops: Stops) -> Feed:
    """The rows, those taken left out."""
    before = session.notes.pop("unfinished", "")
    continues = arguments.input_continues
    return Feed(
        arguments.table,
        session.notes["format"],
        session.notes["separator"],
        stops,
        session.notes["input"],
        continues=continues,
        follows=arguments.follow,
        before=before if continues else "",
        may_be_old=arguments.labels is not None,  # when only labels were rotated
        limits=limits_of(arguments),
    )


def _labels(arguments: argparse.Namespace, session: Session, stops: Stops) -> Feed:
    """The labels, those taken left out."""
    before = session.notes.pop("unfinished_label", "")
    return Feed(
        arguments.labels,
        session.label_format,
        session.notes["separator"],
        stops,
        session.notes.get("labels"),
        continues=arguments.input_continues,
        follows=arguments.follow,
        before=before if arguments.input_continues else "",
        may_be_old=True,
        limits=limits_of(arguments),
    )


def _take(session: Session, record: Record, rows: Feed, out: Output) -> None:
    """Take a row; the first one begins the session."""
    if not session.begun and record.row is not None:
        rows.meets(record)
        session.begin(record.row, rows.columns, out)
    session.take(record, rows, out)


def _take_both(session: Session, rows: Feed, stops: Stops, out: Output) -> None:
    """Take rows, and from another input labels of rows that were taken before."""
    assert session.late is not None
    assert session.late.feed is not None
    labels = session.late.feed
    session.take_labels(drained=False)  # those of the last row of a call before
    while True:
        record = rows.poll()
        if record is not None:
            _take(session, record, rows, out)
        drained = rows.ended or (labels.is_live and record is None)
        if session.take_labels(drained) or record is not None:
            continue
        if rows.ended and (session.late.ended or session.late.store is None):
            return
        looks = rows.grows or labels.grows
        stops.wait([*rows.waits_for, *labels.waits_for], LOOK if looks else None)
