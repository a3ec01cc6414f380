"""How results learn further rows, or other ones."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.api.fitted_model import FittedModel
from dyntree.api.model_rows import NewRows
from dyntree.api.offsets import RowOffsets, check_passed, taught
from dyntree.api.row_weights import RowWeights
from dyntree.encoding.design import Design
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix
from dyntree.errors import Message, renamed
from dyntree.runtime.progress import Progress, check_progress
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.factory import Trees
from dyntree.trees.learning.growth import GrowingRows, Growth
from dyntree.trees.streaming import StreamingTree


class LearningResults:
    """Results that learn on, in place or in a copy."""

    def __init__(
        self,
        model: FittedModel,
        tree: Trees,
        design: Design | None = None,
    ) -> None:
        self.model, self.tree, self.design = model, tree, design or model.design

    @property
    def inner(self) -> Any:
        """The tree itself, without its window; or the average of several."""
        return self.tree.tree

    def as_learner(self, exog: Any) -> tuple[Trees, Matrix]:
        """Return the trees, which can learn, and raw data as their features.

        Parameters
        ----------
        exog
            As in `predict`. New levels count as missing.

        Returns
        -------
        tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        rows : ndarray of shape (n_rows, n_features)
        """
        if self.design.offsets or self.model.shift is not None:
            raise ValueError(
                Message(
                    "a formula with an offset cannot be learned row by row here, "
                    "because its trees do not know the offset. Use the trees and "
                    "features instead: prequential(fit.tree, features, y, "
                    "exposure=...)."
                )
            )
        return self.tree, self.design.encode(self.model.table_of(exog))

    def append(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        copy: bool = False,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows.

        Unlike the results of statsmodels' state space models, these results are changed
        in place, unless `copy` is True.

        Parameters
        ----------
        endog : frame, dict of columns, dict, or list of dicts; or array_like
            Raw data with the response or, together with `exog`, the responses alone. If
            no row is left, nothing is learned.
        exog : as for `predict`, optional
            The inputs, for models made from endog and exog.
        weights, freq_weights : array_like of shape (n_rows,), float, or str, optional
            Weights of these rows, of the kind with which the model was made. A str is
            the name of a column. Rows of weight 0 are dropped. The default is the
            column that was named when the model was made, or 1 without weights.
        offset, exposure : array_like of shape (n_rows,), float, or str, optional
            Offset and exposure of these rows, in place of those that the arguments of
            the same names were when the model was made, and in addition to
            ``offset(...)`` of the formula. The default is the columns that were named,
            or 0 and 1 without them.
        copy : bool, default False
            Whether to return a copy that has learned the rows, and leave these results
            as they are.
        progress
            As in `DynamicTree.update`. Bad rows and interrupts are handled as there.

        Returns
        -------
        self, or the copy

        Raises
        ------
        ValueError
            If rows are bad, or the model was made with values of weights, offsets or
            exposures and none are passed.

        See Also
        --------
        extend : The same, with fitted values and residuals of the new rows.
        apply : Fit the same model to other rows, from the beginning.
        """
        if params.flag("copy", copy):
            return self.copy().append(
                endog, exog, weights=weights, freq_weights=freq_weights, offset=offset,
                exposure=exposure, progress=progress,
            )  # fmt: skip
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        self.learn(self.model.rows(self.design, endog, exog, given, offsets), progress)
        return self

    def _beside(
        self, weights: Any, freq_weights: Any, offset: Any, exposure: Any
    ) -> tuple[RowWeights | None, RowOffsets | None]:
        """What further rows have beside the formula: as passed, or as in the model."""
        given = self._given(weights, freq_weights)
        offsets = self._offsets(offset, exposure)
        passed = {
            "weights": weights, "freq_weights": freq_weights,
            "offset": offset, "exposure": exposure,
        }  # fmt: skip
        check_passed(self.design, passed)
        own = RowWeights.named_by(self.design, self._weights_argument)
        return given or own, offsets

    def _offsets(self, offset: Any, exposure: Any) -> RowOffsets | None:
        """Offsets of further rows, where such trees know them."""
        given = RowOffsets.passed_to(self.design, offset, exposure)
        if given is not None:
            given.check_model(self.inner.options)
        return given

    @property
    def _weights_argument(self) -> str:
        """How weights of these trees are called."""
        divides = self.inner.options.meaning_of_weights == "variance"
        return "weights" if divides else "freq_weights"

    def _given(self, weights: Any, freq_weights: Any) -> RowWeights | None:
        """Weights of further rows, which must mean what those of the model do."""
        given = RowWeights.given(weights, freq_weights)
        if given is not None:
            options = self.inner.options
            given.check_column(self.design.response)
            given.check_model(
                options.meaning_of_weights, options.model == "class",
                options.weighting is not None,
            )  # fmt: skip
        return given

    def extend(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows in a copy, whose data are these rows alone.

        As in statsmodels' state space models, the fitted values, residuals and
        diagnostics of the returned results are those of the new rows. Each row is
        predicted from all rows before it.

        Parameters
        ----------
        endog, exog, weights, freq_weights, offset, exposure, progress
            As in `append`. At least one row is required.

        Returns
        -------
        DynamicTreeResults

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> x = np.linspace(0, 1, 60)
        >>> data = {"x": x, "y": 2 * x}
        >>> fit = dtf.dynamic_tree("y ~ x", data, n_particles=50, seed=1).fit()
        >>> later = fit.extend({"x": [0.2, 0.7], "y": [0.4, 1.4]})
        >>> fit.nobs, later.nobs, later.resid.shape
        (60, 62, (2,))
        """
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        model, new = self.model.with_rows(
            self.design, endog, exog, given, self.tree, offsets
        )
        later = type(self)(model, self.tree.copy())
        later.learn(new, progress)
        return later

    def apply(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Fit the same model to other rows, from the beginning.

        Terms with their levels, knots and scales, options and seed are those of this
        model. Its trees are not used.

        Parameters
        ----------
        endog, exog, weights, freq_weights, offset, exposure, progress
            As in `append`. At least one row is required.

        Returns
        -------
        DynamicTreeResults

        Raises
        ------
        ValueError
            As in `append`, or if the model has no data because it was loaded from a
            file.
        """
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        model, _ = self.model.with_rows(self.design, endog, exog, given, None, offsets)
        results = type(self)(model, model.unlearned("apply"))
        results.learn_model(progress)
        return results

    def learn_model(self, progress: Progress = False) -> None:
        """Learn the data of the model, all at once."""
        model = self.model
        with renamed({"sample_weight": self._weights_argument}):
            self.tree.update(
                model.exog, model.taught(), model.weights, progress=progress
            )

    def learn(self, new: NewRows, progress: Progress = False) -> None:
        """Learn rows of features, with the designs that their new levels require.

        Parameters
        ----------
        new : NewRows
            As returned by `DynamicTreeModel.rows`.
        progress
            As in `append`.
        """
        with renamed({"sample_weight": self._weights_argument}):
            self._learn(new, progress)

    def _learn(self, new: NewRows, progress: Progress) -> None:
        """The same, where errors speak of `sample_weight`."""
        rows, held = new.features, new.weights
        responses = taught(self.inner.options, new.responses, new.shift)
        if not len(rows):
            check_progress(progress)
        elif new.designs:
            self._append_levels(new, progress)
        elif len(rows) == 1 and isinstance(self.tree, StreamingTree | AveragedStream):
            check_progress(progress)
            (y,) = responses if self.inner.classes is None else label_list(responses, 1)
            y = y.item() if isinstance(y, np.generic) else y
            self.tree.learn_row(rows, y, 1.0 if held is None else float(held[0]))
        else:
            self.tree.update(rows, responses, held, progress=progress)

    def _append_levels(self, new: NewRows, progress: Progress) -> None:
        """Learn rows that bring levels; the design goes as far as the trees do."""
        steps = [(row, design.features()) for row, design in new.designs]
        growth = Growth(self.design.features(), steps, new.designs[-1][1].widen)
        late, n_seen = GrowingRows(new.features, growth), self.inner.n_seen
        try:
            responses = taught(self.inner.options, new.responses, new.shift)
            self.tree.update(late, responses, new.weights, progress=progress)
        finally:
            names = self.inner.feature_names
            n_learned = self.inner.n_seen - n_seen
            for row, design in new.designs:
                if row < n_learned and design.names == names:  # a level may add none
                    self.design = design

    def copy(self) -> Self:
        """Return independent results that would learn alike, of the same model."""
        return type(self)(copy(self.model), self.tree.copy(), self.design)
