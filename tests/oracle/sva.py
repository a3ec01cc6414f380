"""Small-variance mixtures in plain NumPy: slow, and as their formulas are written.

Tanwani and Calinon (2019), "Small variance asymptotics for non-parametric online robot
learning"; Kulis and Jordan (2012) for DP-means. What departs from them is told where it
does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import multivariate_t

Vector = np.ndarray


@dataclass
class Cluster:
    """Sums of the rows of one cluster."""

    id: int
    born: int
    n_features: int
    w: float = 0.0
    mean: Any = None
    scatter: float = 0.0  # sum of squared distances to the mean
    cov: Any = None  # population covariance
    seen: int = 0
    rows: int = 0
    since: int = 0
    settled: int = 0
    confirmed: bool = False
    eig: Vector = field(default_factory=lambda: np.empty(0))
    U: Vector = field(default_factory=lambda: np.empty(0))  # columns
    dim: int = 0
    w_ref: float = 0.0


class Mixture:
    """What the three models share; a kind says what distances are, and which merge."""

    def __init__(
        self, lambda_: float, *, merge_factor: float = 1.0, check_every: int = 256,
        min_weight: float = 5, patience: int = 2000, forget: float = 1.0,
        max_clusters: int = 1000, merge: bool = True,
    ) -> None:  # fmt: skip
        self.lambda_, self.merge_factor, self.check_every = (
            lambda_, merge_factor, check_every
        )  # fmt: skip
        self.min_weight, self.patience, self.forget = min_weight, patience, forget
        self.max_clusters, self.merge = max_clusters, merge
        self.clusters: list[Cluster] = []
        self.n_rows = self.next_id = self.n_looked = 0
        self.lost = 0.0
        self.aliases: dict[int, int] = {}
        self.chain: Chain | None = None

    # ---------------------------------------------------------------- kinds
    def cost(self, c: Cluster, x: Vector) -> float:
        raise NotImplementedError

    def absorb(self, c: Cluster, x: Vector) -> None:
        """Exact mean, scatter and covariance; the weight is as before the row."""
        y, w = x - c.mean, c.w
        c.mean = c.mean + y / (w + 1.0)
        c.scatter += w / (w + 1.0) * float(y @ y)
        c.cov = w / (w + 1.0) * c.cov + w / (w + 1.0) ** 2 * np.outer(y, y)
        c.w = w + 1.0

    def refreshed(self, c: Cluster) -> None:
        """After rows came or clusters merged."""

    def pair_score(self, a: Cluster, b: Cluster) -> float:
        """Merge the pair whose score is least, while it is below `threshold`."""
        raise NotImplementedError

    def pair_distance(self, a: Cluster, b: Cluster) -> float:
        return float((a.mean - b.mean) @ (a.mean - b.mean))

    @property
    def threshold(self) -> float:
        raise NotImplementedError

    # ---------------------------------------------------------------- rows
    def learn(self, X: Vector) -> list[int]:
        return [self.learn_row(x) for x in X]

    def learn_row(self, x: Vector) -> int:
        number = self.n_rows + 1
        for c in self.clusters if self.forget < 1.0 else ():
            c.w *= self.forget
            c.scatter *= self.forget
            c.w_ref *= self.forget
            if c.confirmed and self.n_rows - c.seen >= round(
                10.0 / (1.0 - self.forget)
            ):
                c.confirmed, c.since = False, number
        costs = [self.cost(c, x) for c in self.clusters]
        fresh = self.lambda_
        if self.chain is not None:
            fresh += self.chain.add_costs(costs, self.clusters)
        best = int(np.argmin(costs)) if costs else -1
        self.n_rows = number
        if best < 0 or costs[best] > fresh:
            if len(self.clusters) == self.max_clusters:
                pairs = self.pairs()
                self.join(*min(pairs, key=lambda p: self.pair_distance(*p)))
            c = Cluster(self.next_id, number, len(x), since=number)
            self.next_id += 1
            c.w, c.mean, c.cov = 1.0, x.copy(), np.zeros((len(x), len(x)))
            self.clusters.append(c)
        else:
            c = self.clusters[best]
            self.absorb(c, x)
        self.refreshed(c)
        c.seen = number
        c.rows += 1
        self.confirm(c)
        label = c.id
        if self.chain is not None:
            self.chain.note(c, number)
        for old in list(self.clusters):
            if not old.confirmed and number - old.since >= self.patience:
                self.lost += old.w
                self.drop(old)
        if self.merge and number % self.check_every == 0:
            self.merge_all()
        return label

    def confirm(self, c: Cluster) -> None:
        if not c.confirmed and c.rows >= self.min_weight:
            c.confirmed = True
            c.settled = c.settled or self.n_rows

    def drop(self, c: Cluster) -> None:
        self.clusters.remove(c)
        if self.chain is not None:
            self.chain.drop(c.id)

    # ---------------------------------------------------------------- merging
    def pairs(self) -> list[tuple[Cluster, Cluster]]:
        n = len(self.clusters)
        return [
            (self.clusters[i], self.clusters[j])
            for i in range(n)
            for j in range(i + 1, n)
        ]

    def merge_all(self) -> None:
        self.n_looked = len(self.clusters)
        while len(self.clusters) > 1:
            pairs = self.pairs()
            scores = [self.pair_score(a, b) for a, b in pairs]
            k = int(np.argmin(scores))
            if not scores[k] < self.threshold:
                return
            self.join(*pairs[k])

    def join(self, a: Cluster, b: Cluster) -> None:
        into, gone = (a, b) if a.w >= b.w else (b, a)
        into.w, into.mean, into.scatter, into.cov = pooled(into, gone)
        into.seen = max(into.seen, gone.seen)
        into.rows += gone.rows
        self.aliases[gone.id] = into.id
        if self.chain is not None:
            self.chain.join(into, gone, self.check_every if self.merge else 0)
        into.born = min(into.born, gone.born)
        if gone.confirmed and not into.confirmed:
            into.confirmed, into.settled = True, into.settled or self.n_rows
        self.confirm(into)
        self.clusters.remove(gone)
        into.w_ref = 0.0
        self.refreshed(into)


def pooled(a: Cluster, b: Cluster) -> tuple[float, Vector, float, Vector]:
    """Weight, mean, scatter and covariance of two clusters together (Ward 1963)."""
    w, d = a.w + b.w, a.mean - b.mean
    mean = a.mean + b.w / w * (b.mean - a.mean)
    scatter = a.scatter + b.scatter + a.w * b.w / w * float(d @ d)
    cov = (a.w * a.cov + b.w * b.cov) / w + a.w * b.w / w**2 * np.outer(d, d)
    return w, mean, scatter, cov


class DPGMM(Mixture):
    """DP-means in one pass, with merging."""

    def __init__(self, lambda_: float, criterion: str = "radius", **more: Any) -> None:
        super().__init__(lambda_, **more)
        self.criterion = criterion
        self.merge = self.merge_factor > 0.0

    def cost(self, c: Cluster, x: Vector) -> float:
        part = c.w / (c.w + 1.0) if self.criterion == "objective" else 1.0
        return part * float((x - c.mean) @ (x - c.mean))

    def pair_score(self, a: Cluster, b: Cluster) -> float:
        part = a.w * b.w / (a.w + b.w) if self.criterion == "objective" else 1.0
        return part * self.pair_distance(a, b)

    @property
    def threshold(self) -> float:
        return self.merge_factor * self.lambda_


class DPMPPCA(Mixture):
    """Clusters with subspaces of their own, from exact covariances."""

    def __init__(
        self, lambda_: float, noise: float, *, lambda_1: float | None = None,
        gate: str = "ppca", bandwidth: float = np.inf, max_dim: int | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(lambda_, **more)
        self.variance, self.gate, self.bandwidth = noise**2, gate, bandwidth
        self.lambda_1 = 4.0 * noise**2 if lambda_1 is None else lambda_1
        self.max_dim = max_dim

    def dimension(self, eig: Vector, w: float) -> int:
        """Directions whose variance exceeds lambda_1, and what noise shows by chance.

        Of w rows the largest variance of noise is at the edge of Marchenko and Pastur.
        """
        most = min(len(eig) - 1, int(w) - 1)
        edge = self.variance * (1.0 + np.sqrt(len(eig) / w)) ** 2
        least = max(self.lambda_1, edge)
        if self.max_dim is not None:
            most = min(most, self.max_dim)
        return max(0, min(int(np.sum(eig > least)), most))

    def refreshed(self, c: Cluster) -> None:
        """Find eigenvectors anew once the weight has grown by a tenth."""
        if not 10.0 * c.w >= 11.0 * c.w_ref:
            return
        c.w_ref = c.w
        eig, U = np.linalg.eigh(c.cov)
        c.eig, c.U = np.maximum(eig[::-1], 0.0), U[:, ::-1]
        c.dim = self.dimension(c.eig, c.w)

    def gated(self, c: Cluster, x: Vector, gate: str) -> float:
        """||y - rho U U'y||^2, or sigma^2 times the Mahalanobis distance."""
        y = x - c.mean
        square, g = float(y @ y), c.U[:, : c.dim].T @ y
        if gate == "ppca":
            e = np.maximum(c.eig[: c.dim] - self.variance, 0.0)
            return square - float(np.sum(e / (e + self.variance) * g**2))
        rho = 1.0 if gate == "none" else np.exp(-square / self.bandwidth)
        return square - (2.0 * rho - rho**2) * float(g @ g)

    def cost(self, c: Cluster, x: Vector) -> float:
        return self.gated(c, x, self.gate)

    def pair_distance(self, a: Cluster, b: Cluster) -> float:
        return min(self.cost(a, b.mean), self.cost(b, a.mean))

    @property
    def threshold(self) -> float:
        return 0.0

    def log_likelihood(
        self, w: float, eig: Vector, trace: float, d: int
    ) -> tuple[float, int]:
        """Of a cluster's rows, without constants; and its number of parameters."""
        width = len(eig)
        left = max(trace - float(eig[:d].sum()), 0.0)
        value = (
            -0.5
            * w
            * (
                float(np.log(eig[:d]).sum())
                + (width - d) * np.log(self.variance)
                + d
                + left / self.variance
            )
        )
        return value, width + d * (width - d) + d * (d + 1) // 2

    def pair_score(self, a: Cluster, b: Cluster) -> float:
        """Minus the gain in BIC; inf unless they are near."""
        if not self.pair_distance(a, b) < 4.0 * self.merge_factor * self.lambda_:
            return np.inf
        n = sum(c.w for c in self.clusters)
        more = self.rows_for_one(n)
        w, _, scatter, _ = pooled(a, b)
        parts = [
            np.sqrt(c.w / w * c.eig[:k]) * c.U[:, :k]
            for c in (a, b)
            for k in [self.n_columns(c)]
        ]
        d = np.sqrt(a.w * b.w) / w * (a.mean - b.mean)
        values = np.linalg.svd(np.column_stack([*parts, d]), compute_uv=False) ** 2
        eig = np.zeros(len(d))
        eig[: len(values)] = values[: len(d)]
        dim = self.dimension(eig, more * w)
        together, p = self.log_likelihood(more * w, eig, scatter / w, dim)
        apart = p_apart = 0.0
        for c in (a, b):
            value, count = self.log_likelihood(
                more * c.w, c.eig, c.scatter / c.w, c.dim
            )
            apart += value + more * c.w * np.log(c.w / w)
            p_apart += count
        half = 0.5 * np.log(more * n)
        return -((together - p * half) - (apart - (p_apart + 1) * half))

    def rows_for_one(self, n: float) -> float:
        """Rows for each one not forgotten: twenty a cluster, if so many came."""
        if self.forget == 1.0:
            return 1.0
        taken = sum(c.rows for c in self.clusters)
        return max(1.0, min(taken, 20.0 * self.n_looked) / n)

    def n_columns(self, c: Cluster) -> int:
        """Columns that a pair is judged by: the subspace and two to spare."""
        return min(c.dim + 2, len(c.eig))


class HDPHSMM(DPMPPCA):
    """States that follow one another."""

    def __init__(
        self, lambda_: float, noise: float, *, lambda_2: float | None = None,
        lambda_3: float | None = None, lambda_4: float = 0.0, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(lambda_, noise, **more)
        self.chain = Chain(
            4.0 * noise**2 if lambda_2 is None else lambda_2,
            2.0 * noise**2 * np.log(100.0) if lambda_3 is None else lambda_3,
            lambda_4,
        )

    def learn(self, X: Vector) -> list[int]:
        return [
            self.learn_gaps(x) if np.isnan(x).any() else self.learn_row(x) for x in X
        ]

    def learn_gaps(self, x: Vector) -> int:
        """A row with NaN: its state by the other columns, and its mean in the gaps."""
        gaps, chain = np.isnan(x), self.chain
        assert chain is not None
        if gaps.all() or not self.clusters:
            self.n_rows += 1
            self.lost += 1.0
            last = [c for c in self.clusters if c.id == chain.last]
            for c in last:
                chain.note(c, self.n_rows)
            return last[0].id if last else -1
        rows = [np.where(gaps, c.mean, x) for c in self.clusters]
        costs = [self.cost(c, y) for c, y in zip(self.clusters, rows, strict=True)]
        chain.add_costs(costs, self.clusters)
        label = self.learn_row(rows[int(np.argmin(costs))])
        for c in self.clusters:
            if c.id == chain.last and c.w > 1.0:
                own = np.diag(c.cov) * gaps / (c.w - 1.0)  # as before the row
                c.cov = c.cov + np.diag(own)
                c.scatter += c.w * own.sum()
        return label


class Chain:
    """Transition counts and durations, by ids; every duration is remembered."""

    def __init__(self, lambda_2: float, lambda_3: float, lambda_4: float) -> None:
        self.lambda_2, self.lambda_3, self.lambda_4 = lambda_2, lambda_3, lambda_4
        self.moves: dict[tuple[int, int], int] = {}
        self.durations: dict[int, list[tuple[int, int]]] = {}  # (row at the end, rows)
        self.state: int | None = None
        self.last: int | None = None
        self.before: int | None = None
        self.dwell = self.before_dwell = 0

    def left(self, i: int) -> int:
        return sum(n for (a, _), n in self.moves.items() if a == i)

    def add_costs(self, costs: list[float], clusters: list[Cluster]) -> float:
        """One row's costs at dwell s in state i; returns what a new state adds."""
        i = self.last
        if i is None:
            return 0.0
        stay = go = 0.0
        known = [s for _, s in self.durations.get(i, [])]
        if self.lambda_4 > 0.0 and i == self.state and len(known) >= 5:
            means = [np.mean([s for _, s in own]) for own in self.durations.values()]
            h = hazard(np.array(known, float), self.dwell, max(*means, self.dwell))
            stay, go = -self.lambda_4 * np.log1p(-h), -self.lambda_4 * np.log(h)
        n = self.left(i)
        for k, c in enumerate(clusters):
            count = self.moves.get((i, c.id), 0)
            if c.id == i:
                costs[k] += stay
            elif count:
                costs[k] += -self.lambda_2 * np.log(count / (n + 1.0)) + go
            else:
                costs[k] += self.lambda_2 * np.log(n + 1.0) + self.lambda_3 + go
        return self.lambda_2 * np.log(n + 1.0) + self.lambda_3 + go

    def note(self, c: Cluster, row: int) -> None:
        self.last = c.id
        if not c.confirmed or self.state == c.id:
            self.dwell += self.state is not None
            return
        if self.state is not None:
            move = (self.state, c.id)
            self.moves[move] = self.moves.get(move, 0) + 1
            self.durations.setdefault(self.state, []).append((row, self.dwell))
        self.before, self.before_dwell = self.state, self.dwell
        self.state, self.dwell = c.id, 1

    def drop(self, id: int) -> None:
        self.moves = {m: n for m, n in self.moves.items() if id not in m}
        self.durations.pop(id, None)
        if self.state == id:
            self.state, self.dwell = None, 0
        self.last = None if self.last == id else self.last
        self.before = None if self.before == id else self.before

    def join(self, into: Cluster, gone: Cluster, youth: int) -> None:
        if self.before is not None and {self.state, self.before} == {into.id, gone.id}:
            if self.durations.get(self.before):
                self.durations[self.before].pop()
            self.dwell += self.before_dwell
            self.before = None
        moves: dict[tuple[int, int], int] = {}
        for (i, j), n in self.moves.items():
            move = tuple(into.id if k == gone.id else k for k in (i, j))
            if move[0] != move[1]:
                moves[move] = moves.get(move, 0) + n  # type: ignore[index]
        self.moves = moves
        both = self.durations.pop(into.id, []) + self.durations.pop(gone.id, [])
        ripe = [
            (row, s)
            for row, s in sorted(both, key=lambda one: one[0])
            if not any(
                c.born <= row <= (max(c.born + youth, c.settled) if c.settled else 1e18)
                for c in (into, gone)
            )
        ]
        if ripe:
            self.durations[into.id] = ripe
        for name in ("state", "last", "before"):
            if getattr(self, name) == gone.id:
                setattr(self, name, into.id)


def hazard(durations: Vector, s: int, longest: float) -> float:
    """P(duration = s | >= s) of a Gaussian, by the intervals about whole numbers.

    Of all segments 1 % are geometric, with a mean of ten times the longest of a state.
    """
    from scipy.stats import geom, norm

    law = norm(durations.mean(), max(durations.std(ddof=1), 0.5))
    longer = geom(1.0 / (10.0 * longest))
    ends = (law.sf(s - 0.5) - law.sf(s + 0.5)) / law.sf(0.5)
    ends, lasts = 0.99 * ends, 0.99 * law.sf(s - 0.5) / law.sf(0.5)
    ends, lasts = ends + 0.01 * longer.pmf(s), lasts + 0.01 * longer.sf(s - 1)
    return float(np.clip(ends / lasts, 1e-12, 1.0 - 1e-12)) if lasts > 0.0 else 1.0


# -------------------------------------------------------------------- decoding
def path_value(
    path: Any, log_emission: Vector, log_start: Vector, log_move: Vector,
    log_duration: Vector, log_survival: Vector,
) -> float:  # fmt: skip
    """Log density of rows and a path of (state, rows) segments, the last cut short."""
    total, t = float(log_start[path[0][0]]), 0
    for k, (state, rows) in enumerate(path):
        if k:
            total += log_move[path[k - 1][0], state]
        law = log_survival if k == len(path) - 1 else log_duration
        total += law[state, rows - 1] + log_emission[t : t + rows, state].sum()
        t += rows
    return float(total)


def all_paths(n_rows: int, n_states: int, most: int) -> Any:
    """Every path of segments no longer than `most`, neighbours in different states."""

    def longer(path: list[tuple[int, int]], left: int) -> Any:
        if not left:
            yield path
            return
        for state in range(n_states):
            if path and path[-1][0] == state:
                continue
            for rows in range(1, min(most, left) + 1):
                yield from longer([*path, (state, rows)], left - rows)

    yield from longer([], n_rows)


def whole_viterbi(
    e: Vector, log_start: Vector, log_move: Vector, log_duration: Vector,
    log_survival: Vector,
) -> tuple[list[int], float]:  # fmt: skip
    """The best path and its value, by a look at every segment; e[t, j] is <= 0."""
    n, k = e.shape
    begun = np.full((n + 1, k), -np.inf)
    begun[0] = log_start
    lasted, came = np.ones((n + 1, k), int), np.zeros((n + 1, k), int)

    def best_end(t: int, j: int, law: Vector) -> float:
        rows, best = 0.0, -np.inf
        for m in range(1, min(len(law), t) + 1):
            rows += e[t - m, j]
            value = begun[t - m, j] + rows + law[m - 1]
            if value > best:
                best, lasted[t, j] = value, m
        return float(best)

    for t in range(1, n + 1):
        ended = np.array([best_end(t, j, log_duration[j]) for j in range(k)])
        begun[t] = (ended[:, None] + log_move).max(axis=0)
        came[t] = (ended[:, None] + log_move).argmax(axis=0)
    last = np.array([best_end(n, j, log_survival[j]) for j in range(k)])
    state, t, path = int(last.argmax()), n, []
    while t > 0:
        rows = int(lasted[t, state])
        path += [state] * rows
        t -= rows
        state = int(came[t, state])
    return path[::-1], float(last.max())


def with_background(density: Vector, rows: Vector, model: Any) -> Vector:
    """Log density of the confirmed clusters and of what stands behind them.

    Of n rows m were of no confirmed cluster: a Student t of 3 degrees of freedom with
    the mean and the variances of all rows has the share (m + 1) / (n + 1).
    """
    known = model.clusters(provisional=True)
    total = known.weight.sum()
    share = (known.weight[~known.confirmed].sum() + 1.0) / (total + 1.0)
    centre = known.weight @ known.mean / total
    squares = model._state.clusters.squared_deviations().sum(axis=0)
    variance = (known.weight @ (known.mean - centre) ** 2 + squares) / total
    behind = multivariate_t(centre, np.diag(variance / 3.0), df=3).logpdf(rows)
    return np.logaddexp(np.log(1.0 - share) + density, np.log(share) + behind)


def column_laws(
    squares: Vector, weight: Vector, noise: float, inside: Any = 0.0
) -> tuple[Vector, Vector]:
    """Variance of each column of each cluster, and that of a new row.

    `squares` are sums of squared deviations, `inside` variances along subspaces. A
    scaled inverse chi squared prior of one row about the pooled variance is updated.
    """
    w = weight[:, None]
    own = np.maximum(squares - w * inside, 0.0)
    pooled = own.sum(axis=0) / (weight.sum() - len(weight))
    pooled[pooled == 0.0] = noise**2
    variance = (pooled + own) / (1.0 + w)
    return variance, variance * (1.0 + 1.0 / np.maximum(w, 1.0))
