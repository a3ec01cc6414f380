"""Exceptions and warnings that callers may want to distinguish, and their text."""

from __future__ import annotations

import contextlib
import os
import re
import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from inspect import isfunction
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar, Self

OURS = (f"{Path(__file__).parent}{os.sep}", contextlib.__file__)  # whose frames to skip
JOINERS = "\u200c\u200d"  # of letters and emoji
SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f"  # Arabic, Syriac: are seen
HARMLESS = frozenset(JOINERS + SIGNS)
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, surrogates, separators


class DeletedCloudError(ValueError):
    """The particles behind an object were deleted, or never belonged to it."""


class StaleObjectError(ValueError):
    """The rows of an object are not those of its cloud, which a later call changed."""


class NotReadyError(ValueError):
    """The model has not seen enough rows to answer."""


class CheckpointError(ValueError):
    """A file or a set of arrays does not describe a model of this package."""


class StaleWindowWarning(UserWarning):
    """The rule that discards rows keeps old rows that forgetting should remove."""


class DegenerateWeightsWarning(UserWarning):
    """A row had no density under any particle, so the weights could not be updated."""


class DegenerateTreesWarning(UserWarning):
    """The trees of a cloud share their first few splits, so draws vary too little."""


class UnseenLevelWarning(UserWarning):
    """A level of a column was not seen in time, so it counts as missing."""


class MissingInputWarning(UserWarning):
    """A column with a value in every row learned has none in a row to predict."""


class ColumnsByPlaceWarning(UserWarning):
    """Rows have names of columns, which a model of rows without names cannot use."""


class IndexOrderWarning(UserWarning):
    """Values of rows have the index of the rows in another order than these."""


class ContrastWarning(UserWarning):
    """A default contrast would leave the data, and another one takes its place."""


class UndefinedTermWarning(UserWarning):
    """A term of a formula has no finite value in some rows and is missing there."""


class AssumedValueWarning(UserWarning):
    """New rows come without the exposure, offset or weight of the first ones."""


class MissingGroupWarning(UserWarning):
    """Rows without a group are left out of averages by group."""


class ManyLevelsWarning(UserWarning):
    """Most values of a text column are new levels, or rows have ever new columns."""


class NumbersAsTextWarning(UserWarning):
    """A column holds numbers as text, each of which is a level."""


class ManyLabelsWarning(UserWarning):
    """Most labels of a classifier are new: the responses may be numbers, or names."""


class TwoNumbersWarning(UserWarning):
    """All responses are one of two whole numbers, which may be labels."""


class SimilarLabelsWarning(UserWarning):
    """Labels differ in their type or their spelling alone, and are several classes."""


class DatesAsTextWarning(UserWarning):
    """A column holds dates or times as text, each of which is a level."""


class FormulaFileWarning(UserWarning):
    """A file has a formula, without which its trees take other columns or responses."""


class UnseenWordsWarning(UserWarning):
    """Words of documents were not learned, or words that were learned are missing."""


class ManyKeysWarning(UserWarning):
    """Nearly every row of a model for keys has a key of its own."""


class MissingKeyWarning(UserWarning):
    """A model for keys has no key, so that all rows are of one series."""


class KeyTypeWarning(UserWarning):
    """Keys have another type than before, which nearly always is a reader's fault."""


class LearnedRowsWarning(UserWarning):
    """A model that is to be evaluated on rows has learned them, by all appearance."""


class HeavyRowsWarning(UserWarning):
    """Rows of a stream count so often that its log evidence depends on their order."""


class DistantInputsWarning(UserWarning):
    """Inputs were too far from the first rows for linear leaves, and were clipped."""


class NumericalError(ArithmeticError):
    """Numbers are outside the range of the arithmetic of a model."""


class MemoryBudgetWarning(UserWarning):
    """Topics, or groups of documents, were given up to meet the memory limit."""


class ScaleWarning(UserWarning):
    """Columns, or all rows, have scales that are unsuitable for squared distances."""


class ConvergenceWarning(UserWarning):
    """A fit ended before it converged, or the data do not support its result."""


class MixingWarning(UserWarning):
    """Labels of a phase are uncertain, or the limit on particles was reached."""


def shown(text: object) -> str:
    r"""Text on one line, with escapes for what is not seen or moves what is.

    These are control characters, separators of lines and paragraphs, formats that turn
    the direction of text around, and lone surrogates, which cannot be printed. Letters
    of all scripts, accents and emoji stay as they are.

    Parameters
    ----------
    text : str
        What is no text is shown as `str` has it.

    Returns
    -------
    str

    Examples
    --------
    >>> shown("size\x1b[2J\n"), shown("\u202esize\ud800")
    ('size\\x1b[2J\\n', '\\u202esize\\ud800')
    >>> shown("größe, размер, 🙂")
    'größe, размер, 🙂'
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    """A character, or the escape that stands for it."""
    is_seen = char.isprintable() or unicodedata.category(char) not in HIDDEN
    if is_seen or char in HARMLESS:
        return char
    return char.encode("unicode_escape").decode("ascii")


PLACES = frozenset({"row", "word", "member", "document", "frame"})  # counted from 0
MOST_SHOWN = 8  # values of an array in a sentence
LONGEST = 30  # items of a list that a message shows
MOST_STORED = 2000  # and that it stores
_SETTING = re.compile(r"\b(\w+)=('[^']*'|-?[\d.]+|True|False|None|auto\b)")
_OPEN_SETTING = re.compile(r"\b(\w+)=$")


class _Repr(reprlib.Repr):
    """Short representations, in which dicts have their own order."""

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """As `reprlib.Repr.repr_dict`, not sorted."""
        pairs = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value in [*x.items()][: self.maxdict]
        ]
        more = ["..."] * (len(x) > self.maxdict)
        return f"{{{', '.join(pairs + more)}}}"


_repr = _Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxdict = _repr.maxset = LONGEST
_repr.maxstring = _repr.maxother = _repr.maxlong = 1000


def short(value: Any) -> str:
    """A value as messages show it: tables by type and shape, all else by `repr`.

    Parameters
    ----------
    value : object

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> short(np.zeros((3, 2))), short("x")
    ('ndarray of shape (3, 2)', "'x'")
    """
    value = _settled(value)
    if isinstance(value, Summarised):
        return value.text
    try:
        return _repr.repr(value)
    except ValueError:  # Python writes no number of so many digits
        return "one with a number of more than 600 digits"


class Summarised:
    """What a message stores of a value that is no plain one: its text and shape."""

    def __init__(self, value: Any) -> None:
        shape = getattr(value, "shape", None)
        self.shape = shape if isinstance(shape, tuple) and shape else None
        kind = type(value).__name__
        self.text = f"{kind} of shape {shape}" if self.shape else _repr.repr(value)
        is_short = getattr(value, "size", 0) <= MOST_SHOWN
        self.plain = str(value) if is_short or not self.shape else self.text

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.plain


def _settled(value: Any) -> Any:
    """A value that a message can store: plain values stay, others leave their text."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = (
            value.item() if value.dtype.kind in "biuf" else value
        )  # as Python has it
    if value is None or isinstance(value, bool | int | float | Message | Summarised):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is dict:
        return {key: _settled(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_settled, value[:MOST_STORED]))
    if isinstance(value, BaseException):
        return value.args[0] if is_message(value) else str(value)
    return Summarised(value)


class Words:
    """How a way of using the package writes arguments and values: here, Python.

    The shell, R, scikit-learn and river have others. What users wrote is a field of a
    message, and only passes through `value` and `text`; `literal` turns the package's
    own words.
    """

    first_row = 0
    templates: Mapping[str, str] = MappingProxyType({})  # to say otherwise as a whole

    def argument(self, name: str) -> str:
        """The name of an argument, as users of this face write it."""
        return name

    def setting(self, name: str, value: Any) -> str:
        """An argument with a value, ``window=None``."""
        return f"{name}={self.value(value)}"

    def value(self, value: Any) -> str:
        """A value as a program of this language has it."""
        return short(value)

    def text(self, value: Any) -> str:
        """A value as a part of a sentence."""
        return shown(value)

    def literal(self, text: str) -> str:
        """The package's own words."""
        return text

    def message(self, template: str, fields: Mapping[str, Any]) -> str:
        """Fill the fields of a template; see `Message`."""
        parts: list[str] = []
        argument: str | None = None  # the field before, where it names an argument
        template = self.templates.get(template, template)
        for literal, name, spec, conversion in Formatter().parse(template):
            value = None if name is None else fields[name]
            if literal == "=" and conversion == "r" and argument is not None:
                parts[-1], argument = self.setting(argument, value), None
                continue
            argument = value if conversion == "a" else None
            if conversion == "r" and (before := _OPEN_SETTING.search(literal)):
                parts.append(self.literal(literal[: before.start()]))
                parts.append(self.setting(before[1], value))
                continue
            parts.append(self.literal(literal))
            if name is not None:
                parts.append(self._field(name, value, spec or "", conversion))
        return "".join(parts)

    def _field(self, name: str, value: Any, spec: str, conversion: str | None) -> str:
        if isinstance(value, Message):
            return value.in_words(self)
        if conversion == "a":
            return self.argument(value)
        if conversion == "r":
            return self.value(value)
        if name in PLACES and type(value) is int:
            return str(value + self.first_row)
        if spec == "items":
            return ", ".join(map(self.value, value))
        return format(value, spec) if spec else self.text(value)


PYTHON = Words()


class Message(str):
    """A text whose template is the package's and whose fields are the user's.

    As a text it speaks Python; `in_words` gives it in the words of another language.

    Parameters
    ----------
    template : str
        As for `str.format`. ``{value!r}`` is a value as a program has it, ``{name!a}``
        the name of an argument, ``{names:items}`` values with commas between them, and
        ``{row}`` is counted from 0.
    **fields
        The values. Tables leave no more than their type and shape.

    Examples
    --------
    >>> Message("{name!a} must be > 0; got {value!r}.", name="forget", value=-1)
    'forget must be > 0; got -1.'
    """

    template: str
    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:  # noqa: D102
        settled = {name: _settled(value) for name, value in fields.items()}
        self = super().__new__(cls, PYTHON.message(template, settled))
        self.template, self.fields = template, settled
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _message, (self.template, self.fields)

    def in_words(self, words: Words) -> str:
        """The text in the words of another language."""
        return words.message(self.template, self.fields)

    def with_values(self, values: Mapping[str, str]) -> Message:
        """The message with other texts in the place of some of its fields."""
        fields = {
            name: value.with_values(values)
            if isinstance(value, Message)
            else values.get(value, value)
            if isinstance(value, str)
            else value
            for name, value in self.fields.items()
        }
        return Message(self.template, **fields)

    def renamed(self, names: Mapping[str, str]) -> Message:
        """The message with other names of arguments; fields stay as they are."""
        whole = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        parts, fields = [], {**self.fields}
        for literal, name, spec, conversion in Formatter().parse(self.template):
            text = whole.sub(lambda found: names[found[0]], literal)
            parts.append(text.replace("{", "{{").replace("}", "}}"))
            if name is None:
                continue
            ends = (f"!{conversion}" if conversion else "", f":{spec}" if spec else "")
            parts.append("{" + name + "".join(ends) + "}")
            value = fields[name]
            if isinstance(value, Message):
                fields[name] = value.renamed(names)
            elif conversion == "a":
                fields[name] = whole.sub(lambda found: names[found[0]], value)
        return Message("".join(parts), **fields)


def _message(template: str, fields: dict[str, Any]) -> Message:
    return Message(template, **fields)


def rename(error: ValueError, names: Mapping[str, str]) -> None:
    """Let an error call arguments by other names.

    Parameters
    ----------
    error : ValueError
        Changed in place, if it is one of this package.
    names : dict of str to str
        The names of the caller's signature, by those of the error.
    """
    if is_message(error):
        error.args = (error.args[0].renamed(names),)
    if isinstance(error, ArgumentError):
        error.name = names.get(error.name, error.name)


@contextlib.contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Context in which errors call arguments by other names; see `rename`.

    Parameters
    ----------
    names : dict of str to str

    Yields
    ------
    None

    Examples
    --------
    >>> with renamed({"sample_weight": "w"}):
    ...     raise ArgumentError("sample_weight", "must be > 0", 0.0)
    Traceback (most recent call last):
    ...
    dyntree.errors.ArgumentError: w must be > 0; got 0.0.
    """
    try:
        yield
    except ValueError as error:
        rename(error, names)
        raise


@contextlib.contextmanager
def shown_as(values: Mapping[str, str]) -> Iterator[None]:
    """Context in which errors show a text that was passed, and not what it became.

    Parameters
    ----------
    values : dict of str to str
        The texts that were passed, by what they became.

    Yields
    ------
    None
    """
    try:
        yield
    except ValueError as error:
        if is_message(error):
            error.args = (error.args[0].with_values(values),)
        raise


def is_message(error: BaseException) -> bool:
    """Whether an error or a warning can be said in other words."""
    return bool(error.args) and isinstance(error.args[0], Message)


def without_row(error: BaseException, row: int) -> str:
    """What an error says, but for the number of a row that another number replaces."""
    if not is_message(error):
        return str(error)
    message: Message = error.args[0]
    if message.fields.get("row") != row:
        return message
    return Message(message.template.replace(" in row {row}", ""), **message.fields)


def in_words(error: BaseException | str, words: Words) -> str:
    """What an error or a warning says, in the words of a language."""
    message = (
        error.args[0] if isinstance(error, BaseException) and error.args else error
    )
    return message.in_words(words) if isinstance(message, Message) else str(error)


class PhraseWords(Words):
    """Words of a face that says a few phrases of the package otherwise.

    Parameters
    ----------
    templates : dict of str to str
        Whole templates, and what stands for them.
    phrases : dict of str to str
        Parts of the package's own text, and what stands for them.

    Examples
    --------
    >>> error = ArgumentError("y", "must be a number", "u", "Try model='class'.")
    >>> in_words(error, PhraseWords({}, {"model='class'": "a classifier"}))
    "y must be a number; got 'u'. Try a classifier."
    """

    def __init__(
        self, templates: Mapping[str, str], phrases: Mapping[str, str]
    ) -> None:
        self.templates, self.phrases = templates, phrases

    def literal(self, text: str) -> str:
        """The package's own words, with other phrases."""
        for phrase, other in self.phrases.items():
            text = text.replace(phrase, other)
        return text


_speaker: ContextVar[Words] = ContextVar("speaker", default=PYTHON)
_silenced: ContextVar[tuple[type[Warning], ...]] = ContextVar("silenced", default=())


class Speaking:
    """Base class of faces whose public methods raise and warn in words of their own."""

    _words: ClassVar[Words] = PYTHON

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name, method in list(vars(cls).items()):
            if not name.startswith("_") and isfunction(method):
                setattr(cls, name, _spoken(method))


def _spoken(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose errors and warnings are in the words of its class."""

    @wraps(method)
    def said(self: Speaking, *arguments: Any, **more: Any) -> Any:
        token = _speaker.set(self._words)
        try:
            return method(self, *arguments, **more)
        except ValueError as error:
            if is_message(error):
                error.args = (in_words(error, self._words),)
            raise
        finally:
            _speaker.reset(token)

    return said


NOTHING: Any = object()  # where an error has no value to show


class ArgumentError(ValueError):
    """An argument that a rule refuses; the text is made when it is shown.

    Parameters
    ----------
    name : str
        The argument.
    rule : str or Message
        What it has to be, a template as in `Message`: "must be > 0".
    got : object, optional
        What was passed.
    remedy : str or Message, default ""
        What to do, a template of whole sentences.
    row : int, optional
        The row of `got`, counted from 0.
    column : object, optional
        The column of `got`.
    **fields
        Values of the templates.

    Examples
    --------
    >>> raise ArgumentError("forget", "must be in (0, 1]", 2.0, "Try forget=0.9.")
    Traceback (most recent call last):
    ...
    dyntree.errors.ArgumentError: forget must be in (0, 1]; got 2.0. Try forget=0.9.
    """

    def __init__(
        self,
        name: str,
        rule: str,
        got: Any = NOTHING,
        remedy: str = "",
        *,
        row: int | None = None,
        column: Any = None,
        **fields: Any,
    ) -> None:
        self.name, self.rule, self.got, self.remedy = name, rule, got, remedy
        self.row, self.column, self.fields = row, column, fields
        parts = {"name": name, "rule": _filled(rule, fields)}
        template = "{name!a} {rule}"
        if got is not NOTHING:
            self.got = parts["got"] = _settled(got)
            template += "; got {got!r}"
        for place, form in (
            ("row", " in row {row}"),
            ("column", ", column {column!r}"),
        ):
            if (value := getattr(self, place)) is not None:
                template, parts[place] = template + form, value
        template += "."
        if remedy:
            template, parts["remedy"] = template + " {remedy}", _filled(remedy, fields)
        super().__init__(Message(template, **parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return _argument_error, (type(self), self._parts())

    def named(self, name: str) -> Self:
        """The same error about an argument of another name."""
        return type(self)(**self._parts() | {"name": name})

    def at(self, row: int) -> Self:
        """The same error in another row."""
        return type(self)(**self._parts() | {"row": row})

    def _parts(self) -> dict[str, Any]:
        names = "name", "rule", "got", "remedy", "row", "column"
        parts = {name: getattr(self, name) for name in names}
        if self.got is NOTHING:
            del parts["got"]
        return parts | self.fields


def _filled(template: str, fields: Mapping[str, Any]) -> Message:
    """A template with its fields; what has some already stays."""
    return template if isinstance(template, Message) else Message(template, **fields)


class UnusableValueError(ArgumentError, TypeError):
    """The type of a value of a row, or of a label, is one that no model accepts."""


def _argument_error(kind: type[ArgumentError], parts: dict[str, Any]) -> ArgumentError:
    return kind(**parts)


@contextlib.contextmanager
def silenced(*categories: type[Warning]) -> Iterator[None]:
    """Issue no warnings of some categories in a block, in this thread alone.

    `warnings.catch_warnings` changes the filters of all threads, and where several use
    it at once, a filter of one may stay for good.

    Parameters
    ----------
    *categories : type of Warning

    Yields
    ------
    None
    """
    token = _silenced.set((*_silenced.get(), *categories))
    try:
        yield
    finally:
        _silenced.reset(token)


def warn(category: type[Warning], template: str, /, **fields: Any) -> None:
    """Issue a warning, on one line, that points at the calling line outside dyntree.

    Parameters
    ----------
    category : type of Warning
    template : str or Message
        The text, as in `Message`.
    **fields
        The values of the template.
    """
    if issubclass(category, _silenced.get()):
        return
    is_said = isinstance(template, Message)
    message: str = template if is_said else Message(template, **fields)
    if (words := _speaker.get()) is not PYTHON:
        message = in_words(message, words)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message), stacklevel=level)
