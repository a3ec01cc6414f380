"""R's Student t density, operation by operation (R 4.2, after Loader 2000)."""
from decimal import Decimal, localcontext
from math import factorial

from libc.float cimport DBL_MIN
from libc.math cimport (
    NAN, exp, fabs, floor, isinf, isnan, log, log1p, sqrt,
)

cdef extern from "math.h" nogil:
    double lgamma_r(double x, int *sign)

cdef double HALF_LOG_2PI = 0.918938533204672741780329736406
cdef double INV_SQRT_2PI = 0.398942280401432677939946059934

# SLATEC's Chebyshev series: Gamma(1 + y) - .9375 on 0..1, and lnGamma's correction
cdef double[22] GAMMA_SERIES = [
    .8571195590989331421920062399942e-2, .4415381324841006757191315771652e-2,
    .5685043681599363378632664588789e-1, -.4219835396418560501012500186624e-2,
    .1326808181212460220584006796352e-2, -.1893024529798880432523947023886e-3,
    .3606925327441245256578082217231e-4, -.6056761904460864218485548290365e-5,
    .1055829546302283344731823509093e-5, -.1811967365542384048291855891166e-6,
    .3117724964715322277790254593169e-7, -.5354219639019687140874081024347e-8,
    .9193275519859588946887786825940e-9, -.1577941280288339761767423273953e-9,
    .2707980622934954543266540433089e-10, -.4646818653825730144081661058933e-11,
    .7973350192007419656460767175359e-12, -.1368078209830916025799499172309e-12,
    .2347319486563800657233471771688e-13, -.4027432614949066932766570534699e-14,
    .6910051747372100912138336975257e-15, -.1185584500221992907052387126192e-15,
]
cdef double[5] CORRECTION_SERIES = [
    .1666389480451863247205729650822, -.1384948176067563840732986059135e-4,
    .9810825646924729426157171547487e-8, -.1809129475572494194263306266719e-10,
    .6221098041892605227126015543416e-13,
]

cdef double[31] STIRLING_ERROR      # at n = 0, 1/2, 1, ..., 15


def _stirling_errors():
    """lnGamma(n+1) - (n+1/2) ln n + n - ln(2 pi)/2 at n = k/2, rounded once."""
    errors = [0.0]
    with localcontext() as context:
        context.prec = 50
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        for k in range(1, 31):
            n = Decimal(k) / 2
            if k % 2 == 0:
                log_gamma_n1 = Decimal(factorial(k // 2)).ln()
            else:
                j = (k + 1) // 2
                log_gamma_n1 = (
                    Decimal(factorial(2 * j)) / (4**j * factorial(j))
                ).ln() + pi.ln() / 2
            errors.append(float(
                log_gamma_n1 - (n + Decimal("0.5")) * n.ln() + n - (2 * pi).ln() / 2
            ))
    return errors


STIRLING_ERROR = _stirling_errors()


cdef double chebyshev(const double *a, int n, double z) noexcept nogil:
    """Clenshaw's recursion; the first coefficient counts half."""
    cdef double b0 = 0.0, b1 = 0.0, b2 = 0.0, twice = z * 2
    cdef int i
    for i in range(n - 1, -1, -1):
        b2 = b1
        b1 = b0
        b0 = twice * b1 - b2 + a[i]
    return (b0 - b2) * 0.5


cdef double log_gamma(double x) noexcept nogil:
    cdef int sign
    return lgamma_r(x, &sign)


cdef double log_gamma_r(double x) noexcept nogil:
    """ln Gamma(x) for x > 0 as R computes it."""
    cdef double r, y, value
    cdef int k, i
    if x > 10.0:
        r = 10.0 / x
        return (HALF_LOG_2PI + (x - 0.5) * log(x) - x
                + chebyshev(CORRECTION_SERIES, 5, 2.0 * (r * r) - 1.0) / x)
    k = <int> x
    y = x - k
    value = chebyshev(GAMMA_SERIES, 22, 2.0 * y - 1.0) + 0.9375
    if k == 0:
        value = value / x
    else:
        for i in range(1, k):
            value *= y + i
    return log(fabs(value))


cdef double stirling_error(double n) noexcept nogil:
    cdef double n2
    if n <= 15.0:
        if n + n == floor(n + n):
            return STIRLING_ERROR[<int> (n + n)]
        return log_gamma_r(n + 1.0) - (n + 0.5) * log(n) + n - HALF_LOG_2PI
    n2 = n * n
    if n > 500.0:
        return (1 / 12.0 - (1 / 360.0) / n2) / n
    if n > 80.0:
        return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0) / n2) / n2) / n
    if n > 35.0:
        return (1 / 12.0
                - (1 / 360.0 - (1 / 1260.0 - (1 / 1680.0) / n2) / n2) / n2) / n
    return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0
            - (1 / 1680.0 - (1 / 1188.0) / n2) / n2) / n2) / n2) / n


cdef double deviance(double x, double p) noexcept nogil:
    """x ln(x/p) + p - x, by a series where x and p are close."""
    cdef double v, s, e, following
    cdef int j = 1
    if fabs(x - p) < 0.1 * (x + p):
        v = (x - p) / (x + p)
        s = (x - p) * v
        if fabs(s) < DBL_MIN:
            return s
        e = 2 * x * v
        v = v * v
        while j < 1000:
            e *= v
            following = s + e / (2 * j + 1)
            if following == s:
                return following
            s = following
            j += 1
    return x * log(x / p) + p - x


cdef double t_constant(double df) noexcept nogil:
    """log of Gamma((df+1)/2) / (Gamma(df/2) sqrt(df/2)); NaN unless df > 0."""
    if not df > 0.0:
        return NAN
    return (-deviance(df / 2.0, (df + 1) / 2.0) + stirling_error((df + 1) / 2.0)
            ) - stirling_error(df / 2.0)


cdef double t_density(double x, double df, double constant) noexcept nogil:
    """Density of Student's t at x; `constant` is t_constant(df)."""
    cdef double h, l, u, f
    if isnan(x) or isnan(constant):
        return NAN
    if isinf(x):
        return 0.0
    h = x * x / df
    if h > 4503599627370496.0:          # 2**52
        l = log(fabs(x)) - log(df) / 2
        u = df * l
        f = sqrt(df) / fabs(x)
    elif h > 0.2:
        l = log(1 + h) / 2
        u = df * l
        f = exp(-l)
    else:
        l = log1p(h) / 2
        u = -deviance(df / 2, (df + x * x) / 2) + x * x / 2
        f = exp(-l)
    return exp(constant - u) * INV_SQRT_2PI * f
