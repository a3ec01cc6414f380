"""Memory in bytes: never above its limit, and counted as it is held."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from dyntree.errors import MemoryBudgetWarning
from dyntree.mixtures import HDPOptions, HDPPrior, MemoryBoundedHDP
from dyntree.mixtures.hdp import learning
from tests.helpers import same_bytes

FAMILIES = ("full", "diag", "multinomial")


def documents_of(family: str, n: int = 20, seed: int = 0, size: int = 40) -> Any:
    """Documents of four Gaussians, or of words of four topics."""
    rng = np.random.default_rng(seed)
    if family == "multinomial":
        topics = rng.dirichlet(np.full(30, 0.1), 4)
        shares = rng.dirichlet(np.full(4, 0.4), n) @ topics
        return np.stack([rng.multinomial(size, p / p.sum()) for p in shares])
    centres = 5 * rng.normal(size=(4, 3))
    return [
        centres[rng.choice(4, size, p=rng.dirichlet(np.full(4, 0.4)))]
        + rng.normal(size=(size, 3))
        for _ in range(n)
    ]


def held(model: MemoryBoundedHDP) -> int:
    """Bytes of the arrays a file would have."""
    return sum(array.nbytes for array in model.to_arrays()[1].values())


def check_balance(model: MemoryBoundedHDP) -> None:
    """Points, documents and groups add up."""
    learned = model.learned_
    store, topics = learned.store.at_rest(), learned.topics
    assert store.total == pytest.approx(learned.n_points, rel=1e-9)
    assert topics.documents.sum() == pytest.approx(learned.n_documents)
    assert topics.N.sum() == pytest.approx(learned.n_points, rel=1e-9)
    by_group = store.group_sums(
        np.arange(store.n_items), np.ones(store.n_items), topics.S
    )
    assert topics.counts.sum(1) == pytest.approx(by_group, rel=1e-9)


@pytest.mark.filterwarnings("ignore::dyntree.errors.MemoryBudgetWarning")
@pytest.mark.parametrize("trial", range(50))
def test_fifty_limits_are_never_exceeded(trial: int) -> None:
    rng = np.random.default_rng(trial)
    family = FAMILIES[trial % 3]
    least = {"full": 48 + 96 + 16 + 100 + 8, "diag": 48 + 72 + 16 + 76 + 8,
             "multinomial": 24 + 240 + 16 + 24 + 12 * 31 + 16}[family]  # fmt: skip
    limit = int(least * np.exp(rng.uniform(0, 4)))
    items = int(rng.integers(1, 60)) if trial % 4 == 1 else None
    groups = int(rng.integers(1, 10)) if trial % 5 == 2 else None
    model = MemoryBoundedHDP(
        family, memory_limit=limit, max_items=items, max_groups=groups,
        options=HDPOptions(track_documents=trial % 7 == 3 and limit > 20 * least),
    )  # fmt: skip
    documents = documents_of(family, seed=trial)
    for first in range(0, 20, 5):
        model.partial_fit(documents[first : first + 5])
        assert model.memory_used_ == held(model) <= limit
        assert items is None or model.n_clumps_ + model.n_singlets_ <= items
        assert groups is None or len(model.group_sizes_) <= groups
        check_balance(model)
    assert model.n_documents_seen_ == 20


@pytest.mark.parametrize("family", FAMILIES)
def test_the_least_limit_is_enough(family: str) -> None:
    documents = documents_of(family)
    with pytest.raises(ValueError, match="memory_limit must be >= ") as error:
        MemoryBoundedHDP(family, memory_limit=64).partial_fit(documents)
    least = int(str(error.value).split(">= ")[1].split()[0])
    with pytest.raises(ValueError, match="memory_limit must be >= "):
        MemoryBoundedHDP(family, memory_limit=least - 1).partial_fit(documents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MemoryBudgetWarning)
        model = MemoryBoundedHDP(family, memory_limit=least, init_topics=1)
        model.fit(documents)
    assert model.memory_used_ == held(model) <= least
    assert model.n_topics_ == 1
    assert model.n_clumps_ == 1
    assert len(model.group_sizes_) == 1 or family == "multinomial"  # of fewer words
    assert np.isfinite(model.score(documents))


def test_the_smallest_limits_of_the_design() -> None:
    documents = [np.random.default_rng(0).normal(size=(9, 5)) for _ in range(3)]
    match = "must be >= 316 bytes for d=5, family='diag'; got 256."
    with pytest.raises(ValueError, match=match):
        MemoryBoundedHDP(memory_limit=256).fit(documents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MemoryBudgetWarning)
        assert MemoryBoundedHDP(memory_limit=768).fit(documents).memory_used_ <= 768


@pytest.mark.parametrize("family", FAMILIES)
def test_limits_move_in_mid_stream(family: str) -> None:
    documents = documents_of(family, 30)
    model = MemoryBoundedHDP(family, memory_limit=40_000, expected_documents=30)
    model.partial_fit(documents[:10])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MemoryBudgetWarning)
        model.compress(memory_limit=3000, keep=True)
        assert model.memory_used_ == held(model) <= 3000
        model.partial_fit(documents[10:20])
        assert model.memory_used_ <= 3000
        model.compress(memory_limit=1500)
        assert model.memory_used_ <= 1500
        model.compress(memory_limit=20_000, keep=True)
        model.partial_fit(documents[20:])
        assert 1500 < model.memory_used_ == held(model) <= 20_000
        model.compress(max_items=7, max_groups=2)
    assert model.n_clumps_ + model.n_singlets_ <= 7
    assert len(model.group_sizes_) <= 2
    check_balance(model)
    with same_bytes(model), pytest.raises(ValueError, match="memory_limit must be >="):
        model.compress(memory_limit=100)


def test_old_clumps_never_split() -> None:
    documents = documents_of("full", 20)
    model = MemoryBoundedHDP(max_items=12, epoch_size=5, max_groups=3)
    model.partial_fit(documents[:10])
    before = {tuple(row) for row in model.learned_.store.clump_mean}
    counts = sorted(model.learned_.store.clump_count)
    model.partial_fit(documents[10:])
    after = model.learned_.store
    assert sum(after.clump_count) + after.n_points == 800
    largest = max(counts)
    assert after.clump_count.max() >= largest or len(before) == 0


def test_a_model_without_limits_keeps_all_points() -> None:
    documents = documents_of("full")
    model = MemoryBoundedHDP(epoch_size=20).fit(documents)
    assert (model.n_clumps_, model.n_singlets_) == (0, 800)
    assert model.memory_used_ > 800 * 28


def test_the_last_epoch_may_stay_raw() -> None:
    documents = documents_of("full")
    raw = HDPOptions(compress_final=False)
    model = MemoryBoundedHDP(max_items=10, options=raw).fit(documents)
    assert model.n_singlets_ >= 400
    assert model.compress().n_clumps_ + model.n_singlets_ <= 10


def test_raw_points_are_forgotten() -> None:
    model = MemoryBoundedHDP(max_items=10)
    documents = [np.array(one) for one in documents_of("full")]
    gone = [weakref.ref(one) for one in documents]
    model.partial_fit(documents)
    del documents
    gc.collect()
    assert all(one() is None for one in gone)


def test_bytes_are_those_of_the_allocator() -> None:
    """Within 5 % and 64 kB of what tracemalloc sees, once a stream has passed."""
    documents = documents_of("full", 60, size=200)
    MemoryBoundedHDP(max_items=10).fit(documents[:2])  # imports and caches
    gc.collect()
    tracemalloc.start()
    model = MemoryBoundedHDP(memory_limit=100_000)
    for first in range(0, 60, 10):
        model.partial_fit(documents[first : first + 10])
    gc.collect()
    peak = tracemalloc.get_traced_memory()[1]
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    found = tracemalloc.take_snapshot().filter_traces([arrays])
    tracemalloc.stop()
    now = sum(trace.size for trace in found.traces)
    assert model.memory_used_ <= 100_000
    assert model.memory_used_ <= now <= 1.05 * model.memory_used_ + 4096
    transient = sum(size for _, size in model.learned_.transient)
    print(f"at rest {now}, peak {peak}, counted {model.memory_used_} + {transient}")
    assert peak <= 1.05 * (100_000 + transient) + 65536


def test_the_history_stays_small() -> None:
    documents = documents_of("full", 60, size=5)
    model = MemoryBoundedHDP(memory_limit=8192, max_groups=5, max_topics=3)
    for one in documents:
        model.partial_fit([one])
    assert len(model.history_) * 128 <= 0.05 * 8192
    assert model.history_.epoch[-1] == 60
    assert model.history_.documents.tolist() == [1.0] * len(model.history_)
    assert MemoryBoundedHDP().history_.shape == (0,)


def test_working_memory_is_cut_between_documents_and_within() -> None:
    documents = documents_of("full", 12)
    documents.insert(3, np.concatenate(documents[:8]))
    limit = HDPOptions(working_limit=8000)
    model = MemoryBoundedHDP(max_items=60, options=limit).partial_fit(documents)
    assert model.n_documents_seen_ == 13
    assert len(model.group_sizes_) == 13
    assert model.learned_.n_epochs > 5
    check_balance(model)
    sizes = model.learned_.topics.counts.sum(1)
    assert sizes == pytest.approx([40, 40, 40, 320, *[40] * 9])


def test_budget_warnings_come_once() -> None:
    documents = documents_of("full", 40, size=10)
    model = MemoryBoundedHDP(memory_limit=1400, expected_documents=40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for first in range(0, 40, 5):
            model.partial_fit(documents[first : first + 5])
    texts = [str(one.message) for one in caught]
    assert len(texts) == len(set(texts)) <= 2
    assert any("max_groups" in text for text in texts)


def test_an_index_is_charged() -> None:
    documents = documents_of("full", 20)
    model = MemoryBoundedHDP(memory_limit=6000, max_groups=5).fit(documents)
    used = model.memory_used_
    model.compress(max_items=4)
    model.index(documents, [f"d{k}" for k in range(20)])
    assert model.memory_used_ == held(model) <= 6000
    assert model.learned_.index is not None
    with same_bytes(model), pytest.raises(ValueError, match=r"index of .* needs"):
        model.index(documents * 40)
    found = model.retrieve(documents[:3], 2)
    assert found.ids[:, 0].tolist() == ["d0", "d1", "d2"] or found.ids.shape == (3, 2)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert used > 0
    model.partial_fit(documents[:2])
    assert model.learned_.index is None


@pytest.mark.parametrize("at", range(50))
def test_what_raises_anywhere_changes_nothing(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the k-th call of a kernel's neighbourhood, k drawn for each test."""
    documents = documents_of("full", 15)
    model = MemoryBoundedHDP(memory_limit=8000, expected_documents=40)
    model.partial_fit(documents[:10])
    calls = 0
    stop = int(np.random.default_rng(at).integers(1, 60))
    kind = [KeyboardInterrupt, MemoryError, RuntimeError][at % 3]

    def failing(real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == stop:
                raise kind
            return real(*args, **more)

        return call

    from dyntree.mixtures.hdp import building, compression, moves, sweeps

    for module, name in (
        (sweeps, "sweep_items"), (moves, "Halving"), (compression, "Halving"),
        (learning, "compressed"), (building, "applied"), (sweeps, "document_terms"),
        (learning, "stored_free_energy"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, failing(getattr(module, name)))
    before = model.copy()
    try:
        with same_bytes(model):
            model.partial_fit(documents[10:])
    except kind:
        assert calls == stop
    except AssertionError:
        assert calls < stop  # it had learned before it would have failed
    else:
        raise AssertionError("an epoch must change the model")
    monkeypatch.undo()
    again = before.partial_fit(documents[10:])
    if calls == stop:
        model.partial_fit(documents[10:])
    from tests.helpers import model_bytes

    assert model_bytes(model) == model_bytes(again)


def test_a_callback_that_raises_or_stops() -> None:
    documents = documents_of("full", 10)
    seen: list[Any] = []

    def stop(report: Any) -> np.bool_:
        seen.append(report)
        return np.bool_(True)  # as a comparison of NumPy's numbers gives it

    early = MemoryBoundedHDP(callback=stop, init_topics=1).fit(documents)
    assert [type(one).__name__ for one in seen] == ["SweepReport", "EpochReport"]
    assert seen[1].memory == early.memory_used_
    assert early.n_topics_ == 1

    def fail(report: Any) -> None:
        if type(report).__name__ == "EpochReport":
            raise RuntimeError

    model = MemoryBoundedHDP(callback=fail)
    with pytest.raises(RuntimeError):
        model.partial_fit(documents)
    assert not model.is_ready


def test_reports_of_a_stream_fall() -> None:
    found: list[Any] = []
    model = MemoryBoundedHDP(callback=found.append, prior=HDPPrior(scale=0.2))
    model.fit(documents_of("diag", 10))
    sweeps = [one for one in found if type(one).__name__ == "SweepReport"]
    assert len(sweeps) > 3
    assert sweeps[-1].n_sweeps == len(sweeps)
