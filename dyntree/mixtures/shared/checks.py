"""Options of mixtures: records that check their own fields while they are made."""

from __future__ import annotations

from collections.abc import Callable
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


class Checked:
    """A frozen record that may set its own fields while it is made."""

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check(
        self, check: Callable[..., Any], *names: str, more: tuple[Any, ...] = (),
        of: str = "", optional: bool = False,
    ) -> None:  # fmt: skip
        """Set fields to what a check makes of them; errors call them fields `of`."""
        for name in names:
            value = getattr(self, name)
            if not (optional and value is None):
                self._set(name, check(f"{of}{name}", value, *more))
