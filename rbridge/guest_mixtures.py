"""Mixtures and topics, as R makes, teaches and asks them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Summarised
from dyntree.mixtures import (
    AffineFlow,
    Canopy,
    CanopyOptions,
    DependentDPMixture,
    Discount,
    GaussianKnownVariance,
    GaussianUnknown,
    HDPOptions,
    HDPPrior,
    MemoryBoundedHDP,
    MixturePrior,
    Multinomial,
    OnlineDPGMM,
    RandomWalk,
    topics,
)
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.mixtures.shared.phases import separated
from dyntree.mixtures.sva.model import TOO_FEW
from dyntree.mixtures.sva.options import GMMOptions
from dyntree.params.table import r_names

from .guest_options import Face, choice, record
from .words import ROW, RWords

Learned = tuple[Any, dict[str, Any]]


def _counted(ids: Any) -> Ids:
    """Ids as R counts them, from 1; 0 where there is none."""
    return np.asarray(ids, dtype=np.int64) + 1


def _untimed(history: Any) -> dict[str, Any]:
    """Columns of a record array, but for what no second run would repeat."""
    names = history.dtype.names or ()
    return {name: history[name] for name in names if not name.startswith("seconds")}


# ------------------------------------------------------------ dp_gmm
def _learn_dp_gmm(model: OnlineDPGMM, is_first: bool, x: Any) -> Learned:
    """Learn rows; the first ones need not fill a warm-up, and leave no twins."""
    model.update(x, progress=False)
    if is_first:
        if not model.is_ready:
            model.finish_warm_up()
        model.merge_now()
    cluster = model.predict(x) if model.is_ready else np.full(len(x), -1)
    return model, {"cluster": _counted(cluster)}


def _tell_dp_gmm(model: OnlineDPGMM) -> dict[str, Any]:
    """Confirmed clusters."""
    answer = {"n_seen": model.n_seen, "columns": list(model.feature_names)}
    if not model.is_ready:
        return answer | {"parts": {"size": np.empty(0)}}
    found = model.clusters()
    return answer | {
        "lambda": model.lambda_, "noise": model.noise, "id": _counted(found.id),
        "parts": {"size": found.weight}, "mean": found.mean,
        "covariance": model.covariances_,
    }  # fmt: skip


def _ask_dp_gmm(model: OnlineDPGMM, x: Any, type: str) -> dict[str, Any]:
    """What rows are to the clusters."""
    if type == "cluster":
        return {"found": _counted(model.predict(x))}
    ask = {
        "prob": model.predict_proba,
        "density": model.score_samples,
        "distance": model.transform,
    }
    return {"found": ask[type](x)}


# ------------------------------------------------------------ ddp_mixture
def _make_ddp(options: dict[str, Any]) -> DependentDPMixture:
    return DependentDPMixture(**({"family": GaussianUnknown()} | options))


def _learn_ddp(
    model: DependentDPMixture, is_first: bool, x: Any, phase: Any
) -> Learned:
    """Learn phases in order, and return the particle of each row.

    A copy learns, as the model is to be as it was if a later phase is refused.
    """
    model = model.copy()
    rows, parts = separated(x, np.atleast_1d(phase))
    ids = np.full(len(rows), -1, dtype=np.int64)
    aliases: dict[int, int] = {}
    for part in parts:
        try:
            model.update(rows.iloc[part], progress=False)
        except ArgumentError as error:
            raise (
                error if error.row is None else error.at(int(part[error.row]))
            ) from None
        ids[part] = model.labels_
        aliases |= model.aliases_
    for old, new in settled_aliases(aliases).items():
        ids[ids == old] = new
    return model, {"cluster": _counted(ids)}


def _tell_ddp(model: DependentDPMixture) -> dict[str, Any]:
    """Particles that may be alive, and how many rows all of them had."""
    found, lines = model.particles(), model.lifelines()
    answer = {
        "n_seen": model.n_seen, "n_phases": model.n_phases,
        "columns": list(model.feature_names), "id": _counted(found.id),
        "parts": {
            "born": _counted(found.born), "last_seen": _counted(found.last_seen),
            "alive": found.alive, "size": found.count,
            "weight": found.weight_mean, "weight_sd": found.weight_sd,
        },
        "mean": found.mean,
        "lifelines": {
            "id": _counted(lines.id), "first": lines.first_phase + 1,
            "count": lines.count,
        },
    }  # fmt: skip
    if not isinstance(model.options.family, Multinomial):
        answer["covariance"] = model.covariances_
    return answer


def _ask_ddp(
    model: DependentDPMixture, x: Any, type: str, ahead: Any
) -> dict[str, Any]:
    """What rows are to the particles."""
    if type == "cluster":
        return {"found": _counted(model.predict(x))}
    if type == "prob":
        return {"found": model.predict_proba(x)}
    return {"found": model.log_predictive(x, ahead)}


# ------------------------------------------------------------ canopy_mixture
def _learn_canopy(
    model: Canopy, is_first: bool, x: Any, weights: Any = None
) -> Learned:
    """Fit to the first rows; later ones are a batch each."""
    if not is_first:
        model.learn_batch(x, sample_weight=weights)
        return model, {"cluster": _counted(model.predict(x))}
    model.fit(x, sample_weight=weights, progress=False)
    density = model.score_samples(x)
    counted = np.ones(len(density)) if weights is None else np.asarray(weights)
    answer = {
        "log_likelihood": float(counted @ density),
        "n_parameters": model.aic(x) / 2.0 + float(density.sum()),
        "total_weight": float(counted.sum()),
    }
    return model, answer | {"cluster": _counted(model.predict(x))}


def _tell_canopy(model: Canopy) -> dict[str, Any]:
    """All components, and how the sweeps went."""
    history = model.history
    answer = {
        "n_seen": model.n_seen, "columns": list(model.feature_names),
        "id": _counted(np.arange(len(model.weights))),
        "parts": {"weight": model.weights}, "mean": model.means,
        "converged": model.converged,
        "history": _untimed(history),
    }  # fmt: skip
    if model.options.family not in ("poisson", "multinomial"):
        answer["covariance"] = model.covariances_
    return answer


def _ask_canopy(model: Canopy, x: Any, type: str) -> dict[str, Any]:
    """What rows are to the components."""
    if type == "cluster":
        return {"found": _counted(model.predict(x))}
    return {
        "found": model.predict_proba(x) if type == "prob" else model.score_samples(x)
    }


# ------------------------------------------------------------ hdp_topics
def _counts(x: dict[str, Any]) -> Any:
    """Counts of words from the parts of a sparse matrix by columns."""
    values, places, begins = (np.atleast_1d(x[name]) for name in ("x", "i", "p"))
    shape = tuple(x["dim"])
    return sparse.csc_array((values, places, begins), shape=shape).tocsr()


def _make_hdp(options: dict[str, Any]) -> MemoryBoundedHDP:
    return MemoryBoundedHDP("multinomial", **options)


def _learn_hdp(model: MemoryBoundedHDP, is_first: bool, x: Any) -> Learned:
    """Learn documents, of a later call as one epoch."""
    learn = model.fit if is_first else model.partial_fit
    learn(_counts(x), progress=False)
    return model, {}


def _tell_hdp(model: MemoryBoundedHDP) -> dict[str, Any]:
    """Topics by decreasing weight, and how the epochs went."""
    found, history = topics(model, 1), model.history_
    return {
        "n_seen": model.n_seen, "n_documents": model.n_documents_seen_,
        "topic": _counted(found.id), "weight": found.weight, "count": found.count,
        "alpha": found.alpha, "documents": found.documents,
        "free_energy": model.free_energy_,
        "history": _untimed(history),
    }  # fmt: skip


def _ask_hdp(model: MemoryBoundedHDP, x: Any) -> dict[str, Any]:
    """Proportions of documents, and the log density of their words."""
    counts = _counts(x)
    return {"found": model.transform(counts)}


def _score_hdp(model: MemoryBoundedHDP, x: Any) -> dict[str, Any]:
    """Log predictive density of the words of each document."""
    return {"found": model.score_documents(_counts(x))}


def _words_hdp(model: MemoryBoundedHDP, n: Any) -> dict[str, Any]:
    """The most probable words of topics, by their places from 1."""
    found = topics(model, min(n, model.n_columns_))
    return {"word": _counted(found.words), "probability": found.word_probability}


def _probabilities_hdp(model: MemoryBoundedHDP) -> dict[str, Matrix]:
    return {"found": model.topic_words_}


_FAMILIES = {
    "gaussian": GaussianUnknown, "known_variance": GaussianKnownVariance,
    "flow": AffineFlow, "multinomial": Multinomial,
}  # fmt: skip
_STEPS = {"random_walk": RandomWalk, "discount": Discount}

_KINDS = {kind.__name__: name for name, kind in (_FAMILIES | _STEPS).items()}
_KIND = re.compile(rf"\b(?:a )?({'|'.join(_KINDS)})\b(\()?")


class GaussianWords(RWords):
    """R's words of `dp_gmm`, which has no warm-up."""

    templates = MappingProxyType(
        {
            **RWords.templates,
            TOO_FEW: "X must have at least 2 rows for lambda='auto'; got {n_waiting}. "
            "Give lambda.",
        }
    )


class PhaseWords(RWords):
    """R's words of `ddp_mixture`, whose families and steps have names."""

    def literal(self, text: str) -> str:
        """As `RWords.literal`."""
        return super().literal(_KIND.sub(_named, text))

    def text(self, value: Any) -> str:
        """As `RWords.text`; options are lists."""
        text = super().text(value)
        return self.literal(text) if isinstance(value, Summarised) else text


def _named(found: re.Match[str]) -> str:
    """The name of a family or a step, which begins a list of its options."""
    name = _KINDS[found[1]]
    return f"list({name!r}, " if found[2] else repr(name)


class TopicWords(RWords):
    """R's words of `hdp_topics`, whose documents are rows."""

    def message(self, template: str, fields: Mapping[str, Any]) -> str:
        """As `Words.message`."""
        rows = rf"row {{\1}} of {self.names['X']}"
        template = re.sub(r"documents\[\{(\w+)\}\]", rows, template)
        return super().message(template, fields)

    def argument(self, name: str) -> str:
        """As `RWords.argument`."""
        if found := re.fullmatch(r"documents\[(\d+)\]", name):
            return f"row {ROW.format(int(found[1]) + 1)} of {self.names['X']}"
        return super().argument("X" if name == "documents" else name)


FACES = {
    "dp_gmm": Face(
        lambda options: OnlineDPGMM(**options, seed=0),
        _learn_dp_gmm,
        _tell_dp_gmm,
        {"predict": _ask_dp_gmm},
        names=r_names(GMMOptions),
        phrases={"Learn more rows": "Learn more rows by update()"},
        words=GaussianWords,
    ),
    "ddp_mixture": Face(
        _make_ddp,
        _learn_ddp,
        _tell_ddp,
        {"predict": _ask_ddp},
        readers={
            "family": choice(_FAMILIES, {"location": record(GaussianUnknown)}),
            "transition": choice(_STEPS, {}, optional=True),
        },
        names=r_names(DDPOptions),
        phrases={
            "DependentDPMixture": "ddp_mixture()",
            ", or a function as described in CustomTransition": "",
        },
        words=PhaseWords,
    ),
    "canopy_mixture": Face(
        lambda options: Canopy(**options),
        _learn_canopy,
        _tell_canopy,
        {"predict": _ask_canopy},
        readers={"prior": record(MixturePrior), "options": record(CanopyOptions)},
        names=r_names(MixtureOptions) | {"sample_weight": "weights"},
    ),
    "hdp_topics": Face(
        _make_hdp,
        _learn_hdp,
        _tell_hdp,
        {
            "predict": _ask_hdp,
            "score": _score_hdp,
            "words": _words_hdp,
            "probabilities": _probabilities_hdp,
        },
        readers={"prior": record(HDPPrior), "options": record(HDPOptions)},
        phrases={
            "count matrix row": "X: row",
            "set allow_empty through options": "set options = list(allow_empty = True)",
        },
        words=TopicWords,
    ),
}
