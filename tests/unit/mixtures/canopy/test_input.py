"""Bad input of large mixtures: each fault names what it is, and changes nothing."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array

from dyntree.errors import (
    CheckpointError,
    ConvergenceWarning,
    NotReadyError,
    ScaleWarning,
)
from dyntree.mixtures import Canopy, CanopyOptions, MixturePrior
from tests.helpers import same_bytes
from tests.unit.mixtures.canopy.rows import QUICK, blobs, rows_for


@pytest.mark.parametrize(
    ("X", "word"),
    [
        (np.zeros(5), "X must"),
        (np.full((10, 2), np.nan), "row 0, column 'x0'"),
        (np.array([[0.0, 1.0], [1.0, np.inf], [2, 2]]), "row 1, column 'x1'"),
        (np.zeros((1, 2)), "at least 2 rows"),
        (np.zeros((0, 2)), "X must"),
        (np.zeros((10, 0)), "one column"),
        (np.ones((10, 2)), "different rows, 1"),
        (blobs(2), "different rows, 2"),
        ([["a", "b"]] * 9, "X"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(X: Any, word: str) -> None:
    model = Canopy(3, **QUICK).fit(blobs(200))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        with same_bytes(model), pytest.raises(ValueError, match=word):
            model.fit(X)
    assert model.predict(blobs(5)).shape == (5,)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_components": 0}, "n_components must be an int >= 1; got 0"),
        ({"n_components": 2.5}, "n_components"),
        ({"family": "gamma"}, "family must be one of"),
        ({"inference": "gibbs"}, "inference must be one of"),
        ({"init": "best"}, "init must be one of"),
        ({"weights": "some"}, "weights must be one of"),
        ({"concentration": 0}, "concentration must be > 0"),
        ({"weights": "collapsed", "inference": "em"}, 'inference="em" does not have'),
        ({"weights": "sample", "prior": MixturePrior.none()}, "draw from a posterior"),
        ({"prior": 3}, "prior must be a MixturePrior"),
        ({"options": 3}, "options must be a CanopyOptions"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol must be >= 0"),
        ({"seed": -1}, "seed"),
        ({"batch_size": 1}, "batch_size"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Canopy(**options)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"group_size": 3}, "group_size"),
        ({"group_size": 5000}, "group_size"),
        ({"list_loss": 0.6}, "list_loss must be in"),
        ({"list_loss": 0.02}, "below stale_target"),
        ({"stale_target": 0.0}, "stale_target"),
        ({"explore": 0.5}, "explore"),
        ({"refresh_max": 0}, "refresh_max"),
        ({"theta_step": "ml"}, "theta_step"),
        ({"empty": "drop"}, "empty"),
        ({"polish": -1}, "polish"),
        ({"mh_steps": 0}, "mh_steps"),
    ],
)
def test_bad_sweep_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        CanopyOptions(**options)


def test_bad_priors_weights_and_starts_are_refused() -> None:
    X = blobs(100)
    for bad in ({"variance": [1.0, -1.0]}, {"mean": [np.nan]}, {"mean_strength": 0}):
        with pytest.raises(ValueError, match="must be"):
            MixturePrior(**bad)
    with pytest.raises(ValueError, match=r"prior\.mean must have 3"):
        Canopy(3, prior=MixturePrior(mean=[0.0])).fit(X)
    for weight in (np.ones(99), -np.ones(100), np.zeros(100), np.full(100, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            Canopy(3).fit(X, sample_weight=weight)
    for spelt in (["1"] * 100, np.full(100, "1")):
        with pytest.raises(ValueError, match=r"must be numbers; .* '1'"):
            Canopy(3).fit(X, sample_weight=spelt)
    for init in (X[:2], np.full((3, 3), np.inf)):
        with pytest.raises(ValueError, match="init must be finite"):
            Canopy(3, init=init).fit(X)
    with pytest.raises(ValueError, match="validation"):
        Canopy(3).fit(X, validation=1.5)
    rows = np.ones((9, 2))
    rows[3, 1] = -1
    with pytest.raises(ValueError, match="row 3, column 'x1'"):
        Canopy(2, family="poisson").fit(rows)
    rows = np.eye(9)
    rows[4] = 0
    with pytest.raises(ValueError, match="row 4 has none"):
        Canopy(2, family="multinomial").fit(rows)
    with pytest.raises(ValueError, match="whole numbers"):
        Canopy(2, family="poisson").fit(np.full((9, 2), 0.5))
    with pytest.raises(ValueError, match="Divide the weights"):
        Canopy(2).fit(X, sample_weight=np.full(100, 1e12))
    model = Canopy(2, **QUICK).fit(X)
    with same_bytes(model), pytest.raises(ValueError, match="clip or rescale"):
        model.learn_batch(X * 1e6)


def test_a_column_of_one_value_is_told() -> None:
    X = np.column_stack([blobs(300), np.full(300, 7.0)])
    with pytest.warns(ScaleWarning, match=r"1 of 4 columns are constant \('x3'\)"):
        model = Canopy(3, **QUICK).fit(X)
    np.testing.assert_allclose(model.means[:, 3], 7.0)


def test_what_is_not_ready_says_so() -> None:
    model = Canopy(3, batch_size=100)
    for ask in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(NotReadyError, match="needs components"):
            ask(blobs(5))
    model.update(blobs(50))
    with pytest.raises(NotReadyError, match="more rows"):
        model.predict(blobs(5))
    assert model.flush().is_ready


def test_masks_sparse_and_huge_numbers_are_refused() -> None:
    from scipy.sparse import csr_matrix

    X = blobs(60)
    for bad, word in (
        (np.ma.masked_greater(X, 3.0), "mask|missing|nan"),
        (csr_matrix(X), r"dense; got a sparse matrix. Give X.toarray\(\)"),
        (X * 1e200, "at most 1e\\+150"),
    ):
        with pytest.raises(ValueError, match=word):
            Canopy(2, **QUICK).fit(bad)


def test_units_of_any_size_are_no_constants() -> None:
    X = blobs(300, m=3)
    fits = [Canopy(3, **QUICK).fit(X * unit) for unit in (1.0, 1e-17, 1e17)]
    labels = [fit.labels_.tolist() for fit in fits]
    assert labels[0] == labels[1] == labels[2]
    np.testing.assert_allclose(fits[1].means * 1e17, fits[0].means, rtol=1e-6)


@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_rows_of_no_weight_do_nothing_however_far(inference: str) -> None:
    X = blobs(500, m=3)
    weight = np.ones(500)
    weight[:100] = 0.0
    far = X.copy()
    far[:100] = 1e60
    fits = [
        Canopy(3, inference=inference, **QUICK).fit(rows, sample_weight=weight)
        for rows in (X, far)
    ]
    np.testing.assert_array_equal(fits[1].means, fits[0].means)
    np.testing.assert_array_equal(
        fits[1].history.validation, fits[0].history.validation
    )


def test_empty_parts_are_passed_over() -> None:
    X = blobs(200)
    parts = [X[:100], np.empty((0, 3)), X[100:]]
    for inference in ("em", "canopy2"):
        model = Canopy(3, inference=inference, **QUICK).fit(parts)
        whole = Canopy(3, inference=inference, **QUICK).fit([X[:100], X[100:]])
        np.testing.assert_array_equal(model.means, whole.means)


def test_a_batch_that_fails_leaves_the_stream_as_it_was() -> None:
    X = blobs(300)
    X[250] = 1e12
    model = Canopy(2, batch_size=100, seed=1)
    with same_bytes(model), pytest.raises(ValueError, match="rescale"):
        model.update(X)
    model.update(X[:50])
    with same_bytes(model), pytest.raises(ValueError, match="finite"):
        model.learn_batch([[np.nan, 1.0, 2.0]])
    few = Canopy(10, seed=1).update(X[:5])
    assert few.learn_batch(X[5:200]).is_ready
    assert few.n_seen == 200


def test_weights_of_scores_and_sums_are_checked() -> None:
    X = blobs(50)
    model = Canopy(2, **QUICK).fit(X)
    for bad in (-np.ones(50), np.full(50, np.nan), np.zeros(50), np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.score(X, sample_weight=bad)
    with pytest.raises(ValueError, match="finite sum"):
        model.fit(X, sample_weight=np.full(50, 1e308))


def test_questions_about_counts_are_of_counts() -> None:
    X = rows_for("poisson", 100)
    model = Canopy(2, family="poisson", **QUICK).fit(X)
    for bad in (-X[:3], X[:3] + 0.5):
        with pytest.raises(ValueError, match="whole numbers"):
            model.predict_proba(bad)


def test_full_covariances_of_few_rows_are_kept_positive() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3)) * 10
    with pytest.warns(ConvergenceWarning, match="on their floor"):
        model = Canopy(
            60, family="full", inference="em", prior=MixturePrior.none(1e-15),
            max_iter=30, tol=0.0, seed=1,
        ).fit(X)  # fmt: skip
    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()


def test_the_tree_passes_over_components_without_weight() -> None:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 2000]
    begin = np.r_[[[0, 0], [2000, 2000]], rng.normal(size=(30, 2)) + 1e6]
    model = Canopy(
        32, inference="tree", init=begin, max_iter=2, tol=0.0,
        prior=MixturePrior.none(), options=CanopyOptions(empty="prior"),
    ).fit(X)  # fmt: skip
    assert len(set(model.labels_[:300]) & set(model.labels_[300:])) == 0


def test_one_point_for_all_rows_is_for_one_inference_only() -> None:
    """A group of all rows would take a table of rows by components."""
    model = Canopy(
        64, inference="canopy2", options=CanopyOptions(prototypes=1), **QUICK
    ).fit(blobs(2000, m=64))
    assert model.history.list_length[-1] < 64


def test_rows_held_out_are_checked_too() -> None:
    X, counts = blobs(60), rows_for("poisson", 60)
    for family, rows, out, word in (
        ("diag", X, X[:0], "validation must have at least one row"),
        (
            "poisson",
            counts,
            counts[:3] - 99,
            r"validation must have whole .* 'poisson'",
        ),
        (
            "multinomial",
            counts,
            0 * counts[:3],
            "validation must have a count in every",
        ),
    ):
        with pytest.raises(ValueError, match=word):
            Canopy(2, family=family).fit(rows, validation=out)
    far = np.concatenate([X[:9], np.full((1, 3), 1e60)])
    model = Canopy(2, **QUICK).fit(X, validation=far)
    assert np.isfinite(model.history.validation).any()


@pytest.mark.parametrize("inference", ["em", "canopy1", "canopy2"])
def test_a_part_may_be_held_out_as_a_whole(inference: str, tmp_path: Path) -> None:
    X = blobs(300)
    parts = [X[k : k + 1] for k in range(8)] + [X[8:]]
    model = Canopy(3, inference=inference, **QUICK)
    model.fit(parts, validation=0.5, scratch=tmp_path)
    whole = Canopy(3, inference=inference, **QUICK).fit(X, validation=0.5)
    assert len(model.labels_) == len(whole.labels_) == 150
    if inference == "em":
        np.testing.assert_allclose(model.means, whole.means, rtol=1e-6)


def test_rows_held_out_by_share_are_no_copy(tmp_path: Path) -> None:
    """Of counts, too: 16 MB on disk, a quarter of a million rows of 8."""
    X = np.random.default_rng(0).poisson(3.0, size=(250_000, 8)).astype(float)
    np.save(tmp_path / "x.npy", X)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    most: dict[bool, int] = {}
    for is_share in (False, True):
        model = Canopy(
            2, family="poisson", inference="esca", init="random", max_iter=1, tol=0.0
        )
        tracemalloc.start()
        try:
            model.fit(rows, validation=0.01 if is_share else X[:2500], scratch=tmp_path)
            most[is_share] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most[True] < 16_000_000 + 8_000_000  # 64 bytes a row are X itself


def test_a_fit_goes_on_with_the_rows_held_out_that_it_had(tmp_path: Path) -> None:
    X, path = blobs(200), tmp_path / "fit.dyn"
    out = X[:40] + 0.1
    model = Canopy(3, **QUICK).fit(X, validation=out, save_to=path, save_every=5)
    again = Canopy.resume(path, X, validation=out)
    assert again.means.tobytes() == model.means.tobytes()
    for other in (None, out[1:], 0.2):
        with pytest.raises(CheckpointError, match="validation that fit had"):
            Canopy.resume(path, X, validation=other)


def test_a_start_has_the_columns_in_their_order() -> None:
    frame = pd.DataFrame(blobs(200) * [1.0, 10.0, 100.0], columns=["a", "b", "c"])
    first, model = Canopy(3, **QUICK).fit(frame), Canopy(3, **QUICK)
    with same_bytes(model), pytest.raises(ValueError, match="columns of X in their"):
        model.fit(frame[["c", "b", "a"]], start=first)
    model.fit(frame, start=first).fit(frame.to_numpy(), start=first)


def test_a_callback_may_answer_in_numpy() -> None:
    model = Canopy(3, **QUICK).fit(blobs(99), callback=lambda r: np.bool_(r.sweep == 4))
    assert len(model.history) == 4
    for answer in (None, 1, "stop", np.False_):
        model.fit(blobs(99), callback=lambda _, answer=answer: answer)
        assert len(model.history) == QUICK["max_iter"]
    with same_bytes(model), pytest.raises(ValueError, match="callback must be"):
        model.fit(blobs(99), callback=3)


def test_paths_of_other_files_and_known_components_are_told() -> None:
    for path in ("rows.csv", ["rows.csv"], Path("rows")):
        with pytest.raises(ValueError, match=r"ends in \.parquet or \.pq; got"):
            Canopy(2).fit(path)
    with pytest.raises(ValueError, match=r"component 1 has \[1\.e\+200"):
        Canopy(2).set_components([0.5, 0.5], [[0.0], [1e200]], np.ones((2, 1)))
    with pytest.raises(ValueError, match="covariances must be given for family 'diag'"):
        Canopy(1).set_components([1.0], [[0.0]])


def test_the_layout_of_rows_in_memory_alters_no_bit() -> None:
    X = blobs(3000, d=7) * np.pi
    fits = [Canopy(5, **QUICK).fit(rows) for rows in (X, np.asfortranarray(X))]
    assert fits[0].means.tobytes() == fits[1].means.tobytes()


def test_counts_are_bounded_by_their_sums_alone() -> None:
    """Squares, which only Gaussian families sum, would be 6e12 here."""
    rng = np.random.default_rng(0)
    X = rng.poisson([[1e5, 1e5]] * 100 + [[2e5, 1e5]] * 100).astype(float)
    model = Canopy(2, family="poisson", inference="esca", **QUICK).fit(X)
    order = np.argsort(model.means[:, 0])
    # the prior is worth a count in 10^-5 rows
    own = [X[:100].mean(axis=0), X[100:].mean(axis=0)]
    np.testing.assert_allclose(model.means[order], own, rtol=1e-6)
    model.learn_batch(X[:150])
    assert model.n_seen == 350
    huge = rng.integers(10**11, 10**12, size=(50, 2)).astype(float)
    with same_bytes(model), pytest.raises(ValueError, match=r"sums below 2\^40"):
        model.fit(huge)


def test_copies_and_files_share_nothing_that_can_be_written_to() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    init, mean = X[:2].copy(), np.zeros(2)
    model = Canopy(2, init=init, prior=MixturePrior(mean=mean), max_iter=2)
    init[:], mean[:] = 99.0, 99.0  # the caller's own
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    again, before = model.copy(), model.means
    for shared in (model.options.init, model.options.prior.mean):
        assert abs(shared).max() < 9.0
        with pytest.raises(ValueError, match="read-only"):
            shared[:] = 99.0
    _, arrays = model.to_arrays()
    for array in arrays.values():
        array[...] = 7
    model.labels_[:] = 1 - model.labels_
    assert (again.means == before).all()
    assert (again.labels_ != model.labels_).all()


def test_a_start_with_rows_that_wait_has_no_components() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    waiting = Canopy(2, batch_size=50).update(X[:10])
    with pytest.raises(ValueError, match="start must be a Canopy that has components"):
        Canopy(2).fit(X, start=waiting)


@pytest.mark.parametrize("family", ["poisson", "multinomial"])
@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_counts_may_be_sparse(family: str, inference: str) -> None:
    rng = np.random.default_rng(0)
    rates = np.array([[5.0, 0.1, 1.0, 3.0], [0.2, 4.0, 2.0, 1.0]])
    C = rng.poisson(rates[rng.integers(2, size=400)])
    options: dict[str, Any] = {"family": family, "inference": inference}
    for kind in (csr_array, csc_array):
        dense = Canopy(2, **options).fit(C, validation=C[:50])
        sparse = Canopy(2, **options).fit(kind(C), validation=kind(C[:50]))
        assert sparse.means.tobytes() == dense.means.tobytes()
        assert (sparse.labels_ == dense.labels_).all()
        assert (sparse.predict(kind(C)) == dense.predict(C)).all()
        assert sparse.score(kind(C)) == dense.score(C)
        streams = [
            Canopy(2, batch_size=150, **options).update(rows) for rows in (C, kind(C))
        ]
        assert streams[0].means.tobytes() == streams[1].means.tobytes()
    with pytest.raises(ValueError, match="whole numbers >= 0"):
        Canopy(2, **options).fit(csr_array(C - 1))
    with same_bytes(sparse), pytest.raises(ValueError, match="4 columns"):
        sparse.update(csr_array(C[:, :2]))


def test_only_counts_may_be_sparse() -> None:
    X = csr_array(blobs(60))
    model = Canopy(2, **QUICK).fit(blobs(60))
    for ask in (model.fit, model.update, model.predict, model.score):
        with same_bytes(model), pytest.raises(ValueError, match="X must be dense"):
            ask(X)
    with pytest.raises(ValueError, match="validation must be dense"):
        Canopy(2, **QUICK).fit(blobs(60), validation=X)


def test_of_sparse_counts_a_block_is_dense() -> None:
    n, d = 9000, 1500
    X = csr_array((np.ones(n), (np.arange(n), np.arange(n) % d)))
    model = Canopy(2, family="multinomial", init="random", max_iter=2, tol=0.0).fit(X)
    tracemalloc.start()
    model.score_samples(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8  # bytes of all rows as floats


def test_criteria_count_rows_by_their_weights() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = Canopy(2, seed=1).fit(X)
    times = np.arange(60) % 4
    for ask in (model.bic, model.aic):
        every = ask(np.repeat(X, times, axis=0))
        assert ask(X, sample_weight=times) == pytest.approx(every, rel=1e-12)
        assert ask(X, sample_weight=np.ones(60)) == pytest.approx(ask(X), rel=1e-12)
        with pytest.raises(ValueError, match="sample_weight must have shape"):
            ask(X, sample_weight=[1.0])
