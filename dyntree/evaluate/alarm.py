"""ChangeAlarm: whether the scores of a stream have become worse, at a stated rate."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from random import Random
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.checkpoint import Stored, savable
from dyntree.errors import ArgumentError, Message
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.seeds import given_or_drawn

SHARES = (0.1, 0.3), (0.2, 0.5), (0.3, 0.7)  # bets (c, r): see the Notes
CUTS = tuple(c for c, _ in SHARES)
STEPS = [  # what these bets pay for a rank below each cut, and above all
    tuple(r / c if cut <= c else (1.0 - r) / (1.0 - c) for c, r in SHARES)
    for cut in (*CUTS, 1.0)
]
N_BETS = 4 + len(SHARES)  # four powers before
BLOCKS = 4.0  # threshold times rate: half of it for the two blocks, half for the mean
FEWEST = 100  # rows to compare with, of the shortest memory


class Block:
    """Scores of successive rows, and the evidence that the later ones are worse.

    Attributes
    ----------
    scores : list of float
        In increasing order.
    sums : list of float of length N_BETS
        Shiryaev-Roberts sums: over all earlier rows, what a bet has made of 1 since.
    """

    __slots__ = ("scores", "sums")

    def __init__(self, scores: list[float], sums: list[float]) -> None:
        self.scores, self.sums = scores, sums

    def take(self, score: float, u: float) -> float:
        """Add a score; return its rank among all here, u in (0, 1] parting equals."""
        scores, sums = self.scores, self.sums
        below = bisect_left(scores, score)
        upto = bisect_right(scores, score, below)
        scores.insert(upto, score)
        p = (below + u * (upto - below + 1)) / len(scores)
        root = p**-0.2
        square = root * root
        gains = (
            0.8 * root, 0.6 * square, 0.4 * square * root, 0.2 * square * square,
            *STEPS[bisect_right(CUTS, p)],
        )  # fmt: skip
        self.sums = [(s + 1.0) * gain for s, gain in zip(sums, gains, strict=True)]
        return p

    @property
    def evidence(self) -> float:
        """Mean of the sums."""
        return sum(self.sums) / N_BETS


@savable
class ChangeAlarm(Suggesting, Stored):
    """An alarm for worse scores of a stream, with a given false alarm rate.

    The alarm takes one number per row, which is small if the row was predicted badly.
    The tail probability of the response (`Prediction.tail_probability`) works best; its
    log predictive density works too. Each number is ranked among those of up to
    `memory` rows before it, and bets are placed on low ranks. An alarm is given once
    the bets have gained so much that chance alone would take ``1 / false_alarm_rate``
    rows for it. Then all scores are forgotten, and rows after the alarm are compared
    with one another.

    Parameters
    ----------
    false_alarm_rate : float in (0, 1), default 1e-5
        Largest rate of false alarms per row. The default is one in 100,000 rows.
    memory : int, default 2000
        Number of earlier rows with which a score is compared, at least 100. Memory and
        time are proportional to it. Half of these rows are forgotten at a time.
    seed : int, optional
        Seed of the random order of equal scores; by default drawn from the system.

    Attributes
    ----------
    false_alarm_rate, memory, seed
        The arguments.
    n_rows : int
        Number of scores so far.
    n_alarms : int
        Number of alarms so far.
    last_alarm : int or None
        Row of the last alarm; the first row is 0.
    p_value : float
        Rank of the last score among those before it, which is uniform if nothing
        changes; NaN before the first.
    log_evidence : float
        Log of the gain of the bets at the last row; -inf before the first.
    log_threshold : float
        Value of `log_evidence` that gives an alarm.

    Notes
    -----
    Rows form blocks of `memory` rows, and a new block begins every ``memory / 2`` rows.
    In a block, p is the rank of a score among the scores so far, with ties in random
    order. Each of seven bets e(p) updates its sum S = (S + 1) e(p) (Vovk, Nouretdinov
    and Gammerman 2003; the e-detector of Shin, Ramdas and Rinaldo 2023). Four bets are
    powers, b p^(b - 1) with b = .2, .4, .6 and .8, for scores with many values. The
    other three are for errors and labels. They are r/c if p < c and (1 - r)/(1 - c)
    otherwise, with c = .1, .2, .3 and r = .3, .5, .7, so that they bet on a share r of
    ranks below c. An alarm is given if the mean of the seven sums of a block reaches
    ``4 / false_alarm_rate``.

    **Guarantee.** As long as scores are exchangeable, for instance independent with the
    same distribution, the ranks in a block are independent and uniform, even if the
    model is wrong. S minus the number of rows is then a martingale. By Doob's
    inequality for the two blocks, the probability of an alarm within n rows is at most
    ``n * false_alarm_rate / 2``, from the start and after each alarm. The mean time to
    a false alarm is therefore at least ``1 / false_alarm_rate`` rows, and usually much
    longer.

    **Limits.** Scores that depend on one another, as in seasons or bursts of noise, are
    not exchangeable; an alarm then means that the scores have changed, but perhaps not
    the stream. Tail probabilities are nearly uniform and independent if the model is
    right, even when the inputs or the noise known to the model change. Log densities
    also become smaller when rows move to a region with more noise or when the model
    becomes less certain, so that they can give an alarm without a change.

    **Delay.** The time until an alarm depends on the change of the scores. For a normal
    response, with 1000 or more rows before the change, the median is about 75 rows for
    a shift of one standard deviation, 11 for two, 21 for twice the noise, and 13 to 35
    for a flip of labels (tests/statistical/alarms.txt). In the first hundred rows, and
    after an alarm, only large changes are detected, because there are few rows to
    compare with. There is no alarm if scores improve, if the model adapts within a few
    rows, or if the scores worsen over more rows than `memory`.

    References
    ----------
    Shin, J., Ramdas, A. and Rinaldo, A. (2023). E-detectors: a nonparametric framework
    for sequential change detection. New England Journal of Statistics in Data Science
    2(2), 229-260.

    Vovk, V., Nouretdinov, I. and Gammerman, A. (2003). Testing exchangeability on-line.
    Proceedings of the 20th International Conference on Machine Learning, 768-775.

    Examples
    --------
    >>> import dyntree
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> alarm = dyntree.ChangeAlarm(seed=1)
    >>> errors = np.append(rng.normal(size=1000), rng.normal(size=100, scale=4.0))
    >>> for row, error in enumerate(errors):
    ...     if alarm.update(-(error**2)):
    ...         print(row)
    1015
    """

    def __init__(
        self,
        false_alarm_rate: float = 1e-5,
        *,
        memory: int = 2000,
        seed: int | None = None,
    ) -> None:
        rate = params.positive("false_alarm_rate", false_alarm_rate)
        if not rate < 1.0:
            raise ArgumentError(
                "false_alarm_rate",
                "must be in (0, 1)",
                false_alarm_rate,
                "Give the number of alarms per row, such as 1e-5.",
            )
        self.false_alarm_rate = rate
        self.memory = params.count("memory", memory, FEWEST)
        self.seed = given_or_drawn(seed)
        self.n_rows = self.n_alarms = 0
        self.last_alarm: int | None = None
        self.p_value, self.log_evidence = math.nan, -math.inf
        self._threshold = BLOCKS / rate
        self._half = self.memory // 2
        self._random = Random(self.seed)
        self._blocks: list[Block] = []
        self._lock = ModelLock()

    def __repr__(self) -> str:
        alarms = "1 alarm" if self.n_alarms == 1 else f"{self.n_alarms} alarms"
        return (
            f"<ChangeAlarm: {alarms} in {self.n_rows} rows, false alarm rate "
            f"{self.false_alarm_rate:g}>"
        )

    @property
    def log_threshold(self) -> float:
        """Threshold of the log evidence for an alarm."""
        return math.log(self._threshold)

    @locked
    def update(self, score: float) -> bool:
        """Take the score of the next row; return whether it triggers an alarm.

        Parameters
        ----------
        score : float
            Smaller is worse. -inf is allowed; it is the log probability of a label that
            was not known.

        Returns
        -------
        bool

        Raises
        ------
        ValueError
            If the score is NaN, inf or not a number. The alarm is then as it was before
            the call.
        """
        value = checked_score(score)
        blocks = self._blocks
        if not blocks or len(blocks[-1].scores) == self._half:
            blocks.append(Block([], [0.0] * N_BETS))
            if len(blocks) > 2:
                del blocks[0]
        u = 1.0 - self._random.random()
        ranks = [block.take(value, u) for block in blocks]
        self.p_value = ranks[0]
        evidence = max(block.evidence for block in blocks)
        self.log_evidence = math.log(evidence)
        found = evidence >= self._threshold
        if found:
            self.n_alarms += 1
            self.last_alarm = self.n_rows
            blocks.clear()
        self.n_rows += 1
        return found

    @locked
    def reset(self) -> None:
        """Forget all rows, as after an alarm; the counts are retained."""
        self._blocks.clear()
        self.p_value, self.log_evidence = math.nan, -math.inf

    @locked
    def copy(self) -> Self:
        """Return an independent copy, which continues in the same way."""
        return self.from_arrays(*self.to_arrays())

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state, in the form of `OnlineModel.to_arrays`, as written by `save`."""
        header = {
            "kind": type(self).__name__,
            "false_alarm_rate": self.false_alarm_rate,
            "memory": self.memory,
            "seed": self.seed,
            "n_rows": self.n_rows,
            "n_alarms": self.n_alarms,
            "last_alarm": self.last_alarm,
            "p_value": self.p_value,
            "log_evidence": self.log_evidence,
        }
        arrays = {"random": np.array(self._random.getstate()[1], dtype=np.int64)}
        for k, block in enumerate(self._blocks):
            arrays[f"scores_{k}"] = np.array(block.scores)
            arrays[f"sums_{k}"] = np.array(block.sums)
        return header, arrays

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the alarm that `to_arrays` described, checked."""
        again = cls(
            header["false_alarm_rate"], memory=header["memory"], seed=header["seed"]
        )
        again.n_rows = params.count("n_rows", header["n_rows"], 0)
        again.n_alarms = params.count("n_alarms", header["n_alarms"], 0, again.n_rows)
        if (last := header["last_alarm"]) is not None:
            again.last_alarm = params.count("last_alarm", last, 0, again.n_rows - 1)
        again.p_value = float(header["p_value"])
        again.log_evidence = float(header["log_evidence"])
        rest = dict(arrays)
        words = rest.pop("random").tolist()
        again._random.setstate((Random.VERSION, tuple(words), None))
        for k in range(len(rest) // 2):
            found = block_of(rest.pop(f"scores_{k}"), rest.pop(f"sums_{k}"))
            again._blocks.append(found)
        again._check_blocks(len(rest))
        return again

    def _check_blocks(self, n_others: int) -> None:
        """Raise ValueError where blocks from a file are none of such an alarm."""
        lengths = [len(block.scores) for block in self._blocks]
        newest = lengths[-1] if lengths else 0
        expected = [[], [newest], [newest + self._half, newest]]
        fits = not lengths or 1 <= newest <= self._half
        if n_others or not fits or lengths not in expected:
            raise ValueError("its blocks are odd")
        if max([0, *lengths]) > self.n_rows:
            raise ValueError("it holds more rows than it has taken")


class AlarmedRows:
    """Feeds an alarm with rows as their responses arrive, and calls a listener.

    Parameters
    ----------
    alarm : ChangeAlarm or None
        None is given no row and gives no alarm.
    on_alarm : callable or None
        Called with the number of each row that gives an alarm.

    Attributes
    ----------
    rows : list of int
        Rows that gave an alarm.

    Raises
    ------
    ValueError
        For another alarm, for a listener that cannot be called, or one without alarm.
    """

    def __init__(
        self, alarm: ChangeAlarm | None, on_alarm: Callable[[int], object] | None
    ) -> None:
        if alarm is not None and not isinstance(alarm, ChangeAlarm):
            raise ArgumentError("alarm", "must be a ChangeAlarm", alarm)
        if on_alarm is not None and (alarm is None or not callable(on_alarm)):
            raise ArgumentError(
                "on_alarm",
                "must be a function of the row that triggers an alarm, together with "
                "alarm=ChangeAlarm()",
                Message(
                    "{on_alarm!r} with alarm={alarm!r}", on_alarm=on_alarm, alarm=alarm
                ),
            )
        self._alarm, self._on_alarm = alarm, on_alarm
        self.rows: list[int] = []

    def take(self, row: int, score: float) -> None:
        """Give the alarm the score of a row."""
        if self._alarm is not None and self._alarm.update(score):
            self.rows.append(row)
            if self._on_alarm is not None:
                self._on_alarm(row)


def checked_score(score: Any) -> float:
    """A score as a float that can be ranked."""
    is_float = isinstance(score, float | np.floating)
    value = float(score) if is_float else params.real("score", score)
    if not value < math.inf:
        raise ArgumentError(
            "score", "must be a number or -inf", score, "Leave such rows out."
        )
    return value


def block_of(scores: np.ndarray, sums: np.ndarray) -> Block:
    """A block from a file, checked."""
    in_order = bool(np.all(scores[:-1] <= scores[1:])) and not np.isnan(scores).any()
    if scores.ndim != 1 or scores.dtype != np.float64 or not in_order:
        raise ValueError("its scores are not in order")
    if sums.shape != (N_BETS,) or not np.all((sums >= 0.0) & np.isfinite(sums)):
        raise ValueError("its sums are none")
    if len(scores) and not scores[-1] < math.inf:
        raise ValueError("one of its scores is endless")
    return Block(scores.tolist(), sums.tolist())
