"""Scales that no longer fit the rows are told of once, and chosen again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.errors import ScaleWarning
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from tests.helpers import model_bytes

CENTRES = 9.0 * np.random.default_rng(3).normal(size=(8, 4))
AUTO: dict[str, Callable[..., Any]] = {
    "gmm auto": lambda **more: OnlineDPGMM(**{"warm_up": 300} | more),
    "mppca auto": lambda **more: OnlineDPMPPCA(**{"warm_up": 300} | more),
    "noise auto": lambda **more: OnlineDPMPPCA(90.0, **{"warm_up": 300} | more),
}
FIXED: dict[str, Callable[..., Any]] = {
    "gmm": lambda **more: OnlineDPGMM(30.0, **more),
    "mppca": lambda **more: OnlineDPMPPCA(90.0, noise=1.0, **more),
    "hsmm": lambda **more: OnlineHDPHSMM(90.0, noise=1.0, **more),
    "round hsmm": lambda **more: OnlineHDPHSMM(90.0, noise=1.0, emission="gmm", **more),
}
MADE = AUTO | FIXED


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Eight blobs in four columns."""
    rng = np.random.default_rng(seed)
    return CENTRES[rng.integers(8, size=n)] + rng.normal(size=(n, 4))


def changed(n: int = 1500, gain: float = 10.0) -> np.ndarray:
    """Rows whose gain changes in the middle."""
    return rows(2 * n) * np.repeat([1.0, gain], n)[:, None]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MADE)
def test_a_gain_that_changes_is_told_of_once(name: str, seed: int) -> None:
    X = np.concatenate([rows(1500, seed), 10.0 * rows(3000, seed + 10)])
    with pytest.warns(ScaleWarning, match="lambda_ no longer fits the rows") as told:
        model = MADE[name]().update(X)
    assert len(told) == 1
    assert ("Scales are chosen again" in str(told[0].message)) == (name in AUTO)
    assert ("Begin a new model" in str(told[0].message)) == (name in FIXED)
    assert model.n_seen == len(X)


@pytest.mark.parametrize("name", ["gmm auto", "mppca auto"])
def test_scales_are_chosen_again(name: str) -> None:
    """Clusters are those of the rows since, under ids that were never used."""
    model = MADE[name]().update(X := changed()[:1500])
    before = model.lambda_, set(model.clusters(provisional=True).id.tolist())
    with pytest.warns(ScaleWarning):
        model.update(changed()[1500:]).merge_now()
    assert 50.0 < model.lambda_ / before[0] < 200.0
    assert model.n_clusters == 8
    assert not before[1] & set(model.clusters().id.tolist())
    assert model.clusters().born.min() >= len(X)
    nearest = ((model.clusters().mean[:, None] - 10.0 * CENTRES) ** 2).sum(axis=2)
    assert (nearest.min(axis=0) < 4.0 * 100.0).all()
    with pytest.warns(ScaleWarning):  # another change is another misfit
        model.update(100.0 * rows(2000))


def test_rows_of_one_cluster_that_shrink_are_told_of() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 3))
    model = OnlineDPGMM(40.0).update(X[:1000])
    with pytest.warns(ScaleWarning, match="in mean square"):
        model.update(0.1 * X[1000:])


def learned_by(model: Any, X: np.ndarray, size: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        for first in range(0, len(X), size):
            model.update(X[first : first + size])
    return model


@pytest.mark.parametrize("check_every", [250, 256, 10_000])
@pytest.mark.parametrize("name", MADE)
def test_chunks_do_not_matter(name: str, check_every: int) -> None:
    """Nor whether rows come as dicts, or the model from its arrays in between."""
    X = changed(900)
    whole = learned_by(MADE[name](check_every=check_every), X, len(X))
    parts = learned_by(MADE[name](check_every=check_every), X, 97)
    assert model_bytes(parts) == model_bytes(whole)
    single = MADE[name](check_every=check_every)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for row in X.tolist():
            single.learn_one(dict(enumerate(row)))
    assert [one.category for one in told] == [ScaleWarning]
    for kept in ("ids", "mean", "weight", "watch"):
        np.testing.assert_array_equal(
            single.to_arrays()[1][kept], whole.to_arrays()[1][kept]
        )
    for n in (1100, 1300, 1450):
        half = learned_by(MADE[name](check_every=check_every), X[:n], 1500)
        again = type(half).from_arrays(*half.to_arrays())
        learned_by(again, X[n:], 100)
        assert model_bytes(again) == model_bytes(whole)


def stationary(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows of one law from the first to the last."""
    if kind == "outliers":
        return (
            rng.normal(size=(n, 3)) * np.where(rng.random(n) < 0.05, 30.0, 1.0)[:, None]
        )
    if kind == "rare":
        p = rng.dirichlet(np.full(40, 0.3))
        return 20.0 * rng.normal(size=(40, 3))[rng.choice(40, p=p, size=n)] + (
            rng.normal(size=(n, 3))
        )
    if kind == "segments":
        return rows(7)[(np.arange(n) // 60) % 7] + rng.normal(size=(n, 4))
    return {
        "cauchy": rng.standard_cauchy,
        "lognormal": rng.lognormal,
        "uniform": rng.random,
    }[kind](size=(n, 3))


@pytest.mark.parametrize(
    "kind", ["outliers", "rare", "segments", "cauchy", "lognormal", "uniform"]
)
@pytest.mark.parametrize("name", ["gmm auto", "mppca auto", "gmm", "hsmm"])
def test_rows_of_one_law_raise_no_alarm(name: str, kind: str) -> None:
    """Warnings are errors here. None of 546 such streams had one: below .6 % fail."""
    with warnings.catch_warnings():
        for other in ("the variance of column", "row .* from the median"):
            warnings.filterwarnings("ignore", message=other)
        MADE[name]().update(stationary(kind, np.random.default_rng(5), 4000))


@pytest.mark.parametrize("speed", [0.003, 0.01])
def test_drift_that_is_followed_raises_no_alarm(speed: float) -> None:
    rng = np.random.default_rng(0)
    way = rng.normal(size=(8, 4))
    label = rng.integers(8, size=6000)
    X = CENTRES[label] + rng.normal(size=(6000, 4))
    X += speed * way[label] * np.arange(6000)[:, None]
    for model in (OnlineDPGMM(forget=0.98), OnlineDPMPPCA(forget=0.98)):
        model.update(X)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("cut", [1000, 7, 500])
def test_scales_that_never_fit_are_told_once(name: str, cut: int) -> None:
    X = 1e6 * np.random.default_rng(5).normal(size=(1000, 4))
    model = FIXED[name]()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for first in range(0, 1000, cut):
            model.update(X[first : first + cut])
    said = "none of 500 clusters has the 5 rows that confirm it"
    assert [str(one.message).startswith(said) for one in told] == [True]
