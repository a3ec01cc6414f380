"""What the columns' units and constants must not change in answers of mixtures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import Canopy, DependentDPMixture, GaussianUnknown

from .subjects import MIXTURES, Answers, Subject, asked
from .test_invariances import close, rows_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.ScaleWarning",
    "ignore::dyntree.errors.ConvergenceWarning",
)  # fmt: skip

CANOPIES = [
    (family, inference)
    for family in ("diag", "full", "spherical", "spherical_tied")
    for inference in ("em", "esca", "canopy1", "canopy2", "tree")
    if not (family == "full" and inference == "tree")  # which has no bound for it
]
ASKED = ("predict", "predict_proba", "score_samples", "log_density", "topic_proba")


def canopy(family: str, inference: str) -> Subject:
    """A large mixture of three components."""
    return replace(
        MIXTURES["canopy"],
        fresh=lambda: Canopy(
            3, family=family, inference=inference, init="kmeans++", max_iter=6, seed=1
        ),
    )


CONSTANT = {
    name: MIXTURES[name] for name in ("gmm auto", "mppca auto", "ddp unknown", "hdp")
} | {f"{family} {how}": canopy(family, how) for family, how in CANOPIES}
SCALED = {name: CONSTANT[name] for name in ("ddp unknown", "hdp")} | {
    f"{family} {how}": canopy(family, how)
    for family, how in CANOPIES
    if not family.startswith("spherical")  # one variance for all columns
}


def told(subject: Subject, X: Any, y: Any, new: Any) -> Answers:
    """Answers of a model that has learned X to questions about each row of `new`."""
    questions = {k: ask for k, ask in subject.questions.items() if k in ASKED}
    return asked(subject.learned(X, y), new, questions)


@pytest.mark.parametrize("value", [0.1, 0.3, -3.7, 98.6, 1e9 + 0.1])
@pytest.mark.parametrize("name", CONSTANT)
def test_the_value_of_a_constant_column_does_not_matter(
    name: str, value: float
) -> None:
    """Not even one whose mean over the rows is rounded."""
    subject = CONSTANT[name]
    X, y, new = rows_of(subject)
    X, y = np.tile(X, (7, 1)), None if y is None else np.tile(y, 7)
    zero, other = (
        told(
            subject,
            np.column_stack([X, np.full(len(X), c)]),
            y,
            np.column_stack([new, np.full(len(new), c)]),
        )
        for c in (0.0, value)
    )
    close(zero, other, 5)


@pytest.mark.parametrize("units", [(-20, 0, 7), (3, 20, -5), (20, -20, 0)])
@pytest.mark.parametrize("name", SCALED)
def test_every_column_may_have_its_own_unit(
    name: str, units: tuple[int, int, int]
) -> None:
    """Units are powers of two: the same labels, and densities of the other units."""
    subject = SCALED[name]
    X, y, new = rows_of(subject)
    by = 2.0 ** np.array(units)
    plain, found = told(subject, X, y, new), told(subject, by * X, y, by * new)
    for key in ("score_samples", "log_density"):
        if key in found:
            found[key] = found[key] + np.log(by).sum()
    close(plain, found, 5)


def test_small_units_hide_no_clusters() -> None:
    """Two clusters eight standard deviations apart, in a column of small numbers."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=600)
    X = np.c_[rng.normal(size=600), 1e-3 * (rng.normal(size=600) + 8 * z)]
    for family in ("diag", "full"):
        labels = Canopy(2, family=family, seed=1).fit(X, progress=False).labels_
        assert max((labels == z).mean(), (labels != z).mean()) > 0.99
    model = DependentDPMixture(GaussianUnknown(), n_sweeps=20, burn_in=5, seed=1)
    model.update(X, progress=False)
    assert max((model.labels_ == z).mean(), (model.labels_ != z).mean()) > 0.95
