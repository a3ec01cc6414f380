"""What variables of a formula do: importance, sensitivity, partial dependence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.api.effects import VariableEffects, names_in
from dyntree.effects import MainEffect, PartialDependence, VariableSensitivity
from dyntree.encoding.columns import Column, numbers_of
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.levels import place_of
from dyntree.encoding.moves import Variable
from dyntree.encoding.needed import check_columns
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
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.labels import level_text
from dyntree.summaries import ClassPrediction, Importance
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
    """Rows of raw data that variables are moved in.

    Attributes
    ----------
    columns : mapping of str to Column
        The variables.
    counts : ndarray of shape (n_rows,)
        How often each row counts.
    seen : dict of str to (float, float)
        Range of all rows learned, of variables whose range the trees know.
    """

    columns: Columns
    counts: Vector
    seen: dict[str, Span]

    def __len__(self) -> int:
        return len(self.counts)


class VariableAnswers(VariableEffects):
    """The part of results that tells what each variable of the raw data does.

    A variable is a column of the raw data. Where it moves, all terms move that it is
    part of. Rows are by default those that the trees hold, where each variable stands
    in a term by itself, as ``x``, ``g`` or ``C(g)``, so that features tell what it was;
    otherwise the data of the model.
    """

    inner: Any

    # ------------------------------------------------------------ importance
    def importance(
        self, exog: Any = None, *, n_samples: int = 500, by: str = "variable"
    ) -> pd.DataFrame:
        """Share of the predicted variance that each variable accounts for.

        Half the mean squared change of the prediction when the variable of a row is
        replaced by that of another one, whatever terms it is part of, as a share of the
        sum over the variables: the total Sobol' effect over the rows (Jansen 1999).
        Effects that variables have together count for each of them. Where variables and
        features are the same, so are the numbers of ``DynamicTree.importance``.

        Parameters
        ----------
        exog : frame, dict of columns, or list of dicts, optional
            Rows to draw from; default those that the trees hold, or where the formula
            has a variable in no term by itself, the data of the model.
        n_samples : int, default 500
            Pairs of rows, >= 2, drawn by the seed of the model and the number of rows
            learned.
        by : {"variable", "feature"}, default "variable"
            "feature": the share of each feature of `exog_names` instead, moved by
            itself, but for the levels of a term like C(g), which move together.

        Returns
        -------
        DataFrame
            Indexed by variable: `share`; `se`, its Monte Carlo standard error; and
            `use`, the share of the trees that split on a feature that it is part of.

        Raises
        ------
        ValueError
            If `exog` is needed and absent: features alone do not tell the variables,
            and the model has no data.

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
                raise ValueError(
                    "exog is for by='variable'; features are those of the rows that "
                    "the trees hold. Leave it out."
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
            Which, by default all.
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

        As `DynamicTree.sensitivity` does of features: variables are drawn, go through
        the design, and the trees answer (Gramacy and Taddy 2010).

        Parameters
        ----------
        exog
            Rows that tell ranges and how frequent levels are, as in `importance`.
        label : hashable, optional
            Labels: whose probability is analysed; needed there.
        n_samples : int, default 1024
            Size of each of the two samples of rows, >= 2, best a power of two.
        n_grid : int, default 100
            Points per main effect of a number, >= 1; a factor has its levels.
        span : float in [0, 1], default 0.3
            Share of the samples that a main effect averages over.
        method : {"lhs", "boot"}, default "lhs"
            Variables drawn independently, by a scrambled Sobol' sequence, whose points
            fill a Latin hypercube: numbers evenly over their range and levels, or 0 and
            1, as often as rows have them; or whole rows, with replacement. In the
            former a variable of which trees ask whether it has a value is missing as
            often as it was in the rows.
        bounds : mapping of str to (low, high), optional
            Ranges of variables that are numbers or times, for "lhs"; default that of
            all rows learned where the trees know it, else that of the rows.

        Returns
        -------
        VariableSensitivity

        Raises
        ------
        ValueError
            As `importance`; or for a variable that the formula does not have, or
            bounds that are none.

        Notes
        -----
        Both samples serve every tree, by the seed of the model and the number of rows
        learned. Indices are shares of the variance of a new response, its noise
        included, as in `DynamicTree.sensitivity`, and main effects are of one joint
        draw from each tree. Where variables and features agree, both estimate the same.
        """
        place, method = self._place(label), params.one_of("method", method, METHODS)
        n = params.count("n_samples", n_samples, 2)
        n_grid = params.count("n_grid", n_grid, 1)
        share = params.real("span", span)
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"span must be in [0, 1]; got {span!r}.")
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
            Rows to average over, as in `importance`, each as often as its
            `freq_weights` say.
        kind : {"average", "individual", "both"}, default "average"
            Whether the prediction of each row by itself is told, too, as scikit-learn
            has it.
        label : hashable, optional
            Labels: whose probability is predicted; needed there.
        n_grid : int, optional
            Points over the range of a number, >= 2, default 50, or 20 each of two;
            factors have their levels.
        n_rows : int, default 200
            Rows that are averaged over, at most: so many are drawn where there are
            more.
        n_draws : int, default 200
            Joint posterior draws, of which intervals are made.
        seed : int or Generator, optional
            Of rows and draws; by default that of the model, with the rows learned.

        Returns
        -------
        PartialDependence

        Raises
        ------
        ValueError
            As `sensitivity`.

        Notes
        -----
        Of the mean prediction f the partial dependence is the mean of f(v, x_i) over
        the rows i, with v in place of the variable (Friedman 2001, section 8.2). One
        cloud of trees is too sure of itself: for intervals average several, by
        ``n_clouds=10``. `avg_comparisons` has differences of such averages.

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
            A panel each, by default one for each column of the formula; a factor has
            its levels on the axis. A pair has a surface, or with one factor a curve for
            each level.
        exog, kind, label, n_rows
            As in `partial_dependence`; individual predictions are a thin line a row,
            and not for pairs.
        ax : sequence of Axes, optional
            One a panel.

        Returns
        -------
        Figure

        Notes
        -----
        Bands are of joint posterior draws of the average. See `partial_dependence`,
        and `sensitivity` for main effects over the whole range of all variables.
        """
        from dyntree.api import plots
        from dyntree.api.plots.canvas import label_of

        given = self.design.columns if variables is None else variables
        asked = names_in(given, "variables", self.design.columns)
        if not asked:
            raise ValueError(
                f"variables must name one column of {list(self.design.columns)} at "
                "least; got none."
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
            raise ValueError(
                f"variables must be columns of the formula, {known}; got {absent[0]!r}."
            )
        if not 1 <= len({*names}) == len(names) <= 2:
            raise ValueError(
                f"variables must be one column, or two that differ; got {variables!r}."
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
            raise ValueError(f"label is for class models only; got {label!r}.")
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
            raise ValueError("exog must have a row at least; got none.")
        columns = {name: table.read(name).take(kept) for name in design.columns}
        return RawRows(columns, counts[kept], {})

    def _domains(
        self, raw: RawRows, bounds: Mapping[str, Any] | None
    ) -> dict[str, Domain]:
        """Where each variable lies."""
        given = {} if bounds is None else bounds
        known = list(self.design.columns)
        if not isinstance(given, Mapping) or {*given} - {*known}:
            raise ValueError(
                f"bounds must be a dict of (low, high) by columns of the formula, "
                f"{known}; got {params.short(bounds)}."
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
