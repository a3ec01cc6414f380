"""The real package and the mirror answer the same calls in the same way."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rbridge
from dyntree.api import rmirror
from dyntree.api.rmirror import RStream
from dyntree.errors import DeletedCloudError
from rbridge import dynatree as d
from rbridge.errors import RCrashError, RError
from tests.unit.rbridge.engines import WAYS, running

GENERATOR = np.random.default_rng(5)
X = GENERATOR.random((40, 2))
Y = X[:, 0] + GENERATOR.normal(0, 0.1, 40)


@pytest.fixture(params=WAYS)
def r(request: pytest.FixtureRequest) -> rbridge.Session:
    return running(request.param, cran=True)


def fit(r: rbridge.Session, **more: Any) -> Any:
    return d.dynaTree(X, Y, **{"N": 20, "verb": 0, "seed": 1, **more}, session=r)


def test_the_mirror_is_reached_without_r() -> None:
    ours = d.dynaTree(X, Y, N=20, verb=0, seed=1, engine="dyntree")
    assert isinstance(ours, rmirror.DynaTree)
    seen = d.predict(ours, X[:3])
    assert seen.mean.tolist() == rmirror.predict(ours, X[:3]).mean.tolist()
    d.deletecloud(ours)
    with pytest.raises(DeletedCloudError):
        d.treestats(ours)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="engine must be 'R' or 'dyntree'; got 'S'"):
        d.dynaTree(X, Y, engine="S")


def test_signatures_are_the_mirrors() -> None:
    with pytest.raises(TypeError, match=r"retire\(\): .*unexpected.*'rows'"):
        d.retire(None, 1, rows=1)
    with pytest.raises(TypeError, match=r"dynaTree\(\): missing .*'y'"):
        d.dynaTree(X)


@pytest.mark.cran
def test_fields_are_those_of_the_mirror(r: rbridge.Session) -> None:
    theirs, ours = fit(r), d.dynaTree(X, Y, N=20, verb=0, seed=1, engine="dyntree")
    assert list(theirs) == list(ours)
    for name in set(ours) - {"time", "num"}:
        assert np.array_equal(theirs[name], ours[name]), name
        assert np.shape(theirs[name]) == np.shape(ours[name]), name
    assert theirs.rng.state.tolist() == ours.rng.state.tolist()
    assert theirs.lpred.tolist() == theirs["lpred"].tolist()
    assert repr(theirs).startswith("RDynaTree('constant', N=20, fields: m, N, X")
    with pytest.raises(AttributeError, match="no field 'mean'; there are m, N"):
        _ = theirs.mean
    assert isinstance(d.treestats(theirs), pd.DataFrame)
    assert d.predict(theirs, X[:1]).mean.shape == (1,)


@pytest.mark.cran
def test_one_stream_may_feed_both_engines(r: rbridge.Session) -> None:
    shared, alone = RStream(8), RStream(8)
    fit(r, seed=None, rng=shared)
    ours = d.dynaTree(X, Y, 20, verb=0, rng=shared, engine="dyntree")
    d.dynaTree(X, Y, 20, verb=0, rng=alone, engine="dyntree")
    twin = d.dynaTree(X, Y, 20, verb=0, rng=alone, engine="dyntree")
    assert ours.lpred.tolist() == twin.lpred.tolist()
    assert shared.peek() == alone.peek()


@pytest.mark.cran
def test_a_copy_goes_its_own_way(r: rbridge.Session) -> None:
    first = fit(r)
    second = d.copy(first)
    assert second.num != first.num
    d.update(second, X[:3], Y[:3], verb=0)
    d.deletecloud(second)
    with pytest.raises(DeletedCloudError, match="was deleted; fit again"):
        d.predict(second, X)
    assert d.predict(first, X[:2]).mean.shape == (2,)


@pytest.mark.cran
def test_clouds_nobody_can_reach_are_deleted(r: rbridge.Session) -> None:
    first = fit(r)
    num = first.num
    del first
    gc.collect()
    assert r.unreachable.count(num) == 1
    held = [fit(r) for _ in range(num + 1)]
    assert num in [model.num for model in held]


@pytest.mark.cran
def test_frames_and_lists_pass(r: rbridge.Session) -> None:
    frame = pd.DataFrame(X, columns=["p", "q"])
    theirs = d.dynaTree(frame, pd.Series(Y), N=20, verb=0, seed=1, session=r)
    assert theirs.lpred.tolist() == fit(r).lpred.tolist()
    listed = d.dynaTree(X.tolist(), Y.tolist(), N=20, verb=0, seed=1, session=r)
    assert listed.lpred.tolist() == theirs.lpred.tolist()


@pytest.mark.cran
def test_words_of_the_mirror_reach_r_in_its_own(r: rbridge.Session) -> None:
    given = {"nstart": None, "minp": 5}
    theirs, plain = fit(r, **given), fit(r, nstart="minp", verb=0)
    assert (theirs.nstart, plain.nstart) == (10, 4)
    theirs = d.rejuvenate(d.retire(theirs, [1, 2], lambda_=0.9), "random", verb=0)
    ours = d.dynaTree(X, Y, 20, verb=0, seed=1, engine="dyntree", **given)
    ours = d.rejuvenate(d.retire(ours, [1, 2], lambda_=0.9), "random", verb=0)
    assert theirs.rng.peek() == ours.rng.peek()


@pytest.mark.cran
def test_effects_of_one_class(r: rbridge.Session) -> None:
    labels = 1 + (Y > 0.5)
    answers = [
        d.sens(
            d.dynaTree(X, labels, 20, "class", verb=0, seed=2, **where),
            2,
            nns=30,
            nME=4,
        )
        for where in ({"session": r}, {"engine": "dyntree"})
    ]
    assert [list(answer["S"]) for answer in answers] == [[2], [2]]
    assert np.allclose(answers[0]["S"][2], answers[1]["S"][2], equal_nan=True)


@pytest.mark.cran
def test_progress_is_printed_as_r_does(
    r: rbridge.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(r, verb=20)
    theirs = capsys.readouterr().out
    d.dynaTree(X, Y, N=20, verb=20, seed=1, engine="dyntree")
    assert theirs == capsys.readouterr().out != ""


@pytest.mark.cran
def test_an_error_of_the_package_is_told(r: rbridge.Session) -> None:
    with pytest.raises(RError, match=r"one of .*constant"):
        fit(r, model="quadratic")
    with pytest.raises(RError) as caught:
        d.predict(fit(r), X[:, :1])
    assert caught.value.call.startswith("predict(object = object, XX = XX)")


@pytest.mark.cran
def test_what_crashes_the_package_is_refused(r: rbridge.Session) -> None:
    model = fit(r)
    with pytest.raises(ValueError, match="odr must not be None in R"):
        d.rejuvenate(model, None)
    model = d.rejuvenate(model, verb=0)
    for refused in (d.sens, d.relevance, lambda m: d.sens(d.copy(m))):
        with pytest.raises(ValueError, match=r"must not follow rejuvenate\(\)"):
            refused(model)
    model = d.update(model, X[:1], Y[:1], verb=0)
    assert d.relevance(model).relevance.shape == (20, 2)
    with pytest.raises(ValueError, match=r"output must be 'both' in R.*got 'p'"):
        d.classprobs(model, 1, X)
    with pytest.raises(ValueError, match="X must be without missing values in R"):
        d.update(model, [[np.nan, 1.0]], [1.0])


@pytest.mark.cran
def test_objects_of_an_r_that_crashed_say_so() -> None:
    r = running("subprocess", cran=True)
    model = fit(r)
    with pytest.raises(RCrashError):
        r.evaluate("tools::pskill(Sys.getpid(), 9); Sys.sleep(9)")
    with pytest.raises(RCrashError, match="this R has ended, and its clouds with it"):
        d.predict(model, X)


@pytest.mark.cran
def test_repeats_bayes_factors_and_pictures(r: rbridge.Session) -> None:
    fits = {}
    for engine, where in (("R", {"session": r}), ("dyntree", {})):
        shared = {"R": 2, "N": 10, "verb": 0, "pverb": 0, "engine": engine, **where}
        constant = d.dynaTrees(X, Y, XX=X[:3], seed=4, **shared)
        linear = d.dynaTrees(X, Y, model="linear", seed=5, **shared)
        fits[engine] = constant, d.getBF(linear, constant)
    (theirs, their_factor), (ours, our_factor) = fits["R"], fits["dyntree"]
    assert theirs.R == ours.R == 2
    assert np.allclose(theirs["mean"], ours["mean"], rtol=1e-12)
    assert np.allclose(their_factor, our_factor, atol=1e-10)
    with pytest.raises(DeletedCloudError, match=r"dynaTrees\(\) deletes those"):
        d.treestats(theirs)
    drawn = [d.plot(fit, proj=2).axes[0].lines for fit in (theirs, ours)]
    assert len(drawn[0]) == len(drawn[1]) == 7
    for one, other in zip(*drawn, strict=True):
        assert np.allclose(one.get_ydata(), other.get_ydata())
    x = X[:, 0]
    progress = [
        d.plotprogress(
            d.predict(d.dynaTree(x, Y, 10, verb=0, seed=1, **where), x),
            0.5, 0.5, "alm", [0.2, 0.1], lambda x: x,
        )
        for where in ({"session": r}, {"engine": "dyntree"})
    ]  # fmt: skip
    lines = [figure.axes[2].lines[0].get_ydata() for figure in progress]
    assert np.allclose(*lines)
    with pytest.raises(ValueError, match="engine must be 'R' or 'dyntree'"):
        d.dynaTrees(X, Y, engine="S")


@pytest.mark.parametrize("engine", ["R", "dyntree"])
def test_arguments_by_the_names_of_r(engine: str) -> None:
    where = {"session": running("subprocess", cran=True)} if engine == "R" else {}
    fits = [
        d.dynaTree(X, Y, 20, verb=0, seed=1, engine=engine, **where) for _ in range(2)
    ]
    first = d.retire(fits[0], [1, 2], **{"lambda": 0.5})
    second = d.retire(fits[1], [1, 2], lambda_=0.5)
    told = [d.predict(fit, X)["mean"].tolist() for fit in (first, second)]
    assert told[0] == told[1]


def test_an_interrupted_change_says_what_it_left(r: rbridge.Session) -> None:
    """CRAN's loops look for an interrupt where they print."""
    fit = d.dynaTree(X, Y, 500, verb=0, seed=1, session=r)
    other = d.dynaTree(X, Y, 20, verb=0, seed=1, session=r)
    before = d.predict(other, X)["mean"].tolist()
    rows = np.random.default_rng(0).random((20_000, X.shape[1]))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(
        KeyboardInterrupt, match=r"update\(\) was interrupted on its way"
    ):
        d.update(fit, rows, rows[:, 0], verb=5)
    timer.join()
    assert r.alive
    assert d.predict(other, X)["mean"].tolist() == before
    assert np.isfinite(d.predict(fit, X)["mean"]).all()
