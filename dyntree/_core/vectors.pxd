"""Sums and products over vectors of doubles, two numbers to an instruction.

Sums run in one order whatever the machine: four running sums, added pairwise, and what is
left over after them.
"""

cdef extern from *:
    """
    /* A vector of GCC and Clang, at any address. Each lane has the bits that a double
       alone would have. */
    typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
    #define AT(p) (*(const Two *) (p))
    #define PUT(p) (*(Two *) (p))

    static inline double inner(const double *x, const double *y, int n) {
        Two a = {0.0, 0.0}, b = a;
        double rest = 0.0;
        int j = 0;
        for (; j + 4 <= n; j += 4) {
            a += AT(x + j) * AT(y + j);
            b += AT(x + j + 2) * AT(y + j + 2);
        }
        for (; j < n; j++)
            rest += x[j] * y[j];
        a += b;
        return a[0] + a[1] + rest;
    }
    static inline double centred(const double *x, const double *m, double *y, int n) {
        Two a = {0.0, 0.0}, b = a, s;
        double rest = 0.0;
        int j = 0;
        for (; j + 4 <= n; j += 4) {
            s = AT(x + j) - AT(m + j);
            PUT(y + j) = s;
            a += s * s;
            s = AT(x + j + 2) - AT(m + j + 2);
            PUT(y + j + 2) = s;
            b += s * s;
        }
        for (; j < n; j++) {
            y[j] = x[j] - m[j];
            rest += y[j] * y[j];
        }
        a += b;
        return a[0] + a[1] + rest;
    }
    static inline void add_scaled(double *out, double c, const double *x, int n) {
        Two t = {c, c};
        int j = 0;
        for (; j + 2 <= n; j += 2)
            PUT(out + j) += t * AT(x + j);
        if (j < n)
            out[j] += c * x[j];
    }
    static inline void add_squared(double *out, double c, const double *x, int n) {
        Two t = {c, c}, v;
        int j = 0;
        for (; j + 2 <= n; j += 2) {
            v = AT(x + j);
            PUT(out + j) += t * v * v;
        }
        if (j < n)
            out[j] += c * x[j] * x[j];
    }
    static inline void scale_to(double *x, double total, int n) {
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            sum += x[j];
        for (int j = 0; sum > 0.0 && j < n; j++)
            x[j] *= total / sum;
    }
    static inline void add_two(double *out, double c, const double *x, double d,
                               const double *y, int n) {
        Two t = {c, c}, u = {d, d};
        int j = 0;
        for (; j + 2 <= n; j += 2)
            PUT(out + j) += t * AT(x + j) + u * AT(y + j);
        if (j < n)
            out[j] += c * x[j] + d * y[j];
    }
    static inline void turn(double *x, double *y, double c, double s, int n) {
        Two t = {c, c}, u = {s, s}, v, w;
        int j = 0;
        for (; j + 2 <= n; j += 2) {
            v = AT(x + j);
            w = AT(y + j);
            PUT(y + j) = u * v + t * w;
            PUT(x + j) = t * v - u * w;
        }
        if (j < n) {
            double a = x[j], b = y[j];
            y[j] = s * a + c * b;
            x[j] = c * a - s * b;
        }
    }
    static inline void add_outer_packed(double *a, double c, const double *x, int n) {
        for (int i = 0; i < n; a += ++i)
            add_scaled(a, c * x[i], x, i + 1);
    }
    """
    double inner(const double *x, const double *y, int n) noexcept nogil       # x'y
    # y = x - m; y'y
    double centred(const double *x, const double *m, double *y, int n) noexcept nogil
    void add_scaled(double *out, double c, const double *x, int n) noexcept nogil   # += c x
    void add_squared(double *out, double c, const double *x, int n) noexcept nogil  # += c x^2
    void scale_to(double *x, double total, int n) noexcept nogil     # of that sum
    # += c x + d y
    void add_two(double *out, double c, const double *x, double d, const double *y, int n) noexcept nogil
    # (x, y) = (c x - s y, s x + c y)
    void turn(double *x, double *y, double c, double s, int n) noexcept nogil
    # lower triangle by rows: += c x x'
    void add_outer_packed(double *a, double c, const double *x, int n) noexcept nogil
