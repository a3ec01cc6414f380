"""Forest: random trees that learn rows, predict them, and are stored in files."""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange
from libc.math cimport M_LN2, exp, fabs, fmax, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from dyntree._core.openmp cimport team, thread_number
from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.random_trees cimport (
    GIVEN_UP, Knot, RandomTree, RandomTrees, Room, first_way,
)
from dyntree._core.trees.row_ring cimport AHEAD, RowRing

CUT = np.dtype([
    ("at", np.float64), ("weight", np.float64), ("weight_2", np.float64),
    ("feature", np.int32), ("feature_2", np.int32), ("missing_left", np.int32),
    ("parts_gaps", np.int32),
], align=True)
KNOT = np.dtype([
    ("cut", CUT), ("odds", np.float64), ("total", np.float64), ("last", np.int64),
    ("head", np.int64), ("left", np.int32), ("parent", np.int32), ("held", np.int32),
    ("depth", np.int32),
], align=True)
OPTIONS = (
    "n_features", "n_classes", "n_trees", "discount", "least_held", "most_held",
    "n_candidates", "n_held", "most_nodes", "most_depth", "class_mass", "split_share",
    "weighting",
)


cdef class Forest(RandomTrees):
    """A forest of random trees; takes the parameters of `RandomTrees`."""

    def update(
        self, const double[:, ::1] X, const double[::1] y, double[:, ::1] proba=None,
        int n_threads=1, const double[::1] weights=None,
    ):
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
            Responses, or places of labels.
        proba : ndarray of shape (n_rows, n_classes), optional
            Becomes the probabilities of the classes before each row.
        n_threads : int
            Threads over trees, of no effect on what is learned.
        weights : ndarray of shape (n_rows,), optional
            > 0, for a weighted forest; 1 by default.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log densities or probabilities, each given the rows before. An interrupt
            leaves complete rows, of which `n_seen` tells.
        """
        cdef int64_t done = 0, n_rows = y.shape[0], row
        cdef int32_t n, k, i, width = self.n_ahead
        if weights is not None and (
            self.weighting is None or weights.shape[0] != n_rows
        ):
            raise ValueError(
                f"weights need a weighted forest, and must be {n_rows}; got "
                f"{weights.shape[0]}."
            )
        log_densities = np.empty(n_rows)
        cdef double[::1] out = log_densities
        cdef Room *rooms = <Room *> calloc(n_threads, sizeof(Room))
        cdef double[:, :, ::1] ahead
        try:
            if rooms == NULL:
                raise MemoryError()
            for k in range(n_threads):
                self.open(&rooms[k])
            while done < n_rows:
                PyErr_CheckSignals()
                row = self.ring.n_seen
                n = <int32_t> min(n_rows - done, AHEAD, self.ring.next_due(row + 1) - row)
                if not self.has_unit:
                    n = self.until_unit(y[done:done + n])
                self.make_ready(n)
                ahead = np.empty((self.n_trees, n, width))
                for i in range(n):
                    self.ring.put(
                        &X[done + i, 0], y[done + i],
                        1.0 if weights is None else weights[done + i],
                    )
                for k in prange(
                    self.n_trees, nogil=True, num_threads=team(n_threads), schedule="dynamic"
                ):
                    self.teach(k, row, n, &rooms[thread_number()], &ahead[k, 0, 0])
                for i in range(n):
                    out[done + i] = self.together(
                        &ahead[0, i, 0], n * width, y[done + i],
                        NULL if proba is None else &proba[done + i, 0],
                    )
                    self.log_evidence += out[done + i]
                done += n
        finally:
            for k in range(n_threads if rooms != NULL else 0):
                self.close(&rooms[k])
            free(rooms)
        return log_densities

    cdef int make_ready(self, int32_t n) except -1:
        """Make room for so many rows, and sort references if they are due."""
        self.reserve(n)
        if self.ring.next_due(self.ring.n_seen) == self.ring.n_seen:
            self.ring.refresh()
        return 0

    cdef double take(
        self, const double *x, double y, double w, Room *room, double *ahead,
        double *proba,
    ) except? -1.0:
        """Learn a row as `update` does; gives its log density.

        `ahead` is scratch, (n_trees, n_ahead).
        """
        cdef int32_t k, width = self.n_ahead
        cdef int64_t row = self.ring.n_seen
        cdef double found
        if not self.has_unit:
            self.until_unit(np.array([y]))
        self.make_ready(1)
        self.ring.put(x, y, w)
        for k in range(self.n_trees):
            self.teach(k, row, 1, room, ahead + k * width)
        found = self.together(ahead, width, y, proba)
        self.log_evidence += found
        return found

    cdef double together(
        self, const double *ahead, int64_t stride, double y, double *proba
    ) noexcept nogil:
        """Log density of a row by what each tree said of it, and its probabilities.

        What the next tree said stands `stride` doubles on; `proba` may be NULL.
        """
        cdef int32_t k, c
        cdef double total, found
        if not self.n_classes:
            return self.log_mean(ahead, stride)
        found = 0.0
        for c in range(self.n_classes):
            total = 0.0
            for k in range(self.n_trees):
                total += ahead[k * stride + c]
            total /= self.n_trees
            if proba != NULL:
                proba[c] = total
            if c == <int32_t> y:
                found = log(total)
        if self.weighting is not None:
            return self.log_mean(ahead + self.n_classes, stride)
        return found

    cdef double log_mean(self, const double *ahead, int64_t stride) noexcept nogil:
        """Log of the mean over trees of densities whose logarithms these are."""
        cdef double other, found = ahead[0]
        cdef int32_t k
        for k in range(1, self.n_trees):
            other = ahead[k * stride]
            if found == other:          # both may be infinite
                found += M_LN2
            else:
                found = fmax(found, other) + log1p(exp(-fabs(found - other)))
        return found - log(self.n_trees)

    def until_unit(self, y):
        """How many responses may come before one gives the unit; the first may do so.

        The first that differs from the mean does: its distance is the unit.
        """
        values = np.asarray(y)
        differ = np.flatnonzero(values != self.law.mean)
        if not len(differ):
            return len(values)
        if differ[0]:
            return int(differ[0])
        self.set_scale(self.law.mean, abs(values[0] - self.law.mean))
        return len(values)

    def set_scale(self, double mean, double spread):
        """Mean and standard deviation of the first responses; 0: none differ."""
        self.law.mean = mean
        self.has_unit = spread > 0.0
        self.law.variance = spread * spread if spread > 0.0 else 1.0

    def first_beyond(self, X, y, double limit):
        """The first response too far from the others, as of `Cloud`; or None."""
        mean, spread = self.scale
        if y is None or self.n_classes or not spread:
            return None
        far = np.abs(np.asarray(y) - mean) > limit * spread
        return (int(far.argmax()), -1, mean, spread) if far.any() else None

    def row_ids(self):
        """Numbers of the active rows, ndarray of int64 of shape (n_active,)."""
        return np.arange(self.n_seen - self.n_active, self.n_seen)

    def stats(self):
        """Mean over trees of height, leaves, and active and retired rows per leaf."""
        cdef int32_t k, v
        cdef int64_t n_leaves = 0, height = 0
        for k in range(self.n_trees):
            deepest = 0
            for v in range(self.trees[k].n_knots):
                if self.trees[k].knots[v].parent != GIVEN_UP:
                    n_leaves += self.trees[k].knots[v].left < 0
                    deepest = max(deepest, self.trees[k].knots[v].depth)
            height += 1 + deepest
        mean = n_leaves / <double> self.n_trees
        return (
            height / <double> self.n_trees, mean, self.n_active / mean,
            self.n_retired / mean,
        )

    @property
    def prior_point(self):
        """Centre and unit of real responses, by the names of a cloud's."""
        mean, spread = self.scale
        return {"y_centre": mean, "y_spread": spread}

    def rows(self):
        """The active rows and their responses, oldest first."""
        return self.ring.active()

    def binary_columns(self):
        """Whether each column has only 0 and 1 in the active rows, ndarray of bool."""
        X = self.rows()[0]
        return ((X == 0.0) | (X == 1.0) | np.isnan(X)).all(axis=0)

    def gap_counts(self):
        """Of each column how many rows had no value, (n_features,).

        NaN once rows have retired, as nothing counts their gaps.
        """
        counts = np.isnan(self.rows()[0]).sum(axis=0, dtype=np.float64)
        return counts if self.n_retired == 0 else np.full_like(counts, np.nan)

    def predict_proba(self, const double[:, ::1] X, int n_threads=1):
        """Probabilities of the classes, ndarray of shape (n_rows, n_classes)."""
        cdef int64_t j, n_rows = X.shape[0], now = self.ring.n_seen
        cdef int32_t k, C = self.n_classes
        cdef int thread
        out = np.zeros((n_rows, C))
        cdef double[:, ::1] proba = out
        cdef Room *rooms = <Room *> calloc(n_threads, sizeof(Room))
        try:
            if rooms == NULL:
                raise MemoryError()
            for k in range(n_threads):
                self.open(&rooms[k])
            for j in prange(n_rows, nogil=True, num_threads=team(n_threads)):
                self.add_proba(&X[j, 0], now, &rooms[thread_number()], &proba[j, 0])
        finally:
            for k in range(n_threads if rooms != NULL else 0):
                self.close(&rooms[k])
            free(rooms)
        out /= self.n_trees
        return out

    def mixture(self, const double[:, ::1] X):
        """Predictive of real responses: as of `query.mixture`, a Student t a knot."""
        cdef int64_t j, now = self.ring.n_seen, n_found, most
        cdef int32_t k, n
        cdef bint gaps
        cdef Room room
        most = (self.n_trees + 1) * <int64_t> (self.most_depth + 1)
        cdef double[:, ::1] out = np.empty((most, 5))
        starts, parts = [0], [np.empty((0, 5))]
        try:
            self.open(&room)
            for j in range(X.shape[0]):
                n_found = 0
                gaps = has_gap(&X[j, 0], self.law.n_features)
                starts.append(starts[j])
                for k in range(self.n_trees):
                    first_way(&room, gaps)
                    while True:
                        n = self.walk(&self.trees[k], &X[j, 0], now, False, &room)
                        if n_found + n > most:    # a row of many ways
                            parts.append(np.array(out[:n_found]))
                            starts[j + 1] += n_found
                            n_found = 0
                        self.write_laws(&self.trees[k], n, now, &room, &out[n_found, 0])
                        n_found += n
                        if not (gaps and self.next_way(&room)):
                            break
                parts.append(np.array(out[:n_found]))
                starts[j + 1] += n_found
        finally:
            self.close(&room)
        columns = np.concatenate(parts)
        return (np.array(starts), *map(np.ascontiguousarray, columns.T))

    cdef void write_laws(
        self, const RandomTree *t, int32_t n, int64_t now, const Room *room, double *out
    ) noexcept nogil:
        """Share, location, scale, df and scale of the mean of the knots on a path."""
        cdef const double *own
        cdef const Knot *v
        cdef double w, rest = room.share / self.n_trees
        cdef int32_t h
        for h in range(n):
            v = &t.knots[room.path[h]]
            own = room.own + <int64_t> h * 4
            w = 1.0 if h == n - 1 else self.pruned(v, self.fading(v.last, now))
            out[0], out[1] = rest * w, own[1]
            out[2] = sqrt(own[3] / own[2] * (self.noise + 1.0 / own[0]))
            out[3] = 2.0 * own[2]
            out[4] = sqrt(own[3] / own[2] / own[0])
            out += 5
            rest *= 1.0 - w

    # ------------------------------------------------------------ what it is
    @property
    def model(self):
        """What leaves hold: "class" or "constant"."""
        return "class" if self.n_classes else "constant"

    @property
    def weight_unit(self):
        """As of `Cloud`."""
        return self.noise

    def set_weight_unit(self, double unit):
        """As of `Cloud`."""
        self.noise = unit

    @property
    def n_seen(self):
        """Rows ever learned."""
        return self.ring.n_seen

    @property
    def n_active(self):
        """Active rows: those in memory one by one."""
        return min(self.ring.n_seen - self.ring.first, self.ring.room)

    @property
    def n_retired(self):
        """Rows learned that are no longer active."""
        return self.ring.n_seen - self.n_active

    @property
    def n_degenerate(self):
        """Rows without density: none, as priors are proper."""
        return 0

    @property
    def n_nodes(self):
        """Nodes of each tree, ndarray of int64 of shape (n_trees,)."""
        found = np.empty(self.n_trees, dtype=np.int64)
        cdef int64_t[::1] out = found
        cdef int32_t k
        for k in range(self.n_trees):
            out[k] = self.trees[k].n_knots - 2 * self.trees[k].n_spare
        return found

    @property
    def scale(self):
        """Mean and standard deviation of the first responses; 0: none differ."""
        return self.law.mean, sqrt(self.law.variance) if self.has_unit else 0.0

    def nbytes(self):
        """Bytes in memory."""
        cdef int64_t knot = sizeof(Knot) + self.n_sums * sizeof(double) + sizeof(int32_t)
        cdef int64_t found = self.ring.nbytes()
        cdef int32_t k
        for k in range(self.n_trees):
            found += self.trees[k].room * knot + self.ring.places * sizeof(int64_t)
        return found

    # ------------------------------------------------------------ files
    def to_arrays(self):
        """Everything the forest is: a header of plain values, and arrays by name."""
        cdef int32_t k, n
        cdef RandomTree *t
        cdef int64_t row, n_seen = self.ring.n_seen, n_active = self.n_active
        cdef int64_t[::1] links
        cdef double[::1] sums
        cdef int32_t[::1] spare
        cdef const unsigned char[::1] bytes_of
        knots, all_sums, spares, before = [], [], [], []
        for k in range(self.n_trees):
            t = &self.trees[k]
            own = np.empty(t.n_knots, KNOT)
            bytes_of = own.view(np.uint8)
            memcpy(<void *> &bytes_of[0], t.knots, t.n_knots * sizeof(Knot))
            knots.append(own)
            all_sums.append(np.empty(t.n_knots * self.n_sums))
            sums = all_sums[k]
            memcpy(&sums[0], t.sums, t.n_knots * self.n_sums * sizeof(double))
            spares.append(np.empty(t.n_spare, dtype=np.int32))
            spare = spares[k]
            for n in range(t.n_spare):
                spare[n] = t.spare[n]
            before.append(np.empty(n_active, dtype=np.int64))
            links = before[k]
            for row in range(n_active):
                links[row] = t.before[(n_seen - n_active + row) % self.ring.places]
        together = np.concatenate(knots)
        arrays = {name: together[name] for name in KNOT.names if name != "cut"}
        arrays |= {name: together["cut"][name] for name in CUT.names}
        arrays = {name: array.copy() for name, array in arrays.items()}
        arrays |= {
            "sums": np.concatenate(all_sums).reshape(-1, self.n_sums),
            "n_knots": np.array([len(own) for own in knots]),
            "n_spare": np.array([len(own) for own in spares]),
            "spare": np.concatenate(spares), "before": np.array(before),
        }
        header = self.options | {
            "n_seen": n_seen, "scale": [*self.scale], "log_evidence": self.log_evidence,
            "weight_unit": self.noise,
        }
        arrays["random_state"] = self.source.state
        return header, arrays | self.ring.to_arrays()

    @classmethod
    def from_arrays(cls, header, arrays, source):
        """The forest that `to_arrays` described; header and arrays are checked.

        Columns of X beyond those of the header's forest are new.
        """
        options = {name: header[name] for name in OPTIONS}
        options["n_features"] = arrays["X"].shape[1]
        cdef Forest forest = cls(source, **options)
        cdef RandomTree *t
        cdef int32_t k, n
        cdef int64_t row, n_active, first = 0, spare_from = 0
        cdef const int64_t[:, ::1] links = arrays["before"]
        cdef const double[:, ::1] sums = arrays["sums"]
        cdef const int32_t[::1] spare = arrays["spare"]
        cdef const unsigned char[::1] bytes_of
        forest.log_evidence = header["log_evidence"]
        forest.noise = header["weight_unit"]
        forest.ring = RowRing.from_arrays(arrays, header["n_held"], header["n_seen"])
        if not forest.n_classes:
            forest.set_scale(*header["scale"])
        n_active = links.shape[1]
        for k in range(forest.n_trees):
            t = &forest.trees[k]
            n = arrays["n_knots"][k]
            t.n_knots = n
            forest.reserve(1)
            own = np.zeros(n, KNOT)
            for name in KNOT.names:
                if name != "cut":
                    own[name] = arrays[name][first:first + n]
            for name in CUT.names:
                own["cut"][name] = arrays[name][first:first + n]
            bytes_of = own.view(np.uint8)
            memcpy(t.knots, &bytes_of[0], n * sizeof(Knot))
            memcpy(t.sums, &sums[first, 0], n * forest.n_sums * sizeof(double))
            t.n_spare = arrays["n_spare"][k]
            for n in range(t.n_spare):
                t.spare[n] = spare[spare_from + n]
            for row in range(n_active):
                t.before[(forest.ring.n_seen - n_active + row) % forest.ring.places] = (
                    links[k, row]
                )
            first += t.n_knots
            spare_from += t.n_spare
        return forest

    def copy(self, source=None):
        """An independent forest that would draw the same random numbers."""
        return self.from_arrays(*self.to_arrays(), source or self.source.copy())

    def without_rows(self):
        """The forest without its active rows, and without references."""
        header, arrays = self.to_arrays()
        arrays["head"][:] = -1
        arrays["held"][:] = 0
        arrays["X"], arrays["y"] = arrays["X"][:0].copy(), arrays["y"][:0].copy()
        if "weights" in arrays:
            arrays["weights"] = arrays["weights"][:0].copy()
        arrays["before"] = np.empty((self.n_trees, 0), dtype=np.int64)
        arrays["reference"] = np.full_like(arrays["reference"], np.nan)
        return self.from_arrays(header, arrays, self.source)

    def with_classes(self, n_classes):
        """The forest with more classes, which no row had yet."""
        header, arrays = self.to_arrays()
        fresh = np.zeros((len(arrays["sums"]), n_classes))
        fresh[:, :self.n_classes] = arrays["sums"]
        arrays["sums"] = fresh
        return self.from_arrays(header | {"n_classes": n_classes}, arrays, self.source)

    def with_weights(self, weighting):
        """The forest whose rows may have weights; now all of them weigh 1."""
        header, arrays = self.to_arrays()
        if weighting == "variance":
            arrays["sums"] = np.column_stack([arrays["sums"], arrays["total"]])
        arrays["weights"] = np.ones(len(arrays["y"]))
        return self.from_arrays(
            header | {"weighting": weighting}, arrays, self.source
        )

    def widened(self, widen):
        """The forest with more columns; `widen` gives the active rows their values."""
        header, arrays = self.to_arrays()
        arrays["X"] = np.ascontiguousarray(widen(arrays["X"]))
        return self.from_arrays(header, arrays, self.source)
