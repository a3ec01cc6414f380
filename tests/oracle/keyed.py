"""Levels, histories and weights of a model for keys, row by row, in plain Python.

`KeyedOracle` says what a `KeyedStream` without own trees answers: it goes through the
rows one by one, and has dicts where the model has arrays. The two shared streams are
`AveragedStream`s, which have oracles of their own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dyntree import AveragedStream

FADES = (1.0, 0.97, 0.85)
SHRINKAGES = (math.inf, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
PAIRS = [(f, shrinkage) for f in FADES for shrinkage in SHRINKAGES]
START = (0.45, 0.45)


def shares_of(log_weights: Any) -> np.ndarray:
    """Log weights -> weights that sum to one."""
    values = np.exp(np.array(log_weights) - max(log_weights))
    return np.asarray(values / values.sum())


class KeyedOracle:
    """A model for keys without own trees.

    Parameters
    ----------
    kind : {"real", "class", "count"}
    streams : (AveragedStream, AveragedStream)
        Of level and history, without rows.
    labels : tuple
        All labels, where responses are some.
    block : int
    """

    def __init__(
        self, kind: str, streams: tuple[AveragedStream, AveragedStream],
        labels: tuple[Any, ...] = (), block: int = 100,
    ) -> None:  # fmt: skip
        self.kind, (self.level, self.history) = kind, streams
        self.labels, self.block = labels, block
        self.past: dict[Any, list[Any]] = {}  # responses and exposures of each key
        self.residuals: dict[Any, list[float]] = {}
        self.observed: dict[Any, Any] = {}  # N and E, faded, of counts and labels
        self.log_weights: dict[Any, list[float]] = {}
        self.by_age = [[0.0, 0.0] for _ in range(12)]
        self.grid = [0.0] * len(PAIRS)
        self.rows: list[Any] = []  # of the block
        self.n = 0
        self.end = 10
        self.totals: list[Any] = []  # all responses and exposures of ended blocks

    # ------------------------------------------------------------ one row
    def offsets(self, key: Any) -> list[float]:
        """Level of a key by each pair of a fade and a shrinkage."""
        found = []
        for fade, shrinkage in PAIRS:
            n = total = 0.0
            for residual in self.residuals.get(key, []):
                n, total = fade * n + 1.0, fade * total + residual
            found.append(total / (n + shrinkage))
        return found

    def inputs(self, key: Any) -> list[float]:
        """History of a key as columns."""
        past, n = self.past.get(key, []), len(self.totals)
        if self.kind == "class":
            shares, lasts = [], []
            for label in self.labels[1:]:
                usual = sum(y == label for y, _ in self.totals) / max(n, 1)
                own = sum(y == label for y, _ in past)
                shares.append((own + 2.0 * usual) / (len(past) + 2.0))
                lasts.append(float(bool(past) and past[-1][0] == label))
            return [*shares, *lasts, math.log1p(len(past))]
        if self.kind == "real":
            mean = sum(y for y, _ in self.totals) / max(n, 1)
            own = (sum(y for y, _ in past) + 2.0 * mean) / (len(past) + 2.0)
            return [own, past[-1][0] if past else mean, math.log1p(len(past))]
        events, over = sum(y for y, _ in self.totals), sum(e for _, e in self.totals)
        usual = (events + 0.5) / (over or 1.0)
        added = 2.0 * (over or 1.0) / max(n, 1)
        own = sum(y for y, _ in past) + added * usual
        rate = own / (sum(e for _, e in past) + added)
        last = (past[-1][0] + 0.5) / past[-1][1] if past else usual
        return [math.log(rate), math.log(last), math.log1p(len(past))]

    def answer(self, x: np.ndarray, key: Any, exposure: float = 1.0) -> dict[str, Any]:
        """Prediction of a row of a key: mean or probabilities, and of each member."""
        at = {"exposure": [exposure]} if self.kind == "count" else {}
        base = self.level.predict(x[None], **at)
        wide = np.concatenate([self.inputs(key), x])[None]
        by_history = self.history.predict(wide, **at)
        n = len(self.past.get(key, []))
        age = min(int(math.log2(n + 1)), 11)
        own = self.log_weights.get(key, [math.log(w / sum(START)) for w in START])
        shares = shares_of([a + b for a, b in zip(own, self.by_age[age], strict=True)])
        found: dict[str, Any] = {"age": age, "shares": shares, "base": base, "own": own}
        if self.kind == "real":
            v = float(shares_of(self.grid) @ np.array(self.offsets(key)))
            found |= {"at": v, "members": (base.shifted(np.array([v])), by_history)}
            means = [one.mean[0] for one in found["members"]]
            return found | {"mean": float(shares @ np.array(means))}
        N, E = self.observed.get(key, (0.0, 0.0))
        factor = (np.asarray(N) + 2.0) / (np.asarray(E) + 2.0)
        if self.kind == "count":
            by_level = self.level.predict(x[None], exposure=[exposure * float(factor)])
            found |= {"at": float(factor), "members": (by_level, by_history)}
            means = [one.mean[0] for one in found["members"]]
            return found | {"mean": float(shares @ np.array(means))}
        rated = base.proba[0] * factor
        members = rated / rated.sum(), by_history.proba[0]
        found |= {"at": 1.0, "members": members}
        return found | {"mean": shares @ np.array(members)}

    def learn(self, x: np.ndarray, key: Any, y: Any, exposure: float = 1.0) -> None:
        """Learn a row; its block ends where it is due."""
        row = {"x": x, "y": y, "exposure": exposure, "at": 0.0, "miss": None,
               "gains": None, "age": 0, "inputs": self.inputs(key)}  # fmt: skip
        if self.kind == "count":
            row["at"] = 1.0
        if self.n >= 10:
            found = self.answer(x, key, exposure)
            row |= {"at": found["at"], "age": found["age"]}
            self._move(key, y, found, row)
        else:
            n = len(self.past.get(key, []))
            row |= {"age": min(int(math.log2(n + 1)), 11), "gains": [0.0, 0.0]}
            before = self.log_weights.get(key, [math.log(0.5)] * 2)
            after = [0.98 * value for value in before]
            if self.n > (0 if self.kind != "real" else 1):  # which have a density
                self.log_weights[key] = [value - max(after) for value in after]
            else:
                row["gains"] = None
        self.past.setdefault(key, []).append((y, exposure))
        self.rows.append((key, row))
        self.n += 1
        if self.n == self.end:
            self._end_block()

    def _move(
        self, key: Any, y: Any, found: dict[str, Any], row: dict[str, Any]
    ) -> None:
        """Move level and weights of a key by a row."""
        if self.kind == "real":
            base, before = found["base"], self.residuals.setdefault(key, [])
            residual, sd = y - base.mean[0], math.sqrt(base.var[0])
            if before:
                errors = [(residual - offset) / sd for offset in self.offsets(key)]
                row["miss"] = [math.log(1.0 + e * e / 4.0) for e in errors]
            before.append(residual)
            densities = [float(one.log_density([y])[0]) for one in found["members"]]
        elif self.kind == "count":
            N, E = self.observed.get(key, (0.0, 0.0))
            self.observed[key] = 0.99 * N + y, 0.99 * E + found["base"].mean[0]
            densities = [float(one.log_density([y])[0]) for one in found["members"]]
        else:
            place = self.labels.index(y)
            hit = np.arange(len(self.labels)) == place
            N, E = self.observed.get(key, (np.zeros(len(hit)), np.zeros(len(hit))))
            self.observed[key] = 0.99 * N + hit, 0.99 * E + found["base"].proba[0]
            densities = [math.log(one[place]) for one in found["members"]]
        gains = [max(d - max(densities), -30.0) for d in densities]
        after = [0.98 * (w + 0.3 * g) for w, g in zip(found["own"], gains, strict=True)]
        self.log_weights[key] = [value - max(after) for value in after]
        row["gains"] = gains

    def _end_block(self) -> None:
        """Let the streams learn the block, and move what all keys share."""
        rows = [row for _, row in self.rows]
        totals = self.totals + [(row["y"], row["exposure"]) for row in rows]
        if self.n == 10:  # the streams begin: with what all ten rows are on average
            self.totals = totals
            keys, self.past, past = [key for key, _ in self.rows], {}, self.past
            for key, row in zip(keys, rows, strict=True):
                row["inputs"] = self.inputs(key)
                self.past.setdefault(key, []).append((row["y"], row["exposure"]))
            self.past = past
        X = np.array([row["x"] for row in rows])
        wide = np.array([[*row["inputs"], *row["x"]] for row in rows])
        y = np.array([row["y"] for row in rows])
        at = np.array([row["at"] for row in rows])
        exposure = np.array([row["exposure"] for row in rows])
        if self.kind == "count":
            self.level.update(X, y, exposure=exposure * at)
            self.history.update(wide, y, exposure=exposure)
        else:
            self.level.update(X, y - at if self.kind == "real" else y)
            self.history.update(wide, y)
        self.level.part_from_last_row()
        self.history.part_from_last_row()
        for row in rows:
            if row["gains"] is not None:
                old = self.by_age[row["age"]]
                pairs = zip(old, row["gains"], strict=True)
                new = [0.98 * (w + 0.3 * gain) for w, gain in pairs]
                self.by_age[row["age"]] = [value - max(new) for value in new]
            if row["miss"] is not None:
                grid = [
                    0.999 * (w - 2.5 * m)
                    for w, m in zip(self.grid, row["miss"], strict=True)
                ]
                self.grid = [value - max(grid) for value in grid]
        self.totals, self.rows = totals, []
        self.end = self.n + min(max(self.n // 32, 1), self.block)
