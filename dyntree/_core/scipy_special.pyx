"""Student's t distribution of SciPy, found by name; see the .pxd."""
from cpython.pycapsule cimport PyCapsule_GetPointer

from scipy.special import cython_special

ctypedef double (*of_two)(double, double, int) noexcept nogil  # the last is not used

cdef char *SIGNATURE = b"double (double, double, int __pyx_skip_dispatch)"


cdef of_two found(str name) except NULL:
    """A function of SciPy's in double precision, whatever its version calls it."""
    cdef dict names = cython_special.__pyx_capi__
    capsule = names[name] if name in names else names[f"__pyx_fuse_0{name}"]
    return <of_two> PyCapsule_GetPointer(capsule, SIGNATURE)


cdef of_two scipy_stdtr = found("stdtr"), scipy_stdtrit = found("stdtrit")


cdef double stdtr(double df, double t) noexcept nogil:
    return scipy_stdtr(df, t, 0)


cdef double stdtrit(double df, double p) noexcept nogil:
    return scipy_stdtrit(df, p, 0)
