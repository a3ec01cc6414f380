"""Tables of statsmodels' whose text is the user's: shown, and escaped on pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

from dyntree.api.markup import in_html, in_latex
from dyntree.errors import shown

try:
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import Cell, SimpleTable
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree.api.summary_tables needs statsmodels. Install it with: "
        "pip install '.[formula]' in a clone of dyntree."
    ) from error

ESCAPES: dict[str, Callable[[object], str]] = {"html": in_html, "latex": in_latex}


class ShownCell(Cell):  # type: ignore[misc]
    """A cell that holds text of the user's, and escapes all of it as it is written."""

    def format(self, width: int, output_format: str = "txt", **fmt_dict: Any) -> str:
        """The cell as text, LaTeX, HTML or CSV; parameters are those of `Cell`."""
        seen, escape = copy(self), ESCAPES.get(output_format, shown)
        seen.data = escape(self.data) if isinstance(self.data, str) else self.data
        text: str = super(ShownCell, seen).format(width, output_format, **fmt_dict)
        return text

    @staticmethod
    def _latex_escape(data: Any, fmt: Any, output_format: str) -> Any:
        """The data, which are escaped already."""
        return data


class ShownSummary(Summary):  # type: ignore[misc]
    """A summary whose notes are escaped, as the cells of its tables are."""

    def add_extra_txt(self, etext: Sequence[str]) -> None:
        """Add notes below the tables, each of them on one line."""
        super().add_extra_txt([*map(shown, etext)])

    def as_latex(self) -> str:
        """Tables and notes as LaTeX."""
        text: str = super(ShownSummary, self._with_notes(in_latex)).as_latex()
        return text

    def as_html(self) -> str:
        """Tables and notes as HTML."""
        text: str = super(ShownSummary, self._with_notes(in_html)).as_html()
        return text

    def _with_notes(self, escape: Callable[[object], str]) -> ShownSummary:
        """The summary with notes that are escaped."""
        other = copy(self)
        if other.extra_txt is not None:
            other.extra_txt = "\n".join(map(escape, other.extra_txt.split("\n")))
        return other


table_of_text = partial(SimpleTable, celltype=ShownCell)
