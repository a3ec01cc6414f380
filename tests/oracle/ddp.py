"""Dependent Dirichlet process mixtures in plain NumPy, as their formulas are written.

One phase of the chain G_t = T(S_q(G_{t-1})) + H_t of gamma processes (Lin, Grimson and
Fisher 2010, equation 16, superposed before normalising), of axis-parallel Gaussians of
known variance: the joint law of labels, sources and u, all its states enumerated, and
a collapsed Gibbs sampler without a single shortcut. Then the Kalman filter of one
particle beside the dense Gaussian posterior, and the predictive table of the theory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

Vector = np.ndarray
Matrix = np.ndarray
State = tuple[tuple[int, ...], tuple[int, ...]]  # label of each row; source of each new


@dataclass
class Phase:
    """What a phase begins with: K inherited particles and S sources of new ones."""

    m: Vector  # (K,) rows ever
    E: Vector  # (K,) exposure
    q: Vector  # (K,) survival, times the alive probability carried
    mean: Matrix  # (K, D) of the moved priors
    var: Matrix  # (K, D)
    a: Vector  # (S,) mass never seen
    Es: Vector  # (S,)
    base_mean: Vector  # (D,)
    base_var: Vector  # (D,)
    noise: Vector  # (D,) variance of rows about their particle
    weights: str = "gamma"

    @property
    def K(self) -> int:
        return len(self.m)

    def prior(self, label: int) -> tuple[Vector, Vector]:
        """Moved prior of an inherited particle, or the base."""
        if label < self.K:
            return self.mean[label], self.var[label]
        return self.base_mean, self.base_var


def posterior(
    mean: Vector, var: Vector, noise: Vector, rows: Matrix
) -> tuple[Vector, Vector]:
    """v = 1/(1/P + r/R), m' = v (m/P + s/R)."""
    v = 1.0 / (1.0 / var + len(rows) / noise)
    return v * (mean / var + rows.sum(axis=0) / noise), v


def log_evidence(mean: Vector, var: Vector, noise: Vector, rows: Matrix) -> float:
    """Marginal likelihood of rows under one particle, the rows added one by one."""
    total = 0.0
    for k in range(len(rows)):
        total += log_predictive(mean, var, noise, rows[:k], rows[k])
    return total


def log_predictive(
    mean: Vector, var: Vector, noise: Vector, rows: Matrix, x: Vector
) -> float:
    """Density of a row beside others of the same particle."""
    m, v = posterior(mean, var, noise, rows)
    s = v + noise
    return float(-0.5 * np.sum(np.log(2.0 * np.pi * s) + (x - m) ** 2 / s))


def log_joint(
    p: Phase, X: Matrix, labels: tuple[int, ...], sources: tuple[int, ...], u: Any
) -> Any:
    """Log of the joint law of labels, sources and u, given what the phase begins with.

    Labels of new particles are K, K + 1, ... in the order of their first row. With
    ``weights="counts"`` it is the law that the paper's own Gibbs steps leave invariant,
    which knows no u. Of several u, an array.
    """
    gamma, n, u = p.weights == "gamma", len(X), np.asarray(u, dtype=float)
    z = np.array(labels)
    total = np.zeros(u.shape)
    if gamma:
        total += (n - 1) * np.log(u) - gammaln(n)
        for a, e in zip(p.a, p.Es, strict=True):
            total += a * np.log(e / (e + u))
    for k in range(p.K):
        r = int(np.sum(z == k))
        if r:
            total += np.log(p.q[k]) + gammaln(p.m[k] + r) - gammaln(p.m[k])
            if gamma:
                total += p.m[k] * np.log(p.E[k])
                total -= (p.m[k] + r) * np.log(p.E[k] + u)
        elif gamma:
            t = (p.E[k] / (p.E[k] + u)) ** p.m[k]
            total += np.log(1.0 - p.q[k] + p.q[k] * t)
        total += log_evidence(*p.prior(k), p.noise, X[z == k])
    for j, s in enumerate(sources):
        r = int(np.sum(z == p.K + j))
        total += np.log(p.a[s]) + gammaln(r)
        if gamma:
            total -= r * np.log(p.Es[s] + u)
        total += log_evidence(*p.prior(p.K + j), p.noise, X[z == p.K + j])
    return total


def states(K: int, S: int, n: int) -> Iterator[State]:
    """All labels of n rows, new particles in the order of their first row."""

    def labels(
        done: tuple[int, ...], n_new: int
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        if len(done) == n:
            yield done, n_new
            return
        for label in range(K + n_new + 1):
            yield from labels((*done, label), max(n_new, label - K + 1))

    for z, n_new in labels((), 0):
        for number in range(S**n_new):
            yield z, tuple(number // S**j % S for j in range(n_new))


def enumerated(p: Phase, X: Matrix) -> dict[State, float]:
    """Probability of every state, u integrated out on a grid of its logarithm."""
    found = list(states(p.K, len(p.a), len(X)))
    if p.weights == "counts":
        logs = np.array([float(log_joint(p, X, *state, 1.0)) for state in found])
    else:
        grid = np.linspace(-15.0, 60.0, 1501)  # far up the tail is u^-sum(a)
        logs = np.array([
            logsumexp(log_joint(p, X, *state, np.exp(grid)) + grid) for state in found
        ])  # fmt: skip
    weights = np.exp(logs - logsumexp(logs))
    return dict(zip(found, weights.tolist(), strict=True))


def toy(weights: str = "gamma") -> tuple[Phase, Matrix]:
    """The phase of four rows whose law is known to six digits."""
    phase = Phase(
        m=np.array([3.0, 2.0]), E=np.array([4.0, 2.5]), q=np.array([0.8, 0.45]),
        mean=np.array([[-1.0], [2.0]]), var=np.array([[0.3], [0.5]]),
        a=np.array([0.3, 0.5]), Es=np.array([1.0, 3.0]), base_mean=np.zeros(1),
        base_var=np.full(1, 9.0), noise=np.ones(1), weights=weights,
    )  # fmt: skip
    return phase, np.array([[-1.2], [-0.7], [0.4], [2.6]])


def toy_summary(law: dict[State, float]) -> dict[str, float]:
    """What is known of the toy's law, of exact probabilities or of frequencies."""
    found = dict.fromkeys(("r1", "r2", "no new", "n new", "together", "top"), 0.0)
    for (z, sources), weight in law.items():
        found["r1"] += weight * (0 in z)
        found["r2"] += weight * (1 in z)
        found["no new"] += weight * (not sources)
        found["n new"] += weight * len(sources)
        found["together"] += weight * (z[0] == z[1])
        found["top"] += weight * (z == (0, 0, 0, 1))
    return found


# -------------------------------------------------------------------- sampling
class Gibbs:
    """Collapsed Gibbs sampling of one phase, every quantity from its formula."""

    def __init__(self, p: Phase, X: Matrix, rng: np.random.Generator) -> None:
        self.p, self.X, self.rng = p, X, rng
        self.z = np.full(len(X), -1)
        self.source: dict[int, int] = {}
        self.rows = dict.fromkeys(range(p.K), 0)
        self.sums = {k: np.zeros(X.shape[1]) for k in range(p.K)}
        self.next = p.K
        self.u = 0.0

    def rho(self, k: int) -> float:
        """Probability that a dormant particle is alive, nobody having chosen it."""
        p = self.p
        if p.weights == "counts":
            return float(p.q[k])
        t = np.exp(p.m[k] * np.log(p.E[k] / (p.E[k] + self.u)))
        return float(p.q[k] * t / (p.q[k] * t + 1.0 - p.q[k]))

    def weight(self, k: int) -> float:
        """Weight of a particle before it has met the row."""
        p, r = self.p, self.rows[k]
        counts = p.weights == "counts"
        if k >= p.K:
            return r / (1.0 if counts else p.Es[self.source[k]] + self.u)
        alive = 1.0 if r else self.rho(k)
        return alive * (p.m[k] + r) / (1.0 if counts else p.E[k] + self.u)

    def brand_new(self) -> Vector:
        """Weight of a new particle by source."""
        if self.p.weights == "counts":
            return self.p.a
        return self.p.a / (self.p.Es + self.u)

    def log_density(self, k: int, x: Vector) -> float:
        """Predictive density of a row in a particle, from its sums."""
        mean, var = self.p.prior(k)
        noise = self.p.noise
        v = 1.0 / (1.0 / var + self.rows.get(k, 0) / noise)
        m = v * (mean / var + self.sums.get(k, 0.0) / noise)
        s = v + noise
        return float(-0.5 * np.sum(np.log(2.0 * np.pi * s) + (x - m) ** 2 / s))

    def draw(self, i: int) -> None:
        """Redraw the label of a row."""
        x, old = self.X[i], int(self.z[i])
        if old >= 0:
            self.rows[old] -= 1
            self.sums[old] = self.sums[old] - x
            if old >= self.p.K and not self.rows[old]:
                del self.rows[old], self.sums[old], self.source[old]
        known = list(self.rows)
        new = self.brand_new()
        logs = [np.log(self.weight(k)) + self.log_density(k, x) for k in known]
        logs.append(np.log(new.sum()) + self.log_base(x))
        chance = np.exp(np.array(logs) - logsumexp(logs))
        pick = int(self.rng.choice(len(chance), p=chance / chance.sum()))
        if pick == len(known):
            k = self.next
            self.next += 1
            self.rows[k], self.sums[k] = 0, np.zeros(len(x))
            self.source[k] = int(self.rng.choice(len(new), p=new / new.sum()))
        else:
            k = known[pick]
        self.z[i] = k
        self.rows[k] += 1
        self.sums[k] = self.sums[k] + x

    def log_base(self, x: Vector) -> float:
        """Density of a row in a brand new particle."""
        p = self.p
        return log_predictive(p.base_mean, p.base_var, p.noise, self.X[:0], x)

    def bootstrap(self) -> None:
        """First labels, u growing with the rows: u = i / (sum of all weights)."""
        for i in range(len(self.X)):
            total = sum(self.weight(k) for k in self.rows) + self.brand_new().sum()
            self.draw(i)
            self.u = (i + 1) / total

    def sweep(self) -> None:
        """All labels, then u and the sources of new particles, twice."""
        for i in range(len(self.X)):
            self.draw(i)
        if self.p.weights == "gamma":
            self.draw_u()
            self.draw_u()
        self.draw_sources()

    def split_or_merge(self) -> None:
        """One move of Jain and Neal (2004), sides from one restricted scan.

        The part of row i keeps its particle, that of row j is a new one; the scan
        begins with all other rows beside i.
        """
        i, j = self.rng.choice(len(self.z), 2, replace=False).tolist()
        a, b = int(self.z[i]), int(self.z[j])
        if a != b and b < self.p.K:
            return
        others = [
            t for t in range(len(self.z)) if self.z[t] in (a, b) and t not in (i, j)
        ]
        merged, apart = [i, *others, j], [t for t in others if self.z[t] == b]
        log_scan, second = self.scan(a, i, j, others, None if a == b else apart)
        first = [t for t in [i, *others] if t not in second]
        ratio = self.log_part(a, first) + self.log_new(second)
        ratio -= self.log_part(a, merged) + log_scan
        if np.log(self.rng.random()) > (ratio if a == b else -ratio):
            return
        if a == b:
            b, self.next = self.next, self.next + 1
            w = self.of_sources(len(second))
            self.source[b] = int(self.rng.choice(len(w), p=w / w.sum()))
            self.z[second] = b
        else:
            self.z[merged] = a
            del self.rows[b], self.sums[b], self.source[b]
        for k in {a, int(self.z[j])}:
            self.rows[k] = int(np.sum(self.z == k))
            self.sums[k] = self.X[self.z == k].sum(axis=0)

    def scan(
        self, a: int, i: int, j: int, others: list[int], wanted: list[int] | None
    ) -> tuple[float, list[int]]:
        """Log probability of a scan, drawn or wanted, and rows of the second part."""
        first, second, total = {i, *others}, [j], 0.0
        for t in others:
            first.discard(t)
            one = self.log_part(a, [*first, t]) - self.log_part(a, [*first])
            two = self.log_new([*second, t]) - self.log_new(second)
            chance = 1.0 / (1.0 + np.exp(one - two))
            moves = self.rng.random() < chance if wanted is None else t in wanted
            total += np.log(chance if moves else 1.0 - chance)
            second.append(t) if moves else first.add(t)
        return float(total), second

    def of_sources(self, r: int) -> Vector:
        """a (E + u)^-r by source."""
        p = self.p
        return p.a * (1.0 if p.weights == "counts" else (p.Es + self.u) ** -float(r))

    def log_new(self, rows: list[int]) -> float:
        """Part of rows in the joint law, as a new particle's of any source."""
        p, r = self.p, len(rows)
        evidence = log_evidence(p.base_mean, p.base_var, p.noise, self.X[rows])
        return float(gammaln(r) + np.log(self.of_sources(r).sum()) + evidence)

    def log_part(self, k: int, rows: list[int]) -> float:
        """Part of rows in the joint law, as those of a particle that has some."""
        p, r = self.p, len(rows)
        e, m = (p.E[k], p.m[k]) if k < p.K else (p.Es[self.source[k]], 0.0)
        total = gammaln(m + r) + log_evidence(*p.prior(k), p.noise, self.X[rows])
        return float(total - (p.weights == "gamma") * r * np.log(e + self.u))

    def draw_u(self) -> None:
        """u ~ Gamma(n, rate G), G drawn given the labels."""
        p, rng = self.p, self.rng
        total = float(np.sum(rng.gamma(p.a) / (p.Es + self.u)))
        for k, r in self.rows.items():
            if k >= p.K:
                total += rng.gamma(r) / (p.Es[self.source[k]] + self.u)
            elif r or rng.random() < self.rho(k):
                total += rng.gamma(p.m[k] + r) / (p.E[k] + self.u)
        self.u = rng.gamma(len(self.X)) / total

    def draw_sources(self) -> None:
        """Sources of new particles, proportional to a (E + u)^-r."""
        for k, r in self.rows.items():
            if k >= self.p.K:
                w = self.of_sources(r)
                self.source[k] = int(self.rng.choice(len(w), p=w / w.sum()))

    def state(self) -> State:
        """Labels with new particles numbered in the order of their first row."""
        names: dict[int, int] = {}
        out, sources = [], []
        for k in self.z.tolist():
            if k >= self.p.K and k not in names:
                names[k] = self.p.K + len(names)
                sources.append(self.source[k])
            out.append(names.get(k, k))
        return tuple(out), tuple(sources)


# -------------------------------------------------------------------- paths
@dataclass
class Walk:
    """A particle whose location walks: N(b, B) at birth, then steps of variance Q."""

    mean: float
    var: float
    step: float
    noise: float
    reversion: float = 1.0

    def dense(self, counts: Vector, sums: Vector) -> tuple[Vector, Matrix]:
        """Posterior of the locations in all phases at once, by dense algebra."""
        n, a = len(counts), self.reversion
        cov = np.empty((n, n))
        var = self.var
        for t in range(n):
            cov[t, t] = var
            for s in range(t):
                cov[t, s] = cov[s, t] = a ** (t - s) * cov[s, s]
            var = a * a * var + self.step
        seen = counts > 0
        y = sums[seen] / counts[seen]
        S = cov[np.ix_(seen, seen)] + np.diag(self.noise / counts[seen])
        gain = np.linalg.solve(S, cov[seen]).T
        return self.mean + gain @ (y - self.mean), cov - gain @ cov[seen]

    def evidence(self, phases: list[Vector]) -> float:
        """Log density of all rows, by dense algebra."""
        rows = np.concatenate(phases)
        owner = np.repeat(np.arange(len(phases)), [len(p) for p in phases])
        n, a = len(phases), self.reversion
        var = self.var * np.ones(n)
        for t in range(1, n):
            var[t] = a * a * var[t - 1] + self.step
        cov = np.array([
            [a ** abs(t - s) * var[min(t, s)] for s in owner] for t in owner
        ]) + self.noise * np.eye(len(rows))  # fmt: skip
        y = rows - self.mean
        _, log_det = np.linalg.slogdet(2.0 * np.pi * cov)
        return float(-0.5 * (log_det + y @ np.linalg.solve(cov, y)))


# -------------------------------------------------------------------- theory
def next_draw(alpha: float, q: float, nu: float, n: int) -> tuple[float, float, float]:
    """Where the next draw comes from after n equal ones: new, another, the same.

    At gamma level, by quadrature over the u of both phases: given the first, E = 1 + u,
    the particle weighs Gamma(n, E) and survives with probability q, the other survivors
    Gamma(q alpha, E), and the fresh mass Gamma(nu, 1).
    """
    grid = np.exp(np.linspace(-40.0, 60.0, 2001))
    before = n * np.log(grid) - (n + alpha) * np.log1p(grid)
    before = np.exp(before - logsumexp(before))
    E, u = 1.0 + grid[:, None], grid[None, :]
    t = E / (E + u)
    alive = q * t**n
    rest = t ** (q * alpha) * (1.0 + u) ** -nu * u * np.log(grid[1] / grid[0])
    new = before @ np.sum((1.0 - q + alive) * rest * nu / (1.0 + u), axis=1)
    other = before @ np.sum((1.0 - q + alive) * rest * q * alpha / (E + u), axis=1)
    same = before @ np.sum(alive * rest * n / (E + u), axis=1)
    return float(new), float(other), float(same)


def counted(phase: Phase) -> Phase:
    """The same phase under the paper's own weights."""
    return replace(phase, weights="counts")
