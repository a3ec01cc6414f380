"""Tables whose rows occur several times, learned in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from dyntree import AveragedTrees, DynamicTree, StreamingTree, checkpoint
from dyntree.errors import ArgumentError, CheckpointError, HeavyRowsWarning
from dyntree.trees.learning.pieces import Copies, Pieces
from tests.helpers import same_bytes

MODELS: dict[str, dict[str, Any]] = {
    "class": {},
    "negbin": {},
    "constant": {"weighting": "frequency"},
    "linear": {"weighting": "frequency"},
}


def cells(seed: int = 0, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of g (6 values), h (2) and a label that depends on h, and its counts."""
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 6, n), rng.integers(0, 2, n)
    y = rng.random(n) < np.where(h, 0.8, 0.2)
    table, w = np.unique(np.column_stack([g, h, y]), axis=0, return_counts=True)
    return table[:, :2].astype(float), table[:, 2].astype(float), w.astype(float)


def table(model: str, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, responses that suit a model, and weights from 1 to 29."""
    rng = np.random.default_rng(2)
    X, w = rng.random((n, 2)), rng.integers(1, 30, n).astype(float)
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    if model == "class":
        return X, (y > 0.2).astype(float), w
    return X, np.round(4 * np.abs(y)) if model == "negbin" else y, w


def tree_of(model: str, seed: int = 1, **options: Any) -> DynamicTree:
    return DynamicTree(
        model, seed=seed, **{"n_particles": 40} | MODELS[model] | options
    )


@pytest.mark.parametrize(
    ("weight", "sizes"),
    [
        (1, [1]),
        (2, [1, 1]),
        (3, [1, 1, 1]),
        (60, [1, 1, 1, 1, 2, 3, 4, 6, 9, 14, 18]),
        (2.5, [1, 1, 0.5]),
        (0.3, [0.3]),
    ],
)
def test_a_piece_is_at_most_half_of_all_before_it(
    weight: float, sizes: list[float]
) -> None:
    found = Pieces.of(Copies.of(np.array([float(weight)])), 1, 0)
    np.testing.assert_allclose(found.sizes, sizes, rtol=1e-15)


def test_pieces_are_where_their_copies_would_be_among_shuffled_rows() -> None:
    """Halfway a row of weight w has w / 2 behind it on average, within 5 errors."""
    weights = np.array([1.0, 3.0, 60.0, 2.5, 200.0])
    behind = []
    for seed in range(400):
        found = Pieces.of(Copies.of(np.tile(weights, 40)), seed, 3)
        halves = np.searchsorted(np.cumsum(found.sizes), found.sizes.sum() / 2)
        rows, sizes = found.rows, found.sizes
        np.testing.assert_allclose(np.bincount(rows, sizes), np.tile(weights, 40))
        own = sizes[rows == 4]
        np.testing.assert_array_equal(
            own, [1, 1, 1, 1, 2, 3, 4, 6, 9, 14, 21, 31, 47, 59]
        )
        behind.append(np.bincount(rows[:halves] % 5, sizes[:halves], 5) / 40)
    mean, error = np.mean(behind, axis=0), np.std(behind, axis=0) / 20
    assert np.all(np.abs(mean - weights / 2) < 5.0 * error + 0.02 * weights)


def test_bunches_of_copies_are_of_about_one_size() -> None:
    copies = Copies.of(np.array([1.0, 3.0, 50.0]), 20)
    np.testing.assert_array_equal(np.bincount(copies.rows), [1, 3, 20])
    np.testing.assert_array_equal(np.bincount(copies.rows, copies.sizes), [1, 3, 50])
    assert set(copies.sizes[4:]) == {2.0, 3.0}


@pytest.mark.parametrize("model", MODELS)
def test_a_table_of_single_rows_is_learned_as_it_comes(model: str) -> None:
    """As if by the rows one by one, and to the last byte."""
    X, y, w = table(model)
    w, options = np.minimum(w / 10.0, 1.0), {"classes": [0.0, 1.0]}
    options = options if model == "class" else {}
    whole, by_row = (tree_of(model, new_levels="missing", **options) for _ in range(2))
    whole.update(X, y, w)
    for k in range(len(y)):
        by_row.update(X[k : k + 1], y[k : k + 1], w[k : k + 1])
    assert checkpoint.dumps(whole) == checkpoint.dumps(by_row)


@pytest.mark.parametrize("average", [False, True])
def test_one_leaf_has_the_evidence_of_its_counts(average: bool) -> None:
    """However rows are parted and ordered: that of Dirichlet and multinomial."""
    X, y, w = cells()
    made: Any = AveragedTrees("class", n_clouds=2) if average else DynamicTree("class")
    options = made.options
    tree = DynamicTree("class", n_particles=5, tree_prior=(0.0, 1.0), seed=1)
    if average:
        tree = AveragedTrees(
            "class", n_clouds=2, n_particles=5, tree_prior=(0.0, 1.0), seed=1
        )
    counts = np.bincount(y.astype(int), w)
    m = options.class_mass / 2.0
    expected = (
        gammaln(2 * m) - gammaln(2 * m + counts.sum())
        + np.sum(gammaln(m + counts) - gammaln(m))
    )  # fmt: skip
    assert tree.update(X, y, w).log_evidence == pytest.approx(expected, abs=1e-9)


def test_evidence_ranks_tables_as_it_ranks_their_rows() -> None:
    """In one order of whole rows the model of g and h lost more than 100 nats to h."""
    factors = []
    for seed in range(3):
        X, y, w = cells(seed)
        dummies = np.column_stack([X[:, :1] == np.arange(1, 6), X[:, 1:]]).astype(float)
        of_h, of_both = (
            DynamicTree("class", n_particles=300, seed=seed).update(Z, y, w)
            for Z in (X[:, 1:], dummies)
        )
        factors.append(of_both.log_evidence - of_h.log_evidence)
    assert -8.0 < np.mean(factors) < 2.0


def test_evidence_of_a_table_of_numbers_is_that_of_its_rows() -> None:
    """Within 8 nats; in their order, whole rows were 160 below."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, 900)
    y = np.round(np.sin(0.6 * x) + 0.5 * rng.standard_normal(900))
    pairs, w = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    X, y = pairs[:, :1], pairs[:, 1]
    written = np.repeat(np.arange(len(w)), w)
    gaps = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(written)
        one, other = (tree_of("constant", seed, n_particles=300) for _ in range(2))
        grouped, single = one.update(X, y, w), other.update(X[order], y[order])
        gaps.append(grouped.log_evidence - single.log_evidence)
    assert abs(np.mean(gaps)) < 8.0


@pytest.mark.parametrize("model", MODELS)
def test_rows_have_the_numbers_of_the_table(model: str) -> None:
    X, y, w = table(model)
    tree = tree_of(model).update(X[:20], y[:20]).update(X[20:], y[20:], w[20:])
    tree.update(X[:3], y[:3])
    assert (tree.n_seen, tree.n_active) == (63, len(tree.active_ids))
    np.testing.assert_array_equal(np.unique(tree.active_ids), np.arange(63))
    sizes = np.bincount(tree.active_ids, tree.state.cloud.weights())
    np.testing.assert_array_equal(sizes, [*np.ones(20), *w[20:], 1, 1, 1])
    view, found = tree.frozen_view(), tree.active_ids
    np.testing.assert_array_equal(view.rows()[0], np.concatenate([X, X[:3]]))
    np.testing.assert_array_equal(view.row_counts(), sizes)
    rows = tree.state.cloud.rows()[0]
    np.testing.assert_array_equal(rows, np.concatenate([X, X[:3]])[found])
    np.testing.assert_array_equal(tree.active_values("age"), found)
    again = checkpoint.loads(checkpoint.dumps(tree))
    assert checkpoint.dumps(again) == checkpoint.dumps(tree)
    for one in (tree, again, tree.copy()):
        one.retire([30, 5])
        assert one.n_seen == 63
        assert not {30, 5} & {*one.active_ids.tolist()}
        with pytest.raises(ValueError, match="order must name all 61 active rows"):
            one.rejuvenate([0])
        one.rejuvenate(np.unique(one.active_ids)[::-1])
        one.remove_data().update(X[:9], y[:9], w[:9])
        assert (one.n_seen, set(one.active_ids)) == (72, {*range(63, 72)})


def test_pieces_wait_for_the_first_trees() -> None:
    X, y, w = table("constant")
    tree = tree_of("linear").update(X[:3], y[:3], [2.0, 3.0, 1.0])
    assert (tree.n_seen, tree.is_ready, len(tree.active_ids)) == (3, False, 6)
    with pytest.raises(ValueError, match=r"got 3\. Call update with 4 more rows"):
        tree.coef(X)
    again = checkpoint.loads(checkpoint.dumps(tree))
    for one in (tree, again):
        one.update(X[3:], y[3:], w[3:])
        assert (one.n_seen, one.is_ready) == (60, True)
    assert checkpoint.dumps(again) == checkpoint.dumps(tree)
    header, arrays = tree.to_arrays()
    with pytest.raises(CheckpointError, match="pieces"):
        DynamicTree.from_arrays(header, arrays | {"pieces": arrays["pieces"] + 1})


def test_a_count_in_pieces_has_its_exposure_in_each() -> None:
    X, y, w = table("negbin")
    exposure = np.linspace(0.5, 3.0, 60)
    tree = tree_of("negbin").update(X, y, w, exposure=exposure)
    found = tree.frozen_view().exposures()
    assert found is not None
    np.testing.assert_allclose(found, exposure, rtol=1e-12)
    unit = tree.state.exposure_unit
    pieces = np.asarray(tree.state.cloud.exposures()) * unit
    np.testing.assert_allclose(pieces, exposure[tree.active_ids], rtol=1e-12)


def test_columns_and_labels_come_in_the_order_of_the_table() -> None:
    frame = pd.DataFrame({"x": np.linspace(0, 1, 40), "g": ["a", "b"] * 20})
    late = pd.DataFrame({"x": np.linspace(0, 1, 20), "g": [*"zyxw"] * 5})
    labels, more = ["u", "v"] * 20, [*"tsrq"] * 5
    for model in (tree_of("class"), AveragedTrees("class", n_clouds=2, n_particles=10)):
        model.update(frame, labels, 3.0).update(late, more, np.arange(1.0, 21.0))
        assert model.levels["g"] == ("a", "b", "z", "y", "x", "w")
        assert model.classes == ("u", "v", "t", "s", "r", "q")
        assert model.n_seen == 60


def test_bad_rows_are_named_by_the_table_and_change_nothing() -> None:
    X, y, w = table("negbin")
    tree = tree_of("negbin").update(X, y, w, exposure=1.0)
    bad = np.where(np.arange(60) == 41, 1e12, 1.0)
    for weights, exposure in ((w, bad), (bad, 1.0)):
        with same_bytes(tree), pytest.raises(ArgumentError, match="in row 41"):
            tree.update(X, y, weights, exposure=exposure)
    average = AveragedTrees("negbin", n_clouds=2, n_particles=5, seed=1)
    for fresh in (tree_of("negbin"), average.update(X, y, w)):
        with same_bytes(fresh), pytest.raises(ArgumentError, match="in row 41"):
            fresh.update(X, y, w, exposure=bad)
    stop = RuntimeError("enough")

    def told(done: int, n_rows: int) -> None:
        raise stop

    with same_bytes(tree), pytest.raises(RuntimeError, match="enough"):
        tree.update(X, y, w, progress=told)


# ------------------------------------------------------------ averages, faces
@pytest.mark.parametrize("model", ["class", "negbin", "mixed"])
def test_averages_learn_pieces_in_every_cloud(model: str) -> None:
    X, y, w = table("constant" if model == "mixed" else model)
    own = {"weighting": "frequency"} if model == "mixed" else {}
    made = [
        AveragedTrees(model, n_clouds=3, n_particles=10, seed=1, **own).update(
            X, y, w, threads=threads
        )
        for threads in (1, 3)
    ]
    trees = made[0]
    assert checkpoint.dumps(trees) == checkpoint.dumps(made[1])
    assert {member.n_seen for member in trees.members} == {60}
    for cloud in trees:
        sizes = np.bincount(cloud.active_ids, cloud.state.cloud.weights())
        np.testing.assert_array_equal(sizes, w)
    again = checkpoint.loads(checkpoint.dumps(trees))
    for one in (trees, again):
        one.update(X, y, w)
    assert checkpoint.dumps(again) == checkpoint.dumps(trees)
    plain = AveragedTrees(
        model, n_clouds=3, shuffle=False, n_particles=10, seed=1, **own
    )
    assert plain.update(X, y, w)[0].n_active == 60  # order has a meaning


def test_powers_of_a_table_are_those_of_its_rows() -> None:
    """Copies are foreseen: by whole rows powers were .16 in sum, by passes 5."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, k, 2000) for k in (4, 3, 5, 2)])
    xor = (X[:, 0] > 1) ^ (X[:, 1] > 0)
    y = rng.random(2000) < np.where(xor, 0.8, 0.2)
    cell, w = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    trees = AveragedTrees("class", n_clouds=3, n_particles=30, seed=1)
    trees.update(cell[:, :-1], cell[:, -1] > 0, w)
    assert 0.8 < sum(trees.powers) < 1.3


def test_class_weights_leave_rows_to_be_foreseen_whole() -> None:
    """Who had seen copies of a row foresaw it too well: powers were 1.9 in sum."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = rng.random(300) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0] - X[:, 1]))
    for rare in (3.0, 2.7):
        trees = AveragedTrees("class", n_clouds=3, n_particles=30, seed=1)
        assert sum(trees.update(X, y, np.where(y, rare, 1.0)).powers) < 1.5


def test_faces_learn_tables_alike() -> None:
    pytest.importorskip("formulaic")
    import dyntree.formula.api as dtf
    from dyntree.api.estimators import DynamicTreeClassifier

    X, y, w = cells()
    frame = pd.DataFrame(X, columns=["g", "h"]).assign(y=y > 0, n=w)
    small = {"n_particles": 30, "seed": 1}
    tree = DynamicTree("class", **small).update(frame[["g", "h"]], frame.y, w)
    fit = dtf.dynamic_tree("y ~ g + h", frame, freq_weights="n", n_clouds=1, **small)
    assert fit.fit().llf == tree.log_evidence
    found = DynamicTreeClassifier(n_clouds=1, n_particles=30, random_state=1)
    by_rows = found.fit(X, y, sample_weight=w).log_evidence_
    halves = DynamicTreeClassifier(
        n_clouds=1, n_particles=30, random_state=1, class_weight={0: 2.0, 1: 2.0}
    )
    assert halves.fit(X, y, sample_weight=w / 2).log_evidence_ == by_rows


@pytest.mark.parametrize("n_clouds", [1, 3])
@pytest.mark.parametrize("kind", ["label", "number"])
def test_fitted_values_are_of_the_rows_of_the_table(kind: str, n_clouds: int) -> None:
    pytest.importorskip("formulaic")
    import dyntree.formula.api as dtf

    X, y, w = cells()
    frame = pd.DataFrame(X, columns=["g", "h"]).assign(y=y, n=w)
    frame["y"] = np.where(y, "u", "v") if kind == "label" else y + np.round(X[:, 0])
    frame.loc[5, "n"] = 0.0
    model = dtf.dynamic_tree(
        "y ~ g + h", frame, freq_weights="n", n_clouds=n_clouds, n_particles=30, seed=1
    )
    fit = model.fit()
    seen = fit.one_step_ahead()
    first = fit.tree if n_clouds == 1 else fit.tree[0]
    assert fit.llf_obs.sum() == pytest.approx(first.log_evidence, abs=1e-9)
    assert fit.nobs == len(frame) - 1
    if n_clouds == 1:
        held = fit.summary().as_text().split("Active Rows:")[1].split()[0]
        assert held == str(fit.nobs)
    assert fit.fittedvalues.shape == fit.resid_quantile.shape == (len(frame),)
    assert np.isnan(fit.resid_quantile[5])
    np.testing.assert_array_equal(seen.weights, frame["n"])
    least = 0.8 if kind == "number" else 0.7  # .8 of the rows have the likely label
    assert least < seen.coverage(0.9) <= 1.0
    if kind == "number":
        assert fit.rsquared > 0.3
        assert np.isnan(fit.resid).sum() == 0
    table = dtf.compare([fit, fit.copy()], n_repeats=2)
    assert np.isfinite(table.to_numpy()).all()


def test_evidence_of_a_stream_with_heavy_rows_comes_with_a_warning() -> None:
    pytest.importorskip("formulaic")
    import dyntree.formula.api as dtf

    X, y, w = cells()
    frame = pd.DataFrame(X, columns=["g", "h"]).assign(y=y > 0, n=w)
    options = {"freq_weights": "n", "n_particles": 10, "seed": 1}
    fit = dtf.dynamic_tree("y ~ g", frame, window=100, **options).fit()
    for asked in (lambda: fit.llf, lambda: dtf.compare([fit], n_repeats=2)):
        with pytest.warns(HeavyRowsWarning, match="counted .* times"):
            asked()
    frame["n"] = 2.0
    for window in (None, 100):
        dtf.dynamic_tree("y ~ g", frame, window=window, **options).fit()
    stream = StreamingTree("class", window=100, n_particles=10, seed=1)
    assert stream.update(X, y, w).tree.n_active == len(y)  # in order, in whole rows


def test_effects_average_over_the_rows_of_the_table() -> None:
    """Pieces of 1 have no weights in the trees, and count together all the same."""
    pytest.importorskip("formulaic")
    import dyntree.formula.api as dtf

    X, y, _ = table("constant")
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, n=3.0)
    for often in (3.0, np.where(np.arange(60) < 30, 9.0, 2.0)):
        frame["n"] = often
        fit = dtf.dynamic_tree(
            "y ~ a + b", frame, freq_weights="n", n_clouds=1, n_particles=20, seed=1
        ).fit()
        view = fit.inner.frozen_view()
        np.testing.assert_array_equal(view.row_counts(), frame["n"])
        found = fit.partial_dependence("a", n_grid=2, n_draws=5)
        for value, mean in zip(found.grids[0], found.mean, strict=True):
            moved = np.asarray(fit.predict(frame.assign(a=value)))
            assert mean == pytest.approx(np.average(moved, weights=frame["n"]))
