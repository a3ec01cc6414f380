"""One step of particle learning: what it reports, and what stops it half-way."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.probes import audit

PROPOSALS = ("luvar", "luall", "reject")


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("name", helpers.MODELS)
def test_steps_are_the_oracles(name: str, proposal: str) -> None:
    """Thirty particles: equal weights then cost draws or not by a last bit (11.1)."""
    changes = {"n_particles": 30, "proposal": proposal}
    core, oracle = helpers.pair(name, 4, seed=2, **changes)
    X, y = helpers.data(name, 60, seed=2)
    X = np.round(X, 1)
    reports: tuple[list, list] = [], []
    densities = [
        cloud.update(X, y, 7, lambda *line, seen=seen: seen.append(line))
        for cloud, seen in zip((core, oracle), reports, strict=True)
    ]
    np.testing.assert_array_equal(*densities)
    helpers.assert_same_cloud(core, oracle)
    assert len(reports[0]) == 9
    helpers.assert_close(*reports, "progress")


@pytest.mark.parametrize("seed", range(6))
def test_a_row_is_rounded_by_one_particle_after_the_other(seed: int) -> None:
    """Each sees it as the one before left it, of the same leaf too (11.2)."""
    X = np.random.default_rng(seed).normal((0.3, 5.0), size=(60, 2))
    y = np.ascontiguousarray(X[:, 0] ** 2)
    core, oracle = helpers.pair("implicit", 4, seed=seed, n_particles=30)
    np.testing.assert_array_equal(core.update(X, y), oracle.update(X, y))
    helpers.assert_same_cloud(core, oracle)
    assert not np.array_equal(core.rows()[0][4:], X)


def started(name: str = "constant", **changes: Any) -> tuple[Cloud, Any, Any]:
    """A cloud on four rows, and 30 rows to come."""
    X, y = helpers.data(name, 34, seed=3)
    cloud = Cloud(RSource(3), **helpers.options_of(name, **changes))
    cloud.start(X[:4], y[:4])
    return cloud, X[4:], y[4:]


@pytest.mark.parametrize("name", helpers.MODELS)
def test_rows_in_one_call_or_in_many(name: str) -> None:
    cloud, X, y = started(name)
    other = cloud.copy(cloud.source.copy())
    whole = cloud.update(X, y)
    parts = [other.update(X[k : k + 1], y[k : k + 1])[0] for k in range(len(y))]
    assert whole.tolist() == parts
    assert helpers.model_bytes(cloud) == helpers.model_bytes(other)


def test_log_evidence_adds_up() -> None:
    cloud, X, y = started()
    densities = cloud.update(X, y)
    assert cloud.log_evidence == np.cumsum(densities)[-1]  # one by one
    assert cloud.n_degenerate == 0


def test_a_lone_particle_is_not_weighed() -> None:
    """Quirk 11."""
    cloud, X, y = started(n_particles=1)
    assert cloud.update(X, y).tolist() == [0.0] * 30


def test_impossible_rows_are_counted() -> None:
    """One level of y leaves no variance (quirk 10): densities are zero, or NaN."""
    _, X, _ = started()
    flat = Cloud(RSource(1), **helpers.options_of("constant"))
    flat.start(X[:4], np.zeros(4))
    assert flat.update(X[4:7], np.zeros(3)).tolist() == [-np.inf] * 3
    assert flat.n_degenerate == 3
    assert flat.log_evidence == -np.inf


def test_shapes_describe_the_trees() -> None:
    cloud, X, y = started()
    cloud.update(X, y)
    cloud.retire([0, 5])

    def height(tree: tuple) -> int:
        return 1 if tree[0] == "leaf" else 1 + max(height(tree[4]), height(tree[5]))

    def leaves(tree: tuple) -> list[tuple]:
        return [tree] if tree[0] == "leaf" else leaves(tree[4]) + leaves(tree[5])

    for i, got in enumerate(cloud.shapes().tolist()):
        below = leaves(cloud.tree(i))
        n = len(below)
        rows, retired = sum(len(x[2]) for x in below), sum(x[3] for x in below)
        assert got == [height(cloud.tree(i)), n, rows / n, retired / n]


# Reports --------------------------------------------------------------------------


@pytest.mark.parametrize("every", [0, -3])
def test_no_report_unless_asked(every: int) -> None:
    cloud, X, y = started()
    cloud.update(X, y, every, lambda *_: pytest.fail("reported"))
    assert cloud.n_active == 34


def test_reports_come_at_multiples_of_the_row_number() -> None:
    cloud, X, y = started()
    seen = []
    cloud.update(X[:10], y[:10], 5, lambda *line: seen.append(line[:2]))
    cloud.retire([0, 1, 2])
    cloud.update(X[10:], y[10:], 5, lambda *line: seen.append(line[:2]))
    assert seen == [(5, 0), (10, 0), (12, 3), (17, 3), (22, 3), (27, 3)]


def test_a_silent_report_changes_nothing() -> None:
    cloud, X, y = started()
    other = cloud.copy(cloud.source.copy())
    cloud.update(X, y)
    other.update(X, y, 1, lambda *_: None)
    assert helpers.model_bytes(cloud) == helpers.model_bytes(other)


# Interrupts -----------------------------------------------------------------------


class Stop(Exception):
    """Raised by a report."""


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def fail() -> None:
    raise Stop


@pytest.mark.parametrize(
    ("stop", "error"), [(fail, Stop), (interrupt, KeyboardInterrupt)]
)
@pytest.mark.parametrize("name", helpers.MODELS)
def test_a_report_that_raises_leaves_its_row_complete(name, stop, error) -> None:
    cloud, X, y = started(name)
    other = cloud.copy(cloud.source.copy())

    def report(row: int, *_: Any) -> None:
        if row == 15:
            stop()

    with pytest.raises(error):
        cloud.update(X, y, 1, report)
    other.update(X[:11], y[:11])
    assert helpers.model_bytes(cloud) == helpers.model_bytes(other)
    audit(cloud)

    rest = cloud.update(X[11:], y[11:]), other.update(X[11:], y[11:])
    np.testing.assert_array_equal(*rest)


def test_ctrl_c_stops_between_rows() -> None:
    """A signal at any time: the cloud is one that saw the complete rows only."""
    X, y = helpers.data("constant", 40_000, seed=3)
    cloud = Cloud(RSource(3), **helpers.options_of("constant", n_particles=40))
    cloud.start(X[:4], y[:4])
    other = cloud.copy(cloud.source.copy())

    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):
            cloud.update(X[4:], y[4:])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    n = cloud.n_active
    assert 4 <= n < 40_000
    other.update(X[4:n], y[4:n])
    assert helpers.model_bytes(cloud) == helpers.model_bytes(other)


# Bad input ------------------------------------------------------------------------


def three(n_features: int = 2) -> np.ndarray:
    return np.full((3, n_features), 0.5)


BAD_ROWS = {
    "too few columns": (three(1), np.zeros(3)),
    "too many columns": (three(3), np.zeros(3)),
    "short y": (three(), np.zeros(2)),
    "long y": (three(), np.zeros(4)),
    "one row of X": (np.zeros(2), np.zeros(1)),
    "whole numbers": (three().astype(int), np.zeros(3)),
    "single precision": (three(), np.zeros(3, dtype=np.float32)),
    "columns first": (np.zeros((2, 3)).T, np.zeros(3)),
    "no X": (None, np.zeros(3)),
    "no y": (three(), None),
}
BAD_LABELS = [3.0, -1.0, 0.5, np.nan, np.inf]


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_that_do_not_fit_are_refused(what: str) -> None:
    cloud, X, y = started()
    cloud.update(X, y)
    empty = Cloud(RSource(1), **helpers.options_of("constant"))
    for one, calls in ((cloud, [cloud.update]), (empty, [empty.start, empty.update])):
        with helpers.same_bytes(one):
            for call in calls:
                with pytest.raises((ValueError, TypeError)):
                    call(*BAD_ROWS[what])


@pytest.mark.parametrize("label", BAD_LABELS)
def test_labels_that_do_not_exist_are_refused(label: float) -> None:
    """Also where rows that fit come before."""
    cloud, X, y = started("class")
    with helpers.same_bytes(cloud):
        bad = y.copy()
        bad[20] = label
        with pytest.raises(ValueError, match="row 20"):
            cloud.update(X, bad)


def test_calls_out_of_turn_are_refused() -> None:
    cloud, X, y = started()
    before = helpers.model_bytes(cloud)
    with pytest.raises(ValueError, match="start must be called on an empty cloud"):
        cloud.start(X, y)
    assert helpers.model_bytes(cloud) == before

    empty = Cloud(RSource(1), **helpers.options_of("constant"))
    with helpers.same_bytes(empty):
        with pytest.raises(ValueError, match="call start first"):
            empty.update(X, y)
        with pytest.raises(ValueError, match="at least one row"):
            empty.start(X[:0], y[:0])
        with pytest.raises(ValueError, match="call start first"):
            empty.rejuvenate([])


def test_inputs_are_left_alone() -> None:
    """Implicit leaves round the rows they evaluate, but not the caller's."""
    cloud, X, y = started("implicit")
    before = X.tobytes(), y.tobytes()
    cloud.update(X, y)
    assert (X.tobytes(), y.tobytes()) == before
