"""Student's t of SciPy, found by name: the bits of the version that is there."""

from __future__ import annotations

import pytest
from scipy import special

from tests.probes import core as probe


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 7.5, 40.0, 1e3])
def test_student_is_that_of_scipy_bit_for_bit(df: float) -> None:
    for t in (-30.0, -1.5, 0.0, 0.25, 8.0):
        assert probe.stdtr(df, t) == special.stdtr(df, t)
    for p in (1e-8, 0.05, 0.5, 0.95, 0.999):
        assert probe.stdtrit(df, p) == special.stdtrit(df, p)
