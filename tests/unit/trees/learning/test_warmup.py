"""First rows become a cloud; row numbers become places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.params import TreeOptions
from dyntree.trees.learning.warmup import start_trees
from dyntree.trees.learning.windows import row_positions
from dyntree.trees.state import with_ones
from tests.unit.models import data, grown, refused


def planted(name: str, n: int = 30, **options: Any) -> tuple[Any, ...]:
    X, y = data("class" if name == "class" else "constant", n)
    full = TreeOptions(model=name, rules="r", n_particles=5, **options).with_width(2)
    return X, y, *start_trees(full, X, y.tolist(), 1)


@pytest.mark.parametrize(("name", "start"), [("constant", 4), ("linear", 8)])
def test_every_particle_is_one_leaf_of_the_first_rows(name: str, start: int) -> None:
    X, y, cloud, options, responses = planted(name)
    assert options.n_start == start
    assert (cloud.n_particles, cloud.n_seen) == (5, start)
    for i in range(5):
        kind, _, rows, *_ = cloud.tree(i)
        assert (kind, sorted(rows)) == ("leaf", list(range(start)))
    assert cloud.rows()[0].tolist() == X[:start].tolist()
    assert responses.tolist() == y.tolist()


def test_an_augmented_intercept_is_a_column_of_ones_never_split_on() -> None:
    X, _, cloud, *_ = planted("linear", intercept="augmented", n_basis=1)
    assert cloud.rows()[0][:, 0].tolist() == [1.0] * cloud.n_active
    assert cloud.rows()[0][:, 1:].tolist() == X[: cloud.n_active].tolist()
    assert (cloud.n_features, cloud.n_basis, cloud.first_split) == (3, 2, 1)
    assert not cloud.intercept


def test_labels_are_sorted_or_as_named() -> None:
    _, y, cloud, options, responses = planted("class")
    assert options.classes == ("a", "b", "c")
    assert cloud.n_classes == 3
    assert [options.classes[int(code)] for code in responses] == y.tolist()
    _, _, _, options, _ = planted("class", classes=("c", "b", "a"))
    assert options.classes == ("c", "b", "a")


@pytest.mark.parametrize("name", ["constant", "linear"])
def test_regression_needs_two_responses_at_the_start(name: str) -> None:
    options = TreeOptions(model=name, rules="r", n_particles=5).with_width(2)
    X, _ = data("constant", 30)
    y = np.where(np.arange(30) < (options.min_leaf or 0), 3.5, 1.0).tolist()
    with refused("y", "3.5"):
        start_trees(options, X, y, 1)
    y[0] = 2.0
    start_trees(options, X, y, 1)


def test_row_numbers_lead_to_places_in_the_clouds_order() -> None:
    cloud = grown("constant").retire([0, 10]).state.cloud
    ids = cloud.row_ids()
    for form in ([5, 20, 59], (5, 20, 59), np.array([5, 20, 59], np.uint8)):
        places = row_positions(cloud, form, "rows")
        assert ids[places].tolist() == [5, 20, 59]
    assert ids[row_positions(cloud, 7, "rows")].tolist() == [7]
    assert row_positions(cloud, [], "rows").tolist() == []


@pytest.mark.parametrize(
    ("rows", "came"),
    [([10], "10"), ([60], "60"), ([5, 5], "[5, 5]"), ([1.5], "1.5"), ("a", "'a'")],
)
def test_row_numbers_must_be_those_of_active_rows(rows: Any, came: str) -> None:
    cloud = grown("constant").retire([0, 10]).state.cloud
    with refused("rows", came):
        row_positions(cloud, rows, "rows")


def test_ones_come_first_where_asked() -> None:
    rows = np.array([[0.5, 1.0], [0.25, 2.0]])
    assert with_ones(rows, 1).tolist() == [[1.0, *row] for row in rows]
    assert with_ones(rows, 0).tolist() == rows.tolist()
