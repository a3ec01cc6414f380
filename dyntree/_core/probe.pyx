"""Doors into the nogil rooms that models share, for the tests; nothing else may use them.

Each function converts its arguments, makes one call and returns its result. Matrices
are packed as in `linalg`.
"""
import numpy as np

from libc.stdint cimport int32_t

from dyntree._core cimport linalg, rmath, scipy_special
from dyntree._core.family cimport Family
from dyntree._core.resample cimport residual as _residual
from dyntree._core.rng cimport (
    RandomSource, RandomStream, gamma, student_t, uniform_between,
)


# ---------------------------------------------------------------- rng
def draw(RandomSource source, kind, double a=0.0, double b=0.0):
    """One variate: "normal", "exponential", or with parameters a, b one of the rest."""
    cdef RandomStream s = source.open(0, 0, 0)
    if kind == "normal":
        return s.normal(&s)
    if kind == "exponential":
        return s.exponential(&s)
    if kind == "uniform":
        return uniform_between(&s, a, b)
    if kind == "gamma":
        return gamma(&s, a, b)
    if kind == "student":
        return student_t(&s, a)
    raise ValueError(f"kind must name a sampler; got {kind!r}.")


# ---------------------------------------------------------------- rmath
def log_gamma_r(double x):
    """Log gamma with R's bits."""
    return rmath.log_gamma_r(x)


def log_gamma(double x):
    """Log gamma as the evidence of a leaf uses it."""
    return rmath.log_gamma(x)


def t_density(double x, double df):
    """Density of Student's t."""
    return rmath.t_density(x, df, rmath.t_constant(df))


# ---------------------------------------------------------------- scipy_special
def stdtr(double df, double t):
    """Distribution function of Student's t by SciPy."""
    return scipy_special.stdtr(df, t)


def stdtrit(double df, double p):
    """Its inverse."""
    return scipy_special.stdtrit(df, p)


# ---------------------------------------------------------------- linalg
def add_outer(double[::1] packed, const double[::1] x):
    """Add x x' to the packed matrix, in place."""
    linalg.add_outer(&packed[0], &x[0], <int> x.shape[0])


def dot(const double[::1] a, const double[::1] b):
    """a'b."""
    return linalg.dot(&a[0], &b[0], <int> a.shape[0])


def symmetric_times(const double[::1] packed, const double[::1] x):
    """Matrix times x."""
    cdef double[::1] out = np.empty(x.shape[0])
    linalg.symmetric_times(&packed[0], &x[0], &out[0], <int> x.shape[0])
    return np.asarray(out)


def factor(double[::1] packed, int q):
    """Overwrite the matrix by its Cholesky factor; the status."""
    return linalg.factor(&packed[0], q)


def invert_factor(const double[::1] packed, int q):
    """Packed inverse of the matrix that has this factor."""
    cdef double[::1] out = np.empty(packed.shape[0]), column = np.empty(q)
    linalg.invert_factor(&packed[0], &out[0], &column[0], q)
    return np.asarray(out)


def minus_log_det(const double[::1] packed, int q):
    """Log det of the inverse of the matrix that has this factor."""
    return linalg.minus_log_det(&packed[0], q)


# ---------------------------------------------------------------- family
def family_add(
    Family family, double[::1] row, const double[::1] x, double y, double weight=1.0,
    double exposure=1.0,
):
    """Add an observation to the sums in `row`."""
    family.add(&row[0], &x[0], y, weight, exposure)


def family_merge(Family family, double[::1] into, const double[::1] other):
    """Add the sums of `other` to `into`."""
    family.merge(&into[0], &other[0])


def family_scale(Family family, double[::1] row, double factor):
    """Discount the sums in `row`."""
    family.scale(&row[0], factor)


def family_clear(Family family, double[::1] row):
    """Empty the sums in `row`."""
    family.clear(&row[0])


# ---------------------------------------------------------------- resample
def residual(const double[::1] weights, int32_t n_target, RandomSource source):
    """Ancestors by residual resampling, ndarray of shape (n_target,)."""
    cdef int32_t[::1] ancestors = np.empty(n_target, dtype=np.int32)
    cdef double[::1] cumulative = np.empty(weights.shape[0])
    cdef RandomStream s = source.open(0, 0, 0)
    _residual(
        &weights[0], <int32_t> weights.shape[0], n_target, &s, &ancestors[0],
        &cumulative[0],
    )
    return np.asarray(ancestors)
