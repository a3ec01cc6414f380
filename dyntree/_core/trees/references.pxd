"""Criteria over reference rows, and what sums over particles are divided by."""

# sums / norm, in place; a norm of zero gives infinities and NaN
cdef object over(sums, double norm)
