"""Random mixtures of Student t's: quantiles against SciPy's cdf and bisection."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dyntree._core import student_mixture as mixture

IN_CDF = 1e-12  # the series' 1e-13, and rounding over at most a dozen terms
IN_WIDTH = 1e-8

components = st.tuples(
    st.floats(0.01, 1.0),
    st.floats(-10.0, 10.0),
    st.floats(-3.0, 2.0).map(lambda x: 10.0**x),
    st.one_of(st.integers(1, 80).map(float), st.floats(0.3, 1e5)),
)


@given(st.lists(components, min_size=1, max_size=12), st.floats(1e-6, 1.0 - 1e-6))
@settings(max_examples=300)
def test_quantiles_invert_scipys_cdf(parts, q) -> None:
    weight, location, scale, df = np.array(parts).T
    weight /= weight.sum()
    start = np.array([0, len(parts)])
    (got,) = mixture.quantiles(start, weight, location, scale, df, np.array([q]))[0]

    def cdf(y: float) -> float:
        return float(weight @ special.stdtr(df, (y - location) / scale))

    # where the distribution is steep the last bit of y moves it by more
    steep = (weight / scale).sum() * np.spacing(abs(got) + 10.0)
    assert abs(cdf(got) - q) <= IN_CDF + steep

    ends = location + scale * special.stdtrit(df, [[q], [0.05], [0.95]])
    low, high = ends[0].min(), ends[0].max()
    for _ in range(200):
        middle = low + (high - low) / 2.0
        low, high = (middle, high) if cdf(middle) < q else (low, middle)
    width = ends[2].max() - ends[1].min()
    flat = abs(cdf(high + 1e-8 * width) - cdf(high - 1e-8 * width)) < 1e-11
    assert flat or abs(got - high) <= IN_WIDTH * max(width, abs(high))
