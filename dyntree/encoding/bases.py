"""Columns that stand for a number: polynomials and splines, with what they learned.

Splines are stored as the polynomials of their pieces, which need no library to be read
and give the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message

REFUSED, WRAPPED, EXTENDED = "refused", "wrapped", "extended"


@dataclass(frozen=True)
class Pieces:
    """Columns that are a polynomial between each two breaks.

    Parameters
    ----------
    breaks : tuple of float
        In increasing order; a value at a break is of the piece that begins there.
    origins : tuple of float
        Of each piece, what its polynomials count from.
    coefficients : ndarray of shape (n_pieces, n_columns, n_powers)
        From the constant to the highest power.
    bounds : tuple of float
        The outermost knots.
    outside : {"refused", "wrapped", "extended"}
        What becomes of values beyond the bounds: an error, what they are in a period of
        the length between them, or what the outermost pieces give.
    """

    breaks: tuple[float, ...]
    origins: tuple[float, ...]
    coefficients: tuple[tuple[tuple[float, ...], ...], ...]
    bounds: tuple[float, float]
    outside: str = EXTENDED

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.coefficients[0])

    @cached_property
    def _arrays(self) -> tuple[Vector, Matrix]:
        return np.array(self.origins), np.array(self.coefficients)

    def refused(self, values: Vector) -> NDArray[np.bool_]:
        """Which values are beyond the bounds and may not be."""
        low, high = self.bounds
        beyond: NDArray[np.bool_] = (values < low) | (values > high)
        return beyond if self.outside == REFUSED else np.zeros(len(values), bool)

    def columns(self, values: Vector) -> Matrix:
        """Columns for these values, NaN where a value is NaN."""
        (low, high), x = self.bounds, np.array(values)
        if self.outside == WRAPPED:
            above, below = x > high, x < low
            x[above] = low + (x[above] - high) % (high - low)
            x[below] = high - (low - x[below]) % (high - low)
        origins, coefficients = self._arrays
        piece = np.searchsorted(self.breaks, x, side="right")
        x = (x - origins[piece])[:, None]
        chosen = coefficients[piece]
        found: Matrix = chosen[:, :, -1] + 0.0 * x
        with np.errstate(all="ignore"):
            for power in reversed(range(coefficients.shape[2] - 1)):
                found = found * x + chosen[:, :, power]
        return found

    def without_first(self) -> Self:
        """The columns without the first, that of the lowest knots."""
        others = tuple(piece[1:] for piece in self.coefficients)
        return replace(self, coefficients=others)

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        return {
            "kind": "pieces",
            "breaks": [*self.breaks],
            "origins": [*self.origins],
            "coefficients": [[[*c] for c in piece] for piece in self.coefficients],
            "bounds": [*self.bounds],
            "outside": self.outside,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Self:
        """The columns that `to_header` described, checked."""
        breaks, origins = _numbers(header["breaks"]), _numbers(header["origins"])
        pieces = tuple(tuple(map(_numbers, one)) for one in header["coefficients"])
        low, high = _numbers(header["bounds"])
        shapes = {(len(piece), len(c)) for piece in pieces for c in piece}
        n_columns = {len(piece) for piece in pieces}
        if len(shapes) != 1 or len(n_columns) != 1 or 0 in next(iter(shapes)):
            raise ValueError("all pieces must have as many columns and powers")
        if not len(pieces) == len(origins) == len(breaks) + 1:
            raise ValueError("breaks and origins must fit the pieces")
        if not low <= high or np.any(np.diff(breaks) <= 0.0):
            raise ValueError("breaks and bounds must increase")
        params.one_of("outside", header["outside"], (REFUSED, WRAPPED, EXTENDED))
        return cls(breaks, origins, pieces, (low, high), header["outside"])


@dataclass(frozen=True)
class Polynomials:
    """Polynomials that are orthonormal over the rows that they were learned from.

    Parameters
    ----------
    centers : tuple of float
        One a degree, of the recurrence ``p[k + 1] = (x - centers[k]) p[k] -
        norms[k] / norms[k - 1] p[k - 1]``.
    norms : tuple of float
        Sums of squares of the polynomials, from the constant on.
    """

    centers: tuple[float, ...]
    norms: tuple[float, ...]
    bounds = (-np.inf, np.inf)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.centers)

    @classmethod
    def learn(cls, values: Vector, degree: int) -> Self:
        """Polynomials of degrees 1 to this one, over some values."""
        centers, norms = [], [float(len(values))]
        before, now = np.zeros(len(values)), np.ones(len(values))
        for k in range(degree):
            centers.append(float((values * now**2).sum() / norms[k]))
            ratio = norms[k] / norms[k - 1] if k else 0.0
            before, now = now, (values - centers[k]) * now - ratio * before
            norms.append(float((now**2).sum()))
        return cls(tuple(centers), tuple(norms))

    def refused(self, values: Vector) -> NDArray[np.bool_]:
        """Which values may not be: none."""
        return np.zeros(len(values), dtype=bool)

    def columns(self, values: Vector) -> Matrix:
        """Columns for these values, NaN where a value is NaN."""
        before, now = np.zeros(len(values)), np.ones(len(values))
        found = np.empty((len(values), self.width))
        with np.errstate(all="ignore"):
            for k, center in enumerate(self.centers):
                ratio = self.norms[k] / self.norms[k - 1] if k else 0.0
                before, now = now, (values - center) * now - ratio * before
                found[:, k] = now / np.sqrt(self.norms[k + 1])
        return found

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        return {
            "kind": "polynomials", "centers": [*self.centers], "norms": [*self.norms],
        }  # fmt: skip

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Self:
        """The polynomials that `to_header` described, checked."""
        centers, norms = _numbers(header["centers"]), _numbers(header["norms"])
        if not centers or len(norms) != len(centers) + 1 or min(norms) <= 0.0:
            raise ValueError(
                Message(
                    "norms must be positive, one a degree; got {norms!r}", norms=norms
                )
            )
        return cls(centers, norms)


Basis = Pieces | Polynomials


def basis_from_header(header: Mapping[str, Any]) -> Basis:
    """The basis that `to_header` of either kind described, checked."""
    kinds: dict[str, type[Pieces] | type[Polynomials]] = {
        "pieces": Pieces, "polynomials": Polynomials,
    }  # fmt: skip
    return kinds[header["kind"]].from_header(header)


def powers(degree: int) -> Pieces:
    """The powers 1 to `degree` as they are."""
    rows = np.eye(degree + 1)[1:]
    return Pieces((), (0.0,), as_pieces(rows[None]), (0.0, 0.0))


def as_pieces(coefficients: Matrix) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Coefficients of shape (n_pieces, n_columns, n_powers), as data."""
    return tuple(tuple(map(tuple, piece)) for piece in coefficients.tolist())


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(params.real("a number of a basis", value) for value in values)
