"""Watch: counts of rows that open clusters, and distances of those that do not."""
import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy

cdef enum:
    WINDOW = 250        # rows
    MORE = 10           # clusters beyond those there are, and twice the usual growth
cdef double FALL = 25.0     # of squared distances: a gain of a fifth


cdef class Watch:
    """What is usual, and the window that goes on; see the declarations.

    Parameters
    ----------
    n_features : int
    n_first : int
        Windows that tell what is usual.
    """

    window = WINDOW

    def __init__(self, int64_t n_features, int64_t n_first):
        self.n_features = n_features
        self.n_first = n_first
        self.store = np.empty((0, n_features))

    cdef void note(self, double distance, const double *x) noexcept nogil:
        self.n += 1
        if distance >= 0.0:
            self.n_near += 1
            self.total += distance
        if self.n_wanted:
            memcpy(
                self.rows + self.n_gathered * self.n_features, x,
                self.n_features * sizeof(double),
            )
            self.n_gathered += 1
            self.stopped = self.n_gathered == self.n_wanted

    cdef bint is_due(self, int64_t n, int64_t row, int64_t check_every) noexcept nogil:
        if self.n_wanted:
            return True
        if n < WINDOW:
            return False
        return not 0 < check_every <= WINDOW + WINDOW or row % check_every == 0

    cdef void judge(self, int64_t n_clusters) noexcept nogil:
        """End a window; learning stops with the first one that does not fit."""
        cdef double usual = <double> self.most_growth
        if self.n_wanted:
            return
        self.rows_judged = self.n
        self.growth = max(n_clusters - self.n_clusters, 0)
        self.near = self.total / self.n_near if self.n_near else 0.0
        if self.n_windows < self.n_first:
            if self.n_windows:      # the first clusters of all say nothing
                self.most_growth = max(self.most_growth, self.growth)
            self.n_windows += 1
            if self.least_near == 0.0 or 0.0 < self.near < self.least_near:
                self.least_near = self.near
        elif not self.misfit:
            self.grew = (
                self.growth > self.n_clusters + 2.0 * usual + 5.0 * sqrt(usual) + MORE
            )
            self.stopped = self.misfit = (
                self.grew or 0.0 < FALL * self.near < self.least_near
            )
        self.n_clusters = n_clusters
        self.n = self.n_near = 0
        self.total = 0.0

    def gather(self, int64_t n_wanted):
        """Go on, and keep a copy of so many rows; learning stops when they have come."""
        self.stopped = False
        self.n_wanted, self.n_gathered = n_wanted, 0
        self.hold(np.empty((n_wanted, self.n_features)))

    def go_on(self):
        """Go on, and keep nothing."""
        self.gather(0)

    def gathered(self):
        """The stored rows, ndarray of shape (n_gathered, n_features)."""
        return self.store[:self.n_gathered].copy()

    def hold(self, rows):
        """Take an array as the room of rows."""
        cdef double[:, ::1] view = rows
        self.store = rows
        self.rows = &view[0, 0] if rows.size else NULL

    def to_arrays(self):
        """Everything, by name."""
        state = [
            self.misfit, self.n_windows, self.most_growth, self.least_near,
            self.n_clusters, self.n, self.n_near, self.total, self.n_wanted,
        ]
        return {"watch": np.array(state, dtype=np.float64), "gathered": self.gathered()}

    def take(self, arrays):
        """Set the state from the arrays of `to_arrays`."""
        state, rows = arrays["watch"], arrays["gathered"]
        self.misfit, self.n_windows, self.most_growth = map(int, state[:3])
        self.least_near, self.total = state[3], state[7]
        self.n_clusters, self.n, self.n_near = map(int, state[4:7])
        self.gather(int(state[8]))
        self.store[:len(rows)] = rows
        self.n_gathered = len(rows)
