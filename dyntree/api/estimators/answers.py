"""Answers that estimators around mixtures pass on from their models."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dyntree.api.estimators.rows import checked_rows
from dyntree.mixtures.shared.base import Mixture

Ids = NDArray[np.int64]
Answer = TypeVar("Answer")


def passed_on(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """The method of an estimator that asks its model, once rows have been checked.

    It has the arguments of the model's method and its documentation. All of them may
    be passed by place, as usual in scikit-learn.
    """
    name, kind = method.__name__, Parameter.POSITIONAL_OR_KEYWORD
    asked = signature(method)
    asked = asked.replace(
        parameters=[one.replace(kind=kind) for one in asked.parameters.values()]
    )

    @wraps(method)
    def answer(self: Any, *arguments: Any, **more: Any) -> Any:
        given = asked.bind(self, *arguments, **more).arguments
        if "X" in asked.parameters:
            given["X"] = self._rows(given["X"])
        check_is_fitted(self)
        return getattr(given.pop("self").model_, name)(**given)

    answer.__signature__ = asked  # type: ignore[attr-defined]
    return answer


class MixtureAnswers:
    """Answers of the model of an estimator, for rows that scikit-learn has checked."""

    model_: Any
    _dtypes: Any = np.float64  # that rows may have
    _sparse: Any = False  # whether they may be sparse

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        return checked_rows(
            self, X, False, dtype=self._dtypes, accept_sparse=self._sparse
        )

    score_samples = passed_on(Mixture.score_samples)
    score = passed_on(Mixture.score)
