"""Bad input of large mixtures: each fault names what it is, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.errors import NotReadyError, ScaleWarning
from dyntree.mixtures import Canopy, CanopyOptions, MixturePrior
from tests.helpers import same_bytes

from .canopy_rows import QUICK, blobs


@pytest.mark.parametrize(
    ("X", "word"),
    [
        (np.zeros(5), "X must"),
        (np.full((10, 2), np.nan), "row 0, column 'x0'"),
        (np.array([[0.0, 1.0], [1.0, np.inf], [2, 2]]), "row 1, column 'x1'"),
        (np.zeros((1, 2)), "at least 2 rows"),
        (np.zeros((0, 2)), "X must"),
        (np.zeros((10, 0)), "one column"),
        (np.ones((10, 2)), "different rows, 1"),
        (blobs(2), "different rows, 2"),
        ([["a", "b"]] * 9, "X"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(X: Any, word: str) -> None:
    model = Canopy(3, **QUICK).fit(blobs(200))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        with same_bytes(model), pytest.raises(ValueError, match=word):
            model.fit(X)
    assert model.predict(blobs(5)).shape == (5,)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_components": 0}, "n_components must be an int >= 1; got 0"),
        ({"n_components": 2.5}, "n_components"),
        ({"family": "gamma"}, "family must be one of"),
        ({"inference": "gibbs"}, "inference must be one of"),
        ({"init": "best"}, "init must be one of"),
        ({"weights": "some"}, "weights must be one of"),
        ({"concentration": 0}, "concentration must be > 0"),
        ({"weights": "collapsed", "inference": "em"}, 'inference="em" does not have'),
        ({"weights": "sample", "prior": MixturePrior.none()}, "draw from a posterior"),
        ({"prior": 3}, "prior must be a MixturePrior"),
        ({"options": 3}, "options must be a CanopyOptions"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol must be >= 0"),
        ({"seed": -1}, "seed"),
        ({"batch_size": 1}, "batch_size"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Canopy(**options)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"group_size": 3}, "group_size"),
        ({"group_size": 5000}, "group_size"),
        ({"list_loss": 0.6}, "list_loss must be in"),
        ({"list_loss": 0.02}, "below stale_target"),
        ({"stale_target": 0.0}, "stale_target"),
        ({"explore": 0.5}, "explore"),
        ({"refresh_max": 0}, "refresh_max"),
        ({"theta_step": "ml"}, "theta_step"),
        ({"empty": "drop"}, "empty"),
        ({"polish": -1}, "polish"),
        ({"mh_steps": 0}, "mh_steps"),
    ],
)
def test_bad_sweep_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        CanopyOptions(**options)


def test_bad_priors_weights_and_starts_are_refused() -> None:
    X = blobs(100)
    for bad in ({"variance": [1.0, -1.0]}, {"mean": [np.nan]}, {"mean_strength": 0}):
        with pytest.raises(ValueError, match="must be"):
            MixturePrior(**bad)
    with pytest.raises(ValueError, match=r"prior\.mean must have 3"):
        Canopy(3, prior=MixturePrior(mean=[0.0])).fit(X)
    for weight in (np.ones(99), -np.ones(100), np.zeros(100), np.full(100, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            Canopy(3).fit(X, sample_weight=weight)
    for init in (X[:2], np.full((3, 3), np.inf)):
        with pytest.raises(ValueError, match="init must be finite"):
            Canopy(3, init=init).fit(X)
    with pytest.raises(ValueError, match="validation"):
        Canopy(3).fit(X, validation=1.5)
    rows = np.ones((9, 2))
    rows[3, 1] = -1
    with pytest.raises(ValueError, match="row 3, column 'x1'"):
        Canopy(2, family="poisson").fit(rows)
    rows = np.eye(9)
    rows[4] = 0
    with pytest.raises(ValueError, match="row 4 has none"):
        Canopy(2, family="multinomial").fit(rows)
    with pytest.raises(ValueError, match="whole numbers"):
        Canopy(2, family="poisson").fit(np.full((9, 2), 0.5))
    with pytest.raises(ValueError, match="Divide the weights"):
        Canopy(2).fit(X, sample_weight=np.full(100, 1e12))
    model = Canopy(2, **QUICK).fit(X)
    with same_bytes(model), pytest.raises(ValueError, match="clip or rescale"):
        model.learn_batch(X * 1e6)


def test_a_column_of_one_value_is_told() -> None:
    X = np.column_stack([blobs(300), np.full(300, 7.0)])
    with pytest.warns(
        ScaleWarning, match=r"1 of 4 columns have one value only \('x3'\)"
    ):
        model = Canopy(3, **QUICK).fit(X)
    np.testing.assert_allclose(model.means[:, 3], 7.0)


def test_what_is_not_ready_says_so() -> None:
    model = Canopy(3, batch_size=100)
    for ask in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(NotReadyError, match="needs components"):
            ask(blobs(5))
    model.update(blobs(50))
    with pytest.raises(NotReadyError, match="more rows"):
        model.predict(blobs(5))
    assert model.flush().is_ready
