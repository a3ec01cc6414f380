"""Random sources: two of R's generators, and the samplers built on a stream's atoms."""
import numpy as np

from libc.math cimport NAN, exp, expm1, fabs, floor, isinf, isnan, log, sqrt
from libc.string cimport memcpy
from scipy.special.cython_special cimport ndtri

# First entry of .Random.seed: the generator, 400 for inversion, 10000 for rejection
cdef enum:
    MERSENNE_TWISTER = 10403
    LECUYER_CMRG = 10407

N_SEEDS = {MERSENNE_TWISTER: 625, LECUYER_CMRG: 6}    # entries after it
KINDS = {"Mersenne-Twister": MERSENNE_TWISTER, "L'Ecuyer-CMRG": LECUYER_CMRG}


cdef class RandomSource:
    """Names random streams by coordinate (time, particle, purpose)."""

    cdef RandomStream open(
        self, int64_t time, int32_t particle, int purpose
    ) noexcept nogil:
        cdef RandomStream s
        s.key = s.time = s.counter = 0
        s.shared = NULL
        s.uniform = s.normal = s.exponential = NULL
        return s

    cdef void draw(
        self, int64_t time, int purpose, int32_t n, double *out
    ) noexcept nogil:
        cdef RandomStream s
        cdef int32_t i
        for i in range(n):
            s = self.open(time, i, purpose)
            out[i] = s.uniform(&s)


# ---------------------------------------------------------------- R's generators
cdef void refill(RState *m) noexcept nogil:
    """One block of MT19937 (Matsumoto and Nishimura 1998)."""
    cdef int k
    cdef uint32_t y
    for k in range(N_WORDS):
        y = (m.words[k] & 0x80000000u) | (m.words[(k + 1) % N_WORDS] & 0x7FFFFFFFu)
        m.words[k] = m.words[(k + 397) % N_WORDS] ^ (y >> 1)
        if y & 1u:
            m.words[k] ^= 0x9908B0DFu
    m.position = 0


cdef int64_t M1 = 4294967087, M2 = 4294944443    # moduli of MRG32k3a


cdef double combined(uint32_t *x) noexcept nogil:
    """MRG32k3a (L'Ecuyer 1999, table I): two recurrences of order three, subtracted."""
    cdef int64_t p = (1403580 * <int64_t> x[1] - 810728 * <int64_t> x[0]) % M1
    cdef int64_t q = (527612 * <int64_t> x[5] - 1370589 * <int64_t> x[3]) % M2
    if p < 0:
        p += M1
    if q < 0:
        q += M2
    x[0] = x[1]
    x[1] = x[2]
    x[2] = <uint32_t> p
    x[3] = x[4]
    x[4] = x[5]
    x[5] = <uint32_t> q
    return (p - q if p > q else p - q + M1) * 2.328306549295727688e-10


cdef double r_uniform(RandomStream *s) noexcept nogil:
    cdef RState *m = <RState *> s.shared
    cdef uint32_t y
    cdef double u
    m.n_draws += 1
    if m.kind == LECUYER_CMRG:
        return combined(m.words)
    if m.position >= N_WORDS:
        refill(m)
    y = m.words[m.position]
    m.position += 1
    y ^= y >> 11
    y ^= (y << 7) & 0x9D2C5680u
    y ^= (y << 15) & 0xEFC60000u
    y ^= y >> 18
    u = y * 2.3283064365386963e-10
    if u <= 0.0:
        return 0.5 * 2.328306437080797e-10
    if 1.0 - u <= 0.0:
        return 1.0 - 0.5 * 2.328306437080797e-10
    return u


cdef double r_normal(RandomStream *s) noexcept nogil:
    """Inversion from 54 bits: two uniforms make one probability."""
    cdef double u = floor(134217728.0 * r_uniform(s))
    u = u + r_uniform(s)
    return ndtri(u / 134217728.0)


cdef double[16] LN2_SUMS     # sum over j = 1..k of (ln 2)^j / j!


cdef void fill_ln2_sums() noexcept:
    cdef double term = 1.0, total = 0.0
    cdef int k
    for k in range(16):
        term *= log(2.0) / (k + 1)
        total += term
        LN2_SUMS[k] = total
    LN2_SUMS[15] = 1.0


fill_ln2_sums()


cdef double r_exponential(RandomStream *s) noexcept nogil:
    """Ahrens and Dieter (1972), algorithm SA."""
    cdef double a = 0.0, u = r_uniform(s), v, w
    cdef int i = 0
    while True:
        u += u
        if u > 1.0:
            break
        a += LN2_SUMS[0]
    u -= 1.0
    if u <= LN2_SUMS[0]:
        return a + u
    w = r_uniform(s)
    while True:
        v = r_uniform(s)
        if v < w:
            w = v
        i += 1
        if u <= LN2_SUMS[i]:
            return a + w * LN2_SUMS[0]


cdef class RSource(RandomSource):
    """One of R's generators: one stream, shared by all who open it.

    Parameters
    ----------
    seed : int
        As in ``set.seed(seed, kind)``; taken modulo 2**32.
    kind : {"Mersenne-Twister", "L'Ecuyer-CMRG"}, default "Mersenne-Twister"

    Notes
    -----
    Mersenne Twister (Matsumoto and Nishimura 1998) or MRG32k3a (L'Ecuyer 1999) with R's
    scrambling of the seed, normals by inversion (R Core Team, ``?RNGkind``).
    Coordinates are ignored: draws come in call order.

    Examples
    --------
    >>> RSource(1).uniforms(3).round(7).tolist()
    [0.2655087, 0.3721239, 0.5728534]
    """

    def __init__(self, seed, kind="Mersenne-Twister"):
        cdef uint32_t word = <uint32_t> (int(seed) % (1 << 32))
        cdef int k
        self.state_.kind = KINDS[kind]
        self.state_.n_draws = 0
        for k in range(50):
            word = 69069u * word + 1u
        if self.state_.kind == LECUYER_CMRG:
            for k in range(6):
                word = 69069u * word + 1u
                while word >= M2:
                    word = 69069u * word + 1u
                self.state_.words[k] = word
            self.state_.position = 0
        else:
            word = 69069u * word + 1u       # R's position slot
            for k in range(N_WORDS):
                word = 69069u * word + 1u
                self.state_.words[k] = word
            self.state_.position = N_WORDS

    cdef RandomStream open(
        self, int64_t time, int32_t particle, int purpose
    ) noexcept nogil:
        cdef RandomStream s
        s.key = s.time = s.counter = 0
        s.shared = <void *> &self.state_
        s.uniform = r_uniform
        s.normal = r_normal
        s.exponential = r_exponential
        return s

    def uniform(self):
        """One draw from U(0, 1)."""
        cdef RandomStream s = self.open(0, 0, 0)
        return s.uniform(&s)

    def uniforms(self, Py_ssize_t n):
        """Draw n values of U(0, 1), ndarray of shape (n,)."""
        out = np.empty(n)
        cdef double[::1] view = out
        cdef RandomStream s = self.open(0, 0, 0)
        cdef Py_ssize_t i
        for i in range(n):
            view[i] = s.uniform(&s)
        return out

    def peek(self):
        """Return the value the next draw will have, without drawing it."""
        return self.copy().uniform()

    @property
    def n_draws(self):
        """Number of 32-bit outputs used since this source was opened."""
        return self.state_.n_draws

    @property
    def position(self):
        """How many words of the Mersenne Twister's block are used, 1 to 624; else 0."""
        return self.state_.position

    @property
    def kind(self):
        """R's name of the generator."""
        return next(name for name, code in KINDS.items() if code == self.state_.kind)

    @property
    def state(self):
        """R's ``.Random.seed``, ndarray of int32 of shape (626,) or (7,)."""
        words = np.array(<uint32_t[:N_WORDS]> self.state_.words).view(np.int32)
        if self.state_.kind == LECUYER_CMRG:
            return np.concatenate([np.int32([LECUYER_CMRG]), words[:6]])
        head = np.int32([MERSENNE_TWISTER, self.state_.position])
        return np.concatenate([head, words])

    @classmethod
    def from_state(cls, state):
        """Continue from R's ``.Random.seed``, 626 or 7 integers."""
        given = np.asarray(state)
        cdef RSource source = cls(0)
        kind = int(given[0]) if given.ndim == 1 and given.size else 0
        if given.dtype.kind not in "iu" or given.size - 1 != N_SEEDS.get(kind):
            raise ValueError(
                f"state must be R's .Random.seed: {MERSENNE_TWISTER} and 625 integers, "
                f"or {LECUYER_CMRG} and 6; got {kind}, shape {given.shape} of "
                f"{given.dtype}. Call RNGkind('default', 'default', 'default') in R "
                "first."
            )
        given = given.astype(np.int64)
        source.state_.kind = kind
        position = int(given[1]) if kind == MERSENNE_TWISTER else 0
        if not 0 <= position <= N_WORDS:
            raise ValueError(
                f"the position in state must be in 0..{N_WORDS}; got {position}."
            )
        source.state_.position = position
        words = given[2:] if kind == MERSENNE_TWISTER else given[1:]
        cdef uint32_t[::1] view = (words % (1 << 32)).astype(np.uint32)
        if kind == LECUYER_CMRG:
            for part, end in ((view[:3], M1), (view[3:], M2)):
                if not 0 < max(part) < end:
                    raise ValueError(
                        f"three integers of state must be below {end}, as those of "
                        f"L'Ecuyer-CMRG, and not all 0; got {list(part)}."
                    )
        memcpy(source.state_.words, &view[0], len(view) * sizeof(uint32_t))
        return source

    def save(self):
        """Opaque value that `restore` takes back."""
        return self.copy()

    def restore(self, RSource saved):
        """Go back to the position at which `saved` was made."""
        self.state_ = saved.state_

    def copy(self):
        """An independent source at the same position."""
        cdef RSource other = type(self)(0)
        other.state_ = self.state_
        return other

    def __reduce__(self):
        return _restore, (self.state, self.state_.n_draws)


def _restore(state, int64_t n_draws):
    cdef RSource source = RSource.from_state(state)
    source.state_.n_draws = n_draws
    return source


# ---------------------------------------------------------------- by coordinate
cdef extern from *:
    """
    static void dyntree_philox(uint64_t key, uint64_t a, uint64_t b, uint64_t *out)
    {
        for (int i = 0; i < 10; i++) {
            unsigned __int128 p = (unsigned __int128)0xD2B74407B1CE6E93ULL * a;
            a = (uint64_t)(p >> 64) ^ key ^ b;
            b = (uint64_t)p;
            key += 0x9E3779B97F4A7C15ULL;
        }
        out[0] = a;
        out[1] = b;
    }
    """
    void dyntree_philox(uint64_t key, uint64_t a, uint64_t b, uint64_t *out) nogil


cdef inline double uniform_of(uint64_t word) noexcept nogil:
    return ((word >> 11) + 0.5) * 1.1102230246251565e-16


cdef double counter_uniform(RandomStream *s) noexcept nogil:
    """53 bits of Philox 2x64-10 (Salmon et al. 2011) at the stream's coordinate.

    A stream starts at an even counter: two draws take the two words of one call.
    """
    cdef uint64_t[2] words
    cdef uint64_t word = s.spare
    if s.counter % 2 == 0:
        dyntree_philox(s.key, s.time, s.counter, words)
        word = words[0]
        s.spare = words[1]
    s.counter += 1
    return uniform_of(word)


cdef double counter_normal(RandomStream *s) noexcept nogil:
    return ndtri(counter_uniform(s))


cdef double counter_exponential(RandomStream *s) noexcept nogil:
    return -log(counter_uniform(s))


cdef class CounterSource(RandomSource):
    """Streams by coordinate: any draw can be had without those before it.

    Parameters
    ----------
    seed : int
        In 0 .. 2**64 - 1.

    Notes
    -----
    Philox 2x64-10 (Salmon, Moraes, Dror and Shaw 2011), keyed by the seed; the counter
    is (time, particle, purpose, draw). `uniforms` walks a stream of its own, for choices
    made outside a step.

    Examples
    --------
    >>> source = CounterSource(1)
    >>> bool((source.uniforms(2) == CounterSource(1).uniforms(2)).all())
    True
    """

    def __init__(self, seed):
        self.seed = <uint64_t> (int(seed) % (1 << 64))

    cdef RandomStream open(
        self, int64_t time, int32_t particle, int purpose
    ) noexcept nogil:
        cdef RandomStream s
        s.key = self.seed
        s.time = <uint64_t> time
        s.counter = (<uint64_t> <uint32_t> particle << 32) | (<uint64_t> purpose << 28)
        s.spare = 0
        s.shared = NULL
        s.uniform = counter_uniform
        s.normal = counter_normal
        s.exponential = counter_exponential
        return s

    cdef void draw(
        self, int64_t time, int purpose, int32_t n, double *out
    ) noexcept nogil:
        """Calls that do not wait for one another: several are under way at a time."""
        cdef uint64_t[2] words
        cdef uint64_t place = <uint64_t> purpose << 28
        cdef int32_t i
        for i in range(n):
            dyntree_philox(self.seed, <uint64_t> time, place, words)
            out[i] = uniform_of(words[0])
            place += <uint64_t> 1 << 32

    def uniforms(self, Py_ssize_t n):
        """Draw n values of U(0, 1), ndarray of shape (n,)."""
        out = np.empty(n)
        cdef double[::1] view = out
        cdef RandomStream s = self.open(<int64_t> self.n_choices, 0, CHOOSING)
        cdef Py_ssize_t i
        for i in range(n):
            view[i] = s.uniform(&s)
        self.n_choices += 1
        return out

    @property
    def state(self):
        """Seed and number of choices, ndarray of uint64 of shape (2,)."""
        return np.array([self.seed, self.n_choices], dtype=np.uint64)

    @classmethod
    def from_state(cls, state):
        """The source that had this `state`."""
        cdef CounterSource source = cls(int(state[0]))
        source.n_choices = int(state[1])
        return source

    def save(self):
        """Opaque value that `restore` takes back."""
        return self.copy()

    def restore(self, CounterSource saved):
        """Go back to where `saved` was made."""
        self.n_choices = saved.n_choices

    def copy(self):
        """An independent source that goes on alike."""
        return type(self).from_state(self.state)

    def __reduce__(self):
        return type(self).from_state, (self.state,)


# ---------------------------------------------------------------- samplers
cdef double uniform_between(RandomStream *s, double low, double high) noexcept nogil:
    """U(low, high); nothing is drawn where the ends are equal."""
    if low == high:
        return low
    return low + (high - low) * s.uniform(s)


cdef double gamma_small(RandomStream *s, double shape, double scale) noexcept nogil:
    """Ahrens and Dieter (1974), algorithm GS, for shape < 1."""
    cdef double e = 1.0 + 0.36787944117144233 * shape, p, x
    while True:
        p = e * s.uniform(s)
        if p >= 1.0:
            x = -log((e - p) / shape)
            if s.exponential(s) >= (1.0 - shape) * log(x):
                return scale * x
        else:
            x = exp(log(p) / shape)
            if s.exponential(s) >= x:
                return scale * x


cdef double quotient(double t, double s, double s2, double q0) noexcept nogil:
    """log of the density ratio of algorithm GD at t."""
    cdef double v = t / (s + s)
    if fabs(v) <= 0.25:
        return q0 + 0.5 * t * t * (
            (((((0.1233795 * v - 0.1367177) * v + 0.1423657) * v - 0.1662921) * v
              + 0.2000062) * v - 0.250003) * v + 0.3333333) * v
    return q0 - s * t + 0.25 * t * t + (s2 + s2) * log(1.0 + v)


cdef double gamma(RandomStream *s, double shape, double scale) noexcept nogil:
    """Gamma(shape, scale) by Ahrens and Dieter (1982), algorithm GD."""
    cdef double s2, root, d, t, x, u, r, q0, b, si, c, e, q
    if shape < 1.0:
        return gamma_small(s, shape, scale)
    s2 = shape - 0.5
    root = sqrt(s2)
    d = 5.656854 - root * 12.0
    t = s.normal(s)
    x = root + 0.5 * t
    if t >= 0.0:
        return scale * x * x
    u = s.uniform(s)
    if d * u <= t * t * t:
        return scale * x * x
    r = 1.0 / shape
    q0 = ((((((2.424e-4 * r + 2.4511e-4) * r - 7.388e-5) * r + 1.44121e-3) * r
            + 8.01191e-3) * r + 2.083148e-2) * r + 4.166669e-2) * r
    if shape <= 3.686:
        b = 0.463 + root + 0.178 * s2
        si = 1.235
        c = 0.195 / root - 0.079 + 0.16 * root
    elif shape <= 13.022:
        b = 1.654 + 0.0076 * s2
        si = 1.68 / root + 0.275
        c = 0.062 / root + 0.024
    else:
        b = 1.77
        si = 0.75
        c = 0.1515 / root
    if x > 0.0 and log(1.0 - u) <= quotient(t, root, s2, q0):
        return scale * x * x
    while True:
        e = s.exponential(s)
        u = s.uniform(s)
        u = u + u - 1.0
        t = b - si * e if u < 0.0 else b + si * e
        if t >= -0.71874483771719:
            q = quotient(t, root, s2, q0)
            if q > 0.0 and c * fabs(u) <= expm1(q) * exp(e - 0.5 * t * t):
                x = root + 0.5 * t
                return scale * x * x


cdef double student_t(RandomStream *s, double df) noexcept nogil:
    """Student's t: a normal first, then a chi-square; NaN unless df > 0."""
    cdef double z
    if isnan(df) or df <= 0.0:
        return NAN
    z = s.normal(s)
    if isinf(df):
        return z
    return z / sqrt(gamma(s, 0.5 * df, 2.0) / df)
