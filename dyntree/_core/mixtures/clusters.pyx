"""Clusters: rows come in, clusters open, merge and go; one loop for all kinds."""
import numpy as np

from cpython.dict cimport PyDict_GetItem
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from libc.math cimport INFINITY, fabs
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove, memset

from dyntree._core.mixtures.chain cimport Chain
from dyntree._core.mixtures.watch cimport Watch
from dyntree._core.vectors cimport add_scaled, add_squared, scale_to

cdef enum:
    MOST_MERGED = 65536     # ids that are remembered; of more the older half goes
    MOST_FEATURES = 256     # of a dict that is read without a list

cdef double FAINT = 1e-100     # weight that fading leaves at least, so that means exist
cdef double SILENCE = 10.0      # memories of 1 / (1 - forget) rows, after which a cluster is gone


cdef class Clusters:
    """Base of all kinds; the declaration says what each method does.

    Parameters
    ----------
    n_features : int
    radius : float
        Cost of a new cluster.
    threshold : float
        Pairs whose score is below it are merged.
    check_every : int
        Rows between looks for such pairs; 0 for none.
    min_weight : float
        Rows from which a cluster is confirmed.
    patience : int
        Rows after which one that is not is deleted.
    forget : float
        Factor by which a row multiplies every weight.
    max_clusters : int
    by_objective : bool
        Whether rows and pairs are judged by what they add to the objective.
    chain : Chain or None
        Of a sequence, whose costs then count.
    watch : Watch or None
        Of how the cost of a new cluster fits; by default one that finds it fit.
    """

    def __init__(
        self, int32_t n_features, double radius, double threshold, int64_t check_every,
        double min_weight, int64_t patience, double forget, int32_t max_clusters,
        bint by_objective=False, Chain chain=None, Watch watch=None,
    ):
        self.n_features = n_features
        self.watch = Watch(n_features, INT64_MAX) if watch is None else watch
        self.radius = radius
        self.threshold = threshold
        self.check_every = check_every
        self.min_weight = min_weight
        self.patience = patience
        self.keep = forget
        # rounded: 1 - .95 is a little more than .05
        self.silence = INT64_MAX
        if forget < 1.0:
            self.silence = <int64_t> (SILENCE / (1.0 - forget) + 0.5)
        self.max_clusters = max_clusters
        self.by_objective = by_objective
        self.chain = chain
        self.next_expiry = INT64_MAX
        self.store = {}
        self.merged_room = 64
        self.grow(8)

    # ------------------------------------------------------------ room
    cdef dict layout(self):
        return {
            "ids": (np.int64, ()), "born": (np.int64, ()), "seen": (np.int64, ()),
            "rows": (np.int64, ()), "since": (np.int64, ()), "settled": (np.int64, ()),
            "confirmed": (np.int32, ()), "weight": (np.float64, ()),
            "scatter": (np.float64, ()), "squares": (np.float64, (self.n_features,)),
        }

    cdef void grow(self, int32_t capacity):
        """Make room for so many clusters, and for names of merged ones."""
        old = self.store
        fresh = {}
        for name, (dtype, shape) in self.layout().items():
            fresh[name] = np.zeros((capacity, *shape), dtype)
            if name in old:
                where = tuple(map(slice, old[name].shape))
                fresh[name][where] = old[name]
        fresh["cost"] = np.zeros(capacity + 8)
        fresh["score"] = np.zeros(capacity)
        fresh["partner"] = np.zeros(capacity, np.int32)
        for name in ("merged", "merged_into"):
            fresh[name] = np.zeros(self.merged_room, np.int64)
            if name in old:
                fresh[name][:self.n_merged] = old[name][:self.n_merged]
        self.capacity = capacity
        self.tracking = False
        self.store = fresh
        if self.chain is not None:
            self.chain.grow(capacity)
        self.point()

    cdef void point(self):
        cdef int64_t[::1] a
        cdef double[::1] f
        cdef int32_t[::1] i
        a = self.store["ids"]
        self.ids = &a[0]
        a = self.store["born"]
        self.born = &a[0]
        a = self.store["seen"]
        self.seen = &a[0]
        a = self.store["rows"]
        self.rows = &a[0]
        a = self.store["since"]
        self.since = &a[0]
        a = self.store["settled"]
        self.settled = &a[0]
        i = self.store["confirmed"]
        self.confirmed = &i[0]
        f = self.store["weight"]
        self.weight = &f[0]
        f = self.store["scatter"]
        self.scatter = &f[0]
        f = self.store["squares"].reshape(-1)
        self.squares = &f[0]
        f = self.store["cost"]
        self.cost = &f[0]
        f = self.store["score"]
        self.score = &f[0]
        i = self.store["partner"]
        self.partner = &i[0]
        a = self.store["merged"]
        self.merged = &a[0]
        a = self.store["merged_into"]
        self.merged_into = &a[0]

    cdef bint is_narrow(self) noexcept nogil:
        """Whether subspaces may need more columns than are allocated; here none."""
        return False

    cdef void widen(self):
        """Let `make_room` allocate more columns for the directions of subspaces."""
        pass

    cdef bint is_tight(self) noexcept nogil:
        """Whether a row might need more room than there is."""
        return (
            self.n >= self.capacity
            or (
                self.n_merged + self.n >= self.merged_room
                and self.merged_room < MOST_MERGED
            )
            or self.is_narrow()
        )

    cdef void make_room(self):
        cdef int32_t capacity = self.capacity
        if self.is_narrow():
            self.widen()
        if self.n >= capacity:
            capacity = min(2 * capacity, self.max_clusters + 1)
        while self.n_merged + capacity >= self.merged_room < MOST_MERGED:
            self.merged_room *= 2
        self.grow(capacity)

    # ------------------------------------------------------------ kinds say what
    cdef void distances(self, const double *x, double *out, bint all) noexcept nogil:
        pass

    cdef void begin(self, int32_t k, const double *x) noexcept nogil:
        pass

    cdef void absorb(self, int32_t k, const double *x) noexcept nogil:
        pass

    cdef void join(self, int32_t k, int32_t other) noexcept nogil:
        pass

    cdef void fade(self, int32_t k) noexcept nogil:
        self.weight[k] = max(self.weight[k] * self.keep, FAINT)
        self.scatter[k] *= self.keep

    cdef double pair_score(self, int32_t a, int32_t b) noexcept nogil:
        return INFINITY

    cdef double pair_distance(self, int32_t a, int32_t b) noexcept nogil:
        return INFINITY

    cdef void move(self, int32_t k, int32_t source) noexcept nogil:
        self.ids[k] = self.ids[source]
        self.born[k] = self.born[source]
        self.seen[k] = self.seen[source]
        self.rows[k] = self.rows[source]
        self.since[k] = self.since[source]
        self.settled[k] = self.settled[source]
        self.confirmed[k] = self.confirmed[source]
        self.weight[k] = self.weight[source]
        self.scatter[k] = self.scatter[source]
        memcpy(
            self.squares + <int64_t> k * self.n_features,
            self.squares + <int64_t> source * self.n_features,
            self.n_features * sizeof(double),
        )

    # ------------------------------------------------------------ one row
    cdef int64_t learn_row(self, const double *x) noexcept nogil:
        """Learn a row; returns the id of its cluster. There must be room."""
        cdef int32_t k, best = -1
        cdef double least = INFINITY, fresh = self.radius
        cdef int64_t found
        cdef double *cost = self.cost
        if self.keep < 1.0:
            for k in range(self.n):
                self.fade(k)
                if self.confirmed[k] and self.n_rows - self.seen[k] >= self.silence:
                    self.confirmed[k] = 0
                    self.since[k] = self.n_rows + 1
                    self.next_expiry = min(
                        self.next_expiry, self.since[k] + self.patience
                    )
        self.distances(x, cost, self.by_objective or self.chain is not None)
        if self.by_objective:
            for k in range(self.n):
                cost[k] *= self.weight[k] / (self.weight[k] + 1.0)
        if self.chain is not None:
            fresh += self.chain.add_costs(cost, self.n)
        for k in range(self.n):
            if cost[k] < least:
                least = cost[k]
                best = k
        self.n_rows += 1
        if best < 0 or least > fresh:
            if self.n >= self.max_clusters:
                self.merge_closest()
            best = self.n
            self.n += 1
            self.ids[best] = self.next_id
            self.next_id += 1
            self.born[best] = self.since[best] = self.n_rows
            self.rows[best] = self.settled[best] = self.confirmed[best] = 0
            self.weight[best] = self.scatter[best] = 0.0
            memset(
                self.squares + <int64_t> best * self.n_features, 0,
                self.n_features * sizeof(double),
            )
            self.begin(best, x)
            self.weight[best] = 1.0
            self.next_expiry = min(self.next_expiry, self.n_rows + self.patience)
            self.watch.note(-1.0, x)
        else:
            self.watch.note(least if self.chain is None else 0.0, x)
            self.absorb(best, x)
            self.weight[best] += 1.0
        if self.tracking:
            self.look_again(best)
        self.seen[best] = self.n_rows
        self.rows[best] += 1
        if not self.confirmed[best]:
            self.confirm(best)
        found = self.ids[best]
        if self.chain is not None:
            self.chain.note(best, self.confirmed[best], self.n_rows)
        if self.n_rows >= self.next_expiry:
            self.expire()
        if self.check_every and self.n_rows % self.check_every == 0:
            self.merge_all()
        if self.watch.is_due(self.watch.n, self.n_rows, self.check_every):
            self.watch.judge(self.n)
        return found

    cdef void confirm(self, int32_t k) noexcept nogil:
        """Confirm a cluster that has taken rows enough."""
        if self.rows[k] >= self.min_weight:
            self.confirmed[k] = 1
            if not self.settled[k]:
                self.settled[k] = self.n_rows

    cdef void expire(self) noexcept nogil:
        """Delete what has been provisional too long; find when that may be next."""
        cdef int32_t k
        self.next_expiry = INT64_MAX
        for k in range(self.n - 1, -1, -1):
            if self.confirmed[k]:
                continue
            if self.n_rows - self.since[k] >= self.patience:
                self.lost += self.weight[k]
                self.drop(k)
                self.tracking = False
            else:
                self.next_expiry = min(
                    self.next_expiry, self.since[k] + self.patience
                )

    cdef void drop(self, int32_t k) noexcept nogil:
        """Close the gap that cluster k leaves."""
        cdef int32_t j
        for j in range(k, self.n - 1):
            self.move(j, j + 1)
        self.n -= 1
        if self.chain is not None:
            self.chain.drop(k, self.n)

    cdef void settle_squares(self, int32_t k) noexcept nogil:
        """Fade squares as their sum, the scatter, has been faded."""
        if self.keep < 1.0:
            scale_to(
                self.squares + <int64_t> k * self.n_features, self.scatter[k],
                self.n_features,
            )

    cdef void add_squares(self, int32_t k, double part, const double *step) noexcept nogil:
        """Add part step^2; before the scatter is added to."""
        self.settle_squares(k)
        add_squared(
            self.squares + <int64_t> k * self.n_features, part, step, self.n_features
        )

    cdef void widen_column(self, int32_t k, int32_t j, double more) noexcept nogil:
        """Add to the squares of a column, which are settled."""
        self.squares[<int64_t> k * self.n_features + j] += more
        self.scatter[k] += more

    cdef void join_squares(
        self, int32_t k, int32_t other, double part, const double *step
    ) noexcept nogil:
        """Add those of another cluster, and part step^2; before the scatter is added to."""
        cdef int64_t width = self.n_features
        self.settle_squares(other)
        self.add_squares(k, part, step)
        add_scaled(
            self.squares + k * width, 1.0, self.squares + other * width, <int> width
        )

    # ------------------------------------------------------------ merging
    cdef double value(self, int32_t a, int32_t b) noexcept nogil:
        if self.by_distance:
            return self.pair_distance(a, b)
        return self.pair_score(a, b)

    cdef void look(self, int32_t k) noexcept nogil:
        """Find the best partner of k among later clusters."""
        cdef int32_t j
        cdef double score
        self.score[k] = INFINITY
        self.partner[k] = -1
        for j in range(k + 1, self.n):
            score = self.value(k, j)
            if self.partner[k] < 0 or score < self.score[k]:    # also if all are far
                self.score[k] = score
                self.partner[k] = j

    cdef void look_again(self, int32_t k) noexcept nogil:
        """Bring partners up to date after cluster k has changed."""
        cdef int32_t i
        cdef double score
        self.look(k)
        for i in range(k):
            if self.partner[i] == k:
                self.look(i)
                continue
            score = self.value(i, k)
            if score < self.score[i] or (
                score == self.score[i] and k < self.partner[i]
            ):
                self.score[i] = score
                self.partner[i] = k

    cdef int32_t best_pair(self) noexcept nogil:
        """The first cluster of the pair of least score; -1 where there is none."""
        cdef int32_t i, best = -1
        for i in range(self.n):
            if self.partner[i] >= 0 and (
                best < 0 or self.score[i] < self.score[best]
            ):
                best = i
        return best

    cdef void merge_best(self, int32_t best) noexcept nogil:
        """Merge a cluster and its partner; partners are up to date, and stay so."""
        cdef int32_t i, gone = self.partner[best]
        cdef int32_t into = self.merge_pair(best, gone)
        gone = gone if into == best else best   # place that was closed
        for i in range(gone, self.n):
            self.score[i] = self.score[i + 1]
            self.partner[i] = self.partner[i + 1]
        into -= into > gone
        for i in range(self.n):
            if self.partner[i] == gone:
                self.partner[i] = -2            # its partner is no more
            elif self.partner[i] > gone:
                self.partner[i] -= 1
        for i in range(self.n):
            if self.partner[i] == -2 and i != into:
                self.look(i)
        self.look_again(into)

    cdef void merge_all(self) noexcept nogil:
        """Merge the best pair, again and again, while it is below the threshold."""
        cdef int32_t i, best
        self.by_distance = self.tracking = False
        for i in range(self.n):
            self.look(i)
        while True:
            best = self.best_pair()
            if best < 0 or not self.score[best] < self.threshold:
                return
            self.merge_best(best)

    cdef void merge_closest(self) noexcept nogil:
        """Merge the two clusters that are nearest to one another.

        A stream at its cap does so again and again, so partners are updated.
        """
        cdef int32_t i
        if self.n < 2:
            return
        if not self.tracking:
            self.by_distance = self.tracking = True
            for i in range(self.n):
                self.look(i)
        self.merge_best(self.best_pair())

    cdef int32_t merge_pair(self, int32_t a, int32_t b) noexcept nogil:
        """Merge two clusters; returns the place of the heavier, as it was."""
        cdef int32_t into = a if self.weight[a] >= self.weight[b] else b
        cdef int32_t gone = a + b - into
        self.join(into, gone)
        self.weight[into] += self.weight[gone]
        self.rows[into] += self.rows[gone]
        self.seen[into] = max(self.seen[into], self.seen[gone])
        self.note_alias(self.ids[gone], self.ids[into])
        if self.chain is not None:
            self.chain.join(
                into, gone, self.n, self.born[into], self.settled[into],
                self.born[gone], self.settled[gone], self.check_every,
            )
        self.born[into] = min(self.born[into], self.born[gone])
        if self.confirmed[gone]:
            self.confirmed[into] = 1
            if not self.settled[into]:
                self.settled[into] = self.n_rows
        elif not self.confirmed[into]:
            self.confirm(into)
        self.drop(gone)
        return into

    cdef void note_alias(self, int64_t gone, int64_t into) noexcept nogil:
        cdef int32_t half = MOST_MERGED // 2
        if self.n_merged == MOST_MERGED:
            memmove(self.merged, self.merged + half, half * sizeof(int64_t))
            memmove(self.merged_into, self.merged_into + half, half * sizeof(int64_t))
            self.n_merged = half
        self.merged[self.n_merged] = gone
        self.merged_into[self.n_merged] = into
        self.n_merged += 1

    # ------------------------------------------------------------ doors
    def learn(self, const double[:, ::1] X, int64_t[::1] labels):
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Finite.
        labels : ndarray of int64 of shape (n_rows,)
            Becomes the ids of their clusters.

        Returns
        -------
        int
            Rows learned: not all where `watch` has stopped.
        """
        cdef int64_t t = 0, n_rows = X.shape[0]
        while t < n_rows:
            if self.is_tight():
                self.make_room()
            with nogil:
                while t < n_rows and not self.is_tight():
                    labels[t] = self.learn_row(&X[t, 0])
                    t += 1
                    if self.watch.stopped:
                        n_rows = t
        return t

    def with_chain(self, double[::1] distance):
        """Add to the squared distance to each cluster what the chain asks for it."""
        if self.n:
            self.chain.add_costs(&distance[0], self.n)

    def learn_filled(self, const double[::1] x, const uint8_t[::1] is_gap):
        """Learn a row of a sequence whose gaps are at the mean of its cluster.

        They leave the mean and the variances of their columns as they are.

        Returns
        -------
        int
            The id of its cluster.
        """
        cdef int32_t j, k
        cdef double more
        cdef double *squares
        cdef int64_t found
        if self.is_tight():
            self.make_room()
        found = self.learn_row(&x[0])
        k = self.chain.last
        if k >= 0 and self.weight[k] > 1.0:
            self.settle_squares(k)
            squares = self.squares + <int64_t> k * self.n_features
            for j in range(self.n_features):
                if is_gap[j]:
                    more = squares[j] / (self.weight[k] - 1.0)
                    self.widen_column(k, j, more)
        return found

    def pass_over(self):
        """Go on by a row of a sequence that is missing: it stays where it is.

        Returns
        -------
        int
            The id of the cluster of the row before; -1 where there is none.
        """
        cdef int32_t k = self.chain.last
        self.n_rows += 1
        self.lost += 1.0
        if k < 0:
            return -1
        self.chain.note(k, self.confirmed[k], self.n_rows)
        return self.ids[k]

    def learn_dict(self, dict row, tuple names):
        """Learn a row whose values stand under the names in a dict.

        Parameters
        ----------
        row : dict
        names : tuple
            Of the features, in their order.

        Returns
        -------
        int
            The id of its cluster; -1 if it holds anything but as many floats of
            ordinary size, or the watch may stop, and nothing is learned.
        """
        cdef double x[MOST_FEATURES]
        cdef PyObject *value
        cdef int32_t j, n = self.n_features
        if n > MOST_FEATURES or len(row) != n or len(names) != n or (
            self.watch.is_due(self.watch.n + 1, self.n_rows + 1, self.check_every)
        ):
            return -1
        for j in range(n):
            value = PyDict_GetItem(row, names[j])
            if value == NULL or not PyFloat_CheckExact(<object> value):
                return -1
            x[j] = PyFloat_AS_DOUBLE(<object> value)
            if not fabs(x[j]) <= 1e150:
                return -1
        if self.is_tight():
            self.make_room()
        return self.learn_row(x)

    def merge(self):
        """Merge all pairs that should be."""
        if self.n_merged + self.n >= self.merged_room < MOST_MERGED:
            self.make_room()
        if self.is_narrow():
            self.widen()
        with nogil:
            self.merge_all()

    def merge_nearest(self):
        """Merge the two clusters that are nearest to one another, of two at least."""
        if self.is_tight():
            self.make_room()
        self.merge_closest()

    def remove(self, int32_t k):
        """Delete cluster k, 0 <= k < n."""
        self.lost += self.weight[k]
        self.drop(k)
        self.tracking = False

    def array(self, name):
        """The array of that name, of the clusters there are; a copy."""
        if name in ("merged", "merged_into"):
            return self.store[name][:self.n_merged].copy()
        return self.store[name][:self.n].copy()

    def squared_deviations(self):
        """Sums of squared deviations from the mean by column, shape (n, n_features)."""
        squares, scatter = self.array("squares"), self.array("scatter")
        total = squares.sum(axis=1)
        squares *= (scatter / np.where(total > 0.0, total, 1.0))[:, None]
        return squares

    def squared_distances(self, const double[:, ::1] X):
        """Squared distances that learning goes by, ndarray of shape (n_rows, n)."""
        cdef int64_t t
        cdef int32_t k
        out = np.empty((X.shape[0], self.n))
        cdef double[:, ::1] seen = out
        if not self.n:
            return out
        with nogil:
            for t in range(X.shape[0]):
                self.distances(&X[t, 0], self.cost, True)
                for k in range(self.n):
                    seen[t, k] = self.cost[k]
        return out

    # ------------------------------------------------------------ files
    def to_arrays(self):
        """Arrays of all clusters, by name."""
        arrays = {name: self.array(name) for name in self.layout()}
        for name in ("merged", "merged_into"):
            arrays[name] = self.array(name)
        counts = [self.n_rows, self.next_id]
        arrays["counts"] = np.array(counts, dtype=np.int64)
        arrays["lost"] = np.array([self.lost])
        if self.chain is not None:
            arrays |= self.chain.to_arrays(self.n)
        return arrays | self.watch.to_arrays()

    def take(self, arrays):
        """Set the state from the arrays of `to_arrays`, which have been checked."""
        self.n = <int32_t> len(arrays["ids"])
        self.n_merged = <int32_t> len(arrays["merged"])
        while self.n_merged + self.n >= self.merged_room < MOST_MERGED:
            self.merged_room *= 2
        self.store = {}
        self.grow(min(max(8, 2 * self.n), max(8, self.max_clusters + 1)))
        for name in (*self.layout(), "merged", "merged_into"):
            given = arrays[name]
            self.store[name][tuple(map(slice, given.shape))] = given
        self.n_rows, self.next_id = map(int, arrays["counts"])
        self.lost = arrays["lost"][0]
        if self.chain is not None:
            self.chain.take(arrays, self.n)
        self.watch.take(arrays)
        self.next_expiry = 0        # the next row looks

    def go_on_from(self, int64_t n_rows, int64_t next_id):
        """Count rows and ids on from those of clusters before; there is none yet."""
        self.n_rows, self.next_id = n_rows, next_id

    def memory_usage(self):
        """Size in bytes."""
        own = sum(array.nbytes for array in self.store.values()) + self.watch.store.nbytes
        return own + (0 if self.chain is None else self.chain.memory_usage())
