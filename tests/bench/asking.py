"""One way to ask: every model gets the same rows, the same question, the same starts.

Benchmarks ask for densities through these functions alone, so that no model is asked an
easier or a harder question than another; a test sees to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def log_density(model: Any, rows: Any) -> np.ndarray:
    """Log density of rows of the phase, or of the stream, that was learned last."""
    if hasattr(model, "n_phases"):
        return np.asarray(model.log_predictive(rows))
    return np.asarray(model.score_samples(rows))


def log_density_ahead(model: Any, rows: Any) -> np.ndarray:
    """Log density of rows of the next phase, once all clusters that move have moved.

    A model without phases, or without motion, says what it says of any row.
    """
    if hasattr(model, "n_phases"):
        return np.asarray(model.log_predictive(rows, ahead=1))
    return log_density(model, rows)


def images_found(
    model: Any, learned: Any, classes: Any, asked: Any, truth: Any, n: int = 10
) -> tuple[float, float]:
    """Share of images asked for whose nearest has their class, and of n nearest.

    A model learns the first images, without their classes, and is asked for the places
    of the n of them that are most like each of the others.
    """
    model.learn(learned)
    same = classes[model.nearest(asked, n)] == np.asarray(truth)[:, None]
    return float(same[:, 0].mean()), float(same.mean())
