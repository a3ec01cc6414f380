"""Arithmetic that gives infinities and NaN where Python raises."""

from __future__ import annotations

import math


def divide(a: float, b: float) -> float:
    """a / b; a zero divisor gives a signed infinity, or NaN for 0/0."""
    if b == 0.0:
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def log(x: float) -> float:
    """Natural log; -inf at 0, NaN below."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def exp(x: float) -> float:
    """Exponential; inf instead of an overflow error."""
    if x > 709.782712893384:
        return math.inf
    return math.exp(x)


def sqrt(x: float) -> float:
    """Square root; NaN below 0."""
    return math.sqrt(x) if x >= 0.0 else math.nan


def log_gamma(x: float) -> float:
    """ln |Gamma(x)|; +inf at 0 and the negative integers."""
    if x <= 0.0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def minimum(a: float, b: float) -> float:
    """The smaller of two; NaN if either is."""
    if a != a or b != b:
        return math.nan
    return a if a < b else b
