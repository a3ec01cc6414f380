"""The last response as a prediction of the next, beside the members of an average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from dyntree import AveragedStream
from dyntree._core import averaging
from dyntree.checkpoint import dumps, loads
from tests.oracle import persistence

MEMBERS = ({"window": 20, "forget": 0.8, "n_particles": 5}, {"n_trees": 3})


def levels(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features that say nothing of levels that jump."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.normal(0.0, 10.0, n // 25), 25)
    return rng.random((n, 2)), level + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_equal", [0, 5])
def test_the_core_meets_the_oracle(weighted: bool, n_equal: int) -> None:
    rng = np.random.default_rng(1)
    y = np.concatenate([np.full(n_equal, 3.0), rng.normal(size=60).cumsum()])
    w = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    found, state = np.zeros((len(y), 2)), np.zeros(4)
    found[:, 0] = -1.5
    args = np.zeros(2), np.empty_like(found), state
    averaging.weigh_persistently(found, 0.98, 0.2, *args, y, w, 2.0, True)
    assert found[0, 1] == pytest.approx(-1.5)  # as the others: it knows nothing
    expected = persistence.densities(y, 2.0, w)
    np.testing.assert_allclose(found[1:, 1], expected, rtol=1e-9)
    if not weighted:
        law = averaging.persistence_law(state)
        np.testing.assert_allclose(law[:2], persistence.law(y, 2.0), rtol=1e-12)


def test_a_frequency_counts_the_density_so_often() -> None:
    y = np.random.default_rng(1).normal(size=30)
    w = np.r_[np.ones(10), np.full(20, 3.0)]
    found, state = np.zeros((30, 2)), np.zeros(4)
    args = np.zeros(2), np.empty_like(found), state
    averaging.weigh_persistently(found, 0.98, 0.2, *args, y, w, 1.0, False)
    expected = persistence.densities(y, 1.0) * w[1:]
    np.testing.assert_allclose(found[1:, 1], expected, rtol=1e-9)


@pytest.mark.parametrize("members", [None, MEMBERS, "fast"])
def test_levels_that_no_feature_tells_are_predicted(members: Any) -> None:
    X, y = levels()
    stream = AveragedStream(members=members, seed=1)
    errors = []
    for t in range(len(y)):
        if t >= 50:
            errors.append(stream.predict(X[t : t + 1]).mean[0] - y[t])
        stream.update(X[t : t + 1], y[t : t + 1], progress=False)
    last = np.diff(y)[49:]
    assert np.mean(np.square(errors)) < 1.25 * np.mean(last**2)
    assert stream.persistence_share > 0.5
    assert stream.weights.sum() + stream.persistence_share == pytest.approx(1.0)


@pytest.mark.parametrize("n_equal", [0, 30])
def test_blocks_and_rows_give_the_same(n_equal: int) -> None:
    X, y = levels(100)
    y[:n_equal] = 4.0
    whole = AveragedStream(members=MEMBERS, seed=1).update(X, y, progress=False)
    parts = AveragedStream(members=MEMBERS, seed=1)
    for t in range(len(y)):
        parts.update(X[t : t + 1], y[t : t + 1], progress=False)
    np.testing.assert_array_equal(whole._persistence, parts._persistence)
    np.testing.assert_allclose(whole._log_weights, parts._log_weights, rtol=1e-12)
    assert whole.log_evidence == pytest.approx(parts.log_evidence, rel=1e-12)
    a, b = whole.predict(X[:5]), parts.predict(X[:5])
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12)
    np.testing.assert_allclose(a.mean[0], parts.predict(X[:1]).mean[0], rtol=1e-12)


def test_predictions_have_its_component() -> None:
    X, y = levels()
    stream = AveragedStream(members=MEMBERS, seed=1).update(X, y, progress=False)
    share, answer = stream.persistence_share, stream.predict(X[:4])
    last, scale = persistence.law(y, stream.state.cloud.prior_point["y_spread"])
    members = [member.predict(X[:4]) for member in stream.members]
    expected = share * last + sum(
        w * one.mean for w, one in zip(stream.weights, members, strict=True)
    )
    np.testing.assert_allclose(answer.mean, expected, rtol=1e-9)
    own = share * student.cdf(last, 4.0, last, scale)
    assert answer.cdf(np.full(4, last)).min() >= own - 1e-9
    assert answer.cdf(np.full(4, last)).max() <= 1.0 - own + 1e-9
    at = stream.mean_at(X[:1])
    assert at == pytest.approx(answer.mean[0], rel=1e-9)


def test_draws_follow_the_prediction() -> None:
    """Shares of 4,000 draws below a point err by .008: ten of these are allowed."""
    X, y = levels()
    stream = AveragedStream(members=MEMBERS, seed=1).update(X, y, progress=False)
    answer = stream.predict(X[:3])
    drawn = stream.posterior_draws(X[:3], 4000, kind="obs", seed=2)
    for q in (0.1, 0.5, 0.9):
        below = (drawn <= answer.quantile([q])[:, 0]).mean(axis=0)
        np.testing.assert_allclose(below, q, atol=0.08)
    contrast = stream.effect_means(X[:3], 2)
    assert (
        np.ptp(contrast) >= 0.0
    )  # of linear members alone: none has the last response
    effects = stream.members[0].tree.predict(X[:3]).mean
    np.testing.assert_allclose(contrast, effects, rtol=1e-9)


@pytest.mark.parametrize("options", [{"model": "linear"}, {"model": "constant"}])
def test_only_mixed_averages_have_it(options: dict[str, Any]) -> None:
    X, y = levels()
    stream = AveragedStream(**options, n_particles=5, seed=1).update(
        X, y, progress=False
    )
    assert stream.persistence_share == 0.0
    assert stream.weights.sum() == pytest.approx(1.0)


def test_it_is_saved_copied_and_dropped_with_the_data() -> None:
    X, y = levels()
    stream = AveragedStream(members=MEMBERS, seed=1).update(X, y, progress=False)
    again = loads(dumps(stream))
    for twin in (stream.copy(), again):
        assert twin.persistence_share == stream.persistence_share
        twin.update(X[:1], y[:1] + 3.0)
        assert twin._persistence[0] == y[0] + 3.0
    assert stream._persistence[0] == y[-1]
    stream.remove_data()
    assert stream.persistence_share == 0.0
    assert not stream._persistence[:3].any()
    assert stream.predict(X[:2]).mean.shape == (2,)
    stream.update(X[:3], y[:3])
    assert stream.persistence_share > 0.0


def test_a_spike_in_a_robust_average_is_not_the_last_response() -> None:
    X, y = levels()
    y = np.concatenate([y[:175], np.random.default_rng(3).normal(y[174], 0.3, 25)])
    y[190] = 1e4
    stream = AveragedStream(members=MEMBERS, seed=1, robust=True)
    stream.update(X[:190], y[:190], progress=False)
    parts = stream.copy().update(X[190:191], y[190:191])  # a row alone
    stream.update(X[190:192], y[190:192], progress=False)
    assert parts._persistence[0] == y[189]
    assert stream._persistence[0] == y[191]
    assert stream._persistence[1] < 100.0  # a spike is 10^9 squared units
    assert np.abs(stream.predict(X[:9]).mean).max() < 100.0


def test_a_frozen_stream_has_no_next_row() -> None:
    X, y = levels()
    stream = AveragedStream(members=MEMBERS, seed=1).update(X, y, progress=False)
    frozen = stream.copy().freeze()
    assert frozen.persistence_share == 0.0
    members = [member.predict(X[:3]).mean for member in frozen.members]
    expected = frozen.weights @ np.array(members)
    np.testing.assert_allclose(frozen.predict(X[:3]).mean, expected, rtol=1e-9)


def test_intervals_of_the_mean_have_a_width() -> None:
    """The level is inside in .85 of 150 rows or more; .9 are expected, se .025."""
    X, y = levels(200, seed=4)
    level = np.repeat(np.random.default_rng(4).normal(0.0, 10.0, 8), 25)
    stream, inside = AveragedStream(members=MEMBERS, seed=1), []
    for t in range(len(y)):
        if t >= 50 and t % 25:  # no feature tells of a jump
            low, high = stream.predict(X[t : t + 1]).of_mean.quantile([0.05, 0.95])[0]
            inside.append(low <= level[t] <= high)
        stream.update(X[t : t + 1], y[t : t + 1], progress=False)
    assert np.mean(inside) > 0.8
    drawn = stream.posterior_draws(X[:2], 4000, kind="mean", seed=1)
    answer = stream.predict(X[:2]).of_mean
    below = (drawn <= answer.quantile([0.2])[:, 0]).mean(axis=0)
    np.testing.assert_allclose(below, 0.2, atol=0.08)
