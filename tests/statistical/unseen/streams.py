"""Streams of numbers and labels to judge defaults by; see the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from river import datasets
from river.datasets import synth

N_ROWS = 3000
Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Unseen:
    """A stream: inputs without gaps, and numbers or whole labels.

    Attributes
    ----------
    name : str
    rows : callable
        A seed -> X of shape (n_rows, n_columns) and y. Real data ignore it.
    is_class : bool
    is_real : bool
        Whether the rows are data that somebody measured.
    """

    name: str
    rows: Callable[[int], Rows]
    is_class: bool = False
    is_real: bool = False


def taken(stream: Any, n: int = N_ROWS) -> Rows:
    """The first rows of a stream of river's; text becomes numbers."""
    codes: dict[tuple[str, str], int] = {}
    rows, responses = [], []
    for x, y in islice(stream, n):
        rows.append(
            [
                codes.setdefault((name, value), len(codes))
                if isinstance(value, str)
                else float(value)
                for name, value in x.items()
            ]
        )
        responses.append(y)
    if isinstance(responses[0], str):
        known = {label: k for k, label in enumerate(dict.fromkeys(responses))}
        responses = [known[label] for label in responses]
    return np.array(rows, dtype=np.float64), np.asarray(responses, dtype=np.float64)


# ---------------------------------------------------------------- numbers
def friedman_2(seed: int) -> Rows:
    """Friedman's second function: an impedance, mostly a product."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 4)) * [100, 520 * np.pi, 1, 10] + [0, 40 * np.pi, 0, 1]
    mean = np.hypot(X[:, 0], X[:, 1] * X[:, 2] - 1.0 / (X[:, 1] * X[:, 3]))
    return X, mean + 125.0 * rng.standard_normal(N_ROWS)


def friedman_3(seed: int) -> Rows:
    """Friedman's third function: a phase."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 4)) * [100, 520 * np.pi, 1, 10] + [0, 40 * np.pi, 0, 1]
    above = X[:, 1] * X[:, 2] - 1.0 / (X[:, 1] * X[:, 3])
    return X, np.arctan(above / (X[:, 0] + 1e-9)) + 0.1 * rng.standard_normal(N_ROWS)


def arm(seed: int) -> Rows:
    """How far from the shoulder the hand of a plane arm of four joints is."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-np.pi / 2, np.pi / 2, (N_ROWS, 4))
    turned = np.cumsum(X, axis=1)
    mean = np.hypot(np.cos(turned).sum(axis=1), np.sin(turned).sum(axis=1))
    return X, mean + 0.1 * rng.standard_normal(N_ROWS)


def threshold(seed: int) -> Rows:
    """A series that goes up in one way and down in another, by its last two values."""
    rng = np.random.default_rng(seed)
    y = np.zeros(N_ROWS + 2)
    for t in range(2, len(y)):
        low = y[t - 2] <= 0.5
        y[t] = 0.6 + 0.9 * y[t - 1] if low else -0.4 - 0.5 * y[t - 1] + 0.6 * y[t - 2]
        y[t] += (0.3 if low else 0.6) * rng.standard_normal()
    return np.column_stack([y[1:-1], y[:-2]]), y[2:]


def rides(seed: int) -> Rows:
    """Rides an hour by hour, weekday and warmth; on free days the rush is missing."""
    rng = np.random.default_rng(seed)
    t = np.arange(N_ROWS)
    hour, day = t % 24, t // 24 % 7
    warm = 15 + 8 * np.sin(t / 700) + 3 * np.sin(2 * np.pi * (hour - 8) / 24)
    warm += 2 * rng.standard_normal(N_ROWS)
    rush = np.exp(-0.5 * (hour - 8.0) ** 2) + 1.3 * np.exp(-0.3 * (hour - 17.5) ** 2)
    free = np.exp(-0.03 * (hour - 14.0) ** 2)
    mean = (20 + 200 * np.where(day < 5, rush, free)) * np.clip(warm / 20, 0.2, 1.3)
    X = np.column_stack([hour, day, warm]).astype(float)
    return X, mean * np.exp(0.2 * rng.standard_normal(N_ROWS))


def levels(seed: int) -> Rows:
    """A sensor that stays at a level, and now and then jumps; its last two values."""
    rng = np.random.default_rng(seed)
    jumps = rng.random(N_ROWS + 2) < 0.01
    level = np.cumsum(np.where(jumps, rng.normal(0.0, 5.0, N_ROWS + 2), 0.0))
    y = level + 0.2 * rng.standard_normal(N_ROWS + 2)
    return np.column_stack([y[1:-1], y[:-2]]), y[2:]


def silent_levels(seed: int) -> Rows:
    """The same sensor, whose last values nobody passes; two inputs say nothing."""
    _, y = levels(seed + 50)
    return np.random.default_rng(seed).random((N_ROWS, 2)), y


def recurring(seed: int) -> Rows:
    """Three relations that take turns of 500 rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 5))
    means = np.array(
        [
            4 * X[:, 0] - 2 * X[:, 1],
            3 * (X[:, 2] > 0.5) + X[:, 0],
            2 * np.sin(6 * X[:, 3]) - X[:, 4],
        ]
    )
    which = np.arange(N_ROWS) // 500 % 3
    return X, means[which, np.arange(N_ROWS)] + 0.3 * rng.standard_normal(N_ROWS)


def products(seed: int) -> Rows:
    """Sales: effects that multiply, and noise that does."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.exponential(1.0, (N_ROWS, 2)), rng.integers(4, size=N_ROWS)]
    )
    mean = (
        np.exp(0.5 * X[:, 0])
        * (1 + X[:, 1])
        * np.array([1, 1.5, 0.5, 3])[X[:, 2].astype(int)]
    )
    return X, mean * np.exp(0.3 * rng.standard_normal(N_ROWS))


def heavy(seed: int) -> Rows:
    """A plane with a bend, and noise of Student's t with two degrees of freedom."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, 4))
    mean = X[:, 0] + np.abs(X[:, 1]) - 0.5 * X[:, 2]
    return X, mean + 0.3 * rng.standard_t(2.0, N_ROWS)


def noise_columns(seed: int) -> Rows:
    """A wave and a step in two of twenty-two columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 22))
    mean = 2 * np.sin(5 * X[:, 3]) + 2.0 * (X[:, 11] > 0.6)
    return X, mean + 0.5 * rng.standard_normal(N_ROWS)


def ridge(seed: int) -> Rows:
    """A wave along a direction that turns once in 4000 rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, 3))
    angle = 2 * np.pi * np.arange(N_ROWS) / 4000
    along = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, np.tanh(2 * along) + 0.2 * X[:, 2] + 0.2 * rng.standard_normal(N_ROWS)


def shops(seed: int) -> Rows:
    """Forty shops with a level of their own, which a number names, and a price."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.0, 2.0, 40)
    shop, price = rng.integers(40, size=N_ROWS), rng.random(N_ROWS)
    y = level[shop] - 3 * price + 0.5 * rng.standard_normal(N_ROWS)
    return np.column_stack([shop, price]).astype(float), y


def widening(seed: int) -> Rows:
    """A plane whose noise grows with one input, and then shrinks for good."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 3))
    scale = (0.1 + 2 * X[:, 1] ** 2) * np.where(np.arange(N_ROWS) < 1500, 1.0, 0.3)
    return X, 3 * X[:, 0] - X[:, 2] + scale * rng.standard_normal(N_ROWS)


def nino(seed: int) -> Rows:
    """El Nino: monthly temperatures of the sea by the six months before."""
    import statsmodels.datasets as sets

    table = sets.elnino.load_pandas().data
    y = table.drop(columns="YEAR").to_numpy(dtype=float).ravel()
    lags = np.column_stack([y[6 - k : len(y) - k] for k in range(1, 7)])
    return np.column_stack([lags, np.arange(6, len(y)) % 12]), y[6:]


def affairs(seed: int) -> Rows:
    """Fair's survey of 1978: a share of time, by age, children, faith and work."""
    import statsmodels.datasets as sets

    table = sets.fair.load_pandas().data
    order = np.random.default_rng(5).permutation(len(table))[:N_ROWS]
    table = table.iloc[order]
    return table.drop(columns="affairs").to_numpy(float), table.affairs.to_numpy(float)


def visits(seed: int) -> Rows:
    """The RAND health insurance experiment: visits to a doctor in a year."""
    import statsmodels.datasets as sets

    table = sets.randhie.load_pandas().data
    order = np.random.default_rng(6).permutation(len(table))[:N_ROWS]
    table = table.iloc[order]
    return table.drop(columns="mdvis").to_numpy(float), table.mdvis.to_numpy(float)


def chickens(seed: int) -> Rows:
    """River's ChickWeights: 578 weights by age and feed, chicken after chicken."""
    return taken(datasets.ChickWeights())


def of_river(make: Callable[[int], Any]) -> Callable[[int], Rows]:
    return lambda seed: taken(make(seed))


NUMBERS = (
    Unseen("friedman 2", friedman_2),
    Unseen("friedman 3", friedman_3),
    Unseen("arm", arm),
    Unseen("threshold series", threshold),
    Unseen("rides", rides),
    Unseen("levels, lagged", levels),
    Unseen("levels, silent", silent_levels),
    Unseen("recurring", recurring),
    Unseen("products", products),
    Unseen("heavy tails", heavy),
    Unseen("20 noise columns", noise_columns),
    Unseen("ridge that turns", ridge),
    Unseen("forty shops", shops),
    Unseen("widening noise", widening),
    Unseen("Mv", of_river(lambda s: synth.Mv(seed=s))),
    Unseen("planes", of_river(lambda s: synth.Planes2D(seed=s))),
    Unseen(
        "friedman, drift",
        of_river(lambda s: synth.FriedmanDrift("gsg", (1000, 2000), 300, seed=s)),
    ),
    Unseen("El Nino", nino, is_real=True),
    Unseen("affairs", affairs, is_real=True),
    Unseen("doctor's visits", visits, is_real=True),
    Unseen("chickens", chickens, is_real=True),
)


# ---------------------------------------------------------------- labels
def exchanged(seed: int) -> Rows:
    """Labels by a plane in two of six inputs, exchanged after half of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 6))
    above = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(N_ROWS) > 0.75
    return X, (above ^ (np.arange(N_ROWS) >= N_ROWS // 2)).astype(float)


def spirals(seed: int) -> Rows:
    """Two spirals that turn slowly."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=N_ROWS)
    r = np.sqrt(rng.random(N_ROWS)) * 6
    angle = (
        r + np.pi * label + np.arange(N_ROWS) / 1500 + 0.2 * rng.standard_normal(N_ROWS)
    )
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)]), label.astype(float)


def insured(seed: int) -> Rows:
    """The RAND health insurance experiment: any visit to a doctor, or none."""
    X, y = visits(seed)
    return X, (y > 0).astype(float)


def bananas(seed: int) -> Rows:
    """River's Bananas: two shapes."""
    return taken(datasets.Bananas())


def segments(seed: int) -> Rows:
    """River's ImageSegments: seven kinds of surfaces, in random order."""
    X, y = taken(datasets.ImageSegments())
    order = np.random.default_rng(8).permutation(len(y))
    return X[order], y[order]


LABELS = tuple(
    Unseen(name, rows, is_class=True, is_real=is_real)
    for name, rows, is_real in (
        ("labels exchanged", exchanged, False),
        ("spirals", spirals, False),
        ("Agrawal, 3", of_river(lambda s: synth.Agrawal(3, seed=s)), False),
        ("LED, drift", of_river(lambda s: synth.LEDDrift(
            seed=s, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4
        )), False),
        ("SEA", of_river(lambda s: synth.SEA(2, noise=0.1, seed=s)), False),
        ("STAGGER", of_river(lambda s: synth.STAGGER(1, seed=s)), False),
        ("sine", of_river(lambda s: synth.Sine(2, seed=s, has_noise=True)), False),
        ("hyperplane", of_river(lambda s: synth.Hyperplane(
            seed=s, n_features=10, n_drift_features=4, mag_change=0.001
        )), False),
        ("radial", of_river(lambda s: synth.RandomRBFDrift(
            s, s, n_classes=3, n_features=8, n_centroids=30, change_speed=0.0005,
            n_drift_centroids=10,
        )), False),
        ("waveform", of_river(lambda s: synth.Waveform(s, has_noise=True)), False),
        ("mixed", of_river(lambda s: synth.Mixed(0, seed=s)), False),
        ("any visit", insured, True),
        ("bananas", bananas, True),
        ("segments", segments, True),
    )
)  # fmt: skip


def streams() -> Iterator[Unseen]:
    """All of them: numbers first."""
    yield from NUMBERS
    yield from LABELS
