"""Option objects and every check on them: constructors elsewhere only store."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from dyntree.errors import ArgumentError, Message
from dyntree.params.checks import (
    count,
    flag,
    one_of,
    pair,
    positive,
    real,
)
from dyntree.params.labels import checked_label, level_table
from dyntree.params.table import Option, check_options, documented, option, table_of

MODELS = ("constant", "linear", "class", "logit", "prior", "poisson", "negbin")
LABELS = ("class", "logit")  # whose responses are labels
SLOPES = ("linear", "logit")  # that are regressions on the columns
MIXED = "mixed"  # linear and constant leaves: a model of averages alone
# what clouds of an average may hold, where not all hold the same: the first by default
LEAVES = {MIXED: ("linear", "constant"), "class": ("class", "logit")}
COUNTS = ("poisson", "negbin")  # of events, whose rows have exposures
NATIVE_ONLY = ("logit", *COUNTS)  # models that R's package does not have
INTERCEPTS = ("implicit", "augmented", "none")
PROPOSALS = ("luvar", "luall", "reject")
NEW_LEVELS = ("grow", "missing", "error")
ENCODE_LEVELS = ("auto", "onehot", "effect")
RULES = ("native", "r")
BELOW = "must be below the number of columns, {n_features}"  # rule of first_split
MEMBER_SETS = ("light", "fast")  # of averages of a stream, by name
AUTO = "auto"  # the window that stands for an average of several
N_CLOUDS = 10  # that are averaged where rows are a table
N_AVERAGED = 100  # particles of each cloud where several are averaged
DRIFT_FORGET = 0.95  # the factor that `drift` stands for
N_SCALE = 10  # rows that fix the scale of regression under the native rules
DISCARDS = ("alc", "entropy", "age", "random")
WEIGHTINGS = ("variance", "frequency")
SCORES = ("alm", "alc", "ei", "ieci", "qei", "qentropy")

MAX_SEED = 2**32 - 1  # what R's set.seed can tell apart
MAX_PARTICLES = 2**30 - 1  # twice as many, after a rejuvenation, still fit an int32
MAX_THREADS = 2**16  # more than any machine has cores
MAX_ROWS = 2**30 - 1  # in a leaf or a window; twice as many fit an int32


def discount_factor(name: str, value: Any) -> float:
    """Return `value` as a float in (0, 1]."""
    factor = real(name, value)
    if not 0.0 < factor <= 1.0:
        raise ArgumentError(name, "must be in (0, 1]", value)
    return factor


def forget_factor(name: str, value: Any, rules: str) -> float:
    """Return a forgetting factor, in [0, 1], or (0, 1] under R's rules."""
    factor = real(name, value)
    if not 0.0 <= factor <= 1.0 or (factor == 0.0 and rules == "r"):
        interval = "(0, 1]" if rules == "r" else "[0, 1]"
        raise ArgumentError(
            name,
            "must be in {interval}, where 1 forgets nothing",
            value,
            interval=interval,
        )
    return factor


def n_threads(value: Any = None, name: str = "threads") -> int:
    """Return how many threads to use: `value`, or DYNTREE_NUM_THREADS, or one."""
    return n_jobs(value, name) or 1


def n_jobs(value: Any = None, name: str = "threads") -> int | None:
    """Return `value`, or DYNTREE_NUM_THREADS, or None if neither is set."""
    if value is not None:
        return count(name, value, 1, MAX_THREADS)
    text = os.environ.get("DYNTREE_NUM_THREADS")
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise ArgumentError(
            "DYNTREE_NUM_THREADS", f"must be an int >= 1 and <= {MAX_THREADS}", text
        )
    return int(text)


def tree_prior_of(name: str, value: Any) -> tuple[float, float]:
    """Return `value` as the two numbers of a tree prior."""
    alpha, beta = pair(name, value)
    if not 0.0 <= alpha < 1.0 or not beta > 0.0:
        raise ArgumentError(
            name, "must be (a, b) with 0 <= a < 1 and b > 0", (alpha, beta)
        )
    return alpha, beta


def window_size(name: str, value: Any, least: int, most: int) -> int:
    """Return the most rows of one window, an int from `least` to `most`."""
    if isinstance(value, str) and value == AUTO:
        remedy = "AveragedStream averages several windows by itself."
        raise ArgumentError(name, f"must be an int >= {least}", value, remedy)
    return count(name, value, least, most)


@dataclass(frozen=True)
class NIG:
    """A fixed prior for regression leaves (native rules).

    On the scale of the first rows, sigma^2 ~ IG(1/2, b0), and the slopes are
    N(0, sigma^2 / l) with l = 0.04 p for p columns. The level has a flat prior.

    Parameters
    ----------
    b0 : float, default 0.01
        Scale of the prior of the variance, > 0.
    """

    b0: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "b0", positive("b0", self.b0))


def check_two_labels(model: str, labels: Iterable[Any], argument: str) -> None:
    """Raise ArgumentError for more than two labels of a logistic model."""
    found = [*dict.fromkeys(labels)]
    if model == "logit" and len(found) > 2:
        raise ArgumentError(
            argument,
            "must have at most two labels with model='logit'",
            Message("{labels!r}", labels=found[:3]),
            "Use model='class' for more.",
        )


def _is_default(value: Any, default: Any) -> bool:
    """Whether an option has its default value, of whatever type."""
    return not isinstance(value, np.ndarray) and bool(value == default)


def meaning_of_weights(model: str, weighting: str | None) -> str:
    """Meaning of row weights in a model whose option is None by default."""
    counted = model in LABELS or model in COUNTS
    return weighting or ("frequency" if counted else "variance")


@documented
@dataclass(frozen=True)
class TreeOptions:
    """Checked options of one dynamic tree; some defaults depend on the width of X."""

    model: str = option(
        None, "model in the leaves; by default linear, of averages mixed, of named "
        "classes class, and constant by R's rules", shell="--model",
    )  # fmt: skip
    n_particles: int = option(
        1000, "trees in a cloud", count, 1, MAX_PARTICLES, shell="--particles N", r="N",
    )  # fmt: skip
    rules: str = option(
        "native", "rules of the filter; r gives the numbers of R's package", one_of,
        RULES, only_for="r", shell="--rules",
    )  # fmt: skip
    intercept: str = option(
        "implicit", "intercept of linear leaves", one_of, INTERCEPTS,
        only_for="linear", shell="--intercept",
    )  # fmt: skip
    proposal: str = option("luvar", "how splits are proposed", one_of, PROPOSALS)
    min_leaf: int | None = option(
        None, "fewest rows in a leaf; the default depends on model and columns", count,
        1, MAX_ROWS, shell="--min-leaf N", r="minp",
    )  # fmt: skip
    n_start: int | None = option(
        None, "rows from which the first tree is made", only_for="r"
    )
    tree_prior: tuple[float, float] | None = option(
        None, "numbers a and b, by which a leaf at depth d splits with the prior "
        "probability a (1 + d)^-b", tree_prior_of, r="ab",
    )  # fmt: skip
    variance_prior: tuple[float, float] = option(
        (0.0, 0.0), "degrees of freedom and scale of the leaf variance; (0, 0) is flat",
        pair, only_for="r",
    )  # fmt: skip
    first_split: int = option(
        0, "index of the first column that may be split on", count, 0, only_for="slopes"
    )
    n_basis: int | None = option(
        None, "leading columns that regressions in leaves use; default all", count, 1,
        only_for="slopes",
    )  # fmt: skip
    classes: tuple[Hashable, ...] | None = option(
        None, "labels of a classifier, in the order of the probabilities",
        only_for="class", shell="--classes A,B,...",
    )  # fmt: skip
    prior: str | NIG = option(
        "adaptive", "prior of regression leaves, which the cloud tunes, or a fixed one",
        only_for="native real",
    )  # fmt: skip
    class_mass: float = option(
        1.0,
        "total mass of the Dirichlet prior of labels",
        only_for="native class dirichlet",
    )
    max_retired_mass: float | None = option(
        None, "largest weight of a leaf's retired sums", only_for="native"
    )
    categories: tuple[tuple[str, tuple[str, ...]], ...] | None = option(
        None, "levels of a column of strings", only_for="native",
        shell="--levels COLUMN=A,B,...",
    )  # fmt: skip
    new_levels: str = option(
        "grow", "treatment of unnamed levels that come once there are trees: a new "
        "feature (if the column has no named ones), a missing value, or an error",
        one_of, NEW_LEVELS, only_for="native",
        shell="--new-levels",
    )  # fmt: skip
    encode_levels: str = option(
        "auto", "features of levels: one each, the effect of the level as one number, "
        "or both, by how many there are", one_of, ENCODE_LEVELS, only_for="native",
        shell="--encode-levels",
    )  # fmt: skip
    weighting: str | None = option(
        None, "meaning of weights: they divide the variance of real responses, or "
        "count rows; default variance, or frequency for labels", one_of, WEIGHTINGS,
        only_for="native real", shell="--weighting",
    )  # fmt: skip
    dispersion: float | None = option(
        None, "for negbin: the variance of a mean m is m + F m^2; default tuned",
        only_for="native count", shell="--dispersion F",
    )  # fmt: skip
    robust: bool = option(
        False, "give less weight to rows far outside of their prediction, until four "
        "in a row have shown that the stream has changed", flag,
        only_for="native real", shell="--robust",
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "model", self._leaves())
        if self.has_labels and self.weighting == "variance":
            raise ValueError(
                Message(
                    "weighting='variance' needs real responses: labels have no "
                    "variance; with model={model!r} weights are frequencies.",
                    model=self.model,
                )
            )
        if self.is_count and self.weighting == "variance":
            raise ValueError(
                Message(
                    "weighting='variance' needs real responses: the variance of "
                    "a count follows from its mean; with model={model!r} weights "
                    "are frequencies.",
                    model=self.model,
                )
            )
        if self.n_start is not None:
            count("n_start", self.n_start, self.min_leaf or 1, MAX_ROWS)
        nu0, s20 = self.variance_prior
        if nu0 < 0.0 or s20 < 0.0 or (nu0 == 0.0 and s20 > 0.0):
            raise ArgumentError(
                "variance_prior",
                "must be (df, scale), both >= 0, and (0, 0) where df is 0",
                self.variance_prior,
            )
        if self.model in NATIVE_ONLY:
            self._check_native_only()
        if self.is_count:
            self._check_count()
        elif self.dispersion is not None:
            raise ArgumentError(
                "dispersion",
                "is an option of model='negbin' only",
                self.dispersion,
                "Leave it out, or pass model='negbin'.",
            )
        if self.robust:
            self._check_robust()
        if self.model != "linear":
            self._refuse("linear", "model='linear' only", f"model={self.model!r}")
        if not self.has_slopes:
            home = "model='linear' and 'logit' only"
            self._refuse("slopes", home, f"model={self.model!r}")
        if self.model == "logit":
            self._refuse("dirichlet", "model='class' only", "model='logit'")
        if self.rules == "r":
            self._refuse("native", "rules='native'", "rules='r'")
        else:
            self._refuse_r()
        if self.categories is not None:
            object.__setattr__(self, "categories", level_table(self.categories))
        self._check_classes()

    def _leaves(self) -> str:
        """The model in the leaves, by default one that suits the other options."""
        if self.model is None:
            if self.classes is not None:
                return "class"
            return "constant" if self.rules == "r" else "linear"
        if self.model == MIXED:
            raise ArgumentError(
                "model",
                "must be one kind of leaf where there is one cloud of trees",
                self.model,
                "AveragedStream and AveragedTrees mix two kinds; or use 'linear'.",
            )
        return one_of("model", self.model, MODELS)

    @property
    def meaning_of_weights(self) -> str:
        """Meaning of row weights: "variance" or "frequency"."""
        return meaning_of_weights(self.model, self.weighting)

    @property
    def is_count(self) -> bool:
        """Whether responses are counts of events."""
        return self.model in COUNTS

    @property
    def has_labels(self) -> bool:
        """Whether responses are labels."""
        return self.model in LABELS

    @property
    def has_slopes(self) -> bool:
        """Whether leaves are regressions on the columns."""
        return self.model in SLOPES

    def _check_native_only(self) -> None:
        """Raise ValueError for options of R's leaves that such leaves lack."""
        if self.rules == "r":
            raise ValueError(
                Message(
                    "model={model!r} is for rules='native': CRAN dynaTree has no such "
                    "leaves.",
                    model=self.model,
                )
            )
        if isinstance(self.prior, NIG):
            raise ValueError(
                Message(
                    "prior=NIG(...) is for real responses; got it with "
                    "model={model!r}, whose prior follows the rows.",
                    model=self.model,
                )
            )

    def _check_count(self) -> None:
        """Raise ValueError for a dispersion that counts cannot have."""
        if self.dispersion is not None:
            if self.model == "poisson":
                raise ArgumentError(
                    "dispersion",
                    "is an option of model='negbin' only",
                    Message(
                        "{dispersion!r} with model='poisson', which has none",
                        dispersion=self.dispersion,
                    ),
                )
            object.__setattr__(
                self, "dispersion", positive("dispersion", self.dispersion)
            )

    def _check_robust(self) -> None:
        """Raise ValueError where rows cannot count by how far out they lie."""
        if self.model not in ("constant", "linear"):
            raise ValueError(
                Message(
                    "robust=True needs real responses, model='constant' or 'linear', "
                    "whose distance from the prediction has a unit; got it with "
                    "model={model!r}. Leave it out.",
                    model=self.model,
                )
            )
        if self.weighting == "frequency":
            raise ValueError(
                Message(
                    "robust=True gives outlying rows a larger variance, which is not "
                    "possible if weights are frequencies; got it with "
                    "weighting='frequency'. Leave one of them out."
                )
            )

    def _refuse_r(self) -> None:
        if self.n_start is not None:
            raise ArgumentError(
                "n_start",
                "is an option of rules='r'",
                self.n_start,
                "Native trees start from the first row.",
            )
        if self.variance_prior != (0.0, 0.0):
            raise ArgumentError(
                "variance_prior",
                "is an option of rules='r'",
                self.variance_prior,
                "Use prior=NIG(b0=...).",
            )
        if not isinstance(self.prior, NIG) and not _is_default(self.prior, "adaptive"):
            raise ArgumentError("prior", "must be 'adaptive' or NIG(...)", self.prior)
        object.__setattr__(self, "class_mass", positive("class_mass", self.class_mass))
        if self.max_retired_mass is not None:
            most = positive("max_retired_mass", self.max_retired_mass)
            object.__setattr__(self, "max_retired_mass", most)

    def _refuse(self, kind: str, home: str, here: str) -> None:
        """Raise ValueError where an option of a kind does not have its default."""
        for name in TREE_OPTIONS.keys() & only_for(kind):
            value = getattr(self, name)
            if not _is_default(value, getattr(TreeOptions, name)):
                raise ArgumentError(
                    name,
                    "is an option of {home}",
                    Message("{value!r} with {here}", value=value, here=here),
                    home=home,
                )

    def _check_classes(self) -> None:
        if self.classes is None:
            return
        if not self.has_labels:
            raise ArgumentError(
                "classes",
                "is an option of labels only, model='class' or 'logit'",
                self.classes,
                "Leave it out, or pass model='class'.",
            )
        if isinstance(self.classes, str) or not np.iterable(self.classes):
            raise ArgumentError("classes", "must be a sequence of labels", self.classes)
        labels = tuple(checked_label(label, "classes") for label in self.classes)
        if not labels or len(set(labels)) != len(labels):
            raise ArgumentError(
                "classes", "must name at least one label, each once", labels
            )
        check_two_labels(self.model, labels, "classes")
        object.__setattr__(self, "classes", labels)

    def least_rows(self, n_basis: int) -> int:
        """Fewest rows in a leaf: `min_leaf`, or its default for so many columns."""
        if self.min_leaf is not None:
            return self.min_leaf
        native = min(n_basis + 5, 2 * n_basis + 2)
        linear = 2 * n_basis + 4 if self.rules == "r" else native
        least = {
            "linear": linear, "class": 1, "logit": 5, "prior": 1,
            "poisson": 3, "negbin": 3,
        }  # fmt: skip
        return least.get(self.model, 4)

    def with_width(self, n_features: int, n_used: int | None = None) -> TreeOptions:
        """Return these options with every default filled in for this many columns.

        ``min_leaf`` comes from `least_rows`, for ``n_used`` columns if given: the
        number of the n_basis columns that have two values. Under R's rules ``n_start``
        is ``min_leaf``. ``tree_prior`` is (0.95, 2), or (0.95, 1) for leaves of real
        responses and counts of the native rules, and (0.95, 0.5) for logistic ones.
        """
        basis = n_features if self.n_basis is None else self.n_basis
        if basis > n_features:
            raise ArgumentError(
                "n_basis", f"must be at most the number of columns, {n_features}", basis
            )
        if self.first_split >= n_features:
            raise ArgumentError(
                "first_split",
                BELOW,
                self.first_split,
                n_features=n_features,
            )
        flatter = dict.fromkeys(("constant", "linear", *COUNTS), 1.0) | {"logit": 0.5}
        power = flatter.get(self.model, 2.0) if self.rules == "native" else 2.0
        least = self.least_rows(basis if n_used is None else n_used)
        start = self.n_start
        if self.rules == "r" and start is None:
            start = least
        if start is not None and start < least:
            raise ArgumentError("n_start", f"must be at least min_leaf, {least}", start)
        whole = copy(self)  # whose other options were checked
        vars(whole).update(
            min_leaf=least,
            n_start=start,
            tree_prior=self.tree_prior or (0.95, power),
            n_basis=basis if self.has_slopes else None,
        )
        return whole


@documented
@dataclass(frozen=True)
class StreamOptions:
    """Options of the online scheme, which runs a dynamic tree in a window."""

    window: int = option(
        500, "most rows to hold", window_size, 2, MAX_ROWS, shell="--window N"
    )
    discard: str | None = option(
        None, "which row retires; the default depends on the model", one_of, DISCARDS,
        shell="--discard",
    )  # fmt: skip
    forget: float = option(
        1.0, "factor in [0, 1] by which retired rows fade; default 1, no fading",
        forget_factor, "native", shell="--forget F",
    )  # fmt: skip
    rejuvenate_every: int | None = option(
        None, "rows between trees that are grown anew; 0 for never", count, 0, MAX_ROWS,
        shell="--rejuvenate-every N",
    )  # fmt: skip

    @classmethod
    def given(
        cls,
        window: int = 500,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
    ) -> StreamOptions:
        """Options as given by a user; `drift` sets the defaults of two others.

        Parameters
        ----------
        window, discard
            As above.
        forget : float in [0, 1], optional
            By default 1, or `DRIFT_FORGET` with `drift`.
        drift : bool, default False
            Whether the stream is expected to change.
        rejuvenate_every : int, optional
            As above. With `drift` it is `window` by default.

        Returns
        -------
        StreamOptions
        """
        drifts = flag("drift", drift)
        if forget is None:
            forget = DRIFT_FORGET if drifts else 1.0
        if rejuvenate_every is None and drifts:
            rejuvenate_every = window
        return cls(window, discard, forget, rejuvenate_every)

    def __post_init__(self) -> None:
        check_options(self)

    @cached_property
    def terms(self) -> tuple[int, str, float, int]:
        """Window, discard, forgetting and rejuvenation in the form used by the core."""
        assert self.discard is not None
        return self.window, self.discard, self.forget, self.rejuvenate_every or 0

    def for_model(self, options: TreeOptions) -> StreamOptions:
        """Return these options with every default of such a tree filled in.

        With `forget` below 1 and under R's rules, the oldest row is discarded.
        Otherwise it is the least informative row by ALC. For classes it is a random
        row, because random choice has a lower error than entropy (rotating XOR .186
        against .201; tests/statistical/native_tables.txt).

        Native regression with rows discarded by age or chance is rejuvenated once a
        window if `forget` is below 1, and once in three windows if not, so that it
        adapts even to a change that was not expected. The same holds for linear leaves
        with ALC. Constant leaves with ALC are not rejuvenated, because trees grown from
        the window alone are worse if nothing changes. Labels gain nothing from it.
        """
        discard, every = self.discard, self.rejuvenate_every
        native = options.rules == "native"
        if discard is None:
            if not native or self.forget < 1.0 or options.model == "prior":
                discard = "age"
            else:
                discard = "random" if options.has_labels else "alc"
        if every is None:
            slides = discard in ("age", "random") or options.model == "linear"
            regression = options.model in ("constant", "linear", *COUNTS)
            windows = 1 if self.forget < 1.0 else 3
            every = windows * self.window if native and regression and slides else 0
        return replace(self, discard=discard, rejuvenate_every=every)

    def check_model(self, options: TreeOptions) -> None:
        """Raise ValueError where the online scheme cannot run on such a tree."""
        forget_factor("forget", self.forget, options.rules)
        if (
            options.rules == "r"
            and options.model == "linear"
            and options.intercept == "implicit"
        ):
            raise ValueError(
                Message(
                    "a window needs leaves that can retire rows, which is impossible "
                    "with intercept='implicit'; use intercept='augmented'."
                )
            )
        if self.discard == "entropy" and not options.has_labels:
            raise ValueError(
                Message(
                    "discard='entropy' needs labels, model='class' or 'logit'; got "
                    "model={model!r}. Use 'alc', 'age' or 'random'.",
                    model=options.model,
                )
            )
        if self.discard == "alc" and options.has_labels:
            raise ValueError(
                Message(
                    "discard='alc' needs a real response; got model={model!r}. Use "
                    "'entropy', 'age' or 'random'.",
                    model=options.model,
                )
            )
        basis = options.n_basis or 1  # while the width is not known
        least = options.n_start or options.least_rows(basis)
        if self.window <= least:
            name = "n_start" if options.rules == "r" else "min_leaf"
            fewer = (
                ", an n_basis of fewer columns, or model='constant'"
                if basis > 1
                else ""
            )
            raise ArgumentError(
                "window",
                "must be larger than {label}, {least}",
                self.window,
                "Give a larger window, a smaller {label}{fewer}.",
                label=name,
                least=least,
                fewer=fewer,
            )


def defaults_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """Names of all accepted options, with their defaults."""
    return {name: one.default for name, one in signature(maker).parameters.items()}


TREE_OPTIONS = defaults_of(TreeOptions)
STREAM_OPTIONS = defaults_of(StreamOptions.given)
OPTIONS = table_of(TreeOptions) | table_of(StreamOptions)
OPTIONS["model"] = replace(OPTIONS["model"], check=(one_of, (MIXED, *MODELS)))
OPTIONS["drift"] = Option("follow a changing stream", (flag,), shell="--drift")


def only_for(*kinds: str) -> set[str]:
    """Names of the options that only models or rules of these kinds have."""
    return {name for name, one in OPTIONS.items() if {*kinds} & {*one.only_for}}


def given_options(
    arguments: Mapping[str, Any], *kinds: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a function that are options.

    Parameters
    ----------
    arguments : mapping
        Such as ``locals()`` at the head of a function.
    *kinds : mapping
        `TREE_OPTIONS`, `STREAM_OPTIONS`, or other names.

    Returns
    -------
    dict

    Examples
    --------
    >>> given_options({"self": 0, "window": 50, "X": 1}, STREAM_OPTIONS)
    {'window': 50}
    """
    return {
        name: arguments[name] for kind in kinds for name in kind if name in arguments
    }
