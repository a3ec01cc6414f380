"""Regressions of labels and counts that learn row by row, as plainly as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isinf, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import gammaln

N_FIRST, LEVEL_VARIANCE, LEAST_SQUARE, LEAST_LAM = 10, 25.0, 1e-12, 1e-12
FAR, SLACK, LEAST_P, RETENTION = 10.0, 1.5, 1e-12, 0.998


NODES, NODE_LOGS = np.polynomial.hermite_e.hermegauss(15)
NODE_LOGS = np.log(NODE_LOGS / sqrt(2 * pi)) + NODES**2 / 2


def site(
    e: float, v: float, t: float, times: float = 1.0
) -> tuple[float, float, float]:
    """Log odds N(e, v), and a label t, 0 or 1, so many times -> what is known after it.

    That is the log probability of the label, and the mean and variance of the log odds,
    by nodes about the mode.
    """
    sign = 2 * t - 1

    def slopes(u: float) -> tuple[float, float]:
        p = float(sigmoid(sign * u))
        return times * sign * (1 - p), times * p * (1 - p)

    def log_p(x: Any) -> Any:
        return -times * np.logaddexp(0, -sign * x)

    return moments(e, v, slopes, log_p)


def count_site(
    e: float, v: float, y: float, size: float, offset: float, times: float = 1.0
) -> tuple[float, float, float]:
    """As `site`, for log rates and y events of the log mean `offset` above them."""

    def slopes(u: float) -> tuple[float, float]:
        mean = float(np.exp(min(u + offset, 700.0)))
        over = 0.0 if isinf(size) else mean / size
        return (
            times * (y - mean) / (1 + over),
            times * mean / (1 + over) * (1 + y / size) / (1 + over),
        )

    def log_p(x: Any) -> Any:
        at = x + offset
        if isinf(size):
            log_mass = y * at - np.exp(at)
        else:
            log_mass = y * (at - np.log(size)) - (y + size) * np.log1p(
                np.exp(at) / size
            )
            log_mass += gammaln(y + size) - gammaln(size)
        return times * (log_mass - gammaln(y + 1))

    return moments(e, v, slopes, log_p)


def moments(
    e: float,
    v: float,
    slopes: Callable[[float], tuple[float, float]],
    log_p: Callable[[Any], Any],
) -> tuple[float, float, float]:
    """N(e, v) times what `log_p` is the log of -> log of the integral, mean, variance.

    `slopes` gives the first derivative of it, and the second with the other sign.
    """
    low, high = e - 1000.0, e + 1000.0  # of the mode; its slope falls
    while high - low > 1e-11 * (1 + abs(low)):
        u = (low + high) / 2
        low, high = (u, high) if slopes(u)[0] - (u - e) / v > 0 else (low, u)
    u = (low + high) / 2
    sd = 1 / sqrt(slopes(u)[1] + 1 / v)
    x = u + sd * NODES
    logs = NODE_LOGS + log_p(x) - (x - e) ** 2 / (2 * v)
    log_z = np.logaddexp.reduce(logs)
    share = np.exp(logs - log_z)
    mean = share @ x
    return (
        float(log_z + np.log(sd / sqrt(v))),
        float(mean),
        float(share @ (x - mean) ** 2),
    )


def sigmoid(z: Any) -> Any:
    """1 / (1 + exp(-z))."""
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


@dataclass
class Columns:
    """Units of columns by the first rows, and running means and squares of values."""

    p: int
    place: Any = field(init=False)
    unit: Any = field(init=False)
    n: Any = field(init=False)
    mean: Any = field(init=False)  # in units, from the place
    square: Any = field(init=False)  # sum of squares about it
    values: list[set[float]] = field(init=False)  # of each column so far

    def __post_init__(self) -> None:
        self.place, self.unit = np.full(self.p, np.nan), np.zeros(self.p)
        self.n, self.mean, self.square = np.zeros((3, self.p))
        self.values = [set() for _ in range(self.p)]

    def fix(self, X: Any, times: Any) -> None:
        """Take the units of the first rows."""
        for j in range(self.p):
            there = ~np.isnan(X[:, j])
            x, c = X[there, j], times[there]
            if not len(x):
                continue
            self.place[j] = np.median(x)
            off = np.abs(x - self.place[j])
            self.unit[j] = np.median(off)
            if self.unit[j] == 0:
                self.unit[j] = sqrt(np.mean(off**2))
            z = (x - self.place[j]) / self.unit[j] if self.unit[j] else 0 * x
            z = np.clip(z, -FAR, FAR)
            self.n[j] = c.sum()
            self.mean[j] = c @ z / c.sum()
            self.square[j] = c @ (z - self.mean[j]) ** 2

    def spread(self) -> Any:
        """Standard deviation of each column in its unit."""
        n = np.where(self.n > 0, self.n, 1.0)
        return np.sqrt(np.maximum(self.square / n, LEAST_SQUARE))

    def z(self, x: Any, clip: float) -> Any:
        """A row in units, within `clip` spreads of the means; a gap is the mean."""
        out, s = self.mean.copy(), self.spread()
        for j in range(self.p):
            if not np.isnan(x[j]) and self.unit[j] > 0:
                z = (x[j] - self.place[j]) / self.unit[j]
                low, high = self.mean[j] - clip * s[j], self.mean[j] + clip * s[j]
                out[j] = min(max(z, low), high) if self.is_far(j, x[j]) else z
        return out

    def is_far(self, j: int, value: float) -> bool:
        """Whether it is none of the at most two values that a column has."""
        return len(self.values[j]) > 2 or value not in self.values[j]

    def note(self, x: Any) -> None:
        """Remember values, of which two are no limit."""
        for j in np.flatnonzero(~np.isnan(x)):
            self.values[j].add(float(x[j]))

    def see(self, x: Any, times: float) -> list[int]:
        """Add a row to the sums; gives the columns that get a unit by it."""
        fresh = []
        for j in range(self.p):
            if np.isnan(x[j]):
                continue
            if np.isnan(self.place[j]):
                self.place[j] = x[j]
            z = 0.0
            if self.unit[j] == 0 and x[j] != self.place[j]:
                self.unit[j] = abs(x[j] - self.place[j]) / sqrt(10)
                fresh.append(j)
                z = sqrt(10) * np.sign(x[j] - self.place[j])
            elif self.unit[j] > 0:
                z = (x[j] - self.place[j]) / self.unit[j]
                far = FAR * self.spread()[j]
                if self.is_far(j, x[j]):
                    z = min(max(z, self.mean[j] - far), self.mean[j] + far)
            self.n[j] += times
            off = z - self.mean[j]
            self.mean[j] += times / self.n[j] * off
            self.square[j] += times * off * (z - self.mean[j])
        return fresh


class LinearFilters:
    """Each label against the rest, for each prior spread; solved anew at each row."""

    def __init__(
        self, n_features: int, n_classes: int, forget: float = 1.0,
        spreads: tuple[float, ...] = (0.1, 0.5, 2.0), clip: float = 4.0,
    ) -> None:  # fmt: skip
        self.p, self.K, self.f = n_features, n_classes, forget
        self.d, self.tau, self.clip = n_features + 1, np.array(spreads), clip
        self.log_weights = np.zeros(len(spreads))
        self.n_seen, self.first = 0, []
        self.columns = Columns(n_features)
        self.clear()

    def clear(self) -> None:
        """Every filter knows no row; the last of each spread has seen no label."""
        self.G = np.zeros((len(self.tau), self.n_filters, self.d, self.d))
        self.h = np.zeros((len(self.tau), self.n_filters, self.d))
        self.prior = np.array([[self.target(t, j) for j in range(self.d)]
                               for t in self.tau])  # fmt: skip

    @property
    def n_filters(self) -> int:
        """One for two labels, or for each label, and one that no row is of."""
        return 1 + (1 if self.K == 2 else self.K if self.K > 2 else 0)

    def target(self, tau: float, j: int) -> float:
        """Prior precision of a coefficient by what is known of its column."""
        if j == 0:
            return 1 / LEVEL_VARIANCE
        if self.columns.unit[j - 1] == 0:
            return 1.0
        return self.columns.spread()[j - 1] ** 2 / tau**2

    def odds(self, x: Any) -> tuple[Any, Any, Any, Any]:
        """A row w, mean and variance of its log odds, and what gaps add to that."""
        w = np.concatenate([[1.0], self.columns.z(x, self.clip)])
        e, v, more = np.zeros((3, len(self.tau), self.n_filters))
        gaps = np.isnan(x)
        s = np.where(self.columns.unit > 0, self.columns.spread(), 0.0)
        for k in range(len(self.tau)):
            for c in range(self.n_filters):
                V = np.linalg.inv(np.diag(self.prior[k]) + self.G[k, c])
                b = V @ self.h[k, c]
                e[k, c], v[k, c] = w @ b, w @ V @ w
                more[k, c] = np.sum((b[1:] * s)[gaps] ** 2)
        return w, e, v, more

    def proba_each(self, x: Any) -> Any:
        """Probabilities by each spread, (n_spreads, n_classes)."""
        if self.K == 1:
            return np.ones((len(self.tau), 1))
        _, e, v, more = self.odds(x)
        p = sigmoid(e / np.sqrt(1 + pi * (v + more) / 8))[:, :-1]
        if self.K == 2:
            return np.column_stack([1 - p[:, 0], p[:, 0]])
        return p / p.sum(axis=1, keepdims=True)

    def weights(self) -> Any:
        """Of the spreads."""
        w = np.exp(self.log_weights - self.log_weights.max())
        return w / w.sum()

    def proba(self, x: Any) -> Any:
        """Probabilities of the classes."""
        return self.weights() @ self.proba_each(x)

    def update(self, X: Any, y: Any, times: Any = None) -> Any:
        """Learn rows; log probabilities of their labels, as often as they are."""
        times = np.ones(len(y)) if times is None else times
        return np.array([
            self.take(x, int(k), c) for x, k, c in zip(X, y, times, strict=True)
        ])  # fmt: skip

    def take(self, x: Any, y: Any, times: float) -> float:
        """Learn one row."""
        found, log_p = self.look_ahead(x, y, times)
        self.log_weights = RETENTION * (self.log_weights + log_p)
        self.log_weights -= self.log_weights.max()
        self.learn(x, y, times, self.n_seen)
        self.n_seen += 1
        if self.n_seen > N_FIRST:
            fresh = self.columns.see(x, times)
            for j in fresh:
                self.prior[:, j + 1] = [self.target(tau, j + 1) for tau in self.tau]
        else:
            self.first.append((x, y, times))
        self.columns.note(x)
        self.renew(self.n_seen - 1)
        if self.n_seen == N_FIRST:
            rows, labels, each_times = zip(*self.first, strict=True)
            self.columns.fix(np.array(rows), np.array(each_times))
            self.clear()
            for k in range(N_FIRST):
                self.learn(rows[k], labels[k], each_times[k], k)
                self.renew(k)
            self.first = []
        return found

    def look_ahead(self, x: Any, y: Any, times: float) -> tuple[float, Any]:
        """Log probability of a label, that of the mixture and by each kind."""
        each = np.maximum(self.proba_each(x)[:, y], LEAST_P)
        if times == 1.0:
            return float(np.log(max(self.weights() @ each, LEAST_P))), np.log(each)
        if self.K > 1:
            _, e, v, more = self.odds(x)
            c, t = (0, float(y)) if self.K == 2 else (y, 1.0)
            for k, wide in enumerate(v[:, c] + more[:, c]):
                alone = float(sigmoid((2 * t - 1) * e[k, c] / sqrt(1 + pi * wide / 8)))
                all_of_them, _, _ = site(e[k, c], wide, t, times)
                each[k] *= np.exp(all_of_them / times) / max(alone, LEAST_P)
        log_p = times * np.log(np.maximum(each, LEAST_P))
        return float(np.logaddexp.reduce(np.log(self.weights()) + log_p)), log_p

    def learn(self, x: Any, y: Any, times: float, row: int) -> None:
        """Add a row to all filters."""
        w, e, v, _ = self.odds(x)
        self.prior *= self.f
        for k in range(len(self.tau)):
            for c in range(self.n_filters):
                t = float(self.is_label(c, y))
                _, mean, variance = site(e[k, c], v[k, c], t, times)
                self.add(k, c, w, e[k, c], v[k, c], mean, variance)

    def add(
        self, k: int, c: int, w: Any, e: float, v: float, mean: float, variance: float
    ) -> None:
        """Let one filter have this mean and variance at a row."""
        lam = max(1 / variance - 1 / v, LEAST_LAM / v)
        more = mean / variance - e / v
        self.G[k, c] = self.f * self.G[k, c] + lam * np.outer(w, w)
        self.h[k, c] = self.f * self.h[k, c] + more * w

    def is_label(self, c: int, y: int) -> bool:
        """Whether label y is the one of a filter."""
        if c == self.n_filters - 1:
            return False
        return y == 1 if self.K == 2 else y == c

    def renew(self, row: int) -> None:
        """Bring priors up to what they have to be if they are off, or next in turn."""
        units = self.columns.unit
        has_unit = [0, *(j + 1 for j in range(self.p) if units[j] > 0)]
        for k, tau in enumerate(self.tau):
            for j in range(self.d):
                target = self.target(tau, j)
                due = not 1 / SLACK < self.prior[k, j] / target < SLACK
                if self.f < 1:
                    turn = has_unit[row % len(has_unit)]
                    due = due or j not in has_unit or j == turn
                if due:
                    self.prior[k, j] = target

    def with_classes(self, n_classes: int) -> None:
        """Have more labels, which no row had yet."""
        kinds = range(len(self.tau))
        for _ in range(n_classes - self.K):
            nobody = [(self.G[k, -1].copy(), self.h[k, -1].copy()) for k in kinds]
            if self.K == 2:  # the one filter becomes two, each other's mirror
                self.G = np.concatenate([self.G[:, :1], self.G], axis=1)
                self.h = np.concatenate([-self.h[:, :1], self.h], axis=1)
            if self.K > 0:
                self.G = np.concatenate([self.G, [[G] for G, _ in nobody]], axis=1)
                self.h = np.concatenate([self.h, [[h] for _, h in nobody]], axis=1)
            self.K += 1

    def widen(self, fill: Any) -> None:
        """Have more columns, in which all rows so far had these values or none."""
        old, more = self.columns, len(fill)
        self.columns = Columns(self.p + more)
        for name in ("place", "unit", "n", "mean", "square"):
            getattr(self.columns, name)[: self.p] = getattr(old, name)
        self.columns.values[: self.p] = old.values
        began = self.n_seen >= N_FIRST
        for j, value in enumerate(fill, self.p):
            if not np.isnan(value):
                self.columns.values[j] = {value}
            if began and not np.isnan(value):
                self.columns.place[j] = value
                self.columns.n[j] = self.n_seen
        self.first = [(np.concatenate([x, fill]), y, c) for x, y, c in self.first]
        self.p, self.d = self.p + more, self.d + more
        self.G = np.pad(self.G, [(0, 0), (0, 0), (0, more), (0, more)])
        self.h = np.pad(self.h, [(0, 0), (0, 0), (0, more)])
        self.prior = np.pad(self.prior, [(0, 0), (0, more)], constant_values=1.0)


class CountFilters(LinearFilters):
    """Events, under each size of the negative binomial and each prior spread."""

    def __init__(
        self, n_features: int, sizes: tuple[float, ...], rate: float = 1.0,
        forget: float = 1.0, spreads: tuple[float, ...] = (0.1, 0.5, 2.0),
        clip: float = 4.0,
    ) -> None:  # fmt: skip
        self.sizes, self.rate = np.tile(sizes, len(spreads)), rate
        kinds = tuple(np.repeat(spreads, len(sizes)))
        super().__init__(n_features, 0, forget, kinds, clip)

    def target(self, tau: float, j: int) -> float:
        """As of labels, but the intercept is about the rate of the first rows."""
        return 1 / 4 if j == 0 else super().target(tau, j)

    def update(self, X: Any, y: Any, times: Any = None, exposure: Any = None) -> Any:
        """Learn rows; log probabilities of their counts, as often as they are."""
        exposure = np.ones(len(y)) if exposure is None else exposure
        pairs = [*zip(y.tolist(), exposure.tolist(), strict=True)]
        times = np.ones(len(y)) if times is None else times
        return np.array([
            self.take(x, pair, c) for x, pair, c in zip(X, pairs, times, strict=True)
        ])  # fmt: skip

    def look_ahead(self, x: Any, y: Any, times: float) -> tuple[float, Any]:
        """Log density of a count, that of the mixture and by each kind."""
        each = self.sites(x, y, times, with_gaps=True)[:, 0]
        return float(np.logaddexp.reduce(np.log(self.weights()) + each)), each

    def sites(self, x: Any, y: Any, times: float, with_gaps: bool = False) -> Any:
        """Log density, mean and variance after a row of each kind."""
        count, exposure = y
        _, e, v, more = self.odds(x)
        v = v + more if with_gaps else v
        return np.array([
            count_site(e[k, 0], v[k, 0], count, size * exposure,
                       np.log(self.rate * exposure), times)
            for k, size in enumerate(self.sizes)
        ])  # fmt: skip

    def learn(self, x: Any, y: Any, times: float, row: int) -> None:
        """Add a row to all filters."""
        w, e, v, _ = self.odds(x)
        after = self.sites(x, y, times)
        self.prior *= self.f
        for k, (_, mean, variance) in enumerate(after):
            self.add(k, 0, w, e[k, 0], v[k, 0], mean, variance)
