"""PosteriorDraws: joint draws at rows, their intervals, contrasts and averages."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree import params
from dyntree.encoding.columns import Column
from dyntree.encoding.series import column_of
from dyntree.encoding.values import Matrix, is_missing
from dyntree.errors import ArgumentError, Message, MissingGroupWarning, warn
from dyntree.runtime.records import Record

if TYPE_CHECKING:
    from dyntree.encoding.tables import Table

KINDS = ("mean", "obs")


def interval_levels(alpha: Any) -> tuple[float, float]:
    """Ends of a central interval of probability 1 - alpha, as probabilities."""
    if not 0.0 < params.real("alpha", alpha) < 1.0:
        raise ArgumentError("alpha", "must be in (0, 1)", alpha)
    return alpha / 2.0, 1.0 - alpha / 2.0


def grouped(by: Any, n_rows: int, argument: str = "by") -> dict[Hashable, Any]:
    """Masks of shape (n_rows,) of the rows of each group; None means one group.

    Groups are in the order of `value_order`. Rows without a label belong to no group,
    which a warning says.
    """
    if by is None:
        return {None: np.ones(n_rows, dtype=bool)}
    column = column_of(by)
    labels = column.objects()
    if len(labels) != n_rows:
        raise ArgumentError(
            argument, f"must have one label a row, {n_rows}", len(labels)
        )
    places: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        if not is_missing(label):
            places.setdefault(label, []).append(row)
    n_out = n_rows - sum(map(len, places.values()))
    if n_rows and not places:
        raise ArgumentError(
            argument, "must have a label in some row", Message("none in all")
        )
    if n_out:
        warn(
            MissingGroupWarning,
            "{argument!a} has no label in {n_out} of {n_rows} rows, which are left "
            "out. Give them a label of their own to count them.",
            argument=argument,
            n_out=n_out,
            n_rows=n_rows,
        )
    found = {}
    for label in value_order(column):
        if label in places:
            found[label] = np.zeros(n_rows, dtype=bool)
            found[label][places[label]] = True
    return found


def value_order(column: Column) -> dict[Hashable, int]:
    """Rank of each value of a column, by category or in increasing order.

    Values without an order keep the order in which they arrived.
    """
    values: list[Any] = list(dict.fromkeys(value for _, value in column.present()))
    if column.categories is not None:
        values = list(dict.fromkeys([*column.categories, *values]))
    else:
        with contextlib.suppress(TypeError):
            values = sorted(values)
    return {value: place for place, value in enumerate(values)}


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorDraws(Record):
    """Joint draws from a posterior, each of which covers all rows.

    ``numpy.asarray`` returns `values`; ``len``, indexing and `shape` refer to it too.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes)
        Means or responses; for labels their probabilities, or objects.
    kind : {"mean", "obs"}, default "mean"
        "mean" for mean responses or probabilities, "obs" for new responses.
    classes : tuple, optional
        Labels, in the order of the probabilities.
    groups : sequence, optional
        Names of the groups, if rows are averages over groups.
    table : Table, optional
        The original form of the rows, for `summary_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.summaries.draws import PosteriorDraws
    >>> rng = np.random.default_rng(0)
    >>> level = rng.standard_normal((4000, 1))
    >>> draws = PosteriorDraws(level + [0.0, 1.0])
    >>> draws.std().round(1), draws.contrast([-1, 1]).std().round(1)
    (array([1., 1.]), array([0.]))
    """

    values: NDArray[Any]
    kind: str = "mean"
    classes: tuple[Hashable, ...] | None = None
    groups: Sequence[Hashable] | None = None
    table: Table | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False and dtype is not None and np.dtype(dtype) != self.values.dtype:
            raise ValueError(
                Message(
                    "an array of {dtype} cannot be had without a copy.", dtype=dtype
                )
            )
        make = np.array if copy else np.asarray  # NumPy 1 knows no copy=None
        return make(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of `values`."""
        return self.values.shape

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[1])

    def _numbers(self) -> NDArray[np.float64]:
        """The draws, which labels are not."""
        if self.kind == "obs" and self.classes is not None:
            raise ArgumentError(
                "draws",
                "must be numbers for moments, contrasts and averages",
                Message("labels"),
                "Draw their probabilities: kind='mean'.",
            )
        return self.values

    def mean(self) -> NDArray[np.float64]:
        """Posterior mean at each row, shape (n_rows,) or (n_rows, n_classes)."""
        found: NDArray[np.float64] = self._numbers().mean(axis=0)
        return found

    def std(self) -> NDArray[np.float64]:
        """Posterior standard deviation at each row, of the shape of `mean`."""
        found: NDArray[np.float64] = self._numbers().std(axis=0)
        return found

    def conf_int(self, alpha: float = 0.05) -> NDArray[np.float64]:
        """Central interval of probability 1 - alpha at each row.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        ndarray of shape (n_rows, 2), or (n_rows, n_classes, 2)
        """
        ends = np.quantile(self._numbers(), interval_levels(alpha), axis=0)
        return np.ascontiguousarray(np.moveaxis(ends, 0, -1))

    def contrast(self, R: ArrayLike) -> PosteriorDraws:
        """Linear combinations of the rows, as in the `t_test` of statsmodels.

        Parameters
        ----------
        R : array_like of shape (n_contrasts, n_rows), or (n_rows,) for one
            Weights of the rows.

        Returns
        -------
        PosteriorDraws
            The shape is (n_draws, n_contrasts), or (n_draws, n_contrasts, n_classes)
            for probabilities.

        Raises
        ------
        ValueError
            If the width of R is not the number of rows, or R has values that are not
            finite.
        """
        weights = np.atleast_2d(params.as_array("R", R, np.float64))
        if weights.ndim != 2 or weights.shape[1] != self.n_rows:
            raise ArgumentError(
                "R",
                f"must have one weight a row, shape (n_contrasts, {self.n_rows})",
                Message("shape {shape}", shape=np.shape(R)),
            )
        if not np.isfinite(weights).all():
            raise ArgumentError("R", "must hold finite weights", R)
        values = np.moveaxis(np.tensordot(self._numbers(), weights, axes=(1, 1)), -1, 1)
        return PosteriorDraws(np.ascontiguousarray(values), self.kind, self.classes)

    def average(
        self, weights: ArrayLike | None = None, by: Any = None
    ) -> PosteriorDraws:
        """Average over the rows within each draw.

        Parameters
        ----------
        weights : array_like of shape (n_rows,), optional
            Finite weights >= 0; by default all rows have the same weight.
        by : array_like of shape (n_rows,), optional
            Label of the group of each row. Each group is averaged separately.

        Returns
        -------
        PosteriorDraws
            The shape is (n_draws, n_groups). Without `by` there is one group.
        """
        masks = grouped(by, self.n_rows)
        given = np.ones(self.n_rows)
        if weights is not None:
            given = params.as_array("weights", weights, np.float64)
        if given.shape != (self.n_rows,):
            raise ArgumentError(
                "weights",
                f"must be one number a row, {self.n_rows}",
                Message("shape {shape}", shape=given.shape),
            )
        bad = np.flatnonzero(~((given >= 0.0) & np.isfinite(given)))
        if len(bad):
            raise ArgumentError(
                "weights", "must be finite and >= 0", given[bad[0]], row=bad[0]
            )
        R = shares(masks, given)
        groups = None if by is None else tuple(masks)
        return PosteriorDraws(self.contrast(R).values, self.kind, self.classes, groups)

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Table with the mean, standard error and interval of each row or group.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        frame
            It has the type and the index of the frame that the rows are from, or the
            groups as index; otherwise it is a pandas DataFrame. The columns for means
            are `mean`, `mean_se`, `mean_ci_lower` and `mean_ci_upper`, and for new
            responses `mean`, `obs_se`, `obs_ci_lower` and `obs_ci_upper`. For labels
            they are ``p_<label>`` and the same names with ``_se``, ``_ci_lower`` and
            ``_ci_upper``.
        """
        mean, se, ends = self.mean(), self.std(), self.conf_int(alpha)
        columns: dict[str, NDArray[Any]] = {}
        if self.classes is None:
            columns["mean"] = mean
            columns |= _with_ends(self.kind, se, ends)
        for k, label in enumerate(self.classes or ()):
            own = {f"p_{label}": mean[:, k].copy()}
            own |= _with_ends(f"p_{label}", se[:, k].copy(), ends[:, k])
            if own.keys() & columns.keys():
                twice = min(own.keys() & columns.keys())
                raise ArgumentError(
                    "labels",
                    "must give columns of different names; {label!r} and an earlier "
                    "label both give {twice!r}",
                    remedy="Use mean(), std() and conf_int(), or rename a label.",
                    label=label,
                    twice=twice,
                )
            columns |= own
        if self.table is not None:
            return self.table.frame(columns)
        import pandas as pd

        index = None if self.groups is None else pd.Index(list(self.groups))
        return pd.DataFrame(columns, index=index)


def _with_ends(name: str, se: Any, ends: Matrix) -> dict[str, NDArray[Any]]:
    """Columns of an error and of an interval."""
    return {
        f"{name}_se": se,
        f"{name}_ci_lower": ends[:, 0].copy(),
        f"{name}_ci_upper": ends[:, 1].copy(),
    }


def shares(
    masks: dict[Hashable, NDArray[np.bool_]], weights: NDArray[np.float64]
) -> Matrix:
    """Weight of each row in the average of each group.

    Parameters
    ----------
    masks : dict of hashable to ndarray of bool, shape (n_rows,)
        Rows of each group.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_groups, n_rows)

    Raises
    ------
    ValueError
        If the weights of a group are all zero.
    """
    found = np.array([np.where(mask, weights, 0.0) for mask in masks.values()])
    found = found.reshape(len(masks), len(weights))
    total = found.sum(axis=1)
    if not len(masks) or not np.all(total > 0.0):
        bad = [group for group, sum_ in zip(masks, total, strict=True) if not sum_ > 0]
        where = f" in group {bad[0]!r}" if bad and bad[0] is not None else ""
        raise ValueError(
            Message(
                "every group of an average needs a row with a weight above 0; got "
                "none{where}.",
                where=where,
            )
        )
    return np.asarray(found / total[:, None])
