"""Memory-bounded topic models in plain NumPy: formulas of vignettes/maths/hdp.md.

Statistics are raw sums: N (K,), S (K, F) with phi(x) = (x, x_i x_j for i <= j),
(x, x^2) or one-hot words. Items are rows of phi-bar with a count and counts by group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, multigammaln, polygamma


# ---------------------------------------------------------------- families
@dataclass
class Full:
    """Normal-Wishart."""

    m0: Any
    kappa0: float
    nu0: float
    B0: Any

    def phi(self, x: Any) -> Any:
        rows, columns = np.triu_indices(x.shape[1])
        return np.concatenate([x, x[:, rows] * x[:, columns]], axis=1)

    @property
    def phi_0(self) -> float:
        return -0.5 * len(self.m0) * np.log(2 * np.pi)

    def parts(self, N: float, S: Any) -> Any:
        d = len(self.m0)
        Sxx = np.zeros((d, d))
        Sxx[np.triu_indices(d)] = S[d:]
        Sxx = Sxx + np.triu(Sxx, 1).T
        kappa, nu = self.kappa0 + N, self.nu0 + N
        m = (self.kappa0 * self.m0 + S[:d]) / kappa
        B = self.B0 + Sxx + self.kappa0 * np.outer(self.m0, self.m0)
        return kappa, nu, m, B - kappa * np.outer(m, m)

    def log_z(self, N: float, S: Any) -> float:
        d = len(self.m0)
        kappa, nu, _, B = self.parts(N, S)
        return float(
            0.5 * d * np.log(2 * np.pi / kappa) + 0.5 * nu * d * np.log(2)
            + multigammaln(nu / 2, d) - 0.5 * nu * np.linalg.slogdet(B)[1]
        )  # fmt: skip

    def expect(self, N: float, S: Any) -> tuple[Any, float]:
        d = len(self.m0)
        kappa, nu, m, B = self.parts(N, S)
        inverse = np.linalg.inv(B)
        eld = digamma((nu - np.arange(d)) / 2).sum() + d * np.log(2)
        eld -= np.linalg.slogdet(B)[1]
        quad = -nu * inverse
        quad[np.diag_indices(d)] *= 0.5
        theta = np.concatenate([nu * inverse @ m, quad[np.triu_indices(d)]])
        c = 0.5 * (eld - d * np.log(2 * np.pi) - d / kappa - nu * m @ inverse @ m)
        return theta, float(c)


@dataclass
class Diagonal:
    """Normal-gamma, one a column."""

    m0: Any
    kappa0: float
    a0: float
    b0: float

    def phi(self, x: Any) -> Any:
        return np.concatenate([x, x * x], axis=1)

    @property
    def phi_0(self) -> float:
        return -0.5 * len(self.m0) * np.log(2 * np.pi)

    def parts(self, N: float, S: Any) -> Any:
        d = len(self.m0)
        kappa, a = self.kappa0 + N, self.a0 + N / 2
        m = (self.kappa0 * self.m0 + S[:d]) / kappa
        b = self.b0 + 0.5 * (S[d:] + self.kappa0 * self.m0**2 - kappa * m**2)
        return kappa, a, m, b

    def log_z(self, N: float, S: Any) -> float:
        d = len(self.m0)
        kappa, a, _, b = self.parts(N, S)
        return float(
            0.5 * d * np.log(2 * np.pi / kappa) + d * gammaln(a) - a * np.log(b).sum()
        )

    def expect(self, N: float, S: Any) -> tuple[Any, float]:
        kappa, a, m, b = self.parts(N, S)
        c = digamma(a) - np.log(b) - np.log(2 * np.pi) - 1 / kappa - a / b * m**2
        return np.concatenate([a * m / b, -a / (2 * b)]), float(0.5 * c.sum())


@dataclass
class Multinomial:
    """Dirichlet over words."""

    lam: float
    n_words: int
    phi_0 = 0.0

    def phi(self, x: Any) -> Any:
        return np.eye(self.n_words)[x]

    def log_z(self, N: float, S: Any) -> float:
        return float(gammaln(self.lam + S).sum() - gammaln((self.lam + S).sum()))

    def expect(self, N: float, S: Any) -> tuple[Any, float]:
        return digamma(self.lam + S) - digamma((self.lam + S).sum()), 0.0


# ---------------------------------------------------------------- free energies
@dataclass
class Problem:
    """Items, documents in groups, and the prior of alpha."""

    family: Any
    phibar: Any  # (C, F)
    count: Any  # (C,)
    by_group: Any  # (C, S) points of each group
    documents: Any  # (S,)
    a: float = 1.0
    b: float = 0.5

    def statistics(self, q: Any) -> tuple[Any, Any, Any]:
        """N_k, S_k and N_ks (K, S)."""
        w = q * self.count[:, None]
        return w.sum(0), w.T @ self.phibar, q.T @ self.by_group


def penalty(alpha: Any, a: float, b: float) -> Any:
    """-log p(alpha) but for a constant that every topic has."""
    if a == 1.0:
        return b * alpha
    return b * alpha - (a - 1) * np.log(alpha) + (a - 1) * np.log((a - 1) / b) - (a - 1)


def entropy(q: Any, count: Any) -> float:
    return float((count[:, None] * q * np.log(np.maximum(q, 1e-300))).sum())


def free_energy(
    p: Problem, q: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0
) -> float:
    """Free energy by eq. 29, magnified 30."""
    N, S, counts = p.statistics(q)
    zero = np.zeros(S.shape[1])
    r, D = m_p / m_d, p.documents
    F = m_p * (entropy(q, p.count) - p.count.sum() * p.family.phi_0)
    for k in range(len(N)):
        F += p.family.log_z(0.0, zero) - p.family.log_z(m_p * N[k], m_p * S[k])
    n = r * counts / D
    F += m_d * (D * (gammaln(alpha.sum() + n.sum(0)) - gammaln(alpha.sum()))).sum()
    F -= m_d * (D * (gammaln(alpha[:, None] + n) - gammaln(alpha)[:, None])).sum()
    return float(F + (penalty(alpha, p.a, p.b).sum() if len(alpha) > 1 else 0.0))


def explicit_free_energy(
    p: Problem, q: Any, zeta: Any, xi: tuple[Any, Any], alpha: Any
) -> float:
    """Section 3.1, for any q, zeta (K, S) and statistics xi = (N, S) of q(eta)."""
    N, S = xi
    elp = digamma(zeta) - digamma(zeta.sum(0))
    F = entropy(q, p.count) - float((p.statistics(q)[2] * elp).sum())
    zero = np.zeros(S.shape[1])
    mine = p.statistics(q)
    for k in range(len(N)):
        theta, c = p.family.expect(N[k], S[k])
        F -= float(theta @ mine[1][k] + c * mine[0][k])
        F += float(theta @ S[k] + (c - p.family.phi_0) * N[k])
        F += p.family.log_z(0.0, zero) - p.family.log_z(N[k], S[k])
    for s, D in enumerate(p.documents):
        z, total = zeta[:, s], zeta[:, s].sum()
        F += D * float(
            gammaln(total) - gammaln(z).sum()
            - gammaln(alpha.sum()) + gammaln(alpha).sum()
            + ((z - alpha) * (digamma(z) - digamma(total))).sum()
        )  # fmt: skip
    return F + float(penalty(alpha, p.a, p.b).sum())


def q_update(p: Problem, q: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0) -> Any:
    """By eqs. 18-21, magnified 23-24."""
    N, S, counts = p.statistics(q)
    zeta = alpha[:, None] + m_p / m_d * counts / p.documents
    elp = digamma(zeta) - digamma(zeta.sum(0))
    logs = p.by_group / p.count[:, None] @ elp.T
    for k in range(len(N)):
        theta, c = p.family.expect(m_p * N[k], m_p * S[k])
        logs[:, k] += p.phibar @ theta + c
    logs -= logs.max(1, keepdims=True)
    out = np.exp(logs)
    return out / out.sum(1, keepdims=True)


# ---------------------------------------------------------------- alpha
def den(
    p: Problem, counts: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0
) -> float:
    n_0 = m_p / m_d * counts.sum(0) / p.documents
    rise = digamma(alpha.sum() + n_0) - digamma(alpha.sum())
    return float(p.b + m_d * (p.documents * rise).sum())


def minka_step(
    p: Problem, counts: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0
) -> Any:
    """By eq. 22, magnified 25."""
    zeta = alpha[:, None] + m_p / m_d * counts / p.documents
    rise = (p.documents * (digamma(zeta) - digamma(alpha)[:, None])).sum(1)
    return (p.a - 1 + m_d * alpha * rise) / den(p, counts, alpha, m_p, m_d)


def newton_step(
    p: Problem, counts: Any, alpha: Any, m_p: float = 1.0, m_d: float = 1.0
) -> Any:
    """The maximum of the first bound of section 3.4, by Newton's method."""
    d, D = den(p, counts, alpha, m_p, m_d), p.documents
    out = alpha.copy()
    for k in range(len(alpha)):
        n, x = m_p / m_d * counts[k] / D, alpha[k]
        for _ in range(30):
            g1 = m_d * (D * (digamma(x + n) - digamma(x))).sum()
            g2 = m_d * (D * (polygamma(1, x + n) - polygamma(1, x))).sum()
            g, h = p.a - 1 + x * (g1 - d), x * (g1 - d) + x * x * g2
            if h >= 0:
                h = x * x * g2
            step = np.clip(g / h, -2, 2)
            x = max(x * np.exp(-step), 1e-12)
            if abs(step) < 1e-8:
                break
        out[k] = x
    return out


# ---------------------------------------------------------------- moves
def t(p: Problem, alpha: float, n: Any, m_p: float = 1.0, m_d: float = 1.0) -> float:
    """m_d sum_s D_s [lgamma(alpha + r n_s / D_s) - lgamma(alpha)]."""
    rise = gammaln(alpha + m_p / m_d * n / p.documents) - gammaln(alpha)
    return float(m_d * (p.documents * rise).sum())


def best_alpha(
    p: Problem, start: float, n: Any, d: float, m_p: float = 1.0, m_d: float = 1.0
) -> float:
    """Three fixed-point steps with den frozen."""
    x = start
    for _ in range(3):
        z = x + m_p / m_d * n / p.documents
        x = (p.a - 1 + x * m_d * (p.documents * (digamma(z) - digamma(x))).sum()) / d
    return float(x)


def split_gain(
    p: Problem,
    r: Any,
    alpha: float,
    d: float,
    *,
    hard: bool,
    m_p: float = 1.0,
    m_d: float = 1.0,
) -> tuple[float, tuple[float, float, float]]:
    """dF of section 3.6 for a part whose items p holds, and the alphas it takes."""
    zero = np.zeros(p.phibar.shape[1])
    sums = [
        ((h * p.count).sum(), (h * p.count) @ p.phibar, h @ p.by_group)
        for h in (r, 1 - r, np.ones(len(r)))
    ]
    whole = sums[2][0]
    starts = [alpha * sums[0][0] / whole, alpha * sums[1][0] / whole, alpha]
    alphas = [
        best_alpha(p, a, s[2], d, m_p, m_d) for a, s in zip(starts, sums, strict=True)
    ]
    parts = [
        -p.family.log_z(m_p * N, m_p * S) - t(p, a, n, m_p, m_d)
        + (d - p.b) * a + float(penalty(np.array(a), p.a, p.b))
        for a, (N, S, n) in zip(alphas, sums, strict=True)
    ]  # fmt: skip
    dF = p.family.log_z(0.0, zero) + parts[0] + parts[1] - parts[2]
    if not hard:
        both = np.stack([r, 1 - r], axis=1)
        dF += m_p * entropy(both, p.count)
    return dF, (alphas[2], alphas[0], alphas[1])


def group_merge_gain(counts: Any, documents: Any, alpha: Any, s: int, u: int) -> float:
    """By eq. 27 for two columns of counts (K, S)."""

    def g(n: Any, D: float) -> float:
        z = alpha + n / D
        return float(D * (gammaln(z.sum()) - gammaln(z).sum()))

    return (
        g(counts[:, s] + counts[:, u], documents[s] + documents[u])
        - g(counts[:, s], documents[s]) - g(counts[:, u], documents[u])
    )  # fmt: skip


# ---------------------------------------------------------------- held-out words
def folded_score(alpha: Any, words: Any, given: Any, rest: Any) -> float:
    """Log probability per held-out token; proportions by one routine for all programs.

    Variational steps of latent Dirichlet allocation with topics fixed, from a model's
    own alpha.
    """
    total = 0.0
    for one, other in zip(given, rest, strict=True):
        own = np.flatnonzero(one)
        gamma = alpha + one.sum() / len(alpha)
        for _ in range(100):
            q = np.exp(digamma(gamma))[:, None] * words[:, own]
            q /= np.maximum(q.sum(0), 1e-300)
            gamma = alpha + q @ one[own]
        p = gamma / gamma.sum() @ words
        total += float(other @ np.log(np.maximum(p, 1e-300)))
    return total / float(rest.sum())
