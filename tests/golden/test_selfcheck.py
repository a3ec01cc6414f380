"""Small fits whose numbers CRAN dynaTree gave, through the mirror."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dyntree.api import rmirror as r

LINEAR = {"model": "linear", "minp": 6}
AUGMENTED = LINEAR | {"icept": "augmented"}


@dataclass(frozen=True)
class Row:
    """One row of the table: what is done, and what comes out."""

    name: str
    options: dict[str, Any]
    numbers: tuple[float, ...]
    predictions: tuple[float, float] | None
    retired: int = 0
    forget: float = 1.0
    rejuvenate: bool = False
    update: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "update", self.retired > 0)


# sum of lpred, last lpred, height, leaves, size, retired weight, next uniform;
# then the two predictions
TABLE = [
    Row(
        "constant luvar",
        {},
        (-97.322161407321, -1.966613597596, 4.8, 7.3, 5.524, 0, 0.6480134458),
        (6.0774216628, 18.5651164761),
    ),
    Row(
        "constant luall",
        {"rprop": "luall"},
        (-97.322161407321, -1.966613597596, 4.8, 7.3, 5.524, 0, 0.6480134458),
        (6.0774216628, 18.5651164761),
    ),
    Row(
        "constant reject",
        {"rprop": "reject"},
        (-100.085327709467, -1.473081185575, 3.7, 4.8, 8.467, 0, 0.7429724131),
        (8.9289436387, 29.4201067205),
    ),
    Row(
        "constant with a variance prior",
        {"nu0s20": (3, 1)},
        (-97.324462686243, -1.509192947688, 3.5, 4.6, 8.867, 0, 0.2251334030),
        (7.6695522775, 4.2693528842),
    ),
    Row(
        "linear implicit",
        LINEAR,
        (-62.967358963303, -1.657775560646, 3.9, 4.9, 8.2, 0, 0.0081284554),
        (8.6011974060, 1.5866146063),
    ),
    Row(
        "linear augmented",
        AUGMENTED,
        (-62.967358963322, -1.657775560646, 3.9, 4.9, 8.2, 0, 0.0081284554),
        (8.6011974060, 1.5866146063),
    ),
    Row(
        "linear none",
        LINEAR | {"icept": "none"},
        (-67.220057937647, -0.728800635723, 4, 5, 8, 0, 0.9391367061),
        (8.7466765078, 0.5553754497),
    ),
    Row(
        "class",
        {"model": "class"},
        (-31.341004969214, -0.135761872524, 3.1, 3.5, 12.27, 0, 0.5284127966),
        (0.2268369312, 0.7907068479),
    ),
    Row(
        "prior",
        {"model": "prior", "minp": 4},
        (0, 0, 2.2, 2.2, 18.67, 0, 0.2586022969),
        None,
    ),
    Row(
        "constant, 10 retired",
        {},
        (-107.392837840921, -1.952588478103, 4.5, 7, 5.042, 1.44, 0.7084243838),
        (6.0031384764, 13.4328512319),
        retired=10,
    ),
    Row(
        "constant, 6 retired and forgotten, 8 collapses",
        {},
        (-107.419014469853, -1.964809787990, 4.1, 6.3, 6.319, 0.9494, 0.4561417338),
        (6.0031384764, 14.8651749385),
        retired=6,
        forget=0.9,
    ),
    Row(
        "constant, 10 retired, rejuvenated",
        {},
        (-106.714042157177, -1.907014039760, 4.5, 7.3, 4.812, 1.25, 0.0321287592),
        (6.5799251552, 10.4048120354),
        retired=10,
        rejuvenate=True,
    ),
    Row(
        "linear augmented, 10 retired",
        AUGMENTED,
        (-68.296894542480, -0.529289729799, 4, 5, 7, 2, 0.2415792223),
        (8.6399815107, 0.8100988105),
        retired=10,
    ),
    Row(
        "linear augmented, 6 retired and forgotten",
        AUGMENTED,
        (-68.513088302088, -0.678767224141, 3.8, 4.8, 8.19, 0.9165, 0.2429566090),
        (8.6399815107, 0.3701370712),
        retired=6,
        forget=0.9,
    ),
    Row(
        "class, 10 retired",
        {"model": "class"},
        (-32.990305079093, -0.339807774914, 3.1, 3.6, 10.03, 2.867, 0.9783780703),
        (0.0972222222, 0.7329088749),
        retired=10,
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_core_meets_self_check(row: Row) -> None:
    _check(row)


@pytest.mark.usefixtures("oracle_engine")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_oracle_meets_self_check(row: Row) -> None:
    _check(row)


def _check(row: Row) -> None:
    is_class = row.options.get("model") == "class"
    X, y = _data(45)
    if is_class:
        y = 1.0 + (y > 4) + (y > 8)
    fit = r.dynaTree(X[:40], y[:40], N=10, verb=0, seed=1, **row.options)
    if row.retired:
        fit = r.retire(fit, np.arange(1, row.retired + 1), row.forget)
    if row.rejuvenate:
        fit = r.rejuvenate(fit, verb=0)
    if row.update:
        fit = r.update(fit, X[40:], y[40:], verb=0)
    sizes = r.treestats(fit).iloc[0].tolist()
    found = [fit.lpred.sum(), fit.lpred[-1], *sizes, fit.rng.peek()]
    printed = [5e-12, 5e-12, 5e-4, 5e-4, 5e-3, 5e-3, 5e-11]
    for ours, stated, half_unit in zip(found, row.numbers, printed, strict=True):
        assert abs(ours - stated) <= 1.1 * half_unit, (found, row.numbers)
    if row.predictions is None:
        return
    told = r.predict(fit, [[0.3, 0.6], [0.8, 0.2]])
    pair = (told.p[0, 1], told.entropy[1]) if is_class else (told.mean[0], told.var[1])
    assert pair == pytest.approx(row.predictions, rel=0, abs=1.1e-10)


def _data(n: int) -> tuple[np.ndarray, np.ndarray]:
    i = np.arange(1, n + 1)
    X = np.column_stack([(37 * i % 101) / 101, (53 * i % 103) / 103])
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 1] + (29 * i % 17) / 17
    return X, y
