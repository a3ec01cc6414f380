"""What a fresh reading of the mixtures broke: files, far rows, constants, fading."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM


@pytest.mark.parametrize("kind", ["gmm", "mppca", "hsmm"])
def test_means_whose_squares_overflow_are_refused(kind: str) -> None:
    model = {
        "gmm": lambda: OnlineDPGMM(1.0, max_clusters=2),
        "mppca": lambda: OnlineDPMPPCA(1.0, noise=0.5, max_clusters=2),
        "hsmm": lambda: OnlineHDPHSMM(1.0, noise=0.5, max_clusters=2),
    }[kind]().update([[0.0, 0.0], [10.0, 0.0]])
    header, arrays = model.to_arrays()
    arrays["mean"][0] = 1e300, 0.0
    with pytest.raises(ValueError, match="mean has values"):
        type(model).from_arrays(header, arrays)
    arrays["mean"][:] = [[1e150, 0.0], [-1e150, 0.0]]  # as far as any rows may be
    rows = 100.0 * np.random.default_rng(0).normal(size=(200, 2))
    back = type(model).from_arrays(header, arrays).update(rows)
    assert back.n_seen == 202
    assert len(back.clusters(True).weight) <= 2


def test_a_far_state_takes_no_digits_from_the_others() -> None:
    """States that part without doubt are decoded so, whatever lies far away."""
    rng = np.random.default_rng(0)
    turns = np.tile(np.repeat([0, 1], [20, 30]), 20)
    state = np.concatenate([np.full(1000, 2), turns, np.full(1000, 2), turns])
    place = np.array([0.0, 6e-3, 1e5])[state]
    X = place[:, None] + 1e-3 * rng.normal(size=(4000, 1))
    model = OnlineHDPHSMM(2.3e-5, noise=1e-3).update(X)
    path = model.decode(X)
    assert len(path.start) == 82
    assert np.count_nonzero(np.diff(path.labels)) == 81
    far = X.copy()
    far[2500] = 1e12  # one row costs a constant, and no other row its label
    changed = np.flatnonzero(model.decode(far).labels != path.labels)
    assert np.all(np.abs(changed - 2500) <= 60)


@pytest.mark.parametrize("n_constant", [1, 3])
@pytest.mark.parametrize("kind", [OnlineDPGMM, OnlineDPMPPCA])
def test_constant_columns_are_no_dimensions_of_noise(
    kind: type, n_constant: int
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2)) + 12.0 * rng.integers(4, size=(2000, 1))
    with_constant = np.column_stack([X, np.full((2000, n_constant), 7.0)])
    assert kind().update(X).n_clusters == 4
    assert kind().update(with_constant).n_clusters == 4


@pytest.mark.parametrize("kind", ["gmm", "mppca"])
def test_clusters_may_fade_for_ever(kind: str) -> None:
    more = {"noise": 0.1} if kind == "mppca" else {}
    model = (OnlineDPMPPCA if kind == "mppca" else OnlineDPGMM)(
        1.0, forget=0.5, min_weight=1, max_clusters=3, **more
    ).update([[0.0, 0.0], [10.0, 0.0]])
    model.update(np.full((1500, 2), 50.0))
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.update([[100.0, 0.0]])
        assert np.isfinite(one.clusters(True).mean).all()


def test_a_row_out_of_reach_tells_the_filter_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + 10.0 * rng.integers(3, size=(300, 1))
    model = OnlineHDPHSMM(1e-6, noise=1e-5, min_weight=1).update(X[:20])
    assert np.isfinite(model.filter_one([1e150, 0.0, 0.0])).all()
    assert np.isfinite(model.predict_next(3)).all()
    pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": 1e200}, "noise must be in .*got 1e.200"),
        ({"noise": 1e-170}, "noise must be in .*got 1e-170"),
        ({"noise": 1.0, "check_every": 10**30}, "check_every must be at most"),
    ],
)
def test_options_beyond_all_numbers_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OnlineDPMPPCA(1.0, **options)


def test_a_file_that_claims_too_many_columns_reserves_nothing() -> None:
    header, arrays = OnlineDPGMM(1.0).update([[0.0, 0.0]]).to_arrays()
    header["features"] = header["features"] | {"n_columns": 10**9}
    with pytest.raises(ValueError, match="mean has shape"):
        OnlineDPGMM.from_arrays(header, arrays)
