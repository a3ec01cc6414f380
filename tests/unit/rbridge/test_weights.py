"""Weights of rows, quantiles and coefficients under native rules, asked as R asks."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree import DynamicTree
from dyntree.api import rmirror
from dyntree.api.rmirror import RStream
from rbridge import guest, native, weights
from rbridge.convert import from_r
from rbridge.quantiles import quantiles
from tests.unit.rbridge.test_guest import ask, from_r_raw

GENERATOR = np.random.default_rng(6)
X = GENERATOR.random((60, 2))
Y = np.sin(6 * X[:, 0]) + GENERATOR.normal(0, 0.1, 60)
W = GENERATOR.choice([1.0, 4.0, 40.0], 60)


@pytest.mark.parametrize("model", ["constant", "linear", "class", "poisson"])
def test_weights_are_those_of_the_model(model: str) -> None:
    """Of trees that are one leaf, in which there is no chance."""
    real = model in ("constant", "linear")
    y = Y if real else 1.0 + (Y > 0)
    fit = native.dynaTree(X, y, 20, model, minp=60, weights=W, verb=0, rng=RStream(1))
    labels = (1.0, 2.0) if model == "class" else None
    tree = DynamicTree(model, n_particles=20, min_leaf=60, classes=labels, seed=1)
    for k in range(len(y)):  # in R rows are learned whole and in order
        tree.update(X[k : k + 1], y[k : k + 1], W[k : k + 1])
    assert fit.lpred.sum() == pytest.approx(tree.log_evidence, rel=1e-10)
    if real:
        told, ours = rmirror.predict(fit, X), tree.predict(X)
        np.testing.assert_allclose(told.mean, ours.mean, rtol=1e-10)
        np.testing.assert_allclose(told.var, ours.var, rtol=1e-10)


def test_weights_go_with_their_rows() -> None:
    fit = native.dynaTree(X, Y, 20, weights=W, verb=0, rng=RStream(1))
    later = weights.update(fit, X[:3], Y[:3], 0, weights=2.0, rng=RStream(2))
    assert later.weights.tolist() == [*W, 2.0, 2.0, 2.0]
    fewer = weights.retire(later, [1, 2, 62])
    known = {*zip(X[:, 0], W, strict=True), *zip(X[:3, 0], [2.0] * 3, strict=True)}
    assert {*zip(fewer.X[:, 0], fewer.weights, strict=True)} <= known
    unweighted = native.dynaTree(X, Y, 20, verb=0, rng=RStream(1))
    with pytest.raises(ValueError, match="weights is for fits with weights"):
        weights.update(unweighted, X[:3], Y[:3], 0, weights=2.0, rng=RStream(2))
    with pytest.raises(ValueError, match=r"weights must be > 0; got 0 in row 1"):
        native.dynaTree(X[:2], Y[:2], 5, weights=[1.0, 0.0], rng=RStream(1))
    with pytest.raises(ValueError, match=r"weights must be finite .* in row 0"):
        native.dynaTree(X[:2], Y[:2], 5, weights=[np.inf, 1.0], rng=RStream(1))


def test_a_checkpoint_has_the_weights() -> None:
    held, again = guest.RObject(), guest.RObject()
    asked = {"X": X, "y": Y, "N": 20, "verb": 0, "weights": W, ".rules": "native"}
    told = ask(held, "dynaTree", RStream(3), **asked)
    again.restore(from_r_raw(told["saved"]), [])
    answers = [
        from_r(ask(one, "update", RStream(4), X=X[:2], y=Y[:2], verb=0)["value"])
        for one in (held, again)
    ]
    assert answers[0]["weights"].tolist() == [*W, 1.0, 1.0]
    for name in ("weights", "lpred"):
        assert answers[0][name].tolist() == answers[1][name].tolist()


def test_numbers_of_rows_are_told_where_they_are_asked_for() -> None:
    held = guest.RObject()
    ask(held, "dynaTree", RStream(3), X=X, y=Y, N=20, verb=0)
    told = from_r(ask(held, "retire", indices=[1.0, 4.0], **{".rows": True})["value"])
    places = told[".rows"] - 1
    assert sorted(places) == sorted({*range(60)} - {0, 3})
    np.testing.assert_array_equal(told["X"], X[places])
    told = ask(held, "update", RStream(3), X=X[:2], y=Y[:2], verb=0, **{".rows": True})
    assert from_r(told["value"])[".rows"][-2:].tolist() == [61, 62]
    assert ".rows" not in from_r(ask(held, "retire", indices=[1.0])["value"])


@pytest.mark.parametrize("rules", ["r", "native"])
def test_quantiles_are_the_mirrors_at_its_two_probabilities(rules: str) -> None:
    fit = {"r": rmirror.dynaTree, "native": native.dynaTree}[rules](
        X, Y, 30, "linear", verb=0, rng=RStream(1)
    )
    told = rmirror.predict(fit, X)
    ours = quantiles(fit, X, [0.05, 0.5, 0.95])
    np.testing.assert_allclose(ours[:, 0], told.q1, rtol=1e-9)
    np.testing.assert_allclose(ours[:, 1], told.mean, rtol=1e-9)
    np.testing.assert_allclose(ours[:, 2], told.q2, rtol=1e-9)


def test_coefficients_begin_with_the_level_of_native_leaves() -> None:
    y = 3.0 + 2.0 * X[:, 0]
    fit = native.dynaTree(X, y, 30, "linear", verb=0, rng=RStream(1))
    told = rmirror.coef(fit, X[:4]).coef
    np.testing.assert_allclose(told, [[3.0, 2.0, 0.0]] * 4, atol=0.2)
    some = native.dynaTree(X, y, 30, "linear", sb=[1, 1], verb=0, rng=RStream(1))
    assert np.isnan(rmirror.coef(some, X[:4]).coef[:, 2]).all()
    through = native.dynaTree(X, y, 9, "linear", icept="none", verb=0, rng=RStream(1))
    assert rmirror.coef(through, X[:4]).coef.shape == (4, 2)
