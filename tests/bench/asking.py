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
