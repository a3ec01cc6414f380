"""Prequential evaluation: predict each row, score it, then learn it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, take
from dyntree.encoding.row_alignment import (
    check_paired,
    rows_and_responses,
    warn_of_times,
)
from dyntree.encoding.targets import Exposed, label_codes
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, LearnedRowsWarning, Message, warn
from dyntree.evaluate.alarm import AlarmedRows, ChangeAlarm
from dyntree.evaluate.bad_rows import GoodRows, OnBadRows, check_on_bad_rows, good_rows
from dyntree.evaluate.baselines import class_baseline, count_baseline, real_baseline
from dyntree.evaluate.scores import (
    ClassScores,
    Codes,
    RealScores,
    class_scores,
    real_scores,
)
from dyntree.runtime.online import Learner, OnlineModel, check_online_model
from dyntree.runtime.parallel import Brake, side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.records import Record
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.base import TreeModel
from dyntree.trees.learning.exposures import apart, refuse_exposure, with_exposure
from dyntree.trees.learning.weights import check_weights, refuse_r

FEWEST_STORED = 5  # rows of a model, which tell whether it has learned those to come


@dataclass(frozen=True, eq=False, repr=False)
class Prequential(Record):
    """Prequential predictions and scores of a stream, row by row.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_scored,)
        Which rows of the stream were scored.
    y : ndarray of shape (n_scored,)
        Responses, or labels as places in `classes`.
    mean : ndarray of shape (n_scored,) or (n_scored, n_classes)
        Predictive means, or probabilities, which are 0 for labels that were not known
        yet.
    log_density : ndarray of shape (n_scored,)
        Log predictive density, or probability, of each response. Where labels were not
        known yet, it is a masked array of NumPy's: these rows are masked, and its means
        and sums leave them out.
    interval : ndarray of shape (n_scored, 2) or None
        Central predictive intervals of real responses.
    classes : tuple or None
        The labels that the model knows at the end, followed by those that a frozen
        model met but did not learn.
    scores, baseline : ClassScores or RealScores
        Scores of the model, and of a trivial model that uses only the earlier
        responses.
    seconds_per_row : float
        Time to predict and learn a row.
    weights : ndarray of shape (n_scored,) or None
        Weights of the rows in the scores, if weights were given.
    tail_probability : ndarray of shape (n_scored,) or None
        Tail probability of each response under its prediction, small if the response
        was anomalous; see `Prediction` and `ClassPrediction`.
    alarms : ndarray of int64 of shape (n_alarms,) or None
        Rows of the stream that gave an alarm, if `alarm` was given.
    bad_rows : dict of int to str
        The numbers of the rows that were skipped because of `on_bad_rows`, and the
        reasons.
    """

    _hints = MappingProxyType(
        dict.fromkeys(
            ("error", "accuracy", "mse", "mae", "score"),
            "scores.error is of labels, scores.rmse of numbers.",
        )
    )
    _nested = ("scores",)

    rows: Codes
    y: Vector
    mean: Vector
    log_density: Vector
    interval: Vector | None
    classes: tuple[Hashable, ...] | None
    scores: ClassScores | RealScores
    baseline: ClassScores | RealScores
    seconds_per_row: float
    weights: Vector | None = None
    tail_probability: Vector | None = None
    alarms: Codes | None = None
    bad_rows: dict[int, str] = field(default_factory=dict)

    @property
    def n_new_labels(self) -> int:
        """Number of scored rows whose label the model could not know."""
        return int(np.ma.getmaskarray(self.log_density).sum())

    @property
    def losses(self) -> Vector:
        """Loss of each row: 1 for a wrong label, or the squared error."""
        if self.classes is None:
            return np.asarray((self.y - self.mean) ** 2)
        return np.asarray(self.mean.argmax(axis=1) != self.y, dtype=np.float64)

    def rolling(self, window: int) -> Vector:
        """Mean loss over the last `window` scored rows, shape (n_scored,)."""
        window = params.count("window", window, 1)
        sums = np.concatenate([[0.0], np.cumsum(self.losses)])
        ends = np.arange(1, len(sums))
        starts = np.maximum(0, ends - window)
        mean: Vector = (sums[ends] - sums[starts]) / (ends - starts)
        return mean

    def to_dict(self) -> dict[str, Any]:
        """Scores, baseline and time as plain numbers."""
        return {
            **asdict(self.scores),
            "baseline": asdict(self.baseline),
            "seconds_per_row": self.seconds_per_row,
        }


def prequential(
    model: Learner,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    start: int = 0,
    delay: int = 0,
    level: float = 0.9,
    alarm: ChangeAlarm | None = None,
    on_alarm: Callable[[int], object] | None = None,
    on_bad_rows: OnBadRows = "raise",
    progress: Progress = None,
) -> Prequential:
    """Evaluate a model on a stream: each row is predicted, scored, then learned.

    Parameters
    ----------
    model : DynamicTree, StreamingTree, or another Learner
        A model, or the results of a formula. It learns the rows as a side effect,
        unless it is frozen. Scores of rows that it has learned before are too good:
        pass a new model, or later rows. There is a warning if all rows that the model
        stores are among those to be predicted.
    X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        Rows in any form that the model takes. For results of a formula this is the raw
        data; levels that are new to the formula count as missing. Without `y` it is an
        iterable of pairs, of a row and its response: a list, a generator, or a dataset
        of river's. It is read to its end before the first row is learned.
    y : array_like of shape (n_rows,), optional
        Responses or labels, unless X has them. Native models accept new labels, and
        `ClassScores` says how these are scored. Under R's rules all labels must be
        known to the model.
    sample_weight : array_like of shape (n_rows,) or float, optional
        Weights >= 0 of the rows, for models of trees. They are used to learn the rows
        and in all scores, also those of the baseline, which itself learns without
        weights. If weights divide variances, a response is predicted with the variance
        of its weight. Rows of weight 0 are predicted, but neither learned nor scored.
    exposure : array_like of shape (n_rows,) or float, optional
        Exposures of counts, used to predict and to learn them; by default 1.
    start : int, default 0
        First row that is scored. The rows before it are learned in one call. Rows
        before the model can predict are learned and not scored.
    delay : int, default 0
        Number of rows between a row and its response. Row t is learned after row
        t + delay was predicted, and the last rows are learned at the end. River counts
        the steps to the response, which are one more.
    level : float in (0, 1), default 0.9
        Probability of the intervals.
    alarm : ChangeAlarm, optional
        Receives the tail probability of each scored row after the row was learned.
    on_alarm : callable, optional
        Called with the number of a row that gives an alarm. An exception that it raises
        ends the evaluation.
    on_bad_rows : {"raise", "skip"} or callable, default "raise"
        What to do with rows that the model refuses, for instance because of text among
        numbers, an infinite value, a response of the wrong type, or a negative weight.
        With "skip" such rows are neither predicted nor scored nor learned, and
        `bad_rows` of the result lists them. A function also skips them; it is called
        with the number of each such row and a ValueError with the reason, and may
        raise. To find bad rows, a copy of the model learns the stream first.
    progress : bool, callable or None, default None
        As in `DynamicTree.update`.

    Returns
    -------
    Prequential

    Raises
    ------
    ValueError
        If the input is bad, before any row is learned; also if no row could be scored
        or all rows are bad.

    Examples
    --------
    >>> import dyntree
    >>> from dyntree.datasets import load_mcycle
    >>> data = load_mcycle()
    >>> tree = dyntree.DynamicTree(rules="r", n_particles=200, seed=1)
    >>> seen = prequential(tree, data[["times"]], data["accel"], start=50)
    >>> seen.scores.n_rows
    83
    >>> seen.scores.rmse < seen.baseline.rmse
    True
    >>> pairs = (({"x": k % 7}, 2.0 * (k % 7)) for k in range(90))
    >>> tree = dyntree.StreamingTree(window=40, n_particles=50, seed=1)
    >>> prequential(tree, pairs, start=50).scores.n_rows
    40
    """
    check_progress(progress)
    start = params.count("start", start, 0)
    delay = params.count("delay", delay, 0)
    alarmed = AlarmedRows(alarm, on_alarm)
    share = params.real("level", level)
    if not 0.0 < share < 1.0:
        raise ArgumentError("level", "must be in (0, 1)", level)
    check_on_bad_rows(on_bad_rows)
    _check_learner(_who_learns(model), sample_weight, exposure)
    X, y = rows_and_responses(X, y)
    if on_bad_rows != "raise":
        return _on_good_rows(
            model, X, y, sample_weight, exposure, start, delay, level, alarm, on_alarm,
            on_bad_rows, progress,
        )  # fmt: skip
    model, X = _learner(model, X)
    if exposure is not None:
        trees = getattr(model, "tree", model)  # of a recorder, too
        y = with_exposure(_tree_options(trees, "exposure"), X, y, exposure)
    if not hasattr(model, "key"):  # each of whose keys has times of its own
        warn_of_times(X, model.state.warned if hasattr(model, "state") else set())
    rows, y = model.preview(X, y, start)
    n_rows = len(y)
    delay = min(delay, n_rows)
    check_paired(X, sample_weight, "sample_weight")
    weights, own = _weights_for(model, sample_weight, n_rows)
    if start >= n_rows:
        raise ArgumentError(
            "start", f"must be below the number of rows, {n_rows}", start
        )
    _warn_if_learned(model, rows, y)
    tails = [(1.0 - share) / 2.0, (1.0 + share) / 2.0]
    scored: list[int] = []
    forecasts: list[RowForecast] = []
    n_passed = 0  # rows of those scored that the alarm has passed
    clock = time.perf_counter()
    with rows_bar(progress, n_rows, "prequential") as tell:
        if start:
            _learn(model, take(X, slice(start)), y, weights, slice(start))
            tell(start)
            clock = time.perf_counter()
        for t in range(start, n_rows + delay):
            if t < n_rows and model.is_ready:
                scored.append(t)
                over = {"exposure": y[t].exposure} if isinstance(y[t], Exposed) else {}
                answer = model.predict(take(rows, slice(t, t + 1)), *own(t), **over)
                forecasts.append(_forecast(answer, y[t], tails))
            if t - delay >= start:
                due = slice(t - delay, t - delay + 1)
                row = take(rows if model.is_ready else X, due)
                _learn(model, row, y, weights, due)
                if n_passed < len(scored) and scored[n_passed] == t - delay:
                    if weights is None or weights[t - delay] > 0.0:
                        alarmed.take(t - delay, forecasts[n_passed].tail_probability)
                    n_passed += 1
                tell(1)
    clock = time.perf_counter() - clock
    counted = None if weights is None else weights[scored]
    if not scored or (counted is not None and not counted.any()):
        raise ValueError(
            Message(
                f"no row was scored: the model needs more than the {n_rows} rows "
                "given, and some rows need a weight above 0."
            )
        )
    seconds = clock / (n_rows - start)
    at = np.array(scored)
    known = np.maximum(at - delay, start)
    if model.classes is None:
        seen = _real_record(y, at, known, forecasts, share, seconds, counted)
    else:
        classes = tuple(dict.fromkeys([*model.classes, *y]))
        seen = _class_record(classes, y, at, known, forecasts, seconds, counted)
    return replace(
        seen,
        tail_probability=np.array([row.tail_probability for row in forecasts]),
        alarms=None if alarm is None else np.array(alarmed.rows, dtype=np.int64),
    )


def _check_learner(model: Any, sample_weight: Any, exposure: Any) -> None:
    """Raise ValueError for what is no model, or knows no weights or exposures."""
    check_online_model("model", model, Learner)
    if hasattr(model, "score_samples"):
        raise ArgumentError(
            "model",
            "must predict responses; {kind} has none",
            remedy="Use prequential_density(model, X).",
            kind=type(model).__name__,
        )
    if exposure is not None:
        refuse_exposure(_tree_options(getattr(model, "tree", model), "exposure"))
    if sample_weight is not None:
        refuse_r(_tree_options(model, "sample_weight"))


def _on_good_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    exposure: Any,
    start: int,
    delay: int,
    level: float,
    alarm: ChangeAlarm | None,
    on_alarm: Callable[[int], object] | None,
    on_bad_rows: OnBadRows,
    progress: Progress,
) -> Prequential:
    """What `prequential` does where bad rows are no error."""
    good = good_rows(model, X, y, sample_weight, exposure, start)
    if callable(on_bad_rows):
        for row, reason in good.bad.items():
            on_bad_rows(row, ValueError(reason))
    heard = on_alarm
    if on_alarm is not None and good.rows is not None:
        rows, tell = good.rows, on_alarm
        heard = lambda row: tell(int(rows[row]))  # noqa: E731
    seen = prequential(
        model, good.X, good.y, sample_weight=good.sample_weight, exposure=good.exposure,
        start=good.start, delay=delay, level=level, alarm=alarm, on_alarm=heard,
        progress=progress,
    )  # fmt: skip
    return _renumbered(seen, good)


def _renumbered(seen: Prequential, good: GoodRows) -> Prequential:
    """A record of good rows, with the numbers that they have in the whole stream."""
    if good.rows is None:
        return seen
    alarms = None if seen.alarms is None else good.rows[seen.alarms]
    return replace(seen, rows=good.rows[seen.rows], bad_rows=good.bad, alarms=alarms)


def _weights_for(
    model: Any, sample_weight: Any, n_rows: int
) -> tuple[Vector | None, Callable[[int], tuple[float, ...]]]:
    """Weights of the rows, and those that predictions take."""
    if sample_weight is None:
        return None, lambda row: ()
    options = _tree_options(model, "sample_weight")
    weights = check_weights(sample_weight, n_rows)
    if not weights.any():
        raise ArgumentError(
            "sample_weight", "must not be zero in all rows", Message("0 in each")
        )
    if options.meaning_of_weights == "frequency":
        return weights, lambda row: ()
    return weights, lambda row: (float(weights[row]) or 1.0,)


def _tree_options(model: Any, name: str) -> Any:
    """Options of a model of trees; an error for what such models alone know."""
    if not isinstance(model, TreeModel):
        raise ArgumentError(
            name,
            "is for models of trees",
            Message("it with a {kind}", kind=type(model).__name__),
        )
    return model.state.options


def _learn(
    model: Any, X: Any, y: list[Any], weights: Vector | None, rows: slice
) -> None:
    """Let a model learn some rows, those in X, if one of them weighs anything."""
    if weights is None:
        model.update(X, y[rows], progress=False)
    elif weights[rows].any():
        model.update(X, y[rows], weights[rows], progress=False)


def _warn_if_learned(model: Any, rows: Any, y: list[Any]) -> None:
    """Warn if all rows that a model of trees stores are among those to be predicted.

    Where rows are often equal, so that this says nothing, there is no warning.
    """
    states = getattr(model, "states", ())
    ready = [one for one in states if one.cloud is not None and one.n_active]
    if not ready or not isinstance(rows, Encoded):
        return
    state = max(ready, key=lambda one: one.n_active)
    X, responses = state.cloud.rows()
    X = np.asarray(X)[:, state.ones :]
    stored = {*_as_bytes(X, responses)}
    if X.shape[1] != rows.rows.shape[1] or len(stored) < FEWEST_STORED:
        return
    if (classes := state.options.classes) is not None:
        place = {label: k for k, label in enumerate(classes)}
        numbers = [float(place.get(label, -1)) for label in y]
    else:
        numbers = [one.events if isinstance(one, Exposed) else one for one in y]
    asked = [*_as_bytes(rows.rows, numbers)]
    if stored <= {*asked} and len({*asked}) > 0.9 * len(asked):
        warn(
            LearnedRowsWarning,
            "the model has learned {n_seen} rows, and those that it stores are all "
            "among the rows to be predicted: scores of rows that it knows are too "
            "good. Pass a new model, or later rows.",
            n_seen=model.n_seen,
        )


def _as_bytes(X: Any, y: Any) -> Iterator[bytes]:
    """Rows with their responses, to be compared."""
    for row, response in zip(np.asarray(X, dtype=np.float64), y, strict=True):
        yield row.tobytes() + str(float(response)).encode()


def prequential_each(
    models: Mapping[str, OnlineModel],
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    start: int = 0,
    delay: int = 0,
    level: float = 0.9,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    threads: int | None = None,
    progress: Progress = None,
) -> dict[str, Prequential]:
    """Evaluate copies of several models on one stream; the models do not change.

    Parameters
    ----------
    models : mapping of str to DynamicTree, StreamingTree or another OnlineModel
        The models by name, for instance streams with several windows. Only copies of
        them learn.
    X, y, sample_weight, exposure, start, delay, level
        As in `prequential`.
    on_bad_rows : {"raise", "skip"}, default "raise"
        As in `prequential`. Each model skips the rows that it refuses itself, and its
        result lists them.
    threads : int, optional
        Number of models that run at the same time, as in `fit_repeats`. An enclosing
        ``joblib.parallel_config`` may send them to processes or a cluster.
    progress : bool, callable or None, default None
        As in `DynamicTree.update`, over the models.

    Returns
    -------
    dict of str to Prequential
        The results in the order of `models`; `compare` makes a table of them.

    Raises
    ------
    ValueError
        If the input is bad.

    Examples
    --------
    >>> from dyntree import StreamingTree
    >>> from dyntree.datasets import load_mcycle
    >>> from dyntree.evaluate import prequential_each
    >>> data = load_mcycle()
    >>> windows = {
    ...     str(n): StreamingTree(window=n, n_particles=50, seed=1) for n in (20, 60)
    ... }
    >>> seen = prequential_each(windows, data[["times"]], data["accel"], start=50)
    >>> list(seen), seen["60"].scores.n_rows
    (['20', '60'], 83)
    """
    check_progress(progress)
    n_jobs = params.n_jobs(threads)
    if not isinstance(models, Mapping) or not models:
        raise ArgumentError("models", "must be a dict of some models", models)
    start = params.count("start", start, 0)
    params.one_of("on_bad_rows", on_bad_rows, ("raise", "skip"))
    for name, model in models.items():
        check_online_model(f"models[{name!r}]", _who_learns(model))
        _check_learner(_who_learns(model), sample_weight, exposure)
    given = *rows_and_responses(X, y), sample_weight, exposure, start
    streams = [
        good_rows(model, *given) if on_bad_rows == "skip" else GoodRows(*given)
        for model in models.values()
    ]
    jobs = [
        (*_learner(model, one.X), one.y, one.sample_weight, one.exposure, one.start,
         delay, level)
        for model, one in zip(models.values(), streams, strict=True)
    ]  # fmt: skip
    with rows_bar(progress, len(jobs), "models") as tell:
        seen = side_by_side(_evaluated, jobs, n_jobs, lambda: tell(1))
    return dict(zip(models, map(_renumbered, seen, streams), strict=True))


def _learner(model: Any, X: Any) -> tuple[Any, Any]:
    """The trees of results, and raw data as their features; else what was given."""
    return model.as_learner(X) if hasattr(model, "as_learner") else (model, X)


def _who_learns(model: Any) -> Any:
    """The trees of results; else the model itself."""
    return model.tree if hasattr(model, "as_learner") else model


def _evaluated(
    model: OnlineModel,
    X: Any,
    y: Any,
    sample_weight: Any,
    exposure: Any,
    start: int,
    delay: int,
    level: float,
    brake: Brake,
) -> Prequential:
    return prequential(
        model.copy(), X, y, sample_weight=sample_weight, exposure=exposure, start=start,
        delay=delay, level=level, progress=brake,
    )  # fmt: skip


def _real_record(
    y: list[Any],
    scored: Codes,
    known: Codes,
    forecasts: list[RowForecast],
    level: float,
    seconds: float,
    weights: Vector | None,
) -> Prequential:
    """Scores of the responses predicted, and of the trivial baseline."""
    mean = np.array([row.mean for row in forecasts])
    density = np.array([row.log_density for row in forecasts])
    interval = np.array([row.interval for row in forecasts])
    response, over = apart(y)
    observed = response[scored]
    if any(isinstance(one, Exposed) for one in y):
        baseline = count_baseline(response, over, scored, known, level, weights)
    else:
        baseline = real_baseline(response, scored, known, level, weights)
    return Prequential(
        rows=scored,
        y=observed,
        mean=mean,
        log_density=density,
        interval=interval,
        classes=None,
        scores=real_scores(observed, mean, density, interval, level, weights),
        baseline=baseline,
        seconds_per_row=seconds,
        weights=weights,
    )


def _class_record(
    classes: tuple[Hashable, ...],
    y: list[Any],
    scored: Codes,
    known: Codes,
    forecasts: list[RowForecast],
    seconds: float,
    weights: Vector | None,
) -> Prequential:
    """Scores of the labels predicted, and of the trivial baseline."""
    codes = label_codes(y, classes).astype(np.int64)
    observed = codes[scored]
    density = np.array([row.log_density for row in forecasts])
    n_known = np.array([len(row.mean) for row in forecasts])
    is_new = observed >= n_known
    proba = np.zeros((len(forecasts), len(classes)))
    for place, row in zip(proba, forecasts, strict=True):
        place[: len(row.mean)] = row.mean
    return Prequential(
        rows=scored,
        y=observed.astype(np.float64),
        mean=proba,
        log_density=np.ma.array(density, mask=is_new) if is_new.any() else density,
        interval=None,
        classes=classes,
        scores=class_scores(observed, proba, density, ~is_new, weights),
        baseline=class_baseline(codes, scored, known, n_known, len(classes), weights),
        seconds_per_row=seconds,
        weights=weights,
    )


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class RowForecast(Record):
    """Prediction of one row: mean or probabilities, log density, tail and interval."""

    mean: Any
    log_density: float
    tail_probability: float
    interval: Vector | None = None


def _forecast(
    answer: Prediction | ClassPrediction, y: Any, tails: list[float]
) -> RowForecast:
    """What a prediction of one row says of the response."""
    if isinstance(answer, ClassPrediction):
        p = answer.proba[0]
        p_of_y = p[answer.classes.index(y)] if y in answer.classes else 0.0
        with np.errstate(divide="ignore"):
            density = float(np.log(p_of_y))
        return RowForecast(p, density, float(answer.tail_probability([y])[0]))
    value = [y.events if isinstance(y, Exposed) else y]
    density = answer.log_density(value)[0]
    tail = float(answer.tail_probability(value)[0])
    return RowForecast(answer.mean[0], density, tail, answer.quantile(tails)[0])


def compare(records: Mapping[str, Prequential], names: Sequence[str]) -> str:
    """Return a table of scores, with one row for each record."""
    lines = [f"{'':<22}" + "".join(f"{name:>12}" for name in names)]
    for title, record in records.items():
        values = asdict(record.scores)
        lines.append(
            f"{title:<22}" + "".join(f"{values[name]:12.4f}" for name in names)
        )
    baseline = asdict(next(iter(records.values())).baseline)
    lines.append(
        f"{'trivial baseline':<22}"
        + "".join(f"{baseline[name]:12.4f}" for name in names)
    )
    return "\n".join(lines)
