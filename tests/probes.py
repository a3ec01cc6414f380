"""Parts of the core that tests alone look into, and the audit of a cloud by them.

Wheels are without the probes; a test of an installed one that needs them is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dyntree._core.trees.cloud import Cloud

REASON = "needs the probes, which a wheel is without"
core = pytest.importorskip("dyntree._core.probe", reason=REASON)
probe = pytest.importorskip("dyntree._core.trees.probe", reason=REASON)


def handles_below(cloud: Cloud, h: int) -> Iterator[int]:
    """Every handle in the tree at h, once per way to it, parents first."""
    yield h
    if h > 0:
        for child in probe.node(cloud, h)[1:]:
            yield from handles_below(cloud, child)


def fresh_limits(cloud: Cloud, positions: list[int]) -> tuple[Any, Any]:
    """Proposal limits of a leaf by sorting; inf, -inf with too few rows."""
    options = cloud.options
    skip = 0 if options["proposal"] == "reject" else options["min_leaf"] - 1
    low, high = [], []
    for column in cloud.rows()[0][positions].T:
        seen = np.sort(column[~np.isnan(column)])
        enough = len(seen) >= 2 * options["min_leaf"]
        low.append(seen[skip] if enough else np.inf)
        high.append(seen[len(seen) - 1 - skip] if enough else -np.inf)
    return low, high


def audit(cloud: Cloud) -> None:
    """Counts balance, nothing leaks, leaves partition the rows, caches are true.

    Trees that are growing share nothing with the others and lack the rows that wait.
    """
    roots, (fresh, waiting) = probe.roots(cloud), probe.growing(cloud)
    known, growing = (
        {h for root in some for h in handles_below(cloud, root)}
        for some in (roots, fresh)
    )
    assert not known & growing
    assert len(fresh) in (0, cloud.n_target)
    assert len(set(waiting)) == len(waiting)
    assert fresh or not waiting
    reached = known | growing
    owners = Counter([*roots, *fresh])
    for h in reached:
        if h > 0:
            owners.update(probe.node(cloud, h)[1:])
    n_leaves = 0
    for h in reached:
        count, *rest = probe.node(cloud, h) if h > 0 else probe.leaf(cloud, h)
        assert count == owners[h], (h, count, owners[h])
        if h < 0:
            n_leaves += 1
            audit_limits(cloud, h, *rest)
    assert cloud.live_counts == (len(reached) - n_leaves, n_leaves)
    for root in {*roots, *fresh}:
        rows = [
            row
            for h in handles_below(cloud, root)
            if h < 0
            for row in probe.leaf(cloud, h)[1]
        ]
        late = waiting if root in growing else []
        assert sorted([*rows, *late]) == list(range(cloud.n_active))


def audit_limits(cloud: Cloud, h: int, rows: list[int]) -> None:
    """Limits, brought up to date from what is cached, are what the rows say."""
    fresh = zip(*fresh_limits(cloud, rows), strict=True)
    for j, expected in enumerate(fresh):
        assert probe.limits(cloud, h, j) == expected
