"""Random lives of native clouds: whatever happens, the books balance.

There is no second implementation of the whole native filter to compare with; its parts
are held to plain NumPy and to an exact enumeration in tests/statistical. Here the audit
of the state machine must hold after every operation.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntree._core.trees import query
from tests import helpers
from tests.helpers import mostly_slow
from tests.probes import audit, probe
from tests.statistical.clouds import native_cloud

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["update", "retire", "rejuvenate", "copy", "flip", "grow", "grow"]
        ),
        st.integers(0, 2**16),
    ),
    min_size=3,
    max_size=12,
)


@pytest.mark.parametrize("model", mostly_slow(["constant", "linear", "class"]))
@given(operations=OPERATIONS, gaps=st.sampled_from([0.0, 0.3]))
def test_the_books_balance(
    model: str, operations: list[tuple[str, int]], gaps: float
) -> None:
    cloud = native_cloud(
        model, 2, n_particles=6, n_classes=3 * (model == "class"), adaptive=True,
        min_leaf=1 if model == "class" else 3,
    )  # fmt: skip
    flipped = False
    for kind, seed in operations:
        rng = np.random.default_rng(seed)
        flipped ^= kind == "flip"
        if kind in ("update", "flip") or cloud.n_active < 3:
            X = np.round(4 * rng.random((12, 2))) / 4
            step = (X[:, 0] > 0.5) != flipped
            y = step.astype(float) if model == "class" else 3 * step + rng.random(12)
            X[rng.random(X.shape) < gaps] = np.nan
            cloud.update(X, y)
        elif kind == "retire":
            n = int(rng.integers(1, cloud.n_active))
            cloud.retire(rng.permutation(cloud.n_active)[:n], float(rng.random()))
        elif kind == "rejuvenate":
            cloud.rejuvenate(rng.permutation(cloud.n_active))
        elif kind == "grow":  # now and then it is due, and more often trees go on
            probe.let_grow(cloud, int(rng.choice([0, 1, cloud.n_seen, 100])))
        else:
            twin = cloud.copy()
            assert helpers.model_bytes(twin) == helpers.model_bytes(cloud)
            cloud = twin
        audit(cloud)
        p = query.predict(cloud, np.array([[0.3, np.nan], [0.9, 0.1]]))
        assert all(np.all(np.isfinite(values)) for values in p.values())
