"""Online HDP-HSMM against its formulas, all paths, and the plain version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, geom, nbinom, norm
from scipy.stats import t as student_t

from dyntree._core.mixtures.chain import Chain
from dyntree._core.mixtures.decoder import Law
from dyntree.errors import NotReadyError, ScaleWarning
from dyntree.mixtures import OnlineHDPHSMM
from dyntree.mixtures.sva.semi_markov import (
    SemiMarkov,
    duration_laws,
    move_probabilities,
    segments_of,
)
from dyntree.mixtures.sva.sequence_scales import mixture_scales
from tests.helpers import model_bytes, mostly_slow, same_bytes
from tests.oracle import sva as oracle
from tests.unit.mixtures.sva.test_dpgmm import agreement, same_clusters

NOISE = 0.2
LAMBDA = 3.0 * NOISE**2 * float(chi2.isf(1e-5, 6))
MEANS = (20, 30, 40, 25, 35)


def sequence(
    seed: int, n_segments: int = 60, width: int = 6, outliers: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, states and outliers of a stream: five planes, branching .8 and .2."""
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.normal(size=(5, width))
    bases = [np.linalg.qr(rng.normal(size=(width, 2)))[0] for _ in range(5)]
    states: list[int] = []
    state = 0
    for _ in range(n_segments):
        states += [state] * max(1, round(rng.normal(MEANS[state], 3.0)))
        state = (state + (1 if rng.random() < 0.8 else 2)) % 5
    label = np.array(states)
    X = np.array([centres[k] + bases[k] @ rng.normal(size=2) for k in label])
    X += NOISE * rng.normal(size=X.shape)
    far = rng.random(len(X)) < outliers
    X[far] += 10.0 * rng.normal(size=(int(far.sum()), width))
    return X, label, far


# ---------------------------------------------------------------- the plain version
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "costly moves": {"lambda_2": 3.0, "lambda_3": 2.0},
    "free moves": {"lambda_2": 0.0, "lambda_3": 0.0},
    "durations": {"lambda_4": 0.3},
    "impatient": {"patience": 30, "check_every": 20},
    "at once": {"min_weight": 1, "check_every": 60},
    "few": {"max_clusters": 16},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", mostly_slow(range(2)))
def test_it_is_the_plain_version(name: str, seed: int) -> None:
    X, _, _ = sequence(seed, 40, 4, outliers=0.03)
    options = {"check_every": 50, **OPTIONS[name]}
    model = OnlineHDPHSMM(1.5, noise=NOISE, **options)
    other = oracle.HDPHSMM(1.5, NOISE, **options)
    assert model.update(X).labels_.tolist() == other.learn(X)
    same_clusters(model, other)
    known, chain = model._state.clusters, other.chain
    ids = [c.id for c in other.clusters]
    counts = [[chain.moves.get((i, j), 0) for j in ids] for i in ids]
    assert known.chain.counts(known.n).tolist() == counts
    assert sum(map(sum, counts)) > 5 or name == "few"
    for k, tally in zip(ids, known.chain.durations(known.n), strict=True):
        known_rows = [float(s) for _, s in chain.durations.get(k, [])]
        expected = [0.0, 0.0, 0.0]
        if known_rows:
            expected = [len(known_rows), np.mean(known_rows), np.var(known_rows)]
            expected[2] *= len(known_rows)
        np.testing.assert_allclose(tally, expected, rtol=1e-9, atol=1e-9)
    place = {id: k for k, id in enumerate(ids)} | {None: -1}
    assert known.chain.state == place[chain.state]
    assert known.chain.last == place[chain.last]
    assert known.chain.dwell == chain.dwell


def with_gaps(X: Any, seed: int) -> Any:
    """A tenth of the values missing, and a tenth of the rows."""
    rng, gaps = np.random.default_rng(seed), X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    gaps[rng.random(len(X)) < 0.1] = np.nan
    return gaps


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("emission", ["mppca", "gmm"])
def test_rows_with_gaps_are_those_of_the_plain_version(
    seed: int, emission: str
) -> None:
    X = with_gaps(sequence(seed, 40, 4)[0], seed)
    X[0] = np.nan  # before the first state
    model = OnlineHDPHSMM(1.5, noise=NOISE, check_every=50, emission=emission)
    labels = model.update(X).labels_
    assert labels[0] == -1
    assert model.n_seen == len(X)
    if emission == "mppca":
        other = oracle.HDPHSMM(1.5, NOISE, check_every=50)
        assert labels.tolist() == other.learn(X)
        same_clusters(model, other)
    for size in (1, 7):
        again = OnlineHDPHSMM(1.5, noise=NOISE, check_every=50, emission=emission)
        for first in range(0, len(X), size):
            again.update(X[first : first + size])
        assert model_bytes(again) == model_bytes(model)
    again = OnlineHDPHSMM.from_arrays(*model.to_arrays())
    more = with_gaps(sequence(seed, 4, 4)[0], seed)
    assert model_bytes(again.update(more)) == model_bytes(model.update(more))


@pytest.mark.parametrize("covariance", ["diag", "spherical"])
@pytest.mark.parametrize("emission", ["mppca", "gmm"])
def test_values_that_are_missing_are_summed_out(emission: str, covariance: str) -> None:
    X, _, _ = sequence(0, 60)
    model = OnlineHDPHSMM(
        LAMBDA, noise=NOISE, emission=emission, covariance=covariance, min_weight=20
    ).update(X)
    row = X[7:8].copy()
    places = model._confirmed()
    whole = model._log_density(row, places)
    two = np.repeat(row, 2, axis=0)
    two[1, :] = np.nan
    np.testing.assert_allclose(model._log_density(two, places)[0], whole[0], rtol=1e-9)
    assert not model._log_density(two, places)[1].any()
    two = row.copy()
    two[0, 3] = np.nan  # the sum over a grid of what may be in the gap
    at = np.linspace(row[0, 3] - 40.0, row[0, 3] + 40.0, 400_001)
    grid = np.repeat(row, len(at), axis=0)
    grid[:, 3] = at
    sums = logsumexp(model._log_density(grid, places), axis=0) + np.log(at[1] - at[0])
    found = model._log_density(two, places)[0]
    near = found > found.max() - 200.0
    np.testing.assert_allclose(sums[near], found[near], atol=1e-3)


def test_sequences_with_gaps_have_their_states() -> None:
    X, label, _ = sequence(1, 120)
    gaps = with_gaps(X, 1)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE).update(gaps).merge_now()
    assert agreement(model.decode(gaps).labels, label) > 0.97
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(gaps, columns=list("abcdef"))
    named = OnlineHDPHSMM(LAMBDA, noise=NOISE).update(frame[list("abcdef")])
    turned = named.decode(frame[list("fedcba")])
    assert turned.labels.tolist() == named.decode(frame).labels.tolist()
    one = dict(zip("abcdef", gaps[5].tolist(), strict=True)) | {"c": float("nan")}
    assert named.filter_one(one).sum() == pytest.approx(1.0)
    whole = ~np.isnan(gaps).any(axis=1)
    assert named.predict(frame)[whole].tolist() == named.predict(gaps[whole]).tolist()
    assert (named.predict(frame) == -1).tolist() == np.isnan(gaps).all(axis=1).tolist()
    with pytest.raises(ValueError, match="must be finite; got nan"):
        named.score_samples(frame)


def test_more_durations_than_are_held_are_still_counted() -> None:
    rows = np.repeat(np.tile([0.0, 10.0], 200), np.tile([3, 5], 200))[:, None]
    model = OnlineHDPHSMM(5.0, noise=0.5, min_weight=1).update(rows)
    found = model.durations()
    assert found.count.tolist() == [200, 199]
    assert found.mean.tolist() == [3.0, 5.0]
    assert found.sd.tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- costs
def test_costs_are_those_of_the_limit() -> None:
    """Stay, known move, new move, new state: which is chosen flips at its cost."""
    rows = [[0.0], [10.0], [0.0], [10.0], [0.0], [20.0], [0.0]]
    known = OnlineHDPHSMM(
        9.0, noise=1.0, lambda_2=2.0, lambda_3=3.0, merge=False, min_weight=1
    ).update(rows)
    assert known.transition_counts().tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]
    c = known.clusters()

    def label(x: float) -> int:
        return known.copy().learn_one([x]).last_label_

    def crossing(a: float, b: float) -> float:
        low, high = a, b
        first = label(a)
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if label(middle) == first else (low, middle)
        return (low + high) / 2.0

    # from state 0, left 3 times: staying against opening a state
    new = 9.0 + 2.0 * np.log(4.0) + 3.0
    assert crossing(0.0, 4.99) == pytest.approx(np.sqrt(new), rel=1e-9)
    # staying against the known move to state 1, a 2 of 3 + 1
    near = known.copy().update([[0.0]])
    assert near.last_label_ == 0
    move = -2.0 * np.log(2.0 / 4.0)
    d, m0, m1 = crossing(4.99, 10.0), c.mean[0, 0], c.mean[1, 0]
    assert (d - m1) ** 2 + move == pytest.approx(min((d - m0) ** 2, new), rel=1e-9)


@pytest.mark.parametrize("binomial", [False, True])
def test_hazards_are_those_of_the_law(binomial: bool) -> None:
    chain = Chain(1.0, 1.0, 1.0, binomial)
    rows = np.random.default_rng(0).poisson(9.0, size=40) + 1
    model = OnlineHDPHSMM(
        5.0, noise=0.5, min_weight=1, lambda_4=1e-9,
        duration="negative-binomial" if binomial else "gaussian",
    )  # fmt: skip
    model.update(np.repeat(np.tile([0.0, 10.0], 20), rows)[:, None])
    chain = model._state.clusters.chain
    count, mean, m2 = chain.durations(2)[0]
    sd = np.sqrt(m2 / (count - 1.0))
    for s in range(1, 40):
        if binomial:
            r = (mean - 1.0) ** 2 / (sd**2 - mean + 1.0)
            law = nbinom(r, r / (r + mean - 1.0))
            ends, lasts = law.pmf(s - 1), law.sf(s - 2)
        else:
            whole = norm.sf(0.5, mean, sd)
            lasts = norm.sf(s - 0.5, mean, sd) / whole
            ends = lasts - norm.sf(s + 0.5, mean, sd) / whole
        longer = geom(0.1 / max(*chain.durations(2)[:, 1], chain.dwell))
        expected = 0.99 * ends + 0.01 * longer.pmf(s)
        expected /= 0.99 * lasts + 0.01 * longer.sf(s - 1)
        assert chain.hazard_at(0, s) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "negative-binomial"])
@pytest.mark.parametrize("spread", [1, 9])
def test_learning_and_decoding_have_one_law_of_durations(
    kind: str, spread: int
) -> None:
    """Up to where durations are cut off, which is far out here."""
    rows = np.random.default_rng(0).integers(10 - spread, 11 + spread, size=60)
    model = OnlineHDPHSMM(
        5.0, noise=0.5, min_weight=1, lambda_4=1e-9, duration=kind, max_duration=5000
    )
    model.update(np.repeat(np.tile([0.0, 10.0], 30), rows)[:, None])
    chain, decoded = model._state.clusters.chain, model._semi_markov("hazard").hazard()
    for state in range(2):
        for s in range(1, 16):
            learned = chain.hazard_at(state, s)
            expected = np.clip(decoded[state, s - 1], 1e-12, 1.0 - 1e-12)
            assert learned == pytest.approx(expected, rel=1e-6)


# ---------------------------------------------------------------- decoding
def toy(rng: np.random.Generator, k: int = 3, most: int = 4) -> list[np.ndarray]:
    """Log probabilities of a start, moves, durations and survival."""
    move = rng.dirichlet(np.ones(k), size=k) * (1.0 - np.eye(k))
    with np.errstate(divide="ignore"):
        log_move = np.log(move / np.maximum(move.sum(1, keepdims=True), 1e-300))
    p = rng.dirichlet(np.ones(most), size=k)
    survival = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
    start = np.log(rng.dirichlet(np.ones(k)))
    return [start, log_move, np.log(p), np.log(np.ascontiguousarray(survival))]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "most"), [(3, 4), (2, 2), (2, 9), (1, 7)])
def test_decoding_is_the_best_and_the_sum_of_all_paths(
    seed: int, k: int, most: int
) -> None:
    """Seven rows; the last segment may go on beyond them."""
    rng = np.random.default_rng(seed)
    parts = toy(rng, k, most)
    density = rng.normal(size=(7, k)) * 2.0
    paths = list(oracle.all_paths(7, k, most))
    values = np.array([oracle.path_value(p, density, *parts) for p in paths])
    law = Law(*parts)
    states, value = law.viterbi(density)
    assert value == pytest.approx(values.max(), rel=1e-12)
    best = paths[int(values.argmax())]
    assert states.tolist() == [k for k, rows in best for _ in range(rows)]
    assert law.log_likelihood(density) == pytest.approx(logsumexp(values), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "most"), [(3, 1), (3, 2), (2, 3), (2, 7), (2, 9)])
def test_segments_longer_than_the_table_are_among_all_paths(
    seed: int, k: int, most: int
) -> None:
    """Each row more has the same probability; seven rows, with tables for all."""
    rng = np.random.default_rng(seed)
    start, move, duration, survival = toy(rng, k, most)
    stay = 0.7
    survival[:, -1] = duration[:, -1] - np.log(
        1.0 - stay
    )  # of the last, and longer ones
    for m in range(most - 1, 0, -1):
        survival[:, m - 1] = np.logaddexp(duration[:, m - 1], survival[:, m])
    duration, survival = (part - survival[:, :1] for part in (duration, survival))
    more = np.log(stay) * np.arange(1, 8)
    whole = [
        np.hstack([part, part[:, -1:] + more])[:, :7] for part in (duration, survival)
    ]
    density = rng.normal(size=(7, k))
    if seed % 2:  # long stays win
        density[:, 0] += 3.0
    paths = list(oracle.all_paths(7, k, 7))
    values = np.array(
        [oracle.path_value(path, density, start, move, *whole) for path in paths]
    )
    law = Law(start, move, duration, survival, np.log(stay))
    states, value = law.viterbi(density)
    assert value == pytest.approx(values.max(), rel=1e-12)
    best = paths[int(values.argmax())]
    assert states.tolist() == [k for k, rows in best for _ in range(rows)]
    assert law.log_likelihood(density) == pytest.approx(logsumexp(values), rel=1e-12)
    chain = SemiMarkov(np.arange(k), np.exp(move), duration, survival, np.log(stay))
    belief = np.zeros(duration.shape)
    belief[:, 0] = np.exp(start)
    for n in range(1, 8):  # the filter: states of the last row, over all paths
        belief = belief * np.exp(density[n - 1])[:, None]
        total = np.full(k, -np.inf)
        for path in oracle.all_paths(n, k, 7):
            own = oracle.path_value(path, density[:n], start, move, *whole)
            total[path[-1][0]] = np.logaddexp(total[path[-1][0]], own)
        expected = np.exp(total - logsumexp(total))
        found = belief.sum(axis=1) / belief.sum()
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        belief = chain.advanced(belief)


def long_stay(n_rows: int) -> tuple[OnlineHDPHSMM, np.ndarray]:
    """Two states 10,000 deviations apart, in stays of 3 to 6 rows; then one of many."""
    rng = np.random.default_rng(0)
    at = np.repeat(np.tile([0.0, 10_000.0], 30), rng.integers(3, 7, 60))
    model = OnlineHDPHSMM(30.0, noise=1.0, emission="gmm")
    model.update(at[:, None] + rng.normal(size=(len(at), 1)))
    return model, rng.normal(size=(n_rows, 1))


@pytest.mark.parametrize("n_rows", [40, 500, 5000])
def test_a_stay_longer_than_all_learned_is_one_segment(n_rows: int) -> None:
    """It was cut in pieces, each of which ended in a state far away."""
    model, rows = long_stay(n_rows)
    path = model.decode(rows)
    assert (path.start.tolist(), path.stop.tolist()) == ([0], [n_rows])
    assert np.isfinite(model.score_total(rows))
    both = model.decode(np.concatenate([rows, rows[:4] + 10_000.0, rows[:5]]))
    assert (both.stop - both.start).tolist() == [n_rows, 4, 5]


@pytest.mark.parametrize("duration_weight", [0.0, 2.0])
def test_a_stay_under_way_may_go_on(duration_weight: float) -> None:
    """The probability of one more row in the state was 0 for a stay of thirty rows."""
    model, rows = long_stay(500)
    model = OnlineHDPHSMM(
        30.0, noise=1.0, emission="gmm", lambda_4=duration_weight
    ).update(long_stay(1)[0].sample(300, seed=1)[0])
    model.end_sequence()
    for k in range(30):
        model.update(rows[k : k + 1])
        if k > 10:
            ahead = model.predict_next(1)[0]
            own = model.clusters().id == model.last_label_
            assert ahead[own][0] > 0.95
    model.update(rows[30:])
    assert model.n_clusters == 2
    assert len(np.unique(model.labels_)) == 1
    assert model.predict_next(1).max() > 0.99
    for row in rows[:100]:
        assert model.filter_one(row).max() > 0.99


# data and seeds are fixed, so that nothing here fails by chance
@pytest.mark.parametrize("k", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("most", [1, 3, 8, 9, 40])
@pytest.mark.parametrize("kind", ["flat", "apart", "ties", "impossible"])
def test_the_bounded_search_finds_the_path_and_bits_of_the_whole_one(
    k: int, most: int, kind: str
) -> None:
    for seed, n in enumerate((1, 7, 60, 150)):
        rng = np.random.default_rng([seed, k, most])
        parts = toy(rng, k, most)
        density = rng.normal(size=(n, k))
        if kind == "apart":
            states = np.repeat(rng.integers(k, size=n), rng.integers(1, most + 2, n))
            density -= 40.0 * (np.arange(k) != states[:n, None])
        if kind == "ties":  # whole numbers, of which many paths have the same sum
            density, parts = np.round(density), [np.round(part) for part in parts]
        if kind == "impossible":
            parts[2][rng.random(parts[2].shape) < 0.4] = -np.inf
            parts[3][:] = np.maximum(parts[3], -50.0)
            density[rng.random(density.shape) < 0.1] = -np.inf
        best = density.max(axis=1)
        best = np.where(np.isfinite(best), best, 0.0)
        path, value = oracle.whole_viterbi(density - best[:, None], *parts)
        states, found = Law(*parts).viterbi(density)
        assert found == value + best.sum()
        assert states.tolist() == path


def test_a_state_alone_lasts_through_all_rows() -> None:
    model = OnlineHDPHSMM(5.0, noise=1.0).update(np.zeros((30, 2)))
    path = model.decode(np.zeros((500, 2)))
    assert (len(path), path.stop.tolist()) == (1, [500])
    assert np.isfinite(model.score_total(np.zeros((500, 2))))
    assert model.transition_matrix().tolist() == [[0.0]]
    assert model.predict_next(3).tolist() == [[1.0]] * 3
    assert model.filter_one([0.0, 0.0]).tolist() == [1.0]
    assert set(model.sample(50)[1].tolist()) == {0}


def test_segments_longer_than_the_longest_duration_are_cut() -> None:
    rows = np.repeat([0.0, 10.0, 0.0, 10.0], 30)[:, None]
    model = OnlineHDPHSMM(5.0, noise=0.5, max_duration=12).update(rows)
    path = model.decode(rows)
    assert (path.stop - path.start).max() <= 12
    assert np.isfinite(path.log_density)


def test_probabilities_of_moves_are_never_nan() -> None:
    counts = np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    plain = move_probabilities(counts, 0.0)
    assert plain.tolist() == [[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    smooth = move_probabilities(counts, 1.0)
    assert smooth[0].tolist() == pytest.approx([0.0, 4.0 / 6.0, 2.0 / 6.0])
    np.testing.assert_allclose(smooth.sum(axis=1), 1.0)


def test_duration_laws_are_normalised_and_fall_back() -> None:
    tally = np.array([[10.0, 20.0, 90.0], [1.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    for kind in ("gaussian", "negative-binomial"):
        log_p, log_s, stays = duration_laws(tally, 1, kind, None)
        last = np.exp(log_p[:, -1:]) * np.exp(stays * np.arange(1, 40_000))
        p = np.hstack([np.exp(log_p), last])
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        expected = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
        np.testing.assert_allclose(
            np.exp(log_s), expected[:, : log_s.shape[1]], rtol=1e-9
        )
        log_p, log_s, stays = duration_laws(tally, 1, kind, 30)
        assert (log_p.shape, stays) == ((3, 30), -np.inf)
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=1e-12)
        assert log_s[:, -1].tolist() == log_p[:, -1].tolist()
    log_p, _, stays = duration_laws(tally, 1, "gaussian", None)
    rows = np.arange(1, log_p.shape[1])
    longer = 0.01 * geom.pmf(np.append(rows, len(rows) + 1), 1.0 / 200.0)
    assert stays == pytest.approx(np.log(1.0 - 1.0 / 200.0), rel=1e-12)
    sds = [np.sqrt(10.0), 2.0, 0.2 * 210.0 / 11.0]
    for own, mean, sd in zip(log_p, (20.0, 10.0, 210.0 / 11.0), sds, strict=True):
        mass = norm.cdf(rows + 0.5, mean, sd) - norm.cdf(rows - 0.5, mean, sd)
        mass = np.append(0.99 * mass / mass.sum(), 0.0) + longer
        np.testing.assert_allclose(np.exp(own), mass, rtol=1e-9, atol=1e-15)
    assert log_p.shape[1] == int(np.ceil(210.0 / 11.0 * 1.8)) + 1
    log_p, *_ = duration_laws(tally, 1, "negative-binomial", None)
    rows = np.append(rows, len(rows) + 1)
    r = 19.0**2 / (
        1e-12 * 19.0
    )  # its variance is less than its mean: as good as Poisson
    density = nbinom.pmf(rows[:-1] - 1, min(r, 1e6), 1e6 / (1e6 + 19.0))
    mass = np.append(0.99 * density / density.sum(), 0.0) + longer
    np.testing.assert_allclose(np.exp(log_p[0]), mass, rtol=1e-6)
    one, *_ = duration_laws(np.zeros((2, 3)), 7, "gaussian", None)
    assert one.argmax(axis=1).tolist() == [6, 6]


# ---------------------------------------------------------------- what is found
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_states_durations_and_moves_are_found(seed: int, outliers: float) -> None:
    X, label, far = sequence(seed, 120, outliers=outliers)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE).update(X).merge_now()
    path = model.decode(X)
    assert agreement(path.labels[~far], label[~far]) > 0.97
    assert model.clusters().dim.tolist() == [2] * 5
    mine = [
        int(np.bincount(label[path.labels == k]).argmax()) for k in model.clusters().id
    ]
    expected = np.array(MEANS)[mine]
    np.testing.assert_allclose(model.durations().mean, expected, rtol=0.1)
    follows = model.transition_counts().argmax(axis=1)
    assert [mine[k] for k in follows] == [(k + 1) % 5 for k in mine]
    state, start, stop = segments_of(path.labels)
    assert state.tolist() == path.state.tolist()
    assert start.tolist() == path.start.tolist()
    assert stop.tolist() == path.stop.tolist()


def test_demonstrations_are_kept_apart() -> None:
    """No move from the end of one to the beginning of the next."""
    rows = np.repeat([0.0, 10.0, 20.0], 15)[:, None]
    apart = OnlineHDPHSMM(5.0, noise=0.5)
    apart.update(np.tile(rows, (4, 1)), lengths=[45] * 4)
    assert apart.transition_counts().tolist() == [[0, 4, 0], [0, 0, 4], [0, 0, 0]]
    assert apart.durations().count.tolist() == [4, 4, 4]
    assert apart.durations().mean[1] > 10.0
    one = OnlineHDPHSMM(5.0, noise=0.5)
    for _ in range(4):
        one.update(rows).end_sequence()
    assert model_bytes(one) == model_bytes(apart)
    assert len(apart.labels_) == 180
    path = apart.decode(np.tile(rows, (2, 1)), lengths=[45, 45])
    assert len(path) == 6
    assert apart.score_total(np.tile(rows, (2, 1)), lengths=[45, 45]) == pytest.approx(
        2.0 * apart.score_total(rows), rel=1e-12
    )
    for bad, told in (([44], "add up to the rows of X, 45; got 44"), ([0, 45], ">= 1")):
        with same_bytes(apart), pytest.raises(ValueError, match=told):
            apart.update(rows, lengths=bad)


def test_round_states_are_spheres_of_the_noise() -> None:
    X = np.repeat(np.tile([0.0, 5.0, 10.0], 20), 10)[:, None]
    X = X + 0.2 * np.random.default_rng(0).normal(size=(600, 2))
    model = OnlineHDPHSMM(1.5, noise=0.2, emission="gmm", covariance="spherical")
    model.update(X)
    assert model.n_clusters == 3
    assert model.covariances_[0].tolist() == [[0.2**2, 0.0], [0.0, 0.2**2]]
    assert model.transform(X[:2], cluster=0).shape == (2, 0)
    assert model.predict(X, outliers=True).tolist() == model.decode(X).labels.tolist()
    assert model.lambda_path(X).n_clusters.min() <= 3
    assert OnlineHDPHSMM(1.5, noise=0.2).lambda_path(X).noise == 0.2


def stays(means: Any, sds: Any, rows: int, seed: int) -> tuple[Any, Any]:
    """States that follow one another at random, each for some 40 rows."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, len(means), size=rows)
    label = np.repeat(np.cumsum(steps) % len(means), rng.poisson(40.0, size=rows))
    label = label[:rows]
    noise = rng.normal(size=(rows, means.shape[1]))
    return means[label] + sds[label][:, None] * noise, label


def test_columns_of_a_state_have_variances_of_their_own() -> None:
    means, sds = np.array([[0.0, 0.0], [15.0, 15.0]]), np.array([0.2, 3.0])
    X, label = stays(means, sds, 2000, 0)
    model = OnlineHDPHSMM(80.0, noise=1.0, emission="gmm").update(X)
    order = np.argsort(model.clusters().mean[:, 0])
    variance = np.array([np.diag(C) for C in model.covariances_[order]])
    # a hundred thousand to one against six standard errors of a log variance
    assert (np.abs(np.log(variance / sds[:, None] ** 2)) < 6.0 * 800**-0.5).all()
    clusters, row = model.clusters(), X[:1]
    of_rows = []
    for mean, weight, own in zip(
        clusters.mean, clusters.weight, model.covariances_, strict=True
    ):
        spread = np.sqrt(np.diag(own) * (1.0 + 1.0 / weight))
        of_rows.append(student_t.logpdf(row[0], weight + 1.0, mean, spread).sum())
    exact = float(logsumexp(of_rows)) - np.log(2.0)
    assert model.score_total(row) == pytest.approx(exact, rel=1e-12)
    assert agreement(model.decode(X).labels, label) > 0.99
    round_ones = OnlineHDPHSMM(80.0, noise=1.0, emission="gmm", covariance="spherical")
    assert model.score(X) > round_ones.update(X).score(X) + 0.5


@pytest.mark.parametrize("seed", [4, 5, 8])  # fixed, so that nothing fails by chance
def test_costs_are_chosen_with_time(seed: int) -> None:
    """Clusters that overlap are states apart: the mixture without moves joins them."""
    means = 2.0 * np.random.default_rng(seed).normal(size=(5, 4))
    X, label = stays(means, np.ones(5), 2000, seed)
    model = OnlineHDPHSMM(emission="gmm").update(X)
    assert agreement(model.decode(X).labels, label) > 0.9
    cost, noise = mixture_scales(model.options, np.ascontiguousarray(X[:800]))
    without = OnlineHDPHSMM(cost, noise=noise, emission="gmm").update(X)
    assert agreement(without.decode(X).labels, label) < 0.7
    assert OnlineHDPHSMM(noise=1.0, emission="gmm").update(X).noise == 1.0
    assert OnlineHDPHSMM(9.0, emission="gmm").update(X).lambda_ == 9.0


@pytest.mark.parametrize("shape", ["mppca", "gmm"])
def test_the_shape_of_states_is_chosen_with_the_scales(shape: str) -> None:
    """Planes have subspaces; the round states of this fixed seed have none."""
    if shape == "mppca":
        X = sequence(3, 120)[0]
    else:
        means = 2.0 * np.random.default_rng(1).normal(size=(5, 4))
        X, _ = stays(means, np.ones(5), 2000, 1)
    model = OnlineHDPHSMM(seed=0)
    assert model.emission is None
    assert model.facts()["emission"] is None
    assert model.update(X[:1500]).emission == model.facts()["emission"] == shape
    fixed = OnlineHDPHSMM(emission=shape, seed=0).update(X[:1500])
    assert (model.lambda_, model.noise) == (fixed.lambda_, fixed.noise)
    loaded = OnlineHDPHSMM.from_arrays(*model.to_arrays())
    assert loaded.emission == shape
    labels = fixed.update(X[1500:]).labels_.tolist()
    assert loaded.update(X[1500:]).labels_.tolist() == labels
    assert model_bytes(loaded) == model_bytes(model.update(X[1500:]))
    header, arrays = model.to_arrays()
    header["options"]["emission"] = "gmm" if shape == "mppca" else "mppca"
    with pytest.raises(ValueError, match="arrays"):
        OnlineHDPHSMM.from_arrays(header, arrays)


@pytest.mark.parametrize("n_rows", [1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_state_that_begins_at_the_end_of_the_warm_up_decides_nothing(
    n_rows: int, seed: int
) -> None:
    """No confirmed state has its first rows, which no scale makes more probable."""
    rng = np.random.default_rng(seed)
    means, along = 12.0 * rng.normal(size=(4, 8)), 2.0 * rng.normal(size=(4, 8))
    early = np.tile(np.repeat([0, 1, 2], [20, 30, 25]), 11)[: 800 - n_rows]
    label = np.concatenate([early, np.tile(np.repeat([3, 0, 1, 2], 25), 10)])
    noise = 0.5 * rng.normal(size=(len(label), 8))
    X = means[label] + along[label] * rng.normal(size=(len(label), 1)) + noise
    model = OnlineHDPHSMM(seed=0).update(X)
    assert agreement(model.decode(X).labels, label) > 0.99


@pytest.mark.parametrize("share", [0.005, 0.02])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_of_no_state_do_not_choose_the_scales(share: float, seed: int) -> None:
    """Errors of three spreads, which are not far enough to be left out."""
    rng = np.random.default_rng(seed)
    means, along = 12.0 * rng.normal(size=(4, 6)), 2.0 * rng.normal(size=(4, 6))
    label = np.tile(np.repeat([0, 1, 2, 0, 3], [20, 30, 25, 15, 35]), 12)
    noise = 0.5 * rng.normal(size=(len(label), 6))
    X = means[label] + along[label] * rng.normal(size=(len(label), 1)) + noise
    wrong = rng.random(len(X)) < share
    X[wrong] += 3.0 * X.std(axis=0) * rng.normal(size=(wrong.sum(), 6))
    path = OnlineHDPHSMM(seed=0).update(X).decode(X).labels
    assert agreement(path[~wrong], label[~wrong]) > 0.98


def test_scales_are_chosen_as_if_nothing_were_forgotten() -> None:
    X = sequence(3, 120)[0][:900]
    chosen = [
        (model.lambda_, model.noise, model.emission)
        for forget in (1.0, 0.9)
        for model in (OnlineHDPHSMM(forget=forget, seed=0).update(X),)
    ]
    assert chosen[0] == chosen[1]


def test_rows_left_out_of_the_choice_of_scales_are_named_once() -> None:
    """By their columns, and by their places among all rows, with or without gaps."""
    X = sequence(3, 60)[0][:400]
    X[3, 1] = X[20:30] = np.nan
    X[100, 1] = 1e5
    frame = pd.DataFrame(X, columns=["speed", "turn", *"abcdefgh"[: X.shape[1] - 2]])
    model = OnlineHDPHSMM(warm_up=400)
    for ask in (model.lambda_path, model.update):
        with pytest.warns(ScaleWarning) as told:
            ask(frame)
        assert len(told) == 1
        assert str(told[0].message).startswith("row 100 has 100000 in column 'turn'")
    for odd, said in ((frame.fillna(1.0) * 0.0, "are equal"),
                      (frame.fillna(1.0) * [1e-6, *[1.0] * (X.shape[1] - 1)],
                       "of 'speed'")):  # fmt: skip
        odd.iloc[100] = odd.iloc[101]
        with pytest.warns(ScaleWarning, match=said) as told:
            OnlineHDPHSMM(warm_up=400).update(odd)
        assert len(told) == 1


def test_columns_without_whole_rows_are_told_of() -> None:
    model = OnlineHDPHSMM().update([*[[1.0, np.nan], [2.0, np.nan]] * 15, [1.0, 2.0]])
    with pytest.raises(ValueError, match="= 31, of which 1 have none"):
        model.finish_warm_up()
    assert model.n_seen == 31


def test_costs_of_round_states_may_be_tried_before_the_first_row() -> None:
    means = 20.0 * np.random.default_rng(1).normal(size=(5, 3))
    X, _ = stays(means, np.ones(5), 400, 1)
    path = OnlineHDPHSMM(emission="gmm").lambda_path(X)
    assert path.n_clusters[np.searchsorted(path.lambda_, path.chosen)] == 5


def test_states_have_subspaces_where_scales_are_given() -> None:
    assert OnlineHDPHSMM(9.0, noise=1.0).emission == "mppca"
    assert OnlineHDPHSMM(9.0, noise=1.0, emission="gmm").emission == "gmm"
    assert OnlineHDPHSMM(9.0).emission is None


@pytest.mark.parametrize("emission", ["gmm", "mppca"])
def test_rows_that_wait_for_scales_are_learned_as_sequences(emission: str) -> None:
    """As by a model with these scales from the start, in whatever pieces rows come."""
    X, _, _ = sequence(3, 120)
    X[40, 0] = np.nan
    lengths = [50, 30, len(X) - 80]
    model = OnlineHDPHSMM(emission=emission, warm_up=200).update(X, lengths=lengths)
    scales = {"lambda_": model.lambda_, "noise": model.noise, "emission": emission}
    known = OnlineHDPHSMM(**scales).update(X, lengths=lengths)
    assert model.labels_.tolist() == known.labels_.tolist()
    pieces, first = OnlineHDPHSMM(emission=emission, warm_up=200), 0
    for length in lengths:
        for row in X[first : first + length]:
            pieces.learn_one(row)
            if pieces.n_seen % 10 == 0 or 195 <= pieces.n_seen <= 205:
                pieces = OnlineHDPHSMM.from_arrays(*pieces.to_arrays())
        pieces.end_sequence().end_sequence()
        first += length
    assert model_bytes(model) == model_bytes(pieces)
    assert (
        model.update(X[:40]).labels_.tolist() == known.update(X[:40]).labels_.tolist()
    )


@pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")
def test_rows_with_gaps_alone_wait_for_whole_ones() -> None:
    X, _, _ = sequence(3, 20)
    gaps = X[:200].copy()
    gaps[::2, 0] = gaps[1::2, 1] = np.nan
    model = OnlineHDPHSMM(warm_up=50).update(gaps, lengths=[60, 60, 80])
    assert (model.n_seen, model.is_ready) == (200, False)
    again = OnlineHDPHSMM.from_arrays(*model.to_arrays())
    for one in (model, again):
        one.update(X[200:230])
        assert one.is_ready
    assert model_bytes(model) == model_bytes(again)


def test_an_interrupt_of_the_first_learning_leaves_rows_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, _, _ = sequence(3, 120)
    model = OnlineHDPHSMM(warm_up=100).update(X[:99])
    before = model_bytes(model)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineHDPHSMM, "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.update(X[99:100])
    assert model_bytes(model) == before


# ---------------------------------------------------------------- live
@pytest.mark.parametrize(("most", "n_rows"), [(60, 5), (2, 6), (3, 6)])
def test_the_filter_is_the_forward_recursion(most: int, n_rows: int) -> None:
    """Rows one by one, beyond the longest duration, against the sum over all paths."""
    X, _, _ = sequence(0, 60)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE, max_duration=most).update(X)
    model.merge_now().end_sequence()
    chain = model._semi_markov("test")
    density = model._log_density(X[:12], model._confirmed())
    with np.errstate(divide="ignore"):
        move = np.log(chain.move)
    k = len(chain.id)
    start = np.full(k, -np.log(k))
    assert chain.hazard()[:, -1].tolist() == [1.0] * k
    for n in range(1, n_rows + 1):
        total = np.full(k, -np.inf)
        for path in oracle.all_paths(n, k, most):
            value = oracle.path_value(
                path, density, start, move, chain.log_duration, chain.log_survival
            )
            total[path[-1][0]] = np.logaddexp(total[path[-1][0]], value)
        found = model.filter_one(X[n - 1])
        expected = np.exp(total - logsumexp(total))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_filter_goes_on_from_what_was_learned_and_is_saved() -> None:
    X, label, _ = sequence(1, 80)
    n = 1500
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE).update(X[:n])
    with same_bytes(model):
        ahead = model.predict_next(2)
    np.testing.assert_allclose(ahead.sum(axis=1), 1.0)
    right, found = 0, model.predict(X)
    for x, state in zip(X[n:], label[n:], strict=True):
        proba = model.filter_one(x)
        own = model.clusters().id[proba.argmax()]
        right += int(np.bincount(label[found == own]).argmax() == state)
    assert right > 0.97 * (len(X) - n)
    again = OnlineHDPHSMM.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict_next(3), model.predict_next(3))
    assert model_bytes(again) == model_bytes(model)
    model.learn_one(X[0])
    assert model.predict_next(1).shape == (1, model.n_clusters)


def test_a_row_out_of_reach_does_not_break_the_filter() -> None:
    X, _, _ = sequence(0, 60)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE).update(X)
    for x in (np.full(6, 1e6), X[-1], np.full(6, -1e100)):
        proba = model.filter_one(x)
        assert np.isfinite(proba).all()
        assert proba.sum() == pytest.approx(1.0)


def test_draws_are_the_seeds_and_like_what_was_learned() -> None:
    X, _, _ = sequence(2, 120)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE, seed=3).update(X).merge_now()
    with same_bytes(model):
        rows, labels = model.sample(4000)
        again, _ = model.sample(4000, seed=3)
        other, _ = model.sample(4000, seed=4)
        path, on_path = model.sample_path(300)
    assert rows.tobytes() == again.tobytes() != other.tobytes()
    assert set(labels.tolist()) <= set(model.clusters().id.tolist())
    assert (model.predict(rows) == labels).mean() > 0.99
    _, start, stop = segments_of(labels[:-60])
    assert np.mean(stop - start) == pytest.approx(np.mean(MEANS), rel=0.1)
    assert path.shape == (300, 6)
    state, start, stop = segments_of(on_path)
    mean = dict(zip(model.clusters().id.tolist(), model.clusters().mean, strict=True))
    middle = (start[2] + stop[2] - 1) // 2
    near = np.abs(path[middle] - mean[int(state[2])]).max()
    assert near < np.abs(path[start[2]] - mean[int(state[2])]).max() + 1e-9
    assert model.sample_path(1)[0].shape == (1, 6)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lambda_": "most"}, "lambda_ must be a number > 0 or 'auto'"),
        ({"noise": "some"}, "noise must be a number > 0 or 'auto'"),
        ({"lambda_2": -1.0}, "lambda_2 must be >= 0"),
        ({"lambda_3": -1.0}, "lambda_3 must be >= 0"),
        ({"lambda_4": -1.0}, "lambda_4 must be >= 0"),
        ({"duration": "poisson"}, "duration must be one of"),
        ({"max_duration": 0}, "max_duration must be an int >= 1"),
        ({"emission": "linear"}, "emission must be one of"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        OnlineHDPHSMM(**{"lambda_": 1.0, "noise": 1.0, **options})


def test_bad_questions_are_refused() -> None:
    model = OnlineHDPHSMM(5.0, noise=0.5)
    for ask in (
        lambda: model.decode([[0.0]]),
        lambda: model.filter_one([0.0]),
        lambda: model.sample(3),
        lambda: model.transition_matrix(),
        lambda: model.durations(),
    ):
        with pytest.raises(NotReadyError, match="none has come"):
            ask()
    model.end_sequence().update([[0.0]] * 3)
    for ask in (lambda: model.decode([[0.0]]), lambda: model.predict_next()):
        with pytest.raises(NotReadyError, match="a confirmed cluster"):
            ask()
    assert model.transition_matrix().shape == (0, 0)
    model.update([[0.0]] * 3)
    for call, told in (
        (lambda: model.decode(np.empty((0, 1))), "at least one row"),
        (lambda: model.score_samples([[np.nan]]), "finite"),
        (lambda: model.decode([[np.inf]]), "finite"),
        (lambda: model.decode([[0.0, 1.0]]), "1 columns"),
        (lambda: model.predict_next(0), "steps must be an int >= 1"),
        (lambda: model.sample(0), "n_samples must be an int >= 1"),
        (lambda: model.sample(3, seed="x"), "seed must be"),
        (lambda: model.transition_matrix(-1.0), "smoothing must be >= 0"),
        (lambda: model.filter_one([[0.0]]), "x must be one row"),
    ):
        with same_bytes(model), pytest.raises(ValueError, match=told):
            call()
    assert model.durations().count.tolist() == [0]
    assert np.isnan(model.durations().mean).all()


@pytest.mark.parametrize("size", [1, 7, 256])
def test_chunks_of_any_size_give_the_same_bits(size: int) -> None:
    X, _, _ = sequence(0, 60, outliers=0.05)
    whole = OnlineHDPHSMM(LAMBDA, noise=NOISE, lambda_4=0.1).update(X)
    parts = OnlineHDPHSMM(LAMBDA, noise=NOISE, lambda_4=0.1)
    for k in range(0, len(X), size):
        parts.update(X[k : k + size])
    assert model_bytes(parts) == model_bytes(whole)


def test_a_lone_state_may_last() -> None:
    chain = SemiMarkov(
        np.array([3]), np.zeros((1, 1)), np.zeros((1, 2)), np.zeros((1, 2))
    )
    assert chain.lasting(2) is chain
    longer = chain.lasting(5)
    assert longer.most == 5
    assert np.isfinite(longer.log_survival).all()


@pytest.mark.parametrize("width", [1, 2, 3, 6, 10])
def test_the_rule_for_compact_states_finds_them(width: int) -> None:
    """Six states nine apart; right in 120 of 120 other draws, 3 times in 116."""
    lambda_ = 1.5 * chi2.isf(1e-5, width)
    for seed in range(4):
        rng = np.random.default_rng([seed, width])
        at: list[np.ndarray] = []
        while len(at) < 6:
            size = 9.0 * 6.0 ** (1.0 / width) * (0.9 + 0.05 * len(at))
            one = rng.uniform(-size, size, size=width)
            if all(np.linalg.norm(one - other) >= 9.0 for other in at):
                at.append(one)
        stays = 1 + rng.poisson(30, size=100)
        z = np.cumsum(1 + rng.integers(5, size=100)) % 6
        X = np.repeat(np.array(at)[z], stays, axis=0)[:2000]
        X = X + rng.normal(size=X.shape)
        assert OnlineHDPHSMM(lambda_, noise=1.0).update(X).merge_now().n_clusters == 6
