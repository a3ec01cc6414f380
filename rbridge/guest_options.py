"""What R gives to models: options as Python takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from dyntree.errors import ArgumentError, Message

from .convert import from_r
from .wire import RValue
from .words import RWords

Reader = Callable[[str, RValue], Any]


@dataclass(frozen=True)
class Face:
    """How R uses one kind of model.

    Attributes
    ----------
    make : callable
        Makes a model without rows from options with Python's names.
    learn : callable
        From (model, is_first, **rows), returns the model that has learned the rows, and
        what R receives in addition to the result of `tell`.
    tell : callable
        From a model, returns the contents of R's object.
    answers : dict of str to callable
        Functions of (model, **given), by name.
    readers : dict of str to callable
        How to read options that are more than plain values.
    names : dict of str to str
        R's name by Python's name, for options with different names.
    rows : callable
        Converts a data frame of R to rows.
    phrases : dict of str to str
        Words of messages, and what they are in R.
    words : type of RWords
    """

    make: Callable[[dict[str, Any]], Any]
    learn: Callable[..., tuple[Any, dict[str, Any]]]
    tell: Callable[[Any], dict[str, Any]]
    answers: Mapping[str, Callable[..., Any]]
    readers: Mapping[str, Reader] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    rows: Callable[[RValue], Any] = from_r
    phrases: Mapping[str, str] = field(default_factory=dict)
    words: type[RWords] = RWords

    def read(self, given: Mapping[str, RValue]) -> dict[str, Any]:
        """Return options by Python's names, as Python takes them."""
        own = {ours: theirs for theirs, ours in self.names.items()}
        return {
            own.get(name, name): self.readers.get(name, vector)(name, value)
            for name, value in given.items()
        }

    def words_for(self, rows: str) -> RWords:
        """R's words, where rows have the name of R's argument."""
        phrases = {
            words: re.sub(r"\bX\b", rows, said) for words, said in self.phrases.items()
        }
        return self.words({**self.names, "X": rows}, phrases)


def plain_option(name: str, value: RValue) -> Any:
    """Return a value from R as a number, a text, a list, a matrix or a dict.

    A whole number becomes an int, whatever its type in R.
    """
    if value.kind == "list":
        names = value.strings("names")
        items = [plain_option(name, one) for one in value.data]
        if items and names and all(names):
            return dict(zip(names, items, strict=True))
        return items
    found = from_r(value)
    if isinstance(found, np.generic):
        found = found.item()
    if isinstance(found, float) and found.is_integer() and abs(found) < 2.0**53:
        return int(found)
    return found.tolist() if isinstance(found, np.ndarray) and found.ndim < 2 else found


def vector(name: str, value: RValue) -> Any:
    """Return a number, a text, a truth value or several, as they are; no list."""
    if value.kind == "list":
        raise ArgumentError(
            name,
            "must be a number, a text, TRUE or FALSE, or a vector",
            Message("{described}", described=described(value)),
            "Leave it out for the default.",
        )
    return plain_option(name, value)


def texts(name: str, value: RValue) -> list[Any]:
    """Return labels as a list, also a single one."""
    if value.kind == "NULL":
        return []
    if value.kind == "list":
        raise ArgumentError(name, "must be a vector of labels", Message("a list"))
    if "levels" in value.attributes:
        return value.strings("levels")
    each = (value.data[k : k + 1] for k in range(len(value.data)))
    return [plain_option(name, RValue(value.kind, one)) for one in each]


def levels_of_columns(name: str, value: RValue) -> dict[str, list[Any]] | None:
    """Return a named list of vectors as lists by name."""
    if value.kind == "NULL":
        return None
    if not is_named_list(value) or not value.data:
        raise ArgumentError(
            name,
            "must be a named list with the levels of columns, each once",
            Message("{described}", described=described(value)),
            "Write {label} = list(column = c('a', 'b')).",
            label=name,
        )
    return {key: texts(name, one) for key, one in value.items().items()}


def is_named_list(value: RValue) -> bool:
    """Whether R sent a list with a name of its own for each element."""
    names = value.strings("names")
    is_named = value.kind == "list" and len(names) == len(value.data)
    return is_named and all(names) and len(set(names)) == len(names)


def pair(name: str, value: RValue) -> Any:
    """Return a vector as a tuple."""
    found = vector(name, value)
    return tuple(found) if isinstance(found, list) else found


def record(kind: Any, parts: Mapping[str, Reader] = MappingProxyType({})) -> Reader:
    """Return how a named list becomes a record of options, NULL the default one."""

    def read(name: str, value: RValue) -> Any:
        if value.kind == "NULL":
            return None
        if value.kind != "list":
            raise ArgumentError(
                name,
                "must be a named list of options",
                Message("{described}", described=described(value)),
                "Write {label} = list({label_2} = ...).",
                label=name,
                label_2=fields(kind)[0].name,
            )
        return _filled(kind, name, value, value.strings("names"), parts)

    return read


def choice(
    kinds: Mapping[str, Any], parts: Mapping[str, Reader], optional: bool = False
) -> Reader:
    """Return a reader of records from a name, or a list of a name and options.

    Parameters
    ----------
    kinds : dict of str to type
        Records by R's names of them.
    parts : dict of str to callable
        How to read options that are more than plain values.
    optional : bool, default False
        Whether NULL means the default.
    """

    def read(name: str, value: RValue) -> Any:
        if value.kind == "NULL" and optional:
            return None
        known = ", ".join(f'"{one}"' for one in kinds)
        names = value.strings("names") or [""] * len(value.data)
        is_list = value.kind == "list"
        first = None
        if len(value.data) and not names[0]:
            head = plain_option(name, value.data[0]) if is_list else value.data[0]
            first = head if isinstance(head, str) else None
        if first is None or first not in kinds or not (is_list or len(value.data) == 1):
            raise ArgumentError(
                name,
                "must be one of {known}, or a list of such a name and its options",
                Message(
                    "{value}", value=described(value) if first is None else f'"{first}"'
                ),
                "Write {label} = {next!r}.",
                known=known,
                label=name,
                next=next(iter(kinds)),
            )
        rest = RValue("list", value.data[1:] if is_list else [])
        return _filled(kinds[first], name, rest, names[1:], parts)

    return read


def _filled(
    kind: Any,
    name: str,
    value: RValue,
    names: list[str],
    parts: Mapping[str, Reader],
) -> Any:
    """Return a record with the options of a list, by the names given."""
    known = [one.name for one in fields(kind) if one.init]
    stray = [one for one in names if one not in known]
    if len(names) != len(value.data) or stray or len(set(names)) < len(names):
        what = f'got "{stray[0]}"' if stray and stray[0] else "got one without a name"
        if not stray and len(names) == len(value.data):
            what = "got one twice"
        raise ArgumentError(
            name,
            "must hold options named {known}, each once; {what}",
            known=", ".join(known),
            what=what,
        )
    read = {
        key: parts.get(key, plain_option)(key, one)
        for key, one in zip(names, value.data, strict=True)
    }
    try:
        return kind(**read)
    except ArgumentError as error:
        raise error.named(f"{name}${error.name.removeprefix(f'{name}.')}") from error


def described(value: RValue) -> str:
    """Return what R sent, in a few words."""
    if value.kind == "NULL":
        return "NULL"
    if value.kind == "list":
        is_frame = "data.frame" in value.strings("class")
        return "a data frame" if is_frame else "a list"
    words = {"character": "texts", "logical": "truth values"}
    if len(value.data) != 1:
        kind = words.get(value.kind, "numbers")
        return f"a vector of {len(value.data)} {kind}"
    return RWords({}).value(plain_option("", value))
