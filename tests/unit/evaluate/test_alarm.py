"""ChangeAlarm: ranks by hand, few false alarms, changes found, the same from files."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree import ChangeAlarm
from dyntree.checkpoint import dumps, loads
from dyntree.errors import CheckpointError
from tests.contract import check_twins, twins_of
from tests.helpers import changed_file, same_bytes

FALSE_FAIL = 1e-6
LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: -(rng.normal(size=n) ** 2),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "errors": lambda rng, n: -(rng.random(n) < 0.3).astype(float),
    "labels": lambda rng, n: np.log(
        rng.choice([0.0, 0.1, 0.9], p=[0.01, 0.2, 0.79], size=n) + 0.0 * rng.random(n)
    ),
    "constant": lambda rng, n: np.zeros(n),
}  # fmt: skip


@pytest.fixture(autouse=True)
def logs_of_zero() -> Any:
    with np.errstate(divide="ignore"):
        yield


def fed(scores: Any, rate: float = 1e-5, **options: Any) -> tuple[ChangeAlarm, list]:
    """An alarm that has taken scores, and the rows at which it was given."""
    alarm = ChangeAlarm(rate, **{"seed": 1} | options)
    return alarm, [k for k, score in enumerate(scores) if alarm.update(score)]


def by_hand(scores: list[float], rate: float, memory: int, seed: int) -> Any:
    """What the docstring says, row by row over all scores of a block."""
    draw, born, told = Random(seed), [], []
    c, r = np.array([[0.1, 0.2, 0.3], [0.3, 0.5, 0.7]])
    for t, score in enumerate(scores):
        if not born or t - born[-1]["start"] == memory // 2:
            born = [*born[-1:], {"start": t, "sums": np.zeros(7)}]
        u, k, ranks = 1.0 - draw.random(), np.arange(1, 5), []
        for block in born:
            seen = np.array(scores[block["start"] : t + 1])
            below, equal = (seen < score).sum(), (seen == score).sum()
            ranks.append((below + u * equal) / len(seen))
            bets = (1.0 - k / 5.0) * ranks[-1] ** (-k / 5.0)
            steps = np.where(ranks[-1] < c, r / c, (1.0 - r) / (1.0 - c))
            bets = np.append(bets, steps)
            block["sums"] = (block["sums"] + 1.0) * bets
        evidence = max(block["sums"].mean() for block in born)
        told.append((ranks[0], math.log(evidence), bool(evidence >= 4.0 / rate)))
        if told[-1][2]:
            born = []
    return told


@pytest.mark.parametrize("name", LAWS)
def test_it_does_what_it_says(name: str) -> None:
    rng = np.random.default_rng(0)
    scores = [*LAWS[name](rng, 500), *(LAWS[name](rng, 150) * 9.0 - 9.0)]
    alarm, found = ChangeAlarm(1e-3, memory=101, seed=3), 0
    for score, (rank, evidence, is_found) in zip(
        scores, by_hand(scores, 1e-3, 101, 3), strict=True
    ):
        assert alarm.update(score) is is_found
        assert alarm.p_value == pytest.approx(rank, rel=1e-12)
        assert alarm.log_evidence == pytest.approx(evidence, rel=1e-9, abs=1e-9)
        assert (alarm.log_evidence >= alarm.log_threshold) is is_found
        found += is_found
    assert (alarm.n_rows, alarm.n_alarms) == (650, found)
    assert found >= 1
    assert alarm.last_alarm is not None
    assert 500 <= alarm.last_alarm < 650


@pytest.mark.parametrize("name", LAWS)
def test_ranks_are_uniform_and_independent_where_nothing_changes(name: str) -> None:
    """False-fail rate FALSE_FAIL of each of two questions."""
    rng = np.random.default_rng(1)
    alarm = ChangeAlarm(memory=200, seed=2)
    ranks = []
    for score in LAWS[name](rng, 20_000):
        alarm.update(score)
        ranks.append(alarm.p_value)
        if alarm.n_rows % 200 == 0:
            alarm.reset()  # one block: what begins in its midst ranks the same rows
    assert stats.kstest(ranks, "uniform").pvalue > FALSE_FAIL
    places = np.minimum((np.array(ranks) * 5).astype(int), 4)
    pairs = np.bincount(5 * places[:-1] + places[1:], minlength=25)
    assert stats.chisquare(pairs).pvalue > FALSE_FAIL


@pytest.mark.parametrize("name", LAWS)
def test_false_alarms_are_as_few_as_asked(name: str) -> None:
    """As if alarms were independent and as many as they may be; there are fewer."""
    n, rate = 40_000, 1e-2
    alarm, _ = fed(LAWS[name](np.random.default_rng(4), n), rate, memory=500)
    assert alarm.n_alarms <= stats.poisson.ppf(1.0 - FALSE_FAIL, n * rate)


def test_it_tells_what_it_has_seen() -> None:
    alarm = ChangeAlarm(1e-5, seed=1)
    assert repr(alarm) == ("<ChangeAlarm: 0 alarms in 0 rows, false alarm rate 1e-05>")
    alarm, rows = fed([*range(500), *([-1.0] * 60)])
    assert rows[0] == alarm.last_alarm
    assert "1 alarm in 560 rows" in repr(alarm)


CHANGES: dict[str, tuple[Callable[..., np.ndarray], int]] = {
    # rows after a change, and the most rows that half of all alarms take
    "mean by 1 sd": (lambda rng, n: -(rng.normal(1.0, 1.0, n) ** 2), 200),
    "mean by 2 sd": (lambda rng, n: -(rng.normal(2.0, 1.0, n) ** 2), 40),
    "twice the noise": (lambda rng, n: -(rng.normal(0.0, 2.0, n) ** 2), 80),
    "heavy tails": (lambda rng, n: -(rng.standard_t(1, n) ** 2), 120),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("n_before", [1000, 1990, 2500])
def test_changes_are_found_within_200_rows(name: str, n_before: int) -> None:
    """At least 12 of 20: each is found with a probability above .95, so that 9 misses
    have one below FALSE_FAIL."""
    after, usual = CHANGES[name]
    delays = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = [*LAWS["normal"](rng, n_before), *after(rng, 200)]
        _, rows = fed(scores, seed=seed)
        delays += [row - n_before + 1 for row in rows[:1] if row >= n_before]
    assert len(delays) >= 12
    assert np.median(delays) <= usual


def test_labels_that_flip_are_found_and_found_again() -> None:
    """Labels are predicted with .9, then with .1, and the model learns the new ones;
    250 rows later they flip again. False alarms: at most 1e-5 in each of ten runs."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        right = np.repeat([1.0, 0.0, 1.0, 0.0], [1500, 40, 250, 100])
        right = np.where(rng.random(len(right)) < 0.9, right, 1.0 - right)
        scores = np.log(np.where(right > 0.0, 0.9, 0.1))
        _, rows = fed(scores, 1e-8, seed=seed)
        assert len(rows) == 2, rows
        assert 1500 <= rows[0] < 1540
        assert 1790 <= rows[1] < 1890


def test_labels_that_flip_are_found_before_the_model_has_learned_them() -> None:
    """A model is wrong in .25 of the rows, then in .75, and in .25 200 rows later: at
    least 12 of 20, each with a probability above .95; 9 misses: below FALSE_FAIL."""
    delays = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wrong = np.append(np.full(1500, 0.25), np.linspace(0.75, 0.25, 200))
        _, rows = fed(-(rng.random(len(wrong)) < wrong).astype(float), seed=seed)
        delays += [row - 1499 for row in rows[:1] if row >= 1500]
    assert len(delays) >= 12
    assert np.median(delays) < 80


def test_a_change_soon_after_an_alarm_is_found() -> None:
    """By 2 standard deviations, 200 rows after the row of an alarm. False alarms: at
    most 1e-5 in each of ten runs; a delay of 100 rows is rarer."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        alarm, rows = ChangeAlarm(1e-8, seed=seed), []
        level = 0.0
        for t in range(3000):
            if t == 1500 or (rows and t == rows[0] + 200):
                level += 2.0  # of what the model foresees: it has learned the first
            at = level - 2.0 * bool(rows)
            if alarm.update(-((rng.normal() + at) ** 2)):
                rows.append(t)
            if len(rows) == 2:
                break
        assert rows[0] - 1500 < 100
        assert rows[1] - rows[0] - 200 < 100


@pytest.mark.parametrize("shape", ["steady", "early", "steps"])
def test_a_model_that_becomes_better_gives_no_alarm(shape: str) -> None:
    """Chance would give one with a probability of at most 1e-5: n * rate / 2."""
    t = np.arange(20_000.0)
    level = {"steady": t / 5000.0, "early": -20.0 / (1.0 + t / 50.0),
             "steps": np.floor(t / 3000.0)}[shape]  # fmt: skip
    alarm, _ = fed(level - np.random.default_rng(0).normal(size=len(t)) ** 2, 1e-9)
    assert alarm.n_alarms == 0


@pytest.mark.parametrize("n_rows", [0, 1, 60, 100, 230, 1003])
def test_it_goes_on_alike_after_every_file(n_rows: int) -> None:
    scores = LAWS["labels"](np.random.default_rng(0), n_rows + 300)
    scores[-40:] -= 9.0
    alarm, _ = fed(scores[:n_rows], memory=100)
    assert {repr(twin) for twin in twins_of(alarm)} == {repr(alarm)}
    raised: list[list[bool]] = []
    check_twins(
        alarm, lambda twin: raised.append([twin.update(x) for x in scores[n_rows:]])
    )
    assert all(alarms == raised[0] for alarms in raised)


@pytest.mark.usefixtures("drawn_seeds")
def test_seeds_are_all_that_chance_comes_from() -> None:
    scores = LAWS["errors"](np.random.default_rng(0), 300)
    one, other, third = (fed(scores, seed=seed)[0] for seed in (1, 1, 2))
    assert dumps(one) == dumps(other)
    assert one.p_value != third.p_value
    assert ChangeAlarm().seed != ChangeAlarm().seed


def test_after_a_reset_nothing_is_compared_with() -> None:
    alarm, _ = fed(LAWS["normal"](np.random.default_rng(0), 300))
    alarm.reset()
    assert math.isnan(alarm.p_value)
    assert alarm.log_evidence == -math.inf
    assert alarm.n_rows == 300
    assert [alarm.update(-1e9) for _ in range(20)] == [False] * 20


@pytest.mark.parametrize(
    "score",
    [math.nan, math.inf, np.float64("nan"), np.float32("inf"), None, "1", True, [1.0],
     np.array([1.0, 2.0]), 1j],
)  # fmt: skip
def test_a_bad_score_changes_nothing(score: Any) -> None:
    alarm, _ = fed(LAWS["normal"](np.random.default_rng(0), 150), memory=100)
    with same_bytes(alarm, dumps), pytest.raises(ValueError, match="score must"):
        alarm.update(score)


@pytest.mark.parametrize("score", [1, np.int64(1), np.float32(1), np.float64(1), 1.0])
def test_numbers_of_any_type_are_scores(score: Any) -> None:
    one, _ = fed([0.0, 2.0, score])
    assert dumps(one) == dumps(fed([0.0, 2.0, 1.0])[0])
    endless, _ = fed([np.float64(-np.inf), np.float32(-np.inf), -math.inf])
    assert endless.n_rows == 3


CHANGED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"false_alarm_rate": 0.0}, {}), ({"memory": 5}, {}), ({"seed": -1}, {}),
    ({"n_rows": -1}, {}), ({"n_rows": 3}, {}), ({"n_alarms": 10**6}, {}),
    ({"last_alarm": 230}, {}), ({"p_value": "x"}, {}), ({"memory": 102}, {}),
    ({}, {"random": np.zeros(3, np.int64)}), ({}, {"random": None}),
    ({}, {"scores_0": None}), ({}, {"sums_1": None}), ({}, {"more": np.zeros(1)}),
    ({}, {"sums_0": np.zeros(3)}), ({}, {"sums_0": np.full(7, np.inf)}),
    ({}, {"sums_0": np.full(7, -1.0)}), ({}, {"scores_0": np.zeros(0)}),
    ({}, {"scores_0": np.arange(80.0)[::-1].copy()}),
    ({}, {"scores_0": np.full(80, np.nan)}), ({}, {"scores_0": np.full(80, np.inf)}),
    ({}, {"scores_0": np.zeros((80, 1))}), ({}, {"scores_0": np.zeros(80, np.int64)}),
    ({}, {"scores_1": np.zeros(31)}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHANGED)))
def test_a_file_that_describes_none_is_refused(number: int) -> None:
    alarm, _ = fed(LAWS["normal"](np.random.default_rng(0), 230), memory=100)

    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        assert [len(arrays[name]) for name in ("scores_0", "scores_1")] == [80, 30]
        header["model"] |= CHANGED[number][0]
        for name, array in CHANGED[number][1].items():
            arrays[name] = array
            if array is None:
                del arrays[name]

    data = changed_file(alarm, change)
    with pytest.raises(CheckpointError):
        loads(data)


def test_several_threads_may_feed_one_alarm() -> None:
    alarm = ChangeAlarm(memory=100, seed=1)

    def work(k: int) -> None:
        for score in LAWS["normal"](np.random.default_rng(k), 500):
            alarm.update(score)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alarm.n_rows == 2000
    assert dumps(loads(dumps(alarm))) == dumps(alarm)
