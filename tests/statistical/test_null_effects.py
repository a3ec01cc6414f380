"""Of variables without an effect few are called positive or negative.

Where the posterior probability is uniform, 10 of 100 sets have one below .05 or above
.95, and more than 20 with a probability of .001. The seeds are fixed: 0 to 5 sets of
constant leaves, 16 of linear ones, whose share over 300 other seeds was .13 of z and
.11 of g.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree.formula.api as dtf

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
MODELS = ["constant", "linear", "class", "poisson", "negbin"]


def table(model: str, seed: int, n: int = 150) -> pd.DataFrame:
    """The response follows a wave of x; z and g have no effect."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    wave = np.sin(2.0 * x)
    y: Any = wave + 0.5 * rng.normal(size=n)
    if model == "class":
        y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * wave)), "a", "b")
    elif model != "constant" and model != "linear":
        y = rng.poisson(np.exp(wave))
    g = rng.choice(["u", "v"], n)
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": y})


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_no_effect_is_rarely_sure_of_its_sign(model: str) -> None:
    """With constant leaves it was in 84 %: ties counted as not positive."""
    extreme = 0
    for seed in range(100):
        fit = dtf.dynamic_tree(
            "y ~ x + z + g", table(model, seed), model=model, n_particles=60, seed=1
        ).fit()
        effects = fit.avg_comparisons(["z", "g"], n_draws=300, seed=1)
        p, half = effects.p_positive.to_numpy(), effects.p_zero.to_numpy() / 2.0
        assert np.all((half - 1e-12 <= p) & (p <= 1.0 - half + 1e-12))  # of the ties
        extreme += int(p[0] < 0.05 or p[0] > 0.95)
    assert extreme <= 20
