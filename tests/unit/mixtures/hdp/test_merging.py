"""Topic models that were learned apart and are joined."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dyntree import checkpoint
from dyntree.errors import ConvergenceWarning, NotReadyError
from dyntree.mixtures import HDPOptions, HDPPrior, MemoryBoundedHDP, merge_models
from dyntree.mixtures.hdp import sweeps
from tests.helpers import same_bytes
from tests.unit.mixtures.hdp.test_memory import (
    FAMILIES,
    check_balance,
    documents_of,
    held,
)


def pair(family: str, n: int = 40, **more: Any) -> tuple[Any, list[MemoryBoundedHDP]]:
    """Documents, and two models that have learned every other one."""
    documents = documents_of(family, n)
    given = {"max_items": 60, "seed": 1} | more
    return documents, [
        MemoryBoundedHDP(family, **given).fit(documents[k::2]) for k in (0, 1)
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_two_halves_are_almost_one_stream(family: str) -> None:
    documents, parts = pair(family)
    one, two = parts
    with same_bytes(one), same_bytes(two):
        both = merge_models(parts)
    check_balance(both)
    assert both.n_documents_seen_ == 40
    assert both.n_seen == one.n_seen + two.n_seen
    assert both.n_clumps_ + both.n_singlets_ <= 60
    assert both.history_.documents.sum() == 40
    whole = MemoryBoundedHDP(family, max_items=60, seed=1).fit(documents)
    assert both.score(documents) > whole.score(documents) - 0.1
    assert both.score(documents) > max(m.score(documents) for m in parts) - 0.01
    again = MemoryBoundedHDP.from_arrays(*both.to_arrays())
    more = documents_of(family, 5, seed=0)
    for model in (both, again):
        model.partial_fit(more)
    assert held(both) == held(again)
    assert both.free_energy_ == again.free_energy_


def test_proportions_are_not_shut_off_from_the_other_s_topics() -> None:
    """Both models have the same four topics, which must become four, not eight."""
    documents, parts = pair("full", init_topics=4)
    both = merge_models(parts)
    assert [one.n_topics_ for one in (*parts, both)] == [4, 4, 4]
    whole = MemoryBoundedHDP(max_items=60, init_topics=4, seed=1).fit(documents)
    assert both.score(documents) == pytest.approx(whole.score(documents), abs=0.02)
    for some in (documents[::2], documents[1::2]):
        assert both.transform(some).mean(0).min() > 0.02


@pytest.mark.parametrize("family", ["full", "diag"])
def test_moments_move_between_units(family: str) -> None:
    """The second model starts far off and wide; points must lie where they lay."""
    rng = np.random.default_rng(2)
    near = [rng.normal(size=(30, 2)) for _ in range(6)]
    wide = [[5.0, -40.0] + [3.0, 20.0] * rng.normal(size=(30, 2)) for _ in range(6)]
    parts = [MemoryBoundedHDP(family, max_items=9).fit(some) for some in (near, wide)]
    both = merge_models(parts)
    x = np.concatenate([*near, *wide])
    learned = both.learned_
    N, mean, scatter = learned.store.moments(
        np.arange(learned.store.n_items), np.ones(learned.store.n_items)
    )
    assert mean * learned.scale + learned.shift == pytest.approx(x.mean(0))
    unit = learned.family.outer(learned.scale)
    gap = x - x.mean(0)
    assert scatter * unit == pytest.approx(learned.family.outer(gap).sum(0))
    assert len(x) == N


def test_limits_of_the_first_hold() -> None:
    _, parts = pair("full", max_topics=3)
    assert merge_models(parts).n_topics_ <= 3
    _, parts = pair("full", max_items=None, memory_limit=4000, max_groups=6)
    both = merge_models(parts * 1 + parts[1:])
    assert held(both) == both.memory_used_ <= 4000
    assert len(both.group_sizes_) <= 6


def test_tracked_documents_stay_known() -> None:
    track = HDPOptions(track_documents=True)
    rows = documents_of("full", 6)
    one = MemoryBoundedHDP(options=track).fit(rows[:3], ids=["a", "b", "c"])
    two = MemoryBoundedHDP(options=track).fit(rows[3:], ids=["d", "e", "f"])
    both = merge_models([one, two])
    assert both.learned_.document_ids is not None
    assert both.learned_.document_ids.tolist() == list("abcdef")
    assert both.learned_.document_group is not None
    assert both.learned_.document_group.tolist() == list(range(6))
    with pytest.raises(ValueError, match=r"ids\[0\]='e' was already learnt in epoch 2"):
        both.partial_fit(rows[:1], ids=["e"])
    apart = MemoryBoundedHDP(options=track).fit(rows[4:], ids=["g", "a"])
    with pytest.raises(ValueError, match="different documents; 'a' is in two of them"):
        merge_models([one, apart])


@pytest.mark.parametrize("tracked", [False, True])
def test_a_model_that_is_given_twice_counts_once(tracked: bool) -> None:
    rows, track = documents_of("full", 9), HDPOptions(track_documents=tracked)
    start = MemoryBoundedHDP(options=track).fit(rows[:4])
    one = start.copy().partial_fit(rows[4:7])
    other = MemoryBoundedHDP(options=track).fit(rows[7:], ids=["x", "y"])
    for models, since, n in (
        ([one, one], None, 7), ([one, one.copy()], None, 7),
        ([one, other, one], None, 9), ([one, one], start, 7),
        ([one, start, one.copy()], start, 7), ([start, start], start, 4),
    ):  # fmt: skip
        both = merge_models(models, since=since)
        assert both.n_documents_seen_ == n
        assert len(both.group_sizes_) == n
    with same_bytes(one):
        assert merge_models([one, one]).free_energy_ == one.free_energy_


def test_models_that_do_not_fit_one_another() -> None:
    rows = documents_of("full", 4)
    one = MemoryBoundedHDP().fit(rows)
    words = MemoryBoundedHDP("multinomial").fit(documents_of("multinomial"))
    fewer = MemoryBoundedHDP("multinomial").fit(documents_of("multinomial")[:, :29] + 1)
    track = HDPOptions(track_documents=True)
    cases: list[tuple[str, Any]] = [
        ("models must be a sequence of one MemoryBoundedHDP or more; got []", []),
        ("models must be a sequence of one MemoryBoundedHDP or more; got", one),
        ("models must be a sequence of one MemoryBoundedHDP", [one, "two"]),
        ("models must have one family, 'auto'; got 'multinomial' in models[1].",
         [one, words]),
        ("models must have one prior,",
         [one, MemoryBoundedHDP(prior=HDPPrior(scale=2.0)).fit(rows)]),
        ("models must have the same columns, 3; models[1] has 2.",
         [one, MemoryBoundedHDP().fit([row[:, :2] for row in rows])]),
        ("the same words in the vocabulary, 30; models[2] has 29.",
         [words, words, fewer]),
        ("differ in options.track_documents",
         [one, MemoryBoundedHDP(options=track).fit(rows)]),
        ("models must have like scales",
         [one, MemoryBoundedHDP().fit([1e9 * row for row in rows])]),
    ]  # fmt: skip
    for text, models in cases:
        with same_bytes(one), pytest.raises(ValueError, match=re.escape(text)):
            merge_models(models)
    with pytest.raises(NotReadyError):
        merge_models([one, MemoryBoundedHDP()])
    alone = merge_models(iter([one]))
    assert alone is not one
    assert alone.free_energy_ == one.free_energy_


def test_sweeps_that_would_raise_the_free_energy_are_warned_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = documents_of("full", 8)
    step, calls = sweeps.alpha_step, iter(range(10**6))

    def bad(*args: Any, **more: Any) -> Any:
        return step(*args, **more) * (1e4 if next(calls) % 5 == 3 else 1.0)

    monkeypatch.setattr(sweeps, "alpha_step", bad)
    model = MemoryBoundedHDP("full", epoch_size=4)
    with pytest.warns(ConvergenceWarning, match="would have raised the free") as seen:
        model.fit(rows)
    assert len(seen) == 1
    fresh = MemoryBoundedHDP("full")
    with pytest.warns(ConvergenceWarning):
        fresh.partial_fit(rows[:4])
    fresh.partial_fit(rows[4:])  # once a model: warnings are errors here


@pytest.mark.parametrize("family", ["full", "multinomial"])
def test_models_that_share_a_past_are_refused(family: str) -> None:
    """What both have learned would count twice; the same model twice is one."""
    documents = documents_of(family)
    one = MemoryBoundedHDP(family, max_items=20).fit(documents[:4])
    copies = [one.copy().partial_fit(documents[k : k + 2]) for k in (4, 6)]
    other = MemoryBoundedHDP(family, max_items=20).fit(documents[4:])
    both = merge_models([one, other])
    loaded = checkpoint.loads(checkpoint.dumps(copies[0]))
    for relatives in (copies, [one, copies[0]], [other, both], [other, one, loaded]):
        with pytest.raises(ValueError, match="two of them share a past, as copies"):
            merge_models(relatives)
    twice = merge_models([one, other, one.copy()])
    assert twice.n_documents_seen_ == both.n_documents_seen_
    assert twice.free_energy_ == both.free_energy_


# ---------------------------------------------------------------- copies of one model
def items_of(model: MemoryBoundedHDP) -> list[tuple[float, ...]]:
    """Points of a model without limits, by content, whatever their documents."""
    store = model.learned_.store
    content = [store.x, store.word[:, None], store.word_count[:, None]]
    used = [array for array in content if len(array) == store.n_points]
    return sorted(map(tuple, np.concatenate(used, axis=1).tolist()))


def copies_of(family: str, n_parts: int, seed: int = 0, **more: Any) -> Any:
    """A model, copies that have learned more, and one that has learned all."""
    documents = documents_of(family, 20 + 12 * n_parts, seed=seed)
    start = MemoryBoundedHDP(family, seed=1, **more).partial_fit(documents[:20])
    parts = [documents[20 + k :: n_parts] for k in range(n_parts)]
    copies = [start.copy().partial_fit(part) for part in parts]
    whole = start.copy().partial_fit(documents[20:])
    return documents, start, copies, whole


@pytest.mark.parametrize("n_parts", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_copies_joined_have_learned_each_document_once(
    family: str, n_parts: int
) -> None:
    """All sums are those of one model that has learned all documents."""
    documents, start, copies, whole = copies_of(family, n_parts)
    with same_bytes(start), same_bytes(copies[0]), same_bytes(copies[1]):
        joined = merge_models(copies, since=start)
    check_balance(joined)
    assert items_of(joined) == items_of(whole)
    assert joined.n_documents_seen_ == whole.n_documents_seen_ == len(documents)
    assert joined.n_seen == whole.n_seen
    assert joined.history_.documents.sum() == len(documents)
    ours, theirs = joined.learned_, whole.learned_
    assert len(ours.topics.documents) == len(documents)
    assert ours.origins == start.learned_.origins
    ones = np.ones(ours.store.n_items)
    every = np.arange(ours.store.n_items)
    for one, two in zip(
        ours.store.moments(every, ones), theirs.store.moments(every, ones), strict=True
    ):
        assert one == pytest.approx(two, rel=1e-9, abs=1e-6)
    assert joined.score(documents) == pytest.approx(whole.score(documents), abs=0.03)
    again = MemoryBoundedHDP.from_arrays(*joined.to_arrays())
    for model in (joined, again):
        model.partial_fit(documents_of(family, 5, seed=8))
    assert held(joined) == held(again)
    assert joined.free_energy_ == again.free_energy_


def test_topics_of_copies_are_there_once_with_the_weight_of_one() -> None:
    _, start, copies, whole = copies_of("full", 3, init_topics=4)
    joined = merge_models(copies, since=start)
    assert [one.n_topics_ for one in (start, *copies, joined)] == [4] * 5
    assert {*joined.topic_ids_.tolist()} == {*start.topic_ids_.tolist()}
    assert joined.alpha_.sum() == pytest.approx(whole.alpha_.sum(), rel=0.02)
    assert joined.free_energy_ == pytest.approx(whole.free_energy_, rel=1e-6)
    order = [np.argsort(one.topic_ids_) for one in (joined, whole)]
    for ours, theirs in ((joined.means_, whole.means_),
                         (joined.topic_counts_, whole.topic_counts_)):  # fmt: skip
        assert ours[order[0]] == pytest.approx(theirs[order[1]], rel=1e-3)


def test_a_topic_born_in_one_copy_is_one_of_all() -> None:
    rng = np.random.default_rng(3)
    near = [rng.normal(size=(40, 2)) + 9 * rng.integers(2, size=(40, 1))
            for _ in range(12)]  # fmt: skip
    far = [rng.normal([60.0, -60.0], size=(40, 2)) for _ in range(4)]
    other = [rng.normal([-60.0, 60.0], size=(40, 2)) for _ in range(4)]
    start = MemoryBoundedHDP("full", seed=0).partial_fit(near[:6])
    one = start.copy().partial_fit(near[6:9] + far)
    two = start.copy().partial_fit(near[9:] + other)
    joined = merge_models([one, two], since=start)
    assert [m.n_topics_ for m in (start, one, two, joined)] == [2, 3, 3, 4]
    assert len({*joined.topic_ids_.tolist()}) == 4
    assert joined.topic_ids_.max() < joined.learned_.next_id
    counts = np.sort(joined.topic_counts_)
    assert counts[:2] == pytest.approx([160, 160], abs=1)
    assert counts.sum() == pytest.approx(800)
    further = [joined.copy().partial_fit(some) for some in (far, other)]
    with pytest.raises(ValueError, match=r"models\[0\] and models\[1\] have learned"):
        merge_models(further, since=start)
    assert merge_models(further, since=joined).n_documents_seen_ == 28


def test_tracked_documents_of_copies_are_known_once() -> None:
    track = HDPOptions(track_documents=True)
    rows = documents_of("full", 9)
    start = MemoryBoundedHDP(options=track).fit(rows[:3], ids=["a", "b", "c"])
    one = start.copy().partial_fit(rows[3:5], ids=["d", "e"])
    two = start.copy().partial_fit(rows[5:6], ids=["f"]).partial_fit(rows[6:7], ids=[7])
    both = merge_models([one, two], since=start)
    learned = both.learned_
    assert learned.document_ids is not None
    assert learned.document_ids.tolist() == [*"abcdef", "7"]
    assert learned.document_group is not None
    assert learned.document_group.tolist() == list(range(7))
    assert MemoryBoundedHDP.from_arrays(*both.to_arrays()).n_documents_seen_ == 7
    same = start.copy().partial_fit(rows[7:8], ids=["d"])
    with pytest.raises(ValueError, match="different documents; 'd' is in two of them"):
        merge_models([one, same], since=start)


@pytest.mark.parametrize("family", FAMILIES)
def test_copies_whose_clumps_mix_old_and_new_rows_are_refused(family: str) -> None:
    documents, start, copies, whole = copies_of(family, 2, max_items=60)
    with same_bytes(copies[0]), pytest.raises(ValueError, match="only the sum of its"):
        merge_models(copies, since=start)
    fresh = [
        MemoryBoundedHDP(family, seed=1, max_items=60).fit(documents[20 + k :: 2])
        for k in range(2)
    ]
    small = merge_models([start, *fresh])  # what the error advises
    assert small.n_documents_seen_ == whole.n_documents_seen_
    assert small.n_clumps_ + small.n_singlets_ <= 60


def test_clumps_of_the_ancestor_may_stand_elsewhere_in_copies() -> None:
    documents, start, _, whole = copies_of("full", 2, max_items=60)
    assert start.n_clumps_
    copies = [
        start.copy().compress(max_items=10**6, keep=True).partial_fit(some)
        for some in (documents[20:32], documents[32:])
    ]
    joined = merge_models(copies, since=start)
    check_balance(joined)
    assert joined.n_documents_seen_ == len(documents)
    assert joined.learned_.store.total == whole.learned_.store.total
    assert joined.n_clumps_ == start.n_clumps_


def test_rows_with_weights_are_joined_and_known_again() -> None:
    """They are clumps from the start."""
    rows, rng = documents_of("full", 9), np.random.default_rng(2)
    weights = [rng.integers(1, 4, size=len(one)) for one in rows]
    start = MemoryBoundedHDP("full", seed=0)
    start.partial_fit(rows[:5], sample_weight=np.concatenate(weights[:5]))
    one, two = (
        start.copy().partial_fit(rows[k : k + 2], sample_weight=np.concatenate(own))
        for k, own in ((5, weights[5:7]), (7, weights[7:]))
    )
    joined = merge_models(
        [checkpoint.loads(checkpoint.dumps(copy)) for copy in (one, two)], since=start
    )
    check_balance(joined)
    assert joined.n_seen == sum(int(weight.sum()) for weight in weights)
    assert joined.n_documents_seen_ == 9
    with pytest.raises(ValueError, match="have learned the same documents since"):
        merge_models([joined, two], since=start)


def test_groups_that_limits_have_joined_are_refused() -> None:
    _, start, copies, _ = copies_of("full", 2, max_groups=5)
    with (
        same_bytes(start),
        pytest.raises(ValueError, match="points, clumps and groups"),
    ):
        merge_models(copies, since=start)


def texts(n: int, length: int, rng: np.random.Generator) -> np.ndarray:
    return rng.multinomial(length, np.full(40, 1 / 40), size=n)


@pytest.mark.parametrize("length", [1, 2, 8])
def test_short_documents_learned_twice_are_known_by_their_order(length: int) -> None:
    """Single ones may be equal by chance; so many in a row have 20 different words.

    For other seeds of the words: 120 documents of one word have fewer in 1 of 1e27
    cases, and copies that are apart share 20 documents in a row in 1 of 1e27.
    """
    rng = np.random.default_rng(4)
    start = MemoryBoundedHDP("multinomial", seed=0).fit(texts(30, length, rng))
    later = start.copy().partial_fit(texts(120, length, rng))
    copies = [later.copy().partial_fit(texts(150, length, rng)) for _ in range(3)]
    joined = merge_models(copies[:2], since=later)
    turned = merge_models(copies[1::-1], since=later)
    assert joined.n_documents_seen_ == 450
    new = texts(120, length, rng)
    for relatives, since in (
        (copies[:2], start), ([joined, copies[0]], later), ([joined, turned], later),
        ([joined, copies[1].copy().partial_fit(new)], later),
        ([later.copy().partial_fit(some) for some in (new, new[::-1])], later),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="have learned the same documents since"):
            merge_models(relatives, since=since)
    assert merge_models([joined, copies[2]], since=later).n_documents_seen_ == 600


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_more", [1, 4, 8])
def test_a_since_that_has_learned_on_is_called_so(family: str, n_more: int) -> None:
    """Without clumps no limits are mentioned; weights make clumps without limits."""
    documents = documents_of(family, 12 + n_more)
    start = MemoryBoundedHDP(family, seed=0).partial_fit(documents[:8])
    copy = start.copy().partial_fit(documents[8:12])
    start.partial_fit(documents[12:])
    with pytest.raises(ValueError, match=re.escape("all rows of since; mod")) as info:
        merge_models([copy], since=start)
    assert "limits" not in str(info.value)
    if family == "multinomial":
        return
    start = MemoryBoundedHDP(family, seed=0).partial_fit(documents[:8])
    old, copy = start.copy(), start.copy().partial_fit(documents[8:12])
    rows = documents[12:13]
    start.partial_fit(rows, sample_weight=np.full(len(rows[0]), 2))
    text = "must have all points, clumps and groups of since; models[0] does not"
    for changed in (start, old.compress(max_items=20)):
        with pytest.raises(ValueError, match=re.escape(text)) as info:
            merge_models([copy], since=changed)
        assert "limits" not in str(info.value)
    weighted = copy.partial_fit(rows, sample_weight=np.full(len(rows[0]), 3))
    with pytest.raises(
        ValueError, match=r"since has learned on or .* or because limits"
    ):
        merge_models([weighted], since=start)


def test_a_since_that_has_learned_more_words_is_called_so() -> None:
    documents = documents_of("multinomial")
    start = MemoryBoundedHDP("multinomial").fit(documents[:8, :29] + 1)
    copy = start.copy().partial_fit(documents[8:12, :29] + 1)
    start.partial_fit(documents[12:14])
    with pytest.raises(ValueError, match=re.escape("all rows of since; models[0]")):
        merge_models([copy], since=start)


@pytest.mark.parametrize(
    ("family", "same"),
    [("full", np.full((20, 1), 0.5)), ("full", np.full((1, 1), 3.0)),
     ("multinomial", np.eye(40, dtype=np.int64)[3])],
)  # fmt: skip
@pytest.mark.parametrize("n_others", [0, 3])
def test_documents_that_are_equal_by_chance_are_not_refused(
    family: str, same: Any, n_others: int
) -> None:
    """A blank image, a document of one point and one of one word."""
    rng = np.random.default_rng(5)

    def others(n: int) -> list[np.ndarray]:
        if family == "multinomial":
            return [*texts(n, 30, rng)]
        return [rng.normal(size=(20, 1)) for _ in range(n)]

    start = MemoryBoundedHDP(family, seed=0).fit(others(5))
    copies = [
        start.copy().partial_fit([same, *others(n_others), same]) for _ in range(2)
    ]
    joined = merge_models(copies, since=start)
    check_balance(joined)
    assert joined.n_documents_seen_ == 9 + 2 * n_others
    assert joined.n_seen == sum(one.n_seen for one in copies) - start.n_seen


def test_what_is_no_copy_is_not_joined_as_one() -> None:
    documents, start, (one, two), _ = copies_of("full", 2)
    other = MemoryBoundedHDP("full", seed=1).partial_fit(documents[:10])
    older = start.copy()
    joined = merge_models([one, two], since=start)
    cases: list[tuple[str, Any, Any]] = [
        ("since must be a MemoryBoundedHDP; got 3", [one, two], 3),
        ("must be copies of since that have learned on; models[1] is not",
         [one, other], start),
        ("must have all rows of since; models[0] does not have them. Give as since the "
         "model as it was when the copies were made.", [older, one], joined),
        ("models[0] and models[1] have learned the same document",
         [joined, two], start),
        ("models[0] and models[1] have learned the same document",
         [one, checkpoint.loads(checkpoint.dumps(one))], start),
    ]  # fmt: skip
    for text, models, since in cases:
        with same_bytes(one), pytest.raises(ValueError, match=re.escape(text)):
            merge_models(models, since=since)
    with pytest.raises(NotReadyError):
        merge_models([one, two], since=MemoryBoundedHDP())
    alone = merge_models([one, older, one], since=start)
    assert alone.n_documents_seen_ == one.n_documents_seen_
    assert alone.free_energy_ == pytest.approx(one.free_energy_, rel=1e-3)
    words = MemoryBoundedHDP("multinomial").fit(documents_of("multinomial")[:, :29] + 1)
    grown = [
        words.copy().partial_fit(documents_of("multinomial", 3, seed=k)) for k in (1, 2)
    ]
    with pytest.raises(ValueError, match=re.escape("29; models[0] has 30")):
        merge_models(grown, since=words)
