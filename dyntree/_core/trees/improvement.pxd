"""Expected improvement of Student's t below a value, from pieces that are made once."""

# of the pieces that `standard_improvement` makes for df
cdef double piecewise(const double[:, ::1] pieces, double df, double z) noexcept nogil
