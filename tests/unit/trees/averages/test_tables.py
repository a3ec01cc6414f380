"""AveragedTrees: clouds with orders of their own, averaged alike."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedTrees,
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
    fit_repeats,
    load,
    save,
)
from dyntree.trees.averages.tables import fitted_powers, pooled
from tests.contract import same_answers
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import data, fresh, interrupt_after


def small(model: str = "constant", **options: Any) -> AveragedTrees:
    """Four clouds that have seen nothing."""
    return AveragedTrees(
        model, **{"n_clouds": 4, "n_particles": 12, "seed": 3} | options
    )


def test_clouds_learn_rows_in_orders_of_their_own() -> None:
    X, y = data("constant", 80)
    trees = small().update(X, y)
    for k, cloud in enumerate(trees):
        order = (
            np.random.default_rng(cloud.seed).permutation(80) if k else np.arange(80)
        )
        alone = DynamicTree("constant", n_particles=12, seed=cloud.seed)
        alone.update(X[order], y[order])
        assert model_bytes(cloud) == model_bytes(alone)
    assert len(trees) == 4
    more = trees.copy().update(X[:9], y[:9])
    order = np.random.default_rng([trees[2].seed, 80]).permutation(9)
    alone = trees[2].copy().update(X[:9][order], y[:9][order])
    assert model_bytes(more[2]) == model_bytes(alone)


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_a_prediction_is_the_mixture_of_the_clouds(model: str) -> None:
    X, y = data("class" if model == "class" else "constant", 80)
    trees = small(model).update(X, y)
    got, parts = trees.predict(X[:5]), [m.predict(X[:5]) for m in trees.members]
    if model == "class":
        n = len(trees)
        means = [
            np.mean([part.proba for part in kind], axis=0)
            for kind in (parts[:n], parts[n : 2 * n], parts[2 * n :])
        ]
        expected = np.prod([p**w for p, w in zip(means, trees.powers, strict=True)], 0)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(got.proba, expected, rtol=1e-12)
        return
    mean = np.mean([part.mean for part in parts], axis=0)
    np.testing.assert_allclose(got.mean, mean, rtol=1e-12)
    cdf = np.mean([part.of_mean.cdf(mean) for part in parts], axis=0)
    np.testing.assert_allclose(got.of_mean.cdf(mean), cdf, rtol=1e-12)
    assert trees.log_evidence == pytest.approx(
        np.log(np.mean(np.exp([cloud.log_evidence for cloud in trees])))
    )


def softened(proba: np.ndarray, power: float) -> np.ndarray:
    return pooled([proba], [power])


def test_powers_are_fitted_to_what_was_foreseen() -> None:
    """Against a grid; labels of softened probabilities ask for sharper ones."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([0.3] * 3, 4000)
    labels = np.array([rng.choice(3, p=p) for p in truth])
    soft = softened(truth, 0.5)
    np.testing.assert_allclose(softened(soft, 2.0), softened(truth, 1.0), rtol=1e-9)
    (found,) = fitted_powers([soft], labels)
    assert found == pytest.approx(2.0, abs=0.2)  # ten standard errors
    grid = np.linspace(1.5, 2.5, 501)
    losses = [
        2.0 * (power - 1.0) ** 2
        - np.log(softened(soft, power)[np.arange(4000), labels]).sum()
        for power in grid
    ]
    assert found == pytest.approx(grid[np.argmin(losses)], abs=0.004)
    assert fitted_powers([soft[:1]], labels[:1])[0] == pytest.approx(1.0, abs=0.5)


def test_a_kind_that_knows_nothing_has_hardly_a_power() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([0.3] * 3, 2000)
    labels = np.array([rng.choice(3, p=p) for p in truth])
    noise = rng.dirichlet([1.0] * 3, 2000)
    powers = fitted_powers([truth, noise], labels)
    assert powers[0] == pytest.approx(1.0, abs=0.15)  # four standard errors
    assert 0.0 <= powers[1] < 0.15
    both = fitted_powers([noise, truth], labels)
    np.testing.assert_allclose(both[::-1], powers, atol=1e-4)


def test_only_shuffled_labels_have_powers_of_their_own() -> None:
    X, y = data("class", 60)
    trees = small("class").update(X, y)
    even = (1 / 3, 1 / 3, 1 / 3)
    assert trees.powers != even
    assert small("class").update(X[:39], y[:39]).powers == even
    assert small("class", shuffle=False).update(X, y).powers == even
    assert small("class", linear=False).powers == (0.5, 0.5)
    assert small().update(*data("constant", 60)).powers == (1.0,)
    whole = small("class", classes=("a", "b", "c")).update(X, y)
    for member, other in zip(trees.members, whole.members, strict=True):
        assert model_bytes(member) == model_bytes(
            other
        )  # how it is cut changes nothing


def test_forests_stand_beside_the_clouds_of_labels() -> None:
    X, y = data("class", 80)
    for n_clouds, n_trees in [(1, 60), (3, 20), (10, 6), (25, 3)]:
        trees = small("class", n_clouds=n_clouds)
        forests = trees.members[n_clouds : 2 * n_clouds]
        assert [type(m) for m in trees.members[2 * n_clouds :]] == [LinearStream] * 3
        assert [m.options.n_trees for m in forests] == [n_trees] * n_clouds
        assert len(trees) == n_clouds
        assert all(isinstance(cloud, DynamicTree) for cloud in trees)
    trees = small("class").update(X, y)
    assert len({m.seed for m in trees.members}) == 2 * len(trees) + 3
    last = trees.members[2 * len(trees) - 1]
    order = np.random.default_rng(last.seed).permutation(80)
    alone = RandomTreesStream(
        n_trees=15,
        min_split=4,
        n_candidates=16,
        window=8192,
        classes=trees.classes,
        seed=last.seed,
    ).update(X[order], y[order])
    np.testing.assert_array_equal(alone.predict(X).proba, last.predict(X).proba)


def test_threads_and_processes_change_nothing() -> None:
    from joblib import parallel_config

    for model in ("constant", "class"):
        X, y = data(model, 60)
        models = [small(model).update(X, y, threads=n) for n in (1, 2, 7)]
        with parallel_config("loky", n_jobs=2):
            models.append(small(model).update(X, y))
        assert all(model_bytes(m) == model_bytes(models[0]) for m in models)


def test_new_labels_have_the_same_place_in_every_cloud() -> None:
    X, y = data("class", 60)
    for known in ({}, {"classes": ("c",)}):
        trees = small("class", **known).update(X[:40], y[:40])
        late = np.array(["x", "y", "z", "a", "b", "w"])
        trees.update(X[40:46], late)
        assert {cloud.classes for cloud in trees} == {trees.classes}
        assert trees.classes[-4:] == ("x", "y", "z", "w")
        assert trees.predict(X[:3]).proba.sum(axis=1) == pytest.approx(np.ones(3))


def test_levels_have_the_same_columns_in_every_cloud() -> None:
    X, y = data("constant", 60)
    rows = [{"a": x[0], "c": "zvwuqp"[k // 10]} for k, x in enumerate(X)]
    trees = small().update(rows[:40], y[:40])
    assert trees.feature_names == ("a", "c=u", "c=v", "c=w", "c=z")
    trees.update(rows[40:], y[40:])
    for cloud in trees:
        assert cloud.feature_names == ("a", "c=u", "c=v", "c=w", "c=z", "c=q", "c=p")
    assert trees.importance().names == ("a", "c")
    assert np.isfinite(trees.predict(rows).mean).all()


def test_ctrl_c_leaves_all_clouds_as_they_were() -> None:
    X, y = data("constant", 60)
    trees = small().update(X[:40], y[:40])
    many_X, many_y = data("constant", 60_000)
    with same_bytes(trees), interrupt_after(0.2) as arm:
        arm()
        trees.update(many_X, many_y)


def test_one_row_reaches_every_cloud() -> None:
    X, y = data("constant", 60)
    trees = small().update(X[:59], y[:59])
    trees.update(X[59:], y[59:])
    assert {cloud.n_seen for cloud in trees} == {60}


def test_one_row_is_all_or_nothing() -> None:
    X, y = data("constant", 60)
    trees = small().update(X, y)

    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError

    with same_bytes(trees), pytest.raises(ZeroDivisionError):
        trees.update(X[:1], y[:1], progress=stop)


def test_a_frozen_repeat_freezes_all() -> None:
    X, y = data("constant", 60)
    repeats = fit_repeats(StreamingTree(window=20, n_particles=9, seed=1), X, y, 3)
    repeats.members[1].freeze()
    with same_bytes(repeats):
        repeats.update(X[:5], y[:5])
    repeats.members[0].update(X[:1], y[:1])
    with pytest.raises(RuntimeError, match="members must have learned the same"):
        repeats.update(X[:5], y[:5])


def test_repeats_answer_as_one_model(tmp_path: Any) -> None:
    X, y = data("constant", 60)
    for one in (DynamicTree(n_particles=12, seed=1), fresh("constant"),
                StreamingTree(window=20, n_particles=12, seed=1)):  # fmt: skip
        repeats = fit_repeats(one, X, y, 3)
        assert isinstance(repeats, AveragedTrees)
        mean = np.mean([repeat.predict(X[:4]).mean for repeat in repeats], axis=0)
        np.testing.assert_allclose(repeats.predict(X[:4]).mean, mean, rtol=1e-12)
        save(repeats, tmp_path / "r.dyn")
        for back in (load(tmp_path / "r.dyn"), pickle.loads(pickle.dumps(repeats))):
            assert model_bytes(back) == model_bytes(repeats)
            same_answers(back.predict(X[:4]), repeats.predict(X[:4]))


def test_questions_are_answered() -> None:
    X, y = data("constant", 80)
    trees = small("linear").update(X, y)
    expected = np.mean([cloud.acquisition(X[:4], "ei") for cloud in trees], axis=0)
    np.testing.assert_allclose(trees.acquisition(X[:4], "ei"), expected)
    assert trees.importance().values.sum() == pytest.approx(1.0)
    assert trees.relevance().values.shape == (48, 2)
    assert trees.frozen_view().n_particles == 48
    assert trees.facts()["clouds"] == 4
    assert trees.facts()["active rows"] == trees.n_active == 320


def test_a_changed_file_is_refused() -> None:
    X, y = data("constant", 30)
    header, arrays = small().update(X, y).to_arrays()
    other, _ = small(seed=5).update(X[:29], y[:29]).to_arrays()
    mixed = dict(header["members"])
    mixed["1"] = other["members"]["1"]
    for name, value in [("members", {}), ("members", mixed), ("shuffle", 1),
                        ("powers", [-0.5]), ("powers", [0.5, 0.5]),
                        ("powers", ["1"]), ("seed", -1)]:  # fmt: skip
        with pytest.raises((ValueError, LookupError)):
            AveragedTrees.from_arrays(header | {name: value}, arrays)
    with pytest.raises(ValueError, match="without a use"):
        AveragedTrees.from_arrays(header, arrays | {"stray": np.zeros(1)})


def test_levels_of_a_second_call_are_settled_alike_by_all_clouds() -> None:
    """Those of one half of the rows were late in some clouds, and in others not."""
    X, y = data("constant", 100)
    rows = [{"a": a, "level": f"l{k // 20}"} for k, (a, _) in enumerate(X.tolist())]
    trees = small("mixed").update(rows[:5], y[:5]).update(rows[5:], y[5:])
    assert len({member.levels["level"] for member in trees.members}) == 1
    trees.update([{"a": 0.5, "level": "new"}, *rows], [0.0, *y])


def test_streams_of_both_kinds_of_leaves_are_averaged() -> None:
    X, y = data("constant", 80)
    members = [
        StreamingTree(model, window=30, n_particles=8, seed=1)
        for model in ("linear", "constant")
    ]
    trees = AveragedTrees.of(members, 1, True).update(X, y)
    assert 0.0 < trees.shares[0] < 1.0
