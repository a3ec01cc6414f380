"""The mirror's objects, streams and repaired quirks. Its numbers: tests/golden."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.api import rmirror as r
from dyntree.errors import DeletedCloudError, StaleObjectError
from tests.helpers import same_bytes
from tests.unit.api.rmirror.fits import BAD, LABELS, X, Y, fit, refused, snapshot

# names, arguments and defaults


SIGNATURES = {
    "dynaTree": "X y N model nu0s20 ab minp sb nstart icept rprop verb | seed rng",
    "dynaTrees": "X y N R sub model nu0s20 ab minp sb nstart icept rprop XX yy "
    "varstats lhs plotit proj rorder verb pverb | quants ei cls nns nME span method "
    "categ rect approx seed rng",
    "update": "object X y verb | seed rng",
    "predict": "object XX yy quants ei verb |",
    "coef": "object XX verb |",
    "retire": "object indices lambda_ verb |",
    "rejuvenate": "object odr verb | seed rng",
    "copy": "obj | seed rng",
    "deletecloud": "obj |",
    "deleteclouds": "|",
    "alc": "object XX rect categ approx Xref probs verb |",
    "alcX": "object rect categ approx verb |",
    "ieci": "object XX Xref probs verb |",
    "entropyX": "object verb |",
    "qEntropy": "object XX q verb |",
    "qEI": "object XX q alpha verb |",
    "classprobs": "object cls XX output verb | seed rng",
    "intervals": "object index var |",
    "sameleaf": "object X |",
    "relevance": "object rect categ approx verb |",
    "varpropuse": "object |",
    "varproptotal": "object |",
    "sens": "object cls nns nME span method lhs categ verb | seed rng",
    "getBF": "obj1 obj2 |",
    "treestats": "object |",
    "alcalc": "obj method prec |",
    "plot": "x proj add ylim col lwd ptype | xlab ylab ax",
    "plotprogress": "x xstar ystar method track f1d prec | ax",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_are_those_of_r_in_order(name: str) -> None:
    positional, keyword = [], []
    for parameter in inspect.signature(getattr(r, name)).parameters.values():
        only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        (keyword if only else positional).append(parameter.name)
    before, _, after = SIGNATURES[name].partition("|")
    assert (positional, keyword) == (before.split(), after.split())


def test_every_public_name_is_listed_and_documented() -> None:
    assert set(r.__all__) == {*SIGNATURES, "RStream", "DynaTree"}
    for name in SIGNATURES:
        doc = inspect.getdoc(getattr(r, name)) or ""
        for section in ("Notes\n-----", "Examples\n--------"):
            assert section in doc, (name, section)


@pytest.mark.parametrize(
    "module", [info.name for info in pkgutil.iter_modules(r.__path__)]
)
def test_examples_in_docstrings_run(module: str) -> None:
    loaded = importlib.import_module(f"{r.__name__}.{module}")
    assert doctest.testmod(loaded).failed == 0


def words(text: str) -> list[str]:
    return text.split()


def test_fields_have_rs_names_and_order() -> None:
    base = words("m N X y model params nstart verb lpred num time icept")
    assert list(fit()) == base
    assert list(fit("class")) == [*base[:-1], "classes", "icept"]
    told = r.predict(fit(), X)
    extra = words("mean vmean var df q1 q2 yypred XX")
    assert list(told) == base + extra
    assert told.yypred.shape == (0,)
    told = r.predict(fit("class"), X, LABELS, ei=False)
    assert list(told)[-4:] == ["p", "entropy", "yypred", "XX"]
    assert list(r.alcX(fit()))[-4:] == ["alcX", "rect", "categ", "approx"]
    assert list(r.alc(fit(), X))[-4:] == ["alc", "XX", "Xref", "categ"]
    told = r.alc(fit(), X, Xref=X[:3], probs=np.ones((10, 3)))
    assert list(told)[-4:] == ["alc", "XX", "Xref", "probs"]
    assert told.Xref.shape == (2, 3)
    told = r.sens(fit("class"), nns=20, nME=3)
    assert list(told)[-8:] == words("MEmean MEq1 MEq2 S T sens.class MEgrid categ")
    assert told.sens_class.tolist() == sorted(told.S) == [1, 2, 3]
    told = r.dynaTrees(X, Y, 10, 3, XX=X[:3], varstats=True, verb=0, pverb=0, seed=1)
    rest = words("vpu vpt relevance rect categ approx R")
    assert list(told) == [name for name in base if name != "num"] + extra + rest


def test_params_are_rs() -> None:
    shown = fit("lin", icept="aug", sb=(1, 2), rprop="rej", nu0s20=(2, 1)).params
    assert shown.tolist() == [2, 1, 0.95, 2, 8, 2, 3, 0, 3]
    assert fit("prior", rprop="lua").params.tolist() == [0, 0, 0.95, 2, 1, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({}, 4),
        ({"minp": 6}, 6),
        ({"nstart": None}, 8),
        ({"minp": 6, "nstart": None}, 12),
        ({"minp": 6, "nstart": 7}, 7),
    ],
)
def test_nstart_follows_minp_and_null_doubles_it(options: Any, start: int) -> None:
    assert fit(**options).nstart == start
    repeats = r.dynaTrees(X, Y, 5, 2, verb=0, seed=1, **options)
    assert repeats.nstart == (8 if not options else start)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fit("l"), None),
        (lambda: fit("linear", icept="a"), None),
        (lambda: fit("linear", icept=""), ValueError),
        (lambda: fit(rprop="lu"), ValueError),
        (lambda: fit("nosuch"), ValueError),
        (lambda: fit(1), TypeError),
        (lambda: r.alcalc(r.qEI(fit(), X), "qEI"), None),
        (lambda: r.alcalc(r.qEI(fit(), X), "q"), ValueError),
    ],
)
def test_options_may_be_unique_prefixes(call: Callable[[], Any], error: Any) -> None:
    if error is None:
        call()
    else:
        with pytest.raises(error, match="must be one of"):
            call()


# objects


def test_functions_leave_inputs_and_global_state_alone() -> None:
    x, y, probs = X.copy(), LABELS.copy(), np.ones((10, 40))
    legacy, standard = np.random.get_state(), random.getstate()  # noqa: NPY002
    obj = r.dynaTree(x, y, 10, "class", verb=0)
    r.update(obj, x, y, 0)
    r.predict(obj, x, y)
    obj = r.dynaTree(x, Y, 10, "linear", verb=0)
    r.predict(obj, x)
    r.ieci(obj, x, x, probs)
    assert np.array_equal(x, X)
    assert np.array_equal(y, LABELS)
    assert (probs == 1).all()
    assert standard == random.getstate()
    after = np.random.get_state()  # noqa: NPY002
    assert all(map(np.array_equal, legacy, after))


def test_later_changes_of_the_inputs_do_not_reach_the_object() -> None:
    x, y = X.copy(), Y.copy()
    obj = r.dynaTree(x, y, 10, verb=0, seed=1)
    x[:] = 0
    y[:] = 0
    assert np.array_equal(obj.X, X)
    assert np.array_equal(obj.cloud.rows()[1], Y)


def test_objects_are_shallow_and_fields_read_only() -> None:
    first = fit()
    second = r.update(first, X[:5] + 0.01, Y[:5], 0)
    assert len(first.y) == 40
    assert len(second.y) == 45
    assert first.cloud is second.cloud
    assert first.num == second.num
    same = r.predict(first, X).mean, r.predict(second, X).mean
    assert np.array_equal(*same)
    with pytest.raises(ValueError, match="read-only"):
        second.lpred[0] = 1
    with pytest.raises(AttributeError, match="no field 'means'"):
        _ = second.means


def test_copy_alone_duplicates() -> None:
    first = fit()
    second = r.copy(first)
    assert second.num != first.num
    assert second.rng is first.rng
    before = snapshot(first)[0]
    r.update(second, X[:5], Y[:5], 0)
    assert snapshot(first)[0] == before
    assert first.cloud.n_active == 40
    third = r.copy(first, seed=9)
    assert third.rng.seed == 9
    assert third.cloud.source is third.rng.source
    with pytest.raises(TypeError, match="dynaTree"):
        r.copy({"num": 0})


def test_numbers_are_the_lowest_free_and_go_with_their_objects() -> None:
    r.deleteclouds()
    objects = [fit() for _ in range(3)]
    assert [obj.num for obj in objects] == [0, 1, 2]
    r.deletecloud(objects[0])
    assert fit().num == 0
    del objects[1]
    assert [fit().num, objects[1].num] == [0, 2]


def test_deleted_handles_raise(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = fit(), fit()
    shared = r.update(first, X[:2], Y[:2], 0)
    r.deletecloud(first)
    for call in (
        lambda: r.predict(shared, X),
        lambda: r.deletecloud(first),
        lambda: r.update(first, X, Y),
        lambda: r.retire(first, 1),
        lambda: r.copy(first),
        lambda: r.treestats(first),
    ):
        with pytest.raises(DeletedCloudError, match=f"cloud {first.num} was deleted"):
            call()
    capsys.readouterr()
    r.deleteclouds()
    assert f"removing cloud {second.num}\n" in capsys.readouterr().out
    with pytest.raises(DeletedCloudError):
        r.predict(second, X)
    with pytest.raises(DeletedCloudError, match="dynaTrees"):
        r.predict(r.dynaTrees(X, Y, 5, 2, verb=0), X)


def test_stale_objects_are_refused_where_rows_are_counted() -> None:
    first = fit()
    second = r.update(first, X[:5], Y[:5], 0)
    for call in (
        lambda: r.retire(first, 1),
        lambda: r.rejuvenate(first),
        lambda: r.intervals(first, 1, 1),
        lambda: first.row_order,
    ):
        with (
            same_bytes(second, snapshot),
            pytest.raises(StaleObjectError, match="Go on with the object"),
        ):
            call()


def test_row_order_leads_from_the_cloud_to_the_fields() -> None:
    obj = r.rejuvenate(fit(), verb=0)
    order = obj.row_order - 1
    inner_X, inner_y = obj.cloud.rows()
    assert not np.array_equal(inner_X, obj.X)
    assert np.array_equal(inner_X, obj.X[order])
    assert np.array_equal(inner_y, obj.y[order])
    obj = r.update(r.retire(obj, [3, 40]), X[:2] + 1, Y[:2], 0)
    assert obj.row_order.tolist() == list(range(1, 41))
    assert np.array_equal(obj.cloud.rows()[0], obj.X)


# streams


def test_seed_opens_a_stream_and_keeps_it() -> None:
    first, second = fit(seed=5), fit(seed=5)
    assert np.array_equal(first.lpred, second.lpred)
    assert first.rng.seed == 5
    assert first.rng is not second.rng
    more = r.update(first, X[:5], Y[:5], 0)
    assert more.rng is first.rng
    again = r.update(second, X[:5], Y[:5], 0, rng=second.rng)
    assert np.array_equal(more.lpred, again.lpred)


def test_rng_is_shared_between_models_as_r_shares_its_stream() -> None:
    stream = r.RStream(5)
    first = fit(seed=None, rng=stream)
    used = stream.n_draws
    second = fit(seed=None, rng=stream)
    assert first.rng is second.rng is stream
    assert stream.n_draws > used > 0
    assert np.array_equal(first.lpred, fit(seed=5).lpred)
    assert not np.array_equal(first.lpred, second.lpred)


def test_without_seed_a_fresh_one_is_recorded() -> None:
    first, second = fit(seed=None), fit(seed=None)
    assert first.rng.seed != second.rng.seed
    assert np.array_equal(first.lpred, fit(seed=first.rng.seed).lpred)


def test_a_later_call_may_bring_its_own_stream() -> None:
    first = fit()
    twin = r.copy(first)
    used = first.rng.n_draws
    more = r.update(first, X[:9], Y[:9], 0, seed=8)
    other = r.update(twin, X[:9], Y[:9], 0, rng=r.RStream(8))
    assert np.array_equal(more.lpred, other.lpred)
    assert first.rng.n_draws == used
    assert more.rng.seed == 8
    assert more.rng.n_draws == other.rng.n_draws > 0
    told = r.sens(more, nns=20, nME=3, seed=9)
    assert told.rng.seed == 9
    assert more.rng.n_draws == other.rng.n_draws
    assert more.cloud.source is more.rng.source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1, "rng": r.RStream(1)}, "not both"),
        ({"seed": None, "rng": 7}, "RStream"),
        ({"seed": 1.5}, "int"),
        ({"seed": True}, "int"),
        ({"seed": 2**32}, "2\\*\\*32"),
    ],
)
def test_seed_and_rng_are_checked(options: Any, message: str) -> None:
    with pytest.raises(BAD, match=message):
        fit(**options)
    obj = fit()
    with same_bytes(obj, snapshot):
        for call in (
            lambda: r.update(obj, X, Y, **options),
            lambda: r.copy(obj, **options),
            lambda: r.rejuvenate(obj, **options),
            lambda: r.sens(obj, **options),
            lambda: r.dynaTrees(X, Y, **options),
        ):
            with pytest.raises(BAD, match=message):
                call()


def test_stream_is_rs() -> None:
    stream = r.RStream(1)
    assert (stream.position, stream.n_draws) == (624, 0)
    assert stream.peek() == stream.peek() == pytest.approx(0.2655086631421)
    assert np.array_equal(stream.ahead(3), stream.uniforms(3))
    assert (stream.position, stream.n_draws) == (3, 3)
    again = r.RStream.from_state(stream.state)
    assert again.seed is None
    assert again.n_draws == 0
    assert again.peek() == stream.peek()
    assert again.position == 3
    unsigned = np.asarray(stream.state).astype(np.int64)
    assert r.RStream.from_state(unsigned.tolist()).peek() == stream.peek()
    for bad in ([1, 2], stream.state + 0.5, np.r_[403, stream.state[1:]]):
        with pytest.raises(ValueError, match="state"):
            r.RStream.from_state(bad)


def test_streams_are_of_two_kinds_of_r() -> None:
    stream = r.RStream(42, "L'Ecuyer-CMRG")
    assert stream.state.shape == (7,)
    again = r.RStream.from_state(stream.state)
    assert again.uniforms(5).tolist() == stream.uniforms(5).tolist()
    with pytest.raises(ValueError, match="kind must be 'Mersenne-Twister' or"):
        r.RStream(42, "Wichmann-Hill")  # type: ignore[arg-type]


# R 4.2.2 with dynaTree 1.2-17: RNGkind("L'Ecuyer-CMRG"), then the steps below
LECUYER = {
    "constant": (-15.870704819893042, 40, 0.46698495770190157, 0.87968966387572012),
    "linear": (-18.39166067552641, 37, 0.43048851674710403, 0.55626333218598112),
    "class": (-9.0925611326341809, 72, 0.38755056175718872, 0.65896092868965894),
}


@pytest.mark.filterwarnings("ignore:collapsing")
@pytest.mark.parametrize("model", LECUYER)
def test_the_generator_of_parallel_workers_draws_rs_trees(model: str) -> None:
    k = np.arange(30)
    rows = np.c_[k / 32, 7 * (k + 1) % 11]
    is_class = model == "class"
    y = 1 + (rows[:, 0] > 0.5) if is_class else np.sin(6 * rows[:, 0])
    icept: Any = "augmented" if model == "linear" else "implicit"
    stream = r.RStream(42, "L'Ecuyer-CMRG")
    obj = r.dynaTree(rows, y, 20, model, icept=icept, verb=0, rng=stream)
    obj = r.rejuvenate(obj, verb=0)
    obj = r.retire(obj, np.arange(1, 6), lambda_=0.9)
    late = [1, 2] if is_class else [0.3, 0.1]
    obj = r.update(obj, [[0.11, 3], [0.52, 4]], late, verb=0)
    obj = r.sens(obj, nns=50, nME=10, verb=0)
    parts = obj["S"].values() if is_class else [obj["S"]]
    first = np.concatenate([np.ravel(part) for part in parts])
    first = first[~np.isnan(first)]
    evidence, n_indices, index, uniform = LECUYER[model]
    assert np.sum(obj.lpred) == pytest.approx(evidence, rel=1e-12)
    assert first.size == n_indices
    assert np.mean(first) == pytest.approx(index, rel=1e-12)
    assert stream.peek() == uniform


def test_classprobs_does_not_commit_its_draws() -> None:
    obj = fit("class")
    used = obj.rng.n_draws
    told = r.classprobs(obj, 2, X[:3], "both")
    uniforms = obj.rng.ahead(30).reshape(10, 3)
    assert obj.rng.n_draws == used
    assert np.array_equal(told["cls"][2], (uniforms < told.pcls[2]) * 1.0)
    more = r.classprobs(told, 1, X[:3], "c")
    assert sorted(more["cls"]) == [1, 2]
    assert sorted(more.pcls) == [2]


# where R crashes or reads what is not its own, the mirror does what was meant


def test_weights_are_one_where_r_reads_invalid_memory() -> None:
    obj, ones = fit(), np.ones((10, 40))
    weighed = r.alc(obj, X, Xref=X, probs=ones).alc
    assert (weighed > 0).any()
    assert np.array_equal(r.alc(obj, X, Xref=X).alc, weighed)
    assert np.array_equal(r.alc(obj, X, rect=False).alc, weighed)
    assert np.array_equal(r.alc(obj, X, rect=False, probs=ones).alc, weighed)
    assert np.array_equal(r.ieci(obj, X).ieci, r.ieci(obj, X, X, ones).ieci)


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_answers_after_rejuvenation_cover_all_particles(model: str) -> None:
    obj = r.rejuvenate(r.rejuvenate(fit(model), verb=0), verb=0)
    assert obj.N == 10
    assert obj.cloud.n_particles == 30
    assert r.relevance(obj).relevance.shape == (30, 2)
    assert r.intervals(obj, 1, 1).shape == (30, 2)
    told = r.sens(obj, nns=9, nME=3)
    first = told.S[1] if model == "class" else told.S
    assert first.shape == (30, 2)
    if model == "class":
        assert r.classprobs(obj, 1, X[:4], "both").pcls[1].shape == (30, 4)
    else:
        assert r.alc(obj, X, Xref=X[:3], probs=np.ones((30, 3))).alc.shape == (40,)
    assert r.copy(obj).cloud.n_particles == 30
    assert r.update(obj, X[:3], obj.y[:3], 0).cloud.n_particles == 10


def test_columns_left_out_of_linear_leaves_have_no_coefficient() -> None:
    told = r.coef(fit("linear", sb=(1, 1)), X).coef
    assert told.shape == (40, 3)
    assert np.isnan(told[:, 2]).all()
    assert np.isfinite(told[:, :2]).all()


def test_rejuvenation_without_an_order_keeps_the_order() -> None:
    first, second = fit(), fit()
    first = r.rejuvenate(first, None, 0)
    second = r.rejuvenate(second, np.arange(1, 41), 0)
    assert snapshot(first)[:3] == snapshot(second)[:3]
    assert first.row_order.tolist() == list(range(1, 41))


def test_sensitivity_of_one_augmented_input_with_a_name() -> None:
    frame = pd.DataFrame({"u": X[:, 0]})
    obj = r.dynaTree(frame, Y, 10, "linear", icept="augmented", verb=0, seed=1)
    told = r.sens(obj, nns=20, nME=4)
    assert told.MEmean.shape == (4, 1)
    assert np.isfinite(told.MEmean).all()


def test_sensitivity_of_a_rare_class_has_missing_indices() -> None:
    y = np.where(np.arange(40) == 1, 2.0, 1.0)
    obj = r.dynaTree(X, y, 10, "class", verb=0, seed=1)
    told = r.sens(obj, cls=2, nns=3, nME=3)
    assert np.isnan(told.S[2]).any()
    assert np.isfinite(told.MEmean[2]).all()


def test_sensitivity_of_a_constant_column_leaves_the_others_alone() -> None:
    stacked = np.column_stack([X, np.full(40, 0.5)])
    obj = r.dynaTree(stacked, Y, 10, verb=0, seed=1)
    for method in ("lhs", "boot"):
        told = r.sens(obj, nns=50, nME=4, method=method)
        assert np.isfinite(told.MEmean[:, :2]).all()


def test_expected_improvement_is_combined_over_repeats() -> None:
    options = {"XX": X[:3], "ei": True, "varstats": True, "verb": 0, "pverb": 0}
    told = r.dynaTrees(X, Y, 10, 3, seed=1, **options)
    assert told.ei.shape == (3, 3)
    assert told.relevance.shape == (30, 2)


def test_bayes_factor_of_one_particle_raises() -> None:
    with pytest.raises(ValueError, match="all zero"):
        r.getBF(fit(), fit(N=1))


def test_warnings_say_what_is_ignored() -> None:
    with pytest.warns(UserWarning, match="ei is not relevant"):
        assert "ei" not in r.predict(fit("class"), X, ei=True)
    with pytest.warns(UserWarning, match="coef and predict are the same"):
        assert "mean" in r.coef(fit(), X)
    with pytest.warns(UserWarning, match="ignores lhs"):
        r.sens(fit(), nns=9, nME=3, method="boot", lhs={"shape": [1, 1]})
    with pytest.warns(UserWarning, match="very large"):
        r.alc(fit(), X, rect=[[0, 1e5], [0, 1e5]])


def test_alcx_keeps_to_one_way_of_measuring() -> None:
    obj = r.alcX(fit(), approx=True)
    refused(obj, lambda: r.alcX(obj), "approx must stay True")
    assert r.alcX(obj, approx=True).alcX.shape == (40,)


def test_repeated_indices_are_dropped_and_none_is_allowed() -> None:
    obj = r.retire(fit(), [5, 5, 2, 5])
    assert obj.removed == 2
    assert len(obj.y) == 38
    same = r.retire(obj, [])
    assert same.removed == 2
    assert np.array_equal(same.X, obj.X)
    assert r.retire(fit(), []).removed == 0


def test_implicit_linear_rows_are_kept_by_the_cloud_not_by_the_caller() -> None:
    x = X.copy()
    obj = r.dynaTree(x, Y, 10, "linear", verb=0, seed=1)
    assert np.array_equal(obj.X, X)
    assert np.array_equal(x, X)


def test_a_later_prediction_drops_what_it_does_not_give() -> None:
    x = np.linspace(0, 1, 20)
    fit = r.dynaTree(x, x**2, N=5, verb=0, seed=1)
    first = r.predict(fit, x[:2], ei=True)
    second = r.predict(first, x[:3], quants=False)
    assert {"q1", "q2", "ei"} <= set(first)
    assert not {"q1", "q2", "ei"} & set(second)
