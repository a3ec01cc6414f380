"""Exceptions and warnings that callers may want to tell apart, and text in them."""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
import warnings
from pathlib import Path

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


class UnusableValueError(TypeError, ValueError):
    """A value of a row or a label is of a type that no model can take."""


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


def warn(category: type[Warning], message: str) -> None:
    """Issue a warning, on one line, that points at the calling line outside dyntree."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(shown(message), category, stacklevel=level)
