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
    with pytest.raises(ValueError, match="different documents; 'a' is in two of them"):
        merge_models([one, one])


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
