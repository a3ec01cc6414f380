"""Logarithms of gamma functions and their derivatives for x > 0, and fast exponentials.

Asymptotic series (Abramowitz and Stegun, 6.1.41, 6.3.18, 6.4.12) once recurrences have
brought x above 8; relative errors are a few 1e-15 away from their roots. Each lane of
the vectors has the bits that a double alone would have, on every machine.
"""

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    static inline double hdp_log_gamma(double x) {
        double shift = 0.0, f, g;
        if (x < 8.0) {
            double product = 1.0;
            while (x < 8.0) { product *= x; x += 1.0; }
            shift = log(product);
        }
        g = 1.0 / x;
        f = g * g;
        return (x - 0.5) * log(x) - x + 0.91893853320467274178 - shift
            + g * (1.0/12 - f * (1.0/360 - f * (1.0/1260 - f * (1.0/1680
            - f * (1.0/1188 - f * (691.0/360360 - f * (1.0/156)))))));
    }
    static inline double hdp_digamma(double x) {
        double shift = 0.0, f, g;
        if (x < 1e-10)
            return -1.0 / x - 0.57721566490153286061;
        while (x < 8.0) { shift += 1.0 / x; x += 1.0; }
        g = 1.0 / x;
        f = g * g;
        return log(x) - 0.5 * g - shift
            - f * (1.0/12 - f * (1.0/120 - f * (1.0/252 - f * (1.0/240
            - f * (1.0/132 - f * (691.0/32760 - f * (1.0/12)))))));
    }
    static inline double hdp_trigamma(double x) {
        double shift = 0.0, f, g;
        while (x < 8.0) { g = 1.0 / x; shift += g * g; x += 1.0; }
        g = 1.0 / x;
        f = g * g;
        return shift + g + 0.5 * f + g * f * (1.0/6 - f * (1.0/30 - f * (1.0/42
            - f * (1.0/30 - f * (5.0/66 - f * (691.0/2730 - f * (7.0/6)))))));
    }
    static inline double hdp_tetragamma(double x) {
        double shift = 0.0, f, g;
        while (x < 8.0) { g = 1.0 / x; shift -= 2.0 * g * g * g; x += 1.0; }
        g = 1.0 / x;
        f = g * g;
        return shift - f - g * f - 0.5 * f * f + f * f * f * (1.0/6 - f * (1.0/6
            - f * (3.0/10 - f * (5.0/6))));
    }

    typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
    typedef int64_t Ints __attribute__((vector_size(32), aligned(8), may_alias));

    /* digamma of four numbers, each with the bits that it has alone */
    static inline __attribute__((always_inline)) void hdp_digamma_four(double *at) {
        const Four zero = {0.0, 0.0, 0.0, 0.0}, one = zero + 1.0;
        Four x = *(Four *) at, shift = zero, f, g, logs;
        Ints low = x < 1e-10;
        if (low[0] | low[1] | low[2] | low[3]) {
            for (int j = 0; j < 4; j++)
                at[j] = hdp_digamma(at[j]);
            return;
        }
        for (low = x < 8.0; low[0] | low[1] | low[2] | low[3]; low = x < 8.0) {
            shift += (Four) ((Ints) (1.0 / x) & low);
            x += (Four) ((Ints) one & low);
        }
        g = 1.0 / x;
        f = g * g;
        logs = (Four) {log(x[0]), log(x[1]), log(x[2]), log(x[3])};
        *(Four *) at = logs - 0.5 * g - shift
            - f * (1.0/12 - f * (1.0/120 - f * (1.0/252 - f * (1.0/240
            - f * (1.0/132 - f * (691.0/32760 - f * (1.0/12)))))));
    }

    /* exp of four numbers <= 0; exactly 0 below -708 */
    static inline __attribute__((always_inline)) void hdp_exp_four(double *at) {
        const Four scale = {1.4426950408889634, 1.4426950408889634,
                            1.4426950408889634, 1.4426950408889634};
        const Four magic = {6755399441055744.0, 6755399441055744.0,
                            6755399441055744.0, 6755399441055744.0};
        const Four least = {-708.0, -708.0, -708.0, -708.0};
        Four x = *(Four *) at;
        Ints dead = x < least;
        x = (Four) (((Ints) x & ~dead) | ((Ints) least & dead));
        Four t = x * scale + magic;
        Ints n = (Ints) t;
        t -= magic;
        x = (x - t * 6.93147180369123816490e-01) - t * 1.90821492927058770002e-10;
        Four y = x * x, z = y * y;
        Four p = (1.0 + x) + y * (1.0/2 + x * (1.0/6))
            + z * ((1.0/24 + x * (1.0/120)) + y * (1.0/720 + x * (1.0/5040))
            + z * ((1.0/40320 + x * (1.0/362880)) + y * (1.0/3628800 + x * (1.0/39916800))
            + z * (1.0/479001600 + x * (1.0/6227020800.0))));
        p = (Four) ((Ints) p + (n << 52));
        *(Four *) at = (Four) ((Ints) p & ~dead);
    }
    """
    double log_gamma "hdp_log_gamma"(double x) noexcept nogil
    double digamma "hdp_digamma"(double x) noexcept nogil
    double trigamma "hdp_trigamma"(double x) noexcept nogil
    double tetragamma "hdp_tetragamma"(double x) noexcept nogil      # psi''
