"""What a fitted formula says of variables: joint draws, contrasts and effects."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dyntree import params
from dyntree.api.fitted_model import FittedModel
from dyntree.api.offsets import (
    RowOffsets,
    check_shift,
    shift_of,
    warn_of_defaults,
)
from dyntree.encoding.contrasts import Moves, Variable, moved_offsets, moved_rows
from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector, is_missing
from dyntree.errors import ArgumentError, ContrastWarning, Message, warn
from dyntree.summaries.draws import (
    PosteriorDraws,
    grouped,
    interval_levels,
    shares,
    value_order,
)
from dyntree.trees.factory import Trees

if TYPE_CHECKING:
    import pandas as pd

ANSWERS = {
    "term", "contrast", "class", "estimate", "std_error", "conf_low", "conf_high",
    "p_positive", "p_zero",
}  # fmt: skip
TIE = 1e-12  # of the larger average: a difference that is only rounding
COMPARISONS = {"difference": " - ", "ratio": " / "}  # and what stands between names


class VariableEffects:
    """The part of results that moves variables and draws from the posterior."""

    model: FittedModel
    tree: Trees
    design: Design

    @property
    def row_counts(self) -> Vector:
        """How often each row of the model's data counts: frequencies, or 0 and 1."""
        weights = self.model.weights
        if weights is None or (
            self.tree.tree.options.meaning_of_weights != "frequency"
        ):
            return self.model.counted.astype(np.float64)
        return weights

    def _table(self, exog: Any) -> Table:
        """Raw data as a table; that of the model by default."""
        table = self.model.table if exog is None else self.model.table_of(exog)
        if table is None:
            raise ArgumentError(
                "exog",
                "must be given, because the model has no data (it was loaded from a "
                "file, or its data were removed)",
                None,
            )
        return table

    def shifts(
        self, exog: Any, table: Table, given: RowOffsets | None = None
    ) -> Vector | None:
        """Offsets of rows of raw data, and by default those of the model's own."""
        if exog is None and given is None:
            return self.model.shift
        passed = {} if given is None else given.of(table, table.n_rows)
        if exog is None:
            passed = {**self.model.offset_values, **passed}
        else:
            self._warn_of_offsets(given)
        shift = shift_of(self.design, table, passed)
        check_shift(self.design, shift)
        return shift

    def _warn_of_offsets(self, given: RowOffsets | None) -> None:
        """Warn where new rows lack offsets that the model's own rows have by value."""
        given = given or RowOffsets()
        asked = {"offset": given.offset, "exposure": given.exposure}
        warn_of_defaults(self.design, asked)

    def _drawn(
        self, rows: Matrix, shift: Vector | None, n_draws: int, kind: str, seed: Any
    ) -> PosteriorDraws:
        """Draws of rows of features with these offsets."""
        if shift is None:
            return self.tree.posterior_draws(rows, n_draws, kind, seed)
        if self.tree.tree.options.is_count:
            return self.tree.posterior_draws(
                rows, n_draws, kind, seed, exposure=np.exp(shift)
            )
        draws = self.tree.posterior_draws(rows, n_draws, kind, seed)
        return replace(draws, values=draws.values + shift)

    def posterior_draws(
        self,
        exog: Any = None,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows; see `DynamicTree`.

        Parameters
        ----------
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Raw data, as in `predict`; by default the data of the model.
        n_draws : int, default 1000
            Number of draws.
        kind : {"mean", "obs"}, default "mean"
            "mean" draws mean responses, or probabilities of labels. "obs" draws new
            responses.
        seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        PosteriorDraws
            Frames made from it have the index of `exog`.
        """
        table = self._table(exog)
        rows, shift = self.design.encode(table), self.shifts(exog, table)
        draws = self._drawn(rows, shift, n_draws, kind, seed)
        return replace(draws, table=table)

    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : frame, dict of columns, dict, list of dicts, or array
            Raw data with equal numbers of rows.
        n_draws, kind, seed
            As in `posterior_draws`.

        Returns
        -------
        PosteriorDraws
            Frames made from it have the index of `X_1`.
        """
        before, after = self._table(X_0), self._table(X_1)
        rows = self.design.encode(before), self.design.encode(after)
        both = [self.shifts(X, table) for X, table in ((X_0, before), (X_1, after))]
        if both[0] is None or both[1] is None or len(rows[0]) != len(rows[1]):
            draws = self.tree.compute_contrast(*rows, n_draws, kind, seed)
            return replace(draws, table=after)
        n, shift = len(rows[1]), np.concatenate([both[1], both[0]])
        features = np.concatenate([rows[1], rows[0]])
        draws = self._drawn(features, shift, n_draws, kind, seed)
        values = draws.values[:, :n] - draws.values[:, n:]
        return replace(draws, values=values, table=after)

    def avg_comparisons(
        self,
        variables: str | Sequence[str] | None = None,
        exog: Any = None,
        contrast: Any = None,
        comparison: str = "difference",
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
        n_draws: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Compare average predictions with a variable set to other values.

        A variable is a column of the raw data. It is set in every row, in all terms
        that contain it: ``x`` also changes ``I(x**2)``, and ``C(g)`` and ``C(g):t``
        change together.

        Parameters
        ----------
        variables : str or sequence of str, optional
            Columns of the formula; by default all of them.
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Rows over which to average; by default those of the model. Each of these
            counts as often as `freq_weights` states, and rows of weight 0 do not count.
        contrast : number, (low, high), "sd", "iqr" or "pairwise", optional
            The values to compare. By default they are 0 and 1 for variables with only
            these values, an increase by 1 for other numbers (by a day for times), and
            each level of a factor and its first level. An increase that takes most rows
            beyond the data, or to where a term has no value, is replaced by one of a
            standard deviation about the mean, within the data. A number is the size of
            an increase. "sd" is one of a standard deviation, centred at the mean, and
            "iqr" goes from the first to the third quartile. Both are computed from the
            data of the model if it has any. "pairwise" compares each level with each
            level before it.
        comparison : {"difference", "ratio"}, default "difference"
            Whether to take the difference or the ratio of the average at the high value
            and the average at the low value.
        by : str or sequence of str, optional
            Columns of `exog` whose groups are averaged separately. Categories are in
            the order of their type, and all other values in increasing order. Rows in
            which one of them is missing are left out, with a warning.
        alpha : float in (0, 1), default 0.05
            One minus the probability of the intervals.
        n_draws : int, default 1000
            Number of posterior draws.
        seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        DataFrame
            A row for each variable, comparison, label (`class`, for labels) and group:
            `term`, `contrast`, the columns of `by`, `estimate` (the posterior mean),
            `std_error` (the standard deviation of the normal distribution whose central
            interval of probability 1 - alpha is as wide as that of the posterior),
            `conf_low` and `conf_high` (that interval), `p_positive` (the posterior
            probability that the high value has the higher average, half of that of no
            effect included) and `p_zero` (that of no effect: no tree that was drawn
            has a split or a slope that makes the averages differ).

        Raises
        ------
        ValueError
            If variables or levels are unknown, or a variable does not allow the
            contrast.

        Warns
        -----
        ContrastWarning
            If a default increase is replaced.
        DegenerateTreesWarning
            As in `posterior_draws`. Average several clouds, with ``n_clouds=10``.
        MissingGroupWarning
            If rows are left out because they are in no group.

        Notes
        -----
        The arguments are those of marginaleffects. Rows in which a number is missing do
        not count if the number is to be increased. The average of several clouds makes
        intervals wide enough for the uncertainty of the trees, but does not reduce
        bias. Constant leaves flatten a steady increase: use ``model="linear"`` for
        effects of numbers. A ratio has no stable mean if the average at the low value
        may be close to 0.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import dyntree.formula.api as dtf
        >>> rng = np.random.default_rng(0)
        >>> data = pd.DataFrame({"x": rng.random(200), "t": rng.integers(2, size=200)})
        >>> data["y"] = data.x**2 + data.t + 0.1 * rng.standard_normal(200)
        >>> fit = dtf.dynamic_tree(
        ...     "y ~ x + I(x**2) + t", data, model="linear", n_clouds=10, seed=1
        ... ).fit()
        >>> fit.avg_comparisons("t", seed=1)[["term", "contrast", "estimate"]].round(1)
          term contrast  estimate
        0    t    1 - 0       1.0
        """
        params.one_of("comparison", comparison, tuple(COMPARISONS))
        ends, n_draws = interval_levels(alpha), params.count("n_draws", n_draws, 1)
        table, rng = self._table(exog), params.generator(seed)
        typical = table if self.model.table is None else self.model.table
        found = [
            Variable.of(self.design, name, table, typical)
            for name in self._names(variables)
        ]
        moves = [self._move(table, variable, contrast) for variable in found]
        groups, names = _groups(table, by)
        counts = self.row_counts if exog is None else None
        for variable, move in zip(found, moves, strict=True):
            _check_present(variable.name, move.counts, groups)
        beside = self.shifts(exog, table)
        records = []
        for variable, move in zip(found, moves, strict=True):
            moved = self.design, table, variable.name, move.settings
            replaced = self.model.offset_values if exog is None else ()
            rows = moved_rows(*moved)
            shift = moved_offsets(*moved, beside, tuple(replaced))
            masks = {group: mask & move.counts for group, mask in groups.items()}
            averages = self._averages(rows, masks, counts, n_draws, rng, shift=shift)
            for pair in move.pairs:
                before, after = averages[:, pair.low], averages[:, pair.high]
                drawn = after - before
                sign = _signs(before, after)
                if comparison == "ratio":
                    with np.errstate(all="ignore"):
                        drawn = after / before
                label = COMPARISONS[comparison].join(pair.names)
                start = {"term": variable.name, "contrast": label}
                records += self._records(start, names, masks, drawn, ends, sign)
        import pandas as pd

        return pd.DataFrame(records)

    def avg_predictions(
        self,
        exog: Any = None,
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
        n_draws: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Average mean responses, or probabilities, over rows.

        Parameters
        ----------
        exog, by, alpha, n_draws, seed
            As in `avg_comparisons`.

        Returns
        -------
        DataFrame
            A row for each label (`class`, for labels) and group: the columns of `by`,
            `estimate`, `std_error`, `conf_low` and `conf_high`, as in
            `avg_comparisons`.
        """
        ends, n_draws = interval_levels(alpha), params.count("n_draws", n_draws, 1)
        table, rng = self._table(exog), params.generator(seed)
        groups, names = _groups(table, by)
        rows = self.design.encode(table)
        counts = self.row_counts if exog is None else None
        shift = self.shifts(exog, table)
        averages = self._averages(rows, groups, counts, n_draws, rng, shift=shift)[:, 0]
        import pandas as pd

        return pd.DataFrame(self._records({}, names, groups, averages, ends))

    def _move(self, table: Table, variable: Variable, contrast: Any) -> Moves:
        """What is compared; a default step that leaves the data is replaced."""
        move = variable.moves(contrast)
        if not variable.can_stay_within(contrast):
            return move
        reason = "takes most rows beyond the data"
        if not variable.leaves_data(move):
            try:
                moved_rows(self.design, table, variable.name, move.settings)
            except ValueError:
                reason = "leads where a term has no value"
            else:
                return move
        warn(
            ContrastWarning,
            "an increase of {name!r} by 1 {reason}; it is compared between half a "
            "standard deviation below and above its mean. Choose other values with "
            "contrast=(low, high), or a smaller step.",
            name=variable.name,
            reason=reason,
        )
        return variable.moves_within()

    def _names(self, variables: str | Sequence[str] | None) -> list[Any]:
        """Names of the variables asked for, each once."""
        if variables is None:
            return list(self.design.columns)
        given = names_in(variables, "variables", self.design.columns)
        if not given:
            raise ArgumentError(
                "variables",
                "must name one column of {columns} at least",
                Message("none"),
                columns=list(self.design.columns),
            )
        return list(dict.fromkeys(given))

    def _averages(
        self,
        rows: Matrix,
        groups: dict[Any, NDArray[np.bool_]],
        counts: Vector | None,
        n_draws: int,
        rng: np.random.Generator,
        warns: bool = True,
        shift: Vector | None = None,
    ) -> NDArray[np.float64]:
        """Draws of the averages over groups of each setting of the rows.

        Settings follow one another in `rows`, as do their offsets; `warns` is whether
        trees that are too much alike are told. The answer is of shape (n_draws,
        n_settings, n_groups), with the classes last for labels; no draw of all rows is
        kept.
        """
        n_rows = len(next(iter(groups.values()))) if groups else 0
        weights = shares(groups, np.ones(n_rows) if counts is None else counts)
        found: NDArray[np.float64] | None = None
        with self.tree.exclusive():
            if warns:
                self.tree.warn_if_alike()
            exposure = None
            if shift is not None and self.tree.tree.options.is_count:
                exposure, shift = np.exp(shift), None
            for block in self.tree.draw_blocks(rows, n_draws, rng, exposure):
                some, *_, last = block.mean.shape
                classes = (last,) if block.mean.ndim == 3 else ()
                mean = block.mean if shift is None else block.mean + shift
                parts = mean.reshape(some, -1, n_rows, *classes)
                means = np.moveaxis(np.tensordot(parts, weights, (2, 1)), -1, 2)
                if found is None:
                    found = np.empty((n_draws, *means.shape[1:]))
                found[block.places] = means
        assert found is not None
        return found

    def _records(
        self,
        start: dict[str, Any],
        names: Sequence[str],
        groups: dict[Any, Any],
        drawn: NDArray[np.float64],
        ends: tuple[float, float],
        sign: NDArray[np.float64] | None = None,
    ) -> list[dict[str, Any]]:
        """One record a label and group of draws of shape (n_draws, n_groups, ...).

        `sign`, of the same shape, is that of the difference between two averages.
        """
        width = 2.0 * float(ndtri(ends[1]))  # of the interval of a standard normal
        classes, records = self.tree.classes, []
        for k in range(1 if classes is None else len(classes)):
            for place, group in enumerate(groups):
                at = (
                    (slice(None), place) if classes is None else (slice(None), place, k)
                )
                one = drawn[at]
                low, high = np.quantile(one, ends)
                record = dict(start)
                if classes is not None:
                    record["class"] = classes[k]
                record |= zip(names, group if names else (), strict=True)
                record["estimate"] = float(one.mean())
                record["std_error"] = float((high - low) / width)
                record |= {"conf_low": float(low), "conf_high": float(high)}
                if sign is not None:  # of a tie each side has half
                    record["p_positive"] = float(0.5 + 0.5 * sign[at].mean())
                    record["p_zero"] = float((sign[at] == 0.0).mean())
                records.append(record)
        return records


def _signs(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Signs of the differences between draws; 0 where rounding alone makes one."""
    largest = np.maximum(np.abs(before), np.abs(after))
    signs: NDArray[np.float64] = np.sign(after - before)
    return np.where(np.abs(after - before) <= TIE * largest, 0.0, signs)


def _check_present(
    name: Any, there: NDArray[np.bool_], groups: dict[Any, NDArray[np.bool_]]
) -> None:
    """Raise ValueError where a group has no row with a value to move."""
    for group, mask in groups.items():
        if not (mask & there).any():
            where = "" if group is None else f" of group {group!r}"
            raise ArgumentError(
                "variables",
                "must have a value in some row{where}; {label!r} has none",
                remedy="Name other variables, or give exog with rows that have one.",
                where=where,
                label=name,
            )


def _groups(
    table: Table, by: str | Sequence[str] | None
) -> tuple[dict[Hashable, NDArray[np.bool_]], list[str]]:
    """Rows of each group by the values of some columns, and their names."""
    if by is None:
        return grouped(None, table.n_rows), []
    names = names_in(by, "by", table.names)
    taken = [name for name in names if name in ANSWERS]
    if taken:
        raise ArgumentError(
            "by",
            "must name columns that the answer has none of, {answers}",
            taken[0],
            "Rename that column.",
            answers=sorted(ANSWERS),
        )
    absent = [name for name in names if name not in table.names]
    if absent or not names:
        raise ArgumentError(
            "by", "must name columns of the data, {names}", by, names=list(table.names)
        )
    values = zip(*(table.read(name).objects() for name in names), strict=True)
    labels = np.empty(table.n_rows, dtype=object)
    for row, group in enumerate(values):
        labels[row] = None if any(map(is_missing, group)) else group
    orders = [value_order(table.read(name)) for name in names]
    found = grouped(labels, table.n_rows)

    def rank(group: Any) -> list[int]:
        return [order[value] for order, value in zip(orders, group, strict=True)]

    return {group: found[group] for group in sorted(found, key=rank)}, names


def names_in(given: Any, argument: str, known: Sequence[str]) -> list[Any]:
    """A name, or a sequence of names, as a list."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ArgumentError(
            argument,
            "must be a name of a column, or a sequence of names, among {known}",
            given,
            known=list(known),
        )
    return list(given)
