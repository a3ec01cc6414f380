"""KeyedStream without own trees, and its oracle row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, KeyedStream
from dyntree.runtime.seeds import spawned
from tests.oracle.keyed import KeyedOracle
from tests.unit.keyed.test_model import MEMBERS, panel

MODELS = {"linear": "mixed", "class": "class", "poisson": "poisson"}
KINDS = {"linear": "real", "class": "class", "poisson": "count"}


def both(model: str, block: int = 20) -> tuple[KeyedStream, KeyedOracle]:
    """A model and its oracle."""
    labels = ("down", "up") if model == "class" else None
    options: dict[str, Any] = {"members": MEMBERS, "classes": labels}
    keyed = KeyedStream(model, own=False, block=block, seed=3, **options)
    one, other = (
        AveragedStream(MODELS[model], seed=s, **options) for s in spawned(3, 2)
    )
    return keyed, KeyedOracle(KINDS[model], (one, other), labels or (), block)


@pytest.mark.parametrize("model", [*MODELS])
def test_a_model_of_keys_answers_as_its_oracle(model: str) -> None:
    X, y, key = panel(model, 230, 12)
    rng = np.random.default_rng(5)
    exposure = rng.uniform(0.5, 2.0, len(X)) if model == "poisson" else np.ones(len(X))
    keyed, oracle = both(model)
    more = {"exposure": exposure} if model == "poisson" else {}
    answer = keyed.predict_then_learn(X, y, key, **more)
    for row in range(len(X)):
        if row >= 10:
            expected = oracle.answer(X[row], key[row], exposure[row])
            got = answer.proba[row] if model == "class" else answer.mean[row]
            np.testing.assert_allclose(got, expected["mean"], rtol=1e-9, err_msg=row)
        oracle.learn(X[row], key[row], y[row], exposure[row])
    for k in range(12):
        weights = [*keyed.weights(k).values()]
        expected = oracle.answer(X[0], k)
        np.testing.assert_allclose(weights, expected["shares"], rtol=1e-8)
