"""Codings of levels as columns of numbers, as patsy and R have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.formula_calls import wrong
from dyntree.encoding.levels import Levels
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message
from dyntree.params.labels import Level

POWERS = (".Linear", ".Quadratic", ".Cubic")


@dataclass(frozen=True)
class Coding:
    """What stands for each level: a row of numbers.

    Parameters
    ----------
    endings : tuple of str
        What names of the columns have after the name of the factor.
    rows : tuple of tuple of float
        One a level.

    Examples
    --------
    >>> Coding.ordered(3)
    Coding(endings=('',), rows=((0.0,), (1.0,), (2.0,)))
    >>> Coding.learn(("Treatment", "v"), ("u", "v", "w"), "C(site, Treatment('v'))")
    Coding(endings=('[T.u]', '[T.w]'), rows=((1.0, 0.0), (0.0, 0.0), (0.0, 1.0)))
    """

    endings: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]

    @classmethod
    def ordered(cls, n_levels: int) -> Self:
        """The places of ordered levels: one column of 0, 1, 2, ..."""
        return cls(("",), tuple((float(k),) for k in range(n_levels)))

    @classmethod
    def learn(cls, contrast: Sequence[Any], levels: Sequence[Level], text: str) -> Self:
        """The coding of these levels by a contrast.

        Parameters
        ----------
        contrast : sequence
            "Treatment", "Sum", "Helmert" or "Poly"; then the reference, if any.
        levels : sequence
        text : str
            Of the factor, for errors.
        """
        name, *reference = contrast
        n_levels = len(levels)
        if n_levels < 2:
            raise wrong(
                text, "a contrast two levels at least", f"levels {[*levels]}",
                "Leave the column out, or name its levels: levels=[...]",
            )  # fmt: skip
        if name == "Treatment":
            left_out = _reference(reference, levels, text)
            places = [k for k in range(n_levels) if k != left_out]
            rows, form = np.eye(n_levels)[:, places], "[T.{}]"
        elif name == "Sum":
            rows, places, form = (
                np.eye(n_levels)[:, :-1],
                [*range(n_levels - 1)],
                "[S.{}]",
            )
            rows[-1] = -1.0
        elif name == "Helmert":
            rows, places, form = np.zeros((n_levels, n_levels - 1)), [], "[H.{}]"
            places = [*range(1, n_levels)]
            rows[np.triu_indices(n_levels - 1)] = -1.0
            rows[places, np.arange(n_levels - 1)] = places
        else:
            powers = range(1, n_levels)
            endings = [POWERS[k - 1] if k <= len(POWERS) else f"^{k}" for k in powers]
            return cls(tuple(endings), _as_rows(_polynomials(n_levels)))
        endings = [form.format(levels[k]) for k in places]
        return cls(tuple(endings), _as_rows(rows))

    def features(self, places: Vector) -> Matrix:
        """Columns for rows with the levels at these places; NaN where there is none."""
        found = np.full((len(places), len(self.endings)), np.nan)
        known = places >= 0.0
        found[known] = np.array(self.rows)[places[known].astype(np.int64)]
        return found

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        return {"endings": [*self.endings], "rows": [[*row] for row in self.rows]}

    @classmethod
    def from_header(cls, header: Mapping[str, Any], n_levels: int) -> Self:
        """The coding that `to_header` described, checked."""
        endings = tuple(header["endings"])
        rows = tuple(
            tuple(params.real("a code", code) for code in row) for row in header["rows"]
        )
        widths = {len(row) for row in rows}
        if not all(isinstance(ending, str) for ending in endings) or not endings:
            raise ValueError(
                Message("endings must be text; got {endings!r}", endings=endings)
            )
        if len(rows) != n_levels or widths != {len(endings)}:
            raise ValueError(Message(f"a coding must have a row a level; got {rows!r}"))
        return cls(endings, rows)


def _reference(given: Sequence[Level], levels: Sequence[Level], text: str) -> int:
    """Place of the level that has no column: the one given, or the first."""
    if not given:
        return 0
    place = Levels(tuple(levels)).place_of(given[0])
    if place is None:
        raise wrong(
            text, f"a reference among the levels {[*levels]}", repr(given[0]),
            "Name one of them",
        )  # fmt: skip
    return place


def _polynomials(n_levels: int) -> Matrix:
    """Orthonormal polynomials of the places of levels, without the constant."""
    scores = np.arange(n_levels) - (n_levels - 1) / 2
    found, heights = np.linalg.qr(scores[:, None] ** np.arange(n_levels))
    codes: Matrix = (found * np.sign(np.diag(heights)))[:, 1:]
    return codes


def _as_rows(codes: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, codes.tolist()))
