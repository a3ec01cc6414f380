"""The default prior of Canopy: it follows the variance within components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import Canopy, MixturePrior
from tests.unit.mixtures.canopy.rows import QUICK, blobs


@pytest.mark.parametrize("family", ["spherical", "spherical_tied", "diag", "full"])
@pytest.mark.parametrize("apart", [20.0, 100.0])
def test_clusters_that_are_far_apart_keep_their_widths(
    family: str, apart: float
) -> None:
    """Within six standard errors of the variances of their own rows."""
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(5), 300)
    centres = apart * np.array([[0, 0], [1, 2], [3, -1], [-2, 3], [-4, -4.0]])
    X = centres[labels] + rng.normal(size=(1500, 2))
    model = Canopy(5, family=family, init=centres, seed=1).fit(X)
    assert (model.predict(X) == labels).all()
    spread = model.covariances_
    if spread.ndim == 3:
        spread = np.diagonal(spread, axis1=1, axis2=2)
    assert (np.abs(np.log(spread)) < 6.0 * np.sqrt(2.0 / 300)).all()
    assert np.abs(model.means - centres).max() < 6.0 / np.sqrt(300) + 0.1


def test_a_variance_that_is_given_stays() -> None:
    X = blobs(2000)
    given = MixturePrior(variance=np.full(3, 50.0), df=1e6)
    model = Canopy(8, prior=given, **QUICK).fit(X)
    np.testing.assert_allclose(model.covariances_, 50.0, rtol=0.05)


def test_units_of_one_column_are_no_matter_of_the_others() -> None:
    """A column in other units moves the log density by that of its units alone."""
    X = blobs(2000)
    begin = X[:8].copy()
    options: dict[str, Any] = {"inference": "em", "max_iter": 20, "tol": 0.0}
    plain = Canopy(8, init=begin, **options).fit(X)
    unit = np.array([1.0, 2.0**14, 1.0])
    other = Canopy(8, init=begin * unit, **options).fit(X * unit)
    found = other.score(X * unit) + np.log(unit).sum()
    assert abs(found - plain.score(X)) < 0.02
