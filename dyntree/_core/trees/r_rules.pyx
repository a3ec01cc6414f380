"""CRAN dynaTree's leaf models, weighing and choice of moves."""
from libc.math cimport INFINITY, exp, isfinite, isnan, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from dyntree._core.family cimport Counts, Moments, Regression
from dyntree._core.lanes cimport (
    LANES, Lanes, across, added, alike, lane, over, plus, root, shifted,
)
from dyntree._core.linalg cimport (
    add_outer, dot, factor, invert_factor, minus_log_det, packed_size, symmetric_times,
)
from dyntree._core.memory cimport resize
from dyntree._core.resample cimport residual
from dyntree._core.rmath cimport log_gamma, t_constant, t_density
from dyntree._core.rng cimport RandomStream
from dyntree._core.trees.nodes cimport (
    EVIDENCE, GROW, LUALL, PRUNE, STAY, retired_weight,
)
from dyntree._core.types cimport slot_t

cdef double EPSILON = 2.220446049250313e-16
cdef double LOG_2_OVER_PI = log(2.0 / 3.141592653589793)    # sic: R's constant


cdef class RGaussian(LeafModel):
    """Constant leaves (and "prior" ones, whose evidence is zero).

    Parameters
    ----------
    nu0, s20 : float
        Degrees of freedom and scale of the prior on the variance; 0, 0 is flat.
    has_evidence : bool
        False for the prior model: every evidence is 0 and every density 1.

    Notes
    -----
    With n active rows, retired weight g, I = 1 with a level, d parameters:
    Q = Q1 - R + Q0 is the posterior sum of squares, df = nu0 + g + n - d.
    """

    def __init__(self, double nu0, double s20, bint has_evidence=True):
        self.family = Moments(True)
        self.setup(nu0, s20, has_evidence)

    def setup(self, double nu0, double s20, bint has_evidence):
        """Store the options and lay out `derived` for self.n_basis columns."""
        cdef int q = self.n_basis, k
        self.nu0 = nu0
        self.s20 = s20
        self.has_evidence = has_evidence
        self.has_level = (<Moments> self.family).has_level
        self.retires = True
        self.n_out = 3 + LANES * 2 * q
        self.slopes_at = INVERSE + packed_size(q)
        self.means = self.slopes_at + q
        self.n_derived = self.means + q
        resize(<void **> &self.work, 2 * packed_size(q) + 3 * q + 1, sizeof(double))
        for k in range(N_CONSTANTS):
            self.constants[k] = t_constant(k)

    def __dealloc__(self):
        free(self.work)

    cdef void sum_rows(self, Leaf *leaf, ActivePool d) noexcept nogil:
        """Active sums from scratch; a tiny sum of squares counts as zero."""
        LeafModel.sum_rows(self, leaf, d)
        if leaf.active[2] < EPSILON:
            leaf.active[2] = 0.0

    cdef void regress(self, Leaf *leaf, ActivePool d) noexcept nogil:
        """Bring the regression part of `derived` up to date."""

    cdef void settle(self, Leaf *leaf, ActivePool d) noexcept nogil:
        self.regress(leaf, d)
        self.refresh(leaf)

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        """Q, df, level and log evidence, in R's order."""
        cdef double *t = leaf.derived
        cdef double n = leaf.n_rows, g = retired_weight(leaf), r = t[EXPLAINED]
        cdef double sg = leaf.retired[1], sum_y = leaf.active[1]
        cdef double ybar, q0, q1, total, df, post, w, diff
        cdef int parameters = self.has_level
        if self.n_basis == 0:
            r = 0.0
            t[LOG_DET] = 0.0
        elif r > 0.0:
            parameters += self.n_basis
        q0 = self.nu0 * self.s20 + leaf.retired[2]
        if g > 0.0:
            q0 = q0 - (sg * sg) / g
        ybar = sum_y / n if leaf.n_rows > 0 else 0.0
        q1 = leaf.active[2] - n * (ybar * ybar)
        if g > 0.0 and leaf.n_rows > 0:
            diff = ybar - sg / g
            q0 = q0 + ((g * n) * (diff * diff)) / (g + n)
        df = ((self.nu0 + g) + n) - parameters
        total = (q1 - r) + q0
        t[SUM_SQUARES] = total
        t[DF] = df
        t[LEVEL] = ybar if g <= 0.0 else (sg + sum_y) / (g + n)
        t[T_CONSTANT] = self.constant_of(df)
        t[SPREAD] = self.has_level * (1.0 / (g + n))
        if not self.has_evidence:
            t[EVIDENCE] = 0.0
            return
        if total <= 0.0:
            t[EVIDENCE] = -INFINITY
            return
        post = -0.5 * ((n - parameters) * LOG_2_OVER_PI)
        if self.has_level:
            if leaf.n_rows > 0:
                post -= 0.5 * log(n)
            if g > 0.0:
                post += 0.5 * log(g)
        post -= 0.5 * df * log(0.5 * total)
        post += log_gamma(0.5 * df)
        w = self.nu0 + g
        if w > 0.0 and q0 > 0.0:
            post += 0.5 * w * log(0.5 * q0) - log_gamma(0.5 * w)
        if self.n_basis:
            post += 0.5 * t[LOG_DET]
        t[EVIDENCE] = post

    cdef double constant_of(self, double df) noexcept nogil:
        """t_constant(df), looked up where df is a small whole number."""
        if 0.0 < df < N_CONSTANTS and df == <int> df:
            return self.constants[<int> df]
        return t_constant(df)

    cdef void solve(self, double *gram, const double *cross, double *t) noexcept nogil:
        """Inverse Gram, slopes, explained sum of squares and log det.

        A Gram matrix that is not positive definite is overwritten with zeros.
        """
        cdef int q = self.n_basis, size = packed_size(q), k
        cdef double *inverse = t + INVERSE
        cdef double *slopes = t + self.slopes_at
        cdef double *scratch = self.work + size
        cdef bint empty = True
        for k in range(size):
            if gram[k] != 0.0:
                empty = False
                break
        t[LOG_DET] = 0.0
        if not empty:
            memcpy(self.work, gram, size * sizeof(double))
            if factor(self.work, q) < 0:
                memset(gram, 0, size * sizeof(double))
                empty = True
            else:
                invert_factor(self.work, inverse, scratch, q)
                t[LOG_DET] = minus_log_det(self.work, q)
        if empty:
            memset(inverse, 0, size * sizeof(double))
        symmetric_times(inverse, cross, slopes, q)
        symmetric_times(gram, slopes, scratch, q)
        t[EXPLAINED] = dot(slopes, scratch, q)
        if t[EXPLAINED] <= 0.0:
            memset(inverse, 0, size * sizeof(double))
            t[LOG_DET] = 0.0

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        """Predictive density; implicit leaves round x as R does."""
        cdef double *t = leaf.derived
        cdef double kappa = t[SPREAD], level = t[LEVEL], precision
        cdef int q = self.n_basis, k
        if not self.has_evidence:
            return 1.0
        if t[SUM_SQUARES] <= 0.0:
            return 0.0
        if q:
            if self.rounds_rows:
                for k in range(q):
                    x[k] -= t[self.means + k]
            symmetric_times(t + INVERSE, x, self.work, q)
            kappa += dot(x, self.work, q)
            level += dot(x, t + self.slopes_at, q)
            if self.rounds_rows:
                for k in range(q):
                    x[k] += t[self.means + k]
        precision = sqrt((t[DF] / (1.0 + kappa)) / t[SUM_SQUARES])
        return t_density((y - level) * precision, t[DF], t[T_CONSTANT]) * precision

    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        """Location, scale, df; `out` has 2 * n_basis more doubles of scratch."""
        cdef const double *t = leaf.derived
        cdef double kappa = t[SPREAD]
        cdef double *z = out + 3
        cdef double *az
        cdef int q = self.n_basis, k
        out[0] = t[LEVEL]
        out[2] = t[DF]
        if q:
            az = z + q
            for k in range(q):
                z[k] = x[k] - t[self.means + k] if self.rounds_rows else x[k]
            symmetric_times(t + INVERSE, z, az, q)
            kappa += dot(z, az, q)
            out[0] += dot(z, t + self.slopes_at, q)
        out[1] = sqrt(t[SUM_SQUARES] / (t[DF] / (1.0 + kappa)))

    cdef void predict_lanes(
        self, const Leaf *leaf, const double **x, int n, double *out, int32_t stride,
        Lanes *z,
    ) noexcept nogil:
        """`predict` at n <= LANES rows: sums in its order, so its bits."""
        cdef const double *t = leaf.derived
        cdef const double *a = t + INVERSE
        cdef const double *slopes = t + self.slopes_at
        cdef int q = self.n_basis, i, j
        cdef Lanes *az = z + q
        cdef Lanes kappa = alike(0.0), location = kappa, s
        for j in range(q):
            z[j] = across(x, j)
            if self.rounds_rows:
                z[j] = shifted(z[j], -t[self.means + j])
            az[j] = alike(0.0)
        for j in range(q):
            s = alike(0.0)
            for i in range(j):
                az[i] = plus(az[i], z[j], alike(a[i]))
                s = plus(s, z[i], alike(a[i]))
            az[j] = added(plus(az[j], z[j], alike(a[j])), s)
            a += j + 1
        for j in range(q):
            kappa = plus(kappa, z[j], az[j])
            location = plus(location, z[j], alike(slopes[j]))
        location = shifted(location, t[LEVEL]) if q else alike(t[LEVEL])
        kappa = shifted(shifted(kappa, t[SPREAD]), 1.0)
        kappa = root(over(t[SUM_SQUARES], over(t[DF], kappa)))
        for i in range(n):
            out[0] = lane(location, i)
            out[1] = lane(kappa, i)
            out[2] = t[DF]
            out += stride

    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return leaf.derived[SUM_SQUARES]

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return leaf.derived[DF]

    cdef double coordinate(
        self, const Leaf *leaf, int j, double value
    ) noexcept nogil:
        return value - leaf.derived[self.means + j] if self.rounds_rows else value

    cdef double lift(
        self, const Leaf *leaf, const double *x, double *u, double *kappa
    ) noexcept nogil:
        cdef int q = self.n_basis, k
        cdef double *z = u + q + 1
        kappa[0] = leaf.derived[SPREAD]
        if q:
            for k in range(q):
                z[k] = self.coordinate(leaf, k, x[k])
            symmetric_times(leaf.derived + INVERSE, z, u, q)
            kappa[0] += dot(z, u, q)
        return leaf.derived[SPREAD]

    cdef int coefficients(self, const Leaf *leaf, double *out) noexcept nogil:
        cdef const double *slopes = leaf.derived + self.slopes_at
        cdef int k, first = self.has_level
        if first:
            out[0] = leaf.active[1] / leaf.n_rows - dot(
                leaf.derived + self.means, slopes, self.n_basis
            )
        for k in range(self.n_basis):
            out[first + k] = slopes[k]
        return first + self.n_basis


cdef class RImplicit(RGaussian):
    """Linear leaves with an implicit intercept: rows are centred, nothing retires."""

    def __init__(self, double nu0, double s20, int n_basis):
        self.family = Moments(True)
        self.n_basis = n_basis
        self.setup(nu0, s20, True)
        self.rounds_rows = True
        self.retires = False

    cdef void round_row(self, const Leaf *leaf, double *x) noexcept nogil:
        """Centre x and shift it back, as R does in the caller's storage."""
        cdef const double *means = leaf.derived + self.means
        cdef int k
        for k in range(self.n_basis):
            x[k] -= means[k]
            x[k] += means[k]

    cdef void mark_rounded(
        self, const Leaf *leaf, const double *rows, int32_t width,
        const int32_t *which, int32_t n, char *changed,
    ) noexcept nogil:
        cdef const double *means = leaf.derived + self.means
        cdef const double *x
        cdef int32_t k, j
        cdef bint same
        for k in range(n):
            x = rows + which[k] * <int64_t> width
            same = True
            for j in range(self.n_basis):
                same &= (x[j] - means[j]) + means[j] == x[j]
            changed[which[k]] |= not same

    cdef void regress(self, Leaf *leaf, ActivePool d) noexcept nogil:
        """Rebuild means, Gram and slopes from the rows in their order (D.1)."""
        cdef int q = self.n_basis, size = packed_size(q), k, j
        cdef double *means = leaf.derived + self.means
        cdef double *cross = self.work + size + q
        cdef double *z = cross + q
        cdef double *gram = z + q
        cdef double *x
        cdef double ybar = leaf.active[1] / leaf.n_rows, centred
        for j in range(q):
            means[j] = 0.0
        for k in range(leaf.n_rows):
            x = d.x(leaf.rows[k])
            for j in range(q):
                means[j] += x[j]
        for j in range(q):
            means[j] /= leaf.n_rows
        memset(gram, 0, size * sizeof(double))
        memset(cross, 0, q * sizeof(double))
        for k in range(leaf.n_rows):
            x = d.x(leaf.rows[k])
            centred = d.y(leaf.rows[k]) - ybar
            for j in range(q):
                z[j] = x[j] - means[j]
            add_outer(gram, z, q)
            for j in range(q):
                cross[j] += centred * z[j]
        self.solve(gram, cross, leaf.derived)


cdef class RExplicit(RGaussian):
    """Linear leaves through the origin; a column of ones makes an intercept.

    The Gram matrix and X'y in `active` are R's running totals, retired rows included;
    a failed factorisation leaves zeros there for good (quirk 3).
    """

    def __init__(self, double nu0, double s20, int n_basis):
        self.regression = Regression(n_basis)
        self.family = self.regression
        self.n_basis = n_basis
        self.setup(nu0, s20, True)

    cdef void sum_rows(self, Leaf *leaf, ActivePool d) noexcept nogil:
        cdef int k
        RGaussian.sum_rows(self, leaf, d)
        if retired_weight(leaf) > 0.0:
            for k in range(3, self.family.stride):
                leaf.active[k] += leaf.retired[k]

    cdef void regress(self, Leaf *leaf, ActivePool d) noexcept nogil:
        self.solve(
            self.regression.gram(leaf.active), self.regression.cross(leaf.active),
            leaf.derived,
        )

    cdef bint retire(
        self, Leaf *leaf, ActivePool d, slot_t s, double forget
    ) noexcept nogil:
        cdef double sum_squares
        self.family.scale(leaf.retired, forget)
        self.family.add(leaf.retired, d.x(s), d.y(s), 1.0, 1.0)
        leaf.active[0] -= 1.0
        leaf.active[2] = leaf.active[2] - d.y(s) * d.y(s) if leaf.n_rows else 0.0
        if forget < 1.0:
            sum_squares = leaf.active[2]
            self.sum_rows(leaf, d)
            leaf.active[2] = sum_squares
            self.regress(leaf, d)
        self.refresh(leaf)
        return forget < 1.0


cdef class RMultinomial(LeafModel):
    """Class leaves under a Dirichlet prior of weight 1 / n_classes per class."""

    def __init__(self, int n_classes):
        cdef int k
        self.family = Counts(n_classes)
        self.n_classes = n_classes
        self.n_derived = 1
        self.subtracts = True       # whole numbers
        self.retires = True
        for k in range(N_TABLE):
            self.whole_gammas[k] = log_gamma(k + 1.0)
            self.share_gammas[k] = log_gamma(k + 1.0 / n_classes)

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        """Small whole counts without retired ones look their log gammas up."""
        cdef double n = leaf.n_rows, g = retired_weight(leaf), mass = 1.0 / self.n_classes
        cdef bint tabled = g == 0.0 and n < N_TABLE
        cdef double post = -(
            self.whole_gammas[leaf.n_rows] if tabled else log_gamma(n + g + 1.0)
        )
        cdef int k
        for k in range(1, self.n_classes + 1):
            if tabled:
                post += self.share_gammas[<int> leaf.active[k]]
            else:
                post += log_gamma(leaf.active[k] + (leaf.retired[k] + mass))
        leaf.derived[EVIDENCE] = post - self.n_classes * self.share_gammas[0]

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        return self.probability(leaf, <int> y)

    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil:
        return (
            (leaf.active[1 + k] + leaf.retired[1 + k]) + 1.0 / self.n_classes
        ) / ((1.0 + leaf.n_rows) + retired_weight(leaf))


cdef class RNumerics(Numerics):
    """R's weighing, residual resampling and choice of move."""

    def __init__(self):
        self.collapses = True
        self.keeps_credit = True
        self.spans_active = True
        self.spares_oldest = True

    cdef int32_t resample(
        self, double *weights, int32_t n, int32_t n_target, RandomStream *s,
        int32_t *ancestors, double *work, double *log_mean, double *variance,
    ) noexcept nogil:
        """Normalise the densities and resample unless their variance is zero."""
        cdef double total = 0.0, norm, mean = 0.0, squares = 0.0, spread
        cdef int32_t i
        for i in range(n):
            total += weights[i]
        norm = total
        if norm == 0.0 or isnan(norm):
            for i in range(n):
                weights[i] = 1.0 / n
            norm = 1.0
        for i in range(n):
            weights[i] = weights[i] / norm
            mean += weights[i]
            squares += weights[i] * weights[i]
        mean = mean / n
        spread = squares / n - mean * mean
        if spread < 0.0:
            spread = 0.0
        variance[0] = spread
        if spread > 0.0:
            residual(weights, n, n_target, s, ancestors, work)
            n = n_target
            log_mean[0] = log(total) - log(<double> n)
            return n
        log_mean[0] = log(total) - log(<double> n)
        return 0

    cdef int choose(
        self, double stay, double grow, double prune, RandomStream *s
    ) noexcept nogil:
        """Draw a move after subtracting the *smallest* log score (4.3, quirk 2)."""
        cdef bint can_prune = isfinite(prune), can_grow = isfinite(grow)
        cdef double base = stay, norm, u
        if can_grow and not base < grow:
            base = grow if not isnan(base) else base
        if can_prune and not base < prune:
            base = prune if not isnan(base) else base
        if can_prune or can_grow:
            stay -= base
            if can_grow:
                grow -= base
            if can_prune:
                prune -= base
        else:
            stay = 0.0
        stay = exp(stay)
        prune = exp(prune)
        grow = exp(grow)
        norm = (stay + prune) + grow
        if not isfinite(norm) or norm == 0.0:
            return STAY
        u = s.uniform(s)
        if u < stay / norm:
            return STAY
        if u < stay / norm + prune / norm:
            return PRUNE
        return GROW

    cdef double failed_split(self, int proposal, double stay) noexcept nogil:
        """With "luall" a split that fails to split is scored as staying (quirk 53)."""
        return stay if proposal == LUALL else -INFINITY
