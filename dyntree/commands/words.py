"""Errors and warnings of the classes in the words of a shell."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from dyntree.encoding.columns import TIMES_AS_TEXT
from dyntree.encoding.gaps import LEAVE_OUT
from dyntree.encoding.row_input import NAN_IS_MISSING
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
_SETTING = re.compile(rf"\b({'|'.join(FLAGS)})=('?)(-?[\w.]+)\2")
_ALTERNATIVE = re.compile(r"(--model \w+ or) '(\w+)'")
_WEIGHTS = re.compile(r"\bsample_weight\b")


class ShellWords(Words):
    """Options instead of arguments, ``--model class`` instead of ``model='class'``.

    Examples
    --------
    >>> from dyntree.errors import ArgumentError, in_words
    >>> error = ArgumentError("min_leaf", "must be an int >= {n}", 0, n=1)
    >>> in_words(error, SHELL)
    '--min-leaf must be a whole number >= 1; got 0.'
    """

    templates = MappingProxyType(
        dict.fromkeys((NAMED, DECLARED), LEVELS)
        | {TIMES_AS_TEXT: "Name it by --times {label}, if it holds times."}
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

    def _flag(self, found: re.Match[str]) -> str:
        flag, value = FLAGS[found[1]], found[3]
        return flag if value == "True" else f"{flag} {value}"


SHELL = ShellWords()
