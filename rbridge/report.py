"""Results of a cross-check: as text, as a table, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.api.markup import in_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST = 1e-17  # where the picture puts differences of zero


@dataclass(frozen=True)
class Comparison:
    """The comparison of one quantity after one step.

    Attributes
    ----------
    step : int
        Number of the step; 0 is the fit.
    name, quantity : str
        The function of the step, and the field or result that is compared. "stream" is
        the state of the random numbers after the step.
    size : int
        Number of values.
    absolute, relative : float
        Largest absolute difference, and this divided by max(1, largest value in R).
        Both are inf if sizes, or the positions of NaN and infinities, differ.
    bound : float
        Largest allowed value of `relative`.
    """

    step: int
    name: str
    quantity: str
    size: int
    absolute: float
    relative: float
    bound: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the bound."""
        return self.relative <= self.bound


@dataclass(frozen=True)
class Agreement:
    """Whether one quantity has the same distribution in both engines.

    Attributes
    ----------
    step : int
    name, quantity : str
        As in `Comparison`.
    theirs, ours : float
        Mean over seeds of the mean of the quantity's finite numbers, in the real
        package and in dyntree.
    p_value : float
        p-value of the two-sample Kolmogorov-Smirnov test between these means.
    """

    step: int
    name: str
    quantity: str
    theirs: float
    ours: float
    p_value: float


@dataclass(frozen=True)
class Report:
    """Results of `crosscheck`.

    Attributes
    ----------
    seed : int
        The seed of both engines.
    versions : dict
        Versions of R, its BLAS, the package and the bridge (`Session.versions`).
    comparisons : tuple of Comparison
        Every quantity that a step made or changed, in order.
    agreements : tuple of Agreement
        Two-sample tests over several seeds, if results differed bit by bit and tests
        were requested.
    n_seeds : int
        Number of seeds in each sample.
    level : float
        Largest probability that the tests together find a difference if there is none
        (Holm 1979).
    """

    seed: int
    versions: dict[str, Any]
    comparisons: tuple[Comparison, ...]
    agreements: tuple[Agreement, ...] = ()
    n_seeds: int = 0
    level: float = 0.0

    @property
    def draw_for_draw(self) -> bool:
        """Whether everything agrees, including the random streams after each step."""
        return self.first_difference is None

    @property
    def statistical(self) -> bool | None:
        """Whether the two-sample tests find no difference; None without tests."""
        if not self.agreements:
            return None
        least = min(one.p_value for one in self.agreements)
        return least * len(self.agreements) > self.level

    @property
    def first_difference(self) -> Comparison | None:
        """The first quantity that exceeds its bound."""
        return next((one for one in self.comparisons if not one.agrees), None)

    @property
    def worst(self) -> Comparison:
        """The quantity with the largest relative difference."""
        return max(self.comparisons, key=lambda one: one.relative)

    @property
    def verdict(self) -> str:
        """The result, in one line."""
        first = self.first_difference
        if first is None:
            return (
                f"draw for draw; largest relative difference {self.worst.relative:.2e} "
                f"({self.worst.quantity}, step {self.worst.step})"
            )
        bits = (
            f"not draw for draw: {first.quantity} differs first, at step {first.step} "
            f"({first.name})"
        )
        if self.statistical is None:
            return bits
        least = min(self.agreements, key=lambda one: one.p_value)
        word = "no difference" if self.statistical else "another distribution"
        return (
            f"{bits}; over 2 x {self.n_seeds} seeds {word} at level {self.level:g}, "
            f"{len(self.agreements)} tests, least p {least.p_value:.2g} "
            f"({least.quantity}, step {least.step})"
        )

    def summary(self) -> str:
        """Return the report as text, a line for each quantity."""
        known = self.versions
        lines = [
            f"CRAN dynaTree {known['dynaTree']} and dyntree from seed {self.seed}",
            f"{known['R']}, BLAS {known['BLAS']}, backend {known['backend']}",
            "",
            f"{'step':<18}{'quantity':<14}{'size':>7}{'absolute':>11}{'relative':>11}",
        ]
        for one in self.comparisons:
            lines.append(
                f"{f'{one.step} {one.name}':<18}{one.quantity:<14}{one.size:>7}"
                f"{one.absolute:>11.2e}{one.relative:>11.2e}"
                f"{'' if one.agrees else '  DIFFERS'}"
            )
        if self.agreements:
            head = f"{'step':<18}{'quantity':<14}{'in R':>14}{'ours':>14}{'p':>9}"
            lines += ["", head]
        for pair in self.agreements:
            lines.append(
                f"{f'{pair.step} {pair.name}':<18}{pair.quantity:<14}"
                f"{pair.theirs:>14.6g}{pair.ours:>14.6g}{pair.p_value:>9.2g}"
            )
        return "\n".join([*lines, "", self.verdict])

    def to_frame(self) -> Any:
        """Return the comparisons as a pandas DataFrame, with one row for each."""
        import pandas as pd

        return pd.DataFrame([{**vars(c), "agrees": c.agrees} for c in self.comparisons])

    def to_html(self) -> str:
        """Return the report as one self-contained web page."""
        from dyntree.api.report import facts_table, inline, page

        figure = self.plot()
        numbers = "\n".join(map(in_html, self.summary().split("\n")))
        sections = {
            "Picture": inline(figure, "Largest relative difference of each quantity."),
            "Numbers": f"<pre>{numbers}</pre>",
            "Versions": facts_table(self.versions),
        }
        title = f"dynaTree and dyntree from seed {self.seed}"
        return page(title, f"{self.verdict}.", sections)

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw the relative difference of each quantity, compared with its bound.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        Figure
        """
        from dyntree.api.plots.canvas import panels

        shown = self.comparisons
        figure, (axes,) = panels(ax, size=(6.5, 1.6 + 0.17 * len(shown)))
        places = np.arange(len(shown))
        top = 10.0 if all(np.isfinite(one.relative) for one in shown) else 1e3
        values = np.clip([one.relative for one in shown], _LEAST, top)
        agree = np.array([one.agrees for one in shown])
        bounds = np.maximum([one.bound for one in shown], _LEAST)
        axes.hlines(places, _LEAST, bounds, color="0.85", lw=5, label="allowed")
        for chosen, marker, label in ((agree, "o", "agrees"), (~agree, "X", "differs")):
            if chosen.any():
                axes.plot(
                    values[chosen], places[chosen], marker, color="black", label=label
                )
        axes.set_xscale("log")
        axes.set_yticks(
            places, [_label(shown, k) for k in range(len(shown))], fontsize=7
        )
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(_LEAST / 3, 3 * top)
        axes.set_xlabel(f"largest relative difference (0 is at {_LEAST:g})")
        axes.set_title(
            f"dynaTree {self.versions['dynaTree']} and dyntree, seed {self.seed}",
            fontsize=10,
        )
        axes.legend(loc="upper right", fontsize=8)
        return figure


def _label(shown: tuple[Comparison, ...], k: int) -> str:
    """A quantity, after its step where a step begins."""
    one = shown[k]
    begins = k == 0 or shown[k - 1].step != one.step
    return f"{one.step} {one.name}: {one.quantity}" if begins else one.quantity
