"""Every check on options, and the defaults that depend on the data's width."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dyntree import DynamicTree, params
from dyntree.errors import short
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from dyntree.params import NIG, StreamOptions, TreeOptions
from tests.unit.models import refused

NOT_COUNTS = [0, -1, 2.0, 2.5, "2", None, True, np.True_, np.nan, [2]]


@pytest.mark.parametrize("value", NOT_COUNTS)
def test_counts_are_ints_from_the_least_on(value: Any) -> None:
    with refused("n", short(value)):
        params.count("n", value, 1)


def test_counts_of_any_int_type_come_back_as_int() -> None:
    for value in (3, np.int8(3), np.uint64(3)):
        assert type(params.count("n", value, 3)) is int
    assert params.count("n", 5, 0, 5) == 5
    with refused("n", "6"):
        params.count("n", 6, 0, 5)


@pytest.mark.parametrize("value", ["1", None, True, 1j, np.nan, np.inf, -np.inf, [1]])
def test_reals_are_finite_numbers(value: Any) -> None:
    with refused("z", repr(value)):
        params.real("z", value)


@pytest.mark.parametrize(
    "values",
    [np.array([1j]), np.complex128(2.0), [1j], [10**400], ["a"], [[1], [1, 2]]],
)
def test_what_floats_cannot_hold_is_refused(values: Any) -> None:
    with refused("w", "must be rectangular and of numbers"):
        params.as_array("w", values, float)


def test_reals_of_any_type_come_back_as_float() -> None:
    for value in (2, np.float32(2.0), np.int64(2)):
        assert type(params.real("z", value)) is float
        assert params.real("z", value) == 2.0


@pytest.mark.parametrize(
    "value", [1.0, (1.0,), (1, 2, 3), "ab", {1, 2}, {0: 1, 1: 2}, np.ones((2, 2)), None]
)
def test_pairs_are_two_numbers(value: Any) -> None:
    with refused("ab", short(value)):
        params.pair("ab", value)


def test_pairs_may_be_any_sequence() -> None:
    for value in ((1, 2), [1, 2], np.array([1.0, 2.0])):
        assert params.pair("ab", value) == (1.0, 2.0)


@pytest.mark.parametrize("rules", ["r", "native"])
@pytest.mark.parametrize("value", [-0.1, 1.0000001, np.nan, "1", None, True])
def test_forget_is_at_least_zero_and_at_most_one(value: Any, rules: str) -> None:
    with refused("forget", repr(value)):
        params.forget_factor("forget", value, rules)
    assert params.forget_factor("forget", 1, rules) == 1.0


def test_forgetting_all_needs_native_rules() -> None:
    assert params.forget_factor("forget", 0, "native") == 0.0
    with refused("forget", "0"):
        params.forget_factor("forget", 0, "r")


@pytest.mark.parametrize("value", ["B", "", None, 1, ["a"]])
def test_names_are_among_the_choices_and_the_error_lists_them(value: Any) -> None:
    with refused("kind", repr(value)):
        params.one_of("kind", value, ("a", "b"))
    with pytest.raises(ValueError, match="'a', 'b'"):
        params.one_of("kind", value, ("a", "b"))


@pytest.mark.parametrize("value", [None, float("nan"), [1]])
def test_classes_hold_no_missing_or_unhashable_label(value: Any) -> None:
    with refused("classes", repr(value)):
        TreeOptions(model="class", classes=(1, value))


def test_tree_prior_numbers_are_checked_one_by_one() -> None:
    with refused("tree_prior", "nan"):
        TreeOptions(tree_prior=(0.5, float("nan")))
    with refused("tree_prior", "'a'"):
        TreeOptions(tree_prior=("a", 2.0))  # type: ignore[arg-type]
    assert TreeOptions(tree_prior=(0, 1)).tree_prior == (0.0, 1.0)


def test_numbers_of_other_kinds_are_kept_as_floats_that_a_file_can_hold() -> None:
    half = Fraction(1, 2)
    options = TreeOptions(class_mass=half, max_retired_mass=half)  # type: ignore[arg-type]
    prior = NIG(half)  # type: ignore[arg-type]
    forget = StreamOptions(forget=half).forget  # type: ignore[arg-type]
    masses = [options.class_mass, options.max_retired_mass]
    kept = [*masses, forget, prior.b0]
    assert [(type(number), number) for number in kept] == [(float, 0.5)] * 4


def test_labels_become_plain_python_objects() -> None:
    options = TreeOptions(model="class", classes=np.array([3, 1]))  # type: ignore[arg-type]
    assert options.classes == (3, 1)
    assert [type(label) for label in options.classes or ()] == [int, int]


def test_options_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TreeOptions().model = "class"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rules", "options", "least", "start", "basis"),
    [
        ("r", {"model": "constant"}, 4, 4, None),
        ("r", {"model": "linear"}, 10, 10, 3),
        ("r", {"model": "linear", "n_basis": 1}, 6, 6, 1),
        ("r", {"model": "class"}, 1, 1, None), ("r", {"model": "prior"}, 1, 1, None),
        ("r", {"model": "constant", "min_leaf": 2}, 2, 2, None),
        ("r", {"model": "constant", "n_start": 9}, 4, 9, None),
        ("native", {"model": "constant"}, 4, None, None),
        ("native", {"model": "linear"}, 8, None, 3),
        ("native", {"model": "linear", "n_basis": 1}, 4, None, 1),
        ("native", {"model": "class"}, 1, None, None),
        ("native", {"model": "prior", "min_leaf": 2}, 2, None, None),
    ],
)  # fmt: skip
def test_defaults_follow_rules_model_and_width(
    rules: str, options: Any, least: int, start: int | None, basis: int | None
) -> None:
    full = TreeOptions(rules=rules, **options).with_width(3)
    assert (full.min_leaf, full.n_start, full.n_basis) == (least, start, basis)
    assert full.with_width(3) == full


@pytest.mark.parametrize(
    ("name", "value", "others"),
    [("n_basis", 4, {}), ("first_split", 3, {}), ("n_start", 9, {"rules": "r"})],
)
def test_options_must_fit_the_width(name: str, value: int, others: Any) -> None:
    options = TreeOptions(model="linear", **(others | {name: value}))
    with refused(name, str(value)):
        options.with_width(3)


@pytest.mark.parametrize("n", [0, 20])
@pytest.mark.parametrize(
    "fresh",
    [
        lambda: OnlineDPGMM(lambda_=1.0),
        lambda: OnlineDPMPPCA(lambda_=1.0, noise=1.0),
        lambda: OnlineHDPHSMM(lambda_=1.0, noise=1.0),
        lambda: DynamicTree("constant"),
    ],
)
def test_sparse_rows_are_refused_with_their_remedy(fresh: Any, n: int) -> None:
    sparse = csr_array((n, 3))
    rows = np.random.default_rng(0).random((20, 3))
    y = (rows[:, 0],) if isinstance(fresh(), DynamicTree) else ()
    learned = fresh().update(rows, *y)
    for model in (fresh(), learned):
        with pytest.raises(ValueError, match=r"X must be dense.*X.toarray\(\)"):
            model.update(sparse, *(one[:n] for one in y))
    with pytest.raises(ValueError, match=r"X must be dense.*X.toarray\(\)"):
        learned.predict(sparse)
    assert learned.n_seen == 20
