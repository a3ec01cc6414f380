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
    typedef int32_t Masks __attribute__((vector_size(64), aligned(4), may_alias));
    typedef float Halves __attribute__((vector_size(32), aligned(4), may_alias));
    typedef int32_t HalfMasks __attribute__((vector_size(32), aligned(4), may_alias));
    typedef float Quarters __attribute__((vector_size(16), aligned(4), may_alias));

    /* s[j] = exp(s[j] - max s) for j < n, a multiple of 16; part[i] is the sum over
       PART of them. Returns max s. A polynomial of degree 6 about the nearest multiple
       of log 2 (Moshier's expf): 2e-7 of an exponential, 3e-6 with the rounding of
       s - max s. What is below exp(-87) counts as that. */
    CLONES static float soften(float *s, int n, double *part) {
        Lanes top = *(Lanes *) s;
        for (int j = 16; j < n; j += 16) {
            Lanes v = *(Lanes *) (s + j);
            Masks larger = v > top;
            top = (Lanes) ((larger & (Masks) v) | (~larger & (Masks) top));
        }
        float lanes[16];
        *(Lanes *) lanes = top;
        Halves a = *(Halves *) lanes, b = *(Halves *) (lanes + 8);
        HalfMasks more = b > a;
        *(Halves *) lanes = (Halves) ((more & (HalfMasks) b) | (~more & (HalfMasks) a));
        float most = lanes[0];
        for (int j = 1; j < 8; j++)
            most = lanes[j] > most ? lanes[j] : most;
        for (int j = 0; j < n; j += 64) {
            Lanes sum = {0};
            for (int i = j; i < j + 64 && i < n; i += 16) {
                Lanes x = *(Lanes *) (s + i) - most, least = (Lanes) {0} - 87.0f;
                Masks low = x < least;
                x = (Lanes) ((low & (Masks) least) | (~low & (Masks) x));
                Lanes t = x * 1.44269504f + 12582912.0f;    /* rounds to a whole number */
                Masks power = (Masks) t << 23;
                Lanes r = t - 12582912.0f;
                r = (x - r * 0.693359375f) - r * -2.12194440e-4f;
                Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
                p = p * r + 8.3334519073e-3f;
                p = p * r + 4.1665795894e-2f;
                p = p * r + 1.6666665459e-1f;
                p = p * r + 5.0000001201e-1f;
                p = p * r * r + r + 1.0f;
                p = (Lanes) ((Masks) p + power);
                *(Lanes *) (s + i) = p;
                sum += p;
            }
            *(Lanes *) lanes = sum;
            a = *(Halves *) lanes + *(Halves *) (lanes + 8);
            *(Halves *) lanes = a;
            Quarters c = *(Quarters *) lanes + *(Quarters *) (lanes + 4);
            part[j / 64] = ((double) c[0] + c[1]) + ((double) c[2] + c[3]);
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
