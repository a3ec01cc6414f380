"""One fit: sweeps over shards, new parameters after each, until nothing is gained."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, ConvergenceWarning, warn
from dyntree.mixtures.canopy.components import (
    Components,
    Family,
    Moments,
    Prior,
    as_float32,
    summed,
)
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.canopy.records import CanopySweep
from dyntree.mixtures.canopy.shards import Plan, ShardReport, SweepRequest
from dyntree.runtime.blas import single_threaded_blas

LOOK_EVERY = 5  # sweeps between looks at the rows that are watched
ALIKE = 16  # times a row may stand among those that fit badly
MOST_RESEEDED = 0.01  # of the components, in a sweep
LEAST_WEIGHT = 1e-300  # of a component, so that its logarithm is a number
MANY_EMPTY = 0.01  # of the components, for five sweeps


class Shards(Protocol):
    """Where the rows are: in this process, or with Dask's workers."""

    def sweep(self, order: SweepRequest) -> list[ShardReport]:
        """Let all shards do a sweep; reports in their order."""

    def badly_fitted(self, known: Components, n: int, time: int) -> Matrix:
        """Up to n different rows of low density, lowest first; scaled float64."""


def density(known: Components, family: Family, rows: Matrix) -> Vector:
    """Log density of scaled rows, as sweeps have it, shape (n_rows,)."""
    with single_threaded_blas():
        fit = family.scores(known).log_densities(as_float32(rows))
    base = family.log_base(rows)
    return fit if base is None else fit + base


def worst_fitted(known: Components, family: Family, rows: Matrix, n: int) -> Matrix:
    """Return the n different rows of lowest density; fewer where many are equal."""
    lowest = np.argsort(density(known, family, rows), kind="stable")[: ALIKE * n]
    _, first = np.unique(rows[lowest], axis=0, return_index=True)
    return rows[lowest[np.sort(first)[:n]]]


def with_drawn_weights(
    known: Components, drawn: Components, count: Vector, alpha: float,
    rng: np.random.Generator,
) -> Components:  # fmt: skip
    """Draw weights from the posterior of a Dirichlet process, given counts of rows.

    Components with rows and all others together have Dirichlet(N_1, .., N_M, alpha)
    (Ferguson 1973, theorem 1). The others have parameters that were drawn, without rows
    from the prior, and break their share in pieces of Beta(1, alpha) (Sethuraman 1994);
    the last one takes the rest.
    """
    none = count <= 0.0
    n_none = int(none.sum())
    weight = np.empty(len(count))
    shares = rng.dirichlet(np.append(count[~none], [alpha] if n_none else []))
    weight[~none] = shares[: len(count) - n_none]
    if n_none:
        broken = rng.beta(1.0, alpha, n_none)
        broken[-1] = 1.0
        left = np.cumprod(np.append(1.0, 1.0 - broken[:-1]))
        weight[none] = shares[-1] * left * broken
    mean, spread = known.mean.copy(), known.spread.copy()
    mean[none] = drawn.mean[none]
    if len(spread):
        spread[none] = drawn.spread[none]
    weight = np.maximum(weight, LEAST_WEIGHT)
    return Components(weight / weight.sum(), mean, spread)


class Fit:
    """One fit, sweep by sweep; it can be stopped after any sweep, and goes on alike."""

    def __init__(
        self, plan: Plan, options: MixtureOptions, prior: Prior, known: Components,
        watched: Matrix, n_rows: int, total: float,
    ) -> None:  # fmt: skip
        self.plan, self.family = plan, FAMILY_OF[plan.family]
        self.options, self.prior = options, prior
        self.known = known  # components, first those at which it begins
        self.watched = watched  # scaled rows whose likelihood tells when to stop
        self.n_rows, self.total = n_rows, total  # and their weight
        self.log_scale = plan.scaling.log_scale  # taken off log densities
        self.pace = 1.0
        self.begun: Matrix = np.empty((0, watched.shape[1]))
        self.reports: list[CanopySweep] = []
        self.moments: Moments | None = None
        self.before: Moments | None = None  # of rows that are not in the shards
        self.turn = 0  # added to the number of a sweep, for its random numbers
        self.converged = False

    @property
    def time(self) -> int:
        """Number of sweeps done, which also places the draws of the next one."""
        return len(self.reports)

    def moments_of(self, sums: NDArray[np.int64]) -> Moments:
        """Sums in the scaled units of the columns."""
        d = self.known.mean.shape[1]
        weight, first, second = self.plan.units
        return Moments(
            sums[:, 0] / weight,
            sums[:, 1 : 1 + d] / first,
            self.family.second(sums[:, 1 + d :] / second, d),
        )

    # ------------------------------------------------------------ a sweep
    def step(self, shards: Shards, inference: str | None = None) -> CanopySweep:
        """Do a sweep, and estimate or draw the parameters that follow."""
        clock = time.perf_counter()
        how, sweeps = inference or self.plan.inference, self.options.sweeps
        exact = self.time == 0
        order = SweepRequest(
            self.turn + self.time, self.known, self.pace, exact, how, self.begun
        )
        found = shards.sweep(order)
        sums = np.zeros_like(found[0].sums)
        for part in found:
            sums += part.sums
        self.moments = self.moments_of(sums)
        if self.before is not None:
            self.moments = self.moments.plus(self.before)
        scored = summed(report.scored for report in found)
        fit = summed(report.log_likelihood for report in found)
        stale = summed(report.stale for report in found)
        stale = stale / scored if scored else np.nan
        pace = self.pace
        if how == "canopy2" and not exact and sweeps.theta_step == "map":
            self._set_pace(stale)
        elif how == "canopy2" and sweeps.theta_step == "sample":
            self.pace = float(sweeps.refresh_max)
        known, n_clipped = self._next(self.moments)
        if how == "em":
            sharp = np.zeros(len(known.weight), dtype=bool)
            sharp[self.family.scores(self.known).sharp_ids] = True
            known = self.family.widened_to_float32(known, sharp)
        self.begun = self.begun[:0]
        empty = self.moments.weight < self.total / self.n_rows
        reseed = sweeps.empty == "reseed" and self.options.weights != "collapsed"
        if reseed and sweeps.theta_step == "map" and how != "em":
            known = self._reseeded(known, empty, shards)
        self.known = known
        proposed = sum(report.proposed for report in found)
        look = self.time % LOOK_EVERY == LOOK_EVERY - 1
        report = CanopySweep(
            sweep=self.time + 1,
            seconds=time.perf_counter() - clock,
            log_likelihood=fit / scored - self.log_scale if scored else np.nan,
            validation=self.watch() if look and len(self.watched) else np.nan,
            n_changed=sum(report.n_changed for report in found),
            n_empty=int(empty.sum()),
            refresh=pace,
            list_length=float(np.mean([report.list_length for report in found])),
            stale_mass=np.nan if how != "canopy2" or exact else stale,
            acceptance=(
                sum(report.accepted for report in found) / proposed
                if proposed
                else np.nan
            ),
            n_clipped=n_clipped,
        )
        self.reports.append(report)
        return report

    def _set_pace(self, stale: float) -> None:
        """Refresh faster where lists go stale, slower where they do not."""
        change = 2.0
        if stale > 0.0:
            aim = (self.options.sweeps.stale_target / stale) ** 0.7
            change = float(np.clip(aim, 0.5, 2.0))
        most = float(self.options.sweeps.refresh_max)
        self.pace = float(np.clip(self.pace * change, 1.0, most))

    def _next(self, moments: Moments) -> tuple[Components, int]:
        """Parameters of the next sweep, and how many variances are on their floor."""
        rng = np.random.default_rng([self.plan.seed, 3, self.turn + self.time])
        prior = self.prior
        if self.options.sweeps.theta_step == "map":
            if self.options.weights != "collapsed":  # which has one base measure
                prior = self.family.tightened(moments, prior)
            known, n_clipped = self.family.estimate(moments, prior)
        else:
            known, n_clipped = self.family.draw(moments, prior, rng), 0
        if self.options.weights == "sample":
            m = len(moments.weight)
            alpha = moments.weight + self.prior.concentration / m
            weight = np.maximum(rng.dirichlet(alpha), LEAST_WEIGHT)
            known = replace(known, weight=weight)
        elif self.options.weights == "collapsed":
            drawn = self.family.draw(moments, prior, rng)
            if self.family.one_spread:
                drawn = replace(drawn, spread=known.spread)
            known = with_drawn_weights(
                known, drawn, moments.weight, self.prior.concentration, rng
            )
        return known, n_clipped

    def _reseeded(
        self, known: Components, empty: NDArray[np.bool_], shards: Shards
    ) -> Components:
        """Let some empty components begin again where rows fit badly."""
        m = len(empty)
        places = np.flatnonzero(empty)[: max(1, int(MOST_RESEEDED * m))]
        if not len(places) or m == 1:
            return known
        rows = shards.badly_fitted(self.known, len(places), self.turn + self.time)
        fresh = self.family.begin(rows, self.prior)
        self.begun = rows
        places = places[: len(rows)]
        weight, mean, spread = (
            np.array(v) for v in (known.weight, known.mean, known.spread)
        )
        weight[places], mean[places] = 1.0 / self.n_rows, fresh.mean
        if len(spread):
            spread[places] = fresh.spread[0] if spread.ndim == 1 else fresh.spread
        if self.family.one_spread:
            spread = known.spread
        return Components(weight / weight.sum(), mean, spread)

    # ------------------------------------------------------------ when to stop
    def watch(self) -> float:
        """Mean log density of the rows that are watched, nats per row."""
        found = density(self.known, self.family, self.watched)
        return float(found.mean()) - self.log_scale

    def is_settled(self, held_out: bool) -> bool:
        """Whether the last sweeps gained less than `tol`.

        Exact sweeps decide it by the mean of five and of the five before; others, and
        all if there are held-out rows, by two looks in a row at the rows watched.
        """
        tol = self.options.tol
        if tol == 0.0:
            return False
        if self.plan.inference in ("em", "esca") and not held_out:
            seen = np.array([report.log_likelihood for report in self.reports[-10:]])
            return len(seen) == 10 and bool(seen[5:].mean() - seen[:5].mean() < tol)
        seen = np.array([report.validation for report in self.reports])
        seen = seen[np.isfinite(seen)][-3:]
        return len(seen) == 3 and bool((np.diff(seen) < tol).all())

    def run(
        self, shards: Shards, held_out: bool, tell: Callable[[int], None],
        callback: Callable[[CanopySweep], object] | None,
        keep: Callable[[Fit], None] | None,
    ) -> None:  # fmt: skip
        """Do sweeps until settled, to `max_iter`, or until the callback says so."""
        if not (callback is None or callable(callback)):
            raise ArgumentError("callback", "must be a callable", callback)
        while self.time < self.options.max_iter and not self.converged:
            report = self.step(shards)
            tell(1)
            self.converged = self.is_settled(held_out)
            if keep is not None:
                keep(self)
            said = callback(report) if callback is not None else False
            if isinstance(said, bool | np.bool_) and said:
                break
        for _ in range(self.options.sweeps.polish):
            self.step(shards, "em")

    def warn_of_trouble(self) -> None:
        """Warn of statistical trouble that the reports show, once each."""
        if not self.reports:
            return
        m, last = self.options.n_components, self.reports[-1]
        empty = min(report.n_empty for report in self.reports[-5:])
        meant = self.options.weights == "collapsed"  # empty ones are its reserve
        if len(self.reports) >= 5 and empty > max(1, MANY_EMPTY * m) and not meant:
            warn(
                ConvergenceWarning,
                "{empty} of {m} components had no rows for five sweeps. Ask for fewer.",
                empty=empty,
                m=m,
            )
        if last.n_clipped:
            warn(
                ConvergenceWarning,
                f"{last.n_clipped} variances are on their floor: components hold "
                "equal rows. Ask for fewer components, or give a prior with a "
                "larger variance.",
            )
        if last.refresh <= 1.0 and last.stale_mass > 0.1:
            warn(
                ConvergenceWarning,
                "lists lose {lost:.0%} of the posterior from sweep to sweep, so that "
                "all are made anew each time. Take inference='esca', or a longer "
                "list_max.",
                lost=last.stale_mass,
            )
        most, gains = self.options.max_iter, self.options.tol > 0.0
        if gains and not self.converged and self.time >= most:
            warn(
                ConvergenceWarning,
                "the likelihood still rose after {n_sweeps} sweeps. Give more "
                "max_iter, or a larger tol.",
                n_sweeps=self.time,
            )
