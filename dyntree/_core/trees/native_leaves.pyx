"""Regression leaves of the native rules."""
import numpy as np

cimport cython
from libc.float cimport DBL_MAX
from libc.math cimport NAN, fabs, isnan, log, log1p, log10, round, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from dyntree._core.trees.addends cimport Addends
from dyntree._core.kernels cimport explain_four, factor_four, factor_of
from dyntree._core.lanes cimport (
    LANES, Lanes, across, alike, gather_lanes, lane, of_four, plus, standardised, times,
)
from dyntree._core.linalg cimport at, packed_size
from dyntree._core.memory cimport resize
from dyntree._core.ties cimport hidden_variance
from dyntree._core.spans cimport Spans
from dyntree._core.trees.leaf cimport (
    COLUMN_UNIT, KEPT, MOVED, N_PRIORS, RESPONSE_UNIT, UNKNOWN, Place,
)
from dyntree._core.trees.nodes cimport EVIDENCE, retired_weight
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.rmath cimport log_gamma

cdef double LOG_2PI = 1.8378770664093453
cdef double LOG_PI = 1.1447298858494002
cdef double SHAPE_0 = 0.5           # a0 of the inverse gamma prior
cdef double SLOPE_UNIT = 0.04       # prior precision of a slope, per column
cdef double DISPLACED = 0.5         # spreads from the rows' mean at which a prior follows
cdef double OTHER_SPREAD = 1.5      # factor on a spread, and
cdef double OTHER_GRAIN = 1.25      # on a grain, at which it does
cdef double OTHER_UNIT = 0.75       # decades off the unit of the responses' variance
cdef double ROUNDING = 1e-12        # of a mean square: a variance that is only rounding
cdef double HANDED_ON = 1.0         # most weight to inherit, per active row
# standard deviation of ten values of which nine are equal and one differs by 1
cdef double FIRST_UNIT = 0.31622776601683794
cdef double LEAST_UNIT = 1e-300     # what is smaller has no inverse to count in

# the grid of priors that a cloud chooses from, N_KAPPA points a row
cdef double[N_B] BS = [30.0, 3.0, 0.3, 0.03, 0.003, 3e-4, 3e-5, 3e-6]
cdef double[N_KAPPA] KAPPAS = [1.0, 0.1, 0.01, 0.001]


cdef inline Lanes standard_lanes(Cross cross, const double **x, int i) noexcept nogil:
    """Entry i of (1, z) at LANES rows."""
    if i == 0:
        return alike(1.0)
    return standardised(across(x, i - 1), cross.centre[i - 1], cross.inverse[i - 1])


cdef bint fixes_unit(
    double *centre, double *spread, double value, bint is_first, bint centred
) noexcept nogil:
    """Whether a value gives a unit to a column without one; if so it is written.

    The first value becomes the centre, the first that differs fixes the unit: what came
    before it stands at the centre, where its coordinate is 0 in any unit.
    """
    cdef double unit
    if spread[0] > 0.0 or value != value:
        return False
    if is_first and centred:
        centre[0] = value
    unit = FIRST_UNIT * fabs(value - centre[0])
    if not unit > LEAST_UNIT:
        return False
    spread[0] = unit
    return True


@cython.final
cdef class Units:
    """Units as they become along rows that are looked at before they are learned."""

    cdef void take(self, const double *x, const double *y) noexcept nogil:
        """Let a row fix units; y may be NULL."""
        cdef Py_ssize_t j
        for j in range(self.centre.shape[0]):
            if self.spread[j] > 0.0 or x[j] != x[j]:
                continue
            if fixes_unit(
                &self.centre[j], &self.spread[j], x[j],
                self.first[j] != self.first[j], self.centred,
            ):
                self.inverse[j] = min(1.0 / self.spread[j], DBL_MAX)
            self.first[j] = x[j]
        if self.y_open and y != NULL:
            self.y_open = not fixes_unit(
                &self.y_centre, &self.y_spread, y[0], False, self.centred
            )


@cython.final
cdef class NativeGaussian(LeafModel):
    """Constant and linear leaves under a normal-inverse-gamma prior.

    Parameters
    ----------
    n_columns : int
        Leading columns in the regression; 0 for constant leaves.
    has_level : bool
        False: regression through the frozen centre.
    b0, kappa0 : float
        Scale of the variance's prior and prior weight of the level.
    has_evidence : bool, default True
        False for the prior model: every log evidence and log density is 0.

    Notes
    -----
    With w = (1, z), prior precision P0, sums W'W and W't over active and retired rows,
    P = P0 + W'W: an = 1/2 + n/2, bn = b0 + r/2 with the residual r of all and the prior,
    and log evidence = -n/2 log 2 pi + (log|P0| - log|P|)/2 + a0 log b0 - an log bn
    + lnG(an) - lnG(a0) (O'Hagan and Forster 2004, section 11.4). One Cholesky factor of
    the cross products of (1, z, t) gives all of it. The prior of the level is kappa0
    rows at the point (m, m_y), which makes P0 = kappa0 (1, m)(1, m)' + diag(0, 0.04 p
    s^2) and log|P0| = log kappa0 + sum_j log(0.04 p s_j^2).

    Ties. A density says nothing within the grain of a response: n equal ones would have
    an evidence without bound as b0 falls. The residual counts as n `grain` at least; see
    `ties.hidden_variance`.
    """

    def __init__(
        self, int n_columns, bint has_level, double b0, double kappa0,
        bint has_evidence=True,
    ):
        cdef int size = packed_size(n_columns + 2), n_terms = n_columns + 1, k
        self.cross = Cross(n_columns)
        self.family = self.cross
        self.addends = Addends(self.cross)
        self.n_basis = n_columns
        self.n_derived = FACTOR + 2 * size
        self.n_out = 3 + LANES * (n_columns + 1)
        self.skip = not has_level
        self.has_level = has_level
        self.has_evidence = has_evidence
        self.b0 = b0
        self.kappa0 = kappa0
        self.retires = self.subtracts = True
        self.logs = True
        self.may_inherit = has_evidence
        resize(
            <void **> &self.total_row, (3 + LANES) * size + self.n_out
            + 2 * n_terms * n_terms + (4 + 2 * LANES) * n_terms, sizeof(double),
        )
        self.factors = <Lanes *> (self.total_row + size)
        self.point = self.total_row + (1 + LANES) * size
        self.survey = self.point + size
        self.predicted = self.survey + size
        self.inverse_columns = self.predicted + self.n_out
        self.inverse_rows = self.inverse_columns + n_terms * n_terms
        self.means = self.inverse_rows + n_terms * n_terms
        self.variances = self.means + n_terms
        self.slopes = self.variances + n_terms
        self.spreads = self.slopes + n_terms
        self.explained = <Lanes *> (self.spreads + n_terms)
        for k in range(N_TABLE):
            self.log_gammas[k] = log_gamma(SHAPE_0 + 0.5 * k)
        self.set_scale([0.0] * n_columns, [1.0] * n_columns, 0.0, 1.0)

    def __dealloc__(self):
        free(self.total_row)

    def set_scale(self, centre, spread, double y_centre, double y_spread):
        """Freeze the scale, before the first row; the prior stands at its centre.

        A spread of 0 leaves a column out until `fix_units` finds one, and has responses
        count in units of 1 until then.
        """
        self.y_open = not y_spread > 0.0
        self.cross.set_scale(centre, spread, y_centre, 1.0 if self.y_open else y_spread)
        self.count_columns()
        self.stand([0.0] * (self.n_basis + 1), [1.0] * self.n_basis, 1.0, 0.0)

    cdef void count_columns(self) noexcept nogil:
        """Bring what hangs on the number of columns in the regression up to date."""
        cdef int j, n_used = 0
        for j in range(self.n_basis):
            n_used += self.cross.spread[j] > 0.0
        self.slope_unit = SLOPE_UNIT * max(n_used, 1)
        self.n_open = self.n_basis - n_used + self.y_open

    cdef int fix_units(self, const double *x, double y, Spans seen) noexcept:
        cdef Cross s = self.cross
        cdef int j, fixed = 0
        for j in range(self.n_basis):
            if fixes_unit(
                &s.centre[j], &s.spread[j], x[j], seen.view[j, 0] != seen.view[j, 0],
                not self.skip,
            ):
                s.inverse[j] = min(1.0 / s.spread[j], DBL_MAX)
                fixed |= COLUMN_UNIT
        if self.y_open:
            s.y_spread = 0.0
            if fixes_unit(&s.y_centre, &s.y_spread, y, False, not self.skip):
                s.y_inverse = min(1.0 / s.y_spread, DBL_MAX)
                self.y_open = False
                fixed |= RESPONSE_UNIT
            else:
                s.y_spread = 1.0
        if fixed:
            self.count_columns()
            self.multiply_out()
            self.set_prior(self.b0, self.kappa0)
        return fixed

    cdef double response_unit(self) noexcept nogil:
        return self.cross.y_spread

    cdef Units units(self, Spans seen):
        """Units that rows may fix, as they are now."""
        cdef Units units = Units()
        cdef Cross s = self.cross
        cdef int j
        table = np.empty((4, self.n_basis))
        units.centre, units.spread, units.inverse, units.first = table
        for j in range(self.n_basis):
            units.centre[j], units.spread[j] = s.centre[j], s.spread[j]
            units.inverse[j], units.first[j] = s.inverse[j], seen.view[j, 0]
        units.y_centre, units.y_spread = s.y_centre, 0.0 if self.y_open else s.y_spread
        units.y_open, units.centred = self.y_open, not self.skip
        return units

    def stand(self, middle, spreads, double y_unit, double grain):
        """Place the prior: means (m, m_y), spreads of the columns, unit and grain."""
        cdef int j
        for j in range(1, self.n_basis + 2):
            self.point[at(0, j)] = middle[j - 1]
        for j in range(self.n_basis):
            self.spreads[1 + j] = spreads[j]
        self.multiply_out()
        self.y_unit = y_unit
        self.grain = grain
        self.set_prior(self.b0, self.kappa0)

    cdef void set_prior(self, double b0, double kappa0) noexcept nogil:
        """Change the prior point; every leaf must be refreshed."""
        cdef int k
        self.b0 = b0
        self.kappa0 = kappa0
        self.log_b0 = log(b0)
        self.half_log_prior = self.half_prior_log_det(kappa0)
        for k in range(N_KAPPA):
            self.half_log_priors[k] = self.half_prior_log_det(KAPPAS[k])
        for k in range(N_B):
            self.log_bs[k] = log(BS[k] * self.y_unit)

    def to_state(self):
        """Prior point and its place, and the frozen scale, as plain numbers and lists."""
        centre, spread, y_centre, y_spread = self.cross.scale_of()
        return {
            "b0": self.b0, "kappa0": self.kappa0, "centre": centre, "spread": spread,
            "y_centre": y_centre, "y_spread": y_spread,
            "middle": [self.point[at(0, 1 + j)] for j in range(self.n_basis + 1)],
            "spreads": [self.spreads[1 + j] for j in range(self.n_basis)],
            "y_unit": self.y_unit, "grain": self.grain,
            **({"y_open": 1} if self.y_open else {}),
        }

    def from_state(self, state):
        """Take over what `to_state` gave."""
        self.b0, self.kappa0 = state["b0"], state["kappa0"]
        self.set_scale(
            state["centre"], state["spread"], state["y_centre"],
            0.0 if "y_open" in state else state["y_spread"],
        )
        self.stand(state["middle"], state["spreads"], state["y_unit"], state["grain"])

    def first_beyond(self, const double[:, ::1] X, y, double limit, Spans seen):
        """The first value `limit` spreads away from its centre, or None.

        Rows may fix units that there are none of, as they will when they are learned.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,) or None
        limit : float
        seen : Spans
            Of the rows learned.

        Returns
        -------
        (row, column, centre, spread), column -1 for the response, or None
        """
        cdef Py_ssize_t row
        cdef int j
        cdef const double[::1] response = y
        cdef Units units = self.units(seen)
        cdef double[::1] centre = units.centre, inverse = units.inverse
        cdef bint is_open = self.n_open > 0
        for row in range(X.shape[0]):
            if is_open:
                units.take(&X[row, 0], NULL if response is None else &response[row])
            for j in range(self.n_basis):
                if fabs((X[row, j] - centre[j]) * inverse[j]) > limit:
                    return row, j, centre[j], units.spread[j]
            if response is not None and fabs(response[row] - units.y_centre) > (
                limit * (1.0 if units.y_open else units.y_spread)
            ):
                return row, -1, units.y_centre, units.y_spread
        return None

    def within_reach(self, const double[:, ::1] X, double limit, Spans seen):
        """Rows with their inputs at most `limit` spreads from the centre, or None.

        Parameters are those of `first_beyond`.

        Returns
        -------
        (rows, moved) or None
            A copy of X, and for each column of which values were moved the least and
            the largest that there may be; None where all are near.
        """
        found = self.first_beyond(X, None, limit, seen)
        if found is None:
            return None
        near = np.array(X)
        cdef double[:, ::1] rows = near
        cdef Units units = self.units(seen)
        cdef Py_ssize_t row
        cdef double low, high
        cdef int j
        moved = {}
        for row in range(rows.shape[0]):
            units.take(&rows[row, 0], NULL)
            for j in range(self.n_basis):
                if not units.spread[j] > 0.0:
                    continue
                low = units.centre[j] - limit * units.spread[j]
                high = units.centre[j] + limit * units.spread[j]
                if rows[row, j] < low or rows[row, j] > high:
                    rows[row, j] = low if rows[row, j] < low else high
                    moved[j] = low, high
        return near, moved

    # ------------------------------------------------------------ posterior
    cdef double factorise(
        self, const double *row, double *u, double *residual
    ) noexcept nogil:
        """Factor prior precision + cross products into u; returns half log|P|."""
        return factor_of(
            self.n_basis + 2, self.skip, row, self.kappa0, self.point, self.slopes, u,
            residual,
        )

    cdef void factorise_lanes(
        self, const double **rows, Lanes kappa0, Lanes *u, double *half_log_det,
        double *residual,
    ) noexcept nogil:
        """`factorise` of four rows."""
        factor_four(
            self.n_basis + 2, self.skip, rows, kappa0, self.point, self.slopes, u,
            half_log_det, residual,
        )

    cdef double half_prior_log_det(self, double kappa0) noexcept nogil:
        cdef double total = 0.0 if self.skip else log(kappa0)
        cdef int j
        for j in range(self.n_basis):
            total += log(self.slopes[1 + j])
        return 0.5 * total

    cdef double held(self, double weight, double residual) noexcept nogil:
        """The residual, or what the grain of as many responses hides where it is more."""
        cdef double least = weight * self.grain
        return residual if residual > least else least

    cdef double log_gamma_shape(self, double weight) noexcept nogil:
        """log Gamma(a0 + weight / 2), looked up for small whole weights."""
        if weight < N_TABLE and weight == <int> weight:
            return self.log_gammas[<int> weight]
        return log_gamma(SHAPE_0 + 0.5 * weight)

    cdef double evidence(
        self, double weight, double log_gamma, double half_log_det, double residual,
        double b0, double log_b0,
    ) noexcept nogil:
        """Log evidence of rows of that weight.

        log_gamma is `log_gamma_shape` of the weight, half_log_det half the log
        determinant of prior over posterior precision.
        """
        cdef double shape = SHAPE_0 + 0.5 * weight
        return (
            half_log_det - 0.5 * weight * LOG_2PI + SHAPE_0 * log_b0
            - shape * log(b0 + 0.5 * self.held(weight, residual))
            + log_gamma - self.log_gammas[0]
        )

    cdef const double *total(self, const Leaf *leaf) noexcept nogil:
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
        cdef double log_gamma = self.log_gamma_shape(row[0]), residual, half
        half = self.factorise(row, d + FACTOR, &residual)
        d[SHAPE] = SHAPE_0 + 0.5 * row[0]
        d[SCALE] = self.b0 + 0.5 * self.held(row[0], residual)
        d[T_CONSTANT] = (
            self.log_gamma_shape(row[0] + 1.0) - log_gamma
            - 0.5 * (log(2.0 * d[SHAPE]) + LOG_PI)
        )
        if self.has_evidence:
            d[EVIDENCE] = self.evidence(
                row[0], log_gamma, self.half_log_prior - half, residual, self.b0,
                self.log_b0,
            )
        else:
            d[EVIDENCE] = 0.0
        if isnan(d[INHERITED]):
            d[INHERITED] = self.log_evidence_of(self.inherited(leaf))
        d[EVIDENCE] -= d[INHERITED]
        d[ACTIVE] = NAN if retired_weight(leaf) > 0.0 else d[EVIDENCE]

    cdef double *inherited(self, const Leaf *leaf) noexcept nogil:
        """Sums of the retired rows that the leaf got from its parent."""
        return leaf.derived + FACTOR + self.family.stride

    cdef double share(self, const Leaf *parent, double n_rows) noexcept nogil:
        """Factor on the parent's retired sums for a child with n_rows active rows."""
        return min(
            n_rows / <double> parent.n_rows, HANDED_ON * n_rows / retired_weight(parent)
        )

    cdef void inherit(self, Leaf *child, const Leaf *parent) noexcept nogil:
        cdef double *inherited = self.inherited(child)
        cdef double factor
        cdef int k
        if not retired_weight(parent) > 0.0:
            self.release(child)
            return
        factor = self.share(parent, child.n_rows)
        for k in range(self.family.stride):
            child.retired[k] = inherited[k] = factor * parent.retired[k]
        child.derived[RETIRED] = child.derived[INHERITED] = NAN

    cdef void release(self, Leaf *child) noexcept nogil:
        self.family.clear(child.retired)
        self.family.clear(self.inherited(child))
        child.derived[RETIRED] = child.derived[INHERITED] = 0.0

    cdef void after_retiring(self, Leaf *leaf, bint faded) noexcept nogil:
        leaf.derived[ACTIVE] = leaf.derived[RETIRED] = NAN
        if faded:
            self.refresh(leaf)

    cdef void fade(self, Leaf *leaf, double factor) noexcept nogil:
        if factor == 1.0:
            return
        self.family.scale(leaf.retired, factor)
        self.family.scale(self.inherited(leaf), factor)
        leaf.derived[INHERITED] = NAN

    cdef void pool(
        self, Leaf *into, Leaf **leaves, int n, ActivePool d
    ) noexcept nogil:
        cdef int k
        self.family.clear(self.inherited(into))
        for k in range(n):
            self.family.merge(self.inherited(into), self.inherited(leaves[k]))
        into.derived[RETIRED] = into.derived[INHERITED] = NAN
        LeafModel.pool(self, into, leaves, n, d)

    cdef double pool_sums(
        self, Leaf **leaves, int n, double *total, double *inherited
    ) noexcept nogil:
        cdef double weight = LeafModel.pool_sums(self, leaves, n, total, inherited)
        cdef int k
        for k in range(n):
            if self.inherited(leaves[k])[0] > 0.0:
                if not inherited[0] > 0.0:
                    self.family.clear(inherited)
                self.family.merge(inherited, self.inherited(leaves[k]))
        if inherited[0] > 0.0 and weight > self.max_retired:
            self.family.scale(inherited, self.max_retired / weight)
        return weight

    cdef void refresh_all(self, Leaf *leaf) noexcept nogil:
        leaf.derived[RETIRED] = leaf.derived[INHERITED] = NAN
        self.refresh(leaf)

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
        self.factorise_lanes(
            rows, alike(self.kappa0), self.factors, half, residual
        )
        for k in range(n):
            if rows[k][0] > 0.0:
                out[k] = self.evidence(
                    rows[k][0], self.log_gamma_shape(rows[k][0]),
                    self.half_log_prior - half[k], residual[k], self.b0, self.log_b0,
                )

    cdef double log_evidence_of(self, const double *sums) noexcept nogil:
        """`log_evidences` of one row of sums."""
        cdef double residual, half
        if not (self.has_evidence and sums[0] > 0.0):
            return 0.0
        half = self.factorise(sums, <double *> self.factors, &residual)
        return self.evidence(
            sums[0], self.log_gamma_shape(sums[0]), self.half_log_prior - half, residual,
            self.b0, self.log_b0,
        )

    cdef double active_evidence(self, Leaf *leaf) noexcept nogil:
        if isnan(leaf.derived[ACTIVE]):
            leaf.derived[ACTIVE] = self.log_evidence_of(leaf.active)
        return leaf.derived[ACTIVE]

    cdef void child_share(
        self, double n_rows, const Leaf *parent, double *out
    ) noexcept nogil:
        cdef double factor = self.share(parent, n_rows)
        cdef int k
        for k in range(self.family.stride):
            out[k] = factor * parent.retired[k]

    cdef double conditional_evidence(self, Leaf *leaf) noexcept nogil:
        cdef double *d = leaf.derived
        if isnan(d[RETIRED]):
            d[RETIRED] = self.log_evidence_of(leaf.retired)
        return d[EVIDENCE] + d[INHERITED] - d[RETIRED]

    cdef double size(self, const Leaf *leaf) noexcept nogil:
        return leaf.n_rows + retired_weight(leaf)

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

    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        cdef const double *d = leaf.derived
        cdef const double *last = d + FACTOR + at(0, self.n_basis + 1)
        cdef double *v = out + 3
        cdef double kappa = self.whiten(leaf, x, v), location = 0.0
        cdef int i
        for i in range(self.skip, self.n_basis + 1):
            location += v[i] * last[i]
        out[0] = self.cross.y_centre + self.cross.y_spread * location
        out[1] = self.cross.y_spread * sqrt(d[SCALE] / d[SHAPE] * (1.0 + kappa))
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
            out[1] = self.cross.y_spread * sqrt(variance * (1.0 + lane(kappa, i)))
            out[2] = 2.0 * d[SHAPE]
            out += stride

    cdef double density(self, Leaf *leaf, double *x, double y) noexcept nogil:
        """Log density of the predictive Student t."""
        cdef double *out = self.predicted
        cdef double z, df
        if not self.has_evidence:
            return 0.0
        self.predict(leaf, x, out)
        df = out[2]
        z = (y - out[0]) / out[1]
        return (
            leaf.derived[T_CONSTANT] - 0.5 * (df + 1.0) * log1p(z * z / df)
            - log(out[1])
        )

    # ------------------------------------------------------------ criteria
    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return 2.0 * leaf.derived[SCALE] * self.cross.y_spread * self.cross.y_spread

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return 2.0 * leaf.derived[SHAPE]

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
        double *out,
    ) noexcept nogil:
        """With u = P^-1 (1, x): ((1, mean)'u)^2 + sum_j variance_j u_j^2 over 1 + kappa.
        """
        cdef int first = self.skip, n_terms = self.n_basis + 1 - first, i
        cdef Lanes worth
        cdef const double *x[LANES]
        cdef int32_t k = 0, m, a
        self.invert_factor(leaf, self.inverse_columns, self.inverse_rows)
        for i in range(n_terms):
            self.means[i] = mean[first + i - 1] if first + i else 1.0
            self.variances[i] = variance[first + i - 1] if first + i else 0.0
        while k < n:
            m = gather_lanes(rows, width, which + k, n - k, x)
            worth = explain_four(
                n_terms, 1 - first, x, self.cross.centre, self.cross.inverse,
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

    # ------------------------------------------------------------ prior
    cdef void begin_survey(self) noexcept nogil:
        self.family.clear(self.survey)

    cdef void survey_leaf(self, const Leaf *leaf, double multiplicity) noexcept nogil:
        cdef const double *row = self.total(leaf)
        cdef int k
        for k in range(self.family.stride):
            self.survey[k] += multiplicity * row[k]

    cdef double spread_in(self, const double *sums, int i) noexcept nogil:
        """Standard deviation of term i; 0 where rounding could have made it."""
        cdef double mean = sums[at(0, i)] / sums[0], square = sums[at(i, i)] / sums[0]
        cdef double variance = square - mean * mean
        return sqrt(variance) if variance > ROUNDING * square else 0.0

    cdef bint is_displaced(self, const double *sums) noexcept nogil:
        """Whether means or spreads of the rows are far from where the prior stands."""
        cdef int i, y = self.n_basis + 1
        cdef double spread, ratio
        for i in range(1, y + 1):
            spread = self.spread_in(sums, i)
            if spread == 0.0:
                continue
            if not self.skip and (
                fabs(sums[at(0, i)] / sums[0] - self.point[at(0, i)]) > DISPLACED * spread
            ):
                return True
            if i == y:
                return fabs(log10(spread * spread / self.y_unit)) > OTHER_UNIT
            ratio = spread / self.spreads[i]
            if ratio > OTHER_SPREAD or ratio * OTHER_SPREAD < 1.0:
                return True
        return False

    cdef void place_prior(self, const double *sums) noexcept nogil:
        """Bring the prior to the means and spreads of the rows."""
        cdef int i, j, y = self.n_basis + 1
        cdef double spread
        for i in range(1, y + 1):
            spread = self.spread_in(sums, i)
            self.point[at(0, i)] = 0.0 if self.skip else sums[at(0, i)] / sums[0]
            if i < y and spread > 0.0:
                self.spreads[i] = spread
            if i == y and spread > 0.0:
                self.y_unit = 10.0 ** round(2.0 * log10(spread))
        self.multiply_out()

    cdef void multiply_out(self) noexcept nogil:
        """v v' from v, its first row, and precisions from spreads."""
        cdef int i, j
        self.point[0] = 1.0
        for j in range(1, self.n_basis + 1):
            self.slopes[j] = self.slope_unit * self.spreads[j] * self.spreads[j]
        for j in range(1, self.n_basis + 2):
            for i in range(1, j + 1):
                self.point[at(i, j)] = self.point[at(0, i)] * self.point[at(0, j)]

    cdef Place take_place(self, double *y, int32_t n) noexcept nogil:
        cdef double grain = hidden_variance(y, n)
        cdef Place place = KEPT
        if grain < 0.0 or not self.survey[0] > 1.0:
            return UNKNOWN
        grain *= self.cross.y_inverse * self.cross.y_inverse
        if grain > OTHER_GRAIN * self.grain or grain * OTHER_GRAIN < self.grain:
            self.grain = grain
            place = MOVED
        if self.is_displaced(self.survey):
            self.place_prior(self.survey)
            place = MOVED
        if place == MOVED:
            self.set_prior(self.b0, self.kappa0)
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
        cdef const double *rows[LANES]
        cdef double[LANES] half, residual
        cdef double log_gamma = self.log_gamma_shape(row[0])
        cdef int i, k
        for k in range(N_KAPPA):
            rows[k] = row
        self.factorise_lanes(
            rows, of_four(KAPPAS[0], KAPPAS[1], KAPPAS[2], KAPPAS[3]),
            self.factors, half, residual,
        )
        for k in range(N_KAPPA):
            for i in range(N_B):
                scores[i * N_KAPPA + k] += multiplicity * self.evidence(
                    row[0], log_gamma, self.half_log_priors[k] - half[k], residual[k],
                    BS[i] * self.y_unit, self.log_bs[i],
                )

    cdef bint adopt_prior(self, const double *scores) noexcept nogil:
        """Move to the best point if it gains more than one nat; whether it moved."""
        cdef int k, best = 0, now = -1
        for k in range(N_PRIORS):
            if scores[k] > scores[best]:
                best = k
            if BS[k // N_KAPPA] * self.y_unit == self.b0 and KAPPAS[k % N_KAPPA] == self.kappa0:
                now = k
        if now >= 0 and not scores[best] > scores[now] + 1.0:
            return False
        self.set_prior(BS[best // N_KAPPA] * self.y_unit, KAPPAS[best % N_KAPPA])
        return True
