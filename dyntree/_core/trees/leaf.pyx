"""LeafModel: what every leaf model has in common."""
from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int32_t, int64_t

from dyntree._core.lanes cimport LANES, Lanes, gather_lanes, subtract
from dyntree._core.trees.nodes cimport EVIDENCE, WEIGHT, retired_weight


cdef class LeafModel:
    """Bookkeeping shared by the leaf models; a subclass adds the mathematics."""

    def __cinit__(self, *args, **options):
        self.max_retired = INFINITY
        self.noise = 1.0
        self.has_level = self.has_evidence = True
        self.n_out = 3

    cdef int reserve(self, ActivePool d) except -1:
        return 0 if self.addends is None else self.addends.reserve(d)

    cdef size_t nbytes(self) noexcept:
        """Bytes that grow with the active rows."""
        return 0 if self.addends is None else self.addends.nbytes()

    cdef void add_row(self, double *sums, ActivePool d, slot_t s) noexcept nogil:
        if self.addends is None:
            self.family.add(sums, d.x(s), d.y(s), d.w(s), d.e(s))
        else:
            self.addends.add(sums, d, s)

    cdef void remove_row(self, double *sums, ActivePool d, slot_t s) noexcept nogil:
        if self.addends is None:
            self.family.add(sums, d.x(s), d.y(s), -d.w(s), d.e(s))
        else:
            self.addends.remove(sums, d, s)

    cdef void sum_rows(self, Leaf *leaf, ActivePool d) noexcept nogil:
        """Active sums from the leaf's rows, in their order."""
        cdef int k
        self.family.clear(leaf.active)
        for k in range(leaf.n_rows):
            self.add_row(leaf.active, d, leaf.rows[k])

    cdef void settle(self, Leaf *leaf, ActivePool d) noexcept nogil:
        """Bring `derived` up to date after the sums or the rows have changed."""
        self.refresh(leaf)

    cdef void build(self, Leaf *leaf, ActivePool d) noexcept nogil:
        self.sum_rows(leaf, d)
        self.settle(leaf, d)

    cdef void build_children(
        self, Leaf *left, Leaf *right, const Leaf *parent, ActivePool d
    ) noexcept nogil:
        cdef Leaf *small = left if left.n_rows < right.n_rows else right
        cdef Leaf *large = right if left.n_rows < right.n_rows else left
        if not self.subtracts:
            self.build(left, d)
            self.build(right, d)
            return
        self.build(small, d)
        subtract(large.active, parent.active, small.active, self.family.stride)
        self.settle(large, d)

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        leaf.derived[EVIDENCE] = 0.0

    cdef void insert(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil:
        self.add_row(leaf.active, d, s)
        self.settle(leaf, d)

    cdef bint retire(
        self, Leaf *leaf, ActivePool d, slot_t s, double forget
    ) noexcept nogil:
        cdef bint faded = forget < 1.0
        if leaf.n_rows:
            self.remove_row(leaf.active, d, s)
        else:
            self.family.clear(leaf.active)
        self.fade(leaf, forget)
        self.add_row(leaf.retired, d, s)
        if retired_weight(leaf) > self.max_retired:
            self.fade(leaf, self.max_retired / retired_weight(leaf))
            faded = True
        self.after_retiring(leaf, faded)
        return faded

    cdef void after_retiring(self, Leaf *leaf, bint faded) noexcept nogil:
        self.refresh(leaf)

    cdef void fade(self, Leaf *leaf, double factor) noexcept nogil:
        self.family.scale(leaf.retired, factor)

    cdef double mass(self, const Leaf *leaf, ActivePool d) noexcept nogil:
        """Weight of the leaf's rows, which are not summed yet."""
        cdef double total = 0.0
        cdef int k
        if d.w_ == NULL:
            return leaf.n_rows
        for k in range(leaf.n_rows):
            total += d.w(leaf.rows[k])
        return total

    cdef void inherit(
        self, Leaf *child, const Leaf *parent, ActivePool d
    ) noexcept nogil:
        """Share in proportion to the active rows (CRAN; Anagnostopoulos 2013, 3.2)."""
        cdef double weight = 0.0, total = retired_weight(parent), factor
        cdef int k
        if total > 0.0:
            weight = (child.n_rows / <double> parent.n_rows) * total
        if not weight > 0.0:
            self.release(child)
            return
        factor = weight / total
        for k in range(self.family.stride):
            child.retired[k] = factor * parent.retired[k]
        child.retired[WEIGHT] = weight

    cdef void release(self, Leaf *child) noexcept nogil:
        self.family.clear(child.retired)

    cdef void pool(
        self, Leaf *into, Leaf **leaves, int n, ActivePool d
    ) noexcept nogil:
        cdef int k
        self.family.clear(into.active)
        self.family.clear(into.retired)
        for k in range(n):
            self.family.merge(into.active, leaves[k].active)
            self.family.merge(into.retired, leaves[k].retired)
        if retired_weight(into) > self.max_retired:
            self.fade(into, self.max_retired / retired_weight(into))
        self.settle(into, d)

    cdef double pool_sums(
        self, Leaf **leaves, int n, double *total, double *inherited
    ) noexcept nogil:
        cdef double weight = 0.0
        cdef int k
        self.family.clear(total)
        for k in range(n):
            weight += retired_weight(leaves[k])
            if retired_weight(leaves[k]) > 0.0:
                self.family.merge(total, leaves[k].retired)
        if weight > self.max_retired:
            self.family.scale(total, self.max_retired / weight)
        for k in range(n):
            self.family.merge(total, leaves[k].active)
        inherited[0] = 0.0
        return weight

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        return 1.0

    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        out[0] = out[1] = out[2] = NAN

    cdef void predict_rows(
        self, const Leaf *leaf, const double *rows, int32_t width,
        const int32_t *which, int32_t n, double *out, int32_t stride, double *work,
    ) noexcept nogil:
        cdef const double *x[LANES]
        cdef int32_t k = 0, m
        while k < n:
            m = gather_lanes(rows, width, which + k, n - k, x)
            self.predict_lanes(
                leaf, x, m, out + k * <int64_t> stride, stride, <Lanes *> (work + 3)
            )
            k += m

    cdef void predict_lanes(
        self, const Leaf *leaf, const double **x, int n, double *out, int32_t stride,
        Lanes *v,
    ) noexcept nogil:
        pass

    cdef void explain_rows(
        self, const Leaf *leaf, const double *mean, const double *variance,
        const double *rows, int32_t width, const int32_t *which, int32_t n,
        const double *weights, double *out,
    ) noexcept nogil:
        pass

    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil:
        cdef int k
        for k in range(n):
            out[k] = NAN

    cdef double row_density(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil:
        return self.density(leaf, d.x(s), d.y(s), d.w(s))

    cdef double share_within(
        self, const Leaf *leaf, const double *x, double y, double weight, double most
    ) noexcept nogil:
        """Share of its weight with which a row's deviance is at most `most`."""
        return 1.0

    cdef double active_evidence(self, Leaf *leaf) noexcept nogil:
        return NAN

    cdef double conditional_evidence(self, Leaf *leaf) noexcept nogil:
        return NAN

    cdef void child_share(
        self, double n_rows, const Leaf *parent, double *out
    ) noexcept nogil:
        pass

    cdef double size(self, const Leaf *leaf) noexcept nogil:
        return leaf.n_rows

    cdef void round_row(self, const Leaf *leaf, double *x) noexcept nogil:
        pass

    cdef void mark_rounded(
        self, const Leaf *leaf, const double *rows, int32_t width,
        const int32_t *which, int32_t n, char *changed,
    ) noexcept nogil:
        pass

    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil:
        return NAN

    cdef double probability_at(
        self, const Leaf *leaf, const double *x, int k, double *out
    ) noexcept nogil:
        return self.probability(leaf, k)

    cdef void add_proba(
        self, const Leaf *leaf, const double *x, double *proba, double *out
    ) noexcept nogil:
        cdef int k
        for k in range(self.n_classes):
            proba[k] += self.probability(leaf, k)

    cdef double mean_entropy(
        self, const Leaf *leaf, const double *mean, const double *variance, double *v
    ) noexcept nogil:
        cdef double p, total = 0.0
        cdef int k
        for k in range(self.n_classes):
            p = self.probability(leaf, k)
            total -= p * log(p)
        return total

    cdef int scale_by(self, ActivePool d) except -1:
        return 0

    cdef double squared_xi(
        self, const Leaf *leaf, ActivePool d, slot_t s
    ) noexcept nogil:
        return NAN

    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return NAN

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return NAN

    cdef double variance_df(self, const Leaf *leaf) noexcept nogil:
        return self.df(leaf) - 2.0

    cdef int coefficients(self, const Leaf *leaf, double *out) noexcept nogil:
        return 0

    cdef double coordinate(
        self, const Leaf *leaf, int j, double value
    ) noexcept nogil:
        return value

    cdef double neutral(self, int j) noexcept nogil:
        return 0.0

    cdef double lift(
        self, const Leaf *leaf, const double *x, double *u, double *kappa
    ) noexcept nogil:
        kappa[0] = NAN
        return NAN

    cdef double response_variance(
        self, const Leaf *leaf, const double *out
    ) noexcept nogil:
        cdef double df = self.variance_df(leaf) + 2.0
        return df * (out[1] * out[1]) / (df - 2.0) if df > 2.0 else INFINITY

    cdef double mean_kappa(
        self, const Leaf *leaf, const double *mean, const double *variance, double *v
    ) noexcept nogil:
        return NAN

    cdef void begin_survey(self) noexcept nogil:
        pass

    cdef void survey_leaf(self, const Leaf *leaf, double multiplicity) noexcept nogil:
        pass

    cdef Place take_place(
        self, double *y, const double *weights, int32_t n, int64_t n_seen
    ) noexcept nogil:
        return UNMOVED

    cdef void score_priors(
        self, const Leaf *leaf, double multiplicity, double *scores
    ) noexcept nogil:
        pass

    cdef bint adopt_prior(self, const double *scores) noexcept nogil:
        return False

    cdef int fix_units(self, const double *x, double y, Spans seen) noexcept:
        return 0

    cdef double response_unit(self) noexcept nogil:
        return 1.0

    cdef double times(self, double weight) noexcept nogil:
        return weight

    cdef void refresh_all(self, Leaf *leaf) noexcept nogil:
        self.refresh(leaf)

    def to_state(self):
        """What a checkpoint must know beside the options: nothing here."""
        return {}

    def from_state(self, state):
        """Take over what `to_state` gave."""

    def first_beyond(self, X, y, double limit, Spans seen):
        """Place of the first value too large for the model's scale; None without one."""

    def within_reach(self, X, double limit, Spans seen):
        """Rows with what the model cannot take moved nearer; None where nothing is."""
