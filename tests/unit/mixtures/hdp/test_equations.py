"""Equations of memory-bounded topics: golden numbers, identities, plain twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.sweeps import (
    Magnification,
    alpha_step,
    free_energy,
    swept,
    swept_once,
    swept_until_settled,
    table_of_logs,
)
from tests.oracle import hdp as oracle
from tests.unit.mixtures.hdp.problems import (
    FAMILIES,
    Both,
    problem_of,
    random_problem,
    random_q,
)

ROWS = np.array([[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 4], [4, 4]], dtype=float)
GROUP = np.array([0, 0, 0, 1, 1, 1, 1])
WORDS = np.array([0, 0, 1, 1, 2, 2, 2])
CLUMPS = np.array([0, 0, 1, 1, 2, 3, 3])
FIRST = np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.25, 0.05])
Q = np.stack([FIRST, 1 - FIRST], axis=1)
QC = np.array([[0.85, 0.15], [0.4, 0.6], [0.1, 0.9], [0.15, 0.85]])
ALPHA = np.array([1.0, 2.0])
PRIORS = {
    "full": HDPPrior(scale=1.0, dof=4.0),
    "diag": HDPPrior(scale=1.0, dof=2.0),
    "multinomial": HDPPrior(word=0.5),
}


def golden(name: str, clumps: bool = False) -> Both:
    rows: Any = WORDS if name == "multinomial" else ROWS
    part = CLUMPS if clumps else None
    return problem_of(name, rows, GROUP, part, prior=PRIORS[name])


def engine_F(
    both: Both, q: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0
) -> float:
    """The engine's free energy, by eqs. 29 and 30."""
    topics = both.topics(q, alpha)
    many = both.family.magnified(topics.statistics, m_p)
    log_z = both.family.expected(*many).log_z
    return free_energy(
        both.search, topics, oracle.entropy(q, both.problem.count),
        both.store.total, log_z, Magnification(m_p, m_d),
    )  # fmt: skip


def engine_q(both: Both, topics: Any) -> Any:
    """Responsibilities, which the engine never shows, from one item at a time."""
    expected = both.family.expected(*topics.statistics)
    logs = both.family.point_logs(expected, both.store.points)
    logs = logs + table_of_logs(topics, expected.c)[both.store.group]
    logs -= logs.max(1, keepdims=True)
    return np.exp(logs) / np.exp(logs).sum(1, keepdims=True)


# ---------------------------------------------------------------- golden numbers
@pytest.mark.parametrize(
    ("name", "log_z0", "log_z", "F", "after"),
    [
        ("full", 9.667218679927, (-2.403856829978, -3.261287805307), 41.187628379794,
         30.187961736809),
        ("diag", 6.443047252397, (-5.783394620555, -7.056610200186), 41.914145710191,
         29.168363160970),
    ],
)  # fmt: skip
def test_golden_numbers_of_points(
    name: str, log_z0: float, log_z: Any, F: float, after: float
) -> None:
    both = golden(name)
    topics = both.topics(Q, ALPHA)
    assert pytest.approx([3, 4], abs=1e-12) == topics.N
    assert topics.counts[:, 0] == pytest.approx([2.4, 0.6], abs=1e-12)
    entropy = oracle.entropy(Q, both.problem.count)
    assert entropy == pytest.approx(-3.022685483879, abs=1e-9)
    expected = both.family.expected(*topics.statistics)
    assert both.family.log_z0 == pytest.approx(log_z0, abs=1e-9)
    assert expected.log_z == pytest.approx(log_z, abs=1e-9)
    assert engine_F(both, Q, ALPHA) == pytest.approx(F, abs=1e-9)
    found = swept(both.search, both.store, topics, expected)
    new = replace(
        topics, N=found.N, mean=found.mean, scatter=found.scatter, counts=found.counts
    )
    log_z = both.family.expected(*new.statistics).log_z
    got = free_energy(both.search, new, found.entropy, 7.0, log_z)
    assert got == pytest.approx(after, abs=1e-9)
    if name == "full":
        first = expected.c + expected.theta @ both.problem.phibar[0]
        assert first == pytest.approx([-2.532889018753, -8.068802417928], abs=1e-9)
        assert found.entropy == pytest.approx(-0.248976134854, abs=1e-9)
        assert engine_q(both, topics)[3, 0] == pytest.approx(0.0105513687939, abs=1e-9)


def test_golden_numbers_of_alpha() -> None:
    both = golden("full")
    topics = both.topics(Q, ALPHA)
    minka = replace(both.search, options=HDPOptions(alpha_update="minka"))
    expected = [1.052259680124, 1.340092829799]
    assert alpha_step(minka, topics) == pytest.approx(expected, abs=1e-9)
    expected = [1.058984539983, 1.228366796076]
    assert alpha_step(both.search, topics, steps=30) == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize(
    ("name", "F", "three", "six_two"),
    [
        ("full", 42.616794609866, 90.928011969087, 155.543387234741),
        ("diag", 44.355522854841, 101.616902042350, 180.158168485670),
    ],
)
def test_golden_numbers_of_clumps(
    name: str, F: float, three: float, six_two: float
) -> None:
    both = golden(name, clumps=True)
    topics = both.topics(QC, ALPHA)
    assert pytest.approx([2.9, 4.1], abs=1e-12) == topics.N
    assert topics.counts.T.ravel() == pytest.approx(
        [2.1, 0.8, 0.9, 3.2], abs=1e-12
    ) or (topics.counts.ravel() == pytest.approx([2.1, 0.8, 0.9, 3.2], abs=1e-12))
    assert engine_F(both, QC, ALPHA) == pytest.approx(F, abs=1e-9)
    assert engine_F(both, QC, ALPHA, 3.0, 3.0) == pytest.approx(three, abs=1e-9)
    assert engine_F(both, QC, ALPHA, 6.0, 2.0) == pytest.approx(six_two, abs=1e-9)


def test_golden_next_q_of_clumps() -> None:
    both = golden("full", clumps=True)
    q = oracle.q_update(both.problem, QC, ALPHA)[:, 0]
    expected = [0.977489887120, 0.297503287997, 0.012737253335, 0.008330262176]
    assert q == pytest.approx(expected, abs=1e-9)
    topics = both.topics(QC, ALPHA)
    wide = both.family.expected(*topics.statistics)
    found = swept(both.search, both.store, topics, wide)
    assert found.N[0] == pytest.approx(both.problem.count @ expected, abs=1e-9)


def test_golden_numbers_of_a_group_merge() -> None:
    from dyntree.mixtures.hdp.grouping import merged_groups

    both = golden("full", clumps=True)
    topics = both.topics(QC, ALPHA)
    dF = oracle.group_merge_gain(topics.counts.T, topics.documents, ALPHA, 0, 1)
    assert dF == pytest.approx(0.551059265523, abs=1e-9)
    joined, group_of = merged_groups(topics, 1, "free_energy")
    assert group_of.tolist() == [0, 0]
    log_z = both.family.expected(*topics.statistics).log_z
    entropy = oracle.entropy(QC, both.problem.count)
    F = free_energy(both.search, joined, entropy, 7.0, log_z)
    assert pytest.approx(43.167853875388, abs=1e-9) == F


def test_golden_retrieval_and_predictive() -> None:
    from dyntree.mixtures.hdp.row_store import RowStore
    from dyntree.mixtures.hdp.scoring import FoldIn, index_logs, retrieval_scores

    both = golden("full", clumps=True)
    topics = both.topics(QC, ALPHA)
    expected = both.family.expected(*topics.statistics)
    query = np.array([[0.5, 0.5], [3.5, 3.0]])
    stored = index_logs(topics)
    store = RowStore.of(both.family, query, [0, 0])
    one = replace(topics, counts=topics.counts[:1], documents=np.ones(1))
    found = FoldIn(both.search, one, expected, store)
    assert both.family.point_logs(expected, query).shape == (2, 2)
    for method, scores in (
        ("hard", (-6.153154467009, -6.496088633175)),
        ("soft", (-6.005872407770, -6.259134240162)),
    ):
        got = retrieval_scores(found, stored, method)[0]
        assert got == pytest.approx(scores, abs=1e-9)
    student = both.family.log_predictive(query[:1], *topics.statistics)[0]
    assert student == pytest.approx([-2.094103105870, -3.993000274975], abs=1e-9)


def test_golden_number_of_words() -> None:
    both = golden("multinomial")
    assert engine_F(both, Q, ALPHA) == pytest.approx(12.539657802739, abs=1e-9)


# ---------------------------------------------------------------- identities
@pytest.mark.parametrize("clumps", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_engine_and_oracle_agree(name: str, clumps: bool) -> None:
    rng = np.random.default_rng(5)
    documents = [1, 3, 2, 1, 4, 2] if clumps else None
    prior = HDPPrior(shape=1.7, rate=0.4)
    both = random_problem(name, rng, clumps=clumps, documents=documents, prior=prior)
    q = random_q(rng, len(both.problem.count), 4)
    alpha = rng.gamma(2.0, size=4)
    for m_p, m_d in ((1.0, 1.0), (3.0, 3.0), (6.0, 2.0)):
        F = oracle.free_energy(both.problem, q, alpha, m_p, m_d)
        assert engine_F(both, q, alpha, m_p, m_d) == pytest.approx(F, rel=1e-11)
    topics = both.topics(q, alpha)
    expected = both.family.expected(*topics.statistics)
    found = swept(
        both.search, both.store, topics, expected,
        labels=True, ranks=True,
    )  # fmt: skip
    new = oracle.q_update(both.problem, q, alpha)
    N, _, counts = both.problem.statistics(new)
    assert pytest.approx(N, rel=1e-9) == found.N
    assert pytest.approx(counts, rel=1e-9, abs=1e-12) == found.counts.T
    entropy = oracle.entropy(new, both.problem.count)
    assert found.entropy == pytest.approx(entropy, rel=1e-8, abs=1e-8)
    assert found.topic_entropy.sum() == pytest.approx(entropy, rel=1e-8)
    gram = new.T @ (new * both.problem.count[:, None])
    assert found.gram == pytest.approx(gram, rel=1e-9, abs=1e-9)
    assert found.label.tolist() == new.argmax(1).tolist()
    exact = both.topics(new, alpha)
    assert found.mean == pytest.approx(exact.mean, rel=1e-9, abs=1e-9)
    assert found.scatter == pytest.approx(exact.scatter, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_explicit_free_energy_is_29_at_the_optimum(name: str) -> None:
    rng = np.random.default_rng(6)
    both = random_problem(name, rng, clumps=True, documents=[2, 1, 3, 1, 1, 2])
    p = both.problem
    q, alpha = random_q(rng, len(p.count), 3), rng.gamma(2.0, size=3)
    N, S, counts = p.statistics(q)
    zeta = alpha[:, None] + counts / p.documents
    F = oracle.free_energy(p, q, alpha)
    assert oracle.explicit_free_energy(p, q, zeta, (N, S), alpha) == pytest.approx(
        F, rel=1e-9
    )

    def at(zeta: Any, N: Any = N, S: Any = S) -> float:
        return oracle.explicit_free_energy(p, q, zeta, (N, S), alpha)

    step = 1e-5
    for place in ((0, 0), (1, 3), (2, 5)):
        away = np.zeros_like(zeta)
        away[place] = step
        assert abs(at(zeta + away) - at(zeta - away)) / (2 * step) < 2e-4
    for k in range(3):
        up, down = N.copy(), N.copy()
        up[k], down[k] = N[k] + step, N[k] - step
        if name != "multinomial":  # whose count is the sum of S
            assert abs(at(zeta, up) - at(zeta, down)) / (2 * step) < 5e-4
        away = np.zeros_like(S)
        away[k, 1] = step
        slope = (at(zeta, N, S + away) - at(zeta, N, S - away)) / (2 * step)
        assert abs(slope) < 5e-4


@pytest.mark.parametrize("clumps", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_mixture_beats_the_q_update(name: str, clumps: bool) -> None:
    rng = np.random.default_rng(7)
    both = random_problem(name, rng, clumps=clumps)
    p = both.problem
    q, alpha = random_q(rng, len(p.count), 3), np.array([0.5, 1.0, 2.0])
    N, S, counts = p.statistics(q)
    zeta = alpha[:, None] + counts / p.documents
    best = oracle.q_update(p, q, alpha)
    F = oracle.explicit_free_energy(p, best, zeta, (N, S), alpha)
    for _ in range(50):
        share = rng.random() * 0.2
        other = (1 - share) * best + share * random_q(rng, len(best), 3)
        assert oracle.explicit_free_energy(p, other, zeta, (N, S), alpha) > F - 1e-9


@pytest.mark.parametrize("rule", ["newton", "minka"])
@pytest.mark.parametrize("clumps", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_free_energy_never_rises(name: str, clumps: bool, rule: str) -> None:
    rng = np.random.default_rng(8)
    options = HDPOptions(alpha_update=rule)
    both = random_problem(name, rng, clumps=clumps, options=options, n=200)
    n = len(both.problem.count)
    topics = both.topics(random_q(rng, n, 5), np.full(5, 0.4))
    expected, before = both.family.expected(*topics.statistics), np.inf
    for _ in range(60):
        state = swept_once(both.search, both.store, topics, expected)
        dropped = state.topics.K < topics.K
        assert dropped or before + 1e-9 * max(abs(state.F), 200.0) >= state.F
        topics, expected, before = state.topics, state.expected, state.F
    assert abs(state.topics.N.sum() - both.store.total) < 1e-9 * both.store.total


def test_free_energy_is_above_the_exact_log_probability() -> None:
    rng = np.random.default_rng(3)
    rows = ROWS + 0.1 * rng.normal(size=(7, 2))
    both = problem_of("full", rows, GROUP, prior=PRIORS["full"])
    alpha, q = np.array([0.7, 1.3]), Q
    for _ in range(200):
        q = oracle.q_update(both.problem, q, alpha)
    F = oracle.free_energy(both.problem, q, alpha) - 0.5 * alpha.sum()
    total = []
    for z in np.ndindex(*(2,) * 7):
        hot = np.eye(2)[list(z)]
        total.append(
            -(oracle.free_energy(both.problem, hot, alpha) - 0.5 * alpha.sum())
        )
    exact = -np.logaddexp.reduce(total)
    print(f"F {F:.4f}, exact {exact:.4f}, gap {F - exact:.3f}")
    assert exact <= F <= exact + 2.0


@pytest.mark.parametrize("name", FAMILIES)
def test_hard_assignments_give_the_joint_probability(name: str) -> None:
    both = golden(name)
    hot = np.eye(2)[[0, 0, 1, 1, 1, 0, 1]]
    p = both.problem
    N, S, counts = p.statistics(hot)
    log_p = -p.count.sum() * 0.0
    zero = np.zeros(S.shape[1])
    for k in range(2):
        log_p += p.family.log_z(N[k], S[k]) - p.family.log_z(0.0, zero)
        log_p += N[k] * p.family.phi_0
    for s in range(2):
        log_p += gammaln(3.0) - gammaln(3.0 + counts[:, s].sum())
        log_p += (gammaln(ALPHA + counts[:, s]) - gammaln(ALPHA)).sum()
    F = engine_F(both, hot, ALPHA) - 0.5 * ALPHA.sum()
    assert pytest.approx(-log_p, abs=1e-9) == F


def test_bounds_of_minka_and_ours() -> None:
    rng = np.random.default_rng(9)
    x, at, n = np.exp(rng.uniform(-6, 4, (3, 4000)))

    def rise(x: Any, n: Any) -> Any:
        return gammaln(x + n) - gammaln(x)

    tangent = -rise(at, n) - (digamma(at + n) - digamma(at)) * (x - at)
    assert (-rise(x, n) - tangent).min() >= -1e-10 * np.abs(tangent).max()
    slope = 1 + at * (digamma(at + 1 + n) - digamma(at + 1))
    ours = rise(at, n) + slope * (np.log(x) - np.log(at)) - (x - at) / (n + at)
    assert (rise(x, n) - ours).min() >= -1e-10 * np.abs(ours).max()
    second = rise(at, n) + at * (digamma(at + n) - digamma(at)) * np.log(x / at)
    gap = rise(x, n) - second
    assert gap[n >= 1].min() >= -1e-9 * np.abs(second).max()
    assert gap[n < 1].max() <= 1e-9 * np.abs(second).max()
    assert gap[n < 1].min() < -1e-3


@pytest.mark.parametrize("rule", ["newton", "minka"])
def test_alpha_steps_lower_the_free_energy(rule: str) -> None:
    rng = np.random.default_rng(10)
    for trial in range(100):
        S, K = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        counts = np.exp(rng.uniform(-6, 2, (K, S)))
        documents = rng.integers(1, 4, S).astype(float)
        shape = [1.0, 1.6][trial % 2]
        p = oracle.Problem(None, None, None, None, documents, shape, 0.5)
        alpha = np.exp(rng.uniform(-3, 2, K))
        step = oracle.newton_step if rule == "newton" else oracle.minka_step

        def cost(alpha: Any, p: Any = p, counts: Any = counts) -> float:
            n = counts / p.documents
            a_0 = alpha.sum()
            F = (p.documents * (gammaln(a_0 + n.sum(0)) - gammaln(a_0))).sum()
            rises = gammaln(alpha[:, None] + n) - gammaln(alpha)[:, None]
            F -= (p.documents * rises).sum()
            return float(F + oracle.penalty(alpha, p.a, p.b).sum())

        new = step(p, counts, alpha)
        assert cost(new) <= cost(alpha) + 1e-9 * abs(cost(alpha))
        if trial < 8:
            from scipy.optimize import minimize

            for _ in range(2000):
                alpha = step(p, counts, alpha)
            best = minimize(
                lambda u: cost(np.exp(u)), np.log(alpha), method="Nelder-Mead",
                options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000},
            )  # fmt: skip
            assert cost(alpha) <= best.fun + 1e-6
        kernel = engine_alpha(
            rule, counts, documents, np.exp(rng.uniform(-3, 2, K)), shape
        )
        assert kernel[0] == pytest.approx(kernel[1], rel=1e-6)


def engine_alpha(
    rule: str, counts: Any, documents: Any, alpha: Any, shape: float
) -> tuple[Any, Any]:
    """One step of the engine, and of the oracle."""
    from dyntree.mixtures.hdp.sweeps import Search
    from dyntree.mixtures.hdp.topics import Topics

    K = len(alpha)
    prior = HDPPrior(shape=shape)
    both = golden("full")
    search = Search(both.family, prior, HDPOptions(alpha_update=rule))
    topics = Topics(
        alpha, counts.sum(1), np.zeros((K, 2)), np.zeros((K, 3)),
        np.ascontiguousarray(counts.T), documents, np.arange(K),
    )  # fmt: skip
    p = oracle.Problem(None, None, None, None, documents, shape, 0.5)
    step = oracle.newton_step if rule == "newton" else oracle.minka_step
    return alpha_step(search, topics, steps=30), step(p, counts, alpha)


def test_a_few_newton_steps_are_almost_all() -> None:
    """A sweep takes 4 steps from where the last one stopped; within .01 of them all."""
    rng = np.random.default_rng(11)
    both = random_problem("full", rng, n=300)
    topics = both.topics(random_q(rng, 300, 4), np.full(4, 0.4))
    topics = swept_until_settled(both.search, both.store, topics).topics
    few, all_ = (
        alpha_step(both.search, topics),
        alpha_step(both.search, topics, steps=30),
    )
    assert few == pytest.approx(all_, rel=0.01)


def test_a_lone_topic_keeps_alpha_and_pays_nothing() -> None:
    rng = np.random.default_rng(12)
    both = random_problem("full", rng)
    topics = both.topics(np.ones((60, 1)), [1.0])
    state = swept_until_settled(both.search, both.store, topics)
    assert state.topics.alpha.tolist() == [1.0]
    assert both.search.penalty(np.ones(1)) == 0.0


@pytest.mark.parametrize("name", FAMILIES)
def test_unused_topics_change_nothing(name: str) -> None:
    rng = np.random.default_rng(13)
    both = random_problem(name, rng)
    q, alpha = random_q(rng, 60, 3), np.array([0.5, 1.0, 2.0])
    wide = np.concatenate([q, np.zeros((60, 1))], axis=1)
    F = oracle.free_energy(both.problem, q, alpha)
    more = oracle.free_energy(both.problem, wide, np.append(alpha, 1e-12))
    assert more == pytest.approx(F, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_tied_free_energy_is_that_of_points(name: str) -> None:
    rng = np.random.default_rng(14)
    n, docs = 120, 18
    document = np.sort(
        np.concatenate([np.arange(docs), rng.integers(docs, size=n - docs)])
    )
    group = document // 6
    part = np.unique(rng.integers(40, size=n), return_inverse=True)[1]
    rows: Any = rng.normal(size=(n, 2)) + 2 * rng.integers(3, size=(n, 1))
    if name == "multinomial":
        rows = rng.integers(5, size=n)
    tied = problem_of(name, rows, group, part, documents=[6, 6, 6])
    points = problem_of(name, rows, document)
    q = random_q(rng, int(part.max()) + 1, 3)
    alpha = np.array([0.4, 1.1, 2.0])
    F = engine_F(tied, q, alpha)
    p, spread = points.problem, q[part]
    counts = tied.problem.statistics(q)[2]
    zeta = alpha[:, None] + counts / tied.problem.documents
    N, S, _ = p.statistics(spread)
    each = oracle.explicit_free_energy(
        p, spread, zeta[:, np.arange(docs) // 6], (N, S), alpha
    )
    assert pytest.approx(each, rel=1e-9) == F
    untied = oracle.free_energy(p, spread, alpha)
    assert untied <= F + 1e-9 * abs(F)
    state = swept_until_settled(
        points.search, points.store, points.topics(spread, alpha)
    )
    assert untied + 1e-9 * abs(untied) >= state.F


@pytest.mark.parametrize("name", FAMILIES)
def test_clumps_of_one_point_are_points(name: str) -> None:
    rng = np.random.default_rng(15)
    rows: Any = rng.normal(size=(50, 2)) + 3 * rng.integers(2, size=(50, 1))
    if name == "multinomial":
        rows = rng.integers(5, size=50)
    group = np.arange(50) // 10
    points = problem_of(name, rows, group)
    clumps = problem_of(name, rows, group, rng.permutation(50))
    q = random_q(rng, 50, 3)
    order = np.argsort(clumps.store.clump_mean[:, 0]) if name != "multinomial" else None
    one = swept_until_settled(points.search, points.store, points.topics(q, np.ones(3)))
    start = replace(points.topics(q, np.ones(3)))
    two = swept_until_settled(clumps.search, clumps.store, start)
    assert order is None or len(order) == 50
    assert pytest.approx(one.F, rel=1e-8) == two.F


def test_equal_points_of_a_document_clump_without_loss() -> None:
    rng = np.random.default_rng(16)
    rows = np.repeat(rng.normal(size=(30, 2)) * 3, 4, axis=0)
    group = np.repeat(np.arange(30) % 5, 4)
    order = np.argsort(group, kind="stable")
    rows, group = rows[order], group[order]
    part = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    points, clumps = (
        problem_of("full", rows, group),
        problem_of("full", rows, group, part),
    )
    start = points.topics(random_q(rng, 120, 3), np.ones(3))
    one = swept_until_settled(points.search, points.store, start)
    two = swept_until_settled(clumps.search, clumps.store, start)
    assert pytest.approx(one.F, rel=1e-7) == two.F


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("m_p", "m_d"), [(3, 3), (6, 2)])
def test_magnified_free_energy_is_that_of_repeated_data(
    name: str, m_p: int, m_d: int
) -> None:
    rng = np.random.default_rng(17)
    n, S, r = 40, 4, m_p // m_d
    group = np.sort(np.concatenate([np.arange(S), rng.integers(S, size=n - S)]))
    rows: Any = rng.normal(size=(n, 2)) + 2 * rng.integers(3, size=(n, 1))
    if name == "multinomial":
        rows = rng.integers(6, size=n)
    small = problem_of(name, rows, group, width=6)
    copies = [np.repeat(group, r) + S * k for k in range(m_d)]
    large = problem_of(
        name, np.concatenate([np.repeat(rows, r, axis=0)] * m_d),
        np.concatenate(copies), width=6,
    )  # fmt: skip
    q, alpha = random_q(rng, n, 3), np.array([0.4, 1.1, 2.0])
    many = np.concatenate([np.repeat(q, r, axis=0)] * m_d)
    F = oracle.free_energy(large.problem, many, alpha)
    assert engine_F(small, q, alpha, float(m_p), float(m_d)) == pytest.approx(
        F, rel=1e-8
    )
    whole = alpha_step(large.search, large.topics(many, alpha), steps=30)
    found = alpha_step(
        small.search, small.topics(q, alpha), Magnification(m_p, m_d), steps=30
    )
    assert found == pytest.approx(whole, rel=1e-8)


def test_den_is_linear_from_above() -> None:
    rng = np.random.default_rng(18)
    for _ in range(2000):
        n = np.exp(rng.uniform(-6, 4, 5))
        at, x = np.exp(rng.uniform(-4, 4, 2))
        rise = digamma(at + n) - digamma(at)
        line = (gammaln(at + n) - gammaln(at) + rise * (x - at)).sum()
        assert (gammaln(x + n) - gammaln(x)).sum() <= line + 1e-9 * max(1.0, abs(line))


@pytest.mark.parametrize("name", FAMILIES)
def test_blocks_give_the_same_sums(name: str) -> None:
    rng = np.random.default_rng(19)
    found = []
    for block in (1, 7, 64, 4096):
        both = random_problem(
            name, np.random.default_rng(19), n=200, options=HDPOptions(block=block)
        )
        topics = both.topics(random_q(np.random.default_rng(1), 200, 5), np.ones(5))
        expected = both.family.expected(*topics.statistics)
        found.append(swept(both.search, both.store, topics, expected))
    for one in found[1:]:
        assert one.mean == pytest.approx(found[0].mean, abs=1e-9)
        assert one.counts == pytest.approx(found[0].counts, abs=1e-9)
        assert one.entropy == pytest.approx(found[0].entropy, abs=1e-9)
    assert rng is not None


def test_a_far_topic_keeps_its_digits() -> None:
    """Offset/spread 1e5, plain products would be 1e4 nats off (section 4.5)."""
    rng = np.random.default_rng(20)
    spread = 1e-5
    rows = np.concatenate(
        [1.0 + spread * rng.normal(size=(80, 2)), rng.normal(size=(80, 2))]
    )
    prior = HDPPrior(scale=spread**2)
    far = problem_of("full", rows, np.zeros(160, dtype=int), prior=prior)
    near = problem_of("full", rows - 1.0, np.zeros(160, dtype=int), prior=prior)
    q = np.repeat(np.eye(2), 80, axis=0)
    one, two = far.topics(q, np.ones(2)), near.topics(q, np.ones(2))
    family = far.family
    family.m0[:] = 1.0
    wide = family.expected(*one.statistics)
    assert len(wide.far) == 2 or 0 in wide.far.tolist()
    close = near.family.expected(*two.statistics)
    a = swept(far.search, far.store, one, wide)
    b = swept(near.search, near.store, two, close)
    assert a.entropy == pytest.approx(b.entropy, abs=1e-3)
    assert pytest.approx(b.N, rel=1e-6) == a.N
    assert a.scatter[0] == pytest.approx(b.scatter[0], rel=1e-4)


# ---------------------------------------------------------------- active topics
@pytest.mark.parametrize("seed", range(5))
def test_few_active_topics_give_the_sums_of_all(seed: int) -> None:
    # Weights of 1e-3 leave most topics out of most documents; in others all are in.
    rng = np.random.default_rng(seed)
    K, S, V, n = 60, 12, 30, 300
    group = np.sort(rng.integers(S, size=n))
    both = problem_of("multinomial", rng.integers(V, size=n), group)
    q = rng.dirichlet(np.full(K, 0.5), size=n)
    active = rng.random((S, K)) < 0.1
    active[0] = True
    active[np.arange(S), rng.integers(K, size=S)] = True
    q *= active[group]
    q /= q.sum(1, keepdims=True)
    topics = both.topics(q, np.full(K, 1e-3))
    sums = swept(
        both.search, both.store, topics, both.family.expected(*topics.statistics)
    )
    then = oracle.q_update(both.problem, q, topics.alpha)
    N, stats, counts = both.problem.statistics(then)
    np.testing.assert_allclose(sums.N, N, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.mean, stats, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.counts, counts.T, rtol=1e-12, atol=1e-12)
    exact = oracle.entropy(then, both.problem.count)
    np.testing.assert_allclose(sums.entropy, exact, rtol=1e-11, atol=1e-9)
    assert (sums.counts[1:] == 0.0).mean() > 0.5
