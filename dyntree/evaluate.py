"""Prequential evaluation: predict each row, score it, then learn it."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import rankdata

from dyntree import params
from dyntree.features import (
    FeatureMap,
    Matrix,
    label_codes,
    label_list,
    real_response,
)
from dyntree.progress import Progress, check_progress, rows_bar
from dyntree.summaries import ClassPrediction, Prediction, student_log_density

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]


class Learner(Protocol):
    """What can be evaluated: `DynamicTree`, `StreamingTree` and their like."""

    @property
    def is_ready(self) -> bool:
        """Whether predict can be called."""
        ...

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels, or None for a real response."""
        ...

    def update(self, X: Any, y: Any, *, progress: Progress = None) -> Any:
        """Learn rows."""
        ...

    def predict(self, X: Any) -> Prediction | ClassPrediction:
        """Return the predictive distribution."""
        ...


@dataclass(frozen=True)
class ClassScores:
    """How well labels were foreseen.

    Attributes
    ----------
    n_rows : int
        Rows scored.
    error : float
        Share of rows whose most probable label was wrong.
    auc : float
        Area under the ROC curve, averaged over labels against the rest (for two labels
        that is the usual one); NaN unless two labels occur.
    log_loss : float
        Minus the mean log probability of the true label, in nats.
    brier : float
        Mean squared distance between probabilities and the true label's indicator.
    """

    n_rows: int
    error: float
    auc: float
    log_loss: float
    brier: float


@dataclass(frozen=True)
class RealScores:
    """How well real responses were foreseen.

    Attributes
    ----------
    n_rows : int
        Rows scored.
    rmse : float
        Root mean squared error of the predictive mean, in units of y.
    log_density : float
        Mean log predictive density.
    coverage : float
        Share of rows inside the central interval.
    interval_score : float
        Mean width of the interval plus (2 / alpha) times the distance by which rows
        fall outside (Gneiting and Raftery 2007, equation 43); low is good.
    """

    n_rows: int
    rmse: float
    log_density: float
    coverage: float
    interval_score: float


@dataclass(frozen=True, eq=False)
class Prequential:
    """A stream as it was foreseen, row by row.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_scored,)
        Which rows of the stream were scored.
    y : ndarray of shape (n_scored,)
        Responses, or labels as places in `classes`.
    mean : ndarray of shape (n_scored,) or (n_scored, n_classes)
        Predictive means, or probabilities.
    log_density : ndarray of shape (n_scored,)
        Log predictive density, or probability, of what came.
    interval : ndarray of shape (n_scored, 2) or None
        Central predictive intervals of real responses.
    classes : tuple or None
    scores, baseline : ClassScores or RealScores
        Of the model; of the trivial model that knows the earlier responses only.
    seconds_per_row : float
        Time to predict and learn a row.
    """

    rows: Codes
    y: Vector
    mean: Vector
    log_density: Vector
    interval: Vector | None
    classes: tuple[Hashable, ...] | None
    scores: ClassScores | RealScores
    baseline: ClassScores | RealScores
    seconds_per_row: float

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
    y: Any,
    *,
    start: int = 0,
    level: float = 0.9,
    progress: Progress = None,
) -> Prequential:
    """Evaluate a model on a stream: each row is predicted, scored, then learned.

    Parameters
    ----------
    model : DynamicTree, StreamingTree or the like
        It learns the rows as a side effect (unless it is frozen).
    X : array_like of shape (n_rows, n_features) or frame
    y : array_like of shape (n_rows,)
    start : int, default 0
        First row that is scored; those before it are learned at once. Rows that come
        before the model can predict are learned and not scored.
    level : float in (0, 1), default 0.9
        Probability of the intervals.
    progress : bool, callable or None, default None
        As in `DynamicTree.update`.

    Returns
    -------
    Prequential

    Examples
    --------
    >>> import dyntree
    >>> from dyntree.datasets import load_mcycle
    >>> data = load_mcycle()
    >>> tree = dyntree.DynamicTree(n_particles=200, seed=1)
    >>> seen = prequential(tree, data[["times"]], data["accel"], start=50)
    >>> seen.scores.n_rows
    83
    >>> seen.scores.rmse < seen.baseline.rmse
    True
    """
    check_progress(progress)
    features, rows = FeatureMap.learn(X)
    start = params.count("start", start, 0)
    if start >= len(rows):
        raise ValueError(
            f"start must be below the number of rows, {len(rows)}; got {start}."
        )
    share = params.real("level", level)
    if not 0.0 < share < 1.0:
        raise ValueError(f"level must be in (0, 1); got {level!r}.")
    labels = label_list(y, len(rows))
    if model.classes is not None:
        label_codes(labels, model.classes)
    elif all(isinstance(label, int | float) for label in labels):
        real_response(labels, len(labels))
    tails = [(1.0 - share) / 2.0, (1.0 + share) / 2.0]

    def named(part: Matrix) -> Any:
        """Rows as a model takes them that knows its columns by name."""
        if features.names is None:
            return part
        return [dict(zip(features.names, row, strict=True)) for row in part.tolist()]

    scored: list[int] = []
    answers: list[tuple[Any, Any, Any]] = []
    clock = time.perf_counter()
    with rows_bar(progress, len(rows), "prequential") as tell:
        if start:
            model.update(named(rows[:start]), labels[:start], progress=False)
            tell(start)
            clock = time.perf_counter()
        for t in range(start, len(rows)):
            row, label = named(rows[t : t + 1]), labels[t : t + 1]
            if model.is_ready:
                scored.append(t)
                answers.append(_foresee(model.predict(row), label, tails))
            model.update(row, label, progress=False)
            tell(1)
    clock = time.perf_counter() - clock
    if not scored:
        raise ValueError(
            f"no row was scored: the model needs more than the {len(rows)} rows given."
        )
    seconds = clock / (len(rows) - start)
    return _record(model.classes, labels, scored, answers, share, seconds)


def _record(
    classes: tuple[Hashable, ...] | None,
    labels: list[Any],
    scored: list[int],
    answers: list[tuple[Any, Any, Any]],
    level: float,
    seconds: float,
) -> Prequential:
    """Scores of the rows foreseen, and of the trivial baseline on the same rows."""
    mean, density, interval = (
        np.array([answer[k] for answer in answers]) for k in range(3)
    )
    earlier, came = labels[: scored[0]], [labels[t] for t in scored]
    scores: ClassScores | RealScores
    baseline: ClassScores | RealScores
    if classes is None:
        y = real_response(came, len(came))
        scores = real_scores(y, mean, density, interval, level)
        baseline = _real_baseline(np.array(earlier, dtype=np.float64), y, level)
    else:
        y = label_codes(came, classes)
        scores = class_scores(y.astype(np.int64), mean, density)
        baseline = _class_baseline(label_codes(earlier, classes), y, len(classes))
    return Prequential(
        rows=np.array(scored),
        y=y,
        mean=mean,
        log_density=density,
        interval=interval if classes is None else None,
        classes=classes,
        scores=scores,
        baseline=baseline,
        seconds_per_row=seconds,
    )


def _foresee(
    answer: Prediction | ClassPrediction, label: list[Any], tails: list[float]
) -> tuple[Any, Any, Any]:
    """Mean or probabilities, log density of what came, interval."""
    density = answer.log_density(label)[0]
    if isinstance(answer, ClassPrediction):
        return answer.proba[0], density, (np.nan, np.nan)
    return answer.mean[0], density, answer.quantile(tails)[0]


def class_scores(y: Codes, proba: Vector, log_density: Vector) -> ClassScores:
    """Score probabilities of shape (n_rows, n_classes) against label codes y."""
    hit = np.zeros_like(proba)
    hit[np.arange(len(y)), y] = 1.0
    return ClassScores(
        n_rows=len(y),
        error=float(np.mean(proba.argmax(axis=1) != y)),
        auc=auc(y, proba),
        log_loss=float(-np.mean(log_density)),
        brier=float(np.mean(((proba - hit) ** 2).sum(axis=1))),
    )


def auc(y: Codes, proba: Vector) -> float:
    """Area under the ROC curve, averaged over labels against the rest.

    It is the probability that a row with the label is ranked above one without it, ties
    counting half (Mann and Whitney 1947).
    """
    areas = []
    for k in range(proba.shape[1]):
        positive = y == k
        n, m = int(positive.sum()), int((~positive).sum())
        if n and m:
            rank = rankdata(proba[:, k])
            areas.append((rank[positive].sum() - n * (n + 1) / 2) / (n * m))
    return float(np.mean(areas)) if areas else float("nan")


def real_scores(
    y: Vector, mean: Vector, log_density: Vector, interval: Vector, level: float
) -> RealScores:
    """Score means and central intervals of probability `level`."""
    low, high = interval.T
    outside = np.maximum(0.0, np.maximum(low - y, y - high))
    return RealScores(
        n_rows=len(y),
        rmse=float(np.sqrt(np.mean((y - mean) ** 2))),
        log_density=float(np.mean(log_density)),
        coverage=float(np.mean(outside == 0.0)),
        interval_score=float(np.mean(high - low + 2.0 / (1.0 - level) * outside)),
    )


def _class_baseline(earlier: Vector, y: Vector, n_classes: int) -> ClassScores:
    """Running label frequencies under a Dirichlet prior of total weight 1."""
    codes = np.concatenate([earlier, y]).astype(np.int64)
    counts = np.zeros((len(codes) + 1, n_classes))
    counts[np.arange(1, len(codes) + 1), codes] = 1.0
    counts = counts.cumsum(axis=0)[len(earlier) : -1] + 1.0 / n_classes
    proba = counts / counts.sum(axis=1, keepdims=True)
    labels = codes[len(earlier) :]
    density = np.log(proba[np.arange(len(labels)), labels])
    return class_scores(labels, proba, density)


def _real_baseline(earlier: Vector, y: Vector, level: float) -> RealScores:
    """Running normal model with flat prior: Student's t about the mean so far."""
    response = np.concatenate([earlier, y])
    shift = response[0]
    n = np.arange(len(earlier), len(response), dtype=np.float64)
    sums = np.concatenate([[0.0], np.cumsum(response - shift)])[len(earlier) : -1]
    squares = np.concatenate([[0.0], np.cumsum((response - shift) ** 2)])
    squares = squares[len(earlier) : -1]
    with np.errstate(all="ignore"):
        centre = sums / n
        df = n - 1.0
        scale = np.sqrt((squares - n * centre**2) / df * (1.0 + 1.0 / n))
        mean = np.where(n > 0, centre + shift, 0.0)
        density = student_log_density(y - mean, scale, df)
        half = scale * stdtrit(df, (1.0 + level) / 2.0)
    interval: Vector = np.column_stack([mean - half, mean + half])
    return real_scores(y, mean, density, interval, level)


def compare(records: dict[str, Prequential], names: Sequence[str]) -> str:
    """Return a table of scores: one line a record, one column a score name."""
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
