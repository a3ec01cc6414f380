"""Several fits beside one another, and one formula on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.offsets import prediction_of
from dyntree.api.order_evidence import evidence_over_orders, warn_of_heavy_rows
from dyntree.api.results import DynamicTreeResults
from dyntree.encoding.targets import label_codes
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.evaluate.scores import class_scores, real_scores
from dyntree.params.names import check_accepted
from dyntree.runtime.parallel import Brake, side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import ClassPrediction

if TYPE_CHECKING:
    import pandas as pd

FIRST_ROWS = 10  # of real responses, with the last of which trees are planted


def compare(
    fits: Mapping[str, DynamicTreeResults] | Sequence[DynamicTreeResults],
    *,
    n_repeats: int = 10,
    level: float = 0.9,
    seed: int | None = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> pd.DataFrame:
    """Compare fits to the same responses by their log evidence and its standard error.

    The log evidence of a cloud of particles depends on its seed and on the order of the
    rows, usually by several nats. Every model is therefore fitted `n_repeats` times,
    each time with another seed and another random order of the rows. The orders are the
    same for all models. The mean log evidence is reported, with its standard error. A
    log Bayes factor is meaningful only if it is several times its own standard error.

    Parameters
    ----------
    fits : dict of str to DynamicTreeResults, or sequence of them
        Fits of models that have data and the same responses. Those of a sequence are
        numbered.
    n_repeats : int, default 10
        Number of fits of each model, at least 2. The first repeat uses the rows in the
        order of the data.
    level : float in (0, 1), default 0.9
        Probability of the intervals whose coverage is reported.
    seed : int or None, default 0
        Seed from which the seeds and orders derive. None draws one from the system.
    threads : int, optional
        Number of fits at a time, as in `fit_repeats`.
    progress
        As in `DynamicTree.update`, counted over all fits.

    Returns
    -------
    DataFrame
        One row for each fit, the one with the highest evidence first, with columns

        - `log_evidence`, its mean over the repeats, and `log_evidence_se`;
        - `log_evidence_sd`, its standard deviation over seeds and orders;
        - `log_bayes_factor` against the first row, the mean of the differences of
          repeats with the same order, and `log_bayes_factor_se`;
        - `log_density`, the mean log predictive density of a row one step ahead in the
          fit itself (for real responses, from the eleventh row on, unless rows occur
          several times and are learned in pieces);
        - `coverage` of the central intervals of these predictions;
        - `leaves`, the mean number of leaves of the trees of the fit.

    Raises
    ------
    ValueError
        If fits have no data, or differ in their responses.

    Warns
    -----
    HeavyRowsWarning
        If rows of a stream counted so often that evidence depends on their order.

    Notes
    -----
    If one of the fits has a window, the order of the rows is part of the model. All
    models then learn the rows in the order given, and repeats differ in their seeds
    only.

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> rng = np.random.default_rng(1)
    >>> x = rng.random(80)
    >>> data = {"x": x, "z": rng.random(80), "y": 4 * x + rng.normal(size=80)}
    >>> fits = {
    ...     formula: dtf.dynamic_tree(
    ...         formula, data, model="linear", n_particles=50, seed=1
    ...     ).fit()
    ...     for formula in ("y ~ x", "y ~ z")
    ... }
    >>> table = dtf.compare(fits, n_repeats=3)
    >>> list(table.index)
    ['y ~ x', 'y ~ z']
    >>> bool(table["log_bayes_factor"].iloc[1] < -10)
    True
    """
    import pandas as pd

    check_progress(progress)
    n_repeats = params.count("n_repeats", n_repeats, 2)
    n_jobs = params.n_jobs(threads)
    named = _named(fits)
    evidence = evidence_over_orders(
        [fit.model for fit in named.values()],
        n_repeats,
        seed=given_or_drawn(seed),
        n_jobs=n_jobs,
        progress=progress,
    )
    for fit in named.values():
        warn_of_heavy_rows(fit.tree, fit.row_counts)
    best = int(evidence.mean(axis=1).argmax())
    seen = [fit.one_step_ahead() for fit in named.values()]
    known = np.logical_and.reduce([one.is_predicted for one in seen])
    if seen[0].classes is None and seen[0].weights is None:
        known[:FIRST_ROWS] = False  # what they add is counted with the last of them
    factors, root = evidence - evidence[best], np.sqrt(n_repeats)
    table = pd.DataFrame(
        {
            "log_evidence": evidence.mean(axis=1),
            "log_evidence_se": evidence.std(axis=1, ddof=1) / root,
            "log_evidence_sd": evidence.std(axis=1, ddof=1),
            "log_bayes_factor": factors.mean(axis=1),
            "log_bayes_factor_se": factors.std(axis=1, ddof=1) / root,
            "log_density": [_mean(one.log_density[known]) for one in seen],
            "coverage": [one.coverage(level) for one in seen],
            "leaves": [float(fit.inner.stats().n_leaves) for fit in named.values()],
        },
        index=pd.Index(list(named)),
    )
    return table.sort_values("log_evidence", ascending=False, kind="stable")


def _mean(values: Vector) -> float:
    """Mean of values, NaN of none."""
    return float(values.mean()) if len(values) else float("nan")


def _named(fits: Any) -> dict[Any, DynamicTreeResults]:
    """Fits by name or number, known to be of the same responses."""
    if not isinstance(fits, Mapping | Sequence):
        raise ArgumentError("fits", "must be a dict or a list of results", fits)
    named = dict(fits) if isinstance(fits, Mapping) else dict(enumerate(fits))
    if not named:
        raise ArgumentError("fits", "must hold one fit at least", Message("none"))
    for name, fit in named.items():
        if not isinstance(fit, DynamicTreeResults):
            raise ArgumentError(
                "fits",
                "must be results of formulas",
                Message("{fit!r} for {name!r}", fit=fit, name=name),
            )
        if fit.model.endog is None:
            raise ArgumentError(
                "fits",
                "must have data; {label!r} has none, because it was loaded from a "
                "file or its data were removed",
                label=name,
            )
    first = next(iter(named))
    for name, fit in named.items():
        if not _same_rows(next(iter(named.values())), fit):
            raise ArgumentError(
                "fits",
                "must have the same responses, row by row, with the same weights; "
                "otherwise their densities cannot be compared",
                remedy=(
                    "Those of {label!r} differ from those of {first!r}; a missing "
                    "value or a weight of 0 may have left out rows, or freq_weights "
                    "differ."
                ),
                label=name,
                first=first,
            )
    return named


def _same_rows(one: DynamicTreeResults, other: DynamicTreeResults) -> bool:
    """Whether fits learned the same responses as often."""
    if not np.array_equal(one.row_counts, other.row_counts):
        return False
    counted = one.model.counted
    assert one.model.endog is not None
    assert other.model.endog is not None
    return np.array_equal(one.model.endog[counted], other.model.endog[counted])


def cross_val(
    formula: str,
    data: Any,
    *,
    n_folds: int = 5,
    level: float = 0.9,
    seed: int | None = 0,
    threads: int | None = None,
    progress: Progress = None,
    **options: Any,
) -> pd.DataFrame:
    """Cross-validate a formula: fit it to all folds but one, and score that one.

    Everything that a formula learns from data is learned from the training rows alone:
    levels, knots, means and spreads as well as trees.

    Parameters
    ----------
    formula, data
        As in `dynamic_tree`.
    n_folds : int, default 5
        Number of folds, at least 2. Rows are assigned at random, and each fold has the
        same share of each label.
    level : float in (0, 1), default 0.9
        Probability of the intervals that are scored.
    seed : int or None, default 0
        Seed of the folds, and of the trees unless `options` has a seed.
    threads : int, optional
        Number of fits at a time, as in `fit_repeats`.
    progress
        As in `DynamicTree.update`, counted over the folds.
    **options
        Options of `dynamic_tree`, such as ``model="linear"``, ``missing="drop"`` or
        ``n_clouds=10``.

    Returns
    -------
    DataFrame
        One row for each fold, with the scores of its held-out rows, as in
        `evaluate.RealScores` or `evaluate.ClassScores`. If rows have weights, the
        scores are weighted by them, and rows of weight 0 are in no fold. The ``mean()``
        of the table is the score of the model, and ``sem()`` roughly its standard
        error.

    Raises
    ------
    ValueError
        As in `dynamic_tree`, or if there are more folds than rows.

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> rng = np.random.default_rng(1)
    >>> x = rng.random(100)
    >>> data = {"x": x, "y": 4 * x + rng.normal(size=100)}
    >>> scores = dtf.cross_val("y ~ x", data, model="linear", n_particles=50)
    >>> scores.shape, bool(scores["rmse"].mean() < 1.3)
    ((5, 5), True)
    """
    from dataclasses import asdict

    import pandas as pd

    check_progress(progress)
    n_folds = params.count("n_folds", n_folds, 2)
    n_jobs = params.n_jobs(threads)
    share = params.real("level", level)
    if not 0.0 < share < 1.0:
        raise ArgumentError("level", "must be in (0, 1)", level)
    accepted = signature(DynamicTreeModel.from_formula).parameters
    names = (*signature(cross_val).parameters, *accepted)
    check_accepted("cross_val", options, names)
    own = given_or_drawn(seed)
    options = {"seed": own} | options
    whole = DynamicTreeModel.from_formula(formula, data, **options)
    assert whole.endog is not None
    if n_folds > whole.nobs:
        raise ArgumentError(
            "n_folds",
            "must be at most the number of rows, {nobs}",
            n_folds,
            nobs=whole.nobs,
        )
    fold = np.full(len(whole.endog), -1.0)  # rows of weight 0 are in none
    counted = np.flatnonzero(whole.counted)
    fold[counted] = _folds(whole.endog[counted], n_folds, whole.design.is_class, own)
    shared = {name: value for name, value in options.items() if name != "subset"}
    jobs = [(whole, formula, shared, fold == k, share) for k in range(n_folds)]
    with rows_bar(progress, n_folds, "folds", "fold") as tell:
        found = side_by_side(_score, jobs, n_jobs, lambda: tell(1))
    index = pd.RangeIndex(n_folds, name="fold")
    return pd.DataFrame([asdict(scores) for scores in found], index=index)


def _folds(y: Any, n_folds: int, is_class: bool, seed: int) -> Vector:
    """Fold of each row, at random; labels in equal shares."""
    order = np.random.default_rng(seed).permutation(len(y))
    if is_class:
        place = {label: k for k, label in enumerate(dict.fromkeys(y))}
        codes = np.array([place[label] for label in y])
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(y))
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _score(
    whole: DynamicTreeModel,
    formula: str,
    options: dict[str, Any],
    held_out: Any,
    level: float,
    brake: Brake,
) -> Any:
    """Scores of the held-out rows, by a fit to the others."""
    assert whole.data is not None
    assert whole.table is not None
    assert whole.endog is not None
    weights = whole.weights
    for name in ("weights", "freq_weights"):
        given = options.get(name)
        if weights is not None and given is not None and not isinstance(given, str):
            options = options | {name: weights}  # of the rows that are left
    options = options | dict(whole.offset_values)  # of the rows that are left, too
    model = DynamicTreeModel.from_formula(
        formula, whole.data.frame, subset=~held_out, **options
    )
    fit = model.fit(progress=brake)
    rows = fit.design.encode(whole.table.take(np.flatnonzero(held_out)))
    own = None if weights is None else weights[held_out]
    divides = fit.inner.options.meaning_of_weights == "variance"
    shift = None if whole.shift is None else whole.shift[held_out]
    answer = prediction_of(fit.tree, rows, shift, own if divides else None)
    y = whole.endog[held_out]
    if isinstance(answer, ClassPrediction):
        labels = tuple(dict.fromkeys([*answer.classes, *y]))
        codes = label_codes(list(y), labels).astype(np.int64)
        proba = np.zeros((len(y), len(labels)))
        proba[:, : len(answer.classes)] = answer.proba
        with np.errstate(divide="ignore"):
            density = np.log(proba[np.arange(len(y)), codes])
        known = codes < len(answer.classes)
        return class_scores(codes, proba, density, known, own)
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    return real_scores(
        y, answer.mean, answer.log_density(y), answer.quantile(tails), level, own
    )
