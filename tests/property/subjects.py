"""Every model beside all that can be asked of it, as plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.errors import DegenerateTreesWarning
from dyntree.mixtures import (
    Canopy,
    CoverTree,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)

Answers = dict[str, np.ndarray]
Question = Callable[[Any, Any], Any]

LABELS = ("a", "b", "c")
NAMES = ["p", "q", "r"]
TENTHS = 10.0 / 1024.0  # responses on this grid have means on a grid of 1 / 1024


def arrays(answer: Any, name: str = "") -> Answers:
    """The numbers of an answer, by name."""
    if is_dataclass(answer) and not isinstance(answer, type):
        parts = {f.name: getattr(answer, f.name) for f in fields(answer)}
    elif isinstance(answer, Mapping):
        parts = dict(answer)
    elif isinstance(answer, tuple | list):
        parts = {str(k): part for k, part in enumerate(answer)}
    else:
        found = np.asarray(answer)
        return {name: found} if found.dtype.kind in "biuf" else {}
    return {
        key: value
        for part, inner in parts.items()
        for key, value in arrays(inner, f"{name}.{part}").items()
    }


def asked(model: Any, X: Any, questions: Mapping[str, Question]) -> Answers:
    """All answers of a model about some rows."""
    return {
        key: value
        for name, question in questions.items()
        for key, value in arrays(question(model, X), name).items()
    }


# ------------------------------------------------------------ trees
def forecast(model: Any, X: Any) -> Answers:
    """Moments, quantiles, and the posterior of the mean."""
    p = model.predict(X)
    return {
        "mean": p.mean, "var": p.var, "df": p.df,
        "quantile": p.quantile([0.1, 0.5, 0.9]), "of_mean": p.of_mean.quantile(0.9),
    }  # fmt: skip


def effects(model: Any, label: Any) -> Answers:
    """Main effects and indices; the grid they stand on is in units of the columns."""
    found = model.tree.sensitivity(label=label, n_samples=50, n_grid=5)
    return {"main": found.main, "first": found.first, "total": found.total}


def drawn(model: Any, X: Any) -> np.ndarray:
    """Joint posterior draws; of labels their probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateTreesWarning)
        return np.asarray(model.posterior_draws(X, 20, seed=1))


def scores(*rules: str, **options: Any) -> dict[str, Question]:
    return {
        rule: lambda model, X, rule=rule: model.tree.acquisition(X, rule, **options)
        for rule in rules
    }


REAL: dict[str, Question] = {
    "predict": forecast,
    "draws": drawn,
    **scores("alm", "ieci"),
    "alc": lambda model, X: model.tree.acquisition(X, "alc", bounds=BOUNDS),
    "alc reference": lambda model, X: model.tree.acquisition(X, "alc", Xref=X),
    "ei": lambda model, X: model.tree.acquisition(X, "ei", best="rows"),
    "relevance": lambda model, X: model.tree.relevance().values,
    "importance": lambda model, X: model.tree.importance(n_samples=50).values,
    "sensitivity": lambda model, X: effects(model, label=None),
    "stats": lambda model, X: model.tree.stats(),
    "evidence": lambda model, X: model.log_evidence,
}
LINEAR = REAL | {"coef": lambda model, X: model.tree.coef(X)}
ONE_TREE: dict[str, Question] = {
    "active alc": lambda model, X: model.tree.active_values("alc"),
    "active random": lambda model, X: model.tree.active_values("random"),
}
CLASSES: dict[str, Question] = {
    "proba": lambda model, X: model.predict(X).proba,
    "draws": drawn,
    "entropy": lambda model, X: model.predict(X).entropy,
    "relevance": REAL["relevance"],
    "importance": REAL["importance"],
    "sensitivity": lambda model, X: effects(model, label=model.classes[0]),
    "stats": REAL["stats"],
    "evidence": REAL["evidence"],
}
BOUNDS = [[0.0, 1.0]] * 3
COUNTS = {
    name: question for name, question in REAL.items() if name not in ("ieci", "ei")
}


def real_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Three columns and a response that stand on grids."""
    X = rng.integers(1, 1024, size=(n, 3)) / 1024.0
    y = 3.0 * (X[:, 0] > 0.5) + 2.0 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, np.round(y / TENTHS) * TENTHS


def counted_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X, y = real_rows(rng, n)
    return X, rng.poisson(np.exp(0.5 * np.abs(y))).astype(np.float64)


def labelled_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X, y = real_rows(rng, n)
    return X, np.array(LABELS)[np.digitize(y, [1.5, 3.5])]


def two_labels(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """The same with the first two of the labels."""
    X, y = real_rows(rng, n)
    return X, np.array(LABELS)[(y > 2.5).astype(int)]


@dataclass(frozen=True)
class Subject:
    """A model, data that it takes, and what can be asked of it.

    `rows` gives X and y, `learn` teaches a model, `by_rows` says whether a stream may
    be cut into calls anywhere, and `alone` names the answers that are about each row.
    """

    fresh: Callable[[], Any]
    questions: dict[str, Question]
    rows: Callable[[np.random.Generator, int], tuple[Any, Any]] = real_rows
    learn: Callable[[Any, Any, Any], Any] = lambda model, X, y: model.update(X, y)
    alone: tuple[str, ...] = ("predict",)
    by_rows: bool = True

    def learned(self, X: Any, y: Any) -> Any:
        """A model that has learned these rows in one call."""
        return self.learn(self.fresh(), X, y)


SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
BY_ROW = ("predict", "alm", "alc", "alc reference", "ei", "coef")


def trees(kind: type, model: str, **options: Any) -> Subject:
    given = options | SMALL | {"model": model}
    if model in ("class", "logit"):
        questions, rows = CLASSES, labelled_rows if model == "class" else two_labels
        given["classes"] = LABELS if model == "class" else LABELS[:2]
        alone: tuple[str, ...] = ("proba", "entropy")
    elif model in ("poisson", "negbin"):
        questions, rows = COUNTS, counted_rows
        alone = ("predict", "alm", "alc")
        if kind in (DynamicTree, StreamingTree):
            questions = questions | ONE_TREE
    else:
        questions, rows = (LINEAR if model == "linear" else REAL), real_rows
        alone = tuple(name for name in BY_ROW if name != "alc reference")
        if kind in (DynamicTree, StreamingTree):
            questions = questions | ONE_TREE
    return Subject(lambda: kind(**given), questions, rows, alone=alone)


TREES: dict[str, Subject] = {
    "tree constant": trees(DynamicTree, "constant"),
    "tree linear": trees(DynamicTree, "linear"),
    "tree class": trees(DynamicTree, "class"),
    "tree logit": trees(DynamicTree, "logit"),
    "stream logit": trees(StreamingTree, "logit", window=30),
    "stream logit fades": trees(StreamingTree, "logit", window=30, forget=0.9),
    "stream constant alc": trees(StreamingTree, "constant", window=30),
    "stream linear fades": trees(
        StreamingTree, "linear", window=30, discard="age", forget=0.9
    ),
    "stream constant random": trees(
        StreamingTree, "constant", window=30, discard="random"
    ),
    "stream linear drift": trees(StreamingTree, "linear", window=30, drift=True),
    "stream class entropy": trees(StreamingTree, "class", window=30),
    "tree negbin counts": trees(DynamicTree, "negbin"),
    "stream poisson counts": trees(StreamingTree, "poisson", window=30),
    "averaged negbin counts": trees(AveragedStream, "negbin"),
    "averaged constant": trees(AveragedStream, "constant"),
    "averaged linear": trees(AveragedStream, "linear"),
    "averaged class": trees(AveragedStream, "class"),
    "clouds constant": trees(AveragedTrees, "constant", n_clouds=2, shuffle=False),
    "clouds linear": trees(AveragedTrees, "linear", n_clouds=2, shuffle=False),
    "clouds class": trees(AveragedTrees, "class", n_clouds=2, shuffle=False),
}


# ------------------------------------------------------------ mixtures
def blobs(rng: np.random.Generator, n: int) -> tuple[Any, None]:
    """Three groups of rows on a grid, in three columns."""
    centres = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 4.0], [0.0, 9.0, -4.0]])
    X = centres[rng.integers(3, size=n)] + rng.standard_normal((n, 3))
    return np.round(X * 1024.0) / 1024.0, None


def documents(X: Any) -> list[Any]:
    """Rows as documents of ten."""
    return [X[k : k + 10] for k in range(0, len(X), 10)]


MIXTURE: dict[str, Question] = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "score_samples": lambda model, X: model.score_samples(X),
}
SVA = MIXTURE | {
    "outliers": lambda model, X: model.predict(X, outliers=True),
    "score": lambda model, X: model.score_total(X),
    "clusters": lambda model, X: model.clusters().mean,
    "covariances": lambda model, X: model.covariances_,
}
DEPENDENT = MIXTURE | {
    "log_predictive": lambda model, X: model.log_predictive(X, ahead=1),
    "particles": lambda model, X: model.particles(),
    "forecast": lambda model, X: model.forecast(2),
    "lifelines": lambda model, X: model.lifelines().count,
    "covariances": lambda model, X: model.covariances_,
    "sample": lambda model, X: model.sample(5, seed=3),
}
EACH = ("predict", "predict_proba", "score_samples", "log_density", "topic_proba")
MIXTURES: dict[str, Subject] = {
    "gmm": Subject(lambda: OnlineDPGMM(9.0, seed=0), SVA, blobs, alone=EACH),
    "gmm auto": Subject(
        lambda: OnlineDPGMM(warm_up=40, seed=0), SVA, blobs, alone=EACH
    ),
    "mppca auto": Subject(
        lambda: OnlineDPMPPCA(warm_up=40, seed=0),
        SVA | {"transform": lambda model, X: model.transform(X)},
        blobs,
        alone=EACH,
    ),
    "hsmm": Subject(
        lambda: OnlineHDPHSMM(9.0, noise=1.0, seed=0),
        SVA
        | {
            "decode": lambda model, X: model.decode(X),
            "durations": lambda model, X: model.durations(),
            "predict_next": lambda model, X: model.predict_next(3),
            # which goes on with each row that it is given
            "filter_one": lambda model, X: model.copy().filter_one(
                X.iloc[0].to_dict() if hasattr(X, "iloc") else X[0]
            ),
        },
        blobs,
        alone=EACH[:1],
    ),
    "ddp known": Subject(
        lambda: DependentDPMixture(
            GaussianKnownVariance(1.0), n_sweeps=6, burn_in=2, seed=1
        ),
        DEPENDENT,
        blobs,
        alone=(*EACH, "log_predictive"),
        by_rows=False,
    ),
    "ddp unknown": Subject(
        lambda: DependentDPMixture(GaussianUnknown(), n_sweeps=6, burn_in=2, seed=1),
        DEPENDENT,
        blobs,
        alone=(*EACH, "log_predictive"),
        by_rows=False,
    ),
    "canopy": Subject(
        lambda: Canopy(3, inference="em", max_iter=5, seed=1),
        MIXTURE
        | {
            "score": lambda model, X: model.score(X),
            "aic": lambda model, X: model.aic(X),
            "bic": lambda model, X: model.bic(X),
            "means": lambda model, X: model.means,
            "covariances": lambda model, X: model.covariances_,
        },
        blobs,
        lambda model, X, y: model.fit(X),
        alone=EACH,
        by_rows=False,
    ),
    "hdp": Subject(
        lambda: MemoryBoundedHDP("diag", init_topics=2, max_topics=5, seed=1),
        {
            "transform": lambda model, X: model.transform(documents(X)),
            "score": lambda model, X: model.score(documents(X)),
            "log_density": lambda model, X: model.log_density(X),
            "topic_proba": lambda model, X: model.topic_proba(X),
            "retrieve": lambda model, X: model.retrieve(X, 2),
        },
        blobs,
        lambda model, X, y: model.partial_fit(documents(X)),
        alone=EACH,
        by_rows=False,
    ),
}
NEIGHBOURS = Subject(
    lambda: None,
    {
        "query": lambda tree, X: tree.query(X, k=3),
        "query_radius": lambda tree, X: [np.concatenate(tree.query_radius(X, 2.0)[0])],
        "truncate": lambda tree, X: tree.truncate(4),
    },
    blobs,
    lambda tree, X, y: CoverTree(X, seed=0) if tree is None else tree.insert(X),
    by_rows=False,
    alone=("query",),
)
SUBJECTS = TREES | MIXTURES | {"cover tree": NEIGHBOURS}
