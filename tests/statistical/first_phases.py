"""What few rows in a first phase, and pieces of a table, do to clusters over phases.

Run ``python -m tests.statistical.first_phases``; the last result is stored beside this
file in first_phases.txt. Three blobs 10 standard deviations apart; five seeds.

- First phases: n rows, then seven phases of 200; the number of clusters in the last
  phase, and how well its labels agree with the blobs.
- Steady phases: eight phases of n rows.
- Pieces: 600 rows by `partial_fit` of the estimator, by 1, 7 and 50 rows and at once;
  labels of all rows at the end against those of the table at once, and the labels as
  the pieces had them against the blobs.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import dyntree
from dyntree.api.estimators import DependentDPClusterer
from dyntree.mixtures import DependentDPMixture, GaussianUnknown
from dyntree.mixtures.shared.arrays import Ids

SEEDS = 5
FIRST = (3, 6, 8, 12, 15, 20, 30)
PIECES = (1, 7, 50, 600)
CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
Rows = list[np.ndarray]


def blobs(n: int, rng: np.random.Generator) -> tuple[np.ndarray, Ids]:
    """Rows of three blobs, and whose each is."""
    z = rng.integers(3, size=n)
    return CENTRES[z] + rng.normal(size=(n, 2)), z


def phases_of(n_first: int, seed: int, n_next: int = 200) -> tuple[Rows, Rows]:
    """Eight phases, the first of so many rows; and whose their rows are."""
    rng = np.random.default_rng(seed)
    drawn = [blobs(n, rng) for n in (n_first, *[n_next] * 7)]
    return [rows for rows, _ in drawn], [z for _, z in drawn]


def agreement(one: Ids, other: Ids) -> float:
    """Adjusted Rand index of two labellings (Hubert and Arabie 1985)."""
    _, a = np.unique(one, return_inverse=True)
    _, b = np.unique(other, return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0)

    def pairs(n: np.ndarray) -> float:
        return float((n * (n - 1.0)).sum())

    both = pairs(table)
    rows, columns = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / pairs(np.array([len(a)]))
    most = 0.5 * (rows + columns)
    return 1.0 if most == expected else (both - expected) / (most - expected)


def sequences(title: str, n_next: int | None) -> None:
    """Print clusters in the last of eight phases."""
    print(f"\n{title:<16}clusters        agreement")
    for n in FIRST:
        found, fit = [], []
        for seed in range(SEEDS):
            phases, truth = phases_of(n, seed, n_next or n)
            model = DependentDPMixture(GaussianUnknown(), seed=1)
            for rows in phases:
                model.update(rows, progress=False)
            found.append(model.n_clusters)
            fit.append(agreement(model.labels_, truth[-1]))
        said = " ".join(map(str, found)), " ".join(f"{one:.2f}" for one in fit)
        print(f"{n:<16}{said[0]:<16}{said[1]}", flush=True)


def pieces() -> None:
    """Print how labels of pieces agree with those of the table, and the blobs."""
    print(f"\n{'pieces of':<16}{'labels at the end':<32}labels as they were given")
    data = [blobs(600, np.random.default_rng(seed)) for seed in range(SEEDS)]
    whole = [DependentDPClusterer(random_state=1).fit_predict(X) for X, _ in data]
    for size in PIECES:
        last, first = [], []
        for (X, z), expected in zip(data, whole, strict=True):
            fit = DependentDPClusterer(random_state=1)
            labels = [
                fit.partial_fit(X[start : start + size]).labels_
                for start in range(0, len(X), size)
            ]
            last.append(agreement(fit.predict(X), expected))
            first.append(agreement(np.concatenate(labels), z))
        said = [" ".join(f"{one:.3f}" for one in part) for part in (last, first)]
        print(f"{size:<16}{said[0]:<32}{said[1]}", flush=True)


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    warnings.simplefilter("ignore")  # of few first rows
    sequences("first rows", 200)
    sequences("rows a phase", None)
    pieces()


if __name__ == "__main__":
    main()
