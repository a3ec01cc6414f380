"""Cuts of random trees: drawn among a few by what they find in the rows of a leaf."""
from libc.math cimport INFINITY, M_PI, cos, exp, fabs, isnan, log, log1p, sin
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from dyntree._core.memory cimport resize
from dyntree._core.rmath cimport log_gamma
from dyntree._core.trees.row_ring cimport N_REFERENCE

cdef enum:
    N_TRIES = 20            # rows that are asked for a value to cut at
    FEWEST_REFERENCES = 16
cdef double LEAST_WIDTH = 1e-3      # in ranks, of a column that has two values
# Normal-inverse-gamma prior of real leaves: rows that the mean and the variance are
# worth, and the share of the variance of all responses that a leaf is expected to have.
cdef double MEAN_ROWS = 0.1
cdef double SHAPE = 1.5
cdef double LEAF_SHARE = 0.1


cdef bint goes_left(const Cut *cut, const double *x) noexcept nogil:
    cdef double value = x[cut.feature]
    if cut.feature_2 >= 0:
        value = cut.weight * value + cut.weight_2 * x[cut.feature_2]
    if isnan(value):
        return cut.missing_left
    return value <= cut.at


cdef bint misses(const Cut *cut, const double *x) noexcept nogil:
    return isnan(x[cut.feature]) or (cut.feature_2 >= 0 and isnan(x[cut.feature_2]))


cdef double halfway(double low, double high) noexcept nogil:
    """Between two values, the lower one where nothing is."""
    cdef double found = 0.5 * low + 0.5 * high
    return found if low <= found < high else low


cdef class CutLaw:
    """How leaves are cut.

    Parameters
    ----------
    n_features, n_classes : int
        No classes: real responses.
    most_rows : int
        Latest rows of a leaf that decide.
    n_candidates : int
    class_mass : float
        Of the Dirichlet prior of a leaf, spread evenly over the classes.
    weighting : {"variance", "frequency"}, optional
        What weights of rows mean; without it all weigh 1.
    """

    def __cinit__(
        self, int32_t n_features, int32_t n_classes, int32_t most_rows,
        int32_t n_candidates, double class_mass, weighting=None,
    ):
        cdef int32_t n
        self.is_weighted = weighting is not None
        self.divides = weighting == "variance"
        self.n_features, self.n_classes = n_features, n_classes
        self.most_rows, self.n_candidates = most_rows, n_candidates
        self.share = class_mass / max(n_classes, 1)
        resize(<void **> &self.mass_gammas, most_rows + 1, sizeof(double))
        resize(<void **> &self.share_gammas, most_rows + 1, sizeof(double))
        for n in range(most_rows + 1):
            self.mass_gammas[n] = log_gamma(n + class_mass) - log_gamma(class_mass)
            self.share_gammas[n] = log_gamma(n + self.share) - log_gamma(self.share)

    def __dealloc__(self):
        free(self.mass_gammas)
        free(self.share_gammas)

    cdef int open(self, CutRoom *room) except -1:
        """Room for one thread; `close` gives it back, also where this raises."""
        cdef size_t n = self.most_rows, d = self.n_features
        memset(room, 0, sizeof(CutRoom))
        resize(<void **> &room.ids, n, sizeof(int64_t))
        resize(<void **> &room.rows, n, sizeof(double *))
        resize(<void **> &room.responses, n, sizeof(double))
        resize(<void **> &room.values, n, sizeof(double))
        if self.is_weighted:
            resize(<void **> &room.weights, n, sizeof(double))
            resize(<void **> &room.masses, 4 * max(self.n_classes, 1), sizeof(double))
        resize(<void **> &room.cells, 4 * max(self.n_classes, 1), sizeof(int32_t))
        resize(<void **> &room.low, d, sizeof(double))
        resize(<void **> &room.high, d, sizeof(double))
        resize(<void **> &room.width, d, sizeof(double))
        return 0

    cdef void close(self, CutRoom *room) noexcept nogil:
        free(room.ids)
        free(room.rows)
        free(room.responses)
        free(room.weights)
        free(room.masses)
        free(room.values)
        free(room.cells)
        free(room.low)
        free(room.high)
        free(room.width)

    cdef double counts_evidence(self, const double *counts) noexcept nogil:
        """log G(M) - log G(M + n) + sum_k [log G(c_k + M/C) - log G(M/C)], any c."""
        cdef double total = 0.0, found = 0.0, mass = self.share * self.n_classes
        cdef int32_t k
        for k in range(self.n_classes):
            if counts[k] > 0.0:
                total += counts[k]
                found += log_gamma(counts[k] + self.share) - log_gamma(self.share)
        return found - log_gamma(total + mass) + log_gamma(mass)

    cdef double normal_evidence(
        self, double n, double g, double total, double square
    ) noexcept nogil:
        """Of n responses with such sums of (y - mean) and its square; n may be any.

        Those whose weights divide variances have weighted sums, g is that of weights,
        and half the sum of their logarithms is left out; else g is n.
        """
        cdef double k, shape, rate = LEAF_SHARE * SHAPE * self.variance
        if n <= 0.0:
            return 0.0
        k = MEAN_ROWS + g
        shape = SHAPE + 0.5 * n
        return (
            0.5 * log(MEAN_ROWS / k) + SHAPE * log(rate)
            - shape * log(rate + 0.5 * max(square - total * total / k, 0.0))
            + log_gamma(shape) - log_gamma(SHAPE) - 0.5 * n * log(2.0 * M_PI)
        )

    cdef bint draw(
        self, RowRing ring, CutRoom *room, int32_t n, RandomStream *s, Cut *best
    ) noexcept nogil:
        cdef int32_t i, j, k, n_varying = 0, n_columns, other
        cdef double value, total = 0.0, found, four, most = -INFINITY
        cdef bint has_one = False
        cdef Cut cut
        for i in range(n):
            room.rows[i] = ring.row(room.ids[i])
            room.responses[i] = ring.response(room.ids[i])
            if self.is_weighted:
                room.weights[i] = ring.weight(room.ids[i])
        for j in range(self.n_features):
            room.low[j], room.high[j] = INFINITY, -INFINITY
            for i in range(n):
                value = room.rows[i][j]     # NaN is neither less nor more
                if value < room.low[j]:
                    room.low[j] = value
                if value > room.high[j]:
                    room.high[j] = value
            room.width[j] = 0.0
            if room.high[j] > room.low[j]:
                n_varying += 1
                room.width[j] = max(
                    ring.rank(j, room.high[j]) - ring.rank(j, room.low[j]), LEAST_WIDTH
                )
                total += room.width[j]
        if not n_varying:
            return False
        n_columns = max(n_varying, ring.count_varying())
        for k in range(self.n_candidates):
            if not self.propose(ring, room, n, total, n_varying, n_columns, s, &cut):
                continue
            found = 0.0
            if self.n_candidates > 1:
                found = self.score(room, n, cut.at)
                if self.n_classes:
                    other = self.column(room, total, s)
                    value = room.rows[<int32_t> (s.uniform(s) * n)][other]
                    four = self.score_four(room, n, cut.at, other, value)
                    found = max(found, four) + log1p(exp(-fabs(found - four)))
                found -= log(-log(s.uniform(s)))
            if found > most or not has_one:
                most, best[0], has_one = found, cut, True
        return has_one

    cdef int32_t column(
        self, const CutRoom *room, double total, RandomStream *s
    ) noexcept nogil:
        """A column, by the share of the ranks that the rows take there."""
        cdef double left = s.uniform(s) * total
        cdef int32_t j, found = -1
        for j in range(self.n_features):
            if room.width[j] > 0.0:
                left -= room.width[j]
                found = j
                if left <= 0.0:
                    break
        return found

    cdef bint propose(
        self, RowRing ring, CutRoom *room, int32_t n, double total, int32_t n_varying,
        int32_t n_columns, RandomStream *s, Cut *cut
    ) noexcept nogil:
        """Draw a cut; `values` become what it compares, without gaps."""
        cdef double low = INFINITY, high = -INFINITY, angle, value
        cdef int32_t i, j, left
        cut.feature = self.column(room, total, s)
        cut.feature_2 = -1
        cut.weight, cut.weight_2 = 1.0, 0.0
        if n_varying > 1 and s.uniform(s) < 2.0 / (n_columns + 2.0):
            left = <int32_t> (s.uniform(s) * (n_varying - 1))
            for j in range(self.n_features):
                if room.width[j] > 0.0 and j != cut.feature:
                    if left == 0:
                        cut.feature_2 = j
                        break
                    left -= 1
            angle = 2.0 * M_PI * s.uniform(s)
            j = cut.feature
            cut.weight = cos(angle) / (room.high[j] - room.low[j])
            j = cut.feature_2
            cut.weight_2 = sin(angle) / (room.high[j] - room.low[j])
        cut.missing_left = s.uniform(s) < 0.5
        cut.parts_gaps = False
        for i in range(n):
            value = room.rows[i][cut.feature]
            if cut.feature_2 >= 0:
                value = cut.weight * value + cut.weight_2 * room.rows[i][cut.feature_2]
            if value < low:
                low = value
            if value > high:
                high = value
            room.values[i] = value
        if not high > low:
            return False
        for i in range(n):
            if isnan(room.values[i]):
                cut.parts_gaps = True
                room.values[i] = -INFINITY if cut.missing_left else INFINITY
        cut.at = self.place(ring, room, n, cut, low, high, s)
        if self.n_classes:
            return True
        left = 0
        for i in range(n):
            left += room.values[i] <= cut.at
        return left > 1 and n - left > 1    # the mean of one row would be its response

    cdef double place(
        self, RowRing ring, const CutRoom *room, int32_t n, const Cut *cut, double low,
        double high, RandomStream *s
    ) noexcept nogil:
        """Where to cut, in [low, high): above a reference, or the value of a row.

        Halfway to the next value, so that the cut reveals no value of a row.
        """
        cdef int32_t k, first, end, i
        cdef double at, above = high
        cdef const double *known
        if cut.feature_2 >= 0:
            at = low + s.uniform(s) * (high - low)
            return at if at < high else low
        if ring.n_reference[cut.feature] >= FEWEST_REFERENCES:
            first = ring.first_from(cut.feature, low)
            end = ring.first_from(cut.feature, high)
            if end > first:
                k = first + <int32_t> (s.uniform(s) * (end - first))
                known = ring.reference + <int64_t> cut.feature * N_REFERENCE
                at = known[k]
                for i in range(k + 1, ring.n_reference[cut.feature]):
                    if known[i] > at:
                        above = min(known[i], high)
                        break
                return halfway(at, above)
        for k in range(N_TRIES):
            at = room.values[<int32_t> (s.uniform(s) * n)]
            if low <= at < high:
                break
        else:
            at = low
        for i in range(n):
            if at < room.values[i] < above:
                above = room.values[i]
        return halfway(at, above)

    cdef double score(self, const CutRoom *room, int32_t n, double at) noexcept nogil:
        """Log evidence of the two parts."""
        cdef double[8] sums     # n, g, total and square of left and right
        cdef double off, f = 1.0, g = 1.0, found = 0.0
        cdef int32_t i, k, n_left = 0, C = self.n_classes
        if C and self.is_weighted:
            return self.score_weighted(room, n, at, -1, 0.0)
        if C:
            memset(room.cells, 0, 2 * C * sizeof(int32_t))
            for i in range(n):
                k = <int32_t> room.responses[i]
                if room.values[i] <= at:
                    n_left += 1
                else:
                    k += C
                room.cells[k] += 1
            for k in range(2 * C):
                found += self.share_gammas[room.cells[k]]
            return found - self.mass_gammas[n_left] - self.mass_gammas[n - n_left]
        memset(sums, 0, 8 * sizeof(double))
        for i in range(n):
            k = 0 if room.values[i] <= at else 4
            off = room.responses[i] - self.mean
            if self.is_weighted:
                g = room.weights[i]
                f = 1.0 if self.divides else g
            sums[k] += f
            sums[k + 1] += g
            sums[k + 2] += g * off
            sums[k + 3] += g * off * off
        return self.normal_evidence(sums[0], sums[1], sums[2], sums[3]) + (
            self.normal_evidence(sums[4], sums[5], sums[6], sums[7])
        )

    cdef double score_weighted(
        self, const CutRoom *room, int32_t n, double at, int32_t other, double other_at
    ) noexcept nogil:
        """Log evidence of the labels of the two parts, or with another cut of the four.
        """
        cdef double found = 0.0
        cdef int32_t i, part, C = self.n_classes
        memset(room.masses, 0, 4 * C * sizeof(double))
        for i in range(n):
            part = 0 if room.values[i] <= at else 1
            if other >= 0 and not room.rows[i][other] <= other_at:
                part += 2
            room.masses[part * C + <int32_t> room.responses[i]] += room.weights[i]
        for part in range(4):
            found += self.counts_evidence(room.masses + part * C)
        return found

    cdef double score_four(
        self, const CutRoom *room, int32_t n, double at, int32_t other, double other_at
    ) noexcept nogil:
        """Log evidence of the four parts that a further cut makes: finds checkers."""
        cdef double found = 0.0
        cdef int32_t[4] sizes
        cdef int32_t i, k, part, C = self.n_classes
        if self.is_weighted:
            return self.score_weighted(room, n, at, other, other_at)
        memset(sizes, 0, 4 * sizeof(int32_t))
        memset(room.cells, 0, 4 * C * sizeof(int32_t))
        for i in range(n):
            part = (0 if room.values[i] <= at else 1) + (
                0 if room.rows[i][other] <= other_at else 2
            )
            sizes[part] += 1
            room.cells[part * C + <int32_t> room.responses[i]] += 1
        for k in range(4 * C):
            found += self.share_gammas[room.cells[k]]
        for k in range(4):
            found -= self.mass_gammas[sizes[k]]
        return found
