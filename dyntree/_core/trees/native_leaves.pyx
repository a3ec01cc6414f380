"""Regression leaves of the native rules, with a prior that moves."""
cimport cython
from libc.math cimport fabs, log, log10, round, sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.kernels cimport factor_of
from dyntree._core.linalg cimport at
from dyntree._core.ties cimport hidden_variance
from dyntree._core.trees.gaussian_leaves cimport N_B, N_RELAX
from dyntree._core.trees.scaled_leaves cimport ScaledLeaves
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.trees.leaf cimport MOVED, UNKNOWN, UNMOVED, Place

cdef double SLOPE_UNIT = 0.04       # prior precision of a slope, per column
cdef double FLOOR = 1.0 / 3.0       # of the spread of all rows seen, in that precision
cdef double HALF_LOG_2PI = 0.91893853320467274
cdef double DISPLACED = 0.5         # spreads from the rows' mean at which a prior follows
cdef double OTHER_SPREAD = 1.5      # factor on a spread, and
cdef double OTHER_GRAIN = 1.25      # on a grain, at which it does
cdef double OTHER_UNIT = 0.75       # decades off the unit of the responses' variance

# the grid of priors that a cloud chooses from: scales, and factors on the precisions of
# slopes
cdef double[N_B] BS = [30.0, 3.0, 0.3, 0.03, 0.003, 3e-4, 3e-5, 3e-6]
cdef double[N_RELAX] RELAX = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5]

FIRST_ROWS = 10                     # rows behind the frozen scale, as a rule


@cython.final
cdef class NativeGaussian(ScaledLeaves):
    """Constant and linear leaves whose prior follows the rows; see `GaussianLeaves`."""

    def __init__(
        self, int n_columns, bint has_level, double b0, bint has_evidence=True,
        bint divides=False,
    ):
        super().__init__(n_columns, has_level, b0, has_evidence, divides)
        self.relaxed = 1.0
        self.set_scale([0.0] * n_columns, [1.0] * n_columns, 0.0, 1.0)

    def set_scale(self, centre, spread, double y_centre, double y_spread):
        """Freeze the scale, before the first row; the prior stands at its centre.

        A spread of 0 leaves a column out until `fix_units` finds one, and has responses
        count in units of 1 until then.
        """
        self.y_open = not y_spread > 0.0
        self.cross.set_scale(centre, spread, y_centre, 1.0 if self.y_open else y_spread)
        self.count_columns()
        self.recall([1.0] * self.n_basis, FIRST_ROWS)
        self.stand([0.0] * (self.n_basis + 1), [1.0] * (self.n_basis + 1), 1.0, 0.0)

    cdef void count_columns(self) noexcept nogil:
        ScaledLeaves.count_columns(self)
        self.slope_unit = SLOPE_UNIT * max(self.n_used, 1) * self.omega

    cdef void follow_units(self) noexcept nogil:
        self.set_prior(self.b0, self.relaxed)

    cdef double times(self, double weight) noexcept nogil:
        return 1.0 if self.first else weight

    def stand(self, middle, spreads, double y_unit, double grain):
        """Place the prior: means and spreads of columns and response, unit, grain."""
        cdef int j
        for j in range(1, self.n_basis + 2):
            self.point[at(0, j)] = middle[j - 1]
            self.spreads[j] = spreads[j - 1]
        self.multiply_out()
        self.y_unit = y_unit
        self.grain = grain
        self.set_prior(self.b0, self.relaxed)

    def recall(self, widest, int64_t n_told):
        """Take over the spreads of all rows seen, as they were after n_told of them."""
        cdef int j
        for j in range(self.n_basis):
            self.widest[1 + j] = widest[j]
        self.n_told = n_told

    cdef double slope(self, int j, double relaxed, double widest) noexcept nogil:
        """Prior precision of the slope of term j."""
        cdef double own = relaxed * self.spreads[j] * self.spreads[j]
        cdef double least = FLOOR * widest
        return self.slope_unit * max(own, least * least)

    cdef void set_prior(self, double b0, double relaxed) noexcept nogil:
        """Change the prior point; every leaf must be refreshed."""
        cdef int j, k, n_terms = self.n_basis + 1
        cdef double *slopes
        self.b0 = b0
        self.log_b0 = log(b0)
        self.relaxed = relaxed
        if not self.skip:
            self.level_unit = log(self.spreads[n_terms]) + HALF_LOG_2PI
        for j in range(1, n_terms):
            self.slopes[j] = self.slope(j, self.relaxed, self.widest[j])
        self.half_log_prior = self.half_prior_log_det(self.slopes)
        for k in range(N_RELAX):
            slopes = self.grid_slopes + k * n_terms
            for j in range(1, n_terms):
                slopes[j] = self.slope(j, RELAX[k], self.widest[j])
            self.half_log_priors[k] = self.half_prior_log_det(slopes)
        for k in range(N_B):
            self.log_bs[k] = log(BS[k] * self.y_unit)

    def to_state(self):
        """Prior point and its place, and the frozen scale, as plain numbers and lists."""
        centre, spread, y_centre, y_spread = self.cross.scale_of()
        return {
            "b0": self.b0, "relaxed": self.relaxed,
            "centre": centre, "spread": spread,
            "y_centre": y_centre, "y_spread": y_spread,
            "middle": [self.point[at(0, 1 + j)] for j in range(self.n_basis + 1)],
            "spreads": [self.spreads[1 + j] for j in range(self.n_basis + 1)],
            "y_unit": self.y_unit, "grain": self.grain,
            "widest": [self.widest[1 + j] for j in range(self.n_basis)],
            "n_told": self.n_told, "y_open": self.y_open,
            "mean_weight": self.omega, "weight_unit": self.noise,
        }

    def from_state(self, state):
        """Take over what `to_state` gave."""
        self.b0 = state["b0"]
        self.omega, self.noise = state["mean_weight"], state["weight_unit"]
        self.relaxed = state["relaxed"]
        self.set_scale(
            state["centre"], state["spread"], state["y_centre"],
            0.0 if state["y_open"] else state["y_spread"],
        )
        self.recall(state["widest"], state["n_told"])
        self.stand(state["middle"], state["spreads"], state["y_unit"], state["grain"])

    # ------------------------------------------------------------ prior
    cdef bint is_displaced(self, const double *sums) noexcept nogil:
        """Whether means, spreads or weights of the rows are far from the prior's own."""
        cdef const double *g = sums + self.first
        cdef int i, y = self.n_basis + 1
        cdef double spread, ratio, weight = g[0] / sums[0]
        if (
            weight > OTHER_SPREAD * self.omega or weight * OTHER_SPREAD < self.omega
        ):
            return True
        for i in range(1, y + 1):
            spread = self.spread_in(sums, i)
            if spread == 0.0:
                continue
            if not self.skip and (
                fabs(g[at(0, i)] / g[0] - self.point[at(0, i)]) > DISPLACED * spread
            ):
                return True
            if i == y:
                return fabs(log10(weight * spread * spread / self.y_unit)) > OTHER_UNIT
            ratio = spread / self.spreads[i]
            if ratio > OTHER_SPREAD or ratio * OTHER_SPREAD < 1.0:
                return True
        return False

    cdef void place_prior(self, const double *sums) noexcept nogil:
        """Bring the prior to the means, spreads and weights of the rows."""
        cdef const double *g = sums + self.first
        cdef int i, y = self.n_basis + 1
        cdef double spread
        self.omega = g[0] / sums[0]
        self.count_columns()
        for i in range(1, y + 1):
            spread = self.spread_in(sums, i)
            self.point[at(0, i)] = 0.0 if self.skip else g[at(0, i)] / g[0]
            if spread > 0.0:
                self.spreads[i] = spread
            if i == y and spread > 0.0:
                self.y_unit = 10.0 ** round(2.0 * log10(spread) + log10(self.omega))
        self.multiply_out()

    cdef bint remember(self, const double *sums, int64_t n_seen) noexcept nogil:
        """Bring the spreads of all rows seen up to date; whether that moves a slope.

        Rows that are gone count as rows without any spread from then on, and one look
        does not believe in more than OTHER_SPREAD of what was known.
        """
        cdef double factor = sqrt(min(self.n_told / <double> n_seen, 1.0)), before, wide
        cdef int j
        cdef bint moved = False
        for j in range(1, self.n_basis + 1):
            before = self.widest[j]
            wide = max(
                min(self.spread_in(sums, j), OTHER_SPREAD * before), factor * before
            )
            moved = moved or (
                self.slope(j, self.relaxed, wide) != self.slope(j, self.relaxed, before)
            )
            self.widest[j] = wide
        self.n_told = n_seen
        return moved

    cdef Place take_place(
        self, double *y, const double *weights, int32_t n, int64_t n_seen
    ) noexcept nogil:
        cdef double grain = hidden_variance(y, NULL if self.first else weights, n)
        cdef Place place = UNMOVED
        if grain < 0.0 or not self.survey[0] > 1.0:
            return UNKNOWN
        grain *= self.cross.y_inverse * self.cross.y_inverse
        if grain > OTHER_GRAIN * self.grain or grain * OTHER_GRAIN < self.grain:
            self.grain = grain
            place = MOVED
        if self.is_displaced(self.survey):
            self.place_prior(self.survey)
            place = MOVED
        if self.remember(self.survey, n_seen):
            place = MOVED
        self.set_prior(self.b0, self.relaxed)
        return place

    cdef void score_priors(
        self, const Leaf *leaf, double multiplicity, double *scores
    ) noexcept nogil:
        """Add the leaf's log evidence at every point of the grid."""
        self.add_scores(self.total(leaf), multiplicity, scores)
        if self.inherited(leaf)[0] > 0.0:
            self.add_scores(self.inherited(leaf), -multiplicity, scores)

    cdef void add_scores(
        self, const double *row, double multiplicity, double *scores
    ) noexcept nogil:
        cdef const double *whole = self.whole(row, self.lifted)
        cdef double half = 0.0, residual = 0.0
        cdef int i, k, n_terms = self.n_basis + 1
        for k in range(N_RELAX):            # further on slopes may be at their least
            if k == 0 or self.half_log_priors[k] != self.half_log_priors[k - 1]:
                half = factor_of(
                    n_terms + 1, self.skip, whole, self.grid_slopes + k * n_terms,
                    <double *> self.factors, &residual,
                ) - self.rest_of_row(row)
                residual = self.above_grain(row, residual)
            for i in range(N_B):
                scores[i * N_RELAX + k] += multiplicity * self.evidence(
                    row[0], self.half_log_priors[k] - half, residual,
                    BS[i] * self.y_unit, self.log_bs[i],
                )

    cdef bint adopt_prior(self, const double *scores) noexcept nogil:
        """Move to the best point if it gains more than one nat; whether it moved."""
        cdef int k, best = 0, now = -1, n = N_RELAX
        for k in range(N_B * n):
            if scores[k] > scores[best]:
                best = k
            if BS[k // n] * self.y_unit == self.b0 and RELAX[k % n] == self.relaxed:
                now = k
        if now >= 0 and not scores[best] > scores[now] + 1.0:
            return False
        self.set_prior(BS[best // n] * self.y_unit, RELAX[best % n])
        return True
