"""CanopyMixture under scikit-learn's own checks, and beside its GaussianMixture."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dyntree.api.estimators import CanopyMixture
from dyntree.api.estimators.canopy import parted
from tests.unit.mixtures.canopy.test_model import blobs


def test_it_is_the_engine_with_the_habits_of_scikit_learn() -> None:
    X = blobs(2000).astype(np.float32)
    fit = CanopyMixture(8, inference="canopy2", random_state=3).fit(X)
    assert fit.converged_
    assert fit.n_iter_ == len(fit.history_)
    assert (fit.labels_ == fit.predict(X)).all()
    np.testing.assert_allclose(fit.predict_proba(X).sum(axis=1), 1.0)
    assert fit.predict_proba(X, top=3).shape == (2000, 8)
    rows, labels = fit.sample(50)
    assert (rows.shape, labels.shape) == ((50, 3), (50,))
    assert fit.bic(X) > fit.aic(X)
    again = CanopyMixture(8, inference="canopy2", random_state=3).fit(X)
    assert again.means_.tobytes() == fit.means_.tobytes()


def test_several_starts_keep_the_likeliest() -> None:
    X = blobs(800)
    one = [
        CanopyMixture(8, random_state=k, init="random").fit(X).score(X)
        for k in (5, 6, 7)
    ]
    best = CanopyMixture(8, random_state=5, init="random", n_init=3).fit(X)
    assert best.score(X) == max(one)


def test_a_warm_start_keeps_the_numbers_of_components() -> None:
    X = blobs(1500)
    fit = CanopyMixture(8, warm_start=True, random_state=1).fit(X)
    before = fit.means_.copy()
    fit.fit(X[:1000])
    far = np.sqrt(((fit.means_ - before) ** 2).sum(axis=1))
    assert np.median(far) < 0.5


def test_a_warm_start_begins_at_the_whole_components() -> None:
    """Weights and spreads too: the first sweep finds the likelihood of the last."""
    X = blobs(1500)
    options: dict[str, Any] = {"inference": "em", "random_state": 1, "tol": 0.0}
    fit = CanopyMixture(8, warm_start=True, max_iter=200, **options).fit(X)
    before = fit.score(X)
    fit.set_params(max_iter=1).fit(X)
    assert abs(fit.lower_bound_ - before) < 1e-4
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fit.fit(frame)
    with pytest.raises(ValueError, match="columns of the last fit"):
        fit.fit(frame[["b", "a", "c"]])
    fit.set_params(n_components=7)
    with pytest.raises(ValueError, match="start must have the same n_components"):
        fit.fit(X)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was() -> None:
    X = blobs(500)
    fit = CanopyMixture(8, random_state=1).fit(X)
    with pytest.raises(ValueError, match="n_components must be at most"):
        fit.fit(X[:5, :2])
    assert fit.n_features_in_ == 3
    bad = X[:20, :2].copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit.partial_fit(bad)
    assert fit.predict(X[:4]).shape == (4,)


def test_known_components_make_it_fitted() -> None:
    X = blobs(1500)
    fit = CanopyMixture(8, family="full", random_state=1).fit(X)
    parameters = fit.weights_, fit.means_, fit.covariances_
    again = CanopyMixture(8, family="full", random_state=0)
    again.set_components(*parameters)
    np.testing.assert_allclose(again.score_samples(X), fit.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(
        again.precisions_ @ again.covariances_, np.tile(np.eye(3), (8, 1, 1)), atol=1e-9
    )
    weight = np.arange(1500.0)
    expected = np.average(fit.score_samples(X), weights=weight)
    assert again.score(X, sample_weight=weight) == pytest.approx(expected)
    counts = np.random.default_rng(0).poisson(3.0, size=(400, 2))
    rates = CanopyMixture(2, family="poisson", random_state=0).fit(counts)
    assert (rates.rates_ == rates.means_).all()
    with pytest.raises(AttributeError, match="no precisions_"):
        _ = rates.precisions_


def test_batches_are_learned_on() -> None:
    X = blobs(3000)
    fit = CanopyMixture(8, random_state=1)
    for part in np.array_split(X, 6):
        fit.partial_fit(part)
    whole = CanopyMixture(8, random_state=1).fit(X)
    assert fit.score(X) > whole.score(X) - 0.3


def test_rows_held_out_choose_the_fit_and_have_its_columns() -> None:
    rng = np.random.default_rng(0)
    X, out = rng.normal(size=(40, 2)), rng.normal(size=(300, 2))
    fit = CanopyMixture(12, n_init=6, validation=out, random_state=1, tol=0.0,
                        max_iter=15).fit(X)  # fmt: skip
    alone = [
        CanopyMixture(12, validation=out, random_state=1 + k, tol=0.0, max_iter=15)
        for k in range(6)
    ]
    assert fit.score(out) == pytest.approx(max(one.fit(X).score(out) for one in alone))
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(ValueError, match="feature names"):
        CanopyMixture(2, validation=frame[["b", "a"]], random_state=1).fit(frame)


def test_it_searches_and_stands_in_pipelines() -> None:
    X = blobs(600, m=3)
    search = GridSearchCV(
        CanopyMixture(random_state=1, init="kmeans++"), {"n_components": [1, 3]}, cv=3
    ).fit(X)
    assert search.best_params_ == {"n_components": 3}
    pipe = make_pipeline(StandardScaler(), CanopyMixture(3, random_state=1)).fit(X)
    assert len(set(pipe.predict(X).tolist())) == 3


@pytest.mark.parametrize("max_iter", [3, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_from_several_starts_are_judged_by_the_same_rows(
    max_iter: int, weighted: bool
) -> None:
    """Also where they are too short to look at them, which is every five sweeps."""
    X = blobs(400)
    weight = np.arange(400.0) % 3 if weighted else None
    options: dict[str, Any] = {"max_iter": max_iter, "tol": 0.0, "init": "random"}
    best = CanopyMixture(8, n_init=4, validation=0.2, random_state=1, **options)
    best.fit(X, sample_weight=weight)
    rest, kept, out = parted(X, weight, 0.2, 1)
    assert len(out) == (53 if weighted else 80)
    if weighted:
        assert kept is not None
        assert (kept == 0).sum() == (weight == 0).sum()
    each = [
        CanopyMixture(8, validation=out, random_state=1 + k, **options).fit(
            rest, sample_weight=kept
        )
        for k in range(4)
    ]
    assert best.score(out) == max(one.score(out) for one in each)
    assert len(best.labels_) == len(X)


@pytest.mark.parametrize("n_init", [1, 2])
@pytest.mark.parametrize(
    ("share", "word"),
    [(0.0, "be in"), (1.0, "be in"), (np.nan, "be"), (0.999, "leave at least 2 rows")],
)
def test_a_share_held_out_leaves_rows(share: float, word: str, n_init: int) -> None:
    fit = CanopyMixture(2, n_init=n_init, validation=share, random_state=1)
    with pytest.raises(ValueError, match=f"validation must {word}"):
        fit.fit(blobs(50))
    with pytest.raises(ValueError, match="validation must"):
        fit.fit(blobs(50), sample_weight=np.arange(50.0) < 2)


def test_the_first_batch_is_fitted_as_fit_would() -> None:
    X, seen = blobs(500), []
    options: dict[str, Any] = {
        "n_init": 2, "validation": 0.2, "random_state": 1, "init": "random",
        "max_iter": 12, "tol": 0.0,
    }  # fmt: skip
    whole = CanopyMixture(6, **options).fit(X)
    batch = CanopyMixture(6, **options, callback=seen.append).partial_fit(X)
    assert batch.means_.tobytes() == whole.means_.tobytes()
    assert len(seen) == 24


@pytest.mark.parametrize(
    "options", [{}, {"validation": 0.2}, {"validation": 0.2, "n_init": 2}]
)
def test_counts_may_be_sparse(options: Any) -> None:
    rng = np.random.default_rng(0)
    C = rng.poisson(
        np.array([[5.0, 0.1, 1.0], [0.2, 4.0, 2.0]])[rng.integers(2, size=300)]
    )
    fits = [
        CanopyMixture(2, family="multinomial", random_state=0, **options).fit(rows)
        for rows in (C, csr_array(C))
    ]
    assert (fits[0].labels_ == fits[1].labels_).all()
    assert (fits[1].predict(csr_array(C)) == fits[0].predict(C)).all()
    assert fits[1].score(csr_array(C)) == fits[0].score(C)
    with pytest.raises(TypeError, match="must be a dense array"):
        CanopyMixture(2).fit(csr_array(C))


@pytest.mark.parametrize("family", ["diag", "full", "poisson"])
@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_jobs_are_threads_and_alter_no_bit(family: str, inference: str) -> None:
    X = np.abs(blobs(900)).round() if family == "poisson" else blobs(900)
    found = []
    for n_jobs in (None, 1, 2, 7, -1):
        fit = CanopyMixture(
            6, family=family, inference=inference, max_iter=8, tol=0.0, random_state=0,
            n_jobs=n_jobs,
        ).fit(X)  # fmt: skip
        fit.partial_fit(X[::-1])
        found.append(fit.means_.tobytes() + fit.weights_.tobytes())
        wanted = {None: None, -1: os.cpu_count()}.get(n_jobs, n_jobs)
        assert fit.model_.threads == wanted
    assert len(set(found)) == 1


def test_jobs_can_be_changed_between_batches() -> None:
    X = blobs(600)
    fit = CanopyMixture(6, random_state=0, n_jobs=1).fit(X)
    fit.set_params(n_jobs=2).partial_fit(X)
    assert fit.model_.threads == 2
    again = pickle.loads(pickle.dumps(fit)).partial_fit(X)
    assert again.model_.threads == 2
    before = fit.means_.tobytes()
    for bad in (0, -2, 1.5, "all"):
        with pytest.raises(ValueError, match="n_jobs must be an int >= 1"):
            fit.set_params(n_jobs=bad).partial_fit(X)
        with pytest.raises(ValueError, match="n_jobs must be an int >= 1"):
            CanopyMixture(6, random_state=0, n_jobs=bad).fit(X)
    assert fit.means_.tobytes() == before
