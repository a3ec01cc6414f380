"""Checks of numbers in options of mixtures."""

from __future__ import annotations

from typing import Any

from dyntree import params
from dyntree.errors import ArgumentError


def within(name: str, value: Any, least: float, most: float, ends: str = "[]") -> float:
    """Return a float between two bounds, themselves only at an end that is square."""
    number = params.real(name, value)
    above = least <= number if ends[0] == "[" else least < number
    below = number <= most if ends[1] == "]" else number < most
    if not (above and below):
        raise ArgumentError(
            name,
            "must be in {ends}{least:g}, {most:g}{ends_2}",
            value,
            ends=ends[0],
            least=least,
            most=most,
            ends_2=ends[1],
        )
    return number


def not_negative(name: str, value: Any) -> float:
    """Return a finite float >= 0."""
    number = params.real(name, value)
    if number < 0.0:
        raise ArgumentError(name, "must be >= 0", value)
    return number
