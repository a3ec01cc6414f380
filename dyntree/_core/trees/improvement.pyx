"""Expected improvement of Student's t: below a value, and of a contour."""
import numpy as np
from scipy.special import stdtr

from libc.math cimport fabs

from dyntree._core.rmath cimport t_constant, t_density
from dyntree._core.scipy_special cimport stdtr as scalar_stdtr
from dyntree._core.trees.query import t_densities

cdef enum:
    REACH = 16              # scales from the location that pieces go
    PIECES = 32             # to a scale


def standard_improvement(df):
    """Pieces of G(z) = z T(z) + (df + z^2) / (df - 1) t(z), the improvement at scale one.

    G' = T and G'' = t, Student's, so that polynomials of degree 5 through all three at
    the ends of pieces of length 1 / PIECES are off by 1e-12 at most.

    Returns
    -------
    ndarray of shape (n_df, REACH PIECES, 6)
        Coefficients in the place within a piece, from -REACH on, lowest first.
    """
    z = np.linspace(-REACH, 0.0, REACH * PIECES + 1)
    n = len(z) - 1
    out = np.empty((len(df), n, 6))
    for one, pieces in zip(df, out):
        density = t_densities(z, np.full(len(z), one))
        below = stdtr(one, z)
        f = z * below + (one + z * z) / (one - 1.0) * density
        d, s = below / PIECES, density / PIECES**2
        rise = np.diff(f)
        pieces[:, 0], pieces[:, 1], pieces[:, 2] = f[:n], d[:n], 0.5 * s[:n]
        pieces[:, 3] = 10 * rise - 6 * d[:n] - 4 * d[1:] - 1.5 * s[:n] + 0.5 * s[1:]
        pieces[:, 4] = -15 * rise + 8 * d[:n] + 7 * d[1:] + 1.5 * s[:n] - s[1:]
        pieces[:, 5] = 6 * rise - 3 * (d[:n] + d[1:]) - 0.5 * s[:n] + 0.5 * s[1:]
    return out


cdef double piecewise(
    const double[:, ::1] pieces, double df, double z
) noexcept nogil:
    """G(z); G(z) - G(-z) = z, and beyond the pieces what SciPy says."""
    cdef double place = (REACH - fabs(z)) * PIECES, u, value
    cdef const double *a
    cdef int k
    if not place >= 0.0:
        value = -fabs(z) * scalar_stdtr(df, -fabs(z)) + (
            (df + z * z) / (df - 1.0) * t_density(z, df, t_constant(df))
        )
    else:
        k = min(<int> place, REACH * PIECES - 1)
        u = place - k
        a = &pieces[k, 0]
        value = a[0] + u * (a[1] + u * (a[2] + u * (a[3] + u * (a[4] + u * a[5]))))
    return z + value if z > 0.0 else value


def normal_improvement(location, scale, df, q, alpha):
    """Improvement of the contour by R's formula."""
    h = alpha * scale * np.sqrt(df / (df - 2.0))
    below, above = (q - location - h) / scale, (q - location + h) / scale
    t1, t2 = t_densities(below, df), t_densities(above, df)
    return (
        (h * h - (location - q) ** 2 - scale * scale)
        * (stdtr(df, above) - stdtr(df, below))
        + scale * scale * (above * t2 - below * t1)
        + 2.0 * (location - q) * scale * (t2 - t1)
    )


def student_improvement(location, scale, df, q, alpha):
    """Improvement of the contour where Y is Student's t.

    With z = (Y - location) / scale, u = (q - location) / scale and w = h / scale it is
    scale^2 times the integral of (w^2 - (z - u)^2) t(z) over u - w < z < u + w, by
    (df + z^2) t(z) = -(df - 1) int z t = d, and
    (df - 2) int z^2 t = df int t - z d.
    It is the same on either side of the location; u < 0 keeps the digits of a tail.
    """
    w = alpha * np.sqrt(df / (df - 2.0))
    u = -np.minimum(np.abs(q - location) / scale, 1e75)  # squares stay finite
    low, high = u - w, u + w
    at_low = (df + low * low) * t_densities(low, df)
    at_high = (df + high * high) * t_densities(high, df)
    mass = stdtr(df, high) - stdtr(df, low)
    first = (at_low - at_high) / (df - 1.0)
    second = (df * mass + low * at_low - high * at_high) / (df - 2.0)
    value = (w * w - u * u) * mass + 2.0 * u * first - second
    return scale * scale * np.maximum(value, 0.0)  # rounding far from the contour
