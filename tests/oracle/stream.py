"""R's random streams: Mersenne Twister, L'Ecuyer's MRG32k3a, and the variates.

One object is one position in the stream.  Uniforms lie strictly inside (0, 1).  The
normal takes two uniforms (inversion), the exponential, gamma and t variates take a
varying number.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

_WORD = 0xFFFFFFFF
_N_WORDS = 624
_OFFSET = 397
_TWIST = 0x9908B0DF
_UPPER, _LOWER = 0x80000000, 0x7FFFFFFF
_KINDS = {"Mersenne-Twister": (10403, 626), "L'Ecuyer-CMRG": (10407, 7)}
_UNIT = 2.3283064365386963e-10
_HALF_STEP = 0.5 * 2.328306437080797e-10
_M1, _M2 = 2**32 - 209, 2**32 - 22853


class RSource:
    """One of R's uniform generators.

    Parameters
    ----------
    seed : int
        What ``set.seed`` takes; counted modulo 2**32.
    kind : str
        "Mersenne-Twister" or "L'Ecuyer-CMRG", of which the latter is MRG32k3a
        (L'Ecuyer 1999, Operations Research 47, table I).

    Attributes
    ----------
    n_draws : int
        32-bit outputs used since this object was opened.
    position : int
        Place in the block of 624 words, 1 to 624, 624 after seeding; 0 without one.
    """

    __slots__ = ("_uniforms", "_words", "kind", "n_draws", "position")

    def __init__(self, seed: int, kind: str = "Mersenne-Twister") -> None:
        self.kind = kind
        word = int(seed) & _WORD
        for _ in range(50):
            word = (69069 * word + 1) & _WORD
        words: list[int] = []
        if kind == "L'Ecuyer-CMRG":
            while len(words) < 6:
                word = (69069 * word + 1) & _WORD
                if word < _M2:
                    words.append(word)
            self._open(words, 0)
            return
        for _ in range(_N_WORDS + 1):
            word = (69069 * word + 1) & _WORD
            words.append(word)
        self._open(words[1:], _N_WORDS)

    def _open(self, words: list[int], position: int) -> None:
        self._words = words
        self._uniforms = [_to_unit(word) for word in words]
        self.position = position
        self.n_draws = 0

    @classmethod
    def from_state(cls, state) -> RSource:
        """Open the stream at R's ``.Random.seed``.

        Parameters
        ----------
        state : array_like of shape (626,) or (7,)
            10403, the position, and 624 words as signed 32-bit integers; or 10407 and
            six words.
        """
        values = [int(value) for value in state]
        kinds = {known: name for name, known in _KINDS.items()}
        if (values[0], len(values)) not in kinds:
            raise ValueError(
                "state must be R's .Random.seed: 10403, a position and 624 words, or "
                f"10407 and 6 words; got {len(values)} values."
            )
        source = cls.__new__(cls)
        source.kind = kinds[values[0], len(values)]
        words = [value & _WORD for value in values[1:]]
        if source.kind == "L'Ecuyer-CMRG":
            source._open(words, 0)
            return source
        if not 1 <= words[0] <= _N_WORDS:
            raise ValueError(f"position must be in 1..624; got {words[0]}.")
        source._open(words[1:], words[0])
        return source

    @property
    def state(self) -> np.ndarray:
        """R's ``.Random.seed``: ndarray of shape (626,) or (7,), int32."""
        words = np.array(self._words, dtype=np.uint32).view(np.int32)
        place = [self.position] if self.kind == "Mersenne-Twister" else []
        head = np.array([_KINDS[self.kind][0], *place], dtype=np.int32)
        return np.concatenate([head, words])

    def copy(self) -> RSource:
        """Return a source at the same position with the same count of draws."""
        source = RSource.__new__(RSource)
        for name in self.__slots__:
            setattr(source, name, getattr(self, name))
        return source

    def uniform(self) -> float:
        """Draw one uniform."""
        if self.kind == "L'Ecuyer-CMRG":
            return self._combined()
        if self.position == _N_WORDS:
            self._words = _next_block(self._words)
            self._uniforms = [_to_unit(word) for word in self._words]
            self.position = 0
        value = self._uniforms[self.position]
        self.position += 1
        self.n_draws += 1
        return value

    def _combined(self) -> float:
        a, b = self._words[:3], self._words[3:]
        p = (1403580 * a[1] - 810728 * a[0]) % _M1
        q = (527612 * b[2] - 1370589 * b[0]) % _M2
        self._words = [*a[1:], p, *b[1:], q]
        self.n_draws += 1
        return ((p - q) % _M1 or _M1) * 2.328306549295727688e-10

    def uniforms(self, n: int) -> np.ndarray:
        """Draw n uniforms in order: ndarray of shape (n,)."""
        return np.array([self.uniform() for _ in range(n)], dtype=np.float64)

    def peek(self) -> float:
        """Return what `uniform` would return, without drawing."""
        return self.copy().uniform()


def _next_block(words: list[int]) -> list[int]:
    new = list(words)
    for k in range(_N_WORDS):
        mixed = (new[k] & _UPPER) | (new[(k + 1) % _N_WORDS] & _LOWER)
        word = new[(k + _OFFSET) % _N_WORDS] ^ (mixed >> 1)
        new[k] = word ^ _TWIST if mixed & 1 else word
    return new


def _to_unit(word: int) -> float:
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    word ^= word >> 18
    value = word * _UNIT
    if value <= 0.0:
        return _HALF_STEP
    if 1.0 - value <= 0.0:
        return 1.0 - _HALF_STEP
    return value


def normal(source: RSource) -> float:
    """Standard normal by inversion: two draws."""
    high = int(134217728.0 * source.uniform())
    return float(ndtri((high + source.uniform()) / 134217728.0))


def _log2_sums() -> list[float]:
    sums, term, total = [], 1.0, 0.0
    for k in range(1, 17):
        term *= math.log(2.0) / k
        total += term
        sums.append(total)
    sums[-1] = 1.0
    return sums


_Q = _log2_sums()


def exponential(source: RSource) -> float:
    """Standard exponential by the table method."""
    whole = 0.0
    u = source.uniform()
    while True:
        u += u
        if u > 1.0:
            break
        whole += _Q[0]
    u -= 1.0
    if u <= _Q[0]:
        return whole + u
    i = 0
    smallest = source.uniform()
    while True:
        smallest = min(smallest, source.uniform())
        i += 1
        if u <= _Q[i]:
            return whole + smallest * _Q[0]


def gamma(source: RSource, shape: float, scale: float) -> float:
    """Gamma variate: rejection below shape 1, Ahrens and Dieter's GD above."""
    if shape < 1.0:
        return _gamma_small(source, shape, scale)
    return _gamma_large(source, shape, scale)


def _gamma_small(source: RSource, a: float, scale: float) -> float:
    e = 1.0 + 0.36787944117144233 * a
    while True:
        p = e * source.uniform()
        if p >= 1.0:
            x = -math.log((e - p) / a)
            if exponential(source) >= (1.0 - a) * math.log(x):
                return scale * x
        else:
            x = math.exp(math.log(p) / a)
            if exponential(source) >= x:
                return scale * x


_Q0_TERMS = (0.04166669, 0.02083148, 0.00801191, 0.00144121, -7.388e-5, 2.4511e-4,
             2.424e-4)  # fmt: skip
_QF_TERMS = (0.3333333, -0.250003, 0.2000062, -0.1662921, 0.1423657, -0.1367177,
             0.1233795)  # fmt: skip


def _nested(terms: tuple[float, ...], x: float) -> float:
    """Return x*(t1 + x*(t2 + ...))."""
    total = 0.0
    for term in reversed(terms):
        total = (total + term) * x
    return total


def _gamma_large(source: RSource, a: float, scale: float) -> float:
    s2 = a - 0.5
    s = math.sqrt(s2)
    d = 5.656854 - 12.0 * s
    t = normal(source)
    x = s + t / 2.0
    if t >= 0.0:
        return scale * (x * x)
    u = source.uniform()
    if d * u <= t * t * t:
        return scale * (x * x)
    q0 = _nested(_Q0_TERMS, 1.0 / a)
    if a <= 3.686:
        b, si = 0.463 + s + 0.178 * s2, 1.235
        c = 0.195 / s - 0.079 + 0.16 * s
    elif a <= 13.022:
        b, si = 1.654 + 0.0076 * s2, 1.68 / s + 0.275
        c = 0.062 / s + 0.024
    else:
        b, si, c = 1.77, 0.75, 0.1515 / s

    def quotient(t: float) -> float:
        v = t / (2.0 * s)
        if abs(v) <= 0.25:
            return q0 + 0.5 * t * t * _nested(_QF_TERMS, v)
        return q0 - s * t + 0.25 * t * t + 2.0 * s2 * math.log(1.0 + v)

    if x > 0.0 and math.log(1.0 - u) <= quotient(t):
        return scale * (x * x)
    while True:
        e = exponential(source)
        u = 2.0 * source.uniform() - 1.0
        t = b - si * e if u < 0.0 else b + si * e
        if t < -0.71874483771719:
            continue
        q = quotient(t)
        if q > 0.0 and c * abs(u) <= math.expm1(q) * math.exp(e - 0.5 * t * t):
            x = s + t / 2.0
            return scale * (x * x)


def student(source: RSource, df: float) -> float:
    """Student t variate; NaN and no draws unless df > 0."""
    if not df > 0.0:
        return math.nan
    z = normal(source)
    if df == math.inf:
        return z
    return z / math.sqrt(gamma(source, df / 2.0, 2.0) / df)
