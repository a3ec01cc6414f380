"""Leaves of regressions on columns whose units may come late: what a scale needs."""
import numpy as np

cimport cython
from libc.float cimport DBL_MAX
from libc.math cimport fabs, sqrt

from dyntree._core.family cimport Cross
from dyntree._core.linalg cimport at
from dyntree._core.spans cimport Spans
from dyntree._core.trees.leaf cimport COLUMN_UNIT, RESPONSE_UNIT
from dyntree._core.trees.nodes cimport Leaf

cdef double ROUNDING = 1e-12        # of a mean square: a variance that is only rounding
# standard deviation of ten values of which nine are equal and one differs by 1
cdef double FIRST_UNIT = 0.31622776601683794
cdef double LEAST_UNIT = 1e-300


cdef bint fixes_unit(
    double *centre, double *spread, double value, bint is_first, bint centred
) noexcept nogil:
    """Whether a value gives a unit to a column without one; if so it is written.

    The first value becomes the centre, the first that differs fixes the unit: rows
    before it stand at the centre, where its coordinate is 0 in any unit.
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


cdef class ScaledLeaves(GaussianLeaves):
    """The scale of the regression in the leaves; a subclass adds the prior's place."""

    cdef void count_columns(self) noexcept nogil:
        """Bring what hangs on the number of columns in the regression up to date."""
        cdef int j
        self.n_used = 0
        for j in range(self.n_basis):
            self.n_used += self.cross.spread[j] > 0.0
        self.n_open = self.n_basis - self.n_used + self.y_open

    cdef void follow_units(self) noexcept nogil:
        pass

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
            self.follow_units()
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
        cdef const double *g = sums + self.first
        cdef double mean = g[at(0, i)] / g[0], square = g[at(i, i)] / g[0]
        cdef double variance = square - mean * mean
        return sqrt(variance) if variance > ROUNDING * square else 0.0

    cdef void multiply_out(self) noexcept nogil:
        """v v' from v, its first row."""
        cdef int i, j
        self.point[0] = 1.0
        for j in range(1, self.n_basis + 2):
            for i in range(1, j + 1):
                self.point[at(i, j)] = self.point[at(0, i)] * self.point[at(0, j)]
