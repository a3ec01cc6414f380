"""Four numbers at a time: no sum waits for another, and several share an instruction."""
from libc.stdint cimport int32_t

cdef enum:
    LANES = 4

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    /* Two vectors of GCC and Clang, at any address. Each lane has the bits that a
       double alone would have. */
    typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));
    typedef long long Mask __attribute__((vector_size(16)));
    typedef struct { Pair a, b; } Lanes;

    static inline Pair pair_of(double x) { return (Pair) {x, x}; }
    static inline Pair pair_at(const double *x) { return *(const Pair *) x; }
    static inline void put_pair(double *x, Pair t) { *(Pair *) x = t; }
    static inline Pair sum_of(Pair t, Pair u) { return t + u; }

    static inline Lanes alike(double x) { return (Lanes) {{x, x}, {x, x}}; }
    static inline double lane(Lanes t, int k) { return k < 2 ? t.a[k] : t.b[k - 2]; }
    static inline Lanes of_four(double a, double b, double c, double d) {
        return (Lanes) {{a, b}, {c, d}};
    }
    static inline Pair known(Pair x, Pair t) { return (Pair) ((Mask) t & (x == x)); }
    static inline Lanes standardised(Lanes x, double centre, double inverse) {
        return (Lanes) {known(x.a, (x.a - centre) * inverse),
                        known(x.b, (x.b - centre) * inverse)};
    }
    static inline int32_t gather_lanes(const double *rows, int32_t width,
                                       const int32_t *which, int32_t n,
                                       const double **x) {
        int32_t k, last = (n < 4 ? n : 4) - 1;
        for (k = 0; k < 4; k++)
            x[k] = rows + which[k < last ? k : last] * (int64_t) width;
        return last + 1;
    }
    static inline Lanes across(const double **rows, int k) {
        return (Lanes) {{rows[0][k], rows[1][k]}, {rows[2][k], rows[3][k]}};
    }
    static inline Lanes times(Lanes u, Lanes v) {
        return (Lanes) {u.a * v.a, u.b * v.b};
    }
    static inline Lanes plus(Lanes t, Lanes u, Lanes v) {
        return (Lanes) {t.a + u.a * v.a, t.b + u.b * v.b};
    }
    static inline Lanes minus(Lanes t, Lanes u, Lanes v) {
        return (Lanes) {t.a - u.a * v.a, t.b - u.b * v.b};
    }
    static inline Lanes shifted(Lanes t, double x) {
        return (Lanes) {t.a + x, t.b + x};
    }
    static inline Lanes added(Lanes t, Lanes u) {
        return (Lanes) {t.a + u.a, t.b + u.b};
    }
    static inline Lanes over(double x, Lanes t) {
        return (Lanes) {x / t.a, x / t.b};
    }
    static inline Lanes root(Lanes t) {
        return (Lanes) {{sqrt(t.a[0]), sqrt(t.a[1])}, {sqrt(t.b[0]), sqrt(t.b[1])}};
    }
    static inline Lanes at_least(Lanes t, Lanes x) {        /* x also for NaN */
        return (Lanes) {{t.a[0] > x.a[0] ? t.a[0] : x.a[0],
                         t.a[1] > x.a[1] ? t.a[1] : x.a[1]},
                        {t.b[0] > x.b[0] ? t.b[0] : x.b[0],
                         t.b[1] > x.b[1] ? t.b[1] : x.b[1]}};
    }
    static inline Lanes inverse_root(Lanes t) {
        return (Lanes) {1.0 / (Pair) {sqrt(t.a[0]), sqrt(t.a[1])},
                        1.0 / (Pair) {sqrt(t.b[0]), sqrt(t.b[1])}};
    }
    static inline void accumulate(double *into, const double *other, int n) {
        for (; n >= 8; n -= 8, into += 8, other += 8) {     /* few steps per sum */
            put_pair(into, pair_at(into) + pair_at(other));
            put_pair(into + 2, pair_at(into + 2) + pair_at(other + 2));
            put_pair(into + 4, pair_at(into + 4) + pair_at(other + 4));
            put_pair(into + 6, pair_at(into + 6) + pair_at(other + 6));
        }
        for (; n >= 2; n -= 2, into += 2, other += 2)
            put_pair(into, pair_at(into) + pair_at(other));
        if (n)
            into[0] += other[0];
    }
    static inline void subtract(double *out, const double *u, const double *v, int n) {
        for (; n >= 8; n -= 8, out += 8, u += 8, v += 8) {
            put_pair(out, pair_at(u) - pair_at(v));
            put_pair(out + 2, pair_at(u + 2) - pair_at(v + 2));
            put_pair(out + 4, pair_at(u + 4) - pair_at(v + 4));
            put_pair(out + 6, pair_at(u + 6) - pair_at(v + 6));
        }
        for (; n >= 2; n -= 2, out += 2, u += 2, v += 2)
            put_pair(out, pair_at(u) - pair_at(v));
        if (n)
            out[0] = u[0] - v[0];
    }
    """
    ctypedef struct Pair:
        pass
    Pair pair_of(double x) noexcept nogil
    Pair pair_at(const double *x) noexcept nogil
    void put_pair(double *x, Pair t) noexcept nogil
    Pair sum_of(Pair t, Pair u) noexcept nogil

    ctypedef struct Lanes:
        pass
    Lanes alike(double x) noexcept nogil
    double lane(Lanes t, int k) noexcept nogil
    Lanes of_four(double a, double b, double c, double d) noexcept nogil
    # (x - centre) inverse, 0 where x is NaN
    Lanes standardised(Lanes x, double centre, double inverse) noexcept nogil
    # x = the next four of n >= 1 rows, the last repeated; how many are new
    int32_t gather_lanes(const double *rows, int32_t width, const int32_t *which, int32_t n, const double **x) noexcept nogil
    Lanes across(const double **rows, int k) noexcept nogil     # entry k of four rows
    Lanes times(Lanes u, Lanes v) noexcept nogil
    Lanes plus(Lanes t, Lanes u, Lanes v) noexcept nogil        # t + u v
    Lanes shifted(Lanes t, double x) noexcept nogil             # t + x
    Lanes added(Lanes t, Lanes u) noexcept nogil
    Lanes over(double x, Lanes t) noexcept nogil                # x / t
    Lanes root(Lanes t) noexcept nogil

    # over n doubles: into += other; out = u - v, where out may be either
    void accumulate(double *into, const double *other, int n) noexcept nogil
    void subtract(double *out, const double *u, const double *v, int n) noexcept nogil
