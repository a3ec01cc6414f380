"""Kernels of small matrices: loops without branches for the sizes that most leaves have.

A triangular loop over five columns spends more on its counters than on its sums. Each
kernel is compiled once for every size below SIZES, its loops written out, and once for
any size; all in one order of operations, so that sizes do not matter to bits.

Matrices are packed by columns of the upper triangle as in `linalg`.
"""
from dyntree._core.lanes cimport Lanes

cdef extern from *:
    """
    #define SIZES 11
    #define SIZED static inline __attribute__((always_inline))
    #define FOR_SIZE(into, n, kernel, ...)                                  \\
        switch (n) {                                                        \\
        case 1: into kernel(1, __VA_ARGS__); break;                         \\
        case 2: into kernel(2, __VA_ARGS__); break;                         \\
        case 3: into kernel(3, __VA_ARGS__); break;                         \\
        case 4: into kernel(4, __VA_ARGS__); break;                         \\
        case 5: into kernel(5, __VA_ARGS__); break;                         \\
        case 6: into kernel(6, __VA_ARGS__); break;                         \\
        case 7: into kernel(7, __VA_ARGS__); break;                         \\
        case 8: into kernel(8, __VA_ARGS__); break;                         \\
        case 9: into kernel(9, __VA_ARGS__); break;                         \\
        case 10: into kernel(10, __VA_ARGS__); break;                       \\
        default: into kernel(n, __VA_ARGS__);                               \\
        }

    static inline int packed_at(int i, int j) { return j * (j + 1) / 2 + i; }

    SIZED double factor_sized(
        const int n, int first, const double *restrict g,
        const double *restrict slopes, double *restrict u, double *restrict residual
    ) {
        double t, least, det = 1.0, half = 0.0;
        int i, j, k;
        #pragma GCC unroll 16
        for (j = first; j < n; j++) {
            double *uj = u + packed_at(0, j);
            #pragma GCC unroll 16
            for (i = first; i < j; i++) {
                const double *ui = u + packed_at(0, i);
                t = g[packed_at(i, j)];
                #pragma GCC unroll 16
                for (k = first; k < i; k++)
                    t -= ui[k] * uj[k];
                uj[i] = t * ui[i];
            }
            least = j && j < n - 1 ? slopes[j] : 0.0;
            t = g[packed_at(j, j)] + least;
            #pragma GCC unroll 16
            for (k = first; k < j; k++)
                t -= uj[k] * uj[k];
            if (!(t > least))
                t = least;
            if (j == n - 1) {
                uj[j] = *residual = t;
                break;
            }
            uj[j] = 1.0 / sqrt(t);
            det *= t;
            if (det > 1e150 || det < 1e-150) {
                half += 0.5 * log(det);
                det = 1.0;
            }
        }
        return half + 0.5 * log(det);
    }
    static double factor_of(int n, int first, const double *g, const double *slopes,
                            double *u, double *residual) {
        double half;
        if (first)
            return factor_sized(n, first, g, slopes, u, residual);
        FOR_SIZE(half =, n, factor_sized, 0, g, slopes, u, residual)
        return half;
    }

    SIZED void factor_four_sized(
        const int n, int first, const double **g, const double *restrict slopes,
        Lanes *restrict u, double *restrict half, double *restrict residual
    ) {
        double det[4] = {1.0, 1.0, 1.0, 1.0};
        Lanes t, least;
        int i, j, k;
        for (k = 0; k < 4; k++)
            half[k] = 0.0;
        #pragma GCC unroll 16
        for (j = first; j < n; j++) {
            Lanes *uj = u + packed_at(0, j);
            #pragma GCC unroll 16
            for (i = first; i < j; i++) {
                const Lanes *ui = u + packed_at(0, i);
                t = across(g, packed_at(i, j));
                #pragma GCC unroll 16
                for (k = first; k < i; k++)
                    t = minus(t, ui[k], uj[k]);
                uj[i] = times(t, ui[i]);
            }
            least = alike(j && j < n - 1 ? slopes[j] : 0.0);
            t = added(across(g, packed_at(j, j)), least);
            #pragma GCC unroll 16
            for (k = first; k < j; k++)
                t = minus(t, uj[k], uj[k]);
            t = at_least(t, least);
            if (j == n - 1)
                break;
            uj[j] = inverse_root(t);
            for (k = 0; k < 4; k++) {
                det[k] *= lane(t, k);
                if (det[k] > 1e150 || det[k] < 1e-150) {
                    half[k] += 0.5 * log(det[k]);
                    det[k] = 1.0;
                }
            }
        }
        for (k = 0; k < 4; k++) {
            half[k] += 0.5 * log(det[k]);
            residual[k] = lane(t, k);
        }
    }
    static void factor_four(int n, int first, const double **g, const double *slopes,
                            Lanes *u, double *half, double *residual) {
        if (first)
            factor_four_sized(n, first, g, slopes, u, half, residual);
        else
            FOR_SIZE(, n, factor_four_sized, 0, g, slopes, u, half, residual)
    }

    SIZED Lanes explain_sized(
        const int n, int has_level, const double **x, const double *restrict noise,
        const double *restrict centres, const double *restrict inverses,
        const double *restrict columns, const double *restrict rows,
        const double *restrict mean, const double *restrict variance,
        Lanes *restrict scratch
    ) {
        Lanes own[2 * SIZES], *w = n < SIZES ? own : scratch, *v = w + n;
        Lanes kappa = alike(0.0), centre = kappa, spread = kappa, t;
        int i, k;
        #pragma GCC unroll 16
        for (i = 0; i < n; i++) {
            k = i - has_level;
            w[i] = k < 0 ? alike(1.0)
                         : standardised(across(x, k), centres[k], inverses[k]);
        }
        #pragma GCC unroll 16
        for (i = 0; i < n; i++) {
            t = alike(0.0);
            #pragma GCC unroll 16
            for (k = 0; k <= i; k++)
                t = plus(t, alike(columns[i * n + k]), w[k]);
            v[i] = t;
            kappa = plus(kappa, t, t);
        }
        #pragma GCC unroll 16
        for (i = 0; i < n; i++) {
            t = alike(0.0);
            #pragma GCC unroll 16
            for (k = i; k < n; k++)
                t = plus(t, alike(rows[i * n + k]), v[k]);
            centre = plus(centre, alike(mean[i]), t);
            spread = plus(spread, times(alike(variance[i]), t), t);
        }
        spread = plus(spread, centre, centre);
        kappa = added(of_four(noise[0], noise[1], noise[2], noise[3]), kappa);
        return (Lanes) {spread.a / kappa.a, spread.b / kappa.b};
    }
    static Lanes explain_four(int n, int has_level, const double **x,
                              const double *noise, const double *centres,
                              const double *inverses, const double *columns,
                              const double *rows, const double *mean,
                              const double *variance, Lanes *scratch) {
        Lanes worth;
        if (!has_level)
            return explain_sized(n, 0, x, noise, centres, inverses, columns, rows,
                                 mean, variance, scratch);
        FOR_SIZE(worth =, n, explain_sized, 1, x, noise, centres, inverses, columns,
                 rows, mean, variance, scratch)
        return worth;
    }
    """
    # Cholesky factor u of g + diag(0, slopes, 0), n x n, from entry `first` on: 1 where
    # there is no level. Half the log determinant but for the last pivot. The diagonal of
    # u holds reciprocals, but for the last, the residual. In exact arithmetic no pivot is
    # less than the prior's, slopes[j], and none is negative: rounding is clipped to that.
    double factor_of(int n, int first, const double *g, const double *slopes, double *u, double *residual) noexcept nogil
    # the same of four; u is scratch
    void factor_four(int n, int first, const double **g, const double *slopes, Lanes *u, double *half, double *residual) noexcept nogil
    # at four rows x, w = (1, z) or z with z = (x - centre) inverse, of n entries; with C
    # upper triangular n x n, stored square by columns and by rows, v = C'w and u = C v:
    # ((mean'u)^2 + sum_j variance_j u_j^2) / (noise + v'v); scratch has room for 2 n
    Lanes explain_four(int n, int has_level, const double **x, const double *noise, const double *centres, const double *inverses, const double *columns, const double *rows, const double *mean, const double *variance, Lanes *scratch) noexcept nogil
