"""Canopy: estimates, fits of every kind, files and streams."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import checkpoint
from dyntree.errors import (
    CheckpointError,
    ConvergenceWarning,
)
from dyntree.mixtures import Canopy, CanopyOptions, MixturePrior
from dyntree.mixtures.canopy import shards
from dyntree.mixtures.canopy.components import Components, Moments, Prior
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.sweep_loop import with_drawn_weights
from tests.helpers import model_bytes, same_bytes
from tests.oracle import canopy as oracle
from tests.unit.mixtures.canopy.rows import QUICK, blobs, rows_for

INFERENCES = ("em", "esca", "canopy1", "canopy2", "tree")
FAMILIES = tuple(FAMILY_OF)


def prior(d: int, **changes: Any) -> Prior:
    given: dict[str, Any] = {
        "mean": np.zeros(d), "strength": 0.3, "df": 6.0,
        "variance": np.linspace(0.5, 1.5, d), "rate": np.ones(d), "exposure": 0.5,
        "reg_covar": None, "concentration": 1.0,
    }  # fmt: skip
    return Prior(**(given | changes))


# ---------------------------------------------------------------- estimates
def moments_of(X: np.ndarray, c: np.ndarray, family: str) -> Moments:
    weight, first = c.sum(axis=0), c.T @ X
    second = {
        "diag": c.T @ X**2,
        "full": np.einsum("nz,ni,nj->zij", c, X, X),
        "poisson": np.empty((len(weight), 0)),
        "multinomial": np.empty((len(weight), 0)),
    }.get(family)
    return Moments(
        weight, first, (c.T @ X**2).sum(axis=1) if second is None else second
    )


def test_estimates_are_the_plain_joint_modes() -> None:
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(40, 3)), rng.gamma(1.0, size=(40, 4))
    p = prior(3)
    diag, _ = FAMILY_OF["diag"].estimate(moments_of(X, c, "diag"), p)
    full, _ = FAMILY_OF["full"].estimate(moments_of(X, c, "full"), p)
    for z in range(4):
        mu, v = oracle.diag_estimate(X, c[:, z], p.strength, p.df, p.variance)
        np.testing.assert_allclose(diag.mean[z], mu, rtol=1e-12)
        np.testing.assert_allclose(diag.spread[z], v, rtol=1e-12)
        mu, cov = oracle.full_estimate(X, c[:, z], p.strength, p.df, p.variance)
        np.testing.assert_allclose(full.mean[z], mu, rtol=1e-12)
        np.testing.assert_allclose(full.spread[z], cov, rtol=1e-11, atol=1e-13)
    N = c.sum(axis=0)
    np.testing.assert_allclose(diag.weight, (N + 0.25) / (N.sum() + 1.0))


@pytest.mark.parametrize("family", ["spherical", "spherical_tied", "diag", "full"])
def test_estimates_are_where_the_posterior_is_highest(family: str) -> None:
    """Moving any parameter lowers the joint density of rows and prior."""
    rng = np.random.default_rng(2)
    X, c = rng.normal(size=(30, 2)) * [1, 2], rng.gamma(1.0, size=(30, 3))
    p = prior(2, variance=np.full(2, 0.8))
    known, _ = FAMILY_OF[family].estimate(moments_of(X, c, family), p)

    def log_posterior(mean: np.ndarray, spread: np.ndarray) -> float:
        total = (c * oracle.log_density(family, X, mean, spread)).sum()
        for z in range(3):
            cov = (
                spread[z]
                if family == "full"
                else np.diag(np.broadcast_to(spread[z], 2))
            )
            total -= 0.5 * np.linalg.slogdet(cov)[1]
            total -= 0.5 * p.strength * mean[z] @ np.linalg.solve(cov, mean[z])
            if family == "full":
                total -= 0.5 * (p.df + 3) * np.linalg.slogdet(cov)[1]
                total -= 0.5 * np.trace(np.linalg.solve(cov, p.df * 0.8 * np.eye(2)))
            elif family == "diag":
                total -= (
                    (0.5 * p.df + 1) * np.log(spread[z]) + p.df * 0.4 / spread[z]
                ).sum()
            elif family == "spherical" or z == 0:
                total -= (0.5 * p.df + 1) * np.log(spread[z]) + p.df * 0.4 / spread[z]
        return float(total)

    best = log_posterior(known.mean, known.spread)
    for _ in range(60):
        mean = known.mean + 0.01 * rng.normal(size=known.mean.shape)
        assert log_posterior(mean, known.spread) < best
        noise = rng.normal(size=known.spread.shape)
        if family == "spherical_tied":
            noise[:] = noise[0]
        if family == "full":
            noise = noise + noise.transpose(0, 2, 1)
        spread = known.spread * np.exp(0.01 * noise)
        assert log_posterior(known.mean, spread) < best


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_of_parameters_have_the_moments_of_their_posterior(family: str) -> None:
    """Means of 4000 draws within 6 standard errors: one false alarm in 10^7 or so."""
    rng = np.random.default_rng(4)
    X = rng.poisson(5.0, size=(30, 2)).astype(float)
    if not FAMILY_OF[family].is_count:
        X = rng.normal(size=(30, 2))
    c = rng.gamma(1.0, size=(30, 2))
    p = prior(2, variance=np.full(2, 0.8))
    moments = moments_of(X, c, family)
    draws = [FAMILY_OF[family].draw(moments, p, rng).mean for _ in range(4000)]
    if FAMILY_OF[family].is_count:
        expected = FAMILY_OF[family].estimate(moments, p)[0].mean
    else:
        expected = moments.first / (p.strength + moments.weight)[:, None]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - expected) < 6 * error).all()


# ---------------------------------------------------------------- fits
@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_inference_fits_every_family(inference: str, family: str) -> None:
    if (inference, family) == ("tree", "full"):
        with pytest.raises(ValueError, match="family 'full'"):
            Canopy(8, family=family, inference=inference)
        return
    X = rows_for(family)
    model = Canopy(8, family=family, inference=inference, init="kmeans++", **QUICK)
    model.fit(X)
    exact = Canopy(8, family=family, inference="em", init="kmeans++", **QUICK).fit(X)
    # proposals of a group's one point are taken slowly where rows differ from it
    tolerance = 0.5 if inference == "canopy1" else 0.05
    assert abs(model.score(X) - exact.score(X)) < tolerance
    assert model.labels_.shape == (len(X),)
    assert len(model.history) == 12
    assert (model.labels_ == model.predict(X)).mean() > 0.7
    assert model.weights.sum() == pytest.approx(1.0)


def test_em_is_scikit_learns_where_there_is_no_prior() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.mixture import GaussianMixture

    X = blobs(4000, 6, 4).astype(np.float32)
    begin = X[:6].astype(float)
    model = Canopy(
        6, inference="em", init=begin, prior=MixturePrior.none(1e-6), max_iter=25,
        tol=0.0,
    ).fit(X)  # fmt: skip
    scale = X.astype(float).var(axis=0)
    peer = GaussianMixture(
        6, covariance_type="diag", means_init=begin, weights_init=np.full(6, 1 / 6),
        precisions_init=np.tile(1 / scale, (6, 1)), max_iter=25, tol=0.0,
    )  # fmt: skip
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X.astype(float))
    np.testing.assert_allclose(model.means, peer.means_, atol=1e-4)
    np.testing.assert_allclose(model.weights, peer.weights_, atol=1e-5)
    np.testing.assert_allclose(model.covariances_, peer.covariances_, rtol=1e-3)
    assert model.score(X) == pytest.approx(peer.score(X), abs=1e-6)


def test_likelihood_never_falls_under_em_without_prior() -> None:
    X = blobs()
    model = Canopy(8, inference="em", prior=MixturePrior.none(), **QUICK).fit(X)
    assert (np.diff(model.history.log_likelihood) > -1e-5).all()  # rows are in float32


@pytest.mark.parametrize("inference", INFERENCES)
def test_the_seed_and_no_number_of_threads_decide(
    inference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = blobs(2000)
    found = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("DYNTREE_NUM_THREADS", threads)
        model = Canopy(12, inference=inference, **QUICK).fit(X)
        found.append(
            (model.means.tobytes(), model.weights.tobytes(), model.labels_.tobytes())
        )
    monkeypatch.undo()
    for n_threads in (1, 3):
        model = Canopy(12, inference=inference, threads=n_threads, **QUICK).fit(X)
        assert model.copy().threads == n_threads
        found.append(
            (model.means.tobytes(), model.weights.tobytes(), model.labels_.tobytes())
        )
    assert len(set(found)) == 1
    other = Canopy(12, inference=inference, **(QUICK | {"seed": 2})).fit(X)
    assert other.means.tobytes() != found[0][0]


@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_parts_in_memory_or_on_disk_are_one_table(
    inference: str, tmp_path: Any
) -> None:
    X = blobs(3001).astype(np.float32)
    np.save(tmp_path / "a.npy", X[:1000])
    parts = [np.load(tmp_path / "a.npy", mmap_mode="r"), X[1000:]]
    options = CanopyOptions(empty="prior")
    known: dict[str, Any] = {"init": X[:8].astype(float), "options": options}
    one = Canopy(8, inference=inference, **known, **QUICK).fit(parts)
    two = Canopy(8, inference=inference, **known, **QUICK)
    two.fit(parts, scratch=tmp_path)
    assert one.means.tobytes() == two.means.tobytes()
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
    if inference == "esca":  # rows have coordinates of their own, wherever they stand
        whole = Canopy(8, inference=inference, **known, **QUICK).fit(X)
        # sums of columns and products of matrices round by the blocks they come in
        assert (whole.labels_ == one.labels_).mean() > 0.999
        np.testing.assert_allclose(whole.means, one.means, rtol=1e-2)


def test_powers_of_two_and_places_of_columns_change_no_label() -> None:
    X = np.round(blobs(2000) * 1024) / 1024
    one = Canopy(8, inference="canopy2", **QUICK).fit(X)
    other = Canopy(8, inference="canopy2", **QUICK).fit(X * 4.0)
    assert one.labels_.tobytes() == other.labels_.tobytes()
    assert other.score(X * 4.0) == pytest.approx(
        one.score(X) - 3 * np.log(4.0), abs=1e-9
    )


def test_a_row_twice_is_a_row_of_weight_two_under_em() -> None:
    X = blobs(400)
    known: dict[str, Any] = {"init": X[:5], "inference": "em"}
    twice = Canopy(5, **known, **QUICK).fit(np.concatenate([X, X[:100]]))
    weight = np.ones(400)
    weight[:100] = 2.0
    weighed = Canopy(5, **known, **QUICK).fit(X, sample_weight=weight)
    np.testing.assert_allclose(weighed.means, twice.means, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("inference", INFERENCES)
def test_rows_of_no_weight_have_no_influence(inference: str) -> None:
    X = blobs(600)
    weight = np.ones(600)
    weight[::7] = 0.0
    wild = X.copy()
    wild[::7] = X[np.flatnonzero(weight)[0]]
    found = [
        Canopy(5, inference=inference, init=X[1:6], options=CanopyOptions(), **QUICK)
        .fit(rows, sample_weight=weight)
        for rows in (X, wild)
    ]  # fmt: skip
    if inference in ("em", "esca"):  # others have other groups, but not other sums
        np.testing.assert_allclose(found[0].means, found[1].means, atol=1e-9)
    assert found[0].score(X[weight > 0]) == pytest.approx(
        found[1].score(X[weight > 0]), abs=0.5 if inference == "canopy1" else 0.05
    )


def test_a_fit_stops_when_it_has_settled_or_is_told_to() -> None:
    X = blobs()
    for inference in ("em", "esca", "canopy2"):
        model = Canopy(8, inference=inference, max_iter=400, tol=1e-3, seed=1).fit(X)
        assert model.converged
        assert len(model.history) < 100
    seen: list[Any] = []

    def stop(report: Any) -> bool:
        seen.append(report)
        return report.sweep == 3

    model = Canopy(8, inference="esca", seed=1).fit(X, callback=stop)
    assert [report.sweep for report in seen] == [1, 2, 3]
    assert not model.converged
    with pytest.warns(ConvergenceWarning, match="more max_iter"):
        Canopy(8, inference="em", max_iter=2, tol=1e-9).fit(X)


def test_held_out_rows_tell_when_to_stop() -> None:
    X = blobs()
    one = Canopy(8, inference="canopy2", seed=1, tol=1e-3).fit(X, validation=X[:300])
    part = Canopy(8, inference="canopy2", seed=1, tol=1e-3).fit(X, validation=0.2)
    assert (one.converged, part.converged) == (True, True)
    assert len(part.labels_) == 2400
    assert np.isfinite(one.history.validation).any()


def test_components_without_rows_begin_again_or_are_told() -> None:
    X = blobs(2000, 4)
    begin = np.concatenate([X[:4], np.full((2, 3), 1e3)])  # two where no row is
    model = Canopy(6, inference="esca", init=begin, **QUICK).fit(X)
    assert model.history.n_empty[0] == 2
    assert model.history.n_empty[-1] == 0
    left = CanopyOptions(empty="prior")
    many = np.concatenate([X[:4], np.full((4, 3), 1e3)])
    with pytest.warns(ConvergenceWarning, match="no rows for five sweeps"):
        Canopy(8, inference="esca", init=many, options=left, **QUICK).fit(X)


def test_lists_are_refreshed_as_fast_as_they_age() -> None:
    model = Canopy(30, inference="canopy2", max_iter=60, tol=0.0, seed=1).fit(
        blobs(4000, 30)
    )
    assert model.history.refresh[0] == 1.0
    assert model.history.refresh[-1] > 8.0  # little moves any more
    assert (model.history.stale_mass[-10:] < 0.05).all()


def test_polish_ends_with_exact_sweeps() -> None:
    X = blobs()
    options = CanopyOptions(polish=3)
    model = Canopy(8, inference="canopy2", options=options, **QUICK).fit(X)
    assert len(model.history) == 15
    assert (np.diff(model.history.log_likelihood[-3:]) > -1e-4).all()


def test_components_without_rows_have_what_was_drawn() -> None:
    one = Components(np.full(4, 0.25), np.zeros((4, 2)), np.ones((4, 2)))
    other = Components(np.full(4, 0.25), np.ones((4, 2)), np.full((4, 2), 3.0))
    rng = np.random.default_rng(0)
    found = with_drawn_weights(one, other, np.array([6.0, 0.0, 3.0, 0.0]), 1.0, rng)
    assert found.mean[:, 0].tolist() == [0, 1, 0, 1]
    assert found.spread[:, 0].tolist() == [1, 3, 1, 3]
    full = with_drawn_weights(one, other, np.ones(4), 1.0, rng)  # there is no reserve
    assert not full.mean.any()
    for drawn in (found, full):
        assert (drawn.weight > 0.0).all()
        assert drawn.weight.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("inference", ["esca", "canopy2"])
def test_a_dirichlet_process_leaves_components_empty(
    family: str, inference: str
) -> None:
    X = rows_for(family, 1500)
    model = Canopy(
        40, family=family, inference=inference, weights="collapsed", seed=1,
        concentration=0.5, max_iter=15, tol=0.0, init="kmeans++",
    ).fit(X)  # fmt: skip
    assert int(model.history.n_empty[-1]) >= 1
    assert (model.weights > 0.0).all()
    assert model.score(X) > Canopy(1, family=family, **QUICK).fit(X).score(X)


# ---------------------------------------------------------------- answers
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_agree_with_plain_densities(family: str) -> None:
    X = rows_for(family, 500)
    model = Canopy(5, family=family, **QUICK).fit(X)
    spread = np.empty(0) if FAMILY_OF[family].is_count else model.covariances_
    joint = oracle.log_density(family, X, model.means, spread) + np.log(model.weights)
    density = np.log(np.exp(joint - joint.max(axis=1, keepdims=True)).sum(axis=1))
    density += joint.max(axis=1)
    np.testing.assert_allclose(model.score_samples(X), density, rtol=1e-9, atol=1e-9)
    assert (model.predict(X) == joint.argmax(axis=1)).all()
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, np.exp(joint - density[:, None]), atol=1e-9)
    top = model.predict_proba(X, top=2)
    best = np.sort(proba, axis=1)[:, -2:]
    np.testing.assert_allclose(np.sort(top.toarray(), axis=1)[:, -2:], best, atol=1e-12)
    assert top.nnz <= 2 * len(X)
    if family != "multinomial":
        rows, labels = model.sample(4000, seed=1)
        assert rows.shape == (4000, X.shape[1])
        assert labels.shape == (4000,)
        error = rows.std(axis=0) / np.sqrt(len(rows))
        expected = model.weights @ model.means
        assert (np.abs(rows.mean(axis=0) - expected) < 6 * error).all()
    assert model.bic(X) > model.aic(X)


def test_large_tables_of_probabilities_are_refused() -> None:
    model = Canopy(100).set_components(
        np.full(100, 0.01), blobs(100), np.ones((100, 3))
    )
    many = np.broadcast_to(np.zeros(3), (3_000_000, 3))
    with pytest.raises(ValueError, match="Give top=k"):
        model.predict_proba(many)


def test_known_parameters_make_a_mixture() -> None:
    model = Canopy(2).set_components(
        [0.3, 0.7], [[0.0, 0.0], [5.0, 5.0]], [[1, 1], [4, 1]]
    )
    assert model.predict([[0.1, 0], [5, 4]]).tolist() == [0, 1]
    again = dyntree.checkpoint.loads(dyntree.checkpoint.dumps(model))
    assert again.score([[1.0, 2.0]]) == model.score([[1.0, 2.0]])
    model.learn_batch(blobs(300, d=2))
    for weights, means, spread, word in [
        ([0.3, 0.8], [[0, 0], [1, 1]], np.ones((2, 2)), "sum to 1"),
        ([1.0], [[0, 0], [1, 1]], np.ones((2, 2)), "weights must be 2"),
        ([0.5, 0.5], [[0, 0], [1, np.nan]], np.ones((2, 2)), "component 1"),
        ([0.5, 0.5], [[0, 0], [1, 1]], [[1, 1], [0, 1]], "component 1"),
        ([0.5, 0.5], [[0, 0], [1, 1]], np.ones(2), "of shape"),
    ]:
        with same_bytes(model), pytest.raises(ValueError, match=word):
            model.set_components(weights, means, spread)
    tied = Canopy(2, family="spherical_tied")
    with pytest.raises(ValueError, match="component 1 has 2, component 0 1"):
        tied.set_components([0.5, 0.5], [[0, 0], [1, 1]], [1.0, 2.0])
    with pytest.raises(ValueError, match="None for family 'poisson'"):
        Canopy(1, family="poisson").set_components([1.0], [[1.0]], [1.0])


@pytest.mark.parametrize("family", FAMILIES)
def test_known_parameters_are_kept_wherever_they_are(family: str) -> None:
    """Far from 0 and of any unit, in answers, in files, and when more is learned."""
    X = rows_for(family, 600)
    source = Canopy(4, family=family, **QUICK).fit(X)
    factor, shift = (1.0, 0.0) if FAMILY_OF[family].is_count else (1e-5, 3e4)
    means, spread = source.means * factor + shift, None
    if not FAMILY_OF[family].is_count:
        spread = source.covariances_ * factor**2
    model = Canopy(4, family=family, seed=1)
    model.set_components(source.weights, means, spread)
    Z = X * factor + shift
    assert (model.predict(Z) == source.predict(X)).mean() > 0.999
    offset = X.shape[1] * np.log(factor)
    np.testing.assert_allclose(
        model.score_samples(Z) + offset, source.score_samples(X), rtol=1e-4, atol=1e-4
    )
    again = dyntree.checkpoint.loads(dyntree.checkpoint.dumps(model))
    before = model.means
    for one in (model, again):
        one.learn_batch(Z[:20])
    assert again.means.tobytes() == model.means.tobytes()
    width = np.sqrt(model._state.scaling.variance)
    assert (np.abs(model.means - before) / width).max() < 0.5
    heavy = Canopy(4, family=family, seed=1)
    heavy.set_components(source.weights, means, spread, n_rows=1e7)
    heavy.learn_batch(Z[:20])
    assert (np.abs(heavy.means - before) / width).max() < 1e-3


def test_a_fit_begins_at_another_model() -> None:
    """With its weights and spreads; other columns, families or sizes are refused."""
    X = blobs(2000)
    first = Canopy(8, inference="em", max_iter=60, tol=0.0).fit(X)
    # the likelihood of a sweep is that of the parameters before it
    on = Canopy(8, inference="em", max_iter=1, tol=0.0).fit(X, start=first)
    assert abs(on.history.log_likelihood[0] - first.score(X)) < 1e-5
    own = first.copy().fit(X, start=first)
    assert own.score(X) > first.score(X) - 1e-3
    fresh = Canopy(8)
    for start, word in [
        (fresh, "has components"),
        ("em", "has components"),
        (Canopy(7).fit(X), "same n_components"),
        (Canopy(8, family="full").fit(X), "same family"),
        (Canopy(8).fit(X[:, :2]), "columns of X"),
    ]:
        with same_bytes(fresh), pytest.raises(ValueError, match=word):
            fresh.fit(X, start=start)


def test_tiny_weights_keep_their_digits() -> None:
    """Weights of 1e-13 are so many rows; that those are few is for the prior."""
    X = blobs(1500)
    flat = MixturePrior.none()
    fits = [
        Canopy(
            8, inference="em", prior=flat, max_iter=20, tol=0.0, init=blobs(8, seed=5)
        ).fit(X, sample_weight=np.full(1500, c))
        for c in (1.0, 1e-9)
    ]
    np.testing.assert_allclose(fits[0].means, fits[1].means, rtol=1e-4)
    drawn = Canopy(4, seed=1, max_iter=5, tol=0.0).fit(
        X, sample_weight=np.full(1500, 1e-13)
    )
    np.testing.assert_allclose(drawn._state.moments.weight.sum(), 1.5e-10, rtol=1e-9)


# ---------------------------------------------------------------- streams
def test_a_stream_finds_what_a_fit_finds() -> None:
    X = blobs(20_000)
    stream = Canopy(8, batch_size=2000, max_iter=20, tol=0.0, seed=1)
    stream.update(X)
    whole = Canopy(8, max_iter=40, tol=0.0, seed=1).fit(X)
    assert stream.n_seen == 20_000
    assert stream.score(X) > whole.score(X) - 0.05
    assert stream.memory_usage() < 60_000


def test_batches_are_learned_at_once() -> None:
    X = blobs(900)
    model = Canopy(4, seed=1).learn_batch(X[:500]).learn_batch(X[500:])
    assert model.n_seen == 900
    np.testing.assert_allclose(model._state.moments.weight.sum(), 900, rtol=1e-6)
    bad = X[:9].copy()
    bad[2, 1] = np.nan
    with same_bytes(model), pytest.raises(ValueError, match="row 2"):
        model.learn_batch(bad)


def test_frames_are_matched_by_name() -> None:
    frame = pd.DataFrame(blobs(300), columns=["a", "b", "c"])
    model = Canopy(3, **QUICK).fit(frame)
    assert model.columns == ("a", "b", "c")
    turned = frame[["c", "a", "b"]]
    assert (model.predict(turned) == model.predict(frame)).all()
    with pytest.raises(ValueError, match="X must have"):
        model.predict(frame.rename(columns={"a": "z"}))


# ---------------------------------------------------------------- files
@pytest.mark.parametrize("inference", INFERENCES)
def test_a_fit_that_was_stopped_goes_on_alike(inference: str, tmp_path: Any) -> None:
    X = blobs(1500)
    options: dict[str, Any] = {"inference": inference, "max_iter": 20, "tol": 0.0}
    whole = Canopy(12, **options, seed=1).fit(X)

    class Stop(Exception):
        pass

    def stop(report: Any) -> None:
        if report.sweep == 13:
            raise Stop

    path = tmp_path / "fit.dyn"
    model = Canopy(12, **options, seed=1)
    with pytest.raises(Stop), same_bytes(model):
        model.fit(X, callback=stop, save_to=path, save_every=6)
    again = Canopy.resume(path, X)
    assert again.history.sweep.tolist() == list(range(1, 21))
    assert again.means.tobytes() == whole.means.tobytes()
    assert again.labels_.tobytes() == whole.labels_.tobytes()
    with pytest.raises(CheckpointError, match="other rows"):
        Canopy.resume(path, X[:-1])
    dyntree.save(again, path)
    with pytest.raises(CheckpointError, match="no fit under way"):
        Canopy.resume(path, X)


def test_lists_of_a_file_are_those_of_a_fit(tmp_path: Any) -> None:
    """Longer lists than there is room for would be written beyond it."""
    X, path = blobs(1500), tmp_path / "fit.dyn"
    options = CanopyOptions(list_max=16)
    Canopy(60, inference="canopy2", options=options, max_iter=6, tol=0.0, seed=1).fit(
        X, save_to=path, save_every=6
    )
    running, notes = checkpoint.load_with(path)
    header, arrays = running.to_arrays()
    n = len(arrays["shard0_lengths"])
    every = np.tile(np.arange(60, dtype=np.int32), n)
    lists = arrays["shard0_lists"]
    for changes in (
        {"shard0_lengths": np.full(n, 60, np.int32), "shard0_lists": every},
        {"shard0_lists": lists[::-1].copy()},
        {"shard0_turn": np.array([n])},
    ):
        bad = type(running).from_arrays(header, arrays | changes)
        checkpoint.save_with(bad, notes, path)
        with pytest.raises(CheckpointError):
            Canopy.resume(path, X)


def test_files_hold_all_of_a_model_and_are_checked() -> None:
    model = Canopy(
        4, prior=MixturePrior(mean=[0.0, 1.0, 2.0], variance=[1.0, 1.0, 2.0]),
        options=CanopyOptions(list_max=99), init=blobs(4), max_iter=5, tol=0.0,
    ).fit(blobs(300))  # fmt: skip
    header, arrays = model.to_arrays()
    again = Canopy.from_arrays(copy.deepcopy(header), copy.deepcopy(arrays))
    assert model_bytes(again) == model_bytes(model)
    assert checkpoint.dumps(again) == checkpoint.dumps(model)
    for name, wrong in [
        ("known_spread", -arrays["known_spread"]),
        ("known_weight", arrays["known_weight"][:-1]),
        ("known_mean", np.full_like(arrays["known_mean"], np.nan)),
        ("moments_second", arrays["moments_second"].astype(np.float32)),
        ("scaling_scale", np.zeros(3)),
        ("history_sweep", arrays["history_sweep"][:-1]),
        ("waiting", np.zeros(3)),
    ]:
        with pytest.raises(ValueError, match=name.split("_")[0]):
            Canopy.from_arrays(header, arrays | {name: wrong})


def test_an_interrupt_leaves_the_model_as_it_was() -> None:
    X = blobs(500)
    model = Canopy(4, **QUICK).fit(X)

    def interrupt(report: Any) -> None:
        raise KeyboardInterrupt

    with same_bytes(model), pytest.raises(KeyboardInterrupt):
        model.fit(X[:300], callback=interrupt)


def test_an_argument_says_how_many_threads_every_kernel_gets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    plans: list[int] = []
    made = shards.ShardWorker.__init__

    def noted(
        self: Any, X: Any, first: int, weight: Any, plan: Any, *more: Any
    ) -> None:
        plans.append(plan.n_threads)
        made(self, X, first, weight, plan, *more)

    monkeypatch.setattr(shards.ShardWorker, "__init__", noted)
    monkeypatch.setenv("DYNTREE_NUM_THREADS", "5")
    X = blobs(300)
    Canopy(4, **QUICK).fit(X)
    path = tmp_path / "fit"
    model = Canopy(4, threads=3, **QUICK).fit(X, save_to=path, save_every=1)
    model.learn_batch(X)
    again = Canopy.resume(path, X, threads=2)
    assert plans == [5, 3, 3, 2]
    assert again.threads == 2
    for bad in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="threads must be an int >= 1"):
            Canopy(4, threads=bad)  # type: ignore[arg-type]


def test_criteria_of_no_rows_are_refused() -> None:
    X = blobs(300)
    model = Canopy(4, **QUICK).fit(X)
    for name in ("score", "bic", "aic"):
        with pytest.raises(
            ValueError, match=f"{name} needs at least one row; got none"
        ):
            getattr(model, name)(X[:0])
    assert len(model.score_samples(X[:0])) == 0
