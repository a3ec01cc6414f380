"""Functions behind effects of variables: draws, groups, averages and their records."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dyntree.encoding.contrasts import Moves, Variable, moved_rows
from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector, is_missing
from dyntree.errors import ArgumentError, ContrastWarning, warn
from dyntree.summaries.draws import (
    PosteriorDraws,
    grouped,
    shares,
    value_order,
)
from dyntree.trees.factory import Trees

ANSWERS = {
    "term", "contrast", "class", "estimate", "std_error", "conf_low", "conf_high",
    "p_positive", "p_zero",
}  # fmt: skip
TIE = 1e-12  # of the larger average: a difference that is only rounding
COMPARISONS = {"difference": " - ", "ratio": " / "}  # and what stands between names


def draws_with(
    tree: Trees,
    rows: Matrix,
    shift: Vector | None,
    n_draws: int,
    kind: str,
    seed: Any,
) -> PosteriorDraws:
    """Draws of rows of features with these offsets."""
    if shift is None:
        return tree.posterior_draws(rows, n_draws, kind, seed)
    if tree.tree.options.is_count:
        return tree.posterior_draws(rows, n_draws, kind, seed, exposure=np.exp(shift))
    draws = tree.posterior_draws(rows, n_draws, kind, seed)
    return replace(draws, values=draws.values + shift)


def contrast_draws(
    tree: Trees,
    pairs: tuple[Matrix, Matrix],
    shifts: tuple[Vector, Vector],
    n_draws: int,
    kind: str,
    seed: Any,
) -> PosteriorDraws:
    """Draws of predictions at rows less those at other rows, offsets included."""
    if not tree.tree.options.is_count:
        draws = tree.compute_contrast(*pairs, n_draws, kind, seed)
        return replace(draws, values=draws.values + (shifts[1] - shifts[0]))
    rows, shift = np.concatenate(pairs), np.concatenate(shifts)
    draws = draws_with(tree, rows, shift, n_draws, kind, seed)
    before, after = np.split(draws.values, 2, axis=1)
    return replace(draws, values=after - before)


def chosen_move(
    design: Design, table: Table, variable: Variable, contrast: Any
) -> Moves:
    """What is compared; a default step that leaves the data is replaced."""
    move = variable.moves(contrast)
    if not variable.can_stay_within(contrast):
        return move
    reason = "takes most rows beyond the data"
    if not variable.leaves_data(move):
        try:
            moved_rows(design, table, variable.name, move.settings)
        except ValueError:
            reason = "leads where a term has no value"
        else:
            return move
    warn(
        ContrastWarning,
        "an increase of {name!r} by 1 {reason}; it is compared between half a "
        "standard deviation below and above its mean. Choose other values with "
        "contrast=(low, high), or a smaller step.",
        name=variable.name,
        reason=reason,
    )
    return variable.moves_within()


def group_averages(
    tree: Trees,
    rows: Matrix,
    groups: dict[Any, NDArray[np.bool_]],
    counts: Vector | None,
    n_draws: int,
    rng: np.random.Generator,
    warns: bool = True,
    shift: Vector | None = None,
    of_effects: bool = True,
) -> NDArray[np.float64]:
    """Draws of the averages over groups of each setting of the rows.

    Settings follow one another in `rows`, as do their offsets; `warns` is whether
    trees that are too much alike are warned of, and `of_effects` whether settings are
    compared; see `draw_blocks`. The answer is of shape (n_draws, n_settings, n_groups),
    with the classes last for labels; no draw of all rows is stored.
    """
    n_rows = len(next(iter(groups.values()))) if groups else 0
    weights = shares(groups, np.ones(n_rows) if counts is None else counts)
    found: NDArray[np.float64] | None = None
    with tree.exclusive():
        if warns:
            tree.warn_if_alike()
        exposure = None
        if shift is not None and tree.tree.options.is_count:
            exposure, shift = np.exp(shift), None
        n_compared = len(rows) // n_rows if of_effects and n_rows else 0
        for block in tree.draw_blocks(rows, n_draws, rng, exposure, n_compared):
            some, *_, last = block.mean.shape
            classes = (last,) if block.mean.ndim == 3 else ()
            mean = block.mean if shift is None else block.mean + shift
            parts = mean.reshape(some, -1, n_rows, *classes)
            means = np.moveaxis(np.tensordot(parts, weights, (2, 1)), -1, 2)
            if found is None:
                found = np.empty((n_draws, *means.shape[1:]))
            found[block.places] = means
    assert found is not None
    return found


def records_of(
    classes: tuple[Hashable, ...] | None,
    start: dict[str, Any],
    names: Sequence[str],
    groups: dict[Any, Any],
    drawn: NDArray[np.float64],
    ends: tuple[float, float],
    sign: NDArray[np.float64] | None = None,
) -> list[dict[str, Any]]:
    """One record a label and group of draws of shape (n_draws, n_groups, ...).

    `sign`, of the same shape, is that of the difference between two averages.
    """
    width = 2.0 * float(ndtri(ends[1]))  # of the interval of a standard normal
    records = []
    for k in range(1 if classes is None else len(classes)):
        for place, group in enumerate(groups):
            at = (slice(None), place) if classes is None else (slice(None), place, k)
            one = drawn[at]
            low, high = np.quantile(one, ends)
            record = dict(start)
            if classes is not None:
                record["class"] = classes[k]
            record |= zip(names, group if names else (), strict=True)
            record["estimate"] = float(one.mean())
            record["std_error"] = float((high - low) / width)
            record |= {"conf_low": float(low), "conf_high": float(high)}
            if sign is not None:  # of a tie each side has half
                record["p_positive"] = float(0.5 + 0.5 * sign[at].mean())
                record["p_zero"] = float((sign[at] == 0.0).mean())
            records.append(record)
    return records


def signs(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Signs of the differences between draws; 0 where rounding alone makes one."""
    largest = np.maximum(np.abs(before), np.abs(after))
    signs: NDArray[np.float64] = np.sign(after - before)
    return np.where(np.abs(after - before) <= TIE * largest, 0.0, signs)


def check_present(
    name: Any, there: NDArray[np.bool_], groups: dict[Any, NDArray[np.bool_]]
) -> None:
    """Raise ValueError where a group has no row with a value to move."""
    for group, mask in groups.items():
        if not (mask & there).any():
            where = "" if group is None else f" of group {group!r}"
            raise ArgumentError(
                "variables",
                "must have a value in some row{where}; {label!r} has none",
                remedy="Name other variables, or give exog with rows that have one.",
                where=where,
                label=name,
            )


def groups_by(
    table: Table, by: str | Sequence[str] | None
) -> tuple[dict[Hashable, NDArray[np.bool_]], list[str]]:
    """Rows of each group by the values of some columns, and their names."""
    if by is None:
        return grouped(None, table.n_rows), []
    names = names_in(by, "by", table.names)
    taken = [name for name in names if name in ANSWERS]
    if taken:
        raise ArgumentError(
            "by",
            "must name columns that the answer has none of, {answers}",
            taken[0],
            "Rename that column.",
            answers=sorted(ANSWERS),
        )
    absent = [name for name in names if name not in table.names]
    if absent or not names:
        raise ArgumentError(
            "by", "must name columns of the data, {names}", by, names=list(table.names)
        )
    values = zip(*(table.read(name).objects() for name in names), strict=True)
    labels = np.empty(table.n_rows, dtype=object)
    for row, group in enumerate(values):
        labels[row] = None if any(map(is_missing, group)) else group
    orders = [value_order(table.read(name)) for name in names]
    found = grouped(labels, table.n_rows)

    def rank(group: Any) -> list[int]:
        return [order[value] for order, value in zip(orders, group, strict=True)]

    return {group: found[group] for group in sorted(found, key=rank)}, names


def names_in(given: Any, argument: str, known: Sequence[str]) -> list[Any]:
    """A name, or a sequence of names, as a list."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ArgumentError(
            argument,
            "must be a name of a column, or a sequence of names, among {known}",
            given,
            known=list(known),
        )
    return list(given)
