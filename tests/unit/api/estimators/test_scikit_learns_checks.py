"""scikit-learn's own checks of all estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from dyntree.api import estimators as ours


class Rounding(ours.DynamicTreeCountRegressor):
    """Counts what scikit-learn's checks give it, which are any numbers."""

    def _checked(self, X: Any, y: Any, first: bool, **more: Any) -> tuple[Any, Any]:
        rows, counts = super()._checked(X, y, first, **more)
        counts = np.asarray(counts, dtype=np.float64)
        return rows, np.where(np.isfinite(counts), np.abs(np.round(counts)), counts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of D^2, in rounded numbers about 0
        return tags


def failing(estimator: Any) -> dict[str, str]:
    """Checks that an estimator cannot pass, with the reasons."""
    weights = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, ours.MemoryBoundedTopics):
        no_zeros = "a row represents more than 0 points"
        return {"check_all_zero_sample_weights_error": no_zeros, weights: no_zeros}
    if isinstance(estimator, ours.DependentDPClusterer):
        return {weights: "draws of labels depend on the order of the rows"}
    if isinstance(estimator, ours.RandomTreesClassifier):
        return {}  # weights are copies, and its few labels are too few for a split
    if is_classifier(estimator) or is_regressor(estimator):
        return {weights: "weights and repeated rows draw other trees, as in forests"}
    return {}


pytestmark = [
    pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning"),
    pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning"),
    pytest.mark.filterwarnings("ignore::dyntree.errors.MissingKeyWarning"),
    pytest.mark.filterwarnings("ignore::dyntree.errors.ConvergenceWarning"),
    pytest.mark.usefixtures("global_randomness_on_loan"),
]


@parametrize_with_checks(
    [
        ours.DynamicTreeRegressor(),
        ours.DynamicTreeClassifier(),
        ours.DynamicTreeRegressor("linear", window=60, n_particles=100, drift=True),
        ours.DynamicTreeClassifier(window=60, n_particles=100),
        Rounding(n_clouds=3, n_particles=50),
        Rounding("poisson", window=60),
        ours.RandomTreesRegressor(),
        ours.RandomTreesClassifier(),
        ours.DPGMMClusterer(),
        ours.DPMPPCAClusterer(),
        ours.HDPHSMMClusterer(),
        ours.DependentDPClusterer(n_sweeps=12, burn_in=4, random_state=3),
        ours.DynamicMeansClusterer(random_state=3),
        ours.CanopyMixture(2, random_state=0),
        ours.MemoryBoundedTopics(random_state=0),
        ours.MemoryBoundedTopics("diag", memory_limit="8kB", random_state=0),
    ],
    expected_failed_checks=failing,
)
def test_scikit_learns_own_checks(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check would be skipped
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        ours.KeyedRegressor(n_particles=5, members="fast"),
        ours.KeyedClassifier(n_particles=5),
    ],
    expected_failed_checks=failing,
)
def test_scikit_learns_own_checks_of_keys(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)
