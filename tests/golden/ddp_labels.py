"""Record the labels of dependent mixtures: ``python -m tests.golden.ddp_labels``.

The simulation of the paper at 50 rows a component, seeds 0 to 4. Labels change with
the random streams or the rules only; the news then say so under Numbers.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from dyntree.datasets import evolving_gaussians
from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance, RandomWalk

FILE = Path(__file__).parent / "ddp_labels.txt"
STREAMS = 1  # version of the random streams


def labels_of(seed: int, weights: str) -> str:
    """Digest of all labels of one run."""
    data = evolving_gaussians(80, 50, seed=seed)
    model = DependentDPMixture(
        GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0), weights=weights,
        concentration=0.8, survival=0.975, innovation=0.02, history=80, n_sweeps=20,
        burn_in=None, transition=RandomWalk(0.1), seed=seed,
    )  # fmt: skip
    for rows in data.phases:
        model.update(rows)
    every = np.concatenate([model.labels(t) for t in range(len(data))])
    return hashlib.sha256(every.astype("<i8").tobytes()).hexdigest()


def recorded() -> dict[str, str]:
    """Digests by seed and weights."""
    return {
        f"{weights} {seed}": labels_of(seed, weights)
        for weights in ("gamma", "counts")
        for seed in range(5)
    }


if __name__ == "__main__":
    lines = [f"streams: {STREAMS}"]
    lines += [f"{name}: {digest}" for name, digest in recorded().items()]
    FILE.write_text("\n".join(lines) + "\n")
