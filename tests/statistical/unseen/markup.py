"""Tables and paragraphs of pages that are written from results."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence


def markdown(
    head: Sequence[str], rows: Iterable[Sequence[str]], n_text: int = 1
) -> str:
    """A table whose first columns are text."""
    rule = [*["---"] * n_text, *["--:"] * (len(head) - n_text)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def filled(page: str) -> str:
    """A page with its paragraphs and items in lines of one width."""
    blocks = []
    for block in page.split("\n\n"):
        items = re.split(r"\n(?=- )", block)
        if not block.startswith(("|", "#")):
            block = "\n".join(
                textwrap.fill(
                    " ".join(item.split()), 100, break_long_words=False,
                    break_on_hyphens=False,
                    subsequent_indent="  " if item.startswith("- ") else "",
                )
                for item in items
            )  # fmt: skip
        blocks.append(block.rstrip("\n"))
    return "\n\n".join(blocks) + "\n"
