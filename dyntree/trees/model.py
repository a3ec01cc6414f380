"""DynamicTree: a Bayesian tree, or a cloud of them, that learns row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dyntree import checkpoint, params
from dyntree._core.trees import criteria
from dyntree._core.trees import sensitivity as core_sensitivity
from dyntree._core.trees.window import worth
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import NIG, TREE_OPTIONS, TreeOptions
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.progress import Progress, check_progress
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import Importance, Relevance, Sensitivity
from dyntree.trees.answers.criteria import (
    Bounds,
    check_scoring,
    drawing_source,
    improvements,
    region,
    response_variances,
)
from dyntree.trees.answers.predictions import mean_of
from dyntree.trees.answers.sensitivity import (
    input_law,
    input_shares,
    inputs_of,
    joint_inputs,
    level_draws,
)
from dyntree.trees.base import TreePredictions
from dyntree.trees.files import tree_arrays, tree_state
from dyntree.trees.learning.check import (
    checked,
    is_idle,
    responses_of,
    stored,
    watch_of,
    with_effects,
)
from dyntree.trees.learning.exposures import (
    asked_exposure,
    check_response_pairs,
    with_exposure,
)
from dyntree.trees.learning.growth import widened
from dyntree.trees.learning.parts import learn_rows
from dyntree.trees.learning.pieces import (
    Copies,
    Pieces,
    has_copies,
    learn_in_pieces,
)
from dyntree.trees.learning.warmup import learn_table
from dyntree.trees.learning.weights import (
    Responses,
    candidate_weights,
    in_units,
    weighed,
)
from dyntree.trees.learning.windows import rejuvenate, row_positions
from dyntree.trees.state import TreeState, with_ones
from dyntree.trees.view import Rehearsal, TreeView, rehearsed


@checkpoint.savable
class DynamicTree(TreePredictions, checkpoint.Stored):
    """A Bayesian regression or classification tree that learns row by row.

    The posterior over trees is a cloud of particles (Taddy, Gramacy and Polson 2011).
    Each new row weights the particles by their predictive density, resamples them, and
    lets each keep, grow or prune its tree. Rows can be retired into the priors of the
    leaves that contain them (Anagnostopoulos and Gramacy 2013), so that a stream fits
    into bounded memory; `StreamingTree` does this automatically.

    Parameters
    ----------
    model : {"constant", "linear", "class", "logit", "poisson", "negbin", "prior"}
        The model in each leaf: a mean ("constant"), a linear regression, the
        frequencies of labels ("class"), for two labels a logistic regression ("logit"),
        the rate of Poisson or negative binomial counts, or nothing, so that the trees
        follow their prior. The default is "linear", or "class" if `classes` are named,
        and "constant" under R's rules. Counts have exposures (see `update`). Use
        "negbin" unless you know that the counts are Poisson. `AveragedTrees` and
        `AveragedStream` mix linear and constant leaves.
    n_particles : int, default 1000
        Number of trees in the cloud.
    rules : {"native", "r"}, default "native"
        "native" uses proper priors on the scale of the data. "r" follows the rules of
        CRAN dynaTree 1.2-17, number for number.
    intercept : {"implicit", "augmented", "none"}, default "implicit"
        Whether linear leaves have an intercept. With "none" they pass through the
        origin. Native leaves make no difference between the other two. Under R's rules,
        "implicit" centres the rows of a leaf, which then cannot retire, and "augmented"
        adds a column of ones.
    proposal : {"luvar", "luall", "reject"}, default "luvar"
        How splits are proposed. "luvar" draws any column, and a value that leaves
        enough rows on both sides. "luall" draws only from columns that have such
        values. "reject" draws from the whole range of a column.
    min_leaf : int, optional
        Smallest number of rows in a leaf, >= 1. The default is 4 for constant leaves, 3
        for counts, 5 for logistic leaves, the smaller of n_basis + 5 and 2 n_basis + 2
        for linear leaves (2 n_basis + 4 under R's rules), and 1 for all others. Under
        native rules, n_basis does not count columns that are constant in the first ten
        rows.
    n_start : int, optional
        R's rules: number of rows from which the first tree is made, >= `min_leaf`,
        which is the default.
    tree_prior : (float, float), optional
        The numbers a in [0, 1) and b > 0. A leaf at depth d splits with the prior
        probability a (1 + d)^-b (Chipman, George and McCulloch 1998). The default is
        (0.95, 1) for regression and counts under native rules, (0.95, 0.5) for
        logistic leaves, and else (0.95, 2).
    variance_prior : (float, float), default (0.0, 0.0)
        R's rules: degrees of freedom and scale of the inverse gamma prior of the
        variance in a leaf. (0, 0) is a flat prior.
    first_split : int, default 0
        Linear and logistic leaves: index of the first column that may be split on.
    n_basis : int, optional
        Linear and logistic leaves: number of leading columns in the regression, by
        default all.
    classes : sequence, optional
        Labels of a model of labels, at most two for logistic leaves: text, numbers,
        booleans, dates, times, durations, bytes, pandas periods or intervals, or tuples
        of these. Numbers with a fraction are labels only if they are named here. By
        default, the sorted labels of the call with which the trees begin. A later new
        label is added; under R's rules it is an error. The prior of a leaf is spread
        over the known labels. Probabilities and `log_evidence` therefore depend on when
        a label became known, and so on how a stream is cut into calls. If you name all
        labels, they do not.
    prior : "adaptive" or NIG, default "adaptive"
        Native regression leaves have an inverse gamma prior for the variance, a flat
        prior for the level and a normal prior for the slopes. With "adaptive", the
        cloud tunes the scale of the variance and the precision of the slopes by its
        evidence. This prior follows the spread of the learned rows, and allows for
        rounded responses. ``params.NIG(b0)`` is a fixed prior on the scale of the first
        ten rows.
    class_mass : float, default 1.0
        Native class leaves: total mass of the Dirichlet prior, spread over the labels.
    max_retired_mass : float, optional
        Native rules: largest total weight of the retired rows of a leaf. Unlike
        `forget`, it does not change the range of inputs over which `sensitivity` and
        similar methods average: this remains the range of all rows.
    categories : dict of str to sequence, optional
        Native rules: the levels of text columns, if they are known beforehand. Any
        other level of such a column counts as missing.
    new_levels : {"grow", "missing", "error"}, default "grow"
        Native rules: what happens if a row to be learned has a new level after the
        trees have begun. With "grow", the level gets an indicator column, which is 0 in
        all earlier rows, for up to 1000 levels a column. Two levels share a column, and
        so does the second level that comes. Linear and logistic leaves regress on at
        most 64 columns where some come late. In a `DynamicTree` of such leaves and in
        `AveragedTrees` no level of the call with which the trees begin is late, so that
        columns depend on how tables are cut into calls; elsewhere they do not. With
        "missing" the level counts as missing, with a warning the first time, and with
        "error" the row is refused. In rows to be predicted, a new level counts as
        missing, or is refused with "error".
    encode_levels : {"auto", "onehot", "effect"}, default "auto"
        Native rules: the features of levels. With "onehot" each level has an indicator
        column. With "effect" a column with more than two levels is one column of
        numbers, "effect of" it: the mean response of the level in the rows before,
        shrunk; see Notes. "auto" has indicator columns for up to 32 levels, and
        the effect besides for 9 or more. A column with more than 32 levels at
        first has the effect alone. If it gets there later, with a `ManyLevelsWarning`,
        the first 32 levels keep their indicators.
    weighting : {"variance", "frequency"}, optional
        Native rules: what row weights mean. With "variance", the default for real
        responses, a row of weight w has the variance sigma^2 / w, as in weighted least
        squares. The unit of these weights does not matter: they are divided by the mean
        weight of the first ten rows. With "frequency" a row of weight w counts as w
        equal rows, and tables are learned in pieces (see `update`). Weights of labels
        and counts are always frequencies.
    dispersion : float, optional
        "negbin": a count with mean m has the variance m + dispersion m^2 at an exposure
        of 1 (the alpha of NB2 in statsmodels). By default, the evidence tunes it.
    robust : bool, default False
        Native rules, real responses: whether a row far outside its prediction gets
        less weight. After four such rows in succession, the stream counts as changed,
        and they get their full weight (see Notes).
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` keeps it. Under R's
        rules it works as in ``set.seed``.

    Attributes
    ----------
    options : TreeOptions
        The options in force, complete once the width of X is known.
    seed : int
        The seed of all random draws.
    n_seen : int
        Number of rows given to `update` so far.
    log_evidence : float
        Sum of the log predictive densities of the rows, each given the rows before it.
        Under R's rules the first ``n_start`` rows do not count.

    Notes
    -----
    The effect of level l is (S_l - N_l g) / (N_l + k). N_l and S_l are the number and
    the sum of u over the rows of the level, g is the mean of u over all rows, and k is
    the ratio of the variances of u within and between levels, by the moments of the
    analysis of variance (Searle, Casella and McCulloch 1992, section 3.6). k is
    infinite, and the column 0, where levels do not differ by more than chance. Of real
    responses, u is the residual of a ridge regression on the other columns. For labels,
    u is 1 for the label and else 0, the effect is a difference of log odds, and each
    label but the last has a column, up to eight, by the labels that are known when the
    column begins. For counts, u is the log of the rate. Each row has the effect by the
    rows before it (an ordered target statistic: Prokhorenkova et al. 2018), so that
    `log_evidence` is that of a prediction. A level without a row counts as missing.

    Calls from several threads wait for one another, so that each call finds the model
    between two rows. ``predict(X, threads=4)`` and `fit_repeats` use several cores.

    Regression holds back the first ten rows. Their mean and standard deviation set the
    scale of all sums, and the priors start from them. Logistic leaves know no columns
    until the tenth row, and then learn these rows anew. In linear and logistic leaves,
    an input that is more than 10^6 of these deviations away from its mean is moved to
    that distance, with a warning, because double precision would lose all other rows
    beside the square of such a value. This does not apply to regressions through the
    origin, nor to columns whose first ten values are equal. Under R's rules, rows are
    set aside until more than ``n_start`` have come, and regression needs two distinct
    responses among the first ``min_leaf`` rows.

    With `robust`, a row lies outside if D = (df + 1) log(1 + z^2 / df) exceeds 25 in
    its leaf in every particle. Here z is its distance from the prediction, divided by
    the scale of the Student t. This is a distance of five standard deviations, or more
    if df is small. The weight of the row is then multiplied by (c / z)^4, where D is 25
    at z = c. This is the tail of the weights of Geman and McClure (1985), with the
    predictive scale as in West (1984) and Agamennoni, Nieto and Nebot (2012). The
    particles get their weights from the density with that row weight, and
    `log_evidence` sums these densities. After four rows outside in succession, either
    of all rows or of those in the leaf, rows outside count in full until fifty rows
    inside have come. Rows far from the median of the first ten do not enter the scale.

    Methods that use random numbers but do not learn derive them from the seed and the
    number of learned rows. A second call therefore gives the same result, and no call
    changes what is learned later. Under R's rules they draw from the model's random
    numbers, as CRAN dynaTree does, and ``active_values("alc")`` and ``("entropy")``
    store their results in the leaves.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTree("linear", n_particles=200, seed=1)
    >>> tree.update(x, np.sin(6 * x[:, 0])).predict([[0.25], [0.75]]).mean.round(2)
    array([ 0.99, -0.98])
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        n_particles: int = 1000,
        rules: str = "native",
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        n_start: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        variance_prior: tuple[float, float] = (0.0, 0.0),
        first_split: int = 0,
        n_basis: int | None = None,
        classes: Sequence[Hashable] | None = None,
        prior: str | NIG = "adaptive",
        class_mass: float = 1.0,
        max_retired_mass: float | None = None,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        new_levels: str = "grow",
        encode_levels: str = "auto",
        weighting: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        seed: int | None = None,
    ) -> None:
        options = TreeOptions(**params.given_options(locals(), TREE_OPTIONS))
        # a table at once may have more levels than regressions take late
        settles_all = options.has_slopes
        self.state = TreeState(options, given_or_drawn(seed), settles_all=settles_all)
        self.state.watch = watch_of(options, model)
        self._lock = self.state.lock

    @classmethod
    def of_state(cls, state: TreeState) -> Self:
        """Return a tree that uses a given state."""
        tree = cls.__new__(cls)
        tree.state, tree._lock = state, state.lock
        return tree

    @property
    def tree(self) -> Self:
        """The tree itself, under the name that streams use for their tree."""
        return self

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing; see `StreamingTree.freeze`."""
        return False

    @locked
    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows in order, or in pieces if some of them occur several times.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers; under native rules also text and categories, and NaN for missing
            values. A call without rows changes nothing. The first call fixes the
            columns. The rows before the first tree fix the type of each column and its
            first levels; a column without any value gets its type from the first value.
            `new_levels` says what happens to levels that come later.
        y : array_like of shape (n_rows,)
            Responses, or labels of a class model, in the order of the rows of X. If X
            and y both have an index, the two must be equal.
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights >= 0 of the rows, at least one of them above 0. A number is the
            weight of all rows; the default is 1. The option `weighting` says what
            weights mean. Under native rules, rows of weight 0 are dropped first.
        exposure : array_like of shape (n_rows,) or float, optional
            Counts only: the time, area or number of people over which each was counted,
            > 0; by default 1.
        progress : bool, callable or None, default None
            True shows a progress bar, False none, and None shows one for long work on a
            terminal. A callable is called with (rows done, number of rows).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad. The model is then as it was before the call.
        KeyboardInterrupt
            If the call is interrupted. The model has then learned all rows up to the
            last complete one, or none of a table that it learns in pieces.

        Notes
        -----
        If weights count rows, and some of several rows occur more than once, the rows
        are learned in pieces of 1, 1, 1, 1, 2, 3, 4, 6, ..., each at most half of those
        before. Each piece is where its copies would be if the rows were written out and
        shuffled, by ``numpy.random.default_rng([seed, n_seen, 0])``, so that the
        evidence is about that of these rows. In the order of whole rows it may be a
        hundred nats less. Pieces have the number of their row, and `n_active` and
        `min_leaf` count them.
        """
        check_progress(progress)
        state = self.state
        y = with_exposure(state.options, X, y, exposure)
        X, y, weights = weighed(state.options, X, y, sample_weight)
        if is_idle(state, X, y):
            return self
        pieces = self.pieces_of(y, weights)
        if pieces is None:
            learn_table(state, X, y, weights, progress, self.learn_part)
        else:
            learn_in_pieces(state, X, y, pieces, progress)
        return self

    def pieces_of(self, y: Any, weights: Vector | None) -> Pieces | None:
        """How the model would learn a table of rows; see `TreeModel.pieces_of`."""
        if not has_copies(weights, self.options):
            return None
        return Pieces.of(Copies.of(weights), self.seed, self.n_seen)

    def learn_part(self, rows: Matrix, responses: Responses) -> int:
        """Learn encoded rows, at least one, once there are trees; returns how many."""
        return learn_rows(self.state, rows, responses)

    @locked
    def retire(self, row_ids: ArrayLike, forget: float = 1.0) -> Self:
        """Retire active rows: their leaves keep them as sufficient statistics.

        Parameters
        ----------
        row_ids : array_like of int, shape (n,)
            Numbers of active rows, all different. Rows are numbered from 0 in the
            order in which `update` got them. At least one row must stay active.
        forget : float in [0, 1], default 1.0
            Factor by which the retired sums of a leaf are multiplied before it takes in
            a row. Under R's rules it must not be 0.

        Returns
        -------
        self

        Notes
        -----
        When a leaf with n active and g retired rows splits, R's rules give a child with
        k rows the share k/n of the retired sums. Native class leaves drop these sums.
        Native regression leaves give equal prior probability to two hypotheses. Under
        the first, the children start without retired sums, and only active rows enter
        the evidence. Under the second, a child inherits the share min(k/n, k/g) of the
        sums as a power prior (Ibrahim and Chen 2000); the evidence of its rows is
        conditional on that, and compared with the evidence of the leaf's active rows
        given all of its retired sums. Sums that no child inherits are lost. Once
        `forget` has been below 1, every split drops the sums.
        """
        cloud = self.state.ready("retire")
        options = self.options
        forget = params.forget_factor("forget", forget, options.rules)
        if (
            options.rules == "r"
            and options.model == "linear"
            and options.intercept == "implicit"
        ):
            raise ValueError(
                Message(
                    "leaves with intercept='implicit' cannot retire rows; use "
                    "intercept='augmented'."
                )
            )
        positions = row_positions(self.state, row_ids, "row_ids")
        if len(positions) and len(positions) == cloud.n_active:
            raise ArgumentError(
                "row_ids",
                "must leave at least one row active",
                Message(f"all {len(positions)}"),
            )
        cloud.retire(positions, forget)
        return self

    @locked
    def remove_data(self) -> Self:
        """Drop every row, and keep only what predictions need (native rules).

        All rows are retired. Predictions stay the same, in a window up to rounding.
        Learning continues as in a window, and only later rows can change the splits. No
        individual row is left, in memory or in a file. Until new rows have come,
        `importance`, `active_values` and ``acquisition(..., "ei", best="rows")`` have
        no rows to use, and ``acquisition("alc")``, `relevance` and `sensitivity` need
        `bounds` and `categorical`. Trees that a `StreamingTree` has partly grown are
        dropped, because they would lack the rest of the rows.

        Returns
        -------
        self

        Raises
        ------
        NotReadyError
            While there are no trees.
        ValueError
            Under R's rules, where a leaf may have retired rows of other leaves.
        """
        cloud = self.state.ready("remove_data")
        if self.options.rules == "r":
            raise ArgumentError(
                "remove_data",
                "is for rules='native'; under R's rules use retire, which keeps at "
                "least one row",
            )
        self.state.cloud = cloud.without_rows()
        return self

    @locked
    def rejuvenate(self, order: ArrayLike | None = None) -> Self:
        """Grow fresh particles from the active rows and add them to the cloud.

        The fresh particles have learned no retired rows. They compete with the old
        particles at the next row, when the cloud is resampled to its size. The call
        grows them to the end. Trees that a `StreamingTree` is already growing a few
        rows at a time are not affected; they join when they are complete.

        Parameters
        ----------
        order : array_like of int, shape (n_active,), optional
            Numbers of the active rows in the order in which the fresh particles learn
            them; random by default.

        Returns
        -------
        self
        """
        cloud, positions = self.state.ready("rejuvenate"), None
        if order is not None and cloud.n_active:
            positions = row_positions(self.state, order, "order")
            if len(positions) != cloud.n_active:
                n_rows = len(np.unique(self.state.row_ids()))
                got = len(np.atleast_1d(order))
                raise ArgumentError("order", f"must name all {n_rows} active rows", got)
        rejuvenate(cloud, positions)
        return self

    @locked
    def rehearse(self, X: Any, y: Any) -> Rehearsal | None:
        """Report what a further row would do to the particles, without learning it.

        Parameters
        ----------
        X, y
            One row, as for `update`.

        Returns
        -------
        Rehearsal, or None for a label that comes for the first time
        """
        state = self.state
        cloud, (rows, labels, growth) = state.ready("rehearse"), checked(state, X, y)
        if len(rows) != 1:
            raise ArgumentError("X", "must be one row to rehearse", len(rows))
        if growth.steps:
            cloud = widened(cloud, growth.widen)
        known = state.options.classes
        if known is not None and labels[0] not in known:
            return None
        rows = with_effects(state, with_ones(rows, state.ones), growth.features)
        weights = in_units(None, state.weight_unit, 1)
        return rehearsed(cloud, rows, responses_of(state, labels, weights))

    @locked
    def acquisition(
        self,
        X: Any,
        rule: str,
        *,
        sample_weight: Any = None,
        exposure: Any = None,
        Xref: Any = None,
        q: float = 0.0,
        alpha: float = 2.0,
        best: str | float = "candidates",
        bounds: Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Vector:
        """Expected benefit of sampling a response at each candidate row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            The candidates.
        rule : {"alm", "alc", "ei", "ieci", "qei", "qentropy"}
            "alm" is the predictive variance (MacKay 1992); for counts, the variance of
            the rate. "alc" is the reduction of variance, averaged over a rectangle or
            over `Xref` (Cohn 1996). "ei" is the expected improvement towards the
            minimum, and "ieci" its integrated conditional form (Gramacy and Lee 2011).
            "qei" and "qentropy" are the expected improvement and the entropy for the
            contour at `q`.
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights > 0 of the responses at the candidates, for "alm" and for "alc" over
            a rectangle; by default 1.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures of the counts at the candidates, for "alc" over a rectangle; by
            default 1.
        Xref : rows like X, optional
            Reference rows of "alc" (by default the whole rectangle) and of "ieci" (by
            default X).
        q : float, default 0.0
            Level of the contour.
        alpha : float, default 2.0
            Half-width of the band around the contour in standard deviations, > 0.
        best : {"candidates", "rows"} or float, default "candidates"
            The value that "ei" improves on: the lowest mean of each particle at the
            candidates of this call, or at the active rows, or a given value. With the
            default, the value of a row depends on the other candidates, as in CRAN
            dynaTree.
        bounds : array_like of shape (n_features, 2), optional
            Rectangle of "alc". By default it covers the candidates and all learned
            rows; with ``forget`` below 1 and under R's rules, the candidates and the
            active rows.
        categorical : sequence of bool of shape (n_features,), optional
            Which columns hold 0 and 1 only. By default, this is decided by the rows
            that `bounds` covers, without the candidates.
        approx : bool, default False
            Whether leaves are weighted by their number of rows instead of their volume.

        Returns
        -------
        ndarray of shape (n_rows,)
            Larger values are more promising.
        """
        state = self.state
        state.ready("acquisition")
        if not isinstance(rule, str) and isinstance(X, str):
            raise ArgumentError(
                "rule",
                "must be text, after the candidates",
                rule,
                "Call acquisition(X, {x!r}).",
                x=X,
            )
        check_scoring(self.options, rule, sample_weight, exposure, Xref)
        check_response_pairs(X, sample_weight, exposure)
        approx = params.flag("approx", approx)
        references = None if Xref is None else stored(state, Xref, "Xref")
        rows = stored(state, X)
        if references is not None and not len(references):
            raise ArgumentError("Xref", "must have at least one row", Message("none"))
        if rule == "alm":
            return response_variances(state, rows, sample_weight)
        if rule == "alc" and references is None:
            where = region(state.cloud, state.ones, rows, bounds, categorical)
            weights = candidate_weights(state, len(rows), sample_weight)
            if self.options.is_count:
                asked = asked_exposure(state, len(rows), exposure)
                weights = asked / state.exposure_unit
            return np.asarray(
                criteria.alc_rectangle(state.cloud, rows, *where, approx, weights)
            )
        references = rows if references is None else references
        return improvements(state.cloud, rows, rule, references, q, alpha, best)

    @locked
    def active_values(self, rule: str) -> Vector:
        """Value of each active row to the model; rows with low values may go first.

        Parameters
        ----------
        rule : {"alc", "entropy", "age", "random"}
            "alc" (regression) is the reduction of variance, averaged over the default
            rectangle of `acquisition`. Native rules multiply it by the root of n / m,
            if the leaf of the row has learned n rows and holds m. "entropy" (classes)
            is the entropy of the row's leaf. "age" is the number of the row, and
            "random" is a random number.

        Returns
        -------
        ndarray of shape (n_active,)
            Values in the order of `active_ids`.
        """
        cloud = self.state.ready("active_values")
        params.one_of("rule", rule, params.DISCARDS)
        fits = {
            "entropy": params.LABELS,
            "alc": ("constant", "linear", "prior", *params.COUNTS),
        }
        if self.options.model not in fits.get(rule, params.MODELS):
            raise ValueError(
                Message(
                    "rule={rule!r} does not fit model={model!r}; 'entropy' is for "
                    "labels and 'alc' for the others.",
                    rule=rule,
                    model=self.options.model,
                )
            )
        if rule == "age":
            return self.state.row_ids().astype(np.float64)
        return worth(cloud, rule, drawing_source(self.state))

    @locked
    def relevance(
        self,
        *,
        bounds: Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Relevance:
        """How much splits on each column reduce the predictive variance or entropy.

        The parameters are as in `acquisition`. The method is that of Gramacy, Taddy and
        Wild (2013), section 2.
        """
        cloud = self.state.ready("relevance")
        values = criteria.relevance(
            cloud,
            *region(cloud, self.state.ones, None, bounds, categorical),
            params.flag("approx", approx),
        )
        return Relevance(values[:, self.state.ones :].copy(), self.feature_names)

    @locked
    def importance(
        self,
        *,
        n_samples: int = 500,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Importance:
        """Share of the predicted variance that each input accounts for.

        Both splits and slopes count. The effect of an input is half the mean squared
        change of the mean prediction (of the probabilities for classes) when its value
        in an active row is replaced by that of another row. This is the total Sobol'
        effect (Jansen 1999, equation 12) over the rows stored. The share is relative to
        the sum over all inputs, so that a joint effect of several inputs counts for
        each of them. If inputs are nearly functions of each other, such a change leads
        to rows that never occur, and their shares describe the model at those rows.

        Parameters
        ----------
        n_samples : int, default 500
            Number of random pairs of rows, >= 2.
        factors : dict of str to sequence of str, optional
            As in `sensitivity`; under R's rules every column is an input.

        Returns
        -------
        Importance

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import DynamicTree
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> tree = DynamicTree("linear", n_particles=50, seed=1)
        >>> tree.update(X, X @ [3.0, 1.0]).importance().values.round(1)
        array([0.9, 0.1])
        """
        mean = partial(mean_of, self.state.ready("importance"))
        return input_shares(self.state, mean, n_samples, factors, self.seed)

    @locked
    def sensitivity(
        self,
        *,
        label: Hashable | None = None,
        n_samples: int = 1000,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: Bounds | None = None,
        shape: Sequence[float] | None = None,
        mode: Sequence[float] | None = None,
        categorical: Sequence[bool] | None = None,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Sensitivity:
        """Estimate main effects and Sobol' indices (Gramacy and Taddy 2010).

        Parameters
        ----------
        label : hashable, optional
            Class models: the label whose probability is analysed. It is required there.
        n_samples : int, default 1000
            Size of each of the two samples of inputs, >= 2.
        n_grid : int, default 100
            Number of points of each main effect, >= 1.
        span : float in [0, 1], default 0.3
            Share of the samples over which a point of a main effect averages.
        method : {"lhs", "boot"}, default "lhs"
            "lhs" draws Latin hypercube samples of scaled beta distributions, and "boot"
            draws active rows with replacement. With "lhs", an input is missing as often
            as in the learned rows if trees split on whether it is missing.
        bounds : array_like of shape (n_features, 2), optional
            Range of each input. By default it is the range of all learned rows; with
            ``forget`` below 1, for "boot" and under R's rules, that of the active rows.
        shape, mode : sequence of float of shape (n_features,), optional
            Parameters of the beta distributions. The shape is >= 1, by default 1
            (uniform). The mode is within the bounds, by default the mean of the active
            rows. A 0/1 column has shape 0, and `mode` is its mean, by default 1/2 if
            the active rows do not have both values.
        categorical : sequence of bool of shape (n_features,), optional
            Which columns hold 0 and 1 only, as in `acquisition`.
        factors : dict of str to sequence of str, optional
            Native rules: names of the indicator columns of each factor. By default
            the factors are the text columns. Each sample has one level of a factor,
            with probabilities in proportion to `mode`, and a factor has one index. What
            the modes of a factor lack to one is the share of a level without a column.
            A factor with an effect column has the values of one active row instead.

        Returns
        -------
        Sensitivity

        Notes
        -----
        The indices are shares of the variance of a new response, which includes noise.
        The total index of an input without effect is therefore the share of the noise
        (for classes the mean of p (1 - p)), and not 0. `importance` excludes the noise.

        Under native rules, the main effects of a particle come from one draw of the
        parameters of its leaves, so that their spread is that of the posterior. Under
        R's rules they come from its means. Native rules integrate over responses and
        use differences of means (Saltelli et al. 2010, table 2), so that a constant
        added to all responses has no influence. R's rules use the estimator of Gramacy
        and Taddy.
        """
        cloud = self.state.ready("sensitivity")
        place = None
        if self.options.classes is not None:
            place = self.class_place(label)
        elif label is not None:
            raise ArgumentError("label", "is for class models only", label)
        inputs = inputs_of(self.state, factors)
        method = params.one_of("method", method, ("lhs", "boot"))
        law = input_law(self.state, method, bounds, shape, mode, categorical)
        share = params.real("span", span)
        if not 0.0 <= share <= 1.0:
            raise ArgumentError("span", "must be in [0, 1]", span)
        n_grid = params.count("n_grid", n_grid, 1)
        grid = np.linspace(law["lower"], law["upper"], n_grid)
        found = core_sensitivity.sensitivity(
            cloud, n_samples=params.count("n_samples", n_samples, 2), grid=grid,
            span=share, method=method, label=place, groups=list(inputs.values()),
            joint=joint_inputs(self.state, inputs),
            source=drawing_source(self.state), drawn=level_draws(self.state, place),
            **law,
        )  # fmt: skip
        places = tuple(tuple(group.tolist()) for group in inputs.values())
        return Sensitivity(grid, *found, self.feature_names, tuple(inputs), places)

    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a tree that has seen no row, with another seed."""
        if self.n_seen:
            raise ValueError(
                Message(
                    "the seed of a model can change only before its first row; it "
                    f"has seen {self.n_seen}. Make a new one with the same options."
                )
            )
        again = self.copy()
        again.state.seed = params.count("seed", seed, 0, params.MAX_SEED)
        return again

    @locked
    def frozen_view(self, what: str = "a view") -> TreeView:
        """Return a view of the current particles for inspection.

        Parameters
        ----------
        what : str, default "a view"
            Name of the caller's request in error messages.

        Returns
        -------
        TreeView

        Raises
        ------
        NotReadyError
            While there are no trees.
        """
        self.state.ready(what)
        return TreeView(self.copy())

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self.of_state(self.state.copy())

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model, as a plain header and arrays.

        Equal models give equal headers and equal bytes, however they were made.

        Returns
        -------
        header : dict
        arrays : dict of ndarray
        """
        return tree_arrays(self.state)

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described.

        Parameters
        ----------
        header : dict
            Lists may stand for tuples, as in JSON.
        arrays : dict of ndarray

        Returns
        -------
        DynamicTree

        Raises
        ------
        ValueError
            If header and arrays do not describe a model. A header of another kind may
            also raise LookupError, AttributeError or TypeError.
        """
        state = tree_state(header, arrays)
        state.settles_all = state.options.has_slopes
        return cls.of_state(state)
