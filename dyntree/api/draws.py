"""Particles and draws as an xarray DataTree, in the groups that ArviZ knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import __version__, params
from dyntree.api.plots import Trace
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.targets import (
    count_response,
    label_codes,
    label_list,
    real_response,
)
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries import student_log_density
from dyntree.trees.learning.exposures import asked_exposure
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree
from dyntree.trees.view import TreeView

try:
    from xarray import Dataset, DataTree
except ImportError as error:
    raise ImportError(
        "dyntree.api.draws needs xarray >= 2024.10. Install it with: "
        "pip install '.[xarray]' in a clone of dyntree."
    ) from error

Model = Any  # DynamicTree, StreamingTree, or results of a formula
Variable = tuple[tuple[str, ...], NDArray[Any]]

PARTICLES = (
    "Draws are particles, weighted alike after resampling; they are no Markov chain. "
    "Chains are independent repeats, which alone R-hat may compare."
)


def to_datatree(
    model: Model | Sequence[Model],
    X: Any,
    y: Any = None,
    *,
    exposure: Any = None,
    trace: Trace | Sequence[Trace] | None = None,
    seed: int | np.random.Generator | None = None,
) -> DataTree:
    """Export each particle's predictions at rows, and draws from them, to xarray.

    Parameters
    ----------
    model : DynamicTree, StreamingTree, results of a formula, or a sequence of them
        Each model is a chain, and so is each repeat, as from `fit_repeats`. Results
        must be those of a single cloud of trees.
    X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        Rows to predict; for results, raw data. The index of a frame becomes the names
        of the rows.
    y : array_like of shape (n_rows,), optional
        Observed responses of these rows. For results they are on the scale of the
        formula, for example logarithms for ``np.log(y)``.
    exposure : array_like of shape (n_rows,), float, or str, optional
        Exposures > 0 of counts, by default 1. For results this may be the name of a
        column of `X`. The default is then the column that was named when the model was
        made, whose place it takes.
    trace : Trace, or a sequence of them, one for each model, optional
        What a ``plots.Recorder`` recorded while each model learned. All traces must be
        of the same rows.
    seed : int or Generator, optional
        Seed of the draws. The random numbers of the models are not used.

    Returns
    -------
    DataTree
        The dimensions are chain, draw (a particle), row, feature and, for labels,
        class.

        posterior
            For the tree of each particle, ``weight``, ``height``, ``n_leaves`` and
            ``split_count`` (by feature). For each row, ``location``, ``scale`` and
            ``df`` of its Student t, or ``proba`` of its classes, or for counts
            ``rate``, the expected number of events per unit of exposure. ``mu`` is one
            draw of the mean, or of the probabilities. It uses the same parameters of
            the leaves at all rows, so that the uncertainty of differences and averages
            of rows can be computed from it.
        posterior_predictive
            ``y``: one new response for each ``mu``.
        log_likelihood
            ``y``: log density or probability of the observed responses, only if `y` is
            given.
        observed_data
            ``y``, only if it is given.
        constant_data
            ``X``: the rows as features. For counts also ``exposure``, and for results
            whose responses have an offset ``offset``, which is included in locations,
            means and draws.
        sample_stats
            Only if `trace` is given: the fields of a Trace, such as ``ess`` and the
            rates ``grow`` and ``prune``, by ``time``, the number of rows learned.

    Raises
    ------
    ValueError
        If the input is bad, or models differ in kind, columns, labels or number of
        particles.

    Notes
    -----
    Draws are particles, which have equal weights after resampling. They are not a
    Markov chain. Together they are the mixture that ``predict(X)`` describes. Only
    independent repeats are chains that R-hat can compare. Labels of different types are
    exported as text.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.draws import to_datatree
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> tree = DynamicTree(n_particles=50, seed=1).update(x, x[:, 0])
    >>> draws = to_datatree(tree, [[0.2], [0.8]], seed=1)
    >>> draws.posterior_predictive.y.shape
    (1, 50, 2)
    """
    trees, features, shifts = _trees(model, X, exposure)
    views = _views(trees)
    rng = params.generator(seed)
    rows = [
        view.encode(X if own is None else own)
        for view, own in zip(views, features, strict=True)
    ]
    first = views[0].tree
    besides = [
        _offset_or_exposure(
            first, len(rows[0]), exposure if own is None else None, shift
        )
        for own, shift in zip(features, shifts, strict=True)
    ]
    observed = None if y is None else _observed(first, y, len(rows[0]))
    names = first.feature_names
    chains = [
        _chain(view, features, observed, rng, names, beside)
        for view, features, beside in zip(views, rows, besides, strict=True)
    ]
    groups = {
        group: {
            name: (("chain", *dims), np.stack([one[group][name][1] for one in chains]))
            for name, (dims, _) in chains[0][group].items()
        }
        for group in chains[0]
    }
    groups["constant_data"] = {"X": (("row", "feature"), rows[0])}
    if besides[0] is not None:
        name = "exposure" if first.options.is_count else "offset"
        groups["constant_data"][name] = (("row",), besides[0])
    if y is not None:
        groups["observed_data"] = {"y": (("row",), _labels_or_numbers(first, observed))}
    coords = _coords(views, X, len(rows[0]))
    if trace is not None:
        coords["time"], groups["sample_stats"] = _over_time(trace, len(views))
    made = {name: Dataset(*_with(found, coords)) for name, found in groups.items()}
    top = Dataset(attrs=_attributes([view.tree for view in views]))
    return DataTree.from_dict({"/": top, **made})


def _trees(
    model: Any, X: Any, exposure: Any
) -> tuple[list[Any], list[Encoded | None], list[Vector | None]]:
    """Trees of models, and rows as features with offsets where results make them.

    Raises
    ------
    ValueError
        For anything but trees of one cloud, and results of such.
    """
    single = isinstance(model, DynamicTree | StreamingTree)
    given = [model] if single or hasattr(model, "as_asked") else model
    trees: list[Any] = []
    features: list[Encoded | None] = []
    shifts: list[Vector | None] = []
    for one in given if isinstance(given, Sequence) else [given]:
        tree, rows, shift = one, None, None
        if hasattr(one, "as_asked"):
            tree, encoded, shift = one.as_asked(X, exposure)
            rows = Encoded(encoded)
        if not isinstance(tree, DynamicTree | StreamingTree):
            raise ArgumentError(
                "model",
                "must be a DynamicTree or StreamingTree, results of one, or a "
                "sequence of them, such as members of an average",
                tree,
            )
        trees.append(tree)
        features.append(rows)
        shifts.append(shift)
    if not trees:
        raise ArgumentError("model", "must hold one model at least", Message("none"))
    return trees, features, shifts


def _offset_or_exposure(
    tree: DynamicTree, n_rows: int, exposure: Any, shift: Vector | None
) -> Vector | None:
    """Exposures of counts, or offsets of other responses; None if there are none."""
    if shift is not None:
        return np.exp(shift) if tree.options.is_count else shift
    if exposure is None and not tree.options.is_count:
        return None
    return asked_exposure(tree.state, n_rows, exposure)


def _views(given: Sequence[Any]) -> list[TreeView]:
    """The trees of models that fit one another, as they are now."""
    views = [one.frozen_view("to_datatree") for one in given]
    kinds = [
        {
            "model": view.tree.options.model,
            "columns": sorted(view.tree.feature_names),
            "classes": view.tree.classes,
            "particles": view.n_particles,
        }
        for view in views
    ]
    for own in kinds:
        for name, first in kinds[0].items():
            if own[name] != first:
                raise ArgumentError(
                    "model",
                    "must hold repeats of one model; their {label} differ: got "
                    "{first!r} and {own!r}",
                    label=name,
                    first=first,
                    own=own[name],
                )
    return views


def _over_time(
    trace: Trace | Sequence[Trace], n_models: int
) -> tuple[NDArray[Any], dict[str, Variable]]:
    """Rows learned at each note, and what was noted, by chain and time."""
    given = [trace] if isinstance(trace, Trace) else trace
    good = isinstance(given, Sequence) and all(isinstance(t, Trace) for t in given)
    if not good or len(given) != n_models:
        raise ArgumentError(
            "trace",
            f"must be a Trace for each of {n_models} model(s), from trace() of a "
            "Recorder",
            trace,
        )
    time = given[0].n_seen
    if not all(np.array_equal(one.n_seen, time) for one in given):
        raise ArgumentError(
            "trace",
            "must hold notes of the same rows for all models; theirs differ",
            remedy="Use one `every` for all recorders.",
        )
    names = [name for name in vars(given[0]) if name != "n_seen"]
    noted: dict[str, Variable] = {
        name: (("chain", "time"), np.stack([getattr(one, name) for one in given]))
        for name in names
    }
    return time, noted


def _observed(tree: DynamicTree, y: Any, n_rows: int) -> Vector:
    """Responses, or places of labels."""
    if tree.options.is_count:
        return count_response(y, n_rows)
    if tree.classes is None:
        return real_response(y, n_rows)
    return label_codes(label_list(y, n_rows), tree.classes)


def _chain(
    view: TreeView,
    rows: Matrix,
    y: Vector | None,
    rng: np.random.Generator,
    names: Sequence[str],
    beside: Vector | None,
) -> dict[str, dict[str, Variable]]:
    """Groups of one model, each variable without the dimension chain.

    Features are in the order of `names`: in repeats levels may come in another one.
    `beside` is as from `_offset_or_exposure`.
    """
    tree, n, each = view.tree, view.n_particles, ("draw", "row")
    order = [tree.feature_names.index(name) for name in names]
    height, n_leaves = view.shapes()
    posterior: dict[str, Variable] = {
        "weight": (("draw",), np.full(n, 1.0 / n)),
        "height": (("draw",), height),
        "n_leaves": (("draw",), n_leaves),
        "split_count": (("draw", "feature"), view.split_counts()[:, order]),
    }
    density: Matrix | None = None
    exposure = beside if tree.options.is_count else None
    shift = 0.0 if beside is None or exposure is not None else beside
    if exposure is not None:
        posterior["rate"] = (each, view.moments(rows)[0])
        if y is not None:
            density = view.count_log_density(rows, y, exposure)
    elif tree.classes is None:
        location, scale, df = view.predictive(rows)
        location = location + shift
        posterior |= {
            "location": (each, location),
            "scale": (each, scale),
            "df": (each, df),
        }
        if y is not None:
            density = student_log_density(y - location, scale, df)
    else:
        proba = view.proba(rows)
        posterior["proba"] = ((*each, "class"), proba)
        if y is not None:
            with np.errstate(divide="ignore"):
                density = np.log(proba[:, np.arange(len(y)), y.astype(np.int64)])
    mean, responses = view.drawn(rows, rng, exposure)
    if tree.classes is None:
        mean, responses = mean + shift, responses + shift
    posterior["mu"] = (each if tree.classes is None else (*each, "class"), mean)
    drawn = _labels_or_numbers(tree, responses)
    groups: dict[str, dict[str, Variable]] = {
        "posterior": posterior,
        "posterior_predictive": {"y": (each, drawn)},
    }
    if density is not None:
        groups["log_likelihood"] = {"y": (each, density)}
    return groups


def _labels_or_numbers(tree: DynamicTree, values: Any) -> NDArray[Any]:
    """Responses as they are; places as their labels."""
    if tree.classes is None:
        return np.asarray(values)
    return _label_names(tree)[np.asarray(values, dtype=np.int64)]


def _label_names(tree: DynamicTree) -> NDArray[Any]:
    """Labels as an array of one plain type."""
    labels = list(tree.classes or ())
    kinds = {type(label) for label in labels}
    plain = len(kinds) == 1 and kinds <= {str, int, bool, float}
    return np.array(labels if plain else [str(label) for label in labels])


def _coords(views: list[TreeView], X: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Coordinates of the dimensions; rows carry the index of a frame."""
    tree = views[0].tree
    index = X.index if hasattr(X, "iloc") else np.arange(n_rows)
    coords = {
        "chain": np.arange(len(views)),
        "draw": np.arange(views[0].n_particles),
        "row": np.asarray(index),
        "feature": np.array(tree.feature_names),
    }
    if tree.classes is not None:
        coords["class"] = _label_names(tree)
    return coords


def _with(
    variables: dict[str, Variable], coords: dict[str, NDArray[Any]]
) -> tuple[dict[str, Variable], dict[str, NDArray[Any]]]:
    """Variables, and the coordinates of those dimensions that they have."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    return variables, {dim: coords[dim] for dim in coords if dim in used}


def _attributes(trees: list[DynamicTree]) -> dict[str, Any]:
    """Where the draws come from."""
    return {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": "dyntree",
        "inference_library_version": __version__,
        "seed": [tree.seed for tree in trees],
        "n_seen": [tree.n_seen for tree in trees],
        "note": PARTICLES,
    }
