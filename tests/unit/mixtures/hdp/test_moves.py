"""Splits, merges and groups of topics against brute force and the plain twin."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from dyntree._core.mixtures.topic_splits import Halving
from dyntree.mixtures.hdp.building import BuildRecord, searched, trial_groups
from dyntree.mixtures.hdp.grouping import Pairs, merged_groups
from dyntree.mixtures.hdp.moves import (
    Move,
    applied,
    halving,
    merge_gains,
    proposed_merges,
    proposed_splits,
    swept_for_proposals,
    two_way_entropy,
)
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.sweeps import (
    Magnification,
    swept_until_settled,
    table_of_logs,
)
from dyntree.mixtures.hdp.topics import Topics
from tests.oracle import hdp as oracle
from tests.unit.mixtures.hdp.problems import (
    FAMILIES,
    Both,
    problem_of,
    random_problem,
    random_q,
)


def halved(both: Both, items: Any, alpha: float, den: float, **more: Any) -> Any:
    """What the kernel makes of one part."""
    steps = more.pop("steps", 10)
    times = Magnification(more.pop("m_p", 1.0), more.pop("m_d", 1.0))
    setting = halving(both.search, both.problem.documents, den, times, **more)
    setting["max_steps"] = steps
    ptr = np.array([0, len(items)])
    return Halving(both.store.kernel, setting, 1).split(ptr, items, np.array([alpha]))


def part_problem(both: Both, items: Any) -> oracle.Problem:
    """The twin's problem of some of the items alone."""
    p = both.problem
    return oracle.Problem(
        p.family,
        p.phibar[items],
        p.count[items],
        p.by_group[items],
        p.documents,
        p.a,
        p.b,
    )


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("clumps", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_gain_of_a_split_is_that_of_its_shares(
    name: str, clumps: bool, hard: bool
) -> None:
    rng = np.random.default_rng(21)
    prior = HDPPrior(shape=1.4, word=0.1)
    both = random_problem(
        name, rng, clumps=clumps, n=90, documents=[1, 2, 1, 3, 1, 1], prior=prior
    )
    items = np.sort(
        rng.choice(both.store.n_items, both.store.n_items - 4, replace=False)
    )
    for m_p, m_d in ((1.0, 1.0), (6.0, 2.0)):
        gain, r, alphas, sizes = halved(
            both, items, 0.8, 2.5, hard=hard, m_p=m_p, m_d=m_d
        )
        assert np.isfinite(gain[0])
        p = part_problem(both, items)
        dF, expected = oracle.split_gain(p, r, 0.8, 2.5, hard=hard, m_p=m_p, m_d=m_d)
        assert gain[0] == pytest.approx(dF, rel=1e-9, abs=1e-8)
        assert alphas[0] == pytest.approx(expected, rel=1e-9)
        if hard:
            assert set(r.tolist()) == {0.0, 1.0}
            touched = [(p.by_group[r == h] > 0).any(0).sum() for h in (1.0, 0.0)]
            assert sizes[0, :2].tolist() == touched
        else:
            more = {"m_p": m_p, "m_d": m_d}
            few = halved(both, items, 0.8, 2.5, steps=2, **more)[1]
            next_ = halved(both, items, 0.8, 2.5, steps=3, **more)[1]
            again = oracle_step(p, few, 0.8, 2.5, m_p, m_d)
            assert next_ == pytest.approx(again, rel=1e-7, abs=1e-12)


def oracle_step(
    p: oracle.Problem, r: Any, alpha: float, d: float, m_p: float, m_d: float
) -> Any:
    """One more variational step between the halves."""
    from scipy.special import digamma

    logs = np.zeros((len(r), 2))
    whole = p.count.sum()
    for h, share in enumerate((r, 1 - r)):
        N, S, n = (
            (share * p.count).sum(),
            (share * p.count) @ p.phibar,
            share @ p.by_group,
        )
        a = oracle.best_alpha(p, alpha * N / whole, n, d, m_p, m_d)
        psi = digamma(a + m_p / m_d * n / p.documents)
        theta, c = p.family.expect(m_p * N, m_p * S)
        logs[:, h] = p.by_group @ psi / p.count + p.phibar @ theta + c
    return 1 / (1 + np.exp(np.clip(logs[:, 1] - logs[:, 0], -500, 500)))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_mass_split_is_brute_force(name: str) -> None:
    """Children's weights add up to the parent's, so that the linear term is exact."""
    rng = np.random.default_rng(22)
    both = random_problem(name, rng)
    p = both.problem
    q = random_q(rng, 60, 2)
    q[:, 0] = rng.integers(2, size=60)  # whole mass
    q[:, 1] = 1 - q[:, 0]
    alpha = np.array([0.9, 1.4])
    r = rng.random(60)
    wide = np.stack([q[:, 0] * r, q[:, 0] * (1 - r), q[:, 1]], axis=1)
    parts = np.array([0.5, 0.4, 1.4])
    exact = oracle.free_energy(p, wide, parts) - oracle.free_energy(p, q, alpha)
    own = np.flatnonzero(q[:, 0] == 1)
    small = part_problem(both, own)
    zero, both_r = np.zeros(p.phibar.shape[1]), np.stack([r, 1 - r], axis=1)[own]
    dF = oracle.entropy(both_r, small.count) + p.family.log_z(0.0, zero)
    for share, a, sign in ((r, 0.5, -1), (1 - r, 0.4, -1), (np.ones(60), 0.9, 1)):
        h = share[own]
        N, S, n = (
            (h * small.count).sum(),
            (h * small.count) @ small.phibar,
            h @ small.by_group,
        )
        dF += sign * (p.family.log_z(N, S) + oracle.t(small, a, n))
    assert pytest.approx(exact, rel=1e-11, abs=1e-10) == dF


@pytest.mark.parametrize("name", FAMILIES)
def test_a_mass_merge_is_brute_force(name: str) -> None:
    rng = np.random.default_rng(23)
    both = random_problem(name, rng, clumps=True, documents=[1, 2, 1, 3, 1, 1])
    p, n = both.problem, len(both.problem.count)
    q, alpha = random_q(rng, n, 3), np.array([0.5, 0.8, 1.3])
    topics = both.topics(q, alpha)
    log_z = both.family.expected(*topics.statistics).log_z
    den = both.search.alpha_denominator(topics)
    gains, alphas = merge_gains(
        both.search, topics, log_z, np.array([0]), np.array([1]), den
    )
    merged = np.stack([q[:, 0] + q[:, 1], q[:, 2]], axis=1)
    entropy = oracle.entropy(merged, p.count) - oracle.entropy(q, p.count)
    new = np.array([alphas[0], 1.3])
    # what is left is the linear term in alpha_0, which is exact to first order only
    a_0, b_0, D = alpha.sum(), new.sum(), p.documents
    from scipy.special import gammaln

    n_0 = p.by_group.sum(0) / D
    exact_part = (D * (gammaln(b_0 + n_0) - gammaln(b_0))).sum()
    exact_part -= (D * (gammaln(a_0 + n_0) - gammaln(a_0))).sum()
    linear = (den - p.b) * (b_0 - a_0)
    dF = gains[0] + entropy - linear + exact_part
    exact = oracle.free_energy(p, merged, new) - oracle.free_energy(p, q, alpha)
    assert dF == pytest.approx(exact, rel=1e-9, abs=1e-8)
    assert linear >= exact_part - 1e-9


def test_entropy_of_a_merge_is_that_of_two_way_shares() -> None:
    rng = np.random.default_rng(24)
    for name in FAMILIES:
        for clumps in (False, True):
            both = random_problem(name, rng, clumps=clumps)
            n = len(both.problem.count)
            q = random_q(rng, n, 3)
            topics = both.topics(q, np.ones(3))
            expected = both.family.expected(*topics.statistics)
            items = np.arange(n)
            table = table_of_logs(topics, expected.c)
            got = two_way_entropy(both.store, table, expected, items, 0, 2)
            new = oracle.q_update(both.problem, q, topics.alpha)
            pair = new[:, [0, 2]] / new[:, [0, 2]].sum(1, keepdims=True)
            assert got == pytest.approx(
                -oracle.entropy(pair, both.problem.count), rel=1e-6
            )


def test_two_blobs_split_a_twin_merges_an_empty_topic_goes() -> None:
    rng = np.random.default_rng(25)
    rows = rng.normal(size=(200, 2)) * 0.3
    rows[100:] += 4
    group = np.arange(200) % 5
    order = np.argsort(group, kind="stable")
    both = problem_of("full", rows[order], group[order])
    one = swept_until_settled(
        both.search, both.store, both.topics(np.ones((200, 1)), [1.0])
    )
    work = BuildRecord(100, 0.0, 1)
    state = searched(both.search, both.store, one, work)
    assert state.topics.K == 2
    assert sorted(np.round(state.topics.N).tolist()) == [100, 100]
    assert state.F < one.F - 100
    # a topic twice over
    twin = np.stack([np.full(200, 0.5)] * 2, axis=1)
    two = swept_until_settled(both.search, both.store, both.topics(twin, [0.5, 0.5]))
    found = swept_for_proposals(both.search, both.store, two)
    merges = proposed_merges(both.search, both.store, two, found, set())
    assert len(merges) == 1
    assert merges[0].gain < 0
    # a topic that nobody wants
    q = np.stack([np.ones(200), np.full(200, 1e-12)], axis=1)
    gone = swept_until_settled(both.search, both.store, both.topics(q, [1.0, 1e-3]))
    assert gone.topics.K == 1


def test_a_local_split_foretells_the_full_one() -> None:
    """Within 2 nats where blobs are apart: four of them, of which one topic has two."""
    rng = np.random.default_rng(26)
    topic = rng.integers(4, size=400)
    rows = rng.normal(size=(400, 2)) * 0.3 + 6 * np.stack(
        [topic % 2, topic // 2], axis=1
    )
    group = np.sort(rng.integers(8, size=400))
    both = problem_of("full", rows, group)
    q = np.eye(3)[np.minimum(topic, 2)]
    state = swept_until_settled(both.search, both.store, both.topics(q, np.ones(3)))
    found = swept_for_proposals(both.search, both.store, state)
    moves = proposed_splits(both.search, both.store, state, found, set())
    best = min(moves, key=lambda move: move.gain)
    new, _ = applied(both.store, state.topics, [best], 3)
    full = swept_until_settled(both.search, both.store, new)
    print(f"local {best.gain:.2f}, exact {full.F - state.F:.2f}")
    assert full.topics.K == 4
    assert abs(full.F - state.F - best.gain) < 2.0


@pytest.mark.parametrize("rule", ["free_energy", "cosine"])
def test_groups_that_are_most_alike_join(rule: str) -> None:
    rng = np.random.default_rng(27)
    both = random_problem("full", rng, clumps=True, documents=[2, 1, 3, 1, 1, 2])
    n = len(both.problem.count)
    q, alpha = random_q(rng, n, 4), np.array([0.3, 0.6, 1.0, 2.0])
    topics = both.topics(q, alpha)
    brute = {}
    for s in range(6):
        for u in range(s + 1, 6):
            small = oracle.Problem(**vars(both.problem))
            columns = [c for c in range(6) if c not in (s, u)]
            joint = small.by_group[:, [s]] + small.by_group[:, [u]]
            small.by_group = np.concatenate([small.by_group[:, columns], joint], axis=1)
            D = both.problem.documents
            small.documents = np.append(D[columns], D[s] + D[u])
            dF = oracle.free_energy(small, q, alpha) - oracle.free_energy(
                both.problem, q, alpha
            )
            brute[s, u] = dF
            counts = both.problem.statistics(q)[2]
            got = oracle.group_merge_gain(counts, D, alpha, s, u)
            assert got == pytest.approx(dF, abs=1e-9)
    assert min(brute.values()) >= 0
    joined, group_of = merged_groups(topics, 5, rule)
    assert joined.S == 5
    assert joined.documents.sum() == pytest.approx(10)
    assert joined.counts.sum(0) == pytest.approx(topics.counts.sum(0))
    if rule == "free_energy":
        best = min(brute, key=lambda pair: brute[pair])
        assert group_of[best[0]] == group_of[best[1]]
    small, _ = merged_groups(topics, 1, rule)
    assert small.S == 1


@pytest.mark.parametrize("rule", ["free_energy", "cosine"])
def test_pairs_are_joined_as_if_all_were_compared_each_time(rule: str) -> None:
    """The cheapest partner of each group is remembered; here, it is searched anew."""
    rng = np.random.default_rng(3)
    N, D, alpha = rng.gamma(0.3, 8.0, (40, 4)), np.ones(40), np.array([0.3, 0.5, 1, 2])
    N[7] = N[20] = N[33]  # ties
    pairs = Pairs(N.copy(), D.copy(), alpha, rule)
    for _ in range(35):
        cost = pairs.cost.copy()
        gone, stay = np.unravel_index(int(np.argmin(cost)), cost.shape)
        assert pairs.join_best() == (stay, gone)


def test_very_many_groups_join_in_bounded_memory() -> None:
    rng = np.random.default_rng(1)
    K, S = 5, 6000  # all pairs would take 290 MB
    counts = 20.0 * np.eye(K)[rng.integers(K, size=S)] + rng.gamma(0.1, 1.0, (S, K))
    z = np.zeros((K, 0))
    topics = Topics(np.ones(K), counts.sum(0), z, z, counts, np.ones(S), np.arange(K))
    tracemalloc.start()
    joined, group_of = merged_groups(topics, 60, "free_energy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert joined.S == 60
    assert peak < 60e6
    assert joined.counts.sum(0) == pytest.approx(counts.sum(0))
    commonest = counts.argmax(axis=1)
    of_group = joined.counts.argmax(axis=1)
    assert (of_group[group_of] == commonest).mean() > 0.99


def test_groups_of_one_profile_join_for_nothing() -> None:
    counts = np.array([[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]])
    alpha = np.array([0.5, 1.5])
    dF = oracle.group_merge_gain(counts, np.array([1.0, 2.0, 3.0]), alpha, 0, 2)
    assert dF == pytest.approx(0.0, abs=1e-12)


def test_ids_are_kept_by_the_larger_half() -> None:
    rng = np.random.default_rng(28)
    both = random_problem("full", rng)
    topics = both.topics(random_q(rng, 60, 3), np.ones(3))
    items = np.arange(20)
    split = Move(
        -1.0, 1, items=items, share=np.r_[np.ones(5), np.zeros(15)], alpha=(1, 1)
    )
    new, into = applied(both.store, topics, [split], 7)
    assert into == {}
    assert sorted(new.ids.tolist()) == [0, 1, 2, 7]
    assert new.N[new.ids == 1] > new.N[new.ids == 7]
    merge = Move(-1.0, 0, 2, alpha=(1.5,))
    new, into = applied(both.store, topics, [merge], 7)
    larger, smaller = (0, 2) if topics.N[0] >= topics.N[2] else (2, 0)
    assert into == {smaller: larger}
    assert new.K == 2
    assert new.N.sum() == pytest.approx(topics.N.sum())


def test_threads_halve_alike() -> None:
    rng = np.random.default_rng(29)
    both = random_problem("full", rng, n=300)
    found = []
    for n_threads in (1, 2, 7):
        setting = halving(both.search, both.problem.documents, 2.0)
        ptr = np.array([0, 50, 51, 120, 200, 300])
        halved_by = Halving(both.store.kernel, setting, n_threads)
        found.append(halved_by.split(ptr, np.arange(300), np.ones(5)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert one.tobytes() == two.tobytes()


def test_options_of_the_paper_rank_and_stop() -> None:
    rng = np.random.default_rng(30)
    options = HDPOptions(splits=1, merges=1, moves="one", alpha_update="minka")
    both = random_problem("full", rng, n=200, options=options)
    state = swept_until_settled(
        both.search, both.store, both.topics(random_q(rng, 200, 3), np.ones(3))
    )
    found = swept_for_proposals(both.search, both.store, state)
    assert len(proposed_splits(both.search, both.store, state, found, set())) == 1
    assert len(proposed_merges(both.search, both.store, state, found, set())) == 1


def test_moves_that_share_topics_with_the_best_one_are_tried_alone() -> None:
    """A merge of both topics would else hide the splits of each."""
    both = random_problem("full", np.random.default_rng(5), clumps=False)
    topics = both.topics(random_q(np.random.default_rng(5), both.store.n_items, 2),
                         np.ones(2))  # fmt: skip
    state = swept_until_settled(both.search, both.store, topics, max_sweeps=1)
    merge, one, two = Move(-9.0, 0, 1), Move(-5.0, 0), Move(-4.0, 1)
    record = BuildRecord(10, 0.0, 2)
    trials = trial_groups(both.search, state, [merge, one, two], record)
    assert trials == [[merge], [one], [two]]
    trials = trial_groups(both.search, state, [one, two, merge], record)
    assert trials == [[one, two], [one], [two], [merge]]
    assert trial_groups(both.search, state, [one], record) == [[one]]
