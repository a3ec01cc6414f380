"""The Student t density as R 4.2 computes it, operation by operation.

The last bits of the weights decide whether random numbers are used, so no library
density will do here.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

_HALF_LOG_2PI = 0.918938533204672741780329736406
_INV_SQRT_2PI = 0.398942280401432677939946059934
_SMALLEST_NORMAL = 2.2250738585072014e-308
_TWO_52 = 4503599627370496.0
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459231")


def _stirling_table() -> list[float]:
    """`stirling_error` at n = 0, 1/2, ..., 15, correctly rounded."""
    table = [0.0]
    with localcontext() as context:
        context.prec = 60
        half_log_2pi = (2 * _PI).ln() / 2
        for twice in range(1, 31):
            n = Decimal(twice) / 2
            if twice % 2 == 0:
                log_gamma = Decimal(math.factorial(twice // 2)).ln()
            else:
                k = (twice + 1) // 2  # Gamma(k + 1/2) = (2k)! sqrt(pi) / (4^k k!)
                whole = math.factorial(2 * k) // math.factorial(k)
                log_gamma = (_PI.sqrt() * whole / 4**k).ln()
            error = log_gamma - (n + Decimal("0.5")) * n.ln() + n - half_log_2pi
            table.append(float(error))
    return table


_TABLE = _stirling_table()

# a_1, a_2, ... of SLATEC's Chebyshev series: Gamma(1+y), and lnGamma above 10.
_CHEB_GAMMA = (
    .8571195590989331421920062399942e-2, .4415381324841006757191315771652e-2,
    .5685043681599363378632664588789e-1, -.4219835396418560501012500186624e-2,
    .1326808181212460220584006796352e-2, -.1893024529798880432523947023886e-3,
    .3606925327441245256578082217231e-4, -.6056761904460864218485548290365e-5,
    .1055829546302283344731823509093e-5, -.1811967365542384048291855891166e-6,
    .3117724964715322277790254593169e-7, -.5354219639019687140874081024347e-8,
    .9193275519859588946887786825940e-9, -.1577941280288339761767423273953e-9,
    .2707980622934954543266540433089e-10, -.4646818653825730144081661058933e-11,
    .7973350192007419656460767175359e-12, -.1368078209830916025799499172309e-12,
    .2347319486563800657233671771688e-13, -.4027432614949066932766570534699e-14,
    .6910051747372100912138336975257e-15, -.1185584500221992907052387126192e-15,
)  # fmt: skip
_CHEB_CORRECTION = (
    .1666389480451863247205729650822, -.1384948176067563840732986059135e-4,
    .9810825646924729426157171547487e-8, -.1809129475572494194263306266719e-10,
    .6221098041892605227126015543416e-13,
)  # fmt: skip


def _chebyshev(coefficients: tuple[float, ...], z: float) -> float:
    twice = 2.0 * z
    newest = previous = before = 0.0
    for a in reversed(coefficients):
        before = previous
        previous = newest
        newest = twice * previous - before + a
    return (newest - before) * 0.5


def log_gamma(x: float) -> float:
    """R's lnGamma for x > 0, in its order of operations."""
    if x > 10.0:
        r = 10.0 / x
        correction = _chebyshev(_CHEB_CORRECTION, 2.0 * (r * r) - 1.0) / x
        return _HALF_LOG_2PI + (x - 0.5) * math.log(x) - x + correction
    k = int(x)
    y = x - k
    value = _chebyshev(_CHEB_GAMMA, 2.0 * y - 1.0) + 0.9375
    if k == 0:
        value /= x
    for i in range(1, k):
        value *= y + i
    return math.log(abs(value))


def stirling_error(n: float) -> float:
    """delta(n) = lnGamma(n+1) - (n + 1/2) ln n + n - ln(2 pi)/2."""
    if n <= 15.0:
        twice = n + n
        if twice == int(twice):
            return _TABLE[int(twice)]
        return log_gamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_2PI
    s0, s1, s2, s3, s4 = 1.0 / 12, 1.0 / 360, 1.0 / 1260, 1.0 / 1680, 1.0 / 1188
    nn = n * n
    if n > 500.0:
        return (s0 - s1 / nn) / n
    if n > 80.0:
        return (s0 - (s1 - s2 / nn) / nn) / n
    if n > 35.0:
        return (s0 - (s1 - (s2 - s3 / nn) / nn) / nn) / n
    return (s0 - (s1 - (s2 - (s3 - s4 / nn) / nn) / nn) / nn) / n


def deviance(x: float, p: float) -> float:
    """x ln(x/p) + p - x, by a series when x and p are close."""
    if abs(x - p) < 0.1 * (x + p):
        v = (x - p) / (x + p)
        s = (x - p) * v
        if abs(s) < _SMALLEST_NORMAL:
            return s
        e = 2.0 * x * v
        v = v * v
        j = 1
        while True:
            e = e * v
            s_next = s + e / (2 * j + 1)
            if s_next == s:
                return s_next
            s = s_next
            j += 1
    return x * math.log(x / p) + p - x


def t_density(x: float, df: float) -> float:
    """Density of Student's t with df degrees of freedom at x."""
    if x != x or not df > 0.0:
        return math.nan
    if math.isinf(x):
        return 0.0
    half, next_half = df / 2.0, (df + 1.0) / 2.0
    k = (-deviance(half, next_half) + stirling_error(next_half)) - stirling_error(half)
    square = x * x
    h = square / df
    if h > _TWO_52:
        u = df * (math.log(abs(x)) - math.log(df) / 2.0)
        f = math.sqrt(df) / abs(x)
    elif h > 0.2:
        log_term = math.log(1.0 + h) / 2.0
        u = df * log_term
        f = math.exp(-log_term)
    else:
        u = -deviance(half, (df + square) / 2.0) + square / 2.0
        f = math.exp(-(math.log1p(h) / 2.0))
    return math.exp(k - u) * _INV_SQRT_2PI * f
