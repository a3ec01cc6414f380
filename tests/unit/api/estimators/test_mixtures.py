"""scikit-learn's clusterers: its own checks, its tools, and the models within."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dyntree.api.estimators import DPGMMClusterer, DPMPPCAClusterer, HDPHSMMClusterer
from dyntree.errors import ScaleWarning
from dyntree.mixtures import OnlineDPGMM
from tests.helpers import model_bytes, mostly_slow
from tests.unit.mixtures.sva.test_dpgmm import agreement, blobs
from tests.unit.mixtures.sva.test_hdphsmm import LAMBDA, NOISE, sequence

KINDS = (DPGMMClusterer, DPMPPCAClusterer, HDPHSMMClusterer)


def test_a_fit_is_the_model_after_one_pass_and_a_merge() -> None:
    X, label = blobs(4, 2, 12.0, 900, 0)
    fit = DPGMMClusterer(warm_up=300).fit(X)
    model = OnlineDPGMM(warm_up=300).update(X).merge_now()
    assert model_bytes(fit.model_) == model_bytes(model)
    assert fit.n_clusters_ == 4
    assert fit.cluster_centers_.tolist() == model.clusters().mean.tolist()
    ids = model.clusters().id
    assert ids[fit.labels_].tolist() == model.predict(X).tolist()
    assert fit.predict(X).tolist() == fit.labels_.tolist()
    assert agreement(fit.fit_predict(X), label) == 1.0
    assert fit.transform(X).shape == (900, 4)
    assert fit.transform(X).argmin(axis=1).tolist() == fit.labels_.tolist()
    assert fit.predict_proba(X).argmax(axis=1).tolist() == fit.labels_.tolist()
    assert fit.score(X) == pytest.approx(fit.score_samples(X).mean())


def test_partial_fits_are_the_same_stream() -> None:
    X, _ = blobs(4, 2, 12.0, 900, 0)
    parts = DPGMMClusterer(warm_up=300)
    for k in range(0, 900, 7):
        parts.partial_fit(X[k : k + 7])
        assert len(parts.labels_) == min(7, 900 - k)
        assert (parts.labels_ == -1).all() == (k + 7 < 300)
    assert model_bytes(parts.model_) == model_bytes(OnlineDPGMM(warm_up=300).update(X))
    assert parts.fit(X).model_.n_seen == 900


def test_more_passes_and_fewer_rows_than_the_warm_up() -> None:
    X, _ = blobs(3, 2, 12.0, 200, 1)
    once, twice = DPGMMClusterer().fit(X), DPGMMClusterer(n_passes=2).fit(X)
    assert once.n_clusters_ == twice.n_clusters_ == 3
    assert twice.model_.n_seen == 400
    with pytest.raises(ValueError, match="n_passes must be an int >= 1; got 0"):
        DPGMMClusterer(n_passes=0).fit(X)
    with pytest.raises(ValueError, match="n_samples = 1"):
        DPGMMClusterer().fit(X[:1])
    with pytest.raises(ValueError, match="0 sample"):
        DPGMMClusterer().fit(X[:0])
    with pytest.raises(ValueError, match="forget must be"):
        DPGMMClusterer(forget=2.0).fit(X)


def test_frames_name_their_columns() -> None:
    import pandas as pd

    X, _ = blobs(3, 2, 12.0, 300, 1)
    frame = pd.DataFrame(X, columns=["p", "q"])
    fit = DPMPPCAClusterer().fit(frame)
    assert fit.feature_names_in_.tolist() == ["p", "q"]
    assert fit.predict(frame).tolist() == fit.labels_.tolist()
    with pytest.raises(ValueError, match="feature names"):
        fit.predict(frame[["q", "p"]])


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_cloned_pickled_and_put_into_pipelines(kind: Any) -> None:
    X, _ = blobs(3, 2, 12.0, 300, 1)
    estimator = kind(lambda_=0.5)
    fit = clone(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fit))
    assert again.predict(X).tolist() == fit.predict(X).tolist()
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    with pytest.raises(NotFittedError):
        _ = estimator.cluster_centers_
    labels = make_pipeline(StandardScaler(), estimator).fit_predict(X)
    assert labels.shape == (300,)


def test_demonstrations_are_kept_apart() -> None:
    rows = np.tile(np.repeat([0.0, 10.0, 20.0], 15), 4)[:, None]
    fit = HDPHSMMClusterer(5.0, noise=0.5).fit(rows, lengths=[45] * 4)
    assert fit.model_.transition_counts().tolist() == [[0, 4, 0], [0, 0, 4], [0, 0, 0]]
    parts = HDPHSMMClusterer(5.0, noise=0.5)
    for _ in range(2):
        parts.partial_fit(rows[:90], lengths=[45, 45])
    assert model_bytes(parts.model_.merge_now()) == model_bytes(fit.model_)
    assert len(fit.decode(rows, lengths=[45] * 4)) == 12
    with pytest.raises(ValueError, match="add up"):
        fit.partial_fit(rows, lengths=[3])


def test_lengths_by_place_are_taken_or_refused_by_name() -> None:
    """In hmmlearn they are the second argument, where scikit-learn has y."""
    rows = np.tile(np.repeat([0.0, 10.0, 20.0], 15), 4)[:, None]
    lengths, labels = [45] * 4, [1] * len(rows)
    fit = HDPHSMMClusterer(5.0, noise=0.5)
    ids = fit.fit_predict(rows, lengths=lengths)
    assert ids.tolist() == fit.fit(rows, labels, lengths).labels_.tolist()
    assert ids.tolist() == fit.fit_predict(rows, labels, lengths).tolist()
    before = model_bytes(fit.model_)
    calls = [fit.fit, fit.partial_fit, fit.fit_predict, fit.score,
             fit.model_.update, fit.model_.score, fit.model_.score_total]  # fmt: skip
    for call in calls:
        for second in (lengths, np.array(lengths), (180,)):
            with pytest.raises(
                ValueError, match=r"y must have one value a row of X, 180.*lengths=\["
            ):
                call(rows, second)
    assert model_bytes(fit.model_) == before
    assert len(fit.decode(rows, lengths)) == 12
    with pytest.raises(ValueError, match="outliers must be True or False"):
        fit.predict(rows, lengths)


def test_a_sequence_is_decoded() -> None:
    X, label, _ = sequence(0)
    fit = HDPHSMMClusterer(LAMBDA, noise=NOISE).fit(X)
    assert agreement(fit.decode(X).labels, label) > 0.97


def states(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four states nine apart in two columns, each for about 30 rows."""
    stays = 1 + rng.poisson(30, size=n // 20)
    z = np.repeat(np.cumsum(1 + rng.integers(3, size=len(stays))) % 4, stays)[:n]
    at = 9.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return at[z] + rng.normal(size=(n, 2)), z


@pytest.mark.parametrize("unit", mostly_slow([1e-9, 1e6, 0.01, 1.0, 10.0], 2))
@pytest.mark.parametrize("emission", ["mppca", "gmm"])
def test_states_are_found_in_any_units(emission: str, unit: float) -> None:
    """With defaults; all right in 60 other draws: below 5 % of these ten fail."""
    X, z = states(2000, np.random.default_rng(0))
    fit = HDPHSMMClusterer(emission=emission).fit(unit * X)
    assert fit.n_clusters_ == 4
    assert len({*zip(fit.labels_.tolist(), z.tolist(), strict=True)}) == 4
    parts = HDPHSMMClusterer(emission=emission)
    for part in np.split(unit * X, [900, 1400]):
        parts.partial_fit(part)
    assert parts.model_.lambda_ == fit.model_.lambda_
    np.testing.assert_array_equal(parts.predict(unit * X), fit.predict(unit * X))


def test_scales_of_a_sequence_may_be_given_or_chosen_one_by_one() -> None:
    X, _ = states(1500, np.random.default_rng(1))
    both = HDPHSMMClusterer(emission="mppca").fit(X).model_
    assert both.noise == pytest.approx(1.0, rel=0.1)
    one = HDPHSMMClusterer(noise=1.0, emission="mppca").fit(X).model_
    assert one.noise == 1.0
    assert one.lambda_ == pytest.approx(both.lambda_, rel=1.0)
    other = HDPHSMMClusterer(40.0, emission="mppca").fit(X).model_
    assert other.lambda_ == 40.0
    assert other.noise == pytest.approx(1.0, rel=0.1)
    with pytest.raises(ValueError, match="at least 2 rows; got n_samples = 1"):
        HDPHSMMClusterer().fit(X[:1])


@pytest.mark.parametrize("kind", [DPGMMClusterer, DPMPPCAClusterer, HDPHSMMClusterer])
def test_too_few_rows_to_choose_scales_are_told(kind: type) -> None:
    X = np.random.default_rng(0).normal(size=(24, 2)) + 20.0 * np.arange(24)[:, None]
    with pytest.warns(ScaleWarning, match="chosen from 23 rows only; with fewer than"):
        kind().fit(X[:23])
    kind().fit(X)
