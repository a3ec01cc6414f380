"""What a fitted formula tells: summary, prediction, relevance; and it learns on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.features import Matrix, Vector, label_list
from dyntree.frames import Table, is_row, table_of
from dyntree.model import DynamicTree
from dyntree.progress import Progress, check_progress
from dyntree.streaming import StreamingTree
from dyntree.summaries import ClassPrediction, Prediction

if TYPE_CHECKING:
    import pandas as pd

    from dyntree.api.formula import DynamicTreeModel

LEAVES = {
    "constant": "constant leaves",
    "linear": "linear leaves",
    "class": "class leaves",
    "prior": "prior only",
}


class PredictionResults:
    """Predictive distributions of rows, with labels as the caller's.

    Attributes
    ----------
    distribution : Prediction or ClassPrediction
        The distributions themselves: quantiles, densities, draws.
    """

    def __init__(self, told: Prediction | ClassPrediction, table: Table) -> None:
        self.distribution, self._table = told, table

    def _real(self) -> Prediction:
        if isinstance(self.distribution, ClassPrediction):
            raise ValueError(
                "moments and intervals need a response of numbers; got labels. See "
                "summary_frame() for their probabilities."
            )
        return self.distribution

    @property
    def predicted_mean(self) -> Vector:
        """Predictive mean, ndarray of shape (n_rows,)."""
        return self._real().mean.copy()

    @property
    def se_mean(self) -> Vector:
        """Standard deviation, over the trees, of their means, shape (n_rows,).

        It tells how far the posterior's trees disagree on the mean of the response. It
        leaves out what each leaf does not know of its own mean, and the noise.
        """
        told = self._real()
        mixture = told.mixture
        apart = mixture.location - told.mean[mixture.row]
        spread: Vector = np.sqrt(mixture.average(apart**2))
        return spread

    @property
    def se_obs(self) -> Vector:
        """Predictive standard deviation of a new response, shape (n_rows,)."""
        return np.sqrt(self._real().var)

    def conf_int(self, alpha: float = 0.05) -> Matrix:
        """Central interval that holds a new response with probability 1 - alpha.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        if not 0.0 < params.real("alpha", alpha) < 1.0:
            raise ValueError(f"alpha must be in (0, 1); got {alpha!r}.")
        return self._real().quantile([alpha / 2.0, 1.0 - alpha / 2.0])

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """One row of answers for each row asked.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        frame
            Of the caller's type, with its index; of pandas' where rows came as dicts.
            For numbers: `mean`, the predictive mean; `mean_se`, the standard deviation
            of the trees' means (see `se_mean`); `obs_ci_lower` and `obs_ci_upper`,
            between which a new response lies with probability 1 - alpha, noise and all
            that the trees do not know included. For labels: ``p_<label>``, their
            probabilities; `class`, the most probable; `entropy`, in nats.
        """
        told = self.distribution
        if isinstance(told, ClassPrediction):
            columns = {
                f"p_{label}": told.proba[:, k].copy()
                for k, label in enumerate(told.classes)
            }
            columns |= {"class": told.label, "entropy": told.entropy.copy()}
            return self._table.frame(columns)
        interval = self.conf_int(alpha)
        columns = {
            "mean": self.predicted_mean,
            "mean_se": self.se_mean,
            "obs_ci_lower": interval[:, 0].copy(),
            "obs_ci_upper": interval[:, 1].copy(),
        }
        return self._table.frame(columns)


class DynamicTreeResults:
    """A fitted model.

    Unlike results of statsmodels it has no coefficients; see `relevance` for which
    features matter and `get_prediction` for what the trees foresee.

    Attributes
    ----------
    model : DynamicTreeModel
    tree : DynamicTree or StreamingTree
        The trees, open to every question, over the features ``model.exog_names``.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import dyntree.formula.api as dtf
    >>> x = np.linspace(0.1, 1, 100)
    >>> data = pd.DataFrame({"x": x, "y": np.sin(6 * x)})
    >>> fit = dtf.dynamic_tree(
    ...     "y ~ x", data[:80], model="linear", n_particles=200, seed=1
    ... ).fit()
    >>> fit.append(data[80:]).nobs
    100
    >>> new = pd.DataFrame({"x": [0.25, 0.75]}, index=["a", "b"])
    >>> fit.get_prediction(new).summary_frame(alpha=0.1)["mean"].round(1)
    a    1.0
    b   -1.0
    Name: mean, dtype: float64
    """

    def __init__(
        self, model: DynamicTreeModel, tree: DynamicTree | StreamingTree
    ) -> None:
        self.model, self.tree = model, tree

    @property
    def inner(self) -> DynamicTree:
        """The tree itself, without its window."""
        return self.tree.tree if isinstance(self.tree, StreamingTree) else self.tree

    @property
    def nobs(self) -> int:
        """Rows learned so far."""
        return self.tree.n_seen

    @property
    def llf(self) -> float:
        """Log evidence: the sum of the log predictive densities of the rows.

        Each is that of a row given the rows before it.
        """
        return self.tree.log_evidence

    def predict(self, exog: Any = None) -> Any:
        """Predictive mean of each row, or its most probable label.

        Parameters
        ----------
        exog : frame, dict of columns, dict, or list of dicts, optional
            Raw data, to which the formula is applied; default those of the model.
            Missing values are taken as such.

        Returns
        -------
        Series, ndarray, float or label
            A series of the caller's library, with its index; a plain value for a dict
            that is one row; else an ndarray of shape (n_rows,).

        Raises
        ------
        ValueError
            If columns of the formula are absent or hold what they cannot.
        """
        if is_row(exog):
            row, tree = self.model.design.encode_row(exog), self.inner
            if tree.classes is None:
                return tree._mean_of(row)
            return tree.classes[int(tree._proba_of(row).argmax())]
        told, table = self._told(exog)
        values = told.label if isinstance(told, ClassPrediction) else told.mean.copy()
        return table.series(values, self.model.endog_names)

    def get_prediction(self, exog: Any = None) -> PredictionResults:
        """Predictive distribution of each row; parameters as in `predict`.

        Returns
        -------
        PredictionResults
        """
        return PredictionResults(*self._told(exog))

    def _told(self, exog: Any) -> tuple[Prediction | ClassPrediction, Table]:
        """What the trees say of raw data, and the table they came as."""
        table = self.model.table if exog is None else table_of(exog)
        if table is None:
            raise ValueError(
                "exog must be given, because a model that was loaded from a file has "
                "no data; got None."
            )
        return self.tree.predict(self.model.design.encode(table)), table

    def append(self, data: Any, *, progress: Progress = None) -> Self:
        """Learn further rows.

        Unlike those of statsmodels' state space models, these results learn themselves;
        `copy` keeps what was.

        Parameters
        ----------
        data : frame, dict of columns, dict, or list of dicts
            Raw data, with the response.
        progress : bool, callable or None, default None
            As in `DynamicTree.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad data; the model is then what it was before.
        KeyboardInterrupt
            The model is then what it is after the last complete row.
        """
        rows, responses = self.model.rows(data)
        if len(rows) == 1 and isinstance(self.tree, StreamingTree):
            check_progress(progress)
            (y,) = responses if self.inner.classes is None else label_list(responses, 1)
            self.tree._learn_row(rows, y)
        else:
            self.tree.update(rows, responses, progress=progress)
        return self

    def copy(self) -> Self:
        """Return independent results that would learn alike, of the same model."""
        return type(self)(self.model, self.tree.copy())

    def relevance(self) -> pd.DataFrame:
        """How much splits on each feature reduce the predictive variance or entropy.

        Returns
        -------
        DataFrame
            Indexed by feature: `mean` and `sd` over the trees, and `share`, the mean as
            a part of the total, where there is any.
        """
        import pandas as pd

        values = self.inner.relevance().values
        mean = values.mean(axis=0)
        part = mean.clip(min=0.0)
        share = part / (part.sum() or 1.0)
        columns = {"mean": mean, "sd": values.std(axis=0), "share": share}
        return pd.DataFrame(columns, index=pd.Index(self.model.exog_names))

    def summary(self) -> Any:
        """Tables of what the model is and which features matter.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            It has `as_text`, `as_latex`, `as_html` and `as_csv`, prints as text, and
            shows itself in notebooks.
        """
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable
        from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

        facts = self._facts()
        half = (len(facts) + 1) // 2
        left, right = (
            SimpleTable(
                [[value] for _, value in part],
                stubs=[name for name, _ in part],
                title="Dynamic Tree Results",
                txt_fmt=fmt_2cols,
            )
            for part in (facts[:half], [*facts, ("", "")][half : 2 * half])
        )
        left.extend_right(right)
        summary = Summary()
        summary.tables.append(left)
        if self.tree.is_ready:
            table = self.relevance()
            summary.tables.append(
                SimpleTable(
                    [[f"{value:.4g}" for value in row] for row in table.to_numpy()],
                    headers=["relevance", "sd", "share"],
                    stubs=list(table.index),
                    txt_fmt=fmt_params,
                )
            )
        notes = [f"{name}: {unit}" for name, unit in self.model.design.units.items()]
        if self.tree.is_ready:
            notes.append("relevance: what splits take from the variance or entropy")
        summary.add_extra_txt(notes)
        return summary

    def _facts(self) -> list[tuple[str, str]]:
        """What the model is, by name."""
        tree = self.inner
        facts = [
            ("Dep. Variable:", self.model.endog_names),
            ("Model:", f"DynamicTree, {LEAVES[tree.options.model]}"),
            ("No. Observations:", str(self.nobs)),
            ("Rows Held:", str(tree.n_active)),
            ("Log-Evidence:", f"{self.llf:.5g}"),
            ("Particles:", str(tree.options.n_particles)),
            ("Seed:", str(tree.seed)),
        ]
        if isinstance(self.tree, StreamingTree):
            options = self.tree.options
            facts += [
                ("Window:", f"{options.window}, by {options.discard}"),
                ("Forget:", f"{options.forget:g}"),
            ]
        if tree.is_ready:
            stats = tree.stats()
            facts += [
                ("Leaves:", f"{stats.n_leaves:.3g}"),
                ("Height:", f"{stats.height:.3g}"),
            ]
        if tree.classes is not None:
            facts.append(("Classes:", ", ".join(map(str, tree.classes))))
        return facts

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save trees and formula to a file, whole or not at all, without the data.

        ``dyntree.formula.api.load`` makes results of it again; ``dyntree.load`` its
        trees alone. The formula is kept as data: nothing in the file is ever run.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            For labels other than str, int, float and bool, which JSON cannot hold.
        OSError
            If the file cannot be written.
        """
        checkpoint.save_with(self.tree, self.model.notes(), path)
