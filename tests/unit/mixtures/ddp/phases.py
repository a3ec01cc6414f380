"""Phases for the tests of dependent mixtures: those of the oracle, in the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree._core.mixtures.ddp import PhaseSampler
from dyntree._core.mixtures.emissions import AxisGaussians
from tests.oracle import ddp


def sampler_of(
    p: ddp.Phase, X: np.ndarray, uncollapsed: bool = False, seed: int = 1, **more: Any
) -> PhaseSampler:
    """The kernel's sampler of a phase of the oracle's."""
    base = np.concatenate([p.base_mean, p.base_var])[None]
    priors = np.concatenate(
        [np.hstack([p.mean, p.var]).reshape(p.K, base.shape[1]), base]
    )
    return PhaseSampler(
        AxisGaussians(np.ascontiguousarray(priors), X, p.noise), p.m, p.E, p.q, p.a,
        p.Es, np.zeros(len(p.a), dtype=np.int32), p.weights == "counts", uncollapsed,
        more.get("max_slots", 512), seed, more.get("phase", 0), more.get("chain", 0),
    )  # fmt: skip


def state_of(sampler: PhaseSampler, K: int) -> ddp.State:
    """Labels with new particles numbered in the order of their first row."""
    known = sampler.sources()
    names: dict[int, int] = {}
    labels, sources = [], []
    for name in sampler.labels().tolist():
        if name >= K and name not in names:
            names[name] = K + len(names)
            sources.append(known[name])
        labels.append(names.get(name, name))
    return tuple(labels), tuple(sources)
