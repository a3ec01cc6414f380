"""How the trees use the inputs, and how large they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import engine
from .arguments import as_verb
from .progress import print_categories, print_particles
from .record import DynaTree, cloud_of
from .rectangles import plan_rectangle


def relevance(
    object: DynaTree,
    rect: ArrayLike | None = None,
    categ: ArrayLike | None = None,
    approx: bool = False,
    verb: int = 0,
) -> DynaTree:
    """Reduction in predictive variance (or entropy) due to the splits on each input.

    Parameters
    ----------
    object : DynaTree
        The model, of any kind.
    rect : array_like of shape (n_inputs, 2), optional
        Bounds over which to average; by default the ranges of X.
    categ : array_like of bool of shape (n_inputs,), optional
        Which inputs are categorical; by default those whose values are exactly 0 and 1.
    approx : bool, default False
        Whether areas are measured by their numbers of rows.
    verb : int, default 0
        If positive, print the categorical inputs if there are any, and a line every
        `verb` particles.

    Returns
    -------
    DynaTree
        An object with the fields relevance of shape (n_particles, m), in which the
        column of ones has a column of zeros, rect, categ and approx.

    Raises
    ------
    TypeError, ValueError
        If the bounds or flags do not fit the model.

    Notes
    -----
    See the R help topic ``relevance``, and Gramacy, Taddy and Wild (2013), Variable
    Selection and Sensitivity Analysis Using Dynamic Trees, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, relevance
    >>> x = np.linspace(0, 1, 20)
    >>> relevance(dynaTree(x, x, N=5, verb=0, seed=1)).relevance.shape
    (5, 1)
    """
    cloud = cloud_of(object)
    plan = plan_rectangle(object.X, object.spec.ones, rect, categ, approx)
    every = as_verb(verb, 0)
    if every > 0 and plan.categ.any():
        print_categories(plan.categ)
    values = engine.criteria.relevance(
        cloud, plan.lower, plan.upper, plan.categ, plan.approx
    )
    print_particles(cloud.n_particles, every, "relevance")
    return object.extended(
        {
            "relevance": values,
            "rect": plan.bounds,
            "categ": plan.categ,
            "approx": plan.approx,
        }
    )


def varpropuse(object: DynaTree) -> NDArray[np.float64]:
    """Share of particles whose tree splits on each input at least once.

    Parameters
    ----------
    object : DynaTree
        The model.

    Returns
    -------
    ndarray of shape (n_inputs,)
        NaN (R: NA) for inputs before ``sb[0]``.

    Raises
    ------
    DeletedCloudError
        If the object has no live cloud.

    Notes
    -----
    See the R help topic ``varpropuse``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, varpropuse
    >>> x = np.linspace(0, 1, 20)
    >>> varpropuse(dynaTree(x, x, N=5, verb=0, seed=1)).tolist()
    [1.0]
    """
    counts = np.asarray(engine.query.split_counts(cloud_of(object)))
    return _by_input(object, (counts > 0).mean(axis=0))


def varproptotal(object: DynaTree) -> NDArray[np.float64]:
    """Average proportion of a tree's splits that are on each input.

    Parameters
    ----------
    object : DynaTree
        The model.

    Returns
    -------
    ndarray of shape (n_inputs,)
        NaN (R: NA) for inputs before ``sb[0]``. A tree without splits counts as 0.

    Raises
    ------
    DeletedCloudError
        If the object has no live cloud.

    Notes
    -----
    See the R help topic ``varproptotal``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, varproptotal
    >>> x = np.linspace(0, 1, 20)
    >>> varproptotal(dynaTree(x, x, N=5, verb=0, seed=1)).tolist()
    [1.0]
    """
    counts = np.asarray(engine.query.split_counts(cloud_of(object)))
    total = counts.sum(axis=1, keepdims=True)
    return _by_input(object, (counts / np.maximum(total, 1)).mean(axis=0))


def treestats(object: DynaTree) -> Any:
    """Average size of the particles' trees.

    Parameters
    ----------
    object : DynaTree
        The model.

    Returns
    -------
    pandas.DataFrame of shape (1, 4)
        The columns are avgheight (a single leaf has height 1), avgleaves, avgsize
        (active rows in a leaf) and avgretire (retired weight in a leaf).

    Raises
    ------
    DeletedCloudError
        If the object has no live cloud.

    Notes
    -----
    See the R help topic ``treestats``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, treestats
    >>> x = np.linspace(0, 1, 20)
    >>> treestats(dynaTree(x, x, N=5, ab=(0, 2), verb=0, seed=1)).avgleaves.tolist()
    [1.0]
    """
    import pandas as pd

    return pd.DataFrame(tree_means(object), index=[1])


def tree_means(object: DynaTree) -> dict[str, float]:
    """Return the columns of `treestats`."""
    names = ("avgheight", "avgleaves", "avgsize", "avgretire")
    means = engine.query.tree_stats(cloud_of(object))
    return dict(zip(names, means, strict=True))


def _by_input(object: DynaTree, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    shares[: int(object.params[5]) - 1] = np.nan
    return shares[object.spec.ones :]
