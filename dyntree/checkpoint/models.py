"""One file format for every model: what `save` writes and `load` reads.

A checkpoint is a zip file. ``header.json`` holds the format, its version, the release
of dyntree that wrote it, the kind of model and all options and counters; each array is
a ``.npy`` file beside it. Rows, trees and the random state are stored in one canonical
order, so that equal models give equal bytes. The caller's position in the source of the
rows may be in it, too, as JSON. There is nothing to execute in it, and any
reader of zip, JSON and .npy can look inside.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, BinaryIO, Literal, Self, TypeVar, overload

from dyntree import params
from dyntree.encoding.columns import NUMBERS
from dyntree.errors import (
    ArgumentError,
    CheckpointError,
    FormulaFileWarning,
    Message,
    shown,
    warn,
)
from dyntree.params.labels import from_json, to_json
from dyntree.runtime.online import Arrays, Savable
from dyntree.runtime.release import RELEASE
from dyntree.storage import archive
from dyntree.storage.atomic_files import PRIVATE, is_database, replacing
from dyntree.storage.positions import position_text, read_position

FORMAT = "dyntree"
VERSION = 1
UNSOUND = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
LABELS = ("classes", "waiting_y")  # fields of headers that hold labels
LEAVES = frozenset({bool, int, float, str, type(None), list, tuple})  # without labels


KINDS: dict[str, type[Savable]] = {}  # of the models that have been imported
HOMES = (  # where models are, in the order in which they are looked for
    "dyntree.trees.model",
    "dyntree.trees.streaming",
    "dyntree.trees.random_trees",
    "dyntree.trees.averages.stream",
    "dyntree.trees.averages.tables",
    "dyntree.keyed.model",
    "dyntree.mixtures",
    "dyntree.evaluate.delayed",
    "dyntree.evaluate.alarm",
)
Kind = TypeVar("Kind", bound=type[Savable])


def savable(kind: Kind) -> Kind:
    """Class decorator that registers a class by name, so that `load` can restore it."""
    KINDS[kind.__name__] = kind
    return kind


def kind_named(name: Any) -> type[Savable] | None:
    """Return the class that has a name in files, or None.

    Parameters
    ----------
    name : str
        The "kind" in the header of a model. The module of the class is imported, where
        it has not been.

    Returns
    -------
    type or None

    Examples
    --------
    >>> kind_named("StreamingTree").__module__
    'dyntree.trees.streaming'
    """
    for home in HOMES:
        if name in KINDS:
            break
        import_module(home)
    return KINDS.get(name)


class Stored(ABC):
    """Base class of models that are pickled in the file format and copied by `copy`."""

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent copy, which continues in the same way."""

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (dumps(self),)  # type: ignore[arg-type]


def save(model: Savable, path: str | os.PathLike[str], *, position: Any = None) -> None:
    """Save a model to a file; an interrupted save leaves no partial file.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
        A model in any state: before its first row, in mid-stream, or frozen.
    path : str or path
        An existing file is replaced when the new one is complete and on disk; the new
        one has its owner and its mode. After an error, or if the process is killed, the
        old file remains. A new file can be read by its owner only, because models hold
        rows of the data; ``chmod`` opens it for others, also for later saves.
    position : None, bool, int, float, str, list or dict, default None
        Position in the source of the rows, such as the offset in a log or the id of a
        message. It may be any value that JSON can represent. Model and position are in
        one file, so that a program that loads both and continues from there learns each
        row exactly once. If other threads teach the model, call `save` within
        ``model.exclusive()``.

    Raises
    ------
    ValueError
        If the model is not one of this package, the header is too long, or JSON cannot
        represent the position exactly: numbers that are not finite, tuples, keys that
        are not text, more than 64 levels or more than 1 MiB.
    OSError
        If the file cannot be written, or `path` is a device, a named pipe or a socket.

    Examples
    --------
    >>> import tempfile, dyntree
    >>> tree = dyntree.DynamicTree(n_particles=50, seed=1)
    >>> tree = tree.update([[x / 20] for x in range(20)], range(20))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dyntree.save(tree, f"{folder}/m.dyn", position={"clicks": 20})
    ...     again, position = dyntree.load(f"{folder}/m.dyn", with_position=True)
    >>> position
    {'clicks': 20}
    >>> bool((again.predict([[0.5]]).mean == tree.predict([[0.5]]).mean).all())
    True
    """
    save_with(model, {}, path, position)


def save_with(
    model: Savable,
    notes: dict[str, Any],
    path: str | os.PathLike[str],
    position: Any = None,
) -> None:
    """Save a model together with notes that its caller needs to continue.

    Parameters
    ----------
    model
        As in `save`.
    notes : dict
        Values that JSON can represent.
    path, position
        As in `save`.
    """
    if isinstance(model, str | os.PathLike) and _is_savable(path):
        raise ArgumentError(
            "model",
            "must come first, as in save(model, path)",
            os.fspath(model),
            "The arguments are the other way round.",
        )
    at = {} if position is None else {"position": position_text(position)}
    header, arrays = _described(model)
    with replacing(path, PRIVATE) as file:
        archive.write(file, header | {"notes": notes} | at, arrays)


@overload
def load(
    path: str | os.PathLike[str], *, with_position: Literal[False] = False
) -> Any: ...


@overload
def load(
    path: str | os.PathLike[str], *, with_position: Literal[True]
) -> tuple[Any, Any]: ...


def load(path: str | os.PathLike[str], *, with_position: bool = False) -> Any:
    """Return the model that `save` wrote; it continues with identical results.

    Parameters
    ----------
    path : str or path
    with_position : bool, default False
        Also return the position that was saved with it, or None.

    Returns
    -------
    DynamicTree, StreamingTree or another model
        Of a file with a formula these are the trees alone, with a warning unless its
        terms and response are columns of numbers as they are:
        `dyntree.formula.api.load` returns the whole model.
        With `with_position`, a tuple of the model and the position.

    Raises
    ------
    CheckpointError
        If the file was not written by this package, is damaged, or does not describe a
        model. Loading runs no code from the file, and the memory that it allocates is
        bounded by the size of the file.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, dyntree
    >>> stream = dyntree.StreamingTree(window=50, n_particles=50, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dyntree.save(stream, f"{folder}/m.dyn")
    ...     dyntree.load(f"{folder}/m.dyn").options.window
    50
    """
    with_position = params.flag("with_position", with_position)
    model, notes, position = load_parts(path)
    _warn_of_formula(path, notes)
    return (model, position) if with_position else model


def _warn_of_formula(path: str | os.PathLike[str], notes: dict[str, Any]) -> None:
    """Warn of a formula, without which trees need other columns, or predict others."""
    design = notes.get("design")
    if not isinstance(design, dict):
        return
    lacks = (
        "predict without its offset or exposure"
        if design.get("offsets")
        else "take other columns or predict another response"
    )
    if design.get("offsets") or not _takes_columns(design):
        warn(
            FormulaFileWarning,
            "{path} has the formula {formula!r}; load() returns the trees alone, which "
            "{lacks}. dyntree.formula.api.load returns the whole model.",
            path=shown(os.fspath(path)),
            formula=notes.get("formula"),
            lacks=lacks,
        )


def _takes_columns(design: dict[str, Any]) -> bool:
    """Whether response and terms of a formula are columns of numbers as they are."""
    try:
        numbers = {name for name, kind in design["kinds"].items() if kind == NUMBERS}
        return len(design["response"]["steps"]) == 1 and all(
            len(term) == 1
            and term[0]["steps"] == [["column", term[0]["label"]]]
            and term[0]["label"] in numbers
            and not (term[0]["levels"] or term[0]["basis"])
            for term in design["terms"]
        )
    except UNSOUND:  # no header of ours, and not read here
        return True


def load_with(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the model and the notes that `save_with` wrote; errors as in `load`."""
    return load_parts(path)[:2]


def load_parts(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any], Any]:
    """Return model, notes and position that `save_with` wrote; errors as in `load`."""
    if is_database(path):
        raise CheckpointError(
            Message(
                "{path} cannot be loaded: it is a database. Open the store of a "
                "KeyedStream by KeyedStream.from_store(path)",
                path=shown(os.fspath(path)),
            )
        )
    with open(path, "rb") as file:
        return _read(file, f"{shown(os.fspath(path))} cannot be loaded")


def dumps(model: Savable) -> bytes:
    """Return the bytes that `save` would write; pickles hold them."""
    header, arrays = _described(model)
    file = io.BytesIO()
    archive.write(file, header | {"notes": {}}, arrays)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """Return the model that `dumps` wrote; errors are those of `load`."""
    return _read(io.BytesIO(data), "data cannot be loaded")[0]


def _described(model: Savable) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file."""
    if not _is_savable(model):
        raise ArgumentError(
            "model",
            "must be a model of this package, such as DynamicTree or Canopy",
            Message(type(model).__name__),
            "Call its own save." if hasattr(model, "save") else _way_to_save(model),
        )
    described, arrays = model.to_arrays()
    described = with_labels(described, to_json)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "release": RELEASE,
        "model": described,
    }
    return header, arrays


def _is_savable(model: Any) -> bool:
    """Whether files can hold such a model."""
    return kind_named(type(model).__name__) is type(model)


def _way_to_save(model: Any) -> str:
    """What to do with an object that holds a model, as faces of other packages do."""
    for name in ("model_", "stream"):  # of scikit-learn, and of river
        if _is_savable(getattr(model, name, None)):
            return f"Pickle it, or save its model, .{name}."
    if hasattr(model, "get_params"):
        return "Fit it first; then pickle it, or save its model, .model_."
    return "Pickle it, or save the model it holds."


def with_labels(described: Any, turn: Callable[[Any], Any]) -> Any:
    """A header with each of its labels turned."""
    if type(described) in LEAVES:
        return described
    if not isinstance(described, Mapping):
        return described
    return {
        name: [turn(label) for label in value]
        if name in LABELS and isinstance(value, list | tuple)
        else with_labels(value, turn)
        for name, value in described.items()
    }


def _read(file: BinaryIO, failure: str) -> tuple[Any, dict[str, Any], Any]:
    """The model, the notes and the position in a file."""
    try:
        header, arrays = archive.read(file)
        if header.get("format") != FORMAT:
            raise CheckpointError("it is not a file of dyntree")
        version = header.get("version")
        if type(version) is not int or version != VERSION:
            writer = header["release"]
            raise CheckpointError(
                Message(
                    "it has version {version!r} of the format, and this dyntree, "
                    "{release}, reads version {reads}; use the dyntree that wrote it, "
                    "{writer}",
                    version=version,
                    release=RELEASE,
                    reads=VERSION,
                    writer=writer,
                )
            )
        described = header.get("model")
        notes = header.get("notes")
        if not isinstance(described, dict) or not isinstance(notes, dict):
            raise CheckpointError("it holds no model")
        kind = kind_named(described.get("kind"))
        if kind is None:
            name = described.get("kind")
            raise CheckpointError(
                Message("it holds a model of unknown kind {name!r}", name=name)
            )
        described = with_labels(described, from_json)
        at = read_position(header["position"]) if "position" in header else None
        return kind.from_arrays(described, arrays), notes, at
    except CheckpointError as error:
        raise CheckpointError(
            Message("{failure}: {error}", failure=failure, error=error)
        ) from error
    except UNSOUND as error:
        raise CheckpointError(
            Message(
                "{failure}: it does not describe a model ({error})",
                failure=failure,
                error=error,
            )
        ) from error
