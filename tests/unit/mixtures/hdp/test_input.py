"""Bad input of topic models: each fault names what it is, and changes nothing."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import dyntree
from dyntree import checkpoint
from dyntree.checkpoint import dumps, loads
from dyntree.errors import (
    CheckpointError,
    ConvergenceWarning,
    NumericalError,
    ScaleWarning,
    UnseenWordsWarning,
)
from dyntree.mixtures import HDPOptions, HDPPrior, MemoryBoundedHDP
from tests.helpers import same_bytes
from tests.unit.mixtures.hdp.problems import FAMILIES
from tests.unit.mixtures.hdp.test_memory import documents_of


def rows(n: int = 20, d: int = 5, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.fixture
def model() -> MemoryBoundedHDP:
    return MemoryBoundedHDP(max_items=30).partial_fit([rows(seed=k) for k in range(4)])


@pytest.fixture
def words() -> MemoryBoundedHDP:
    return MemoryBoundedHDP("multinomial", max_items=30).fit(
        documents_of("multinomial")
    )


def refused(model: MemoryBoundedHDP, text: str, *args: Any, **more: Any) -> None:
    """A call of every method that takes documents raises, and changes nothing."""
    with same_bytes(model), pytest.raises(ValueError, match=re.escape(text)):
        model.partial_fit(*args, **more)
    before = model.memory_used_
    with pytest.raises(ValueError, match=re.escape(text)):
        model.fit(*args, **more)
    assert model.memory_used_ == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_inf(model: MemoryBoundedHDP, value: float) -> None:
    documents = [rows(seed=k) for k in range(5)]
    documents[3][17, 2] = value
    text = (
        f"documents[3] row 17, column 'x2' is {value}; MemoryBoundedHDP has no "
        "missing-value model; drop or impute the row."
    )
    refused(model, text, documents)
    with same_bytes(model), pytest.raises(ValueError, match=re.escape(text)):
        model.transform(documents)


def test_other_widths(model: MemoryBoundedHDP) -> None:
    text = "documents[0] has 6 columns; the model was started with 5."
    with same_bytes(model), pytest.raises(ValueError, match=re.escape(text)):
        model.partial_fit([rows(d=6)])
    documents = [rows()] * 4 + [rows(d=6)]
    refused(model, "documents[4] has 6 columns; ", documents)
    with same_bytes(model), pytest.raises(ValueError, match="documents"):
        model.predict([rows(d=2)])


def test_what_is_no_table(model: MemoryBoundedHDP) -> None:
    text = "documents[0] must be a 2-D numeric array; got dtype object, ndim 1."
    refused(model, text, [np.array([[1, 2], [3]], dtype=object)])
    refused(model, "documents[1] must be a 2-D numeric array", [rows(), np.ones(5)])
    refused(model, "documents[0] must be a 2-D numeric array", [np.full((2, 5), "a")])
    refused(model, "documents[0] must be a 2-D numeric array", [rows() + 1j])
    refused(model, "documents must be a list of 2-D arrays", "text")
    refused(model, "documents must be a list of 2-D arrays", 7)
    refused(model, "documents must be a list of 2-D arrays", None)
    refused(model, "must hold at least one document; got none", [])
    with pytest.raises(ValueError, match="at least one document"):
        model.fit(iter([]))


def test_empty_documents(model: MemoryBoundedHDP) -> None:
    documents = [rows(), rows(), rows(0)]
    text = "documents[2] has no rows; drop it or set allow_empty through options."
    refused(model, text, documents)
    allowed = HDPOptions(allow_empty=True)
    other = MemoryBoundedHDP(options=allowed).fit(documents)
    assert other.n_documents_seen_ == 3
    assert other.group_sizes_.tolist() == [1, 1, 1]
    assert model.transform([rows(), rows(0)])[1] == pytest.approx(
        model.alpha_ / model.alpha_.sum()
    )
    with pytest.raises(ValueError, match="at least one row"):
        MemoryBoundedHDP(options=allowed).fit([rows(0)])


EPOCHS = {  # of two documents each; 0 is one without rows
    "first document": [0, 9, 8],
    "last document": [9, 8, 7, 0],
    "first epoch": [0, 0, 0, 9, 8],
    "middle epoch": [9, 9, 0, 0, 9],
    "last epoch": [9, 9, 0, 0],
}


@pytest.mark.parametrize("where", EPOCHS)
@pytest.mark.parametrize("family", FAMILIES)
def test_empty_documents_and_epochs_count_and_change_no_topic(
    family: str, where: str
) -> None:
    rng = np.random.default_rng(0)
    documents = [
        rng.integers(5, size=n) if family == "multinomial" else rng.normal(size=(n, 2))
        for n in EPOCHS[where]
    ]
    n_words = 5 if family == "multinomial" else None
    for more in ({}, {"track_documents": True}, {"working_limit": 300}):
        options = HDPOptions(allow_empty=True, n_words=n_words, **more)
        for limit in (None, "20kB"):
            fresh = MemoryBoundedHDP(
                family, epoch_size=2, options=options, memory_limit=limit
            )
            table = fresh.copy().fit(documents)
            stream = fresh.copy().fit(iter(documents))
            for model in (table, stream):
                assert model.n_documents_seen_ == len(documents)
                assert model.n_seen == sum(EPOCHS[where])
                assert model.group_sizes_.sum() == len(documents)
                assert model.transform(documents).shape[0] == len(documents)
                again = checkpoint.loads(checkpoint.dumps(model))
                assert checkpoint.dumps(again) == checkpoint.dumps(model)
                alone = model.copy().partial_fit([documents[0][:0]])
                np.testing.assert_array_equal(alone.topic_ids_, model.topic_ids_)
                assert alone.n_documents_seen_ == len(documents) + 1


def test_an_epoch_cut_by_its_working_limit_may_begin_with_empty_documents() -> None:
    options = HDPOptions(allow_empty=True, working_limit=1000, track_documents=True)
    documents = [rows(0), rows(0), rows(50), rows(0), rows(3), rows(0)]
    model = MemoryBoundedHDP(options=options, epoch_size=6).fit(documents)
    assert model.n_seen == 53
    assert model.n_documents_seen_ == 6
    assert sorted(model.learned_.document_group.tolist()) == list(range(6))
    of_each = model.learned_.topics.counts.sum(axis=1)
    np.testing.assert_allclose(of_each, [0, 0, 50, 0, 3, 0], atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_first_epoch_needs_a_row(family: str) -> None:
    none = [np.zeros((0, 2)) if family != "multinomial" else [] for _ in range(3)]
    options = HDPOptions(allow_empty=True, n_words=4)
    model = MemoryBoundedHDP(family, options=options, epoch_size=2)
    for learn in (
        lambda: model.fit(none), lambda: model.fit(iter(none)),
        lambda: model.partial_fit(none),
    ):  # fmt: skip
        with same_bytes(model), pytest.raises(ValueError, match="at least one row"):
            learn()


def test_only_empty_documents_have_the_prior_shares(
    model: MemoryBoundedHDP, words: MemoryBoundedHDP
) -> None:
    for one, none in ((model, [rows(0)] * 2), (words, [[], []])):
        prior = one.alpha_ / one.alpha_.sum()
        np.testing.assert_allclose(one.transform(none), [prior, prior])
        assert [len(labels) for labels in one.predict(none).labels] == [0, 0]
        assert one.predict_proba(none).shape == (0, one.n_topics_)
        assert len(one.score_samples(none)) == 0
        with pytest.raises(ValueError, match="score needs at least one"):
            one.score(none)
        assert one.score_documents(none).tolist() == [0, 0]
    unknown = [[10**6], [10**6 + 1]]
    with pytest.warns(UnseenWordsWarning, match="2 words of documents were not"):
        np.testing.assert_allclose(words.transform(unknown)[1], prior)


def test_sparse_rows_are_named(model: MemoryBoundedHDP) -> None:
    from scipy.sparse import csr_matrix

    refused(model, "documents[0] must be a 2-D numeric array; got a sparse matrix",
            [csr_matrix(rows())])  # fmt: skip
    refused(model, "documents must be a 2-D numeric array; got a sparse matrix",
            csr_matrix(rows()), groups=np.zeros(20))  # fmt: skip


@pytest.mark.parametrize("ask", ["topic_proba", "log_density"])
def test_points_are_single_words(words: MemoryBoundedHDP, ask: str) -> None:
    answer = getattr(words, ask)
    assert len(answer([0, 1, 2])) == 3
    for bad in ([(0, 2), (1, 1)], [[0, 1]], [0.5], np.zeros((2, 2), dtype=int)):
        with pytest.raises(ValueError, match="points must be a 1-D array of word ids"):
            answer(bad)


def test_groups_may_be_any_labels() -> None:
    X = rows()
    codes = np.arange(len(X)) % 3
    kinds = [(k, "u") for k in codes], codes.astype("M8[ns]"), codes.astype("m8[D]")
    found = [MemoryBoundedHDP(seed=1).fit(X, groups=one) for one in (codes, *kinds)]
    for other in found[1:]:
        assert other.group_sizes_.tolist() == found[0].group_sizes_.tolist()


def test_groups(model: MemoryBoundedHDP) -> None:
    import pandas as pd

    X = rows(1200)
    refused(
        model, "groups must have one label per row (1200); got 1199.", X,
        groups=np.zeros(1199),
    )  # fmt: skip
    refused(
        model, "groups must have one label per row (1200); got shape (1200, 2).", X,
        groups=np.zeros((1200, 2)),
    )  # fmt: skip
    text = "one array needs groups=...; pass groups or a list of arrays."
    refused(model, text, X)
    frame = pd.DataFrame(X[:, :3], columns=["x", "y", "site"])
    other = MemoryBoundedHDP()
    text = "groups='page' is not a column; columns are ['x', 'y', 'site']."
    with pytest.raises(ValueError, match=re.escape(text)):
        other.fit(frame, groups="page")
    refused(model, "names a column, but documents have no names", X, groups="page")
    refused(model, "groups[3] must be a label", X[:5], groups=[1, 1, 2, None, 2])
    refused(model, "groups is for one table of rows", [rows()], groups=[1])
    with pytest.raises(ValueError, match="must hold numbers; column 'x'"):
        other.fit(pd.DataFrame({"x": ["a"], "g": [1]}), groups="g")


def test_ids() -> None:
    track = HDPOptions(track_documents=True)
    model = MemoryBoundedHDP(options=track)
    model.partial_fit([rows()], ids=["b.png"]).partial_fit([rows()], ids=["a.png"])
    names = ["c", "d", "e", "f", "g", "a.png"]
    text = (
        "ids[5]='a.png' was already learnt in epoch 2; documents cannot be extended "
        "after their epoch."
    )
    with same_bytes(model), pytest.raises(ValueError, match=re.escape(text)):
        model.partial_fit([rows()] * 6, ids=names)
    refused(model, "ids[1]='c' comes twice", [rows()] * 2, ids=["c", "c"])
    refused(
        model,
        "ids must have one name per document (2); got 1.",
        [rows()] * 2,
        ids=["c"],
    )
    refused(
        model,
        "ids must have one name per document (2); got 'cc'.",
        [rows()] * 2,
        ids="cc",
    )


def test_counts(words: MemoryBoundedHDP) -> None:
    from scipy.sparse import csr_matrix

    counts = documents_of("multinomial").astype(float)
    for value in (-1.0, 0.5):
        bad = counts.copy()
        bad[3, 12] = value
        text = f"count matrix row 3, word 12 is {value}; counts must be whole"
        refused(words, text, bad)
        refused(words, text, csr_matrix(bad))
    bad = counts.copy()
    bad[2, 1] = np.nan
    refused(words, "count matrix row 2, word 1 is nan", bad)
    whole = documents_of("multinomial")
    whole[3, 12] = -1
    text = "count matrix row 3, word 12 is -1; counts must be whole numbers >= 0."
    refused(words, text, whole)
    refused(words, "documents[1] has no words; drop it", np.array([[1] * 30, [0] * 30]))
    refused(words, "documents must be a count matrix", "text")
    with same_bytes(words), pytest.raises(ValueError, match="have 29 columns; the voc"):
        words.partial_fit(np.ones((2, 29), dtype=int))
    refused(words, "sample_weight is for families of rows", counts, sample_weight=[1])
    refused(words, "groups is for rows of numbers", counts, groups=[1])


def as_lists(counts: Any) -> list[list[tuple[int, int]]]:
    """Pairs of word and count, as gensim has them."""
    return [[(int(v), int(row[v])) for v in np.flatnonzero(row)] for row in counts]


@pytest.mark.filterwarnings("ignore::dyntree.errors.MemoryBudgetWarning")
@pytest.mark.parametrize("form", ["matrix", "sparse", "lists", "frame", "turned"])
@pytest.mark.parametrize("limit", [None, 6000])
def test_a_vocabulary_grows(form: str, limit: int | None) -> None:
    """Words that come later are counted like others, in whatever form they come."""
    rng = np.random.default_rng(3)
    topics = np.repeat(np.eye(3), 5, axis=1) + 0.02
    topics /= topics.sum(axis=1, keepdims=True)
    early, late = (
        rng.multinomial(40, topics[rng.integers(3, size=60)]) for _ in range(2)
    )
    early[:, 12:], early[0, 11], late[0, 14] = 0, 1, 1
    names = [f"w{k}" for k in range(15)]

    def shown(counts: Any, width: int) -> Any:
        counts = counts[:, :width]
        if form == "lists":
            return as_lists(counts)
        if form in ("matrix", "sparse"):
            return csr_matrix(counts) if form == "sparse" else counts
        frame = pd.DataFrame(counts, columns=names[:width])
        return frame[frame.columns[::-1]] if form == "turned" else frame

    model = MemoryBoundedHDP("multinomial", memory_limit=limit, seed=1)
    model.partial_fit(shown(early, 12))
    assert model.n_columns_ == 12
    copy = loads(dumps(model))
    for one in (model, copy):
        one.partial_fit(shown(late, 15))
        assert one.n_columns_ == 15
    assert dumps(model) == dumps(copy) == dumps(loads(dumps(model)))
    assert limit is None or model.memory_used_ <= limit
    mass = model.settings.prior.word
    totals = model.topic_counts_ + 15 * mass
    found = (model.topic_words_ * totals[:, None] - mass).sum(axis=0)
    order = [int(name[1:]) for name in model.columns or names]
    expected = (early + late).sum(axis=0)[order]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_names_of_words_that_come_or_lack() -> None:
    frame = pd.DataFrame(np.arange(12).reshape(4, 3) % 5 + 1, columns=["a", "b", "c"])
    model = MemoryBoundedHDP("multinomial", seed=1).fit(frame)
    with pytest.warns(UnseenWordsWarning, match="1 words that were learned have no"):
        model.partial_fit(frame.rename(columns={"b": "d"}))
    assert model.feature_names == ("a", "b", "c", "d")
    with pytest.warns(UnseenWordsWarning, match="1 words of documents were not .*'z'"):
        found = model.transform(frame.assign(d=0, z=9))
    assert found.tolist() == model.transform(frame.assign(d=0)).tolist()
    refused_text = "must have columns that were learned, such as"
    with same_bytes(model), pytest.raises(ValueError, match=refused_text):
        model.partial_fit(frame.rename(columns=str.upper))
    with same_bytes(model), pytest.raises(ValueError, match="4 words with names"):
        model.partial_fit([[0, 1, 7]])


def test_words_outside_the_vocabulary(words: MemoryBoundedHDP) -> None:
    """They are left out of answers; sizes that are given do not grow."""
    for other in ([np.array([1, 9000])], np.eye(40, dtype=int)[[1]] + np.eye(40)[[35]]):
        with same_bytes(words), pytest.warns(UnseenWordsWarning, match="1 words of"):
            known = words.transform(other)
        assert known.tolist() == words.transform([np.array([1])]).tolist()
    options = HDPOptions(n_words=30)
    fixed = MemoryBoundedHDP("multinomial", options=options, seed=1)
    fixed.fit([[0, 1, 1], [1, 2]])
    text = "documents[0] has word id 9000; the vocabulary has 30 words, by HDPOptions"
    with same_bytes(fixed), pytest.raises(ValueError, match=re.escape(text)):
        fixed.partial_fit([np.array([1, 9000])])
    with same_bytes(fixed), pytest.raises(ValueError, match="have 31 words; the voc"):
        fixed.partial_fit(np.ones((2, 31), dtype=int))
    refused(words, "must hold word ids >= 0; got -1", [np.array([-1, 2])])
    refused(words, "documents[0] must be a 1-D array of word ids", [np.array([0.5])])


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_weights(model: MemoryBoundedHDP, value: float) -> None:
    weight = np.ones(20)
    weight[12] = value
    text = f"sample_weight[12] must be > 0; got {value}."
    refused(model, text, [rows()], sample_weight=weight)
    refused(model, "sample_weight must have one number per row (20)", [rows()],
            sample_weight=[1.0])  # fmt: skip
    refused(model, "sample_weight must be numbers; got the text '1' in row 0",
            [rows()], sample_weight=["1"] * 20)  # fmt: skip


def test_weights_that_no_topic_can_hold(model: MemoryBoundedHDP) -> None:
    text = "sample_weight[3] must be at most 1e+150; got 1e+300."
    refused(model, text, [rows()], sample_weight=[1.0] * 3 + [1e300] + [1.0] * 16)
    before = model.to_arrays()[1]["means"].tobytes()
    with pytest.raises(NumericalError, match="no topic has 1e-06 points or more"):
        model.fit([rows()], sample_weight=np.full(20, 1e-9))
    assert model.to_arrays()[1]["means"].tobytes() == before
    far = HDPPrior(mean=[1e300] * 5)
    with np.errstate(all="ignore"), pytest.raises(NumericalError, match="bring prior"):
        MemoryBoundedHDP(prior=far).fit([rows()])


def test_counts_and_ids_beyond_32_bits(words: MemoryBoundedHDP) -> None:
    most = 2**31 - 1
    text = "word 1 is 4294967294.0; counts must be whole numbers >= 0 and below 2147"
    refused(words, text, [[(1, most), (1, most)]])
    with pytest.raises(ValueError, match="must have word ids below 16777216"):
        MemoryBoundedHDP("multinomial").fit([[0, 2**40]])


@pytest.mark.parametrize("name", ["groups", "ids", "sample_weight"])
def test_a_generator_comes_alone(model: MemoryBoundedHDP, name: str) -> None:
    with same_bytes(model), pytest.raises(ValueError, match=f"{name} cannot go with"):
        model.fit(iter([rows()]), **{name: [1.0] * 20})


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("max_items must be an int >= 1; got 0.", {"max_items": 0}),
        ("max_groups must be an int >= 1; got 0.", {"max_groups": 0}),
        ("memory_limit must be an int of bytes or like '64MB'; got '64 potatoes'.",
         {"memory_limit": "64 potatoes"}),
        ("memory_limit must be an int of bytes or like '64MB'; got 1.5.",
         {"memory_limit": 1.5}),
        ("memory_limit must be >= 1 byte; got 0.", {"memory_limit": 0}),
        ("family must be one of", {"family": "gamma"}),
        ("epoch_size must be", {"epoch_size": 0}),
        ("init_topics must be", {"init_topics": "some"}),
        ("min_gain must be >= 0; got -1.", {"min_gain": -1}),
        ("compat must be one of 'paper'", {"compat": "R"}),
        ("prior must be HDPPrior(...) or None", {"prior": {"scale": 1}}),
        ("options must be HDPOptions(...) or None", {"options": 3}),
        ("seed must be", {"seed": -1}),
        ("threads must be", {"threads": 0}),
        ("callback must be a callable", {"callback": 3}),
        ("max_topics must be", {"max_topics": 0}),
        ("expected_documents must be", {"expected_documents": 0}),
    ],
)  # fmt: skip
def test_parameters(text: str, given: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        MemoryBoundedHDP(**given)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64kB", 64_000), ("1.5 MiB", 1_572_864), (70_000, 70_000), ("1e6", 10**6),
        ("5e3kb", 5_000_000), ("100", 100), (" 2 TiB ", 2 * 2**40), ("MB", 10**6),
        ("3k", 3_000), ("1Gi", 2**30), (".5 kB", 500), ("1.e3B", 1_000),
    ],
)  # fmt: skip
def test_sizes_are_read(text: Any, size: int) -> None:
    assert MemoryBoundedHDP(memory_limit=text).settings.memory_limit == size


@pytest.mark.parametrize("text", ["", "-1kB", "k B", "1 xB", "1e", "inf", "1e999", "."])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="memory_limit must be an int of bytes or"):
        MemoryBoundedHDP(memory_limit=text)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("prior.scale must be > 0; got -0.1.", {"scale": -0.1}),
        ("prior.shape must be >= 1; got 0.5.", {"shape": 0.5}),
        ("prior.rate must be > 0", {"rate": 0}),
        ("prior.word must be > 0", {"word": 0}),
        ("prior.mean must be finite", {"mean": [np.nan]}),
        ("prior.standardize must be True or False", {"standardize": 1}),
    ],
)
def test_priors(text: str, given: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        HDPPrior(**given)


def test_priors_that_do_not_fit_the_columns() -> None:
    prior = HDPPrior(dof=3.0)
    model = MemoryBoundedHDP(prior=prior)
    with pytest.raises(
        ValueError, match=re.escape("prior.dof must exceed d-1=4; got 3.")
    ):
        model.fit([rows()])
    with pytest.raises(ValueError, match=r"prior\.dof must exceed 1"):
        MemoryBoundedHDP("diag", prior=HDPPrior(dof=1.0)).fit([rows()])
    with pytest.raises(ValueError, match=r"prior\.mean must have one number"):
        MemoryBoundedHDP(prior=HDPPrior(mean=[1.0])).fit([rows()])
    assert not model.is_ready


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("options.tol must be > 0", {"tol": 0}),
        ("options.max_sweeps must be", {"max_sweeps": 0}),
        ("options.splits must be", {"splits": "few"}),
        ("options.moves must be one of", {"moves": "all"}),
        ("options.magnify_max must be >= 1; got 0.5.", {"magnify_max": 0.5}),
        ("options.working_limit must be", {"working_limit": "x"}),
        ("options.swaps must be True or False", {"swaps": None}),
        ("options.n_birth must be", {"n_birth": -1}),
        ("options.n_words must be", {"n_words": 0}),
    ],
)
def test_options(text: str, given: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        HDPOptions(**given)


def test_totals_below_what_was_seen_are_warned_of_once() -> None:
    model = MemoryBoundedHDP(max_items=9, expected_documents=2)
    model.partial_fit([rows(), rows(seed=1)])
    with pytest.warns(
        UserWarning, match="expected totals are smaller than the data seen"
    ):
        model.partial_fit([rows(seed=2)])
    model.partial_fit([rows(seed=3)])
    assert model.history_.magnification[-1] == 1.0


def test_an_epoch_out_of_scale(model: MemoryBoundedHDP) -> None:
    far = rows()
    far[3, 1] = 2.1e7
    match = r"documents\[0\] lies \d\.\de\+07 first-epoch standard deviations away"
    with same_bytes(model), pytest.raises(ValueError, match=match):
        model.partial_fit([far])


def test_steps_of_alpha_that_raise_the_free_energy_are_warned_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step is replaced by one that overshoots; the free energy must still fall."""
    from dyntree.mixtures.hdp import sweeps

    rng = np.random.default_rng(0)
    documents = [rng.normal(size=(20, 2)) + 9 * (k % 2) for k in range(8)]
    model = MemoryBoundedHDP(init_topics=2, seed=1).partial_fit(documents)
    heard: list[float] = []
    step = sweeps.alpha_step
    monkeypatch.setattr(
        sweeps, "alpha_step", lambda *given: 1e3 * np.maximum(step(*given), 1.0)
    )
    model.callback = lambda report: heard.append(report.free_energy)
    with pytest.warns(ConvergenceWarning, match="step of alpha would have raised"):
        model.partial_fit(documents)
    model.partial_fit(documents)  # a second warning would be an error
    assert heard


def test_a_text_is_told_from_words(words: MemoryBoundedHDP) -> None:
    refused(words, "Number the words of a text", ["the cat sat", "on a mat"])
    refused(words, "Number the words of a text", [["the", "cat"]])


def test_constant_columns_are_warned_of() -> None:
    X = rows()
    X[:, 2] = 7.0
    with pytest.warns(ScaleWarning, match=r"columns \['x2'\] are constant"):
        model = MemoryBoundedHDP().fit([X])
    assert model.learned_.scale[2] == 1.0


def test_counts_of_words_are_no_points() -> None:
    counts = np.random.default_rng(0).poisson(0.3, size=(60, 6))
    for documents, groups in ((counts, np.arange(60) % 2), ([counts], None)):
        with pytest.warns(ScaleWarning, match="take family='multinomial'"):
            MemoryBoundedHDP("diag", seed=1).fit(documents, groups=groups)
    for points in (counts[:, :3], counts + 1, counts - 1, counts + 0.5):
        MemoryBoundedHDP("diag", seed=1).fit([points])


def test_a_matrix_without_a_root_is_named() -> None:
    from dyntree.mixtures.hdp.registry import family_of

    family = family_of("full", 2, HDPPrior(scale=1e-12), np.zeros(2))
    bad = np.array([[1.0, -1e3, 1.0]])
    with pytest.raises(NumericalError, match=r"topic 0 \(N=5, condition .*raise prior"):
        family.expected(np.array([5.0]), np.zeros((1, 2)), bad)


def test_answers_check_their_own_arguments(model: MemoryBoundedHDP) -> None:
    documents = [rows()]
    for text, call in (
        ("n must be an int >= 1; got 0.", lambda: model.retrieve(documents, 0)),
        ("method must be one of", lambda: model.retrieve(documents, method="best")),
        ("given must hold as many documents, 1; got 2.",
         lambda: model.score(documents, given=documents * 2)),
        ("n_documents must be", lambda: model.sample(0, 1)),
        ("keep must be True or False", lambda: model.compress(keep=1)),
        ("max_items must be", lambda: model.compress(max_items=0)),
        ("progress must be", lambda: model.partial_fit(documents, progress="loud")),
    ):  # fmt: skip
        with same_bytes(model), pytest.raises(ValueError, match=re.escape(text)):
            call()


def test_inputs_may_be_read_only_and_of_any_order(tmp_path: Any) -> None:
    X = rows(60)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    groups = np.repeat([0, 1, 2], 20)
    found = []
    for one in (X, mapped, np.asfortranarray(X), X[::1].copy()):
        found.append(MemoryBoundedHDP().fit(one, groups=groups).free_energy_)
    assert len(set(found)) == 1


def test_broken_files(
    model: MemoryBoundedHDP, words: MemoryBoundedHDP, tmp_path: Any
) -> None:
    dyntree.save(model, tmp_path / "m.dyn")
    data = bytearray((tmp_path / "m.dyn").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "m.dyn").write_bytes(data)
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        dyntree.load(tmp_path / "m.dyn")
    for kind in (model, words):
        header, arrays = kind.to_arrays()
        for name, array in arrays.items():
            if not array.size or name in ("history", "aliases"):
                continue
            for bad in (array[:-1], array.astype(np.uint64), None):
                given = dict(arrays)
                if bad is None:
                    del given[name]
                else:
                    given[name] = bad
                with pytest.raises((ValueError, LookupError, TypeError)):
                    MemoryBoundedHDP.from_arrays(header, given)
            if array.dtype.kind == "f":
                given = dict(arrays) | {name: np.full_like(array, np.nan)}
                with pytest.raises(ValueError, match="does not describe a valid model"):
                    MemoryBoundedHDP.from_arrays(header, given)


def test_nothing_is_printed(
    model: MemoryBoundedHDP, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit([rows(seed=k) for k in range(20)], progress=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "us"])
def test_durations_of_any_unit_name_documents(unit: str) -> None:
    groups = np.array([1, 2] * 10, dtype=f"m8[{unit}]")
    rows = np.random.default_rng(0).normal(size=(20, 2))
    model = MemoryBoundedHDP("diag", seed=1).partial_fit(rows, groups=groups)
    assert model.n_documents_seen_ == 2


def test_hidden_counts_are_no_counts() -> None:
    counts = np.ma.masked_array(np.ones((4, 3), dtype=int), mask=np.eye(4, 3) > 0)
    with pytest.raises(ValueError, match="row 0, word 0 is nan"):
        MemoryBoundedHDP("multinomial").fit(counts)
    shown = np.ma.masked_array(np.ones((4, 3), dtype=int), mask=False)
    assert MemoryBoundedHDP("multinomial").fit(shown).n_seen == 12


def test_a_vocabulary_by_the_million_must_be_asked_for() -> None:
    """All topics hold every word: an id of a million words more takes the memory."""
    from scipy.sparse import csr_matrix

    wide = csr_matrix(([1.0], ([0], [3])), shape=(2, 2**25))
    for documents in ([[0, 2**25]], wide):
        with pytest.raises(ValueError, match=r"HDPOptions\(n_words=335544"):
            MemoryBoundedHDP("multinomial").fit(documents)


def test_documents_of_objects_and_of_ragged_rows() -> None:
    x = rows()
    plain = MemoryBoundedHDP(seed=1).fit([x])
    boxed = MemoryBoundedHDP(seed=1).fit([x.astype(object)])
    np.testing.assert_array_equal(plain.means_, boxed.means_)
    for documents in ([[[1.0, 2.0], [3.0]]], [[[1.0, 2.0], [3.0, "a"]]]):
        with pytest.raises(ValueError, match=r"documents\[0\] must be"):
            MemoryBoundedHDP().fit(documents)


def test_frames_beside_a_vocabulary_without_names() -> None:
    """Their columns are words by their places, as those of a matrix are."""
    rng = np.random.default_rng(0)
    lists = [rng.integers(5 * (k % 2), 5 * (k % 2) + 5, 20) for k in range(40)]
    model = MemoryBoundedHDP("multinomial", seed=1).update(lists)
    counts = rng.poisson(1.0, (3, 200)) + 1
    with (
        same_bytes(model),
        pytest.warns(UnseenWordsWarning, match="column 10, and are"),
    ):
        found = model.transform(pd.DataFrame(counts).add_prefix("w"))
    assert found.tolist() == model.transform(counts[:, :10]).tolist()
    with same_bytes(model), pytest.raises(ValueError, match="have 1 columns; the voc"):
        model.transform(pd.DataFrame({"w": [9]}))
    options = HDPOptions(n_words=10)
    fixed = MemoryBoundedHDP("multinomial", options=options, seed=1).update(lists)
    with (
        same_bytes(fixed),
        pytest.raises(ValueError, match=r"by HDPOptions\(n_words=10"),
    ):
        fixed.update(pd.DataFrame(counts[:, :12]).add_prefix("w"))
    named = MemoryBoundedHDP("multinomial", options=options, seed=1)
    named.update(pd.DataFrame(counts[:, :10]).add_prefix("w"))
    assert named.feature_names == tuple(f"w{k}" for k in range(10))
