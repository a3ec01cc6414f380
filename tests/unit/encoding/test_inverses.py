"""The way back from a transformed response."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree.encoding.expressions import Expression
from dyntree.encoding.inverses import RISING, Inverse

X = np.array([0.05, 0.3, 0.7, 0.9])
CHAINS = [
    *(f"{name}(x)" for name in RISING),
    "x", "-x", "np.negative(x)", "3 - x", "x - 3", "x + 2", "2 + x", "x * -4",
    "0.5 * x", "x / -8", "np.log(x / 3) * 2 + 1", "1 - np.sqrt(2 * x)",
    "np.log10(np.exp(x))", "I(np.log1p(x) - 0.5)",
]  # fmt: skip


@pytest.mark.parametrize("text", CHAINS)
def test_there_and_back(text: str) -> None:
    response = Expression.parse(text)
    inverse = Inverse.of(response)
    there = response.value(lambda name: X)
    assert inverse.column == "x"
    np.testing.assert_allclose(inverse(there), X, rtol=1e-12)
    assert inverse.falls == (there[1] < there[0])
    ends = np.sort(there.reshape(2, 2), axis=1)
    assert (np.diff(inverse.interval(ends)) > 0).all()


def test_scaled_responses_go_back_by_what_was_learned() -> None:
    response = Expression.parse("scale(np.log(x))").learned(lambda name: X)
    there = response.value(lambda name: X)
    np.testing.assert_allclose(Inverse.of(response)(there), X, rtol=1e-12)


def test_values_beyond_reach_become_the_nearest() -> None:
    for text, value, nearest in [
        ("np.sqrt(x)", -1.0, 0.0), ("np.exp(x)", -1.0, -np.inf),
        ("np.expm1(x)", -3.0, -np.inf), ("np.tanh(x)", 2.0, np.inf),
    ]:  # fmt: skip
        found = Inverse.of(Expression.parse(text))(np.array([value]))
        assert found[0] == nearest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("np.abs(x)", r"np\.abs has no known inverse"),
        ("np.square(x)", r"np\.square has no known inverse"),
        ("x + z", r"\+ is of two columns"), ("x * x", r"\* is of two columns"),
        ("1 / x", "/ cannot be undone"), ("x ** 2", r"\*\* cannot be undone"),
        ("x * 0", r"\* cannot be undone"), ("x / 0", "/ cannot be undone"),
        ("np.where(x > 1, x, 0)", r"np\.where is none|> cannot be undone"),
        ("np.maximum(x, 0)", r"np\.maximum cannot be undone"),
    ],
)  # fmt: skip
def test_responses_without_a_way_back(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"back_transform needs .* got .*{why}"):
        Inverse.of(Expression.parse(text))
