"""LevelEffects: shrunken means of the response by level, as columns of numbers.

A column of many levels is one number a row for the trees: the effect of the level, by
the rows learned before. For level l it is::

    (S_l - N_l g) / (N_l + k),

N_l and S_l being the number and the sum of u over the rows of the level, g the mean of
u over all rows, and k the ratio of the variances within and between levels, by the
moments of the analysis of variance (Searle, Casella and McCulloch 1992). That is an
ordered target statistic (Prokhorenkova et al. 2018) with the shrinkage of James and
Stein. Of real responses u is the residual of a ridge regression on the other columns,
by the rows before; of labels it is 1 for the label and else 0, and log odds are
compared; of counts it is the log of the rate. Where levels do not differ by more than
chance, k is infinite and the column is 0 throughout.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.checkpoint.layout import check_arrays, reals, require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.online import Arrays
from dyntree.trees.learning.growth import Growth
from dyntree.trees.learning.weights import Responses

Ints = NDArray[np.int64]

N_PARTS = 10  # of a table, each of which gets its column by the others
MOST_SHRINKAGE = 100.0  # rows for each row of a level, beyond which effects are 0
CLIP = 0.005  # of probabilities whose log odds are taken
MOST_REGRESSORS = 200  # columns that residuals are computed from, as cost is its square
RIDGE = 0.1  # prior precision of a coefficient, of columns in units of their spread
LEVEL_RIDGE = 1e-6  # of the intercept
MOST_SPREADS = 10.0  # that a value counts as at most
FAR = 5.0  # standard deviations that a residual counts as at most, if robust
FAR_MEDIANS = 7.4  # the same in median sizes of normal residuals
FEWEST_FAR = 10  # rows that know a standard deviation


class LevelSums:
    """Sums of u by level, for each effect column of one column of levels.

    Parameters
    ----------
    n_effects : int
        Number of effect columns.
    are_odds : bool
        Whether effects are differences of log odds.

    Attributes
    ----------
    count : ndarray of shape (n_levels,)
    total : ndarray of shape (n_levels, n_effects)
    squares : ndarray of shape (n_effects,)
        Of u, of all levels.
    """

    def __init__(self, n_effects: int, are_odds: bool) -> None:
        self.are_odds = are_odds
        self.count = np.zeros(0)
        self.total = np.zeros((0, n_effects))
        self.squares = np.zeros(n_effects)
        self._sum_up()

    def _sum_up(self) -> None:
        """Compute the running sums over levels from those of each level."""
        there = self.count > 0.0
        self.n_levels = int(there.sum())
        self.n = float(self.count.sum())
        self.count_squares = float(self.count @ self.count)
        self.sum = self.total.sum(axis=0)
        of_means = self.total[there] ** 2 / self.count[there, None]
        self.between = of_means.sum(axis=0)

    def _reserve(self, n_levels: int) -> None:
        """Have room for so many levels."""
        more = n_levels - len(self.count)
        if more > 0:
            more = max(more, len(self.count))
            self.count = np.append(self.count, np.zeros(more))
            self.total = np.vstack([self.total, np.zeros((more, self.total.shape[1]))])

    def learn(self, code: int, u: Vector, weight: float) -> None:
        """Add a row: its level, u of shape (n_effects,), and how much it counts."""
        self._reserve(code + 1)
        before, total = self.count[code], self.total[code]
        after = before + weight
        if before > 0.0:
            self.between -= total**2 / before
        else:
            self.n_levels += 1
        self.count_squares += weight * (before + after)
        self.count[code] = after
        total += weight * u
        self.between += total**2 / after
        self.n += weight
        self.sum += weight * u
        self.squares += weight * u * u

    def add(self, codes: Ints, u: Matrix, weights: Vector) -> None:
        """Add rows at once: u is of shape (n_rows, n_effects)."""
        n_levels = int(codes.max(initial=-1)) + 1
        self._reserve(n_levels)
        self.count[:n_levels] += np.bincount(codes, weights, n_levels)
        for j, column in enumerate(u.T):
            self.total[:n_levels, j] += np.bincount(codes, weights * column, n_levels)
        self.squares += weights @ (u * u)
        self._sum_up()

    def cross_fitted(
        self, codes: Vector, u: list[Matrix], weights: Vector, part: Ints
    ) -> Matrix:
        """Effects at rows by the rows of all other parts; then all are added.

        Parameters
        ----------
        codes, weights : ndarray of shape (n_rows,)
        u : list of ndarray of shape (n_rows, n_effects)
            For each part, and last for all rows.
        part : ndarray of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows, n_effects)
        """
        there = codes >= 0.0
        places = np.where(there, codes, 0.0).astype(np.int64)
        effects = np.empty((len(codes), len(self.sum)))
        for j in range(len(u) - 1):
            others, others_sums = there & (part != j), deepcopy(self)
            others_sums.add(places[others], u[j][others], weights[others])
            effects[part == j] = others_sums.effects(codes[part == j])
        self.add(places[there], u[-1][there], weights[there])
        return effects

    def running(self) -> Matrix:
        """Sums that were updated row by row, shape (5, n_effects), with their rounding.

        They are those of u, of its squares, of the squares of the sums of levels over
        their numbers, of the numbers of levels, and of the squares of these.
        """
        wide = np.ones_like(self.sum)
        sizes = self.n * wide, self.count_squares * wide
        return np.array([self.sum, self.squares, self.between, *sizes])

    def resume(self, running: Matrix) -> None:
        """Go on from sums of another, which has the same levels; see `running`."""
        self._sum_up()
        computed = self.running()
        self.sum, self.squares, self.between = running[:3].copy()
        self.n, self.count_squares = running[3:, 0].tolist()
        computed[1] = self.squares
        size = 1.0 + np.abs(running).max(initial=0.0)
        require(np.abs(running - computed) <= 1e-6 * size, "sums of levels differ")

    def shrinkage(self) -> Vector:
        """Ratio k of each effect column, (n_effects,); infinite without effects."""
        if self.n_levels < 2 or self.n <= self.n_levels:
            return np.full(len(self.sum), np.inf)
        more = self.n_levels - 1
        within = self._within()
        between = (self.between - self.sum**2 / self.n) / more
        rows = (self.n - self.count_squares / self.n) / more
        excess = between - within
        has_effects = excess > 1e-12 * np.abs(between)
        k = np.full(len(within), np.inf)
        k[has_effects] = within[has_effects] * rows / excess[has_effects]
        k[k > MOST_SHRINKAGE * rows] = np.inf
        return k

    def _within(self) -> Vector:
        """Variance of u within levels, shape (n_effects,)."""
        squares = np.maximum(self.squares - self.between, 0.0)
        return np.asarray(squares / (self.n - self.n_levels))

    def _learned(self, codes: Vector) -> tuple[Ints, Ints]:
        """Rows whose level has a row that was learned, and the places of the levels."""
        rows = np.flatnonzero((codes >= 0.0) & (codes < len(self.count)))
        places = codes[rows].astype(np.int64)
        is_learned = self.count[places] > 0.0
        return rows[is_learned], places[is_learned]

    def effects(self, codes: Vector) -> Matrix:
        """Effects of levels, shape (n_rows, n_effects); NaN of one without a row."""
        effects = np.full((len(codes), len(self.sum)), np.nan)
        rows, places = self._learned(codes)
        if not len(rows):
            return effects
        k, n = self.shrinkage(), self.count[places, None]
        overall = self.sum / self.n
        deviation = np.zeros((len(rows), len(k)))
        finite = np.isfinite(k)
        deviation[:, finite] = (self.total[places] - n * overall)[:, finite] / (
            n + k[finite]
        )
        if self.are_odds:
            shrunk = np.clip(overall + deviation, CLIP, 1.0 - CLIP)
            middle = np.clip(overall, CLIP, 1.0 - CLIP)
            odds = np.log(shrunk / (1.0 - shrunk)) - np.log(middle / (1.0 - middle))
            deviation = np.where(finite, odds, 0.0)
        effects[rows] = deviation
        return effects

    def spreads(self, codes: Vector) -> Matrix:
        """Posterior standard deviation of effects, shape (n_rows, n_effects).

        It is 0 where k is infinite, or a level has no row.
        """
        spreads = np.zeros((len(codes), len(self.sum)))
        k = self.shrinkage()
        finite = np.isfinite(k)
        if not finite.any():
            return spreads
        rows, places = self._learned(codes)
        n = self.count[places, None] + k[finite]
        if self.are_odds:  # of probabilities p: by the delta method
            shrunk = (self.total[places] + k * self.sum / self.n)[:, finite] / n
            p = np.clip(shrunk, CLIP, 1.0 - CLIP)
            spreads[np.ix_(rows, finite)] = 1.0 / np.sqrt(n * p * (1.0 - p))
        else:
            spreads[np.ix_(rows, finite)] = np.sqrt(self._within()[finite] / n)
        return spreads

    def furthest(self) -> float:
        """Largest u of a row that counts as it is, if outliers count less."""
        if self.n < FEWEST_FAR:
            return np.inf
        return FAR * float(np.sqrt(self.squares.max() / self.n))


class Residuals:
    """Residuals of responses from a ridge regression on the rows before, row by row.

    Columns are in units of the spread of the first rows. A column without spread there
    has as its unit the first difference from its first value. Recursive least squares;
    the prior precision is `RIDGE`.

    Attributes
    ----------
    centre, unit : ndarray of shape (n_columns,)
        Of each column; NaN and 0 before they are known.
    inverse : ndarray of shape (n_columns + 1, n_columns + 1)
        Of the matrix of the normal equations. The intercept is first.
    coef : ndarray of shape (n_columns + 1,)
        Of responses less the first one, in units of `spread`.
    first, spread : float
        The first response, NaN before it, and how far the first other one is from it,
        in which residuals are measured; 0 before it.
    """

    def __init__(self) -> None:
        self.centre, self.unit = np.zeros(0), np.zeros(0)
        self.inverse = np.array([[1.0 / LEVEL_RIDGE]])
        self.coef = np.zeros(1)
        self.first, self.spread = np.nan, 0.0

    def scale(self, rows: Matrix) -> None:
        """Fix the units of the columns by the first rows."""
        self.widen(rows.shape[1])
        for j, column in enumerate(rows.T):
            values = column[~np.isnan(column)]
            if len(values) and np.ptp(values) > 0.0:
                self.centre[j], self.unit[j] = values.mean(), values.std()
            elif len(values):
                self.centre[j] = values[0]

    def widen(self, n_columns: int) -> None:
        """Have further columns, the new ones last."""
        n_before = len(self.centre)
        if n_columns <= n_before:
            return
        more = n_columns - n_before
        self.centre = np.append(self.centre, np.full(more, np.nan))
        self.unit = np.append(self.unit, np.zeros(more))
        wide = np.eye(n_columns + 1) / RIDGE
        wide[: n_before + 1, : n_before + 1] = self.inverse
        self.inverse = wide
        self.coef = np.append(self.coef, np.zeros(more))

    def terms(self, rows: Matrix) -> Matrix:
        """Terms of rows, (n_rows, n_columns + 1); units become known with them.

        What is missing counts as the centre.
        """
        self.widen(rows.shape[1])
        for j in np.flatnonzero(self.unit[: rows.shape[1]] == 0.0):
            values = rows[:, j][~np.isnan(rows[:, j])]
            if len(values) and np.isnan(self.centre[j]):
                self.centre[j] = values[0]
            differ = np.flatnonzero(values != self.centre[j])
            if len(differ):
                self.unit[j] = abs(values[differ[0]] - self.centre[j])
        terms = np.ones((len(rows), len(self.coef)))
        terms[:, 1:] = 0.0
        scaled = np.flatnonzero(self.unit[: rows.shape[1]] > 0.0)
        z = (rows[:, scaled] - self.centre[scaled]) / self.unit[scaled]
        z = np.clip(np.nan_to_num(z, nan=0.0), -MOST_SPREADS, MOST_SPREADS)
        terms[:, 1 + scaled] = z
        return terms

    def _responses(self, y: Vector) -> Vector:
        """Responses in units of `spread`, which becomes known with them."""
        if np.isnan(self.first):
            self.first = float(y[0])
        off: Vector = y - self.first
        if not self.spread and off.any():
            self.spread = float(abs(off[np.flatnonzero(off)[0]]))
        return np.asarray(off / self.spread) if self.spread else off

    def of(self, row: Matrix, y: float, weight: float) -> float:
        """Residual of a row, of shape (1, n_columns), which is then learned."""
        term = self.terms(row)[0]
        gain = self.inverse @ term
        residual = float(self._responses(np.array([y]))[0]) - float(term @ self.coef)
        gain_size = weight / (1.0 + weight * float(term @ gain))
        self.coef += gain_size * residual * gain
        self.inverse -= gain_size * np.outer(gain, gain)
        return residual

    def in_parts(
        self, rows: Matrix, y: Vector, weights: Vector, part: Ints
    ) -> list[Vector]:
        """Residuals of all rows by the rows of all parts but one, for each part.

        Last come those by all rows, which are then learned.
        """
        terms, y = self.terms(rows), self._responses(y)
        before = np.linalg.inv(self.inverse)
        weighted = terms * weights[:, None]
        gram, right = before + terms.T @ weighted, before @ self.coef + y @ weighted
        residuals: list[Vector] = []
        for k in range(N_PARTS):
            mine = part == k
            left = gram - terms[mine].T @ weighted[mine]
            coef = np.linalg.solve(left, right - y[mine] @ weighted[mine])
            residuals.append(y - terms @ coef)
        self.inverse = np.linalg.inv(gram)
        self.coef = np.asarray(np.linalg.solve(gram, right))
        return [*residuals, y - terms @ self.coef]


@dataclass
class Pending:
    """Rows whose effect columns were computed, and that may yet be learned.

    Attributes
    ----------
    first : int
        How many rows the model had learned before them.
    rows : ndarray of shape (n_rows, n_features)
        With codes of levels.
    responses : Responses
    growth : Growth
    after : LevelEffects or None
        What is known with all of them, if it was computed.
    """

    first: int
    rows: Matrix
    responses: Responses
    growth: Growth
    after: LevelEffects | None


@dataclass(eq=False)
class LevelEffects:
    """Effects of levels by the rows that a model has learned.

    Effect columns of rows hold codes of levels. `ordered` and `cross_fitted` put the
    effects in their place for rows that are to be learned, and `at` for all others.
    What was computed for rows counts once the model has learned them: a row that an
    error or an interrupt stopped leaves no trace.

    Attributes
    ----------
    model : str
        That of the trees: what responses are.
    robust : bool
        Whether rows far outside count less.
    sums : list of LevelSums
        For each column of levels with effect columns.
    residuals : Residuals
    """

    model: str
    robust: bool = False
    sums: list[LevelSums] = field(default_factory=list)
    residuals: Residuals = field(default_factory=Residuals)
    _pending: Pending | None = None

    @property
    def is_real(self) -> bool:
        """Whether responses are real numbers."""
        return self.model in ("constant", "linear", "prior")

    # ------------------------------------------------------------ asking
    def at(self, rows: Matrix, features: FeatureMap, n_learned: int) -> Matrix:
        """Rows with the effects of levels, once a model has learned so many rows."""
        self.settle(n_learned)
        return self._with_effects(rows, features)

    def _with_effects(self, rows: Matrix, features: FeatureMap) -> Matrix:
        """Rows with the effects of levels by what is known."""
        wide = rows.copy()
        for k, places in enumerate(features.effect_groups):
            wide[:, places] = np.nan
            if k < len(self.sums):
                wide[:, places] = self._unit * self.sums[k].effects(rows[:, places[0]])
        return wide

    def spreads(
        self, rows: Matrix, features: FeatureMap, n_learned: int
    ) -> list[Matrix]:
        """Posterior standard deviations of effects at rows, for each column of levels.

        Each is of shape (n_rows, n_effects).
        """
        self.settle(n_learned)
        groups = features.effect_groups[: len(self.sums)]
        return [
            self._unit * sums.spreads(rows[:, places[0]])
            for sums, places in zip(self.sums, groups, strict=True)
        ]

    @property
    def _unit(self) -> float:
        """Unit of the effects."""
        return self.residuals.spread if self.is_real else 1.0

    # ------------------------------------------------------------ learning
    def ordered(
        self, rows: Matrix, responses: Responses, growth: Growth, n_learned: int
    ) -> Matrix:
        """Rows that are to be learned in order, each with effects by those before."""
        self.settle(n_learned)
        if len(rows) == 1:
            wide, after = self._with_effects(rows, growth.at(0)), None
        else:
            after = self.copy()
            wide = after._learn_in_order(rows, responses, growth)
        self._pending = Pending(n_learned, rows, responses, growth, after)
        return wide

    def cross_fitted(
        self,
        rows: Matrix,
        responses: Responses,
        growth: Growth,
        n_learned: int,
        rng: np.random.Generator,
    ) -> Matrix:
        """Rows of a table that is to be learned, each with effects by most others.

        Rows are parted at random. Those of a part have the effects, and the residuals
        these rest on, by the rows of all other parts.
        """
        self.settle(n_learned)
        after, wide, features = self.copy(), rows.copy(), growth.features
        part = rng.permutation(len(rows)) % N_PARTS
        after._begin(features)
        residuals = after._residuals_in_parts(rows, responses, features, part)
        weights = after._weights_of(responses)
        for k, places in enumerate(features.effect_groups):
            u = residuals or [after._u_of(responses, len(places))] * (N_PARTS + 1)
            effects = after.sums[k].cross_fitted(rows[:, places[0]], u, weights, part)
            wide[:, places] = after._unit * effects
        self._pending = Pending(n_learned, rows, responses, growth, after)
        return wide

    def _residuals_in_parts(
        self, rows: Matrix, responses: Responses, features: FeatureMap, part: Ints
    ) -> list[Matrix] | None:
        """Residuals of real responses, as of `Residuals.in_parts`; None of others."""
        if not self.is_real:
            return None
        regressed = self._regressed(rows, features)
        weights = self._weights_of(responses)
        residuals = self.residuals.in_parts(regressed, responses.y, weights, part)
        if self.robust:
            reaches = [FAR_MEDIANS * float(np.median(np.abs(u))) for u in residuals]
            residuals = [
                np.clip(u, -reach, reach) if reach else u
                for u, reach in zip(residuals, reaches, strict=True)
            ]
        return [u[:, None] for u in residuals]

    @staticmethod
    def _regressed(rows: Matrix, features: FeatureMap) -> Matrix:
        """Rows in which all columns that are no regressors are missing."""
        columns = features.regressors[:MOST_REGRESSORS]
        regressed = np.full((len(rows), features.n_features), np.nan)
        regressed[:, columns] = rows[:, columns]
        return regressed

    def finish(self, n_learned: int) -> None:
        """Let go of the pending rows, if the model has learned all of them."""
        pending = self._pending
        if pending and n_learned >= pending.first + len(pending.rows):
            self.settle(n_learned)

    def settle(self, n_learned: int) -> None:
        """Learn those of the pending rows that the model has learned."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        n = n_learned - pending.first
        if n == len(pending.rows) and pending.after is not None:
            self.sums, self.residuals = pending.after.sums, pending.after.residuals
        elif n > 0:
            rows, responses = pending.rows[:n], pending.responses[:n]
            self._learn_in_order(rows, responses, pending.growth)

    def _learn_in_order(
        self, rows: Matrix, responses: Responses, growth: Growth
    ) -> Matrix:
        """Learn rows, and return them with effects by the rows before each."""
        wide, weights = rows.copy(), self._weights_of(responses)
        end = 0
        for row in range(len(rows)):
            if row == end:
                end = growth.steady(row, len(rows))
                features = growth.at(row)
                groups = features.effect_groups
                self._begin(features)
            if not groups:
                continue
            weight, residual, unit = float(weights[row]), None, self._unit
            if self.is_real:
                regressed = self._regressed(rows[row : row + 1], features)
                residual = self.residuals.of(regressed, float(responses.y[row]), weight)
            for k, places in enumerate(groups):
                code, sums = rows[row, places[0]], self.sums[k]
                wide[row, places] = unit * sums.effects(rows[row : row + 1, places[0]])
                if code >= 0.0:
                    u = (
                        self._u_of(responses[row : row + 1], len(places))
                        if residual is None
                        else np.array([[residual]])
                    )
                    u = self._within_reach(u, sums)
                    sums.learn(int(code), u[0], weight)
        return wide

    def _begin(self, features: FeatureMap) -> None:
        """Have sums for each column of levels that has effect columns."""
        for places in features.effect_groups[len(self.sums) :]:
            self.sums.append(LevelSums(len(places), self.model in params.LABELS))

    def scale(self, rows: Matrix, features: FeatureMap) -> None:
        """Fix the units of columns by the first rows of all."""
        if self.is_real and features.effect_groups:
            self.residuals.scale(self._regressed(rows, features))

    def _u_of(self, responses: Responses, n_effects: int) -> Matrix:
        """Values u of labels or counts, shape (n_rows, n_effects)."""
        if self.model in params.LABELS:
            labels: Matrix = responses.y[:, None] == np.arange(n_effects)
            return labels.astype(np.float64)
        exposures = 1.0 if responses.exposures is None else responses.exposures
        rates: Matrix = np.log((responses.y + 0.5) / exposures)[:, None]
        return rates

    def _within_reach(self, u: Matrix, sums: LevelSums) -> Matrix:
        """Values u, of which outliers count less if the model is robust."""
        if not (self.robust and self.is_real):
            return u
        furthest = sums.furthest()
        return np.clip(u, -furthest, furthest)

    @staticmethod
    def _weights_of(responses: Responses) -> Vector:
        """How much rows count, shape (n_rows,)."""
        if responses.weights is None:
            return np.ones(len(responses))
        return np.asarray(responses.weights, dtype=np.float64)

    # ------------------------------------------------------------ copies and files
    def copy(self) -> Self:
        """An independent copy, without rows that are pending."""
        sums, residuals = deepcopy(self.sums), deepcopy(self.residuals)
        return type(self)(self.model, self.robust, sums, residuals)

    def nbytes(self) -> int:
        """Bytes of the sums."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> Arrays:
        """Arrays of a file; see `from_arrays`."""
        arrays = {}
        for k, sums in enumerate(self.sums):
            n_levels = int(np.flatnonzero(sums.count).max(initial=-1)) + 1
            arrays[f"level_count_{k}"] = sums.count[:n_levels].copy()
            arrays[f"level_total_{k}"] = sums.total[:n_levels].copy()
            arrays[f"level_sums_{k}"] = sums.running()
        residuals = self.residuals
        arrays["residual_scale"] = np.array([residuals.centre, residuals.unit])
        arrays["residual_inverse"] = residuals.inverse.copy()
        arrays["residual_coef"] = residuals.coef.copy()
        arrays["residual_unit"] = np.array([residuals.first, residuals.spread])
        return arrays

    @classmethod
    def from_arrays(
        cls, model: str, robust: bool, arrays: Arrays, features: FeatureMap
    ) -> Self:
        """The effects that `arrays` described, of rows with these columns, checked."""
        effects = cls(model, robust)
        n_groups = sum(name.startswith("level_count_") for name in arrays)
        require(n_groups <= len(features.effect_groups), "it has sums of other levels")
        layouts = dict(RESIDUALS)
        for k in range(n_groups):
            layouts |= {
                f"level_count_{k}": reals(f"levels_{k}", low=0.0),
                f"level_total_{k}": reals(f"levels_{k}", f"effects_{k}"),
                f"level_sums_{k}": reals(5, f"effects_{k}"),
            }
        sizes = {f"effects_{k}": len(places) for k, places in
                 enumerate(features.effect_groups)}  # fmt: skip
        sizes = check_arrays(arrays, layouts, **sizes)
        require(sizes["terms"] == sizes["columns"] + 1, "residuals have other columns")
        require(sizes["columns"] <= features.n_features, "it has too many columns")
        for k in range(n_groups):
            sums = LevelSums(sizes[f"effects_{k}"], model in params.LABELS)
            sums.count = arrays[f"level_count_{k}"].copy()
            sums.total = arrays[f"level_total_{k}"].copy()
            sums.resume(arrays[f"level_sums_{k}"])
            effects.sums.append(sums)
        residuals = effects.residuals
        residuals.centre, residuals.unit = arrays["residual_scale"].copy()
        residuals.inverse = arrays["residual_inverse"].copy()
        residuals.coef = arrays["residual_coef"].copy()
        residuals.first, residuals.spread = arrays["residual_unit"].tolist()
        return effects


RESIDUALS = {
    "residual_scale": reals(2, "columns", gaps=True),
    "residual_inverse": reals("terms", "terms"),
    "residual_coef": reals("terms"),
    "residual_unit": reals(2, gaps=True),
}
