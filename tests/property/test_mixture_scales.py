"""What the columns' units and constants must not change in answers of mixtures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import (
    AffineFlow,
    Canopy,
    DependentDPMixture,
    Discount,
    GaussianKnownVariance,
    GaussianUnknown,
    RandomWalk,
)

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


def walked(units: Any, made: Any, seed: int = 0) -> tuple[Any, Any]:
    """Labels of a mixture over 8 phases of 3 blobs that walk, and their log density."""
    rng, by = np.random.default_rng(seed), np.array(units)
    centre = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    model = made(by)
    for _ in range(8):
        centre = centre + 0.3 * rng.normal(size=(3, 2))
        rows = centre[rng.integers(3, size=90)] + rng.normal(size=(90, 2))
        model.update(rows * by, progress=False)
    labels = np.concatenate([model.labels(t) for t in range(8)])
    return labels, model.log_predictive(rows * by, ahead=1) + np.log(by).sum()


STEPPING: dict[str, Any] = {
    "default": lambda by: DependentDPMixture(GaussianKnownVariance(by**2), seed=1),
    "walk": lambda by: DependentDPMixture(
        GaussianKnownVariance(by**2), transition=RandomWalk(0.2 * by**2), seed=1
    ),
    "discount": lambda by: DependentDPMixture(
        GaussianUnknown(), transition=Discount(0.9, walk=0.1 * by**2), seed=1
    ),
}


@pytest.mark.parametrize("units", [(0.125, 8.0), (2.0**-10, 2.0**10)])
@pytest.mark.parametrize("name", STEPPING)
def test_steps_are_in_units_of_their_columns(name: str, units: Any) -> None:
    plain, density = walked((1.0, 1.0), STEPPING[name])
    labels, found = walked(units, STEPPING[name])
    assert (labels == plain).all()
    np.testing.assert_allclose(found, density, rtol=1e-9)


@pytest.mark.parametrize("units", [(-10, -10, -10, -10), (10,) * 4, (-9, 4, 12, -6)])
def test_flows_are_found_in_any_units(units: Any) -> None:
    rng = np.random.default_rng(0)
    z, x = rng.integers(2, size=200), 3.0 * rng.normal(size=(200, 2))
    field = np.array([[[0.5, -0.5], [0.5, 0.5]], [[-0.5, 0.3], [-0.3, -0.5]]])
    v = np.einsum("nd,ndk->nk", x, field[z]) + 0.05 * rng.normal(size=(200, 2))
    rows, by = np.hstack([x, v]), 2.0 ** np.array(units)
    plain, other = (
        DependentDPMixture(AffineFlow(), seed=1).update(one, progress=False)
        for one in (rows, rows * by)
    )
    assert plain.n_clusters == 2
    assert (plain.labels_ == other.labels_).all()


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_begins_to_vary_tells_clusters_apart(
    column: int, seed: int
) -> None:
    """Rows that all stood there say nothing of how far rows of a cluster are apart."""
    rng = np.random.default_rng(seed)
    model = DependentDPMixture(GaussianUnknown(), seed=1)
    for t in range(3):
        z = rng.integers(3, size=300)
        rows = np.c_[
            rng.normal(size=300), 5.0 + (t > 0) * (rng.normal(size=300) + 9 * z)
        ]
        model.update(rows[:, [column, 1 - column]], progress=False)
    assert model.n_clusters == 3
    assert len({*zip(model.labels_.tolist(), z.tolist(), strict=True)}) == 3
