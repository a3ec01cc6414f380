"""Leaves of two labels that are logistic regressions; see the declarations."""
import numpy as np

cimport cython
from libc.math cimport INFINITY, M_PI, exp, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from dyntree._core.family cimport Bound, bound_precision
from dyntree._core.kernels cimport factor_four, factor_of
from dyntree._core.lanes cimport LANES
from dyntree._core.linalg cimport at
from dyntree._core.sites cimport label_site
from dyntree._core.spans cimport Spans
from dyntree._core.trees.addends cimport Addends
from dyntree._core.trees.gaussian_leaves cimport FACTOR, SCALE, SHAPE, T_CONSTANT
from dyntree._core.trees.leaf cimport MOVED, UNKNOWN, UNMOVED, LeafModel, Place
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.trees.scaled_leaves cimport LEAST_UNIT
from dyntree._core.types cimport slot_t

cdef double LEVEL = 0.04            # prior precision of the level
cdef double OTHER_SPREAD = 1.5      # factor on a spread at which a prior follows
cdef double LIMIT = 700.0           # of scores: no probability is 0
cdef double[N_TAU] TAUS = [0.1, 0.5, 2.0]
cdef double FIRST_TAU = 0.5

cdef enum:
    N_NODES = 5                     # of Gauss and Hermite, for a mean over a rectangle
cdef double[N_NODES] NODES = [
    -2.8569700138728056, -1.3556261799742659, 0.0, 1.3556261799742659, 2.8569700138728056,
]
cdef double[N_NODES] SHARES = [
    0.011257411327720689, 0.2220759220056126, 0.5333333333333333, 0.2220759220056126,
    0.011257411327720689,
]


cdef inline double sigmoid(double z) noexcept nogil:
    return 1.0 / (1.0 + exp(-min(max(z, -LIMIT), LIMIT)))


@cython.final
cdef class LogisticLeaves(ScaledLeaves):
    """Leaves of the log odds of the second of two labels.

    Parameters
    ----------
    n_columns : int
        Leading columns in the regression.
    n_classes : int
        Labels that there are so far, 1 or 2; a lone one is certain.

    Notes
    -----
    With the sums G = sum lam w w', h = sum (t - 1/2) w and c, and P = L + G:
    log evidence = c + h'P^-1 h / 2 + (log|L| - log|P|) / 2, a lower bound of it; b has the
    law N(P^-1 h, P^-1).
    """

    def __init__(self, int n_columns, int n_classes):
        if n_classes > 2:
            raise ValueError(f"n_classes must be 1 or 2; got {n_classes}.")
        super().__init__(n_columns, True, 1.0, True, True)
        self.family = self.cross = Bound(n_columns)
        self.addends = Addends(self.cross)
        self.n_classes = n_classes
        self.has_xi = self.lacks_scale = True
        self.tau = FIRST_TAU
        self.set_scale([0.0] * n_columns, [0.0] * n_columns)

    def set_scale(self, centre, spread):
        """Take a scale of the columns; those of spread 0 are left out."""
        self.cross.set_scale(centre, spread, 0.0, 1.0)
        self.count_columns()
        self.stand([0.0] * self.n_basis, [1.0] * self.n_basis)

    cdef int scale_by(self, ActivePool d) except -1:
        """By mean and standard deviation of the values that there are."""
        centre, spread = [0.0] * self.n_basis, [0.0] * self.n_basis
        for j, column in enumerate(d.rows()[0].T[:self.n_basis]):
            values = column[~np.isnan(column)]
            if len(values) == 0:
                continue
            centre[j] = float(values.mean())
            off = values - centre[j]
            largest = float(np.abs(off).max())
            if largest > LEAST_UNIT:
                spread[j] = largest * float((off / largest).std(ddof=1))
        self.lacks_scale = False
        self.addends.forget()
        self.set_scale(centre, spread)
        return 0

    cdef int fix_units(self, const double *x, double y, Spans seen) noexcept:
        return 0 if self.lacks_scale else ScaledLeaves.fix_units(self, x, y, seen)

    def first_beyond(self, X, y, double limit, Spans seen):
        """As of `ScaledLeaves`; None while there is no scale."""
        return None if self.lacks_scale else super().first_beyond(X, y, limit, seen)

    def within_reach(self, X, double limit, Spans seen):
        """As of `ScaledLeaves`; None while there is no scale."""
        return None if self.lacks_scale else super().within_reach(X, limit, seen)

    def stand(self, middle, spreads):
        """Place the prior: means and spreads of the columns."""
        cdef int j
        for j in range(1, self.n_basis + 1):
            self.point[at(0, j)] = middle[j - 1]
            self.spreads[j] = spreads[j - 1]
        self.point[at(0, self.n_basis + 1)] = 0.0
        self.multiply_out()
        self.set_prior(self.tau)

    cdef void set_prior(self, double tau) noexcept nogil:
        """Change the prior; every leaf must be refreshed."""
        cdef int j, k, n_terms = self.n_basis + 1
        cdef double *slopes
        self.tau = tau
        for k in range(N_TAU):
            slopes = self.grid_slopes + k * n_terms
            for j in range(1, n_terms):
                slopes[j] = (self.spreads[j] / TAUS[k]) ** 2
            self.half_log_priors[k] = 0.5 * log(LEVEL) + self.half_prior_log_det(slopes)
            if TAUS[k] == tau:
                memcpy(self.slopes, slopes, n_terms * sizeof(double))
                self.half_log_prior = self.half_log_priors[k]

    cdef void follow_units(self) noexcept nogil:
        self.set_prior(self.tau)

    def to_state(self):
        """Prior point and its place, and the frozen scale, as plain numbers and lists."""
        centre, spread, _, _ = self.cross.scale_of()
        return {
            "tau": self.tau, "lacks_scale": float(self.lacks_scale),
            "centre": centre, "spread": spread,
            "middle": [self.point[at(0, 1 + j)] for j in range(self.n_basis)],
            "spreads": [self.spreads[1 + j] for j in range(self.n_basis)],
        }

    def from_state(self, state):
        """Take over what `to_state` gave."""
        self.tau, self.lacks_scale = state["tau"], state["lacks_scale"] > 0.0
        self.set_scale(state["centre"], state["spread"])
        self.stand(state["middle"], state["spreads"])

    # ------------------------------------------------------------ evidence
    cdef double mass(self, const Leaf *leaf, ActivePool d) noexcept nogil:
        return LeafModel.mass(self, leaf, d)

    cdef const double *with_level(
        self, const double *sums, double *room
    ) noexcept nogil:
        """The products, with the prior precision of the level."""
        memcpy(room, sums + self.first, self.n_products * sizeof(double))
        room[0] += LEVEL
        return room

    cdef double bound(
        self, const double *sums, const double *slopes, double half_log_prior, double *u
    ) noexcept nogil:
        """Log evidence of these sums at a prior; u becomes the factor of P."""
        cdef double residual, half
        half = factor_of(
            self.n_basis + 2, 0, self.with_level(sums, self.lifted), slopes, u, &residual
        )
        return half_log_prior - half - 0.5 * residual

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        cdef double *d = leaf.derived
        cdef const double *sums = self.total(leaf)
        cdef double whole = self.bound(
            sums, self.slopes, self.half_log_prior, d + FACTOR
        )
        d[SHAPE] = d[SCALE] = 1.0
        d[T_CONSTANT] = 0.0
        self.tell_evidence(leaf, whole if sums[0] > 0.0 else 0.0)

    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil:
        cdef const double *rows[LANES]
        cdef double[LANES] half, residual
        cdef int k
        for k in range(LANES):
            rows[k] = self.with_level(
                sums + min(k, n - 1) * self.family.stride, self.lifted + k * self.n_products
            )
        factor_four(
            self.n_basis + 2, 0, rows, self.slopes, self.factors, half, residual
        )
        for k in range(n):
            out[k] = 0.0
            if sums[k * self.family.stride] > 0.0:
                out[k] = self.half_log_prior - half[k] - 0.5 * residual[k]

    cdef double log_evidence_of(self, const double *sums) noexcept nogil:
        """`log_evidences` of one row of sums."""
        if not sums[0] > 0.0:
            return 0.0
        return self.bound(
            sums, self.slopes, self.half_log_prior, <double *> self.factors
        )

    # ------------------------------------------------------------ rows
    cdef double after_steps(
        self, double e, double v, double half, double weight
    ) noexcept nogil:
        """xi^2 of rows of log odds N(e, v), after two steps; half is t - 1/2."""
        cdef double square = e * e + v, shrunk
        cdef int k
        for k in range(2):
            shrunk = 1.0 / (1.0 + weight * bound_precision(sqrt(square)) * v)
            square = shrunk * (e + weight * half * v)
            square = square * square + shrunk * v
        return square

    cdef double squared_xi(
        self, const Leaf *leaf, ActivePool d, slot_t s
    ) noexcept nogil:
        cdef double v, e = self.locate(leaf, d.x(s), self.predicted, &v)
        return self.after_steps(e, v, d.y(s) - 0.5, d.w(s))

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        """Log probability of the label, or of several equal ones together."""
        cdef double e, v, m, u, sign = 2.0 * y - 1.0
        if self.n_classes < 2:
            return 0.0
        if weight == 1.0:
            return -log1p(exp(-sign * self.score_at(leaf, x, self.predicted)))
        e = self.locate(leaf, x, self.predicted, &v)
        return label_site(e, v, sign, weight, &m, &u)

    cdef double score_at(
        self, const Leaf *leaf, const double *x, double *v
    ) noexcept nogil:
        cdef double kappa, e = self.locate(leaf, x, v, &kappa)
        e /= sqrt(1.0 + 0.125 * M_PI * kappa)
        return min(max(e, -LIMIT), LIMIT)

    # ------------------------------------------------------------ prediction
    cdef double probability_at(
        self, const Leaf *leaf, const double *x, int k, double *out
    ) noexcept nogil:
        cdef double score
        if self.n_classes < 2:
            return 1.0
        score = self.score_at(leaf, x, out)
        return sigmoid(score if k else -score)

    cdef void add_proba(
        self, const Leaf *leaf, const double *x, double *proba, double *out
    ) noexcept nogil:
        cdef double score
        if self.n_classes < 2:
            proba[0] += 1.0
            return
        score = self.score_at(leaf, x, out)
        proba[0] += sigmoid(-score)
        proba[1] += sigmoid(score)

    cdef double mean_entropy(
        self, const Leaf *leaf, const double *mean, const double *variance, double *v
    ) noexcept nogil:
        """By nodes of a normal law that has the moments of the log odds."""
        cdef const double *u = leaf.derived + FACTOR
        cdef const double *last = u + at(0, self.n_basis + 1)
        cdef double kappa = self.mean_kappa(leaf, mean, variance, v)
        cdef double e, spread = 0.0, score, total = 0.0
        cdef int i, k, q = self.n_basis
        if self.n_classes < 2:
            return 0.0
        for i in range(q, -1, -1):          # v = U^-1 u, the coefficients
            v[i] = last[i]
            for k in range(i + 1, q + 1):
                v[i] -= u[at(i, k)] * v[k]
            v[i] *= u[at(i, i)]
        e = v[0]
        for i in range(q):
            e += v[1 + i] * mean[i]
            spread += v[1 + i] * v[1 + i] * variance[i]
        for k in range(N_NODES):
            score = e + NODES[k] * sqrt(spread)
            score /= sqrt(1.0 + 0.125 * M_PI * kappa)
            score = min(max(score, -LIMIT), LIMIT)
            total += SHARES[k] * (
                sigmoid(score) * log1p(exp(-score)) + sigmoid(-score) * log1p(exp(score))
            )
        return total

    # what draws ask: the law of the coefficients has the variance 1
    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return 1.0

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return INFINITY

    # ------------------------------------------------------------ prior
    cdef Place take_place(
        self, double *y, const double *weights, int32_t n, int64_t n_seen
    ) noexcept nogil:
        """Rows count here as they do for the log odds: by lam."""
        cdef const double *g = self.survey + self.first
        cdef Place place = UNMOVED
        cdef double ratio
        cdef int j
        if not self.survey[0] > 1.0:
            return UNKNOWN
        for j in range(1, self.n_basis + 1):
            self.point[at(0, j)] = g[at(0, j)] / g[0]
            ratio = self.spread_in(self.survey, j) / self.spreads[j]
            if ratio > OTHER_SPREAD or 0.0 < ratio * OTHER_SPREAD < 1.0:
                place = MOVED
        if place == MOVED:
            for j in range(1, self.n_basis + 1):
                ratio = self.spread_in(self.survey, j)
                if ratio > 0.0:
                    self.spreads[j] = ratio
        self.multiply_out()
        self.set_prior(self.tau)
        return place

    cdef void score_priors(
        self, const Leaf *leaf, double multiplicity, double *scores
    ) noexcept nogil:
        """Add the leaf's log evidence at every point of the grid."""
        self.add_scores(self.total(leaf), multiplicity, scores)
        self.add_scores(self.inherited(leaf), -multiplicity, scores)

    cdef void add_scores(
        self, const double *sums, double multiplicity, double *scores
    ) noexcept nogil:
        cdef int k
        if not sums[0] > 0.0:
            return
        for k in range(N_TAU):
            scores[k] += multiplicity * self.bound(
                sums, self.grid_slopes + k * (self.n_basis + 1), self.half_log_priors[k],
                <double *> self.factors,
            )

    cdef bint adopt_prior(self, const double *scores) noexcept nogil:
        """Move to the best point if it gains more than one nat; whether it moved."""
        cdef int k, best = 0, now = 0
        for k in range(N_TAU):
            if scores[k] > scores[best]:
                best = k
            if TAUS[k] == self.tau:
                now = k
        if not scores[best] > scores[now] + 1.0:
            return False
        self.set_prior(TAUS[best])
        return True
