"""What a masked array hides is missing in every estimator, as everywhere else."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from dyntree.api import estimators

RNG = np.random.default_rng(0)
X = RNG.random((80, 3))
HIDDEN = X > 0.9
MASKED, MISSING = np.ma.masked_array(X, mask=HIDDEN), np.where(HIDDEN, np.nan, X)
MIXTURES: dict[str, Any] = {
    "CanopyMixture": {"n_components": 2, "random_state": 0},
    "DPGMMClusterer": {},
    "DPMPPCAClusterer": {},
    "DependentDPClusterer": {"n_sweeps": 4, "burn_in": 1},
    "HDPHSMMClusterer": {"lambda_": 9.0, "noise": 0.2},
    "MemoryBoundedTopics": {"random_state": 0},
}
RESPONSE = X[:, 0].copy()
LABELS = np.where(RESPONSE > 0.5, "high", "low")


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_refuse_what_is_hidden(name: str) -> None:
    made = getattr(estimators, name)
    if name == "HDPHSMMClusterer":  # sequences may have gaps
        gaps = made(**MIXTURES[name]).fit(MASKED)
        plain = made(**MIXTURES[name]).fit(MASKED.filled(np.nan))
        assert (gaps.labels_ == plain.labels_).all()
        return
    with pytest.raises(ValueError, match="NaN"):
        made(**MIXTURES[name]).fit(MASKED)
    fit = made(**MIXTURES[name]).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        fit.predict(MASKED)
    shown = np.ma.masked_array(X, mask=False)
    assert (fit.predict(shown) == fit.predict(X)).all()


@pytest.mark.parametrize("name", ["DynamicTreeRegressor", "DynamicTreeClassifier"])
@pytest.mark.parametrize("options", [{}, {"n_clouds": 2}, {"window": 40}])
def test_trees_take_what_is_hidden_for_missing(name: str, options: Any) -> None:
    made = partial(getattr(estimators, name), **options)
    y = LABELS if name.endswith("Classifier") else RESPONSE
    fits = [made(random_state=0).fit(rows, y) for rows in (MASKED, MISSING)]
    for rows in (X, MASKED):
        assert (fits[0].predict(rows) == fits[1].predict(rows)).all()
    assert (fits[0].predict(MASKED) == fits[0].predict(MISSING)).all()
    with pytest.raises(ValueError, match=r"y contains NaN|y must hold labels"):
        made(random_state=0).fit(X, np.ma.masked_array(y, mask=HIDDEN[:, 0]))
