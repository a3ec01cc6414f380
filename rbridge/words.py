"""Errors and warnings of Python in the words of R."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dyntree.encoding.as_text import (
    DATES_AS_TEXT,
    FIT_DATES,
    FIT_HOURS,
    HOURS_AS_TEXT,
)
from dyntree.encoding.values import DECLARED, NAMED
from dyntree.errors import Summarised, Words, shown
from dyntree.params import TreeOptions
from dyntree.params.table import r_names

PYTHON_NAMES = {"lambda": "lambda_", "class": "cls"}  # R's names -> Python's
MIRROR = {ours: theirs for theirs, ours in PYTHON_NAMES.items()}
MIRROR |= r_names(TreeOptions) | {"sample_weight": "weights"}
LEVELS = "categories = list({name!s} = c(...))"
NATIVE = 'options(dyntree.rules = "native")'
PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "R's dynaTree cannot use missing values either: drop or fill such rows": "R's "
        "rules take no missing values: leave such rows out, or fit with " + NATIVE,
        "Give missing values as NaN (in R as NA), or drop such rows": "Give missing "
        "values as NA, or leave such rows out",
        "If they are labels, use model='class'": "If they are labels, make them a "
        "factor, or use model='class'",
        "Number the classes from 1": "Number the classes from 1, or give a factor",
        "Call update first": "Call update() first",
        "Call update with": "Call update() with",
        "as a frame or as dicts with that column": "as a frame with that column",
        "a sequence of dicts of options": "a list of named lists of options",
    }
)
_WORDS = (  # of the package's own text alone
    (r"\bNone\b", "NULL"), (r"\bTrue\b", "TRUE"), (r"\bFalse\b", "FALSE"),
    (r"\b(?:nan|NaN|NaT)\b", "NA"), (r"(?<=[\s(\[-])inf\b", "Inf"),
    (r"\b[Aa]n ints?\b", "a whole number"), (r"\bints\b", "whole numbers"),
    (r"\ba float\b", "a number"), (r"\ba bool\b", "TRUE or FALSE"),
    (r"\bwith keys among\b", "with names among"), (r"\bhave keys\b", "have names"),
    (r"\bndarrays?\b", "matrix"), (r"\b(?:DataFrame|frame)s?\b", "data frame"),
    (r"\ba dicts?\b", "a named list"), (r"\bdicts?\b", "named list"),
    (r"\b(?:pandas|numpy)\b", "R"), (r"\b(options|prior)\.(?=\w)", r"\1$"),
    (r"(\w+)\['(\w+)'\]", r"\1$\2"), (r"'([^' ]*)'", r'"\1"'),
    (r"(?<=\w)=\((?=\.\.\.)", " = c("), (r"(?<=\w)=(?=[\w\".-])", " = "),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), words) for pattern, words in _WORDS)
_N = r"(\d+|\{\w+\})"  # a number, or the field that has it
_SHAPES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bshape \{(\w*shape\w*)\}", r"{\1}"),
        (rf"\bbe bounds of shape \({_N}, {_N}\)", r"have \1 row(s) and \2 columns"),
        (rf"\bhave shape \({_N}, {_N}\)", r"have \1 rows and \2 columns"),
        (rf"\bof shape \({_N}, {_N}\)", r"a matrix of \1 rows and \2 columns"),
        (rf"(?:\b(?:of )?shape )?\({_N},\)", r"\1 values"),
    )
)
ROW, COLUMN = "\x01{}\x02", "\x03{}\x04"
NUMBERS: Mapping[str, str] = MappingProxyType(  # fields, and what R reads them by
    {
        "row": ROW,
        "row_number": ROW,
        "element": ROW,
        "document": ROW,
        "column_number": COLUMN,
        "word": COLUMN,
    }
)
NAMES = frozenset({"label", "name", "column", "levels", "source"})  # fields of names
_SYNTACTIC = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
_RESERVED = frozenset(
    {
        "if", "else", "repeat", "while", "function", "for", "next", "break", "TRUE",
        "FALSE", "NULL", "Inf", "NaN", "NA", "NA_integer_", "NA_real_",
        "NA_character_", "in",
    }
)  # fmt: skip
_SORTS = bool, str, int | float  # of which R has vectors
_OF_MEMBER = re.compile(r"^(\w+) of member (\d+)$")
_PATH = re.compile(r"^(\w+)(?:\.(\w+)|\['(\w+)'\]|\[(\d+)\])$")


class RWords(Words):
    """R's names of arguments, and values as R writes them; rows count from 1.

    Numbers of rows and columns are between marks, so that R can put the names there
    that its user knows; see `NUMBERS`.

    Parameters
    ----------
    names : dict of str to str
        R's names by Python's.
    phrases : dict of str to str, optional
        Words of the package, and what they are in R.

    Examples
    --------
    >>> from dyntree.errors import ArgumentError, in_words
    >>> in_words(ArgumentError("quants", "must be True or False", None), RWords({}))
    'quants must be TRUE or FALSE; got NULL.'
    """

    first_row = 1
    templates = MappingProxyType(
        {NAMED: LEVELS, DECLARED: f"{LEVELS} or a factor"}
        | {
            text: text.replace("in pandas by pd.to_datetime", "as.Date, as.POSIXct")
            for text in (DATES_AS_TEXT, FIT_DATES)
        }
        | {
            text: text.replace("in pandas by pd.to_timedelta", "as.difftime")
            for text in (HOURS_AS_TEXT, FIT_HOURS)
        }
    )

    def __init__(
        self,
        names: Mapping[str, str],
        phrases: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.names = names
        self.phrases = {**PHRASES, **phrases}
        words = sorted({*self.phrases, *names}, key=len, reverse=True)
        listed = "|".join(map(re.escape, words))
        self._own = re.compile(rf"(?<!\w)(?:{listed})(?![\w(])") if words else None

    def argument(self, name: str) -> str:
        """R's name of an argument, or of a part of it, such as ``options$weights``."""
        found = _OF_MEMBER.match(name)
        if found is not None:
            return f"members[[{int(found[2]) + 1}]]${self.argument(found[1])}"
        found = _PATH.match(name)
        if found is None:
            return self.names.get(name, name)
        head = self.names.get(found[1], found[1])
        if found[4] is not None:
            return f"{head}[[{int(found[4]) + 1}]]"
        return f"{head}${found[2] or found[3]}"

    def setting(self, name: str, value: Any) -> str:
        """An argument with a value, ``window = NULL``."""
        return f"{self.argument(name)} = {self.value(value)}"

    def message(self, template: str, fields: Mapping[str, Any]) -> str:
        """As `Words.message`; shapes are rows and columns."""
        for pattern, words in _SHAPES:
            template = pattern.sub(words, template)
        return super().message(template, fields)

    def value(self, value: Any) -> str:
        """A value as a program of R has it."""
        if value is None or isinstance(value, bool):
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, str):
            text = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{shown(text)}"'
        if isinstance(value, list | tuple):
            return self._several(value)
        if isinstance(value, Mapping):
            pairs = (f"{symbol(key)} = {self.value(one)}" for key, one in value.items())
            return f"list({', '.join(pairs)})"
        return self.text(value)

    def _several(self, values: list[Any] | tuple[Any, ...]) -> str:
        """Values of one kind as a vector, others as a list, which c() would turn."""
        if not values:
            return "list()"
        items = [self.value(one) for one in values]
        sorts = [[k for k, sort in enumerate(_SORTS) if isinstance(one, sort)][:1]
                 for one in values]  # fmt: skip
        if not all(sorts) or sorts.count(sorts[0]) < len(sorts):
            return f"list({', '.join(items)})"
        return items[0] if len(items) == 1 else f"c({', '.join(items)})"

    def text(self, value: Any) -> str:
        """A value as a part of a sentence of R."""
        if isinstance(value, tuple | list):
            if isinstance(value, tuple) and value and {*map(type, value)} == {int}:
                return _shape(value)
            return ", ".join(self.value(one) for one in value)
        if isinstance(value, Summarised) and value.shape:
            return _shape(value.shape)
        if isinstance(value, bool | int | float):
            return self.value(value)
        return "NULL" if value is None else super().text(value)

    def literal(self, text: str) -> str:
        """The package's words, with R's names and kinds of values."""
        if self._own is not None:
            text = self._own.sub(self._said, text)
        for pattern, words in _COMPILED:
            text = pattern.sub(words, text)
        return text

    def _field(self, name: str, value: Any, spec: str, conversion: str | None) -> str:
        if conversion == "s":
            return symbol(value)
        if conversion == "r" and name in NAMES and isinstance(value, str):
            return quoted_name(value)
        if spec == "items" and name == "names":
            return ", ".join(quoted_name(one) if isinstance(one, str) else
                             self.value(one) for one in value)  # fmt: skip
        text = super()._field(name, value, spec, conversion)
        is_number = name in NUMBERS and conversion is None and text.isdecimal()
        return NUMBERS[name].format(text) if is_number else text

    def _said(self, found: re.Match[str]) -> str:
        return self.phrases.get(found[0]) or self.names[found[0]]


def symbol(name: Any) -> str:
    """A name as R reads it before ``=``: in backticks where it must be.

    Examples
    --------
    >>> print(symbol("site"), symbol("my site"), symbol("in"))
    site `my site` `in`
    """
    text = shown(name)
    if _SYNTACTIC.fullmatch(text) and text not in _RESERVED:
        return text
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quoted_name(name: str) -> str:
    """A name in a sentence: in quotes, or in backticks where it has quotes itself."""
    return symbol(name) if '"' in name or "\\" in name else f'"{shown(name)}"'


def _number(value: float) -> str:
    """A number as R writes it."""
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")


def _shape(shape: tuple[Any, ...]) -> str:
    """The shape of an array."""
    if len(shape) == 1:
        return f"{shape[0]} values"
    if len(shape) == 2:
        return f"{shape[0]} rows and {shape[1]} columns"
    return " x ".join(map(str, shape))
