"""Tables that the tests of formulas and of faces share, and ways to fit them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

WAYS: dict[str, dict[str, Any]] = {
    "table": {},
    "window": {"window": 20},
    "averaged clouds": {"n_clouds": 2},
    "averaged stream": {"window": "auto"},
}


def events(n: int = 120) -> pd.DataFrame:
    """Numbers `y`, counts `k` over `hours`, and labels, with an index of their own."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"x": rng.random(n), "z": rng.normal(0.0, 20.0, n), "g": ["u", "v"] * (n // 2)},
        index=[f"row {k}" for k in range(n)],
    )
    data["hours"] = rng.uniform(0.5, 4.0, n)
    data["log_hours"] = np.log(data["hours"])
    data["y"] = np.sin(6.0 * data["x"]) + data["z"] + 0.2 * rng.standard_normal(n)
    data["k"] = rng.poisson(data["hours"] * np.where(data["x"] > 0.5, 8.0, 2.0))
    data["label"] = np.where(data["x"] > 0.4, "a", "b")
    return data
