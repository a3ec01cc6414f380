"""Spans: what values each column has had, and how often it had none."""
import numpy as np

cimport cython


@cython.final
cdef class Spans:
    """Least and largest value of each column, whether there are but 0 and 1, and gaps.

    Parameters
    ----------
    n_features : int
        Columns of a row.

    Attributes
    ----------
    table : ndarray of shape (n_features, 4)
        Of each column the least value, the largest (NaN: all missing), 1.0 if a value
        was neither 0 nor 1, else 0.0, and how many rows had none.
    """

    def __cinit__(self, int32_t n_features):
        self.table = np.full((n_features, 4), np.nan)
        self.table[:, 2:] = 0.0
        self.view = self.table

    cdef void widen(self, const double *x) noexcept:
        """Take in a row; what is missing in it is no value."""
        cdef int32_t j
        cdef bint wider = False
        for j in range(<int32_t> self.view.shape[0]):
            if x[j] != x[j]:
                self.view[j, 3] += 1.0
                continue
            if not x[j] >= self.view[j, 0]:
                self.view[j, 0] = x[j]
                wider = True
            if not x[j] <= self.view[j, 1]:
                self.view[j, 1] = x[j]
                wider = True
            if x[j] != 0.0 and x[j] != 1.0 and self.view[j, 2] == 0.0:
                self.view[j, 2] = 1.0
                wider = True
        if wider:
            self.found = None

    def bounds(self):
        """The ranges and the 0/1 columns, as arrays that cannot be written to.

        Returns
        -------
        low, high : ndarray of shape (n_features,)
        binary : ndarray of bool of shape (n_features,)
            Whether the values that are not missing are 0 and 1, both of them.
        """
        if self.found is None:
            low, high, other, _ = self.table.T.copy()
            self.found = low, high, (low == 0.0) & (high == 1.0) & (other == 0.0)
            for part in self.found:
                part.flags.writeable = False
        return self.found
