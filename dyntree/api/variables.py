"""What variables of a formula do: importance, sensitivity, partial dependence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.api.effects import VariableEffects, names_in
from dyntree.encoding.columns import Column, numbers_of
from dyntree.encoding.contrasts import Variable
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.levels import place_of
from dyntree.encoding.raw_rows import (
    Axis,
    Columns,
    Domain,
    Span,
    bare_places,
    encoded,
    feature_places,
    raw_columns,
    taken,
)
from dyntree.encoding.required_columns import check_columns
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import level_text
from dyntree.summaries import ClassPrediction, Importance
from dyntree.summaries.effects import MainEffect, PartialDependence, VariableSensitivity
from dyntree.trees.answers.sensitivity import variance_shares
from dyntree.trees.answers.sobol import level_means, smoothed, sobol_indices
from dyntree.trees.answers.view import TreeView

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BY = ("variable", "feature")
METHODS = ("lhs", "boot")
KINDS = ("average", "individual", "both")
Asked = str | tuple[str, str]


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows of raw data in which variables are set to other values.

    Attributes
    ----------
    columns : mapping of str to Column
        The variables.
    counts : ndarray of shape (n_rows,)
        Number of times that each row counts.
    seen : dict of str to (float, float)
        Range over all rows learned, for the variables for which the trees know it.
    """

    columns: Columns
    counts: Vector
    seen: dict[str, Span]

    def __len__(self) -> int:
        return len(self.counts)


class VariableAnswers(VariableEffects):
    """Methods of results that describe the effect of each variable of the raw data.

    A variable is a column of the raw data. If it changes, all terms that contain it
    change. By default the rows are those that the trees hold, provided that each
    variable is a term of its own, as ``x``, ``g`` or ``C(g)``, so that its values can
    be computed from the features. Otherwise they are the data of the model.
    """

    inner: Any

    # ------------------------------------------------------------ importance
    def importance(
        self, exog: Any = None, *, n_samples: int = 500, by: str = "variable"
    ) -> pd.DataFrame:
        """Share of the predicted variance that each variable accounts for.

        The effect of a variable is half the mean squared change of the prediction when
        its value in a row is replaced by that of another row, in all terms that contain
        it. This is the total Sobol' effect over the rows (Jansen 1999). The share is
        relative to the sum over the variables, so that a joint effect of several
        variables counts for each of them. If the variables are the features, the
        numbers are those of ``DynamicTree.importance``.

        Parameters
        ----------
        exog : frame, dict of columns, or list of dicts, optional
            Rows from which pairs are drawn. By default they are the rows that the trees
            hold or, if the formula has a variable that is not a term of its own, the
            data of the model.
        n_samples : int, default 500
            Number of pairs of rows, >= 2. The draws depend on the seed of the model and
            the number of rows learned.
        by : {"variable", "feature"}, default "variable"
            "feature" computes the share of each feature of `exog_names` instead. Each
            is changed on its own, except that the levels of a term like C(g) change
            together.

        Returns
        -------
        DataFrame
            The index is the variable. The columns are `share`; `se`, its Monte Carlo
            standard error; and `use`, the share of the trees that split on a feature of
            the variable.

        Raises
        ------
        ValueError
            If `exog` is required and missing: variables cannot be computed from the
            features, and the model has no data.

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> rng = np.random.default_rng(0)
        >>> data = {"a": rng.random(200), "b": rng.random(200)}
        >>> data["y"] = data["a"] * data["b"]
        >>> fit = dtf.dynamic_tree("y ~ a * b", data, model="linear", seed=1).fit()
        >>> fit.importance(by="feature").index.tolist()
        ['a', 'b', 'a:b']
        >>> fit.importance()["share"].round(1).to_dict()
        {'a': 0.5, 'b': 0.5}
        """
        import pandas as pd

        view = self.inner.frozen_view("importance")
        if params.one_of("by", by, BY) == "feature":
            if exog is not None:
                raise ArgumentError(
                    "exog",
                    "is for by='variable'; features are those of the rows that the "
                    "trees hold",
                    remedy="Leave it out.",
                )
            found = view.tree.importance(
                n_samples=n_samples, factors=self.design.factors or None
            )
            places = self._feature_groups(found.names)
        else:
            found = self.variable_importance(exog, n_samples, view)
            of_variables = feature_places(self.design)
            places = [of_variables[name] for name in found.names]
        splits = view.split_counts() > 0
        use = [splits[:, group].any(axis=1).mean() for group in places]
        columns = {"share": found.values, "se": found.se, "use": use}
        return pd.DataFrame(columns, index=pd.Index(found.names))

    def _feature_groups(self, names: Sequence[str]) -> list[list[int]]:
        """Places of the features of inputs, which are factors of terms or features."""
        factors, features = self.design.factors, list(self.design.names)
        return [
            [features.index(feature) for feature in factors.get(name, [name])]
            for name in names
        ]

    @property
    def tells_variables(self) -> bool:
        """Whether there are rows of variables without `exog`."""
        nothing = np.empty((0, len(self.design.names)))
        is_told = raw_columns(self.design, nothing) is not None
        return is_told or self.model.table is not None

    def variable_importance(
        self, exog: Any = None, n_samples: int = 500, view: TreeView | None = None
    ) -> Importance:
        """`importance` by variable, as a record."""
        n_samples = params.count("n_samples", n_samples, 2)
        view = view or self.inner.frozen_view("importance")
        raw = self._raw_rows(exog, view)
        rows = self._rng().integers(len(raw), size=(2, n_samples))
        base, other = (taken(raw.columns, some) for some in rows)
        mixed = [{**base, name: other[name]} for name in base]
        answers = self._told(encoded(self.design, *mixed, base), None)
        answers = answers.reshape(len(mixed) + 1, n_samples, -1)
        return variance_shares(answers, tuple(base))

    def plot_importance(
        self,
        variables: Sequence[str] | None = None,
        *,
        exog: Any = None,
        by: str = "variable",
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the share of the predicted variance that each variable accounts for.

        Parameters
        ----------
        variables : sequence of str, optional
            Names of variables; by default all of them.
        exog, by
            As in `importance`.
        ax : Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        if params.one_of("by", by, BY) == "feature":
            found = self.inner.importance(factors=self.design.factors or None)
        else:
            found = self.variable_importance(exog)
        return plots.plot_importance(found, variables, ax=ax)

    # ------------------------------------------------------------ sensitivity
    def sensitivity(
        self,
        exog: Any = None,
        *,
        label: Hashable | None = None,
        n_samples: int = 1024,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: Mapping[str, Any] | None = None,
    ) -> VariableSensitivity:
        """Estimate main effects and Sobol' indices of the variables.

        This is `DynamicTree.sensitivity` for variables instead of features: variables
        are drawn, features are computed from them, and the trees predict
        (Gramacy and Taddy 2010).

        Parameters
        ----------
        exog
            Rows that determine ranges and the frequencies of levels, as in
            `importance`.
        label : hashable, optional
            Labels: the label whose probability is analysed. It is required there.
        n_samples : int, default 1024
            Size of each of the two samples of rows, >= 2, preferably a power of two.
        n_grid : int, default 100
            Number of points of the main effect of a number, >= 1. A factor has its
            levels.
        span : float in [0, 1], default 0.3
            Share of the samples over which a point of a main effect averages.
        method : {"lhs", "boot"}, default "lhs"
            "lhs" draws the variables independently, by a scrambled Sobol' sequence,
            whose points form a Latin hypercube. Numbers are uniform over their range;
            levels, and 0 and 1, are as frequent as in the rows. If trees split on
            whether a variable is missing, it is missing as often as in the rows. "boot"
            draws whole rows with replacement.
        bounds : mapping of str to (low, high), optional
            Ranges of variables that are numbers or times, for "lhs". The default is the
            range of all rows learned if the trees know it, else that of the rows.

        Returns
        -------
        VariableSensitivity

        Raises
        ------
        ValueError
            As in `importance`, or if a variable is not in the formula, or bounds are
            bad.

        Notes
        -----
        All trees use the same two samples, which depend on the seed of the model and
        the number of rows learned. Indices are shares of the variance of a new
        response, which includes noise, as in `DynamicTree.sensitivity`. The main
        effects of a tree come from one joint draw. If variables and features are the
        same, both methods estimate the same quantities.
        """
        place, method = self._place(label), params.one_of("method", method, METHODS)
        n = params.count("n_samples", n_samples, 2)
        n_grid = params.count("n_grid", n_grid, 1)
        share = params.real("span", span)
        if not 0.0 <= share <= 1.0:
            raise ArgumentError("span", "must be in [0, 1]", span)
        view = self.inner.frozen_view("sensitivity")
        raw, rng = self._raw_rows(exog, view), self._rng()
        domains = self._domains(raw, bounds)
        if method == "lhs":
            a, b = self._sampled(view, domains, n, rng)
        else:
            rows = rng.choice(len(raw), (2, n), p=raw.counts / raw.counts.sum())
            a, b = (taken(raw.columns, some) for some in rows)
        mixed = [{**b, name: a[name]} for name in b]
        parts = np.split(encoded(self.design, a, b, *mixed), len(mixed) + 2)
        first, total = sobol_indices(view, parts[0], parts[1], parts[2:], place)
        levels, _ = view.drawn(np.concatenate(parts[:2]), rng)
        levels = levels if place is None else levels[:, :, place]
        effects = [
            self._main_effect(domain, [a[name], b[name]], levels, n_grid, share)
            for name, domain in domains.items()
        ]
        return VariableSensitivity(tuple(effects), first, total, tuple(domains))

    def _main_effect(
        self,
        domain: Domain,
        columns: Sequence[Column],
        levels: Matrix,
        n_grid: int,
        span: float,
    ) -> MainEffect:
        """Mean of draws as a function of one variable."""
        axis, one = domain.axis(n_grid), domain.variable
        if one.levels is not None:
            places = {level_text(level): k for k, level in enumerate(one.levels)}
            found = [place_of(v, places) for c in columns for v in c.objects()]
            at = np.array([np.nan if k is None else k for k in found])
        else:
            at = np.concatenate([numbers_of(one.name, c, one.kind) for c in columns])
        if axis.is_factor:
            draws = level_means(at, levels, len(axis))
        else:
            grid = numbers_of(one.name, axis.points, one.kind)
            draws = smoothed(at, levels, grid, span)
        return MainEffect(axis.name, axis.values, draws, axis.is_factor)

    def _sampled(
        self,
        view: TreeView,
        domains: Mapping[str, Domain],
        n: int,
        rng: np.random.Generator,
    ) -> list[Columns]:
        """Two samples of variables that are independent of one another."""
        from scipy.stats import qmc

        sequence = qmc.Sobol(2 * len(domains), scramble=True, seed=rng)
        points = sequence.random_base2(int(n - 1).bit_length())[:n].T
        gaps = self._with_gaps(view, domains)
        return [
            {
                name: domain.quantiles(unit, rng if name in gaps else None)
                for (name, domain), unit in zip(domains.items(), half, strict=True)
            }
            for half in np.split(points, 2)
        ]

    def _with_gaps(self, view: TreeView, domains: Mapping[str, Domain]) -> set[str]:
        """Variables with missing values of which trees ask whether there is one."""
        gone = [name for name, one in domains.items() if one.missing > 0.0]
        asked = view.gap_features() if gone else set()
        places = feature_places(self.design)
        return {name for name in gone if asked & {*places[name]}}

    # ------------------------------------------------------------ partial dependence
    def partial_dependence(
        self,
        variables: str | Sequence[str],
        exog: Any = None,
        *,
        kind: str = "average",
        label: Hashable | None = None,
        n_grid: int | None = None,
        n_rows: int = 200,
        n_draws: int = 200,
        seed: int | np.random.Generator | None = None,
    ) -> PartialDependence:
        """Average predictions with one variable, or two, set to values in every row.

        Parameters
        ----------
        variables : str, or sequence of one or two str
            Columns of the formula.
        exog
            Rows over which to average, as in `importance`. Each counts as often as
            `freq_weights` states.
        kind : {"average", "individual", "both"}, default "average"
            "average" returns the average only. The other two, named as in scikit-learn,
            also return the prediction of each single row.
        label : hashable, optional
            Labels: the label whose probability is predicted. It is required there.
        n_grid : int, optional
            Number of points over the range of a number, >= 2. The default is 50, or 20
            for each of two variables. Factors have their levels.
        n_rows : int, default 200
            Largest number of rows over which to average. If there are more, this many
            are drawn at random.
        n_draws : int, default 200
            Number of joint posterior draws, from which intervals can be computed.
        seed : int or Generator, optional
            Seed of the rows and draws. By default it derives from the seed of the model
            and the number of rows learned.

        Returns
        -------
        PartialDependence

        Raises
        ------
        ValueError
            As in `sensitivity`.

        Notes
        -----
        The partial dependence of the mean prediction f is the mean of f(v, x_i) over
        the rows i, where v replaces the value of the variable
        (Friedman 2001, section 8.2). The intervals of a single cloud of trees are too
        narrow: average several, with ``n_clouds=10``. `avg_comparisons` computes
        differences of such averages.

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> x = np.linspace(-1, 1, 100)
        >>> data = {"x": x, "y": x**2}
        >>> model = dtf.dynamic_tree("y ~ x + I(x**2)", data, model="linear", seed=1)
        >>> fit = model.fit()
        >>> fit.partial_dependence("x", n_grid=3).mean.round(1)
        array([1., 0., 1.])
        """
        names = self._pair(variables)
        params.one_of("kind", kind, KINDS)
        place, n_draws = self._place(label), params.count("n_draws", n_draws, 1)
        n_grid = 50 if n_grid is None and len(names) == 1 else n_grid
        n_grid = params.count("n_grid", 20 if n_grid is None else n_grid, 2)
        n_rows = params.count("n_rows", n_rows, 1)
        rng = self._rng() if seed is None else params.generator(seed)
        raw = self._raw_rows(exog, self.inner.frozen_view("partial_dependence"))
        domains = self._domains(raw, None)
        axes = [domains[name].axis(n_grid) for name in names]
        rows, counts = np.arange(len(raw)), raw.counts
        if len(raw) > n_rows:
            rows = np.sort(rng.choice(len(raw), n_rows, replace=False))
        base = taken(raw.columns, rows)
        features = self._at_all(axes, base, len(rows))
        shape = tuple(map(len, axes))
        told = self._told(features, place).reshape(-1, len(rows))
        weights = counts[rows] / counts[rows].sum()
        groups = {None: np.ones(len(rows), dtype=bool)}
        draws = self._averages(features, groups, counts[rows], n_draws, rng, False)
        draws = draws[:, :, 0] if place is None else draws[:, :, 0, place]
        individual = None
        if kind != "average":
            individual = np.ascontiguousarray(told.T).reshape(len(rows), *shape)
        return PartialDependence(
            names, tuple(axis.values for axis in axes),
            tuple(axis.is_factor for axis in axes), (told @ weights).reshape(shape),
            draws.reshape(n_draws, *shape), individual,
        )  # fmt: skip

    def _at_all(self, axes: Sequence[Axis], base: Columns, n_rows: int) -> Matrix:
        """Features of rows with variables at all points of one axis, or of two."""
        points = np.ndindex(*map(len, axes))
        moved = (
            {one.name: one.at(k, n_rows) for one, k in zip(axes, at, strict=True)}
            for at in points
        )
        return encoded(self.design, *({**base, **columns} for columns in moved))

    def plot_partial(
        self,
        variables: Sequence[Asked] | str | None = None,
        *,
        exog: Any = None,
        kind: str = "average",
        label: Hashable | None = None,
        n_rows: int = 200,
        ax: Sequence[Axes] | None = None,
    ) -> Figure:
        """Draw predictions along variables, averaged over rows, with 90 % bands.

        Parameters
        ----------
        variables : sequence of str or of pairs of str, optional
            One panel is drawn for each; by default one for each column of the formula.
            A factor has its levels on the axis. A pair is drawn as a surface or, if one
            of the two is a factor, as a curve for each level.
        exog, kind, label, n_rows
            As in `partial_dependence`. Individual predictions are thin lines, one for
            each row. They are not possible for pairs.
        ax : sequence of Axes, optional
            One for each panel.

        Returns
        -------
        Figure

        Notes
        -----
        Bands are quantiles of joint posterior draws of the average. See
        `partial_dependence`, and `sensitivity` for main effects over the whole range of
        all variables.
        """
        from dyntree.api import plots
        from dyntree.api.plots.canvas import label_of

        given = self.design.columns if variables is None else variables
        asked = names_in(given, "variables", self.design.columns)
        if not asked:
            raise ArgumentError(
                "variables",
                "must name one column of {columns} at least",
                Message("none"),
                columns=list(self.design.columns),
            )
        found = [
            self.partial_dependence(one, exog, kind=kind, label=label, n_rows=n_rows)
            for one in asked
        ]
        name = label_of(self, self.model.endog_names)
        name = name if label is None else f"P({label})"
        return plots.plot_dependence(found, kind=kind, response=name, ax=ax)

    def _pair(self, variables: Any) -> tuple[str, ...]:
        """One variable of the formula, or two that differ."""
        known = list(self.design.columns)
        names = names_in(variables, "variables", known)
        absent = [name for name in names if name not in known]
        if absent:
            raise ArgumentError(
                "variables",
                "must be columns of the formula, {known}",
                absent[0],
                known=known,
            )
        if not 1 <= len({*names}) == len(names) <= 2:
            raise ArgumentError(
                "variables", "must be one column, or two that differ", variables
            )
        return tuple(names)

    # ------------------------------------------------------------ rows
    def _rng(self) -> np.random.Generator:
        """Draws by the seed of the model and the number of rows learned."""
        return np.random.default_rng([self.tree.seed, self.tree.n_seen])

    def _place(self, label: Hashable | None) -> int | None:
        """Place of a class, which labels need and numbers do not have."""
        if self.inner.options.classes is not None:
            found: int = self.inner.class_place(label)
            return found
        if label is not None:
            raise ArgumentError("label", "is for class models only", label)
        return None

    def _told(self, features: Matrix, place: int | None) -> NDArray[np.float64]:
        """Mean predictions, or probabilities, of one class or all: (n_rows, ...)."""
        found = self.tree.predict(Encoded(features))
        if isinstance(found, ClassPrediction):
            return found.proba if place is None else found.proba[:, place]
        return found.mean

    def _raw_rows(self, exog: Any, view: TreeView) -> RawRows:
        """Rows that were given, or that the trees hold, or those of the model."""
        design = self.design
        if exog is None:
            features, _ = view.rows()
            held = raw_columns(design, features) if len(features) else None
            if held is not None:
                low, high = view.spans()
                seen = {
                    name: (float(low[k]), float(high[k]))
                    for name, k in bare_places(design).items()
                    if np.isfinite(low[k])
                }
                return RawRows(held, view.row_counts(), seen)
        table = self._table(exog)
        check_columns(table, design.columns)
        counts = np.ones(table.n_rows) if exog is not None else self.row_counts
        kept = np.flatnonzero(counts)
        if not len(kept):
            raise ArgumentError("exog", "must have a row at least", Message("none"))
        columns = {name: table.read(name).take(kept) for name in design.columns}
        return RawRows(columns, counts[kept], {})

    def _domains(
        self, raw: RawRows, bounds: Mapping[str, Any] | None
    ) -> dict[str, Domain]:
        """Where each variable lies."""
        given = {} if bounds is None else bounds
        known = list(self.design.columns)
        if not isinstance(given, Mapping) or {*given} - {*known}:
            raise ArgumentError(
                "bounds",
                "must be a dict of (low, high) by columns of the formula, {known}",
                bounds,
                known=known,
            )
        table = Table(raw.columns)
        return {
            name: Domain.of(
                Variable.of(self.design, name, table, table),
                raw.seen.get(name),
                given.get(name),
            )
            for name in raw.columns
        }
