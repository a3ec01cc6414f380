"""What a cloud makes of a look at its prior, against the same in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree._core.trees.cloud import Cloud
from tests.oracle.native import log_evidence

from .clouds import native_cloud

BS = [30.0, 3.0, 0.3, 0.03, 0.003, 3e-4, 3e-5, 3e-6]
KAPPAS = [1.0, 0.1, 0.01, 0.001]
POINTS = [(b0, kappa0) for b0 in BS for kappa0 in KAPPAS]
N_PARTICLES, WINDOW = 20, 40


def unpacked(packed: np.ndarray, m: int) -> np.ndarray:
    """Symmetric matrix that is packed by columns of its upper triangle."""
    gram = np.zeros((m, m))
    gram.T[np.tril_indices(m)] = packed
    return np.triu(gram) + np.triu(gram, 1).T


def evidence(cloud: Cloud, n_columns: int, level: bool) -> np.ndarray:
    """Log evidence of each particle's tree at each point, (n_particles, n_points)."""
    _, arrays = cloud.to_arrays()
    m = n_columns + 2
    stride = m * (m + 1) // 2
    of_leaf = np.zeros((len(arrays["leaf_sums"]), len(POINTS)))
    for leaf, sums in enumerate(arrays["leaf_sums"]):
        inherited = unpacked(sums[-stride:], m)
        for sign, gram in (
            (1.0, unpacked(sums[:stride] + sums[stride : 2 * stride], m)),
            (-1.0, inherited),
        ):
            if gram[0, 0] > 0.0:
                of_leaf[leaf] += sign * np.array(
                    [log_evidence(gram, *point, level) for point in POINTS]
                )

    def below(handle: int) -> np.ndarray:
        if handle < 0:
            return of_leaf[-handle - 1]
        left, right = arrays["split_links"][handle - 1][:2]
        return below(left) + below(right)

    return np.array([below(root) for root in arrays["roots"]])


def blind(cloud: Cloud) -> Cloud:
    """A copy that does not look, at the same place in its draws."""
    copy = cloud.copy()
    header, arrays = copy.to_arrays()
    return Cloud.from_arrays({**header, "next_look": None}, arrays, copy.source)


def shape_of(tree: tuple) -> tuple:
    """Splits of a tree and the rows in its leaves, without what a prior does to it."""
    if tree[0] == "leaf":
        return tuple(tree[2])
    return (*tree[2:4], shape_of(tree[4]), shape_of(tree[5]))


def shapes(cloud: Cloud) -> list[tuple]:
    return [shape_of(cloud.tree(k)) for k in range(N_PARTICLES)]


def check_look(cloud: Cloud, twin: Cloud, n_columns: int, level: bool) -> bool:
    """Whether the prior moved in a look that `twin` did not take; as it had to.

    The best point is taken where it gains more than a nat, and the trees are resampled
    by what that did to them: a tree of weight w, of N, is there N w times, less what
    residual resampling leaves to chance.
    """
    before = (twin.prior_point["b0"], twin.prior_point["kappa0"])
    after = (cloud.prior_point["b0"], cloud.prior_point["kappa0"])
    of_tree = evidence(twin, n_columns, level)
    scores = of_tree.mean(axis=0)
    best, now = int(np.argmax(scores)), scores[POINTS.index(before)]
    moves = scores[best] > now + 1.0
    wanted = POINTS[best] if moves else before
    np.testing.assert_allclose(  # without a level points that share b0 are equal
        scores[POINTS.index(after)], scores[POINTS.index(wanted)], rtol=1e-9
    )
    assert moves == (after != before)
    if moves:
        change = of_tree[:, POINTS.index(after)] - of_tree[:, POINTS.index(before)]
        weight = np.exp(change - change.max())
        sure: dict[tuple, int] = {}
        for shape, share in zip(shapes(twin), weight / weight.sum(), strict=True):
            copies = int(np.floor(N_PARTICLES * share * (1.0 - 1e-9)))
            sure[shape] = sure.get(shape, 0) + copies
        found = shapes(cloud)
        assert all(found.count(shape) >= copies for shape, copies in sure.items())
    return moves


@pytest.mark.parametrize(
    ("model", "p", "options"),
    [
        ("constant", 2, {}),
        ("linear", 1, {}),
        ("linear", 3, {}),
        ("linear", 3, {"intercept": False}),
        ("linear", 9, {}),
        ("linear", 11, {}),
    ],
)
def test_a_look_takes_the_point_of_most_evidence(
    model: str, p: int, options: dict[str, Any]
) -> None:
    """Over streams that change their scale, with rows that retire; nothing is chance.

    It fails where leaves count once whoever shares them, where two points of the grid
    change places, and where trees are not resampled.
    """
    n_columns, level = (p if model == "linear" else 0), options.get("intercept", True)
    looks = moves = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.random((160, p))
        y = 3.0 * (X[:, 0] > 0.5) + 0.1 * rng.standard_normal(160)
        y *= np.where(np.arange(160) < 80, 0.3, 3.0)
        cloud = native_cloud(
            model,
            p,
            seed=seed,
            n_particles=N_PARTICLES,
            b0=0.3,
            adaptive=True,
            **options,
        )
        for x, one in zip(X, y, strict=True):
            twin = blind(cloud)
            last = cloud.last_look
            for learner in (cloud, twin):
                learner.update(x[None, :], np.array([one]))
            if cloud.last_look != last:
                looks += 1
                moves += check_look(cloud, twin, n_columns, level)
            if len(cloud.row_ids()) > WINDOW:
                cloud.retire([int(np.argmin(cloud.row_ids()))], 1.0)
    assert looks > 20
    assert moves > 4
