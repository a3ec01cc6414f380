"""What Gaussian leaves say under a prior: evidence, prediction, criteria."""
from libc.math cimport expm1, log, log1p, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from dyntree._core.trees.addends cimport Addends
from dyntree._core.kernels cimport explain_four, factor_four, factor_of
from dyntree._core.lanes cimport (
    LANES, Lanes, across, alike, gather_lanes, lane, plus, standardised, times,
)
from dyntree._core.linalg cimport at, packed_size
from dyntree._core.memory cimport resize
from dyntree._core.trees.leaf cimport LEAST_DF, LeafModel
from dyntree._core.trees.nodes cimport retired_weight
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.rmath cimport log_gamma

cdef double LOG_2PI = 1.8378770664093453
cdef double LOG_PI = 1.1447298858494002
cdef double SHAPE_0 = 0.5           # a0 of the inverse gamma prior


cdef inline Lanes standard_lanes(Cross cross, const double **x, int i) noexcept nogil:
    """Entry i of (1, z) at LANES rows."""
    if i == 0:
        return alike(1.0)
    return standardised(across(x, i - 1), cross.centre[i - 1], cross.inverse[i - 1])


cdef class GaussianLeaves(InheritingLeaves):
    """Constant and linear leaves under a normal-inverse-gamma prior.

    Parameters
    ----------
    n_columns : int
        Leading columns in the regression; 0 for constant leaves.
    has_level : bool
        False: regression through the frozen centre.
    b0 : float
        Scale of the variance's prior.
    has_evidence : bool, default True
        False for the prior model: every log evidence and log density is 0.
    divides : bool, default False
        Whether weights of rows divide their variance; else they are frequencies.

    Notes
    -----
    With w = (1, z), sums W'W and W't over active and retired rows, L = diag(0, l) and
    P = L + W'W: an = 1/2 + v/2, bn = b0 + r/2 with the residual r of all and the prior,
    and log evidence = -v/2 log 2 pi - min(n, 1) log(sqrt(2 pi) s_y) + (log|L| - log|P|)/2
    + a0 log b0 - an log bn + lnG(an) - lnG(a0), where |L| leaves out the level (O'Hagan
    and Forster 2004, section 11.4, with a flat level that the first row makes proper).
    One Cholesky factor of the cross products of (1, z, t) gives all of it. It is that of
    an empty leaf at n = 0, and predictive densities multiply to it from n = 1 on.

    Without a level v = n, and there is no term in s_y.

    Weights w that divide variances: of W'W and W't the weighted sums; omega L in place of
    L. The rest of a row weighs k = W'W[0, 0] / n, omega if empty, and adds
    (1 - n) log(k) / 2, so that a part of a row says of the level what it does at w = 1.

    Ties. A density says nothing within the grain of a response: n equal ones would have
    an evidence without bound as b0 falls. The residual counts as n `grain` at least (of
    weighted rows: as their total weight by it); see
    `ties.hidden_variance`.
    """

    def __init__(
        self, int n_columns, bint has_level, double b0, bint has_evidence=True,
        bint divides=False,
    ):
        cdef int size = packed_size(n_columns + 2), n_terms = n_columns + 1, k
        self.cross = Cross(n_columns, divides)
        self.first = self.cross.first
        self.n_products = size
        self.omega = 1.0
        self.family = self.cross
        self.addends = Addends(self.cross)
        self.n_basis = n_columns
        self.inherited_at = FACTOR + size
        self.n_derived = self.inherited_at + self.family.stride
        self.n_out = 3 + LANES * (n_columns + 1)
        self.skip = not has_level
        self.has_level = has_level
        self.has_evidence = has_evidence
        self.b0 = b0
        self.retires = self.subtracts = True
        self.logs = True
        self.may_inherit = has_evidence
        resize(
            <void **> &self.total_row,
            2 * self.first + (3 + 2 * LANES) * size + self.n_out + 2 * n_terms * n_terms + (5 + N_RELAX + 2 * LANES) * n_terms + 1,
            sizeof(double),
        )
        self.factors = <Lanes *> (self.total_row + self.family.stride)
        self.point = self.total_row + self.family.stride + LANES * size
        self.survey = self.point + size
        self.predicted = self.survey + self.family.stride
        self.inverse_columns = self.predicted + self.n_out
        self.inverse_rows = self.inverse_columns + n_terms * n_terms
        self.means = self.inverse_rows + n_terms * n_terms
        self.variances = self.means + n_terms
        self.slopes = self.variances + n_terms
        self.spreads = self.slopes + n_terms
        self.widest = self.spreads + n_terms + 1
        self.grid_slopes = self.widest + n_terms
        self.lifted = self.grid_slopes + N_RELAX * n_terms
        self.explained = <Lanes *> (self.lifted + LANES * size)
        for k in range(N_TABLE):
            self.log_gammas[k] = log_gamma(SHAPE_0 + 0.5 * k)

    def __dealloc__(self):
        free(self.total_row)

    cdef double factorise(
        self, const double *row, double *u, double *residual
    ) noexcept nogil:
        """Factor prior precision + cross products into u; returns half log|P|.

        Where it is of less than a row, what that lacks is taken off; see the notes. The
        residual is not below what the grain hides.
        """
        cdef double half = factor_of(
            self.n_basis + 2, self.skip, self.whole(row, self.lifted), self.slopes, u,
            residual,
        )
        residual[0] = self.above_grain(row, residual[0])
        return half - self.rest_of_row(row)

    cdef void factorise_lanes(
        self, const double **rows, Lanes *u, double *half_log_det, double *residual
    ) noexcept nogil:
        """`factorise` of four rows."""
        cdef const double *whole[LANES]
        cdef int k
        for k in range(LANES):
            whole[k] = self.whole(rows[k], self.lifted + k * self.n_products)
        factor_four(
            self.n_basis + 2, self.skip, whole, self.slopes, u, half_log_det, residual,
        )
        for k in range(LANES):
            residual[k] = self.above_grain(rows[k], residual[k])
            half_log_det[k] -= self.rest_of_row(rows[k])

    cdef const double *whole(self, const double *row, double *room) noexcept nogil:
        """The products, or where a level has less than one row, those with the rest.

        The rest of a row stands at the sums' own means, or at those of all rows, and has
        their mean weight.
        """
        cdef const double *g = row + self.first
        cdef double n = row[0], rest, share
        cdef int i, j
        if self.skip or n >= 1.0:
            return g
        rest = (1.0 - n) * (g[0] / n) if n > 0.0 else self.omega
        for j in range(self.n_basis + 2):
            for i in range(j + 1):
                if n > 0.0:
                    share = rest * (g[at(0, i)] / g[0]) * (g[at(0, j)] / g[0])
                else:
                    share = rest * self.point[at(i, j)]
                room[at(i, j)] = g[at(i, j)] + share
        return room

    cdef inline double rest_of_row(self, const double *row) noexcept nogil:
        """Half the logarithm of what the rest of a row weighs, as far as it is one."""
        cdef double n = row[0]
        if not self.first or self.skip or n >= 1.0 or not n > 0.0:
            return 0.0
        return 0.5 * (1.0 - n) * log(row[1] / n)

    cdef inline double beyond_level(self, double weight) noexcept nogil:
        """The weight that says something of the variance, v."""
        if self.skip:
            return weight
        return weight - 1.0 if weight > 1.0 else 0.0

    cdef double half_prior_log_det(self, const double *slopes) noexcept nogil:
        cdef double total = 0.0
        cdef int j
        for j in range(self.n_basis):
            total += log(slopes[1 + j])
        return 0.5 * total

    cdef inline double above_grain(
        self, const double *row, double residual
    ) noexcept nogil:
        """The residual, at least the variance that rounding of as many responses hides."""
        cdef double least = row[self.first] * self.grain
        return residual if residual > least else least

    cdef inline double log_gamma_shape(self, double weight) noexcept nogil:
        """log Gamma(a0 + weight / 2), looked up for small whole weights."""
        if weight < N_TABLE and weight == <int> weight:
            return self.log_gammas[<int> weight]
        return log_gamma(SHAPE_0 + 0.5 * weight)

    cdef inline double evidence(
        self, double weight, double half_log_det, double residual, double b0,
        double log_b0,
    ) noexcept nogil:
        """Log evidence of rows of that weight.

        half_log_det is half the log determinant of prior over posterior precision.
        """
        cdef double v = self.beyond_level(weight), shape = SHAPE_0 + 0.5 * v
        return (
            half_log_det - 0.5 * v * LOG_2PI + SHAPE_0 * log_b0
            - shape * log(b0 + 0.5 * residual)
            + self.log_gamma_shape(v) - self.log_gammas[0]
            - min(weight, 1.0) * self.level_unit
        )

    cdef inline const double *total(self, const Leaf *leaf) noexcept nogil:
        """Active and retired sums together; scratch, or the leaf's own active ones."""
        cdef int k
        if not retired_weight(leaf) > 0.0:
            return leaf.active
        for k in range(self.family.stride):
            self.total_row[k] = leaf.active[k] + leaf.retired[k]
        return self.total_row

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        cdef double *d = leaf.derived
        cdef const double *row = self.total(leaf)
        cdef double v = self.beyond_level(row[0]), residual, half, whole
        half = self.factorise(row, d + FACTOR, &residual)
        d[SHAPE] = SHAPE_0 + 0.5 * v
        d[SCALE] = self.b0 + 0.5 * residual
        d[T_CONSTANT] = (
            self.log_gamma_shape(v + 1.0) - self.log_gamma_shape(v)
            - 0.5 * (log(2.0 * d[SHAPE]) + LOG_PI)
        )
        whole = 0.0
        if self.has_evidence and row[0] > 0.0:
            whole = self.evidence(
                row[0], self.half_log_prior - half, residual, self.b0, self.log_b0
            )
        self.tell_evidence(leaf, whole)

    cdef double mass(self, const Leaf *leaf, ActivePool d) noexcept nogil:
        return leaf.n_rows if self.first else LeafModel.mass(self, leaf, d)

    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil:
        cdef const double *rows[LANES]
        cdef double[LANES] half, residual
        cdef int k
        for k in range(LANES):
            rows[k] = sums + min(k, n - 1) * self.family.stride
            if k < n:
                out[k] = 0.0
        if not self.has_evidence:
            return
        self.factorise_lanes(rows, self.factors, half, residual)
        for k in range(n):
            if rows[k][0] > 0.0:
                out[k] = self.evidence(
                    rows[k][0], self.half_log_prior - half[k], residual[k], self.b0,
                    self.log_b0,
                )

    cdef double log_evidence_of(self, const double *sums) noexcept nogil:
        """`log_evidences` of one row of sums."""
        cdef double residual, half
        if not (self.has_evidence and sums[0] > 0.0):
            return 0.0
        half = self.factorise(sums, <double *> self.factors, &residual)
        return self.evidence(
            sums[0], self.half_log_prior - half, residual, self.b0, self.log_b0
        )

    # ------------------------------------------------------------ prediction
    cdef double whiten(
        self, const Leaf *leaf, const double *x, double *v
    ) noexcept nogil:
        """v = U^-T (1, z); returns v'v, the variance of the mean over sigma^2."""
        cdef const double *u = leaf.derived + FACTOR
        cdef double total = 0.0, t
        cdef int i, k
        for i in range(self.skip, self.n_basis + 1):
            t = 1.0 if i == 0 else self.cross.standard(x, i - 1)
            for k in range(self.skip, i):
                t -= u[at(k, i)] * v[k]
            v[i] = t * u[at(i, i)]
            total += v[i] * v[i]
        return total

    cdef double locate(
        self, const Leaf *leaf, const double *x, double *v, double *kappa
    ) noexcept nogil:
        """Mean at x on the frozen scale, and its variance over sigma^2; v is scratch."""
        cdef const double *last = leaf.derived + FACTOR + at(0, self.n_basis + 1)
        cdef double location = 0.0
        cdef int i
        kappa[0] = self.whiten(leaf, x, v) + self.gap_variance
        for i in range(self.skip, self.n_basis + 1):
            location += v[i] * last[i]
        return location

    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        cdef const double *d = leaf.derived
        cdef double kappa, location = self.locate(leaf, x, out + 3, &kappa)
        out[0] = self.cross.y_centre + self.cross.y_spread * location
        out[1] = self.cross.y_spread * sqrt(d[SCALE] / d[SHAPE] * (self.noise + kappa))
        out[2] = 2.0 * d[SHAPE]

    cdef void predict_lanes(
        self, const Leaf *leaf, const double **x, int n, double *out, int32_t stride,
        Lanes *v,
    ) noexcept nogil:
        """`predict` at n <= LANES rows: sums in its order, so its bits."""
        cdef const double *d = leaf.derived
        cdef const double *last = d + FACTOR + at(0, self.n_basis + 1)
        cdef const double *u
        cdef Lanes kappa = alike(0.0), location = kappa, t
        cdef double variance = d[SCALE] / d[SHAPE]
        cdef int i, k
        for i in range(self.skip, self.n_basis + 1):
            u = d + FACTOR + at(0, i)
            t = standard_lanes(self.cross, x, i)
            for k in range(self.skip, i):
                t = plus(t, alike(-u[k]), v[k])
            v[i] = t = times(alike(u[i]), t)
            kappa = plus(kappa, t, t)
            location = plus(location, t, alike(last[i]))
        for i in range(n):
            out[0] = self.cross.y_centre + self.cross.y_spread * lane(location, i)
            out[1] = self.cross.y_spread * sqrt(variance * (self.noise + lane(kappa, i)))
            out[2] = 2.0 * d[SHAPE]
            out += stride

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        """Log density of the predictive Student t, or of several equal responses."""
        cdef const double *d = leaf.derived
        cdef double z, scale, location, kappa, df = 2.0 * d[SHAPE]
        if not self.has_evidence:
            return 0.0
        if weight != 1.0 and not self.first:
            return self.repeated(leaf, x, y, weight)
        location = self.locate(leaf, x, self.predicted, &kappa)
        location = self.cross.y_centre + self.cross.y_spread * location
        scale = self.cross.y_spread * sqrt(d[SCALE] / d[SHAPE] * (1.0 / weight + kappa))
        z = (y - location) / scale
        self.deviance = (df + 1.0) * log1p(z * z / df)
        return d[T_CONSTANT] - 0.5 * self.deviance - log(scale)

    cdef double share_within(
        self, const Leaf *leaf, const double *x, double y, double weight, double most
    ) noexcept nogil:
        cdef const double *d = leaf.derived
        cdef double kappa, location = self.locate(leaf, x, self.predicted, &kappa)
        cdef double df = 2.0 * d[SHAPE]
        cdef double off = (y - self.cross.y_centre) * self.cross.y_inverse - location
        # the largest square of `off` where the scale is 1
        cdef double reach = df * expm1(most / (df + 1.0)) * (d[SCALE] / d[SHAPE])
        if off * off <= reach * (1.0 / weight + kappa):
            return 1.0
        return reach / weight / (off * off - reach * kappa)

    cdef double repeated(
        self, const Leaf *leaf, const double *x, double y, double times
    ) noexcept nogil:
        """Log density of that many responses y at x together; `times` may be any > 0.

        It is what a row of such a frequency adds to the log evidence.
        """
        cdef const double *d = leaf.derived
        cdef double kappa, location = self.locate(leaf, x, self.predicted, &kappa)
        cdef double off = (y - self.cross.y_centre) * self.cross.y_inverse - location
        cdef double gain = 0.5 * times * off * off / (1.0 + times * kappa)
        return (
            log_gamma(d[SHAPE] + 0.5 * times) - log_gamma(d[SHAPE])
            - d[SHAPE] * log1p(gain / d[SCALE]) - 0.5 * log1p(times * kappa)
            - 0.5 * times * (log(d[SCALE] + gain) + LOG_2PI)
            - times * log(self.cross.y_spread)
        )

    # ------------------------------------------------------------ criteria
    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return 2.0 * leaf.derived[SCALE] * self.cross.y_spread * self.cross.y_spread

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return 2.0 * leaf.derived[SHAPE]

    cdef double variance_df(self, const Leaf *leaf) noexcept nogil:
        return max(2.0 * leaf.derived[SHAPE], <double> LEAST_DF) - 2.0

    cdef int coefficients(self, const Leaf *leaf, double *out) noexcept nogil:
        """Posterior means on the raw scale."""
        cdef const double *u = leaf.derived + FACTOR
        cdef const double *last = u + at(0, self.n_basis + 1)
        cdef int i, k, q = self.n_basis, first = 1 - self.skip
        cdef double level = 0.0, t
        for i in range(q, self.skip - 1, -1):
            t = last[i]
            for k in range(i + 1, q + 1):
                t -= u[at(i, k)] * out[k - self.skip]
            out[i - self.skip] = t * u[at(i, i)]
        if first:
            level = self.cross.y_centre + self.cross.y_spread * out[0]
        for i in range(q):
            if self.cross.spread[i] == 0.0:
                out[first + i] = 0.0
                continue
            out[first + i] *= self.cross.y_spread / self.cross.spread[i]
            level -= out[first + i] * self.cross.centre[i]
        if first:
            out[0] = level
        return first + q

    cdef double coordinate(
        self, const Leaf *leaf, int j, double value
    ) noexcept nogil:
        if self.cross.spread[j] == 0.0:
            return 0.0
        return (value - self.cross.centre[j]) * self.cross.inverse[j]

    cdef double neutral(self, int j) noexcept nogil:
        return self.cross.centre[j] if j < self.n_basis else 0.0

    cdef double lift(
        self, const Leaf *leaf, const double *x, double *u, double *kappa
    ) noexcept nogil:
        cdef const double *f = leaf.derived + FACTOR
        cdef int i, k, q = self.n_basis
        cdef double c0
        kappa[0] = self.whiten(leaf, x, u)
        for i in range(q, self.skip - 1, -1):       # u = U^-1 v, in place
            for k in range(i + 1, q + 1):
                u[i] -= f[at(i, k)] * u[k]
            u[i] *= f[at(i, i)]
        c0 = 0.0 if self.skip else u[0]
        for i in range(q):
            u[i] = u[i + 1]
        return c0

    cdef void invert_factor(
        self, const Leaf *leaf, double *columns, double *rows
    ) noexcept nogil:
        """C = U^-1 but for the response's column, square by columns and by rows."""
        cdef const double *u = leaf.derived + FACTOR
        cdef double t
        cdef int i, j, k, first = self.skip, n = self.n_basis + 1 - first
        for j in range(n):
            columns[j * n + j] = rows[j * n + j] = u[at(first + j, first + j)]
            for i in range(j - 1, -1, -1):
                t = 0.0
                for k in range(i + 1, j + 1):
                    t -= u[at(first + i, first + k)] * columns[j * n + k]
                t *= u[at(first + i, first + i)]
                columns[j * n + i] = rows[i * n + j] = t

    cdef void explain_rows(
        self, const Leaf *leaf, const double *mean, const double *variance,
        const double *rows, int32_t width, const int32_t *which, int32_t n,
        const double *weights, double *out,
    ) noexcept nogil:
        """With u = P^-1 (1, x): ((1, mean)'u)^2 + sum_j variance_j u_j^2 over what a
        response varies by, 1 / w + kappa.
        """
        cdef int first = self.skip, n_terms = self.n_basis + 1 - first, i
        cdef Lanes worth
        cdef const double *x[LANES]
        cdef double[LANES] noise
        cdef int32_t k = 0, m, a
        for a in range(LANES):
            noise[a] = self.noise
        self.invert_factor(leaf, self.inverse_columns, self.inverse_rows)
        for i in range(n_terms):
            self.means[i] = mean[first + i - 1] if first + i else 1.0
            self.variances[i] = variance[first + i - 1] if first + i else 0.0
        while k < n:
            m = gather_lanes(rows, width, which + k, n - k, x)
            if weights != NULL:
                for a in range(m):
                    noise[a] = 1.0 / weights[which[k + a]]
            worth = explain_four(
                n_terms, 1 - first, x, noise, self.cross.centre, self.cross.inverse,
                self.inverse_columns, self.inverse_rows, self.means, self.variances,
                self.explained,
            )
            for a in range(m):
                out[k + a] = lane(worth, a)
            k += m

    cdef double mean_kappa(
        self, const Leaf *leaf, const double *mean, const double *variance, double *v
    ) noexcept nogil:
        cdef const double *u = leaf.derived + FACTOR
        cdef double total = 0.0, t
        cdef int i, j, k, q = self.n_basis
        for i in range(self.skip, q + 1):           # at the mean
            t = 1.0 if i == 0 else mean[i - 1]
            for k in range(self.skip, i):
                t -= u[at(k, i)] * v[k]
            v[i] = t * u[at(i, i)]
            total += v[i] * v[i]
        for j in range(1, q + 1):                   # trace: columns of U^-T
            if variance[j - 1] == 0.0:
                continue
            for i in range(j, q + 1):
                t = 1.0 if i == j else 0.0
                for k in range(j, i):
                    t -= u[at(k, i)] * v[k]
                v[i] = t * u[at(i, i)]
                total += variance[j - 1] * v[i] * v[i]
        return total
