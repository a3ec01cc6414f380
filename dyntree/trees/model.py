"""DynamicTree: a Bayesian tree, or a cloud of them, that learns row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike

from dyntree import checkpoint, params
from dyntree.online import Arrays, Header
from dyntree.params import NIG, TREE_OPTIONS, TreeOptions
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress
from dyntree.runtime.seeds import given_or_drawn
from dyntree.trees.answers.sensitivity import TreeAnswers
from dyntree.trees.answers.view import Rehearsal, TreeView, rehearsed
from dyntree.trees.files import tree_arrays, tree_state
from dyntree.trees.learning.check import checked, is_idle, responses_of
from dyntree.trees.learning.exposures import with_exposure
from dyntree.trees.learning.growth import widened
from dyntree.trees.learning.parts import (
    learn_in_parts,
    learn_rows,
)
from dyntree.trees.learning.warmup import take_in
from dyntree.trees.learning.weights import in_units, weighed
from dyntree.trees.learning.windows import rejuvenate, row_positions
from dyntree.trees.state import TreeState, with_ones


@checkpoint.savable
class DynamicTree(TreeAnswers, checkpoint.Stored):
    """A Bayesian regression or classification tree that learns row by row.

    The posterior over trees is a cloud of particles (Taddy, Gramacy and Polson 2011).
    Each new row weights the particles by their predictive density, resamples them, and
    lets each keep, grow or prune its tree. Rows can be retired into the priors of the
    leaves that held them (Anagnostopoulos and Gramacy 2013), so that a stream fits into
    bounded memory; `StreamingTree` does this automatically.

    Parameters
    ----------
    model : {"constant", "linear", "class", "poisson", "negbin", "prior"}, optional
        What leaves hold: a mean ("constant", the default), a linear regression, label
        counts, the rate of events that are Poisson or negative binomial counts, or
        nothing. Counts have exposures (see `update`); "negbin" is the choice where
        nothing speaks for "poisson".
    n_particles : int, default 1000
    rules : {"native", "r"}, default "native"
        Rules of the filter: proper priors on the scale of the data, or those of CRAN
        dynaTree 1.2-17, number for number.
    intercept : {"implicit", "augmented", "none"}, default "implicit"
        Linear leaves: with a level, or ("none") through the origin. Under R's rules
        "implicit" centres the rows of a leaf, which then cannot retire, and "augmented"
        adds a column of ones; native leaves do not tell the two apart.
    proposal : {"luvar", "luall", "reject"}, default "luvar"
        Split proposals: any column within limits that leave enough rows on both
        sides; a column where that is possible; any column over its whole range.
    min_leaf : int, optional
        Fewest rows in a leaf, >= 1. Default 4 for constant leaves, 3 for counts, the
        lesser of n_basis + 5 and 2 n_basis + 2 (R's rules: 2 n_basis + 4) for linear
        ones, 1 for the others. Under native rules columns of which no two values differ
        in the first ten rows do not count.
    n_start : int, optional
        R's rules: rows the first tree is planted on, >= min_leaf, its default.
    tree_prior : (float, float), optional
        Of a in [0, 1) and b > 0: a leaf at depth d splits with prior probability
        a (1 + d)^-b (Chipman, George and McCulloch 1998). Default (0.95, 1) for
        regression and counts under native rules, (0.95, 2) for all others.
    variance_prior : (float, float), default (0.0, 0.0)
        R's rules: degrees of freedom and scale of an inverse gamma prior on the
        variance in a leaf; (0, 0) is flat.
    first_split : int, default 0
        Linear leaves: first column that may be split on.
    n_basis : int, optional
        Linear leaves: how many leading columns they regress on, default all.
    classes : sequence, optional
        Labels of a class model: text, numbers, truth values, dates, times, durations,
        bytes, periods or intervals of pandas', or tuples of these. By default those of
        the first call that plants trees, sorted; any other label is added when it
        comes, and under R's rules it is an error. The prior of a leaf is spread over
        the labels that are known, so that `log_evidence` and probabilities depend on
        which of them the first call has: a stream that came in one call knew its labels
        from the first row, one that came row by row met them one by one. Name all
        labels where that must not be; then calls may be cut anywhere.
    prior : "adaptive" or NIG, default "adaptive"
        Native regression leaves: an inverse gamma prior of the variance, a flat level
        and normal slopes. The cloud tunes the scale of the variance and the precision
        of the slopes by its evidence; the prior follows the spreads of the rows learned
        and knows how coarse the responses are. Or a fixed ``params.NIG(b0)`` on the
        scale of the first ten rows.
    class_mass : float, default 1.0
        Native class leaves: total mass of the Dirichlet prior, spread over the labels.
    max_retired_mass : float, optional
        Native rules: most weight that a leaf's retired rows may have together. It does
        not count as forgetting: questions go on to run over the range of all rows.
    categories : dict of str to sequence, optional
        Native rules: levels of columns of strings, where they are known beforehand. Any
        other level of such a column counts as missing.
    new_levels : {"grow", "missing", "error"}, default "grow"
        Native rules: what a level means that comes once there are trees. It gets a
        column of its own, 0 in all rows before, up to 1000 levels a column; it counts
        as missing, with a warning the first time; or it is an error. To questions it
        is missing, or an error: only rows that are learned bring columns. Linear leaves
        regress on those that they began with; splits use them all.
    weighting : {"variance", "frequency"}, optional
        Native rules: what weights of rows mean. A row of weight w has the variance
        sigma^2 / w, as in weighted least squares ("variance", the default for real
        responses); or it counts as w equal rows ("frequency", what weights of labels
        always mean). Weights that divide variances are counted in the mean weight of
        the first ten rows, so that their unit does not matter. Labels and counts have
        frequencies.
    dispersion : float, optional
        "negbin": a count of mean m has the variance m + dispersion m^2 at an exposure
        of 1 (the alpha of NB2 in statsmodels). Tuned by the evidence where absent.
    robust : bool, default False
        Native rules, real responses: whether a row that lies far outside of its
        prediction counts with less weight, as one of larger variance does, until four
        such rows in a row have shown that the stream has changed (see Notes).
    seed : int, optional
        Drawn from the system where absent, and kept as `seed`. Under R's rules, as in
        ``set.seed``.

    Attributes
    ----------
    options : TreeOptions
        The options in force, complete once the width of X is known.
    seed : int
    n_seen : int
        Number of rows given to `update` so far.
    log_evidence : float
        Sum of the log predictive densities of the rows (R's rules: of those after the
        first ``n_start``), each given the rows before it.

    Notes
    -----
    Calls from several threads wait for one another, so that each finds the model
    between two rows; ``predict(X, threads=4)`` and `fit_repeats` use more cores.

    Regression keeps the first ten rows back: their mean and standard deviation fix the
    scale of sums for good, and where priors start. To linear leaves, an input more than
    10^6 of these deviations away from its mean counts as that far, with a warning:
    beside sums of larger squares, doubles hold no other rows. (Not through the origin,
    nor in columns whose first ten values are equal.) Under R's rules rows are kept back
    until more than ``n_start`` have come, and regression needs two distinct responses
    among the first ``min_leaf``.

    With `robust`, a row lies outside if D = (df + 1) log(1 + z^2 / df) exceeds 25 in
    its leaf in every particle, where z is its distance from the prediction over the
    scale of the Student t: five standard deviations, or more where df are few. It then
    counts with the part (c / z)^4 of its weight, where D is 25 at z = c: the tail of
    the weights of Geman and McClure (1985), by the predictive scale as in West (1984)
    and Agamennoni, Nieto and Nebot (2012). Particles are weighed with that weight, too,
    and `log_evidence` sums such densities. After four rows outside in a row, of all or
    of those that came to the leaf, they count in full, until fifty rows inside have
    come. First rows far from the median of the first ten fix no scale.

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
        model: str = "constant",
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
        weighting: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        seed: int | None = None,
    ) -> None:
        options = TreeOptions(**params.given_options(locals(), TREE_OPTIONS))
        self.state = TreeState(options, given_or_drawn(seed))
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
        """Learn rows in order.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers; under native rules also strings and categories, and NaN for what is
            missing. Without rows there is nothing to learn, which is no error. The
            first call fixes the columns, and the rows until there are trees their kinds
            and first levels. Levels that come later bring columns of their own (and
            where no row had a value, the first one says of which kind the column is),
            count as missing, with a warning the first time (copies and loaded models
            warn anew), or are an error, as `new_levels` says.
        y : array_like of shape (n_rows,)
            Responses, or labels of a class model. They belong to the rows of X by their
            places; where X and y both have an index, these must be equal.
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights >= 0 of the rows, of which one at least is not 0; a number is that
            of all, and 1 the default. What they mean says the option `weighting`. Rows
            of weight 0 are left out before anything else, under native rules.
        exposure : array_like of shape (n_rows,) or float, optional
            Of counts: what each was counted over, such as a time, an area or a number
            of people; > 0, 1 by default.
        progress : bool, callable or None, default None
            True: progress bar; False: none; None: a bar for long work on a terminal;
            a callable is called with (rows done, rows in all).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
        KeyboardInterrupt
            The model is then what it is after the last complete row.
        """
        check_progress(progress)
        state = self.state
        y = with_exposure(state.options, X, y, exposure)
        X, y, weights = weighed(state.options, X, y, sample_weight)
        if is_idle(state, X, y):
            return self
        before = state.n_seen
        rows, responses, growth = take_in(state, X, y, weights)
        n_kept = state.n_seen - before
        learn = partial(learn_rows, state)
        learn_in_parts([state], rows, responses, growth, progress, n_kept, learn)
        return self

    @locked
    def retire(self, row_ids: ArrayLike, forget: float = 1.0) -> Self:
        """Retire active rows; the leaves that held them keep them as sums.

        Parameters
        ----------
        row_ids : array_like of int, shape (n,)
            Numbers of active rows, all different; rows are numbered from 0 in the
            order they were given to `update`. At least one row must stay active.
        forget : float in [0, 1], default 1.0
            Factor on what a leaf remembers, applied before it takes in a row; not 0
            under R's rules.

        Returns
        -------
        self

        Notes
        -----
        When a leaf of n active and g retired rows splits, R's rules give a child with k
        rows k/n of the retired sums. Native class leaves release them. Native
        regression leaves weigh two hypotheses alike: the children start afresh, judged
        on active rows alone; or they inherit the part min(k/n, k/g) of the sums as a
        power prior (Ibrahim and Chen 2000), and their rows are judged given that,
        against the leaf's active rows given all that it has retired. Sums that no child
        inherits are lost. Once `forget` has been below 1, every split releases them.
        """
        cloud = self.state.ready("retire")
        options = self.options
        forget = params.forget_factor(forget, options.rules)
        if (
            options.rules == "r"
            and options.model == "linear"
            and options.intercept == "implicit"
        ):
            raise ValueError(
                "leaves with intercept='implicit' cannot retire rows; use "
                "intercept='augmented'."
            )
        positions = row_positions(cloud, row_ids, "row_ids")
        if len(positions) and len(positions) == cloud.n_active:
            raise ValueError(
                f"row_ids must leave at least one row active; got all {len(positions)}."
            )
        cloud.retire(positions, forget)
        return self

    @locked
    def remove_data(self) -> Self:
        """Drop every row, and keep only what predictions need (native rules).

        All rows are retired. Predictions stay the same, in a window up to rounding.
        Learning continues as in a window, and only later rows can change the splits. No
        individual row is left, in memory or in a file. Until new rows have come,
        `importance`, ``score_active`` and ``score(..., "ei", best="rows")`` have no
        rows to use, and ``score("alc")``, `relevance` and `sensitivity` need `bounds`
        and `categorical`. Trees that a `StreamingTree` has partly grown are dropped,
        because they would lack the rest of the rows.

        Returns
        -------
        self

        Raises
        ------
        NotReadyError
            While there are no trees.
        ValueError
            Under R's rules, whose leaves are not those of their retired rows.
        """
        cloud = self.state.ready("remove_data")
        if self.options.rules == "r":
            raise ValueError(
                "remove_data is for rules='native'; under R's rules use retire, which "
                "keeps at least one row."
            )
        self.state.cloud = cloud.without_rows()
        return self

    @locked
    def rejuvenate(self, order: ArrayLike | None = None) -> Self:
        """Grow fresh particles from the active rows and add them to the cloud.

        They compete with the old particles at the next row, when the cloud is resampled
        to its size. They do not know retired rows. All of this is done at once. Trees
        that a `StreamingTree` is growing a few rows at a time continue to grow, and
        join when they are complete.

        Parameters
        ----------
        order : array_like of int, shape (n_active,), optional
            Numbers of the active rows in the order in which the fresh particles learn
            them; random by default.

        Returns
        -------
        self
        """
        rejuvenate(self.state.ready("rejuvenate"), order)
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
            raise ValueError(f"X must be one row to rehearse; got {len(rows)}.")
        if growth.steps:
            cloud = widened(cloud, growth.widen)
        known = state.options.classes
        if known is not None and labels[0] not in known:
            return None
        rows = with_ones(rows, state.ones)
        weights = in_units(None, state.weight_unit, 1)
        return rehearsed(cloud, rows, responses_of(state, labels, weights))

    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a tree that has seen no row, with another seed."""
        if self.n_seen:
            raise ValueError(
                "the seed of a model can change only before its first row; it has "
                f"seen {self.n_seen}. Make a new one with the same options."
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
            What asks, for errors.

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
            If header and arrays do not describe a model; also LookupError,
            AttributeError or TypeError for what is no such header at all.
        """
        return cls.of_state(tree_state(header, arrays))
