"""Prequential evaluation where responses come some rows late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree.errors import UnseenLevelWarning
from dyntree.evaluate import prequential, prequential_each
from tests.helpers import model_bytes, same_bytes

N = 90
rng = np.random.default_rng(5)
NUMBERS = rng.normal(size=(N, 2))
MIXED = pd.DataFrame(
    {"x": NUMBERS[:, 0], "shop": [f"s{int(k / 12)}" for k in range(N)]}
)  # a new level every twelve rows
REAL = NUMBERS[:, 0] + 0.1 * rng.normal(size=N)
LABELS = np.array([f"l{int(k / 30)}" for k in range(N)])  # new labels, too
COUNTS = rng.poisson(3.0, N)
EXPOSURE = rng.uniform(0.5, 2.0, N)
CASES: dict[str, tuple[Callable[[], Any], Any, Any, Any]] = {
    "tree": (
        lambda: DynamicTree("linear", n_particles=20, seed=1), NUMBERS, REAL, None,
    ),
    "stream of levels": (
        lambda: StreamingTree(window=30, n_particles=20, seed=1), MIXED, REAL, None,
    ),
    "labels": (
        lambda: StreamingTree("class", window=30, n_particles=20, seed=1), MIXED,
        LABELS, None,
    ),
    "average": (lambda: AveragedStream(n_particles=10, seed=1), NUMBERS, REAL, None),
    "counts": (
        lambda: DynamicTree("negbin", n_particles=20, seed=1), NUMBERS, COUNTS,
        EXPOSURE,
    ),
}  # fmt: skip


def cut(rows: Any, start: int, end: int) -> Any:
    return rows.iloc[start:end] if hasattr(rows, "iloc") else rows[start:end]


def by_hand(
    model: Any, X: Any, y: Any, exposure: Any, start: int, delay: int
) -> list[Any]:
    """Means predicted in a plain loop over raw rows; the model learns all of them."""

    def learn(first: int, end: int) -> None:
        over = {} if exposure is None else {"exposure": exposure[first:end]}
        model.update(cut(X, first, end), y[first:end], **over)

    if start:
        learn(0, start)
    waiting, means = [], []
    for t in range(start, N):
        if model.is_ready:
            over = {} if exposure is None else {"exposure": exposure[t : t + 1]}
            told = model.predict(cut(X, t, t + 1), **over)
            means.append((told.proba if hasattr(told, "proba") else told.mean)[0])
        waiting.append(t)
        if len(waiting) > delay:
            learn(waiting[0], waiting[0] + 1)
            del waiting[0]
    for t in waiting:
        learn(t, t + 1)
    return means


@pytest.mark.filterwarnings(
    f"ignore::{UnseenLevelWarning.__module__}.UnseenLevelWarning"
)
@pytest.mark.parametrize("start", [0, 25])
@pytest.mark.parametrize("delay", [0, 1, 13, 10_000])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_foreseen_without_what_has_not_come(
    name: str, delay: int, start: int
) -> None:
    make, X, y, exposure = CASES[name]
    plain, model = make(), make()
    means = by_hand(plain, X, y, exposure, start, delay)
    if not means:
        with pytest.raises(ValueError, match="no row was scored"):
            prequential(model, X, y, exposure=exposure, start=start, delay=delay)
        return
    seen = prequential(model, X, y, exposure=exposure, start=start, delay=delay)
    assert seen.rows.tolist() == list(range(N - len(means), N))
    for told, mean in zip(seen.mean, means, strict=True):
        n_known = np.size(mean)  # labels that come later have probability 0
        np.testing.assert_array_equal(
            np.atleast_1d(told)[:n_known], np.atleast_1d(mean)
        )
        assert not np.atleast_1d(told)[n_known:].any()
    assert model_bytes(model) == model_bytes(plain)


@pytest.mark.parametrize("delay", [0, 4])
def test_the_baseline_knows_no_response_before_it_comes(delay: int) -> None:
    model = DynamicTree(n_particles=20, seed=1)
    seen = prequential(model, NUMBERS, REAL, start=20, delay=delay)
    density = []
    for t in range(20, N):
        earlier = REAL[: max(20, t - delay)]
        scale = earlier.std(ddof=1) * np.sqrt(1.0 + 1.0 / len(earlier))
        law = stats.t(len(earlier) - 1, earlier.mean(), scale)
        density.append(law.logpdf(REAL[t]))
    # running sums of ninety numbers of size 1
    assert seen.baseline.log_density == pytest.approx(np.mean(density), rel=1e-10)

    labels = prequential(
        DynamicTree("class", n_particles=20, seed=1), NUMBERS, LABELS, start=20,
        delay=delay,
    )  # fmt: skip
    wrong = []
    for t in range(20, N):
        earlier = LABELS[: max(20, t - delay)].tolist()
        known = [label for label in ("l0", "l1", "l2") if label in earlier]
        share = [(earlier.count(one) + 1 / len(known)) for one in known]
        wrong.append(known[int(np.argmax(share))] != LABELS[t])
    assert labels.baseline.error == pytest.approx(np.mean(wrong), rel=1e-12)


def test_several_models_wait_alike() -> None:
    models = {str(w): StreamingTree(window=w, n_particles=20, seed=1) for w in (20, 40)}
    each = prequential_each(models, NUMBERS, REAL, start=20, delay=5)
    for name, model in models.items():
        alone = prequential(model, NUMBERS, REAL, start=20, delay=5)
        np.testing.assert_array_equal(each[name].mean, alone.mean)


@pytest.mark.parametrize("bad", [-1, 1.5, "1", None, True])
def test_a_delay_is_a_number_of_rows(bad: Any) -> None:
    model = DynamicTree(n_particles=20, seed=1).update(NUMBERS, REAL)
    with same_bytes(model), pytest.raises(ValueError, match="delay"):
        prequential(model, NUMBERS, REAL, delay=bad)
