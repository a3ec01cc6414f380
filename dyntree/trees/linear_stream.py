"""LinearStream: regressions of labels and counts that learn row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

from dyntree import checkpoint, params
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import TreeStats
from dyntree.trees.learner_files import learner_arrays, learner_state
from dyntree.trees.linear_files import filters_in
from dyntree.trees.linear_options import LINEAR_OPTIONS, LinearOptions
from dyntree.trees.row_learner import RowLearner
from dyntree.trees.state import TreeState


@checkpoint.savable
class LinearStream(RowLearner):
    """Bayesian regression of labels or counts, learned row by row.

    Where a boundary between labels is near a plane, or columns multiply a rate, a
    regression learns it from far fewer rows than trees. It is a member of averages of
    labels and counts by default, and seldom a model for a stream by itself.

    Parameters
    ----------
    model : {"class", "poisson", "negbin"}, default "class"
        Logistic regression of labels, or log-linear regression of counts: Poisson, or
        negative binomial.
    forget : float in [0.5, 1], default 1.0
        Factor by which the information of all earlier rows is multiplied after a row.
        Below 1 the coefficients follow drift.
    spreads : sequence of float in [0.001, 1000], default (0.1, 0.5, 2.0)
        Prior standard deviations of the log odds, or log rate, by a standard deviation
        of a column. There is one model for each; their mixture predicts.
    clip : float in [0.1, 100], default 4.0
        A value counts as one at most so many standard deviations from its column's
        running mean.
    classes, categories, new_levels, encode_levels
        As in `DynamicTree`.
    dispersion : float, optional
        As in `DynamicTree`. By default the sizes (inverse dispersions) inf, 10, 3, 1
        and 0.3 of counts of a mean exposure are weighed.
    seed : int, optional
        Of draws alone. By default it is drawn from the system.

    Attributes
    ----------
    options : LinearOptions
    seed : int
    is_frozen : bool

    Notes
    -----
    With more than two labels, each is regressed against the rest, and the probabilities
    are divided by their sum. The log odds of a label, or the log rate of events, are
    b'w, where w is 1 and the columns in units that the first ten rows fix. The prior is
    N(0, spread^2 / s_j^2) for coefficient j, where s_j is the running standard
    deviation of column j. For the intercept it is N(0, 25), and of counts N(r, 4),
    where r is the log rate of the first ten rows. Coefficients have a normal law. The
    b'w of a row is N(e, v) before it; its mean m and variance u after it are those of
    its law, by quadrature with 15 nodes. The row then adds (1/u - 1/v) w w' to the
    precision of the coefficients, and (m/u - e/v) w to the precision times the mean:
    assumed density filtering (Opper 1998; Minka 2001).

    The probability of a label is sigma(e / sqrt(1 + pi v / 8)) for log odds of mean e
    and variance v (MacKay 1992). Counts with a log mean of x have the negative binomial
    law of mean exp(x) and variance exp(x) + exp(2 x) / size, where the size is
    proportional to the exposure. Predictions are mixtures of 7 gamma or beta prime
    laws of the mean, about the nodes of N(e, v). No node is above ten times the highest
    (y + r) / (e + 1) of a row so far, where e is its exposure in units of the mean of
    the first ten. The log weight L of each spread and size follows
    L <- 0.998 (L + log p). A row of frequency c counts c times in the likelihood, its p
    is that of all its responses together, and it is one row for what is forgotten. A
    value that is missing is its column's mean, with the variance of the column. A new
    label begins with what was learned of a label that no row has.

    The cost of a row is proportional to labels, or sizes, times spreads times the
    square of the number of columns. Units and running means are of all rows, also with
    ``forget``.

    References
    ----------
    Opper, M. (1998). A Bayesian approach to on-line learning. In: On-line Learning in
    Neural Networks, Cambridge University Press, 363-378.

    Minka, T. P. (2001). Expectation propagation for approximate Bayesian inference.
    Uncertainty in Artificial Intelligence 17, 362-369.

    MacKay, D. J. C. (1992). The evidence framework applied to classification networks.
    Neural Computation 4, 720-736.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import LinearStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "above", "below")
    >>> stream = LinearStream(seed=1).update(X, y)
    >>> stream.predict([[1.0, 0.0], [0.0, 1.0]]).label.tolist()
    ['above', 'below']
    >>> events = rng.poisson(np.exp(0.5 + X[:, 0]))
    >>> counts = LinearStream("poisson", seed=1).update(X, events)
    >>> counts.predict([[0.0, 0.0], [1.0, 0.0]]).mean.round(1)
    array([1.6, 4.4])
    """

    def __init__(
        self,
        model: str = "class",
        *,
        forget: float = 1.0,
        spreads: Sequence[float] = (0.1, 0.5, 2.0),
        clip: float = 4.0,
        classes: Sequence[Hashable] | None = None,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        new_levels: str = "grow",
        encode_levels: str = "auto",
        dispersion: float | None = None,
        seed: int | None = None,
    ) -> None:
        options: Any = LinearOptions(**params.given_options(locals(), LINEAR_OPTIONS))
        self._hold(TreeState(options, given_or_drawn(seed)), False)

    @locked
    def remove_data(self) -> Self:
        """Drop every row; see `DynamicTree.remove_data`.

        Rows are stored only until ten have fixed the units of the columns. Those that
        are stored fix them before they are dropped.
        """
        self.state.cloud = self.state.ready("remove_data").without_rows()
        return self

    def stats(self) -> TreeStats:
        """Raise ValueError: there are no leaves to count."""
        raise ValueError(
            "stats is of trees, and a LinearStream has none. Ask clouds of an average."
        )

    def memory(self) -> dict[str, Any]:
        """The memory that distinguishes this stream from others in an average."""
        options: Any = self.options
        return {"linear": True, "forget": options.forget}

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        options: Any = self.options
        facts = super().facts()
        del facts["particles"]
        return facts | {
            "forget": options.forget,
            "spreads": [*options.spreads],
            "frozen": self.is_frozen,
        }

    def __repr__(self) -> str:
        return f"<LinearStream {self.model!r}: {self.n_seen} rows learned>"

    # ------------------------------------------------------------ files
    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        return learner_arrays("LinearStream", self.state, self.is_frozen)

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        options = LinearOptions(**header["options"])
        return cls.of_state(*learner_state(header, arrays, options, filters_in))
