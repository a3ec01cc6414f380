"""Rows as users hold them -> rows that a tree can learn or be asked about, checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.as_text import Meaning
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing, take
from dyntree.encoding.levels import ColumnFeatures, warn_full
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.targets import (
    Exposed,
    NumbersWatch,
    classes_of_type,
    count_list,
    label_codes,
    label_list,
    real_response,
    refuse_booleans,
    refuse_measurements,
    sorted_labels,
    warn_of_labels,
)
from dyntree.encoding.values import LARGEST, Matrix, Vector, declared, too_large
from dyntree.errors import (
    ArgumentError,
    ManyLevelsWarning,
    Message,
    MissingInputWarning,
    UnseenLevelWarning,
    warn,
)
from dyntree.params import TreeOptions
from dyntree.trees.learning.exposures import (
    apart,
    in_exposure_units,
    warn_once_of_default,
)
from dyntree.trees.learning.growth import GrowingRows, Growth
from dyntree.trees.learning.level_effects import LevelEffects
from dyntree.trees.learning.scaling import check_scale, on_scale
from dyntree.trees.learning.weights import Responses, row_weight
from dyntree.trees.state import TreeState, n_waiting, with_ones

FEWEST_CROSS_FITTED = 41  # rows of a table


def is_idle(state: TreeState, X: Any, y: Any) -> bool:
    """Whether X and y are both empty; an empty table must have the known columns."""
    if not is_nothing(X) or np.size(y):
        return False
    if state.features is not None and np.ndim(X) == 2:
        state.features.codes(X)
    return True


def is_plain_row(state: TreeState, X: Any, y: Any) -> bool:
    """Whether X and y are one row and its response that need no encoding."""
    return (
        type(y) is np.ndarray
        and y.shape == (1,)
        and state.cloud is not None
        and state.features is not None
        and state.features.is_plain(X)
        and len(X) == 1
        and state.options.rules == "native"
        and (
            state.options.classes is not None
            or (y.dtype == np.float64 and abs(y.item()) <= LARGEST)  # not NaN
        )
        and not state.options.is_count
    )


def learnable_row(
    state: TreeState, row: Matrix, y: Any, weight: float
) -> tuple[Matrix, Responses]:
    """An encoded row, its response or known label and weight -> as the cloud has them.

    For native rules, once there are trees; the row stays of shape (1, n_features).
    """
    weights = row_weight(state, weight)
    if isinstance(y, bool | np.bool_) and state.options.classes is None:
        refuse_booleans([y])
    if state.options.is_count:
        return row, responses_of(state, count_list([y], 1), weights)
    known = state.options.classes
    place = y if known is None else known.index(y)
    if not abs(place) <= LARGEST:  # NaN, too
        raise too_large("y", place)
    response = np.array([place], dtype=np.float64)
    assert state.features is not None
    row = on_scale(state.cloud, state.features, row, state.warned, response)
    look_at(state, response)
    return row, Responses(response, weights)


def checked(state: TreeState, X: Any, y: Any) -> tuple[Matrix, list[Any], Growth]:
    """Rows as users hold them -> rows that a tree can learn; the tree is left alone.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features), or codes while there are no trees
    labels : list of length n_rows
        Responses or labels; counts may be `Exposed` ones.
    growth : Growth
        The columns with these rows.
    """
    options = state.options
    check_paired(X, y)
    if isinstance(X, GrowingRows):
        rows, growth = X.rows, X.growth
    elif state.cloud is None:
        features, rows = extended(state, X)
        if options.new_levels == "error":
            features.refuse_unseen(X, rows, "X")
        growth = Growth(features, [], lambda codes: codes)
    else:
        assert state.features is not None
        rows, growth = with_levels(state, state.features, X, y)
    if not len(rows):
        raise ArgumentError("X", "must have at least one row", Message("none"))
    if options.has_labels:
        labels = labels_of(state, y, len(rows))
        if options.rules == "native":
            before = [*(known_classes(state, labels) or ()), *state.waiting_y]
            warn_of_labels(labels, before, state.n_seen, state.warned)
        if state.cloud is not None:
            unscaled = np.zeros(len(rows))  # labels have no scale
            rows = on_scale(state.cloud, growth.features, rows, state.warned, unscaled)
    elif options.is_count:
        labels = count_list(y, len(rows))
        if not isinstance(labels[0], Exposed):
            warn_once_of_default(state)
    else:
        response = _numbers_of(state, y, len(rows))
        if state.cloud is not None:
            rows = on_scale(state.cloud, growth.features, rows, state.warned, response)
        labels = response.tolist()
    if options.classes is not None and options.rules == "r":
        label_codes(labels, options.classes)
    return rows, labels, growth


def watch_of(options: TreeOptions, model: str | None) -> NumbersWatch | None:
    """A look at the first responses, if nobody named the `model` of native trees."""
    is_named = model is not None or options.classes is not None
    return None if is_named or options.rules == "r" else NumbersWatch()


def _numbers_of(state: TreeState, y: Any, n_rows: int) -> Vector:
    """Responses of a model of real numbers, checked; R takes booleans as 0 and 1."""
    if state.options.rules == "native":
        refuse_booleans(y)
    numbers = real_response(y, n_rows, state.options.rules)
    look_at(state, numbers)
    return numbers


def look_at(state: TreeState, numbers: Any) -> None:
    """Look at responses that are to be learned as numbers; they may be labels."""
    if state.watch is not None:
        state.watch = state.watch.after(numbers, state.options.model)


def with_levels(
    state: TreeState, features: FeatureMap, X: Any, y: Any
) -> tuple[Matrix, Growth]:
    """Rows -> features by these columns and the levels that come new, if they may.

    The first time that a column has more levels than it can take, this warns.
    """
    if not features.may_grow or state.options.new_levels != "grow":
        return encoded(state, features, X), Growth(features, [], features.widen)
    steps, rows = features.grown(X, n_labels=label_counter(state, y))
    last = steps[-1][1] if steps else features
    full = [name for name, own in last.levels_of.items() if own.is_full]
    if full and "full" not in state.warned and not isinstance(X, Encoded):
        late = [name for name in last.unseen(last.codes(X)) if name in full]
        if late:
            warn_full(late[0])
            state.warned.add("full")
    return rows, Growth(features, steps, last.widen)


def known_classes(state: TreeState, y: Any) -> tuple[Hashable, ...] | None:
    """Labels that are known before the rows of y: named ones, or those of y's type.

    None where labels are learned from the rows alone, as under R's rules.
    """
    options = state.options
    if options.classes is not None or options.rules == "r" or not options.has_labels:
        return options.classes
    classes = classes_of_type(y)
    if options.model == "logit" and len(classes) > 2:  # of which rows may have two
        return None
    return sorted_labels([*classes, *state.waiting_y]) if classes else None


def labels_of(state: TreeState, y: Any, n_rows: int) -> list[Any]:
    """Labels of some rows, checked."""
    labels = label_list(y, n_rows)
    known = known_classes(state, labels)
    refuse_measurements(labels, known)
    before = [*(known or ()), *state.waiting_y]
    params.check_two_labels(state.options.model, [*before, *labels], "y")
    return labels


def label_counter(state: TreeState, y: Any) -> Callable[[int], int]:
    """A function that gives the number of labels that are known with a row of y."""
    if not state.options.has_labels:
        return lambda row: 2
    before = [*(known_classes(state, y) or ()), *state.waiting_y]
    if isinstance(y, str):  # the label of a single row
        return lambda row: len({*before, y})
    return lambda row: len({*before, *label_list(y[: row + 1], row + 1)})


def count_levels(
    state: TreeState, features: FeatureMap, rows: Matrix, are_codes: bool = False
) -> None:
    """Count the levels that are new with rows to be learned, which warns of some.

    `rows` are features, or codes of columns.
    """
    if state.new_levels is not None and features.levels:
        features.count_new(state.new_levels, state.features, rows, are_codes)


def warn_of_many(state: TreeState, features: ColumnFeatures) -> None:
    """Warn once of each column that gets levels without a feature of their own.

    Of one whose levels are numbers or dates as text, another warning says so.
    """
    for name, levels in features.levels_of.items():
        many = "many", name
        if 0 < levels.limit < len(levels) and many not in state.warned:
            if levels.meaning is None:
                warn_effect(name, levels.limit)
            state.warned.add(many)


def warn_effect(name: Hashable, limit: float) -> None:
    """Warn that later levels of a column have no feature of their own."""
    warn(
        ManyLevelsWarning,
        "column {name!r} has more than {limit} levels: later ones have no feature of "
        "their own, and share the column 'effect of {name}', the mean response of the "
        "level, shrunk. Use encode_levels='onehot' for a feature each, or name all "
        "levels at the start: {declared}.",
        name=name,
        limit=limit,
        declared=declared(name),
    )


def responses_of(
    state: TreeState, y: list[Any], weights: Vector | None, n_before: int = 0
) -> Responses:
    """Responses, or labels that are known -> as the cloud takes them.

    `weights` are in the model's unit; errors count rows from after `n_before` of them.
    """
    if state.options.is_count:
        counts, exposure = apart(y)
        unit = state.exposure_unit
        return Responses(counts, weights, in_exposure_units(exposure, unit, n_before))
    if state.options.classes is not None:
        return Responses(label_codes(y, state.options.classes), weights)
    return Responses(np.array(y, dtype=np.float64), weights)


def extended(state: TreeState, X: Any) -> tuple[FeatureMap, Matrix]:
    """Rows -> the columns as they are known with these rows too, and their codes."""
    if state.features is not None:
        return state.features.extend(X)
    native = state.options.rules == "native"
    levels = state.options.categories or ()
    encode_levels = state.options.encode_levels if native else "onehot"
    return FeatureMap.learn(X, native, levels, encode_levels)


def encoded(
    state: TreeState, features: FeatureMap, X: Any, argument: str = "X"
) -> Matrix:
    """Rows -> features by these columns; unknown levels are warned of or refused."""
    if not features.may_grow or isinstance(X, Encoded):
        return features.encode(X, argument)
    codes = features.codes(X, argument)
    if state.options.new_levels == "error":
        features.refuse_unseen(X, codes, argument)
    late = features.unseen(codes) or features.undecided(X)
    late = [name for name in late if ("unseen", name) not in state.warned]
    if late:
        meant = features.meaning_of(X, late[0])
        first = features.first_unseen(X, codes, late[0])
        warn_unseen(late, state.options.new_levels == "grow", meant, first)
        state.warned.update(("unseen", name) for name in late)
    return features.expand(codes)


def warn_unseen(
    names: Sequence[str], grows: bool, meant: Meaning | None, first: tuple[int, str]
) -> None:
    """Warn of columns with levels that are not known and count as missing.

    `meant` is what the first column should hold in place of text, if anything, and
    `first` the first row with such a level of it, and that level.
    """
    row, level = first
    when = "are later than the first trees"
    way = Message("Make a model with new_levels='grow'")
    if grows:
        when, way = "no row learned has had", Message("Learn such rows first")
    remedy = "{way}, or name all levels at the start: {declared}."
    warn(
        UnseenLevelWarning,
        "X has levels in {listed} that {when}, such as {level!r} in row {row}; they "
        "count as missing, and such rows are predicted over all levels, by how often "
        "each was learned. {remedy}",
        listed=listed(names),
        when=when,
        level=level,
        row=row,
        remedy=meant.remedy(names[0])
        if meant
        else Message(remedy, declared=declared(names[0]), way=way),
    )


def listed(names: Sequence[Hashable]) -> Message:
    """Columns in words.

    Examples
    --------
    >>> print(listed(["a"]), listed(["a", "b"]), listed([*"abcde"]), sep="; ")
    column 'a'; columns 'a', 'b'; columns 'a', 'b', 'c' and 2 more
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    noun = "column" if len(names) == 1 else "columns"
    return Message(f"{noun} {{names:items}}{more}", names=list(names[:3]))


def stored(state: TreeState, X: Any, argument: str = "X") -> Matrix:
    """Rows -> rows as the cloud of a tree stores them, checked."""
    assert state.features is not None
    if isinstance(X, Encoded) and X.has_effects:
        return with_ones(X.rows, state.ones)
    return with_effects(state, coded(state, X, argument))


def coded(state: TreeState, X: Any, argument: str = "X") -> Matrix:
    """As `stored`, with codes of levels in effect columns."""
    assert state.features is not None
    rows = encoded(state, state.features, X, argument)
    if state.options.rules == "native" and not isinstance(X, Encoded):
        warn_once_of_gaps(state, X, rows, argument)
    rows = on_scale(state.cloud, state.features, rows, state.warned, argument=argument)
    return with_ones(rows, state.ones)


def coded_once(state: TreeState, X: Any) -> Any:
    """X, encoded if a question has to look at its levels more than once."""
    if state.effects is None or isinstance(X, Encoded):
        return X
    return Encoded(coded(state, X)[:, state.ones :])


def with_effects(
    state: TreeState, rows: Matrix, features: FeatureMap | None = None
) -> Matrix:
    """Rows that trees are asked about, with the effects of levels for their codes.

    Their columns are those of the state, if no others are passed.
    """
    if state.effects is None:
        return rows
    features = features or state.features
    assert features is not None
    at: Matrix = state.effects.at(rows, features, state.n_pieces)
    return at


def learnable(
    state: TreeState, rows: Matrix, responses: Responses, growth: Growth | None = None
) -> Matrix:
    """Rows that trees are to learn, with the effects of levels for their codes."""
    features = state.features if growth is None else growth.features
    assert features is not None
    if not features.effect_groups or not len(rows):
        return rows
    growth = growth or Growth(features, [], features.widen)
    if state.effects is None:
        state.effects = LevelEffects(state.options.model, state.options.robust)
        if not state.n_pieces:
            first = growth.at(0)
            n_first = min(state.n_scale, len(rows))
            state.effects.scale(rows[:n_first, : first.n_features], first)
    if state.cross_fits and len(rows) >= FEWEST_CROSS_FITTED:
        rng = np.random.default_rng([state.seed, state.n_pieces, len(rows)])
        wide: Matrix = state.effects.cross_fitted(
            rows, responses, growth, state.n_pieces, rng
        )
        return wide
    wide = state.effects.ordered(rows, responses, growth, state.n_pieces)
    return wide


def warn_once_of_gaps(state: TreeState, X: Any, rows: Matrix, argument: str) -> None:
    """Warn the first time that a column has gaps and had none in the rows learned.

    Who gives an array for named columns has encoded levels, and warns of them. So did
    whoever was warned of levels of a column that count as missing.
    """
    if not rows.size or not np.isnan(rows.min()):
        return
    features = state.features
    assert features is not None
    gaps = np.isnan(rows)
    for name, of_levels in features.level_places.items():
        if ("unseen", name) in state.warned:
            gaps[:, [*of_levels, *features.effect_places.get(name, ())]] = False
    if isinstance(X, np.ndarray) and features.names is not None:
        gaps[:, state.cloud.binary_columns()[state.ones :]] = False
        for places in features.effect_groups:
            gaps[:, places] = False
    new = gaps.any(axis=0) & (state.cloud.gap_counts()[state.ones :] == 0)
    if not new.any():
        return
    late = {features.slots[k][0]: k for k in np.flatnonzero(new).tolist()}
    late = {name: k for name, k in late.items() if ("gaps", name) not in state.warned}
    if late:
        n_rows = int(gaps[:, [*late.values()]].any(axis=1).sum())
        warn_missing([*late], n_rows, argument)
        state.warned.update(("gaps", name) for name in late)


def warn_missing(names: Sequence[Hashable], n_rows: int, argument: str) -> None:
    """Warn that rows lack values in columns where all rows learned had one."""
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
    warn(
        MissingInputWarning,
        "{argument!a} has no value in {listed} in {rows}, and all rows learned had "
        "one. Such rows are predicted over all values that the column may have had: "
        "their distributions are wide, and do not use that a value is missing. Give "
        "the values, or learn such rows.",
        argument=argument,
        listed=listed(names),
        rows=rows,
    )


def previewed(
    state: TreeState, X: Any, y: Any, start: int | None = None
) -> tuple[Encoded, list[Any]]:
    """Check and encode a stream that is to be learned; see `Learner.preview`."""
    if start is not None:
        start = params.count("start", start, 0)
    check_paired(X, y)
    features, n_first = state.features, 0
    if state.cloud is None:
        features, n_first = _columns_ahead(state, X, y, start)
    assert features is not None
    rows, growth = with_levels(state, features, X, y)
    features = growth.features
    if not len(rows):
        raise ArgumentError("X", "must have at least one row", Message("none"))
    rows = rows.copy() if rows is X else rows  # which is the caller's to change
    if state.options.is_count:
        return Encoded(rows, features), count_list(y, len(rows))
    if not state.options.has_labels:
        response = _numbers_of(state, y, len(rows))
        if state.cloud is not None:
            check_scale(state.cloud, features, rows, response)
        return Encoded(rows, features), response.tolist()
    labels = labels_of(state, y, len(rows))
    if state.cloud is not None:
        check_scale(state.cloud, features, rows)
    if state.options.rules == "r":
        known = known_classes(state, labels)
        known = known or sorted_labels([*state.waiting_y, *labels[:n_first]])
        label_codes(labels, known)
    return Encoded(rows, features), labels


def _columns_ahead(
    state: TreeState, X: Any, y: Any, start: int | None
) -> tuple[FeatureMap, int]:
    """The columns that trees will be planted with, and how many rows decide on them."""
    first = X if start is None else take(X, slice(max(1, start)))
    features, codes = extended(state, first)
    n_first = len(codes) if start is None else start
    options = state.options.with_width(features.n_features)
    needed = n_waiting(options, state.n_scale)
    ahead = needed - len(state.waiting_y)
    one_by_one = range(n_first + 1, ahead + 1) if start is not None else ()
    for end in one_by_one if features.allow_missing else ():
        features, codes = features.extend(take(X, slice(end)))
    if state.waiting_y:
        codes = np.concatenate([state.waiting_X, codes])
    grows = state.options.new_levels == "grow"
    n_before, count = state.n_pieces, label_counter(state, y)
    features, _ = features.settle(
        codes,
        state.n_level_rows(needed),
        grows,
        lambda row: count(max(row - n_before, 0)),
    )
    return features, max(n_first, ahead)
