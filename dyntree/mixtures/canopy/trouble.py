"""What a fit warns of: once each, with the numbers."""

from __future__ import annotations

import numpy as np

from dyntree.errors import ConvergenceWarning, warn
from dyntree.mixtures.canopy.fitting import Fit

MANY_EMPTY = 0.01  # of the components, for five sweeps


def tell_trouble(fit: Fit) -> None:
    """Warn of statistical trouble that the reports of a fit show."""
    reports, m = fit.reports, fit.options.n_components
    if not reports:
        return
    empty = min((report.n_empty for report in reports[-5:]), default=0)
    meant = fit.options.weights == "collapsed"  # empty ones are its reserve
    if len(reports) >= 5 and empty > max(1, MANY_EMPTY * m) and not meant:
        warn(
            ConvergenceWarning,
            f"{empty} of {m} components had no rows for five sweeps. Ask for fewer.",
        )
    clipped = reports[-1].n_clipped
    if clipped:
        warn(
            ConvergenceWarning,
            f"{clipped} variances are on their floor: components hold equal "
            "rows. Ask for fewer components, or give a prior with a larger variance.",
        )
    stale = reports[-1].stale_mass
    if reports[-1].refresh <= 1.0 and np.isfinite(stale) and stale > 0.1:
        warn(
            ConvergenceWarning,
            f"lists lose {stale:.0%} of the posterior from sweep to sweep, so that all "
            "are made anew each time. Take inference='esca', or a longer list_max.",
        )
    if fit.options.tol > 0.0 and not fit.converged and fit.time >= fit.options.max_iter:
        warn(
            ConvergenceWarning,
            f"the likelihood still rose after {fit.time} sweeps. Give more max_iter, "
            "or a larger tol.",
        )
