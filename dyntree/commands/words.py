"""Errors and warnings of the classes in the words of a shell."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from dyntree.commands.rows import as_option
from dyntree.encoding.as_text import (
    BEGIN,
    DATES_AS_TEXT,
    FIT_DATES,
    FIT_HOURS,
    FIT_NUMBERS,
    HOURS_AS_TEXT,
    NUMBERS_AS_TEXT,
    SOME_NUMBERS_AS_TEXT,
)
from dyntree.encoding.columns import TIMES_AS_TEXT
from dyntree.encoding.gaps import LEAVE_OUT
from dyntree.encoding.row_input import NAN_IS_MISSING
from dyntree.encoding.targets import TEXT_BESIDE
from dyntree.encoding.values import DECLARED, NAMED
from dyntree.errors import Words
from dyntree.params import OPTIONS

LEVELS = "--levels {name}=A,B,..."
FLAGS = {name: one.flag for name, one in OPTIONS.items() if one.shell}
COLUMNS = {
    "sample_weight": "--weights",
    "exposure": "--exposure",
    "y": "the response",
}
ADVICE = {
    f" {LEAVE_OUT}": " Mend such rows, or leave them out.",
    "Give them, with None or NaN for what is missing.": "A cell may be empty.",
    NAN_IS_MISSING: "Leave the cell empty if the value is missing, or mend such rows.",
    "Give NaN, drop the row, or": "Leave the cell empty, drop the row, or",
    "Drop or impute such rows first.": "Mend such rows, or leave them out.",
    ", or call learn or drop with this one first.": ".",
    "classes=(...)": "--classes A,B,...",
    "Leave the column out, convert it to numbers or dates,": "If it holds dates or "
    "times, name it by --times. Otherwise leave it out, convert it to numbers,",
    "must be an int ": "must be a whole number ",
}  # of the classes, and what it is in a shell
LEVEL_EACH = "so that each is a level of its own"
NAME_THEM = "or, if they are levels, name them: {declared}."
AS_TEXT = {
    NUMBERS_AS_TEXT: f"{BEGIN}, {LEVEL_EACH}. Write numbers without quotes, "
    f"{NAME_THEM}",
    SOME_NUMBERS_AS_TEXT: f"{BEGIN}, but also {{other!r}}, {LEVEL_EACH}. "
    "If {other!r} means missing, say --missing {other:option} in CSV, or write null in "
    f"NDJSON, {NAME_THEM}",
    DATES_AS_TEXT: f"{BEGIN}{{also}}, {LEVEL_EACH}. Say --times {{times}}, {NAME_THEM}",
    HOURS_AS_TEXT: f"{BEGIN}{{also}}, {LEVEL_EACH}. Say --times {{times}}, {NAME_THEM}",
    FIT_HOURS: "Column {name!r} holds times of day as text: fit again with --times "
    "{times}.",
    FIT_NUMBERS: "Column {name!r} holds numbers as text: fit again with numbers.",
    FIT_DATES: "Column {name!r} holds dates or times as text: fit again with --times "
    "{times}.",
    TEXT_BESIDE: "It is a number with a fraction, beside the text {text!r}{where}. "
    "If {text!r} means missing, say --missing {text:option} in CSV, or write null in "
    "NDJSON; if all are labels, name them: --classes A,B,....",
}  # text that is meant otherwise
_SETTING = re.compile(rf"\b({'|'.join(FLAGS)})=('?)(-?[\w.]+)\2")
_ALTERNATIVE = re.compile(r"(--model \w+ or) '(\w+)'")
_WEIGHTS = re.compile(r"\bsample_weight\b")


class ShellWords(Words):
    """Options instead of arguments, ``--model class`` instead of ``model='class'``.

    Parameters
    ----------
    levels : str, default `LEVELS`
        How levels are named; ``dyntree predict`` cannot name those of a saved model.

    Examples
    --------
    >>> from dyntree.errors import ArgumentError, in_words
    >>> error = ArgumentError("min_leaf", "must be an int >= {n}", 0, n=1)
    >>> in_words(error, SHELL)
    '--min-leaf must be a whole number >= 1; got 0.'
    >>> from dyntree.encoding.values import declared
    >>> print(in_words(declared("site"), PREDICT))
    dyntree fit --levels site=A,B,...
    """

    def __init__(self, levels: str = LEVELS) -> None:
        self.templates = MappingProxyType(
            dict.fromkeys((NAMED, DECLARED), levels)
            | {TIMES_AS_TEXT: "Name it by --times {label}, if it holds times."}
            | AS_TEXT
        )

    def argument(self, name: str) -> str:
        """The option for an argument; others have no other name."""
        return (FLAGS | COLUMNS).get(name, name)

    def setting(self, name: str, value: Any) -> str:
        """An option with its value; one that is on or off stands alone."""
        if name not in FLAGS:
            return super().setting(name, value)
        text = value if isinstance(value, str) else self.value(value)
        return FLAGS[name] if value is True else f"{FLAGS[name]} {text}"

    def literal(self, text: str) -> str:
        """The package's words, with options and the advice that a shell can take."""
        for words, advice in ADVICE.items():
            text = text.replace(words, advice)
        text = _WEIGHTS.sub("--weights", text)
        text = _SETTING.sub(self._flag, text)
        return _ALTERNATIVE.sub(r"\1 \2", text)

    def _field(self, name: str, value: Any, spec: str, conversion: str | None) -> str:
        if spec == "option":
            return as_option([value])
        return super()._field(name, value, spec, conversion)

    def _flag(self, found: re.Match[str]) -> str:
        flag, value = FLAGS[found[1]], found[3]
        return flag if value == "True" else f"{flag} {value}"


SHELL, PREDICT = ShellWords(), ShellWords(f"dyntree fit {LEVELS}")
