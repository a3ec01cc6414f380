"""Exponentials of many float32 scores at once, and a draw in proportion to them.

Loops that are built for several processors, where the compiler can choose among them as
it loads. All versions do the same operations in the same order,
none fused, so they have the same bits.
"""

cdef enum:
    LANES = 16          # scores come in multiples of it
    PART = 64           # scores to a partial sum

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) \
        && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
    #define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define CLONES
    #endif
    typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));
    typedef float Halves __attribute__((vector_size(32), aligned(4), may_alias));
    typedef int32_t HalfMasks __attribute__((vector_size(32), aligned(4), may_alias));
    typedef float Quarters __attribute__((vector_size(16), aligned(4), may_alias));

    /* exp(x - most) of eight scores by a polynomial of degree 6 about the nearest
       multiple of log 2 (Moshier's expf): 2e-7 of an exponential, 3e-6 with the
       rounding of x - most. What is below exp(-87) counts as that. */
    static inline __attribute__((always_inline)) Halves exponentials(Halves x, float most) {
        Halves least = (Halves) {0} - 87.0f;
        x = x - most;
        HalfMasks low = x < least;
        x = (Halves) ((low & (HalfMasks) least) | (~low & (HalfMasks) x));
        Halves t = x * 1.44269504f + 12582912.0f;    /* rounds to a whole number */
        HalfMasks power = (HalfMasks) t << 23;
        Halves r = t - 12582912.0f;
        r = (x - r * 0.693359375f) - r * -2.12194440e-4f;
        Halves p = r * 1.9875691500e-4f + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        p = p * r * r + r + 1.0f;
        return (Halves) ((HalfMasks) p + power);
    }
    static inline __attribute__((always_inline)) Halves larger(Halves a, Halves b) {
        HalfMasks more = b > a;
        return (Halves) ((more & (HalfMasks) b) | (~more & (HalfMasks) a));
    }
    /* s[j] = exp(s[j] - max s) for j < n, a multiple of 16; part[i] is the sum over
       PART of them. Returns max s. Two vectors of eight rather than one of sixteen,
       which processors without AVX-512 would keep in memory. */
    CLONES static float soften(float *s, int n, double *part) {
        Halves a = *(Halves *) s, b = *(Halves *) (s + 8);
        for (int j = 16; j < n; j += 16) {
            a = larger(a, *(Halves *) (s + j));
            b = larger(b, *(Halves *) (s + j + 8));
        }
        a = larger(a, b);
        float most = a[0];
        for (int j = 1; j < 8; j++)
            most = a[j] > most ? a[j] : most;
        for (int j = 0; j < n; j += 64) {
            a = b = (Halves) {0};
            for (int i = j; i < j + 64 && i < n; i += 16) {
                Halves p = exponentials(*(Halves *) (s + i), most);
                Halves q = exponentials(*(Halves *) (s + i + 8), most);
                *(Halves *) (s + i) = p;
                *(Halves *) (s + i + 8) = q;
                a += p;
                b += q;
            }
            a += b;
            Quarters low = {a[0], a[1], a[2], a[3]}, high = {a[4], a[5], a[6], a[7]};
            low += high;
            part[j / 64] = ((double) low[0] + low[1]) + ((double) low[2] + low[3]);
        }
        return most;
    }
    /* out[j] += c e[j] for j < n, a multiple of 16 */
    CLONES static void add_shares(float *out, float c, const float *e, int n) {
        for (int j = 0; j < n; j += 16)
            *(Lanes *) (out + j) += c * *(const Lanes *) (e + j);
    }
    """
    float soften(float *s, int n, double *part) noexcept nogil
    void add_shares(float *out, float c, const float *e, int n) noexcept nogil


cdef inline int rounded_up(int n) noexcept nogil:
    """The least multiple of LANES that is not below n."""
    return (n + LANES - 1) // LANES * LANES


cdef inline double total_of(const double *part, int n) noexcept nogil:
    """Sum of n exponentials of which `part` has the partial sums."""
    cdef double total = 0.0
    cdef int i
    for i in range((n + PART - 1) // PART):
        total += part[i]
    return total


cdef inline int pick(const float *e, const double *part, int n, double target) noexcept nogil:
    """Place of the first of n exponentials whose cumulative sum exceeds the target."""
    cdef int i = 0, j, last
    cdef int n_parts = (n + PART - 1) // PART
    while i < n_parts - 1 and target >= part[i]:
        target -= part[i]
        i += 1
    j = i * PART
    last = min(n, j + PART) - 1
    while j < last and target >= e[j]:
        target -= e[j]
        j += 1
    return j
