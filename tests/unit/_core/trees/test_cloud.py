"""What can be done to a cloud besides learning, and what a refusal leaves behind."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees import criteria
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.oracle import criteria as oracle_criteria
from tests.probes import audit

BOX = np.zeros(2), np.ones(2), np.zeros(2, dtype=bool), False

# Retirement -----------------------------------------------------------------------


def learn_on(name: str, core: Any, oracle: Any) -> None:
    """Both learn the same further rows, and are the same then."""
    X, y = helpers.data(name, 20, seed=9)
    helpers.assert_close(core.update(X, y), oracle.update(X, y))
    helpers.assert_same_cloud(core, oracle)


@pytest.mark.parametrize("forget", [1.0, 0.9, 0.2])
@pytest.mark.parametrize("name", helpers.RETIRING)
def test_retiring_is_the_oracles(name: str, forget: float) -> None:
    """Down to one row, with collapses; then both learn on."""
    core, oracle = helpers.pair(name, 40, min_leaf=2, tree_prior=(0.99, 0.5))
    rng = np.random.default_rng(0)
    while core.n_active > 1:
        n = core.n_active
        places = rng.permutation(n)[: min(n - 1, 7)]
        core.retire(places, forget)
        oracle.retire(places, forget)
        helpers.assert_same_cloud(core, oracle)
        audit(core)
    learn_on(name, core, oracle)


def test_positions_are_those_before_the_call() -> None:
    """The last row fills the gap, even where it is to leave as well (7.1)."""
    cloud = helpers.grown("constant", 8)
    cloud.retire([7, 0, 6])
    assert sorted(cloud.row_ids().tolist()) == [1, 2, 3, 4, 5]
    cloud = helpers.grown("constant", 8)
    cloud.retire([2, 4])
    assert cloud.row_ids().tolist() == [0, 1, 7, 3, 6, 5]


def test_ids_count_from_the_first_row_for_ever() -> None:
    cloud = helpers.grown("constant", 8)
    cloud.retire([0, 1])
    cloud.update(*helpers.data("constant", 2))
    assert sorted(cloud.row_ids().tolist()) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert (cloud.n_seen, cloud.n_active, cloud.n_retired) == (10, 8, 2)


def test_small_roots_stay_and_their_children_collapse() -> None:
    """Where CRAN crashes (quirk 15)."""
    X = np.linspace(0.0, 1.0, 12)[:, None]
    y = np.repeat([0.0, 50.0], 6) + X[:, 0]
    cloud = Cloud(
        RSource(1),
        **helpers.options_of("constant", n_features=1, n_particles=1, min_leaf=5),
    )
    cloud.start(X[:9], y[:9])
    cloud.update(X[9:], y[9:])
    assert [cloud.tree(0)[k][0] for k in (4, 5)] == ["leaf", "leaf"]
    while cloud.tree(0)[0] == "split":
        cloud.retire([cloud.row_ids().tolist().index(min(cloud.row_ids()))], 0.1)
    assert cloud.tree(0)[1] == 1  # the sibling became the root, and kept its depth
    assert sorted(cloud.tree(0)[2]) == sorted(cloud.row_ids().tolist())
    while cloud.n_active > 1:
        cloud.retire([0], 0.1)
        assert len(cloud.tree(0)[2]) == cloud.n_active
    audit(cloud)


@pytest.mark.parametrize(
    ("positions", "forget"),
    [
        *[(positions, 1.0) for positions in (
            [20], [-1], [3, 3], [0, 5, 20], range(20), [2**40], [0.5], [True], ["a"])],
        *[([0], forget) for forget in (0.0, 1.1, -0.5, np.nan)],
    ],
)  # fmt: skip
def test_refused_retirements_change_nothing(positions: Any, forget: float) -> None:
    cloud = helpers.grown("constant", 20)
    with (
        helpers.same_bytes(cloud),
        pytest.raises(ValueError, match=r"positions|forget|one row must stay"),
    ):
        cloud.retire(positions, forget)


def test_implicit_leaves_keep_their_rows() -> None:
    cloud = helpers.grown("implicit", 20)
    with helpers.same_bytes(cloud), pytest.raises(ValueError, match="augmented"):
        cloud.retire([0])


def test_no_position_is_no_change() -> None:
    cloud = helpers.grown("constant", 20)
    with helpers.same_bytes(cloud):
        cloud.retire([])


# Replacing ------------------------------------------------------------------------


@pytest.mark.parametrize("name", helpers.RETIRING)
def test_replacing_is_retiring_and_learning(name: str) -> None:
    one = helpers.grown(name, 20)
    two = one.copy(one.source.copy())
    X, y = helpers.data(name, 1, seed=7)
    two.retire([3], 0.8)
    assert one.replace(3, 0.8, X, y) == two.update(X, y)[0]
    assert helpers.model_bytes(one) == helpers.model_bytes(two)


@pytest.mark.parametrize(
    "arguments",
    [
        (20, 1.0, np.zeros((1, 2)), np.zeros(1)),
        (0, 0.0, np.zeros((1, 2)), np.zeros(1)),
        (0, 1.0, np.zeros((1, 3)), np.zeros(1)),
        (0, 1.0, np.zeros((2, 2)), np.zeros(2)),
        (0, 1.0, np.zeros((2, 2)), np.zeros(1)),
    ],
)
def test_refused_replacements_change_nothing(arguments: tuple) -> None:
    cloud = helpers.grown("constant", 20)
    with helpers.same_bytes(cloud), pytest.raises(ValueError, match=r"must"):
        cloud.replace(*arguments)


def test_a_bounded_window_reaches_a_fixed_size() -> None:
    """Blocks are used again: what 400 steps need, 1000 more do not exceed by much."""
    cloud = helpers.grown("constant", 30)
    X, y = helpers.data("constant", 1400, seed=5)
    sizes = []
    for k in range(1400):
        cloud.replace(0, 0.9, X[k : k + 1], y[k : k + 1])
        sizes.append(cloud.nbytes())
    assert max(sizes) <= 1.03 * sizes[399]
    audit(cloud)


# Rejuvenation ---------------------------------------------------------------------


@pytest.mark.parametrize("name", helpers.MODELS)
def test_rejuvenating_is_the_oracles(name: str) -> None:
    core, oracle = helpers.pair(name, 25)
    order = np.random.default_rng(2).permutation(25)
    for cloud in (core, oracle):
        cloud.rejuvenate(order)
        cloud.rejuvenate(order[::-1])
    assert (core.n_particles, core.n_target) == (24, 8)
    helpers.assert_same_cloud(core, oracle)
    audit(core)
    learn_on(name, core, oracle)


def test_rows_move_to_their_destinations() -> None:
    cloud = helpers.grown("constant", 6)
    X, y = cloud.rows()
    order = [2, 0, 1, 5, 3, 4]
    cloud.rejuvenate(order)
    assert cloud.row_ids()[order].tolist() == list(range(6))
    assert cloud.rows()[0][order].tolist() == X.tolist()
    assert cloud.rows()[1][order].tolist() == y.tolist()


@pytest.mark.parametrize(
    "order", [[], [0, 1], range(1, 21), [0] * 20, [-1, *range(19)], range(21)]
)
def test_refused_rejuvenations_change_nothing(order: Any) -> None:
    cloud = helpers.grown("constant", 20)
    with helpers.same_bytes(cloud), pytest.raises(ValueError, match="permutation of"):
        cloud.rejuvenate(order)


@pytest.mark.parametrize("kind", [float, bool, str])
def test_places_that_are_no_ints_are_refused(kind: type) -> None:
    cloud = helpers.grown("constant", 2)
    with helpers.same_bytes(cloud):
        for call, places in [(cloud.retire, [0]), (cloud.rejuvenate, [0, 1])]:
            with pytest.raises(ValueError, match="must be ints"):
                call([kind(place) for place in places])


@pytest.mark.parametrize("row", [4, 12, 20])
@pytest.mark.parametrize("name", helpers.MODELS)
def test_an_interrupted_rejuvenation_never_happened(name: str, row: int) -> None:
    cloud = helpers.grown(name, 20)
    with helpers.same_bytes(cloud):

        def stop(at: int, *_: Any) -> None:
            if at == row:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            cloud.rejuvenate(np.arange(20)[::-1], 1, stop)
    audit(cloud)


def test_rows_rounded_in_vain_get_their_digits_back() -> None:
    """Small rows lose digits to the large means that they meet in the other order."""
    X, y = helpers.data("implicit", 20)
    X = np.sort(np.exp(12.0 * X), axis=0)
    cloud = Cloud(RSource(1), **helpers.options_of("implicit"))
    cloud.start(X[:4], y[:4])
    cloud.update(X[4:], y[4:])
    with helpers.same_bytes(cloud):

        def stop(at: int, *_: Any) -> None:
            if at == 20:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cloud.rejuvenate(np.arange(20)[::-1], 1, stop)
    cloud.rejuvenate(np.arange(20)[::-1])
    assert not np.array_equal(np.sort(cloud.rows()[0], axis=0), X)


def test_one_row_can_be_rejuvenated() -> None:
    core, oracle = helpers.pair("constant", 12)
    for cloud in (core, oracle):
        cloud.retire(range(11))
        cloud.rejuvenate([0])
    helpers.assert_same_cloud(core, oracle)


# Looking --------------------------------------------------------------------------


@pytest.mark.parametrize("particle", [-1, 8])
def test_only_particles_have_trees(particle: int) -> None:
    with pytest.raises(IndexError, match=r"0\.\.7"):
        helpers.grown("constant", 6).tree(particle)


def test_a_cloud_tells_what_it_is() -> None:
    cloud = helpers.grown("augmented", 6, n_basis=1)
    assert (cloud.n_features, cloud.n_basis, cloud.n_classes) == (2, 1, 0)
    assert (cloud.model, cloud.intercept, cloud.first_split) == ("linear", False, 1)
    assert helpers.grown("class", 6).n_classes == 3


def test_rows_are_copies() -> None:
    cloud = helpers.grown("constant", 12)
    with helpers.same_bytes(cloud):
        for part in (*cloud.rows(), cloud.row_ids()):
            part[:] = 7


def test_credits_are_the_oracles_after_a_copy() -> None:
    """A copy has no scratch yet; rounding the rows of implicit leaves needs some."""
    core, oracle = helpers.pair("implicit", 25)
    core, oracle = core.copy(), oracle.copy()
    helpers.assert_close(
        criteria.alc_active(core, *BOX), oracle_criteria.alc_active(oracle, *BOX)
    )
    helpers.assert_same_cloud(core, oracle)
