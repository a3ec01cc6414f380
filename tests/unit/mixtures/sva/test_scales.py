"""How scales are chosen from the first rows: which costs are tried, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA
from dyntree.mixtures.sva import scales
from dyntree.mixtures.sva.scales import Trial, bisected

BIC = [9.0, 9.0, 9.0, 4.0, 5.0, 5.0, 2.0, 2.0, 7.0, 7.0, 7.0, 7.0]


def test_costs_between_equal_mixtures_are_not_tried() -> None:
    """What is told is what trying all of them tells."""
    tried: list[int] = []

    def trial(k: int) -> Trial:
        tried.append(k)
        return Trial(int(BIC[k]), BIC[k], 1.0)

    assert [found.bic for found in bisected(len(BIC), trial)] == BIC
    assert len(tried) == len(set(tried)) < len(BIC)
    tried.clear()
    assert len(bisected(14, lambda k: trial(0))) == 14
    assert len(tried) == 2


def test_costs_below_hopeless_ones_are_not_tried() -> None:
    """Where asked for: fewer rows a cluster cannot be better."""
    tried: list[int] = []
    bic = [np.inf] * 8 + BIC[6:]

    def trial(k: int) -> Trial:
        tried.append(k)
        return Trial(20 - k, bic[k], 1.0)

    found = bisected(len(bic), trial, skip_hopeless=True)
    assert [one.bic for one in found] == bic
    assert set(tried) & set(range(1, 6)) == set()
    tried.clear()
    assert [one.n_clusters for one in bisected(14, trial)] == list(range(20, 6, -1))
    assert len(tried) == 14


def test_mixtures_are_the_same_but_for_rounding() -> None:
    assert Trial(3, 10.0, 1.0).is_as(Trial(3, 10.0005, 2.0))
    assert not Trial(3, 10.0, 1.0).is_as(Trial(3, 10.1, 1.0))
    assert not Trial(3, 10.0, 1.0).is_as(Trial(2, 10.0, 1.0))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of clusters of trials as they come."""
    seen: list[int] = []
    plain = scales.subspace_trial

    def noted(rows: Any, found: Any) -> Trial:
        seen.append(found.n)
        return plain(rows, found)

    monkeypatch.setattr(scales, "subspace_trial", noted)
    return seen


def test_rows_of_one_wide_cluster_are_few_trials(tried: list[int]) -> None:
    """Every cost leads to the one cluster, in each round of the noise."""
    X = np.random.default_rng(0).normal(size=(800, 200))
    model = OnlineDPMPPCA().update(X)
    assert len(tried) <= 16  # 42 where all costs are tried
    assert model.n_clusters == 1
    assert model.noise == pytest.approx(1.0, rel=0.01)


@pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")  # units are equal
def test_a_rising_noise_asks_for_one_trial_each_time(tried: list[int]) -> None:
    """Spectra without an edge, as of images, raise it again and again."""
    X = pytest.importorskip("sklearn.datasets").load_digits().data[:800]
    model = OnlineDPMPPCA().update(X)
    assert len(tried) <= 40  # 100 where each round tries all costs
    path = model.lambda_path(X)
    assert model.lambda_ == pytest.approx(path.lambda_[path.bic.argmin()], rel=1e-6)


def centres(kind: str, width: int, rng: np.random.Generator) -> np.ndarray:
    """Centres nine apart: in a line along a column or the diagonal, or at random."""
    if kind == "random":
        found: list[np.ndarray] = []
        while len(found) < 10:
            size = 0.8 * (9.0 + 0.1 * len(found)) * 10.0 ** (1.0 / width)
            one = rng.uniform(-size, size, size=width)
            if all(np.linalg.norm(one - other) >= 9.0 for other in found):
                found.append(one)
        return np.array(found)
    K = 20 if "20" in kind else 10
    way = np.eye(width)[0] if "column" in kind else np.full(width, width**-0.5)
    return 9.0 * np.arange(K)[:, None] * way


@pytest.mark.parametrize("width", [5, 10, 20])
@pytest.mark.parametrize(
    "kind", ["10 along a column", "20 along a column", "20 diagonal", "random"]
)
@pytest.mark.parametrize("make", [OnlineDPGMM, OnlineDPMPPCA])
def test_blobs_are_as_many_as_they_are(make: Any, kind: str, width: int) -> None:
    """With defaults; right in each of 120 other draws: below 3 % of these fail."""
    for seed in range(2):
        rng = np.random.default_rng([seed, width])
        at = centres(kind, width, rng)
        X = at[rng.integers(len(at), size=1500)] + rng.normal(size=(1500, width))
        assert make().update(X).merge_now().n_clusters == len(at)


def test_blobs_of_many_columns_are_found() -> None:
    rng = np.random.default_rng(0)
    at = 3.0 * rng.normal(size=(5, 120))
    label = rng.integers(5, size=900)
    X = at[label] + rng.normal(size=(900, 120))
    model = OnlineDPMPPCA().update(X).merge_now()
    assert model.n_clusters == 5
    assert model.noise == pytest.approx(1.0, rel=0.02)


def embeddings(
    width: int, decay: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Twelve directions of length 1.5, and noise of length 1 whose spectrum decays."""
    at = rng.normal(size=(12, width))
    at *= 1.5 / np.linalg.norm(at, axis=1)[:, None]
    sd = np.arange(1.0, width + 1.0) ** (-decay / 2.0)
    noise = rng.normal(size=(1500, width)) * (sd / np.linalg.norm(sd))
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    label = rng.integers(12, size=1500)
    return at[label] + noise @ turn.T, label


@pytest.mark.parametrize(("width", "decay"), [(100, 0.5), (384, 0.0), (384, 0.5)])
def test_groups_of_wide_rows_are_found(width: int, decay: float) -> None:
    """Two rows of a cluster are further apart than the radius of round noise.

    Right in each of 36 other draws: below 8 % of these three fail.
    """
    X, label = embeddings(width, decay, np.random.default_rng([width, 7]))
    model = OnlineDPGMM().update(X).merge_now()
    assert model.n_clusters == 12
    assert len(set(zip(label, model.predict(X), strict=True))) == 12


def test_one_long_cluster_is_not_cut_in_more_pieces() -> None:
    """Costs with a better BIC would cut it in three and more.

    One in each of 20 other draws: below 5 % fail.
    """
    X = np.random.default_rng(5).normal(size=(1500, 5)) * np.geomspace(1.0, 3.0, 5)
    model = OnlineDPGMM().update(X).merge_now()
    assert model.n_clusters == 1
    path = model.lambda_path(X[:500])
    assert path.n_clusters[path.bic.argmin()] > 1
