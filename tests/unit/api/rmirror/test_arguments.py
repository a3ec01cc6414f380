"""Bad input raises and changes nothing; frames and categories are understood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.api import rmirror as r
from tests.unit.api.rmirror.fits import BAD, LABELS, X, Y, fit, refused

# bad input


NAN = np.where(np.arange(80).reshape(40, 2) == 13, np.nan, X)


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "options", "message"),
    [
        (X, Y[:-1], {}, "one entry for each of the 40"),
        (NAN, Y, {}, "row 7, column 2"),
        (np.where(X[3, 0] == X, np.inf, X), Y, {}, "row 4, column 1"),
        (X, np.where(Y[4] == Y, np.nan, Y), {}, "element 5"),
        (X.astype(object), Y, {}, "real numbers"),
        (X.astype(str), Y, {}, "real numbers"),
        (X + 1j, Y, {}, "real numbers"),
        (X[None], Y, {}, "dimensions"),
        ([[1.0], [2.0, 3.0]], Y[:2], {}, "different lengths"),
        (X[:0], Y[:0], {}, "at least one row"),
        (X[:, :0], Y, {}, "at least one row"),
        (np.ma.masked_greater(X, 0.9), Y, {}, "finite"),
        (X, Y, {"N": 0}, "N must be an int >= 1"),
        (X, Y, {"N": -3}, "N must be an int >= 1"),
        (X, Y, {"N": 10.5}, "N must be an int"),
        (X, Y, {"N": True}, "single number"),
        (X, Y, {"N": "10"}, "single number"),
        (X, Y, {"N": np.nan}, "finite"),
        (X, Y, {"minp": 0}, "minp must be an int >= 1"),
        (X, Y, {"minp": 4.5}, "minp must be an int"),
        (X, Y, {"minp": 1}, "two distinct values"),
        (X, Y, {"minp": 5, "nstart": 4}, "nstart must be >= minp"),
        (X, Y, {"nstart": 40}, "more than nstart"),
        (X, Y, {"nstart": "six"}, "nstart must be"),
        (X, Y, {"nstart": 6.5}, "nstart must be an int"),
        (X, Y, {"sb": (1, 2)}, "model='linear'"),
        (X, Y, {"model": "linear", "sb": (0, 2)}, "in 1..2"),
        (X, Y, {"model": "linear", "sb": (1, 3)}, "in 1..2"),
        (X, Y, {"model": "linear", "sb": (1.5, 2)}, "two ints"),
        (X, Y, {"model": "linear", "sb": (1,)}, "length 2"),
        (X, Y, {"icept": "none"}, "model='linear'"),
        (X, Y, {"nu0s20": (0, 1)}, "nu0s20"),
        (X, Y, {"nu0s20": (-1, 1)}, "nu0s20"),
        (X, Y, {"ab": (1, 2)}, "ab must be"),
        (X, Y, {"ab": (0.5, 0)}, "ab must be"),
        (X, Y, {"ab": (0.5, np.nan)}, "ab must be finite"),
        (X, Y - 5, {"model": "class"}, "labels >= 1"),
        (X, Y, {"verb": "all"}, "verb"),
    ],
)
def test_bad_fits_raise_and_draw_nothing(
    X_bad: Any, y_bad: Any, options: Any, message: str
) -> None:
    stream = r.RStream(3)
    with pytest.raises(BAD, match=message):
        r.dynaTree(X_bad, y_bad, **({"N": 10, "verb": 0} | options), rng=stream)
    if "N" not in options:
        with pytest.raises(BAD):
            r.dynaTrees(X_bad, y_bad, 10, 2, verb=0, rng=stream, **options)
    assert stream.n_draws == 0


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_bad_updates_change_nothing(model: str) -> None:
    obj = fit(model)
    good = obj.y[:3]
    for rows_bad, y_bad in (
        (X[:3], good[:2]),
        (X[:3], np.r_[good, good]),
        (X[:2, 0], good[:2]),
        (np.ones((3, 3)), good),
        (NAN[5:8], good),
        (X[:3], [np.nan, 1, 1]),
        (X[:0], []),
        (X[:3].astype(object), good),
        (X[:3], ["a", "b", "c"]),
    ):
        refused(obj, lambda a=rows_bad, b=y_bad: r.update(obj, a, b, 0))
        refused(obj, lambda a=rows_bad, b=y_bad: r.predict(obj, a, b))
    if model == "class":
        for label in (0, 4, -1):
            refused(obj, lambda k=label: r.update(obj, X[:1], [k], 0), "1..3")
            refused(obj, lambda k=label: r.predict(obj, X[:1], [k]), "1..3")


def test_bad_retirements_change_nothing() -> None:
    obj = fit()
    for indices in (0, 41, -1, 1.5, [1, np.nan], np.arange(1, 41), "1"):
        refused(obj, lambda k=indices: r.retire(obj, k), "indices")
    for factor in (0, 1.1, -0.5, np.nan, "x", [0.5, 0.5]):
        refused(obj, lambda k=factor: r.retire(obj, 1, k), "lambda_")
    linear = fit("linear")
    refused(linear, lambda: r.retire(linear, 1), "icept='augmented'")


def test_bad_orders_change_nothing() -> None:
    obj = fit()
    order = np.arange(1, 41)
    for odr in (order[:-1], np.r_[1, order[:-1]], order - 1, order + 0.5, "sorted"):
        refused(obj, lambda k=odr: r.rejuvenate(obj, k, 0), "odr")


def test_bad_queries_change_nothing() -> None:
    obj, labelled = fit(), fit("class")
    box = np.array([[0, 1], [0, 1]])
    for call, message in (
        (lambda: r.predict(obj, X, quants=2), "quants"),
        (lambda: r.alc(obj, X, rect=box, Xref=X), "not both"),
        (lambda: r.alc(obj, X, categ=[True, False], Xref=X), "categ"),
        (lambda: r.alc(obj, X, rect=False, categ=[True, False]), "categ"),
        (lambda: r.alc(obj, X, rect=False, approx=True), "approx"),
        (lambda: r.alc(obj, X, rect=True), "rect"),
        (lambda: r.alc(obj, X, rect=box[:1]), "rect"),
        (lambda: r.alc(obj, X, rect=np.ones((3, 2))), "rect"),
        (lambda: r.alc(obj, X, rect=np.ones((2, 3))), "rect"),
        (lambda: r.alc(obj, X, rect=[[1, 0], [0, 1]]), "lower <= upper"),
        (lambda: r.alc(obj, X, rect=[[0, np.inf], [0, 1]]), "finite"),
        (lambda: r.alc(obj, X, categ=[True]), "categ"),
        (lambda: r.alc(obj, X, categ=[1, 0]), "categ"),
        (lambda: r.alc(obj, X, categ=[True, False]), "categorical"),
        (lambda: r.alc(obj, X, approx=2), "approx"),
        (lambda: r.alc(obj, X, probs=np.ones((10, 40))), "Xref"),
        (lambda: r.alc(obj, X, Xref=X, probs=np.ones((9, 40))), "probs"),
        (lambda: r.alc(obj, X, Xref=X, probs=np.full((10, 40), np.nan)), "probs"),
        (lambda: r.alcX(obj, rect=[[1, 0], [0, 1]]), "lower <= upper"),
        (lambda: r.ieci(obj, X, Xref=X[:, :1]), "Xref"),
        (lambda: r.qEI(obj, X, alpha=0), "alpha"),
        (lambda: r.qEI(obj, X, alpha=[1, 2]), "alpha"),
        (lambda: r.qEI(obj, X, q=[1, 2]), "q must"),
        (lambda: r.qEntropy(obj, X, q=np.nan), "q must"),
        (lambda: r.entropyX(obj), "classification"),
        (lambda: r.classprobs(obj, 1, X), "classification"),
        (lambda: r.intervals(obj, 41, 1), "index"),
        (lambda: r.intervals(obj, 1, 3), "var"),
        (lambda: r.intervals(obj, 0, 1), "index"),
        (lambda: r.sens(obj, nns=0), "nns"),
        (lambda: r.sens(obj, nME=0), "nME"),
        (lambda: r.sens(obj, span=2), "span"),
        (lambda: r.sens(obj, cls=1), "cls"),
        (lambda: r.sens(obj, method="lh2"), "method"),
        (lambda: r.sens(obj, lhs=5), "lhs"),
        (lambda: r.sens(obj, lhs={"sahpe": 1}), "sahpe"),
        (lambda: r.sens(obj, lhs={"rect": [[1, 0], [0, 1]]}), "lower <= upper"),
        (lambda: r.sens(obj, lhs={"shape": [-1, 1]}), "shape"),
        (lambda: r.sens(obj, lhs={"mode": [1]}), "mode"),
        (lambda: r.sens(obj, categ=[True, False]), "categorical"),
        (lambda: r.sens(obj, method="boot", categ=[True, False]), "only 0 and 1"),
        (lambda: r.alcalc(obj, "alm"), "predict"),
        (lambda: r.getBF(obj, {"lpred": [1.0, 2]}), "as many rows"),
        (lambda: r.getBF(obj, {}), "obj2"),
        (lambda: r.getBF(obj, r.dynaTrees(X, Y, 5, 2, verb=0)), "repeats"),
    ):
        refused(obj, call, message)
    for call, message in (
        (lambda: r.alc(labelled, X), "regression"),
        (lambda: r.alcX(labelled), "regression"),
        (lambda: r.ieci(labelled, X), "regression"),
        (lambda: r.qEI(labelled, X), "regression"),
        (lambda: r.qEntropy(labelled, X), "regression"),
        (lambda: r.classprobs(labelled, 4, X), "1..3"),
        (lambda: r.classprobs(labelled, 1, X, "q"), "output"),
        (lambda: r.sens(labelled, cls=4), "cls"),
        (lambda: r.sens(labelled, cls=[]), "cls"),
    ):
        refused(labelled, call, message)
    prior = fit("prior")
    refused(prior, lambda: r.coef(prior, X), "linear")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"R": 1}, "R must be an int >= 2"),
        ({"R": 2.5}, "R must be"),
        ({"sub": 41}, "sub"),
        ({"sub": 8}, "more than nstart"),
        ({"XX": "sense"}, "'sens'"),
        ({"XX": np.ones((2, 3))}, "XX must have 2"),
        ({"XX": X, "yy": Y[:3]}, "yy"),
        ({"yy": Y}, "yy needs XX"),
        ({"XX": X, "model": "prior"}, "prior"),
        ({"XX": "sens", "span": 3}, "span"),
        ({"XX": "sens", "cls": 1}, "cls"),
        ({"varstats": 2}, "varstats"),
        ({"varstats": True, "rect": [[1, 0], [0, 1]]}, "rect"),
        ({"rorder": np.arange(1, 41)[:, None]}, "rorder"),
        ({"rorder": np.ones((40, 2))}, "rorder"),
        ({"rorder": np.arange(80).reshape(40, 2)}, "rorder"),
        ({"rorder": 3}, "rorder"),
        ({"pverb": "a"}, "pverb"),
    ],
)
def test_bad_repeats_raise_and_draw_nothing(options: Any, message: str) -> None:
    stream = r.RStream(3)
    given = {"N": 5, "R": 3, "verb": 0, "pverb": 0} | options
    with pytest.raises(BAD, match=message):
        r.dynaTrees(X, Y, rng=stream, **given)
    assert stream.n_draws == 0


def test_repeats_are_not_drawn_by_themselves() -> None:
    with pytest.raises(NotImplementedError, match=r"plotit must be False.*plot\(\)"):
        r.dynaTrees(X, Y, plotit=True)


# frames and categories


def test_frames_keep_their_column_names() -> None:
    frame = pd.DataFrame({"u": X[:, 0], "speed": X[:, 1]})
    obj = r.dynaTree(frame, Y, 10, "linear", icept="augmented", verb=0, seed=1)
    plain = fit("linear", icept="augmented")
    assert obj.columns == ("u", "speed")
    assert plain.columns is None
    assert np.array_equal(obj.lpred, plain.lpred)
    obj = r.retire(r.update(obj, frame[:3], Y[:3], 0), [1, 2])
    assert obj.names["X"] == ("", "u", "speed")
    assert " u       speed" in str(obj)
    assert np.array_equal(r.predict(obj, frame).mean, r.predict(obj, X).mean)
    for other in (frame[["speed", "u"]], frame.rename(columns={"u": "v"})):
        refused(obj, lambda f=other: r.update(obj, f, Y, 0), "columns of the fit")
    named = r.sens(obj, nns=9, nME=3)
    assert named.names["S"] == ("u", "speed")


def test_frames_must_be_numeric() -> None:
    frame = pd.DataFrame({"u": X[:, 0], "k": ["a"] * 40})
    for kind in (object, "category", "string"):
        bad = frame.astype({"k": kind})
        with pytest.raises(TypeError, match="'k'"):
            r.dynaTree(bad, Y, 10, verb=0)
    twins = pd.DataFrame(X, columns=["u", "u"])
    with pytest.raises(ValueError, match="different names"):
        r.dynaTree(twins, Y, 10, verb=0)
    good = pd.DataFrame({"u": X[:, 0], "k": np.arange(40) % 2 == 0})
    nullable = good.astype({"u": "Float64", "k": "boolean"})
    obj = r.dynaTree(good, Y, 10, verb=0, seed=1)
    same = r.dynaTree(nullable, Y, 10, verb=0, seed=1)
    assert np.array_equal(obj.X, same.X)
    nullable.loc[3, "u"] = pd.NA
    with pytest.raises(ValueError, match=r"row 4, column 1 \('u'\)"):
        r.dynaTree(nullable, Y, 10, verb=0)


def test_categories_are_labels() -> None:
    words = pd.Series(np.array(["a", "b", "c"])[LABELS.astype(int) - 1])
    kinds = words.astype("category")
    obj = r.dynaTree(X, kinds, 10, "class", verb=0, seed=1)
    assert np.array_equal(obj.lpred, fit("class").lpred)
    assert np.array_equal(obj.y, LABELS)
    assert r.update(obj, X[:3], kinds[:3], 0).y[40:].tolist() == LABELS[:3].tolist()
    assert r.update(obj, X[:1], [2], 0).y[-1] == 2
    obj = r.dynaTree(X, pd.Categorical(kinds), 10, "class", verb=0, seed=1)
    other = kinds.cat.rename_categories({"a": "z"})
    refused(obj, lambda: r.update(obj, X, other, 0), "categories of the fit")
    refused(obj, lambda: r.update(obj, X, kinds.where(kinds != "b"), 0), "missing")
    with pytest.raises(TypeError, match="real numbers"):
        r.dynaTree(X, words, 10, "class", verb=0)
