"""Whether predictions one step ahead were right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from dyntree import params
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError
from dyntree.evaluate.residuals import OneStepAhead

from .canvas import BAND, MANY, POINT, Target, dress, panels, plain, record_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_LAGS = 20
SHADE = 0.95  # probability of what is shaded where predictions are right
TWO_SIDED = 1.959963984540054  # its standard normal quantile


def plot_diagnostics(
    seen: OneStepAhead | Any,
    *,
    level: float = 0.9,
    seed: int = 0,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw six diagnostic panels of the one-step-ahead predictions.

    Parameters
    ----------
    seen : OneStepAhead, or DynamicTreeResults
        Return value of ``one_step_ahead`` of results, or the results.
    level : float in (0, 1), default 0.9
        Probability of the intervals whose coverage is drawn.
    seed : int, default 0
        Seed of the randomised residuals of labels.
    response : str, default "y"
        Name of the response and its unit.
    ax : sequence of 6 Axes, optional
        Six axes; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    The panels are

    - a histogram of the probability integral transform, which is flat if predictions
      are right;
    - its normal quantiles (quantile residuals) against those of a normal sample;
    - these residuals by prediction (for labels, by the probability of the most probable
      label);
    - these residuals by row;
    - the share of the latest rows that are in their central intervals;
    - the autocorrelation of the residuals.

    Right predictions are in the shaded areas with probability 0.95 at each point. If
    the histogram is high at both ends, or the quantiles are steep, the predictions are
    too certain. If it is high in the middle, they are not certain enough. A trend by
    row shows that the model follows the data too late.

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> from dyntree.api.plots import plot_diagnostics
    >>> rng = np.random.default_rng(1)
    >>> x = rng.random(100)
    >>> data = {"x": x, "y": 3 * x + rng.normal(size=100)}
    >>> fit = dtf.dynamic_tree("y ~ x", data, model="linear", seed=1).fit()
    >>> len(plot_diagnostics(fit.one_step_ahead()).axes)
    6
    """
    seen = record_of(seen, "seen", OneStepAhead, "one_step_ahead of results")
    known = seen.is_predicted
    if known.sum() < 2:
        raise ArgumentError(
            "seen", "must hold 2 rows at least that were predicted", known.sum()
        )
    seed = params.count("seed", seed, 0)
    inside = seen.inside(level, seed)[known]
    pit, residuals = seen.pit_values(seed)[known], seen.quantile_residuals(seed)[known]
    rows = np.flatnonzero(known).astype(np.float64)
    figure, axes = panels(ax, 6, size=(4.0, 3.2))
    _draw_pit(axes[0], pit)
    _draw_quantiles(axes[1], residuals)
    if seen.proba is None:
        where, label = seen.predicted[known], f"predicted {plain(response)}"
    else:
        where, label = seen.proba[known].max(axis=1), "probability of the likeliest"
    _draw_residuals(axes[2], where, residuals, label)
    _draw_residuals(axes[3], rows, residuals, "row")
    _draw_coverage(axes[4], rows, inside, level)
    _draw_autocorrelation(axes[5], residuals)
    return figure


def _draw_pit(ax: Axes, pit: Vector) -> None:
    """Histogram of the probability integral transform, and where a flat one may be."""
    n_bins = int(np.clip(np.sqrt(len(pit)), 5, 20))
    counts, edges = np.histogram(pit, bins=n_bins, range=(0.0, 1.0))
    share = 1.0 / n_bins
    half = TWO_SIDED * np.sqrt(share * (1.0 - share) / len(pit))
    ax.axhspan(max(share - half, 0.0), share + half, color=BAND, lw=0.0)
    ax.bar(
        edges[:-1], counts / len(pit), width=share, align="edge",
        facecolor="none", edgecolor="black", lw=0.8,
    )  # fmt: skip
    ax.axhline(share, color="0.45", ls=":")
    dress(ax, "probability integral transform", "share of rows")


def _draw_quantiles(ax: Axes, residuals: Vector) -> None:
    """Residuals in order beside normal quantiles, and where a normal sample may be."""
    from scipy.stats import beta  # slow to import

    n = len(residuals)
    place = np.arange(1.0, n + 1.0)
    expected = ndtri((place - 0.375) / (n + 0.25))
    tail = 0.5 * (1.0 - SHADE)
    low, high = (ndtri(beta.ppf(q, place, n + 1.0 - place)) for q in (tail, 1.0 - tail))
    ax.fill_between(expected, low, high, color=BAND, lw=0.0)
    ax.plot(expected, expected, color="0.45", ls=":")
    ax.plot(expected, np.sort(residuals), ".", color="black", ms=3, rasterized=n > MANY)
    dress(ax, "normal quantile", "quantile residual")


def _draw_residuals(ax: Axes, where: Vector, residuals: Vector, label: str) -> None:
    """Residuals by something, and the ends between which .95 of them should be."""
    ax.axhspan(-TWO_SIDED, TWO_SIDED, color=BAND, lw=0.0)
    ax.axhline(0.0, color="0.45", ls=":")
    ax.plot(where, residuals, ".", color=POINT, ms=3, rasterized=len(where) > MANY)
    dress(ax, label, "quantile residual")


def _draw_coverage(ax: Axes, rows: Vector, inside: Vector, level: float) -> None:
    """Share of the last rows in their intervals, and where the right share may be."""
    window = min(max(10, len(inside) // 10), len(inside))
    sums = np.concatenate([[0.0], np.cumsum(inside)])
    share = (sums[window:] - sums[:-window]) / window
    half = TWO_SIDED * np.sqrt(level * (1.0 - level) / window)
    ax.axhspan(max(level - half, 0.0), min(level + half, 1.0), color=BAND, lw=0.0)
    ax.axhline(level, color="0.45", ls=":")
    ax.plot(rows[window - 1 :], share, color="black", lw=1.2)
    ax.set_ylim(top=1.02)
    dress(ax, "row", f"inside {100 * level:g} %, last {window} rows")


def _draw_autocorrelation(ax: Axes, residuals: Vector) -> None:
    """Correlation of residuals with those some rows before."""
    n = len(residuals)
    centred = residuals - residuals.mean()
    total = float(centred @ centred)
    lags = np.arange(1, min(N_LAGS, n - 1) + 1)
    found = [float(centred[k:] @ centred[:-k]) / total if total else 0.0 for k in lags]
    half = TWO_SIDED / np.sqrt(n)
    ax.axhspan(-half, half, color=BAND, lw=0.0)
    ax.axhline(0.0, color="0.45", ls=":")
    ax.vlines(lags, 0.0, found, color="black")
    dress(ax, "rows between", "autocorrelation")
