"""What each repeat of dynaTrees is asked, and how the answers are put together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError

from .changes import deletecloud
from .fit import FitPlan
from .predict import plan_predict, predict
from .record import DynaTree
from .rectangles import plan_rectangle
from .sens import SensPlan, plan_sens, run_sens
from .variables import relevance, varproptotal, varpropuse

_COLUMNS = ("lpred", "mean", "vmean", "var", "df", "q1", "q2", "ei", "entropy")
_MEANS = ("p", "MEmean", "MEq1", "MEq2")
_STACKS = ("S", "T", "relevance")
_ROWS = ("vpu", "vpt")


@dataclass(frozen=True)
class Extras:
    """Everything `dynaTrees` passes on to predict, sens and relevance."""

    XX: ArrayLike | str | None = None
    yy: ArrayLike | None = None
    varstats: bool = False
    pverb: int = 0
    quants: bool = True
    ei: bool = False
    cls: ArrayLike | None = None
    nns: int = 1000
    nME: int = 100
    span: float = 0.3
    method: str = "lhs"
    lhs: Mapping[str, ArrayLike] | None = None
    categ: ArrayLike | None = None
    rect: ArrayLike | None = None
    approx: bool = False

    def check(self, plan: FitPlan) -> None:
        """Raise now what a repeat would raise later."""
        if self.XX is None:
            if self.yy is not None:
                raise ArgumentError("yy", "needs XX, the rows it belongs to")
        elif plan.model == "prior":
            raise ArgumentError(
                "XX", "must be None for model='prior', which predicts nothing"
            )
        elif isinstance(self.XX, str):
            if self.XX != "sens":
                raise ArgumentError("XX", "must be rows or 'sens'", self.XX)
            observed = np.unique(plan.y) + 1 if plan.model == "class" else None
            if self._sens_plan(plan.X[:, plan.spec.ones :], observed).method == "boot":
                self._warn_of_lhs()
        else:
            plan_predict(plan.spec, self.XX, self.yy, self.quants, self.ei)
        if self.varstats:
            ones = plan.spec.ones
            plan_rectangle(plan.X, ones, self.rect, self.categ, self.approx)

    def ask(self, fit: DynaTree) -> DynaTree:
        """Return the fit with all answers, its cloud deleted."""
        if isinstance(self.XX, str):
            inputs = fit.X[:, fit.spec.ones :]
            plan = self._sens_plan(inputs, fit.get("classes"))
            fit = run_sens(fit, plan, self.pverb, fit.rng)
        elif self.XX is not None:
            fit = predict(fit, self.XX, self.yy, self.quants, self.ei, self.pverb)
        if self.varstats:
            shares = {"vpu": varpropuse(fit), "vpt": varproptotal(fit)}
            fit = relevance(
                fit.extended(shares), self.rect, self.categ, self.approx, self.pverb
            )
        deletecloud(fit)
        return fit

    def _sens_plan(
        self, inputs: NDArray[np.float64], observed: NDArray[np.float64] | None
    ) -> SensPlan:
        return plan_sens(
            inputs,
            observed,
            self.cls,
            self.nns,
            self.nME,
            self.span,
            self.method,
            self.lhs,
            self.categ,
        )

    def _warn_of_lhs(self) -> None:
        if self.lhs is not None:
            warnings.warn("method='boot' ignores lhs.", stacklevel=5)


def combine(repeats: Sequence[DynaTree]) -> DynaTree:
    """Return one object for all repeats: columns, averages and stacked rows."""
    first = repeats[0]
    fields: dict[str, Any] = {}
    for name in first:
        if name != "num":
            fields[name] = _combined(name, [repeat[name] for repeat in repeats])
    fields["R"] = len(repeats)
    return DynaTree(
        fields,
        handle=None,
        rng=first.rng,
        spec=first.spec,
        names=first.names | {"time": ("elapsed",) * len(repeats)},
        row_ids=first.row_ids,
    )


def _combined(name: str, values: Sequence[Any]) -> Any:
    if isinstance(values[0], Mapping):
        return {
            label: _combined(name, [value[label] for value in values])
            for label in values[0]
        }
    if name in _COLUMNS or (name == "yypred" and values[0].size):
        return np.column_stack(values)
    if name in _MEANS:
        return _running_mean(values)
    if name in _STACKS:
        return np.vstack(values)
    if name in _ROWS:
        return np.array(values)
    if name == "N":
        return sum(values)
    return np.array(values) if name == "time" else values[0]


def _running_mean(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    mean = values[0]
    for r, value in enumerate(values[1:], start=2):
        mean = ((r - 1) * mean + value) / r
    return mean
