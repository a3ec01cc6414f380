"""What R asks of Python, asked from Python: requests, answers, checkpoints."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Self

import numpy as np
import pytest

from dyntree import DynamicTree
from dyntree.api import rmirror
from dyntree.api.rmirror import RStream
from rbridge import counts, guest, native, weights
from rbridge.convert import from_r, to_r
from rbridge.interrupts import Interruptible
from rbridge.wire import RValue, dumps, loads, named_list

GENERATOR = np.random.default_rng(4)
X = GENERATOR.random((50, 2))
Y = np.sin(6 * X[:, 0]) + GENERATOR.normal(0, 0.1, 50)


def request(name: str, stream: RStream | None = None, **asked: Any) -> bytes:
    state = {} if stream is None else {".state": RValue("integer", stream.state)}
    asked = {".name": name, ".save": True, **state, **asked}
    return dumps(named_list({key: to_r(value) for key, value in asked.items()}))


def ask(held: guest.RObject, *args: Any, **asked: Any) -> dict[str, Any]:
    return loads(bytes(held.answer(request(*args, **asked)))).items()


def test_calls_answer_as_the_mirror_does() -> None:
    held = guest.RObject()
    told = ask(held, "dynaTree", RStream(3), X=X, y=Y, N=20, verb=0)
    ours = rmirror.dynaTree(X, Y, 20, verb=0, seed=3)
    fields = from_r(told["value"])
    assert list(fields) == list(ours)
    assert fields["lpred"].tolist() == ours.lpred.tolist()
    assert told["state"].data.tolist() == ours.rng.state.tolist()
    assert "changed" not in told
    told = ask(held, "predict", XX=X[:3])
    assert set(from_r(told["value"])) == {
        "mean", "vmean", "var", "df", "q1", "q2", "yypred", "XX"
    }  # fmt: skip
    assert "state" not in told
    told = ask(held, "retire", indices=[1.0], **{"lambda": 0.9})
    assert from_r(told["changed"])
    assert set(from_r(told["value"])) == {"X", "y", "removed"}


def test_errors_speak_of_rs_arguments() -> None:
    held = guest.RObject()
    ask(held, "dynaTree", RStream(3), X=X, y=Y, N=20, verb=0)
    told = ask(held, "retire", indices=[1.0], **{"lambda": 2.0})
    assert list(told) == ["error"]
    assert from_r(told["error"]) == "lambda must be in (0, 1]; got 2."
    assert held.tree is not None
    assert held.tree.cloud.n_active == 50


def test_a_checkpoint_and_later_requests_make_the_same_tree() -> None:
    held, again = guest.RObject(), guest.RObject()
    told = ask(held, "dynaTree", RStream(3), X=X, y=Y, N=20, verb=0)
    since = [
        request("rejuvenate", RStream(5), odr=np.arange(50.0, 0.0, -1.0), verb=0),
        request("update", RStream(9), X=X[:4], y=Y[:4], verb=0),
        request("retire", indices=[2.0, 7.0]),
    ]
    for one in since:
        held.answer(one)
    saved = from_r_raw(told["saved"])
    told_now = loads(bytes(again.restore(saved, since)))
    assert told_now.items() == {}
    last = request("update", RStream(2), X=X[4:9], y=Y[4:9], verb=0)
    answers = [loads(bytes(one.answer(last))).items() for one in (held, again)]
    mine, theirs = (from_r(answer["value"]) for answer in answers)
    for name in ("X", "y"):
        assert np.array_equal(mine[name], theirs[name])
    assert mine["lpred"].tolist() == theirs["lpred"].tolist()
    assert len(mine["lpred"]) == 5  # the new ones
    broken = bytes(guest.RObject().restore(saved[:-40], []))
    assert "data cannot be loaded" in from_r(loads(broken).items()["error"])


def test_what_is_printed_can_be_flushed_while_a_tree_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As reticulate does twice a second; where it fails, it says so for ever."""
    shown: list[str] = []
    guest.listen(shown.append)
    saved = from_r_raw(
        ask(guest.RObject(), "dynaTree", RStream(3), X=X, y=Y, N=5, verb=0)["saved"]
    )
    load = guest.RObject._load

    def flushing(held: guest.RObject, data: bytes) -> None:
        load(held, data)
        print("made again")
        sys.stdout.flush()

    monkeypatch.setattr(guest.RObject, "_load", flushing)
    assert loads(bytes(guest.RObject().restore(saved, []))).items() == {}
    assert shown == []
    guest.listen(lambda text: None)


def from_r_raw(value: Any) -> bytes:
    return bytes(value.data.tobytes())


def test_warnings_and_prints_reach_r() -> None:
    held, shown = guest.RObject(), []
    guest.listen(shown.append)
    labels = 1.0 + (Y > 0.0)
    ask(held, "dynaTree", RStream(3), X=X, y=labels, N=5, model="class", verb=25)
    assert "".join(shown).startswith("t=25, np=")
    told = ask(held, "predict", XX=X, ei=True)
    assert from_r(told["warnings"]) == "ei is not relevant for classification."
    guest.listen(lambda text: None)


def test_native_rules_answer_the_mirrors_questions() -> None:
    fit = native.dynaTree(X, Y, N=50, model="linear", verb=0, rng=RStream(1))
    twin = native.dynaTree(X, Y, N=50, model="linear", verb=0, rng=RStream(1))
    assert fit.lpred.tolist() == twin.lpred.tolist()
    assert (fit.lpred != 0).all()
    assert (fit.icept, fit.nstart, fit.X.shape) == ("augmented", 0, (50, 2))
    fit = rmirror.retire(fit, [1, 2, 3])
    fit = rmirror.predict(rmirror.update(fit, X[:3], Y[:3], verb=0), X, ei=True)
    assert np.mean((fit.mean - Y) ** 2) < np.var(Y) / 4
    with pytest.raises(ValueError, match="nu0s20 belongs to R's rules"):
        native.dynaTree(X, Y, N=5, nu0s20=(1.0, 1.0), rng=RStream(1))
    labelled = native.dynaTree(
        X, 1 + (Y > 0), N=50, model="class", rng=RStream(1), verb=0
    )
    assert rmirror.predict(labelled, X[:2]).p.shape == (2, 2)


def test_counts_are_those_of_the_model_and_its_predictions() -> None:
    """Of trees that are one leaf, in which there is no chance."""
    over = GENERATOR.uniform(0.5, 4.0, 50)
    y = np.floor(9.0 * over)
    leaf = (1e-12, 2.0)
    for model in ("poisson", "negbin"):
        fit = native.dynaTree(
            X, y, 20, model, ab=leaf, exposure=over, verb=0, rng=RStream(1)
        )
        tree = DynamicTree(model, n_particles=20, tree_prior=leaf, seed=1)
        tree.update(X, y, exposure=over)
        assert fit.lpred.sum() == pytest.approx(tree.log_evidence, rel=1e-10)
        told = counts.predict(fit, X, yy=y, exposure=over)
        ours = tree.predict(X, exposure=over)
        np.testing.assert_allclose(told.mean, ours.mean, rtol=1e-10)
        np.testing.assert_allclose(told.var, ours.var, rtol=1e-10)
        np.testing.assert_array_equal(told.q2, ours.quantile(0.95))
        np.testing.assert_allclose(np.log(told.yypred), ours.log_density(y), rtol=1e-9)
        later = weights.update(fit, X[:3], y[:3], 0, over[:3], rng=RStream(2))
        assert later.exposure.tolist() == [*over, *over[:3]]
        fewer = weights.retire(later, [1, 2])
        held = {*zip(fewer.X[:, 0], fewer.y, fewer.exposure, strict=True)}
        assert held <= {*zip(X[:, 0], y, over, strict=True)}
    with pytest.raises(ValueError, match="exposure is for counts"):
        native.dynaTree(X, Y, N=5, exposure=over, rng=RStream(1))
    with pytest.raises(ValueError, match="of no counts in repeats; got 'negbin'"):
        native.dynaTrees(X, y, 5, 2, model="negbin", rng=RStream(1))
    with pytest.raises(ValueError, match=r"y must be counts .* in row 2\."):
        native.dynaTree(X, y + 0.5 * (np.arange(50) == 2), model="negbin",
                        rng=RStream(1))  # fmt: skip


def test_native_repeats_are_native_fits_of_the_orders() -> None:
    orders = np.column_stack([np.arange(50, 0, -1), np.r_[26:51, 1:26]])
    both = native.dynaTrees(
        X, Y, 20, 3, rng=RStream(2), rorder=orders, XX=X[:4], verb=0, pverb=0
    )
    stream = RStream(2)
    for r, order in enumerate([np.arange(50), *(orders.T - 1)]):
        fit = native.dynaTree(X[order], Y[order], 20, verb=0, rng=stream)
        assert both.lpred[:, r].tolist() == fit.lpred.tolist()
        assert both.mean[:, r].tolist() == rmirror.predict(fit, X[:4]).mean.tolist()
    assert (both.rules, both.N, both.R) == ("native", 60, 3)
    alike = np.r_[np.zeros(10), Y[10:]]  # R's rules need responses that differ at first
    native.dynaTrees(X, alike, 5, 2, rng=RStream(2), rorder=np.arange(1, 51), verb=0)
    with pytest.raises(TypeError, match="unexpected argument 'colour'"):
        native.dynaTrees(X, Y, 5, 2, rng=RStream(2), colour=3)


def test_only_short_work_goes_without_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded: list[bool] = []

    class Guard(Interruptible):
        def __enter__(self) -> Self:
            guarded.append(True)
            return super().__enter__()

    monkeypatch.setattr(guest, "Interruptible", Guard)
    for n_particles, n_rows in ((1, 9000), (100, 1000)):
        held = guest.RObject()
        ask(held, "dynaTree", RStream(3), X=X, y=Y, N=n_particles, verb=0)
        rows = GENERATOR.random((n_rows, 2))
        guarded.clear()
        ask(held, "predict", XX=rows[:1])
        ask(held, "update", RStream(3), X=rows[:1], y=rows[0, :1], verb=0)
        ask(held, "retire", indices=[3.0])
        assert not guarded
        ask(held, "update", RStream(3), X=rows, y=rows[:, 1], verb=0)
        assert guarded


@pytest.mark.skipif(os.name != "posix", reason="no sigaction here")
def test_an_interrupt_raises_once_and_the_old_handler_comes_back() -> None:
    heard: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("old"))
    try:
        with pytest.raises(KeyboardInterrupt), Interruptible():
            signal.raise_signal(signal.SIGINT)
        assert heard == []
        signal.raise_signal(signal.SIGINT)
        assert heard == ["old"]
    finally:
        signal.signal(signal.SIGINT, before)
    ask(guest.RObject(), "deleteclouds")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_word_of_the_stream_may_look_like_a_missing_value() -> None:
    held, state = guest.RObject(), RStream(3).state.copy()
    state[1:3] = 0, -(2**31)  # R's NA_integer_, as one of the words
    stream = RStream.from_state(state)
    told = ask(held, "dynaTree", stream, X=X[:9], y=Y[:9], N=2, verb=0)
    ours = rmirror.dynaTree(X[:9], Y[:9], 2, verb=0, rng=stream)
    assert told["state"].data.tolist() == ours.rng.state.tolist()
    assert told["state"].data[2] == -(2**31)


def test_holders_of_one_cloud_part_at_the_first_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies: list[bool] = []
    copy = rmirror.copy
    monkeypatch.setattr(rmirror, "copy", lambda tree: copies.append(True) or copy(tree))
    first = guest.RObject()
    ask(first, "dynaTree", RStream(3), X=X, y=Y, N=20, verb=0)

    def learn(held: guest.RObject) -> int:
        copies.clear()
        ask(held, "update", RStream(3), X=X[:1], y=Y[:1], verb=0)
        return len(copies)

    def mean(held: guest.RObject) -> list[float]:
        return from_r(ask(held, "predict", XX=X[:3])["value"])["mean"].tolist()

    assert [learn(first) for _ in range(5)] == [0] * 5
    second, third = first.shared(), first.shared()
    before = mean(first)
    assert learn(second) == 1
    assert learn(second) == 0
    assert mean(third) == mean(first) == before != mean(second)
    third.forget()
    assert [learn(first), learn(first)] == [0, 0]  # it is alone
    assert mean(first) == mean(second)
    other = first.shared()
    del other
    assert learn(first) == 0
