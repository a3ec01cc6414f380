"""The one rule by which a recorded value and ours are compared (README.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT, SENS, TIGHT = 1e-8, 1e-6, 1e-12
_TIGHT = {"treestats", "varpropuse", "varproptotal", "next", "avgleaves"}
_SENS = {"MEgrid", "MEmean", "MEq1", "MEq2", "S", "T"}
_EXACT = {
    "N",
    "R",
    "c",
    "chosen",
    "classes",
    "counts",
    "draws",
    "from",
    "m",
    "mti",
    "n",
    "n_na",
    "ncol",
    "nrow",
    "nstart",
    "retired",
}
_WORDS = {"Inf": np.inf, "-Inf": -np.inf, "NaN": np.nan}


@dataclass
class Tally:
    """Largest difference met so far, and number of arrays compared, by quantity."""

    largest: dict[str, float] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def add(self, quantity: str, difference: float) -> None:
        self.largest[quantity] = max(difference, self.largest.get(quantity, 0.0))
        self.count[quantity] = self.count.get(quantity, 0) + 1

    def merge(self, other: Tally) -> None:
        for quantity, difference in other.largest.items():
            self.add(quantity, difference)
            self.count[quantity] += other.count[quantity] - 1


def decode(value: Any) -> NDArray[np.float64]:
    """Return a recorded number, vector or matrix; null and "NaN" both become NaN."""
    return np.array(_numbers(value), dtype=np.float64)


def compare(quantity: str, ours: Any, recorded: Any, tally: Tally) -> Iterator[str]:
    """Yield what is wrong with `ours`, if anything."""
    if isinstance(recorded, dict) and recorded.get("summary"):
        yield from _compare_summary(quantity, np.asarray(ours), recorded, tally)
        return
    a, b = np.asarray(ours, dtype=np.float64), decode(recorded)
    if a.shape != b.shape:
        if a.size != b.size or min(a.ndim, b.ndim) > 1:
            yield f"{quantity}: shape {a.shape}, recorded {b.shape}"
            return
        a = a.reshape(b.shape)
    for what, test in (("NaN", np.isnan), ("Inf", np.isposinf), ("-Inf", np.isneginf)):
        if not np.array_equal(test(a), test(b)):
            yield f"{quantity}: {what} in other places"
            return
    finite = np.isfinite(b)
    difference = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    scale = max(1.0, float(np.max(np.abs(b[finite]), initial=0.0)))
    tally.add(quantity, difference / scale)
    if difference > _tolerance(quantity) * scale:
        yield (
            f"{quantity}: differs by {difference:.3g}, scale {scale:.3g}, first at "
            f"{_first_difference(a, b, _tolerance(quantity) * scale)}"
        )


def _tolerance(quantity: str) -> float:
    if quantity in _EXACT:
        return 0.0
    if quantity in _TIGHT:
        return TIGHT
    return SENS if quantity in _SENS else DEFAULT


def _first_difference(
    a: NDArray[np.float64], b: NDArray[np.float64], bound: float
) -> list[int]:
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.atleast_1d(a) - np.atleast_1d(b)) > bound
    return np.argwhere(apart)[0].tolist()


def _compare_summary(
    quantity: str, ours: NDArray[np.float64], recorded: dict[str, Any], tally: Tally
) -> Iterator[str]:
    missing = np.isnan(ours)
    kept = np.ma.array(ours, mask=missing)
    summary = {
        "nrow": ours.shape[0],
        "ncol": ours.shape[1],
        "n_na": int(missing.sum()),
        "colmean": kept.mean(axis=0).filled(np.nan),
        "colsd": kept.std(axis=0, ddof=1).filled(np.nan),
        "first": ours[:3],
        "last": ours[-1:],
    }
    for name, value in summary.items():
        label = name if name in _EXACT else quantity
        yield from compare(label, value, recorded[name], tally)


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, str):
        return _WORDS[value]
    return np.nan if value is None else value
