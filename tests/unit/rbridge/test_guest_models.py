"""Requests of R's to models beside trees, from Python: equal numbers, and R's words."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rbridge
from dyntree import AveragedStream, AveragedTrees, StreamingTree
from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
)
from dyntree.params import NIG
from rbridge.convert import from_r, to_r
from rbridge.guest_models import FACES, RModel
from rbridge.wire import RValue, dumps, loads, named_list

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({
    "x": RNG.random(120), "g": pd.Categorical(RNG.choice(["u", "v"], 120)),
    "l": RNG.random(120) > 0.5,
})  # fmt: skip
TABLE.loc[3, "x"] = np.nan
Y = np.sin(6 * TABLE["x"].fillna(0.0).to_numpy()) + RNG.normal(0, 0.1, 120)
LABELS = np.where(Y > 0.3, "high", "low").astype(object)
ROWS = pd.DataFrame(
    RNG.normal(size=(240, 2)) + 15 * RNG.integers(1, 4, (240, 1)), columns=["a", "b"]
)
PHASE = np.repeat([1, 2, 3], 80)
COUNTS = RNG.poisson(0.2, (80, 24)) + np.kron(
    np.eye(2, dtype=int), np.ones((40, 12), int)
)
CHEAP: dict[str, dict[str, Any]] = {
    "dyntree_stream": {"n_particles": 20, "window": 40},
    "dyntree_average": {"n_particles": 20, "n_clouds": 3},
    "dp_gmm": {},
    "ddp_mixture": {"n_sweeps": 9, "burn_in": 3},
    "canopy_mixture": {"n_components": 3},
    "hdp_topics": {},
}


def counts(table: Any) -> dict[str, Any]:
    """A matrix as R sends it."""
    parts = sparse.csc_array(table.astype(float))
    return {"i": parts.indices, "p": parts.indptr, "x": parts.data, "dim": table.shape}


GIVEN: dict[str, dict[str, Any]] = {
    "dyntree_stream": {"x": TABLE, "y": Y},
    "dyntree_average": {"x": TABLE, "y": Y},
    "dp_gmm": {"x": ROWS},
    "ddp_mixture": {"x": ROWS, "phase": PHASE},
    "canopy_mixture": {"x": ROWS},
    "hdp_topics": {"x": counts(COUNTS)},
}
SEEDED = [face for face in FACES if face != "dp_gmm"]


def request(name: str, face: str, rows: str = "newdata", **given: Any) -> bytes:
    asked = {".name": name, "face": face, "rows": rows, ".save": True, **given}
    return dumps(named_list({key: to_r(value) for key, value in asked.items()}))


def ask(held: RModel, *args: Any, **given: Any) -> dict[str, Any]:
    return loads(bytes(held.answer(request(*args, **given)))).items()


def make(
    face: str, rows: dict[str, Any] | None = None, **options: Any
) -> tuple[RModel, dict[str, Any]]:
    held = RModel()
    seed = {"seed": 1} if face in SEEDED else {}
    asked = {**CHEAP[face], **seed, **options}
    chosen = named_list({key: to_r(value) for key, value in asked.items()})
    given = GIVEN[face] if rows is None else rows
    return held, ask(held, "make", face, "x", options=chosen, **given)


def value(told: dict[str, Any]) -> dict[str, Any]:
    assert "error" not in told, from_r(told["error"])
    found: dict[str, Any] = from_r(told["value"])
    return found


def direct(face: str) -> Any:
    """The model that a request stands for, made without R."""
    model: Any
    if face == "dyntree_stream":
        return StreamingTree(window=40, n_particles=20, seed=1).update(TABLE, Y)
    if face == "dyntree_average":
        return AveragedTrees(n_clouds=3, n_particles=20, seed=1).update(TABLE, Y)
    if face == "dp_gmm":
        return OnlineDPGMM().update(ROWS).finish_warm_up().merge_now()
    if face == "ddp_mixture":
        options: dict[str, Any] = {"n_sweeps": 9, "burn_in": 3, "seed": 1}
        model = DependentDPMixture(GaussianUnknown(), **options)
        return model.update(ROWS, phases=PHASE, progress=False)
    if face == "canopy_mixture":
        return Canopy(3, seed=1).fit(ROWS, progress=False)
    model = MemoryBoundedHDP("multinomial", seed=1)
    return model.fit(COUNTS, progress=False)


@pytest.mark.parametrize("face", ["dyntree_stream", "dyntree_average"])
def test_trees_answer_as_without_r(face: str) -> None:
    held, told = make(face)
    ours = direct(face)
    assert (
        value(told)["log_evidence"] == ours.log_evidence
        if face != ("dyntree_stream")
        else ours.tree.log_evidence
    )
    found = value(ask(held, "predict", face, x=TABLE[:9], probs=[0.05, 0.5]))
    expected = ours.predict(TABLE[:9])
    assert found["mean"].tolist() == expected.mean.tolist()
    assert found["sd"].tolist() == np.sqrt(expected.var).tolist()
    assert found["quantile"].tolist() == expected.quantile([0.05, 0.5]).tolist()
    shares = value(ask(held, "importance", face))
    asked = ours.tree if face == "dyntree_stream" else ours
    assert shares["share"].tolist() == asked.importance().values.tolist()
    one = value(ask(held, "learn", face, x=TABLE[:1], y=Y[:1]))  # a single row
    ours.update(TABLE[:1], Y[:1])
    assert one["n_seen"] == ours.n_seen == 121


def test_rows_one_by_one_are_rows_of_a_table() -> None:
    table = TABLE.assign(
        day=pd.date_range("2024-01-01", periods=120).astype("datetime64[s]"),
        n=pd.array(RNG.integers(0, 9, 120), dtype="Int64"),
    )
    table.loc[[9, 30], "day"] = pd.NaT
    table.loc[[8, 31], "n"] = pd.NA
    table.loc[32, "g"] = np.nan
    for start in (2, 20):  # before there are trees, and after
        both = [
            make("dyntree_stream", {"x": table[:start], "y": Y[:start]})[0]
            for _ in range(2)
        ]
        for k in range(start, 60):
            rows, y = table[k : k + 1], Y[k : k + 1]
            value(ask(both[0], "learn", "dyntree_stream", x=rows, y=y))
            both[1].model.update(rows, y)
        found = value(ask(both[0], "predict", "dyntree_stream", x=table))
        assert found["mean"].tolist() == both[1].model.predict(table).mean.tolist()
        for k in (0, 9, 31, 32):
            one = value(ask(both[0], "predict", "dyntree_stream", x=table[k : k + 1]))
            assert one["mean"] == found["mean"][k]


def test_labels_and_memories() -> None:
    rows = {"x": TABLE, "y": LABELS}
    held, told = make(
        "dyntree_average", rows, model="class", classes=["low", "high"], n_clouds=2
    )
    ours = AveragedTrees(
        "class", n_clouds=2, n_particles=20, classes=["low", "high"], seed=1
    ).update(TABLE, list(LABELS))
    found = value(ask(held, "predict", "dyntree_average", x=TABLE[:5]))
    assert found["levels"].tolist() == ["low", "high"]
    assert found["prob"].tolist() == ours.predict(TABLE[:5]).proba.tolist()
    held = RModel()
    members = [{"window": 20, "forget": 0.5}, {"window": 60}]
    options = {"stream": True, "members": members, "n_particles": 10, "seed": 1}
    told = ask(held, "make", "dyntree_average", x=TABLE, y=Y, options=options)
    stream = AveragedStream(members=members, n_particles=10, seed=1).update(TABLE, Y)
    assert value(told)["members"]["window"].tolist() == [20, 60]
    assert value(told)["members"]["weight"].tolist() == stream.weights.round(4).tolist()
    assert value(told)["history"]["row"][0] == stream.weight_history.rows[0] + 1


def test_mixtures_answer_as_without_r() -> None:
    held, told = make("dp_gmm")
    gmm = direct("dp_gmm")
    found = value(told)
    assert found["cluster"].tolist() == (gmm.predict(ROWS) + 1).tolist()
    assert found["mean"].tolist() == gmm.clusters().mean.tolist()
    assert found["covariance"].tolist() == gmm.covariances_.tolist()
    for kind, ours in (
        ("prob", gmm.predict_proba), ("density", gmm.score_samples),
        ("distance", gmm.transform),
    ):  # fmt: skip
        answer = value(ask(held, "predict", "dp_gmm", x=ROWS, type=kind))
        assert answer["found"].tolist() == ours(ROWS).tolist()

    held, told = make("canopy_mixture")
    canopy = direct("canopy_mixture")
    found = value(told)
    assert found["cluster"].tolist() == (canopy.predict(ROWS) + 1).tolist()
    assert found["mean"].tolist() == canopy.means.tolist()
    bic = found["n_parameters"] * np.log(240) - 2 * found["log_likelihood"]
    assert bic == pytest.approx(canopy.bic(ROWS), rel=1e-12)  # 3 weights, 12 others
    assert found["n_parameters"] == pytest.approx(14, rel=1e-9)

    held, told = make("ddp_mixture")
    ddp = direct("ddp_mixture")
    found = value(told)
    labels = np.concatenate([ddp.labels(phase) for phase in range(3)])
    assert found["cluster"].tolist() == (labels + 1).tolist()
    assert found["mean"].tolist() == ddp.particles().mean.tolist()
    assert found["lifelines"]["count"].tolist() == ddp.lifelines().count.tolist()
    given = {"x": ROWS, "type": "density", "ahead": 1}
    answer = value(ask(held, "predict", "ddp_mixture", **given))
    assert answer["found"].tolist() == ddp.log_predictive(ROWS, ahead=1).tolist()


def test_topics_answer_as_without_r() -> None:
    held, told = make("hdp_topics")
    ours = direct("hdp_topics")
    assert value(told)["weight"].tolist() == ours.topic_weights_.tolist()
    found = value(ask(held, "predict", "hdp_topics", x=counts(COUNTS[:4])))["found"]
    assert found.tolist() == ours.transform(COUNTS[:4]).tolist()
    found = value(ask(held, "score", "hdp_topics", x=counts(COUNTS[:4])))["found"]
    assert found.tolist() == ours.score_documents(COUNTS[:4]).tolist()
    words = value(ask(held, "words", "hdp_topics", n=99))  # there are 24
    order = np.argsort(-ours.topic_words_, axis=1, kind="stable")
    assert words["word"].tolist() == (order + 1).tolist()
    one = value(ask(held, "learn", "hdp_topics", x=counts(COUNTS[:1])))
    assert one["n_documents"] == 81


@pytest.mark.parametrize("face", FACES)
def test_a_checkpoint_and_later_requests_make_the_same_model(face: str) -> None:
    held, told = make(face)
    data = bytes(told["saved"].data.tobytes())
    since = [request("learn", face, **GIVEN[face]) for _ in range(2)]
    for one in since:
        assert "error" not in loads(bytes(held.answer(one))).items()
    again = RModel()
    assert loads(bytes(again.restore(data, since))).items() == {}
    last = [
        request("learn", face, **GIVEN[face]),
        request("learn", face, **GIVEN[face]),
    ]
    for one in last:
        mine, theirs = (bytes(model.answer(one)) for model in (held, again))
        saved = [
            loads(answer).items()["saved"].data.tobytes() for answer in (mine, theirs)
        ]
        assert saved[0] == saved[1]


@pytest.mark.parametrize("face", FACES)
def test_what_fails_leaves_a_model_as_it_was(face: str) -> None:
    held, told = make(face)
    before = told["saved"].data.tobytes()
    bad = dict(GIVEN[face])
    if face == "hdp_topics":
        bad["x"] = counts(COUNTS - 1)
    else:
        bad["x"] = bad["x"].iloc[:, :1].iloc[::-1]
    failed = ask(held, "learn", face, **bad)
    assert list(failed) == ["error"]
    assert "newdata" in from_r(failed["error"])
    again = RModel()
    again.restore(before, [])
    mine, theirs = (
        ask(model, "learn", face, **GIVEN[face])["saved"].data.tobytes()
        for model in (held, again)
    )
    assert mine == theirs


MODELS = {
    "dyntree_stream": StreamingTree, "dyntree_average": AveragedTrees,
    "dp_gmm": OnlineDPGMM, "ddp_mixture": DependentDPMixture,
    "canopy_mixture": Canopy, "hdp_topics": MemoryBoundedHDP,
}  # fmt: skip
LEFT = {  # rules are dynaTree()'s, a stream draws nothing, and R has no callbacks
    "dyntree_stream": {"rules", "n_start", "variance_prior"}, "dp_gmm": {"seed"},
    "canopy_mixture": {"batch_size", "threads"},
    "hdp_topics": {"family", "threads", "callback"},
}  # fmt: skip


def options_of(face: str) -> list[str]:
    """Options of a face by R's names: those of its model."""
    names = FACES[face].names
    known = inspect.signature(MODELS[face]).parameters
    return [names.get(one, one) for one in known if one not in LEFT.get(face, ())]


NO_OPTIONS = {
    "formula", "data", "x", "phase", "weights", "exposure", "subset", "na.action",
    "stream", "seed", "...",
}  # fmt: skip
SOURCES = Path(rbridge.__file__).parent / "r" / "R"
STREAMS = [  # options of averages of streams alone
    *(
        inspect.signature(AveragedStream).parameters.keys()
        - inspect.signature(AveragedTrees).parameters.keys()
    )
]
BAD: list[Any] = [
    "no such thing", -1.5, np.array([1.0, 2.0, 3.0]), np.array([True, False]),
    np.array(["a", "b"], dtype=object), RValue("list", []), np.inf, None,
    named_list({"no such thing": to_r(1.0)}),
    RValue("list", [to_r("gaussian"), to_r(1.0)]),
]  # fmt: skip
PYTHON = re.compile(
    r"\b(nan|None|True|False|inf|ndarray|DataFrame|dict|int|ints|float|bool|tuple|np|array"
    r"|list\[|NIG|MixturePrior|CanopyOptions|HDPPrior|HDPOptions|RandomWalk|Discount"
    r"|lambda_|sample_weight|GaussianUnknown|kwargs|str|object)\b|\('|\{|'"
)


@pytest.mark.parametrize("face", FACES)
def test_errors_of_options_are_in_words_of_r(face: str) -> None:
    """Bad values are refused by messages that name the option, with no Python in it."""
    options = [name for name in options_of(face) if name != "classes"]
    for name in options + STREAMS * (face == "dyntree_average"):
        refused = 0
        for bad in BAD:
            if name in STREAMS:
                asked = {"stream": True, "n_particles": 20, "seed": 1, name: bad}
                chosen = named_list({key: to_r(one) for key, one in asked.items()})
                told = ask(
                    RModel(), "make", face, "data", options=chosen, **GIVEN[face]
                )
            else:
                told = make(face, **{name: bad})[1]
            if "error" not in told:
                continue
            refused += 1
            message = from_r(told["error"])
            assert re.search(rf"\b{name}\b", message), (name, bad, message)
            assert not PYTHON.search(message), (name, bad, message)
        assert refused >= 5, name


def test_names_of_columns_stay_as_they_are_in_messages() -> None:
    for name in ("X", "None", "row 3", "sample_weight", "y must", "an int"):
        table = TABLE.rename(columns={"x": name}).assign(**{name: np.inf})
        told = make("dyntree_stream", {"x": table, "y": Y})[1]
        message = from_r(told["error"])
        assert message.startswith(
            f'x must be finite; got Inf in row \x011\x02, column "{name}"'
        )


def test_levels_of_a_factor_are_its_texts() -> None:
    held, told = make(
        "dyntree_stream", categories={"g": pd.Categorical(["u", "v", "w"])}
    )
    value(told)
    assert held.model.tree.feature_names[1:4] == ("g=u", "g=v", "g=w")


def test_levels_and_labels_may_be_numbers_and_truth_values() -> None:
    table = TABLE.assign(n=np.arange(120) % 3)
    levels = {"n": np.array([0, 1, 2]), "l": np.array([False, True])}
    held, told = make("dyntree_stream", {"x": table, "y": Y}, categories=levels)
    value(told)
    ours = StreamingTree(
        window=40, n_particles=20, seed=1,
        categories={name: one.tolist() for name, one in levels.items()},
    ).update(table, Y)  # fmt: skip
    assert held.model.tree.feature_names == ours.tree.feature_names
    found = value(ask(held, "predict", "dyntree_stream", x=table))
    assert found["mean"].tolist() == ours.predict(table).mean.tolist()
    labels = table["n"].to_numpy()
    for classes in (np.array([0, 1, 2]), np.array([0.0, 1.0, 2.0])):
        rows = {"x": table, "y": labels}
        held, told = make("dyntree_stream", rows, model="class", classes=classes)
        assert value(told)["levels"].tolist() == ["0", "1", "2"]


def test_messages_show_what_was_given() -> None:
    for place, rule in ((0, "a whole number >= 1"), (9, "at most .*, 3")):
        told = make("dyntree_stream", first_split=place, model="linear")[1]
        assert re.search(f"{rule}.*; got {place}\\.", from_r(told["error"]))
    told = make("canopy_mixture", rows={"x": ROWS.abs()}, family="poisson")[1]
    assert re.search(r"got \d+\.\d+ in row \x011\x02", from_r(told["error"]))
    told = make("canopy_mixture", prior=named_list({"mean": to_r(np.zeros(3))}))[1]
    assert from_r(told["error"]).startswith("prior$mean must have 2 numbers")
    members = [{"n_trees": 5, "discount": 0.5}, {"window": 20}]
    asked = {"stream": True, "members": members}
    told = ask(RModel(), "make", "dyntree_average", x=TABLE, y=Y, options=asked)
    assert "got list(n_trees = 5, discount = 0.5)." in from_r(told["error"])
    table = pd.DataFrame({"x": np.arange(9.0)})
    rows = {"x": table, "y": Y[:9], "weights": -np.arange(9.0)}
    told = make("dyntree_stream", rows)[1]
    assert from_r(told["error"]).startswith(
        "weights must be finite and >= 0; got -1 in row \x012\x02."
    )


def test_options_of_members_are_read_as_those_of_a_stream() -> None:
    def members(first: int, prior: Any) -> list[dict[str, Any]]:
        return [{"window": 30, "first_split": first}, {"window": 60, "prior": prior}]

    held, options = RModel(), {"stream": True, "model": "linear", "seed": 1}
    options |= {"members": members(2, 0.02), "n_particles": 10}
    value(ask(held, "make", "dyntree_average", x=TABLE, y=Y, options=options))
    given = members(1, NIG(0.02))  # places from 0
    ours = AveragedStream("linear", members=given, n_particles=10, seed=1)
    ours.update(TABLE, Y)
    assert held.model.log_evidence == ours.log_evidence
    named = "must be a named list of options"
    for bad, said in (
        (5.0, "members must be a list with a named list for each member; got 5"),
        ([1.0], "members must be a list with a named list for each member; got"),
        (
            [{"window": 30}, [1.0, 2.0]],
            f"members[[2]] {named}, each once; got a vector",
        ),
    ):
        options["members"] = bad
        told = ask(held, "make", "dyntree_average", x=TABLE, y=Y, options=options)
        assert from_r(told["error"]).startswith(said)


def test_a_mixture_that_has_no_cluster_yet_tells_its_columns() -> None:
    told = value(make("dp_gmm", {"x": ROWS[:1]}, **{"lambda": 20.0})[1])
    assert told["columns"].tolist() == ["a", "b"]
    assert len(told["parts"]["size"]) == 0


def test_weights_count_rows_in_the_likelihood_of_a_canopy() -> None:
    weights = 1.0 + np.arange(240) % 3
    held, told = make("canopy_mixture", {"x": ROWS, "weights": weights})
    density = held.model.score_samples(ROWS)
    found = value(told)
    assert found["log_likelihood"] == pytest.approx(weights @ density, rel=1e-12)
    assert found["n_parameters"] == pytest.approx(14, rel=1e-9)
    assert found["total_weight"] == weights.sum()


@pytest.mark.parametrize("face", FACES)
def test_the_options_are_those_of_pythons_models(face: str) -> None:
    source = "".join(path.read_text() for path in SOURCES.glob("*.R"))
    written = source.partition(f"\n{face} <- function(")[2].partition(") {\n")[0]
    while "(" in written:  # defaults that are calls
        written = re.sub(r"\([^()]*\)", "", written)
    formals = {one.partition("=")[0].strip() for one in written.split(",")}
    own = {*options_of(face), *STREAMS * (face == "dyntree_average")}
    assert formals - NO_OPTIONS == own - {"seed"}
