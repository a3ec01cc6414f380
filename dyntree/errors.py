"""The few exceptions and warnings that callers may want to tell apart."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path

OURS = (f"{Path(__file__).parent}{os.sep}", contextlib.__file__)  # whose frames to skip


class DeletedCloudError(ValueError):
    """The particles an object points to were deleted, or never belonged to it."""


class StaleObjectError(ValueError):
    """An object's rows are not those of its cloud: a later call changed the cloud."""


class NotReadyError(ValueError):
    """The model has not seen enough rows to answer."""


class CheckpointError(ValueError):
    """A file or a set of arrays does not describe a model of ours."""


class UnusableValueError(TypeError, ValueError):
    """A value of a row or a label is of a type that no model can take."""


class StaleWindowWarning(UserWarning):
    """The rule that discards rows keeps what forgetting should let go."""


class DegenerateWeightsWarning(UserWarning):
    """A row had no density under any particle, so it could not weigh them."""


class DegenerateTreesWarning(UserWarning):
    """Trees of a cloud begin with the same few splits, and draws vary too little."""


class UnseenLevelWarning(UserWarning):
    """A column brought a level that no row had in time, which counts as missing."""


class UndefinedTermWarning(UserWarning):
    """A term of a formula has no finite value in some rows and is missing there."""


class ManyLevelsWarning(UserWarning):
    """Most values of a column of text are new levels, as those of identifiers are."""


class DistantInputsWarning(UserWarning):
    """Linear leaves met inputs too far from the first rows, and took nearer ones."""


class NumericalError(ArithmeticError):
    """Numbers are beyond what the arithmetic of a model can hold."""


class MemoryBudgetWarning(UserWarning):
    """A limit on memory was met by giving up topics, or groups of documents."""


class ScaleWarning(UserWarning):
    """Columns, or all rows, have scales that squared distances cannot work with."""


class ConvergenceWarning(UserWarning):
    """A fit ended before it settled, or on ground that does not bear it."""


class MixingWarning(UserWarning):
    """Labels of a phase are less certain than they look, or had no room."""


def warn(category: type[Warning], message: str) -> None:
    """Warn at the line outside the package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
