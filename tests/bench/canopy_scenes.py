"""Data of the benchmark of large mixtures: two generators, and images."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dyntree.datasets import FASHION, load_fashion_mnist

SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1))
N_COMPONENTS = 50  # principal ones that are kept

Singles = np.ndarray


def means(
    kind: str, m: int, d: int, sep: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.random.Generator]:
    """Means of `mixture`, and the generator that draws the rest."""
    rng = np.random.default_rng(seed)
    if kind == "iid":
        return rng.normal(size=(m, d)) * sep, rng
    mean, step = np.zeros((1, d)), 4.0 * sep
    while len(mean) < m:
        mean = np.repeat(mean, 8, axis=0) + step * rng.normal(size=(8 * len(mean), d))
        step *= 0.6
    return mean[rng.choice(len(mean), size=m, replace=False)], rng


def mixture(
    kind: str, n: int, m: int, d: int, sep: float = 1.0, seed: int = 0
) -> tuple[Singles, Singles]:
    """Rows of m Gaussians with variances of their own, and 10,000 held-out rows.

    Parameters
    ----------
    kind : {"iid", "hier"}
        Means drawn from N(0, sep^2), the worst case of any tree; or by a random walk
        down a tree of eight branches a level, steps of 4 sep that shrink by .6.
    n, m, d : int
    sep : float
    seed : int
    """
    scene = Mixture(kind, m, d, sep, seed)
    X = scene.drawn(n + 10_000, scene.rng)
    return X[:n], X[n:]


class Mixture:
    """The Gaussians of `mixture`, of which rows may be drawn in parts."""

    def __init__(
        self, kind: str, m: int, d: int, sep: float = 1.0, seed: int = 0
    ) -> None:
        self.seed = seed
        self.mean, self.rng = means(kind, m, d, sep, seed)
        self.sd = self.rng.uniform(0.5, 1.5, size=(m, d))
        self.weight = self.rng.dirichlet(np.full(m, 5.0))

    def drawn(self, n: int, rng: np.random.Generator) -> Singles:
        """Rows by a generator."""
        labels = rng.choice(len(self.mean), size=n, p=self.weight)
        X = np.empty((n, self.mean.shape[1]), dtype=np.float32)
        for first in range(0, n, 100_000):
            z = labels[first : first + 100_000]
            noise = rng.normal(size=(len(z), X.shape[1]))
            X[first : first + 100_000] = self.mean[z] + self.sd[z] * noise
        return X

    def rows(self, n: int, part: int) -> Singles:
        """Rows of a part, whatever other parts there are."""
        return self.drawn(n, np.random.default_rng([self.seed, part]))

    def log_density(self, X: Singles) -> np.ndarray:
        """Log density of rows under the Gaussians that they are drawn from."""
        precision = self.sd**-2.0
        constant = np.log(self.weight) - np.log(self.sd).sum(axis=1)
        constant -= 0.5 * (self.mean**2 * precision).sum(axis=1)
        constant -= 0.5 * X.shape[1] * np.log(2.0 * np.pi)
        out = np.empty(len(X))
        for first in range(0, len(X), 1000):
            part = X[first : first + 1000].astype(np.float64)
            logs = part @ (self.mean * precision).T - 0.5 * part**2 @ precision.T
            out[first : first + 1000] = logsumexp(logs + constant, axis=1)
        return out


def has_fashion() -> bool:
    """Whether Fashion-MNIST is installed."""
    return FASHION.is_dir()


def fashion_components(shifts: int = 7) -> tuple[Singles, Singles]:
    """Principal components of shifted training images, and of the test images."""
    train, _ = load_fashion_mnist("train")
    test, _ = load_fashion_mnist("t10k")
    flat = train.reshape(len(train), -1) / 255.0
    centre = flat.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(flat.T))
    basis = vectors[:, ::-1][:, :N_COMPONENTS]

    def reduced(images: np.ndarray) -> Singles:
        rows = (images.reshape(len(images), -1) / 255.0 - centre) @ basis
        return rows.astype(np.float32)

    X = [reduced(np.roll(train, shift, axis=(1, 2))) for shift in SHIFTS[:shifts]]
    return np.concatenate(X), reduced(test)


def purity(labels: np.ndarray, classes: np.ndarray) -> float:
    """Share of rows whose class is the commonest of their component."""
    table = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(table, (labels, classes), 1)
    return float(table.max(axis=1).sum() / len(labels))
