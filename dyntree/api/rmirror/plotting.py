"""R's pictures: plot and plotprogress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from .arguments import as_count, as_flag, as_number, as_numbers, match_arg
from .learning import alcalc
from .record import DynaTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("white", "black", "red", "green3", "blue", "cyan", "magenta", "yellow")
COLOURS = {"green3": "#00cd00"}  # R's names that matplotlib does not know
TRUTH, CHOSEN = "gray", "#00cd00"  # R's colours 8 and 3


def plot(
    x: DynaTree,
    proj: int = 1,
    add: bool = False,
    ylim: ArrayLike | None = None,
    col: int | str = 2,
    lwd: float = 1,
    ptype: str = "each",
    *,
    xlab: str | None = None,
    ylab: str = "y",
    ax: Axes | None = None,
) -> Figure:
    """Draw the data and the predictions along one input.

    Parameters
    ----------
    x : DynaTree
        Return value of `predict`, or of `dynaTrees` with `XX`, for a regression model.
    proj : int, default 1
        Number of the input to plot against, from 1.
    add : bool, default False
        Whether to draw the lines only, on `ax`.
    ylim : (float, float), optional
        Ends of the vertical axis. By default they are the range of the quantiles, or of
        y if there are no quantiles.
    col : int or str, default 2
        Colour of the lines: R's number 0 to 8, or a name.
    lwd : float, default 1
        Width of the lines.
    ptype : {"each", "mean"}, default "each"
        Whether to draw the lines of each repeat, or their averages over repeats.
    xlab, ylab : str, optional
        Labels; by default the input's name and "y".
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule, or `x` has no prediction.

    Notes
    -----
    See the R help topic ``plot.dynaTree``. The line of the mean is solid, and those of
    the 5 % and 95 % quantiles are dashed.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, plot, predict
    >>> x = np.linspace(0, 1, 20)
    >>> fit = predict(dynaTree(x, x, N=5, verb=0, seed=1), x)
    >>> [line.get_linestyle() for line in plot(fit).axes[0].lines]
    ['None', '-', '--', '--']
    """
    from dyntree.api.plots.canvas import panels

    _need_prediction(x)
    column = as_count(proj, "proj") - 1
    n_inputs = x.X.shape[1] - (x.icept == "augmented")
    if column >= n_inputs:
        raise ArgumentError("proj", f"must be in 1..{n_inputs}, an input", proj)
    adds = as_flag(add, "add")
    if adds and ax is None:
        raise ValueError(
            Message(
                "add=True needs ax, the Axes that an earlier plot() drew into; got "
                "None."
            )
        )
    kind = match_arg(ptype, "ptype", ("each", "mean"))
    colour, width = _colour(col), as_number(lwd, "lwd")
    limits = None if ylim is None else as_numbers(ylim, "ylim", 2)
    figure, (axes,) = panels(ax)
    stored = column + (x.icept == "augmented")
    if not adds:
        axes.plot(x.X[:, stored], x.y, "o", ms=3.5, color="black", label="data")
        name = x.columns[column] if x.columns else "x"
        axes.set_xlabel(name if xlab is None else xlab)
        axes.set_ylabel(ylab)
        axes.set_ylim(*(_range(x) if limits is None else limits))
    elif limits is not None:
        axes.set_ylim(*limits)
    order = np.argsort(x.XX[:, stored], kind="stable")
    for field, style in (("mean", "-"), ("q1", "--"), ("q2", "--")):
        if field in x:
            values = _by_repeat(x[field], kind)
            axes.plot(x.XX[order, stored], values[order], style, color=colour, lw=width)
    return figure


def plotprogress(
    x: DynaTree,
    xstar: ArrayLike,
    ystar: ArrayLike,
    method: str,
    track: ArrayLike,
    f1d: Callable[[NDArray[np.float64]], ArrayLike],
    prec: float = 1,
    *,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Draw the progress of a sequential design with one input, in four panels.

    The panels show the fit with the last chosen point and the true function, the
    logarithm of a criterion over time, the criterion that chooses the next point, and a
    histogram of the inputs so far.

    Parameters
    ----------
    x : DynaTree
        A model of one input, with the fields that `method` needs.
    xstar, ystar : float
        The point that was chosen last.
    method : {"alm", "alc", "ei", "ieci", "qEntropy", "qEI"}
        As in `alcalc`. R's default is "alm".
    track : array_like of shape (n_chosen,)
        Positive values of the criterion over time, one for each chosen point.
    f1d : callable
        The true function without noise. It takes inputs, ndarray of shape (n_new,), and
        returns responses. R calls it with ``sd=0``; here a lambda can do this.
    prec : float, default 1
        As in `alcalc`.
    ax : four Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule.

    Notes
    -----
    This is R's function of the same name, which its ``design`` demo uses.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, plotprogress, predict
    >>> x = np.linspace(0, 1, 20)
    >>> fit = predict(dynaTree(x, x, N=5, verb=0, seed=1), x)
    >>> figure = plotprogress(fit, 0.5, 0.5, "alm", [0.2, 0.1], lambda x: x)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['y', 'log alm', 'alm', 'Frequency']
    """
    from dyntree.api.plots.canvas import panels

    _need_prediction(x)
    if x.X.shape[1] - (x.icept == "augmented") != 1:
        raise ArgumentError(
            "x", "must be a model of one input", x.X.shape[1], "Use plot(x, proj)."
        )
    chosen = as_number(xstar, "xstar"), as_number(ystar, "ystar")
    tracked = as_numbers(track, "track")
    if not tracked.size or np.any(tracked <= 0.0) or tracked.size > x.y.size:
        raise ArgumentError(
            "track",
            f"must hold 1 to {x.y.size} positive numbers, one a chosen point",
            track,
        )
    criterion = _by_repeat(alcalc(x, method, prec), "mean")
    order = np.argsort(x.XX[:, -1], kind="stable")
    grid = x.XX[order, -1]
    truth = as_numbers(f1d(grid), "f1d", grid.size)
    figure, (fit, past, future, inputs) = panels(ax, 4, size=(4.5, 3.2), columns=2)
    plot(x, xlab="x", ax=fit)
    fit.plot(*chosen, "D", ms=6, color=CHOSEN, mec="black", label="chosen")
    fit.plot(grid, truth, "-.", color=TRUTH)
    n = x.y.size
    start = n - tracked.size + 1
    past.plot(np.arange(start, n + 1), np.log(tracked), "-", color="black")
    past.axvline(start - 0.5, ls="--", color="red")
    past.set(xlim=(1, n), xlabel="time", ylabel=f"log {method}")
    future.plot(grid, criterion[order], "-", color="black")
    future.set(xlabel="x", ylabel=method)
    for one in (fit, future):
        one.axvline(chosen[0], ls="--", color=CHOSEN)
    inputs.hist(x.X[:, -1], color="0.85", edgecolor="black")
    inputs.set(xlabel="X samples", ylabel="Frequency")
    return figure


def _need_prediction(x: Any) -> None:
    """Raise unless x holds a prediction of real responses."""
    if not isinstance(x, DynaTree):
        raise TypeError(
            Message(
                "x must be what predict() returned; got {kind}.", kind=type(x).__name__
            )
        )
    if x.model == "class":
        raise ArgumentError(
            "x",
            "must be a regression model",
            Message("model 'class'"),
            "Draw its fields p and entropy yourself, or see dyntree.api.plots.",
        )
    if "mean" not in x:
        raise ArgumentError("x", "must hold a prediction; call predict() first")


def _range(x: DynaTree) -> tuple[float, float]:
    """Ends of the vertical axis."""
    values = np.concatenate([x.q1, x.q2], axis=None) if "q1" in x else x.y
    return float(np.min(values)), float(np.max(values))


def _by_repeat(values: NDArray[np.float64], ptype: str) -> NDArray[np.float64]:
    """A column a repeat, or their average."""
    if values.ndim == 2 and ptype == "mean":
        return np.asarray(values.mean(axis=1))
    return values


def _colour(col: Any) -> str:
    """A colour of R's palette by number, or a colour by name."""
    if isinstance(col, str):
        return COLOURS.get(col, col)
    number = as_count(col, "col", 0)
    if number > len(PALETTE):
        raise ArgumentError(
            "col", f"must be R's colour number 0..{len(PALETTE)}, or a name", col
        )
    name = (*PALETTE, TRUTH)[number]
    return COLOURS.get(name, name)
